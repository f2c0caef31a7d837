//! The fits of analyses that test values of the POI. Three things are made once: the free fit, the conditional fit at
//! the Asimov value (the POI is 1 for q0, otherwise 0), and the Asimov set, i.e. the data expected at this
//! conditional fit. Each tested value then needs two conditional fits: one to the observed data and one to the Asimov
//! set.

use ns_core::{FitFailure, FitOutcome, FitRequest, FitTask, Inactive, ModelFormat, OutcomeParts, Search};

use super::ends::from_other_ends;
use super::mirrored::mirror_images;
use super::profile::{Effort, Profile};
use super::{TestStatistic, asimov, power};
use crate::analysis::{Analysis, WITH_INVERSE};
use crate::diagnosis;
use crate::expected_data::Checked;
use crate::present::exact;
use crate::{InferenceError, lowest};

/// The fits of an analysis that tests values of the POI, and warnings about the fits.
pub(crate) struct Tester<'a> {
    pub(crate) analysis: Analysis<'a>,
    pub(crate) statistic: TestStatistic,
    pub(crate) poi: usize,
    pub(crate) observed: Profile,
    pub(crate) asimov: Profile,
    /// Reason why there is no Asimov set (expected data), in which case the field `asimov` is not used. `None` if
    /// there is an Asimov set.
    pub(super) without_asimov: Option<String>,
    /// Points that fits to earlier Asimov sets visited. The Asimov set is also made for these points.
    pub(super) visited: Vec<Vec<f64>>,
    /// Estimated error of the Asimov statistics at the tested values; `None` if it was not estimated, or if the model
    /// has no event channels.
    pub(super) checked: Option<Checked>,
    /// `-ln L` of the conditional fit to the observed data from which the Asimov set (expected data) was generated.
    pub(super) made_at: f64,
    /// Estimated number of fits that are made after the call of [`Self::new`].
    pub(super) further: usize,
    /// Warnings about the result.
    pub(crate) notes: Vec<String>,
    /// Whether every fit on which the results depend converged.
    pub(crate) converged: bool,
    /// Number of different values of the POI that have been tested.
    pub(crate) n_evaluations: usize,
    /// Number of times that a fit found a lower minimum than an earlier fit. Each time, earlier results may become
    /// outdated.
    pub(crate) n_lowered: usize,
}

/// The test statistics at one tested value of the POI: `q` of the observed data, and `q_asimov` of the Asimov set
/// (expected data).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tested {
    pub(crate) value: f64,
    pub(crate) q: f64,
    pub(crate) q_asimov: f64,
    /// Whether the conditional fits for these statistics converged.
    pub(crate) converged: bool,
}

/// Largest number of times that the test of one value is repeated because a lower minimum was found.
const MOST_RENEWALS: usize = 3;

impl<'a> Tester<'a> {
    /// Makes the free fit and the conditional fit at the Asimov value (1 for q0, otherwise 0). Generates the Asimov
    /// set, i.e. the data expected at the conditional fit. `further` is the estimated number of later fits, and `what`
    /// is the name of the analysis in error messages.
    ///
    /// # Errors
    /// If the model has no POI or fixes it, if a fit has no finite likelihood, if the device fails, or if the
    /// caller stopped the work.
    pub(crate) fn new(
        mut analysis: Analysis<'a>,
        statistic: TestStatistic,
        what: &'static str,
        further: usize,
    ) -> Result<Self, InferenceError> {
        let poi = analysis.poi(what)?;
        let name = |i: usize| analysis.model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
        let bounds =
            analysis.model.parameters.get(poi).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);
        if analysis.is_fixed(poi) || !(bounds.0 < bounds.1) {
            return Err(InferenceError::PoiFixed {
                analysis: what,
                name: name(poi),
                format: analysis.model.format,
            });
        }
        let mut notes = analysis.model.warnings.clone();
        notes.extend(analysis.about_weights());
        match statistic {
            TestStatistic::Qtilde if bounds.0 != 0.0 => notes.push(format!(
                "qtilde with a lower bound of {} for {} is the statistic q (its bound is not moved to 0), with the \
                 p-values of qtilde, as in pyhf",
                bounds.0,
                name(poi)
            )),
            TestStatistic::Q if bounds.0 == 0.0 => notes.push(format!(
                "q with a lower bound of 0 for {} is the statistic qtilde, with the p-values of q, as in pyhf",
                name(poi)
            )),
            _ => {}
        }

        analysis.expect(3 + further);
        let free = free_fit(&mut analysis, poi)?;
        let base = analysis.base.clone();
        let free = analysis.settle_expected(free, &base, WITH_INVERSE)?;
        let data = analysis.data.clone();
        let mut tester = Self {
            statistic,
            poi,
            observed: Profile::new(data.clone(), poi, free.clone()),
            asimov: Profile::new(data, poi, free.clone()),
            analysis,
            without_asimov: None,
            visited: Vec::new(),
            checked: None,
            made_at: f64::INFINITY,
            further,
            notes,
            converged: true,
            n_evaluations: 0,
            n_lowered: 0,
        };
        tester.make_asimov()?;
        tester.judge("the free fit", &free);
        if tester.without_asimov.is_none() {
            let fit = tester.asimov.best.clone();
            tester.judge("the fit of the Asimov set", &fit);
        }
        let asimov_value = statistic.asimov_value();
        if let Some(known) = tester.observed.at(asimov_value) {
            let fit = known.fit.clone();
            tester.judge(&format!("the fit at {} = {asimov_value}", tester.name()), &fit);
            let undetermined =
                asimov::undetermined(&mut tester.analysis, &tester.observed, &fit, asimov_value)?;
            tester.notes.extend(undetermined.map(|names| {
                format!(
                    "the Asimov set, and with it CLs and all expected values, is not unique: at {} = {asimov_value} the \
                     data do not determine {names} (a flat direction), and expected data change along it",
                    name(poi)
                )
            }));
            let mirrored = mirror_images(&mut tester.analysis, &tester.observed, &fit, asimov_value)?;
            tester.notes.extend(mirrored.map(|names| {
                format!(
                    "the Asimov set, and with it CLs and all expected values, is not unique: at {} = {asimov_value} the \
                     data are as likely on the other side of the auxiliary datum of {names}, where the signal differs",
                    name(poi)
                )
            }));
        }
        tester
            .notes
            .extend(tester.without_asimov.as_ref().map(|why| format!("expected values are null: {why}")));
        if free.inactive.contains(&(poi, Inactive::Flat)) {
            tester.notes.push(format!(
                "the data do not determine {0}: the likelihood is constant along a direction that changes it, and its best \
                 fit is its start value as far as the bounds allow",
                name(poi)
            ));
        }
        tester.look_lower(asimov_value)?;
        Ok(tester)
    }

    /// Returns the name of the POI.
    pub(crate) fn name(&self) -> &str {
        self.analysis.model.parameters.get(self.poi).map_or("the parameter of interest", |p| p.name.as_str())
    }

    /// Returns the format of the model's file.
    pub(crate) fn format(&self) -> ModelFormat {
        self.analysis.model.format
    }

    /// Returns the bounds of the POI.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        self.analysis.model.parameters.get(self.poi).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds)
    }

    /// Returns the best-fit value of the POI.
    pub(crate) fn best_value(&self) -> f64 {
        self.observed.best_value()
    }

    /// Tests several values of the POI in one batch of fits. If `observed` is false, only the Asimov set (expected
    /// data) is fitted, and not the observed data. The result has one entry per value. If `-ln L` is not finite at any
    /// starting point of a fit, the entry is `Err` with the reason.
    ///
    /// # Errors
    /// If the device fails or the caller stopped the work.
    pub(crate) fn test(
        &mut self,
        values: &[f64],
        observed: bool,
        effort: Effort,
    ) -> Result<Vec<Result<Tested, String>>, InferenceError> {
        let mut failures: Vec<(f64, String)> = Vec::new();
        // If a fit finds a lower minimum at the Asimov value, the Asimov set changes.
        for _ in 0..MOST_RENEWALS {
            let made_at = self.made_at;
            failures = self.fit_values(values, observed, effort)?;
            self.renew_asimov()?;
            if self.made_at == made_at {
                break;
            }
        }
        if observed {
            for &value in values {
                self.look_lower(value)?;
            }
        }
        Ok(values
            .iter()
            .map(|&value| match failures.iter().find(|(v, _)| *v == value) {
                Some((_, reason)) => Err(reason.clone()),
                None => Ok(self.tested(value, observed)),
            })
            .collect())
    }

    /// Tests one value of the POI with the highest effort, [`Effort::Report`]: the fits search for the lowest
    /// minimum. In small models the fits are also compared with those at neighbouring values.
    ///
    /// # Errors
    /// The errors of [`Self::test`]; also [`InferenceError::FitFailed`] if `-ln L` is not finite in a fit.
    pub(crate) fn report(&mut self, value: f64) -> Result<Tested, InferenceError> {
        let mut tested = self.test(&[value], true, Effort::Report)?.pop();
        if self.analysis.is_small() {
            for _ in 0..MOST_RENEWALS {
                if matches!(tested, Some(Err(_))) || !self.compare()? {
                    break;
                }
                tested = self.test(&[value], true, Effort::Report)?.pop();
            }
        }
        for _ in 0..MOST_RENEWALS {
            if matches!(tested, Some(Err(_))) || !self.check_asimov(&[value])? {
                break;
            }
            tested = self.test(&[value], true, Effort::Report)?.pop();
        }
        self.judge_asimov();
        match tested {
            Some(Ok(tested)) => Ok(self.known(value, true).unwrap_or(tested)),
            Some(Err(reason)) => Err(InferenceError::FitFailed { reason }),
            None => Err(InferenceError::Cancelled),
        }
    }

    /// Makes the conditional fits at `values` to the Asimov set (expected data) and, if `observed` is true, to the
    /// observed data. Fits that were already made with at least the effort `effort` are not repeated. Returns the
    /// values whose fits failed, each with the reason.
    fn fit_values(
        &mut self,
        values: &[f64],
        observed: bool,
        effort: Effort,
    ) -> Result<Vec<(f64, String)>, InferenceError> {
        let mut tasks: Vec<FitTask> = Vec::new();
        // For each task: whether it fits the Asimov set, the tested value, and `-ln L` of the earlier fit at
        // this value.
        let mut places: Vec<(bool, f64, Option<f64>)> = Vec::new();
        for &value in values {
            for (is_asimov, profile) in [(false, &self.observed), (true, &self.asimov)] {
                let needed = if is_asimov { self.without_asimov.is_none() } else { observed };
                let asked = places.iter().any(|p| (p.0, p.1) == (is_asimov, value));
                if needed && !asked && !profile.has(value, effort) {
                    let before = profile.at(value).map(|known| known.fit.nll);
                    let further = profile.tasks(&self.analysis, value, effort);
                    places.extend(further.iter().map(|_| (is_asimov, value, before)));
                    tasks.extend(further);
                }
            }
        }
        let fits = self.analysis.run(&tasks, OutcomeParts::default())?;
        if self.analysis.is_cancelled() {
            return Err(InferenceError::Cancelled);
        }
        for (&(is_asimov, value, _), fitted) in places.iter().zip(&fits) {
            let profile = if is_asimov { &mut self.asimov } else { &mut self.observed };
            profile.learn(value, fitted, effort);
        }
        if effort == Effort::Report {
            let mut searched = None;
            for &(is_asimov, value, _) in &places {
                if searched.replace((is_asimov, value)) != Some((is_asimov, value)) {
                    let profile = if is_asimov { &mut self.asimov } else { &mut self.observed };
                    profile.search_other_ends(&mut self.analysis, value)?;
                    profile.compare(&mut self.analysis, value)?;
                }
            }
        }
        let mut failures: Vec<(f64, String)> = Vec::new();
        let mut last = None;
        for (&(is_asimov, value, before), fitted) in places.iter().zip(&fits) {
            if last.replace((is_asimov, value)) == Some((is_asimov, value)) {
                continue;
            }
            let profile = if is_asimov { &self.asimov } else { &self.observed };
            match (profile.at(value), before, fitted) {
                (Some(known), Some(before), _) => {
                    self.n_lowered += usize::from(2.0 * (before - known.fit.nll) > lowest::tolerance(before));
                }
                (Some(_), None, _) => self.n_evaluations += usize::from(is_asimov),
                (None, _, Err(failure)) => {
                    self.n_evaluations += usize::from(is_asimov);
                    failures.extend(self.failed(is_asimov, value, failure));
                }
                (None, ..) => {}
            }
        }
        Ok(failures)
    }

    /// Describes a failed fit by `value` and the reason. For q0, if the fit to the Asimov set (expected data) failed,
    /// adds a warning instead and returns `None`.
    fn failed(&mut self, is_asimov: bool, value: f64, failure: &FitFailure) -> Option<(f64, String)> {
        let why = diagnosis::failure(self.analysis.model, failure);
        let name = self.name().to_owned();
        let asimov_value = self.statistic.asimov_value();
        match (is_asimov, self.statistic) {
            (true, TestStatistic::Q0) => {
                self.notes.push(format!(
                    "expected values are null: the data expected at {name} = {asimov_value} cannot be described at \
                     {value}: {why}"
                ));
                None
            }
            (true, _) => Some((
                value,
                format!("in the fit of the Asimov set of {name} = {asimov_value} at {value}, {why}"),
            )),
            (false, _) => Some((value, format!("in the fit at {name} = {value}, {why}"))),
        }
    }

    /// Keeps the conditional fits at `values` and at the Asimov value (0, or 1 for q0), and removes all others. The
    /// caller has repeated the kept fits with a search for the lowest minimum. The removed fits were made without
    /// this search.
    pub(crate) fn keep(&mut self, values: &[f64]) {
        let kept: Vec<f64> = values.iter().copied().chain([self.statistic.asimov_value()]).collect();
        self.observed.keep(&kept);
        self.asimov.keep(&kept);
    }

    /// Returns the statistics at `value`, if the fits for them have been made; otherwise `None`. If `observed` is
    /// false, the fit to the Asimov set (expected data) is enough.
    pub(crate) fn known(&self, value: f64, observed: bool) -> Option<Tested> {
        self.asimov.at(value)?;
        if observed {
            self.observed.at(value)?;
        }
        Some(self.tested(value, observed))
    }

    /// Computes the test statistics at the value `value` of the POI. All fits that this needs have been made. If
    /// `observed` is false, the statistic of the observed data is NaN.
    fn tested(&self, value: f64, observed: bool) -> Tested {
        let converged = [(&self.asimov, self.statistic != TestStatistic::Q0), (&self.observed, observed)]
            .iter()
            .all(|(profile, needed)| profile.at(value).map_or(!needed, |known| known.fit.converged()));
        let mut q = if observed { self.one_sided(&self.observed, value) } else { f64::NAN };
        let mut q_asimov =
            if self.without_asimov.is_none() { self.one_sided(&self.asimov, value) } else { f64::NAN };
        // A difference between equal likelihoods is due to rounding. If the Asimov statistic is 0, a `q` due to
        // rounding would give p-values that seem to indicate a signal.
        if q_asimov <= power::rounding(self.asimov.best.nll) {
            q_asimov = 0.0;
            if q <= power::indistinct(self.observed.best.nll) {
                q = 0.0;
            }
        }
        Tested { value, q, q_asimov, converged }
    }

    /// Computes the one-sided test statistic. For q and qtilde the statistic is 0 if the best fit is equal to or
    /// above the tested value. For q0 it is 0 if the best fit is equal to or below the tested value.
    fn one_sided(&self, profile: &Profile, value: f64) -> f64 {
        let best = profile.best_value();
        let zero = match self.statistic {
            TestStatistic::Q0 => best < value,
            TestStatistic::Q | TestStatistic::Qtilde => best > value,
        };
        // If the best fit equals the tested value (both at a bound), the free and the conditional fit are the same.
        // The difference of their likelihoods is then due to rounding. It would give p-values that seem to indicate a
        // signal.
        if zero || best == value { 0.0 } else { profile.rise(value).unwrap_or(f64::NAN) }
    }

    /// Adds a warning if the tested value lies outside the bounds of the POI.
    pub(crate) fn note_outside(&mut self, value: f64) {
        let (lower, upper) = self.bounds();
        if value < lower || value > upper {
            let [value, lower, upper] = [value, lower, upper].map(exact);
            self.notes.push(format!(
                "the tested value {value} lies outside the bounds [{lower}, {upper}] of {}, which hold in the free fit only",
                self.name()
            ));
        }
    }

    /// If `-ln L` of the conditional fit at `value` is lower than that of the free fit, repeats the free fit,
    /// starting at the conditional fit. Does nothing if `value` lies outside the bounds of the POI.
    pub(super) fn look_lower(&mut self, value: f64) -> Result<(), InferenceError> {
        let (lower, upper) = self.bounds();
        if value < lower || value > upper {
            return Ok(());
        }
        let Some(known) = self.observed.at(value) else { return Ok(()) };
        let depth = 2.0 * (self.observed.best.nll - known.fit.nll);
        if !(depth > lowest::tolerance(self.observed.best.nll)) || !known.fit.converged() {
            return Ok(());
        }
        let Some(request) = self.observed.release(&self.analysis, value) else { return Ok(()) };
        let data = self.observed.data.clone();
        let fit = self.analysis.fit(&data, request, WITH_INVERSE)?;
        if 2.0 * (self.observed.best.nll - fit.nll) > lowest::tolerance(fit.nll) {
            self.n_lowered += 1;
            self.notes.push(format!(
                "the fit at {} = {value} met a minimum lower by {:.3e} in twice_nll than the free fit, which was \
                 restarted there",
                self.name(),
                2.0 * (self.observed.best.nll - fit.nll)
            ));
            self.judge("the restarted free fit", &fit);
            self.observed.best = fit;
        }
        Ok(())
    }

    /// Sets `converged` to false and adds a warning if `fit`, on which the results depend, did not converge. If `fit`
    /// converged, adds a warning about bins without expected events, if there are any. `which` is the name of the fit
    /// in warnings.
    pub(crate) fn judge(&mut self, which: &str, fit: &FitOutcome) {
        if !fit.converged() {
            self.converged = false;
            let reasons = diagnosis::not_converged(self.analysis.model, fit);
            self.notes.push(format!("{which}: {}", reasons.join("; ")));
        } else {
            let Analysis { model, session, data, .. } = &self.analysis;
            let note = diagnosis::without_events(model, *session, data, fit);
            self.notes.extend(note.map(|note| format!("{which}: {note}")));
        }
    }

    /// Adds warnings about the conditional fits at `value`, as [`Self::judge`] does. These are the fit to the
    /// observed data and the fit to the Asimov set (expected data).
    pub(crate) fn judge_at(&mut self, value: f64) {
        let name = self.name().to_owned();
        let of = |profile: &Profile| profile.at(value).map(|known| known.fit.clone());
        let fits = [(of(&self.observed), "the fit"), (of(&self.asimov), "the Asimov fit")];
        for (fit, which) in fits {
            if let Some(fit) = fit {
                self.judge(&format!("{which} at {name} = {value}"), &fit);
            }
        }
    }
}

/// Makes the free fit and returns the lowest minimum found. In a small model, the function also makes a thorough
/// search, and fits in which parameters at a bound start at their opposite bound.
pub(crate) fn free_fit(analysis: &mut Analysis<'_>, poi: usize) -> Result<FitOutcome, InferenceError> {
    let data = analysis.data.clone();
    let base = analysis.base.clone();
    let mut best = analysis.fit(&data, base.clone(), WITH_INVERSE)?;
    if !analysis.is_small() {
        return Ok(best);
    }
    if base.search != Search::Thorough {
        let request = FitRequest { search: Search::Thorough, ..base.clone() };
        best = lower(best, analysis.fit(&data, request, WITH_INVERSE)?);
    }
    for request in from_other_ends(analysis, poi, &best, &base) {
        let task = FitTask { data: data.clone(), fits: vec![request], cancel: None };
        for other in analysis.run(&[task], WITH_INVERSE)?.into_iter().flatten() {
            best = lower(best, other);
        }
    }
    Ok(best)
}

/// Returns the better of two results of the same fit, usually the one with the lower minimum. A result that did not
/// converge never replaces one that converged. If both converged to the same minimum, the result is `fit`.
fn lower(fit: FitOutcome, other: FitOutcome) -> FitOutcome {
    let lower = 2.0 * (fit.nll - other.nll) > lowest::tolerance(fit.nll) || !fit.converged();
    if lower && (other.converged() || !fit.converged()) && other.nll <= fit.nll { other } else { fit }
}
