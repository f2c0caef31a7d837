//! Finds the scanned parameter and the points of one axis of a scan from the options of the axis.

use ns_core::{FitOutcome, ModelFormat};

use super::options::ScanAxis;
use crate::analysis::Analysis;
use crate::lowest::Stop;
use crate::minos::{self, Parent};
use crate::present::significant;
use crate::{InferenceError, parameter_index};

/// A scanned parameter. It is free in the first fit of the scan, and fixed at every point of the scan.
pub(super) struct Scanned {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) bounds: (f64, f64),
    format: ModelFormat,
}

impl Scanned {
    fn refuse(&self, problem: String, remedy: &'static str) -> InferenceError {
        InferenceError::BadScan { name: self.name.clone(), problem, remedy }
    }
}

/// Returns the scanned parameter of an axis. Makes all checks of the options that need no fit.
///
/// # Errors
/// If the parameter is unknown or fixed, if there are no points, if a point is outside the bounds, if the start of a
/// range is above its end, or if a range of zero width has several points.
pub(super) fn parameter(analysis: &Analysis<'_>, axis: &ScanAxis) -> Result<Scanned, InferenceError> {
    let index = match &axis.param {
        Some(name) => parameter_index(analysis.model, name)?,
        None => analysis.poi("a scan that names no parameter")?,
    };
    let p = analysis.model.parameters.get(index);
    let (name, bounds) =
        p.map_or_else(|| (String::new(), (f64::NAN, f64::NAN)), |p| (p.name.clone(), p.bounds));
    let scanned = Scanned { index, name, bounds, format: analysis.model.format };
    if analysis.is_fixed(index) || bounds.0 >= bounds.1 {
        return Err(scanned.refuse(
            "it is held fixed, so there is no best fit to compare with".to_owned(),
            "release it, or scan another parameter",
        ));
    }
    match &axis.values {
        Some(values) if values.is_empty() => {
            return Err(scanned.refuse("no points".to_owned(), "give at least one value"));
        }
        Some(values) => values.iter().try_for_each(|x| check(&scanned, "the scan point", *x))?,
        None if axis.points == 0 => {
            return Err(scanned.refuse("0 points".to_owned(), "ask for at least one point"));
        }
        None => {
            axis.start.map_or(Ok(()), |x| check(&scanned, "the start of the scan", x))?;
            axis.stop.map_or(Ok(()), |x| check(&scanned, "the end of the scan", x))?;
            if let (Some(start), Some(stop)) = (axis.start, axis.stop) {
                let ends = Ends { start, stop, start_given: true, stop_given: true };
                check_order(&scanned, &ends, axis.points)?;
            }
        }
    }
    Ok(scanned)
}

/// Returns an error unless `value`, a point of the scan, is finite and inside the bounds of the parameter. The model is
/// not defined outside the bounds, and pyhf also rejects such points.
fn check(scanned: &Scanned, what: &'static str, value: f64) -> Result<(), InferenceError> {
    let ((lower, upper), name) = (scanned.bounds, scanned.name.clone());
    if !value.is_finite() {
        return Err(InferenceError::NotFinite { what, name, value });
    }
    if value < lower || value > upper {
        return Err(InferenceError::OutOfBounds { what, name, value, lower, upper, format: scanned.format });
    }
    Ok(())
}

/// The lower and upper end of the range of a scan. `start_given` is true if the user gave the lower end, and
/// `stop_given` is true if the user gave the upper end.
struct Ends {
    start: f64,
    stop: f64,
    start_given: bool,
    stop_given: bool,
}

fn check_order(scanned: &Scanned, ends: &Ends, points: usize) -> Result<(), InferenceError> {
    let &Ends { start, stop, start_given, stop_given } = ends;
    if start > stop {
        let (start_name, stop_name, remedy) = match (start_given, stop_given) {
            (true, false) => ("the start", "the default end", "give the end as well"),
            (false, true) => ("the default start", "the end", "give the start as well"),
            _ => ("the start", "the end", "give a start below the end"),
        };
        let text = |x: f64, given: bool| if given { x.to_string() } else { significant(x) };
        let (start, stop) = (text(start, start_given), text(stop, stop_given));
        return Err(scanned.refuse(format!("{start_name} {start} lies above {stop_name} {stop}"), remedy));
    }
    if start == stop && points > 1 {
        return Err(scanned.refuse(
            format!("{points} points between {start} and {stop}"),
            "ask for one point, or for a range",
        ));
    }
    Ok(())
}

/// Default range of a scan in one parameter on either side of the best fit, in uncertainties.
const REACH: f64 = 3.0;

/// Space between a contour and the end of the default range, as a fraction of the distance from the best fit.
const MARGIN: f64 = 0.05;

/// Returns the points of an axis. `parent` is the free fit of the scan. If the user left out an end of the range, this
/// end lies three uncertainties from the best fit, or beyond the contour of the level `contour` in a scan in two
/// parameters.
///
/// # Errors
/// If an end was left out and the parameter has no uncertainty; if the start of the range is above its end; if both
/// are equal but more than one point is asked for.
pub(super) fn values(
    analysis: &Analysis<'_>,
    axis: &ScanAxis,
    scanned: &Scanned,
    parent: &FitOutcome,
    contour: Option<f64>,
) -> Result<Vec<f64>, InferenceError> {
    if let Some(values) = &axis.values {
        return Ok(values.clone());
    }
    let (lower, upper) = scanned.bounds;
    let (start, stop) = match (axis.start, axis.stop) {
        (Some(start), Some(stop)) => (start, stop),
        (start, stop) => {
            let best = parent.parameters.get(scanned.index).copied().unwrap_or(f64::NAN);
            let (below, above) = match contour {
                Some(level) => beyond(analysis, scanned, parent, level)?,
                None => {
                    let (below, above) = widths(analysis, scanned, parent)?;
                    (REACH * below, REACH * above)
                }
            };
            let start = start.unwrap_or_else(|| (best - below).clamp(lower, upper));
            (start, stop.unwrap_or_else(|| (best + above).clamp(lower, upper)))
        }
    };
    let ends = Ends { start, stop, start_given: axis.start.is_some(), stop_given: axis.stop.is_some() };
    check_order(scanned, &ends, axis.points)?;
    let step = (stop - start) / axis.points.saturating_sub(1).max(1) as f64;
    let last = axis.points.saturating_sub(1);
    Ok((0..axis.points).map(|i| if i == last && i > 0 { stop } else { start + step * i as f64 }).collect())
}

/// Returns the distances from the best fit to points beyond a contour. The contour ends in this parameter where
/// `-2 ln L`, minimised over all other parameters, is `level` above its minimum. On a side without such a value the
/// contour goes to the bound of the parameter.
fn beyond(
    analysis: &Analysis<'_>,
    scanned: &Scanned,
    parent: &FitOutcome,
    level: f64,
) -> Result<(f64, f64), InferenceError> {
    let best = parent.parameters.get(scanned.index).copied().unwrap_or(f64::NAN);
    let (below, above) = distances(analysis, scanned.index, parent, level)?;
    let to_bounds = (best - scanned.bounds.0, scanned.bounds.1 - best);
    let end = |found: Option<f64>, to_bound: f64| match found {
        Some(distance) => Some((1.0 + MARGIN) * distance),
        None => Some(to_bound).filter(|distance| distance.is_finite()),
    };
    match (end(below, to_bounds.0), end(above, to_bounds.1)) {
        (Some(below), Some(above)) => Ok((below, above)),
        (below, above) => {
            let (left, right) = widths(analysis, scanned, parent)?;
            Ok((below.unwrap_or(REACH * left), above.unwrap_or(REACH * right)))
        }
    }
}

/// Returns the distances from the best fit to the values below and above it at which `-2 ln L`, minimised over all
/// other parameters, is `level` above its minimum. A distance is `None` if there is no such value.
fn distances(
    analysis: &Analysis<'_>,
    index: usize,
    parent: &FitOutcome,
    level: f64,
) -> Result<(Option<f64>, Option<f64>), InferenceError> {
    // A lower minimum found by this search is ignored, because the scan also finds it.
    let search = Parent { analysis, outcome: parent, level, tolerance: f64::INFINITY, asked: &[] };
    let found = match minos::crossings(&search, &[index]) {
        Ok((found, _)) => found,
        Err(Stop::Lower(..)) => Vec::new(),
        Err(Stop::Error(error)) => return Err(error),
    };
    if analysis.is_cancelled() {
        return Err(InferenceError::Cancelled);
    }
    let interval = found.first().map(|(_, interval)| interval);
    Ok((interval.and_then(|x| x.lower).map(f64::abs), interval.and_then(|x| x.upper)))
}

/// Returns the uncertainties below and above the best fit, from the covariance. For a parameter at a bound or on a kink
/// of an interpolation, the covariance gives no uncertainty. The result is then the distances to the values at which
/// `-2 ln L` is 1 above its minimum. If only one side has such a value, the distance on this side is used for both
/// sides.
fn widths(
    analysis: &Analysis<'_>,
    scanned: &Scanned,
    parent: &FitOutcome,
) -> Result<(f64, f64), InferenceError> {
    let index = scanned.index;
    if let Some(sigma) = parent.uncertainties.get(index).copied().flatten() {
        return Ok((sigma, sigma));
    }
    let (below, above) = distances(analysis, index, parent, 1.0)?;
    match (below.or(above), above.or(below)) {
        (Some(below), Some(above)) => Ok((below, above)),
        _ => Err(scanned.refuse(
            "it has no uncertainty to make a range of".to_owned(),
            "give the start and the end of the scan",
        )),
    }
}
