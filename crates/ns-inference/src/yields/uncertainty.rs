//! Computes the uncertainty of a prediction from shifts of single parameters.
//!
//! A parameter's shift of a yield is half the difference between the yields with the parameter one
//! uncertainty up and one down: `s_i = (lambda(theta + sigma_i e_i) - lambda(theta - sigma_i e_i)) / 2`.
//! The variance is `sum_ij rho_ij s_i s_j`: linear in the correlations, but with the response of each
//! parameter over its whole uncertainty. This is what cabinetry does (`cabinetry.model_utils.yield_stdev`).
//! At a bound, which cabinetry ignores, no likelihood is evaluated beyond it:
//! the response over what is left is taken to go on in a straight line. So a yield in proportion to a
//! parameter has the same uncertainty with and without the bound.

use ns_core::{Channel, Data, EvaluationRequest, Model, Session};

use super::waves::{Wave, waves};
use crate::InferenceError;

/// Most pairs of points in one evaluation, and most numbers of its input and output: a million take 8 MB.
const MOST_PAIRS: usize = 32;
const MOST_NUMBERS: usize = 1_000_000;

/// How parameters vary together.
pub(super) enum Correlations<'a> {
    /// Independently.
    None,
    /// As their covariance says, row-major.
    Matrix(&'a [f64]),
    /// As the curvature at the point says, for these data and free parameters. Where there is a parameter for
    /// every bin, a matrix would not fit into memory.
    Curvature(&'a Data, Vec<bool>),
}

/// How parameters vary around a point.
pub(super) struct Spread<'a> {
    /// Standard deviation of each parameter; `None` for one that does not vary.
    pub(super) sigma: Vec<Option<f64>>,
    /// Their correlations.
    pub(super) correlations: Correlations<'a>,
}

impl Spread<'_> {
    fn correlation(&self, (i, a): (usize, f64), (j, b): (usize, f64)) -> f64 {
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

/// Uncertainties of yields.
pub(super) struct Uncertainty {
    /// Per bin of the model.
    pub(super) bins: Vec<Option<f64>>,
    /// Per channel, of the sum over its bins.
    pub(super) channels: Vec<Option<f64>>,
    /// Per channel, sample and bin; empty unless asked for.
    pub(super) sample_bins: Vec<Option<f64>>,
    /// Per channel and sample, of the sum over its bins; empty unless asked for.
    pub(super) samples: Vec<Option<f64>>,
}

/// A row of yields in consecutive bins: a whole channel or one of its samples.
struct Row {
    /// Its first bin in the model.
    first_bin: usize,
    n_bins: usize,
    /// Index of the first target of its bins; and that of the target of their sum.
    bins: usize,
    sum: usize,
}

/// The rows of the totals, and those of samples in the order of an evaluation. Targets are all bins, then all
/// channels, then all bins of samples, then all samples.
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

/// Uncertainties at a point, with `samples` those of every sample too.
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
    // Per target: the parameters that move it (a gamma moves one bin), and by how much.
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
                // From a shift by one uncertainty to the slope that it stands for.
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

/// Two points for every wave, its parameters up and then down; and for each parameter that varies, what turns
/// the difference between the yields there into its shift.
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
                    // A value outside its bounds already (a model may fix one there) is not moved inside.
                    let moved = (*x + sign * sigma).clamp(lower.min(*x), upper.max(*x));
                    *way += (moved - *x).abs();
                    *x = moved;
                }
            }
        }
    }
    // From the way that the bounds left to the share that it stands for.
    for (scale, (_, sigma)) in scales.iter_mut().zip(varied) {
        *scale = if *scale > 0.0 { sigma / *scale } else { 0.0 };
    }
    (points, scales)
}

/// Records how the parameters of a wave move the bins and the sum of each row. The yields of the rows follow one another in
/// `up` and `down`.
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

/// Records that a parameter moves a yield.
fn push(list: Option<&mut Vec<(usize, f64)>>, position: usize, shift: f64) {
    if let Some(list) = list.filter(|_| shift != 0.0) {
        list.push((position, shift));
    }
}

/// Root of the variance of one yield; `None` if it is not finite.
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
    // Rounding may leave a small negative number where everything cancels.
    variance.is_finite().then(|| variance.max(0.0).sqrt())
}
