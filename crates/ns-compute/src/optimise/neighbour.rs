//! Fits near the minimum of an earlier fit, the parent fit, with the parent's covariance.
//!
//! The fits of a ranking, a scan or a limit end close to the minimum of one parent fit. The covariance of the
//! parent fit is then a good inverse Hessian: a step takes a gradient and one matrix-vector product, which
//! cost a tenth of a factorisation, and limited-memory BFGS pairs correct what has changed (Nocedal and
//! Wright, algorithm 7.4, with the parent's covariance as initial matrix). If anything is not as expected
//! (slow progress, a bound, another set of free parameters), the ordinary descent takes over from the point
//! reached.

use ns_core::{Covariance, FitStatus};

use super::active::classify;
use super::descend::Descent;
use super::{Problem, Worker};
use crate::simd::{MulAdd, Vector, isa_fn};

/// Largest number of steps before the ordinary descent takes over.
const MOST_STEPS: usize = 10;

/// Largest ratio of the EDM after and before a step. Above it the ordinary descent takes over.
const CONTRACTION: f64 = 0.2;

/// Largest number of parameters that the parent fit moved and this fit does not move.
const MOST_HELD: usize = 8;

/// Descends from `start` with `metric`, the covariance of the parent fit. If the descent does not converge,
/// `Err` holds the point from which the ordinary descent should go on.
pub(super) fn approach(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    metric: &Covariance,
) -> Result<Descent, Vec<f64>> {
    let (n, tolerance) = (start.len(), problem.plan.policy.edm_tolerance);
    let mut theta: Vec<f64> = start.to_vec();
    for p in 0..n {
        if !problem.fixed[p] {
            theta[p] = theta[p].clamp(problem.lower[p], problem.upper[p]);
        }
    }
    if metric.n != n || metric.values.len() != n * n {
        return Err(theta);
    }
    let mut here = worker.evaluate(problem, &theta, 0.0);
    if !here.value().is_finite() {
        return Err(theta);
    }
    worker.gradient(problem, &theta);
    classify(worker, problem, &theta);
    let Some(held) = HeldCovariance::new(worker, metric) else { return Err(theta) };
    worker.factored_active.copy_from_slice(&worker.active);
    worker.factored_side.copy_from_slice(&worker.side);
    worker.memory.clear();
    let mut last = f64::INFINITY;
    for iteration in 1..=MOST_STEPS {
        if problem.is_cancelled() {
            return Err(theta);
        }
        held.direction(worker, problem, metric);
        let mut edm = 0.0;
        for p in 0..n {
            edm -= 0.5 * worker.slope[p] * worker.newton[p];
        }
        if !(edm >= 0.0) || !(edm <= (CONTRACTION * last).max(0.25 * tolerance)) {
            return Err(theta);
        }
        // The EDM must be within the tolerance at two points in a row: the step from the first point is
        // taken, and the EDM is computed again.
        if edm <= tolerance && last <= tolerance {
            return Ok(Descent {
                theta,
                likelihood: here,
                edm,
                status: FitStatus::Converged,
                iterations: iteration,
                indefinite: 0,
                flat: Vec::new(),
            });
        }
        last = edm;
        for p in 0..n {
            let to = theta[p] + worker.newton[p];
            if worker.active[p] && !(to >= worker.box_lower[p] && to <= worker.box_upper[p]) {
                return Err(theta);
            }
            worker.trial[p] = to;
        }
        worker.last_slope.copy_from_slice(&worker.slope);
        let trial = std::mem::take(&mut worker.trial);
        let there = worker.evaluate(problem, &trial, 0.0);
        worker.trial = trial;
        let noise = 8.0 * f64::EPSILON * here.scale;
        if !(there.value() - here.value() <= -2e-4 * edm + noise) {
            return Err(theta);
        }
        std::mem::swap(&mut theta, &mut worker.trial);
        here = there;
        worker.gradient(problem, &theta);
        classify(worker, problem, &theta);
        if worker.active != worker.factored_active || worker.side != worker.factored_side {
            return Err(theta);
        }
        let (slope, before) = (&worker.slope, &worker.last_slope);
        worker.memory.push(
            theta.iter().zip(&worker.trial).map(|(now, before)| now - before),
            slope.iter().zip(before).map(|(now, before)| now - before),
        );
    }
    Err(theta)
}

/// The covariance `C` of the parent fit, conditional on the parameters `h` that the parent fit moved and this
/// fit does not move: `C - C_:h C_hh^-1 C_h:`.
struct HeldCovariance {
    /// Indices of the parameters `h`.
    index: Vec<usize>,
    /// `C_hh^-1`, row-major.
    inverse: Vec<f64>,
}

impl HeldCovariance {
    /// Computes the conditional covariance. Returns `None` if this fit moves a parameter that the parent fit
    /// did not move, or there are more than [`MOST_HELD`] parameters `h`.
    fn new(worker: &Worker, metric: &Covariance) -> Option<Self> {
        let n = metric.n;
        let mut index = Vec::with_capacity(MOST_HELD);
        for p in 0..n {
            let variance = metric.values[p * n + p];
            let known = variance > 0.0 && variance.is_finite();
            if worker.active[p] && !known {
                return None;
            }
            if !worker.active[p] && known {
                if index.len() >= MOST_HELD {
                    return None;
                }
                index.push(p);
            }
        }
        let k = index.len();
        // Gauss-Jordan on a positive definite matrix of at most eight rows.
        let mut rows: Vec<f64> = Vec::with_capacity(2 * k * k);
        for (i, &p) in index.iter().enumerate() {
            rows.extend(index.iter().map(|&q| metric.values[p * n + q]));
            rows.extend((0..k).map(|j| if i == j { 1.0 } else { 0.0 }));
        }
        let width = 2 * k;
        for i in 0..k {
            let pivot = rows[i * width + i];
            if !(pivot > 0.0) {
                return None;
            }
            for j in 0..width {
                rows[i * width + j] /= pivot;
            }
            for other in 0..k {
                let factor = rows[other * width + i];
                if other != i && factor != 0.0 {
                    for j in 0..width {
                        rows[other * width + j] -= factor * rows[i * width + j];
                    }
                }
            }
        }
        let inverse = (0..k).flat_map(|i| rows[i * width + k..(i + 1) * width].to_vec()).collect();
        Some(Self { index, inverse })
    }

    /// Writes `-C slope` to `worker.newton`, where `C` is the conditional covariance corrected by the BFGS
    /// pairs.
    fn direction(&self, worker: &mut Worker, problem: &Problem<'_>, metric: &Covariance) {
        let mut memory = std::mem::take(&mut worker.memory);
        for (q, slope) in worker.unit.iter_mut().zip(&worker.slope) {
            *q = -slope;
        }
        memory.before(&mut worker.unit);
        product(problem.level, &metric.values, &worker.unit, &mut worker.newton);
        let n = metric.n;
        let k = self.index.len();
        let mut weight = [0.0; MOST_HELD];
        for i in 0..k {
            weight[i] = (0..k).map(|j| self.inverse[i * k + j] * worker.newton[self.index[j]]).sum();
        }
        for (i, &p) in self.index.iter().enumerate() {
            let row = &metric.values[p * n..(p + 1) * n];
            for (d, c) in worker.newton.iter_mut().zip(row) {
                *d -= weight[i] * c;
            }
        }
        for (d, active) in worker.newton.iter_mut().zip(&worker.active) {
            if !active {
                *d = 0.0;
            }
        }
        memory.after(&mut worker.newton);
        worker.unit.fill(0.0);
        worker.memory = memory;
    }
}

isa_fn! {
    /// Computes `to = matrix x` for a symmetric matrix. Columns for which the element of `x` is zero are not
    /// read.
    fn product(matrix: &[f64], x: &[f64], to: &mut [f64]) = product_body
}

#[inline(always)]
fn product_body<M: MulAdd>(matrix: &[f64], x: &[f64], to: &mut [f64]) {
    let n = x.len();
    to.fill(0.0);
    // Four columns at a time, so that the result is loaded and stored a quarter as often.
    let columns: [usize; 4] = [0; 4];
    let mut chosen = (columns, 0);
    for j in 0..n {
        if x[j] != 0.0 {
            chosen.0[chosen.1] = j;
            chosen.1 += 1;
        }
        if chosen.1 == 4 {
            let c = chosen.0.map(|j| &matrix[j * n..(j + 1) * n]);
            let w = chosen.0.map(|j| M::V8::splat(x[j]));
            let mut i = 0;
            while i + 8 <= n {
                let mut sum = M::V8::load(&to[i..]);
                for (c, w) in c.iter().zip(w) {
                    sum = M::V8::load(&c[i..]).mul_add(w, sum);
                }
                sum.store(&mut to[i..]);
                i += 8;
            }
            for i in i..n {
                for (c, &j) in c.iter().zip(&chosen.0) {
                    to[i] = M::mul_add(c[i], x[j], to[i]);
                }
            }
            chosen.1 = 0;
        }
    }
    for &j in &chosen.0[..chosen.1] {
        let column = &matrix[j * n..(j + 1) * n];
        for (to, c) in to.iter_mut().zip(column) {
            *to = M::mul_add(*c, x[j], *to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::product;
    use crate::simd::Level;

    #[test]
    fn the_product_is_that_of_the_textbook() {
        for n in [1, 3, 8, 13, 40] {
            let x: Vec<f64> = (0..n).map(|i| if i % 5 == 2 { 0.0 } else { (i as f64).sin() }).collect();
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    matrix[i * n + j] = ((i + j) as f64).cos() + (i * j) as f64 * 0.01;
                }
            }
            let mut to = vec![f64::NAN; n];
            product(Level::detect(), &matrix, &x, &mut to);
            for i in 0..n {
                let plain: f64 = (0..n).map(|j| matrix[i * n + j] * x[j]).sum();
                assert!((to[i] - plain).abs() < 1e-12 * (1.0 + plain.abs()) * n as f64, "{n} {i}");
            }
        }
    }
}
