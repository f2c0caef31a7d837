//! MINOS intervals of parameters. The ends of an interval are the values of the parameter at which the profile of
//! `-2 ln L` is 1 above its minimum. The profile is the minimum over all other parameters.
//!
//! The two sides of a parameter are searched independently. In each step, a search makes conditional fits at one
//! value of its parameter. The fits that all searches make in one step form one batch and share the threads of the
//! session.
//!
//! A conditional fit may have several minima. A valley is a series of such minima, one at each value of the parameter.
//! A descent that starts at the minimum at a neighbouring value ends in the same valley. The profile at each value is
//! the minimum in the lowest valley.

pub(crate) mod side;

use std::sync::Arc;

use ns_core::{
    FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, SessionError, Start, TaskOutcome,
};
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::diagnosis::has_negative_yield;
use crate::lowest::Stop;
use crate::present::{exact, significant};
use side::{End, MAX_PROBES, Probe, Side};

/// A MINOS interval. Its ends are called crossings: the values of a parameter below and above its best fit at which
/// `-2 ln L` is 1 above its minimum. A missing crossing is `None` and has a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Interval {
    /// Name of the parameter.
    #[serde(skip)]
    pub parameter: String,
    /// Lower crossing minus best fit, which is negative; `None` if there is no lower crossing.
    pub lower: Option<f64>,
    /// Upper crossing minus best fit, which is positive; `None` if there is no upper crossing.
    pub upper: Option<f64>,
    /// Value of the parameter at the lower crossing, if there is one.
    pub lower_crossing: Option<f64>,
    /// Value of the parameter at the upper crossing, if there is one.
    pub upper_crossing: Option<f64>,
    /// Reason why there is no lower crossing; `None` if there is one.
    pub lower_reason: Option<String>,
    /// Reason why there is no upper crossing; `None` if there is one.
    pub upper_reason: Option<String>,
}

impl Interval {
    /// Creates an interval without crossings, with the same reason on both sides.
    pub(crate) fn without(model: &Model, parameter: usize, reason: &str) -> Self {
        Self::of_name(model.parameters.get(parameter).map_or_else(String::new, |p| p.name.clone()), reason)
    }

    /// Creates an interval without crossings of the quantity with this name.
    pub(crate) fn of_name(parameter: String, reason: &str) -> Self {
        Self {
            parameter,
            lower: None,
            upper: None,
            lower_crossing: None,
            upper_crossing: None,
            lower_reason: Some(reason.to_owned()),
            upper_reason: Some(reason.to_owned()),
        }
    }
}

/// The parent fit: the free fit whose minimum is the centre of the intervals.
pub(crate) struct Parent<'a> {
    /// Analysis that made the parent fit.
    pub(crate) analysis: &'a Analysis<'a>,
    /// Outcome of the parent fit.
    pub(crate) outcome: &'a FitOutcome,
    /// Rise of `-2 ln L` at the crossings: 1 for intervals.
    pub(crate) level: f64,
    /// A conditional fit counts as a lower minimum if its `-2 ln L` is below that of the parent fit by more than this
    /// number.
    pub(crate) tolerance: f64,
    /// Indices of the parameters whose crossings the user asked for. Each of these crossings is checked by a fit that
    /// searches for the global minimum. In models of up to medium size ([`Analysis::is_middling`]), all conditional
    /// fits of these parameters search for the global minimum.
    pub(crate) asked: &'a [usize],
}

/// A search in progress for the crossing on one side of one parameter.
struct Open {
    parameter: usize,
    /// Side of the best fit on which the crossing is searched: -1 for smaller values of the parameter, +1 for larger
    /// values.
    direction: f64,
    side: Side,
    /// Predicted change of each parameter if the searched parameter moves away from its best fit by one unit. The
    /// prediction uses the covariance of the parent fit (the free fit); `None` if there is no usable covariance.
    slope: Option<Vec<f64>>,
    /// Whether the conditional fits of every step search for the global minimum. If false, each step makes a single
    /// descent that starts at the point predicted from earlier steps.
    searched: bool,
    /// Preliminary result of the search, which a fit that searches for the global minimum still has to check. `None` if
    /// there is no result to check.
    doubted: Option<End>,
    /// A conditional fit in a lower valley than the one that the search follows (a valley is a series of neighbouring
    /// minima). At its distance, `-2 ln L` has risen by more than the level in the followed valley, but by less in the lower
    /// valley. If the check of the crossing also finds a lower minimum, the search continues outward from this fit.
    beyond: Option<Probe>,
    /// Number of times that this search has set `beyond` to a fit in a lower valley (a series of neighbouring
    /// minima).
    n_followed: usize,
    /// Number of crossings that were compared with a fit from the starting point of a plain fit, and whether this remains
    /// to be done for the next one.
    n_compared: usize,
    compares: bool,
}

/// Largest number of times that one search sets [`Open::beyond`] to a fit in a lower valley (a series of neighbouring
/// minima).
const MOST_FOLLOWED: usize = 8;

/// Rise of `-2 ln L` at the conditional fits at which the error of Asimov data is estimated, in units of the level.
const NEAR_CROSSING: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// The index and the interval of each parameter, and for Asimov data with events the minima of the conditional fits near the
/// crossings.
type Crossings = (Vec<(usize, Interval)>, Vec<Vec<f64>>);

/// Finds the crossings of `parameters` around the minimum of `parent`. If the caller stops the work, the reason for missing
/// crossings is "interrupted".
///
/// # Errors
/// [`Stop::Lower`] if a conditional fit ends below the minimum; [`Stop::Error`] if the device fails.
pub(crate) fn crossings(parent: &Parent<'_>, parameters: &[usize]) -> Result<Crossings, Stop> {
    let Analysis { model, session, data, .. } = parent.analysis;
    let control = parent.analysis.silent();
    let mut intervals: Vec<(usize, Interval)> =
        parameters.iter().map(|i| (*i, Interval::without(model, *i, "interrupted"))).collect();
    let mut open: Vec<Open> = Vec::with_capacity(2 * parameters.len());
    for parameter in parameters {
        for direction in [-1.0, 1.0] {
            match begin(parent, *parameter, direction) {
                Ok(side) => open.push(side),
                Err(reason) => record(&mut intervals, *parameter, direction, Err(reason)),
            }
        }
    }
    let negative_yield = has_negative_yield(*session, data, parent.outcome);
    let mut points = Vec::new();
    while !open.is_empty() && !control.is_cancelled() {
        let tasks: Vec<FitTask> = open.iter().map(|side| probe_task(parent, side)).collect();
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
        session.fit_batch(&tasks, OutcomeParts::default(), control, &mut outcomes)?;
        if outcomes.len() < tasks.len() || control.is_cancelled() {
            break;
        }
        if !negative_yield {
            bring_back(parent, &open, &mut outcomes)?;
        }
        let mut still_open = Vec::with_capacity(open.len());
        let mut lowest: Option<(f64, Vec<f64>)> = None;
        for (mut side, outcome) in open.into_iter().zip(outcomes) {
            let followed = followed(parent, &side, &outcome);
            let probe = read_probe(parent, side.side.next(), outcome);
            if probe.rise < -parent.tolerance && lowest.as_ref().is_none_or(|(rise, _)| probe.rise < *rise) {
                lowest = Some((probe.rise, probe.point.clone()));
            }
            if parent.analysis.has_expected_events() && NEAR_CROSSING.contains(&(probe.rise / parent.level)) {
                points.push(probe.point.clone());
            }
            let end = match (side.doubted.take(), followed) {
                (None, Some(valley)) if probe.rise < parent.level && side.n_followed < MOST_FOLLOWED => {
                    // The followed valley lies above the level at this point. The first crossing therefore lies
                    // before this point, even if another valley is lower.
                    (side.searched, side.beyond, side.n_followed) = (false, Some(probe), side.n_followed + 1);
                    side.side.accept(valley)
                }
                (None, _) => side.side.accept(probe),
                (Some(end), _) => match side.side.reconsider(end, probe, parent.tolerance) {
                    None => {
                        side.compares = asked(parent, &side) && side.n_compared < MOST_FOLLOWED;
                        side.beyond.take().and_then(|beyond| side.side.go_on(beyond))
                    }
                    end => end,
                },
            };
            match end {
                None => still_open.push(side),
                Some(end) if doubtful(parent, &side, &end) => {
                    // Another valley may be lower than the valley that the steps followed.
                    (side.searched, side.doubted) = (true, Some(end));
                    (side.n_compared, side.compares) = (side.n_compared + 1, false);
                    still_open.push(side);
                }
                Some(end) => {
                    let answer = describe(parent, &side, &end);
                    record(&mut intervals, side.parameter, side.direction, answer);
                }
            }
        }
        if let Some((rise, point)) = lowest {
            return Err(Stop::Lower(point, -rise));
        }
        open = still_open;
    }
    Ok((with_distances(intervals, &parent.outcome.parameters), points))
}

/// Returns the best-fit value and the (lower, upper) bounds of a parameter; `None` if there is no such parameter.
fn place(parent: &Parent<'_>, parameter: usize) -> Option<(f64, (f64, f64))> {
    Some((
        *parent.outcome.parameters.get(parameter)?,
        parent.analysis.model.parameters.get(parameter)?.bounds,
    ))
}

/// Creates the search for the crossing on one side of a parameter. If there can be no crossing on this side, the error
/// is the reason.
fn begin(parent: &Parent<'_>, parameter: usize, direction: f64) -> Result<Open, String> {
    let (value, (lower, upper)) = place(parent, parameter).ok_or("no such parameter")?;
    let limit = if direction < 0.0 { value - lower } else { upper - value };
    if limit <= 0.0 {
        let (which, bound) = if direction < 0.0 { ("lower", lower) } else { ("upper", upper) };
        return Err(format!("the best fit is at the {which} bound {}", exact(bound)));
    }
    let sigma = parent.outcome.uncertainties.get(parameter).copied().flatten();
    let prefit = parent.analysis.model.parameters.get(parameter).and_then(|p| p.constraint.prefit_sigma());
    let guess = [sigma, prefit, Some(0.1 * value.abs().max(1.0))]
        .into_iter()
        .flatten()
        .find(|g| g.is_finite() && *g > 0.0)
        .unwrap_or(1.0);
    let slope = parent.outcome.inverse_hessian().and_then(|inverse| {
        let row = inverse.row(parameter)?;
        let variance = row.get(parameter).copied().filter(|v| *v > 0.0)?;
        Some(row.iter().map(|x| if x.is_finite() { direction * x / variance } else { 0.0 }).collect())
    });
    let guess = guess * parent.level.sqrt();
    let side = Side::new(parent.level, parent.outcome.parameters.clone(), guess, limit);
    let asked = parent.asked.contains(&parameter);
    let searched = parent.analysis.is_small() || (asked && parent.analysis.is_middling());
    Ok(Open {
        parameter,
        direction,
        side,
        slope,
        searched,
        doubted: None,
        beyond: None,
        n_followed: 0,
        n_compared: 0,
        compares: asked,
    })
}

fn asked(parent: &Parent<'_>, side: &Open) -> bool {
    parent.asked.contains(&side.parameter)
}

/// Returns whether the result of a search must be checked by a fit that searches for the global minimum. This is the
/// case if the earlier fits were single descents, and if the user asked for this crossing. There is no check with
/// [`Search::Local`], or if the search ended where the likelihood is not finite. In large models only two kinds of
/// crossings are checked: those that the user asked for, and those with a lower valley in [`Open::beyond`].
fn doubtful(parent: &Parent<'_>, side: &Open, end: &End) -> bool {
    let unsearched =
        !side.searched && (asked(parent, side) || parent.analysis.is_middling() || side.beyond.is_some());
    let searches = parent.analysis.base.search != Search::Local;
    searches && !matches!(end, End::Wall(_)) && (unsearched || side.compares)
}

/// Returns the value of the parameter at a distance from its best fit, clipped to the bounds of the parameter.
fn value_at(parent: &Parent<'_>, side: &Open, distance: f64) -> f64 {
    let (value, (lower, upper)) = place(parent, side.parameter).unwrap_or((0.0, (0.0, 0.0)));
    (value + side.direction * distance).clamp(lower, upper)
}

/// Builds the conditional fits of the next step of a search. The first fit starts at the predicted point. If the steps
/// search for the global minimum, there are further fits that start from the nearest earlier minima. These fits prevent
/// the step from ending in a higher local minimum.
fn probe_task(parent: &Parent<'_>, side: &Open) -> FitTask {
    let value = value_at(parent, side, side.side.next());
    let predicted = side.side.predict(&parent.outcome.parameters, side.slope.as_deref());
    let search = if side.searched { parent.analysis.base.search } else { Search::Local };
    let mut first = conditional(parent, side, value, predicted.clone(), search);
    let compares = side.doubted.is_some() && asked(parent, side);
    if compares && parent.analysis.is_middling() {
        // Without the covariance of the parent fit, the search covers the full range between the bounds, as the
        // search of a separate fit does.
        first.metric = None;
    }
    let mut fits = vec![first];
    if compares {
        fits.push(plain(parent, side, value));
    }
    if side.searched {
        let mut near: Vec<Vec<f64>> = side.side.neighbours().map(<[f64]>::to_vec).collect();
        // In the first steps, the nearest earlier minimum is the best fit itself. A descent from the predicted point
        // stays in the valley of the best fit.
        if let Some(first) = near.first_mut().filter(|_| side.side.is_first()) {
            *first = predicted;
        }
        fits.extend(near.into_iter().map(|point| conditional(parent, side, value, point, Search::Local)));
    }
    FitTask { data: parent.analysis.data.clone(), fits, cancel: None }
}

/// Builds a conditional fit that starts at `start`, with the parameter of the search fixed at `value`. Fixed
/// parameters are set to their values. All other parameters are clipped to their bounds.
fn conditional(
    parent: &Parent<'_>,
    side: &Open,
    value: f64,
    mut start: Vec<f64>,
    search: Search,
) -> FitRequest {
    for (x, p) in start.iter_mut().zip(&parent.analysis.model.parameters) {
        if !p.fixed {
            *x = x.clamp(p.bounds.0, p.bounds.1);
        }
    }
    for (i, held) in &parent.analysis.base.fixed {
        if let Some(x) = start.get_mut(*i) {
            *x = *held;
        }
    }
    if let Some(x) = start.get_mut(side.parameter) {
        *x = value;
    }
    let mut request = FitRequest {
        start: Start::At(Arc::from(start)),
        search,
        metric: parent.outcome.inverse_hessian(),
        ..parent.analysis.base.clone()
    };
    request.fixed.push((side.parameter, value));
    request
}

/// Builds the conditional fit that a user gets who fixes the parameter of the search at `value`.
fn plain(parent: &Parent<'_>, side: &Open, value: f64) -> FitRequest {
    let base = &parent.analysis.base;
    let mut request = conditional(parent, side, value, parent.outcome.parameters.clone(), base.search);
    (request.start, request.metric) = (base.start.clone(), None);
    request
}

/// Removes conditional fits that end with a negative expected yield. Called only if the parent fit (the free fit) has
/// no negative yield. If all fits of a step are removed, a new fit is made from the starting point of the parent fit.
fn bring_back(parent: &Parent<'_>, open: &[Open], outcomes: &mut [TaskOutcome]) -> Result<(), SessionError> {
    let Analysis { session, data, .. } = parent.analysis;
    let astray = |fit: &FitOutcome| has_negative_yield(*session, data, fit);
    let chosen: Vec<usize> = (0..outcomes.len())
        .filter(|k| {
            let fits = outcomes.get_mut(*k).map(|outcome| &mut outcome.fits);
            fits.is_some_and(|fits| {
                let before = fits.len();
                fits.retain(|fit| !fit.as_ref().is_ok_and(&astray));
                fits.is_empty() && before > 0
            })
        })
        .collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let tasks = chosen.iter().filter_map(|k| open.get(*k)).map(|side| {
        let value = value_at(parent, side, side.side.next());
        FitTask { data: data.clone(), fits: vec![plain(parent, side, value)], cancel: None }
    });
    let tasks: Vec<FitTask> = tasks.collect();
    let mut again: Vec<TaskOutcome> = Vec::with_capacity(tasks.len());
    session.fit_batch(&tasks, OutcomeParts::default(), parent.analysis.silent(), &mut again)?;
    for (k, outcome) in chosen.into_iter().zip(again) {
        if let Some(place) = outcomes.get_mut(k) {
            *place = outcome;
        }
    }
    Ok(())
}

/// Returns the conditional minimum in the valley that the search follows, i.e. the minimum reached by a descent from
/// the nearest earlier minimum. Returns `None` if `-2 ln L` there is at most 1 above the best fit, if the descent did
/// not converge, or if the steps do not search for the global minimum.
fn followed(parent: &Parent<'_>, side: &Open, outcome: &TaskOutcome) -> Option<Probe> {
    if !side.searched {
        return None;
    }
    let fit = outcome.fits.get(1)?.as_ref().ok()?;
    let rise = 2.0 * (fit.nll - parent.outcome.nll);
    let crossed = fit.converged() && rise > 1.0;
    crossed.then(|| Probe { distance: side.side.next(), rise, point: fit.parameters.clone() })
}

/// Returns the lowest minimum of the conditional fits of one step. Converged fits are preferred to fits that did not
/// converge.
fn read_probe(parent: &Parent<'_>, distance: f64, outcome: TaskOutcome) -> Probe {
    let found = outcome.fits.into_iter().flatten().filter(|fit| fit.nll.is_finite());
    match found.min_by(|a, b| b.converged().cmp(&a.converged()).then(a.nll.total_cmp(&b.nll))) {
        Some(fit) => Probe { distance, rise: 2.0 * (fit.nll - parent.outcome.nll), point: fit.parameters },
        None => Probe { distance, rise: f64::INFINITY, point: Vec::new() },
    }
}

/// Returns the value of the parameter at the crossing that a search found. If there is no crossing, the error is the
/// reason.
fn describe(parent: &Parent<'_>, side: &Open, end: &End) -> Result<f64, String> {
    let which = if side.direction < 0.0 { "lower" } else { "upper" };
    crossing(end, which, &significant(parent.level), |distance| value_at(parent, side, distance))
}

/// Returns the value of the parameter at which the rise of `-2 ln L` crosses a level. If there is no crossing, the
/// error is the reason. `value_at` converts a distance from the best fit to a parameter value. `which` is the side,
/// "lower" or "upper", and `level` is the level as text.
pub(crate) fn crossing(
    end: &End,
    which: &str,
    level: &str,
    value_at: impl Fn(f64) -> f64,
) -> Result<f64, String> {
    match *end {
        End::Found(distance) => Ok(value_at(distance)),
        End::Bound { rise } => Err(format!(
            "twice_nll has risen by {rise:.3} only at the {which} bound {}",
            exact(value_at(f64::INFINITY))
        )),
        End::Wall(distance) => Err(format!(
            "the likelihood stops being finite at {} before twice_nll has risen by {level}",
            value_at(distance)
        )),
        End::Jump(distance) => Err(format!(
            "the profile jumps across the level at {}: the fit of the other parameters has several minima there",
            value_at(distance)
        )),
        End::Exhausted { below } => Err(format!(
            "twice_nll has not risen by {level} up to {}, where the search was given up after {MAX_PROBES} conditional fits; \
             look at the profile with a scan of this parameter, or set its bounds to the range that matters",
            value_at(below)
        )),
    }
}

/// Stores the crossing of one side of a parameter, or the reason why there is no crossing.
fn record(
    intervals: &mut [(usize, Interval)],
    parameter: usize,
    direction: f64,
    answer: Result<f64, String>,
) {
    let Some((_, interval)) = intervals.iter_mut().find(|(i, _)| *i == parameter) else { return };
    let (crossing, reason) = match answer {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    };
    if direction < 0.0 {
        (interval.lower_crossing, interval.lower_reason) = (crossing, reason);
    } else {
        (interval.upper_crossing, interval.upper_reason) = (crossing, reason);
    }
}

/// Sets the fields `lower` and `upper` of all intervals. They are the differences between the crossings and the best
/// fit.
fn with_distances(mut intervals: Vec<(usize, Interval)>, best: &[f64]) -> Vec<(usize, Interval)> {
    for (i, interval) in &mut intervals {
        let Some(value) = best.get(*i) else { continue };
        interval.lower = interval.lower_crossing.map(|x| x - value);
        interval.upper = interval.upper_crossing.map(|x| x - value);
    }
    intervals
}
