//! normsys: a factor on a sample that follows one parameter. One file per interpolation code, one per piece of a factor.
//!
//! A factor is a polynomial of degree six near 0 (or none) and something simpler further out, on either side by a rate of
//! its own. A code says which pieces these are, where they meet, and which coefficients the polynomial has.

mod code0;
mod code1;
mod code4;
mod code6;
mod exponential;
mod linear;
mod polynomial;
#[cfg(test)]
mod tests;

use ns_core::NormsysCode;

use crate::simd::{MulAdd, Vector};
pub(crate) use polynomial::{second, value_and_slope};

/// What the engines ask about a code. A code is a constant of this type, so none of the answers can be left out; the
/// kernels' answers are in the file of the same name beside it.
#[derive(Debug)]
pub(crate) struct Normsys {
    /// Its name.
    pub(crate) code: NormsysCode,
    /// The factor is the polynomial where `|alpha|` is below this; 0 if there is none.
    pub(crate) inside: f64,
    /// What it is further out.
    pub(crate) beyond: Beyond,
    /// Coefficients of `alpha` to `alpha^6` from the factors at -1 and 1. A code without polynomial gives those of its smooth
    /// twin, which descents on devices need.
    pub(crate) coefficients: fn(lo: f64, hi: f64) -> [f64; 6],
    /// Floating-point operations of a factor with its part of the gradient.
    pub(crate) operations: usize,
}

/// The answers of a code.
pub(crate) const fn normsys(code: NormsysCode) -> &'static Normsys {
    match code {
        NormsysCode::Code0 => &code0::CODE,
        NormsysCode::Code1 => &code1::CODE,
        NormsysCode::Code4 => &code4::CODE,
        NormsysCode::Code6 => &code6::CODE,
    }
}

impl Normsys {
    /// Whether the factor is a polynomial at `alpha`.
    #[inline(always)]
    pub(crate) fn is_polynomial(&self, alpha: f64) -> bool {
        alpha.abs() < self.inside
    }

    /// Whether it is a polynomial near 0: what lanes are made for.
    pub(crate) fn is_smooth_at_zero(&self) -> bool {
        self.inside > 0.0
    }

    /// Whether it is an exponential everywhere, so that factors of one sample add up in the exponent.
    #[inline(always)]
    pub(crate) fn is_exponential(&self) -> bool {
        self.inside == 0.0 && matches!(self.beyond, Beyond::Exponential)
    }

    /// Whether the slope of an asymmetric effect jumps at 0.
    pub(crate) fn has_kink(&self) -> bool {
        self.code.has_kink()
    }

    /// Whether the effects of both directions differ in more than sign.
    pub(crate) fn is_asymmetric(&self, lo: f64, hi: f64) -> bool {
        (self.beyond.rate(lo) + self.beyond.rate(hi)).abs() > 1e-12
    }
}

/// What a factor is beyond its polynomial, as a function of the distance `|alpha|` and the rate on that side.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Beyond {
    /// `e^(rate |alpha|)`.
    Exponential,
    /// `1 + rate |alpha|`, which may be zero or less.
    Linear,
}

impl Beyond {
    /// The rate on the side where the factor at distance 1 is `factor`.
    pub(crate) fn rate(self, factor: f64) -> f64 {
        match self {
            Self::Exponential => exponential::rate(factor),
            Self::Linear => linear::rate(factor),
        }
    }

    /// The factor at the distance `size`.
    #[inline(always)]
    pub(crate) fn value<M: MulAdd>(self, size: M::V8, rate: M::V8) -> M::V8 {
        match self {
            Self::Exponential => exponential::value::<M>(size, rate),
            Self::Linear => linear::value(size, rate),
        }
    }

    /// First and second derivative by `alpha`, from the rate with the sign of its side ([`signed_rate`]) and the factor.
    #[inline(always)]
    pub(crate) fn derivatives<V: Vector>(self, signed_rate: V, value: V) -> (V, V) {
        match self {
            Self::Exponential => exponential::derivatives(signed_rate, value),
            Self::Linear => linear::derivatives(signed_rate),
        }
    }

    /// The same relative to the factor, which is not zero.
    #[inline(always)]
    pub(crate) fn relative<V: Vector>(self, signed_rate: V, value: V) -> (V, V) {
        match self {
            Self::Exponential => exponential::relative(signed_rate),
            Self::Linear => linear::relative(signed_rate, value),
        }
    }
}

/// The derivative of `rate |alpha|` by `alpha`: the rate of the side `sign`, or at a kink (0) the mean of both.
#[inline(always)]
pub(crate) fn signed_rate<V: Vector>(sign: V, hi: V, lo: V) -> V {
    let (half, one) = (V::splat(0.5), V::splat(1.0));
    hi.mul(half.mul(one.add(sign))).add(lo.mul(half.mul(sign.sub(one))))
}
