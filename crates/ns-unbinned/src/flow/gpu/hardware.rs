//! Finds the version of TensorRT and the architecture of the GPU. An engine of TensorRT (a compiled graph) depends on
//! both. Also loads the NVIDIA libraries that are installed next to ONNX Runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use cudarc::driver::result::device;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{DriverError, result};

/// Name of TensorRT's library file, in the version with which ONNX Runtime is linked.
const TENSORRT: &str = if cfg!(target_os = "windows") { "nvinfer_10.dll" } else { "libnvinfer.so.10" };

/// NVIDIA libraries that the GPU providers of ONNX Runtime need, with the folders in which Python packages install
/// these libraries. The folders are relative to the folder that contains the package of ONNX Runtime. Each library
/// comes after the libraries on which it depends.
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

/// Loads the NVIDIA libraries that are installed by Python packages next to the package of ONNX Runtime. The GPU
/// providers of ONNX Runtime can then find these libraries. The system's loader finds all other libraries through
/// `LD_LIBRARY_PATH` or its own list.
pub(super) fn preload(onnxruntime: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The library of ONNX Runtime is in `site-packages/onnxruntime/capi`.
        let Some(site) = onnxruntime.ancestors().nth(3) else { return };
        for (folder, files) in PACKAGED {
            for file in files {
                let path = site.join(folder).join(file);
                if path.is_file() {
                    // If a library cannot be loaded, the registration of the provider fails later. The error then
                    // names the library.
                    let _ = ort::util::preload_dylib(&path);
                }
            }
        }
    });
}

/// Returns the version of TensorRT, for example `10.13.3`.
///
/// # Errors
/// The reason if the library cannot be loaded or called.
pub(super) fn tensorrt_version() -> Result<String, String> {
    // SAFETY: registering the provider of TensorRT has already loaded the same library.
    let library = unsafe { libloading::Library::new(TENSORRT) }.map_err(|error| error.to_string())?;
    // SAFETY: in every version, TensorRT's C interface has this function. It takes no argument and returns an integer.
    let version = unsafe {
        library.get::<unsafe extern "C" fn() -> i32>(b"getInferLibVersion\0").map(|function| function())
    };
    let number = version.map_err(|error| error.to_string())?;
    Ok(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
}

/// Returns the compute capability of the GPU with index `index`, for example (9, 0).
///
/// # Errors
/// The reason if NVIDIA's driver cannot be called.
pub(super) fn architecture(index: usize) -> Result<(u32, u32), String> {
    // SAFETY: the call opens and closes the library. Only the driver's own initialisers run.
    if !unsafe { sys::is_culib_present() } {
        return Err("NVIDIA's driver is not installed".to_owned());
    }
    let ask = || -> Result<(u32, u32), DriverError> {
        result::init()?;
        let gpu = device::get(i32::try_from(index).unwrap_or(i32::MAX))?;
        let part = |which: Attribute| {
            // SAFETY: the driver returned this device.
            unsafe { device::get_attribute(gpu, which) }.map(|value| u32::try_from(value).unwrap_or(0))
        };
        Ok((
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    };
    // The Rust bindings panic if the library does not have a function.
    catch_unwind(AssertUnwindSafe(ask))
        .map_err(|_| "NVIDIA's driver lacks a function".to_owned())?
        .map_err(|error| format!("NVIDIA's driver says {:?}", error.0))
}
