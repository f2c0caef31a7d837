//! Runs the kernels compiled for the CPU. The results of kernels can thus be tested without a GPU. A thread block has
//! one thread. If the environment variable `NEXTSTAT_CUDA_ON_HOST` is `blocks`, a thread block has as many threads as
//! on a GPU, which is slower.

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ns_core::{Device, Execution, Model, SessionError};

use super::answer::{answered, no_answer};
use super::backend::{Backend, Guest, Kernel, Lane, Pinned, Properties, Shape};
use super::event_columns::EventTarget;
use super::events::EventGpuSession;
use super::flow::DeviceFlow;
use super::multi_gpu::MultiGpuSession;
use super::offset::{Memory, Offset, OffsetMut};
use super::session::GpuSession;

unsafe extern "C" {
    fn ns_host_fit(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32, own: i32);
    fn ns_host_evaluate(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_host_covariance(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_host_draw(launch: *const u8, threads: i32, blocks: i32);
    fn ns_host_event_sums(launch: *const u8, threads: i32, blocks: i32);
    fn ns_host_event_totals(launch: *const u8, threads: i32, blocks: i32);
    fn ns_host_event_toys(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_host_event_draw(launch: *const u8, threads: i32, blocks: i32);
    fn ns_host_event_place(launch: *const u8, threads: i32, blocks: i32);
    fn ns_host_flow_nll_reduce(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_host_flow_batch_nll_reduce(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_host_differentiate(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_host_differentiate_changing(
        launch: *const u8,
        threads: i32,
        numbers: i32,
        blocks: i32,
        in_shared: i32,
    );
    fn ns_many_fit(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32, own: i32);
    fn ns_many_evaluate(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_many_covariance(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_many_draw(launch: *const u8, threads: i32, blocks: i32);
    fn ns_many_event_sums(launch: *const u8, threads: i32, blocks: i32);
    fn ns_many_event_totals(launch: *const u8, threads: i32, blocks: i32);
    fn ns_many_event_toys(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_many_event_draw(launch: *const u8, threads: i32, blocks: i32);
    fn ns_many_event_place(launch: *const u8, threads: i32, blocks: i32);
    fn ns_many_flow_nll_reduce(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_many_flow_batch_nll_reduce(launch: *const u8, threads: i32, numbers: i32, blocks: i32);
    fn ns_many_differentiate(launch: *const u8, threads: i32, numbers: i32, blocks: i32, in_shared: i32);
    fn ns_many_differentiate_changing(
        launch: *const u8,
        threads: i32,
        numbers: i32,
        blocks: i32,
        in_shared: i32,
    );
}

/// Entry points of the kernels. There are two sets of kernels: one is compiled for one thread per block, the other for
/// many threads per block.
#[derive(Debug)]
struct Kernels {
    fit: unsafe extern "C" fn(*const u8, i32, i32, i32, i32, i32),
    evaluate: unsafe extern "C" fn(*const u8, i32, i32, i32, i32),
    covariance: unsafe extern "C" fn(*const u8, i32, i32, i32),
    draw: unsafe extern "C" fn(*const u8, i32, i32),
    event_sums: unsafe extern "C" fn(*const u8, i32, i32),
    event_totals: unsafe extern "C" fn(*const u8, i32, i32),
    event_toys: unsafe extern "C" fn(*const u8, i32, i32, i32, i32),
    event_draw: unsafe extern "C" fn(*const u8, i32, i32),
    event_place: unsafe extern "C" fn(*const u8, i32, i32),
    /// Kernels for log-densities. The first computes the sums over one set of events, and the second the sums over many
    /// sets.
    flow: [unsafe extern "C" fn(*const u8, i32, i32, i32); 2],
    differentiate: unsafe extern "C" fn(*const u8, i32, i32, i32, i32),
    differentiate_changing: unsafe extern "C" fn(*const u8, i32, i32, i32, i32),
}

const OF_ONE_THREAD: Kernels = Kernels {
    fit: ns_host_fit,
    evaluate: ns_host_evaluate,
    covariance: ns_host_covariance,
    draw: ns_host_draw,
    event_sums: ns_host_event_sums,
    event_totals: ns_host_event_totals,
    event_toys: ns_host_event_toys,
    event_draw: ns_host_event_draw,
    event_place: ns_host_event_place,
    flow: [ns_host_flow_nll_reduce, ns_host_flow_batch_nll_reduce],
    differentiate: ns_host_differentiate,
    differentiate_changing: ns_host_differentiate_changing,
};

const OF_MANY: Kernels = Kernels {
    fit: ns_many_fit,
    evaluate: ns_many_evaluate,
    covariance: ns_many_covariance,
    draw: ns_many_draw,
    event_sums: ns_many_event_sums,
    event_totals: ns_many_event_totals,
    event_toys: ns_many_event_toys,
    event_draw: ns_many_event_draw,
    event_place: ns_many_event_place,
    flow: [ns_many_flow_nll_reduce, ns_many_flow_batch_nll_reduce],
    differentiate: ns_many_differentiate,
    differentiate_changing: ns_many_differentiate_changing,
};

/// A device whose kernels run on the CPU. Its device memory is memory of the process.
#[derive(Debug)]
pub(super) struct Host {
    properties: Properties,
    kernels: Kernels,
    /// Lock that is held during a launch. Launches thus run one after the other, as on a stream.
    running: Mutex<()>,
}

/// Returns a device whose memory is the memory of the process, as a target for columns of events in tests.
#[must_use]
pub fn event_target() -> EventTarget {
    EventTarget::new(backend(), Device::Cuda(0))
}

/// Opens a session that runs the kernels compiled for the CPU. It is slow and is meant for tests.
///
/// # Errors
/// The errors of `GpuSession::open`.
pub fn open(model: &Model, execution: &Execution) -> Result<GpuSession, SessionError> {
    GpuSession::open(model, execution, Device::Cuda(0), Arc::new(Host::new()))
}

/// Opens a session of a model with event channels, on a device that runs the kernels compiled for the CPU. For data
/// with fewer than `fewest` events, the normal code of the CPU computes the sums.
///
/// # Errors
/// The same errors as [`open`].
pub fn open_events(
    model: &Model,
    execution: &Execution,
    fewest: usize,
) -> Result<EventGpuSession, SessionError> {
    EventGpuSession::open(model, execution, Device::Cuda(0), backend(), fewest)
}

/// Prepares the kernels compiled for the CPU to compute `-ln L` from log-densities, as [`super::cuda::open_flow`]
/// does for a GPU.
///
/// # Errors
/// The errors of [`super::cuda::open_flow`].
pub fn open_flow(n_processes: usize, weights: Option<&[f64]>) -> Result<DeviceFlow, SessionError> {
    DeviceFlow::new(backend(), Device::Cuda(0), n_processes, weights)
}

/// Returns a device that runs the kernels compiled for the CPU.
pub(crate) fn backend() -> Arc<dyn Backend> {
    Arc::new(Host::new())
}

/// Opens a session on `n` devices. Each of them runs the kernels compiled for the CPU.
///
/// # Errors
/// The errors of [`open`].
pub fn open_several(model: &Model, execution: &Execution, n: usize) -> Result<MultiGpuSession, SessionError> {
    let backend = |index| (Device::Cuda(index), Arc::new(Host::new()) as Arc<dyn Backend>);
    MultiGpuSession::open(model, execution, (0..n).map(backend).collect())
}

/// Alignment of allocated memory, in bytes.
const ALIGNMENT: usize = 256;

impl Host {
    pub(super) fn new() -> Self {
        let properties = Properties {
            multiprocessors: 2,
            // This size is small, so tests include models that do not fit into shared memory.
            shared_per_block: 40 << 10,
            shared_per_multiprocessor: 64 << 10,
            memory: u64::MAX,
        };
        Self::with(properties)
    }

    /// Creates a device that reports the given properties.
    pub(super) fn with(properties: Properties) -> Self {
        let many = std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some_and(|how| how == "blocks");
        let kernels = if many { OF_MANY } else { OF_ONE_THREAD };
        Self { properties, kernels, running: Mutex::new(()) }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

/// Returns the pointer to the memory at the offset `at`. Offsets of this device are host addresses.
fn pointer(at: Memory) -> *mut u8 {
    at.bytes() as *mut u8
}

impl Backend for Host {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError> {
        let refused = || SessionError::DeviceUnavailable {
            device: Device::Cpu,
            reason: format!("no memory for {bytes} bytes"),
            remedy: "use a smaller model".into(),
        };
        let layout = layout(bytes).ok_or_else(refused)?;
        // SAFETY: the size is not zero.
        let address = unsafe { alloc(layout) };
        if address.is_null() {
            return Err(refused());
        }
        // The memory is filled with NaN, so tests notice reads of uninitialised memory. SAFETY: the allocation has
        // this many bytes.
        unsafe { address.write_bytes(0xff, bytes) };
        Ok(Offset::new(address as u64))
    }

    fn release(&self, memory: Memory, bytes: usize) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: `allocate` made it with this layout.
            unsafe { dealloc(pointer(memory), layout) };
        }
    }

    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        // SAFETY: the caller guarantees that the destination is within memory of this backend, whose offsets
        // are host addresses.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), pointer(to), from.len()) };
        Ok(())
    }

    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        // SAFETY: the caller guarantees that the source is within memory of this backend, whose offsets are
        // host addresses.
        unsafe { std::ptr::copy_nonoverlapping(pointer(from), to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn occupancy(&self, _kernel: Kernel, _threads: u32, _shared: u32) -> Result<usize, SessionError> {
        Ok(1)
    }

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        let _one = self.running.lock();
        let Kernels { fit, evaluate, covariance, draw, flow, .. } = self.kernels;
        let Kernels { differentiate, differentiate_changing, .. } = self.kernels;
        let Kernels { event_sums, event_totals, event_toys, event_draw, event_place, .. } = self.kernels;
        let (blocks, threads) = (shape.blocks as i32, shape.threads as i32);
        let (launch, numbers) = (parameter.as_ptr(), shape.shared as i32 / 8 + 1);
        // SAFETY: the parameter is the kernel's structure, and its addresses refer to buffers of this
        // backend. Rust and C++ lay the structure out in the same way (`static_assert` in structures.cuh
        // checks the size).
        unsafe {
            match kernel {
                Kernel::Fit => fit(launch, threads, numbers, blocks, 1, 0),
                Kernel::FitGlobal => fit(launch, threads, numbers, blocks, 0, 0),
                Kernel::FitOwn => fit(launch, threads, numbers, blocks, 1, 1),
                Kernel::Evaluate => evaluate(launch, threads, numbers, blocks, 1),
                Kernel::EvaluateGlobal => evaluate(launch, threads, numbers, blocks, 0),
                Kernel::Covariance => covariance(launch, threads, numbers, blocks),
                Kernel::Draw => draw(launch, threads, blocks),
                Kernel::EventSums => event_sums(launch, threads, blocks),
                Kernel::EventTotals => event_totals(launch, threads, blocks),
                Kernel::EventToys => event_toys(launch, threads, numbers, blocks, 1),
                Kernel::EventToysGlobal => event_toys(launch, threads, numbers, blocks, 0),
                Kernel::EventDraw => event_draw(launch, threads, blocks),
                Kernel::EventPlace => event_place(launch, threads, blocks),
                Kernel::FlowNllReduce => flow[0](launch, threads, numbers, blocks),
                Kernel::FlowBatchNllReduce => flow[1](launch, threads, numbers, blocks),
                Kernel::Differentiate => differentiate(launch, threads, numbers, blocks, 1),
                Kernel::DifferentiateGlobal => differentiate(launch, threads, numbers, blocks, 0),
                Kernel::DifferentiateChanging => differentiate_changing(launch, threads, numbers, blocks, 1),
                Kernel::DifferentiateChangingGlobal => {
                    differentiate_changing(launch, threads, numbers, blocks, 0);
                }
            }
        }
        Ok(())
    }

    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError> {
        Ok(Box::new(AtOnce::new(self)))
    }

    fn pinned(self: Arc<Self>, bytes: usize) -> Result<Box<dyn Pinned>, SessionError> {
        Ok(Box::new(PlainMemory::new(self, bytes)))
    }

    fn duplicate(&self, from: Memory, to: Memory, bytes: usize) -> Result<(), SessionError> {
        // SAFETY: the caller guarantees that both ranges are within memory of this backend, whose offsets are
        // host addresses.
        unsafe { std::ptr::copy_nonoverlapping(pointer(from), pointer(to), bytes) };
        Ok(())
    }

    fn guest(self: Arc<Self>) -> Result<Box<dyn Guest>, SessionError> {
        Ok(Box::new(AtOnce::new(self)))
    }
}

/// Host memory for copies to the device. A copy is complete when the call that starts it returns.
pub(super) struct PlainMemory {
    backend: Arc<dyn Backend>,
    numbers: Vec<f64>,
}

impl PlainMemory {
    pub(super) fn new(backend: Arc<dyn Backend>, bytes: usize) -> Self {
        Self { backend, numbers: vec![0.0; bytes.div_ceil(8)] }
    }
}

impl Pinned for PlainMemory {
    fn content(&mut self, numbers: usize) -> &mut [f64] {
        self.numbers.get_mut(..numbers).unwrap_or_default()
    }

    fn send(&mut self, numbers: Range<usize>, to: Memory) -> Result<(), SessionError> {
        self.backend.write(to, bytemuck::cast_slice(self.numbers.get(numbers).unwrap_or_default()))
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}

/// A lane (a stream of work) on a device that works synchronously: all work of a call is complete when the call
/// returns.
pub(super) struct AtOnce {
    backend: Arc<dyn Backend>,
    /// Bytes of the last copy from the device. They are stored in 64-bit words, which ensures their alignment.
    fetched: Vec<u64>,
    bytes: usize,
    answers: Vec<u64>,
}

impl AtOnce {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, fetched: Vec::new(), bytes: 0, answers: Vec::new() }
    }
}

impl Guest for AtOnce {
    unsafe fn launch(
        &mut self,
        _stream: u64,
        kernel: Kernel,
        shape: Shape,
        parameter: &[u8],
    ) -> Result<(), SessionError> {
        self.backend.launch(kernel, shape, parameter)
    }

    unsafe fn follow(&mut self, _stream: u64) -> Result<(), SessionError> {
        Ok(())
    }

    fn own_stream(&self) -> u64 {
        0
    }

    fn answers(&mut self, words: usize) -> Result<OffsetMut<u64>, SessionError> {
        if self.answers.len() < words {
            self.answers = vec![0; words];
        }
        Ok(Offset::new(self.answers.as_ptr() as u64))
    }

    unsafe fn ask(
        &mut self,
        _stream: u64,
        (kernel, shape, parameter): (Kernel, Shape, &[u8]),
        call: u32,
        to: &mut [f64],
    ) -> Result<(), SessionError> {
        self.backend.launch(kernel, shape, parameter)?;
        // SAFETY: the kernel has ended, and nobody else uses the memory.
        let word = |i| unsafe { self.answers.as_ptr().add(i).read_volatile() };
        if answered(word, call, to) { Ok(()) } else { Err(no_answer(Device::Cuda(0))) }
    }

    unsafe fn read(&mut self, _stream: u64, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        self.backend.read(from, to)
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn check_address(&self, _what: &'static str, _address: u64) -> Result<(), SessionError> {
        // All addresses are valid, because they are addresses in the process.
        Ok(())
    }
}

impl Lane for AtOnce {
    fn write(&mut self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        self.backend.write(to, from)
    }

    fn launch(&mut self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.backend.launch(kernel, shape, parameter)
    }

    fn fetch(&mut self, from: Memory, bytes: usize) -> Result<(), SessionError> {
        self.fetched.resize(bytes.div_ceil(8), 0);
        self.bytes = bytes;
        let to: &mut [u8] = bytemuck::cast_slice_mut(&mut self.fetched);
        self.backend.read(from, to.get_mut(..bytes).unwrap_or_default())
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn fetched(&self) -> &[u8] {
        bytemuck::cast_slice(&self.fetched).get(..self.bytes).unwrap_or_default()
    }
}
