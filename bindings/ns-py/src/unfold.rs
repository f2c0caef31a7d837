//! The function `nextstat.unfold` and its result.

use std::path::PathBuf;

use ns_inference::picture::{strengths, unfolded};
use ns_inference::unfold::{Prediction, Strength};
use ns_inference::{UnfoldOptions, options};
use ns_translate::pyhf::read_file;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::analysis::{Common, result_class};
use crate::device::execution;
use crate::error::workspace_error;
use crate::load::{self, Names, dumps};
use crate::picture::{Picture, check, finish, replace};

result_class! {
    /// Unfolded data. Attributes have the names of the keys in the JSON of `nextstat unfold`. `truth` has an entry for each
    /// truth bin.
    UnfoldResult {
        truth title edges regularisation tau tau_from scan covariance correlation covariance_penalised
        mean_global_correlation twice_nll chi2 roughness bottom_line toys converged interrupted warnings
    }, ns_inference::UnfoldResult, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "UnfoldResult", crate::pickle::written(&self.1)?)
        }

        /// Draws the unfolded distribution with its prediction. `log=True` gives a logarithmic axis. Saves the picture if
        /// `path` is given.
        #[pyo3(signature = (path = None, *, title = None, subtitle = None, log = false))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            title: Option<String>,
            subtitle: Option<String>,
            log: bool,
        ) -> PyResult<Picture> {
            check(path.as_deref())?;
            let mut picture = unfolded(&self.1);
            replace(&mut picture.title, title);
            replace(&mut picture.subtitle, subtitle);
            picture.log_y = log;
            finish(py, picture.draw(), path)
        }

        /// Draws the scanned strengths: the L-curve, or the mean global correlation coefficient. Saves the picture if `path`
        /// is given. Raises `ValueError` if no strengths were scanned.
        #[pyo3(signature = (path = None, *, title = None, subtitle = None))]
        fn plot_strengths(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            check(path.as_deref())?;
            let mut picture = strengths(&self.1).ok_or_else(|| {
                PyValueError::new_err(
                    "no strengths were scanned: unfold with a regularisation and tau=\"l-curve\" or \"correlation\"",
                )
            })?;
            replace(&mut picture.title, title);
            replace(&mut picture.subtitle, subtitle);
            finish(py, picture.draw(), path)
        }
    }
}

/// Unfolds the data: finds the factors of the truth bins.
///
/// `truth` has the names of the norm factors of the truth bins in the order of the bins, or patterns such as "truth_*".
/// `prediction` is the predicted truth: a list of yields, or a dictionary or the path of a JSON file with any of the keys
/// `title`, `edges` and `yields`. `regularisation` adds the penalty tau/2 |L (mu - 1)|^2 to -ln L: "none", "tikhonov" (L is
/// the unit matrix) or "curvature" (second differences). `tau` is its strength: a number, "l-curve" (the largest curvature
/// of the L-curve) or "correlation" (the smallest mean global correlation coefficient). The last two scan `points` strengths
/// within `tau_range`. `toys=N` unfolds N toys that are drawn at `toys_at`, "best_fit" or "prediction". The other
/// arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, truth, *, prediction = None, regularisation = "none", tau = None, tau_range = None, points = 41,
                    toys = None, toys_at = "best_fit", seed = 0, device = "auto", data = None, asimov = None, blind = None,
                    fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None))]
pub(crate) fn unfold(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    truth: Names,
    prediction: Option<&Bound<'_, PyAny>>,
    regularisation: &str,
    tau: Option<&Bound<'_, PyAny>>,
    tau_range: Option<[f64; 2]>,
    #[pyo3(from_py_with = crate::whole::points)] points: usize,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    toys_at: &str,
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
) -> PyResult<Py<UnfoldResult>> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let regularisation = regularisation.parse().map_err(PyValueError::new_err)?;
    if tau.is_some() && regularisation == ns_inference::unfold::Regularisation::None {
        return Err(PyValueError::new_err(
            "tau is the strength of a penalty, and there is none: give regularisation=\"tikhonov\" or \"curvature\"",
        ));
    }
    let options = UnfoldOptions::of(truth.list())
        .fit(common.fit_options(model)?)
        .prediction(prediction.map(|given| predicted(py, given)).transpose()?.unwrap_or_default())
        .regularisation(regularisation)
        .tau(tau.map(strength).transpose()?.unwrap_or_default())
        .tau_range(tau_range.map(|[low, high]| (low, high)))
        .points(points)
        .n_toys(toys)
        .toys_at(toys_at.parse().map_err(PyValueError::new_err)?)
        .seed(seed);
    let execution = execution(device, threads)?;
    common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| ns_inference::unfold(core, session, &options, &execution, control),
        |result| (result.parts(), result.clone()),
        UnfoldResult,
    )
}

/// Reads the argument `tau`.
fn strength(tau: &Bound<'_, PyAny>) -> PyResult<Strength> {
    if tau.is_instance_of::<PyString>() {
        return tau.extract::<String>()?.parse().map_err(PyValueError::new_err);
    }
    tau.extract().map(Strength::Given)
}

/// Reads the argument `prediction`.
fn predicted(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Prediction> {
    let read = |text: &[u8]| {
        options::read(&mut serde_json::Deserializer::from_slice(text))
            .map_err(|error| PyValueError::new_err(format!("prediction: {error}")))
    };
    if given.is_instance_of::<PyDict>() {
        return read(dumps(given)?.as_bytes());
    }
    if let Ok(path) = given.extract::<PathBuf>() {
        return read(&read_file(&path).map_err(|error| workspace_error(py, &error))?);
    }
    let yields: Vec<f64> = given
        .extract()
        .map_err(|_| PyTypeError::new_err("prediction must be a list of yields, a dictionary, or a path"))?;
    Ok(Prediction::default().yields(yields))
}
