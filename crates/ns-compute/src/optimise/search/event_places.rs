//! Searches for minima at the places of events.
//!
//! If a peak is narrower than the distances between events, `-ln L` has a minimum near every event, as a function of the
//! peak's place. No descent leads from one of them to the next. So the place is set to that of each event, and descents
//! start from the best of them.

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};

/// Largest number of events in all channels. With more events, peaks are usually wider than the distances between them.
/// Events with weights are mostly those of cells, which are wider than such peaks.
const MOST_EVENTS: usize = 4096;

/// Distance from the minimum, in units of the uncertainty, at which `-ln L` shows whether there may be other minima.
const FAR: f64 = 20.0;

/// A parameter has no other minima if `-ln L` rises, at the distance [`FAR`], at least by this fraction of what a
/// parabola would.
const LEAST_RISE: f64 = 0.25;

/// Largest number of places for one parameter.
const MOST_PLACES: usize = 512;

/// Number of descents for one parameter.
const DESCENTS: usize = 4;

/// Sets each free parameter without a constraint to the places of the events, and descends from the best of them. Only
/// parameters along which `-ln L` rises far less than a parabola are tried.
pub(super) fn attempt_event_places(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let plan = problem.plan;
    let events: usize = problem.data.events.iter().map(|table| table.len()).sum();
    let is_weighted = problem.data.events.iter().any(|table| table.weights.is_some());
    if problem.physical || events == 0 || events > MOST_EVENTS || is_weighted {
        return;
    }
    for p in plan.events.shape_parameters() {
        let is_free = !problem.fixed[p] && !plan.structure.constrained[p];
        if !is_free || problem.is_cancelled() || !is_shallow(worker, problem, p, found) {
            continue;
        }
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        let observables = plan.events.observables().zip(&problem.data.events);
        let columns = observables.flat_map(|(observables, table)| table.columns.iter().take(observables));
        let mut places: Vec<f64> =
            columns.flat_map(|column| column.iter().copied()).filter(|x| lower < *x && *x < upper).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let step = places.len().div_ceil(MOST_PLACES).max(1);
        let mut trial = found.best.theta.clone();
        let mut ranked: Vec<(f64, f64)> = Vec::new();
        for place in places.into_iter().step_by(step) {
            trial[p] = place;
            let value = worker.evaluate(problem, &trial, 0.0).value();
            if value.is_finite() {
                ranked.push((value, place));
            }
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, place) in ranked.into_iter().take(DESCENTS) {
            trial.copy_from_slice(&found.best.theta);
            trial[p] = place;
            attempt_below(worker, problem, &trial, found);
        }
    }
}

/// Returns whether `-ln L` is flat at the best minimum along a parameter, or rises far less than a parabola.
fn is_shallow(worker: &mut Worker, problem: &Problem<'_>, p: usize, found: &BestSoFar) -> bool {
    let best = &found.best.theta;
    let here = worker.evaluate(problem, best, 0.0).value();
    let curvature = worker.scratch.events.curvature(&problem.plan.events, p);
    if !(curvature > 0.0) {
        return true;
    }
    let distance = FAR / curvature.sqrt();
    let parabola = 0.5 * FAR * FAR;
    let mut trial = best.clone();
    [-distance, distance].into_iter().any(|step| {
        trial[p] = best[p] + step;
        let inside = problem.lower[p] < trial[p] && trial[p] < problem.upper[p];
        inside && worker.evaluate(problem, &trial, 0.0).value() - here < LEAST_RISE * parabola
    })
}
