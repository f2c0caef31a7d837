//! Computes the test statistic of one toy from the free fit and the conditional fit of the toy.

use std::sync::Arc;

use ns_core::{Condition, FitFailure, FitOutcome, FitRequest, Model, Search, Start, TaskOutcome};

use super::stream::{MOST_ROUNDS, Reader, Reading, worth_repeating};
use super::{Hypothesis, ToyRow, ToyStatus};
use crate::TestStatistic;
use crate::diagnosis;
use crate::lowest::tolerance;

/// Index of the free fit among the fits of a toy.
const FREE: usize = 0;
/// Index of the conditional fit among the fits of a toy.
const CONDITIONAL: usize = 1;
/// Index of a second free fit among the fits of a toy. It is made if `-ln L` of the conditional fit is below that of
/// the first free fit. It starts at the conditional minimum and searches like a fit of a single data set. The usual
/// search for batches of toys is not suitable: if `-ln L` falls without bound, this usual search returns some other
/// minimum, which may be higher.
const ONWARDS: usize = 2;

/// Makes the row of a toy from the fits of the toy. All toys belong to one hypothesis.
#[derive(Clone)]
pub(crate) struct StatisticReader {
    pub(super) hypothesis: Hypothesis,
    pub(super) statistic: TestStatistic,
    pub(super) poi: usize,
    /// Tested value of the parameter of interest.
    pub(super) value: f64,
    /// Bounds of the parameter of interest in the free fit.
    pub(super) bounds: (f64, f64),
    /// Request from which the free and the conditional fit are derived. Its starting point is the generating point,
    /// i.e. the parameters at which toys are drawn.
    pub(super) base: FitRequest,
}

/// Returns the condition under which the conditional fit of a toy is needed. For q and qtilde, the best-fit value of
/// the parameter of interest must not be above the tested value. For q0, it must not be below the tested value.
pub(super) fn needed(statistic: TestStatistic, poi: usize, value: f64) -> Condition {
    let range = match statistic {
        TestStatistic::Q | TestStatistic::Qtilde => (f64::NEG_INFINITY, value),
        TestStatistic::Q0 => (value, f64::INFINITY),
    };
    Condition { fit: FREE, parameter: poi, range }
}

impl StatisticReader {
    /// Returns whether the best fit `mu_hat` lies on the side of the tested value where the statistic is 0. No
    /// conditional fit is needed there.
    fn beyond(&self, mu_hat: f64) -> bool {
        match self.statistic {
            TestStatistic::Q | TestStatistic::Qtilde => mu_hat > self.value,
            TestStatistic::Q0 => mu_hat < self.value,
        }
    }

    /// Returns the index and the request of a free fit with the given starting point and search.
    fn free(&self, start: Start, search: Search) -> (usize, FitRequest) {
        (FREE, FitRequest { start, search, ..self.base.clone() })
    }

    /// Returns the index and the request of a conditional fit with the given starting point and search.
    fn conditional(&self, start: Start, search: Search) -> (usize, FitRequest) {
        let mut request = FitRequest { start, search, ..self.base.clone() };
        request.fixed.retain(|(i, _)| *i != self.poi);
        request.fixed.insert(0, (self.poi, self.value));
        (CONDITIONAL, request)
    }

    fn row(&self, index: u64, mu_hat: Option<f64>, statistic: Option<f64>) -> ToyRow {
        ToyRow {
            hypothesis: self.hypothesis,
            index,
            statistic: statistic.filter(|q| q.is_finite()),
            mu_hat,
            status: ToyStatus::Converged,
            reason: String::new(),
        }
    }

    /// Builds the row of a toy with a failed fit. `which` is the name of the fit.
    fn failed(
        &self,
        model: &Model,
        index: u64,
        which: &str,
        mu_hat: Option<f64>,
        failure: &FitFailure,
    ) -> ToyRow {
        ToyRow {
            status: ToyStatus::Failed,
            reason: format!("{which}: {}", diagnosis::failure(model, failure)),
            ..self.row(index, mu_hat, None)
        }
    }
}

/// Sets the status and the reason of a row if `fit` did not converge. `which` is the name of the fit.
fn marked(model: &Model, row: ToyRow, which: &str, fit: &FitOutcome) -> ToyRow {
    if fit.converged() {
        return row;
    }
    let mut reason = format!("{which}: {}", ended(model, fit));
    if !row.reason.is_empty() {
        reason = format!("{}; {reason}", row.reason);
    }
    ToyRow { status: ToyStatus::NotConverged, reason, ..row }
}

/// Returns the reason why a fit of a toy did not converge. The text names the bins without expected events.
pub(super) fn ended(model: &Model, fit: &FitOutcome) -> String {
    let empty = diagnosis::empty_bins(model, fit);
    let empty = empty.map_or_else(String::new, |bins| format!(", with no expected events left in {bins}"));
    format!("{}{empty}", diagnosis::termination(fit))
}

fn at(fit: &FitOutcome) -> Start {
    Start::At(Arc::from(fit.parameters.as_slice()))
}

/// Returns the second free fit if it converged to a lower minimum. Otherwise returns the first free fit.
fn lower<'f>(free: &'f FitOutcome, onwards: Option<&'f Result<FitOutcome, FitFailure>>) -> &'f FitOutcome {
    match onwards {
        Some(Ok(onwards)) if onwards.converged() && onwards.nll < free.nll => onwards,
        _ => free,
    }
}

impl Reader for StatisticReader {
    type Row = ToyRow;

    fn read(&self, model: &Model, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<ToyRow> {
        let start = || self.base.start.clone();
        let both = || vec![self.free(start(), Search::Standard), self.conditional(start(), Search::Standard)];
        let free = match outcome.fits.get(FREE) {
            Some(Ok(free)) => lower(free, outcome.fits.get(ONWARDS)),
            _ if round == 0 => return Reading::Again(both()),
            Some(Err(failure)) => return Reading::Row(self.failed(model, index, "free fit", None, failure)),
            None => {
                return Reading::Row(self.failed(model, index, "free fit", None, &FitFailure::NotNeeded));
            }
        };
        if worth_repeating(free) && round == 0 {
            return Reading::Again(both());
        }
        let mu_hat = free.parameters.get(self.poi).copied().unwrap_or(f64::NAN);
        if self.beyond(mu_hat) {
            let row = self.row(index, Some(mu_hat), Some(0.0));
            return Reading::Row(marked(model, row, "free fit", free));
        }
        let conditional = match outcome.fits.get(CONDITIONAL) {
            Some(Ok(conditional)) => conditional,
            Some(Err(failure))
                if round > 0 && (*failure != FitFailure::NotNeeded || round == MOST_ROUNDS) =>
            {
                return Reading::Row(self.failed(model, index, "conditional fit", Some(mu_hat), failure));
            }
            // The conditional fit was skipped because of an earlier free fit, or it failed at its starting point.
            _ => return Reading::Again(vec![self.conditional(at(free), Search::Standard)]),
        };
        if worth_repeating(conditional) && round == 0 {
            return Reading::Again(vec![self.conditional(at(free), Search::Standard)]);
        }
        let q = 2.0 * (conditional.nll - free.nll);
        let inside = self.bounds.0 <= self.value && self.value <= self.bounds.1;
        let certain = free.converged() && conditional.converged();
        let missed = q < -tolerance(free.nll) && inside && certain;
        let onwards = outcome.fits.get(ONWARDS);
        if missed && round < MOST_ROUNDS && onwards.is_none() {
            // The conditional fit lies lower. The free fit has therefore missed a lower minimum.
            let (_, alone) = self.free(at(conditional), Search::Standard);
            return Reading::Again(vec![self.free(at(conditional), Search::Local), (ONWARDS, alone)]);
        }
        let mut row = self.row(index, Some(mu_hat), Some(q.max(0.0)));
        if missed {
            row.status = ToyStatus::NotConverged;
            row.reason = format!(
                "free fit: the conditional fit lies lower by {:.3e} in twice_nll, and there is no certified minimum below it",
                -q
            );
        }
        if let Some(Ok(onwards)) = onwards.filter(|_| missed) {
            row = marked(model, row, "free fit from there", onwards);
        }
        let row = marked(model, row, "free fit", free);
        Reading::Row(marked(model, row, "conditional fit", conditional))
    }
}

#[cfg(test)]
mod tests {
    use ns_core::{Certificate, FitStatus, Interpolation, Observations, Reason};

    use super::*;

    fn model() -> Model {
        Model {
            format: ns_core::ModelFormat::Pyhf,
            unobserved: Vec::new(),
            measurement: "m".into(),
            channels: Vec::new(),
            parameters: Vec::new(),
            parameter_sets: Vec::new(),
            pois: vec![0],
            interpolation: Interpolation::SMOOTH,
            functions: Vec::new(),
            event_channels: Vec::new(),
            penalties: Vec::new(),
            open: Vec::new(),
            observed: Observations::default(),
            warnings: Vec::new(),
        }
    }

    fn reader() -> StatisticReader {
        StatisticReader {
            hypothesis: Hypothesis::Signal,
            statistic: TestStatistic::Qtilde,
            poi: 0,
            value: 1.0,
            bounds: (0.0, 10.0),
            base: FitRequest { start: Start::At(Arc::from([0.5])), ..FitRequest::default() },
        }
    }

    type Fit = Result<FitOutcome, FitFailure>;

    fn fit(mu: f64, nll: f64, status: FitStatus) -> Fit {
        Ok(FitOutcome {
            status,
            parameters: vec![mu],
            nll,
            certificate: Certificate {
                edm: 1e-13,
                projected_gradient: 0.0,
                indefinite_steps: 0,
                restarts_improved: 0,
                integral_error: None,
            },
            n_iterations: 1,
            n_search_iterations: 0,
            n_evaluations: 1,
            inactive: Vec::new(),
            empty_bins: Vec::new(),
            empty_channels: Vec::new(),
            uncertainties: Vec::new(),
            covariance: None,
            factors: None,
        })
    }

    fn good(mu: f64, nll: f64) -> Fit {
        fit(mu, nll, FitStatus::Converged)
    }

    fn stopped(mu: f64, nll: f64, reason: Reason) -> Fit {
        fit(mu, nll, FitStatus::NotConverged(reason))
    }

    fn not_finite() -> Fit {
        Err(FitFailure::NotFinite { bin: 0, expected: -1.0, observed: 1.0 })
    }

    /// Index of a fit that has to be made, its starting point, and its fixed parameters with their values.
    type Asked = (usize, Vec<f64>, Vec<(usize, f64)>);

    /// Returns the fits that the reader requests after `round` rounds of repeated fits.
    fn again(round: usize, free: Fit, conditional: Fit) -> Vec<Asked> {
        match reader().read(&model(), 3, &TaskOutcome { fits: vec![free, conditional] }, round) {
            Reading::Row(_) => Vec::new(),
            Reading::Again(requests) => requests
                .into_iter()
                .map(|(place, request)| match request.start {
                    Start::At(start) => (place, start.to_vec(), request.fixed),
                    _ => (place, Vec::new(), request.fixed),
                })
                .collect(),
        }
    }

    fn row(round: usize, free: Fit, conditional: Fit) -> Option<ToyRow> {
        match reader().read(&model(), 3, &TaskOutcome { fits: vec![free, conditional] }, round) {
            Reading::Row(row) => Some(row),
            Reading::Again(_) => None,
        }
    }

    fn statistic(row: Option<ToyRow>) -> Option<(f64, ToyStatus)> {
        row.and_then(|row| Some((row.statistic?, row.status)))
    }

    #[test]
    fn the_statistic_is_twice_the_rise_and_0_beyond_the_tested_value() {
        let converged = |q| Some((q, ToyStatus::Converged));
        assert_eq!(statistic(row(0, good(0.3, 5.0), good(1.0, 5.75))), converged(1.5));
        assert_eq!(statistic(row(0, good(1.1, 5.0), Err(FitFailure::NotNeeded))), converged(0.0));
        // At exactly the tested value, the statistic is the rise. If rounding makes the rise negative, it counts as
        // 0.
        assert_eq!(statistic(row(0, good(1.0, 5.0), good(1.0, 5.0 - 1e-9))), converged(0.0));
    }

    #[test]
    fn a_conditional_fit_below_the_free_one_sends_the_free_one_there() {
        let requests = again(0, good(0.3, 5.0), good(1.0, 4.0));
        assert_eq!(requests, [(FREE, vec![1.0], vec![]), (ONWARDS, vec![1.0], vec![])]);
        // The lower free fit may lie above the tested value, where the statistic is 0, or below it, where the
        // statistic is positive.
        assert_eq!(statistic(row(1, good(1.4, 3.0), good(1.0, 4.0))), Some((0.0, ToyStatus::Converged)));
        assert_eq!(
            statistic(row(1, good(0.9, 3.9), good(1.0, 4.0))).map(|q| (q.0 * 1e9).round()),
            Some(0.2e9)
        );
    }

    #[test]
    fn a_conditional_minimum_from_which_the_free_fit_falls_without_end_is_told_with_its_bins() {
        let read = |onwards: Fit| {
            let fits = vec![good(0.3, 5.0), good(1.0, 4.0), onwards];
            match reader().read(&model(), 3, &TaskOutcome { fits }, 1) {
                Reading::Row(row) => Some(row),
                Reading::Again(_) => None,
            }
        };
        let endless = stopped(2.0, -9.0, Reason::Unbounded);
        let endless = read(endless.map(|fit| FitOutcome { empty_bins: vec![2], ..fit }));
        assert!(endless.is_some_and(|r| {
            (r.status, r.statistic, r.mu_hat) == (ToyStatus::NotConverged, Some(0.0), Some(0.3))
                && r.reason.contains("lower by 2.000e0")
                && r.reason.contains("free fit from there: not converged: the function falls without end")
                && r.reason.ends_with("with no expected events left in bin 2")
        }));
        // The second free fit may also find the missed minimum, or fail.
        assert_eq!(statistic(read(good(0.9, 3.75))), Some((0.5, ToyStatus::Converged)));
        let nothing = read(not_finite());
        assert!(nothing.is_some_and(|r| r.reason.ends_with("no certified minimum below it")));
    }

    #[test]
    fn bad_fits_are_made_again_and_then_told() {
        let from_point = [(FREE, vec![0.5], vec![]), (CONDITIONAL, vec![0.5], vec![(0, 1.0)])];
        assert_eq!(again(0, not_finite(), not_finite()), from_point);
        assert_eq!(again(0, stopped(0.3, 5.0, Reason::IterationLimit), good(1.0, 6.0)), from_point);
        let conditional = [(CONDITIONAL, vec![0.3], vec![(0, 1.0)])];
        assert_eq!(again(0, good(0.3, 5.0), stopped(1.0, 6.0, Reason::NoProgress)), conditional);
        assert_eq!(again(1, good(0.3, 5.0), Err(FitFailure::NotNeeded)), conditional);

        let failed = row(1, not_finite(), not_finite());
        assert!(failed.is_some_and(|r| {
            (r.status, r.statistic, r.mu_hat) == (ToyStatus::Failed, None, None)
                && r.reason.starts_with("free fit")
        }));
        let failed = row(1, good(0.3, 5.0), not_finite());
        assert!(failed.is_some_and(|r| r.status == ToyStatus::Failed && r.mu_hat == Some(0.3)));
        let limit = || stopped(0.3, 5.0, Reason::IterationLimit);
        assert_eq!(statistic(row(1, limit(), good(1.0, 6.0))), Some((2.0, ToyStatus::NotConverged)));
        let missed = row(MOST_ROUNDS, good(0.3, 5.0), good(1.0, 4.0));
        assert!(missed.is_some_and(|r| {
            (r.status, r.statistic) == (ToyStatus::NotConverged, Some(0.0))
                && r.reason.contains("lower by 2.000e0")
        }));
        // A likelihood that falls without bound has no minimum. Its fits are not repeated.
        let endless = row(0, stopped(0.3, 5.0, Reason::Unbounded), good(1.0, 6.0));
        assert!(
            endless.is_some_and(|r| r.status == ToyStatus::NotConverged && r.reason.contains("without end"))
        );
    }
}
