//! From shifts of single parameters to the uncertainty of a prediction.
//!
//! A parameter's shift of a yield is half the difference between the yields with the parameter one
//! uncertainty up and one down: `s_i = (lambda(theta + sigma_i e_i) - lambda(theta - sigma_i e_i)) / 2`.
//! The variance is `sum_ij rho_ij s_i s_j`: linear in the correlations, but with the response of each
//! parameter over its whole uncertainty. This is what cabinetry does (`cabinetry.model_utils.yield_stdev`).
//! Where a bound cuts the way short, which cabinetry does not look at, no likelihood is evaluated beyond it:
//! the response over what is left is taken to go on in a straight line. So a yield in proportion to a
//! parameter has the same uncertainty with and without the bound.

use ns_core::{Data, EvaluationRequest, Model, Session};

use super::waves::waves;
use crate::InferenceError;

/// Pairs of points in one evaluation, and numbers that go in and come out of it.
const MOST_PAIRS: usize = 32;
const MOST_NUMBERS: usize = 1_000_000;

/// How parameters vary together.
pub(super) enum Correlations<'a> {
    /// Not at all.
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
}

/// Uncertainties at a point.
///
/// # Errors
/// If the device fails.
pub(super) fn uncertainty(
    model: &Model,
    session: &dyn Session,
    point: &[f64],
    spread: &Spread<'_>,
) -> Result<Uncertainty, InferenceError> {
    let varied: Vec<(usize, f64)> =
        spread.sigma.iter().enumerate().filter_map(|(i, s)| Some((i, (*s)?))).filter(|v| v.1 > 0.0).collect();
    let n_bins = model.n_bins();
    let n_targets = n_bins + model.channels.len();
    // Per bin and then per channel: the parameters that move it (a gamma moves one bin), and by how much.
    let mut shifts: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n_targets];
    let width = n_bins + model.observed.aux.len();
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let waves = waves(model, &varied);
    let chunk = (MOST_NUMBERS / (2 * (point.len() + width)).max(1)).clamp(1, MOST_PAIRS);
    for waves in waves.chunks(chunk) {
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
        for (scale, (_, sigma)) in scales.iter_mut().zip(&varied) {
            *scale = if *scale > 0.0 { sigma / *scale } else { 0.0 };
        }
        let expected = session.evaluate(&Data::Observed, &points, request)?.expected;
        for (wave, pair) in waves.iter().zip(expected.chunks(2 * width)) {
            let (up, down) = pair.split_at(pair.len().min(width));
            let mut rest = up.iter().zip(down).take(n_bins).enumerate();
            for (number, channel) in model.channels.iter().enumerate() {
                let mut sum: Option<(usize, f64)> = None;
                for (bin, (up, down)) in rest.by_ref().take(channel.n_bins) {
                    let Some(position) = wave.mover(bin) else { continue };
                    let shift = scales.get(position).copied().unwrap_or(0.0) * (up - down);
                    push(shifts.get_mut(bin), position, shift);
                    sum = match sum {
                        Some((same, sum)) if same == position => Some((same, sum + shift)),
                        before => {
                            if let Some((position, sum)) = before {
                                push(shifts.get_mut(n_bins + number), position, sum);
                            }
                            Some((position, shift))
                        }
                    };
                }
                if let Some((position, sum)) = sum {
                    push(shifts.get_mut(n_bins + number), position, sum);
                }
            }
        }
    }
    for list in &mut shifts {
        list.sort_by_key(|(position, _)| *position);
    }
    let mut all: Vec<Option<f64>> = match &spread.correlations {
        Correlations::Curvature(data, free) => {
            for (position, shift) in shifts.iter_mut().flatten() {
                // From a shift by one uncertainty to the slope that it stands for.
                if let Some(&(i, sigma)) = varied.get(*position) {
                    (*position, *shift) = (i, *shift / sigma);
                }
            }
            let variances = session.combined_variances(data, point, free, &shifts)?;
            let root = |variance: f64| variance.is_finite().then(|| variance.max(0.0).sqrt());
            variances.map_or_else(|| vec![None; n_targets], |all| all.into_iter().map(root).collect())
        }
        _ => shifts.iter().map(|list| deviation(list, &varied, spread)).collect(),
    };
    let channels = all.split_off(n_bins.min(all.len()));
    Ok(Uncertainty { bins: all, channels })
}

/// Notes that a parameter moves a yield.
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
