//! Opens sessions on each kind of GPU, and lists the GPUs of this machine.
//!
//! A build without the feature for a kind of GPU and a machine without such a GPU give the same typed error.
//! Its message says what is missing and what to do.

use ns_core::{Device, Execution, Model, Session, SessionError};

/// The remedy that works on every machine, for error messages.
pub(super) const USE_CPU: &str = "Use the device cpu, which supports every model";

/// Description of a GPU by the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GpuDescription {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) memory: u64,
    pub(super) capability: (u32, u32),
    /// Newest CUDA version that the driver supports; 13000 means 13.0.
    pub(super) driver: u32,
    pub(super) multiprocessors: usize,
}

/// Opens a session on the NVIDIA GPU that `execution` names. [`Device::CudaAll`] stands for all GPUs of the
/// same model as the first one. For any other kind of device, the first NVIDIA GPU is used.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`] if this build has no CUDA backend, or if this machine has no usable
/// driver or GPU; [`SessionError::TooLarge`] if the model does not fit the GPU's memory.
pub(super) fn cuda_session(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    let device = match execution.device {
        device @ (Device::Cuda(_) | Device::CudaAll) => device,
        _ => Device::Cuda(0),
    };
    cuda::open(model, &Execution { device, ..execution.clone() })
}

/// Refuses to open a session on an Apple GPU.
///
/// # Errors
/// Always [`SessionError::DeviceUnavailable`], because no build has a Metal backend yet.
pub(super) fn metal_session(
    _model: &Model,
    _execution: &Execution,
) -> Result<Box<dyn Session>, SessionError> {
    Err(no_metal())
}

/// Lists the CUDA GPUs on which a session can be opened. The list has at least one entry.
///
/// # Errors
/// A [`SessionError`] that says why there is no such GPU.
pub(super) fn cuda_gpus() -> Result<Vec<GpuDescription>, SessionError> {
    cuda::gpus()
}

/// Returns whether this process has used a GPU before.
pub(super) fn is_warm() -> bool {
    cuda::is_warm()
}

/// Returns the GPU that `auto` considers, i.e. the first GPU of the list, or the reason why there is no GPU.
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

/// Splits the error of a device into the reason why it is not available and the remedy.
pub(super) fn reason_and_remedy(error: &SessionError) -> (String, String) {
    if let SessionError::DeviceUnavailable { reason, remedy, .. } = error {
        return (reason.clone(), remedy.clone());
    }
    // The first sentence of the message gives the reason, the others give the remedy.
    let text = error.to_string();
    match text.split_once(". ") {
        Some((reason, remedy)) => (reason.to_owned(), remedy.to_owned()),
        None => (text, USE_CPU.to_owned()),
    }
}

pub(super) fn no_metal() -> SessionError {
    unavailable(Device::Metal, "this build has no Metal backend")
}

pub(super) fn no_vulkan() -> SessionError {
    unavailable(Device::Vulkan, "this build has no Vulkan backend")
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

    pub(super) use ns_compute::device::cuda::is_warm;

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
    //! Replaces CUDA in a build without the feature `cuda`: no session can be opened, and no GPU is found.

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
}
