//! A factor that is a polynomial of degree six with value 1 at 0.

use crate::simd::Vector;

/// `1 + c1 alpha + ... + c6 alpha^6` and its derivative, by Horner's rule with the same intermediate values.
#[inline(always)]
pub(crate) fn value_and_slope<V: Vector>(alpha: V, c: [V; 6]) -> (V, V) {
    let (mut value, mut first) = (c[5], c[5]);
    for i in (0..5).rev() {
        value = value.mul_add(alpha, c[i]);
        first = first.mul_add(alpha, value);
    }
    (value.mul_add(alpha, V::splat(1.0)), first)
}

/// First and second derivative.
#[inline(always)]
pub(crate) fn derivatives<V: Vector>(alpha: V, c: [V; 6]) -> (V, V) {
    let mut first = c[5].mul(V::splat(6.0));
    let mut second = c[5].mul(V::splat(30.0));
    for i in (0..5).rev() {
        let power = (i + 1) as f64;
        first = first.mul_add(alpha, c[i].mul(V::splat(power)));
        if i > 0 {
            second = second.mul_add(alpha, c[i].mul(V::splat(power * (power - 1.0))));
        }
    }
    (first, second)
}
