//! Computes the step of one iteration. The step minimises the quadratic model of `-ln L` within the bounds.

use super::Worker;
use super::memory::direction;
use super::prices::Prices;
use crate::curvature::solve;
use crate::plan::Plan;
use crate::simd::Level;

/// Largest number of parameters that are held at bounds at the same time. If more parameters reach their bounds, the
/// step is instead cut off at the bounds.
const MOST_HELD: usize = 256;

/// Writes the step within the bounds to `worker.step`, and the Newton step without bounds to `worker.newton`. Returns
/// the EDM (estimated distance to the minimum), which is `-g'd/2` for the gradient `g` and the Newton step `d`.
///
/// The Hessian is not factored again for parameters that are held at a bound. Instead, a small linear system is
/// solved. Its matrix is the block of the inverse Hessian that belongs to these parameters (a Schur complement), as in
/// a primal-dual active-set method.
pub(super) fn step(level: Level, plan: &Plan, worker: &mut Worker, theta: &[f64]) -> f64 {
    let n = theta.len();
    direction(level, plan, worker);
    let mut edm = 0.0;
    for p in 0..n {
        edm -= 0.5 * worker.slope[p] * worker.newton[p];
    }
    worker.step.copy_from_slice(&worker.newton);

    // Parameters that are held at a bound: index, displacement, and +1 for the upper or -1 for the lower bound.
    let mut held: Vec<(usize, f64, f64)> = Vec::new();
    let mut known: Vec<usize> = Vec::new();
    worker.columns.clear();
    for _round in 0..20 {
        let before = held.len();
        for p in 0..n {
            if !worker.active[p] || held.len() >= MOST_HELD || held.iter().any(|h| h.0 == p) {
                continue;
            }
            let (down, up) = (worker.box_lower[p] - theta[p], worker.box_upper[p] - theta[p]);
            let slack = 1e-12 * (1.0 + theta[p].abs());
            if worker.step[p] < down - slack {
                held.push((p, down, -1.0));
            } else if worker.step[p] > up + slack {
                held.push((p, up, 1.0));
            }
        }
        let added = held.len() > before;
        for &(p, _, _) in &held[before..] {
            if !known.contains(&p) {
                worker.unit[p] = 1.0;
                worker.spent += worker.prices.solution;
                let from = worker.columns.len();
                worker.columns.resize(from + n, 0.0);
                solve(
                    level,
                    &plan.structure.layout,
                    &mut worker.curvature,
                    &worker.unit,
                    &mut worker.columns[from..],
                );
                worker.unit[p] = 0.0;
                known.push(p);
            }
        }
        if held.is_empty() {
            break;
        }
        let column = |p: usize| known.iter().position(|&q| q == p).map_or(0, |i| i * n);
        let k = held.len();
        worker.spent += Prices::multiplications((k * (k * k + n)) as f64);
        let mut matrix = vec![0.0; k * k];
        let mut force: Vec<f64> = held.iter().map(|&(p, to, _)| worker.newton[p] - to).collect();
        for i in 0..k {
            let from = column(held[i].0);
            for j in 0..k {
                matrix[i * k + j] = worker.columns[from + held[j].0];
            }
        }
        if !solve_small(&mut matrix, &mut force, k) {
            break;
        }
        worker.step.copy_from_slice(&worker.newton);
        for (i, &(p, _, _)) in held.iter().enumerate() {
            let from = column(p);
            for (d, c) in worker.step.iter_mut().zip(&worker.columns[from..from + n]) {
                *d -= force[i] * c;
            }
        }
        for &(p, to, _) in &held {
            worker.step[p] = to;
        }
        // A parameter is released if its multiplier has the wrong sign: its bound would have to pull it outwards.
        let mut i = 0;
        let released = held.len();
        held.retain(|&(_, _, edge)| {
            let keep = force[i] * edge >= 0.0;
            i += 1;
            keep
        });
        if !added && held.len() == released {
            break;
        }
    }
    for p in 0..n {
        if worker.active[p] {
            worker.step[p] =
                worker.step[p].clamp(worker.box_lower[p] - theta[p], worker.box_upper[p] - theta[p]);
        } else {
            worker.step[p] = 0.0;
        }
    }
    edm
}

/// Solves `m x = b` in place for a symmetric `n x n` matrix `m`, by Gaussian elimination. `b` becomes `x`. Returns
/// false if a pivot is not positive.
fn solve_small(m: &mut [f64], b: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let pivot = m[k * n + k];
        if !(pivot > 0.0) {
            return false;
        }
        for i in k + 1..n {
            let factor = m[i * n + k] / pivot;
            if factor != 0.0 {
                for j in k..n {
                    m[i * n + j] -= factor * m[k * n + j];
                }
                b[i] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        let mut sum = b[k];
        for j in k + 1..n {
            sum -= m[k * n + j] * b[j];
        }
        b[k] = sum / m[k * n + k];
    }
    true
}
