//! Finds the parameters that change along flat directions of the likelihood (directions without curvature).

use super::escape::spectrum;
use super::{Problem, Worker};
use crate::curvature::{Curvature, Factored, factor};

/// If a factorisation found a pivot of zero, an eigenvalue of the scaled Hessian up to this number belongs to a flat
/// direction. Such an eigenvalue is due to rounding errors.
const FLAT_FLOOR: f64 = 1e-13;

/// A parameter has no uncertainty of its own if its squared component in a flat direction (without curvature) exceeds
/// this number. The direction is a unit vector in the units in which the Hessian has a unit diagonal.
pub(super) const LEAST_SHARE: f64 = 1e-6;

/// Largest number of parameters of a model for which the full Hessian is computed to find flat directions.
pub(super) const LARGEST_WHOLE: usize = 3000;

/// Returns the indices of all parameters that change along a flat direction (without curvature). `pivots` contains the
/// parameters whose pivot was zero in a factorisation. The function uses the full Hessian, which is acceptable because
/// the function is rarely called. If the model is too large for the full Hessian, it returns `pivots`.
pub(super) fn flat_directions(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: &[f64],
    pivots: &[usize],
) -> Vec<usize> {
    let (plan, n) = (problem.plan, theta.len());
    if pivots.is_empty() || n > LARGEST_WHOLE {
        return pivots.to_vec();
    }
    let mut whole = worker.whole_hessian(problem, theta);
    // Which pivot becomes zero depends on the order of elimination. Both the parameters found in this order and those
    // found in the nested order are returned.
    let mut found = pivots.to_vec();
    if let Factored::Positive { flat } = factor(problem.level, &plan.structure.flat, &mut whole) {
        found.extend(flat.iter().flat_map(|&p| companions(&whole, p, n, &worker.active)));
    }
    worker.flat = Some(whole);
    found.sort_unstable();
    found.dedup();
    // If there are several flat directions, the elimination does not find all of their parameters, but the
    // eigenvectors do.
    if let Some(spectrum) = spectrum(worker, problem, theta) {
        for (k, _) in spectrum.values.iter().enumerate().take_while(|(_, value)| **value <= FLAT_FLOOR) {
            let vector = &spectrum.vectors[k * n..(k + 1) * n];
            let takes_part = |p: usize| (vector[p] * spectrum.scale[p]).powi(2) > LEAST_SHARE;
            found.extend((0..n).filter(|&p| worker.active[p] && takes_part(p)));
        }
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// Returns the indices of all parameters that change along a flat direction. The direction was found at the pivot of
/// parameter `p`.
fn companions(curvature: &Curvature, p: usize, n: usize, active: &[bool]) -> Vec<usize> {
    let Some(m) = curvature.matrices.first() else { return vec![p] };
    let width = n.div_ceil(16).max(1) * 16;
    // Solves U[..p][..p] x = -U[..p][p], which gives the null vector with x_p = 1.
    let mut x = vec![0.0; p + 1];
    x[p] = 1.0;
    for k in (0..p).rev() {
        let sum: f64 = (k + 1..=p).map(|j| m.h[k * width + j] * x[j]).sum();
        x[k] = -sum / m.h[k * width + k];
    }
    // Each component is multiplied by its pivot, which makes the comparison independent of the scales of the
    // parameters.
    let weight: Vec<f64> = (0..p).map(|k| (x[k] * m.h[k * width + k]).abs()).collect();
    let largest = weight.iter().copied().fold(0.0, f64::max);
    (0..p)
        .filter(|&k| active[k] && largest > 0.0 && weight[k] > 1e-6 * largest && weight[k] > 1e-9)
        .chain([p])
        .collect()
}
