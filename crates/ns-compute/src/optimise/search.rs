//! Which start points deserve a descent.

use ns_core::{Covariance, FitFailure, FitStatus, Reason, Search};

use super::descend::{Descent, Mode, descend};
use super::neighbour::approach;
use super::scatter::{Census, MOST_FREE, MOST_STARTS, may_have_several_minima, scattered};
use super::{Problem, Worker};

/// Iterations of all scattered descents, about.
const MOST_SCATTERED_ITERATIONS: usize = 1500;

/// A descent that is one of many: it gives up early.
const SHORT: Mode = Mode { iterations: 60, ..Mode::from(false) };

/// The best of several descents, with totals over all of them.
pub(super) struct Found {
    pub(super) best: Descent,
    pub(super) iterations: usize,
    pub(super) improved: usize,
    census: Census,
}

impl Found {
    fn new(best: Descent) -> Self {
        let mut census = Census::default();
        census.count(best.value());
        Self { iterations: best.iterations, best, improved: 0, census }
    }
}

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
    if runaway(&found.best) {
        return Ok(found);
    }
    if !problem.plan.has_kinks {
        mirror_strong_pulls(worker, problem, &mut found);
    }
    flips(worker, problem, &mut found, effort);
    everywhere(worker, problem, start, &mut found);
    Ok(found)
}

/// Small models: beyond the other side of each asymmetric parameter, and all over the box.
fn everywhere(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let free = problem.fixed.iter().filter(|&&fixed| !fixed).count();
    if free > MOST_FREE || !may_have_several_minima(problem) {
        return;
    }
    for p in 0..start.len() {
        if problem.plan.asymmetric[p] && !problem.fixed[p] && !problem.is_cancelled() {
            cross(worker, problem, p, found);
        }
    }
    let most = found.iterations + MOST_SCATTERED_ITERATIONS;
    for index in 0..MOST_STARTS {
        if found.census.is_complete() || found.iterations > most || problem.is_cancelled() {
            break;
        }
        let start = scattered(problem, start, index);
        short_attempt(worker, problem, &start, found);
    }
}

/// Holds one parameter on its other side (near 0: on either) until the others have followed, then
/// lets it go.
fn cross(worker: &mut Worker, problem: &Problem<'_>, p: usize, found: &mut Found) {
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

/// Like `attempt`, but gives up early on what is slow and not lower.
fn short_attempt(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) {
    let Ok(other) = descend(worker, problem, start, SHORT) else { return };
    if other.status != FitStatus::Converged && other.value() < found.best.value() {
        found.iterations += other.iterations;
        attempt(worker, problem, &other.theta, found);
    } else {
        take(other, found);
    }
}

/// Where an asymmetric parameter is pulled by more than its width, all such pulls are mirrored at
/// once: a second minimum often has several of them on their other side.
fn mirror_strong_pulls(worker: &mut Worker, problem: &Problem<'_>, found: &mut Found) {
    let mut trial = found.best.theta.clone();
    let mut mirrored = false;
    for p in 0..trial.len() {
        if problem.plan.bendable[p] && !problem.fixed[p] && trial[p].abs() > 1.0 {
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            mirrored = true;
        }
    }
    if mirrored {
        attempt(worker, problem, &trial, found);
    }
}

/// Descends from `start` and keeps the result if it is lower.
fn attempt(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) -> bool {
    let Ok(other) = descend(worker, problem, start, Mode::from(false)) else { return false };
    take(other, found)
}

/// The same for one of many starts around the best minimum, most of which lead back to it: it ends as soon as that is
/// foreseeable.
fn attempt_below(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut Found) -> bool {
    let mode = Mode { beat: Some(found.best.value()), ..Mode::from(false) };
    let Ok(other) = descend(worker, problem, start, mode) else { return false };
    if other.status != FitStatus::Converged && other.value() >= found.best.value() {
        found.iterations += other.iterations;
        return false;
    }
    take(other, found)
}

/// Whether a descent left for where there is no minimum.
fn runaway(descent: &Descent) -> bool {
    descent.status == FitStatus::NotConverged(Reason::Unbounded)
}

/// Keeps the end of a descent if it is lower than the best one.
fn take(other: Descent, found: &mut Found) -> bool {
    found.iterations += other.iterations;
    found.census.count(other.value());
    let noise = 64.0 * f64::EPSILON * other.likelihood.scale + 1e-10;
    let better = match (runaway(&other), runaway(&found.best)) {
        // A certified minimum is an answer, however far down an unphysical slope leads elsewhere.
        (false, true) => other.status == FitStatus::Converged,
        (true, false) => found.best.status != FitStatus::Converged,
        _ => {
            other.value() < found.best.value() - noise
                || (other.status == FitStatus::Converged
                    && found.best.status != FitStatus::Converged
                    && other.value() < found.best.value() + noise)
        }
    };
    if better {
        found.best = other;
        found.improved += 1;
    }
    better
}

/// Tries the other side of pulled parameters whose effect is not the mirror image of itself.
///
/// A flipped point is worth a descent if it lies low, and lower than a single valley would
/// have it: a parabola rises four times as much to `-alpha` as to 0. At kinks
/// every low point counts, since each orthant may have a minimum of its own.
fn flips(worker: &mut Worker, problem: &Problem<'_>, found: &mut Found, effort: Search) {
    let plan = problem.plan;
    // How far above the minimum a flipped point may lie, and how many descents are made.
    let (threshold, most) = match (effort, plan.has_kinks) {
        (Search::Thorough, true) => (10.0, 1024),
        (Search::Thorough, false) => (10.0, 64),
        (_, true) => (0.5, 256),
        (_, false) => (3.0, 8),
    };
    let every_valley = plan.has_kinks || effort == Search::Thorough;
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
            let able = if every_valley { plan.asymmetric[p] } else { plan.bendable[p] };
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
            if descents >= most {
                return;
            }
            tried[p] = true;
            descents += 1;
            let mut trial = found.best.theta.clone();
            trial[p] = (-trial[p]).clamp(problem.lower[p], problem.upper[p]);
            let lower = if plan.has_kinks {
                attempt_below(worker, problem, &trial, found)
            } else {
                attempt(worker, problem, &trial, found)
            };
            if lower {
                // Around a new minimum between kinks every side counts anew.
                if plan.has_kinks {
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
