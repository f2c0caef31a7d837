//! The normsys modifier: a factor on a sample that depends on one parameter. There is one file for each interpolation
//! code, and one for each function that factors consist of.
//!
//! Near 0 a factor is a polynomial of degree six, or the exponential of one (except with the codes code0 and code1).
//! Farther from 0 it is a simpler function, with a separate rate on either side. An interpolation code defines these
//! functions, the points at which they meet, and the coefficients of the polynomial.

mod code0;
mod code1;
mod code4;
mod code6;
mod exponential;
mod linear;
mod log_normal;
mod polynomial;
#[cfg(test)]
mod tests;

use ns_core::NormsysCode;

use crate::number::{Jet, Number};
use crate::simd::{MulAdd, Vector};
pub(crate) use polynomial::{exponent_and_slope, second, value_and_slope};

/// What the polynomial of an interpolation code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polynomial {
    /// The factor.
    Factor,
    /// The logarithm of the factor plus 1, so that the constant term is 1 as for a factor.
    Logarithm,
}

/// Properties of a normsys interpolation code. Each code is a constant of this type, so no property can be left out.
/// The `.cuh` file beside the code's Rust file has the same properties for the kernels.
#[derive(Debug)]
pub(crate) struct Normsys {
    /// Name of the interpolation code.
    pub(crate) code: NormsysCode,
    /// The factor is the polynomial where the absolute value of the parameter is below this number. The number is 0 if
    /// the code has no polynomial.
    pub(crate) inside: f64,
    /// What the polynomial is: the factor, or its logarithm plus 1.
    pub(crate) polynomial: Polynomial,
    /// Form of the factor outside the range of the polynomial.
    pub(crate) beyond: Beyond,
    /// Returns the coefficients of the powers `alpha` to `alpha^6` of the polynomial, given the factors `lo` and `hi`
    /// at the parameter values -1 and 1. For an interpolation code without a polynomial, returns the coefficients of
    /// the smooth code that replaces it in some descents on devices.
    pub(crate) coefficients: fn(lo: f64, hi: f64) -> [f64; 6],
    /// Returns the same coefficients as `coefficients` for factors that carry derivatives. Each coefficient is the sum
    /// of a function of `lo` and a function of `hi`.
    pub(crate) coefficients_of_jets: fn(lo: Jet, hi: Jet) -> [Jet; 6],
    /// Number of floating-point operations that one factor and its part of the gradient take.
    pub(crate) operations: usize,
}

/// Returns the properties of a normsys interpolation code.
pub(crate) const fn normsys(code: NormsysCode) -> &'static Normsys {
    match code {
        NormsysCode::Code0 => &code0::CODE,
        NormsysCode::Code1 => &code1::CODE,
        NormsysCode::Code4 => &code4::CODE,
        NormsysCode::Code6 => &code6::CODE,
        NormsysCode::AsymmetricLogNormal => &log_normal::CODE,
    }
}

impl Normsys {
    /// Returns whether the factor is given by the polynomial at the parameter value `alpha`.
    #[inline(always)]
    pub(crate) fn is_polynomial(&self, alpha: f64) -> bool {
        alpha.abs() < self.inside
    }

    /// Returns whether the factor is a polynomial near 0. Fits in SIMD lanes require this.
    pub(crate) fn is_smooth_at_zero(&self) -> bool {
        self.inside > 0.0
    }

    /// Returns whether the polynomial is the logarithm of the factor.
    #[inline(always)]
    pub(crate) fn has_exponent(&self) -> bool {
        matches!(self.polynomial, Polynomial::Logarithm)
    }

    /// Returns whether the factor is an exponential everywhere. The exponents of all factors of a sample can then be
    /// added.
    #[inline(always)]
    pub(crate) fn is_exponential(&self) -> bool {
        (self.inside == 0.0 || self.has_exponent()) && self.beyond.adds_exponents()
    }

    /// Returns whether the slope of the factor of an asymmetric effect jumps at 0.
    pub(crate) fn has_kink(&self) -> bool {
        self.code.has_kink()
    }

    /// Returns whether the effect is asymmetric. This is the case if the rates on both sides of 0 differ in more than
    /// their sign. `lo` and `hi` are the factors at the parameter values -1 and 1.
    pub(crate) fn is_asymmetric(&self, lo: f64, hi: f64) -> bool {
        (self.beyond.rate(lo) + self.beyond.rate(hi)).abs() > 1e-12
    }
}

/// Form of a factor outside the range of its polynomial. The factor is a function of the distance `|alpha|` of the
/// parameter from 0 and of a rate, which may be different for positive and negative `alpha`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Beyond {
    /// The factor is `e^(rate |alpha|)`.
    Exponential,
    /// The factor is `1 + rate |alpha|`, which may be zero or negative.
    Linear,
}

impl Beyond {
    /// Returns the rate for which the factor is `factor` where `|alpha| = 1`.
    pub(crate) fn rate(self, factor: f64) -> f64 {
        match self {
            Self::Exponential => exponential::rate(factor),
            Self::Linear => linear::rate(factor),
        }
    }

    /// Does the same as [`Self::rate`] for a factor that carries derivatives.
    #[inline(always)]
    pub(crate) fn rate_of<T: Number>(self, factor: T) -> T {
        match self {
            Self::Exponential => factor.ln(),
            Self::Linear => factor.sub(T::splat(1.0)),
        }
    }

    /// Returns the factor at the distance `size` of the parameter from 0, for numbers that carry derivatives.
    #[inline(always)]
    pub(crate) fn at<T: Number>(self, size: T, rate: T) -> T {
        match self {
            Self::Exponential => size.mul(rate).exp(),
            Self::Linear => linear::value(size, rate),
        }
    }

    /// Returns the derivative of `value` with respect to `factor`. `value` is the factor at the distance `size` of the
    /// parameter from 0, and `factor` is the factor at the distance 1.
    #[inline(always)]
    pub(crate) fn by_factor<T: Number>(self, size: T, factor: T, value: T) -> T {
        match self {
            Self::Exponential => size.mul(value).div(factor),
            Self::Linear => size,
        }
    }

    /// Returns whether the factors are exponential functions. If so, the exponents of several factors can be added.
    #[inline(always)]
    pub(crate) fn adds_exponents(self) -> bool {
        matches!(self, Self::Exponential)
    }

    /// Returns the factor at the distance `size = |alpha|` of the parameter from 0.
    #[inline(always)]
    pub(crate) fn value<M: MulAdd>(self, size: M::V8, rate: M::V8) -> M::V8 {
        match self {
            Self::Exponential => exponential::value::<M>(size, rate),
            Self::Linear => linear::value(size, rate),
        }
    }

    /// Returns the first and second derivatives of the factor with respect to the parameter `alpha`. `signed_rate` is
    /// the result of [`signed_rate`], and `value` is the factor.
    #[inline(always)]
    pub(crate) fn derivatives<V: Vector>(self, signed_rate: V, value: V) -> (V, V) {
        match self {
            Self::Exponential => exponential::derivatives(signed_rate, value),
            Self::Linear => linear::derivatives(signed_rate),
        }
    }

    /// Returns the first and second derivatives of the factor with respect to the parameter `alpha`, both divided by
    /// the factor. The factor must not be zero. `signed_rate` is the result of [`signed_rate`], and `value` is the
    /// factor.
    #[inline(always)]
    pub(crate) fn relative<V: Vector>(self, signed_rate: V, value: V) -> (V, V) {
        match self {
            Self::Exponential => exponential::relative(signed_rate),
            Self::Linear => linear::relative(signed_rate, value),
        }
    }
}

/// One factor at one value of its parameter, for products of many factors.
#[cfg(all(test, feature = "metal"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor<V> {
    /// The factor without its exponential.
    pub(crate) value: V,
    /// The exponent of its exponential; 0 without one. The exponents of all factors of a block are added.
    pub(crate) exponent: V,
    /// The first and second derivatives of the factor divided by the factor.
    pub(crate) ratio: V,
    pub(crate) bend: V,
}

/// Returns the factor of an interpolation code that is smooth at 0. `c` are the coefficients of its polynomial, `hi` and
/// `lo` its rates beyond it.
#[cfg(all(test, feature = "metal"))]
#[inline(always)]
pub(crate) fn factor<V: Vector>(code: &Normsys, alpha: V, c: [V; 6], hi: V, lo: V) -> Factor<V> {
    let (zero, one, inside) = (V::splat(0.0), V::splat(1.0), V::splat(code.inside));
    let (size, rate) = (alpha.abs(), alpha.below(zero, lo, hi));
    let signed = signed_rate(alpha.sign(), hi, lo);
    if code.has_exponent() {
        let (exponent, slope) = exponent_and_slope(alpha, c);
        let exponent = size.below(inside, exponent, size.mul(rate));
        let ratio = size.below(inside, slope, signed);
        let bend = ratio.mul_add(ratio, size.below(inside, second(alpha, c), zero));
        return Factor { value: one, exponent, ratio, bend };
    }
    let (value, first) = value_and_slope(alpha, c);
    let (beyond, exponent) = match code.beyond {
        Beyond::Exponential => (one, size.below(inside, zero, size.mul(rate))),
        Beyond::Linear => (linear::value(size, rate), zero),
    };
    let (slope, bend) = code.beyond.relative(signed, beyond);
    let reciprocal = value.reciprocal();
    Factor {
        value: size.below(inside, value, beyond),
        exponent,
        ratio: size.below(inside, first.mul(reciprocal), slope),
        bend: size.below(inside, second(alpha, c).mul(reciprocal), bend),
    }
}

/// Returns the derivative of `rate |alpha|` with respect to the parameter `alpha`. `hi` is the rate for positive and
/// `lo` the rate for negative `alpha`. The result is `hi` if the sign of `alpha` is 1, `-lo` if it is -1, and the mean
/// of both if it is 0 (at a kink).
#[inline(always)]
pub(crate) fn signed_rate<V: Vector>(sign: V, hi: V, lo: V) -> V {
    let (half, one) = (V::splat(0.5), V::splat(1.0));
    hi.mul(half.mul(one.add(sign))).add(lo.mul(half.mul(sign.sub(one))))
}
