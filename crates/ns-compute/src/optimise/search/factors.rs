//! Tries other values of free scale factors.
//!
//! A free factor multiplies the effects of all parameters of its samples. If the factor is much smaller or larger,
//! these parameters matter less or more, and another minimum may be the lowest.

use super::super::descend::{Mode, descend};
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, attempt_below};
use super::combinations::{Effort, combinations};

/// Largest number of free scale factors (normfactor, lumi) that are tried.
const MOST_FACTORS: usize = 4;

/// Values of a factor that are tried, as multiples of the absolute value of its initial value (at least 0.001).
const MULTIPLES: [f64; 6] = [0.0, 0.4, 1.0, 2.0, 4.0, 8.0];

/// Smallest distance of a value that is tried from the value of the factor at the minimum, in units of the initial
/// value of the factor. A closer value belongs to the same valley.
const LEAST_MOVE: f64 = 0.2;

/// Options of a descent in which the factor is fixed. An approximate minimum is enough, because a descent in which the
/// factor is free follows.
const SETTLE: Mode = Mode { iterations: 20, ..Mode::from(false) };

/// A value of the factor is given up if `-ln L` at the approximate minimum for this value exceeds `-ln L` at the best
/// minimum by more than this number.
const MOST_RISE: f64 = 20.0;

/// Largest number of rounds over the values of a factor. A further round begins only if a lower minimum was found.
const MOST_ROUNDS: usize = 4;

/// Fixes each free factor at other values, one after the other. For each value all other parameters are minimised, and
/// then the factor is freed again. If `combine` is true, combinations of the other parameters are tried before the
/// factor is freed.
pub(super) fn factors(worker: &mut Worker, problem: &Problem<'_>, combine: bool, found: &mut BestSoFar) {
    let plan = problem.plan;
    let able = |&p: &usize| !problem.fixed[p] && !plan.structure.constrained[p];
    let mut free: Vec<usize> = plan.structure.factor_param.iter().map(|&p| p as usize).filter(able).collect();
    free.sort_unstable();
    free.dedup();
    for p in free.into_iter().take(MOST_FACTORS) {
        let mut held = problem.clone();
        held.fixed[p] = true;
        let scale = plan.structure.table.init[p].abs().max(1e-3);
        for _ in 0..MOST_ROUNDS {
            let minimum = found.best.theta.clone();
            let before = found.improved;
            for multiple in MULTIPLES {
                let value = (scale * multiple).clamp(problem.lower[p], problem.upper[p]);
                if (value - minimum[p]).abs() < LEAST_MOVE * scale
                    || problem.is_cancelled()
                    || found.is_spent(worker)
                {
                    continue;
                }
                let mut trial = minimum.clone();
                trial[p] = value;
                let Ok(other) = descend(worker, &held, &trial, SETTLE) else { continue };
                if other.value() > found.best.value() + MOST_RISE {
                    found.iterations += other.iterations;
                    continue;
                }
                let mut beside = found.beside(other);
                if combine {
                    combinations(worker, &held, Effort::SOME, &mut beside);
                }
                found.iterations += beside.iterations;
                attempt_below(worker, problem, &beside.best.theta, found);
            }
            if found.improved == before {
                break;
            }
        }
    }
}
