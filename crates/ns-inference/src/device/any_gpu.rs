//! Opens sessions on GPUs of all makers, through Vulkan and Metal, and lists these GPUs.

use ns_core::{Device, Execution, Model, Session, SessionError};

/// A GPU, or software that behaves like one, and why it cannot be used.
#[cfg_attr(not(feature = "metal"), allow(dead_code))]
pub(super) struct AnyGpu {
    pub(super) description: String,
    pub(super) driver: String,
    /// Whether it computes on the CPU.
    pub(super) software: bool,
    pub(super) unusable: Option<String>,
}

#[cfg(feature = "metal")]
mod built {
    use ns_compute::any_gpu::{AnyGpuSession, Found, find};

    use super::{AnyGpu, Device, Execution, Model, Session, SessionError};

    pub(crate) fn open(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
        Ok(Box::new(AnyGpuSession::open(model, execution)?))
    }

    pub(crate) fn gpus(device: Device) -> Result<Vec<AnyGpu>, SessionError> {
        let all: Vec<AnyGpu> = find(device).into_iter().map(describe).collect();
        if all.is_empty() {
            return Err(super::no_driver(device));
        }
        Ok(all)
    }

    fn describe(gpu: Found) -> AnyGpu {
        let software = if gpu.software { ", software on the CPU: used only with its index" } else { "" };
        AnyGpu {
            description: format!(
                "{}, {} KiB workgroup memory, buffers up to {} MiB, mixed{software}",
                gpu.name,
                gpu.workgroup_memory >> 10,
                gpu.largest_buffer >> 20,
            ),
            driver: gpu.driver,
            software: gpu.software,
            unusable: gpu.unusable.map(str::to_owned),
        }
    }
}

#[cfg(not(feature = "metal"))]
mod built {
    //! Replaces the functions for GPUs of all makers in a build without them. They open no session and find no GPU.

    use super::{AnyGpu, Device, Execution, Model, Session, SessionError};

    pub(crate) fn open(_: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
        Err(missing(execution.device))
    }

    pub(crate) fn gpus(device: Device) -> Result<Vec<AnyGpu>, SessionError> {
        Err(missing(device))
    }

    fn missing(device: Device) -> SessionError {
        let (name, feature) = super::names(device);
        SessionError::DeviceUnavailable {
            device,
            reason: format!("this build has no {name} backend"),
            remedy: format!(
                "Use the device cpu, which supports every model, or build with the feature {feature}"
            ),
        }
    }
}

pub(super) use built::{gpus, open};

/// Returns the name of the interface of a device, and the feature that a build needs for it.
#[cfg(not(feature = "metal"))]
fn names(device: Device) -> (&'static str, &'static str) {
    if matches!(device, Device::Metal(_)) { ("Metal", "metal") } else { ("Vulkan", "vulkan") }
}

#[cfg(feature = "metal")]
fn no_driver(device: Device) -> SessionError {
    let (reason, remedy) = match device {
        Device::Metal(_) => ("Metal is a part of macOS", "Use the device cpu, which supports every model"),
        _ => (
            "no Vulkan driver shows a GPU",
            "Install the driver of its maker with Vulkan, or use the device cpu, which supports every model",
        ),
    };
    SessionError::DeviceUnavailable { device, reason: reason.to_owned(), remedy: remedy.to_owned() }
}
