//! Fits of many data sets with one model.

use ns_core::{
    Control, FitFailure, FitOutcome, FitRequest, FitTask, Model, Observations, OutcomeParts, Session,
    TaskOutcome,
};

use super::{FitData, FitOptions, WeightedUncertainties};
use crate::{InferenceError, diagnosis, weighted};

/// The fits of many data sets, in the order of the data sets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BatchFit {
    /// Names of all parameters, in pyhf's order.
    pub parameter_names: Vec<String>,
    /// The outcome of the fit of each data set, or the reason why the fit failed. An outcome can be that of a fit that
    /// did not converge.
    pub fits: Vec<Result<FitOutcome, FitFailure>>,
    /// Whether the caller stopped the batch. Fits that were not finished at that time are [`FitFailure::Cancelled`].
    pub interrupted: bool,
}

impl BatchFit {
    /// Returns the reason why the fit of data set `index` failed. Returns `None` if the fit did not fail or the data
    /// set does not exist.
    #[must_use]
    pub fn failure(&self, model: &Model, index: usize) -> Option<String> {
        self.fits.get(index)?.as_ref().err().map(|failure| diagnosis::failure(model, failure))
    }

    /// Returns a warning with the number of fits that did not converge; `None` if all fits converged.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let (n, n_converged) = (self.fits.len(), self.n_converged());
        let n_error = self.fits.iter().filter(|fit| fit.is_err()).count();
        (n_converged < n).then(|| {
            format!(
                "{} of {n} fits did not converge, {n_error} have no result: see converged and errors",
                n - n_converged - n_error
            )
        })
    }

    /// Returns the number of fits that converged.
    #[must_use]
    pub fn n_converged(&self) -> usize {
        self.fits.iter().flatten().filter(|fit| fit.converged()).count()
    }
}

/// Fits every data set with the same options. Uncertainties and covariance are computed if the options ask for them.
/// The options `data`, `minos` and `crossings` have no effect.
///
/// If a data set cannot be fitted, its entry in the result gives the reason. The other data sets are fitted
/// nevertheless.
///
/// # Errors
/// For options or data that do not match the model (lengths, names, bounds), or if the device fails.
pub fn fit_batch(
    model: &Model,
    session: &dyn Session,
    datasets: Vec<Observations>,
    options: &FitOptions,
    control: Control<'_>,
) -> Result<BatchFit, InferenceError> {
    fit_batch_within(model, session, datasets, &[], options, control)
}

/// Fits every data set within given bounds, which replace the bounds of the model. `bounds` has one list for all data
/// sets, or one list per data set. Each list has a (lower, upper) pair for every parameter, in the model's order. If
/// `bounds` is empty, the bounds of the model are used. If the options give no starting point, each fit starts at the
/// initial parameters, moved inside the bounds of this fit.
///
/// # Errors
/// The errors of [`fit_batch`]. Also for a wrong number of lists or pairs, for a lower bound above the upper bound,
/// or for a starting point outside the bounds.
pub fn fit_batch_within(
    model: &Model,
    session: &dyn Session,
    datasets: Vec<Observations>,
    bounds: &[Vec<(f64, f64)>],
    options: &FitOptions,
    control: Control<'_>,
) -> Result<BatchFit, InferenceError> {
    let requests: Vec<FitRequest> = match bounds {
        [] => vec![options.request(model)?],
        [all] => vec![options.request_within(model, Some(all.as_slice()))?],
        each if each.len() == datasets.len() => each
            .iter()
            .map(|bounds| options.request_within(model, Some(bounds.as_slice())))
            .collect::<Result<_, _>>()?,
        each => {
            let (what, actual, expected) = ("the bounds of the fits", each.len(), datasets.len());
            return Err(ns_core::SessionError::WrongLength { what, actual, expected }.into());
        }
    };
    let tasks: Vec<FitTask> = datasets
        .into_iter()
        .zip(requests.iter().cycle())
        .map(|(data, request)| FitTask { data: data.into(), fits: vec![request.clone()], cancel: None })
        .collect();
    // The uncertainties of weighted events need the whole covariance matrix.
    let asked = options.uncertainties || options.covariance;
    let weighted: Vec<bool> = tasks
        .iter()
        .map(|task| asked && weighted::has_weights(model, &task.data, &FitData::Observed))
        .collect();
    let covariance = options.covariance || weighted.contains(&true);
    let wanted = OutcomeParts { uncertainties: options.uncertainties, covariance, inverse: false };
    let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
    session.fit_batch(&tasks, wanted, control, &mut outcomes)?;
    let mut fits: Vec<Result<FitOutcome, FitFailure>> = outcomes
        .into_iter()
        .map(|mut outcome| outcome.fits.pop().unwrap_or(Err(FitFailure::Cancelled)))
        .collect();
    fits.resize_with(tasks.len(), || Err(FitFailure::Cancelled));
    let method = options.weighted_uncertainties.unwrap_or(WeightedUncertainties::Sandwich);
    for ((fit, task), weighted) in fits.iter_mut().zip(&tasks).zip(&weighted) {
        let Ok(fit) = fit else { continue };
        if *weighted && fit.converged() {
            weighted::correct(session, &task.data, fit, method)?;
        }
        if !options.covariance {
            fit.covariance = None;
        }
    }
    let interrupted = fits.iter().any(|fit| matches!(fit, Err(FitFailure::Cancelled)));
    let parameter_names = model.parameters.iter().map(|p| p.name.clone()).collect();
    Ok(BatchFit { parameter_names, fits, interrupted })
}
