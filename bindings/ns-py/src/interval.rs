//! The function `nextstat.interval` and its result.

use std::path::PathBuf;

use ns_inference::interval::{SavedIntervalError, interval_saved};
use ns_inference::row_file::RowFile;
use ns_inference::{IntervalOptions, picture::interval as drawn};
use ns_viz::Confidence;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::error::{ToPython, inference_error};
use crate::load::{self, Names};

result_class! {
    /// A confidence interval. Attributes have the names of the keys in the JSON of `nextstat interval`. `points` has all
    /// values that were tested with toys.
    IntervalResult {
        param method nuisance cl best_fit lower lower_error lower_reason upper upper_error upper_reason connected asymptotic
        points accepted_error n_toys seed toys_per_s converged interrupted warnings
    }, draws Option<Confidence>, "Draws the p-values of the tested values with both intervals. Saves the picture if `path` is given.", "interval(model, toys=10_000)"
}

impl ToPython for SavedIntervalError {
    fn exception(&self) -> PyErr {
        match self {
            Self::File(error) => error.exception(),
            Self::Inference(error) => inference_error(error),
        }
    }
}

/// Finds the confidence interval of a parameter.
///
/// With `toys=N` this is the interval of Feldman and Cousins: a value is inside if more than `1 - cl` of the toys drawn
/// there have a likelihood ratio of at least the observed one. Values near the ends of the interval get N toys, others
/// fewer. `nuisance` says at which nuisance parameters toys are drawn: `"profiled"` (their best fit at the tested value),
/// `"plug-in"` (those of the free fit) or `"posterior"` (draws from their posterior). Without `toys` the chi2 law takes the place of the toys. `param` is the name of the parameter, by default the
/// parameter of interest. `points` values are tested before the ends are searched. `precision` is the largest accepted
/// error of an end, in units of half the width of the interval of the chi2 law. With `save`, the counts of the toys are
/// written to a JSON file; `resume=True` continues it. The other arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, param = None, cl = 0.95, toys = None, nuisance = "profiled", points = 13, precision = 0.03, save = None,
                    resume = false, seed = 0, device = "auto", data = None, asimov = None, blind = None, fixed = None,
                    init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None))]
pub(crate) fn interval(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    param: Option<String>,
    cl: f64,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    nuisance: &str,
    #[pyo3(from_py_with = crate::whole::points)] points: usize,
    precision: f64,
    save: Option<PathBuf>,
    resume: bool,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<IntervalResult>> {
    if toys.is_none() && save.is_some() {
        return Err(PyValueError::new_err(
            "save keeps the toys of an interval; give their number with toys=N",
        ));
    }
    if resume && save.is_none() {
        return Err(PyValueError::new_err("resume continues a saved run; name its file with save"));
    }
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let options = IntervalOptions::default()
        .fit(common.fit_options(model)?)
        .param(param)
        .cl(cl)
        .n_toys(toys)
        .nuisance(nuisance.parse().map_err(PyValueError::new_err)?)
        .points(points)
        .precision(precision)
        .seed(seed);
    let file =
        save.map(|path| RowFile::claim(path, resume)).transpose().map_err(|error| error.exception())?;
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| match file {
            Some(file) => interval_saved(core, session, &options, file, control),
            None => Ok(ns_inference::interval(core, session, &options, control)?),
        },
        |result| (result.parts(), drawn(result)),
        IntervalResult,
    )
}
