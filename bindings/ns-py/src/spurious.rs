//! The function `nextstat.spurious_signal` and its result.

use ns_inference::{SpuriousOptions, picture::spurious as drawn};
use ns_viz::Spurious;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{Common, result_class};
use crate::device::execution;
use crate::load;
use crate::model::Model;

result_class! {
    /// The signals that a model finds in backgrounds without signal. Attributes have the names of the keys in the JSON of
    /// `nextstat spurious-signal`.
    SpuriousResult {
        poi param places backgrounds spurious_signal largest_ratio limit passed converged warnings
    }, draws Spurious, "Draws the spurious signals, divided by their uncertainties, along the places. Saves the picture if `path` is given.", "spurious_signal(model, backgrounds, param)"
}

/// Finds the signal that a model finds in backgrounds without signal, at many places such as masses.
///
/// `backgrounds` is a dictionary of models by their names. They have the channels of `model` and another description of what
/// is not signal. Each is fitted to its own data without signal (its parameter of interest at 0). The data that it then expects
/// are fitted with `model`, with the signal at `points` places from `start` to `stop`, by default within the bounds of
/// `param`. `limit` is the largest accepted ratio of the fitted strength to its uncertainty. The other arguments have the
/// same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, backgrounds, param, *, start = None, stop = None, points = 61, limit = 0.2, device = "auto",
                    fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None))]
pub(crate) fn spurious_signal(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    backgrounds: &Bound<'_, PyDict>,
    param: String,
    start: Option<f64>,
    stop: Option<f64>,
    #[pyo3(from_py_with = crate::whole::points)] points: usize,
    limit: f64,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<SpuriousResult>> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let (data, asimov, blind) = (None, None, None);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let options = SpuriousOptions::along(param)
        .fit(common.fit_options(model)?)
        .start(start)
        .stop(stop)
        .points(points)
        .limit(limit);
    let loaded: Vec<(String, Bound<'_, Model>)> = backgrounds
        .iter()
        .map(|(name, background)| Ok((name.extract()?, load::model(py, &background, "cpu")?)))
        .collect::<PyResult<_>>()?;
    let models: Vec<(String, &ns_core::Model)> =
        loaded.iter().map(|(name, model)| (name.clone(), &*model.get().inner)).collect();
    let execution = execution(device, threads)?;
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| {
            ns_inference::spurious_signal(core, session, &models, &options, &execution, control)
        },
        |result| (result.parts(), drawn(result)),
        SpuriousResult,
    )
}
