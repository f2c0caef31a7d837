//! Starts all over the box of small models.

use super::super::descend::descend;
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, SHORT, attempt, short_attempt};
use super::scatter::{MOST_FREE, MOST_STARTS, may_have_several_minima, scattered};

/// Iterations of all scattered descents, about.
const MOST_SCATTERED_ITERATIONS: usize = 1500;

/// From all asymmetric parameters moved by a width up and down, and from free factors lower and higher: products of them
/// have several valleys.
pub(super) fn attempt_shifted(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) {
    let plan = problem.plan;
    let ways: [(&[bool], bool, f64, f64); 4] = [
        (&plan.asymmetric, true, 1.0, 1.0),
        (&plan.asymmetric, true, 1.0, -1.0),
        (&plan.constrained, false, 0.3, 0.0),
        (&plan.constrained, false, 3.0, 0.0),
    ];
    for (marked, wanted, factor, shift) in ways {
        let mut other = start.to_vec();
        for p in 0..other.len() {
            if !problem.fixed[p] && marked[p] == wanted {
                other[p] = (factor * other[p] + shift).clamp(problem.lower[p], problem.upper[p]);
            }
        }
        if other != start {
            attempt(worker, problem, &other, found);
        }
    }
}

/// Small models: beyond the other side of each asymmetric parameter, and all over the box.
pub(super) fn search_whole_box(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) {
    let free = problem.fixed.iter().filter(|&&fixed| !fixed).count();
    if free > MOST_FREE || !may_have_several_minima(problem) {
        return;
    }
    for p in 0..start.len() {
        if problem.plan.asymmetric[p] && !problem.fixed[p] && !problem.is_cancelled() {
            cross(worker, problem, p, found);
        }
    }
    other_bounds(worker, problem, found);
    let most = found.iterations + MOST_SCATTERED_ITERATIONS;
    for index in 0..MOST_STARTS {
        if found.census.is_complete() || found.iterations > most || problem.is_cancelled() {
            break;
        }
        let start = scattered(problem, start, index);
        short_attempt(worker, problem, &start, found);
    }
}

/// From the other bound of each unconstrained parameter that ended at one: it has no scale on which another start would
/// be far away.
fn other_bounds(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    for p in 0..problem.fixed.len() {
        if problem.fixed[p] || problem.plan.constrained[p] {
            continue;
        }
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        let other = match found.best.theta[p] {
            x if x == lower => upper,
            x if x == upper => lower,
            _ => continue,
        };
        if other.is_finite() {
            let mut trial = found.best.theta.clone();
            trial[p] = other;
            attempt(worker, problem, &trial, found);
        }
    }
}

/// Holds each of the `most` most nonlinear parameters on its other side.
pub(super) fn crossings(worker: &mut Worker, problem: &Problem<'_>, most: usize, found: &mut BestSoFar) {
    let amount = &problem.plan.nonlinearity.amount;
    let mut nonlinear: Vec<usize> =
        (0..amount.len()).filter(|&p| problem.plan.asymmetric[p] && !problem.fixed[p]).collect();
    nonlinear.sort_by(|&a, &b| amount[b].total_cmp(&amount[a]));
    for p in nonlinear.into_iter().take(most) {
        if problem.is_cancelled() {
            return;
        }
        cross(worker, problem, p, found);
    }
}

/// Holds one parameter on its other side (near 0: on either) until the others have followed, then
/// lets it go.
fn cross(worker: &mut Worker, problem: &Problem<'_>, p: usize, found: &mut BestSoFar) {
    let mut held = problem.clone();
    held.fixed[p] = true;
    let value = found.best.theta[p];
    let sides: &[f64] = if value.abs() < 0.5 { &[1.0, -1.0] } else { &[-value] };
    for far in sides {
        let mut trial = found.best.theta.clone();
        trial[p] = far.clamp(problem.lower[p], problem.upper[p]);
        if let Ok(other) = descend(worker, &held, &trial, SHORT) {
            found.iterations += other.iterations;
            short_attempt(worker, problem, &other.theta, found);
        }
    }
}
