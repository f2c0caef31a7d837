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

use crate::InferenceError;

/// Most parameters shifted in one evaluation.
const CHUNK: usize = 32;

/// Most numbers that one evaluation should make: a million take 8 MB.
const MOST_NUMBERS: usize = 1_000_000;

/// How parameters vary around a point.
pub(super) struct Spread<'a> {
    /// Standard deviation of each parameter; `None` for one that does not vary.
    pub(super) sigma: Vec<Option<f64>>,
    /// Their covariance, row-major; `None` for independent parameters.
    pub(super) covariance: Option<&'a [f64]>,
}

impl Spread<'_> {
    fn correlation(&self, (i, a): (usize, f64), (j, b): (usize, f64)) -> f64 {
        match self.covariance {
            _ if i == j => 1.0,
            None => 0.0,
            Some(matrix) => {
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

/// Half the difference of two predictions, scaled.
fn half(up: &[f64], down: &[f64], scale: f64) -> Vec<f64> {
    up.iter().zip(down).map(|(up, down)| scale * (up - down)).collect()
}

/// Uncertainties at a point, with `samples` those of every sample too.
///
/// # Errors
/// If the device fails.
pub(super) fn uncertainty(
    model: &Model,
    session: &dyn Session,
    point: &[f64],
    spread: &Spread<'_>,
    samples: bool,
) -> Result<Uncertainty, InferenceError> {
    let varied: Vec<(usize, f64)> =
        spread.sigma.iter().enumerate().filter_map(|(i, s)| Some((i, (*s)?))).filter(|v| v.1 > 0.0).collect();
    let n_bins = model.n_bins();
    // Bins of every sample, in the order of the evaluation.
    let parts: Vec<usize> = match samples {
        true => model.channels.iter().flat_map(|c| c.samples.iter().map(|_| c.n_bins)).collect(),
        false => Vec::new(),
    };
    let n_parts: usize = parts.iter().sum();
    let n_targets = n_bins + model.channels.len() + n_parts + parts.len();
    // Per bin and per channel, then per bin of a sample and per sample: the parameters that move it (a gamma moves
    // one bin), and by how much.
    let mut shifts: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n_targets];
    let width = n_bins + model.observed.aux.len();
    let request = EvaluationRequest { expected: true, samples, ..EvaluationRequest::default() };
    let at_once = (MOST_NUMBERS / (2 * (width + n_parts)).max(1)).clamp(1, CHUNK);
    for (chunk, parameters) in varied.chunks(at_once).enumerate() {
        let mut points = Vec::with_capacity(2 * parameters.len() * point.len());
        let mut scales = Vec::with_capacity(parameters.len());
        for &(i, sigma) in parameters {
            let (lower, upper) = model.parameters.get(i).map_or((f64::MIN, f64::MAX), |p| p.bounds);
            let mut way = 0.0;
            for step in [sigma, -sigma] {
                let first = points.len();
                points.extend_from_slice(point);
                if let Some(x) = points.get_mut(first + i) {
                    // A value outside its bounds already (a model may fix one there) is not moved inside.
                    let moved = (*x + step).clamp(lower.min(*x), upper.max(*x));
                    way += (moved - *x).abs();
                    *x = moved;
                }
            }
            scales.push(if way > 0.0 { sigma / way } else { 0.0 });
        }
        let predicted = session.evaluate(&Data::Observed, &points, request)?;
        let mut of_samples = predicted.samples.chunks((2 * n_parts).max(1));
        for ((position, pair), scale) in predicted.expected.chunks(2 * width).enumerate().zip(scales) {
            let position = chunk * at_once + position;
            let (up, down) = pair.split_at(pair.len().min(width));
            let bins = half(up.get(..n_bins).unwrap_or(up), down, scale);
            let sums = model
                .channels
                .iter()
                .map(|channel| bins.iter().skip(channel.first_bin).take(channel.n_bins).sum::<f64>());
            let pair = if samples { of_samples.next().unwrap_or_default() } else { &[] };
            let (up, down) = pair.split_at(pair.len().min(n_parts));
            let sample_bins = half(up, down, scale);
            let mut rest = sample_bins.iter();
            let sample_sums = parts.iter().map(|n| rest.by_ref().take(*n).sum::<f64>());
            let all = bins.iter().copied().chain(sums).chain(sample_bins.iter().copied()).chain(sample_sums);
            for (list, shift) in shifts.iter_mut().zip(all) {
                if shift != 0.0 {
                    list.push((position, shift));
                }
            }
        }
    }
    let mut all = shifts.iter().map(|list| deviation(list, &varied, spread));
    let mut next = |n: usize| all.by_ref().take(n).collect::<Vec<_>>();
    Ok(Uncertainty {
        bins: next(n_bins),
        channels: next(model.channels.len()),
        sample_bins: next(n_parts),
        samples: next(parts.len()),
    })
}

/// Root of the variance of one yield; `None` if it is not finite.
fn deviation(shifts: &[(usize, f64)], varied: &[(usize, f64)], spread: &Spread<'_>) -> Option<f64> {
    let mut variance = 0.0;
    for (k, &(i, a)) in shifts.iter().enumerate() {
        variance += a * a;
        if spread.covariance.is_some() {
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
