//! Minima on kinks of functions of parameters: `abs(x)`, `max(0, x)`, `x > 1 ? a : b`.
//!
//! On such a kink the slope of `-ln L` jumps, and Newton's method does not converge. The parameter that crosses the kink is
//! then held on it, and all other parameters are fitted. The point is a minimum if `-ln L` rises on both sides.

use ns_core::{FitStatus, Reason};

use super::descend::{Descent, Mode, from_finite};
use super::{Problem, Worker};
use crate::shared_constants::LOWER_BY;

/// Distances from the last point of a descent, in units of `1 + |x|`, within which kinks are looked for.
const DISTANCES: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];

/// Largest number of parameters that are held on kinks.
const MOST_KINKS: usize = 4;

/// Largest number of bisections that find the place of a kink.
const BISECTIONS: usize = 200;

/// Distance from a kink, in units of `1 + |x|`, at which the slopes of its sides are computed.
const BESIDE: f64 = 1e-8;

/// A slope counts as zero up to this number divided by `1 + |x|`.
const NO_SLOPE: f64 = 1e-6;

/// Replaces `found`, the end of a descent that has not converged, by a minimum on kinks of functions, if there is one close
/// to it that is not higher.
pub(super) fn settle_on_kinks(worker: &mut Worker, problem: &Problem<'_>, mode: Mode, found: &mut Descent) {
    let stopped =
        matches!(found.status, FitStatus::NotConverged(Reason::IterationLimit | Reason::NoProgress));
    let beaten = mode.beat.is_some_and(|known| !(found.value() < known - LOWER_BY));
    if !stopped || beaten || !problem.plan.factors.has_branches() || problem.is_cancelled() {
        return;
    }
    if let Some(minimum) = on_kinks(worker, problem, found) {
        *found = minimum;
    }
    worker.evaluate(problem, &found.theta, 0.0);
    worker.gradient(problem, &found.theta);
}

/// Returns the minimum on kinks close to `found`, if there is one that is not higher.
fn on_kinks(worker: &mut Worker, problem: &Problem<'_>, found: &Descent) -> Option<Descent> {
    let (mut held, mut theta) = (problem.clone(), found.theta.clone());
    let (mut kinks, mut iterations) = (Vec::new(), found.iterations);
    while kinks.len() < MOST_KINKS {
        let (p, x) = nearest(worker, &held, &theta)?;
        held.fixed[p] = true;
        theta[p] = x;
        kinks.push(p);
        let rest = from_finite(worker, &held, theta.clone(), Mode::from(false)).ok()?;
        iterations += rest.iterations;
        if rest.status != FitStatus::Converged {
            theta = rest.theta;
            continue;
        }
        let is_lower = rest.value() <= found.value() + LOWER_BY;
        let holds = is_lower && kinks.iter().all(|&p| rises(worker, problem, &rest.theta, p));
        return holds.then_some(Descent { iterations, kinks, ..rest });
    }
    None
}

/// Returns a free parameter that crosses a kink close to `theta`, and its value there.
fn nearest(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64]) -> Option<(usize, f64)> {
    let mut point = theta.to_vec();
    let mut here = Vec::new();
    branches(worker, problem, &point, &mut here);
    for distance in DISTANCES {
        for p in problem.plan.factors.all_parameters().filter(|&p| !problem.fixed[p]) {
            let reach = distance * (1.0 + theta[p].abs());
            for to in [theta[p] - reach, theta[p] + reach] {
                let to = to.clamp(problem.lower[p], problem.upper[p]);
                point[p] = to;
                if differ(worker, problem, &point, &here) {
                    let x = place(worker, problem, (&mut point, p), (theta[p], to), &here);
                    return Some((p, x));
                }
            }
            point[p] = theta[p];
        }
    }
    None
}

/// Returns the value of parameter `p` between `near` and `far` at which a branch changes. At `near` the branches are `here`.
fn place(
    worker: &mut Worker,
    problem: &Problem<'_>,
    (point, p): (&mut [f64], usize),
    (mut near, mut far): (f64, f64),
    here: &[bool],
) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (near + far);
        if middle == near || middle == far {
            break;
        }
        point[p] = middle;
        if differ(worker, problem, point, here) {
            far = middle;
        } else {
            near = middle;
        }
    }
    if near.min(far) <= 0.0 && near.max(far) >= 0.0 { 0.0 } else { far }
}

/// Writes the branches that functions take at `point`.
fn branches(worker: &mut Worker, problem: &Problem<'_>, point: &[f64], to: &mut Vec<bool>) {
    problem.plan.factors.branches(problem.level, point, &mut worker.scratch.factors, to);
}

fn differ(worker: &mut Worker, problem: &Problem<'_>, point: &[f64], here: &[bool]) -> bool {
    let mut there = Vec::with_capacity(here.len());
    branches(worker, problem, point, &mut there);
    there != here
}

/// Returns whether `-ln L` rises on both sides of the value of parameter `p` at `theta`.
fn rises(worker: &mut Worker, problem: &Problem<'_>, theta: &[f64], p: usize) -> bool {
    let size = 1.0 + theta[p].abs();
    let mut point = theta.to_vec();
    [-1.0, 1.0].into_iter().all(|side| {
        point[p] = theta[p] + side * BESIDE * size;
        if point[p] < problem.lower[p] || point[p] > problem.upper[p] {
            return true;
        }
        let value = worker.evaluate(problem, &point, 0.0).value();
        worker.gradient(problem, &point);
        // Where one side is flat, the fit says that the likelihood does not depend on the parameter.
        !value.is_finite() || side * worker.scratch.gradient[p] * size > NO_SLOPE
    })
}
