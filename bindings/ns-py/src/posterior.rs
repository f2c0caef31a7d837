//! The function `nextstat.sample` and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ns_inference::PosteriorOptions;
use ns_inference::posterior::{Draws, write_draws};
use numpy::PyArray2;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{Common, result_class};
use crate::load::{self, Names};
use crate::pickle::Reduced;
use crate::picture::{Picture, titled};

result_class! {
    /// Samples of a posterior. Attributes have the names of the keys in the JSON of `nextstat sample`. `draws` has the
    /// draws themselves.
    PosteriorResult {
        pois priors cl parameters n_chains n_draws n_tune n_divergent n_gradients most_r_hat least_ess seed converged
        interrupted warnings
    }, Draws, {
        /// A dictionary of arrays: for each free parameter the draws, with the shape `(chains, draws)`.
        #[getter]
        fn draws<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let all = PyDict::new(py);
            for (i, name) in self.1.names.iter().enumerate() {
                all.set_item(name, PyArray2::from_vec2(py, &self.1.of(i))?)?;
            }
            Ok(all)
        }

        /// The logarithm of the likelihood at each draw, with the shape `(chains, draws)`.
        #[getter]
        fn ln_likelihood<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
            Ok(PyArray2::from_vec2(py, &self.1.ln_likelihood)?)
        }

        /// Returns the summary of one parameter as a dictionary. Raises `KeyError` for a name that is not sampled.
        fn parameter<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
            let Some(place) = self.1.names.iter().position(|known| known == name) else {
                return Err(PyKeyError::new_err(format!(
                    "'{name}' is not sampled; there are {}",
                    self.1.names.join(", ")
                )));
            };
            self.0.value(py, "parameters")?.get_item(place)
        }

        /// Draws the distribution of each parameter and the credible region of each pair. `parameters` are the names of the
        /// parameters, or patterns with `*` and `?`; by default the parameters of interest and those that are most correlated
        /// with the first one, five in all. Saves the picture if `path` is given. Raises `ValueError` for a name that is not
        /// sampled.
        #[pyo3(signature = (path = None, *, parameters = None, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            parameters: Option<Names>,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            let pois: Vec<String> = self.0.value(py, "pois")?.extract()?;
            let cl: f64 = self.0.value(py, "cl")?.extract()?;
            let names = parameters.map(Names::list).unwrap_or_default();
            let corner = ns_inference::picture::corner(&self.1, &pois, cl, &names);
            let corner = corner.map_err(|error| PyValueError::new_err(error.to_string()))?;
            titled(py, corner, path, (title, subtitle), "sample(model)")
        }

        /// Returns the draws as `InferenceData` of ArviZ. Raises `ImportError` without arviz.
        fn to_arviz<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
            slf.py().import("nextstat._arviz")?.call_method1("inference_data", (slf,))
        }

        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
            self.0.reduced(py, "PosteriorResult", crate::pickle::written(&self.1)?)
        }
    }
}

/// Samples the posterior of all free parameters.
///
/// The prior of a constrained parameter is its constraint term, that of a free parameter is flat within its bounds. `priors` is a
/// dictionary of other priors of free parameters: `"normal(mean, sd)"`, `"lognormal(median, sigma)"`, `"gamma(shape, scale)"`,
/// `"exponential(mean)"` or `"inverse"`. Each
/// of the `chains` makes `tune` draws that adapt the step size, and then `draws` that are kept. `cl` is the probability of
/// the credible intervals and of the upper limits. With `save`, all draws are written to a Parquet file. The other
/// arguments have the same meaning as for `fit`.
#[pyfunction]
#[pyo3(signature = (model, *, priors = None, chains = 4, draws = 1000, tune = 500, cl = 0.95, save = None, seed = 0, device = "auto",
                    data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard",
                    integral_tolerance = None, threads = 0, progress = None))]
pub(crate) fn sample(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    priors: Option<BTreeMap<String, String>>,
    #[pyo3(from_py_with = crate::whole::chains)] chains: usize,
    #[pyo3(from_py_with = crate::whole::draws)] draws: usize,
    #[pyo3(from_py_with = crate::whole::tune)] tune: usize,
    cl: f64,
    save: Option<PathBuf>,
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
) -> PyResult<Py<PosteriorResult>> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let blind = blind.map(Names::list);
    let common =
        Common { device, threads, data, asimov, blind, fixed, init, search, integral_tolerance, progress };
    let mut given = BTreeMap::new();
    for (name, prior) in priors.unwrap_or_default() {
        let read =
            prior.parse().map_err(|error| PyValueError::new_err(format!("priors['{name}']: {error}")))?;
        given.insert(name, read);
    }
    let options = PosteriorOptions::default()
        .fit(common.fit_options(model)?)
        .priors(given)
        .chains(chains)
        .draws(draws)
        .tune(tune)
        .cl(cl)
        .seed(seed)
        .threads(threads);
    let mut file = None;
    let result = common.run_keeping(
        py,
        model,
        options.work(),
        |core, session, control| ns_inference::sample(core, session, &options, control),
        |result| {
            file = save.as_ref().map(|path| {
                let written = write_draws(result, Vec::new()).map_err(|error| error.to_string());
                written.and_then(|bytes| std::fs::write(path, bytes).map_err(|error| error.to_string()))
            });
            (result.parts(), result.draws.clone())
        },
        PosteriorResult,
    )?;
    match file {
        Some(Err(reason)) => {
            let path = save.unwrap_or_default();
            Err(PyOSError::new_err(format!("cannot write {}: {reason}; check the path", path.display())))
        }
        _ => Ok(result),
    }
}
