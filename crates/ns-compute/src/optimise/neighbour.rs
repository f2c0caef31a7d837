//! Fits close to a known minimum, with the inverse Hessian of that minimum.
//!
//! The fits of a ranking, a scan or a limit end close to the minimum of one parent fit. The inverse Hessian of the
//! parent fit is a good approximation for them. A step needs one gradient and one product with this matrix (in large
//! models, a solution of a linear system with its factors). This takes about a tenth of the time of a factorisation.
//! Limited-memory BFGS pairs correct the matrix (Nocedal and Wright, algorithm 7.4, with the parent's inverse Hessian
//! as the initial matrix).
//!
//! The ordinary descent continues from the last point in three cases: progress is slow, a parameter reaches a bound, or
//! the free parameters differ from those of the parent fit.

use ns_core::{Covariance, FactoredHessian, FitStatus, InverseHessian};

use super::active::classify;
use super::descend::Descent;
use super::{Problem, Worker};
use crate::simd::{MulAdd, Vector, isa_fn};

/// Largest number of steps with the inverse Hessian of the parent fit (the nearby fit whose minimum is known). After
/// this number the ordinary descent continues.
const MOST_STEPS: usize = 10;

/// The ordinary descent continues if a step does not reduce the EDM (estimated distance to the minimum) at least to
/// this fraction.
const CONTRACTION: f64 = 0.2;

/// Largest number of parameters that moved in the parent fit (the nearby fit whose minimum is known) but do not move in
/// this fit.
const MOST_HELD: usize = 8;

/// Descends from `start` with the inverse Hessian of a nearby minimum (`metric`). `Err` contains the point from which
/// the ordinary descent should continue.
pub(super) fn approach(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    metric: &InverseHessian,
) -> Result<Descent, Vec<f64>> {
    let (n, tolerance) = (start.len(), problem.plan.policy.edm_tolerance);
    let mut theta: Vec<f64> = start.to_vec();
    for p in 0..n {
        if !problem.fixed[p] {
            theta[p] = theta[p].clamp(problem.lower[p], problem.upper[p]);
        }
    }
    let is_complete = match metric {
        InverseHessian::Dense(matrix) => matrix.values.len() == n * n,
        InverseHessian::Factored(_) => true,
    };
    if metric.n_parameters() != n || !is_complete {
        return Err(theta);
    }
    let mut here = worker.evaluate(problem, &theta, 0.0);
    if !here.value().is_finite() {
        return Err(theta);
    }
    worker.gradient(problem, &theta);
    classify(worker, problem, &theta);
    let Some(held) = Conditional::new(worker, metric) else { return Err(theta) };
    worker.factored_active.copy_from_slice(&worker.active);
    worker.factored_side.copy_from_slice(&worker.side);
    worker.memory.clear();
    let mut last = f64::INFINITY;
    for iteration in 1..=MOST_STEPS {
        if problem.is_cancelled() {
            return Err(theta);
        }
        held.direction(worker, problem);
        let mut edm = 0.0;
        for p in 0..n {
            edm -= 0.5 * worker.slope[p] * worker.newton[p];
        }
        if !(edm >= 0.0) || !(edm <= (CONTRACTION * last).max(0.25 * tolerance)) {
            return Err(theta);
        }
        // The EDM must be within the tolerance at two points in a row. The step from the first of these points is
        // taken, and then the EDM is computed again.
        if edm <= tolerance && last <= tolerance {
            return Ok(Descent {
                theta,
                likelihood: here,
                edm,
                status: FitStatus::Converged,
                iterations: iteration,
                indefinite: 0,
                flat: Vec::new(),
                walls: None,
                kinks: Vec::new(),
                least_pivot: 1.0,
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

/// The inverse Hessian `C` of the parent fit (the nearby fit whose minimum is known), as a matrix or as factors.
#[derive(Clone, Copy)]
enum Parent<'a> {
    Dense(&'a Covariance),
    Factored(&'a dyn FactoredHessian),
}

impl Parent<'_> {
    /// Returns whether the parameter `p` moved in the parent fit.
    fn has(self, p: usize) -> bool {
        match self {
            Self::Dense(matrix) => {
                let variance = matrix.values[p * matrix.n + p];
                variance > 0.0 && variance.is_finite()
            }
            Self::Factored(factors) => factors.has(p),
        }
    }
}

/// The inverse Hessian of the parent fit (the nearby fit whose minimum is known) if some parameters `h` are fixed. The
/// parameters `h` were free in the parent fit and are fixed in this fit.
///
/// It is `C - C_:h C_hh^-1 C_h:`. `C` is the inverse Hessian with all parameters free, `C_:h` contains its columns and
/// `C_h:` its rows of the parameters `h`, and `C_hh` is the block in which they cross.
struct Conditional<'a> {
    parent: Parent<'a>,
    /// Indices of the parameters `h`, which were free in the parent fit and are fixed in this fit.
    index: Vec<usize>,
    /// The inverse of the block `C_hh` of the parent's inverse Hessian `C`, stored row by row.
    inverse: Vec<f64>,
    /// The rows of the parent's inverse Hessian `C` that belong to the parameters `h`, one after the other. Empty if
    /// `C` is stored as a matrix.
    rows: Vec<f64>,
}

impl<'a> Conditional<'a> {
    /// Computes the inverse Hessian for the parameters of this fit. Returns `None` if this fit moves a parameter that
    /// did not move in the parent fit, or if there are more than [`MOST_HELD`] parameters `h` (free in the parent fit
    /// and fixed in this fit).
    fn new(worker: &mut Worker, metric: &'a InverseHessian) -> Option<Self> {
        let n = metric.n_parameters();
        let parent = match metric {
            InverseHessian::Dense(matrix) => Parent::Dense(matrix),
            InverseHessian::Factored(factors) => Parent::Factored(&**factors),
        };
        let mut index = Vec::with_capacity(MOST_HELD);
        for p in 0..n {
            let known = parent.has(p);
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
        let mut solved = Vec::new();
        if let Parent::Factored(factors) = parent {
            solved.resize(k * n, 0.0);
            for (&p, row) in index.iter().zip(solved.chunks_exact_mut(n)) {
                worker.unit[p] = 1.0;
                factors.apply(&worker.unit, row, &mut worker.solving);
                worker.unit[p] = 0.0;
            }
        }
        let mut conditional = Self { parent, index, inverse: Vec::new(), rows: solved };
        // Gauss-Jordan elimination of a positive definite matrix with at most eight rows.
        let mut rows: Vec<f64> = Vec::with_capacity(2 * k * k);
        for i in 0..k {
            let row = conditional.row(i, n);
            rows.extend(conditional.index.iter().map(|&q| row[q]));
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
        conditional.inverse = (0..k).flat_map(|i| rows[i * width + k..(i + 1) * width].to_vec()).collect();
        Some(conditional)
    }

    /// Returns the row of the parent's inverse Hessian that belongs to the parameter with position `i` in `index`. The
    /// row has `n` elements.
    fn row(&self, i: usize, n: usize) -> &[f64] {
        match self.parent {
            Parent::Dense(matrix) => &matrix.values[self.index[i] * n..(self.index[i] + 1) * n],
            Parent::Factored(_) => &self.rows[i * n..(i + 1) * n],
        }
    }

    /// Writes the product of this inverse Hessian, corrected by the BFGS pairs, and the negative gradient to
    /// `worker.newton`.
    fn direction(&self, worker: &mut Worker, problem: &Problem<'_>) {
        let mut memory = std::mem::take(&mut worker.memory);
        for (q, slope) in worker.unit.iter_mut().zip(&worker.slope) {
            *q = -slope;
        }
        memory.before(&mut worker.unit);
        match self.parent {
            Parent::Dense(matrix) => {
                product(problem.level, &matrix.values, &worker.unit, &mut worker.newton);
            }
            Parent::Factored(factors) => {
                factors.apply(&worker.unit, &mut worker.newton, &mut worker.solving);
            }
        }
        let n = worker.newton.len();
        let k = self.index.len();
        let mut weight = [0.0; MOST_HELD];
        for i in 0..k {
            weight[i] = (0..k).map(|j| self.inverse[i * k + j] * worker.newton[self.index[j]]).sum();
        }
        for (i, weight) in weight[..k].iter().enumerate() {
            for (d, c) in worker.newton.iter_mut().zip(self.row(i, n)) {
                *d -= weight * c;
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
    /// Computes the product `to = matrix x` for a symmetric matrix. Columns for which the element of `x` is zero are
    /// not read.
    fn product(matrix: &[f64], x: &[f64], to: &mut [f64]) = product_body
}

#[inline(always)]
fn product_body<M: MulAdd>(matrix: &[f64], x: &[f64], to: &mut [f64]) {
    let n = x.len();
    to.fill(0.0);
    // Four columns at a time, because the result is then loaded and stored a quarter as often.
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
