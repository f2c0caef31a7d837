//! The function `nextstat.look_elsewhere` and its result.

use ns_inference::{LookElsewhereOptions, picture::look_elsewhere as drawn};
use ns_viz::Places;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::load::{self, Names};

result_class! {
    /// The significance of a signal that was searched at many places. Attributes have the names of the keys in the JSON of
    /// `nextstat look-elsewhere`.
    LookElsewhereResult {
        poi param places q0 strength best_place q0_max p_local z_local level counted_in n_crossings n_crossings_error
        n_hidden n_hidden_error p_global p_global_error z_global trial_factor trial_factor_error p_global_toys
        p_global_toys_error n_toys n_nonconverged n_error seed toys_per_s converged interrupted warnings
    }, draws Places, "Draws `q0` along the places, with the largest excess. Saves the picture if `path` is given.", "look_elsewhere(model, param)"
}

/// Finds the significance of a signal that was searched at many places, such as masses.
///
/// `param` is the name of the parameter that says where the signal is. The strength of the signal is the parameter of
/// interest. It is fitted at `points` places from `start` to `stop`, by default within the bounds of `param`. The
/// probability of an excess anywhere follows from the number of places at which `q0` rises through `level` (Gross, Vitells,
/// arXiv:1005.1891). It is counted in the data, or with `toys=N` in N toys without signal; the toys also give the
/// fraction with a larger excess. The other arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, param, *, start = None, stop = None, points = 61, level = 0.5, toys = None, seed = 0,
                    device = "auto", data = None, asimov = None, blind = None, fixed = None, init = None,
                    search = "standard", integral_tolerance = None, threads = 0, progress = None))]
pub(crate) fn look_elsewhere(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    param: String,
    start: Option<f64>,
    stop: Option<f64>,
    #[pyo3(from_py_with = crate::whole::points)] points: usize,
    level: f64,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
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
) -> PyResult<Py<LookElsewhereResult>> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let options = LookElsewhereOptions::along(param)
        .fit(common.fit_options(model)?)
        .start(start)
        .stop(stop)
        .points(points)
        .level(level)
        .n_toys(toys)
        .seed(seed);
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| ns_inference::look_elsewhere(core, session, &options, control),
        |result| (result.parts(), drawn(result)),
        LookElsewhereResult,
    )
}
