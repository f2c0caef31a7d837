//! The function `nextstat.compatibility` and its result.

use ns_inference::{CompatibilityOptions, picture::compatibility as drawn};
use ns_viz::Channels;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::device::execution;
use crate::load::{self, Names};

result_class! {
    /// A test of the compatibility of channels. Attributes have the names of the keys in the JSON of `nextstat
    /// compatibility`.
    CompatibilityResult {
        param common channels q n_dof p_value p_value_toys p_value_toys_error toys converged interrupted warnings
    }, draws Channels, "Draws the value of each channel with the common value. Saves the picture if `path` is given.", "compatibility(model)"
}

/// Tests whether all channels have the same value of the parameter of interest.
///
/// The statistic is the likelihood ratio of a fit with a common value and a fit with a value per channel. With `toys=N` its
/// p-value is also found with N toys. `leave_out=True` finds for each channel the common value of the others. The other
/// arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, toys = None, leave_out = false, seed = 0, device = "auto", data = None, asimov = None,
                    blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None))]
pub(crate) fn compatibility(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    leave_out: bool,
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
) -> PyResult<Py<CompatibilityResult>> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let fit = common.fit_options(model)?;
    let options = CompatibilityOptions::default().fit(fit).n_toys(toys).seed(seed).leave_out(leave_out);
    let execution = execution(device, threads)?;
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| ns_inference::compatibility(core, session, &options, &execution, control),
        |result| (result.parts(), drawn(result)),
        CompatibilityResult,
    )
}
