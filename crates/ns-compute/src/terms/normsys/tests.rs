use super::*;
use crate::simd::{MulAdd, Separate};

type V = <Separate as MulAdd>::V4;

#[test]
fn joins_the_exponential_twice_differentiably() {
    for (lo, hi) in [(0.9, 1.1), (0.5, 3.0), (1.2, 1.1), (0.01, 5.0)] {
        let c = code4::coefficients(lo, hi).map(V::splat);
        for (alpha, base) in [(1.0, hi), (-1.0, lo)] {
            let log = if alpha > 0.0 { base.ln() } else { -base.ln() };
            let (value, slope) = value_and_slope(V::splat(alpha), c);
            let (value, slope) = (value.sum() / 4.0, slope.sum() / 4.0);
            let (first, second) = derivatives(V::splat(alpha), c);
            let (first, second) = (first.sum() / 4.0, second.sum() / 4.0);
            assert!((value - base).abs() < 1e-13 * base.max(1.0));
            assert!((slope - first).abs() < 1e-14 * (1.0 + first.abs()));
            assert!((first - base * log).abs() < 1e-12 * (1.0 + log.abs()));
            assert!((second - base * log * log).abs() < 1e-11 * (1.0 + log * log));
        }
    }
}
