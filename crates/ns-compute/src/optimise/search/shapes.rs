//! Starts from scattered shapes of the densities of event channels, and from scattered parameters of functions that turn.
//! See `docs/numerics/minima.md`.

use ns_core::Search;

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below, short_attempt};
use super::budget::Budget;
use super::scatter::{Census, MOST_FREE, MOST_STARTS, Scatter};

/// The default search computes at most about this number of densities at single points: one or two milliseconds.
const MOST_DENSITIES: usize = 12_000;

/// A descent is supposed to need this number of evaluations.
const EVALUATIONS: usize = 10;

/// A parameter whose bounds are positive and have at least this ratio is varied evenly in its logarithm.
const WIDE: f64 = 10.0;

/// A parameter of a function without finite bounds and without a constraint is moved by up to this many times `1 + |x|`.
const REACH: f64 = 10.0;

/// Least number of descents from other values of the parameters of functions in models with at most [`MOST_FREE`] free parameters.
const FEWEST_FUNCTIONS: usize = 48;

/// Changes the shapes of densities at the best point to scattered ones, and descends from there. The number of descents
/// depends on the minima that are found, see [`Census`](super::scatter::Census); the default search makes fewer in models
/// whose evaluation is not cheap.
pub(super) fn search_shapes(
    worker: &mut Worker,
    problem: &Problem<'_>,
    effort: Search,
    found: &mut BestSoFar,
) {
    if problem.physical && effort != Search::Thorough {
        return;
    }
    let shapes = free_shapes(problem);
    if shapes.is_empty() {
        return;
    }
    let most = if effort == Search::Thorough { MOST_STARTS } else { affordable(problem) };
    for index in 0..most.min(MOST_STARTS) {
        if found.census.is_complete() || problem.is_cancelled() {
            return;
        }
        let away = |x: f64, at: f64| x * (2.0 * at).exp();
        let start = scattered(problem, &shapes, &found.best.theta, index, away);
        if effort == Search::Thorough {
            short_attempt(worker, problem, &start, found);
        } else {
            attempt_below(worker, problem, &start, found);
        }
    }
}

/// Changes the parameters in which functions are not linear to scattered values, and descends from there. Such a function
/// has the same value at several points, so that there may be a minimum near each of them.
pub(super) fn search_functions(
    worker: &mut Worker,
    problem: &Problem<'_>,
    effort: Search,
    found: &mut BestSoFar,
) {
    let mut bent = problem.plan.factors.bent_parameters();
    bent.retain(|&p| may_vary(problem, p));
    if bent.is_empty() || (problem.physical && effort != Search::Thorough) {
        return;
    }
    found.budget = Budget::of_functions(problem, worker.spent);
    // Descents from other points say nothing of these.
    found.census = Census::default();
    found.census.count(found.best.value());
    let away = |x: f64, at: f64| x + REACH * (1.0 + x.abs()) * at;
    let thorough = effort == Search::Thorough;
    let most = if thorough { 4 * MOST_STARTS } else { MOST_STARTS };
    let free = problem.fixed.iter().filter(|fixed| !**fixed).count();
    let fewest = match (thorough, free <= MOST_FREE) {
        (true, _) => MOST_STARTS,
        (false, true) => FEWEST_FUNCTIONS,
        (false, false) => 0,
    };
    for index in 0..most {
        let is_complete = index >= fewest && found.census.is_complete();
        if is_complete || problem.is_cancelled() || found.is_spent(worker) {
            return;
        }
        let start = scattered(problem, &bent, &found.best.theta, index, away);
        short_attempt(worker, problem, &start, found);
    }
}

/// Returns the free parameters on which the shapes of densities depend.
fn free_shapes(problem: &Problem<'_>) -> Vec<usize> {
    let mut shapes = problem.plan.events.shape_parameters();
    shapes.retain(|&p| may_vary(problem, p));
    shapes
}

fn may_vary(problem: &Problem<'_>, p: usize) -> bool {
    !problem.fixed[p] && problem.lower[p] < problem.upper[p]
}

/// Returns the number of descents of the default search in a model of events with free shapes.
fn affordable(problem: &Problem<'_>) -> usize {
    let cost = problem.plan.events.densities_per_evaluation(&problem.data.events);
    cost.map_or(0, |cost| MOST_DENSITIES / (cost * EVALUATIONS).max(1))
}

/// Returns whether the default search begins at scattered shapes, so that it needs no other distant starts.
pub(super) fn scatters_shapes(problem: &Problem<'_>) -> bool {
    !free_shapes(problem).is_empty() && affordable(problem) > 0
}

/// Returns `best` with about half of the parameters `shapes` elsewhere. The point with a number `index` is the same in
/// every call. `away` moves a parameter that has neither bounds nor a constraint; its second argument is between -1 and 1.
fn scattered(
    problem: &Problem<'_>,
    shapes: &[usize],
    best: &[f64],
    index: usize,
    away: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let mut scatter = Scatter::new(index as u64 + 1);
    let mut theta = best.to_vec();
    let sure = index % shapes.len();
    for (i, &p) in shapes.iter().enumerate() {
        let (flip, at) = (scatter.uniform(), scatter.uniform());
        if i != sure && flip < 0.0 {
            continue;
        }
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        // From 0 to 1.
        let part = 0.5 * (at + 1.0);
        let to = if problem.plan.structure.constrained[p] {
            let width = if i == sure { 4.0 } else { 2.0 };
            best[p] + width * at
        } else if !(lower.is_finite() && upper.is_finite()) {
            away(best[p], at)
        } else {
            between(lower, upper, part)
        };
        theta[p] = to.clamp(lower, upper);
    }
    theta
}

/// Returns the point at the fraction `part` of the way from `lower` to `upper`, two finite bounds.
pub(super) fn between(lower: f64, upper: f64, part: f64) -> f64 {
    let to = if lower > 0.0 && upper >= WIDE * lower {
        lower * (upper / lower).powf(part)
    } else {
        lower + (upper - lower) * part
    };
    to.clamp(lower, upper)
}
