//! A CUDA device, accessed through NVIDIA's driver.
//!
//! Each device has one context (the primary context, which other libraries of the process share), one stream in
//! addition to the streams of lanes, and one module with the kernels. Creating them takes 0.2 s. They are therefore
//! created when they are first needed, and kept until the process ends or the device is lost.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError, stream::StreamKind};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use ns_core::{Device, SessionError};

use super::super::backend::{Backend, Guest, Kernel, Lane, Pinned, Properties, Shape};
use super::super::offset::{Memory, Offset};
use super::failure::{DriverCall, explain};
use super::functions::Functions;
use super::guest::CudaGuest;
use super::images;
use super::lane::CudaLane;
use super::loading::{self, attribute, guarded};
use super::pinned::CudaPinned;
use super::pool::Pool;
use super::staging::Staging;

/// Largest size, in bytes, of a copy to the device that does not use page-locked memory. For such a small copy, the
/// driver sends the data together with the copy command.
const SMALL: usize = 64 << 10;
/// Largest total size, in bytes, of freed device memory that is kept for later allocations.
const KEPT: usize = 1 << 30;
/// Limit on the total size of a kernel's parameters, in bytes. Every GPU accepts parameters up to this size.
const MOST_PARAMETERS: usize = 4096;

/// A CUDA device with its context, stream and kernels.
pub(super) struct CudaDriver {
    pub(super) device: Device,
    pub(super) properties: Properties,
    context: Handle<sys::CUctx_st>,
    stream: Handle<sys::CUstream_st>,
    pub(super) functions: Functions,
    pool: Mutex<Pool>,
    staging: Mutex<Option<Staging>>,
    lost: AtomicBool,
}

/// A handle of the driver. It is a pointer that only the driver may dereference.
pub(super) struct Handle<T>(pub(super) *mut T);

// SAFETY: the driver's handles are valid on any thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: handles are valid on any thread, and the driver does the necessary locking.
unsafe impl<T> Sync for Handle<T> {}

/// Returns the device with the index `index`. The first call opens the device; later calls return the same device until
/// it is lost.
///
/// # Errors
/// If the driver, the device, or kernel code for the GPU is missing. Each error names a remedy.
pub(super) fn open(index: usize) -> Result<Arc<CudaDriver>, SessionError> {
    // Each device has its own lock, so several devices can be opened at the same time.
    type DriverSlot = Arc<Mutex<Option<Arc<CudaDriver>>>>;
    static OPEN: Mutex<BTreeMap<usize, DriverSlot>> = Mutex::new(BTreeMap::new());
    let place = Arc::clone(OPEN.lock().unwrap_or_else(PoisonError::into_inner).entry(index).or_default());
    let mut open = place.lock().unwrap_or_else(PoisonError::into_inner);
    if open.as_ref().is_some_and(|device| device.lost.load(Ordering::Relaxed)) {
        // If no session uses the lost device any more, this assignment ends its context. A new context is created
        // below.
        *open = None;
    }
    if let Some(device) = open.as_ref() {
        return Ok(Arc::clone(device));
    }
    let device = Arc::new(guarded(Device::Cuda(index), || CudaDriver::new(index))?);
    *open = Some(Arc::clone(&device));
    WARM.store(true, Ordering::Relaxed);
    Ok(device)
}

/// Whether this process has opened a CUDA device.
static WARM: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has already opened a CUDA device. If it has, the next session on that device opens
/// without delay.
#[must_use]
pub fn is_warm() -> bool {
    WARM.load(Ordering::Relaxed)
}

impl CudaDriver {
    fn new(index: usize) -> Result<Self, SessionError> {
        let device = Device::Cuda(index);
        let driver = loading::driver()?;
        let handle = loading::handle(driver, index)?;
        let found = loading::describe(driver, index)?;
        let images = images::choose(index, &found.name, found.capability, driver.version)?;
        let number = |which| attribute(index, handle, which);
        let properties = Properties {
            multiprocessors: found.multiprocessors,
            shared_per_block: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
                as usize,
            shared_per_multiprocessor: number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )? as usize,
            memory: found.memory,
        };
        let failed = |error: DriverError| explain(device, DriverCall::Opening, error.0);
        // SAFETY: the handle comes from the driver; the retained context is released when this device is
        // dropped.
        let context = unsafe { result::primary_ctx::retain(handle) }.map_err(failed)?;
        let mut this = Self {
            device,
            properties,
            context: Handle(context),
            stream: Handle(std::ptr::null_mut()),
            functions: Functions::new(images),
            pool: Mutex::new(Pool::new(KEPT.min(usize::try_from(found.memory / 8).unwrap_or(KEPT)))),
            staging: Mutex::new(None),
            lost: AtomicBool::new(false),
        };
        // The stream does not wait for work of other libraries on the default stream.
        this.stream =
            Handle(this.inside(DriverCall::Opening, || result::stream::create(StreamKind::NonBlocking))?);
        Ok(this)
    }

    /// Runs `call` while the device's context is the current context of the thread, and then restores the previous
    /// context. Errors of the driver, and panics, are converted to errors of the session. These errors name the
    /// operation `doing`.
    pub(super) fn inside<T>(
        &self,
        doing: DriverCall,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, SessionError> {
        guarded(self.device, || self.current(call).map_err(|error| self.failed(doing, error.0)))
    }

    /// Converts an error of the driver to an error of the session. If the error means that the device is lost, marks
    /// the device as lost.
    pub(super) fn failed(&self, doing: DriverCall, code: CUresult) -> SessionError {
        let error = explain(self.device, doing, code);
        if matches!(error, SessionError::DeviceLost { .. }) {
            self.lost.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Runs `call` while the device's context is the current context of the thread, and then restores the previous
    /// context. Returns errors of the driver unchanged.
    pub(super) fn current<T>(&self, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { sys::cuCtxPushCurrent_v2(self.context.0) }.result()?;
        let result = call();
        let mut popped = std::ptr::null_mut();
        // SAFETY: the call removes the context that was pushed above.
        let restored = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) }.result();
        result.and_then(|value| restored.map(|()| value))
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the free memory of the device in bytes. Freed memory that the pool keeps for later allocations counts as
    /// free.
    pub(super) fn free_memory(&self) -> Result<u64, SessionError> {
        let (free, _) = self.inside(DriverCall::Asking, result::mem_get_info)?;
        Ok((free + self.pool().held()) as u64)
    }

    /// Returns the memory at `addresses` to the driver. Errors are ignored: after a failure of the device, memory can
    /// no longer be freed, and freeing it is not necessary either.
    fn free(&self, addresses: Vec<u64>) {
        let _ = self.inside(DriverCall::Allocating, || {
            for address in addresses {
                // SAFETY: the address came from the driver and nobody uses it any more.
                unsafe { result::free_sync(address) }?;
            }
            Ok(())
        });
    }

    /// Starts a kernel on a stream of this device.
    pub(super) fn launch_on(
        &self,
        stream: sys::CUstream,
        kernel: Kernel,
        shape: Shape,
        parameter: &[u8],
    ) -> Result<(), SessionError> {
        if shape.blocks == 0 {
            return Ok(());
        }
        if parameter.len() > MOST_PARAMETERS {
            return Err(SessionError::TooLarge {
                what: format!("the parameter of {}", kernel.symbol()),
                needed: parameter.len() as u64,
                limit: MOST_PARAMETERS as u64,
            });
        }
        let function = self.function(kernel)?;
        self.allow(function, shape.shared)?;
        // The driver reads the kernel's parameter from this array. Its alignment must be that of 64-bit
        // numbers.
        let mut bytes = [0_u64; MOST_PARAMETERS / 8];
        for (word, chunk) in bytes.iter_mut().zip(parameter.chunks(8)) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(eight);
        }
        let mut parameters = [(&raw mut bytes).cast::<c_void>()];
        self.inside(DriverCall::Launching, || {
            // SAFETY: the kernel takes one parameter of at most this size, which is copied before the call
            // returns; the session guarantees that the offsets in it are valid addresses.
            unsafe {
                result::launch_kernel(
                    function.handle.0,
                    (shape.blocks, 1, 1),
                    (shape.threads, 1, 1),
                    shape.shared,
                    stream,
                    &mut parameters,
                )
            }
        })
    }

    /// Makes the stream `lane` wait for all work that was submitted to the device's own stream before this call.
    /// `event` must be an event of the lane. This method records the end of that work with the event.
    ///
    /// # Safety
    /// `lane` and `event` must belong to this device and must not be destroyed. The device's context must be the
    /// current context of the thread.
    pub(super) unsafe fn precede(&self, lane: sys::CUstream, event: sys::CUevent) -> Result<(), DriverError> {
        // SAFETY: the caller guarantees both; the device's own stream lives as long as the device.
        unsafe {
            result::event::record(event, self.stream.0)?;
            result::stream::wait_event(lane, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
        }
    }

    /// Returns the handle of the device's own stream.
    pub(super) fn own_stream(&self) -> u64 {
        self.stream.0 as u64
    }

    /// Returns whether the device was lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Runs `copy` with two arguments: the page-locked memory for copies, and the device's own stream. `doing` is the
    /// operation that errors name.
    fn staged(
        &self,
        doing: DriverCall,
        copy: impl FnOnce(&mut Staging, sys::CUstream) -> Result<(), DriverError>,
    ) -> Result<(), SessionError> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        self.inside(doing, || {
            let staging = match &mut *staging {
                Some(staging) => staging,
                empty => empty.insert(Staging::new()?),
            };
            copy(staging, self.stream.0)
        })
    }
}

impl Backend for CudaDriver {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, SessionError> {
        if bytes == 0 {
            return Ok(Offset::NULL);
        }
        let size = Pool::size(bytes);
        if let Some(address) = self.pool().take(size) {
            return Ok(Offset::new(address));
        }
        let ask = || {
            self.inside(DriverCall::Allocating, || {
                // SAFETY: the memory is written before it is read.
                match unsafe { result::malloc_sync(size) } {
                    Ok(address) => Ok(Some(address)),
                    Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
                    Err(error) => Err(error),
                }
            })
        };
        let mut given = ask()?;
        if given.is_none() {
            // The missing memory may be in the pool, so the pool is emptied.
            let kept = self.pool().empty();
            self.free(kept);
            given = ask()?;
        }
        match given {
            Some(address) => Ok(Offset::new(address)),
            None => {
                let free = self.free_memory()?;
                Err(SessionError::OutOfDeviceMemory { device: self.device, needed: size as u64, free })
            }
        }
    }

    fn release(&self, memory: Memory, bytes: usize) {
        if bytes == 0 || self.lost.load(Ordering::Relaxed) {
            return;
        }
        if !self.pool().keep(memory.bytes(), Pool::size(bytes)) {
            self.free(vec![memory.bytes()]);
        }
    }

    fn write(&self, to: Memory, from: &[u8]) -> Result<(), SessionError> {
        if from.is_empty() {
            return Ok(());
        }
        if from.len() <= SMALL {
            // SAFETY: `to` is device memory of that size. `from` is pageable memory, which the driver has
            // read completely when the call returns.
            return self.inside(DriverCall::Copying, || unsafe {
                result::memcpy_htod_async(to.bytes(), from, self.stream.0)
            });
        }
        // SAFETY: the same conditions hold.
        self.staged(DriverCall::Copying, |staging, stream| unsafe { staging.write(stream, to.bytes(), from) })
    }

    fn read(&self, from: Memory, to: &mut [u8]) -> Result<(), SessionError> {
        if to.is_empty() {
            return Ok(());
        }
        // This call reports errors of earlier kernels. SAFETY: `from` is device memory of that size.
        self.staged(DriverCall::Waiting, |staging, stream| unsafe { staging.read(stream, from.bytes(), to) })
    }

    fn occupancy(&self, kernel: Kernel, threads: u32, shared: u32) -> Result<usize, SessionError> {
        let function = self.function(kernel)?;
        self.allow(function, shared)?;
        let blocks = self.inside(DriverCall::Asking, || {
            // SAFETY: the function is of a module that stays loaded.
            unsafe {
                result::occupancy::max_active_block_per_multiprocessor(
                    function.handle.0,
                    i32::try_from(threads).unwrap_or(i32::MAX),
                    shared as usize,
                )
            }
        })?;
        Ok(usize::try_from(blocks).unwrap_or(0))
    }

    fn launch(&self, kernel: Kernel, shape: Shape, parameter: &[u8]) -> Result<(), SessionError> {
        self.launch_on(self.stream.0, kernel, shape, parameter)
    }

    fn lane(self: Arc<Self>) -> Result<Box<dyn Lane>, SessionError> {
        Ok(Box::new(CudaLane::new(self)?))
    }

    fn pinned(self: Arc<Self>, bytes: usize) -> Result<Box<dyn Pinned>, SessionError> {
        Ok(Box::new(CudaPinned::new(self, bytes)?))
    }

    fn duplicate(&self, from: Memory, to: Memory, bytes: usize) -> Result<(), SessionError> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both are memory of this device of that size.
        self.inside(DriverCall::Copying, || unsafe {
            result::memcpy_dtod_async(to.bytes(), from.bytes(), bytes, self.stream.0)
        })
    }

    fn settle(&self) {
        let _ = self.inside(DriverCall::Waiting, result::ctx::synchronize);
    }

    fn guest(self: Arc<Self>) -> Result<Box<dyn Guest>, SessionError> {
        Ok(Box::new(CudaGuest::new(self)?))
    }
}

impl Drop for CudaDriver {
    /// Releases the context. If nothing else uses the context, the driver then frees everything in it. A
    /// [`CudaDriver`] is dropped only after its device was lost.
    fn drop(&mut self) {
        let Device::Cuda(index) = self.device else { return };
        let _ = guarded(self.device, || {
            let handle = loading::handle(loading::driver()?, index)?;
            // SAFETY: the context was retained once, when `self` was created.
            let _ = unsafe { result::primary_ctx::release(handle) };
            Ok(())
        });
    }
}
