//! Offsets in the memory of a device, by what lies there.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// Marks an offset within an arena that is not uploaded yet. No device has so much memory.
const IN_ARENA: u64 = 1 << 63;

/// Where elements lie in the memory of a device, in bytes from its start; 0 is nowhere. To kernels it is a `const T*`, or a `T*` if
/// they write there.
///
/// The backend of a device chooses offsets when it gives memory, and it alone knows what they mean: to CUDA they are addresses.
/// What lies in an [`Arena`](super::arena::Arena) has its offset there until that is uploaded.
#[repr(transparent)]
pub(crate) struct Offset<T, const WRITTEN: bool = false>(u64, PhantomData<T>);

/// Where elements lie that kernels write.
pub(crate) type OffsetMut<T> = Offset<T, true>;

/// Where memory begins that a backend has given.
pub(crate) type Memory = OffsetMut<u8>;

impl<T, const WRITTEN: bool> Offset<T, WRITTEN> {
    /// Nowhere: the null pointer.
    pub(super) const NULL: Self = Self(0, PhantomData);

    /// Of what begins so many bytes from the start.
    pub(super) const fn new(bytes: u64) -> Self {
        Self(bytes, PhantomData)
    }

    /// Bytes from the start.
    pub(super) const fn bytes(self) -> u64 {
        self.0
    }

    /// Of what lies so many bytes behind the start of an arena.
    pub(super) const fn in_arena(bytes: usize) -> Self {
        Self(IN_ARENA | bytes as u64, PhantomData)
    }

    /// Of what was in an arena, now that this begins at `base`; every other one stays as it is.
    pub(super) const fn moved(self, base: Memory) -> Self {
        if self.0 & IN_ARENA == 0 { self } else { Self(base.0 + (self.0 & !IN_ARENA), PhantomData) }
    }

    /// Whether it is not null.
    pub(super) const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Of what lies so many elements behind it.
    pub(super) const fn plus(self, elements: usize) -> Self {
        Self(self.0 + (elements * size_of::<T>()) as u64, PhantomData)
    }

    /// The same offset, of something else.
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

// SAFETY: a number and nothing else, of which 0 is one.
unsafe impl<T, const WRITTEN: bool> Zeroable for Offset<T, WRITTEN> {}
// SAFETY: as above; every number is allowed.
unsafe impl<T: 'static, const WRITTEN: bool> Pod for Offset<T, WRITTEN> {}
