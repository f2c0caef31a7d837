//! Many small arrays in one piece of device memory, uploaded in one copy.

use std::sync::Arc;

use bytemuck::NoUninit;
use ns_core::SessionError;

use super::backend::{Backend, Buffer};

/// Alignment of every array, bytes.
const ALIGNMENT: usize = 16;

/// Arrays waiting for their upload. Addresses are offsets until then.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    /// Adds an array; returns its offset.
    pub(super) fn put<T: NoUninit>(&mut self, values: &[T]) -> u64 {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        at as u64
    }

    /// Adds indices as the 32-bit integers that kernels read.
    pub(super) fn put_indices(&mut self, values: impl IntoIterator<Item = usize>) -> u64 {
        let values: Vec<i32> = values.into_iter().map(|i| i as i32).collect();
        self.put(&values)
    }

    /// Overwrites what is at an offset.
    pub(super) fn set<T: NoUninit>(&mut self, at: u64, value: &T) {
        let from = bytemuck::bytes_of(value);
        if let Some(to) = self.bytes.get_mut(at as usize..at as usize + from.len()) {
            to.copy_from_slice(from);
        }
    }

    /// Size so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Everything, for a copy to the device.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes
    }

    /// Copies everything to the device. An array of offset `o` is at the buffer's address plus `o`.
    pub(super) fn upload(self, backend: &Arc<dyn Backend>) -> Result<Buffer, SessionError> {
        Buffer::holding(backend, &self.bytes)
    }

    /// The same into memory that is already there and large enough.
    pub(super) fn upload_into(self, backend: &Arc<dyn Backend>, buffer: &Buffer) -> Result<(), SessionError> {
        backend.write(buffer.address(), &self.bytes)
    }
}
