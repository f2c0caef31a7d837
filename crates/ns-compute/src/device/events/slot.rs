//! The stream and the device memory that one thread uses to fit toys.

use std::sync::Arc;

use corosensei::stack::DefaultStack;
use ns_core::SessionError;

use super::super::backend::{Backend, Buffer, Lane};
use super::super::offset::Memory;

/// Device memory that can grow. To grow, it is allocated anew.
#[derive(Default)]
pub(super) struct Grown(Option<Buffer>);

impl Grown {
    /// Returns device memory of at least `bytes` bytes. If the memory has to grow, its content is lost.
    pub(super) fn at_least(
        &mut self,
        backend: &Arc<dyn Backend>,
        bytes: usize,
    ) -> Result<&Buffer, SessionError> {
        if self.0.as_ref().is_none_or(|old| old.bytes() < bytes) {
            self.0 = None;
        }
        match &mut self.0 {
            Some(buffer) => Ok(buffer),
            none => Ok(none.insert(Buffer::new(backend, bytes.max(8))?)),
        }
    }
}

/// Stream and memory that one thread uses to fit toys.
pub(super) struct Slot {
    /// The stream. This field is dropped first, because dropping it waits for the work that uses the memory.
    pub(super) lane: Box<dyn Lane>,
    /// Events of the toys, in device memory.
    pub(super) columns: Grown,
    /// Input arrays of the launches, in device memory.
    pub(super) input: Grown,
    pub(super) room: Grown,
    pub(super) partials: Grown,
    /// Bytes on the host that will be copied to `input` on the device.
    pub(super) bytes: Vec<u8>,
    /// Stacks for coroutines that are not in use.
    pub(super) stacks: Vec<DefaultStack>,
}

impl Slot {
    pub(super) fn new(backend: &Arc<dyn Backend>) -> Result<Self, SessionError> {
        Ok(Self {
            lane: Arc::clone(backend).lane()?,
            columns: Grown::default(),
            input: Grown::default(),
            room: Grown::default(),
            partials: Grown::default(),
            bytes: Vec::new(),
            stacks: Vec::new(),
        })
    }

    /// Copies `self.bytes` to `input` on the device, and returns the start of `input`.
    pub(super) fn send(&mut self, backend: &Arc<dyn Backend>) -> Result<Memory, SessionError> {
        let start = self.input.at_least(backend, self.bytes.len())?.start();
        self.lane.write(start, &self.bytes)?;
        Ok(start)
    }

    /// Appends values to `self.bytes`. Returns the byte position of the first value, which is a multiple of 16.
    pub(super) fn put<T: bytemuck::NoUninit>(&mut self, values: &[T]) -> usize {
        let at = self.bytes.len().next_multiple_of(16);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        at
    }
}
