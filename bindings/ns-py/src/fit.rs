//! The function `nextstat.fit`.

use std::time::Instant;

use ns_core::{Control, Search};
use ns_inference::Work;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::Common;
use crate::device::execution;
use crate::error::{ConvergenceError, inference_error};
use crate::load::{self, Names};
use crate::options;
use crate::result::FitResult;
use crate::warn::warn_of_result;
use crate::work::{Progress, SHORT_FIT, run, run_short};

/// Finds the best fit of a model with its uncertainties.
///
/// `model` is a `Model`, or a path or dictionary for `load_workspace`. `data` replaces the observed counts
/// (with or without auxiliary data). `asimov=True` fits the data expected at the initial parameters.
/// `asimov=1.0` sets the parameter of interest to 1 for these data. `fixed` maps names of parameters to fixed
/// values. `init` is the starting point: all values, or some values by name. `minos` names the parameters for
/// which MINOS (asymmetric) intervals are computed. Names of `fixed` and `minos` may be patterns with * and ?, or "all". `search`, the effort to find the global minimum, is
/// "local", "standard" or "thorough". `weighted_uncertainties` is the method for the uncertainties of
/// weighted events: "sandwich" (the default, asymptotically correct), "sumw2" or "hesse". `derived` maps names to
/// expressions of parameters, such as `{"r": "mu_ggH / mu_qqH"}`, whose values and uncertainties are in `derived` of the
/// result; with `derived_profile=True` also their intervals by the profile of the likelihood.
///
/// A fit that does not converge is returned with `converged = False`, and with the reasons in `warnings`.
/// With `strict=True` it raises `ConvergenceError` instead. If the likelihood is not finite at any starting
/// point, `ConvergenceError` is always raised. `DeviceError` says why a device cannot be used.
#[pyfunction]
#[pyo3(signature = (model, *, device = "auto", data = None, asimov = None, blind = None, fixed = None, init = None, minos = None,
                    covariance = true, uncertainties = true, crossings = true, search = "standard", integral_tolerance = None, threads = 0,
                    strict = false, weighted_uncertainties = None, derived = None, derived_profile = false))]
pub(crate) fn fit(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    minos: Option<load::Names>,
    covariance: bool,
    uncertainties: bool,
    crossings: bool,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    strict: bool,
    weighted_uncertainties: Option<&str>,
    derived: Option<&Bound<'_, PyDict>>,
    derived_profile: bool,
) -> PyResult<FitResult> {
    let started = Instant::now();
    let model = load::model(py, model, device)?;
    let model = model.get();
    let common = Common {
        device,
        threads,
        data,
        asimov,
        blind: blind.map(Names::list),
        fixed,
        init,
        search,
        integral_tolerance,
        progress: None,
    };
    let mut wanted = common.fit_options(model)?.crossings(crossings);
    wanted = wanted.covariance(covariance).uncertainties(uncertainties);
    let method =
        weighted_uncertainties.map(|word| word.parse().map_err(PyValueError::new_err)).transpose()?;
    wanted = wanted.weighted_uncertainties(method);
    wanted = options::minos(wanted, &model.inner, minos.map(load::Names::list).unwrap_or_default())?;
    for (name, expression) in derived.into_iter().flatten() {
        wanted = wanted.derive(name.extract::<String>()?, expression.extract::<String>()?);
    }
    wanted = wanted.derived_profile(derived_profile);
    let opened = model.open(py, &execution(device, threads)?, Work::Fit)?;
    let session = opened.session.as_ref();
    let core = &model.inner;
    let work = |control: Control<'_>| ns_inference::fit(core, session, &wanted, control);
    let short = core.parameters.len() <= SHORT_FIT
        && wanted.minos.is_empty()
        && !derived_profile
        && wanted.search != Search::Thorough;
    let result = if short { run_short(py, work)? } else { run(py, &Progress::Silent, work)? }
        .map_err(|error| inference_error(&error))?;
    if strict && !result.converged {
        let reasons: Vec<&str> =
            std::iter::once(&result.termination_reason).chain(&result.warnings).map(String::as_str).collect();
        return Err(ConvergenceError::new_err(reasons.join("; ")));
    }
    warn_of_result(py, core, &result.warnings)?;
    let ran = model.ran(opened, started).blinded(wanted.data.blind());
    FitResult::new(py, result, model, wanted, ran)
}
