//! Searches for better places of peaks in event channels. See `docs/numerics/minima.md`.

use ns_core::Search;

use super::super::descend::{Mode, descend};
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use crate::events::{
    MovingPeak, Place, find_peaks, peak_parameters, places, prepare_channels, rivals, without_peak,
};

/// Number of descents per parameter and round.
const DESCENTS: usize = 4;

/// Number of descents per parameter and round of a thorough search.
const THOROUGH: usize = 12;

/// Number of places of a parameter with a constraint term at which `-ln L` is computed, to choose those of the descents.
const TRIED: usize = 16;

/// A descent for a parameter with a constraint term starts only where `-ln L` is at most this number above its lowest value.
const MOST_RISE: f64 = 2.0;

/// Largest number of rounds. A further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 4;

/// Number of parts of the bounds of a parameter, at whose ends a peak is tried that is far outside of the fit range.
const PLACES: usize = 32;

/// Largest ratio of the values of a parameter at which other widths of a peak are looked for, and their largest number.
const RATIO: f64 = 3.0;
const MOST_WIDTHS: usize = 4;

/// Ratio of the start value of a parameter to the smallest value at which another width is looked for, and of the
/// largest value to the start value, if the bounds of the parameter do not exclude 0.
const NARROWER: f64 = 5.0;

/// A place of a peak without height is tried if its gain is at least this part of the gain of the present place, less
/// [`MARGIN`]: the gains suppose that all other parameters stay.
const PART: f64 = 0.5;
const MARGIN: f64 = 1.0;

/// If the gain of the present place of a peak in a sample of the events is at least this number and at least [`CLEARLY`]
/// times that of any other place, there is no better place.
const SURE: f64 = 20.0;
const CLEARLY: f64 = 2.0;

/// Relative rounding error of the value of a parameter at which a peak has no height.
const ROUNDING: f64 = 1e-12;

/// Peaks with a width.
struct Widths {
    /// The parameter that gives the peaks this width, and its value; `None` for the width at the best point.
    parameter: Option<(usize, f64)>,
    peaks: Vec<MovingPeak>,
}

/// Moves peaks, one parameter at a time, to the places where `-ln L` may be lowest, with several widths, and descends
/// from there.
pub(super) fn search_places(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    effort: Search,
    found: &mut BestSoFar,
) {
    let plan = problem.plan;
    if !plan.events.has_channels() || problem.is_cancelled() {
        return;
    }
    let may_move = |p: usize| !problem.fixed[p];
    if !peak_parameters(&plan.events).into_iter().any(may_move) {
        return;
    }
    let best = in_range(worker, problem, found.best.theta.clone());
    prepare_channels(problem.level, &plan.events, &best, &mut worker.scratch.events);
    let present = find_peaks(problem.level, &plan.events, &worker.scratch.events, &may_move);
    let sure: Vec<usize> =
        movers(&present).filter(|&p| is_sure(worker, problem, p, &present, &best)).collect();
    if !present.is_empty() && movers(&present).all(|p| sure.contains(&p)) {
        return;
    }
    let widths = all_widths(worker, problem, start, &best, present);
    let mut parameters: Vec<usize> = widths.iter().flat_map(|own| movers(&own.peaks)).collect();
    parameters.sort_unstable();
    parameters.dedup();
    parameters.retain(|p| !sure.contains(p));
    for _ in 0..MOST_ROUNDS {
        let before = found.improved;
        let mut all_are_compared = parameters.len() == 1;
        for &p in &parameters {
            if problem.is_cancelled() {
                return;
            }
            all_are_compared &= move_peaks(worker, problem, (p, &widths), effort, found);
        }
        if found.improved == before || all_are_compared {
            return;
        }
    }
}

/// Returns the parameters that move peaks.
fn movers(peaks: &[MovingPeak]) -> impl Iterator<Item = usize> {
    peaks.iter().flat_map(|peak| peak.parameters.iter().copied())
}

/// Returns the peaks `present`, which parameters move, and the same peaks with other widths that a parameter gives them.
fn all_widths(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    theta: &[f64],
    present: Vec<MovingPeak>,
) -> Vec<Widths> {
    let (events, level) = (&problem.plan.events, problem.level);
    let may_move = |p: usize| !problem.fixed[p];
    let mut all = vec![Widths { parameter: None, peaks: present }];
    for q in peak_parameters(events).into_iter().filter(|&q| is_free(problem, q)) {
        if all.iter().flat_map(|own| &own.peaks).any(|peak| peak.parameters.contains(&q)) {
            continue;
        }
        for value in values_of_width((problem.lower[q], problem.upper[q]), start[q]) {
            let mut trial = theta.to_vec();
            trial[q] = value;
            prepare_channels(level, events, &trial, &mut worker.scratch.events);
            let mut peaks = find_peaks(level, events, &worker.scratch.events, &may_move);
            peaks.retain(|peak| {
                let is_known = all.iter().flat_map(|own| &own.peaks).any(|known| known.is_like(peak));
                !is_known && !peak.parameters.contains(&q)
            });
            if !peaks.is_empty() {
                all.push(Widths { parameter: Some((q, value)), peaks });
            }
        }
    }
    all
}

/// Returns the values of a parameter at which other widths of peaks are looked for.
fn values_of_width((lower, upper): (f64, f64), start: f64) -> Vec<f64> {
    let from = if lower > 0.0 { lower } else { start.abs() / NARROWER };
    let to = if lower > 0.0 && upper.is_finite() { upper } else { (start.abs() * NARROWER).min(upper) };
    if !(from > 0.0 && from < to && to.is_finite()) {
        return Vec::new();
    }
    let steps = ((to / from).ln() / RATIO.ln()).ceil().clamp(1.0, MOST_WIDTHS as f64);
    (0..=steps as usize).map(|i| from * (to / from).powf(i as f64 / steps)).collect()
}

fn is_free(problem: &Problem<'_>, p: usize) -> bool {
    !problem.fixed[p] && !problem.plan.structure.constrained[p]
}

/// A peak far outside of the fit range has densities that are out of the range of doubles. Returns `theta`, or such a point
/// with one parameter elsewhere between its bounds, at which no density is out of range.
fn in_range(worker: &mut Worker, problem: &Problem<'_>, theta: Vec<f64>) -> Vec<f64> {
    let events = &problem.plan.events;
    worker.evaluate(problem, &theta, 0.0);
    if !worker.scratch.events.is_wide() {
        return theta;
    }
    for p in events.shape_parameters().into_iter().filter(|&p| !problem.fixed[p]) {
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

/// A point at which a peak has no height.
struct Without {
    theta: Vec<f64>,
    /// Gain of the present place.
    present: f64,
}

/// Returns the parameters that give `peaks` their heights, with the values at which the heights are 0. Returns `None` if
/// there is no such parameter, or the value is outside of its bounds. The channels must have been prepared at `theta`.
fn heights<'p>(
    worker: &Worker,
    problem: &Problem<'_>,
    p: usize,
    peaks: impl Iterator<Item = &'p MovingPeak>,
    theta: &[f64],
) -> Option<Vec<(usize, f64)>> {
    let may_scale = |q: usize| q != p && is_free(problem, q);
    let mut found: Vec<(usize, f64)> = Vec::new();
    for peak in peaks {
        let (q, value) = without_peak(&problem.plan.events, &worker.scratch.events, theta, peak, &may_scale)?;
        let (lower, upper) = (problem.lower[q], problem.upper[q]);
        let rounding = ROUNDING * (theta[q].abs() + value.abs());
        if !(lower - rounding <= value && value <= upper + rounding) {
            return None;
        }
        if !found.iter().any(|(known, _)| *known == q) {
            found.push((q, value.clamp(lower, upper)));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Returns whether the peaks that the parameter `p` moves are clearly at their best places. The channels must have been
/// prepared at `best`.
fn is_sure(
    worker: &mut Worker,
    problem: &Problem<'_>,
    p: usize,
    present: &[MovingPeak],
    best: &[f64],
) -> bool {
    let (events, level) = (&problem.plan.events, problem.level);
    let own = || present.iter().filter(|peak| peak.parameters.contains(&p));
    prepare_channels(level, events, best, &mut worker.scratch.events);
    if let Some(heights) = heights(worker, problem, p, own(), best) {
        let mut theta = best.to_vec();
        heights.into_iter().for_each(|(q, value)| theta[q] = value);
        prepare_channels(level, events, &theta, &mut worker.scratch.events);
    }
    let may_scale = |q: usize| q != p && is_free(problem, q);
    own().all(|peak| {
        let compared =
            rivals((level, events), &worker.scratch.events, &problem.data.events, p, peak, &may_scale);
        compared.is_some_and(|(here, elsewhere)| here >= SURE && CLEARLY * elsewhere <= here)
    })
}

/// Minimises `-ln L` without the peaks that the parameter `p` moves. Returns `None` if no parameter gives these peaks
/// their height.
fn without_peaks(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (p, widths): (usize, &[Widths]),
    found: &mut BestSoFar,
) -> Option<Without> {
    let (events, level) = (&problem.plan.events, problem.level);
    let mut theta = in_range(worker, problem, found.best.theta.clone());
    prepare_channels(level, events, &theta, &mut worker.scratch.events);
    let own = widths.iter().flat_map(|own| &own.peaks).filter(|peak| peak.parameters.contains(&p));
    let heights = heights(worker, problem, p, own, &theta)?;
    let mut held = problem.clone();
    held.fixed[p] = true;
    for (q, value) in heights {
        theta[q] = value;
        held.fixed[q] = true;
    }
    for (q, _) in widths.iter().filter_map(|own| own.parameter) {
        held.fixed[q] = true;
    }
    let base = descend(worker, &held, &theta, Mode::from(false)).ok()?;
    found.iterations += base.iterations;
    let present = (base.value() - found.best.value()).max(0.0);
    present.is_finite().then_some(Without { theta: base.theta, present })
}

/// Descends from the best places of the peaks that the parameter `p` moves. Returns whether all places were compared at a
/// minimum without peaks, which does not depend on the best point.
fn move_peaks(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (p, widths): (usize, &[Widths]),
    effort: Search,
    found: &mut BestSoFar,
) -> bool {
    let without = without_peaks(worker, problem, (p, widths), found);
    let (events, level) = (&problem.plan.events, problem.level);
    let theta = match &without {
        Some(without) => without.theta.clone(),
        None => in_range(worker, problem, found.best.theta.clone()),
    };
    let present = without.as_ref().map_or(f64::INFINITY, |without| without.present);
    let least = without.as_ref().map(|_| PART * present - MARGIN);
    // The gain of a place is that of the events. A constraint term may pull the parameter back.
    let is_constrained = problem.plan.structure.constrained[p] || events.is_constrained(p);
    let descents = if effort == Search::Thorough { THOROUGH } else { DESCENTS };
    let most = if is_constrained { TRIED } else { descents };
    let mut better: Vec<(Place, Vec<f64>)> = Vec::new();
    for own in widths.iter().filter(|own| own.parameter.is_none() || without.is_some()) {
        let mut at = theta.clone();
        if let Some((q, value)) = own.parameter {
            at[q] = value;
        }
        let is_present_width = own.parameter.is_none();
        prepare_channels(level, events, &at, &mut worker.scratch.events);
        for peak in own.peaks.iter().filter(|peak| peak.parameters.contains(&p)) {
            let scratch = &worker.scratch.events;
            let bounds = (problem.lower[p], problem.upper[p]);
            let point = (at.as_slice(), p, bounds);
            let may_scale = |q: usize| is_free(problem, q);
            let tables = &problem.data.events;
            let own = places((level, events), scratch, tables, point, peak, &may_scale, (most, least));
            // A peak that fits less well at its present place leads back to the best point.
            let is_back = |place: &Place| is_present_width && place.is_present && place.gain <= present;
            better.extend(own.into_iter().filter(|place| !is_back(place)).map(|place| {
                let mut trial = at.clone();
                trial[p] = place.value;
                if let Some((height, value)) = place.height {
                    let value = if place.gain > 0.0 { value } else { found.best.theta[height] };
                    trial[height] = value.clamp(problem.lower[height], problem.upper[height]);
                }
                (place, trial)
            }));
        }
    }
    better.sort_by(|a, b| b.0.gain.total_cmp(&a.0.gain));
    let mut edges: Vec<f64> = Vec::new();
    let mut starts: Vec<(f64, Vec<f64>)> = Vec::new();
    for (place, start) in better {
        // The best width at each end of the range.
        let is_edge = place.is_edge && !edges.contains(&place.value);
        if starts.len() < most || is_edge {
            edges.extend(is_edge.then_some(place.value));
            starts.push((place.gain, start));
        }
    }
    if is_constrained {
        let least = found.best.value() + MOST_RISE;
        let mut valued: Vec<(f64, Vec<f64>)> =
            starts.into_iter().map(|(_, x)| (worker.evaluate(problem, &x, 0.0).value(), x)).collect();
        valued.retain(|(value, _)| *value < least);
        valued.sort_by(|a, b| a.0.total_cmp(&b.0));
        starts = valued.into_iter().map(|(_, start)| (f64::INFINITY, start)).take(descents).collect();
    }
    let base = found.best.value() + present;
    for (gain, start) in starts {
        // The gain of the best place so far may be larger than that of the present place.
        let least = PART * (base - found.best.value()) - MARGIN;
        if without.is_some() && gain < least {
            continue;
        }
        attempt_below(worker, problem, &start, found);
    }
    without.is_some()
}
