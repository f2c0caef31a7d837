//! Searches for better places of narrow peaks in event channels.

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use crate::events::{MovingPeak, Place, find_peaks, places};

/// Number of descents per parameter and round.
const DESCENTS: usize = 4;

/// Number of places of a parameter with a constraint term at which `-ln L` is computed, to choose those of the descents.
const TRIED: usize = 16;

/// A descent for a parameter with a constraint term starts only where `-ln L` is at most this number above its lowest value.
const MOST_RISE: f64 = 2.0;

/// Largest number of rounds. A further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 4;

/// Number of parts of the bounds of a parameter, at whose ends a peak is tried that is far outside of the fit range.
const PLACES: usize = 32;

/// Moves narrow peaks, one parameter at a time, to the places where `-ln L` may be lowest, and descends from there.
pub(super) fn search_places(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let plan = problem.plan;
    if !plan.events.has_channels() || problem.is_cancelled() {
        return;
    }
    let may_move = |p: usize| !problem.fixed[p];
    let is_free = |p: usize| may_move(p) && !plan.structure.constrained[p];
    if !plan.events.shape_parameters().into_iter().any(may_move) {
        return;
    }
    let theta = in_range(worker, problem, found.best.theta.clone(), &may_move);
    worker.evaluate(problem, &theta, 0.0);
    let peaks = find_peaks(problem.level, &plan.events, &worker.scratch.events, &may_move);
    let mut parameters: Vec<usize> = peaks.iter().flat_map(|peak| peak.parameters.iter().copied()).collect();
    parameters.sort_unstable();
    parameters.dedup();
    for _ in 0..MOST_ROUNDS {
        let before = found.improved;
        for &p in &parameters {
            if problem.is_cancelled() {
                return;
            }
            let theta = in_range(worker, problem, found.best.theta.clone(), &may_move);
            move_peaks(worker, problem, theta, (p, &peaks), &is_free, found);
        }
        if found.improved == before {
            return;
        }
    }
}

/// A peak far outside of the fit range has densities that are out of the range of doubles. Returns `theta`, or such a point
/// with one parameter elsewhere between its bounds, at which no density is out of range.
fn in_range(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: Vec<f64>,
    may_move: &dyn Fn(usize) -> bool,
) -> Vec<f64> {
    let events = &problem.plan.events;
    worker.evaluate(problem, &theta, 0.0);
    if !worker.scratch.events.is_wide() {
        return theta;
    }
    for p in events.shape_parameters().into_iter().filter(|&p| may_move(p)) {
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        for step in 1..PLACES {
            let mut trial = theta.clone();
            trial[p] = lower + (upper - lower) * step as f64 / PLACES as f64;
            if !trial[p].is_finite() || problem.is_cancelled() {
                break;
            }
            worker.evaluate(problem, &trial, 0.0);
            if !worker.scratch.events.is_wide() {
                return trial;
            }
        }
    }
    theta
}

/// Descends from the best places of the peaks that the parameter `p` moves, compared with the place at `theta`.
fn move_peaks(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: Vec<f64>,
    (p, peaks): (usize, &[MovingPeak]),
    is_free: &dyn Fn(usize) -> bool,
    found: &mut BestSoFar,
) {
    worker.evaluate(problem, &theta, 0.0);
    let at = (theta.as_slice(), p, (problem.lower[p], problem.upper[p]));
    let (plan, scratch) = (&problem.plan.events, &worker.scratch.events);
    // The gain of a place is that of the events. A constraint term may pull the parameter back.
    let is_constrained = problem.plan.structure.constrained[p] || plan.is_constrained(p);
    let most = if is_constrained { TRIED } else { DESCENTS };
    let own = peaks.iter().filter(|peak| peak.parameters.contains(&p));
    let mut better: Vec<Place> = own
        .flat_map(|peak| {
            places((problem.level, plan), scratch, &problem.data.events, at, peak, is_free, most)
        })
        .collect();
    better.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut starts: Vec<Vec<f64>> = better
        .into_iter()
        .take(most)
        .map(|place| {
            let mut trial = theta.clone();
            trial[p] = place.value;
            if let Some((height, value)) = place.height {
                trial[height] = value.clamp(problem.lower[height], problem.upper[height]);
            }
            trial
        })
        .collect();
    if is_constrained {
        let least = found.best.value() + MOST_RISE;
        let mut valued: Vec<(f64, Vec<f64>)> =
            starts.into_iter().map(|x| (worker.evaluate(problem, &x, 0.0).value(), x)).collect();
        valued.retain(|(value, _)| *value < least);
        valued.sort_by(|a, b| a.0.total_cmp(&b.0));
        starts = valued.into_iter().map(|(_, start)| start).take(DESCENTS).collect();
    }
    for start in starts {
        attempt_below(worker, problem, &start, found);
    }
}
