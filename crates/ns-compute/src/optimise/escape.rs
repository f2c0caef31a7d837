//! Leaving a saddle: the direction of most negative curvature.

use faer::Side;

use super::{Problem, Worker};
use crate::curvature::{Curvature, Point, assemble};
use crate::eval::Likelihood;

/// Looks for a lower point along the eigenvector of the lowest eigenvalue of the exact
/// Hessian over the active parameters; both ways, several lengths. Rare, so it allocates.
pub(super) fn escape(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: &[f64],
    here: Likelihood,
) -> Option<(Vec<f64>, Likelihood)> {
    let (plan, n) = (problem.plan, theta.len());
    let mut flat = worker.flat.take().unwrap_or_else(|| Curvature::new(&plan.flat));
    worker.evaluate(problem, theta, 0.0);
    let point = Point {
        theta,
        data: problem.data,
        active: &worker.active,
        side: &worker.side,
        exactness: 1.0,
        damping: 0.0,
    };
    assemble(problem.level, plan, &plan.flat, point, &mut worker.scratch, &mut flat);
    let direction = plan.flat.components.first().zip(flat.matrices.first()).and_then(|(component, m)| {
        let at = |i: usize, j: usize| m.h[i.min(j) * component.width + i.max(j)];
        let h = faer::Mat::from_fn(n, n, at);
        let eigen = h.self_adjoint_eigen(Side::Upper).ok()?;
        let lowest = eigen.S()[0];
        (lowest < 0.0).then(|| ((0..n).map(|i| eigen.U()[(i, 0)]).collect::<Vec<f64>>(), lowest))
    });
    worker.flat = Some(flat);
    let (direction, curvature) = direction?;
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
            let noise = 8.0 * f64::EPSILON * here.scale;
            if there.value() < here.value() - noise
                && best.as_ref().is_none_or(|(_, b)| there.value() < b.value())
            {
                best = Some((trial, there));
            }
        }
        if best.is_some() {
            break;
        }
    }
    best
}
