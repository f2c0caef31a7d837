//! Restores pickled and copied results of the classes whose attributes have the names of the keys in the JSON result of
//! a command.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::Record;
use crate::compatibility::CompatibilityResult;
use crate::hypotest::{EventGoodnessResult, GoodnessResult, HypotestResult, PointResult, SignificanceResult};
use crate::injection::InjectionResult;
use crate::interval::IntervalResult;
use crate::limit::{Drawn, LimitResult};
use crate::look_elsewhere::LookElsewhereResult;
use crate::pickle::read;
use crate::posterior::PosteriorResult;
use crate::ranking::RankingResult;
use crate::region::RegionResult;
use crate::simplify::SimplifyResult;
use crate::spurious::SpuriousResult;
use crate::study::FitToysResult;
use crate::toys::{HypotestToysResult, ToyLimitResult};
use crate::unfold::UnfoldResult;
use crate::yields::YieldsResult;

/// Restores a pickled result from the arguments that `Record::reduced` returned.
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
        "PointResult" => Py::new(py, PointResult(record))?.into_any(),
        "HypotestResult" => Py::new(py, HypotestResult(record))?.into_any(),
        "SignificanceResult" => Py::new(py, SignificanceResult(record))?.into_any(),
        "EventGoodnessResult" => Py::new(py, EventGoodnessResult(record, read(&text()?)?))?.into_any(),
        "GoodnessResult" => Py::new(py, GoodnessResult(record, read(&text()?)?))?.into_any(),
        "HypotestToysResult" => Py::new(py, HypotestToysResult(record, read(&text()?)?))?.into_any(),
        "ToyLimitResult" => Py::new(py, ToyLimitResult(record))?.into_any(),
        "IntervalResult" => Py::new(py, IntervalResult(record, read(&text()?)?))?.into_any(),
        "LookElsewhereResult" => Py::new(py, LookElsewhereResult(record, read(&text()?)?))?.into_any(),
        "RegionResult" => Py::new(py, RegionResult(record, read(&text()?)?))?.into_any(),
        "PosteriorResult" => Py::new(py, PosteriorResult(record, read(&text()?)?))?.into_any(),
        "CompatibilityResult" => Py::new(py, CompatibilityResult(record, read(&text()?)?))?.into_any(),
        "InjectionResult" => Py::new(py, InjectionResult(record, read(&text()?)?))?.into_any(),
        "SpuriousResult" => Py::new(py, SpuriousResult(record, read(&text()?)?))?.into_any(),
        "UnfoldResult" => Py::new(py, UnfoldResult(record, read(&text()?)?))?.into_any(),
        "SimplifyResult" => Py::new(py, SimplifyResult(record, text()?))?.into_any(),
        "FitToysResult" => Py::new(py, FitToysResult(record, read(&text()?)?))?.into_any(),
        "YieldsResult" => Py::new(py, YieldsResult(record, read(&text()?)?))?.into_any(),
        "RankingResult" => Py::new(py, RankingResult(record, read(&text()?)?))?.into_any(),
        "LimitResult" => Py::new(py, LimitResult(record, Drawn::restored(py, more)?))?.into_any(),
        other => return Err(PyValueError::new_err(format!("unknown kind of result '{other}'"))),
    })
}
