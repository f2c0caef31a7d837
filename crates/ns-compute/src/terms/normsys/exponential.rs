//! A factor that grows exponentially: `e^(rate |alpha|)`.

use crate::simd::{MulAdd, Vector, exp};

/// The rate at which the factor is `factor` at distance 1.
pub(super) fn rate(factor: f64) -> f64 {
    factor.ln()
}

/// The factor at the distance `size`.
#[inline(always)]
pub(super) fn value<M: MulAdd>(size: M::V8, rate: M::V8) -> M::V8 {
    let mut power = [0.0; 8];
    size.mul(rate).store(&mut power);
    for x in &mut power {
        *x = exp::<M>(*x);
    }
    M::V8::load(&power)
}

/// Derivative relative to the factor.
#[inline(always)]
pub(super) fn slope<V: Vector>(signed_rate: V, _value: V) -> V {
    signed_rate
}
