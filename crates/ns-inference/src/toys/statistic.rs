//! The test statistic of one toy, from its free and its conditional fit.

use std::sync::Arc;

use ns_core::{Condition, FitFailure, FitOutcome, FitRequest, Model, Search, Start, TaskOutcome};

use super::stream::{MOST_ROUNDS, Reader, Reading};
use super::{Hypothesis, ToyRow, ToyStatus};
use crate::TestStatistic;
use crate::fit::diagnosis;
use crate::minos::tolerance;

/// The free and the conditional fit of a toy.
const FREE: usize = 0;
/// See [`FREE`].
const CONDITIONAL: usize = 1;

/// Reads the toys of one hypothesis.
pub(super) struct StatisticReader<'a> {
    pub(super) model: &'a Model,
    pub(super) hypothesis: Hypothesis,
    pub(super) statistic: TestStatistic,
    pub(super) poi: usize,
    /// The tested value.
    pub(super) value: f64,
    /// Bounds of the parameter of interest in the free fit.
    pub(super) bounds: (f64, f64),
    /// What both fits vary, from the generating point.
    pub(super) base: FitRequest,
}

/// When the conditional fit matters: where the best fit does not lie beyond the tested value.
pub(super) fn needed(statistic: TestStatistic, poi: usize, value: f64) -> Condition {
    let range = match statistic {
        TestStatistic::Q | TestStatistic::Qtilde => (f64::NEG_INFINITY, value),
        TestStatistic::Q0 => (value, f64::INFINITY),
    };
    Condition { fit: FREE, parameter: poi, range }
}

impl StatisticReader<'_> {
    /// True where the statistic is 0 whatever the conditional fit says.
    fn beyond(&self, mu_hat: f64) -> bool {
        match self.statistic {
            TestStatistic::Q | TestStatistic::Qtilde => mu_hat > self.value,
            TestStatistic::Q0 => mu_hat < self.value,
        }
    }

    /// The free fit from a point.
    fn free(&self, start: Start, search: Search) -> (usize, FitRequest) {
        (FREE, FitRequest { start, search, ..self.base.clone() })
    }

    /// The conditional fit from a point.
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

    /// A toy one of whose fits could not be made.
    fn failed(&self, index: u64, which: &str, mu_hat: Option<f64>, failure: &FitFailure) -> ToyRow {
        ToyRow {
            status: ToyStatus::Failed,
            reason: format!("{which}: {}", diagnosis::failure(self.model, failure)),
            ..self.row(index, mu_hat, None)
        }
    }

    /// Marks a toy whose fit ended without a certificate.
    fn marked(&self, row: ToyRow, which: &str, fit: &FitOutcome) -> ToyRow {
        if fit.converged() {
            return row;
        }
        let mut reason = format!("{which}: {}", diagnosis::termination(fit));
        if !row.reason.is_empty() {
            reason = format!("{}; {reason}", row.reason);
        }
        ToyRow { status: ToyStatus::NotConverged, reason, ..row }
    }
}

fn at(fit: &FitOutcome) -> Start {
    Start::At(Arc::from(fit.parameters.as_slice()))
}

impl Reader for StatisticReader<'_> {
    type Row = ToyRow;

    fn read(&self, index: u64, outcome: &TaskOutcome, round: usize) -> Reading<ToyRow> {
        let start = || self.base.start.clone();
        let both = || vec![self.free(start(), Search::Standard), self.conditional(start(), Search::Standard)];
        let free = match outcome.fits.get(FREE) {
            Some(Ok(free)) => free,
            _ if round == 0 => return Reading::Again(both()),
            Some(Err(failure)) => return Reading::Row(self.failed(index, "free fit", None, failure)),
            None => {
                return Reading::Row(self.failed(index, "free fit", None, &FitFailure::NotNeeded));
            }
        };
        if !free.converged() && round == 0 {
            return Reading::Again(both());
        }
        let mu_hat = free.parameters.get(self.poi).copied().unwrap_or(f64::NAN);
        if self.beyond(mu_hat) {
            let row = self.row(index, Some(mu_hat), Some(0.0));
            return Reading::Row(self.marked(row, "free fit", free));
        }
        let conditional = match outcome.fits.get(CONDITIONAL) {
            Some(Ok(conditional)) => conditional,
            Some(Err(failure)) if round == MOST_ROUNDS => {
                return Reading::Row(self.failed(index, "conditional fit", Some(mu_hat), failure));
            }
            // Skipped, since an earlier free fit had decided; or not finite where it started.
            _ => return Reading::Again(vec![self.conditional(at(free), Search::Standard)]),
        };
        if !conditional.converged() && round == 0 {
            return Reading::Again(vec![self.conditional(at(free), Search::Standard)]);
        }
        let q = 2.0 * (conditional.nll - free.nll);
        let inside = self.bounds.0 <= self.value && self.value <= self.bounds.1;
        if q < -tolerance(free.nll) && inside && round < MOST_ROUNDS {
            // The free fit missed a lower minimum: it is there for the taking.
            return Reading::Again(vec![self.free(at(conditional), Search::Local)]);
        }
        let row = self.row(index, Some(mu_hat), Some(q.max(0.0)));
        let row = self.marked(row, "free fit", free);
        Reading::Row(self.marked(row, "conditional fit", conditional))
    }
}
