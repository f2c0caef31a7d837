//! Reads arguments of common types, with errors that name the argument. Each reader is for the argument of its name.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::shown::shown;

/// Reads a non-negative whole number, such as a number of toys or a seed.
///
/// # Errors
/// `ValueError` if the number is negative or too large, `TypeError` if it is not a whole number.
fn whole<'py, T>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    object.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(object.py()) {
            return PyTypeError::new_err(format!("{name} must be a whole number, not {}", shown(object)));
        }
        let text = object.str().map_or_else(|_| "this".to_owned(), |text| text.to_string());
        let negative = object.lt(0).unwrap_or(false);
        let why = if negative { "is negative" } else { "is too large" };
        PyValueError::new_err(format!("{name}: {text} {why}: give a whole number from 0 to 2**64 - 1"))
    })
}

/// Makes a reader of a whole number for each name of an argument.
macro_rules! whole_numbers {
    ($($name:ident),*) => {$(
        pub(crate) fn $name<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<T>
        where
            T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
        {
            whole(stringify!($name), object)
        }
    )*};
}

whole_numbers!(chains, directions, draws, first, n_toys, points, points2, seed, start, stop, threads, tune);

/// Readers of whole numbers that may be None.
pub(crate) mod perhaps {
    use super::{Bound, FromPyObject, PyAny, PyAnyMethods, PyErr, PyResult, whole};

    macro_rules! perhaps_whole_numbers {
        ($($name:ident),*) => {$(
            pub(crate) fn $name<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<Option<T>>
            where
                T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
            {
                if object.is_none() { Ok(None) } else { whole(stringify!($name), object).map(Some) }
            }
        )*};
    }

    perhaps_whole_numbers!(bins, columns, max_rows, max_samples, top, toys);
}

/// Readers of words.
pub(crate) mod word {
    use super::{Bound, PyAny, PyAnyMethods, PyResult, PyTypeError, shown};

    fn word<'a>(name: &str, meant: &str, object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
        object
            .extract()
            .map_err(|_| PyTypeError::new_err(format!("{name} must be {meant}, not {}", shown(object))))
    }

    /// Reads the name of a device.
    ///
    /// # Errors
    /// `TypeError` if it is no text.
    pub(crate) fn device<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
        word("device", "the name of a device, such as \"cpu\" or \"cuda:0\"", object)
    }

    /// Reads the effort to find the global minimum.
    ///
    /// # Errors
    /// `TypeError` if it is no text.
    pub(crate) fn search<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
        word("search", "\"local\", \"standard\" or \"thorough\"", object)
    }
}
