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
    let mut known = Vec::new();
    worker.columns.clear();
    let settled = hold_all_at_once(level, plan, worker, theta, &mut known);
    if !(settled && (known.is_empty() || leads_down(worker))) {
        hold_one_by_one(level, plan, worker, theta, &mut known);
    }
    keep_within_bounds(worker, theta);
    // Rounding errors of a nearly singular matrix can turn the step round. Then each parameter follows its own slope.
    if !known.is_empty() && !leads_down(worker) {
        for p in 0..n {
            worker.step[p] = -worker.slope[p] / worker.curvature.scale[p].max(f64::MIN_POSITIVE);
        }
        keep_within_bounds(worker, theta);
    }
    edm
}

/// Largest number of rounds of [`hold_all_at_once`]. It usually needs two or three.
const MOST_ROUNDS: usize = 20;

/// Largest number of changes of the held parameters in [`hold_one_by_one`].
const MOST_CHANGES: usize = 128;

/// A parameter that the step moves to a bound.
#[derive(Debug, Clone, Copy)]
struct Held {
    parameter: usize,
    /// Displacement to the bound.
    to: f64,
    /// +1 for the upper bound, -1 for the lower bound.
    edge: f64,
}

/// Cuts the step off at the bounds.
fn keep_within_bounds(worker: &mut Worker, theta: &[f64]) {
    for (p, theta) in theta.iter().enumerate() {
        worker.step[p] = if worker.active[p] {
            worker.step[p].clamp(worker.box_lower[p] - theta, worker.box_upper[p] - theta)
        } else {
            0.0
        };
    }
}

/// Returns whether `-ln L` falls at the beginning of the step.
fn leads_down(worker: &Worker) -> bool {
    worker.slope.iter().zip(&worker.step).map(|(slope, step)| slope * step).sum::<f64>() < 0.0
}

/// Returns the bound that `worker.step` moves `p` beyond, or `None` if `p` stays within its bounds.
fn beyond(worker: &Worker, theta: &[f64], p: usize) -> Option<Held> {
    let (down, up) = (worker.box_lower[p] - theta[p], worker.box_upper[p] - theta[p]);
    let slack = 1e-12 * (1.0 + theta[p].abs());
    if worker.step[p] < down - slack {
        Some(Held { parameter: p, to: down, edge: -1.0 })
    } else if worker.step[p] > up + slack {
        Some(Held { parameter: p, to: up, edge: 1.0 })
    } else {
        None
    }
}

/// Finds the minimum of the quadratic model within the bounds by the primal-dual active-set method: each round holds all
/// parameters that are beyond a bound, and releases those that their bound would have to pull outwards. Returns false if
/// the held parameters still change after the last round. They may do so for ever if two parameters have nearly the
/// same effect, because holding both at their bounds moves all other parameters far away.
fn hold_all_at_once(
    level: Level,
    plan: &Plan,
    worker: &mut Worker,
    theta: &[f64],
    known: &mut Vec<usize>,
) -> bool {
    let mut held: Vec<Held> = Vec::new();
    for round in 0..MOST_ROUNDS {
        let before = held.len();
        for p in 0..theta.len() {
            if !worker.active[p] || held.len() >= MOST_HELD || held.iter().any(|h| h.parameter == p) {
                continue;
            }
            held.extend(beyond(worker, theta, p));
        }
        let added = held.len() > before;
        if held.is_empty() {
            // Later, this means that all were released: the next round would be the first one again.
            return round == 0;
        }
        let Some(force) = minimise_with(level, plan, worker, &held, known) else { return false };
        let mut forces = force.iter();
        let released = held.len();
        held.retain(|h| forces.next().is_some_and(|force| force * h.edge >= 0.0));
        if !added && held.len() == released {
            return true;
        }
    }
    false
}

/// Does the same as [`hold_all_at_once`] by the primal active-set method (Nocedal and Wright, Numerical Optimization,
/// algorithm 16.3): the step grows from zero until one more parameter reaches its bound. The quadratic model falls with
/// each change, so that the result is a descent direction wherever the method stops.
fn hold_one_by_one(level: Level, plan: &Plan, worker: &mut Worker, theta: &[f64], known: &mut Vec<usize>) {
    let n = theta.len();
    let mut held: Vec<Held> = Vec::new();
    let mut reached = vec![0.0; n];
    for _ in 0..MOST_CHANGES {
        let Some(force) = minimise_with(level, plan, worker, &held, known) else { break };
        let (mut part, mut first) = (1.0, None);
        for p in (0..n).filter(|&p| worker.active[p]) {
            let Some(bound) = beyond(worker, theta, p) else { continue };
            let room = (bound.to - reached[p]) / (worker.step[p] - reached[p]);
            if room < part || first.is_none() {
                (part, first) = (room.clamp(0.0, 1.0), Some(bound));
            }
        }
        for (reached, step) in reached.iter_mut().zip(&worker.step) {
            *reached += part * (step - *reached);
        }
        if let Some(bound) = first {
            reached[bound.parameter] = bound.to;
            if held.len() >= MOST_HELD {
                break;
            }
            held.push(bound);
            continue;
        }
        // Each force in units of what moves its parameter by one uncertainty.
        let outward = |(i, h): (usize, &Held)| {
            (i, force[i] * h.edge * inverse(worker, known, h.parameter, h.parameter).sqrt())
        };
        let worst = held.iter().enumerate().map(outward).min_by(|a, b| a.1.total_cmp(&b.1));
        match worst {
            Some((i, force)) if force < 0.0 => held.swap_remove(i),
            _ => break,
        };
    }
    worker.step.copy_from_slice(&reached);
}

/// Returns an element of the inverse Hessian. The column of `p` must be among the `known` ones.
fn inverse(worker: &Worker, known: &[usize], p: usize, q: usize) -> f64 {
    let at = known.iter().position(|&k| k == p).unwrap_or(0);
    worker.columns[at * worker.step.len() + q]
}

/// Writes the minimum of the quadratic model with the parameters `held` at their bounds to `worker.step`. Returns for each
/// of them minus the slope of the model at that minimum, or `None` if the matrix is not positive definite. Computes the
/// columns of the inverse Hessian that are not `known` yet.
fn minimise_with(
    level: Level,
    plan: &Plan,
    worker: &mut Worker,
    held: &[Held],
    known: &mut Vec<usize>,
) -> Option<Vec<f64>> {
    let (n, k) = (worker.step.len(), held.len());
    for &Held { parameter, .. } in held {
        if known.contains(&parameter) {
            continue;
        }
        worker.unit[parameter] = 1.0;
        worker.spent += worker.prices.solution;
        let from = worker.columns.len();
        worker.columns.resize(from + n, 0.0);
        let column = &mut worker.columns[from..];
        solve(level, &plan.structure.layout, &mut worker.curvature, &worker.unit, column);
        worker.unit[parameter] = 0.0;
        known.push(parameter);
    }
    worker.spent += Prices::multiplications((k * (k * k + n)) as f64);
    let mut force: Vec<f64> = held.iter().map(|h| worker.newton[h.parameter] - h.to).collect();
    // Where the column of each held parameter begins.
    let place = |h: &Held| known.iter().position(|&p| p == h.parameter).unwrap_or(0) * n;
    let places: Vec<usize> = held.iter().map(place).collect();
    let mut matrix = Vec::with_capacity(k * k);
    for &at in &places {
        let column = &worker.columns[at..at + n];
        matrix.extend(held.iter().map(|h| column[h.parameter]));
    }
    if !solve_small(&mut matrix, &mut force, k) {
        return None;
    }
    worker.step.copy_from_slice(&worker.newton);
    for (force, &at) in force.iter().zip(&places) {
        for (d, c) in worker.step.iter_mut().zip(&worker.columns[at..at + n]) {
            *d -= force * c;
        }
    }
    for h in held {
        worker.step[h.parameter] = h.to;
    }
    Some(force)
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

#[cfg(test)]
mod tests;
