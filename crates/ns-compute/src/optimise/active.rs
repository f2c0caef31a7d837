//! Determines which parameters may move at a point, and on which side of its kink each parameter moves.

use ns_core::Inactive;

use super::{Problem, Worker};
use crate::curvature::{Point, assemble};

/// A slope towards a bound counts as zero if a move of the parameter by its uncertainty, with all other parameters
/// held, changes `-ln L` by at most this number. Rounding errors and an EDM (estimated distance to the minimum) of
/// 1e-12 give slopes of up to 1.4e-6.
const NO_SLOPE: f64 = 1e-5;

/// A parameter `x` is examined for a slope of zero if its slope times `1 + |x|` is at most this number.
const SMALL_SLOPE: f64 = 1e-2;

/// Returns the sign of a move away from the bound if the parameter `p` is on a bound; `None` otherwise.
pub(super) fn on_bound(problem: &Problem<'_>, p: usize, x: f64) -> Option<f64> {
    if x <= problem.lower[p] {
        Some(1.0)
    } else if x >= problem.upper[p] {
        Some(-1.0)
    } else {
        None
    }
}

/// The jump of the slope of `-ln L` at a kink counts as zero if it is below this number, for the reason given at
/// [`NO_SLOPE`].
pub(super) const LEAST_JUMP: f64 = 1e-5;

/// Marks those parameters as active that [`classify`] found inactive on a bound or on a kink although their slope vanishes
/// there. The sign of such a slope is due to rounding errors, and must not decide whether the parameter has an uncertainty.
/// The gradient of the worker must be that of `theta`, a minimum.
pub(super) fn release_without_slope(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) {
    let kinked = |p: usize| problem.plan.structure.kinked[p] && theta[p] == 0.0;
    let gradient = &worker.scratch.gradient;
    let small = |p: usize| gradient[p].abs() * (1.0 + theta[p].abs()) <= SMALL_SLOPE;
    let chosen: Vec<usize> = (0..theta.len())
        .filter(|&p| {
            let edge = if kinked(p) {
                worker.scratch.jump[p].abs() < LEAST_JUMP
            } else {
                on_bound(problem, p, theta[p]).is_some()
            };
            !problem.fixed[p] && !worker.active[p] && edge && small(p)
        })
        .collect();
    if chosen.is_empty() {
        return;
    }
    for &p in &chosen {
        worker.active[p] = true;
    }
    let (plan, data, tether) = (problem.plan, problem.data, problem.tether());
    let (active, side) = (&worker.active, &worker.side);
    let point = Point { theta, data, active, side, exactness: 1.0, damping: 0.0, tether };
    let layout = &plan.structure.layout;
    assemble(problem.level, plan, layout, point, &mut worker.scratch, &mut worker.curvature);
    for &p in &chosen {
        let limit = NO_SLOPE * worker.curvature.scale[p].sqrt();
        worker.active[p] = worker.scratch.gradient[p].abs() <= limit;
    }
}

/// Determines from the gradient at `theta` whether each parameter may move, and on which side of its kink. Writes to
/// the worker: `active`, `side`, `slope` (the gradient on the chosen side, zero for inactive parameters), and the
/// bounds of the current orthant (the region in which no parameter crosses its kink).
///
/// A kink is a bound of the orthant. A parameter stays at its kink as long as `-ln L` rises on both sides.
pub(crate) fn classify(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) {
    for p in 0..theta.len() {
        let (lower, upper) = (problem.lower[p], problem.upper[p]);
        worker.box_lower[p] = lower;
        worker.box_upper[p] = upper;
        worker.side[p] = 0.0;
        let mut slope = worker.scratch.gradient[p];
        let mut active = !problem.fixed[p];
        if active && problem.plan.structure.kinked[p] {
            if theta[p] == 0.0 {
                let jump = worker.scratch.jump[p];
                let (right, left) = (slope + jump, slope - jump);
                if right < 0.0 && -right >= left {
                    slope = right;
                    worker.side[p] = 1.0;
                    worker.box_lower[p] = 0.0_f64.max(lower);
                } else if left > 0.0 {
                    slope = left;
                    worker.side[p] = -1.0;
                    worker.box_upper[p] = 0.0_f64.min(upper);
                } else {
                    active = false;
                }
            } else if theta[p] > 0.0 {
                worker.box_lower[p] = 0.0_f64.max(lower);
            } else {
                worker.box_upper[p] = 0.0_f64.min(upper);
            }
        }
        if active && ((theta[p] <= lower && slope > 0.0) || (theta[p] >= upper && slope < 0.0)) {
            active = false;
        }
        worker.active[p] = active;
        worker.slope[p] = if active { slope } else { 0.0 };
    }
    // A Poisson constraint is a logarithmic barrier at zero. A step may reduce its parameter to a tenth at most. From
    // a value close to zero, a descent would need dozens of doublings to return.
    for (p, a, _) in problem.plan.poisson() {
        if theta[p] > 0.0 && problem.data.aux[a] > 0.0 {
            worker.box_lower[p] = worker.box_lower[p].max(0.1 * theta[p]);
        }
    }
}

/// Returns the free parameters that [`classify`] found inactive. Each element contains the index of the parameter and
/// the reason.
pub(super) fn inactive(worker: &Worker, problem: &Problem<'_>, theta: &[f64]) -> Vec<(usize, Inactive)> {
    (0..theta.len())
        .filter(|&p| !problem.fixed[p] && !worker.active[p])
        .map(|p| {
            let why = if theta[p] <= problem.lower[p] {
                Inactive::LowerBound
            } else if theta[p] >= problem.upper[p] {
                Inactive::UpperBound
            } else {
                Inactive::Kink
            };
            (p, why)
        })
        .collect()
}
