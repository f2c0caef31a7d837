//! The parts that all analyses have in common: the model, the session, the data, and the request of the base fit. The
//! base fit is the free fit of an analysis. The requests of all other fits are changed copies of its request. The
//! module runs batches of fits, reports progress and handles cancellation.

use std::borrow::Cow;
use std::sync::Arc;

use ns_core::{
    Control, Data, FitFailure, FitOutcome, FitRequest, FitTask, InverseHessian, Model, Observer,
    OutcomeParts, Parameter, Search, Session, Start, TaskOutcome,
};

use crate::InferenceError;
use crate::diagnosis;
use crate::expected_data::{self, Checked};
use crate::options::{FitData, FitOptions, observed};
use crate::several_minima::may_have_several_minima;
use crate::single_fits::of_single_fits;
use crate::weighted::{NOT_COUNTED, has_weights};

/// Largest number of free parameters of a tiny model. In tiny models, every fit of the search for a limit looks for the
/// global minimum, which takes microseconds to a millisecond.
const TINY: usize = 24;

/// Largest number of free parameters of a small model ([`Analysis::is_small`]). In small models, fits whose values are
/// part of the result make a thorough search, and every fit of the search for a MINOS crossing looks for the global
/// minimum.
const SMALL: usize = 48;

/// Largest number of free parameters of a model of medium size. In such models, conditional fits search for the global
/// minimum with the same effort as the free fit. The search takes a few milliseconds.
const MIDDLING: usize = 120;

/// Largest number of times that Asimov data are replaced by more accurate ones.
const MOST_REPLACEMENTS: usize = 4;

/// Largest number of points of one analysis at which the error of Asimov data is estimated.
const MOST_CHECKED: usize = 32;

/// The parts of a fit outcome that are needed to predict the starting points of similar fits.
pub(crate) const WITH_INVERSE: OutcomeParts =
    OutcomeParts { uncertainties: true, covariance: false, inverse: true };

/// The result of one fit of a batch.
pub(crate) type Fitted = Result<FitOutcome, FitFailure>;

/// A model on a session, with the data and the base fit (start, fixed parameters, search) of one analysis.
pub(crate) struct Analysis<'a> {
    pub(crate) model: &'a Model,
    pub(crate) session: &'a dyn Session,
    /// The data of the analysis. Fits use these data unless other data are given.
    pub(crate) data: Data,
    /// The request of the base fit: starting point, fixed parameters and search. The requests of all other fits are
    /// changed copies of this request.
    pub(crate) base: FitRequest,
    /// Whether `-ln L` may have several minima.
    pub(crate) several_minima: bool,
    /// Whether events have weights other than 1.
    weighted: bool,
    pub(crate) control: Control<'a>,
    /// Inverse Hessian of the last fit that computed an inverse Hessian. Similar fits use it for their first steps.
    metric: Option<InverseHessian>,
    /// Estimated error of the data, if they are Asimov data with events and [`Self::settle_expected`] was called.
    pub(crate) checked: Option<Checked>,
    /// Points for which Asimov data with events have been made or are to be made, and how often they were replaced.
    visited: Vec<Vec<f64>>,
    n_replaced: usize,
    /// Number of fits finished so far.
    done: usize,
    /// Number of fits that the analysis makes in total, as far as known so far.
    total: usize,
}

impl<'a> Analysis<'a> {
    /// Creates an analysis from the options that all analyses have in common: data, fixed parameters, starting point
    /// and search effort.
    ///
    /// # Errors
    /// For options that do not fit the model.
    pub(crate) fn new(
        model: &'a Model,
        session: &'a dyn Session,
        options: &FitOptions,
        control: Control<'a>,
    ) -> Result<Self, InferenceError> {
        if matches!(options.data, FitData::Observed) {
            observed(model)?;
        }
        let FitTask { data, fits, .. } = options.task(model, session)?;
        let base = fits.into_iter().next().unwrap_or_default();
        let weighted = has_weights(model, &data, &options.data);
        let several_minima = may_have_several_minima(model);
        Ok(Self {
            model,
            session,
            data,
            base,
            several_minima,
            weighted,
            control,
            metric: None,
            checked: None,
            visited: Vec::new(),
            n_replaced: 0,
            done: 0,
            total: 0,
        })
    }

    /// Returns the index of the POI. `analysis` is the name of the analysis for the error message.
    ///
    /// # Errors
    /// [`InferenceError::NoPoi`] if the model has no POI.
    pub(crate) fn poi(&self, analysis: &'static str) -> Result<usize, InferenceError> {
        let (measurement, format) = (&self.model.measurement, self.model.format);
        self.model.poi().ok_or_else(|| InferenceError::NoPoi {
            analysis,
            measurement: measurement.clone(),
            format,
        })
    }

    /// Returns a warning if events have weights other than 1. An analysis shows this warning if its intervals,
    /// p-values or uncertainties are right only for events without weights.
    pub(crate) fn about_weights(&self) -> Option<String> {
        self.weighted.then(|| NOT_COUNTED.to_owned())
    }

    /// Returns whether a parameter is fixed in the base fit.
    pub(crate) fn is_fixed(&self, index: usize) -> bool {
        self.base.fixed.iter().any(|(i, _)| *i == index)
            || (self.model.parameters.get(index).is_some_and(|p| p.fixed)
                && !self.base.released.contains(&index))
    }

    /// Returns whether every fit of the search for a limit looks for the global minimum. This is the case if the
    /// model is very small and the search effort of the base fit is not [`Search::Local`].
    pub(crate) fn is_tiny(&self) -> bool {
        self.has_at_most(TINY)
    }

    /// Returns whether the model is so small that fits whose values are part of the result make a thorough search and
    /// are compared with fits at neighbouring values. Returns false if the base fit uses the local search.
    pub(crate) fn is_small(&self) -> bool {
        self.has_at_most(SMALL)
    }

    /// Returns whether the model is so small that conditional fits search for the global minimum with the same effort
    /// as the free fit. Returns false if the base fit uses the local search.
    pub(crate) fn is_middling(&self) -> bool {
        self.has_at_most(MIDDLING)
    }

    /// Returns whether the base fit searches for the global minimum and has at most `most` free parameters.
    fn has_at_most(&self, most: usize) -> bool {
        let free = |(i, p): &(usize, &Parameter)| !self.is_fixed(*i) && p.bounds.0 < p.bounds.1;
        let n_free = self.model.parameters.iter().enumerate().filter(free).count();
        self.base.search != Search::Local && n_free <= most
    }

    /// Returns the search effort of the conditional fits of a scan or a ranking. In models of up to medium size
    /// ([`Self::is_middling`]) the effort equals that of the free fit, because a descent from the minimum of a
    /// neighbouring fit may end in a local minimum that is not the lowest. In larger models the effort is
    /// [`Self::nearby_search`].
    pub(crate) fn variation_search(&self) -> Search {
        if self.is_middling() { self.base.search } else { self.nearby_search() }
    }

    /// Returns whether the caller has asked to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }

    /// Returns the caller's control without its progress observer. This copy is used for fits whose number is not known
    /// in advance.
    pub(crate) fn silent(&self) -> Control<'a> {
        Control { observer: None, cancel: self.control.cancel, task: None }
    }

    /// Sets the number of fits that the analysis still has to make. The progress display needs this number.
    pub(crate) fn expect(&mut self, further: usize) {
        self.total = self.done + further;
    }

    /// Makes one fit that the analysis cannot do without: if the fit fails, the analysis fails.
    ///
    /// # Errors
    /// If `-ln L` is not finite at any starting point, the caller stopped the work, or the device fails.
    pub(crate) fn fit(
        &mut self,
        data: &Data,
        request: FitRequest,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, InferenceError> {
        self.fit_task(FitTask { data: data.clone(), fits: vec![request], cancel: None }, wanted)
    }

    /// Makes the parent fit. The starting points of later fits are predicted from its minimum. The function works as
    /// [`Self::fit`] does, but always runs on the CPU. The result is then bit for bit the same for every device, and a
    /// single fit is faster on the CPU.
    ///
    /// # Errors
    /// The errors of [`Self::fit`].
    pub(crate) fn parent_fit(
        &mut self,
        data: &Data,
        request: FitRequest,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, InferenceError> {
        let device = self.session;
        self.session = of_single_fits(device);
        let fit = self.fit(data, request, wanted);
        self.session = device;
        fit
    }

    /// If the data of the analysis are Asimov data with events, estimates their error at the minimum `fit` and around it.
    /// If the error is too large, the data of the analysis are replaced by data that are made for these points, and the
    /// fit is repeated. Returns the last fit. `request` and `wanted` are those of the fit.
    ///
    /// # Errors
    /// The errors of [`Self::fit`].
    pub(crate) fn settle_expected(
        &mut self,
        mut fit: FitOutcome,
        request: &FitRequest,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, InferenceError> {
        while self.has_expected_events() {
            let around = expected_data::around(self.model, &fit, |i| self.is_fixed(i));
            self.visited.push(fit.parameters.clone());
            if !self.replace_expected(&around)? {
                break;
            }
            let data = self.data.clone();
            fit = self.fit(&data, request.clone(), wanted)?;
        }
        Ok(fit)
    }

    /// Returns whether the data of the analysis are Asimov data with events.
    pub(crate) fn has_expected_events(&self) -> bool {
        self.data.expected.is_some() && !self.model.event_channels.is_empty()
    }

    /// If the data of the analysis are Asimov data with events, estimates their error also at `points`, where fits of the
    /// analysis have ended. Returns whether the data were replaced, because their error is too large there; all fits then
    /// have to be repeated.
    ///
    /// # Errors
    /// If the data for these points cannot be made, or the device fails.
    pub(crate) fn recheck_expected<'b>(
        &mut self,
        points: impl Iterator<Item = &'b [f64]>,
    ) -> Result<bool, InferenceError> {
        if !self.has_expected_events() || self.is_cancelled() {
            return Ok(false);
        }
        let all: Vec<&[f64]> = points.filter(|point| !point.is_empty()).collect();
        if all.is_empty() {
            return Ok(false);
        }
        let step = all.len().div_ceil(MOST_CHECKED);
        let last = all.last().filter(|_| !(all.len() - 1).is_multiple_of(step));
        self.visited.extend(all.iter().step_by(step).chain(last).map(|point| point.to_vec()));
        self.replace_expected(&[])
    }

    /// Estimates the error of Asimov data with events at the points of `visited` and at `around`. If it is too large,
    /// replaces the data of the analysis by data that are made for these points, and returns true.
    fn replace_expected(&mut self, around: &[Vec<f64>]) -> Result<bool, InferenceError> {
        let visited: Vec<Cow<'_, [f64]>> =
            self.visited.iter().map(|point| Cow::Borrowed(point.as_slice())).collect();
        let mut checked = expected_data::check(self.model, self.session, &self.data, &visited, around)?;
        let finer = checked.as_mut().and_then(|checked| checked.finer.take());
        self.checked = checked;
        let Some(finer) = finer.filter(|_| self.n_replaced < MOST_REPLACEMENTS) else { return Ok(false) };
        self.data = finer;
        self.n_replaced += 1;
        Ok(true)
    }

    /// Returns the estimated error of Asimov data with events.
    pub(crate) fn asimov_error(&self) -> Option<f64> {
        self.checked.as_ref().map(|checked| checked.error)
    }

    /// Returns a warning if the error of Asimov data is too large for a converged result.
    pub(crate) fn about_expected(&self) -> Option<String> {
        self.checked.as_ref().and_then(|checked| checked.note(self.model))
    }

    /// Returns whether the error of Asimov data is too large for a converged result.
    pub(crate) fn has_inexact_data(&self) -> bool {
        self.checked.as_ref().is_some_and(Checked::is_too_large)
    }

    /// Makes the fit of a task that has exactly one request. Apart from this, the function works as [`Self::fit`] does.
    ///
    /// # Errors
    /// The errors of [`Self::fit`].
    pub(crate) fn fit_task(
        &mut self,
        task: FitTask,
        wanted: OutcomeParts,
    ) -> Result<FitOutcome, InferenceError> {
        match self.run(std::slice::from_ref(&task), wanted)?.pop() {
            Some(Ok(outcome)) => {
                if let Some(inverse) = outcome.inverse_hessian() {
                    self.metric = Some(inverse);
                }
                Ok(outcome)
            }
            None | Some(Err(FitFailure::Cancelled)) => Err(InferenceError::Cancelled),
            Some(Err(failure)) => {
                Err(InferenceError::FitFailed { reason: diagnosis::failure(self.model, &failure) })
            }
        }
    }

    /// Makes independent fits. Returns one entry for each request of every task, in the order of tasks and requests.
    /// If the caller stops the work, fits that were not started are [`FitFailure::Cancelled`].
    ///
    /// # Errors
    /// If a task does not fit the model or the device fails.
    pub(crate) fn run(
        &mut self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
    ) -> Result<Vec<Fitted>, InferenceError> {
        let count: usize = tasks.iter().map(|task| task.fits.len()).sum();
        debug_assert!(tasks.iter().all(|task| task.data.count() == 1), "toys are streamed, not collected");
        self.total = self.total.max(self.done + count);
        let shifted = Shifted { inner: self.control.observer, done: self.done, total: self.total };
        let control = Control { observer: Some(&shifted), cancel: self.control.cancel, task: None };
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
        self.session.fit_batch(tasks, wanted, control, &mut outcomes)?;
        self.done += count;
        let mut fits: Vec<Fitted> = outcomes.into_iter().flat_map(|outcome| outcome.fits).collect();
        fits.resize_with(count, || Err(FitFailure::Cancelled));
        Ok(fits)
    }

    /// Returns the search effort of a fit that starts close to the minimum of another fit. If the interpolation has
    /// no kinks, a single descent is enough. If it has kinks, each region between kinks may have a minimum, and the
    /// effort is that of the base fit.
    pub(crate) fn nearby_search(&self) -> Search {
        if self.model.interpolation.has_kinks() { self.base.search } else { Search::Local }
    }

    /// Builds the request of a conditional fit. It is the request of the base fit with two changes: the parameters in
    /// `held`, pairs of parameter index and value, are fixed, and the fit is a single descent from `start`.
    pub(crate) fn conditional(&self, held: &[(usize, f64)], start: Vec<f64>) -> FitRequest {
        let mut request = FitRequest {
            start: Start::At(Arc::from(start)),
            search: Search::Local,
            metric: self.metric.clone(),
            ..self.base.clone()
        };
        for &(index, value) in held {
            request.fixed.retain(|(i, _)| *i != index);
            request.fixed.push((index, value));
        }
        request
    }

    /// Predicts the minimum of a conditional fit in which the parameters in `held` are fixed. `held` contains pairs of
    /// parameter index and value. The values must be close to the best-fit values in the free fit `parent`. All other
    /// parameters are moved according to their covariance with the held parameters in `parent`, and clipped to their
    /// bounds. The prediction depends on `parent` only, not on other conditional fits.
    pub(crate) fn predict(&self, parent: &FitOutcome, held: &[(usize, f64)]) -> Vec<f64> {
        let mut point = parent.parameters.clone();
        follow(parent, held, &mut point);
        self.admit(parent, held, point)
    }

    /// Turns a predicted point into a starting point. Free parameters are clipped to their bounds. Parameters that are
    /// fixed in the base fit get their values from `parent`. The parameters in `held`, pairs of parameter index and
    /// value, get the given values.
    pub(crate) fn admit(&self, parent: &FitOutcome, held: &[(usize, f64)], mut point: Vec<f64>) -> Vec<f64> {
        for (i, (x, p)) in point.iter_mut().zip(&self.model.parameters).enumerate() {
            if self.is_fixed(i) {
                *x = parent.parameters.get(i).copied().unwrap_or(*x);
            } else {
                *x = x.clamp(p.bounds.0, p.bounds.1);
            }
        }
        for &(index, value) in held {
            if let Some(x) = point.get_mut(index) {
                *x = value;
            }
        }
        point
    }
}

/// Moves the parameters in `point` by the shifts that follow from the parameters in `held`. The shifts are
/// `C[:, h] C[h, h]^-1 (value - best)`. `C` is the inverse Hessian of the fit `parent`, `h` are the parameters in
/// `held`, `value` are their values in `held`, and `best` are their best-fit values in `parent`. If more than two
/// parameters are held, the shifts due to each parameter are added and their correlations ignored. This is accurate
/// enough for a starting point.
fn follow(parent: &FitOutcome, held: &[(usize, f64)], point: &mut [f64]) {
    let Some(inverse) = parent.inverse_hessian() else { return };
    let shift = |&(i, value): &(usize, f64)| value - parent.parameters.get(i).copied().unwrap_or(value);
    let usable = |row: &Held<'_>| row.variance() > 0.0 && row.variance().is_finite();
    let rows = held.iter().map(|h| Some(Held { index: h.0, shift: shift(h), row: inverse.row(h.0)? }));
    let rows: Vec<Option<Held<'_>>> = rows.map(|row| row.filter(usable)).collect();
    let weights: Vec<(&Held<'_>, f64)> = match rows.as_slice() {
        [Some(a), Some(b)] => {
            let (aa, ab, bb) = (a.variance(), a.with(b.index), b.variance());
            let determinant = aa * bb - ab * ab;
            if determinant > 1e-12 * aa * bb {
                let (da, db) = (a.shift, b.shift);
                vec![(a, (bb * da - ab * db) / determinant), (b, (aa * db - ab * da) / determinant)]
            } else {
                vec![(a, a.shift / aa)]
            }
        }
        rows => rows.iter().flatten().map(|held| (held, held.shift / held.variance())).collect(),
    };
    for (j, x) in point.iter_mut().enumerate().take(inverse.n_parameters()) {
        for &(held, weight) in &weights {
            let step = held.with(j) * weight;
            if step.is_finite() {
                *x += step;
            }
        }
    }
}

/// A parameter that is fixed in a conditional fit, with its row of the inverse Hessian of the free fit.
struct Held<'a> {
    index: usize,
    /// Fixed value of the parameter minus its best-fit value.
    shift: f64,
    row: Cow<'a, [f64]>,
}

impl Held<'_> {
    /// Returns the covariance of the held parameter with parameter `j`.
    fn with(&self, j: usize) -> f64 {
        self.row.get(j).copied().unwrap_or(0.0)
    }

    fn variance(&self) -> f64 {
        self.with(self.index)
    }
}

/// An observer that passes on the progress of the current batch, with the number of fits of earlier batches added.
struct Shifted<'a> {
    inner: Option<&'a dyn Observer>,
    done: usize,
    total: usize,
}

impl Observer for Shifted<'_> {
    fn progress(&self, done: usize, total: usize) {
        if let Some(observer) = self.inner {
            observer.progress(self.done + done, self.total.max(self.done + total));
        }
    }
}
