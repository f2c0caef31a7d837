//! Which devices this build and this machine have, and sessions on them.

use std::sync::{Arc, OnceLock};

use ns_compute::CpuSession;
use ns_core::{Device, Execution, Model, Session, SessionError};
use serde::Serialize;

/// One place where a session could run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// The name that `--device` takes.
    pub name: String,
    /// Whether a session can be opened on it.
    pub available: bool,
    /// What it is: cores and instruction set of a processor, model of a GPU.
    pub description: Option<String>,
    /// Why it is not available.
    pub reason: Option<String>,
    /// What to do about that.
    pub remedy: Option<String>,
}

/// Compiles `model` for the device that `execution` names. `auto` takes the processor.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`] with reason and remedy for a device that this build or
/// machine does not have; [`SessionError::TooLarge`] if the model does not fit the memory limit.
pub fn open_session(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    match missing(execution.device) {
        None => Ok(Box::new(CpuSession::open(model, execution)?)),
        Some((reason, remedy)) => Err(SessionError::DeviceUnavailable {
            device: execution.device,
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        }),
    }
}

/// As [`open_session`], but sessions of one model with different thread counts share what was
/// compiled: `compiled` keeps it, and is filled by the first call.
///
/// # Errors
/// As [`open_session`].
pub fn open_session_sharing(
    model: &Model,
    execution: &Execution,
    compiled: &OnceLock<CpuSession>,
) -> Result<Arc<dyn Session>, SessionError> {
    if missing(execution.device).is_some() || execution.memory_limit.is_some() {
        return Ok(Arc::from(open_session(model, execution)?));
    }
    let base = match compiled.get() {
        Some(base) => base,
        None => {
            let opened = CpuSession::open(model, &Execution { threads: 1, ..Execution::default() })?;
            opened.prepare();
            compiled.get_or_init(|| opened)
        }
    };
    Ok(Arc::new(base.with_threads(execution.threads)?))
}

/// Every kind of device that NextStat knows, available here or not.
#[must_use]
pub fn devices() -> Vec<DeviceInfo> {
    [Device::Cpu, Device::Cuda(0), Device::Metal, Device::Vulkan]
        .into_iter()
        .map(|device| {
            let missing = missing(device);
            DeviceInfo {
                name: match device {
                    Device::Cuda(_) => "cuda".to_owned(),
                    other => other.to_string(),
                },
                available: missing.is_none(),
                description: missing.is_none().then(describe_cpu),
                reason: missing.map(|(reason, _)| reason.to_owned()),
                remedy: missing.map(|(_, remedy)| remedy.to_owned()),
            }
        })
        .collect()
}

/// Why a device cannot be used, and what to do; `None` if it can.
fn missing(device: Device) -> Option<(&'static str, &'static str)> {
    const USE_CPU: &str = "Use --device cpu: it supports every model";
    match device {
        Device::Auto | Device::Cpu => None,
        Device::Cuda(_) => Some(("this build has no CUDA backend", USE_CPU)),
        Device::Metal => Some(("this build has no Metal backend", USE_CPU)),
        Device::Vulkan => Some(("this build has no Vulkan backend", USE_CPU)),
        _ => Some(("this build does not know it", USE_CPU)),
    }
}

/// Cores and instruction set in one line.
fn describe_cpu() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    format!("{} ({}), {cores} core{plural}, f64", std::env::consts::ARCH, simd_level())
}

/// The widest vector instructions of this processor that the kernels can use.
fn simd_level() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512dq") {
            return "AVX-512";
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return "AVX2";
        }
        "SSE2"
    }
    #[cfg(target_arch = "aarch64")]
    {
        "NEON"
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        "scalar"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_device_says_why_and_what_to_do() {
        let list = devices();
        assert_eq!(
            list.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(),
            ["cpu", "cuda", "metal", "vulkan"]
        );
        for device in list {
            assert_eq!(device.available, device.reason.is_none());
            assert_eq!(device.available, device.description.is_some());
            assert_eq!(device.reason.is_some(), device.remedy.is_some());
        }
    }
}
