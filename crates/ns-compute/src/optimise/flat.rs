//! Finds the parameters that take part in flat directions of the likelihood.

use super::escape::spectrum;
use super::{Problem, Worker};
use crate::curvature::{Curvature, Factored, factor};

/// Largest eigenvalue of the scaled Hessian that belongs to a flat direction if a pivot has vanished. It is
/// due to rounding errors.
const FLAT_FLOOR: f64 = 1e-13;

/// Squared component of a parameter in a flat direction, a unit vector in scaled units, above which the
/// parameter has no uncertainty of its own.
pub(super) const LEAST_SHARE: f64 = 1e-6;

/// Largest number of parameters for which the whole Hessian is formed to find the parameters of flat
/// directions.
pub(super) const LARGEST_WHOLE: usize = 3000;

/// Returns all parameters that take part in a flat direction, given the parameters `pivots` whose pivot
/// vanished. This is rare, so it uses the whole Hessian. If the model is too large for that, it returns
/// `pivots`.
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
    // Which pivot vanishes depends on the order of elimination. Parameters found in this order and in the
    // nested one both count.
    let mut found = pivots.to_vec();
    if let Factored::Positive { flat } = factor(problem.level, &plan.structure.flat, &mut whole) {
        found.extend(flat.iter().flat_map(|&p| companions(&whole, p, n, &worker.active)));
    }
    worker.flat = Some(whole);
    found.sort_unstable();
    found.dedup();
    // If there are several flat directions, the elimination does not find all of their parameters. The
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

/// Returns the parameters that change along the flat direction that was found at pivot `p`.
fn companions(curvature: &Curvature, p: usize, n: usize, active: &[bool]) -> Vec<usize> {
    let Some(m) = curvature.matrices.first() else { return vec![p] };
    let width = n.div_ceil(16).max(1) * 16;
    // U[..p][..p] x = -U[..p][p]: the null vector with x_p = 1.
    let mut x = vec![0.0; p + 1];
    x[p] = 1.0;
    for k in (0..p).rev() {
        let sum: f64 = (k + 1..=p).map(|j| m.h[k * width + j] * x[j]).sum();
        x[k] = -sum / m.h[k * width + k];
    }
    // Each component is multiplied by its pivot, so that the comparison does not depend on the scales of the
    // parameters.
    let weight: Vec<f64> = (0..p).map(|k| (x[k] * m.h[k * width + k]).abs()).collect();
    let largest = weight.iter().copied().fold(0.0, f64::max);
    (0..p)
        .filter(|&k| active[k] && largest > 0.0 && weight[k] > 1e-6 * largest && weight[k] > 1e-9)
        .chain([p])
        .collect()
}
