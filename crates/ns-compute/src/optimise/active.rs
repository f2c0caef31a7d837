//! Determines which parameters may move at a point, and on which side of its kink each parameter moves.

use ns_core::Inactive;

use super::{Problem, Worker};

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
