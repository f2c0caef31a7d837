//! Searches all values within the bounds (the box) of small models.

use ns_core::FitStatus;

use super::super::descend::{Descent, descend};
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, SAME_VALUE, SHORT, attempt, runaway, short_attempt};
use super::scatter::{MOST_FREE, MOST_STARTS, Scatter, may_have_several_minima, scattered};

/// Largest number of free parameters of a model in which each parameter is also fixed at each of its bounds.
const TINY_MODEL: usize = 16;

/// Largest number of corners of the bounds at which descents begin: all of up to seven free parameters.
const MOST_CORNERS: usize = 128;
const CORNERS_SEED: u64 = 0xC0E;

/// Largest number of minima, besides the best one, around which parameters are fixed at their bounds once more. These
/// minima were found by fixing a parameter at a bound.
const MOST_OTHERS: usize = 6;
/// Parameters are fixed at bounds around a minimum only if `-ln L` at this minimum exceeds the value at the best
/// minimum by at most this number.
const MOST_RISE: f64 = 5.0;

/// Approximate limit of the total number of iterations of all descents from scattered points.
const MOST_SCATTERED_ITERATIONS: usize = 1500;

/// How many times as many descents begin at scattered points where other minima are common, and in a thorough search.
const MORE: usize = 6;

/// Descends from points at which all asymmetric parameters are moved up or down by 1. Also descends from points at
/// which all unconstrained parameters are multiplied by 0.3 or by 3, because products of free factors have several
/// valleys.
pub(super) fn attempt_shifted(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) {
    let plan = problem.plan;
    let ways: [(&[bool], bool, f64, f64); 4] = [
        (&plan.policy.asymmetric, true, 1.0, 1.0),
        (&plan.policy.asymmetric, true, 1.0, -1.0),
        (&plan.structure.constrained, false, 0.3, 0.0),
        (&plan.structure.constrained, false, 3.0, 0.0),
    ];
    for (marked, wanted, factor, shift) in ways {
        let mut other = start.to_vec();
        for p in 0..other.len() {
            if !problem.fixed[p] && marked[p] == wanted {
                other[p] = (factor * other[p] + shift).clamp(problem.lower[p], problem.upper[p]);
            }
        }
        // A descent without a minimum says nothing of what a search costs.
        if other != start && (runaway(&found.best) || !found.is_spent(worker)) {
            attempt(worker, problem, &other, found);
        }
    }
}

/// Searches all values within the bounds of a small model: at the opposite sign of each asymmetric parameter, at
/// bounds, and from scattered points. If `neighbour` is true, the minimum is close to that of an earlier fit, which has
/// tried most bounds. These bounds are then not tried again. At least `fewest` descents begin at scattered points, and more
/// than usual at most if `more` is true.
pub(super) fn search_whole_box(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    (neighbour, fewest, more): (bool, usize, bool),
    found: &mut BestSoFar,
) {
    let free = problem.fixed.iter().filter(|&&fixed| !fixed).count();
    if free > MOST_FREE || !may_have_several_minima(problem) {
        return;
    }
    found.begin_last(worker);
    for p in 0..start.len() {
        if problem.plan.policy.asymmetric[p] && !problem.fixed[p] && !ends(worker, problem, found) {
            cross(worker, problem, p, found);
        }
    }
    let all = !neighbour && free <= TINY_MODEL;
    let others = bounds(worker, problem, all, found);
    // The lowest minimum may have two parameters at their bounds. In another minimum one of the two is also at its
    // bound. It is fixed there while the other parameters are tried at their bounds.
    for other in others.into_iter().filter(|_| all) {
        if ends(worker, problem, found) {
            break;
        }
        let mut held = problem.clone();
        hold_at_bounds(&mut held, &other.theta);
        let mut beside = found.beside(Descent { iterations: 0, ..other });
        bounds(worker, &held, true, &mut beside);
        found.iterations += beside.iterations;
        short_attempt(worker, problem, &beside.best.theta, found);
    }
    let times = if more { MORE } else { 1 };
    let most = found.iterations + times * MOST_SCATTERED_ITERATIONS;
    for index in 0..times * MOST_STARTS {
        let is_complete = found.census.is_complete() && index >= fewest;
        if is_complete || found.iterations > most || ends(worker, problem, found) {
            break;
        }
        let start = scattered(problem, start, index);
        short_attempt(worker, problem, &start, found);
    }
    if all {
        corners(worker, problem, found);
    }
}

/// Descends from every corner of the bounds, or from random ones if there are more than [`MOST_CORNERS`]. The lowest minimum
/// may have several parameters at bounds that no single parameter leads to.
fn corners(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let bounded = |p: &usize| problem.lower[*p].is_finite() && problem.upper[*p].is_finite();
    let mut free: Vec<usize> =
        (0..problem.fixed.len()).filter(|p| !problem.fixed[*p]).filter(bounded).collect();
    if 1 << free.len() > MOST_CORNERS {
        free.retain(|p| may_hide(problem, *p, true));
    }
    let all = 1 << free.len() <= MOST_CORNERS;
    let mut scatter = Scatter::new(CORNERS_SEED);
    let mut start = found.best.theta.clone();
    for corner in 0..MOST_CORNERS.min(1 << free.len()) {
        if ends(worker, problem, found) {
            return;
        }
        for (i, &p) in free.iter().enumerate() {
            let is_lower = if all { corner >> i & 1 == 0 } else { scatter.uniform() < 0.0 };
            start[p] = if is_lower { problem.lower[p] } else { problem.upper[p] };
        }
        short_attempt(worker, problem, &start, found);
    }
}

/// Fixes one free parameter after the other at each of its bounds, minimises all other parameters, and then frees the
/// parameter. Returns the minima that are neither the best one nor far above the best one.
///
/// If `all` is true, two kinds of parameters are tried: unconstrained parameters, which have no scale for a distant
/// starting point, and constrained parameters with an asymmetric effect, which may have a distant minimum. If `all` is
/// false, only unconstrained parameters that ended at a bound are tried. They are fixed at the other bound.
fn bounds(worker: &mut Worker, problem: &Problem<'_>, all: bool, found: &mut BestSoFar) -> Vec<Descent> {
    let mut others: Vec<Descent> = Vec::new();
    for p in 0..problem.fixed.len() {
        if problem.fixed[p] || !may_hide(problem, p, all) {
            continue;
        }
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        let here = found.best.theta[p];
        if !all && here != lower && here != upper {
            continue;
        }
        for bound in [lower, upper] {
            if !bound.is_finite() || bound == found.best.theta[p] || ends(worker, problem, found) {
                continue;
            }
            let Some(end) = hold(worker, problem, p, bound, found) else { continue };
            let rise = end.value() - found.best.value();
            let new = |other: &Descent| (other.value() - end.value()).abs() > SAME_VALUE;
            if end.status == FitStatus::Converged
                && !runaway(&end)
                && (SAME_VALUE..MOST_RISE).contains(&rise)
                && others.len() < MOST_OTHERS
                && others.iter().all(new)
            {
                others.push(end);
            }
        }
    }
    others
}

/// Returns whether a minimum may be hidden at a bound of the parameter `p`: see [`bounds`].
fn may_hide(problem: &Problem<'_>, p: usize, all: bool) -> bool {
    !problem.plan.structure.constrained[p] || (all && problem.plan.policy.asymmetric[p])
}

/// Returns whether the search ends here.
fn ends(worker: &Worker, problem: &Problem<'_>, found: &mut BestSoFar) -> bool {
    problem.is_cancelled() || found.is_spent(worker)
}

/// Fixes the parameters that are at one of their bounds in `theta`.
fn hold_at_bounds(problem: &mut Problem<'_>, theta: &[f64]) {
    for (p, value) in theta.iter().enumerate() {
        problem.fixed[p] |= *value == problem.lower[p] || *value == problem.upper[p];
    }
}

/// Fixes a parameter at its opposite sign, minimises all other parameters, and then frees the parameter. Does this for
/// each of the `most` most nonlinear parameters.
pub(super) fn crossings(worker: &mut Worker, problem: &Problem<'_>, most: usize, found: &mut BestSoFar) {
    let amount = &problem.plan.policy.nonlinearity.amount;
    let mut nonlinear: Vec<usize> =
        (0..amount.len()).filter(|&p| problem.plan.policy.asymmetric[p] && !problem.fixed[p]).collect();
    nonlinear.sort_by(|&a, &b| amount[b].total_cmp(&amount[a]));
    for p in nonlinear.into_iter().take(most) {
        if ends(worker, problem, found) {
            return;
        }
        cross(worker, problem, p, found);
    }
}

/// Fixes the parameter `p` at its opposite sign, minimises all other parameters, and then frees the parameter. A
/// parameter near 0 is fixed at 1 and at -1 instead.
fn cross(worker: &mut Worker, problem: &Problem<'_>, p: usize, found: &mut BestSoFar) {
    let value = found.best.theta[p];
    let sides: &[f64] = if value.abs() < 0.5 { &[1.0, -1.0] } else { &[-value] };
    for far in sides {
        hold(worker, problem, p, *far, found);
    }
}

/// Fixes the parameter `p` at the value `at`, minimises all other parameters, and then frees the parameter. If others ended
/// at their bounds meanwhile, they are also freed after the parameter: they would leave while it takes its first step.
/// Returns the result of the final descent if it is not lower than the best result so far.
fn hold(
    worker: &mut Worker,
    problem: &Problem<'_>,
    p: usize,
    at: f64,
    found: &mut BestSoFar,
) -> Option<Descent> {
    let mut held = problem.clone();
    held.fixed[p] = true;
    let mut trial = found.best.theta.clone();
    trial[p] = at.clamp(problem.lower[p], problem.upper[p]);
    let other = descend(worker, &held, &trial, SHORT).ok()?;
    found.iterations += other.iterations;
    let end = short_attempt(worker, problem, &other.theta, found)?;
    held.fixed.copy_from_slice(&problem.fixed);
    hold_at_bounds(&mut held, &other.theta);
    held.fixed[p] = problem.fixed[p];
    let newly = |q: usize| held.fixed[q] && !problem.fixed[q] && other.theta[q] != found.best.theta[q];
    if (0..held.fixed.len()).any(newly)
        && let Ok(other) = descend(worker, &held, &other.theta, SHORT)
    {
        found.iterations += other.iterations;
        short_attempt(worker, problem, &other.theta, found)?;
    }
    Some(end)
}
