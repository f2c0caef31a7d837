//! A CUDA device through NVIDIA's driver.
//!
//! One context (the primary one, which other libraries of the process share), one stream, one module per device,
//! made when first needed and kept until the process ends: making them takes a fifth of a second.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError, stream::StreamKind};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute, CUresult,
};
use ns_core::{Device, SessionError};

use super::backend::{Backend, Kernel, Lane, Properties, Shape};
use super::failure::{DriverCall, explain, name};
use super::images::{self, Image};
use super::lane::CudaLane;
use super::loading::{self, attribute, guarded};
use super::pool::Pool;
use super::staging::Staging;

/// Copies to the device up to this size go without page-locked memory: the driver takes them along with the command.
const SMALL: usize = 64 << 10;
/// Most bytes of freed memory that are kept.
const KEPT: usize = 1 << 30;
/// Bytes of a kernel's parameters that every GPU takes.
const MOST_PARAMETERS: usize = 4096;
/// Dynamic shared memory that a kernel has without asking for more.
const PLAIN_SHARED: u32 = 48 << 10;
/// "As much shared memory as there is" in percent of what L1 cache and shared memory divide.
const ALL_SHARED: i32 = 100;

/// A device.
pub(crate) struct CudaDriver {
    device: Device,
    properties: Properties,
    context: Handle<sys::CUctx_st>,
    stream: Handle<sys::CUstream_st>,
    /// The images that the driver may load, best first.
    images: Vec<Image>,
    functions: OnceLock<Vec<Function>>,
    /// Locked while the code is loaded. Holds the reason once the GPU has refused all of it.
    refused: Mutex<Option<SessionError>>,
    pool: Mutex<Pool>,
    staging: Mutex<Option<Staging>>,
    lost: AtomicBool,
}

/// A handle of the driver.
struct Handle<T>(*mut T);

// SAFETY: handles of the driver are good on any thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above; the driver locks what it must.
unsafe impl<T> Sync for Handle<T> {}

/// A kernel, and the dynamic shared memory that it has been allowed.
struct Function {
    handle: Handle<sys::CUfunc_st>,
    /// Locked while it is changed; otherwise of two simultaneous changes the smaller one could come last.
    allowed: Mutex<u32>,
}

/// The device of this index. The first call makes it ready; later ones get the same.
///
/// # Errors
/// If the driver, the device, or code for the GPU is missing, each with its remedy.
pub(crate) fn open(index: usize) -> Result<Arc<dyn Backend>, SessionError> {
    // A lock for each device: several are made ready side by side.
    type DriverSlot = Arc<Mutex<Option<Arc<CudaDriver>>>>;
    static OPEN: Mutex<BTreeMap<usize, DriverSlot>> = Mutex::new(BTreeMap::new());
    let place = Arc::clone(OPEN.lock().unwrap_or_else(PoisonError::into_inner).entry(index).or_default());
    let mut open = place.lock().unwrap_or_else(PoisonError::into_inner);
    if open.as_ref().is_some_and(|device| device.lost.load(Ordering::Relaxed)) {
        // Where no session holds it any more, this ends the broken context and the next is a new one.
        *open = None;
    }
    if let Some(device) = open.as_ref() {
        return Ok(Arc::clone(device) as Arc<dyn Backend>);
    }
    let device = Arc::new(guarded(Device::Cuda(index), || CudaDriver::new(index))?);
    *open = Some(Arc::clone(&device));
    WARM.store(true, Ordering::Relaxed);
    Ok(device)
}

/// Set once a device has been made ready.
static WARM: AtomicBool = AtomicBool::new(false);

/// Whether this process has made a device ready before: the next session then opens at once.
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
            name: found.name,
            capability: found.capability,
            driver: driver.version,
            multiprocessors: found.multiprocessors,
            shared_per_block: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
                as usize,
            shared_per_multiprocessor: number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )? as usize,
            memory: found.memory,
        };
        let failed = |error: DriverError| explain(device, DriverCall::Opening, error.0);
        // SAFETY: the handle is one that the driver gave; what is retained is released when this is dropped.
        let context = unsafe { result::primary_ctx::retain(handle) }.map_err(failed)?;
        let mut this = Self {
            device,
            properties,
            context: Handle(context),
            stream: Handle(std::ptr::null_mut()),
            images,
            functions: OnceLock::new(),
            refused: Mutex::new(None),
            pool: Mutex::new(Pool::new(KEPT.min(usize::try_from(found.memory / 8).unwrap_or(KEPT)))),
            staging: Mutex::new(None),
            lost: AtomicBool::new(false),
        };
        // The stream does not wait for work of other libraries on the default stream.
        this.stream =
            Handle(this.inside(DriverCall::Opening, || result::stream::create(StreamKind::NonBlocking))?);
        Ok(this)
    }

    /// Calls the driver with the device's context current, and leaves the thread's context as it was.
    pub(super) fn inside<T>(
        &self,
        doing: DriverCall,
        call: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, SessionError> {
        guarded(self.device, || self.current(call).map_err(|error| self.failed(doing, error.0)))
    }

    /// The error for one of the driver; remembers the loss of the device.
    fn failed(&self, doing: DriverCall, code: CUresult) -> SessionError {
        let error = explain(self.device, doing, code);
        if matches!(error, SessionError::DeviceLost { .. }) {
            self.lost.store(true, Ordering::Relaxed);
        }
        error
    }

    fn current<T>(&self, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { sys::cuCtxPushCurrent_v2(self.context.0) }.result()?;
        let result = call();
        let mut popped = std::ptr::null_mut();
        // SAFETY: it takes away what was pushed above.
        let restored = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) }.result();
        result.and_then(|value| restored.map(|()| value))
    }

    /// Loads the code, once, and finds the kernels in it.
    fn function(&self, kernel: Kernel) -> Result<&Function, SessionError> {
        let functions = match self.functions.get() {
            Some(functions) => functions,
            None => self.load_once()?,
        };
        let place = Kernel::ALL.iter().position(|&other| other == kernel);
        place
            .and_then(|place| functions.get(place))
            .ok_or_else(|| self.no_image(format!("{kernel:?} is unknown")))
    }

    /// Errors about the code are final; other errors, for example about memory, may be temporary.
    fn load_once(&self) -> Result<&[Function], SessionError> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = refused.as_ref() {
            return Err(error.clone());
        }
        if let Some(functions) = self.functions.get() {
            return Ok(functions);
        }
        let functions = self.load().inspect_err(|error| {
            if matches!(error, SessionError::KernelImage { .. }) {
                *refused = Some(error.clone());
            }
        })?;
        Ok(self.functions.get_or_init(|| functions))
    }

    fn load(&self) -> Result<Vec<Function>, SessionError> {
        let mut reasons = Vec::new();
        for image in &self.images {
            let loaded = guarded(self.device, || {
                Ok(self.current(|| {
                    // SAFETY: the image is machine code or text with a zero at its end, and lives for ever.
                    let module = unsafe { result::module::load_data(image.code.as_ptr().cast::<c_void>()) }?;
                    Kernel::ALL.iter().map(|kernel| find(module, *kernel)).collect::<Result<Vec<_>, _>>()
                }))
            })?;
            match loaded {
                Ok(functions) => return Ok(functions),
                Err(DriverError(code)) if is_about_code(code) => {
                    reasons.push(format!("{}: {}", image.name, name(code)));
                }
                Err(DriverError(code)) => return Err(self.failed(DriverCall::Opening, code)),
            }
        }
        Err(self.no_image(reasons.join("; ")))
    }

    fn no_image(&self, error: String) -> SessionError {
        SessionError::KernelImage {
            device: self.device,
            error,
            remedy: "Update NVIDIA's driver (its package with the PTX compiler, libnvidia-ptxjitcompiler, included), or \
                     choose the device cpu",
        }
    }

    /// Lets a kernel have this much dynamic shared memory.
    fn allow(&self, function: &Function, shared: u32) -> Result<(), SessionError> {
        if shared as usize > self.properties.shared_per_block {
            return Err(SessionError::TooLarge {
                what: format!("the working memory of a block on {}", self.device),
                needed: u64::from(shared),
                limit: self.properties.shared_per_block as u64,
            });
        }
        let mut allowed = function.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if shared <= *allowed {
            return Ok(());
        }
        self.inside(DriverCall::Launching, || {
            // SAFETY: the function is of a module that stays loaded.
            unsafe {
                if shared > PLAIN_SHARED {
                    result::function::set_function_attribute(
                        function.handle.0,
                        FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        i32::try_from(shared).unwrap_or(i32::MAX),
                    )?;
                }
                result::function::set_function_attribute(
                    function.handle.0,
                    FunctionAttribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                    ALL_SHARED,
                )
            }
        })?;
        *allowed = shared;
        Ok(())
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees memory. After a failure of the device this is not possible and not needed.
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
        // The driver reads as many bytes as the kernel's parameter has, from an address fit for numbers.
        let mut bytes = [0_u64; MOST_PARAMETERS / 8];
        for (word, chunk) in bytes.iter_mut().zip(parameter.chunks(8)) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(eight);
        }
        let mut parameters = [(&raw mut bytes).cast::<c_void>()];
        self.inside(DriverCall::Launching, || {
            // SAFETY: the kernel takes one parameter of at most so many bytes, which are copied before the call
            // returns; the addresses in them are the session's to answer for.
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

    /// Makes `lane` wait for all work that was submitted to this device directly so far; `event` belongs to the lane.
    ///
    /// # Safety
    /// Stream and event must be alive and of this device. The device's context must be current.
    pub(super) unsafe fn precede(&self, lane: sys::CUstream, event: sys::CUevent) -> Result<(), DriverError> {
        // SAFETY: the caller answers for both; the device's own stream lives as long as it.
        unsafe {
            result::event::record(event, self.stream.0)?;
            result::stream::wait_event(lane, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
        }
    }

    /// Whether the device was lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Runs with the page-locked memory.
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

fn find(module: sys::CUmodule, kernel: Kernel) -> Result<Function, DriverError> {
    let symbol = CString::new(kernel.symbol()).map_err(|_| DriverError(CUresult::CUDA_ERROR_NOT_FOUND))?;
    // SAFETY: the module was loaded just now and stays loaded.
    let handle = unsafe { result::module::get_function(module, symbol) }?;
    Ok(Function { handle: Handle(handle), allowed: Mutex::new(0) })
}

/// Errors that another piece of code may not have.
fn is_about_code(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_INVALID_PTX
            | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
            | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_NOT_FOUND
    )
}

impl Backend for CudaDriver {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_memory(&self) -> Result<u64, SessionError> {
        let (free, _) = self.inside(DriverCall::Asking, result::mem_get_info)?;
        Ok((free + self.pool().held()) as u64)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, SessionError> {
        if bytes == 0 {
            return Ok(0);
        }
        let size = Pool::size(bytes);
        if let Some(address) = self.pool().take(size) {
            return Ok(address);
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
        if let Some(address) = ask()? {
            return Ok(address);
        }
        // The pool may hold the memory that is missing.
        let kept = self.pool().empty();
        self.free(kept);
        ask()?.map_or_else(
            || {
                let free = self.free_memory()?;
                Err(SessionError::OutOfDeviceMemory { device: self.device, needed: size as u64, free })
            },
            Ok,
        )
    }

    fn release(&self, address: u64, bytes: usize) {
        if bytes == 0 || self.lost.load(Ordering::Relaxed) {
            return;
        }
        if !self.pool().keep(address, Pool::size(bytes)) {
            self.free(vec![address]);
        }
    }

    fn write(&self, to: u64, from: &[u8]) -> Result<(), SessionError> {
        if from.is_empty() {
            return Ok(());
        }
        if from.len() <= SMALL {
            // SAFETY: `to` is device memory of that size; from pageable memory the driver has read all of it when
            // the call returns.
            return self.inside(DriverCall::Copying, || unsafe {
                result::memcpy_htod_async(to, from, self.stream.0)
            });
        }
        // SAFETY: as above.
        self.staged(DriverCall::Copying, |staging, stream| unsafe { staging.write(stream, to, from) })
    }

    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), SessionError> {
        if to.is_empty() {
            return Ok(());
        }
        // Errors of kernels started before come to light here.
        // SAFETY: `from` is device memory of that size.
        self.staged(DriverCall::Waiting, |staging, stream| unsafe { staging.read(stream, from, to) })
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
}

impl Drop for CudaDriver {
    /// Happens only after the device was lost. Releasing the context frees everything in it.
    fn drop(&mut self) {
        let Device::Cuda(index) = self.device else { return };
        let _ = guarded(self.device, || {
            let handle = loading::handle(loading::driver()?, index)?;
            // SAFETY: it was retained once, when this was made.
            let _ = unsafe { result::primary_ctx::release(handle) };
            Ok(())
        });
    }
}
