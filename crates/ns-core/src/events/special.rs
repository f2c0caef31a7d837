//! Special functions of one number that expressions may use, with their first and second derivatives.
//!
//! All values are fixed sequences of correctly rounded operations (those of the crate `libm`). They are the same bits on
//! every CPU, so that events that are drawn from an expression are too.

use super::landau::landau;

/// The derivatives of the logarithm of the gamma function are computed by asymptotic series for arguments above this
/// number. The first omitted term is then below 1e-17 of the sum.
const LARGE: f64 = 15.0;

/// A special function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Error function.
    Erf,
    /// Complementary error function `1 - erf(x)`.
    Erfc,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Gamma function, for positive numbers. It is NaN for all other numbers.
    Gamma,
    /// Logarithm of the gamma function, for positive numbers. It is NaN for all other numbers.
    LnGamma,
    /// Bessel function of the first kind, of the given order.
    BesselJ(u8),
    /// Landau density.
    Landau,
}

impl Special {
    /// Returns the function at `x`.
    #[must_use]
    pub fn value(self, x: f64) -> f64 {
        match self {
            Self::Erf => libm::erf(x),
            Self::Erfc => libm::erfc(x),
            Self::Sinh => libm::sinh(x),
            Self::Cosh => libm::cosh(x),
            Self::Tanh => libm::tanh(x),
            Self::Asinh => libm::asinh(x),
            Self::Gamma if x > 0.0 => libm::tgamma(x),
            Self::LnGamma if x > 0.0 => libm::lgamma(x),
            Self::Gamma | Self::LnGamma => f64::NAN,
            Self::BesselJ(n) => libm::jn(i32::from(n), x),
            Self::Landau => landau(x)[0],
        }
    }

    /// Returns the function at `x`, its first derivative and its second derivative.
    #[must_use]
    pub fn derivatives(self, x: f64) -> [f64; 3] {
        if self == Self::Landau {
            return landau(x);
        }
        let value = self.value(x);
        match self {
            Self::Erf | Self::Erfc => {
                let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x);
                let slope = if self == Self::Erf { slope } else { -slope };
                // The slope is 0 where `x` is infinite, and the product would be NaN.
                let bend = if slope == 0.0 { 0.0 } else { -2.0 * x * slope };
                [value, slope, bend]
            }
            Self::Sinh => [value, libm::cosh(x), value],
            Self::Cosh => [value, libm::sinh(x), value],
            Self::Tanh => {
                // `1 - tanh^2` would lose all digits for large arguments.
                let inverse = 1.0 / libm::cosh(x);
                let slope = inverse * inverse;
                [value, slope, -2.0 * value * slope]
            }
            Self::Asinh => {
                let r = 1.0 / (1.0 + x * x);
                [value, r.sqrt(), -x * r * r.sqrt()]
            }
            Self::Gamma => {
                let [_, first, second] = Self::LnGamma.derivatives(x);
                [value, value * first, value * (second + first * first)]
            }
            Self::LnGamma => {
                let (first, second) = polygamma(x);
                [value, first, second]
            }
            Self::Landau => landau(x),
            Self::BesselJ(n) => {
                // 2 J_n' = J_(n-1) - J_(n+1), twice (Abramowitz and Stegun 9.1.27).
                let n = i32::from(n);
                let (two_less, less) = (libm::jn(n - 2, x), libm::jn(n - 1, x));
                let (more, two_more) = (libm::jn(n + 1, x), libm::jn(n + 2, x));
                [value, 0.5 * (less - more), 0.25 * (two_less - 2.0 * value + two_more)]
            }
        }
    }
}

/// Returns the first and the second derivative of the logarithm of the gamma function (digamma and trigamma); NaN for
/// arguments that are not positive.
///
/// Recurrence relations express the derivatives at `x` by those at a large argument, for which the asymptotic series
/// are summed (Abramowitz and Stegun 6.3.18 and 6.4.12).
fn polygamma(x: f64) -> (f64, f64) {
    if !(x > 0.0) {
        return (f64::NAN, f64::NAN);
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
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::Special;

    /// Values of mpmath with 30 digits, by `scripts/make_special_functions.py`: the function, its argument, its value and its
    /// first and second derivatives.
    const KNOWN: &str = include_str!("special.txt");

    fn named(name: &str) -> Special {
        match name {
            "erf" => Special::Erf,
            "erfc" => Special::Erfc,
            "sinh" => Special::Sinh,
            "cosh" => Special::Cosh,
            "tanh" => Special::Tanh,
            "asinh" => Special::Asinh,
            "gamma" => Special::Gamma,
            "lngamma" => Special::LnGamma,
            "j0" => Special::BesselJ(0),
            "j1" => Special::BesselJ(1),
            "j4" => Special::BesselJ(4),
            "landau" => Special::Landau,
            other => panic!("unknown function {other}"),
        }
    }

    #[test]
    fn values_and_derivatives_agree_with_thirty_digits() {
        for line in KNOWN.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers: Vec<f64> = words[1..].iter().map(|word| word.parse().unwrap()).collect();
            let found = named(words[0]).derivatives(numbers[0]);
            // A Bessel function is the difference of larger terms, so its error is absolute.
            let size = if words[0].starts_with('j') { 1.0 } else { 0.0 };
            // The series of the Landau density is that of its logarithm.
            let tolerance = if words[0] == "landau" { 1e-13 } else { 4e-15 };
            for (got, want) in found.iter().zip(&numbers[1..]) {
                assert!((got - want).abs() <= tolerance * want.abs().max(size), "{line}: {found:?}");
            }
        }
    }

    #[test]
    fn gamma_exists_for_positive_numbers_alone() {
        for x in [0.0, -0.5, -3.0] {
            assert!(Special::Gamma.value(x).is_nan() && Special::LnGamma.derivatives(x)[1].is_nan());
        }
        assert_eq!(Special::Erf.derivatives(f64::INFINITY), [1.0, 0.0, 0.0]);
    }
}
