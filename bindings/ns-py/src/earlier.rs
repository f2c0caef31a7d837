//! Earlier forms of calls and names, which work for one release with a `DeprecationWarning`.

use std::ffi::CString;

use pyo3::exceptions::{PyDeprecationWarning, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// Issues a `DeprecationWarning` at the line that called the package.
///
/// # Errors
/// If the user has made warnings errors.
pub(crate) fn deprecated(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), &text, 1)
}

/// Whether an object is a tested value: a number, or a point (a dictionary of numbers).
fn is_value(object: &Bound<'_, PyAny>) -> bool {
    if object.is_instance_of::<PyString>() {
        return false;
    }
    match object.cast::<PyDict>() {
        Ok(dict) => !dict.is_empty() && dict.values().iter().all(|value| value.extract::<f64>().is_ok()),
        Err(_) => object.extract::<f64>().is_ok(),
    }
}

/// Returns the arguments `model` and `mu` of `function`, which earlier versions had in the other order.
///
/// # Errors
/// If the user has made warnings errors.
fn model_first<'a, 'py>(
    function: &str,
    model: &'a Bound<'py, PyAny>,
    mu: &'a Bound<'py, PyAny>,
) -> PyResult<(&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>)> {
    if is_value(model) && !is_value(mu) {
        deprecated(
            model.py(),
            &format!("{function}(mu, model) becomes {function}(model, mu): the model comes first"),
        )?;
        return Ok((mu, model));
    }
    Ok((model, mu))
}

/// Returns the arguments `model` and `mu` of `function`, which takes them by position or by name. Earlier versions had them in
/// the other order.
///
/// # Errors
/// `TypeError` for arguments that are missing, given twice, or too many. If the user has made warnings errors.
pub(crate) fn model_and_mu<'py>(
    function: &str,
    args: &Bound<'py, PyTuple>,
    model: Option<Bound<'py, PyAny>>,
    mu: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let usage = format!("write {function}(model, mu)");
    let wrong = |why: &str| Err(PyTypeError::new_err(format!("{function}() {why}; {usage}")));
    let at = |index: usize| args.get_item(index);
    match (args.len(), model, mu) {
        (0, Some(model), Some(mu)) => Ok((model, mu)),
        (1, None, Some(mu)) => Ok((at(0)?, mu)),
        (1, Some(model), None) => {
            let mu = at(0)?;
            if is_value(&mu) {
                let text =
                    format!("{function}(mu, model=...) becomes {function}(model, mu): the model comes first");
                deprecated(args.py(), &text)?;
                return Ok((model, mu));
            }
            wrong("needs the tested value mu, and has two models")
        }
        (2, None, None) => {
            let (first, second) = (at(0)?, at(1)?);
            let (model, mu) = model_first(function, &first, &second)?;
            Ok((model.clone(), mu.clone()))
        }
        (0, None, None) => wrong("needs a model and the tested value mu"),
        (0, None, Some(_)) => wrong("needs a model"),
        (0, Some(_), None) | (1, None, None) => wrong("needs the tested value mu"),
        (1 | 2, Some(_), _) => wrong("has two models"),
        (2, _, Some(_)) => wrong("has two values of mu"),
        (n, ..) => wrong(&format!(
            "takes two arguments by position, the model and mu, not {n}; the others have names"
        )),
    }
}

/// Returns the names of parameters as a list that may still be called, as in earlier versions.
///
/// # Errors
/// If a Python object cannot be created.
pub(crate) fn names<'py>(py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    py.import("nextstat._names")?.getattr("ParameterNames")?.call1((names,))
}

/// Returns the entry of a ranking, or the value that a result has under a key, as `Client` returned it in earlier versions.
///
/// # Errors
/// `KeyError` for an unknown key.
pub(crate) fn item<'py>(result: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // A ranking has entries.
    let entry = result.getattr_opt("entry")?.map(|entry| entry.call1((key,)));
    match entry {
        Some(Ok(entry)) => return Ok(entry),
        Some(Err(error)) if !key.is_instance_of::<PyString>() => return Err(error),
        _ if !key.is_instance_of::<PyString>() => {
            return Err(PyTypeError::new_err("the parts of a result are its attributes, without positions"));
        }
        _ => {}
    }
    let values = result.call_method0("to_dict")?;
    if !values.contains(key)? {
        return match entry {
            Some(Err(error)) => Err(error),
            _ => Err(PyKeyError::new_err(key.clone().unbind())),
        };
    }
    let value = values.get_item(key)?;
    deprecated(
        result.py(),
        &format!("result[\"{key}\"] becomes result.{key}, or result.to_dict()[\"{key}\"]"),
    )?;
    Ok(value)
}
