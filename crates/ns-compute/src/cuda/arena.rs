//! Many small arrays in one piece of device memory, uploaded in one copy.

use std::sync::Arc;

use bytemuck::NoUninit;
use ns_core::SessionError;

use super::address::DeviceAddress;
use super::backend::{Backend, Buffer};

/// Alignment of every array, bytes.
const ALIGNMENT: usize = 16;

/// Arrays that are not uploaded yet. Until then addresses are offsets, which [`DeviceAddress::relocate`] turns into addresses.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    /// Adds an array; returns where it lies.
    pub(super) fn put<T: NoUninit>(&mut self, values: &[T]) -> DeviceAddress<T> {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        DeviceAddress::pending(at as u64)
    }

    /// Adds indices as the 32-bit integers that kernels read.
    pub(super) fn put_indices(&mut self, values: impl IntoIterator<Item = usize>) -> DeviceAddress<i32> {
        let values: Vec<i32> = values.into_iter().map(|i| i as i32).collect();
        self.put(&values)
    }

    /// Overwrites an array.
    pub(super) fn set<T: NoUninit>(&mut self, at: DeviceAddress<T>, value: &T) {
        let (at, from) = (at.offset(), bytemuck::bytes_of(value));
        if let Some(to) = self.bytes.get_mut(at..at + from.len()) {
            to.copy_from_slice(from);
        }
    }

    /// Size so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes, for a copy to the device.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes
    }

    /// Copies everything to the device. Relocation needs the address of the buffer.
    pub(super) fn upload(self, backend: &Arc<dyn Backend>) -> Result<Buffer, SessionError> {
        Buffer::holding(backend, &self.bytes)
    }

    /// The same into existing memory that is large enough.
    pub(super) fn upload_into(self, backend: &Arc<dyn Backend>, buffer: &Buffer) -> Result<(), SessionError> {
        backend.write(buffer.address(), &self.bytes)
    }
}
