//! Opens sessions on the supported types of GPUs, and lists the GPUs of the host.
//!
//! The error is [`SessionError::DeviceUnavailable`] if the build has no backend for a type of GPU, or if the host has
//! no such GPU. The message of the error says what is missing and what to do.

use ns_core::{Device, Execution, Model, Session, SessionError};

/// A remedy that works on every machine, for error messages about GPUs.
pub(super) const USE_CPU: &str = "Use the device cpu, which supports every model";

/// Description of a GPU, as given by the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GpuDescription {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) memory: u64,
    pub(super) capability: (u32, u32),
    /// Newest CUDA version that the driver supports, as 1000 times the major version plus 10 times the minor version:
    /// 13000 means 13.0.
    pub(super) driver: u32,
    pub(super) multiprocessors: usize,
}

/// Opens a session on the NVIDIA GPU that `execution` names. [`Device::CudaAll`] means the first NVIDIA GPU and all
/// other GPUs of the same model. For any device that is not CUDA, the first NVIDIA GPU is used.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`] if this build has no CUDA backend, or if the host has no usable driver or GPU;
/// [`SessionError::TooLarge`] if the model does not fit in the GPU's memory.
pub(super) fn cuda_session(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    let device = match execution.device {
        device @ (Device::Cuda(_) | Device::CudaAll) => device,
        _ => Device::Cuda(0),
    };
    cuda::open(model, &Execution { device, ..execution.clone() })
}

/// Lists the CUDA GPUs on which a session can be opened. The list has at least one entry.
///
/// # Errors
/// A [`SessionError`] with the reason if there is no CUDA GPU on which a session can be opened.
pub(super) fn cuda_gpus() -> Result<Vec<GpuDescription>, SessionError> {
    cuda::gpus()
}

/// Returns the devices that [`Device::CudaAll`] stands for: the first NVIDIA GPU and all others of the same model.
///
/// # Errors
/// The errors of [`cuda_gpus`].
pub(super) fn all_cuda() -> Result<Vec<Device>, SessionError> {
    let gpus = cuda_gpus()?;
    let first = gpus.first().map(|gpu| gpu.name.clone());
    let same = gpus.iter().filter(|gpu| Some(&gpu.name) == first.as_ref());
    Ok(same.map(|gpu| Device::Cuda(gpu.index)).collect())
}

/// Returns whether this process has used a GPU before.
pub(super) fn is_warm() -> bool {
    cuda::is_warm()
}

/// Returns whether the driver of a GPU is installed. The driver is not started.
pub(super) fn is_installed() -> bool {
    cuda::is_installed()
}

/// Returns the first GPU of the list, which is the GPU that `auto` considers. If there is no GPU, returns the reason.
pub(super) fn best_gpu() -> Result<super::GpuCandidate, String> {
    match cuda_gpus() {
        Ok(gpus) => match gpus.first() {
            Some(gpu) => Ok(super::GpuCandidate::new(
                gpu.index,
                &gpu.name,
                gpu.capability,
                gpu.multiprocessors,
                is_warm(),
            )),
            None => Err("the driver lists none".to_owned()),
        },
        Err(error) => Err(reason_and_remedy(&error).0),
    }
}

/// Returns the reason why a device is unavailable, and the remedy, from the error `error`.
pub(super) fn reason_and_remedy(error: &SessionError) -> (String, String) {
    if let SessionError::DeviceUnavailable { reason, remedy, .. } = error {
        return (reason.clone(), remedy.clone());
    }
    // The first sentence of the message gives the reason. The remaining sentences give the remedy.
    let text = error.to_string();
    match text.split_once(". ") {
        Some((reason, remedy)) => (reason.to_owned(), remedy.to_owned()),
        None => (text, USE_CPU.to_owned()),
    }
}

pub(super) fn unknown(device: Device) -> SessionError {
    unavailable(device, "this build does not know it")
}

fn unavailable(device: Device, reason: &str) -> SessionError {
    SessionError::DeviceUnavailable { device, reason: reason.to_owned(), remedy: USE_CPU.to_owned() }
}

#[cfg(feature = "cuda")]
mod cuda {
    //! Opens sessions on NVIDIA GPUs through `ns_compute::device::cuda`.

    use ns_compute::device::cuda::found;

    use super::{Execution, GpuDescription, Model, Session, SessionError};

    pub(super) use ns_compute::device::cuda::{is_installed, is_warm};

    pub(super) fn open(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
        ns_compute::device::cuda::open(model, execution)
    }

    pub(super) fn gpus() -> Result<Vec<GpuDescription>, SessionError> {
        let gpus = found()?;
        if gpus.is_empty() {
            return Err(SessionError::NoSuchCudaDevice { index: 0, count: 0 });
        }
        Ok(gpus
            .into_iter()
            .map(|gpu| GpuDescription {
                index: gpu.index,
                name: gpu.name,
                memory: gpu.memory,
                capability: gpu.capability,
                driver: gpu.driver,
                multiprocessors: gpu.multiprocessors,
            })
            .collect())
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    //! Replaces the CUDA functions in a build without the feature `cuda`. These functions open no session and find no
    //! GPU.

    use super::{Device, Execution, GpuDescription, Model, Session, SessionError};

    fn missing(device: Device) -> SessionError {
        SessionError::DeviceUnavailable {
            device,
            reason: "this build has no CUDA backend".to_owned(),
            remedy: "Use the device cpu, which supports every model, or build with the feature cuda"
                .to_owned(),
        }
    }

    pub(super) fn open(_model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
        Err(missing(execution.device))
    }

    pub(super) fn gpus() -> Result<Vec<GpuDescription>, SessionError> {
        Err(missing(Device::Cuda(0)))
    }

    pub(super) fn is_warm() -> bool {
        false
    }

    pub(super) fn is_installed() -> bool {
        false
    }
}
