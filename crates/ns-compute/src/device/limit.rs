//! Limits the device memory that a session may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{Device, SessionError};

use super::backend::{Backend, Guest, Kernel, Lane, Pinned, Properties, Shape};
use super::offset::Memory;

/// A backend that limits how much device memory may be used. It reports the limit as the memory of the device, unless
/// the device has less. The sizes of batches are therefore chosen so that they need at most this memory.
pub(super) struct Limited {
    backend: Arc<dyn Backend>,
    properties: Properties,
    device: Device,
    limit: u64,
    taken: AtomicU64,
}

impl Limited {
    /// Returns `backend` with the given memory limit. Returns `backend` itself if there is no limit.
    pub(super) fn around(backend: Arc<dyn Backend>, device: Device, limit: Option<u64>) -> Arc<dyn Backend> {
        let Some(limit) = limit else { return backend };
        let properties = backend.properties().clone();
        let properties = Properties { memory: properties.memory.min(limit), ..properties };
        Arc::new(Self { backend, properties, device, limit, taken: AtomicU64::new(0) })
    }
}

impl Backend for Limited {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError> {
        let bytes_taken = bytes as u64;
        let needed = self.taken.fetch_add(bytes_taken, Ordering::Relaxed).saturating_add(bytes_taken);
        let given = if needed > self.limit {
            Err(SessionError::MemoryLimit {
                device: self.device,
                what: "this work",
                needed,
                limit: self.limit,
                remedy: "use another device",
            })
        } else {
            self.backend.allocate(bytes)
        };
        given.inspect_err(|_| {
            self.taken.fetch_sub(bytes_taken, Ordering::Relaxed);
        })
    }

    fn release(&self, memory: Memory, bytes: usize) {
        self.taken.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.backend.release(memory, bytes);
    }

    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        self.backend.write(to, from)
    }

    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        self.backend.read(from, to)
    }

    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError> {
        self.backend.occupancy(kernel, threads, shared)
    }

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.backend.launch(kernel, shape, parameter)
    }

    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError> {
        Arc::clone(&self.backend).lane()
    }

    fn pinned(self: Arc<Self>, bytes: usize) -> Result<Box<dyn Pinned>, SessionError> {
        Arc::clone(&self.backend).pinned(bytes)
    }

    fn duplicate(&self, from: Memory, to: Memory, bytes: usize) -> Result<(), SessionError> {
        self.backend.duplicate(from, to, bytes)
    }

    fn settle(&self) {
        self.backend.settle();
    }

    fn guest(self: Arc<Self>) -> Result<Box<dyn Guest>, SessionError> {
        Arc::clone(&self.backend).guest()
    }
}
