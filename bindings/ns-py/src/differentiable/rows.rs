//! Reads rows with the numbers of inputs. Writes the results of rows as arrays.

use ns_inference::InferenceError;
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Rows, array};
use crate::error::inference_error;
use crate::evaluate::shape;

/// Reads rows with the numbers of all inputs.
///
/// # Errors
/// `ValueError` if a row does not have `width` numbers.
pub(super) fn read(what: &str, object: &Bound<'_, PyAny>, width: usize) -> PyResult<Rows> {
    let rows = Rows::read(what, object)?;
    if rows.width != width {
        return Err(PyValueError::new_err(format!(
            "{what} must have {width} elements in a row (one per number of the inputs, see inputs); it has {}",
            rows.width
        )));
    }
    Ok(rows)
}

impl Rows {
    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        self.batch.unwrap_or(1)
    }

    /// Returns row `i`.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        self.values.get(i * self.width..(i + 1) * self.width).unwrap_or_default()
    }
}

/// Returns `missing` for a row whose fit failed. With `check`, returns the error of the row instead. Errors
/// that concern the whole call are always returned.
///
/// # Errors
/// The error of the row if `check` is true, and any error that is not about a single row.
pub(super) fn or_missing<T>(
    result: Result<T, InferenceError>,
    check: bool,
    missing: impl FnOnce() -> T,
) -> Result<T, InferenceError> {
    match result {
        Err(InferenceError::FitFailed { .. } | InferenceError::Expectation { .. }) if !check => Ok(missing()),
        other => other,
    }
}

/// Returns an array of results: with the shape `one`, or with the number of rows as a further first
/// dimension.
///
/// # Errors
/// If the number of values does not fit the shape.
pub(super) fn results<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    batch: Option<usize>,
    one: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    array(py, values, &shape(batch, one))
}

/// Converts an error of an analysis to a Python exception.
pub(super) fn failed(error: InferenceError) -> PyErr {
    inference_error(&error)
}
