//! Profile likelihood scans in one and two parameters.

mod axis;
mod crossings;
mod cut;
mod grid;
mod options;
mod order;
mod predict;
mod profile;
mod result;
#[cfg(feature = "schema")]
pub mod schema;

pub use options::{ScanAxis, ScanOptions};
pub use result::{ContourLevel, ScanInterval, ScanResult, SecondAxis};

use ns_core::{Control, FitFailure, FitOutcome, Model, Session};

use crate::InferenceError;
use crate::analysis::{Analysis, Fitted, WITH_INVERSE};
use crate::diagnosis;
use crate::lowest::{Lowest, Stop};
use axis::Scanned;
use crossings::crossings;
use grid::{Grid, Line};
use profile::{Centre, profile, starting_at};

/// Largest number of points of a scan. For a scan in two parameters, this limit applies to the product of the numbers
/// of values of both parameters. Useful scans have far fewer points. More points might not fit in memory.
const MOST_POINTS: usize = 10_000_000;

/// Scans the profile likelihood. At every point the scanned parameters are fixed, and all other parameters are
/// fitted.
///
/// The scan makes one free fit with its covariance, then the conditional fits in a fixed order. Each conditional fit
/// starts at a point that is interpolated between neighbouring fits. If a conditional fit ends below the free fit,
/// the scan is restarted from this lower minimum. `twice_delta_nll` is therefore the difference from the lowest
/// minimum found.
///
/// If the fit of a point fails or does not converge, [`ScanResult::reasons`] gives the reason. If the caller stops the
/// work, the values of the points that were not reached are `None`.
///
/// # Errors
/// For options that do not match the model, a likelihood that is not finite at any starting point, a device failure,
/// or an interruption before the best fit was found.
pub fn scan(
    model: &Model,
    session: &dyn Session,
    options: &ScanOptions,
    control: Control<'_>,
) -> Result<ScanResult, InferenceError> {
    let mut analysis = Analysis::new(model, session, &options.fit, control)?;
    let first = axis::parameter(&analysis, &options.first)?;
    let second = options.second.as_ref().map(|axis| axis::parameter(&analysis, axis)).transpose()?;
    if let Some(second) = second.as_ref().filter(|second| second.index == first.index) {
        return Err(InferenceError::BadScan {
            name: second.name.clone(),
            problem: "it is both the first and the second parameter".to_owned(),
            remedy: "scan two different parameters",
        });
    }
    let points = |axis: &ScanAxis| axis.values.as_ref().map_or(axis.points, Vec::len);
    let wished = points(&options.first).checked_mul(options.second.as_ref().map_or(1, points));
    let Some(n_points) = wished.filter(|n| *n <= MOST_POINTS) else {
        let asked = wished.map_or_else(|| "too many".to_owned(), |n| n.to_string());
        return Err(InferenceError::BadScan {
            name: first.name,
            problem: format!("{asked} points in all are more than {MOST_POINTS}"),
            remedy: "ask for fewer points",
        });
    };
    let levels = ContourLevel::of(&options.levels, second.is_some())?;
    let widest = levels.iter().map(|level| level.twice_delta_nll).fold(0.0, f64::max);
    analysis.expect(1 + n_points);
    let (data, request) = (analysis.data.clone(), analysis.base.clone());
    let first_fit = analysis.fit(&data, request.clone(), WITH_INVERSE)?;
    let mut lowest = Lowest::new(analysis.settle_expected(first_fit, &request, WITH_INVERSE)?);
    let mut tally = Tally { notes: Vec::new(), n_iter: lowest.fit.all_iterations(), n_fits: 1 };

    loop {
        let contour = second.as_ref().map(|_| widest);
        let (values, values2);
        values = axis::values(&analysis, &options.first, &first, &lowest.fit, contour)?;
        let mut grid = Grid { first: Line::new(first.index, &values), second: None };
        values2 = match (&options.second, &second) {
            (Some(axis), Some(second)) => {
                let values = axis::values(&analysis, axis, second, &lowest.fit, contour)?;
                grid.second = Some(Line::new(second.index, &values));
                Some(values)
            }
            _ => None,
        };
        let centre = Centre::new(&lowest.fit, &grid, lowest.tolerance);
        let fitted = profile(&mut analysis, &grid, &centre, &mut tally).and_then(|fits| {
            // A crossing lies between two points. A scan with one point therefore has no crossing.
            let crossed = options.intervals && second.is_none() && grid.len() > 1;
            let intervals = if crossed {
                crossings(&mut analysis, &grid, &centre, (&fits, &levels), &mut tally)?
            } else {
                Vec::new()
            };
            Ok((fits, intervals))
        });
        let (point, depth) = match fitted {
            Ok((fits, intervals)) => {
                let minima = fits.iter().flatten().map(|fit| fit.parameters.as_slice());
                if analysis.recheck_expected(minima)? {
                    analysis.expect(1 + n_points);
                    let data = analysis.data.clone();
                    let next = analysis.fit(&data, request.clone(), WITH_INVERSE)?;
                    tally.count(&next);
                    lowest = Lowest::new(next);
                    continue;
                }
                let contours = if second.is_some() { levels.clone() } else { Vec::new() };
                let shape =
                    Shape { first: &first, second: second.as_ref(), grid: &grid, values, values2, contours };
                return Ok(name_result(&analysis, options, &lowest.fit, shape, fits, intervals, tally));
            }
            Err(Stop::Lower(point, depth)) => (point, depth),
            Err(Stop::Error(error)) => return Err(error),
        };
        if !lowest.may_restart() {
            tally.notes.push(
                "conditional fits keep falling below the best fit; it may not be the lowest minimum"
                    .to_owned(),
            );
            lowest.tolerance = f64::INFINITY;
            continue;
        }
        analysis.expect(1 + n_points);
        let data = analysis.data.clone();
        let next = analysis.fit(&data, starting_at(&analysis.base, point), WITH_INVERSE)?;
        tally.count(&next);
        if let Some(gain) = lowest.restart(next, depth, false) {
            tally.notes.push(format!(
                "the scan met a minimum lower by {gain:.3e} in twice_nll than the free fit; it was restarted there"
            ));
        }
    }
}

/// Warnings of a scan, and the numbers of iterations and fits made so far.
struct Tally {
    notes: Vec<String>,
    n_iter: usize,
    n_fits: usize,
}

impl Tally {
    fn count(&mut self, fit: &FitOutcome) {
        self.n_iter += fit.all_iterations();
        self.n_fits += 1;
    }
}

/// The points of a scan: the grid of fitted points, and the values of each parameter in the order of the request.
struct Shape<'a> {
    first: &'a Scanned,
    second: Option<&'a Scanned>,
    grid: &'a Grid,
    values: Vec<f64>,
    values2: Option<Vec<f64>>,
    /// Levels of the contours; empty in one parameter.
    contours: Vec<ContourLevel>,
}

impl Shape<'_> {
    /// Returns the grid index of each requested point, in the order of the request.
    fn places(&self) -> Vec<usize> {
        let (n1, _) = self.grid.shape();
        let columns: Vec<usize> =
            self.values.iter().filter_map(|x| self.grid.first.position(*x + 0.0)).collect();
        let rows: Vec<usize> = match (&self.values2, &self.grid.second) {
            (Some(values), Some(line)) => values.iter().filter_map(|x| line.position(*x + 0.0)).collect(),
            _ => vec![0],
        };
        rows.iter().flat_map(|j| columns.iter().map(move |i| j * n1 + i)).collect()
    }

    /// Formats the values of the scanned parameters at grid point `k`, for example `mu = 1.5` or `mu = 1.5, alpha =
    /// 0.2`.
    fn place_name(&self, k: usize) -> String {
        let names = [Some(self.first), self.second].into_iter().flatten().map(|scanned| &scanned.name);
        let named = names.zip(self.grid.held(k));
        named
            .map(|(name, (_, x))| format!("{name} = {}", crate::present::significant(x)))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Builds the result of a scan, with the names of parameters and the reasons for missing points, crossings and
/// uncertainties.
fn name_result(
    analysis: &Analysis<'_>,
    options: &ScanOptions,
    parent: &FitOutcome,
    shape: Shape<'_>,
    fits: Vec<Fitted>,
    intervals: Vec<ScanInterval>,
    tally: Tally,
) -> ScanResult {
    let model = analysis.model;
    let best = |index: usize| parent.parameters.get(index).copied().unwrap_or(f64::NAN);
    let sigma = |index: usize| parent.uncertainties.get(index).copied().flatten();
    let mu_hat = best(shape.first.index);
    let mut warnings = model.warnings.clone();
    warnings.extend(analysis.about_weights());
    warnings.extend(tally.notes);
    if parent.converged() {
        let data = &analysis.data;
        warnings.extend(diagnosis::without_events(model, analysis.session, data, parent));
    } else {
        warnings.extend(diagnosis::not_converged(model, parent));
    }
    warnings.extend(analysis.about_expected());
    warnings.extend(problems(model, &shape, &fits));
    for interval in &intervals {
        for (side, reason) in [("lower", &interval.lower_reason), ("upper", &interval.upper_reason)] {
            if let Some(reason) = reason {
                warnings.push(format!(
                    "the {side} crossing of twice_delta_nll = {} is null: {reason}",
                    interval.level
                ));
            }
        }
    }
    for scanned in [Some(shape.first), shape.second].into_iter().flatten() {
        if sigma(scanned.index).is_none() {
            warnings.push(format!(
                "{} has no uncertainty at the best fit: {}",
                scanned.name,
                inactive(parent, scanned)
            ));
        }
    }

    let mut result = ScanResult {
        param: shape.first.name.clone(),
        second: None,
        twice_delta_nll: Vec::new(),
        q_mu_values: Vec::new(),
        mu_hat,
        uncertainty: sigma(shape.first.index),
        twice_nll: 2.0 * parent.nll,
        converged: Vec::new(),
        bestfit_converged: parent.converged() && !analysis.has_inexact_data(),
        asimov_error: analysis.asimov_error(),
        reasons: Vec::new(),
        levels: shape.contours.clone(),
        intervals,
        n_iter: tally.n_iter,
        n_fits: tally.n_fits,
        warnings,
        interrupted: analysis.is_cancelled(),
        mu_values: Vec::new(),
    };
    for k in shape.places() {
        let fit = fits.get(k).and_then(|fit| fit.as_ref().ok());
        // At the best-fit value, rounding may give a small negative difference, as in pyhf. The result is then 0.
        let rise = fit.map(|fit| 2.0 * (fit.nll - parent.nll)).filter(|x| x.is_finite());
        let value = rise.map(|x| x.max(0.0));
        result.twice_delta_nll.push(value);
        if shape.second.is_none() {
            let below = shape.grid.x(k, order::Along::First) < mu_hat;
            result.q_mu_values.push(value.map(|x| if below { 0.0 } else { x }));
        }
        result.converged.push(fit.is_some_and(FitOutcome::converged));
        result.reasons.push(fits.get(k).and_then(|fit| reason(model, fit)));
    }
    if let (Some(second), Some(values)) = (shape.second, shape.values2) {
        result.second = Some(SecondAxis {
            param: second.name.clone(),
            mu_values: values,
            mu_hat: best(second.index),
            uncertainty: sigma(second.index),
        });
    }
    result.mu_values = shape.values;
    if let Some(second) = shape.second {
        let about_cuts = cut::warnings(&result, [shape.first, second]);
        result.warnings.extend(about_cuts);
    }
    if !options.intervals {
        result.intervals.clear();
    }
    result
}

/// Returns the reason why a fit has no value or did not converge; `None` if the fit converged.
fn reason(model: &Model, fit: &Fitted) -> Option<String> {
    match fit {
        Ok(fit) if fit.converged() => None,
        Ok(fit) => Some(diagnosis::termination(fit)),
        Err(failure) => Some(diagnosis::failure(model, failure)),
    }
}

/// Returns the reason why a scanned parameter has no symmetric uncertainty at the best fit.
fn inactive(parent: &FitOutcome, scanned: &Scanned) -> &'static str {
    use ns_core::Inactive::{Flat, Kink, LowerBound, TwoSided, UpperBound};
    match parent.inactive.iter().find(|(i, _)| *i == scanned.index).map(|(_, why)| why) {
        Some(LowerBound) => "it is at its lower bound",
        Some(UpperBound) => "it is at its upper bound",
        Some(Kink) => "it is on the kink of a piecewise interpolation",
        Some(TwoSided) => "it is on a kink whose two sides have different curvature",
        Some(Flat) => "the data do not determine it",
        None => "the curvature there gives none",
    }
}

/// Returns up to three warnings: about points without a value, about points whose fit did not converge, and about
/// points that were not reached. Each warning gives the number of points, their names and the first reason.
fn problems(model: &Model, shape: &Shape<'_>, fits: &[Fitted]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut say = |what: &str, wanted: &dyn Fn(&Fitted) -> bool| {
        let found: Vec<usize> = (0..fits.len()).filter(|k| fits.get(*k).is_some_and(wanted)).collect();
        let Some(first) = found.first().and_then(|k| fits.get(*k)) else { return };
        let names: Vec<String> = found.iter().map(|k| shape.place_name(*k)).collect();
        let why = reason(model, first).unwrap_or_default();
        warnings.push(format!(
            "{} of {} points {what} ({}): {why}",
            found.len(),
            fits.len(),
            diagnosis::list(names.iter().map(String::as_str))
        ));
    };
    let cancelled = |fit: &Fitted| matches!(fit, Err(FitFailure::Cancelled));
    say("are null", &|fit| fit.is_err() && !cancelled(fit));
    say("did not converge", &|fit| fit.as_ref().is_ok_and(|fit| !fit.converged()));
    say("were not reached", &cancelled);
    warnings
}
