//! The interface to a device that sessions use: memory, copies, launches, and parallel lanes of these.
//!
//! Two implementations: the NVIDIA driver, and the same kernels compiled for the CPU, which lets the
//! numbers of every kernel be tested on machines without a GPU.

use std::sync::Arc;

use ns_core::SessionError;

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

#[cfg(feature = "cuda")]
impl Kernel {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Fit, Self::FitGlobal, Self::Evaluate, Self::EvaluateGlobal, Self::Covariance, Self::Draw];

    /// The symbol.
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Fit => "ns_fit",
            Self::FitGlobal => "ns_fit_global",
            Self::Evaluate => "ns_evaluate",
            Self::EvaluateGlobal => "ns_evaluate_global",
            Self::Covariance => "ns_covariance",
            Self::Draw => "ns_draw",
        }
    }
}

/// The properties of a device that launches depend on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Properties {
    /// "NVIDIA H200".
    pub(crate) name: String,
    /// Compute capability; (0, 0) for the CPU.
    pub(crate) capability: (u32, u32),
    /// Version of the driver's CUDA, 13000 for 13.0; 0 for the CPU.
    pub(crate) driver: u32,
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

    /// Free memory now, bytes.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    fn free_memory(&self) -> Result<u64, SessionError>;

    /// Takes memory, uninitialised; an address that is a multiple of 256. Zero bytes are allowed.
    fn allocate(&self, bytes: usize) -> Result<u64, SessionError>;

    /// Frees memory. Errors are ignored.
    fn release(&self, address: u64, bytes: usize);

    /// Copies to the device.
    fn write(&self, to: u64, from: &[u8]) -> Result<(), SessionError>;

    /// Copies from the device, after all work submitted so far.
    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), SessionError>;

    /// Blocks of this shape that one multiprocessor holds at a time.
    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError>;

    /// Starts a kernel whose only parameter is a structure of these bytes. Returns before it is done.
    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// A new lane of work, parallel to the calls above.
    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError>;
}

/// A sequence of work on a device, parallel to that of other lanes: copies to the device, kernels,
/// copies back, then a wait for their end. It begins after all work that was submitted to the device directly before. Memory
/// that it uses must live until the wait is over; dropping a lane waits too.
pub(crate) trait Lane: Send {
    /// Copies to the device; at most once before a wait. `from` may change at once.
    fn write(&mut self, to: u64, from: &[u8]) -> Result<(), SessionError>;

    /// Starts a kernel, as [`Backend::launch`].
    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// Starts a copy from the device; once before a wait.
    fn fetch(&mut self, from: u64, bytes: usize) -> Result<(), SessionError>;

    /// Waits for the end of all this.
    fn wait(&mut self) -> Result<(), SessionError>;

    /// The bytes of the last copy, at an address that is a multiple of 8; empty before the wait.
    fn fetched(&self) -> &[u8];
}

/// Memory of a device, freed when dropped.
pub(crate) struct Buffer {
    backend: Arc<dyn Backend>,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// Uninitialised memory.
    pub(crate) fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Self, SessionError> {
        Ok(Self { backend: Arc::clone(backend), address: backend.allocate(bytes)?, bytes })
    }

    /// Memory that holds `content`.
    pub(crate) fn holding(backend: &Arc<dyn Backend>, content: &[u8]) -> Result<Self, SessionError> {
        let buffer = Self::new(backend, content.len())?;
        backend.write(buffer.address, content)?;
        Ok(buffer)
    }

    /// Its address on the device.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The same as the address of what it holds.
    pub(crate) fn at<A: From<u64>>(&self) -> A {
        self.address.into()
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.backend.release(self.address, self.bytes);
    }
}
