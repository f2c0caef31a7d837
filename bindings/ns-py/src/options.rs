//! Reads the options of fits from keyword arguments, and prepares options for pickles.

use std::sync::Arc;

use ns_core::{Model, Observations, Search};
use ns_inference::options::Point;
use ns_inference::{Blind, FitData, FitOptions, matching_names};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::Rows;
use crate::datasets::dataset;
use crate::shown::shown;

/// Returns the names of the parameters that a name, a pattern or `all` means.
///
/// # Errors
/// `ValueError` if a pattern matches no parameter.
fn meant(what: &str, model: &Model, name: &str) -> PyResult<Vec<String>> {
    let known: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
    let found = matching_names(name, &known);
    if found.is_empty() {
        let text = format!("{what}: no parameter matches '{name}'; `Model.parameter_names` lists all");
        return Err(PyValueError::new_err(text));
    }
    Ok(found)
}

/// Adds the argument `minos`, names and patterns, to the options. A pattern leaves out fixed parameters, which have no
/// interval.
///
/// # Errors
/// `ValueError` if a pattern matches no parameter.
pub(crate) fn minos(mut options: FitOptions, model: &Model, names: Vec<String>) -> PyResult<FitOptions> {
    for given in names {
        for name in meant("minos", model, &given)? {
            let is_fixed = model.parameters.iter().any(|p| p.name == name && p.fixed)
                || options.fixed.iter().any(|(known, _)| *known == name);
            if !options.minos.contains(&name) && (name == given || !is_fixed) {
                options = options.minos(name);
            }
        }
    }
    Ok(options)
}

/// Adds the argument `fixed`, a dictionary from names to values, to the options. With a model, names may be patterns, or
/// `all` for all parameters but those of interest.
///
/// # Errors
/// `TypeError` for keys that are not strings and values that are not numbers, `ValueError` for a pattern that matches no
/// parameter and for two values of a parameter.
pub(crate) fn fixed(
    mut options: FitOptions,
    model: Option<&Model>,
    fixed: Option<&Bound<'_, PyAny>>,
) -> PyResult<FitOptions> {
    let Some(object) = fixed else { return Ok(options) };
    let Ok(fixed) = object.cast::<PyDict>() else {
        return Err(PyTypeError::new_err(format!(
            "fixed must be a dictionary from names of parameters to the values at which they are held, such as \
             {{\"mu\": 1.0}}, not {}",
            shown(object)
        )));
    };
    for (name, value) in fixed {
        let name: String = name.extract().map_err(|_| {
            PyTypeError::new_err(format!("the keys of fixed must be names of parameters, not {name}"))
        })?;
        let number: f64 = value.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "the fixed value of parameter '{name}' must be a number, not {value}"
            ))
        })?;
        let Some(model) = model else {
            options = options.fix(name, number);
            continue;
        };
        let is_all = name == "all" && model.parameter_index("all").is_none();
        for name in meant("fixed", model, &name)? {
            if is_all && model.poi_names().any(|poi| poi == name) {
                continue;
            }
            match options.fixed.iter().find(|(known, _)| *known == name) {
                Some((_, other)) if *other != number => {
                    return Err(PyValueError::new_err(format!(
                        "fixed holds {name} at {other} and at {number}; give each parameter one value"
                    )));
                }
                Some(_) => {}
                None => options = options.fix(name, number),
            }
        }
    }
    Ok(options)
}

/// Adds a starting point, the argument `what` (`init` or `params`), to the options. It has all values in order, or
/// some values by name.
///
/// # Errors
/// `ValueError` for a wrong length, `TypeError` for names or values of a wrong type.
pub(crate) fn init(
    options: FitOptions,
    model: &Model,
    what: &str,
    point: Option<&Bound<'_, PyAny>>,
) -> PyResult<FitOptions> {
    let Some(object) = point else { return Ok(options) };
    let Ok(dict) = object.cast::<PyDict>() else {
        if object.len().is_err() {
            return Err(PyTypeError::new_err(format!(
                "{what} must be a point: the values of all {} parameters (see parameter_names), or some values by name, \
                 such as {{\"mu\": 1.0}}; not {}",
                model.parameters.len(),
                shown(object)
            )));
        }
        let rows = Rows::of_width(what, object, model.parameters.len())?;
        return match rows.batch {
            None => Ok(options.start(rows.values)),
            Some(_) => Err(PyValueError::new_err(format!("{what} must have one dimension"))),
        };
    };
    let named = dict.iter().map(|(name, value)| {
        let wrong = |_| {
            let (name, value) = (shown(&name), shown(&value));
            PyTypeError::new_err(format!("{what} maps names of parameters to numbers, not {name} to {value}"))
        };
        let pair = name.extract().and_then(|key| Ok((key, value.extract()?)));
        pair.map_err(wrong)
    });
    Ok(options.start(named.collect::<PyResult<Vec<(String, f64)>>>()?))
}

/// Reads the arguments `blind` and `asimov`. With `blind`, a number in `asimov` is the value of the parameter of interest.
///
/// # Errors
/// `TypeError` if `asimov` is neither a truth value nor a number.
pub(crate) fn blinded(
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Vec<String>>,
) -> PyResult<Option<Blind>> {
    let Some(channels) = blind else { return Ok(None) };
    let poi = match asimov_data(asimov)? {
        Some(FitData::Asimov { poi }) => poi,
        _ => None,
    };
    Ok(Some(Blind::new(channels, poi)))
}

/// Adds the data to fit, from the arguments `data`, `asimov` and `blind`, to the options.
///
/// # Errors
/// `ValueError` if data and one of the others are given or the length is wrong.
pub(crate) fn data(
    options: FitOptions,
    model: &Model,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Vec<String>>,
) -> PyResult<FitOptions> {
    if let Some(blind) = blinded(asimov, blind)? {
        return match data {
            Some(_) => Err(PyValueError::new_err(
                "give data or blind, not both: blinded channels replace observed data",
            )),
            None => Ok(options.data(FitData::Blind(blind))),
        };
    }
    match (data, asimov_data(asimov)?) {
        (Some(_), Some(_)) => Err(PyValueError::new_err("give data or asimov, not both")),
        (Some(object), None) => Ok(options.data(FitData::Given(dataset(model, object)?))),
        (None, Some(asimov)) => Ok(options.data(asimov)),
        (None, None) => Ok(options),
    }
}

/// Reads the argument `asimov`, for an analysis of many models.
///
/// # Errors
/// `TypeError` if it is neither a truth value nor a number.
pub(crate) fn asimov(options: FitOptions, asimov: Option<&Bound<'_, PyAny>>) -> PyResult<FitOptions> {
    Ok(match asimov_data(asimov)? {
        Some(data) => options.data(data),
        None => options,
    })
}

fn asimov_data(asimov: Option<&Bound<'_, PyAny>>) -> PyResult<Option<FitData>> {
    // `asimov=True` and `asimov=1.0` have different meanings.
    let Some(object) = asimov else { return Ok(None) };
    // `bool` includes NumPy's bool, which must not be read as a number.
    if let Ok(flag) = object.extract::<bool>() {
        return Ok(flag.then_some(FitData::Asimov { poi: None }));
    }
    let poi = object.extract::<f64>().map_err(|_| {
        PyTypeError::new_err(format!(
            "asimov must be True or the value of the parameter of interest, such as 1.0, not {}",
            shown(object)
        ))
    })?;
    Ok(Some(FitData::Asimov { poi: Some(poi) }))
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
    let blind = options.data.blind().map(|blind| (blind.channels.clone(), blind.poi));
    (data, options.fixed.clone(), start, options.search.name(), blind).into_pyobject(py)
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
    // Results that an earlier version pickled have no such item.
    if let Ok(item) = kept.get_item(4)
        && let Some((channels, poi)) = item.extract::<Option<(Vec<String>, Option<f64>)>>()?
    {
        options = options.data(FitData::Blind(Blind::new(channels, poi)));
    }
    for (name, value) in kept.get_item(1)?.extract::<Vec<(String, f64)>>()? {
        options = options.fix(name, value);
    }
    type Values = (Option<Vec<f64>>, Option<Vec<(String, f64)>>);
    let (values, named): Values = kept.get_item(2)?.extract()?;
    options.start = values.map(Point::Values).or(named.map(Point::ByName));
    Ok(options)
}
