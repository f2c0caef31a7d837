//! Typed offsets in device memory.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// Bit that marks an offset in an arena (a collection of arrays on the host) that is not uploaded yet. No device has so
/// much memory that an offset in device memory would need this bit.
const IN_ARENA: u64 = 1 << 63;

/// Position of elements of type `T` in device memory, in bytes from the start of the memory. 0 is the null offset.
/// Kernels receive the offset as a `const T*`, or as a `T*` if `WRITTEN` is true.
///
/// The backend of a device chooses offsets when it allocates memory, and only the backend interprets them. For CUDA
/// they are device addresses. An array in an [`Arena`](super::arena::Arena) has an offset within the arena until the
/// arena is uploaded.
#[repr(transparent)]
pub(crate) struct Offset<T, const WRITTEN: bool = false>(u64, PhantomData<T>);

/// Position in device memory of elements that kernels write.
pub(crate) type OffsetMut<T> = Offset<T, true>;

/// Position of the first byte of a piece of device memory that a backend has allocated.
pub(crate) type Memory = OffsetMut<u8>;

impl<T, const WRITTEN: bool> Offset<T, WRITTEN> {
    /// The null offset. Kernels receive this offset as a null pointer.
    pub(super) const NULL: Self = Self(0, PhantomData);

    /// Returns the offset that is `bytes` bytes from the start of device memory.
    pub(super) const fn new(bytes: u64) -> Self {
        Self(bytes, PhantomData)
    }

    /// Returns the distance in bytes from the start of device memory.
    pub(super) const fn bytes(self) -> u64 {
        self.0
    }

    /// Returns the offset that is `bytes` bytes from the start of an arena (a collection of arrays that are not
    /// uploaded yet).
    pub(super) const fn in_arena(bytes: usize) -> Self {
        Self(IN_ARENA | bytes as u64, PhantomData)
    }

    /// Returns the position in the arena in bytes, or `None` for an offset in device memory.
    pub(super) const fn within_arena(self) -> Option<usize> {
        if self.0 & IN_ARENA == 0 { None } else { Some((self.0 & !IN_ARENA) as usize) }
    }

    /// Converts an offset in an arena to an offset in device memory. `base` is the start of the arena's copy in device
    /// memory. Offsets that are already in device memory do not change.
    pub(super) const fn moved(self, base: Memory) -> Self {
        if self.0 & IN_ARENA == 0 { self } else { Self(base.0 + (self.0 & !IN_ARENA), PhantomData) }
    }

    /// Returns whether the offset is not null.
    pub(super) const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Returns the offset that is `elements` elements of type `T` after this one.
    pub(super) const fn plus(self, elements: usize) -> Self {
        Self(self.0 + (elements * size_of::<T>()) as u64, PhantomData)
    }

    /// Returns the same offset, converted to an offset of elements of another type.
    pub(super) const fn cast<U, const ALSO: bool>(self) -> Offset<U, ALSO> {
        Offset(self.0, PhantomData)
    }
}

impl<T, const WRITTEN: bool> Clone for Offset<T, WRITTEN> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const WRITTEN: bool> Copy for Offset<T, WRITTEN> {}

impl<T, const WRITTEN: bool> Default for Offset<T, WRITTEN> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T, const WRITTEN: bool> std::fmt::Debug for Offset<T, WRITTEN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

// SAFETY: the type is a plain `u64`, for which 0 is a valid value.
unsafe impl<T, const WRITTEN: bool> Zeroable for Offset<T, WRITTEN> {}
// SAFETY: the type is a plain `u64`, for which every bit pattern is valid.
unsafe impl<T: 'static, const WRITTEN: bool> Pod for Offset<T, WRITTEN> {}
