//! A Poisson term, measured from its saturated value: of main counts, and of the constraints of per-bin factors.

mod deviance;
mod saturated;

use crate::simd::MulAdd;
use deviance::deviance;
pub(crate) use deviance::deviance_derivatives;
pub(crate) use saturated::saturated;

/// The term of one bin, and operands that can be divided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    /// From the saturated value; the expectation itself where nothing was counted.
    pub(crate) value: f64,
    /// Whether events were counted where the expected yield is zero or less; the value is not used then.
    pub(crate) is_impossible: bool,
    /// Expectation and count, or 1 where nothing was counted or the term is impossible.
    pub(crate) lambda: f64,
    pub(crate) n: f64,
}

/// The term of an expectation and a count, without branches, so that a loop over bins becomes vectors.
#[inline(always)]
pub(crate) fn term<M: MulAdd>(expected: f64, count: f64) -> Term {
    let is_impossible = count > 0.0 && !(expected > 0.0);
    // Harmless operands where the other branch is taken.
    let (lambda, n) = if count > 0.0 && !is_impossible { (expected, count) } else { (1.0, 1.0) };
    let value = if count > 0.0 { deviance::<M>(lambda, n) } else { expected };
    Term { value, is_impossible, lambda, n }
}

/// Poisson term with a quadratic continuation below `floor * n` (and linear for `n = 0`).
#[inline(always)]
pub(crate) fn extended<M: MulAdd>(lambda: f64, n: f64, floor: f64) -> (f64, f64, f64) {
    if !(n > 0.0) {
        return (lambda, 1.0, 0.0);
    }
    let edge = floor * n;
    let at = lambda.max(edge);
    let (slope, curvature) = deviance_derivatives(at, n);
    let below = lambda - at;
    (deviance::<M>(at, n) + below * (slope + 0.5 * curvature * below), slope + curvature * below, curvature)
}
