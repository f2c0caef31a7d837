//! The fits behind every test of a hypothesis: the free fit, the background-only fit and the Asimov
//! set are made once; each tested value then takes one conditional fit of either data set.

use std::sync::Arc;

use ns_core::{
    EvaluationRequest, FitOutcome, FitRequest, FitStatus, FitTask, Search, SessionError, Start, Wanted,
};

use super::TestStatistic;
use super::profile::Profile;
use crate::analysis::Analysis;
use crate::fit::diagnosis;
use crate::present::significant;
use crate::{InferenceError, minos};

/// Everything that does not depend on the tested value.
pub(crate) struct Tester<'a> {
    pub(crate) analysis: Analysis<'a>,
    pub(crate) statistic: TestStatistic,
    pub(crate) poi: usize,
    pub(crate) observed: Profile,
    pub(crate) asimov: Profile,
    /// Why there is no Asimov set; `asimov` stands for nothing then.
    without_asimov: Option<String>,
    /// What a reader of the numbers should know.
    pub(crate) notes: Vec<String>,
    /// Every fit so far that all numbers rest on reached its certificate.
    pub(crate) converged: bool,
    /// Different values tested so far.
    pub(crate) n_evaluations: usize,
    /// How often the free fit was restarted at a lower minimum.
    pub(crate) n_restarts: usize,
}

/// The test statistics at one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tested {
    pub(crate) value: f64,
    pub(crate) q: f64,
    pub(crate) q_asimov: f64,
    /// Both conditional fits reached their certificates.
    pub(crate) converged: bool,
}

/// Fits of tested values up to which a covariance of the Asimov set's own does not pay.
const FEW: usize = 2;

const WITH_COVARIANCE: Wanted = Wanted { uncertainties: true, covariance: true };

impl<'a> Tester<'a> {
    /// Makes the free fit, the fit at the Asimov value (0; 1 for q0) and the Asimov set from it.
    ///
    /// # Errors
    /// If the model has no parameter of interest or holds it fixed, if a fit has no finite
    /// likelihood anywhere, if the device fails, or if the caller stopped the work.
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
            return Err(InferenceError::PoiFixed { analysis: what, name: name(poi) });
        }
        let mut notes = analysis.model.warnings.clone();
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
        let data = analysis.data.clone();
        let free = analysis.fit(&data, analysis.base.clone(), WITH_COVARIANCE)?;
        let mut observed = Profile::new(data, poi, free);
        let asimov_value = statistic.asimov_value();
        let mut without_asimov = None;
        let asimov = match make_asimov(&mut analysis, &mut observed, asimov_value, bounds, further) {
            Ok(asimov) => asimov,
            Err(InferenceError::FitFailed { reason }) => {
                let reason =
                    format!("the Asimov set at {} = {asimov_value} cannot be made: {reason}", name(poi));
                if statistic != TestStatistic::Q0 {
                    return Err(InferenceError::FitFailed { reason });
                }
                // The observed answer does not need it.
                without_asimov = Some(reason);
                Profile::new(observed.data.clone(), poi, observed.best.clone())
            }
            Err(error) => return Err(error),
        };

        let mut tester = Self {
            analysis,
            statistic,
            poi,
            observed,
            asimov,
            without_asimov,
            notes,
            converged: true,
            n_evaluations: 0,
            n_restarts: 0,
        };
        let free = tester.observed.best.clone();
        tester.judge("the free fit", &free);
        if tester.without_asimov.is_none() {
            let fit = tester.asimov.best.clone();
            tester.judge("the fit of the Asimov set", &fit);
        }
        if let Some(known) = tester.observed.at(asimov_value) {
            let fit = known.fit.clone();
            tester.judge(&format!("the fit at {} = {asimov_value}", tester.name()), &fit);
        }
        tester
            .notes
            .extend(tester.without_asimov.as_ref().map(|why| format!("expected values are null: {why}")));
        tester.look_lower(asimov_value)?;
        Ok(tester)
    }

    /// Name of the parameter of interest.
    pub(crate) fn name(&self) -> &str {
        self.analysis.model.parameters.get(self.poi).map_or("the parameter of interest", |p| p.name.as_str())
    }

    /// Bounds of the parameter of interest.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        self.analysis.model.parameters.get(self.poi).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds)
    }

    /// Best-fit value of the parameter of interest.
    pub(crate) fn best_value(&self) -> f64 {
        self.observed.best_value()
    }

    /// Tests several values in one batch. The Asimov fits alone where `observed` is false. `Err` per value
    /// where a fit has no finite likelihood, with the reason.
    ///
    /// # Errors
    /// If the device fails or the caller stopped the work.
    pub(crate) fn test(
        &mut self,
        values: &[f64],
        observed: bool,
        search: Search,
    ) -> Result<Vec<Result<Tested, String>>, InferenceError> {
        let mut tasks: Vec<FitTask> = Vec::new();
        let mut places: Vec<(bool, f64)> = Vec::new();
        for &value in values {
            for (is_asimov, profile) in [(false, &self.observed), (true, &self.asimov)] {
                let needed = if is_asimov { self.without_asimov.is_none() } else { observed };
                if needed && profile.at(value).is_none() && !places.contains(&(is_asimov, value)) {
                    tasks.push(profile.task(&self.analysis, value, search));
                    places.push((is_asimov, value));
                }
            }
        }
        let fits = self.analysis.run(&tasks, Wanted::default())?;
        if self.analysis.is_cancelled() {
            return Err(InferenceError::Cancelled);
        }
        self.n_evaluations += places.iter().filter(|(is_asimov, _)| *is_asimov).count();
        let mut failures: Vec<(f64, String)> = Vec::new();
        for ((is_asimov, value), fitted) in places.iter().zip(&fits) {
            let profile = if *is_asimov { &mut self.asimov } else { &mut self.observed };
            profile.learn(*value, fitted);
            if let Err(failure) = fitted {
                let why = diagnosis::failure(self.analysis.model, failure);
                let name = self.analysis.model.parameters.get(self.poi).map_or("", |p| p.name.as_str());
                let asimov_value = self.statistic.asimov_value();
                match (*is_asimov, self.statistic) {
                    (true, TestStatistic::Q0) => self.notes.push(format!(
                        "expected values are null: the data expected at {name} = {asimov_value} cannot be described at \
                         {value}: {why}"
                    )),
                    (true, _) => failures.push((
                        *value,
                        format!("in the fit of the Asimov set of {name} = {asimov_value} at {value}, {why}"),
                    )),
                    (false, _) => failures.push((*value, format!("in the fit at {name} = {value}, {why}"))),
                }
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

    /// Looks once more for lower minima at values already tested (with their observed fits, where the
    /// flag says so). Where one is found, everything at other values is forgotten, since it may have
    /// missed its own; true then.
    ///
    /// # Errors
    /// If the device fails or the caller stopped the work.
    pub(crate) fn recheck(&mut self, places: &[(f64, bool)]) -> Result<bool, InferenceError> {
        let mut tasks: Vec<FitTask> = Vec::new();
        let mut asked: Vec<(bool, f64)> = Vec::new();
        for &(value, observed) in places {
            for (is_asimov, profile) in [(false, &self.observed), (true, &self.asimov)] {
                let needed = (is_asimov || observed) && !asked.contains(&(is_asimov, value));
                if let Some(task) = profile.recheck(&self.analysis, value).filter(|_| needed) {
                    tasks.push(task);
                    asked.push((is_asimov, value));
                }
            }
        }
        let fits = self.analysis.run(&tasks, Wanted::default())?;
        if self.analysis.is_cancelled() {
            return Err(InferenceError::Cancelled);
        }
        let mut improved = false;
        for ((is_asimov, value), fitted) in asked.iter().zip(&fits) {
            let profile = if *is_asimov { &mut self.asimov } else { &mut self.observed };
            let (Some(before), Ok(fit)) = (profile.at(*value).map(|known| known.fit.nll), fitted) else {
                continue;
            };
            if 2.0 * (before - fit.nll) > minos::tolerance(before) {
                improved = true;
                profile.learn(*value, fitted);
            }
        }
        if improved {
            let kept: Vec<f64> = places.iter().map(|p| p.0).chain([self.statistic.asimov_value()]).collect();
            self.observed.keep(&kept);
            self.asimov.keep(&kept);
            for &(value, observed) in places {
                if observed {
                    self.look_lower(value)?;
                }
            }
        }
        Ok(improved)
    }

    /// The statistics at a value that has been tested.
    pub(crate) fn known(&self, value: f64, observed: bool) -> Option<Tested> {
        self.asimov.at(value)?;
        if observed {
            self.observed.at(value)?;
        }
        Some(self.tested(value, observed))
    }

    /// The statistics at a value whose fits are known.
    fn tested(&self, value: f64, observed: bool) -> Tested {
        let converged = [(&self.asimov, self.statistic != TestStatistic::Q0), (&self.observed, observed)]
            .iter()
            .all(|(profile, needed)| profile.at(value).map_or(!needed, |known| known.fit.converged()));
        let q = if observed { self.one_sided(&self.observed, value) } else { f64::NAN };
        let q_asimov =
            if self.without_asimov.is_none() { self.one_sided(&self.asimov, value) } else { f64::NAN };
        Tested { value, q, q_asimov, converged }
    }

    /// The one-sided statistic: 0 where the best fit lies on the other side of the tested value, or on it.
    fn one_sided(&self, profile: &Profile, value: f64) -> f64 {
        let best = profile.best_value();
        let zero = match self.statistic {
            TestStatistic::Q0 => best < value,
            TestStatistic::Q | TestStatistic::Qtilde => best > value,
        };
        // Where the best fit is the tested value (both at a bound) the two fits are one, and the difference of
        // their likelihoods is rounding, which the p-values of an Asimov statistic of 0 would take for a signal.
        if zero || best == value { 0.0 } else { profile.rise(value).unwrap_or(f64::NAN) }
    }

    /// Why the test of a value has no CLs although both fits are there; `None` if it has one.
    pub(crate) fn without_power(&self, tested: &Tested) -> Option<String> {
        let (name, value, asimov) = (self.name(), tested.value, self.statistic.asimov_value());
        let (lower, upper) = self.bounds();
        if self.statistic == TestStatistic::Q0 {
            return Some("cls is null: q0 tests the absence of a signal; its p-value is clsb".to_owned());
        }
        // Without a difference between the hypotheses the two p-values of q are equal; those of qtilde are divided
        // by the Asimov statistic.
        let equal = tested.q == 0.0 || self.statistic == TestStatistic::Q;
        if tested.q_asimov > 0.0 || (value == asimov && equal) {
            return None;
        }
        Some(if value == asimov {
            format!(
                "cls is null: at {name} = {value} the Asimov set tells nothing apart, and the best fit lies below"
            )
        } else if !(lower <= asimov && asimov <= upper) {
            format!(
                "cls is null: the bounds [{lower}, {upper}] of {name} exclude {asimov}, where the Asimov set is made, and \
                 its best fit within them ({}) makes the test of {value} powerless",
                self.asimov.best_value()
            )
        } else if self.asimov.best_value() >= value {
            format!(
                "cls is null: the one-sided test of {name} = {value} has no power, since the Asimov set made at {asimov} \
                 has its best fit at {}",
                self.asimov.best_value()
            )
        } else {
            format!(
                "cls is null: what is expected at {name} = {value} is the same as at {asimov}; check that {name} has an \
                 effect"
            )
        })
    }

    /// Says that a value lies outside the bounds of the parameter of interest.
    pub(crate) fn note_outside(&mut self, value: f64) {
        let (lower, upper) = self.bounds();
        if value < lower || value > upper {
            self.notes.push(format!(
                "the tested value {value} lies outside the bounds [{lower}, {upper}] of {}, which hold in the free fit only",
                self.name()
            ));
        }
    }

    /// Restarts the free fit where a conditional one inside the bounds fell below it.
    fn look_lower(&mut self, value: f64) -> Result<(), InferenceError> {
        let (lower, upper) = self.bounds();
        if value < lower || value > upper {
            return Ok(());
        }
        let Some(known) = self.observed.at(value) else { return Ok(()) };
        let depth = 2.0 * (self.observed.best.nll - known.fit.nll);
        if !(depth > minos::tolerance(self.observed.best.nll)) || !known.fit.converged() {
            return Ok(());
        }
        let start = Start::At(Arc::from(known.fit.parameters.as_slice()));
        let request = FitRequest { start, search: Search::Local, ..self.analysis.base.clone() };
        let data = self.observed.data.clone();
        let fit = self.analysis.fit(&data, request, WITH_COVARIANCE)?;
        if 2.0 * (self.observed.best.nll - fit.nll) > minos::tolerance(fit.nll) {
            self.n_restarts += 1;
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

    /// Remembers a fit that the numbers rest on, and says what is wrong with it.
    pub(crate) fn judge(&mut self, which: &str, fit: &FitOutcome) {
        if !fit.converged() {
            self.converged = false;
            let reasons = diagnosis::not_converged(self.analysis.model, fit);
            self.notes.push(format!("{which}: {}", reasons.join("; ")));
        } else if let Some(empty) = diagnosis::empty_bins(self.analysis.model, fit) {
            self.notes.push(format!("{which}: no expected events are left at the minimum in {empty}"));
        }
    }

    /// Says of both conditional fits at a value whether they converged.
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

/// Makes the Asimov set at the conditional fit of the observed data.
///
/// # Errors
/// [`InferenceError::FitFailed`] if that fit or the set has no finite likelihood; as [`Analysis::fit`].
fn make_asimov(
    analysis: &mut Analysis<'_>,
    observed: &mut Profile,
    asimov_value: f64,
    bounds: (f64, f64),
    further: usize,
) -> Result<Profile, InferenceError> {
    let poi = observed.parameter;
    let task = observed.task(analysis, asimov_value, analysis.base.search);
    let conditional = analysis.fit_task(task, Wanted::default())?;
    let point: Arc<[f64]> = Arc::from(conditional.parameters.as_slice());
    observed.learn(asimov_value, &Ok(conditional.clone()));
    let asimov_data = analysis.session.asimov(&point).map_err(|error| match error {
        SessionError::BadNumber { index, value, .. } => InferenceError::FitFailed {
            reason: format!(
                "{} expects {} events; check for negative yields, or bounds that allow them",
                diagnosis::bin_place(analysis.model, index),
                significant(value)
            ),
        },
        other => other.into(),
    })?;

    // The Asimov set has its minimum where it was made. Only if that lies outside the bounds of the
    // parameter, which hold for its free fit as well, the minimum is elsewhere.
    let inside = bounds.0 <= asimov_value && asimov_value <= bounds.1;
    let best = if inside && further <= FEW {
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let nll = analysis.session.evaluate(&asimov_data, &point, request)?.nll;
        FitOutcome {
            status: FitStatus::Converged,
            nll: nll.first().copied().unwrap_or(f64::NAN),
            // Near enough for start points.
            covariance: observed.best.covariance.clone(),
            parameters: point.to_vec(),
            ..conditional
        }
    } else {
        let mut request =
            FitRequest { start: Start::At(point), search: Search::Local, ..analysis.base.clone() };
        if inside {
            // At a bound the parameter would have no covariance.
            let room = 1.0 + asimov_value.abs();
            let widened = (bounds.0.min(asimov_value - room), bounds.1.max(asimov_value + room));
            request.bounds.push((poi, widened));
            request.metric = observed.best.covariance.clone();
        } else {
            request.search = analysis.base.search;
        }
        analysis.fit(&asimov_data, request, WITH_COVARIANCE)?
    };
    Ok(Profile::new(asimov_data, poi, best))
}
