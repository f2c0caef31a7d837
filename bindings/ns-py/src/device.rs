//! `devices()`, `has_cuda()`, `has_metal()`.

use std::sync::Arc;

use ns_core::{Device, Execution, Session};
use ns_inference::GpuCheck;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pickle::{Reduced, restorer};

/// One place where a fit could run.
#[pyclass(frozen, module = "nextstat", get_all)]
pub(crate) struct DeviceInfo {
    name: String,
    available: bool,
    description: Option<String>,
    memory: Option<u64>,
    capability: Option<String>,
    driver: Option<String>,
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

    /// The state that `pickle` and `copy` store.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((restorer(py, "_device")?, (self.to_dict(py)?,).into_pyobject(py)?))
    }

    /// The attributes as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("name", &self.name)?;
        dict.set_item("available", self.available)?;
        dict.set_item("description", &self.description)?;
        dict.set_item("memory", self.memory)?;
        dict.set_item("capability", &self.capability)?;
        dict.set_item("driver", &self.driver)?;
        dict.set_item("reason", &self.reason)?;
        dict.set_item("remedy", &self.remedy)?;
        Ok(dict)
    }
}

/// Restores a device from its pickle.
#[pyfunction]
pub(crate) fn _device(attributes: &Bound<'_, PyDict>) -> PyResult<DeviceInfo> {
    let of = |key: &str| attributes.as_any().get_item(key);
    Ok(DeviceInfo {
        name: of("name")?.extract()?,
        available: of("available")?.extract()?,
        description: of("description")?.extract()?,
        memory: of("memory")?.extract()?,
        capability: of("capability")?.extract()?,
        driver: of("driver")?.extract()?,
        reason: of("reason")?.extract()?,
        remedy: of("remedy")?.extract()?,
    })
}

/// The devices that this machine and this build can use, and why others cannot be used.
#[pyfunction]
pub(crate) fn devices() -> Vec<DeviceInfo> {
    ns_inference::devices()
        .into_iter()
        .map(|d| DeviceInfo {
            name: d.name,
            available: d.available,
            description: d.description,
            memory: d.memory,
            capability: d.capability,
            driver: d.driver,
            reason: d.reason,
            remedy: d.remedy,
        })
        .collect()
}

fn has(kind: &str) -> bool {
    ns_inference::devices().iter().any(|d| d.available && d.name.split(':').next() == Some(kind))
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

/// A session, and why its device was chosen if `auto` chose it.
pub(crate) struct Opened {
    pub(crate) session: Arc<dyn Session>,
    pub(crate) reason: Option<String>,
}

impl Opened {
    /// The record of the device for results, after it has run.
    ///
    /// # Errors
    /// If Python refuses.
    pub(crate) fn ran(&self, py: Python<'_>) -> PyResult<RunInfo> {
        let gpu_check = match GpuCheck::of(self.session.as_ref()) {
            Some(check) => Some(as_dict(py, &check)?),
            None => None,
        };
        let device = Session::device(self.session.as_ref()).to_string();
        Ok(RunInfo { device, device_reason: self.reason.clone(), gpu_check })
    }
}

/// The device that ran, and its check.
pub(crate) struct RunInfo {
    pub(crate) device: String,
    pub(crate) device_reason: Option<String>,
    pub(crate) gpu_check: Option<Py<PyDict>>,
}

impl RunInfo {
    /// Adds the keys of the JSON.
    ///
    /// # Errors
    /// If Python refuses.
    pub(crate) fn add_to(&self, py: Python<'_>, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        dict.set_item("device", &self.device)?;
        dict.set_item("device_reason", &self.device_reason)?;
        dict.set_item("gpu_check", self.gpu_check.as_ref().map(|check| check.clone_ref(py)))
    }
}

/// The check as a dictionary.
fn as_dict(py: Python<'_>, check: &GpuCheck) -> PyResult<Py<PyDict>> {
    let text = serde_json::to_string(check).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?.unbind())
}
