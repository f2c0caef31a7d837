//! `POST /v1/fit-batch`: fits one model to many data sets. The result has the same keys as that of `fit_batch` in
//! Python.

use ns_core::{FitOutcome, Observations};
use ns_inference::fit::BatchFit;
use ns_inference::{FitOptions, Work, fit_batch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::memory::of_covariances;
use crate::problem::ServerError;

body! {
    /// Body of the request for fits to many data sets.
    FitBatchBody {
        /// The data sets.
        datasets: Vec<Dataset>,
        /// Options of all fits; `covariance` is false by default.
        #[serde(default = "without_covariance")]
        #[schema(value_type = Object)]
        options: FitOptions,
    }
}

impl FitBatchBody {
    /// Returns the memory of the copies of the data sets, in bytes. The model has `n_aux` auxiliary data.
    fn copied(&self, n_aux: usize) -> u64 {
        let numbers = |set: &Dataset| set.main.len() + set.aux.as_ref().map_or(n_aux, Vec::len);
        8 * self.datasets.iter().map(numbers).sum::<usize>() as u64
    }
}

fn without_covariance() -> FitOptions {
    FitOptions::default().covariance(false)
}

/// One data set: counts of all bins and auxiliary data, in the model's order.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dataset {
    /// Counts of all bins.
    main: Vec<f64>,
    /// Auxiliary data; the observed auxiliary data by default.
    #[serde(default)]
    aux: Option<Vec<f64>>,
}

/// Results of the fits. Each array has one element or row per data set. The numbers of a fit without a result are
/// null.
#[derive(Serialize, ToSchema)]
pub(crate) struct Batch<'a> {
    /// Names of all parameters, in pyhf's order.
    parameter_names: &'a [String],
    /// Values of the parameters at each minimum.
    #[schema(value_type = Vec<Option<Vec<f64>>>)]
    bestfit: Vec<Option<&'a [f64]>>,
    /// Uncertainties of the parameters in each fit; null without them.
    #[schema(value_type = Option<Vec<Option<Vec<Option<f64>>>>>)]
    uncertainties: Option<Vec<Option<&'a [Option<f64>]>>>,
    /// Covariance matrix of each fit, row after row in one list; null without them.
    #[schema(value_type = Option<Vec<Option<Vec<Option<f64>>>>>)]
    covariance: Option<Vec<Option<&'a [f64]>>>,
    /// `-ln L` at each minimum, including all constants.
    nll: Vec<Option<f64>>,
    /// Twice `nll`.
    twice_nll: Vec<Option<f64>>,
    /// Whether each best fit is certified to be a minimum.
    converged: Vec<bool>,
    /// Estimated distance to each minimum (EDM) in `-ln L`.
    edm: Vec<Option<f64>>,
    /// Number of iterations of each fit.
    n_iter: Vec<usize>,
    /// For each fit, why it has no result or did not converge; null if it converged.
    errors: Vec<Option<String>>,
    /// Number of fits that converged.
    n_converged: usize,
    /// Number of entries of `errors` that are not null.
    n_error: usize,
    /// Warnings about the result.
    warnings: Vec<String>,
}

impl Analysis for FitBatchBody {
    const NAME: &'static str = "fit-batch";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let fits = self.datasets.len() as u64;
        let mut opened = run.open(&self.model, self.device, Work::Batch { fits })?;
        let compiled = opened.compiled.clone();
        let model = &compiled.model;
        let observed = &model.observed.aux;
        run.reserve(&mut opened, self.copied(observed.len()))?;
        if self.options.covariance {
            run.reserve(&mut opened, of_covariances(fits, model.parameters.len() as u64))?;
        }
        let data = self.datasets.iter().map(|set| {
            Observations::binned(set.main.clone(), set.aux.clone().unwrap_or_else(|| observed.clone()))
        });
        let batch = fit_batch(model, &opened.session, data.collect(), &self.options, run.control())?;
        let errors: Vec<Option<String>> = (0..batch.fits.len()).map(|i| batch.failure(model, i)).collect();
        let mut warnings = model.warnings.clone();
        warnings.extend(batch.warning());
        let rows = Batch {
            parameter_names: &batch.parameter_names,
            bestfit: column(&batch, |fit| Some(fit.parameters.as_slice())),
            uncertainties: self
                .options
                .uncertainties
                .then(|| column(&batch, |fit| Some(fit.uncertainties.as_slice()))),
            covariance: self
                .options
                .covariance
                .then(|| column(&batch, |fit| fit.covariance.as_ref().map(|c| c.values.as_slice()))),
            nll: column(&batch, |fit| Some(fit.nll)),
            twice_nll: column(&batch, |fit| Some(2.0 * fit.nll)),
            converged: batch.fits.iter().map(|fit| fit.as_ref().is_ok_and(FitOutcome::converged)).collect(),
            edm: column(&batch, |fit| Some(fit.certificate.edm).filter(|edm| edm.is_finite())),
            n_iter: batch.fits.iter().map(|fit| fit.as_ref().map_or(0, |fit| fit.n_iterations)).collect(),
            n_converged: batch.n_converged(),
            n_error: errors.iter().flatten().count(),
            errors,
            warnings,
        };
        run.answer(opened, &rows, no_picture)
    }
}

/// Returns one element per fit: the part of the fit's outcome that `part` returns. The element is `None` if the fit
/// failed or the part does not exist.
fn column<'a, T>(batch: &'a BatchFit, part: impl Fn(&'a FitOutcome) -> Option<T>) -> Vec<Option<T>> {
    batch.fits.iter().map(|fit| fit.as_ref().ok().and_then(&part)).collect()
}
