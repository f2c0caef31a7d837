//! Macros that declare the structures and enums that host and kernels share. The C++ declarations are
//! generated from the same text.

use super::offset::Offset;

/// A type that a field of a shared structure can have. Shared structures are used by the host and by kernels.
pub(super) trait Field {
    /// Whether values of the type contain offsets (addresses in device memory).
    const HAS_OFFSETS: bool = false;

    /// Appends to `places` the byte positions of all offsets (addresses in device memory) in a value of the type. The
    /// value begins at byte `_at`.
    fn offsets(_at: usize, _places: &mut Vec<usize>) {}

    /// Returns the C++ declaration of a field that has this type and the given name.
    #[cfg(test)]
    fn declare(name: &str) -> String;
}

/// A type of the elements to which offsets (addresses in device memory) can point.
pub(super) trait Element {
    /// Name of the type in C++.
    #[cfg_attr(not(test), allow(dead_code))]
    const NAME: &'static str;
}

macro_rules! elements {
    ($($kind:ty: $name:literal;)*) => {
        $(impl Element for $kind {
            const NAME: &'static str = $name;
        })*
    };
}

elements! {
    u8: "uint8_t";
    u16: "uint16_t";
    i32: "int";
    u32: "uint32_t";
    u64: "uint64_t";
    f32: "float";
    f64: "double";
    [i32; 2]: "int2";
    [i32; 4]: "int4";
    [f64; 2]: "Pair";
}

macro_rules! numbers {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            #[cfg(test)]
            fn declare(name: &str) -> String {
                format!("{} {name}", <$kind as Element>::NAME)
            }
        })*
    };
}

numbers!(i32, u32, u64, f64);

impl<T: Element, const N: usize> Field for [T; N] {
    #[cfg(test)]
    fn declare(name: &str) -> String {
        format!("{} {name}[{N}]", T::NAME)
    }
}

impl<T: Element, const WRITTEN: bool> Field for Offset<T, WRITTEN> {
    const HAS_OFFSETS: bool = true;

    fn offsets(at: usize, places: &mut Vec<usize>) {
        places.push(at);
    }

    #[cfg(test)]
    fn declare(name: &str) -> String {
        let kind = if WRITTEN { "" } else { "const " };
        format!("{kind}{}* {name}", T::NAME)
    }
}

/// The declaration of a structure or an enum, from which the C++ header is generated.
#[cfg(test)]
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static [&'static str],
    /// For each field or variant: the lines of its documentation, and its text in C++.
    pub(crate) parts: Vec<(&'static [&'static str], String)>,
    /// Size of the structure in bytes; 0 for an enum.
    pub(crate) size: usize,
}

/// Declares structures that host and kernels share. Their fields are numbers, arrays of numbers, offsets, or other
/// shared structures.
macro_rules! structures {
    ($($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $field_doc:literal])* $field:ident: $kind:ty,)*
    })*) => {
        $(
            $(#[doc = $doc])+
            #[repr(C)]
            #[derive(Debug, Clone, Copy, Pod, Zeroable)]
            // Only kernels use some of the fields.
            #[allow(dead_code)]
            pub(super) struct $name {
                $($(#[doc = $field_doc])* pub(super) $field: $kind,)*
            }

            impl Default for $name {
                fn default() -> Self {
                    Zeroable::zeroed()
                }
            }

            impl Element for $name {
                const NAME: &'static str = stringify!($name);
            }

            impl Field for $name {
                const HAS_OFFSETS: bool = $(<$kind as Field>::HAS_OFFSETS)||*;

                fn offsets(at: usize, places: &mut Vec<usize>) {
                    $(<$kind as Field>::offsets(at + std::mem::offset_of!(Self, $field), places);)*
                }

                #[cfg(test)]
                fn declare(name: &str) -> String {
                    format!("{} {name}", Self::NAME)
                }
            }
        )*

        /// Returns the declarations of all structures for the C++ header. A structure comes after the structures that
        /// are its fields.
        #[cfg(test)]
        pub(crate) fn structures() -> Vec<Declaration> {
            vec![$(Declaration {
                name: stringify!($name),
                docs: &[$($doc),+],
                parts: vec![$((&[$($field_doc),*] as &[&str], <$kind as Field>::declare(stringify!($field)))),*],
                size: size_of::<$name>(),
            }),*]
        }
    };
}

/// Declares an enum that host and kernels share. Its variants are used as array indices.
macro_rules! enumeration {
    ($(#[doc = $doc:literal])+ $name:ident, $declaration:ident {
        $($(#[doc = $variant_doc:literal])* $variant:ident,)*
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum $name {
            $($(#[doc = $variant_doc])* $variant,)*
        }

        impl $name {
            /// All variants in order.
            // Some enums do not use this list.
            #[allow(dead_code)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        /// Returns the declaration of the enum for the C++ header.
        #[cfg(test)]
        pub(crate) fn $declaration() -> Declaration {
            Declaration {
                name: stringify!($name),
                docs: &[$($doc),+],
                parts: vec![$((&[$($variant_doc),*] as &[&str], stringify!($variant).to_owned())),*],
                size: 0,
            }
        }
    };
}

pub(super) use {enumeration, structures};
