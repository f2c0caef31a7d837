//! What a session needs of a device: memory, copies, launches, and lanes of them side by side.
//!
//! Two implementations: NVIDIA's driver (`cuda`), and the same kernels compiled for the CPU (`host`), which lets the numbers of
//! every kernel be tested on machines without a GPU.

use std::sync::Arc;

use bytemuck::{NoUninit, Pod};
use ns_core::SessionError;

use super::offset::{Memory, Offset};

/// A kernel, by the name it has in the embedded code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// Fits from a queue, working in shared memory.
    Fit,
    /// The same for models that do not fit there.
    FitGlobal,
    /// Values and gradients at many points.
    Evaluate,
    /// The same for models that do not fit into shared memory; Hessians of all models.
    EvaluateGlobal,
    /// Covariances from Hessians.
    Covariance,
    /// Toys drawn, and nothing else.
    Draw,
}

/// The properties of a device that launches depend on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Properties {
    /// Groups of cores that run thread blocks independently of each other.
    pub(crate) multiprocessors: usize,
    /// Most dynamic shared memory of one block, bytes (opt-in limit).
    pub(crate) shared_per_block: usize,
    /// Shared memory of one multiprocessor, bytes.
    pub(crate) shared_per_multiprocessor: usize,
    /// Memory of the device in all, bytes.
    pub(crate) memory: u64,
}

/// Threads and shared memory of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Dynamic shared memory per block, bytes.
    pub(crate) shared: u32,
}

/// A device. Calls may come from any thread; the device works in the order of the calls.
pub(crate) trait Backend: Send + Sync {
    /// What it is.
    fn properties(&self) -> &Properties;

    /// Takes memory, uninitialised, at a multiple of 256. Zero bytes are allowed.
    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError>;

    /// Frees memory. Errors are ignored.
    fn release(&self, memory: Memory, bytes: usize);

    /// Copies to the device.
    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError>;

    /// Copies from the device, after all work submitted so far.
    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError>;

    /// Blocks of this shape that one multiprocessor holds at a time.
    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError>;

    /// Blocks of this shape that the device holds at a time, one at least.
    fn resident(&self, kernel: Kernel, threads: u32, shared: usize) -> Result<usize, SessionError> {
        Ok(self.occupancy(kernel, threads, shared as u32)?.max(1) * self.properties().multiprocessors)
    }

    /// Starts a kernel whose only parameter is a structure of these bytes, with offsets of this backend's memory. Returns before it
    /// is done.
    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// A new lane of work, parallel to the calls above.
    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError>;
}

/// A sequence of work on a device, parallel to that of other lanes: copies to the device, kernels,
/// copies back, then a wait for their end. It begins after all work that was submitted to the device directly before. Memory
/// that it uses must live until the wait is over; dropping a lane waits too.
pub(crate) trait Lane: Send {
    /// Copies to the device; at most once before a wait. `from` may change at once.
    fn write(&mut self, to: Memory, from: &[u8]) -> Result<(), SessionError>;

    /// Starts a kernel, as [`Backend::launch`].
    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// Starts a copy from the device; once before a wait.
    fn fetch(&mut self, from: Memory, bytes: usize) -> Result<(), SessionError>;

    /// Waits for the end of all this.
    fn wait(&mut self) -> Result<(), SessionError>;

    /// What the last copy brought, in memory at an address that is a multiple of 8 unless it is empty, as it is before the wait.
    fn fetched(&self) -> &[u8];
}

/// Memory of a device, freed when dropped.
pub(crate) struct Buffer {
    backend: Arc<dyn Backend>,
    memory: Memory,
    bytes: usize,
}

impl Buffer {
    /// Uninitialised memory.
    pub(crate) fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Self, SessionError> {
        Ok(Self { backend: Arc::clone(backend), memory: backend.allocate(bytes)?, bytes })
    }

    /// Memory that holds `content`.
    pub(crate) fn holding<T: NoUninit>(
        backend: &Arc<dyn Backend>,
        content: &[T],
    ) -> Result<Self, SessionError> {
        let content: &[u8] = bytemuck::cast_slice(content);
        let buffer = Self::new(backend, content.len())?;
        backend.write(buffer.memory, content)?;
        Ok(buffer)
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> Memory {
        self.memory
    }

    /// The same, as the place of what it holds.
    pub(crate) fn at<T, const WRITTEN: bool>(&self) -> Offset<T, WRITTEN> {
        self.memory.cast()
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it holds from element `first` on, copied to the host after all work handed over so far.
    pub(crate) fn read_into<T: Pod>(&self, first: usize, to: &mut [T]) -> Result<(), SessionError> {
        let from = self.at::<T, true>().plus(first).cast();
        self.backend.read(from, bytemuck::cast_slice_mut(to))
    }

    /// Appends the first `count` elements that it holds.
    pub(crate) fn append_to<T: Pod>(&self, count: usize, to: &mut Vec<T>) -> Result<(), SessionError> {
        let before = to.len();
        to.resize(before + count, T::zeroed());
        self.read_into(0, to.get_mut(before..).unwrap_or_default())
    }

    /// The first `count` elements that it holds.
    pub(crate) fn read<T: Pod>(&self, count: usize) -> Result<Vec<T>, SessionError> {
        let mut to = Vec::new();
        self.append_to(count, &mut to).map(|()| to)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.backend.release(self.memory, self.bytes);
    }
}
