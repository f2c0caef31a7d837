//! Computes the uncertainty of a prediction from shifts of single parameters.
//!
//! The shift of a yield by a parameter is half the difference between the yields with the parameter one uncertainty
//! up and one uncertainty down: `s_i = (lambda(theta + sigma_i e_i) - lambda(theta - sigma_i e_i)) / 2`. The variance
//! of the yield is `sum_ij rho_ij s_i s_j`, with the correlations `rho_ij`. Cabinetry uses the same method
//! (`cabinetry.model_utils.yield_stdev`).
//!
//! Cabinetry ignores bounds. Here no yield is evaluated beyond a bound: the shift within the bounds is
//! extrapolated linearly to the full uncertainty. So a yield proportional to a parameter has the same
//! uncertainty with and without the bound.

use ns_core::{Channel, Data, EvaluationRequest, Model, Session};

use super::waves::{Wave, waves};
use crate::InferenceError;

/// Largest number of pairs of points (parameters shifted up, parameters shifted down) in one evaluation.
const MOST_PAIRS: usize = 32;
/// Largest number of input and output values of one evaluation. One million values take 8 MB.
const MOST_NUMBERS: usize = 1_000_000;

/// Source of the correlations between parameters.
pub(super) enum Correlations<'a> {
    /// The parameters are independent.
    None,
    /// The correlations come from this covariance matrix, row-major.
    Matrix(&'a [f64]),
    /// The correlations come from the curvature of the likelihood for these data. The list says for each
    /// parameter whether it is free. This avoids the covariance matrix, which would not fit into memory in
    /// models with one parameter per bin.
    Curvature(&'a Data, Vec<bool>),
}

/// Uncertainties and correlations of the parameters at a point.
pub(super) struct Spread<'a> {
    /// Standard deviation of each parameter; `None` for a parameter that contributes nothing to the
    /// uncertainties.
    pub(super) sigma: Vec<Option<f64>>,
    /// Correlations of the parameters.
    pub(super) correlations: Correlations<'a>,
}

impl Spread<'_> {
    pub(super) fn correlation(&self, (i, a): (usize, f64), (j, b): (usize, f64)) -> f64 {
        match self.correlations {
            _ if i == j => 1.0,
            Correlations::None | Correlations::Curvature(..) => 0.0,
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
    /// Uncertainty of the total yield in each bin of the model.
    pub(super) bins: Vec<Option<f64>>,
    /// Uncertainty of the sum over the bins of each channel.
    pub(super) channels: Vec<Option<f64>>,
    /// Uncertainty of each sample in each bin, channel after channel; empty unless asked for.
    pub(super) sample_bins: Vec<Option<f64>>,
    /// Uncertainty of the sum over the bins of each sample, channel after channel; empty unless asked for.
    pub(super) samples: Vec<Option<f64>>,
}

/// The yields of a channel, or of one of its samples, in all bins of the channel. The yield in each bin and
/// the sum over the bins are targets: numbers whose uncertainty is computed.
struct Row {
    /// Index of the row's first bin in the model.
    first_bin: usize,
    n_bins: usize,
    /// Index of the target that is the yield in the first bin.
    bins: usize,
    /// Index of the target that is the sum over the bins.
    sum: usize,
}

/// Returns the rows of all channels and, if `samples` is true, the rows of all samples, channel after
/// channel. Targets are numbered in this order: the bins of all channels, the sums of all channels, the bins
/// of all samples, the sums of all samples.
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

/// Computes the uncertainties of the yields at a point. If `samples` is true, also computes the uncertainties
/// of every sample's yields.
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
    // For each target: the positions in `varied` of the parameters that shift the target, and the shifts.
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
                // The shift by one uncertainty, divided by the uncertainty, is the derivative.
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

/// Returns two points for every wave (a set of parameters that are shifted together): the first with these parameters
/// shifted up, the second with these parameters shifted down. Also returns, for each varied parameter, the factor
/// that turns the difference of the two yields into the shift by the parameter.
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
                    // A model may fix a parameter outside its bounds. Such a value is not moved inside.
                    let moved = (*x + sign * sigma).clamp(lower.min(*x), upper.max(*x));
                    *way += (moved - *x).abs();
                    *x = moved;
                }
            }
        }
    }
    // The distance between both points, which lie within the bounds, becomes the factor that extrapolates to
    // the full uncertainty.
    for (scale, (_, sigma)) in scales.iter_mut().zip(varied) {
        *scale = if *scale > 0.0 { sigma / *scale } else { 0.0 };
    }
    (points, scales)
}

/// Records by how much each parameter that is varied together with others (a wave) shifts each target. `up` and
/// `down` are the yields with these parameters shifted up and down: those of the first row, then of the next.
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

/// Records the shift of one target by one parameter, unless the shift is 0.
fn push(list: Option<&mut Vec<(usize, f64)>>, position: usize, shift: f64) {
    if let Some(list) = list.filter(|_| shift != 0.0) {
        list.push((position, shift));
    }
}

/// Returns the standard deviation of one target from its shifts; `None` if it is not finite.
fn deviation(shifts: &[(usize, f64)], varied: &[(usize, f64)], spread: &Spread<'_>) -> Option<f64> {
    let mut variance = 0.0;
    for (k, &(i, a)) in shifts.iter().enumerate() {
        variance += a * a;
        if matches!(spread.correlations, Correlations::Matrix(_)) {
            let Some(first) = varied.get(i) else { continue };
            for &(j, b) in shifts.iter().skip(k + 1) {
                if let Some(second) = varied.get(j) {
                    variance += 2.0 * spread.correlation(*first, *second) * a * b;
                }
            }
        }
    }
    // Where all terms cancel, rounding may leave a small negative number.
    variance.is_finite().then(|| variance.max(0.0).sqrt())
}
