//! Finds a certified minimum in models whose `-ln L` falls without limit.
//!
//! In a bin without observed events, `-ln L` falls without limit if asymmetric effects make the expected yield
//! negative. A local minimum with positive expected yields is a valid result. A point with a negative expected yield
//! is not.

use super::super::descend::descend;
use super::super::{Problem, Worker};
use super::attempt::{BestSoFar, SHORT, attempt, runaway};
use super::scatter::scattered;
use crate::eval::Dataset;

/// Numbers of events that are put into every bin without observed events, one number after the other. These events keep
/// the expected yields positive. The smallest number moves the minimum least.
const IN_EMPTY_BINS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];

/// Largest number of scattered starting points that are tried. Only few of them lead to a minimum.
const MOST_RETURNS: usize = 200;

/// Searches for a certified minimum from further starting points, if `-ln L` fell without limit in all descents so
/// far.
pub(super) fn recover_minimum(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    found: &mut BestSoFar,
) {
    let problem = &Problem { physical: true, ..problem.clone() };
    // In the first descent, all asymmetric parameters are fixed at their starting values. The expected yields then
    // seldom become negative. A descent of all parameters from that minimum often stays where the yields are
    // positive.
    let mut held = problem.clone();
    for (fixed, asymmetric) in held.fixed.iter_mut().zip(&problem.plan.policy.asymmetric) {
        *fixed |= asymmetric;
    }
    if let Ok(other) = descend(worker, &held, start, SHORT) {
        found.iterations += other.iterations;
        attempt(worker, problem, &other.theta, found);
    }
    fill_empty_bins(worker, problem, start, found);
    for index in 0..MOST_RETURNS {
        if !runaway(&found.best) || problem.is_cancelled() {
            return;
        }
        let start = scattered(problem, start, index);
        attempt(worker, problem, &start, found);
        fill_empty_bins(worker, problem, &start, found);
    }
}

/// Puts events into every bin without observed events and descends, with fewer events each time ([`IN_EMPTY_BINS`]).
/// Then descends from each of the resulting minima with the original data.
fn fill_empty_bins(worker: &mut Worker, problem: &Problem<'_>, start: &[f64], found: &mut BestSoFar) {
    if problem.data.main.is_empty() {
        return;
    }
    let mut from = start.to_vec();
    for events in IN_EMPTY_BINS {
        if !runaway(&found.best) || problem.is_cancelled() {
            return;
        }
        let main: Vec<f64> = problem.data.main.iter().map(|&n| if n > 0.0 { n } else { events }).collect();
        let data = Dataset::new(problem.plan, &main, &problem.data.aux, &problem.data.events);
        let filled = Problem { data: &data, ..problem.clone() };
        let Ok(other) = descend(worker, &filled, &from, SHORT) else { return };
        found.iterations += other.iterations;
        from = other.theta;
        attempt(worker, problem, &from, found);
    }
}
