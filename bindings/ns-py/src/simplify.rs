//! The function `nextstat.simplify` and its result.

use ns_core::Covariance;
use ns_inference::{Extrapolated, SimplifyOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::error::inference_error;
use crate::load::{self, Names};
use crate::plain::plain;
use crate::result::FitResult;

result_class! {
    /// A simplified likelihood. Attributes have the names of the keys in the JSON of `nextstat simplify`; `workspace` is the
    /// likelihood itself.
    SimplifyResult {
        param bins correlation n_directions correlation_change n_draws variance_error seed validation converged warnings
    }, String, {
        /// The simplified likelihood as a workspace (a dictionary).
        #[getter]
        fn workspace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            plain(py, &crate::pickle::read::<serde_json::Value>(&self.1)?)
        }

        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "SimplifyResult", &self.1)
        }
    }
}

/// Makes a simplified likelihood: the background of each bin becomes a quadratic function of one normal parameter.
///
/// `regions` are the channels to keep, by default those on which the parameter of interest acts. `at` is the result of a fit
/// with `covariance=True`, whose values and covariance the nuisance parameters have. It should not have seen the data of the
/// regions: for example a fit of the model with the regions masked. Without `at` the parameters have their initial values
/// and the widths of their constraints. The moments come from `draws` draws. `linear=True` leaves the third moments out;
/// the workspace then has histosys modifiers only.
#[pyfunction]
#[pyo3(signature = (model, *, regions = None, at = None, draws = 50_000, linear = false, seed = 0, threads = 0,
                    progress = None))]
pub(crate) fn simplify(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    regions: Option<Names>,
    at: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::draws)] draws: u64,
    linear: bool,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<SimplifyResult>> {
    let model = load::model(py, model, "cpu")?;
    let model = model.get();
    let carried = match at {
        None => Extrapolated::new(&model.inner, &[], &[], Some(&Covariance { n: 0, values: Vec::new() })),
        Some(object) => {
            let Ok(fit) = object.cast::<FitResult>() else {
                return Err(PyValueError::new_err(
                    "at is not the result of a fit; give what nextstat.fit returned",
                ));
            };
            Extrapolated::of(&model.inner, &fit.get().whole(py)?)
        }
    };
    let carried = carried.map_err(|error| inference_error(&error))?;
    let notes = if at.is_some() { carried.warnings(&model.inner) } else { Vec::new() };
    let Some(covariance) = carried.covariance else {
        return Err(PyValueError::new_err("the fit has no uncertainties; fit with uncertainties=True"));
    };
    let options = SimplifyOptions::default()
        .channels(regions.map(Names::list).unwrap_or_default())
        .n_draws(draws)
        .seed(seed)
        .third_moments(!linear);
    let common = Common {
        device: "cpu",
        threads,
        data: None,
        asimov: None,
        blind: None,
        fixed: None,
        init: None,
        search: "standard",
        integral_tolerance: None,
        progress,
    };
    let point = carried.parameters;
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| {
            let mut made = ns_inference::simplify(core, session, (&point, &covariance), &options, control)?;
            made.warnings.extend(notes);
            Ok::<_, ns_inference::InferenceError>(made)
        },
        |result| (result.parts(), result.workspace.to_string()),
        SimplifyResult,
    )
}
