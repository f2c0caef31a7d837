//! Compares the interpolation function of every histosys interpolation code with the textbook formula, and its
//! derivatives with finite differences.

use proptest::prelude::*;

use super::*;
use crate::simd::{MulAdd, Separate};

/// Returns the histosys interpolation function of an interpolation code at the parameter value `alpha`, computed by the
/// textbook formula.
fn textbook(code: HistosysCode, alpha: f64) -> f64 {
    let size = alpha.abs();
    match code {
        HistosysCode::Code0 => size,
        HistosysCode::Code2 if size > 1.0 => 2.0 * size - 1.0,
        HistosysCode::Code2 => alpha.powi(2),
        HistosysCode::Code4p if size > 1.0 => size,
        HistosysCode::Code4p => (3.0 * alpha.powi(6) - 10.0 * alpha.powi(4) + 15.0 * alpha.powi(2)) / 8.0,
    }
}

/// Returns the histosys interpolation function and its first two derivatives twice: as single fits compute them, and as
/// SIMD lanes compute them.
fn computed<M: MulAdd>(code: HistosysCode, alpha: f64) -> [[f64; 3]; 2] {
    let single = curved(code, M::V1::splat(alpha));
    let lanes = curved(code, M::V8::splat(alpha));
    let of_a_lane = |x: M::V8| {
        let mut all = [0.0; 8];
        x.store(&mut all);
        all[5]
    };
    [
        [single.f, single.first, single.second].map(Vector::sum),
        [lanes.f, lanes.first, lanes.second].map(of_a_lane),
    ]
}

proptest! {
    #[test]
    fn every_code_is_the_textbook_shift_with_its_derivatives(alpha in -2.5..2.5_f64) {
        let h = 1e-4;
        prop_assume!([-1.0, 0.0, 1.0].iter().all(|edge| (alpha - edge).abs() > 2.0 * h));
        for &code in HistosysCode::ALL {
            let at = |alpha| textbook(code, alpha);
            let (middle, below, above) = (at(alpha), at(alpha - h), at(alpha + h));
            let [single, lanes] = computed::<Separate>(code, alpha);
            prop_assert_eq!(single, lanes);
            // The value is accurate to a few units in the last place.
            prop_assert!((single[0] - middle).abs() <= 8.0 * f64::EPSILON * middle, "{code} at {alpha}");
            let slope = (above - below) / (2.0 * h);
            prop_assert!((single[1] - slope).abs() < 1e-6, "{code} at {alpha}: {} for {slope}", single[1]);
            let second = (above - 2.0 * middle + below) / (h * h);
            prop_assert!((single[2] - second).abs() < 1e-5, "{code} at {alpha}: {} for {second}", single[2]);
        }
    }
}

#[test]
fn at_its_edges_a_code_is_inside() {
    for &code in HistosysCode::ALL {
        for alpha in [-1.0, 1.0] {
            let [single, lanes] = computed::<Separate>(code, alpha);
            assert_eq!(single, lanes);
            assert_eq!(single[0], 1.0, "{code}");
            assert_eq!(single[1] * alpha, if code == HistosysCode::Code2 { 2.0 } else { 1.0 }, "{code}");
        }
        let [at_zero, _] = computed::<Separate>(code, 0.0);
        assert_eq!([at_zero[0], at_zero[1]], [0.0, 0.0], "{code}");
    }
}
