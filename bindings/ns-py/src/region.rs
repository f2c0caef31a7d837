//! The function `nextstat.region` and its result.

use std::path::PathBuf;

use ns_inference::interval::region_saved;
use ns_inference::row_file::RowFile;
use ns_inference::{RegionOptions, picture::region as drawn};
use ns_viz::Region;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::error::ToPython;
use crate::load::{self, Names};

result_class! {
    /// A confidence region of two parameters. Attributes have the names of the keys in the JSON of `nextstat region`.
    /// `border` has the points of the border, `points` all points that were tested with toys.
    RegionResult {
        params method nuisance cl best_fit level border spacing_error connected points accepted_error n_toys seed toys_per_s
        converged interrupted warnings
    }, draws Region, "Draws the region with the border of the chi2 law and the tested points. Saves the picture if `path` is given.", "region(model, toys=2000)"
}

/// Finds the confidence region of two parameters.
///
/// With `toys=N` this is the region of Feldman and Cousins: a point is inside if more than `1 - cl` of the toys drawn there
/// have a likelihood ratio of at least the observed one. Points near the border get N toys, others fewer. `nuisance` has the same meaning as for `interval`. Without `toys`
/// the chi2 law takes the place of the toys. `param` and `param2` are the names of the parameters, by default the first two
/// parameters of interest. The border is searched in `directions` directions from the best fit, and in more where it bends.
/// In each, `points` points are tested before the border is searched. `precision` is the largest accepted error of the
/// border, in units of its distance from the best fit by the chi2 law. With `save`, the counts of the toys are written to a
/// JSON file; `resume=True` continues it. The other arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, param = None, param2 = None, cl = 0.95, toys = None, nuisance = "profiled", directions = 16, points = 6,
                    precision = 0.05, save = None, resume = false, seed = 0, device = "auto", data = None,
                    asimov = None, blind = None, fixed = None, init = None, search = "standard",
                    integral_tolerance = None, threads = 0, progress = None))]
pub(crate) fn region(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    param: Option<String>,
    param2: Option<String>,
    cl: f64,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    nuisance: &str,
    #[pyo3(from_py_with = crate::whole::directions)] directions: usize,
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
) -> PyResult<Py<RegionResult>> {
    if toys.is_none() && save.is_some() {
        return Err(PyValueError::new_err("save keeps the toys of a region; give their number with toys=N"));
    }
    if resume && save.is_none() {
        return Err(PyValueError::new_err("resume continues a saved run; name its file with save"));
    }
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let options = RegionOptions::default()
        .fit(common.fit_options(model)?)
        .param(param)
        .param2(param2)
        .cl(cl)
        .n_toys(toys)
        .nuisance(nuisance.parse().map_err(PyValueError::new_err)?)
        .directions(directions)
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
            Some(file) => region_saved(core, session, &options, file, control),
            None => Ok(ns_inference::region(core, session, &options, control)?),
        },
        |result| (result.parts(), drawn(result)),
        RegionResult,
    )
}
