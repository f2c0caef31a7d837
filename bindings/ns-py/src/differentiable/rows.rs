//! Reads rows of values for the inputs of a model (for example nominal yields), and returns the results of all rows
//! as arrays.

use ns_inference::InferenceError;
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Rows, array};
use crate::error::inference_error;
use crate::evaluate::shape;

/// Reads rows of `width` numbers. A row contains the values of all inputs, one input after another. `what` is the
/// name of the argument in messages.
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

/// Returns the result of a row. If the fit of the row failed, returns `missing` or, if `check` is true, the error of
/// the row. Errors that concern the whole call are always returned.
///
/// # Errors
/// The error of the row if `check` is true, and any error that is not about a single row.
pub(super) fn or_missing<T>(
    result: Result<T, InferenceError>,
    check: bool,
    missing: impl FnOnce() -> T,
) -> Result<T, InferenceError> {
    match result {
        Err(
            InferenceError::FitFailed { .. }
            | InferenceError::Expectation { .. }
            | InferenceError::Density { .. },
        ) if !check => Ok(missing()),
        other => other,
    }
}

/// Returns results as an array. For a single row the shape of the array is `one`. For a batch, its shape is the
/// number of rows followed by `one`.
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
