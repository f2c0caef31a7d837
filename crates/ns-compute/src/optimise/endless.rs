//! Recognises descents in which `-ln L` of events falls without end.
//!
//! Where a width tends to 0 on a single event, or all rates tend to 0 although the weights of the events have a negative
//! sum, `-ln L` falls like a logarithm. It has no minimum there, and no step is the last.

use super::{Problem, Worker};

/// Number of iterations after which a descent is checked.
pub(super) const FIRST_CHECK: usize = 16;

/// A parameter counts as close to a singular point if its distance is below this fraction of the distance of the model's
/// initial value, and as far away if it is larger by the inverse.
const CLOSE: f64 = 1e-8;

/// Fall of `-ln L` for each factor of e in the distance that counts as a fall without end.
const LEAST_FALL: f64 = 1e-3;

/// Returns whether `-ln L` falls without end at `theta` and beyond. The worker's gradient must be that at `theta`.
pub(super) fn falls_without_end(worker: &Worker, problem: &Problem<'_>, theta: &[f64]) -> bool {
    let events = &problem.plan.events;
    if !events.has_channels() {
        return false;
    }
    let along = |p: usize| {
        let (from, to) = (problem.plan.structure.table.init[p], theta[p]);
        let slope = worker.scratch.gradient[p];
        let towards = |end: f64| {
            let (before, after) = ((from - end).abs(), to - end);
            let before = if before > 0.0 { before } else { 1.0 };
            let is_close = after != 0.0 && after.abs() < CLOSE * before;
            is_close && slope * after > LEAST_FALL
        };
        let away = to.abs() * CLOSE > 1.0 + from.abs() && -slope * to > LEAST_FALL;
        // A width or a rate without a bound has its singular point at 0.
        away || [problem.lower[p], problem.upper[p], 0.0].into_iter().any(towards)
    };
    if (0..theta.len()).any(|p| !problem.fixed[p] && along(p)) {
        return true;
    }
    worker.scratch.events.totals(events).iter().zip(&problem.data.events).any(|(&total, table)| {
        // All rates of this channel tend to 0.
        total > 0.0 && total < CLOSE && table.sum_of_weights() < -LEAST_FALL
    })
}
