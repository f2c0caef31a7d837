//! Finds the values of the scanned parameter at which `twice_delta_nll`, the rise of the profile of `-2 ln L` above its
//! minimum, crosses a level. These values lie between the points of a scan and are found with high precision.
//!
//! Two neighbouring points of the scan enclose a crossing. An interpolation through the points predicts the crossing to
//! about 1e-5. A conditional fit at the predicted value gives the height and the slope of the profile. The slope is the
//! derivative of `-2 ln L` with respect to the scanned parameter, because all other parameters are at their minimum. A
//! Newton step with this height and slope leads to the crossing. If the fit is too far from the level, further fits
//! narrow the interval that contains the crossing.

use ns_core::{EvaluationRequest, FitFailure, FitRequest, FitTask, OutcomeParts, Search};

use super::Tally;
use super::grid::Grid;
use super::order::Along;
use super::predict::{Node, interpolate, interpolate_value};
use super::profile::{Centre, starting_at};
use super::result::{ContourLevel, ScanInterval};
use crate::InferenceError;
use crate::analysis::{Analysis, Fitted};
use crate::lowest::Stop;
use crate::minos::crossing;
use crate::minos::side::{Probe, Side};
use crate::present::{exact, significant};

/// A Newton step ends the search if the rise of `-2 ln L` differs from the level by at most this number times the
/// square root of the level. For a parabolic profile, a Newton step reduces a difference `d` between rise and level to
/// `d^2 / (4 level)`, which is then at most 1e-8.
const NEAR: f64 = 2e-4;

/// A point of the profile: the value of the scanned parameter, the rise of `-2 ln L` above its minimum, and the values
/// of all parameters.
struct ProfilePoint {
    x: f64,
    rise: f64,
    point: Vec<f64>,
}

/// A search in progress for a crossing between two points of the profile.
struct Open {
    /// Position of the interval.
    at: usize,
    level: f64,
    direction: f64,
    side: Side,
}

/// Finds the values at which the profile crosses `levels`. For each level, the result has the nearest crossing
/// below and the nearest crossing above the best fit.
///
/// # Errors
/// [`Stop::Lower`] if a conditional fit ends below the minimum; [`Stop::Error`] if the device fails.
pub(super) fn crossings(
    analysis: &mut Analysis<'_>,
    grid: &Grid,
    centre: &Centre<'_>,
    (fits, levels): (&[Fitted], &[ContourLevel]),
    tally: &mut Tally,
) -> Result<Vec<ScanInterval>, Stop> {
    let index = grid.first.index;
    let best = centre.fit.parameters.get(index).copied().unwrap_or(f64::NAN);
    let mut known = profile_points(grid, centre, fits);
    let mut intervals: Vec<ScanInterval> =
        levels.iter().map(|level| ScanInterval::new(*level, "interrupted")).collect();
    let mut open: Vec<Open> = Vec::with_capacity(2 * levels.len());
    for (at, interval) in intervals.iter_mut().enumerate() {
        for direction in [-1.0, 1.0] {
            match bracket(analysis, grid, &known, best, interval.level, direction) {
                Ok(side) => open.push(Open { at, level: interval.level, direction, side }),
                Err(reason) => interval.record(direction, Err(reason)),
            }
        }
    }
    while !open.is_empty() && !analysis.is_cancelled() {
        // Each step makes one fit from the predicted point. In models of up to medium size, it makes further fits
        // that descend from both ends of the bracket, and uses the lowest of all these fits.
        let requests: Vec<Vec<FitRequest>> =
            open.iter().map(|search| requests(analysis, centre, index, best, &known, search)).collect();
        let sizes: Vec<usize> = requests.iter().map(Vec::len).collect();
        let tasks: Vec<FitTask> = requests
            .into_iter()
            .flatten()
            .map(|request| FitTask { data: analysis.data.clone(), fits: vec![request], cancel: None })
            .collect();
        let mut fitted = analysis.run(&tasks, OutcomeParts::default())?.into_iter();
        if analysis.is_cancelled() {
            break;
        }
        let outcomes: Vec<Fitted> =
            sizes.into_iter().map(|n| lowest(fitted.by_ref().take(n).collect(), tally)).collect();
        let mut still_open = Vec::with_capacity(open.len());
        for (mut search, outcome) in open.into_iter().zip(outcomes) {
            let distance = search.side.next();
            let (rise, point) = match outcome {
                Ok(fit) if fit.nll.is_finite() => (centre.rise(fit.nll), fit.parameters),
                _ => (f64::INFINITY, Vec::new()),
            };
            if rise < -centre.tolerance {
                return Err(Stop::Lower(point, -rise));
            }
            if !point.is_empty() {
                known.push(ProfilePoint {
                    x: best + search.direction * distance,
                    rise,
                    point: point.clone(),
                });
            }
            let level = search.level;
            let Some(interval) = intervals.get_mut(search.at) else { continue };
            if (rise - level).abs() <= NEAR * level.sqrt() {
                let x = best + search.direction * distance;
                if let Some(crossing) = newton(analysis, index, x, rise - level, &point)? {
                    interval.record(search.direction, Ok(crossing));
                    continue;
                }
            }
            match search.side.accept(Probe { distance, rise, point }) {
                None => still_open.push(search),
                Some(end) => {
                    let which = if search.direction < 0.0 { "lower" } else { "upper" };
                    let value = |d: f64| best + search.direction * d;
                    let answer = crossing(&end, which, &significant(level), value);
                    interval.record(search.direction, answer);
                }
            }
        }
        open = still_open;
    }
    Ok(intervals)
}

/// Returns the crossing of a level that a Newton step from the conditional minimum at `x` predicts. `miss` is the rise
/// of `-2 ln L` at `x` minus the level, and `point` are the values of all parameters at `x`. Returns `None` if the
/// predicted crossing is outside the bounds, for example because the profile is flat.
fn newton(
    analysis: &Analysis<'_>,
    index: usize,
    x: f64,
    miss: f64,
    point: &[f64],
) -> Result<Option<f64>, InferenceError> {
    let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
    let gradient = analysis.session.evaluate(&analysis.data, point, request)?.gradient;
    let bounds = analysis.model.parameters.get(index).map(|p| p.bounds);
    let crossing = gradient.get(index).map(|slope| x - miss / (2.0 * slope));
    let inside = |x: &f64| bounds.is_some_and(|(lower, upper)| (lower..=upper).contains(x));
    Ok(crossing.filter(inside))
}

/// Returns the points of the profile, which are the best fit and the points of the scan whose fits converged, in
/// ascending order of the scanned parameter.
fn profile_points(grid: &Grid, centre: &Centre<'_>, fits: &[Fitted]) -> Vec<ProfilePoint> {
    let of_fit = |(k, fit): (usize, &Fitted)| {
        let fit = fit.as_ref().ok().filter(|fit| fit.converged())?;
        let (x, rise) = (grid.x(k, Along::First), centre.rise(fit.nll).max(0.0));
        Some(ProfilePoint { x, rise, point: fit.parameters.clone() })
    };
    let mut known: Vec<ProfilePoint> = fits.iter().enumerate().filter_map(of_fit).collect();
    if let Some(x) = centre.fit.parameters.get(grid.first.index) {
        known.retain(|point| point.x != *x);
        known.push(ProfilePoint { x: *x, rise: 0.0, point: centre.fit.parameters.clone() });
    }
    known.sort_by(|a, b| a.x.total_cmp(&b.x));
    known
}

/// Creates the search for the crossing of a level on one side of the best fit. If the scan does not cross the level,
/// the error is the reason.
fn bracket(
    analysis: &Analysis<'_>,
    grid: &Grid,
    known: &[ProfilePoint],
    best: f64,
    level: f64,
    direction: f64,
) -> Result<Side, String> {
    let mut outward: Vec<&ProfilePoint> = known.iter().filter(|p| direction * (p.x - best) >= 0.0).collect();
    outward.sort_by(|a, b| (a.x - best).abs().total_cmp(&(b.x - best).abs()));
    let Some(i) = outward.iter().position(|p| p.rise >= level) else {
        let bounds = analysis.model.parameters.get(grid.first.index).map(|p| p.bounds);
        let (which, bound) = match bounds {
            Some((lower, _)) if direction < 0.0 => ("lower", lower),
            Some((_, upper)) => ("upper", upper),
            None => ("", f64::NAN),
        };
        let last = outward.last().map_or((best, 0.0), |p| (p.x, p.rise));
        return Err(if last.0 == bound {
            format!("twice_delta_nll is {} at the {which} bound {}", significant(last.1), exact(bound))
        } else {
            let (x, rise) = (significant(last.0), significant(last.1));
            format!("the scan ends at {x}, where twice_delta_nll is {rise}; widen its range")
        });
    };
    let (Some(inner), Some(outer)) = (i.checked_sub(1).and_then(|i| outward.get(i)), outward.get(i)) else {
        return Err("the best fit is not on the scan".to_owned());
    };
    let probe =
        |p: &ProfilePoint| Probe { distance: (p.x - best).abs(), rise: p.rise, point: p.point.clone() };
    let (inner, outer) = (probe(inner), probe(outer));
    // For a parabolic profile, the value of the parameter is a linear function of the signed square root of the rise.
    // This function is interpolated through the points on both sides of the best fit.
    let root = |p: &ProfilePoint| (p.rise.sqrt().copysign(p.x - best), p.x);
    let curve: Vec<(f64, f64)> = known.iter().map(root).collect();
    let straight = |p: &Probe| (direction * p.rise.sqrt(), best + direction * p.distance);
    let target = direction * level.sqrt();
    let between = |x: &f64| {
        let d = direction * (x - best);
        d > inner.distance && d < outer.distance
    };
    let guess = interpolate_value(&curve, target)
        .filter(between)
        .or_else(|| interpolate_value(&[straight(&inner), straight(&outer)], target))
        .unwrap_or(0.5 * (inner.distance + outer.distance));
    Ok(Side::between(level, inner, outer, direction * (guess - best)))
}

/// Builds the requests for the conditional fits in the next step of a search for a crossing.
fn requests(
    analysis: &Analysis<'_>,
    centre: &Centre<'_>,
    index: usize,
    best: f64,
    known: &[ProfilePoint],
    search: &Open,
) -> Vec<FitRequest> {
    let x = best + search.direction * search.side.next();
    let held = [(index, x)];
    let nodes: Vec<Node<'_>> = known.iter().map(|p| Node { x: p.x, point: &p.point, slope: None }).collect();
    let guess = interpolate(&nodes, x).unwrap_or_else(|| centre.fit.parameters.clone());
    let from = |point: Vec<f64>, effort: Search| {
        let start = analysis.admit(centre.fit, &held, point);
        FitRequest { search: effort, ..starting_at(&analysis.conditional(&held, Vec::new()), start) }
    };
    let mut requests = vec![from(guess, analysis.variation_search())];
    if analysis.is_middling() {
        requests.extend(search.side.neighbours().map(|point| from(point.to_vec(), Search::Local)));
    }
    requests
}

/// Returns the lowest of several fits at the same point, and adds all of them to `tally`. Converged fits are
/// preferred to fits that did not converge.
fn lowest(fits: Vec<Fitted>, tally: &mut Tally) -> Fitted {
    for fit in fits.iter().flatten() {
        tally.count(fit);
    }
    let rank = |fit: &Fitted| match fit {
        Ok(fit) => (!fit.converged(), fit.nll),
        Err(_) => (true, f64::INFINITY),
    };
    let order = |a: &Fitted, b: &Fitted| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1));
    fits.into_iter().min_by(order).unwrap_or(Err(FitFailure::Cancelled))
}
