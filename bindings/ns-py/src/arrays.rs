//! Numbers from Python with their shapes checked, and numbers back as NumPy arrays.

use std::sync::Arc;

use ns_core::{BinnedData, Model};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Rows of equal length: one of them, or a batch.
pub(crate) struct Rows {
    /// The numbers, row after row.
    pub(crate) values: Vec<f64>,
    /// Number of rows; `None` if a single one was given without a second dimension.
    pub(crate) batch: Option<usize>,
    /// Length of a row.
    pub(crate) width: usize,
}

impl Rows {
    /// Reads anything that NumPy can make an array of numbers from, with one or two dimensions.
    ///
    /// # Errors
    /// `ValueError` for another shape or for something that is not numbers.
    pub(crate) fn read(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = match object.cast::<PyArrayDyn<f64>>() {
            // Subclasses may mean more than their numbers, as masked arrays do.
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

    /// Reads rows of `width` numbers.
    ///
    /// # Errors
    /// `ValueError` for another width, too.
    pub(crate) fn of_width(what: &str, object: &Bound<'_, PyAny>, width: usize) -> PyResult<Self> {
        let rows = Self::read(what, object)?;
        if rows.width != width {
            return Err(bad(format!(
                "{what} must have {width} elements (one per parameter, see parameter_names()); it has {}",
                rows.width
            )));
        }
        Ok(rows)
    }
}

/// NumPy's own conversion to contiguous float64.
fn convert<'py>(what: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let py = object.py();
    let numpy = py.import("numpy")?;
    // What the conversion would drop without a word: masks and imaginary parts.
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
    // `ascontiguousarray` makes a scalar one-dimensional; that would hide a mistake.
    if object.len().is_err() {
        return Err(bad(format!("{what} must be an array, not a single number")));
    }
    array.cast_into::<PyArrayDyn<f64>>().map_err(|e| bad(format!("{what}: {e}")))
}

fn bad(text: String) -> PyErr {
    PyValueError::new_err(text)
}

/// Data sets of a model: main counts, or main counts followed by auxiliary data (then the nominal
/// ones are used).
///
/// # Errors
/// `ValueError` for another length.
pub(crate) fn datasets(
    model: &Model,
    object: &Bound<'_, PyAny>,
) -> PyResult<(Vec<BinnedData>, Option<usize>)> {
    let rows = Rows::read("the data", object)?;
    let (bins, aux) = (model.n_bins(), model.observed.aux.len());
    if rows.width != bins && rows.width != bins + aux {
        return Err(bad(format!(
            "the data must have {bins} elements (main counts) or {} (with auxiliary data, as observed_data() has); \
             they have {}",
            bins + aux,
            rows.width
        )));
    }
    let split = |row: &[f64]| {
        let (main, rest) = row.split_at(bins.min(row.len()));
        let aux = if rows.width == bins { model.observed.aux.clone() } else { rest.to_vec() };
        BinnedData { main: main.to_vec(), aux }
    };
    let sets = match (rows.width, rows.batch) {
        (0, n) => vec![BinnedData::default(); n.unwrap_or(1)],
        (width, _) => rows.values.chunks(width).map(split).collect(),
    };
    Ok((sets, rows.batch))
}

/// One data set.
///
/// # Errors
/// `ValueError` for a wrong length or a batch.
pub(crate) fn dataset(model: &Model, object: &Bound<'_, PyAny>) -> PyResult<Arc<BinnedData>> {
    let (mut sets, batch) = datasets(model, object)?;
    match (sets.pop(), batch) {
        (Some(set), None) => Ok(Arc::new(set)),
        _ => {
            Err(bad("the data must have one dimension here; use fit_batch for several data sets".to_owned()))
        }
    }
}

/// Longest vector that is copied rather than handed over.
const SHORT: usize = 4096;

/// A NumPy array of `values`, with the given shape.
///
/// # Errors
/// If the shape does not fit.
pub(crate) fn array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    match *shape {
        // Copying a short vector takes less than telling NumPy who owns it.
        [n] if n == values.len() && n <= SHORT => Ok(PyArray1::from_slice(py, &values).to_dyn().clone()),
        [n] if n == values.len() => Ok(PyArray1::from_vec(py, values).to_dyn().clone()),
        _ => PyArray1::from_vec(py, values).reshape(shape),
    }
}

/// NaN for what does not exist: NumPy's arrays have no other word for it.
pub(crate) fn or_nan(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().map(|x| x.unwrap_or(f64::NAN)).collect()
}
