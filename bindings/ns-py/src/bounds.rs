//! Reads the argument `bounds` of `fit_batch`.

use ns_core::Model;
use ns_inference::parameter_index;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::inference_error;

/// Bounds `(lower, upper)` in the order `[fit][parameter]`. If all fits have the same bounds, the outer list has a
/// single element. If the outer list is empty, the bounds of the model are used.
type Bounds = Vec<Vec<(f64, f64)>>;

/// Reads `bounds`. For all fits, it is an array of shape `(parameters, 2)` or a dictionary from names to
/// pairs. For each fit separately, it is an array of shape `(fits, parameters, 2)` or a list of such
/// dictionaries.
///
/// # Errors
/// `ValueError` for another shape or an unknown name, `TypeError` if a value of a dictionary is not a pair of
/// numbers.
pub(crate) fn bounds(model: &Model, object: Option<&Bound<'_, PyAny>>) -> PyResult<Bounds> {
    let Some(object) = object else { return Ok(Vec::new()) };
    if let Ok(dict) = object.cast::<PyDict>() {
        return Ok(vec![by_name(model, dict)?]);
    }
    if let Ok(list) = object.cast::<PyList>()
        && !list.is_empty()
        && list.iter().all(|item| item.is_instance_of::<PyDict>())
    {
        return list.iter().map(|item| by_name(model, item.cast::<PyDict>()?)).collect();
    }
    array(model, object)
}

/// Returns the bounds `(lower, upper)` of all parameters. For the parameters that `dict` names, they come from `dict`;
/// for all others, from the model.
fn by_name(model: &Model, dict: &Bound<'_, PyDict>) -> PyResult<Vec<(f64, f64)>> {
    let mut bounds: Vec<(f64, f64)> = model.parameters.iter().map(|p| p.bounds).collect();
    for (name, pair) in dict.iter() {
        let name: String = name.extract()?;
        let pair: (f64, f64) = pair.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "the bounds of parameter '{name}' must be a pair of numbers, not {pair}"
            ))
        })?;
        let index = parameter_index(model, &name).map_err(|error| inference_error(&error))?;
        if let Some(place) = bounds.get_mut(index) {
            *place = pair;
        }
    }
    Ok(bounds)
}

/// Reads bounds from an array of shape `(parameters, 2)` for all fits, or `(fits, parameters, 2)` for each fit
/// separately.
fn array(model: &Model, object: &Bound<'_, PyAny>) -> PyResult<Bounds> {
    let py = object.py();
    let n = model.parameters.len();
    let numpy = py.import("numpy")?;
    let array = numpy
        .call_method1("ascontiguousarray", (object, numpy.getattr("float64")?))
        .map_err(|error| PyValueError::new_err(format!("bounds must be numbers: {}", error.value(py))))?;
    let array = array.cast_into::<PyArrayDyn<f64>>()?;
    let each = match *array.shape() {
        [rows, 2] if rows == n => false,
        [_, rows, 2] if rows == n => true,
        ref other => {
            return Err(PyValueError::new_err(format!(
                "bounds must have shape ({n}, 2), a row (lower, upper) for each parameter, or that for each data set; \
                 it has shape {other:?}"
            )));
        }
    };
    let values = array.try_readonly().map_err(|e| PyValueError::new_err(e.to_string()))?.as_slice()?.to_vec();
    let pairs: Vec<(f64, f64)> =
        values.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
    Ok(if each && n > 0 { pairs.chunks(n).map(<[_]>::to_vec).collect() } else { vec![pairs] })
}
