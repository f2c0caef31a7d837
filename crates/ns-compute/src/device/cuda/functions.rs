//! Loads the kernels of a device when they are first needed, and sets how much shared memory each kernel may use.

use std::ffi::{CString, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute, CUresult};
use ns_core::SessionError;

use super::super::backend::Kernel;
use super::driver::{CudaDriver, Handle};
use super::failure::{DriverCall, name};
use super::images::Image;
use super::loading::guarded;

/// Dynamic shared memory, in bytes, that every kernel may use without a request to the driver.
const PLAIN_SHARED: u32 = 48 << 10;
/// Preferred size of shared memory, in percent of the on-chip memory that is divided between shared memory and the L1
/// cache.
const ALL_SHARED: i32 = 100;

/// A loaded kernel, with the limit of its dynamic shared memory.
pub(super) struct Function {
    pub(super) handle: Handle<sys::CUfunc_st>,
    /// Limit of the kernel's dynamic shared memory, in bytes. The lock is held while the limit is changed. Otherwise,
    /// if two threads set limits at the same time, the smaller limit could be set last.
    allowed: Mutex<u32>,
}

/// All kernels of a device.
pub(super) struct Functions {
    /// Images to try to load, the best first. An image contains all kernels in one form of compiled code.
    images: Vec<Image>,
    loaded: OnceLock<Vec<Function>>,
    /// Error of the last attempt to load the code, if the driver rejected all images. The lock is held while the code
    /// is loaded.
    refused: Mutex<Option<SessionError>>,
}

impl Functions {
    /// Creates the list of kernels from the images. No kernel is loaded yet.
    pub(super) fn new(images: Vec<Image>) -> Self {
        Self { images, loaded: OnceLock::new(), refused: Mutex::new(None) }
    }
}

impl CudaDriver {
    /// Returns a loaded kernel. The first call loads the code and finds all kernels in it.
    pub(super) fn function(&self, kernel: Kernel) -> Result<&Function, SessionError> {
        let functions = match self.functions.loaded.get() {
            Some(functions) => functions,
            None => self.load_once()?,
        };
        let place = Kernel::ALL.iter().position(|&other| other == kernel);
        place
            .and_then(|place| functions.get(place))
            .ok_or_else(|| self.no_image(format!("{kernel:?} is unknown")))
    }

    /// Loads the code, unless it is loaded already or the driver has rejected all images. A rejection is final. Other
    /// errors, such as too little memory, may be temporary, so the next call tries again.
    fn load_once(&self) -> Result<&[Function], SessionError> {
        let mut refused = self.functions.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = refused.as_ref() {
            return Err(error.clone());
        }
        if let Some(functions) = self.functions.loaded.get() {
            return Ok(functions);
        }
        let functions = self.load().inspect_err(|error| {
            if matches!(error, SessionError::KernelImage { .. }) {
                *refused = Some(error.clone());
            }
        })?;
        Ok(self.functions.loaded.get_or_init(|| functions))
    }

    fn load(&self) -> Result<Vec<Function>, SessionError> {
        let mut reasons = Vec::new();
        for image in &self.functions.images {
            let loaded = guarded(self.device, || {
                Ok(self.current(|| {
                    // SAFETY: the image is machine code, or PTX text that ends with a zero byte, and lives
                    // until the program ends.
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

    /// Allows a kernel to use `shared` bytes of dynamic shared memory. If the kernel's limit is already larger, the
    /// limit does not change.
    pub(super) fn allow(&self, function: &Function, shared: u32) -> Result<(), SessionError> {
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
}

fn find(module: sys::CUmodule, kernel: Kernel) -> Result<Function, DriverError> {
    let symbol = CString::new(kernel.symbol()).map_err(|_| DriverError(CUresult::CUDA_ERROR_NOT_FOUND))?;
    // SAFETY: the module was loaded just now and stays loaded.
    let handle = unsafe { result::module::get_function(module, symbol) }?;
    Ok(Function { handle: Handle(handle), allowed: Mutex::new(0) })
}

/// Returns whether an error is caused by the image. In this case, another image may still load.
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
