//! Tries the other side of kinks, one parameter at a time. See "Sides of kinks" in `docs/numerics/minima.md`.

use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use crate::eval::{constraint_curvatures, jumps};
use crate::shared_constants::MOST_FLIPS_BETWEEN_KINKS;

/// Falls of `-ln L` below this number are left to the certificate of a minimum.
const LEAST_FALL: f64 = 1e-9;

/// A parameter that may have a lower minimum on the other side of its kink.
struct Candidate {
    param: usize,
    /// Estimate of how far `-ln L` is lower there, at most.
    gain: f64,
}

/// Descends from points with the sign of one parameter changed, those first that promise the lowest minimum. Around a
/// new minimum, every parameter is tried again.
pub(super) fn sides(worker: &mut Worker, problem: &Problem<'_>, found: &mut BestSoFar) {
    let mut descents = 0;
    loop {
        let mut improved = false;
        let minimum = found.best.theta.clone();
        for Candidate { param, .. } in candidates(worker, problem, &minimum) {
            if descents >= MOST_FLIPS_BETWEEN_KINKS || found.is_spent(worker) || problem.is_cancelled() {
                return;
            }
            descents += 1;
            let mut start = minimum.clone();
            start[param] = (-start[param]).clamp(problem.lower[param], problem.upper[param]);
            if attempt_below(worker, problem, &start, found) {
                improved = true;
                break;
            }
        }
        if !improved {
            return;
        }
    }
}

/// Returns the parameters for which the quadratic model of both sides has a minimum on the other side of the kink, the
/// lowest first.
///
/// Let a parameter be at the distance `d` from its kink, `c` its variance, and `j` the fall of the slope of `-ln L` at
/// the kink. `-ln L` rises by `d^2/2c` up to the kink, where the slope changes from `d/c` to `d/c - j`, and falls by
/// `(j - d/c)^2 c/2` beyond. There is a minimum if `d < j c`, and it is lower by `j (j c/2 - d)`. The variance is at
/// most that of the constraint, which stands for it.
fn candidates(worker: &mut Worker, problem: &Problem<'_>, minimum: &[f64]) -> Vec<Candidate> {
    let plan = problem.plan;
    worker.evaluate(problem, minimum, 0.0);
    worker.gradient(problem, minimum);
    jumps(plan, |_| true, &mut worker.scratch);
    let curvatures = &mut worker.unit;
    constraint_curvatures(plan, minimum, &problem.data.aux, curvatures);
    let mut candidates: Vec<Candidate> = (0..minimum.len())
        .filter(|&p| plan.structure.kinked[p] && !problem.fixed[p] && minimum[p] != 0.0)
        .filter_map(|param| {
            let (distance, fall) = (minimum[param].abs(), -2.0 * worker.scratch.jump[param]);
            let gain = fall * (0.5 * fall / curvatures[param] - distance);
            let there = fall > 0.0 && distance * curvatures[param] < fall;
            (there && 0.5 * fall * fall > LEAST_FALL * curvatures[param]).then_some(Candidate { param, gain })
        })
        .collect();
    curvatures.fill(0.0);
    candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    candidates
}
