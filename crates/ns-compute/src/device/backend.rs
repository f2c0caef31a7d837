//! Interface between a session and a device: memory, copies, kernel launches, and lanes. A lane is a stream of copies
//! and launches. Different lanes run in parallel.
//!
//! The interface has two implementations. `cuda` uses NVIDIA's driver. `host` runs the same kernels compiled for the
//! CPU. Tests use `host` to check the results of every kernel on machines without a GPU.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod};
use ns_core::SessionError;

use super::offset::{Memory, Offset, OffsetMut};

/// A GPU kernel. The compiled code of all kernels is embedded in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// Makes the fits in a queue. The working arrays are in shared memory.
    Fit,
    /// Makes the fits in a queue for models with kinks, and for models that are too large for shared memory.
    FitGlobal,
    /// Makes the fits in a queue for models whose metric has the derivatives at the point of each fit. The working
    /// arrays are in shared memory. Models that are too large for it are fitted by `FitGlobal`.
    FitOwn,
    /// Computes values and gradients of `-ln L` at many points. The working arrays are in shared memory.
    Evaluate,
    /// Computes values and gradients of `-ln L` of models that are too large for shared memory. Also computes
    /// Hessians of models of all sizes.
    EvaluateGlobal,
    /// Computes covariances from Hessians.
    Covariance,
    /// Draws toys without fitting them.
    Draw,
    /// Computes `-ln L` and its derivatives with respect to parameters and inputs. The working arrays are in shared
    /// memory.
    Differentiate,
    /// Computes the same as [`Self::Differentiate`] with working arrays in global memory. It is used for models that
    /// are too large for shared memory.
    DifferentiateGlobal,
    /// Computes the same as [`Self::Differentiate`] if further numbers of the model, or the data, are functions of
    /// the inputs.
    DifferentiateChanging,
    /// Computes the same as [`Self::DifferentiateChanging`] with working arrays in global memory.
    DifferentiateChangingGlobal,
    /// Computes sums over the events of a channel. Each thread block computes the sums over a part of the events.
    EventSums,
    /// Adds up the sums of all thread blocks of [`Self::EventSums`].
    EventTotals,
    /// Computes sums over the events of many toys. The working memory is in shared memory.
    EventToys,
    /// Computes the same as [`Self::EventToys`]. The working memory is in global memory.
    EventToysGlobal,
    /// Draws the events of some toys by the rejection method. It makes only the first attempt for each event.
    EventDraw,
    /// Copies events that the CPU has drawn to their places in the toys.
    EventPlace,
    /// Computes the likelihood sums over one set of events from the log-densities of the events.
    FlowNllReduce,
    /// Computes the likelihood sums over many sets of events from the log-densities of the events. Each thread block
    /// processes one set.
    FlowBatchNllReduce,
}

/// Properties of a device that determine the sizes of launches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Properties {
    /// Number of multiprocessors, the groups of cores that run thread blocks independently of each other.
    pub(crate) multiprocessors: usize,
    /// Largest dynamic shared memory that one thread block can have, in bytes. A kernel must ask the driver
    /// explicitly for more than the default limit (CUDA's opt-in limit).
    pub(crate) shared_per_block: usize,
    /// Shared memory of one multiprocessor in bytes.
    pub(crate) shared_per_multiprocessor: usize,
    /// Total memory of the device in bytes.
    pub(crate) memory: u64,
}

/// Size of one launch: number of thread blocks, threads per block, and dynamic shared memory per block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Dynamic shared memory per block in bytes.
    pub(crate) shared: u32,
}

/// A device. Any thread may call its methods. The device does the work in the order of the calls.
pub(crate) trait Backend: Send + Sync {
    /// Returns the properties of the device.
    fn properties(&self) -> &Properties;

    /// Allocates uninitialised device memory, aligned to 256 bytes. A size of 0 is allowed.
    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError>;

    /// Frees memory that [`Self::allocate`] returned. `bytes` must be the size that was passed to that call. Errors are
    /// ignored.
    fn release(&self, memory: Memory, bytes: usize);

    /// Copies the bytes `from` on the host to the device memory at `to`.
    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError>;

    /// Waits for the end of all submitted work, except the work of lanes (separate streams of work). Then copies the
    /// device memory that begins at `from` to `to`. The length of `to` is the number of bytes.
    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError>;

    /// Returns how many thread blocks of the kernel one multiprocessor can run at a time. Each block has `threads`
    /// threads and `shared` bytes of shared memory.
    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError>;

    /// Returns how many thread blocks of the kernel the whole device can run at a time, at least one per
    /// multiprocessor. `threads` and `shared` have the same meaning as in [`Self::occupancy`].
    fn resident(&self, kernel: Kernel, threads: u32, shared: usize) -> Result<usize, SessionError> {
        Ok(self.occupancy(kernel, threads, shared as u32)?.max(1) * self.properties().multiprocessors)
    }

    /// Starts a kernel and returns before the kernel ends. `parameter` contains the bytes of the kernel's only
    /// parameter, a structure. Offsets in this structure refer to memory of this device.
    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// Creates a lane (a separate stream of work). The work of a lane runs in parallel with the work that the other
    /// methods submit.
    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError>;

    /// Allocates page-locked memory of the host. Copies from this memory to the device run in parallel with all other
    /// work. They begin when all work that was submitted before this call has ended.
    fn pinned(self: Arc<Self>, bytes: usize) -> Result<Box<dyn Pinned>, SessionError>;

    /// Copies `bytes` bytes of device memory from `from` to `to`. The copy runs after the work that was submitted
    /// before, and before later work. The two ranges must not overlap.
    fn duplicate(&self, from: Memory, to: Memory, bytes: usize) -> Result<(), SessionError>;

    /// Waits for the end of all work that this process has started on the device, including the work of other
    /// libraries. Errors are ignored, because work that fails also ends.
    fn settle(&self) {}

    /// Returns an object that launches kernels on CUDA streams of the caller.
    fn guest(self: Arc<Self>) -> Result<Box<dyn Guest>, SessionError>;
}

/// Launches kernels on CUDA streams of the caller. All launches of one guest run one after the other, even on
/// different streams, because they share working memory. Dropping a guest waits for its last launch.
pub(crate) trait Guest: Send {
    /// Starts a kernel on a stream, and returns before the kernel ends. `stream` is the driver's handle of the
    /// stream; 0 is the default stream of the device.
    ///
    /// # Safety
    /// `stream` must be the handle of a stream of this device in this process.
    unsafe fn launch(
        &mut self,
        stream: u64,
        kernel: Kernel,
        shape: Shape,
        parameter: &[u8],
    ) -> Result<(), SessionError>;

    /// Makes the stream wait for all work that was submitted to the [`Backend`] before this call, such as copies.
    ///
    /// # Safety
    /// The conditions of [`Self::launch`].
    unsafe fn follow(&mut self, stream: u64) -> Result<(), SessionError>;

    /// Returns the handle of the stream on which the [`Backend`] does its work.
    fn own_stream(&self) -> u64;

    /// Returns host memory of `words` 64-bit words, to which kernels write results. The memory is zero at first. A
    /// later call with a larger number of words invalidates the memory that was returned before.
    fn answers(&mut self, words: usize) -> Result<OffsetMut<u64>, SessionError>;

    /// Starts a kernel, and waits until the kernel has written its results to the memory of [`Self::answers`]. Copies
    /// the results to `to`. The memory must have two words for each result. The low 32 bits of the first word contain
    /// the high half of the result, and the low 32 bits of the second word its low half. The high 32 bits of both
    /// words contain `call`, the number of the call. It must not be zero and must differ from the number of the
    /// previous call. The kernel may end later than this method returns, but after writing its results it accesses no
    /// memory.
    ///
    /// # Safety
    /// The conditions of [`Self::launch`].
    unsafe fn ask(
        &mut self,
        stream: u64,
        kernel: (Kernel, Shape, &[u8]),
        call: u32,
        to: &mut [f64],
    ) -> Result<(), SessionError>;

    /// Copies the device memory that begins at `from` to `to`. The copy begins after all work that was submitted to the
    /// stream before. Waits for the end of the copy.
    ///
    /// # Safety
    /// The conditions of [`Self::launch`]. The device memory at `from` must have at least as many bytes as `to`.
    unsafe fn read(&mut self, stream: u64, from: Memory, to: &mut [u8]) -> Result<(), SessionError>;

    /// Waits for the end of the last launch of this guest.
    fn wait(&mut self) -> Result<(), SessionError>;

    /// Returns an error unless `address` is an address in memory of the device. `what` is the name of the array in the
    /// error.
    fn check_address(&self, what: &'static str, address: u64) -> Result<(), SessionError>;
}

/// A stream of work on a device, which runs in parallel with other lanes. A lane is used in rounds. In each round the
/// caller submits a copy to the device, kernels, and a copy to the host, and then waits for their end. The work of a
/// round begins after the end of all work that was submitted to the [`Backend`] before. Device memory that the work
/// uses must not be freed before the wait has ended. Dropping a lane also waits.
pub(crate) trait Lane: Send {
    /// Starts a copy of `from` to the device memory at `to`. At most one such copy is allowed between two waits. The
    /// caller may change `from` as soon as the call returns.
    fn write(&mut self, to: Memory, from: &[u8]) -> Result<(), SessionError>;

    /// Starts a kernel in the same way as [`Backend::launch`].
    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError>;

    /// Starts a copy of `bytes` bytes from the device memory at `from`. At most one such copy is allowed between two
    /// waits.
    fn fetch(&mut self, from: Memory, bytes: usize) -> Result<(), SessionError>;

    /// Waits for the end of all work of this lane.
    fn wait(&mut self) -> Result<(), SessionError>;

    /// Returns the bytes of the last copy from the device, aligned to 8 bytes. Before the wait for that copy, the
    /// returned slice may be empty and have any alignment.
    fn fetched(&self) -> &[u8];
}

/// Page-locked memory of the host, parts of which can be copied to the device. Dropping the value waits for the end
/// of the copies.
pub(crate) trait Pinned: Send {
    /// Returns the first `numbers` elements of the memory for writing. No copy may be in progress.
    fn content(&mut self, numbers: usize) -> &mut [f64];

    /// Starts a copy of the elements with the indices `numbers` to the device memory at `to`. The device memory must be
    /// large enough.
    fn send(&mut self, numbers: Range<usize>, to: Memory) -> Result<(), SessionError>;

    /// Waits for the end of all copies from this memory.
    fn wait(&mut self) -> Result<(), SessionError>;
}

/// A range of device memory. It is freed when the buffer is dropped.
pub(crate) struct Buffer {
    backend: Arc<dyn Backend>,
    memory: Memory,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes of uninitialised device memory.
    pub(crate) fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Self, SessionError> {
        Ok(Self { backend: Arc::clone(backend), memory: backend.allocate(bytes)?, bytes })
    }

    /// Allocates device memory for `content` and copies `content` to it.
    pub(crate) fn holding<T: NoUninit>(
        backend: &Arc<dyn Backend>,
        content: &[T],
    ) -> Result<Self, SessionError> {
        let content: &[u8] = bytemuck::cast_slice(content);
        let buffer = Self::new(backend, content.len())?;
        backend.write(buffer.memory, content)?;
        Ok(buffer)
    }

    /// Returns the offset of the first byte of the buffer.
    pub(crate) fn start(&self) -> Memory {
        self.memory
    }

    /// Returns the start of the buffer as an offset to elements of type `T`.
    pub(crate) fn at<T, const WRITTEN: bool>(&self) -> Offset<T, WRITTEN> {
        self.memory.cast()
    }

    /// Waits for the end of all work on the device, also that of other libraries.
    pub(crate) fn settle(&self) {
        self.backend.settle();
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Waits for the end of all work submitted so far. Then copies elements of the buffer to `to`, starting with the
    /// element of index `first`. The length of `to` is the number of elements.
    pub(crate) fn read_into<T: Pod>(&self, first: usize, to: &mut [T]) -> Result<(), SessionError> {
        let from = self.at::<T, true>().plus(first).cast();
        self.backend.read(from, bytemuck::cast_slice_mut(to))
    }

    /// Waits for the end of all work submitted so far. Then appends the first `count` elements of the buffer to `to`.
    pub(crate) fn append_to<T: Pod>(&self, count: usize, to: &mut Vec<T>) -> Result<(), SessionError> {
        let before = to.len();
        to.resize(before + count, T::zeroed());
        self.read_into(0, to.get_mut(before..).unwrap_or_default())
    }

    /// Waits for the end of all work submitted so far. Then returns the first `count` elements of the buffer.
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
