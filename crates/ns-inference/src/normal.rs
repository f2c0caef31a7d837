//! The standard normal distribution, accurate in its tails. Small p-values, such as those of discoveries, need this
//! accuracy.

use std::f64::consts::{PI, SQRT_2};

/// Returns the probability that a standard normal variable exceeds `z`, with full relative precision.
#[must_use]
pub fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// Returns the natural logarithm of [`upper_tail`], also if `z` is so large that `upper_tail` underflows to 0.
#[must_use]
pub fn ln_upper_tail(z: f64) -> f64 {
    if z < 30.0 {
        return upper_tail(z).ln();
    }
    // Asymptotic series, Abramowitz and Stegun 26.2.12. The first omitted term is below 1e-9 of the sum.
    let s = 1.0 / (z * z);
    -0.5 * z * z - (z * (2.0 * PI).sqrt()).ln() + (s * (-1.0 + s * (3.0 - s * (15.0 - 105.0 * s)))).ln_1p()
}

/// Returns the inverse of [`upper_tail`]: the value `z` that a standard normal variable exceeds with probability `p`.
/// The result is infinite if `p` is 0 or 1, and NaN if `p` is below 0 or above 1.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::INFINITY;
    }
    // Abramowitz and Stegun 26.2.23 gives z with an error below 4.5e-4. Halley's method then solves upper_tail(z) =
    // p.
    let t = (-2.0 * p.ln()).sqrt();
    let mut z = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..4 {
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        if density == 0.0 {
            break;
        }
        let step = (upper_tail(z) - p) / density;
        z += step / (1.0 - 0.5 * z * step);
    }
    z
}

/// Returns [`quantile`] of a probability that is given by its natural logarithm, also if the probability is below the
/// smallest number above 0. The result is infinite if `ln_p` is infinite or 0, and NaN if it is above 0.
#[must_use]
pub fn quantile_of_ln(ln_p: f64) -> f64 {
    if !(ln_p < -600.0) || ln_p.is_infinite() {
        return quantile(ln_p.exp());
    }
    // The derivative of the logarithm is -(z + 1 / z) up to terms of the order of 1 / z^3.
    let mut z = (-2.0 * ln_p).sqrt();
    for _ in 0..8 {
        z += (ln_upper_tail(z) - ln_p) / (z + 1.0 / z);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_have_the_tabulated_values() {
        // scipy.stats.norm.sf
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.15865525393145707),
            (-2.0, 0.9772498680518208),
            (6.0, 9.865876450376981e-10),
            (20.0, 2.753624118606233e-89),
        ] {
            assert!((upper_tail(z) / p - 1.0).abs() < 1e-13, "{z}");
        }
    }

    #[test]
    fn logarithms_of_tails_go_on_where_tails_end() {
        // scipy.stats.norm.logsf
        for (z, ln) in
            [(3.0, -6.607_726_221_510_349), (30.0, -454.321_243_956_343_1), (100.0, -5_005.524_208_694_205)]
        {
            assert!((ln_upper_tail(z) / ln - 1.0).abs() < 1e-12, "{z}: {}", ln_upper_tail(z));
        }
        assert!((ln_upper_tail(29.999_999) - ln_upper_tail(30.000_001)).abs() < 1e-4);
    }

    #[test]
    fn the_quantile_inverts_the_tail() {
        for exponent in 1..300 {
            let p = 0.7_f64 * 10_f64.powi(-exponent);
            assert!((upper_tail(quantile(p)) / p - 1.0).abs() < 1e-11, "{p}");
        }
        for p in [0.5, 0.6, 0.9, 0.999] {
            assert!((upper_tail(quantile(p)) - p).abs() < 1e-15, "{p}");
        }
        assert!(quantile(0.5).abs() < 1e-16);
        assert_eq!(quantile(0.0), f64::INFINITY);
        assert!(quantile(1.5).is_nan());
    }

    #[test]
    fn quantiles_of_logarithms_go_on_where_probabilities_end() {
        for z in [-1.0, 0.5, 3.0, 34.0, 36.0, 50.0, 1000.0] {
            assert!((quantile_of_ln(ln_upper_tail(z)) / z - 1.0).abs() < 1e-10, "{z}");
        }
        assert_eq!(quantile_of_ln(f64::NEG_INFINITY), f64::INFINITY);
        assert!(quantile_of_ln(1.0).is_nan());
    }
}
