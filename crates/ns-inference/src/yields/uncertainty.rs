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

/// Parameters shifted in one evaluation.
const CHUNK: usize = 32;

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
    for (chunk, parameters) in varied.chunks(CHUNK).enumerate() {
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
        let expected = session.evaluate(&Data::Observed, &points, request)?.expected;
        for ((position, pair), scale) in expected.chunks(2 * width).enumerate().zip(scales) {
            let position = chunk * CHUNK + position;
            let (up, down) = pair.split_at(pair.len().min(width));
            let half: Vec<f64> =
                up.iter().zip(down).take(n_bins).map(|(up, down)| scale * (up - down)).collect();
            let sums = model
                .channels
                .iter()
                .map(|channel| half.iter().skip(channel.first_bin).take(channel.n_bins).sum::<f64>());
            for (list, shift) in shifts.iter_mut().zip(half.iter().copied().chain(sums)) {
                if shift != 0.0 {
                    list.push((position, shift));
                }
            }
        }
    }
    let mut all: Vec<Option<f64>> = shifts.iter().map(|list| deviation(list, &varied, spread)).collect();
    let channels = all.split_off(n_bins.min(all.len()));
    Ok(Uncertainty { bins: all, channels })
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
