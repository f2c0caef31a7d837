//! Corrections to a factor that is used again: limited-memory BFGS pairs gathered since it was
//! made (Nocedal and Wright, algorithm 7.4), with the factor as initial matrix.

use super::Worker;
use crate::curvature::solve;
use crate::plan::Plan;
use crate::simd::Level;

/// Pairs kept; a factor is renewed long before.
const MOST_PAIRS: usize = 12;

/// Steps and gradient changes since the last factorisation.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Steps, one after another.
    steps: Vec<f64>,
    /// Changes of the gradient.
    changes: Vec<f64>,
    /// `1 / (step . change)`.
    rho: Vec<f64>,
    alpha: Vec<f64>,
}

impl Memory {
    /// Forgets everything: a new factor was made.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.rho.clear();
    }

    /// Takes a step and the change of the gradient along it, unless it carries no curvature.
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
}

/// `worker.newton = -(corrected H)^-1 slope`. Parameters that do not move keep a zero.
pub(super) fn direction(level: Level, plan: &Plan, worker: &mut Worker) {
    let n = worker.slope.len();
    let mut memory = std::mem::take(&mut worker.memory);
    let q = &mut worker.unit;
    for p in 0..n {
        q[p] = -worker.slope[p];
    }
    memory.alpha.clear();
    memory.alpha.resize(memory.rho.len(), 0.0);
    for i in (0..memory.rho.len()).rev() {
        let (s, y) = (&memory.steps[i * n..(i + 1) * n], &memory.changes[i * n..(i + 1) * n]);
        let a = memory.rho[i] * dot(s, q);
        memory.alpha[i] = a;
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= a * y);
    }
    solve(level, &plan.layout, &mut worker.curvature, q, &mut worker.newton);
    for i in 0..memory.rho.len() {
        let (s, y) = (&memory.steps[i * n..(i + 1) * n], &memory.changes[i * n..(i + 1) * n]);
        let b = memory.alpha[i] - memory.rho[i] * dot(y, &worker.newton);
        worker.newton.iter_mut().zip(s).for_each(|(d, s)| *d += b * s);
    }
    worker.unit.fill(0.0);
    worker.memory = memory;
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
