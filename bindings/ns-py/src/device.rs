//! `devices()`, `has_cuda()`, `has_metal()`.

use ns_core::{Device, Execution};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One place where a fit could run.
#[pyclass(frozen, module = "nextstat", get_all)]
pub(crate) struct DeviceInfo {
    name: String,
    available: bool,
    description: Option<String>,
    reason: Option<String>,
    remedy: Option<String>,
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

    /// The attributes as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("name", &self.name)?;
        dict.set_item("available", self.available)?;
        dict.set_item("description", &self.description)?;
        dict.set_item("reason", &self.reason)?;
        dict.set_item("remedy", &self.remedy)?;
        Ok(dict)
    }
}

/// What this machine and this build can run on, and why not.
#[pyfunction]
pub(crate) fn devices() -> Vec<DeviceInfo> {
    ns_inference::devices()
        .into_iter()
        .map(|d| DeviceInfo {
            name: d.name,
            available: d.available,
            description: d.description,
            reason: d.reason,
            remedy: d.remedy,
        })
        .collect()
}

fn has(name: &str) -> bool {
    ns_inference::devices().iter().any(|d| d.name == name && d.available)
}

/// Whether fits can run on an NVIDIA GPU here.
#[pyfunction]
pub(crate) fn has_cuda() -> bool {
    has("cuda")
}

/// Whether fits can run on an Apple GPU here.
#[pyfunction]
pub(crate) fn has_metal() -> bool {
    has("metal")
}

/// Where to run, from the `device` and `threads` arguments.
///
/// # Errors
/// `ValueError` for a device that does not exist.
pub(crate) fn execution(device: &str, threads: usize) -> PyResult<Execution> {
    let device: Device = device.parse().map_err(PyValueError::new_err)?;
    Ok(Execution { device, threads, ..Execution::default() })
}
