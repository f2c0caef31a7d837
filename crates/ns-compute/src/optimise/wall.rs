//! Finds minima under the condition that no expected number of events is negative.
//!
//! An extended channel without events adds its expected number of events to `-ln L`, which therefore falls until this
//! number is 0. Other terms may pull there too. The condition is a boundary in the space of all parameters, and not a bound
//! of one of them. A descent minimises an augmented Lagrangian function, which is finite on both sides of the boundary.
//! Its minimum tends to the minimum on the boundary when the multipliers are updated, and its Hessian decides whether the
//! point is a minimum.

use ns_core::FitFailure;

use super::descend::{Descent, Mode, from_finite};
use super::not_finite::not_finite;
use super::{Problem, Worker};
use crate::events::Wall;

/// First stiffness of a wall: the second derivative of `-ln L` with respect to an expected number of events below 0.
const STIFFNESS: f64 = 1e4;

/// If an expected number of events stays further from 0 than this fraction of its distance in the last round, the wall
/// becomes [`STIFFER`] times as stiff.
const GOOD_ROUND: f64 = 0.1;
const STIFFER: f64 = 100.0;

/// Largest stiffness of a wall. With more, rounding errors hide the slope along the boundary.
const MOST_STIFFNESS: f64 = 1e8;

/// Largest number of descents with different multipliers.
const MOST_ROUNDS: usize = 20;

/// The multipliers are final if every expected number of events times its multiplier is below this number.
const SETTLED: f64 = 1e-13;

/// A boundary holds a parameter if at most this fraction of its variance is left along the boundary.
const LEFT: f64 = 1e-9;

/// Largest number of attempts to move the final point to the allowed side of all boundaries.
const MOST_MOVES: i32 = 30;

/// Minimises `-ln L` under the condition that no expected number of events is negative.
///
/// # Errors
/// If no point with a finite `-ln L` is found.
pub(super) fn descend_within_walls(
    worker: &mut Worker,
    problem: &Problem<'_>,
    theta: Vec<f64>,
    mode: Mode,
) -> Result<Descent, FitFailure> {
    let events = &problem.plan.events;
    let mut walls = vec![Wall { multiplier: 0.0, stiffness: STIFFNESS }; events.n_channels()];
    worker.scratch.events.set_walls(Some(walls.clone()));
    let mut found = from_finite(worker, problem, theta, mode);
    let mut last = f64::INFINITY;
    for _ in 0..MOST_ROUNDS {
        let Ok(descent) = &found else { break };
        worker.evaluate(problem, &descent.theta, 0.0);
        let totals = worker.scratch.events.totals(events);
        let forces: Vec<f64> = walls.iter().zip(&totals).map(|(wall, &total)| wall.force(total)).collect();
        if forces.iter().all(|&force| force == 0.0) && walls.iter().all(|wall| wall.multiplier == 0.0) {
            break;
        }
        let off = |(total, force): (&f64, &f64)| if *force > 0.0 { total.abs() * force } else { 0.0 };
        let worst = totals.iter().zip(&forces).map(off).fold(0.0, f64::max);
        let is_settled = worst <= SETTLED && descent.walls.is_some();
        for (wall, force) in walls.iter_mut().zip(forces) {
            wall.multiplier = force;
            if worst > GOOD_ROUND * last {
                wall.stiffness = (wall.stiffness * STIFFER).min(MOST_STIFFNESS);
            }
        }
        if is_settled || problem.is_cancelled() {
            break;
        }
        last = worst;
        let (iterations, from) = (descent.iterations, descent.theta.clone());
        worker.scratch.events.set_walls(Some(walls.clone()));
        found = from_finite(worker, problem, from, Mode { cold: false, ..mode });
        if let Ok(again) = &mut found {
            again.iterations += iterations;
            again.walls = Some(walls.clone());
        }
    }
    let mut found = match found {
        Ok(found) => found,
        Err(failure) => {
            worker.scratch.events.set_walls(None);
            return Err(failure);
        }
    };
    if found.walls.is_some() {
        found.walls = Some(walls);
        move_inside(worker, problem, found.walls.as_deref().unwrap_or_default(), &mut found.theta);
    }
    worker.scratch.events.set_walls(None);
    found.likelihood = worker.evaluate(problem, &found.theta, 0.0);
    if !found.value().is_finite() {
        return Err(not_finite(worker, problem, &found.theta));
    }
    Ok(found)
}

/// Moves the point `theta` by rounding errors, such that the expected number of events is 0 in all channels whose wall has
/// a multiplier, and not negative if no point with 0 is found.
fn move_inside(worker: &mut Worker, problem: &Problem<'_>, walls: &[Wall], theta: &mut [f64]) {
    let events = &problem.plan.events;
    for attempt in 0..MOST_MOVES {
        worker.evaluate(problem, theta, 0.0);
        let totals = worker.scratch.events.totals(events);
        let is_off =
            |c: usize| totals[c] < 0.0 || (attempt < 2 && walls[c].multiplier > 0.0 && totals[c] > 0.0);
        let Some(channel) = (0..totals.len()).find(|&c| is_off(c)) else { return };
        let gradient = worker.scratch.events.total_gradient(events, channel, theta.len());
        let room = |p: usize| {
            let to = theta[p] - totals[channel] / gradient[p];
            !problem.fixed[p] && gradient[p] != 0.0 && problem.lower[p] <= to && to <= problem.upper[p]
        };
        // A parameter on its bound stays there, so that it still counts as held.
        let is_inside = |p: usize| problem.lower[p] < theta[p] && theta[p] < problem.upper[p];
        let rank = |p: usize| (is_inside(p), gradient[p].abs());
        let able = (0..theta.len()).filter(|&p| room(p));
        let best = able.max_by(|&a, &b| {
            let ((a_inside, a), (b_inside, b)) = (rank(a), rank(b));
            a_inside.cmp(&b_inside).then(a.total_cmp(&b))
        });
        let Some(p) = best else { return };
        // Rounding may need steps that are longer than those for a linear function.
        theta[p] -= totals[channel] / gradient[p] * 1.5_f64.powi(attempt / 2);
    }
}

/// Returns the parameters that the boundaries hold. On a boundary, the covariance matrix `values` of all parameters
/// becomes that of the other directions. Each element contains the index of the parameter, and whether the boundary is
/// below its value.
pub(super) fn hold_at_walls(
    worker: &Worker,
    problem: &Problem<'_>,
    walls: Option<&[Wall]>,
    values: &mut [f64],
) -> Vec<(usize, bool)> {
    let n = problem.plan.n_parameters();
    let mut held = Vec::new();
    let walls = walls.unwrap_or_default().iter().enumerate();
    for (channel, _) in walls.filter(|(_, wall)| wall.multiplier > 0.0) {
        let mut normal = worker.scratch.events.total_gradient(&problem.plan.events, channel, n);
        for (slope, is_active) in normal.iter_mut().zip(&worker.active) {
            *slope *= f64::from(u8::from(*is_active));
        }
        let column: Vec<f64> =
            values.chunks_exact(n).map(|row| row.iter().zip(&normal).map(|(v, a)| v * a).sum()).collect();
        let width: f64 = column.iter().zip(&normal).map(|(c, a)| c * a).sum();
        if !(width > 0.0) {
            continue;
        }
        for p in 0..n {
            let before = values[p * n + p];
            for q in 0..n {
                values[p * n + q] -= column[p] * column[q] / width;
            }
            if before > 0.0 && values[p * n + p] <= LEFT * before {
                held.push((p, normal[p] > 0.0));
            }
        }
    }
    held
}
