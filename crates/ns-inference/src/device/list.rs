//! Lists the devices of this host, and the types of devices that are not available, with the reasons.

use ns_core::{Device, SessionError};
use serde::Serialize;

use super::any_gpu::{self, AnyGpu};
use super::gpu;

/// A device, and whether a session can be opened on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeviceInfo {
    /// Name of the device that `--device` accepts.
    pub name: String,
    /// Whether a session can be opened on the device.
    pub available: bool,
    /// Cores and instruction set of a CPU, or model and memory of a GPU; `None` if the device is not
    /// available.
    pub description: Option<String>,
    /// Memory of a GPU, in bytes; `None` for other devices.
    pub memory: Option<u64>,
    /// Compute capability of an NVIDIA GPU, such as 9.0; `None` for other devices.
    pub capability: Option<String>,
    /// Newest CUDA version that the driver of an NVIDIA GPU supports, such as 13.0; for GPUs through Vulkan or Metal, the name
    /// and version of the driver. `None` for other devices.
    pub driver: Option<String>,
    /// Reason why the device is not available; `None` if it is available.
    pub reason: Option<String>,
    /// What to do if the device is not available; `None` if it is available.
    pub remedy: Option<String>,
}

impl DeviceInfo {
    fn there(name: String, description: String) -> Self {
        Self {
            name,
            available: true,
            description: Some(description),
            memory: None,
            capability: None,
            driver: None,
            reason: None,
            remedy: None,
        }
    }

    fn missing(name: &str, error: &SessionError) -> Self {
        let (reason, remedy) = gpu::reason_and_remedy(error);
        Self {
            name: name.to_owned(),
            available: false,
            description: None,
            memory: None,
            capability: None,
            driver: None,
            reason: Some(reason),
            remedy: Some(remedy),
        }
    }
}

/// Lists the CPU, each NVIDIA GPU, each GPU that Vulkan or Metal shows, and the types of devices that are not available on this host.
#[must_use]
pub fn devices() -> Vec<DeviceInfo> {
    let mut list = vec![DeviceInfo::there("cpu".to_owned(), describe_cpu())];
    match gpu::cuda_gpus() {
        Err(error) => list.push(DeviceInfo::missing("cuda", &error)),
        Ok(gpus) => list.extend(gpus.into_iter().map(|gpu| DeviceInfo {
            memory: Some(gpu.memory),
            capability: Some(format!("{}.{}", gpu.capability.0, gpu.capability.1)),
            driver: Some(format!("{}.{}", gpu.driver / 1000, gpu.driver % 1000 / 10)),
            ..DeviceInfo::there(format!("cuda:{}", gpu.index), describe_gpu(&gpu))
        })),
    }
    for (name, device) in [("metal", Device::Metal(None)), ("vulkan", Device::Vulkan(None))] {
        match any_gpu::gpus(device) {
            Err(error) => list.push(DeviceInfo::missing(name, &error)),
            Ok(gpus) => list.extend(gpus.into_iter().enumerate().map(|(i, gpu)| of_any_maker(name, i, gpu))),
        }
    }
    list
}

/// Returns whether a session can be opened on a GPU of the kind of `device`. Software that behaves like a GPU does not
/// count.
#[must_use]
pub fn has_gpu(device: Device) -> bool {
    match device {
        Device::Cuda(_) | Device::CudaAll => gpu::cuda_gpus().is_ok(),
        Device::Metal(_) | Device::Vulkan(_) => any_gpu::gpus(device)
            .is_ok_and(|gpus| gpus.iter().any(|gpu| gpu.unusable.is_none() && !gpu.software)),
        _ => false,
    }
}

/// Describes a GPU that Vulkan or Metal shows.
fn of_any_maker(kind: &str, index: usize, gpu: AnyGpu) -> DeviceInfo {
    let there = DeviceInfo::there(format!("{kind}:{index}"), gpu.description);
    match gpu.unusable {
        None => DeviceInfo { driver: Some(gpu.driver), ..there },
        Some(reason) => DeviceInfo {
            available: false,
            reason: Some(format!("{}: {reason}", there.description.unwrap_or_default())),
            remedy: Some(gpu::USE_CPU.to_owned()),
            description: None,
            ..there
        },
    }
}

/// Describes a GPU in one line.
fn describe_gpu(gpu: &gpu::GpuDescription) -> String {
    format!(
        "{}, {:.0} GiB, compute capability {}.{}, driver for CUDA {}.{}, f64",
        gpu.name,
        gpu.memory as f64 / f64::from(1 << 30),
        gpu.capability.0,
        gpu.capability.1,
        gpu.driver / 1000,
        gpu.driver % 1000 / 10
    )
}

/// Describes the cores and the instruction set of the CPU in one line.
fn describe_cpu() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    format!("{} ({}), {cores} core{plural}, f64", std::env::consts::ARCH, simd_level())
}

/// Returns the name of the widest vector instruction set that both this CPU and the kernels support.
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
        let kinds: Vec<&str> = list.iter().filter_map(|d| d.name.split(':').next()).collect();
        assert_eq!(kinds.first(), Some(&"cpu"));
        let mut distinct = kinds.clone();
        distinct.dedup();
        assert_eq!(distinct, ["cpu", "cuda", "metal", "vulkan"]);
        for device in list {
            assert_eq!(device.available, device.reason.is_none());
            assert_eq!(device.available, device.description.is_some());
            assert_eq!(device.reason.is_some(), device.remedy.is_some());
            let gpu = device.available && device.name.starts_with("cuda:");
            assert_eq!(
                gpu,
                device.memory.is_some() && device.capability.is_some() && device.driver.is_some()
            );
        }
    }
}
