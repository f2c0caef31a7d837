//! Searches for other valleys of `-ln L` along single parameters.
//!
//! If the effect of a parameter is nonlinear, there may be a second minimum at the opposite sign of the parameter, or
//! beyond the end of the interpolation polynomial at the same sign. Each such parameter is set to a few values
//! between -2.4 and 2.4. The other parameters are then adjusted by Newton steps with the factored Hessian of the
//! minimum. Each of these steps takes one gradient. Descents start from the lowest of these points.

use super::super::active::classify;
use super::super::{Problem, Worker};
use crate::curvature::{Factored, Point, assemble, factor, solve};

/// Values of a parameter that are tried, in addition to the opposite of its value at the minimum.
const VALUES: [f64; 8] = [-2.4, -1.6, -1.0, -0.5, 0.5, 1.0, 1.6, 2.4];

/// Smallest distance of a value that is tried from the parameter's value at the minimum. A closer value belongs to the
/// same valley.
const LEAST_MOVE: f64 = 0.3;

/// Number of Newton steps that adjust the other parameters.
const STEPS: usize = 2;

/// A point beside a minimum. A descent from this point may end in a lower minimum.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Rise of `-ln L` from the minimum to this point.
    pub(super) rise: f64,
    pub(super) theta: Vec<f64>,
    /// Index of the parameter that was moved.
    pub(super) parameter: usize,
}

/// A minimum at which the Hessian has been factored (in `worker.curvature`), with working memory.
pub(super) struct LocalCurvature<'a> {
    minimum: &'a [f64],
    value: f64,
    /// The column of the inverse Hessian that belongs to the parameter that is moved.
    column: Vec<f64>,
    /// Gradient of `-ln L` with respect to the parameters that are adjusted.
    force: Vec<f64>,
    /// The point to which the adjustment of the other parameters leads.
    point: Vec<f64>,
}

impl<'a> LocalCurvature<'a> {
    /// Computes the Cholesky factor of the exact Hessian at `minimum`. Returns `None` if the Hessian is not positive
    /// definite.
    pub(super) fn new(worker: &mut Worker, problem: &Problem<'_>, minimum: &'a [f64]) -> Option<Self> {
        let n = minimum.len();
        let value = worker.evaluate(problem, minimum, 0.0).value();
        worker.gradient(problem, minimum);
        classify(worker, problem, minimum);
        let point = Point {
            theta: minimum,
            data: problem.data,
            active: &worker.active,
            side: &worker.side,
            exactness: 1.0,
            damping: 0.0,
            tether: problem.tether(),
        };
        let (level, layout) = (problem.level, &problem.plan.structure.layout);
        worker.spent += worker.prices.factorisation;
        assemble(level, problem.plan, layout, point, &mut worker.scratch, &mut worker.curvature);
        let Factored::Positive { .. } = factor(level, layout, &mut worker.curvature) else { return None };
        let vector = || vec![0.0; n];
        Some(Self { minimum, value, column: vector(), force: vector(), point: vector() })
    }

    /// Varies parameter `p`. On either side of its value at the minimum, appends the point with the lowest `-ln L` to
    /// `found`. A point is left out if `-ln L` rises by `most` or more.
    pub(super) fn look_along(
        &mut self,
        worker: &mut Worker,
        problem: &Problem<'_>,
        p: usize,
        most: f64,
        found: &mut Vec<Candidate>,
    ) {
        let here = self.minimum[p];
        worker.spent += worker.prices.solution;
        worker.unit.fill(0.0);
        worker.unit[p] = 1.0;
        solve(
            problem.level,
            &problem.plan.structure.layout,
            &mut worker.curvature,
            &worker.unit,
            &mut self.column,
        );
        worker.unit[p] = 0.0;
        let mut best: [Option<Candidate>; 2] = [None, None];
        for value in VALUES.into_iter().chain([-here]) {
            let value = value.clamp(problem.lower[p], problem.upper[p]);
            if (value - here).abs() < LEAST_MOVE {
                continue;
            }
            let Some(rise) = self.follow(worker, problem, &[(p, value)]) else { continue };
            let side = &mut best[usize::from(value > here)];
            if rise < most && side.as_ref().is_none_or(|known| rise < known.rise) {
                *side = Some(Candidate { rise, theta: self.point.clone(), parameter: p });
            }
        }
        found.extend(best.into_iter().flatten());
    }

    /// Sets the parameters in `moved` to the given values, and adjusts all other parameters by Newton steps. Writes the
    /// final point to `self.point`, and returns the rise of `-ln L` from the minimum to this point. Returns `None` if
    /// `-ln L` is not finite before the Newton steps.
    fn follow(&mut self, worker: &mut Worker, problem: &Problem<'_>, moved: &[(usize, f64)]) -> Option<f64> {
        let n = self.minimum.len();
        self.point.copy_from_slice(self.minimum);
        for &(p, value) in moved {
            self.point[p] = value;
        }
        let mut rise = worker.evaluate(problem, &self.point, 0.0).value() - self.value;
        if !rise.is_finite() {
            return None;
        }
        for _ in 0..STEPS {
            worker.gradient(problem, &self.point);
            for q in 0..n {
                self.force[q] = if worker.active[q] { worker.scratch.gradient[q] } else { 0.0 };
            }
            for &(p, _) in moved {
                self.force[p] = 0.0;
            }
            worker.spent += worker.prices.solution;
            solve(
                problem.level,
                &problem.plan.structure.layout,
                &mut worker.curvature,
                &self.force,
                &mut worker.newton,
            );
            if let [(p, _)] = moved {
                // The moved parameter must keep its value, so the step is conditional on it.
                let weight = worker.newton[*p] / self.column[*p];
                if weight.is_finite() {
                    for (d, c) in worker.newton.iter_mut().zip(&self.column) {
                        *d -= weight * c;
                    }
                }
            }
            let mut length = 1.0;
            let mut lower = false;
            for _ in 0..2 {
                for q in 0..n {
                    worker.trial[q] = if worker.active[q] && moved.iter().all(|&(p, _)| p != q) {
                        (self.point[q] - length * worker.newton[q]).clamp(problem.lower[q], problem.upper[q])
                    } else {
                        self.point[q]
                    };
                }
                let trial = std::mem::take(&mut worker.trial);
                let there = worker.evaluate(problem, &trial, 0.0).value() - self.value;
                worker.trial = trial;
                if there < rise {
                    rise = there;
                    self.point.copy_from_slice(&worker.trial);
                    lower = true;
                    break;
                }
                length *= 0.3;
            }
            if !lower {
                break;
            }
        }
        Some(rise)
    }
}
