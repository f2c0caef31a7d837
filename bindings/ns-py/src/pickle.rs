//! What `pickle` and `copy` keep of results: the function that restores one, and its arguments.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::analysis::Record;
use crate::hypotest::{Drawn, GoodnessResult, HypotestResult, LimitResult, SignificanceResult};
use crate::ranking::RankingResult;
use crate::study::FitToysResult;
use crate::toys::{HypotestToysResult, ToyLimitResult};
use crate::yields::YieldsResult;

/// A function of this module and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// A function of this module by name.
///
/// # Errors
/// If there is none.
pub(crate) fn restorer<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("nextstat._native")?.getattr(name)
}

/// Plain data as text.
///
/// # Errors
/// If they cannot be written as JSON.
pub(crate) fn written(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What [`written`] wrote.
///
/// # Errors
/// If it is something else.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("this is no pickled result of this version: {error}")))
}

/// A result whose attributes are keys of JSON, and what else it holds.
///
/// # Errors
/// If Python refuses.
pub(crate) fn of_record<'py>(
    py: Python<'py>,
    class: &str,
    record: &Record,
    more: impl IntoPyObject<'py>,
) -> PyResult<Reduced<'py>> {
    let more = more.into_bound_py_any(py)?;
    let arguments = (class, record.values.bind(py), written(&record.parts)?, more).into_pyobject(py)?;
    Ok((restorer(py, "_result")?, arguments))
}

/// Such a result again.
#[pyfunction]
pub(crate) fn _result(
    py: Python<'_>,
    class: &str,
    values: Py<PyDict>,
    parts: &str,
    more: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let record = Record { values, parts: read(parts)? };
    let text = || more.extract::<String>();
    Ok(match class {
        "HypotestResult" => Py::new(py, HypotestResult(record))?.into_any(),
        "SignificanceResult" => Py::new(py, SignificanceResult(record))?.into_any(),
        "GoodnessResult" => Py::new(py, GoodnessResult(record))?.into_any(),
        "HypotestToysResult" => Py::new(py, HypotestToysResult(record))?.into_any(),
        "ToyLimitResult" => Py::new(py, ToyLimitResult(record))?.into_any(),
        "FitToysResult" => Py::new(py, FitToysResult(record))?.into_any(),
        "YieldsResult" => Py::new(py, YieldsResult(record, read(&text()?)?))?.into_any(),
        "RankingResult" => Py::new(py, RankingResult(record, read(&text()?)?))?.into_any(),
        "LimitResult" => Py::new(py, LimitResult(record, Drawn::restored(py, more)?))?.into_any(),
        other => return Err(PyValueError::new_err(format!("unknown kind of result '{other}'"))),
    })
}
