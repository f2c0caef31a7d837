//! Which start points deserve a descent.
//!
//! The first descent ends in the valley of its start. `flips` and `lines` look along single parameters from there,
//! `factors` along free scale factors, `combinations` for many parameters at once, and `everywhere` all over the box of small
//! models. See `docs/numerics.md`.

mod additive;
mod around;
mod attempt;
mod combinations;
mod everywhere;
mod factors;
mod flips;
mod lines;
mod scatter;
mod surroundings;

use ns_core::{Covariance, FitFailure, Search};

use super::descend::{Mode, descend};
use super::neighbour::approach;
use super::{Problem, Worker};
use crate::shared_constants::BELOW_SATURATED;
use around::look_around;
use attempt::{Found, SHORT, attempt, runaway};
use everywhere::attempt_shifted;
pub(crate) use scatter::MOST_FREE;
use scatter::{MOST_STARTS, scattered};

/// Models so small that a few more descents cost microseconds.
const SMALL_MODEL: usize = 24;

/// Minimises from `start` (`cold`: far from any minimum) and, as `effort` asks, from elsewhere.
///
/// # Errors
/// If no start point has a finite likelihood.
pub(super) fn search(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    further: &[Vec<f64>],
    effort: Search,
    cold: bool,
    metric: Option<&Covariance>,
) -> Result<Found, FitFailure> {
    let first = match metric.map(|metric| approach(worker, problem, start, metric)) {
        None => descend(worker, problem, start, Mode::from(cold)),
        Some(Ok(descent)) => Ok(descent),
        Some(Err(reached)) => descend(worker, problem, &reached, Mode::from(false)),
    };
    let mut found = match first {
        Ok(best) => Found::new(best),
        Err(failure) => {
            // Any finite point will do as a beginning.
            let mut other = further.iter().filter_map(|s| descend(worker, problem, s, Mode::from(true)).ok());
            let Some(best) = other.next() else { return Err(failure) };
            Found::new(best)
        }
    };
    if effort == Search::Local {
        return Ok(found);
    }
    for other in further {
        attempt(worker, problem, other, &mut found);
    }
    let small = !problem.physical && start.len() <= SMALL_MODEL;
    if small {
        attempt_shifted(worker, problem, start, &mut found);
    }
    if runaway(&found.best) && !problem.physical {
        back(worker, problem, start, &mut found);
    }
    // Nothing is looked for around an end in bins with a negative expected yield.
    if runaway(&found.best) || found.best.value() < BELOW_SATURATED {
        return Ok(found);
    }
    look_around(worker, problem, start, Search::Standard, &mut found);
    // What the default search does comes first, so that a thorough one is never above it.
    if effort == Search::Thorough {
        if !small {
            attempt_shifted(worker, problem, start, &mut found);
        }
        look_around(worker, problem, start, Search::Thorough, &mut found);
    }
    Ok(found)
}

/// Looks for a certified minimum elsewhere, if all descents so far fell without end.
fn back(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let problem = &Problem { physical: true, ..problem.clone() };
    // First with all asymmetric effects held at their start. Without them the expected yields seldom become negative, and a
    // descent of all parameters from there often stays where they are positive.
    let mut held = problem.clone();
    for (fixed, asymmetric) in held.fixed.iter_mut().zip(&problem.plan.asymmetric) {
        *fixed |= asymmetric;
    }
    if let Ok(other) = descend(worker, &held, start, SHORT) {
        found.iterations += other.iterations;
        attempt(worker, problem, &other.theta, found);
    }
    for index in 0..MOST_STARTS {
        if !runaway(&found.best) || problem.is_cancelled() {
            return;
        }
        let start = scattered(problem, start, index);
        attempt(worker, problem, &start, found);
    }
}
