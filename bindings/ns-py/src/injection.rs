//! The function `nextstat.injection` and its result.

use ns_inference::{InjectionOptions, picture::injection as drawn};
use ns_viz::Linearity;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::arrays::numbers;
use crate::load::{self, Names};

result_class! {
    /// An injection test. Attributes have the names of the keys in the JSON of `nextstat toys --inject`.
    InjectionResult {
        param points line seed toys_per_s converged interrupted warnings
    }, draws Linearity, "Draws the bias against the injected value, with the line. Saves the picture if `path` is given.", "injection(model, [0, 1, 2])"
}

/// Draws `n_toys` toys at each of `values` of a parameter, fits them, and finds the bias and the line through the mean
/// fitted values.
///
/// `param` is the name of the parameter, by default the parameter of interest. At each value the other parameters are
/// fitted to the data. The other arguments have the same meaning as for `fit_toys`.
#[pyfunction]
#[pyo3(signature = (model, values, *, param = None, n_toys = 1000, seed = 0, device = "auto", data = None, asimov = None,
                    blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None))]
pub(crate) fn injection(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    param: Option<String>,
    #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: u64,
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
) -> PyResult<Py<InjectionResult>> {
    let values = numbers("values", values)?;
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let fit = common.fit_options(model)?;
    let options = InjectionOptions::default().fit(fit).param(param).values(values).n_toys(n_toys).seed(seed);
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| ns_inference::injection(core, session, &options, control),
        |result| (result.parts(), drawn(result)),
        InjectionResult,
    )
}
