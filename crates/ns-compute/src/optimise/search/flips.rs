//! Tries the opposite sign of parameters that are not 0 at the minimum, one parameter at a time.

use ns_core::Search;

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt, attempt_below};
use crate::shared_constants::{MOST_FLIPS, MOST_RISE};

/// Descends from a point at which all nonlinear parameters whose absolute value is above 1 have the opposite sign. In a
/// second minimum, several of these parameters often have the opposite sign.
pub(super) fn mirror_strong_pulls(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let mut trial = found.best.theta.clone();
    let mut mirrored = false;
    for p in 0..trial.len() {
        if problem.plan.policy.nonlinear[p] && !problem.fixed[p] && trial[p].abs() > 1.0 {
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            mirrored = true;
        }
    }
    if mirrored {
        attempt(worker, problem, &trial, found);
    }
}

/// Tries asymmetric parameters at the opposite sign, one parameter at a time.
///
/// A descent starts from the point with one changed sign if `-ln L` is low there. In the default search the rise of
/// `-ln L` to this point must also be less than 1.5 times the rise to the point with the parameter at 0. In a single
/// valley `-ln L` is a parabola, and this ratio is 4. The default search of models with kinks has [`sides`](super::sides)
/// instead.
pub(super) fn flips(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar, effort: Search) {
    let plan = problem.plan;
    // Two limits: the largest rise of `-ln L` from the minimum to the point with one changed sign, and the largest
    // number of descents.
    let (threshold, most) = match (effort, plan.structure.has_kinks) {
        (Search::Thorough, true) => (10.0, 1024),
        (Search::Thorough, false) => (10.0, 64),
        _ => (MOST_RISE, MOST_FLIPS),
    };
    let every_valley = effort == Search::Thorough;
    let smallest = if every_valley { 0.0 } else { 0.25 };
    let mut descents = 0;
    let mut tried = vec![false; found.best.theta.len()];
    loop {
        let lowest = found.best.value();
        let mut trial = found.best.theta.clone();
        let mut candidates: Vec<(f64, usize)> = Vec::new();
        for p in 0..tried.len() {
            if problem.is_cancelled() {
                return;
            }
            let value = found.best.theta[p];
            let able = if every_valley { plan.policy.asymmetric[p] } else { plan.policy.nonlinear[p] };
            if tried[p] || problem.fixed[p] || !able || value == 0.0 || value.abs() < smallest {
                continue;
            }
            let mut rise = |to: f64| {
                trial[p] = to.clamp(problem.lower[p], problem.upper[p]);
                let rise = worker.evaluate(problem, &trial, 0.0).value() - lowest;
                trial[p] = value;
                rise
            };
            let mirrored = rise(-value);
            if mirrored < threshold && (every_valley || mirrored < 1.5 * rise(0.0)) {
                candidates.push((mirrored, p));
            } else {
                tried[p] = true;
            }
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut improved = false;
        for (_, p) in candidates {
            if descents >= most || found.is_spent(worker) {
                return;
            }
            tried[p] = true;
            descents += 1;
            let mut trial = found.best.theta.clone();
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            let lower = if plan.structure.has_kinks {
                attempt_below(worker, problem, &trial, found)
            } else {
                attempt(worker, problem, &trial, found)
            };
            if lower {
                // Around a new minimum of a model with kinks, every parameter is tried again.
                if plan.structure.has_kinks {
                    tried.fill(false);
                }
                improved = true;
                break;
            }
        }
        if !improved {
            return;
        }
    }
}
