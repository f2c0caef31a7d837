//! Reads arrays of numbers from Python and checks their shapes. Returns numbers to Python as NumPy arrays.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A single row of numbers, or a batch of rows with the same length.
pub(crate) struct Rows {
    /// The numbers, row after row.
    pub(crate) values: Vec<f64>,
    /// Number of rows of a batch; `None` for a single row, i.e. for an array of one dimension.
    pub(crate) batch: Option<usize>,
    /// Length of a row.
    pub(crate) width: usize,
}

impl Rows {
    /// Reads an object that NumPy can convert to an array of numbers with one or two dimensions. `what` is the
    /// name of the object in messages.
    ///
    /// # Errors
    /// `ValueError` for other shapes, and for objects that are not numbers.
    pub(crate) fn read(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = match object.cast::<PyArrayDyn<f64>>() {
            // Subclasses of arrays can contain more than numbers. A masked array, for example, also contains
            // a mask.
            Ok(array) if array.is_c_contiguous() && object.is_exact_instance_of::<PyUntypedArray>() => {
                array.clone()
            }
            _ => convert(what, object)?,
        };
        let values = array.try_readonly().map_err(|e| bad(format!("{what}: {e}")))?.as_slice()?.to_vec();
        match *array.shape() {
            [width] => Ok(Self { values, batch: None, width }),
            [n, width] => Ok(Self { values, batch: Some(n), width }),
            _ => Err(bad(format!(
                "{what} must have one dimension, or two for a batch; it has shape {:?}",
                array.shape()
            ))),
        }
    }

    /// Reads an array like [`Self::read`], and checks that each row has `width` numbers.
    ///
    /// # Errors
    /// `ValueError` for rows of another length, and the errors of [`Self::read`].
    pub(crate) fn of_width(what: &str, object: &Bound<'_, PyAny>, width: usize) -> PyResult<Self> {
        let rows = Self::read(what, object)?;
        if rows.width != width {
            return Err(bad(format!(
                "{what} must have {width} elements (one per parameter, see parameter_names); it has {}",
                rows.width
            )));
        }
        Ok(rows)
    }
}

/// Reads a list of finite numbers. `what` is the name of the argument in messages.
///
/// # Errors
/// `ValueError` for an object with several dimensions, with elements that are not finite numbers, and the errors of
/// [`Rows::read`].
pub(crate) fn numbers(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let rows = Rows::read(what, object)?;
    if rows.batch.is_some() {
        return Err(bad(format!("{what} must have one dimension")));
    }
    match rows.values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((i, value)) => Err(bad(format!("{what}[{i}] is {value}; give finite numbers"))),
        None => Ok(rows.values),
    }
}

/// Converts an object to a contiguous array of float64 with NumPy. `what` is the name of the object in messages. Masked
/// and complex numbers are errors.
pub(crate) fn convert<'py>(what: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let py = object.py();
    let numpy = py.import("numpy")?;
    // The conversion would silently drop masks and imaginary parts.
    let masked = || py.import("numpy.ma")?.call_method1("is_masked", (object,))?.is_truthy();
    if object.hasattr("mask")? && masked()? {
        return Err(bad(format!("{what} must be numbers: some are masked; fill or remove them")));
    }
    if numpy.call_method1("iscomplexobj", (object,))?.is_truthy()? {
        return Err(bad(format!("{what} must be real numbers, not complex ones")));
    }
    let array = numpy
        .call_method1("ascontiguousarray", (object, "float64"))
        .map_err(|e| bad(format!("{what} must be numbers: {}", e.value(py))))?;
    // `ascontiguousarray` turns a single number into an array with one element. This would hide a mistake.
    if object.len().is_err() {
        return Err(bad(format!("{what} must be an array, not a single number")));
    }
    array.cast_into::<PyArrayDyn<f64>>().map_err(|e| bad(format!("{what}: {e}")))
}

pub(crate) fn bad(text: String) -> PyErr {
    PyValueError::new_err(text)
}

/// A vector with at most this many elements is copied into a NumPy array. NumPy takes over the memory of a longer
/// vector without a copy.
const SHORT: usize = 4096;

/// Returns a NumPy array of `values` with the given shape.
///
/// # Errors
/// If the shape has another number of elements.
pub(crate) fn array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    match *shape {
        // Copying a short vector is faster than giving its memory to NumPy.
        [n] if n == values.len() && n <= SHORT => Ok(PyArray1::from_slice(py, &values).to_dyn().clone()),
        [n] if n == values.len() => Ok(PyArray1::from_vec(py, values).to_dyn().clone()),
        _ => PyArray1::from_vec(py, values).reshape(shape),
    }
}

/// Replaces missing numbers by NaN, because NumPy's arrays of numbers cannot contain None.
pub(crate) fn or_nan(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().map(|x| x.unwrap_or(f64::NAN)).collect()
}
