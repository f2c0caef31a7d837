//! The Faddeeva function `w(z) = exp(-z^2) erfc(-i z)`. Its real part is the Voigt profile.
//!
//! Events are drawn from this profile. All operations give the same bits on every CPU, so that the drawn events are the
//! same on every CPU.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};
use std::ops::{Add, Div, Mul};
use std::sync::LazyLock;

/// Number of terms of each trapezoidal rule.
const TERMS: usize = 12;

/// The asymptotic series is used if the distance of the argument from the origin is larger than this number.
const FAR: f64 = 30.0;

/// Number of terms of the asymptotic series. The first omitted term is below 1e-17 of the sum.
const FAR_TERMS: usize = 8;

/// The nodes `t^2` and the weights `exp(-t^2)` of the trapezoidal rules. The nodes are multiples of the step of the rules; those of
/// the second rule are moved by half a step.
static NODES: LazyLock<[[(f64, f64); TERMS]; 2]> = LazyLock::new(|| {
    let h = (PI / TERMS as f64).sqrt();
    [0.0, 0.5].map(|offset| {
        std::array::from_fn(|k| {
            let t = (k as f64 + offset) * h;
            (-t * t, ns_core::random::exp(-t * t))
        })
    })
});

/// A complex number, given by its real part and its imaginary part.
#[derive(Debug, Clone, Copy)]
struct Complex(f64, f64);

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }
}

impl Mul<Complex> for f64 {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex(self * other.0, self * other.1)
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let size = other.0 * other.0 + other.1 * other.1;
        (1.0 / size) * (self * Self(other.0, -other.1))
    }
}

impl Complex {
    fn exp(self) -> Self {
        let (sin, cos) = libm::sincos(self.1);
        ns_core::random::exp(self.0) * Self(cos, sin)
    }
}

/// Returns six numbers for `y >= 0`: the real part of the Faddeeva function `w(x + i y)`, its first derivatives with
/// respect to `x` and `y`, and its second derivatives `xx`, `xy` and `yy`. All of them are NaN for other `y`.
pub(in crate::events) fn voigt(x: f64, y: f64) -> [f64; 6] {
    if !(y >= 0.0) {
        return [f64::NAN; 6];
    }
    // The real part is an even function of `x`, the imaginary part an odd function.
    let [w, first, second] = faddeeva(Complex(x.abs(), y));
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    [w.0, sign * first.0, -first.1, second.0, -sign * second.1, -second.0]
}

/// Returns six numbers for `y >= 0`: the imaginary part of the Faddeeva function, and its derivatives in the order of
/// [`voigt`]. All of them are NaN for other `y`.
pub(in crate::events) fn faddeeva_imaginary(x: f64, y: f64) -> [f64; 6] {
    if !(y >= 0.0) {
        return [f64::NAN; 6];
    }
    let [w, first, second] = faddeeva(Complex(x.abs(), y));
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    [sign * w.1, first.1, sign * first.0, sign * second.1, second.0, -sign * second.1]
}

/// Returns the Faddeeva function `w(z)` with its first and second derivatives. Near the origin the derivatives are
/// computed with the equation `w' = 2 i / sqrt(pi) - 2 z w`.
fn faddeeva(z: Complex) -> [Complex; 3] {
    if z.0 * z.0 + z.1 * z.1 > FAR * FAR {
        return far(z);
    }
    let w = near(z);
    let first = -2.0 * (z * w) + Complex(0.0, FRAC_2_SQRT_PI);
    let second = -2.0 * (w + z * first);
    [w, first, second]
}

/// Sums the asymptotic series `i / sqrt(pi) sum_k (2k - 1)!! / (2^k z^(2k + 1))` of the Faddeeva function for large
/// `|z|`. Returns the sum and its first two derivatives.
fn far(z: Complex) -> [Complex; 3] {
    let inverse = Complex(1.0, 0.0) / z;
    let square = inverse * inverse;
    let mut term = Complex(0.0, 0.5 * FRAC_2_SQRT_PI) * inverse;
    let mut sums = [Complex(0.0, 0.0); 3];
    for k in 0..FAR_TERMS {
        let power = 2.0 * k as f64 + 1.0;
        sums[0] = sums[0] + term;
        sums[1] = sums[1] + -power * (term * inverse);
        sums[2] = sums[2] + power * (power + 1.0) * (term * square);
        term = 0.5 * power * (term * square);
    }
    sums
}

/// Computes the Faddeeva function `w(z)` by a trapezoidal rule whose nodes are not close to `z`. The residue of the
/// integrand's pole is added if it is needed (Al Azah and Chandler-Wilde, SIAM J. Numer. Anal. 59 (2021) 2346). The
/// relative error of the real part is below 1e-13.
fn near(z: Complex) -> Complex {
    let Complex(x, y) = z;
    let h = (PI / TERMS as f64).sqrt();
    let square = z * z;
    let nodes = &*NODES;
    let sum = |rule: usize, from: usize| {
        nodes[rule][from..].iter().fold(Complex(0.0, 0.0), |sum, &(minus_square, weight)| {
            sum + Complex(weight, 0.0) / (square + Complex(minus_square, 0.0))
        })
    };
    let scale = Complex(0.0, 2.0 * h / PI) * z;
    if y >= x.max(PI / h) {
        return scale * sum(1, 0);
    }
    let gauss = (-1.0 * square).exp();
    let wave = (Complex(0.0, -2.0 * PI / h) * z).exp();
    let place = x / h - (x / h).floor();
    if y < x && (0.25..=0.75).contains(&place) {
        let residue = (2.0 * gauss) / (Complex(1.0, 0.0) + -1.0 * wave);
        residue + Complex(0.0, h / PI) / z + scale * sum(0, 1)
    } else {
        (2.0 * gauss) / (Complex(1.0, 0.0) + wave) + scale * sum(1, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the real part of the Faddeeva function `w(x + i y)` from its definition as a convolution: `y/pi` times
    /// the integral of `exp(-t^2) / ((x - t)^2 + y^2)` over `t`. The integral is computed by a trapezoidal rule.
    fn convolution(x: f64, y: f64) -> f64 {
        let step = 1e-3;
        let term = |i: i32| {
            let t = f64::from(i) * step;
            (-t * t).exp() / ((x - t).powi(2) + y * y)
        };
        y / PI * step * (-7000..=7000).map(term).sum::<f64>()
    }

    #[test]
    fn the_profile_is_the_convolution_of_gaussian_and_lorentzian() {
        for (x, y) in [(0.0, 0.3), (0.4, 0.1), (1.7, 0.5), (3.3, 2.0), (0.2, 9.0), (8.0, 0.2), (25.0, 24.0)] {
            let want = convolution(x, y);
            assert!((voigt(x, y)[0] - want).abs() < 1e-12 * want, "{x} {y}: {} {want}", voigt(x, y)[0]);
            assert_eq!(voigt(-x, y)[0], voigt(x, y)[0]);
        }
    }

    /// Values of mpmath with 30 digits, by `scripts/make_decay_values.py`: the argument, the imaginary part and its
    /// derivatives.
    const KNOWN: &str = include_str!("faddeeva.txt");

    #[test]
    fn the_imaginary_part_agrees_with_thirty_digits() {
        for line in KNOWN.lines() {
            let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let (x, y) = (numbers[0], numbers[1]);
            let found = faddeeva_imaginary(x, y);
            // The derivatives are differences of terms of this size.
            let size = (1.0 + x * x + y * y) * found[0].abs();
            for (got, want) in found.iter().zip(&numbers[2..]) {
                assert!((got - want).abs() <= 1e-13 * want.abs() + 1e-15 * size, "{line}: {found:?}");
            }
        }
        assert!((voigt(1.5, 0.0)[0] - (-2.25_f64).exp()).abs() < 1e-15 && voigt(0.0, 0.0)[0] == 1.0);
    }

    #[test]
    fn derivatives_agree_with_differences_near_and_far() {
        for (x, y) in [(0.3, 0.2), (-1.7, 0.5), (3.0, 4.0), (-29.0, 0.7), (40.0, 0.3), (-200.0, 30.0)] {
            let h = 1e-4 * (1.0 + f64::abs(x));
            let [_, by_x, by_y, xx, xy, yy] = voigt(x, y);
            let close = |got: f64, want: f64, of: f64| {
                assert!((got - want).abs() < 2e-6 * of.abs().max(want.abs()), "{x} {y}: {got} {want}");
            };
            let k = 1e-4 * y;
            let (right, left) = (voigt(x + h, y), voigt(x - h, y));
            let (up, down) = (voigt(x, y + k), voigt(x, y - k));
            close(by_x, (right[0] - left[0]) / (2.0 * h), by_x);
            close(by_y, (up[0] - down[0]) / (2.0 * k), by_y);
            close(xx, (right[1] - left[1]) / (2.0 * h), xx);
            close(xy, (right[2] - left[2]) / (2.0 * h), xy);
            close(yy, (up[2] - down[2]) / (2.0 * k), yy);
        }
    }
}
