//! Makes results from the JSON of servers, for `nextstat.Client`.

use ns_inference::report::{Report, RunInfo};
use ns_inference::reread::AnyResult;
use ns_inference::{LimitOptions, picture};
use ns_viz::ToyDistribution;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::analysis::Record;
use crate::compatibility::CompatibilityResult;
use crate::hypotest::{EventGoodnessResult, GoodnessResult, HypotestResult, SignificanceResult};
use crate::injection::InjectionResult;
use crate::interval::IntervalResult;
use crate::kept_toys::WithToys;
use crate::limit::{Drawn, LimitResult};
use crate::look_elsewhere::LookElsewhereResult;
use crate::model::Model;
use crate::ranking::RankingResult;
use crate::region::RegionResult;
use crate::result::FitResult;
use crate::scan::ScanResult;
use crate::simplify::SimplifyResult;
use crate::spurious::SpuriousResult;
use crate::study::FitToysResult;
use crate::toys::HypotestToysResult;
use crate::unfold::UnfoldResult;
use crate::yields::YieldsResult;

/// Makes the result of an analysis from its JSON, of the class that the same analysis has on this machine. None if a class
/// needs the model and there is none, and for analyses whose results cannot be read.
///
/// # Errors
/// `ValueError` if the JSON has no information about the run.
#[pyfunction]
pub(crate) fn _remote(
    py: Python<'_>,
    json: &[u8],
    model: Option<&Bound<'_, Model>>,
) -> PyResult<Option<Py<PyAny>>> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(format!("this is no result: {error}"));
    let Ok(result) = AnyResult::from_slice(json) else { return Ok(None) };
    let ran: RunInfo = serde_json::from_slice(json).map_err(wrong)?;
    made_of(py, result, ran, model.map(Bound::get))
}

/// Makes the object of a result. Results for several parameters of interest are a dictionary.
fn made_of(
    py: Python<'_>,
    result: AnyResult,
    ran: RunInfo,
    model: Option<&Model>,
) -> PyResult<Option<Py<PyAny>>> {
    let measurement = model.map_or("of the server", |model| model.inner.measurement.as_str());
    let made = Maker { py, ran, measurement };
    Ok(Some(match result {
        AnyResult::Fit(fit) => {
            let Some(model) = model else { return Ok(None) };
            Py::new(py, FitResult::new(py, *fit, model, ns_inference::FitOptions::default(), made.ran)?)?
                .into_any()
        }
        AnyResult::Scan(scan) => {
            Py::new(py, ScanResult::new(py, scan, measurement.to_owned(), made.ran)?)?.into_any()
        }
        AnyResult::Limit(limit) => {
            let options = LimitOptions::default().cl(limit.cl).observed_only(limit.expected.is_empty());
            let parts = limit.parts(&options);
            let drawn = Drawn::remote(&limit, options);
            Py::new(py, LimitResult(made.record(limit, parts)?, drawn))?.into_any()
        }
        AnyResult::Ranking(ranking) => {
            let parts = ranking.parts();
            Py::new(py, RankingResult(made.record(&ranking, parts)?, ranking))?.into_any()
        }
        AnyResult::Yields(yields) => {
            let (parts, picture) = (yields.parts(false), picture::yields(&yields));
            Py::new(py, YieldsResult(made.record(yields, parts)?, picture))?.into_any()
        }
        AnyResult::Hypotest(test) => {
            let parts = test.parts(true);
            Py::new(py, HypotestResult(made.record(test, parts)?))?.into_any()
        }
        AnyResult::Significance(test) => {
            let parts = test.parts();
            Py::new(py, SignificanceResult(made.record(test, parts)?))?.into_any()
        }
        // Distributions of toys stay on the server.
        AnyResult::Goodness(test) => {
            let parts = test.parts();
            Py::new(py, GoodnessResult(made.record(test, parts)?, ToyDistribution::default()))?.into_any()
        }
        AnyResult::EventGoodness(test) => {
            let parts = test.parts();
            Py::new(py, EventGoodnessResult(made.record(test, parts)?, ToyDistribution::default()))?
                .into_any()
        }
        AnyResult::HypotestToys(test) => {
            let parts = test.parts();
            Py::new(py, HypotestToysResult(made.record(test, parts)?, WithToys::default()))?.into_any()
        }
        AnyResult::Toys(study) => {
            let (parts, picture) = (study.parts(), picture::toy_pulls(&study));
            Py::new(py, FitToysResult(made.record(study, parts)?, WithToys::without(picture)))?.into_any()
        }
        AnyResult::Unfold(unfolded) => {
            let parts = unfolded.parts();
            Py::new(py, UnfoldResult(made.record(&unfolded, parts)?, *unfolded))?.into_any()
        }
        AnyResult::Compatibility(test) => {
            let (parts, picture) = (test.parts(), picture::compatibility(&test));
            Py::new(py, CompatibilityResult(made.record(test, parts)?, picture))?.into_any()
        }
        AnyResult::Spurious(test) => {
            let (parts, picture) = (test.parts(), picture::spurious(&test));
            Py::new(py, SpuriousResult(made.record(test, parts)?, picture))?.into_any()
        }
        AnyResult::Simplify(simplified) => {
            let (parts, workspace) = (simplified.parts(), simplified.workspace.to_string());
            Py::new(py, SimplifyResult(made.record(simplified, parts)?, workspace))?.into_any()
        }
        AnyResult::Interval(interval) => {
            let (parts, picture) = (interval.parts(), picture::interval(&interval));
            Py::new(py, IntervalResult(made.record(interval, parts)?, picture))?.into_any()
        }
        AnyResult::Region(region) => {
            let (parts, picture) = (region.parts(), picture::region(&region));
            Py::new(py, RegionResult(made.record(region, parts)?, picture))?.into_any()
        }
        AnyResult::LookElsewhere(search) => {
            let (parts, picture) = (search.parts(), picture::look_elsewhere(&search));
            Py::new(py, LookElsewhereResult(made.record(search, parts)?, picture))?.into_any()
        }
        AnyResult::Injection(test) => {
            let (parts, picture) = (test.parts(), picture::injection(&test));
            Py::new(py, InjectionResult(made.record(test, parts)?, picture))?.into_any()
        }
        AnyResult::PerPoi { pois, results } => {
            let by_name = PyDict::new(py);
            for (name, result) in pois.into_iter().zip(results) {
                let Some(one) = made_of(py, result, made.ran.clone(), model)? else { return Ok(None) };
                by_name.set_item(name, one)?;
            }
            by_name.into_any().unbind()
        }
        _ => return Ok(None),
    }))
}

/// What records are made of.
struct Maker<'a, 'py> {
    py: Python<'py>,
    ran: RunInfo,
    measurement: &'a str,
}

impl Maker<'_, '_> {
    fn record(self, result: impl Serialize, mut parts: Vec<ns_inference::report::Part>) -> PyResult<Record> {
        parts.push(self.ran.closing(self.measurement));
        Record::new(self.py, Report { result, ran: self.ran, parts })
    }
}
