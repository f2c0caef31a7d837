//! Parameters that end on their kink at 0, or close to it.

use ns_core::{FitOutcome, FitStatus, Inactive};

use super::NEAR_KINK;
use crate::optimise::active::LEAST_JUMP;
use crate::optimise::descend::Descent;
use crate::optimise::{Problem, Worker};
use crate::plan::{EDM_TOLERANCE, Plan};

/// A point on a kink and a point beside the kink count as the same minimum if their values of `-ln L` differ by less
/// than this number.
const SAME_MINIMUM: f64 = 0.1 * EDM_TOLERANCE;

/// The curvatures on the two sides of a kink differ significantly if the asymmetric part of the parameter's effect
/// exceeds this number. The asymmetric part is measured in statistical errors and summed over the bins.
const LEAST_DIFFERENCE: f64 = 1e-2;

/// The curvatures on the two sides of a kink are the same if they differ by less than this part of the covariance.
const LEAST_BEND: f64 = 1e-6;

/// Returns the point `theta` after all parameters that are close to their kink were moved onto it. Returns `None` if
/// there are no such parameters.
pub(super) fn onto_kinks(problem: &Problem<'_>, theta: &[f64]) -> Option<Vec<f64>> {
    let is_near = |p: usize, x: f64| {
        problem.plan.structure.kinked[p] && !problem.fixed[p] && x != 0.0 && x.abs() < NEAR_KINK
    };
    let near = theta.iter().enumerate().any(|(p, &x)| is_near(p, x));
    near.then(|| theta.iter().enumerate().map(|(p, &x)| if is_near(p, x) { 0.0 } else { x }).collect())
}

/// Moves parameters that ended close to their kink onto it, if the point on the kink is the same minimum within the
/// precision of a certificate. If the slope is 0 on both sides of a kink, rounding errors decide on which side a
/// descent ends. The curvature on that side says nothing about the other side.
pub(super) fn put_on_kinks(worker: &mut Worker, problem: &Problem<'_>, best: &mut Descent) {
    if best.status != FitStatus::Converged {
        return;
    }
    let Some(on_kink) = onto_kinks(problem, &best.theta) else { return };
    let there = worker.evaluate(problem, &on_kink, 0.0);
    worker.gradient(problem, &on_kink);
    let scratch = &worker.scratch;
    let gained: f64 = (0..on_kink.len())
        .filter(|&p| on_kink[p] != best.theta[p])
        .map(|p| {
            let slope = scratch.gradient[p] + best.theta[p].signum() * scratch.jump[p];
            (slope * best.theta[p]).abs()
        })
        .sum();
    if there.value().is_finite() && gained <= SAME_MINIMUM {
        best.theta = on_kink;
        best.likelihood = there;
    }
}

/// Uses the mean of the curvatures on both sides of each kink at which the slope does not jump. Returns the parameters on
/// such a kink.
pub(super) fn join_sides(worker: &mut Worker, plan: &Plan, theta: &[f64]) -> Vec<usize> {
    let mut two_sides = Vec::new();
    for p in 0..theta.len() {
        if worker.scratch.jump[p].abs() < LEAST_JUMP {
            worker.side[p] = 0.0;
            if plan.structure.kinked[p] && worker.active[p] && theta[p] == 0.0 {
                two_sides.push(p);
            }
        }
    }
    two_sides
}

/// Removes the uncertainties of those parameters `two_sides` whose curvatures differ between the sides of their kink.
/// `variance` contains the squares of the uncertainties.
pub(super) fn mark_two_sided(
    worker: &Worker,
    plan: &Plan,
    two_sides: &[usize],
    variance: &[f64],
    outcome: &mut FitOutcome,
) {
    for &p in two_sides {
        let jumps = worker.scratch.events.bend_jumps(p);
        let differs = plan.policy.nonlinearity.amount[p] > LEAST_DIFFERENCE
            || has_two_curvatures(jumps, p, variance, &worker.active);
        if differs && outcome.uncertainties[p].take().is_some() {
            outcome.inactive.push((p, Inactive::TwoSided));
        }
    }
}

/// Returns whether the curvatures on the two sides of the kink of parameter `p` differ. `jumps` contains half the
/// jumps of the second derivatives with respect to `p` and each parameter, and `variance` the squares of the
/// uncertainties. Parameters that are not `active` do not count.
fn has_two_curvatures(jumps: &[f64], p: usize, variance: &[f64], active: &[bool]) -> bool {
    let differs = |(jump, v): (&f64, &f64)| jump.abs() * (variance[p] * v).sqrt() > LEAST_BEND;
    jumps.iter().zip(variance).zip(active).any(|(pair, is_active)| *is_active && differs(pair))
}
