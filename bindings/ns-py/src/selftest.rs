//! The function `nextstat.selftest`.

use ns_selftest::Target;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plain::dictionary;
use crate::work::released;

/// Tests whether a device computes what the CPU does, on this machine, with models that are built in.
///
/// `device` is "cpu", "cuda", "cuda:I", "cuda:all", "tensorrt" (a GPU, with flows by TensorRT), or "auto" (the first GPU,
/// if there is one). Returns the JSON of the command `nextstat selftest` as a dictionary: `passed`, and `checks`, each with
/// name, status, value, bound, detail and remedy.
#[pyfunction]
#[pyo3(signature = (device = "auto"))]
pub(crate) fn selftest<'py>(py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyDict>> {
    let target: Target = device.parse().map_err(PyValueError::new_err)?;
    let result = released(py, || ns_selftest::selftest(target))?;
    dictionary(py, &result)
}
