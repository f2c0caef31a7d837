//! Reads the options of fits from keyword arguments, and prepares options for pickles.

use std::sync::Arc;

use ns_core::{Model, Observations, Search};
use ns_inference::options::Point;
use ns_inference::{FitData, FitOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::Rows;
use crate::datasets::dataset;

/// Adds the argument `fixed`, a dictionary from names to values, to the options.
///
/// # Errors
/// `TypeError` for keys that are not strings and values that are not numbers.
pub(crate) fn fixed(mut options: FitOptions, fixed: Option<&Bound<'_, PyDict>>) -> PyResult<FitOptions> {
    for (name, value) in fixed.into_iter().flat_map(|dict| dict.iter()) {
        let name: String = name.extract().map_err(|_| {
            PyTypeError::new_err(format!("the keys of fixed must be names of parameters, not {name}"))
        })?;
        let number: f64 = value.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "the fixed value of parameter '{name}' must be a number, not {value}"
            ))
        })?;
        options = options.fix(name, number);
    }
    Ok(options)
}

/// Adds the argument `init`, the starting point, to the options. It has all values in order, or some values
/// by name.
///
/// # Errors
/// `ValueError` for a wrong length, `TypeError` for names or values of a wrong type.
pub(crate) fn init(
    options: FitOptions,
    model: &Model,
    init: Option<&Bound<'_, PyAny>>,
) -> PyResult<FitOptions> {
    let Some(object) = init else { return Ok(options) };
    let Ok(dict) = object.cast::<PyDict>() else {
        let rows = Rows::of_width("init", object, model.parameters.len())?;
        return match rows.batch {
            None => Ok(options.start(rows.values)),
            Some(_) => Err(PyValueError::new_err("init must have one dimension")),
        };
    };
    let named = dict.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?)));
    Ok(options.start(named.collect::<PyResult<Vec<(String, f64)>>>()?))
}

/// Adds the data to fit, from the arguments `data` and `asimov`, to the options.
///
/// # Errors
/// `ValueError` if both are given or the length is wrong.
pub(crate) fn data(
    options: FitOptions,
    model: &Model,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
) -> PyResult<FitOptions> {
    // `asimov=True` and `asimov=1.0` have different meanings.
    let asimov = match asimov {
        None => None,
        // `bool` includes NumPy's bool, which must not be read as a number.
        Some(object) => match object.extract::<bool>() {
            Ok(flag) => flag.then_some(FitData::Asimov { poi: None }),
            Err(_) => {
                let poi = object.extract::<f64>().map_err(|_| {
                    PyTypeError::new_err("asimov must be True or the value of the parameter of interest")
                })?;
                Some(FitData::Asimov { poi: Some(poi) })
            }
        },
    };
    match (data, asimov) {
        (Some(_), Some(_)) => Err(PyValueError::new_err("give data or asimov, not both")),
        (Some(object), None) => Ok(options.data(FitData::Given(dataset(model, object)?))),
        (None, Some(asimov)) => Ok(options.data(asimov)),
        (None, None) => Ok(options),
    }
}

/// Reads the argument `search`.
///
/// # Errors
/// `ValueError` for an unknown word.
pub(crate) fn search(name: &str) -> PyResult<Search> {
    name.parse().map_err(PyValueError::new_err)
}

/// Returns the data from which `pickle` restores the options: data, fixed parameters, starting point and
/// search. Other options are not stored, because a restored result computes only its pictures.
///
/// # Errors
/// If a Python object cannot be created.
pub(crate) fn pickled<'py>(py: Python<'py>, options: &FitOptions) -> PyResult<Bound<'py, PyTuple>> {
    let data = match &options.data {
        FitData::Given(set) => Some((Some((set.main.clone(), set.aux.clone())), None)),
        FitData::Asimov { poi } => Some((None, *poi)),
        _ => None,
    };
    let start = match options.start.clone() {
        Some(Point::Values(values)) => (Some(values), None),
        Some(Point::ByName(named)) => (None, Some(named)),
        None => (None, None),
    };
    (data, options.fixed.clone(), start, options.search.name()).into_pyobject(py)
}

/// Restores the options from a tuple of [`pickled`].
///
/// # Errors
/// If the object has another form.
pub(crate) fn restored(kept: &Bound<'_, PyAny>) -> PyResult<FitOptions> {
    type Pickled = Option<(Option<(Vec<f64>, Vec<f64>)>, Option<f64>)>;
    let mut options = FitOptions::default().search(search(kept.get_item(3)?.extract()?)?);
    options = match kept.get_item(0)?.extract::<Pickled>()? {
        None => options,
        Some((Some((main, aux)), _)) => {
            options.data(FitData::Given(Arc::new(Observations::binned(main, aux))))
        }
        Some((None, poi)) => options.data(FitData::Asimov { poi }),
    };
    for (name, value) in kept.get_item(1)?.extract::<Vec<(String, f64)>>()? {
        options = options.fix(name, value);
    }
    type Values = (Option<Vec<f64>>, Option<Vec<(String, f64)>>);
    let (values, named): Values = kept.get_item(2)?.extract()?;
    options.start = values.map(Point::Values).or(named.map(Point::ByName));
    Ok(options)
}
