//! Functions as fixed sequences of correctly rounded operations. They return the same bits on every CPU.
//!
//! Logarithm and exponential are those of [`ns_core::random`]. All other functions are those of the crate `libm`, which
//! are also fixed sequences of correctly rounded operations.

/// Returns the exponential of `x`.
pub(in crate::events) fn exp(x: f64) -> f64 {
    ns_core::random::exp(x)
}

/// Returns the natural logarithm of `x`. It is minus infinity for 0, and NaN for negative numbers.
pub(in crate::events) fn ln(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x == f64::INFINITY {
        x
    } else {
        ns_core::random::ln(x)
    }
}

/// Returns `x` to the power `p`.
pub(in crate::events) fn power(x: f64, p: f64) -> f64 {
    match p {
        0.5 => x.sqrt(),
        2.0 => x * x,
        -0.5 => 1.0 / x.sqrt(),
        _ => libm::pow(x, p),
    }
}
