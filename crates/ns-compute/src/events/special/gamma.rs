//! Logarithm of the gamma function.

/// The derivatives of the logarithm are computed by asymptotic series for arguments above this number. The first
/// omitted term is then below 1e-17 of the sum.
const LARGE: f64 = 15.0;

/// Returns `ln Gamma(x)` with its first and second derivatives (digamma and trigamma), for positive `x`.
///
/// Recurrence relations express the derivatives at `x` by those at a large argument, for which the asymptotic series
/// are summed (Abramowitz and Stegun 6.3.18 and 6.4.12).
pub(in crate::events) fn ln_gamma(x: f64) -> [f64; 3] {
    if !(x > 0.0) {
        return [f64::NAN; 3];
    }
    let (mut first, mut second, mut y) = (0.0, 0.0, x);
    while y < LARGE {
        first -= 1.0 / y;
        second += 1.0 / (y * y);
        y += 1.0;
    }
    let r = 1.0 / y;
    let z = r * r;
    first += y.ln()
        - 0.5 * r
        - z * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32_760.0))))));
    second += r
        + 0.5 * z
        + r * z
            * (1.0 / 6.0
                - z * (1.0 / 30.0
                    - z * (1.0 / 42.0 - z * (1.0 / 30.0 - z * (5.0 / 66.0 - z * (691.0 / 2730.0))))));
    [libm::lgamma(x), first, second]
}

#[cfg(test)]
mod tests {
    use super::ln_gamma;

    #[test]
    fn derivatives_have_known_values() {
        let euler = 0.577_215_664_901_532_86;
        let zeta2 = std::f64::consts::PI.powi(2) / 6.0;
        let [value, first, second] = ln_gamma(1.0);
        assert!(value.abs() < 1e-15 && (first + euler).abs() < 1e-14 && (second - zeta2).abs() < 1e-14);
        let [_, first, second] = ln_gamma(0.5);
        assert!((first + euler + 2.0 * 2.0_f64.ln()).abs() < 1e-13);
        assert!((second - 3.0 * zeta2).abs() < 1e-13);
        for x in [0.3, 4.0, 20.0, 300.0] {
            let step = 1e-4 * x;
            let slope = (ln_gamma(x + step)[0] - ln_gamma(x - step)[0]) / (2.0 * step);
            assert!((ln_gamma(x)[1] - slope).abs() < 1e-6 * slope.abs());
        }
        assert!(ln_gamma(0.0)[0].is_nan());
    }
}
