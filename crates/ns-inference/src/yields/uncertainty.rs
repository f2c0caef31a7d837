//! Computes the uncertainties of yields from the shifts due to single parameters.
//!
//! The shift `s_i` of a yield `lambda` by the parameter `theta_i` is half the difference between two yields. In the
//! first, this parameter is increased by its uncertainty `sigma_i`; in the second, it is decreased by `sigma_i`:
//! `s_i = (lambda(theta_i + sigma_i) - lambda(theta_i - sigma_i)) / 2`. The variance of the yield is
//! `sum_ij rho_ij s_i s_j`, where `rho_ij` are the correlations of the parameters. Cabinetry uses the same method
//! (`cabinetry.model_utils.yield_stdev`).
//!
//! Cabinetry ignores bounds. Here no yield is evaluated beyond a bound. The shift within the bounds is extrapolated
//! linearly to the full uncertainty. The uncertainty of a yield that is proportional to a parameter is then the same
//! with and without the bound.

use ns_core::{Channel, Data, EvaluationRequest, Model, Session};

use super::waves::{Wave, waves};
use crate::InferenceError;

/// Largest number of pairs of points in parameter space that are evaluated in one call. In the first point of a pair
/// some parameters are shifted up, in the second point the same parameters are shifted down.
const MOST_PAIRS: usize = 32;
/// Largest total number of parameter values and yields in one call, summed over the evaluated points. One million
/// numbers need 8 MB.
const MOST_NUMBERS: usize = 1_000_000;

/// Source of the correlations between parameters.
pub(super) enum Correlations<'a> {
    /// The parameters are independent.
    None,
    /// The correlations are those of the constraints.
    Constraints(ConstraintCorrelations<'a>),
    /// The correlations come from this covariance matrix, stored row by row.
    Matrix(&'a [f64]),
    /// The correlations come from the curvature of the likelihood for these data. The list tells for each parameter
    /// whether it is free. This variant needs no covariance matrix, which would not fit in memory for models with one
    /// parameter per bin.
    Curvature(&'a Data, Vec<bool>),
}

/// The correlations of the constraints of a model, found by the indices of parameters.
pub(super) struct ConstraintCorrelations<'a> {
    /// For each correlated parameter, its matrix and its row.
    places: Vec<Option<(&'a ns_core::Correlations, usize)>>,
}

impl<'a> ConstraintCorrelations<'a> {
    /// Returns the correlations of the constraints; `None` if they are independent.
    pub(super) fn new(model: &'a Model) -> Option<Self> {
        let mut places = vec![None; model.parameters.len()];
        let mut is_empty = true;
        for own in model.correlations() {
            for (row, p) in own.parameters().iter().enumerate() {
                if let Some(place) = places.get_mut(*p) {
                    (*place, is_empty) = (Some((own, row)), false);
                }
            }
        }
        (!is_empty).then_some(Self { places })
    }

    fn between(&self, i: usize, j: usize) -> f64 {
        let place = |p: usize| self.places.get(p).copied().flatten();
        match place(i).zip(place(j)) {
            Some(((a, row), (b, column))) if std::ptr::eq(a, b) => {
                a.matrix().get(row * a.parameters().len() + column).copied().unwrap_or(0.0)
            }
            _ => 0.0,
        }
    }
}

/// Uncertainties and correlations of all parameters.
pub(super) struct Spread<'a> {
    /// Standard deviation of each parameter; `None` for a parameter that contributes nothing to the uncertainties of
    /// yields.
    pub(super) sigma: Vec<Option<f64>>,
    /// Correlations of the parameters.
    pub(super) correlations: Correlations<'a>,
}

impl Spread<'_> {
    pub(super) fn correlation(&self, (i, a): (usize, f64), (j, b): (usize, f64)) -> f64 {
        match self.correlations {
            _ if i == j => 1.0,
            Correlations::None | Correlations::Curvature(..) => 0.0,
            Correlations::Constraints(ref constraints) => constraints.between(i, j),
            Correlations::Matrix(matrix) => {
                let element = matrix.get(i * self.sigma.len() + j).copied().unwrap_or(0.0);
                let rho = element / (a * b);
                if rho.is_finite() { rho } else { 0.0 }
            }
        }
    }
}

/// Uncertainties of yields; `None` if an uncertainty is unknown.
pub(super) struct Uncertainty {
    /// Uncertainty of the yield of all samples together, one number per bin of the model.
    pub(super) bins: Vec<Option<f64>>,
    /// Uncertainty of the yield summed over samples and bins, one number per channel.
    pub(super) channels: Vec<Option<f64>>,
    /// Uncertainty of the yield of each sample in each bin: channel after channel, sample after sample, bin after
    /// bin. The list is empty if uncertainties of samples were not asked for.
    pub(super) sample_bins: Vec<Option<f64>>,
    /// Uncertainty of the yield of each sample, summed over the bins of a channel: channel after channel, sample
    /// after sample. The list is empty if uncertainties of samples were not asked for.
    pub(super) samples: Vec<Option<f64>>,
}

/// Positions of the yields of a channel, or of one of its samples, in the list of targets. A target is a number whose
/// uncertainty is computed. The yield in each bin is a target, and so is the sum over the bins.
struct Row {
    /// Index of the row's first bin among all bins of the model.
    first_bin: usize,
    n_bins: usize,
    /// Index of the target that is the yield in the first bin. A target is a number whose uncertainty is computed.
    bins: usize,
    /// Index of the target that is the sum over the bins. A target is a number whose uncertainty is computed.
    sum: usize,
}

/// Returns one [`Row`] per channel, and one per sample of each channel, channel after channel. The second list is
/// empty if `samples` is false. Targets (numbers whose uncertainty is computed) are numbered in this order: the bins
/// of all channels, the sums of all channels, the bins of all samples, the sums of all samples.
fn rows(model: &Model, samples: bool) -> (Vec<Row>, Vec<Row>) {
    let lay_out = |rows: &mut [Row], mut target: usize| {
        for row in rows.iter_mut() {
            row.bins = target;
            target += row.n_bins;
        }
        for row in rows {
            row.sum = target;
            target += 1;
        }
        target
    };
    let row =
        |channel: &Channel| Row { first_bin: channel.first_bin, n_bins: channel.n_bins, bins: 0, sum: 0 };
    let mut totals: Vec<Row> = model.channels.iter().map(row).collect();
    let mut parts: Vec<Row> = match samples {
        true => model.channels.iter().flat_map(|c| c.samples.iter().map(|_| row(c))).collect(),
        false => Vec::new(),
    };
    let next = lay_out(&mut totals, 0);
    lay_out(&mut parts, next);
    (totals, parts)
}

/// Computes the uncertainties of the yields at the parameters `point`. If `samples` is true, also computes the
/// uncertainties of the yields of each sample.
///
/// # Errors
/// If the device fails.
pub(super) fn uncertainty(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    point: &[f64],
    spread: &Spread<'_>,
    samples: bool,
) -> Result<Uncertainty, InferenceError> {
    let varied: Vec<(usize, f64)> =
        spread.sigma.iter().enumerate().filter_map(|(i, s)| Some((i, (*s)?))).filter(|v| v.1 > 0.0).collect();
    let (totals, parts) = rows(model, samples);
    let n_bins = model.n_bins();
    let n_parts: usize = parts.iter().map(|row| row.n_bins).sum();
    // For each target, a list of parameters that shift it: the position of the parameter in `varied`, and the shift.
    let mut shifts: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n_bins + totals.len() + n_parts + parts.len()];
    let width = n_bins + model.observed.aux.len();
    let request = EvaluationRequest { expected: true, samples, ..EvaluationRequest::default() };
    let waves = waves(model, &varied);
    let chunk = (MOST_NUMBERS / (2 * (point.len() + width + n_parts)).max(1)).clamp(1, MOST_PAIRS);
    for waves in waves.chunks(chunk) {
        let (points, scales) = shifted(model, point, waves, &varied);
        let predicted = session.evaluate(data, &points, request)?;
        for (wave, pair) in waves.iter().zip(predicted.expected.chunks((2 * width).max(1))) {
            note(&totals, wave, &scales, pair.split_at(pair.len().min(width)), &mut shifts);
        }
        for (wave, pair) in waves.iter().zip(predicted.samples.chunks((2 * n_parts).max(1))) {
            note(&parts, wave, &scales, pair.split_at(pair.len().min(n_parts)), &mut shifts);
        }
    }
    for list in &mut shifts {
        list.sort_by_key(|(position, _)| *position);
    }
    let all: Vec<Option<f64>> = match &spread.correlations {
        Correlations::Curvature(data, free) => {
            for (position, shift) in shifts.iter_mut().flatten() {
                // The derivative is the shift by one uncertainty divided by the uncertainty.
                if let Some(&(i, sigma)) = varied.get(*position) {
                    (*position, *shift) = (i, *shift / sigma);
                }
            }
            let variances = session.combined_variances(data, point, free, &shifts)?;
            let root = |variance: f64| variance.is_finite().then(|| variance.max(0.0).sqrt());
            variances.map_or_else(|| vec![None; shifts.len()], |all| all.into_iter().map(root).collect())
        }
        _ => shifts.iter().map(|list| deviation(list, &varied, spread)).collect(),
    };
    let mut all = all.into_iter();
    let mut next = |n: usize| all.by_ref().take(n).collect::<Vec<_>>();
    Ok(Uncertainty {
        bins: next(n_bins),
        channels: next(totals.len()),
        sample_bins: next(n_parts),
        samples: next(parts.len()),
    })
}

/// Returns two points for every wave, i.e. for every set of parameters that are shifted together: one with these
/// parameters shifted up, one with them shifted down. Also returns one factor for each parameter in `varied`. The
/// difference of the yields at the two points, times this factor, is the shift of the yield by the parameter.
fn shifted(model: &Model, point: &[f64], waves: &[Wave], varied: &[(usize, f64)]) -> (Vec<f64>, Vec<f64>) {
    let mut points = Vec::with_capacity(2 * waves.len() * point.len());
    let mut scales = vec![0.0; varied.len()];
    for wave in waves {
        for sign in [1.0, -1.0] {
            let first = points.len();
            points.extend_from_slice(point);
            for &position in wave.members() {
                let Some(&(i, sigma)) = varied.get(position) else { continue };
                let (lower, upper) = model.parameters.get(i).map_or((f64::MIN, f64::MAX), |p| p.bounds);
                if let (Some(x), Some(way)) = (points.get_mut(first + i), scales.get_mut(position)) {
                    // A model may fix a parameter outside its bounds. A value outside is not moved inside.
                    let moved = (*x + sign * sigma).clamp(lower.min(*x), upper.max(*x));
                    *way += (moved - *x).abs();
                    *x = moved;
                }
            }
        }
    }
    // Both points lie within the bounds. The factor extrapolates from the distance between them to the full
    // uncertainty.
    for (scale, (_, sigma)) in scales.iter_mut().zip(varied) {
        *scale = if *scale > 0.0 { sigma / *scale } else { 0.0 };
    }
    (points, scales)
}

/// Records in `shifts` how each parameter of a wave (parameters that are shifted together) shifts each target (number
/// whose uncertainty is computed). `up` and `down` are the yields with these parameters shifted up and down, row
/// after row.
fn note(
    rows: &[Row],
    wave: &Wave,
    scales: &[f64],
    (up, down): (&[f64], &[f64]),
    shifts: &mut [Vec<(usize, f64)>],
) {
    let mut yields = up.iter().zip(down);
    for row in rows {
        let mut sum: Option<(usize, f64)> = None;
        for (at, (up, down)) in yields.by_ref().take(row.n_bins).enumerate() {
            let Some(position) = wave.mover(row.first_bin + at) else { continue };
            let shift = scales.get(position).copied().unwrap_or(0.0) * (up - down);
            push(shifts.get_mut(row.bins + at), position, shift);
            sum = match sum {
                Some((same, sum)) if same == position => Some((same, sum + shift)),
                before => {
                    if let Some((position, sum)) = before {
                        push(shifts.get_mut(row.sum), position, sum);
                    }
                    Some((position, shift))
                }
            };
        }
        if let Some((position, sum)) = sum {
            push(shifts.get_mut(row.sum), position, sum);
        }
    }
}

/// Adds the shift of a yield by one parameter to `list`, the list of all shifts of this yield. `position` is the
/// position of the parameter in the list of varied parameters. A shift of 0 is not added.
fn push(list: Option<&mut Vec<(usize, f64)>>, position: usize, shift: f64) {
    if let Some(list) = list.filter(|_| shift != 0.0) {
        list.push((position, shift));
    }
}

/// Returns the standard deviation of one yield, computed from its shifts by each parameter; `None` if it is not
/// finite.
fn deviation(shifts: &[(usize, f64)], varied: &[(usize, f64)], spread: &Spread<'_>) -> Option<f64> {
    let mut variance = 0.0;
    for (k, &(i, a)) in shifts.iter().enumerate() {
        variance += a * a;
        if matches!(spread.correlations, Correlations::Matrix(_) | Correlations::Constraints(_)) {
            let Some(first) = varied.get(i) else { continue };
            for &(j, b) in shifts.iter().skip(k + 1) {
                if let Some(second) = varied.get(j) {
                    variance += 2.0 * spread.correlation(*first, *second) * a * b;
                }
            }
        }
    }
    // If all terms cancel, rounding may give a small negative number.
    variance.is_finite().then(|| variance.max(0.0).sqrt())
}
