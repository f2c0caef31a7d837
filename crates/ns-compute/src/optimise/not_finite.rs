//! Finds the term of `-ln L` that is not finite.

use ns_core::FitFailure;

use super::{Problem, Worker};

/// If the absolute value of a term of `-ln L` exceeds this number, the sum of all terms may overflow although every
/// term is finite.
const HUGE_TERM: f64 = 1e300;

/// Returns the failure that names the first event, bin or constraint whose term of `-ln L` is not finite at `theta`. If
/// all terms are finite but their sum is not, the failure names the bin with the largest term.
pub(super) fn not_finite(worker: &Worker, problem: &Problem<'_>, theta: &[f64]) -> FitFailure {
    if let Some((channel, cause)) = &worker.scratch.events.failure {
        return FitFailure::NotEvaluated { channel: *channel, cause: cause.clone() };
    }
    if let Some((channel, integral)) = worker.scratch.events.infinite {
        let (process, observables) = problem.plan.events.place_of(channel, integral);
        return FitFailure::InfiniteIntegral { channel, process, observables };
    }
    if let Some((channel, event)) = worker.scratch.events.bad {
        return FitFailure::DensityNotPositive { channel, event };
    }
    if let Some(channel) = worker.scratch.events.negative {
        let expected = worker.scratch.events.totals(&problem.plan.events)[channel];
        return FitFailure::NegativeTotal { channel, expected };
    }
    let bins = worker.scratch.lambda.iter().zip(&problem.data.main);
    let term = |expected: f64, observed: f64| {
        let log = if observed > 0.0 { observed * (observed / expected).ln() } else { 0.0 };
        log - observed + expected
    };
    let mut largest = None;
    for (bin, (&expected, &observed)) in bins.enumerate() {
        let size = term(expected, observed).abs();
        if !expected.is_finite() || (observed > 0.0 && expected <= 0.0) || !size.is_finite() {
            return FitFailure::NotFinite { bin, expected, observed };
        }
        if size > largest.as_ref().map_or(HUGE_TERM, |(most, _)| *most) {
            largest = Some((size, FitFailure::NotFinite { bin, expected, observed }));
        }
    }
    if let Some((_, failure)) = largest {
        return failure;
    }
    let mut constrained = problem.plan.poisson().map(|(p, ..)| p);
    let parameter = constrained
        .find(|&p| !(theta[p] > 0.0))
        .or_else(|| theta.iter().position(|x| !x.is_finite()))
        .unwrap_or(0);
    FitFailure::ConstraintNotFinite { parameter, value: theta.get(parameter).copied().unwrap_or(f64::NAN) }
}
