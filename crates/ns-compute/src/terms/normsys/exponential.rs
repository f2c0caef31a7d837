//! A normsys factor that is an exponential function of the distance of the parameter `alpha` from 0:
//! `e^(rate |alpha|)`.

use crate::simd::{MulAdd, Vector, exp};

/// Returns the rate for which the exponential `e^(rate |alpha|)` is `factor` at `|alpha| = 1`.
pub(super) fn rate(factor: f64) -> f64 {
    factor.ln()
}

/// Returns the exponential `e^(rate size)`, which is the factor at the distance `size = |alpha|` from 0.
#[inline(always)]
pub(super) fn value<M: MulAdd>(size: M::V8, rate: M::V8) -> M::V8 {
    let mut power = [0.0; 8];
    size.mul(rate).store(&mut power);
    for x in &mut power {
        *x = exp::<M>(*x);
    }
    M::V8::load(&power)
}

/// Returns the first and second derivatives of the factor with respect to the parameter `alpha`. `signed_rate` is the
/// result of [`super::signed_rate`], and `value` is the factor.
#[inline(always)]
pub(super) fn derivatives<V: Vector>(signed_rate: V, value: V) -> (V, V) {
    let first = signed_rate.mul(value);
    (first, signed_rate.mul(first))
}

/// Returns the first and second derivatives of the factor with respect to the parameter `alpha`, both divided by the
/// factor. `signed_rate` is the result of [`super::signed_rate`].
#[inline(always)]
pub(super) fn relative<V: Vector>(signed_rate: V) -> (V, V) {
    (signed_rate, signed_rate.mul(signed_rate))
}
