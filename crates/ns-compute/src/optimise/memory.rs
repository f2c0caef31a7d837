//! Corrects the Cholesky factor of the Hessian when a factor from an earlier point is used again. The corrections are
//! limited-memory BFGS pairs that were collected after the factorisation (Nocedal and Wright, algorithm 7.4). The
//! initial matrix of the recursion is the factored Hessian.

use super::Worker;
use crate::curvature::solve;
use crate::plan::Plan;
use crate::simd::Level;

/// Largest number of BFGS pairs. The Hessian is factored again long before there are so many.
const MOST_PAIRS: usize = 12;

/// BFGS pairs: the steps since the last factorisation, and the change of the gradient along each step.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Step of each BFGS pair, one after the other.
    steps: Vec<f64>,
    /// Change of the gradient along each step, one after the other.
    changes: Vec<f64>,
    /// For each BFGS pair, 1 divided by the scalar product of the step and the change of the gradient.
    rho: Vec<f64>,
    /// Coefficients that the first half of the BFGS recursion computes and the second half uses.
    alpha: Vec<f64>,
}

impl Memory {
    /// Removes all BFGS pairs. This is needed after a new factorisation.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.rho.clear();
    }

    /// Adds a step, with the change of the gradient along it, as a BFGS pair. Does nothing if the curvature along the
    /// step is not positive, or if there are already [`MOST_PAIRS`] pairs.
    pub(crate) fn push(&mut self, step: impl Iterator<Item = f64>, change: impl Iterator<Item = f64>) {
        if self.rho.len() >= MOST_PAIRS {
            return;
        }
        let from = self.steps.len();
        self.steps.extend(step);
        self.changes.extend(change);
        let product: f64 = self.steps[from..].iter().zip(&self.changes[from..]).map(|(s, y)| s * y).sum();
        if product > 1e-30 {
            self.rho.push(1.0 / product);
        } else {
            self.steps.truncate(from);
            self.changes.truncate(from);
        }
    }

    /// Applies the first half of the BFGS recursion to `q` in place. The caller must then multiply the result by the
    /// inverse of the initial matrix.
    pub(super) fn before(&mut self, q: &mut [f64]) {
        let n = q.len();
        self.alpha.clear();
        self.alpha.resize(self.rho.len(), 0.0);
        for i in (0..self.rho.len()).rev() {
            let (s, y) = (&self.steps[i * n..(i + 1) * n], &self.changes[i * n..(i + 1) * n]);
            let a = self.rho[i] * dot(s, q);
            self.alpha[i] = a;
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= a * y);
        }
    }

    /// Applies the second half of the BFGS recursion to `d` in place. Before the call, `d` must be the product of the
    /// inverse of the initial matrix and the result `q` of [`Self::before`].
    pub(super) fn after(&self, d: &mut [f64]) {
        let n = d.len();
        for i in 0..self.rho.len() {
            let (s, y) = (&self.steps[i * n..(i + 1) * n], &self.changes[i * n..(i + 1) * n]);
            let b = self.alpha[i] - self.rho[i] * dot(y, d);
            d.iter_mut().zip(s).for_each(|(d, s)| *d += b * s);
        }
    }
}

/// Writes `-H^-1 slope` to `worker.newton`. `H` is the factored Hessian, corrected by the BFGS pairs. Elements of
/// parameters that may not move are zero.
pub(super) fn direction(level: Level, plan: &Plan, worker: &mut Worker) {
    let mut memory = std::mem::take(&mut worker.memory);
    for (q, slope) in worker.unit.iter_mut().zip(&worker.slope) {
        *q = -slope;
    }
    memory.before(&mut worker.unit);
    solve(level, &plan.structure.layout, &mut worker.curvature, &worker.unit, &mut worker.newton);
    memory.after(&mut worker.newton);
    worker.unit.fill(0.0);
    worker.memory = memory;
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
