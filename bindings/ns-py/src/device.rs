//! `devices()`, `has_cuda()`, `has_metal()`.

use std::sync::Arc;

use ns_core::{Device, Execution, Session, parse_bytes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pickle::{Reduced, attributes};

attributes! {
    /// One place where a fit could run.
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

    /// What `pickle` and `copy` keep.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.reduced(py)
    }

    /// The attributes as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.attributes(py)
    }
}

/// What this machine and this build can run on, and why not.
#[pyfunction]
pub(crate) fn devices() -> Vec<DeviceInfo> {
    ns_inference::devices().into_iter().map(DeviceInfo::from).collect()
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

/// An amount of memory, as a `memory` argument.
#[derive(FromPyObject)]
pub(crate) enum Memory {
    Bytes(u64),
    Text(String),
}

impl Memory {
    /// In bytes.
    ///
    /// # Errors
    /// `ValueError` for no bytes, and for text of another form than "500M".
    pub(crate) fn bytes(self) -> PyResult<u64> {
        let text = match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Text(text) => text,
        };
        parse_bytes(&text).map_err(|why| PyValueError::new_err(format!("memory '{text}': {why}")))
    }
}

/// A session, and why it is on its device where `auto` chose.
pub(crate) struct Opened {
    pub(crate) session: Arc<dyn Session>,
    pub(crate) reason: Option<String>,
}
