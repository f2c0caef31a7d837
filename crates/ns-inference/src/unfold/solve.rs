//! Fits of the data with a penalty.

use std::sync::Arc;

use ns_core::{
    Control, Data, Device, EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitTask, Model,
    OutcomeParts, Session, Start, TaskOutcome,
};

use super::roughness::Roughness;
use super::spread::Spread;
use crate::analysis::Analysis;
use crate::goodness::chi2_tail;
use crate::{InferenceError, SessionOpener, diagnosis};

/// The parts of the outcome of a fit that unfolding needs.
pub(super) const WANTED: OutcomeParts =
    OutcomeParts { uncertainties: true, covariance: true, inverse: false };

/// What all fits have in common.
pub(super) struct Problem<'a> {
    pub(super) truth: Vec<usize>,
    pub(super) roughness: Roughness,
    pub(super) opener: &'a dyn SessionOpener,
    pub(super) control: Control<'a>,
}

/// A model with a penalty, and its session.
pub(super) struct Penalised {
    pub(super) model: Model,
    pub(super) session: Box<dyn Session>,
}

impl Problem<'_> {
    /// Opens a session of the model with a penalty. It is on the CPU.
    pub(super) fn open(&self, model: &Model, tau: f64) -> Result<Penalised, InferenceError> {
        let model = self.roughness.model(model, &self.truth, tau);
        let session = self.opener.open(&model, Some(Device::Cpu))?;
        Ok(Penalised { model, session })
    }

    /// Makes one fit.
    pub(super) fn fit(
        &self,
        (model, session): (&Model, &dyn Session),
        data: &Data,
        request: FitRequest,
    ) -> Result<FitOutcome, InferenceError> {
        let task = FitTask { data: data.clone(), fits: vec![request], cancel: None };
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(1);
        let silent = Control { observer: None, cancel: self.control.cancel, task: None };
        session.fit_batch(&[task], WANTED, silent, &mut outcomes)?;
        match outcomes.into_iter().next().and_then(|task| task.fits.into_iter().next()) {
            Some(Ok(outcome)) => Ok(outcome),
            None | Some(Err(FitFailure::Cancelled)) => Err(InferenceError::Cancelled),
            Some(Err(failure)) => {
                Err(InferenceError::FitFailed { reason: diagnosis::failure(model, &failure) })
            }
        }
    }

    /// Returns the differences of the factors from 1.
    pub(super) fn differences(&self, parameters: &[f64]) -> Vec<f64> {
        let at = |i: &usize| parameters.get(*i).copied().unwrap_or(f64::NAN) - 1.0;
        self.truth.iter().map(at).collect()
    }

    /// Fits the data with the penalty `tau`. `near` is the minimum of a fit with a similar penalty. If it is `None`, the fit
    /// has the starting point and the search of the analysis.
    pub(super) fn solve(
        &self,
        plain: &Analysis<'_>,
        tau: f64,
        near: Option<&Solution>,
    ) -> Result<Solution, InferenceError> {
        let own = self.open(plain.model, tau)?;
        let job = (&own.model, own.session.as_ref());
        let fit = match near {
            None => self.fit(job, &plain.data, plain.base.clone())?,
            Some(near) => self.fit(job, &plain.data, from(plain, &near.fit))?,
        };
        self.solution(plain, tau, fit)
    }

    /// Reads a fit with the penalty `tau`.
    pub(super) fn solution(
        &self,
        plain: &Analysis<'_>,
        tau: f64,
        fit: FitOutcome,
    ) -> Result<Solution, InferenceError> {
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let nll = plain.session.evaluate(&plain.data, &fit.parameters, request)?.nll;
        let nll = nll.first().copied().unwrap_or(f64::NAN);
        let chi2 = plain.session.saturated_nll(&plain.data)?.map(|saturated| 2.0 * (nll - saturated));
        let differences = self.differences(&fit.parameters);
        let spread = fit.covariance.as_deref().map(|all| Spread::new(all, &self.truth, &self.roughness, tau));
        let roughness = self.roughness.of(&differences);
        Ok(Solution { tau, fit, nll, chi2, differences, roughness, spread })
    }
}

/// Returns the request of a fit that begins at the minimum of a similar fit.
pub(super) fn from(plain: &Analysis<'_>, near: &FitOutcome) -> FitRequest {
    let start = Start::At(Arc::from(near.parameters.as_slice()));
    FitRequest { start, search: plain.nearby_search(), metric: near.inverse_hessian(), ..plain.base.clone() }
}

/// A fit of the data with a penalty.
pub(super) struct Solution {
    pub(super) tau: f64,
    pub(super) fit: FitOutcome,
    /// `-ln L` without the penalty.
    pub(super) nll: f64,
    /// `-2 ln L` without the penalty, minus that of the saturated model.
    pub(super) chi2: Option<f64>,
    /// Differences of the factors from 1.
    pub(super) differences: Vec<f64>,
    pub(super) roughness: f64,
    /// `None` if the fit has no covariance.
    pub(super) spread: Option<Spread>,
}

impl Solution {
    /// Returns the quantity that the fit minimises: `-ln L` with the penalty.
    pub(super) fn penalised_nll(&self) -> f64 {
        self.nll + 0.5 * self.tau * self.roughness
    }

    /// Returns the curvature of the L-curve `(ln chi2, ln roughness)` as a function of `tau`. The derivative of chi2 is
    /// `-tau` times that of the roughness, because the fit is at a minimum; so the curvature needs first derivatives alone
    /// (P. C. Hansen, D. P. O'Leary, SIAM J. Sci. Comput. 14 (1993) 1487), and they follow from the covariance.
    pub(super) fn curvature(&self, roughness: &Roughness) -> Option<f64> {
        let (chi2, rough, tau) = (self.chi2.filter(|chi2| *chi2 > 0.0)?, self.roughness, self.tau);
        let slope = self.spread.as_ref()?.slope(&self.differences, roughness);
        if !(rough > 0.0 && slope < 0.0) {
            return None;
        }
        let bracket = 1.0 + tau * slope / rough + tau * tau * slope / chi2;
        let length = (tau / chi2).hypot(1.0 / rough).powi(3);
        let curvature = bracket / (chi2 * rough * slope.abs() * length);
        Some(curvature).filter(|curvature| curvature.is_finite())
    }

    pub(super) fn mean_correlation(&self) -> Option<f64> {
        self.spread.as_ref().and_then(Spread::mean_correlation)
    }
}

/// Compares data and prediction: returns `-2 ln L` with all factors at 1, minus that of the saturated model, and the fit.
pub(super) fn prediction(
    plain: &mut Analysis<'_>,
    truth: &[usize],
    n_unconstrained: usize,
) -> Result<(FitOutcome, Option<super::PredictionTest>), InferenceError> {
    let mut request = plain.base.clone();
    request.fixed.retain(|(i, _)| !truth.contains(i));
    request.fixed.extend(truth.iter().map(|i| (*i, 1.0)));
    let data = plain.data.clone();
    let fit = plain.fit(&data, request, OutcomeParts::default())?;
    let test = plain.session.saturated_nll(&data)?.map(|saturated| {
        let n_free = n_unconstrained.saturating_sub(truth.len());
        test(2.0 * (fit.nll - saturated), plain.model.n_bins() as i64 - n_free as i64)
    });
    Ok((fit, test))
}

/// Returns a test with its p-value.
pub(super) fn test(chi2: f64, n_dof: i64) -> super::PredictionTest {
    let chi2 = chi2.max(0.0);
    let p_value = (n_dof > 0).then(|| chi2_tail(chi2, n_dof as f64)).filter(|p| p.is_finite());
    super::PredictionTest { chi2, n_dof, p_value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowest::tests::fit;
    use crate::unfold::matrix::Square;
    use crate::unfold::options::Regularisation;

    /// A linear problem: `N(d) = (d - a)' J (d - a) / 2 + 1`, whose chi2 is `2 N`.
    fn solution(tau: f64, roughness: &Roughness) -> Solution {
        let values = [[5.0, 2.0, 0.3], [2.0, 4.0, 1.1], [0.3, 1.1, 3.0]];
        let information = Square::from_fn(3, |i, j| values[i][j]);
        let best = [0.4, -0.3, 0.5];
        let penalised = information.less(-tau, &roughness.squares).inverse().unwrap();
        let differences = penalised.apply(&information.apply(&best));
        let residual: Vec<f64> = differences.iter().zip(&best).map(|(d, b)| d - b).collect();
        let nll = 0.5 * information.form(&residual) + 1.0;
        let all = ns_core::Covariance { n: 3, values: penalised.rows().concat() };
        Solution {
            tau,
            fit: fit(nll),
            nll,
            chi2: Some(2.0 * nll),
            roughness: roughness.of(&differences),
            differences,
            spread: Some(Spread::new(&all, &[0, 1, 2], roughness, tau)),
        }
    }

    #[test]
    fn the_curvature_is_that_of_finite_differences() {
        let roughness = Roughness::new(Regularisation::Curvature, 3);
        for tau in [0.1_f64, 1.0, 4.0] {
            let step = 1e-3;
            let at = |k: f64| {
                let one = solution(tau * (k * step).exp(), &roughness);
                (one.chi2.unwrap().ln(), one.roughness.ln())
            };
            let (before, here, after) = (at(-1.0), at(0.0), at(1.0));
            let first = |a: f64, c: f64| (c - a) / (2.0 * step);
            let second = |a: f64, b: f64, c: f64| (a - 2.0 * b + c) / (step * step);
            let (x1, y1) = (first(before.0, after.0), first(before.1, after.1));
            let (x2, y2) = (second(before.0, here.0, after.0), second(before.1, here.1, after.1));
            let expected = (x1 * y2 - x2 * y1) / x1.hypot(y1).powi(3);
            let found = solution(tau, &roughness).curvature(&roughness).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-4, "{tau}: {found} {expected}");
        }
    }
}
