//! Addresses on a device, with the type of their elements.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// Marks an offset that waits for the address of its buffer. No address has this bit.
const PENDING: u64 = 1 << 63;

macro_rules! addresses {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {
        $(
            $(#[doc = $doc])+
            ///
            /// Until everything around it is uploaded it may be an offset (see [`Arena`](super::arena::Arena)), which `relocate`
            /// turns into an address.
            #[repr(transparent)]
            pub(super) struct $name<T>(u64, PhantomData<T>);

            // One kind may need what the other does not.
            #[allow(dead_code)]
            impl<T> $name<T> {
                /// The null pointer.
                pub(super) const NULL: Self = Self(0, PhantomData);

                /// An offset in a buffer whose address is not known yet.
                pub(super) fn pending(offset: u64) -> Self {
                    Self(PENDING | offset, PhantomData)
                }

                /// Adds the address of the buffer to an offset; an address, or none, stays as it is.
                pub(super) fn relocate(&mut self, base: u64) {
                    if self.0 & PENDING != 0 {
                        self.0 = base + (self.0 & !PENDING);
                    }
                }

                /// Whether it is not null.
                pub(super) fn is_some(self) -> bool {
                    self.0 != 0
                }

                /// The address, in a buffer that begins at `base`.
                pub(super) fn at(mut self, base: u64) -> Self {
                    self.relocate(base);
                    self
                }

                /// The offset, of one that is not an address yet.
                pub(super) fn offset(self) -> usize {
                    (self.0 & !PENDING) as usize
                }

                /// The address of a later element.
                pub(super) fn plus(self, elements: usize) -> Self {
                    Self(self.0 + (elements * size_of::<T>()) as u64, PhantomData)
                }

                /// The same address with another element type.
                pub(super) fn cast<A: From<u64>>(self) -> A {
                    A::from(self.0)
                }
            }

            impl<T> From<u64> for $name<T> {
                fn from(address: u64) -> Self {
                    Self(address, PhantomData)
                }
            }

            impl<T> From<$name<T>> for u64 {
                fn from(address: $name<T>) -> Self {
                    address.0
                }
            }

            impl<T> Clone for $name<T> {
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<T> Default for $name<T> {
                fn default() -> Self {
                    Self::NULL
                }
            }

            impl<T> Copy for $name<T> {}

            impl<T> std::fmt::Debug for $name<T> {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    write!(f, "{:#x}", self.0)
                }
            }

            // SAFETY: a number and nothing else, of which 0 is one.
            unsafe impl<T> Zeroable for $name<T> {}
            // SAFETY: as above; every number is allowed.
            unsafe impl<T: 'static> Pod for $name<T> {}
        )*
    };
}

addresses! {
    /// Address of elements that kernels read: `const T*`.
    DeviceAddress;
    /// Address of elements that kernels write: `T*`.
    DeviceAddressMut;
}

#[cfg(test)]
mod tests {
    use super::DeviceAddress;

    #[test]
    fn relocation_moves_offsets_and_nothing_else() {
        let base = 1 << 40;
        let relocated = |mut address: DeviceAddress<f64>| {
            address.relocate(base);
            address.relocate(base);
            address.0
        };
        assert_eq!(relocated(DeviceAddress::pending(0)), base);
        assert_eq!(relocated(DeviceAddress::pending(48).plus(2)), base + 64);
        assert_eq!(relocated(DeviceAddress::from(4096)), 4096);
        assert_eq!(relocated(DeviceAddress::NULL), 0);
    }
}
