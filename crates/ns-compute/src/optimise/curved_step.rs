//! Corrects rejected steps so that they follow a curved valley of `-ln L`.
//!
//! Products of free factors on bins with millions of entries lead to narrow valleys: the curvature across the valley is
//! larger than the curvature along the valley by many orders of magnitude. A straight step leaves such a valley at
//! once, and a line search along the step is very slow.
//!
//! The likelihood of the counts depends only on the expected yields. Therefore the step is corrected until the expected
//! yields are those that the linear model predicted. Each correction is a damped Gauss-Newton step towards these
//! expected yields. This is the geodesic correction of Transtrum and Sethna (arXiv:1201.5885), which is iterated here.
//! A difference of expected yields takes the place of the second derivative along the step.

use super::{Problem, Worker};
use crate::curvature::{Factored, Point, assemble, factor, solve};
use crate::eval::{Likelihood, forward};

/// Largest number of corrections for one trial point.
const MOST_CORRECTIONS: usize = 4;

/// Levenberg damping of a correction. It keeps the correction from moving far along the valley.
const DAMPING: f64 = 1e-6;

/// Fraction of the step over which finite differences of expected yields are computed, to obtain the linear model.
const SHORT: f64 = 1e-3;

/// Corrects `worker.trial`, a rejected point on the step from `theta`. Returns the likelihood at the corrected point if
/// its value is at most `target`, or `None` if no correction achieves this. After the call, the scratch belongs to a
/// point other than `theta`, and `worker.curvature` contains the factor of another matrix.
pub(super) fn curve_step(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: &[f64],
    target: f64,
) -> Option<Likelihood> {
    let (plan, level) = (problem.plan, problem.level);
    let n_bins = plan.n_bins();
    let mut trial = std::mem::take(&mut worker.trial);
    let mut goal = std::mem::take(&mut worker.goal);
    let mut along = std::mem::take(&mut worker.along);
    let mut found = None;

    // Computes the expected yields of the linear model at the end of the step, by a forward difference of second
    // order. Its points lie between `theta` and the end of the step, on the same side of every kink.
    goal.clear();
    goal.resize(n_bins, 0.0);
    for (length, weight) in [(0.0, -1.5), (SHORT, 2.0), (2.0 * SHORT, -0.5)] {
        along.clear();
        along.extend(theta.iter().zip(&trial).map(|(from, to)| from + length * (to - from)));
        forward(level, plan, &along, &mut worker.scratch);
        for (goal, lambda) in goal.iter_mut().zip(&worker.scratch.lambda) {
            *goal += lambda * (weight / SHORT + if length == 0.0 { 1.0 } else { 0.0 });
        }
    }

    for _ in 0..MOST_CORRECTIONS {
        // Computes `-J^T W e`, where `e` is the difference from the goal. One backward pass uses `W e` in place of
        // the residuals. A second pass without residuals gives the contribution of the constraints, which is
        // subtracted.
        worker.evaluate(problem, &trial, 0.0);
        for b in 0..n_bins {
            worker.scratch.slope[b] = worker.scratch.curvature[b] * (worker.scratch.lambda[b] - goal[b]);
        }
        worker.gradient(problem, &trial);
        for p in 0..theta.len() {
            worker.unit[p] = if worker.active[p] { -worker.scratch.gradient[p] } else { 0.0 };
        }
        worker.scratch.slope[..n_bins].fill(0.0);
        worker.gradient(problem, &trial);
        for p in 0..theta.len() {
            if worker.active[p] {
                worker.unit[p] += worker.scratch.gradient[p];
            }
        }
        let point = Point {
            theta: &trial,
            data: problem.data,
            active: &worker.active,
            side: &worker.side,
            exactness: 0.0,
            damping: DAMPING,
            tether: problem.tether(),
        };
        assemble(level, plan, &plan.structure.layout, point, &mut worker.scratch, &mut worker.curvature);
        if !matches!(factor(level, &plan.structure.layout, &mut worker.curvature), Factored::Positive { .. })
        {
            break;
        }
        solve(level, &plan.structure.layout, &mut worker.curvature, &worker.unit, &mut worker.newton);
        for p in 0..theta.len() {
            if worker.active[p] {
                trial[p] = (trial[p] + worker.newton[p]).clamp(worker.box_lower[p], worker.box_upper[p]);
            }
        }
        let there = worker.evaluate(problem, &trial, 0.0);
        if !there.value().is_finite() {
            break;
        }
        if there.value() <= target {
            found = Some(there);
            break;
        }
    }
    worker.unit.fill(0.0);
    worker.trial = trial;
    worker.goal = goal;
    worker.along = along;
    found
}
