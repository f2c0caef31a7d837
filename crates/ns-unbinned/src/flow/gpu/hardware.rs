//! What an engine of TensorRT depends on besides the graph: the version of TensorRT and the kind of GPU. Also finds
//! libraries of NVIDIA beside the one of ONNX Runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use cudarc::driver::result::device;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{DriverError, result};

/// File of TensorRT, of the version that ONNX Runtime is linked with.
const TENSORRT: &str = if cfg!(target_os = "windows") { "nvinfer_10.dll" } else { "libnvinfer.so.10" };

/// Libraries that the providers are linked with, each after those that it needs, and the folders in which the packages
/// of PyPI have them, beside the folder of ONNX Runtime.
const PACKAGED: [(&str, &[&str]); 3] = [
    (
        "nvidia/cu13/lib",
        &[
            "libcudart.so.13",
            "libcublasLt.so.13",
            "libcublas.so.13",
            "libnvrtc.so.13",
            "libcurand.so.10",
            "libcufft.so.12",
        ],
    ),
    ("nvidia/cudnn/lib", &["libcudnn.so.9"]),
    ("tensorrt_libs", &["libnvinfer.so.10", "libnvonnxparser.so.10"]),
];

/// Loads NVIDIA's libraries from the Python packages that are installed beside ONNX Runtime's, so that the providers
/// find them. Others are left to the loader of the system, which needs `LD_LIBRARY_PATH` or its own list.
pub(super) fn preload(onnxruntime: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The library lies in `site-packages/onnxruntime/capi`.
        let Some(site) = onnxruntime.ancestors().nth(3) else { return };
        for (folder, files) in PACKAGED {
            for file in files {
                let path = site.join(folder).join(file);
                if path.is_file() {
                    // A library that cannot be loaded is named when the provider is registered.
                    let _ = ort::util::preload_dylib(&path);
                }
            }
        }
    });
}

/// Returns the version of TensorRT, for example `10.13.3`.
///
/// # Errors
/// Text that says why its library cannot be asked.
pub(super) fn tensorrt_version() -> Result<String, String> {
    // SAFETY: the provider of TensorRT, which is registered before, has loaded the same library.
    let library = unsafe { libloading::Library::new(TENSORRT) }.map_err(|error| error.to_string())?;
    // SAFETY: the function is part of TensorRT's C interface in every version: it takes nothing and returns an integer.
    let version = unsafe {
        library.get::<unsafe extern "C" fn() -> i32>(b"getInferLibVersion\0").map(|function| function())
    };
    let number = version.map_err(|error| error.to_string())?;
    Ok(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
}

/// Returns the compute capability of a GPU, for example (9, 0).
///
/// # Errors
/// Text that says why NVIDIA's driver cannot be asked.
pub(super) fn architecture(index: usize) -> Result<(u32, u32), String> {
    // SAFETY: the call opens and closes the library. Only the driver's own initialisers run.
    if !unsafe { sys::is_culib_present() } {
        return Err("NVIDIA's driver is not installed".to_owned());
    }
    let ask = || -> Result<(u32, u32), DriverError> {
        result::init()?;
        let gpu = device::get(i32::try_from(index).unwrap_or(i32::MAX))?;
        let part = |which: Attribute| {
            // SAFETY: the device is one that the driver gave.
            unsafe { device::get_attribute(gpu, which) }.map(|value| u32::try_from(value).unwrap_or(0))
        };
        Ok((
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    };
    // The bindings panic where the library lacks a function.
    catch_unwind(AssertUnwindSafe(ask))
        .map_err(|_| "NVIDIA's driver lacks a function".to_owned())?
        .map_err(|error| format!("NVIDIA's driver says {:?}", error.0))
}
