//! The function `nextstat.blue`, and its input as JSON.

use std::path::PathBuf;

use ns_inference::BlueInput;
use ns_translate::pyhf::read_file;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::workspace_error;
use crate::load::dumps;
use crate::plain::dictionary;
use crate::warn::warn;

/// Combines given results with correlated uncertainties to the best linear unbiased estimate.
///
/// `results` is the path of a file in TOML or JSON, or a dictionary of the same form: the list `results`, with the keys
/// `name`, `value`, `uncertainties` (a dictionary by source) and perhaps `quantity`, and the dictionary `correlations` by
/// source: a number from -1 to 1 for all pairs of results, or a matrix. Returns the JSON of the command `nextstat blue` as a
/// dictionary with the keys `results`, `combined`, `covariance`, `pulls`, `chi2`, `n_dof`, `p_value` and `warnings`.
///
/// Raises `ValueError` if the results have another form or cannot be combined, or `OSError` if a file cannot be read.
#[pyfunction]
pub(crate) fn blue<'py>(py: Python<'py>, results: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let combined = ns_inference::blue(&input(py, results)?);
    let combined = combined.map_err(|error| PyValueError::new_err(error.to_string()))?;
    warn(py, combined.warnings.iter().map(String::as_str))?;
    dictionary(py, &combined)
}

/// Returns the results that `nextstat.blue` takes as JSON, for `nextstat.Client`.
#[pyfunction]
pub(crate) fn _given_results(py: Python<'_>, results: &Bound<'_, PyAny>) -> PyResult<String> {
    serde_json::to_string(&input(py, results)?).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads the argument `results`.
fn input(py: Python<'_>, results: &Bound<'_, PyAny>) -> PyResult<BlueInput> {
    let text = if results.is_instance_of::<PyDict>() {
        dumps(results)?.into_bytes()
    } else {
        let path: PathBuf = results
            .extract()
            .map_err(|_| PyTypeError::new_err("results must be a path, or a dictionary with the results"))?;
        read_file(&path).map_err(|error| workspace_error(py, &error))?
    };
    BlueInput::from_slice(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}
