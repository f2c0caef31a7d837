//! `nextstat.devices()`, `has_cuda()`, `has_metal()` and `has_vulkan()`, and the arguments `device`, `threads` and `memory`.

use std::sync::Arc;

use ns_core::{Device, Execution, Session, parse_bytes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pickle::{Reduced, attributes};

attributes! {
    /// A device. `available` says whether fits can run on it.
    DeviceInfo, _device from ns_inference::DeviceInfo {
        name: String,
        available: bool,
        description: Option<String>,
        memory: Option<u64>,
        capability: Option<String>,
        driver: Option<String>,
        reason: Option<String>,
        remedy: Option<String>,
    }
}

#[pymethods]
impl DeviceInfo {
    fn __repr__(&self) -> String {
        match (&self.description, &self.reason) {
            (Some(description), _) => format!("<Device {}: {description}>", self.name),
            (None, Some(reason)) => format!("<Device {}: not available, {reason}>", self.name),
            (None, None) => format!("<Device {}>", self.name),
        }
    }

    /// Returns the data from which `pickle` and `copy` restore the device.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.reduced(py)
    }

    /// Returns the attributes as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.attributes(py)
    }
}

/// Lists all devices. If fits cannot run on a device, the reason is given.
#[pyfunction]
pub(crate) fn devices() -> Vec<DeviceInfo> {
    ns_inference::devices().into_iter().map(DeviceInfo::from).collect()
}

/// Returns whether fits can run on an NVIDIA GPU of this machine.
#[pyfunction]
pub(crate) fn has_cuda() -> bool {
    ns_inference::has_gpu(Device::Cuda(0))
}

/// Returns whether fits can run on an Apple GPU of this machine.
#[pyfunction]
pub(crate) fn has_metal() -> bool {
    ns_inference::has_gpu(Device::Metal(None))
}

/// Returns whether fits can run on a GPU of this machine through Vulkan. Software that behaves like a GPU does not count.
#[pyfunction]
pub(crate) fn has_vulkan() -> bool {
    ns_inference::has_gpu(Device::Vulkan(None))
}

/// Returns the execution settings for the arguments `device` and `threads`.
///
/// # Errors
/// `ValueError` for a text that is not the name of a device.
pub(crate) fn execution(device: &str, threads: usize) -> PyResult<Execution> {
    let device: Device = device.parse().map_err(PyValueError::new_err)?;
    Ok(Execution { device, threads, ..Execution::default() })
}

/// The argument `memory`: a number of bytes, or text such as "500M".
#[derive(FromPyObject)]
pub(crate) enum Memory {
    Bytes(u64),
    Text(String),
}

impl Memory {
    /// Returns the memory in bytes.
    ///
    /// # Errors
    /// `ValueError` for less than one byte or too many bytes, and for text that is not of a form such as "500M".
    pub(crate) fn bytes(self) -> PyResult<u64> {
        let text = match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Text(text) => text,
        };
        parse_bytes(&text).map_err(|why| PyValueError::new_err(format!("memory '{text}': {why}")))
    }
}

/// An open session, with the reason why `auto` chose its device. There is no reason if the user named the
/// device.
pub(crate) struct Opened {
    pub(crate) session: Arc<dyn Session>,
    pub(crate) reason: Option<String>,
}
