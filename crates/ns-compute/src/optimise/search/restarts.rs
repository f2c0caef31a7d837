//! Tries combinations of many parameters around minima other than the best one.
//!
//! The combinations come from an additive model of the likelihood around one minimum (`additive`). Around another
//! minimum the combinations are different. They lead to minima that the model around the best minimum does not predict.

use ns_core::Search;

use super::super::descend::descend;
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, SAME_VALUE, SHORT, attempt_below, runaway};
use super::combinations::{Effort, combinations};
use super::scatter::scattered;

/// Limits of a search that starts from scattered points and tries combinations around the minima it finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Restarts {
    /// Number of scattered starting points.
    starts: usize,
    /// Combinations around a minimum are tried only if `-ln L` at this minimum exceeds the best value by at most this
    /// number.
    most_rise: f64,
    /// How many combinations are drawn and how many descents are made around each minimum.
    combinations: Effort,
}

impl Restarts {
    /// Returns the limits of a search with the given `effort`. If `kinks` is true (the model has kinks), the limits of
    /// a thorough search are lower, because nearly every starting point leads to a different minimum.
    pub(super) fn of(effort: Search, kinks: bool) -> Self {
        match (effort, kinks) {
            (Search::Thorough, false) => Self { starts: 200, most_rise: 8.0, combinations: Effort::SOME },
            (Search::Thorough, true) => Self { starts: 64, most_rise: 5.0, combinations: Effort::FEW },
            _ => Self { starts: 16, most_rise: 5.0, combinations: Effort::FEW },
        }
    }
}

/// Descends from scattered points within the bounds. Also descends from combinations of parameter values around each
/// new minimum.
pub(super) fn restarts(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    effort: Restarts,
    found: &mut BestSoFar,
) {
    let mut known = vec![found.best.value()];
    for index in 0..effort.starts {
        if problem.is_cancelled() || found.is_spent(worker) {
            return;
        }
        let Ok(other) = descend(worker, problem, &scattered(problem, start, index), SHORT) else { continue };
        let value = other.value();
        if runaway(&other)
            || value < other.likelihood.least
            || value > found.best.value() + effort.most_rise
            || known.iter().any(|seen| (seen - value).abs() < SAME_VALUE)
        {
            found.iterations += other.iterations;
            continue;
        }
        known.push(value);
        let mut beside = found.beside(other);
        combinations(worker, problem, effort.combinations, &mut beside);
        found.iterations += beside.iterations;
        attempt_below(worker, problem, &beside.best.theta, found);
    }
}
