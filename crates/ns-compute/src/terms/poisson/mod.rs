//! The Poisson term relative to its value in the saturated model (in which the expected yield equals the count). It is
//! used for main counts and for the constraints of per-bin factors.

mod deviance;
mod saturated;

use crate::simd::MulAdd;
use deviance::deviance;
pub(crate) use deviance::deviance_derivatives;
#[cfg(all(test, feature = "metal"))]
pub(crate) use deviance::near;
pub(crate) use saturated::{log_factorial_slope, saturated};

/// The Poisson term of one bin, with the expected yield and the count from which it was computed. Both numbers are
/// replaced by 1 where they are not needed, so that other code can divide by them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    /// Value of the term relative to its value in the saturated model. If the count is 0, this difference is equal to
    /// the expected yield.
    pub(crate) value: f64,
    /// Whether the term is impossible: the count is positive although the expected yield is zero or negative. If so,
    /// `value` must not be used.
    pub(crate) is_impossible: bool,
    /// Expected yield. It is replaced by 1 if the count is 0, or if `is_impossible` is true.
    pub(crate) lambda: f64,
    /// Count. It is replaced by 1 if it is 0, or if `is_impossible` is true.
    pub(crate) n: f64,
}

/// Returns the Poisson term of an expected yield and a count. The function has no branches, so the compiler can
/// vectorise a loop over bins.
#[inline(always)]
pub(crate) fn term<M: MulAdd>(expected: f64, count: f64) -> Term {
    let is_impossible = count > 0.0 && !(expected > 0.0);
    // Operands that are not used are replaced by 1.
    let (lambda, n) = if count > 0.0 && !is_impossible { (expected, count) } else { (1.0, 1.0) };
    let value = if count > 0.0 { deviance::<M>(lambda, n) } else { expected };
    Term { value, is_impossible, lambda, n }
}

/// Returns the Poisson term of the expected yield `lambda` and the count `n`, with its first and second derivatives
/// with respect to `lambda`. Where `lambda` is below `floor * n`, the term is replaced by its second-order Taylor
/// expansion at `floor * n`. For `n = 0` the term is `lambda`.
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
