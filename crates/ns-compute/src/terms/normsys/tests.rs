//! Compares the factor of every normsys interpolation code with the textbook formula, and its derivatives with finite
//! differences.

use ns_core::NormsysCode;
use proptest::prelude::*;

use super::*;
use crate::simd::{MulAdd, Separate};

/// Returns the factor of a normsys interpolation code, computed by the textbook formula. `lo` and `hi` are the factors
/// at the parameter values -1 and 1.
fn textbook(code: NormsysCode, lo: f64, hi: f64, alpha: f64) -> f64 {
    let exponential = if alpha >= 0.0 { hi.powf(alpha) } else { lo.powf(-alpha) };
    let linear = if alpha >= 0.0 { 1.0 + alpha * (hi - 1.0) } else { 1.0 + alpha * (1.0 - lo) };
    match code {
        NormsysCode::Code0 => linear,
        NormsysCode::Code1 => exponential,
        NormsysCode::Code4 if alpha.abs() >= 1.0 => exponential,
        NormsysCode::Code6 if alpha.abs() >= 1.0 => linear,
        NormsysCode::AsymmetricLogNormal => {
            // `AsymPow::logKappaForX` of CMS Combine.
            let (up, down) = (hi.ln(), -lo.ln());
            let x = (2.0 * alpha).clamp(-1.0, 1.0);
            let h = 0.125 * x * (x * x * (3.0 * x * x - 10.0) + 15.0);
            (alpha * (0.5 * (up + down) + 0.5 * (up - down) * h)).exp()
        }
        NormsysCode::Code6 => {
            // `interpolate6thDegree` of ROOT.
            let (up, down) = (hi - 1.0, 1.0 - lo);
            let (s, a) = (0.5 * (up + down), 0.0625 * (up - down));
            let t = alpha * alpha;
            1.0 + alpha * (s + alpha * a * (15.0 + t * (-10.0 + t * 3.0)))
        }
        NormsysCode::Code4 => {
            // Value, slope and second derivative at 1 determine the even part, and also the odd part.
            let (up, down) = (hi.ln(), lo.ln());
            let (e0, o0) = ((hi + lo) / 2.0 - 1.0, (hi - lo) / 2.0);
            let (e1, o1) = ((hi * up + lo * down) / 2.0, (hi * up - lo * down) / 2.0);
            let (e2, o2) = ((hi * up * up + lo * down * down) / 2.0, (hi * up * up - lo * down * down) / 2.0);
            let a6 = (e2 - 5.0 * e1 + 8.0 * e0) / 8.0;
            let a4 = (e1 - 2.0 * e0 - 4.0 * a6) / 2.0;
            let a5 = (o2 - 3.0 * (o1 - o0)) / 8.0;
            let a3 = (o1 - o0 - 4.0 * a5) / 2.0;
            let c = [o0 - a3 - a5, e0 - a4 - a6, a3, a4, a5, a6];
            1.0 + (1..).zip(c).map(|(power, c)| c * alpha.powi(power)).sum::<f64>()
        }
    }
}

/// Returns the value, the slope and the second derivative of a factor, as single fits and SIMD lanes compute them. Also
/// returns the slope and the second derivative divided by the value.
fn computed<M: MulAdd>(code: NormsysCode, lo: f64, hi: f64, alpha: f64) -> ([f64; 3], [f64; 2]) {
    let (of, splat) = (normsys(code), M::V8::splat);
    let (value, (first, second), relative) = if of.is_polynomial(alpha) {
        let c = (of.coefficients)(lo, hi).map(splat);
        if of.has_exponent() {
            let (exponent, ratio) = exponent_and_slope(splat(alpha), c);
            let value = of.beyond.value::<M>(exponent, splat(1.0));
            let bend = ratio.mul_add(ratio, second(splat(alpha), c));
            let absolute = [value, value.mul(ratio), value.mul(bend)];
            return (absolute.map(|x| x.sum() / 8.0), [ratio, bend].map(|x| x.sum() / 8.0));
        }
        let (value, first) = value_and_slope(splat(alpha), c);
        let derivatives = (first, second(splat(alpha), c));
        (value, derivatives, (first.div(value), derivatives.1.div(value)))
    } else {
        let (up, down) = (of.beyond.rate(hi), of.beyond.rate(lo));
        let value = of.beyond.value::<M>(splat(alpha.abs()), splat(if alpha > 0.0 { up } else { down }));
        let rate = signed_rate(splat(alpha).sign(), splat(up), splat(down));
        (value, of.beyond.derivatives(rate, value), of.beyond.relative(rate, value))
    };
    // All eight lanes have the same value.
    ([value, first, second].map(|x| x.sum() / 8.0), [relative.0, relative.1].map(|x| x.sum() / 8.0))
}

proptest! {
    #[test]
    fn every_code_is_the_textbook_factor_with_its_derivatives(
        lo in 0.3..2.0_f64, hi in 0.3..2.0_f64, alpha in -2.5..2.5_f64,
    ) {
        // Finite differences are not valid across a point at which two pieces meet.
        let h = 1e-4;
        prop_assume!([-1.0, -0.5, 0.0, 0.5, 1.0].iter().all(|edge| (alpha - edge).abs() > 2.0 * h));
        for &code in NormsysCode::ALL {
            let at = |alpha: f64| textbook(code, lo, hi, alpha);
            let (middle, below, above) = (at(alpha), at(alpha - h), at(alpha + h));
            let (got, relative) = computed::<Separate>(code, lo, hi, alpha);
            let wanted = [middle, (above - below) / (2.0 * h), (above - 2.0 * middle + below) / (h * h)];
            for ((got, wanted), tolerance) in got.into_iter().zip(wanted).zip([1e-14, 1e-6, 1e-5]) {
                prop_assert!((got - wanted).abs() < tolerance * 20.0, "{code} at {alpha}: {got} for {wanted}");
            }
            for (relative, absolute) in relative.into_iter().zip(&got[1..]) {
                prop_assert!((relative * got[0] - absolute).abs() < 1e-13, "{code} at {alpha}");
            }
        }
    }
}

/// Checks that the slopes on both sides of 0 differ only for interpolation codes with a kink. Also checks that the
/// polynomials and the outer functions have the same value and the same first two derivatives at the points where they
/// meet.
#[test]
fn pieces_meet_as_the_code_says() {
    for &code in NormsysCode::ALL {
        for (lo, hi) in [(0.9, 1.1), (0.5, 3.0), (1.2, 1.1), (0.01, 5.0)] {
            let tiny = f64::MIN_POSITIVE;
            let sides = [-tiny, tiny].map(|alpha| computed::<Separate>(code, lo, hi, alpha).0);
            assert!((sides[0][0] - 1.0).abs() < 1e-15 && (sides[1][0] - 1.0).abs() < 1e-15, "{code}");
            let kinked = code.has_kink() && normsys(code).is_asymmetric(lo, hi);
            assert_eq!((sides[0][1] - sides[1][1]).abs() > 1e-12, kinked, "{code} {lo} {hi}");
            for edge in [-normsys(code).inside, normsys(code).inside] {
                let (inside, _) = computed::<Separate>(code, lo, hi, edge * (1.0 - 1e-15));
                let (outside, _) = computed::<Separate>(code, lo, hi, edge);
                for (a, b) in inside.into_iter().zip(outside) {
                    assert!((a - b).abs() < 1e-11 * (1.0 + a.abs()), "{code} {lo} {hi}: {a} and {b}");
                }
            }
        }
    }
}

/// Checks that the polynomials have the same bits for a vector of parameter values (as in SIMD lanes) and for a vector
/// of effects (as in single fits).
#[test]
fn effects_and_fits_side_by_side_are_the_same_numbers() {
    type V = <Separate as MulAdd>::V8;
    for code in [NormsysCode::Code4, NormsysCode::Code6] {
        let effects: Vec<[f64; 6]> =
            (0..8).map(|i| (normsys(code).coefficients)(0.9 - 0.1 * f64::from(i), 1.1)).collect();
        let parameters: Vec<f64> = (0..8).map(|i| 0.2 * f64::from(i) - 0.7).collect();
        for (i, alpha) in parameters.iter().enumerate() {
            let columns =
                std::array::from_fn(|k| V::load(&effects.iter().map(|c| c[k]).collect::<Vec<f64>>()));
            let (mut single, mut lanes) = ([0.0; 8], [0.0; 8]);
            value_and_slope(V::splat(*alpha), columns).0.store(&mut single);
            for (k, c) in effects.iter().enumerate() {
                value_and_slope(V::load(&parameters), c.map(V::splat)).0.store(&mut lanes);
                assert_eq!(lanes[i].to_bits(), single[k].to_bits());
            }
        }
    }
}
