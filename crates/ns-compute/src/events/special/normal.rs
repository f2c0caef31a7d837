//! The integral of the normal density over an interval.

use std::f64::consts::FRAC_1_SQRT_2;

/// The number sqrt(pi / 2).
const ROOT_HALF_PI: f64 = 1.253_314_137_315_500_251_2;

/// From this distance on, `exp(-t^2/2)` is 0.
const FAR: f64 = 39.0;

/// Returns the integral of `exp(-t^2/2)` from `a` to `b`, followed by five derivatives of the integral: with respect
/// to `a`, to `b`, to `a` twice, to `a` and `b`, and to `b` twice.
///
/// If both limits have the same sign, the integral is computed as a difference of complementary error functions, which
/// keeps the relative precision in the tails.
pub(in crate::events) fn normal_integral(a: f64, b: f64) -> [f64; 6] {
    let (x, y) = (a * FRAC_1_SQRT_2, b * FRAC_1_SQRT_2);
    let difference = if x > 0.0 && y > 0.0 {
        libm::erfc(x) - libm::erfc(y)
    } else if x < 0.0 && y < 0.0 {
        libm::erfc(-y) - libm::erfc(-x)
    } else {
        libm::erf(y) - libm::erf(x)
    };
    // An exponential that underflows takes many times longer than others.
    let density = |t: f64| if t.abs() > FAR { 0.0 } else { (-0.5 * t * t).exp() };
    let (at_a, at_b) = (density(a), density(b));
    // The second derivative with respect to an infinite limit is 0. The product would be NaN.
    let bend = |t: f64, e: f64| if e == 0.0 { 0.0 } else { t * e };
    [ROOT_HALF_PI * difference, -at_a, at_b, bend(a, at_a), 0.0, -bend(b, at_b)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_that_of_simpsons_rule() {
        for (a, b) in [(-1.0, 2.0), (3.0, 5.0), (-6.0, -5.5), (0.0, 1.0), (20.0, 21.0)] {
            let n = 2000;
            let h = (b - a) / f64::from(n);
            let f = |i: i32| (-0.5 * (a + f64::from(i) * h).powi(2)).exp();
            let inner: f64 = (1..n).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            let want = (f(0) + f(n) + inner) * h / 3.0;
            let got = normal_integral(a, b);
            assert!((got[0] - want).abs() < 1e-9 * want, "{a} {b}: {} {want}", got[0]);
            let step = 1e-5;
            let slope = (normal_integral(a + step, b)[0] - normal_integral(a - step, b)[0]) / (2.0 * step);
            assert!((got[1] - slope).abs() < 1e-8 * got[0].max(got[1].abs()));
            let bend = (normal_integral(a, b + step)[2] - normal_integral(a, b - step)[2]) / (2.0 * step);
            assert!((got[5] - bend).abs() < 1e-7 * got[5].abs().max(1e-300));
        }
    }
}
