//! Generates the Asimov set of a hypothesis test. The set consists of the data expected at the conditional fit to the
//! observed data.

use std::borrow::Cow;
use std::sync::Arc;

use ns_core::{
    Covariance, Data, EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitStatus, FitTask, Inactive,
    InverseHessian, OutcomeParts, Search, SessionError, Start,
};

use super::TestStatistic;
use super::profile::{Effort, Profile};
use super::tester::Tester;
use crate::analysis::{Analysis, WITH_INVERSE};
use crate::diagnosis;
use crate::present::exact;
use crate::{InferenceError, expected_data, lowest};

/// If at most this number of fits is still to come, the covariance of the fit to the Asimov set is not computed.
/// Computing the covariance would take more time than it would save in these fits.
const FEW: usize = 2;

/// The uncertainties of all parameters, the covariance matrix of the parameters, and the factors of the Hessian of
/// `-ln L`. The covariance matrix or the factors may be missing.
type Curvature = (Vec<Option<f64>>, Option<Arc<Covariance>>, Option<InverseHessian>);

/// Largest number of points of earlier fits for which the Asimov set is made.
const MOST_VISITED: usize = 48;

/// Largest relative difference between two sets of expected data that can be due to rounding.
const DIFFERENT: f64 = 1e-6;

impl Tester<'_> {
    /// Generates the Asimov set: the data expected at the conditional fit to the observed data, in which the POI is
    /// fixed at the Asimov value (0, or 1 for q0). Makes this conditional fit if it has not been made. Removes all
    /// fits to an earlier Asimov set.
    pub(super) fn make_asimov(&mut self) -> Result<(), InferenceError> {
        let value = self.statistic.asimov_value();
        match self.try_asimov(value) {
            Ok(asimov) => {
                self.asimov = asimov;
                self.without_asimov = None;
                Ok(())
            }
            Err(InferenceError::FitFailed { reason }) => {
                let reason =
                    format!("the Asimov set at {} = {} cannot be made: {reason}", self.name(), exact(value));
                if self.statistic != TestStatistic::Q0 {
                    return Err(InferenceError::FitFailed { reason });
                }
                // For q0 only the expected results need the Asimov set.
                self.without_asimov = Some(reason);
                self.asimov = Profile::new(self.observed.data.clone(), self.poi, self.observed.best.clone());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn try_asimov(&mut self, value: f64) -> Result<Profile, InferenceError> {
        if !self.observed.has(value, Effort::Report) {
            let tasks = self.observed.tasks(&self.analysis, value, Effort::Report);
            let fits = self.analysis.run(&tasks, OutcomeParts::default())?;
            for fitted in &fits {
                self.observed.learn(value, fitted, Effort::Report);
            }
            self.observed.search_other_ends(&mut self.analysis, value)?;
            self.observed.compare(&mut self.analysis, value)?;
            if self.observed.at(value).is_none() {
                return Err(match fits.into_iter().next() {
                    Some(Err(failure)) if failure != FitFailure::Cancelled => InferenceError::FitFailed {
                        reason: diagnosis::failure(self.analysis.model, &failure),
                    },
                    _ => InferenceError::Cancelled,
                });
            }
        }
        let Some(conditional) = self.observed.at(value).map(|known| known.fit.clone()) else {
            return Err(InferenceError::Cancelled);
        };
        self.made_at = conditional.nll;
        let known = (&self.observed, self.visited.as_slice());
        let made = make(&mut self.analysis, known, &conditional, value, self.further);
        let Err(InferenceError::FitFailed { reason }) = made else { return made };
        // At the lowest minimum, a bin without observed events may have a negative expected yield. All expected
        // yields may be positive at another minimum.
        for other in other_minima(&mut self.analysis, &self.observed, value)? {
            let known = (&self.observed, self.visited.as_slice());
            let Ok(asimov) = make(&mut self.analysis, known, &other, value, self.further) else {
                continue;
            };
            let note = format!(
                "at the lowest minimum at {} = {value}, {reason}; the Asimov set is that of another minimum, higher by \
                 {:.3e} in twice_nll",
                self.name(),
                2.0 * (other.nll - conditional.nll)
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            return Ok(asimov);
        }
        Err(InferenceError::FitFailed { reason })
    }

    /// Generates the Asimov set (expected data) again if a lower minimum of the conditional fit has been found since
    /// the set was generated.
    pub(super) fn renew_asimov(&mut self) -> Result<(), InferenceError> {
        let Some(known) = self.observed.at(self.statistic.asimov_value()) else { return Ok(()) };
        if 2.0 * (self.made_at - known.fit.nll) > lowest::tolerance(known.fit.nll) {
            self.n_lowered += 1;
            self.make_asimov()?;
        }
        Ok(())
    }
}

impl Tester<'_> {
    /// Estimates the error of the fits to the Asimov set at `values`. If it is too large, the set is made again for the
    /// points at which these fits ended, and all fits to it are removed. Returns whether this was done.
    ///
    /// # Errors
    /// If the device fails or the caller stopped the work.
    pub(crate) fn check_asimov(&mut self, values: &[f64]) -> Result<bool, InferenceError> {
        if self.without_asimov.is_some() {
            return Ok(false);
        }
        let fits = values.iter().filter_map(|value| self.asimov.at(*value)).map(|known| &known.fit);
        let visited: Vec<Cow<'_, [f64]>> =
            fits.chain([&self.asimov.best]).map(|fit| Cow::Borrowed(fit.parameters.as_slice())).collect();
        let Analysis { model, session, .. } = self.analysis;
        self.checked = expected_data::check(model, session, &self.asimov.data, &visited, &[])?;
        // The observed data may be Asimov data, too.
        let fits = values.iter().filter_map(|value| self.observed.at(*value)).map(|known| &known.fit);
        let of_observed: Vec<Cow<'_, [f64]>> =
            fits.map(|fit| Cow::Borrowed(fit.parameters.as_slice())).collect();
        let observed = expected_data::check(model, session, &self.observed.data, &of_observed, &[])?;
        if let Some(mut observed) = observed
            && self.checked.as_ref().is_none_or(|checked| checked.error < observed.error)
        {
            observed.finer = self.checked.as_mut().and_then(|checked| checked.finer.take());
            self.checked = Some(observed);
        }
        let is_coarse = self.checked.as_ref().is_some_and(|checked| checked.finer.is_some());
        if !is_coarse || self.visited.len() >= MOST_VISITED {
            return Ok(false);
        }
        let visited: Vec<Vec<f64>> = visited.into_iter().map(Cow::into_owned).collect();
        self.visited.extend(visited);
        self.n_lowered += 1;
        self.make_asimov()?;
        Ok(true)
    }

    /// Sets `converged` to false and adds a warning if the error of the Asimov set is too large.
    pub(crate) fn judge_asimov(&mut self) {
        let Some(checked) = &self.checked else { return };
        self.converged &= !checked.is_too_large();
        self.notes.extend(checked.note(self.analysis.model));
    }

    /// Returns the estimated error of the Asimov statistics at the tested values.
    pub(crate) fn asimov_error(&self) -> Option<f64> {
        self.checked.as_ref().map(|checked| checked.error)
    }
}

/// Generates the Asimov set (expected data) from `conditional`, the conditional fit to the observed data with the POI
/// at `value`. Makes the free fit to the Asimov set within the bounds of the model. Events are also expected accurately
/// around the free fit to the observed data and at the points `visited`. `further` is the estimated number of fits that
/// are still to come.
///
/// # Errors
/// [`InferenceError::FitFailed`] if the set cannot be generated or `-ln L` is not finite in the free fit. Also the
/// errors of [`Analysis::fit`].
fn make(
    analysis: &mut Analysis<'_>,
    (observed, visited): (&Profile, &[Vec<f64>]),
    conditional: &FitOutcome,
    value: f64,
    further: usize,
) -> Result<Profile, InferenceError> {
    let poi = observed.parameter;
    let bounds = analysis.model.parameters.get(poi).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);
    let point: Arc<[f64]> = Arc::from(conditional.parameters.as_slice());
    let mut points = Vec::new();
    if !analysis.model.event_channels.is_empty() {
        let here = FitOutcome { uncertainties: observed.best.uncertainties.clone(), ..conditional.clone() };
        points = expected_data::around(analysis.model, &here, |i| analysis.is_fixed(i));
        points.extend(visited.iter().cloned());
    }
    let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
    let made = analysis.session.asimov_for(&point, &points, &analysis.data);
    let data = made.map_err(|error| match error {
        SessionError::BadNumber { .. } | SessionError::BadDensity { .. } => InferenceError::FitFailed {
            reason: diagnosis::expectation(analysis.model, "expected data do not exist", error).to_string(),
        },
        other => other.into(),
    })?;

    // The point that generated the Asimov set is its best fit, except in two cases. The POI may be outside its bounds
    // at this point. Or a bin may be empty: `-ln L` is then lower at negative expected yields.
    let inside = bounds.0 <= value && value <= bounds.1;
    let best = if inside && conditional.empty_bins.is_empty() {
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let nll = analysis.session.evaluate(&data, &point, request)?.nll.first().copied().unwrap_or(f64::NAN);
        let (uncertainties, covariance, factors) = if further <= FEW {
            // The covariance of the observed data is accurate enough to predict starting points.
            without_uncertainties(&observed.best)
        } else {
            curvature(analysis, observed, &data, &point, value, nll, bounds)?
        };
        FitOutcome {
            status: FitStatus::Converged,
            nll,
            uncertainties,
            covariance,
            factors,
            parameters: point.to_vec(),
            ..conditional.clone()
        }
    } else {
        let mut request = FitRequest { start: Start::At(point), ..analysis.base.clone() };
        if inside {
            // A search could end far away, at a point where an empty bin has a negative expected yield. Such a
            // minimum contains no information about the signal.
            request.search = Search::Local;
        }
        analysis.fit(&data, request, WITH_INVERSE)?
    };
    Ok(Profile::new(data, poi, best))
}

/// Computes the uncertainties and the covariance for a fit to the Asimov set (expected data). `point` contains the
/// parameters at which the Asimov set was generated, and the fit starts there. `nll` is `-ln L` at this point. The
/// POI has wider bounds in this fit, because a POI at a bound has no uncertainty. If the fit finds a minimum lower
/// than `nll`, the result has no uncertainties, and its covariance is that of the free fit to the observed data.
fn curvature(
    analysis: &mut Analysis<'_>,
    observed: &Profile,
    data: &Data,
    point: &Arc<[f64]>,
    value: f64,
    nll: f64,
    bounds: (f64, f64),
) -> Result<Curvature, InferenceError> {
    let room = 1.0 + value.abs();
    let mut request = FitRequest {
        start: Start::At(Arc::clone(point)),
        search: Search::Local,
        metric: observed.best.inverse_hessian(),
        ..analysis.base.clone()
    };
    request.bounds.push((observed.parameter, (bounds.0.min(value - room), bounds.1.max(value + room))));
    let fit = analysis.fit(data, request, WITH_INVERSE)?;
    if 2.0 * (nll - fit.nll) > lowest::tolerance(nll) {
        return Ok(without_uncertainties(&observed.best));
    }
    Ok((fit.uncertainties, fit.covariance, fit.factors))
}

/// Returns the covariance and the factors of the Hessian of a fit, without the uncertainties. The covariance and the
/// factors are used in fits to other data.
fn without_uncertainties(fit: &FitOutcome) -> Curvature {
    (Vec::new(), fit.covariance.clone(), fit.factors.clone())
}

/// Returns other minima of the conditional fit to the observed data with the POI at `value`, in ascending order of
/// `-ln L`. These minima are found by single descents from three points: the starting point of the analysis, the free
/// fit, and the initial parameters of the model.
///
/// # Errors
/// The errors of [`Analysis::run`].
fn other_minima(
    analysis: &mut Analysis<'_>,
    observed: &Profile,
    value: f64,
) -> Result<Vec<FitOutcome>, InferenceError> {
    let from_free = observed.task_from(analysis, value, &observed.best);
    let mut tasks = Vec::new();
    for start in [analysis.base.start.clone(), Start::Init] {
        let fits = from_free.fits.iter();
        let fits = fits.map(|fit| FitRequest { start: start.clone(), metric: None, ..fit.clone() }).collect();
        tasks.push(FitTask { data: observed.data.clone(), fits, cancel: None });
    }
    tasks.push(from_free);
    let fits = analysis.run(&tasks, OutcomeParts::default())?;
    let mut minima: Vec<FitOutcome> = fits.into_iter().flatten().filter(FitOutcome::converged).collect();
    minima.sort_by(|a, b| a.nll.total_cmp(&b.nll));
    Ok(minima)
}

/// Returns the names of the parameters that make the Asimov set (expected data) ambiguous. The likelihood of the
/// observed data is the same at several values of such a parameter, but the expected data differ. Returns `None` if
/// there are no such parameters.
///
/// # Errors
/// The errors of [`Analysis::run`].
pub(super) fn undetermined(
    analysis: &mut Analysis<'_>,
    observed: &Profile,
    conditional: &FitOutcome,
    value: f64,
) -> Result<Option<String>, InferenceError> {
    let mut flat: Vec<usize> = Vec::new();
    for fit in [conditional, &observed.best] {
        flat.extend(fit.inactive.iter().filter(|(_, why)| *why == Inactive::Flat).map(|(i, _)| *i));
    }
    flat.sort_unstable();
    flat.dedup();
    flat.retain(|i| *i != observed.parameter);
    let expected = |analysis: &Analysis<'_>, point: &[f64]| {
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        analysis.session.evaluate(&observed.data, point, request).map(|e| e.expected)
    };
    let here = if flat.is_empty() { Vec::new() } else { expected(analysis, &conditional.parameters)? };
    let mut open: Vec<usize> = Vec::new();
    for index in flat {
        let Some(parameter) = analysis.model.parameters.get(index) else { continue };
        let (mut moved, (lower, upper)) = (conditional.clone(), parameter.bounds);
        let Some(x) = moved.parameters.get_mut(index) else { continue };
        let step = 0.25 * (1.0 + x.abs());
        *x = if *x + step <= upper { *x + step } else { (*x - step).max(lower) };
        let held = (index, *x);
        let FitTask { data, mut fits, .. } = observed.task_from(analysis, value, &moved);
        for fit in &mut fits {
            // A free parameter would return to the point that the fit prefers along the flat direction.
            fit.fixed.push(held);
            fit.metric = None;
        }
        let task = FitTask { data, fits, cancel: None };
        let Some(Ok(other)) = analysis.run(std::slice::from_ref(&task), OutcomeParts::default())?.pop()
        else {
            continue;
        };
        let there = expected(analysis, &other.parameters)?;
        let differs = here.iter().zip(&there).any(|(a, b)| (a - b).abs() > DIFFERENT * (1.0 + a.abs()));
        if differs && 2.0 * (other.nll - conditional.nll).abs() <= lowest::tolerance(conditional.nll) {
            open.push(index);
        }
    }
    let names = open.iter().filter_map(|i| analysis.model.parameters.get(*i)).map(|p| p.name.as_str());
    Ok((!open.is_empty()).then(|| diagnosis::list(names)))
}
