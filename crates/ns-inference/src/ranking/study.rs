//! The best fit of a ranking, called the parent fit, and batches of its variations, i.e. of fits in which one parameter
//! or its auxiliary datum is moved. If a variation finds a lower minimum, the ranking is restarted.

use std::sync::Arc;

use ns_core::{
    Data, EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitTask, Inactive, InverseHessian,
    OutcomeParts, Search, Start,
};

use super::result::Shift;
use crate::InferenceError;
use crate::analysis::{Analysis, Fitted, WITH_INVERSE};
use crate::diagnosis;
use crate::lowest::{Lowest, Stop};
use crate::minos::{self, Interval, Parent};

/// Smallest number of parameters that are varied in one batch of fits. A batch with fewer parameters would not have
/// enough fits for many threads.
const FEWEST_AT_ONCE: usize = 128;
/// Largest number of starting values in one batch of fits, i.e. the number of varied parameters times the number of all
/// parameters. A batch of [`FEWEST_AT_ONCE`] parameters may exceed this number. Batches are large because all threads
/// wait for the last fit of a batch.
const NUMBERS_AT_ONCE: usize = 1 << 20;

/// The parent fit of a ranking (its best fit), and the data that its variations use.
pub(super) struct Study<'a> {
    pub(super) analysis: Analysis<'a>,
    /// Indices of the targets, which are the parameters whose shifts are the impacts. All targets share the fits.
    pub(super) targets: Vec<usize>,
    /// The parent fit: the best fit with its covariance.
    pub(super) lowest: Lowest,
    /// Whether a bin has a negative expected yield at the best fit.
    negative_yield: bool,
    /// Parameter index and MINOS interval of each parameter at a bound or on a kink of an interpolation.
    intervals: Vec<(usize, Interval)>,
    /// Number of fits made so far.
    pub(super) n_fits: usize,
    /// Warnings collected for the result.
    pub(super) notes: Vec<String>,
    /// Minima of the variations, if the data are Asimov data with events.
    points: Vec<Vec<f64>>,
}

impl<'a> Study<'a> {
    /// Makes the parent fit, with its covariance.
    ///
    /// # Errors
    /// The errors of [`Analysis::fit`].
    pub(super) fn open(mut analysis: Analysis<'a>, targets: Vec<usize>) -> Result<Self, InferenceError> {
        let (data, request) = (analysis.data.clone(), analysis.base.clone());
        let parent = analysis.parent_fit(&data, request.clone(), WITH_INVERSE)?;
        let parent = analysis.settle_expected(parent, &request, WITH_INVERSE)?;
        let data = analysis.data.clone();
        let negative_yield = diagnosis::has_negative_yield(analysis.session, &data, &parent);
        Ok(Self {
            analysis,
            targets,
            lowest: Lowest::new(parent),
            negative_yield,
            intervals: Vec::new(),
            n_fits: 1,
            notes: Vec::new(),
            points: Vec::new(),
        })
    }

    /// If the data are Asimov data with events, estimates their error at the minima of the variations. If it is too
    /// large, replaces the data and repeats the parent fit, and returns true: all variations have to be repeated.
    ///
    /// # Errors
    /// The errors of [`Analysis::fit`].
    pub(super) fn renew_expected(&mut self) -> Result<bool, InferenceError> {
        let points = std::mem::take(&mut self.points);
        if !self.analysis.recheck_expected(points.iter().map(Vec::as_slice))? {
            return Ok(false);
        }
        let (data, request) = (self.analysis.data.clone(), self.analysis.base.clone());
        self.lowest = Lowest::new(self.analysis.parent_fit(&data, request, WITH_INVERSE)?);
        self.negative_yield = diagnosis::has_negative_yield(self.analysis.session, &data, &self.lowest.fit);
        self.n_fits += 1;
        Ok(true)
    }

    /// Returns the number of parameters that are varied in one batch.
    pub(super) fn at_once(&self) -> usize {
        (NUMBERS_AT_ONCE / self.lowest.fit.parameters.len().max(1)).max(FEWEST_AT_ONCE)
    }

    /// Returns the best-fit value of a parameter.
    pub(super) fn best(&self, parameter: usize) -> f64 {
        self.lowest.fit.parameters.get(parameter).copied().unwrap_or(f64::NAN)
    }

    /// Returns the post-fit uncertainty of a parameter; `None` if the parameter has no uncertainty.
    pub(super) fn sigma(&self, parameter: usize) -> Option<f64> {
        self.lowest.fit.uncertainties.get(parameter).copied().flatten().filter(|s| s.is_finite() && *s > 0.0)
    }

    /// Returns the reason why a free parameter has no symmetric uncertainty; `None` if the parameter has one.
    pub(super) fn inactive(&self, parameter: usize) -> Option<Inactive> {
        self.lowest.fit.inactive.iter().find(|(i, _)| *i == parameter).map(|(_, why)| *why)
    }

    /// Returns the inverse Hessian of the parent fit; `None` if this fit has no inverse Hessian.
    pub(super) fn inverse(&self) -> Option<InverseHessian> {
        self.lowest.fit.inverse_hessian()
    }

    /// Returns the rows of `parameters` in the inverse Hessian of the parent fit; `None` for each of them if this fit has
    /// no inverse Hessian.
    pub(super) fn rows(&self, parameters: &[usize]) -> Vec<Option<Vec<f64>>> {
        match self.inverse() {
            Some(inverse) => self.analysis.session.inverse_rows(&inverse, parameters),
            None => vec![None; parameters.len()],
        }
    }

    /// Returns the MINOS interval of a parameter at a bound or on a kink, which has no symmetric uncertainty; `None` if
    /// there is no interval.
    pub(super) fn interval(&self, parameter: usize) -> Option<&Interval> {
        self.intervals.iter().find(|(i, _)| *i == parameter).map(|(_, interval)| interval)
    }

    /// Finds the values at which `-2 ln L` is 1 above its minimum, for all parameters at a bound or on a kink of an
    /// interpolation. The targets are left out.
    pub(super) fn find_crossings(&mut self) -> Result<(), Stop> {
        let parameters: Vec<usize> = self
            .lowest
            .fit
            .inactive
            .iter()
            .filter(|(i, why)| *why != Inactive::Flat && !self.targets.contains(i))
            .map(|(i, _)| *i)
            .collect();
        if parameters.is_empty() || !self.lowest.fit.converged() {
            self.intervals.clear();
            return Ok(());
        }
        let tolerance = if self.may_restart() { self.lowest.tolerance } else { f64::INFINITY };
        let parent =
            Parent { analysis: &self.analysis, outcome: &self.lowest.fit, level: 1.0, tolerance, asked: &[] };
        let (intervals, points) = minos::crossings(&parent, &parameters)?;
        self.intervals = intervals;
        self.points.extend(points);
        Ok(())
    }

    /// Makes variations of the parent fit, i.e. fits in which one parameter or its auxiliary datum is moved. `own_data`
    /// is true if the variations have the same data as the parent fit. A variation that may have missed a lower minimum
    /// is compared with other fits ([`Self::compare`]).
    ///
    /// # Errors
    /// [`Stop::Lower`] if a variation finds a lower minimum than the parent fit.
    pub(super) fn vary(
        &mut self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        own_data: bool,
    ) -> Result<Vec<Fitted>, Stop> {
        let mut fits = self.analysis.run(tasks, wanted)?;
        self.n_fits += fits.iter().filter(|fit| !matches!(fit, Err(FitFailure::Cancelled))).count();
        self.compare(tasks, wanted, own_data, &mut fits)?;
        if let Some((point, depth)) = self.lowest(&fits, own_data)? {
            return Err(Stop::Lower(point, depth));
        }
        if self.analysis.has_expected_events() {
            self.points.extend(fits.iter().flatten().map(|fit| fit.parameters.clone()));
        }
        Ok(fits)
    }

    /// Returns whether a variation ends with a negative expected yield although the parent fit has no negative yield.
    /// Such a minimum lies where several parameters are at their bounds, and is unrelated to the minimum of the parent
    /// fit.
    fn astray(&self, fit: &FitOutcome) -> bool {
        !self.negative_yield && diagnosis::has_negative_yield(self.analysis.session, &self.analysis.data, fit)
    }

    /// Compares fits with others that may find a lower minimum ([`Analysis::compare`]), and keeps the better
    /// results. Fits that are [`Self::astray`] are compared too.
    fn compare(
        &mut self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        own_data: bool,
        fits: &mut [Fitted],
    ) -> Result<(), InferenceError> {
        let Analysis { session, data, .. } = &self.analysis;
        let (session, data, positive) = (*session, data.clone(), !self.negative_yield);
        let astray = |fit: &FitOutcome| positive && diagnosis::has_negative_yield(session, &data, fit);
        let second = self.analysis.compare(&self.lowest.fit, (tasks, wanted), fits, own_data, astray)?;
        self.n_fits += second.iter().filter(|(_, fit)| !matches!(fit, Err(FitFailure::Cancelled))).count();
        for (k, fit) in second {
            let Some(place) = fits.get_mut(k) else { continue };
            let better = match (&fit, &*place) {
                (Err(_), _) => false,
                (Ok(_), Err(_)) => true,
                (Ok(new), Ok(old)) if self.astray(new) != self.astray(old) => {
                    new.converged() && !self.astray(new)
                }
                (Ok(new), Ok(old)) if old.converged() => new.converged() && new.nll < old.nll,
                (Ok(new), Ok(_)) => new.converged(),
            };
            if better {
                *place = fit;
            }
        }
        Ok(())
    }

    /// Returns the variation with the lowest `-2 ln L`, if it is below the minimum of the parent fit by more than the
    /// tolerance: the values of all parameters, and the difference of `-2 ln L`. Otherwise returns `None`. If
    /// `own_data` is false, the variations have other data, and `-ln L` is evaluated for the data of the parent fit.
    fn lowest(&self, fits: &[Fitted], own_data: bool) -> Result<Option<(Vec<f64>, f64)>, InferenceError> {
        if !self.may_restart() {
            return Ok(None);
        }
        let found: Vec<&FitOutcome> = fits.iter().flatten().filter(|fit| !self.astray(fit)).collect();
        let values: Vec<f64> = if own_data {
            found.iter().map(|fit| fit.nll).collect()
        } else {
            // These fits have other data. The likelihood of the parent fit's data is therefore evaluated at their
            // minima.
            let points: Vec<f64> = found.iter().flat_map(|fit| fit.parameters.iter().copied()).collect();
            let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
            self.analysis.session.evaluate(&self.analysis.data, &points, request)?.nll
        };
        let lowest = found
            .iter()
            .zip(values)
            .map(|(fit, nll)| (2.0 * (self.lowest.fit.nll - nll), *fit))
            .filter(|(depth, _)| *depth > self.lowest.tolerance)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        Ok(lowest.map(|(depth, fit)| (fit.parameters.clone(), depth)))
    }

    fn may_restart(&self) -> bool {
        self.lowest.may_restart() && !self.analysis.is_cancelled()
    }

    /// Repeats the free fit from `point`, where `-2 ln L` is lower than at the minimum by `depth`. If the caller stops
    /// the work, the minimum does not change.
    ///
    /// # Errors
    /// The errors of [`Analysis::fit`].
    pub(super) fn restart(&mut self, point: Vec<f64>, depth: f64) -> Result<(), InferenceError> {
        let request = FitRequest {
            start: Start::At(Arc::from(point)),
            search: Search::Local,
            ..self.analysis.base.clone()
        };
        let data = self.analysis.data.clone();
        let next = match self.analysis.parent_fit(&data, request, WITH_INVERSE) {
            Err(InferenceError::Cancelled) => {
                self.notes.push(format!(
                    "interrupted where a variation had met a minimum lower by {depth:.3e} in twice_nll; the best fit \
                     is not the lowest point seen"
                ));
                return Ok(());
            }
            other => other?,
        };
        self.n_fits += 1;
        let is_astray = self.astray(&next);
        if let Some(gain) = self.lowest.restart(next, depth, is_astray) {
            self.notes.push(format!(
                "a variation met a minimum lower by {gain:.3e} in twice_nll; the ranking was restarted there"
            ));
            let Analysis { session, data, .. } = &self.analysis;
            self.negative_yield = diagnosis::has_negative_yield(*session, data, &self.lowest.fit);
        }
        if !self.lowest.may_restart() {
            self.notes.push("variations keep falling below the minimum; it may not be the lowest".to_owned());
        }
        Ok(())
    }

    /// Returns the shift of every target in a varied fit. `value` is the value to which the parameter was moved, and
    /// `clipped` is true if a bound limited this value.
    pub(super) fn read(&self, fit: &Fitted, value: f64, clipped: bool) -> Vec<Shift> {
        self.targets.iter().map(|target| self.read_one(*target, fit, value, clipped)).collect()
    }

    fn read_one(&self, target: usize, fit: &Fitted, value: f64, clipped: bool) -> Shift {
        let flat = |fit: &FitOutcome| fit.inactive.contains(&(target, Inactive::Flat));
        let (delta, converged, reason) = match fit {
            Ok(fit) if fit.converged() && (flat(fit) || flat(&self.lowest.fit)) => {
                let name = self.analysis.model.parameters.get(target).map_or("the target", |p| &p.name);
                (None, Some(true), Some(format!("the data do not determine {name}: a flat direction")))
            }
            Ok(fit) if fit.converged() => {
                let delta = fit.parameters.get(target).map(|mu| mu - self.best(target));
                (delta, Some(true), None)
            }
            Ok(fit) => (None, Some(false), Some(diagnosis::termination(fit))),
            Err(FitFailure::Cancelled) => (None, None, Some("interrupted".to_owned())),
            Err(failure) => (None, Some(false), Some(diagnosis::failure(self.analysis.model, failure))),
        };
        Shift { delta, value: Some(value), clipped, converged, reason, usual: false }
    }

    /// Builds a task that makes one fit to given data.
    pub(super) fn task(&self, data: &Data, request: FitRequest) -> FitTask {
        FitTask { data: data.clone(), fits: vec![request], cancel: None }
    }
}
