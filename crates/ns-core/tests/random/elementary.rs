//! Compares logarithm and exponential with those of the libm crate, whose error is below 1 unit in the last
//! place.

use ns_core::random::{Stream, exp, ln, open_uniform};

/// Returns the distance of `a` and `b` as a number of doubles: 0 if they are equal, 1 if they are neighbouring
/// doubles.
fn distance(a: f64, b: f64) -> u64 {
    let ordered = |x: f64| if x < 0.0 { -(x.abs().to_bits() as i64) } else { x.to_bits() as i64 };
    ordered(a).abs_diff(ordered(b))
}

/// Draws 100,000 uniform numbers in (0, 1).
fn uniforms() -> impl Iterator<Item = f64> {
    let stream = Stream::new(3, 0, 0);
    (0..100_000).map(move |slot| {
        let block = stream.block(slot, 0);
        open_uniform(block[0], block[1])
    })
}

#[test]
fn ln_is_within_two_units() {
    let near_one = uniforms().map(|u| 0.5 + 1.5 * u);
    let closer = uniforms().enumerate().map(|(i, u)| 1.0 + (u - 0.5) * (-((i % 50) as f64)).exp2());
    let everywhere = uniforms().map(|u| (1400.0 * u - 700.0).exp());
    for x in near_one.chain(closer).chain(everywhere) {
        assert!(distance(ln(x), libm::log(x)) < 2, "ln({x:e}) = {:e}, not {:e}", ln(x), libm::log(x));
    }
}

#[test]
fn exp_is_within_two_units() {
    let means = uniforms().map(|u| -10.0 * u);
    let tiny = uniforms().enumerate().map(|(i, u)| (u - 0.5) * (-((i % 60) as f64)).exp2());
    let everywhere = uniforms().map(|u| 1416.0 * u - 708.0);
    for x in means.chain(tiny).chain(everywhere) {
        assert!(distance(exp(x), libm::exp(x)) < 2, "exp({x:e}) = {:e}, not {:e}", exp(x), libm::exp(x));
    }
}

#[test]
fn edges() {
    assert_eq!(ln(1.0), 0.0);
    assert_eq!(ln(2.0), std::f64::consts::LN_2);
    assert_eq!(ln(f64::MIN_POSITIVE), libm::log(f64::MIN_POSITIVE));
    assert_eq!(ln(f64::MAX), libm::log(f64::MAX));
    for x in [0.0, -1.0, 1e-310, f64::INFINITY, f64::NAN] {
        assert!(ln(x).is_nan(), "ln({x})");
    }
    assert_eq!(exp(0.0), 1.0);
    assert_eq!(exp(-0.0), 1.0);
    assert!(distance(exp(-708.0), libm::exp(-708.0)) < 2);
    assert!(distance(exp(709.0), libm::exp(709.0)) < 2);
    assert_eq!(exp(-708.1), 0.0);
    assert_eq!(exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(exp(709.1), f64::INFINITY);
    assert_eq!(exp(f64::INFINITY), f64::INFINITY);
    assert!(exp(f64::NAN).is_nan());
}
