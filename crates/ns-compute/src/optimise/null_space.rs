//! The null space of the Hessian: which parameters take part in it, and which of them the bounds hold.

use super::active::on_bound;
use super::escape::Spectrum;
use super::{Problem, Worker};

/// A parameter takes part in a flat direction (without curvature) if its squared component exceeds this number. The
/// direction is a unit vector in the units in which the Hessian has a unit diagonal.
pub(super) const LEAST_SHARE: f64 = 1e-6;

/// Number of alternating projections with which [`reach`] finds the nearest vector that the bounds allow.
const PROJECTIONS: usize = 400;

/// Returns the squared component of each parameter in the directions whose eigenvalue is at most `floor`.
pub(super) fn shares(spectrum: &Spectrum, floor: f64) -> Vec<f64> {
    let n = spectrum.scale.len();
    let mut share = vec![0.0; n];
    for (k, _) in spectrum.values.iter().enumerate().filter(|(_, value)| **value <= floor) {
        for p in 0..n {
            share[p] += (spectrum.vectors[k * n + p] * spectrum.scale[p]).powi(2);
        }
    }
    share
}

/// The parameters in the null space of a Hessian.
pub(super) struct Members {
    /// Indices of the parameters that can move along a flat direction.
    pub(super) flat: Vec<usize>,
    /// Indices of the parameters on a bound that keeps them from moving along any flat direction.
    pub(super) blocked: Vec<usize>,
}

/// Divides the parameters in the null space of the Hessian into those that can move along it and those that their
/// bounds hold. Directions with an eigenvalue of at most `floor` belong to the null space.
pub(super) fn members(
    worker: &Worker,
    problem: &Problem<'_>,
    theta: &[f64],
    spectrum: &Spectrum,
    floor: f64,
) -> Members {
    let n = theta.len();
    let share = shares(spectrum, floor);
    let all: Vec<usize> = (0..n).filter(|&p| worker.active[p] && share[p] > LEAST_SHARE).collect();
    let edges: Vec<(usize, f64)> =
        all.iter().filter_map(|&p| on_bound(problem, p, theta[p]).map(|inwards| (p, inwards))).collect();
    if edges.is_empty() {
        return Members { flat: all, blocked: Vec::new() };
    }
    // Unit vectors in the units of the scaled Hessian.
    let null: Vec<Vec<f64>> = (0..n)
        .filter(|&k| spectrum.values[k] <= floor)
        .map(|k| (0..n).map(|p| spectrum.vectors[k * n + p] * spectrum.scale[p]).collect())
        .collect();
    let moves =
        |p: usize| [1.0, -1.0].into_iter().any(|sign| reach(&null, &edges, p, sign) > 1e-3 * share[p]);
    let (flat, stuck): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|&p| moves(p));
    let (blocked, inside): (Vec<usize>, Vec<usize>) =
        stuck.into_iter().partition(|p| edges.iter().any(|(edge, _)| edge == p));
    // Without a bound of its own, a parameter is held by the bounds of others, which are then blocked.
    let flat = if blocked.is_empty() { flat.into_iter().chain(inside).collect() } else { flat };
    Members { flat, blocked }
}

/// Projects the unit vector `sign * e_p` onto the vectors of the null space that the bounds allow (Dykstra's
/// algorithm), and returns how far the projection moves the parameter `p` in the direction `sign`. `edges` are the
/// parameters on a bound, each with the sign of a move away from it.
fn reach(null: &[Vec<f64>], edges: &[(usize, f64)], p: usize, sign: f64) -> f64 {
    let n = null.first().map_or(0, Vec::len);
    let mut x = vec![0.0; n];
    x[p] = sign;
    let mut correction = vec![0.0; edges.len()];
    for _ in 0..PROJECTIONS {
        let along: Vec<f64> = null.iter().map(|v| v.iter().zip(&x).map(|(v, x)| v * x).sum()).collect();
        x.fill(0.0);
        for (v, a) in null.iter().zip(along) {
            for (x, v) in x.iter_mut().zip(v) {
                *x += a * v;
            }
        }
        let mut changed = false;
        for (&(q, inwards), correction) in edges.iter().zip(&mut correction) {
            let wished = x[q] + *correction;
            let allowed = if wished * inwards < 0.0 { 0.0 } else { wished };
            *correction = wished - allowed;
            changed |= allowed != x[q];
            x[q] = allowed;
        }
        if !changed {
            break;
        }
    }
    x[p] * sign
}
