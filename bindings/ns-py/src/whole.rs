//! Reads arguments that are whole numbers, with clear errors for other values.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// Reads a non-negative whole number, such as a number of toys or a seed.
///
/// # Errors
/// `ValueError` if the number is negative or too large, `TypeError` if it is not a whole number. PyO3 adds the name
/// of the argument to the message.
pub(crate) fn whole<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    object.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(object.py()) {
            return error;
        }
        let shown = object.str().map_or_else(|_| "this".to_owned(), |text| text.to_string());
        let negative = object.lt(0).unwrap_or(false);
        let why = if negative { "is negative" } else { "is too large" };
        PyValueError::new_err(format!("{shown} {why}: give a whole number from 0 to 2**64 - 1"))
    })
}

/// Reads a non-negative whole number, or None.
///
/// # Errors
/// The errors of [`whole`].
pub(crate) fn perhaps_whole<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    if object.is_none() { Ok(None) } else { whole(object).map(Some) }
}
