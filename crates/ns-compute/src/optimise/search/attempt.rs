//! Runs one more descent, and decides whether its result replaces the best minimum so far.

use ns_core::{FitStatus, Reason};

use super::super::descend::{Descent, Mode, descend};
use super::super::prices::Nanoseconds;
use super::super::{Problem, Worker};
use super::budget::{Budget, Method};
use super::scatter::Census;

/// Options of a descent that is one of many. It is limited to few iterations.
pub(super) const SHORT: Mode = Mode { iterations: 60, ..Mode::from(false) };

/// Two minima count as the same minimum if their values of `-ln L` differ by less than this number.
pub(super) const SAME_VALUE: f64 = 1e-6;

/// The best result of several descents, with totals over all descents.
pub(in super::super) struct BestSoFar {
    pub(in super::super) best: Descent,
    pub(in super::super) iterations: usize,
    /// Iterations of the first descent, which are among `iterations`.
    pub(in super::super) first_iterations: usize,
    pub(in super::super) improved: usize,
    /// How many of the lower results had a certificate.
    minima: usize,
    pub(super) census: Census,
    pub(super) budget: Budget,
}

impl BestSoFar {
    pub(super) fn new(best: Descent) -> Self {
        let mut census = Census::default();
        census.count(best.value());
        Self {
            iterations: best.iterations,
            first_iterations: best.iterations,
            best,
            improved: 0,
            minima: 0,
            census,
            budget: Budget::UNLIMITED,
        }
    }

    /// Another minimum that a search compares with the best one. What is lower than `other` alone does not extend the
    /// budget of the search.
    pub(super) fn beside(&self, other: Descent) -> Self {
        Self { budget: self.budget.fixed(), ..Self::new(other) }
    }

    /// Begins a method of the search, which has a share of the budget.
    pub(super) fn begin(&mut self, worker: &Worker, method: Method) {
        self.budget.begin(worker.spent, method);
    }

    /// Begins the last method of the search.
    pub(super) fn begin_last(&mut self, worker: &Worker) {
        self.budget.begin_last(worker.spent);
    }

    /// Returns whether the current method has used up its budget.
    pub(super) fn is_spent(&mut self, worker: &Worker) -> bool {
        self.left(worker) <= 0.0
    }

    /// Returns the price that the current method may still have.
    pub(super) fn left(&mut self, worker: &Worker) -> Nanoseconds {
        self.budget.reward(worker.spent, self.minima);
        self.budget.left(worker.spent)
    }
}

/// Runs a descent of few iterations from `start`, and keeps its result if it is lower than the best result so far. If
/// the descent ends below the best result without a certificate, [`attempt`] continues it. Returns the result if it
/// was not kept. Returns `None` if it was kept, if the descent was continued, or if it failed.
pub(super) fn short_attempt(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) -> Option<Descent> {
    let other = descend(worker, problem, start, SHORT).ok()?;
    if other.status != FitStatus::Converged && other.value() < found.best.value() {
        found.iterations += other.iterations;
        attempt(worker, problem, &other.theta, found);
        return None;
    }
    let end = other.clone();
    (!take(other, found)).then_some(end)
}

/// Runs a descent from `start`, and keeps its result if it is lower than the best result so far. Returns whether the
/// result was kept.
pub(super) fn attempt(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) -> bool {
    let Ok(other) = descend(worker, problem, start, Mode::from(false)) else { return false };
    take(other, found)
}

/// Runs a descent from one of many starting points around the best minimum, and keeps its result like [`attempt`].
/// Most of these descents lead back to the best minimum. Such a descent ends as soon as this is expected. Returns
/// whether the result was kept.
pub(super) fn attempt_below(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) -> bool {
    let mode = Mode { beat: Some(found.best.value()), ..Mode::from(false) };
    let Ok(other) = descend(worker, problem, start, mode) else { return false };
    if other.status != FitStatus::Converged && other.value() >= found.best.value() {
        found.iterations += other.iterations;
        return false;
    }
    take(other, found)
}

/// Returns whether `-ln L` fell without limit in a descent. This is the case if the result has no certificate and is
/// far below the value of the saturated model.
pub(super) fn runaway(descent: &Descent) -> bool {
    descent.status == FitStatus::NotConverged(Reason::Unbounded)
        || (descent.status != FitStatus::Converged && descent.value() < descent.likelihood.least)
}

/// Keeps the result `other` of a descent if it is lower than the best result so far. Returns whether it was kept.
pub(super) fn take(other: Descent, found: &mut BestSoFar) -> bool {
    found.iterations += other.iterations;
    found.census.count(other.value());
    let noise = 64.0 * f64::EPSILON * other.likelihood.scale + 1e-10;
    let better = match (runaway(&other), runaway(&found.best)) {
        // A certified minimum is kept even if `-ln L` falls without limit elsewhere, because such points are
        // unphysical.
        (false, true) => other.status == FitStatus::Converged,
        (true, false) => found.best.status != FitStatus::Converged,
        // A point without a certificate does not replace a certified minimum either.
        _ if found.best.status == FitStatus::Converged && other.status != FitStatus::Converged => false,
        _ => {
            other.value() < found.best.value() - noise
                || (other.status == FitStatus::Converged
                    && found.best.status != FitStatus::Converged
                    && other.value() < found.best.value() + noise)
        }
    };
    if better {
        found.improved += 1;
        found.minima += usize::from(other.status == FitStatus::Converged);
        found.best = other;
    }
    better
}
