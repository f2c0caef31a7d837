//! A normsys factor, or its exponent, that is a polynomial of degree six in the parameter.

use crate::simd::Vector;

/// Returns the polynomial `1 + c1 alpha + ... + c6 alpha^6` and its first derivative. Both are computed by one Horner
/// scheme.
#[inline(always)]
pub(crate) fn value_and_slope<V: Vector>(alpha: V, c: [V; 6]) -> (V, V) {
    let (mut value, mut first) = (c[5], c[5]);
    for i in (0..5).rev() {
        value = value.mul_add(alpha, c[i]);
        first = first.mul_add(alpha, value);
    }
    (value.mul_add(alpha, V::splat(1.0)), first)
}

/// Returns the polynomial `c1 alpha + ... + c6 alpha^6`, which is the exponent of a factor, and its first derivative.
#[inline(always)]
pub(crate) fn exponent_and_slope<V: Vector>(alpha: V, c: [V; 6]) -> (V, V) {
    let (mut value, mut first) = (c[5], c[5]);
    for i in (0..5).rev() {
        value = value.mul_add(alpha, c[i]);
        first = first.mul_add(alpha, value);
    }
    (value.mul(alpha), first)
}

/// Returns the second derivative of the polynomial `1 + c1 alpha + ... + c6 alpha^6`.
#[inline(always)]
pub(crate) fn second<V: Vector>(alpha: V, c: [V; 6]) -> V {
    let mut second = c[5].mul(V::splat(30.0));
    for i in (1..5).rev() {
        let power = i as f64;
        second = second.mul_add(alpha, c[i].mul(V::splat(power * (power + 1.0))));
    }
    second
}
