//! Leaves a saddle point along directions of negative curvature.

use faer::Side;

use super::{Problem, Worker};
use crate::eval::Likelihood;

/// A direction along which `-ln L` changes by less than this number, from one end of the bounds to the other, is flat.
const LEAST_CHANGE: f64 = 1e-9;

/// Eigenvalues and eigenvectors of the exact Hessian over the active parameters (those that may move). The Hessian is
/// scaled to a unit diagonal, because a direction of negative curvature could otherwise be hidden by different scales
/// of the parameters.
pub(super) struct Spectrum {
    /// Eigenvalues of the scaled Hessian, in ascending order. If `-ln L` changes along a direction by less than
    /// [`LEAST_CHANGE`] from one end of the bounds to the other, its eigenvalue is 0: it may be one of rounding.
    pub(super) values: Vec<f64>,
    /// Eigenvectors in the units of the parameters, one after the other. They are in the order of the eigenvalues.
    pub(super) vectors: Vec<f64>,
    /// Square root of each diagonal element of the Hessian before it was scaled.
    pub(super) scale: Vec<f64>,
}

/// Computes the eigenvalues and eigenvectors at `theta`, or returns `None` if this fails. The function allocates
/// memory, which is acceptable because the function is rarely needed.
pub(super) fn spectrum(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) -> Option<Spectrum> {
    let (plan, n) = (problem.plan, theta.len());
    if n == 0 {
        return Some(Spectrum { values: Vec::new(), vectors: Vec::new(), scale: Vec::new() });
    }
    worker.evaluate(problem, theta, 0.0);
    worker.gradient(problem, theta);
    let whole = worker.whole_hessian(problem, theta);
    let result =
        plan.structure.flat.components.first().zip(whole.matrices.first()).and_then(|(component, m)| {
            let at = |i: usize, j: usize| m.h[i.min(j) * component.width + i.max(j)];
            // A diagonal element may be nearly zero by cancellation. Dividing by it must not enlarge its direction.
            let scale: Vec<f64> = (0..n).map(|i| at(i, i).abs().sqrt().max(1e-6)).collect();
            let h = faer::Mat::from_fn(n, n, |i, j| at(i, j) / (scale[i] * scale[j]));
            let eigen = h.self_adjoint_eigen(Side::Upper).ok()?;
            let mut values: Vec<f64> = (0..n).map(|k| eigen.S()[k]).collect();
            let vectors: Vec<f64> =
                (0..n * n).map(|kp| eigen.U()[(kp % n, kp / n)] / scale[kp % n]).collect();
            for (value, vector) in values.iter_mut().zip(vectors.chunks_exact(n)) {
                if *value > 0.0 && 0.5 * *value * way_across(problem, vector).powi(2) < LEAST_CHANGE {
                    *value = 0.0;
                }
            }
            Some(Spectrum { values, vectors, scale })
        });
    worker.flat = Some(whole);
    result
}

/// Returns the multiple of `direction` that leads from one end of the bounds to the other. It is infinite if the direction
/// has no component with finite bounds.
fn way_across(problem: &Problem<'_>, direction: &[f64]) -> f64 {
    let way = |p: usize| (problem.upper[p] - problem.lower[p]) / direction[p].abs();
    let moves =
        |p: &usize| !problem.fixed[*p] && problem.lower[*p] < problem.upper[*p] && direction[*p] != 0.0;
    (0..direction.len()).filter(moves).map(way).fold(f64::INFINITY, f64::min)
}

/// Searches for a point with a lower `-ln L` along the directions of negative curvature, both ways and with several
/// lengths. Returns the point and its likelihood, or `None` if no lower point is found.
pub(super) fn escape(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: &[f64],
    here: Likelihood,
) -> Option<(Vec<f64>, Likelihood)> {
    let n = theta.len();
    let spectrum = spectrum(worker, problem, theta)?;
    let noise = 8.0 * f64::EPSILON * here.scale;
    let negative = spectrum.values.iter().take_while(|&&v| v < 0.0).take(4);
    for (k, &curvature) in negative.enumerate() {
        let direction = &spectrum.vectors[k * n..(k + 1) * n];
        let natural = 1.0 / curvature.abs().sqrt();
        let mut best: Option<(Vec<f64>, Likelihood)> = None;
        for length in [natural, 0.3 * natural, 0.1 * natural, 1e-2 * natural, 1e-3 * natural] {
            for sign in [1.0, -1.0] {
                let trial: Vec<f64> = (0..n)
                    .map(|p| {
                        let to = theta[p] + sign * length * direction[p];
                        if worker.active[p] { to.clamp(problem.lower[p], problem.upper[p]) } else { theta[p] }
                    })
                    .collect();
                let there = worker.evaluate(problem, &trial, 0.0);
                if there.value() < here.value() - noise
                    && best.as_ref().is_none_or(|(_, b)| there.value() < b.value())
                {
                    best = Some((trial, there));
                }
            }
            if best.is_some() {
                return best;
            }
        }
    }
    worker.evaluate(problem, theta, 0.0);
    worker.gradient(problem, theta);
    None
}
