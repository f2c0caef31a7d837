//! Searches for better places of narrow peaks in event channels.

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use crate::events::{MovingPeak, Place, find_peaks, places};

/// Number of descents per parameter and round.
const DESCENTS: usize = 4;

/// Largest number of rounds. A further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 4;

/// Moves narrow peaks, one parameter at a time, to the places where `-ln L` may be lowest, and descends from there.
pub(super) fn search_places(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let plan = problem.plan;
    if !plan.events.has_channels() || problem.is_cancelled() {
        return;
    }
    let is_free = |p: usize| !problem.fixed[p] && !plan.structure.constrained[p];
    let may_move = |p: usize| is_free(p) && !plan.events.is_constrained(p);
    worker.evaluate(problem, &found.best.theta, 0.0);
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
            move_peaks(worker, problem, (p, &peaks), &is_free, found);
        }
        if found.improved == before {
            return;
        }
    }
}

/// Descends from the best places of the peaks that the parameter `p` moves.
fn move_peaks(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (p, peaks): (usize, &[MovingPeak]),
    is_free: &dyn Fn(usize) -> bool,
    found: &mut BestSoFar,
) {
    let theta = found.best.theta.clone();
    worker.evaluate(problem, &theta, 0.0);
    let at = (theta.as_slice(), p, (problem.lower[p], problem.upper[p]));
    let (plan, scratch) = (&problem.plan.events, &worker.scratch.events);
    let own = peaks.iter().filter(|peak| peak.parameters.contains(&p));
    let mut better: Vec<Place> = own
        .flat_map(|peak| {
            places((problem.level, plan), scratch, &problem.data.events, at, peak, is_free, DESCENTS)
        })
        .collect();
    better.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    for place in better.into_iter().take(DESCENTS) {
        let mut trial = theta.clone();
        trial[p] = place.value;
        if let Some((height, value)) = place.height {
            trial[height] = value.clamp(problem.lower[height], problem.upper[height]);
        }
        attempt_below(worker, problem, &trial, found);
    }
}
