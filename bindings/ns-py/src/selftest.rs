//! The function `nextstat.selftest`.

use ns_selftest::Target;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plain::dictionary;
use crate::work::released;

/// Tests on this machine, with built-in models, whether a device computes the same results as the CPU.
///
/// `device` is "cpu", "cuda", "cuda:I", "cuda:all", "tensorrt" (a GPU, with flows by TensorRT), or "auto"
/// (the first GPU, if there is one). Returns the JSON of the command `nextstat selftest` as a dictionary. It
/// has the keys `passed` and `checks`. Each check has name, status, value, bound, detail and remedy.
#[pyfunction]
#[pyo3(signature = (device = "auto"))]
pub(crate) fn selftest<'py>(py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyDict>> {
    let target: Target = device.parse().map_err(PyValueError::new_err)?;
    let result = released(py, || ns_selftest::selftest(target))?;
    dictionary(py, &result)
}
