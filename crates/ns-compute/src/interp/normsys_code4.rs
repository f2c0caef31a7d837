//! code4: a factor that is a sixth-order polynomial inside `|alpha| < 1` and an
//! exponential outside (`pyhf.interpolators.code4` with `alpha0 = 1`).

use crate::simd::Vector;

/// Coefficients `c1..c6` of `1 + c1 alpha + ... + c6 alpha^6`, such that value and
/// the first two derivatives match `hi^alpha` at 1 and `lo^-alpha` at -1.
///
/// Solved by splitting into even and odd parts at `alpha = 1`: with
/// `E = (up + down)/2` and `O = (up - down)/2` for value, slope and curvature.
pub(crate) fn coefficients(lo: f64, hi: f64) -> [f64; 6] {
    let (log_hi, log_lo) = (hi.ln(), lo.ln());
    // Value (minus 1), first and second derivative at +1 and, mirrored, at -1.
    let (v_up, d_up, s_up) = (hi - 1.0, hi * log_hi, hi * log_hi * log_hi);
    let (v_dn, d_dn, s_dn) = (lo - 1.0, -lo * log_lo, lo * log_lo * log_lo);
    // Even part c2 + c4 + c6 = v, 2 c2 + 4 c4 + 6 c6 = d, 2 c2 + 12 c4 + 30 c6 = s.
    let (v, d, s) = (0.5 * (v_up + v_dn), 0.5 * (d_up - d_dn), 0.5 * (s_up + s_dn));
    let c6 = v - 0.625 * d + 0.125 * s;
    let c4 = -3.0 * v + 1.75 * d - 0.25 * s;
    let c2 = 3.0 * v - 1.125 * d + 0.125 * s;
    // Odd part c1 + c3 + c5 = v, c1 + 3 c3 + 5 c5 = d, 6 c3 + 20 c5 = s.
    let (v, d, s) = (0.5 * (v_up - v_dn), 0.5 * (d_up + d_dn), 0.5 * (s_up - s_dn));
    let c5 = 0.375 * v - 0.375 * d + 0.125 * s;
    let c3 = -1.25 * v + 1.25 * d - 0.25 * s;
    let c1 = 1.875 * v - 0.875 * d + 0.125 * s;
    [c1, c2, c3, c4, c5, c6]
}

/// The polynomial and its derivative at `alpha` for several terms at once.
#[inline(always)]
pub(crate) fn polynomial<V: Vector>(alpha: f64, c: [V; 6]) -> (V, V) {
    let a = V::splat(alpha);
    let (mut value, mut first) = (c[5].mul_add(a, c[4]), c[5]);
    for i in (0..4).rev() {
        first = first.mul_add(a, value);
        value = value.mul_add(a, c[i]);
    }
    first = first.mul_add(a, value);
    (value.mul_add(a, V::splat(1.0)), first)
}

/// First and second derivative of the polynomial.
#[inline(always)]
pub(crate) fn polynomial_derivatives<V: Vector>(alpha: f64, c: [V; 6]) -> (V, V) {
    let a = V::splat(alpha);
    let mut first = c[5].mul(V::splat(6.0));
    let mut second = c[5].mul(V::splat(30.0));
    for i in (0..5).rev() {
        let power = (i + 1) as f64;
        first = first.mul_add(a, c[i].mul(V::splat(power)));
        if i > 0 {
            second = second.mul_add(a, c[i].mul(V::splat(power * (power - 1.0))));
        }
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{MulAdd, Separate};

    type V = <Separate as MulAdd>::V4;

    #[test]
    fn joins_the_exponential_twice_differentiably() {
        for (lo, hi) in [(0.9, 1.1), (0.5, 3.0), (1.2, 1.1), (0.01, 5.0)] {
            let c = coefficients(lo, hi).map(V::splat);
            for (alpha, base) in [(1.0, hi), (-1.0, lo)] {
                let log = if alpha > 0.0 { base.ln() } else { -base.ln() };
                let (value, slope) = polynomial(alpha, c);
                let (value, slope) = (value.sum() / 4.0, slope.sum() / 4.0);
                let (first, second) = polynomial_derivatives(alpha, c);
                let (first, second) = (first.sum() / 4.0, second.sum() / 4.0);
                assert!((value - base).abs() < 1e-13 * base.max(1.0));
                assert!((slope - first).abs() < 1e-14 * (1.0 + first.abs()));
                assert!((first - base * log).abs() < 1e-12 * (1.0 + log.abs()));
                assert!((second - base * log * log).abs() < 1e-11 * (1.0 + log * log));
            }
        }
    }
}
