//! Finds GPUs through Vulkan and Metal.

use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use ns_core::Device;

/// A GPU, or a program that behaves like one, as Vulkan or Metal describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Name and version of its driver.
    pub driver: String,
    /// Whether it computes on the CPU.
    pub software: bool,
    /// Bytes of memory that the threads of a workgroup share.
    pub workgroup_memory: u32,
    /// Largest size of a buffer in bytes.
    pub largest_buffer: u64,
    /// Why it cannot be used; `None` if it can.
    pub unusable: Option<&'static str>,
}

/// Number of bytes of workgroup memory that a descent uses where there are as many.
const WORKGROUP_MEMORY: u32 = 32 << 10;

/// Why software is not used without its index.
const SOFTWARE: &str = "it computes on the CPU, so it is used only with its index, as in vulkan:0";

/// An open GPU.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// Bytes of memory that the threads of a workgroup share.
    pub(super) workgroup_memory: usize,
    /// Largest size in bytes of a buffer that a kernel sees.
    pub(super) largest_buffer: u64,
    /// Held while a dispatch runs. A dispatch that waits behind others would take their time for its own.
    pub(super) turn: Mutex<()>,
    /// First error that the driver reported outside a call.
    failure: Arc<OnceLock<String>>,
}

/// Returns the result of a future of wgpu. Outside browsers these futures never wait.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Returns the adapters of Metal for [`Device::Metal`] and of Vulkan for other devices, software last.
fn adapters(device: Device) -> Vec<wgpu::Adapter> {
    let metal = matches!(device, Device::Metal(_));
    let backends = if metal { wgpu::Backends::METAL } else { wgpu::Backends::VULKAN };
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backends;
    descriptor.flags = wgpu::InstanceFlags::empty();
    let found = ready(wgpu::Instance::new(descriptor).enumerate_adapters(backends));
    let mut found = found.unwrap_or_default();
    found.sort_by_key(|adapter| describe(adapter).software);
    found
}

fn describe(adapter: &wgpu::Adapter) -> Found {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let unusable = if limits.max_storage_buffers_per_shader_stage < 5 {
        Some("its kernels can see fewer than 5 buffers")
    } else if limits.max_compute_invocations_per_workgroup < 128 {
        Some("its workgroups have fewer than 128 threads")
    } else {
        None
    };
    Found {
        name: info.name,
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        software: info.device_type == wgpu::DeviceType::Cpu,
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        largest_buffer: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        unusable,
    }
}

/// Lists what Vulkan ([`Device::Vulkan`]) or Metal ([`Device::Metal`]) finds, software last. The list is empty without a
/// driver.
#[must_use]
pub fn find(device: Device) -> Vec<Found> {
    adapters(device).iter().map(describe).collect()
}

impl Gpu {
    /// Opens the GPU that `device` names. Without an index it is the first that is usable and no software.
    ///
    /// # Errors
    /// What was found, in words.
    pub(super) fn of(device: Device) -> Result<Self, String> {
        let index = match device {
            Device::Metal(index) | Device::Vulkan(index) => index,
            _ => None,
        };
        let adapters = adapters(device);
        let why_not = |adapter: &wgpu::Adapter| {
            let found = describe(adapter);
            found.unusable.or((index.is_none() && found.software).then_some(SOFTWARE))
        };
        let all: Vec<String> = (0..)
            .zip(&adapters)
            .map(|(i, adapter)| {
                let reason = why_not(adapter).map(|why| format!(": {why}")).unwrap_or_default();
                format!("{i} {}{reason}", adapter.get_info().name)
            })
            .collect();
        let chosen = match index {
            Some(index) => adapters.get(index).filter(|adapter| why_not(adapter).is_none()),
            None => adapters.iter().find(|adapter| why_not(adapter).is_none()),
        };
        match chosen {
            Some(adapter) => Self::open(adapter),
            None if all.is_empty() => Err("no driver was found".to_owned()),
            None => Err(format!("it is none of what was found ({})", all.join("; "))),
        }
    }

    fn open(adapter: &wgpu::Adapter) -> Result<Self, String> {
        let limits = adapter.limits();
        let wanted = wgpu::Limits {
            max_compute_workgroup_storage_size: limits
                .max_compute_workgroup_storage_size
                .min(WORKGROUP_MEMORY),
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
            max_buffer_size: limits.max_buffer_size,
            ..wgpu::Limits::default().using_resolution(limits.clone())
        };
        let memory = wanted.max_compute_workgroup_storage_size as usize;
        let largest_buffer = wanted.max_storage_buffer_binding_size.min(wanted.max_buffer_size);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("NextStat"),
            required_features: wgpu::Features::empty(),
            required_limits: wanted,
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            memory_hints: wgpu::MemoryHints::Performance,
            trace: wgpu::Trace::Off,
        };
        let opened = ready(adapter.request_device(&descriptor));
        let (device, queue) = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the driver did not answer".to_owned()),
        };
        let failure = Arc::new(OnceLock::new());
        let (of_calls, of_device) = (Arc::clone(&failure), Arc::clone(&failure));
        // Only the first error counts: those that follow it are its consequences.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let _ = of_calls.set(error.to_string());
        }));
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                let _ = of_device.set(format!("the device was lost: {message}"));
            }
        });
        let turn = Mutex::default();
        Ok(Self { device, queue, workgroup_memory: memory, largest_buffer, turn, failure })
    }

    /// Returns the first error that the driver reported, if any.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}
