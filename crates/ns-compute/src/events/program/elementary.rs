//! Functions of one and two numbers, with their first and second derivatives.

use ns_core::Special;

use crate::events::special;
use crate::simd::{MulAdd, exp, ln};

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) enum Unary {
    /// `-x`.
    Neg,
    /// `e^x`.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Square root.
    Sqrt,
    /// Absolute value.
    Abs,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// Inverse hyperbolic sine.
    Asinh,
    /// `1 / x`.
    Reciprocal,
    /// A special function.
    Special(Special),
    /// `(1 - e^-x) / x`. At 0 its value is 1.
    Decay,
    /// `x` to a constant power.
    Power(f64),
    /// Factor (normsys) or shift (histosys) of an interpolation between variations (see `special/interpolation.rs`).
    Interpolation(special::Interpolation),
}

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) enum Binary {
    /// `a / b`.
    Div,
    /// `a^b`.
    Pow,
    /// Angle of the point with the ordinate `a` and the abscissa `b`.
    Atan2,
    /// Integral of `exp(-t^2/2)` over `t` from `a` to `b`.
    NormalIntegral,
    /// Voigt profile `Re w(a + i b)`, where `w` is the Faddeeva function.
    Voigt,
    /// Imaginary part `Im w(a + i b)` of the Faddeeva function.
    FaddeevaImaginary,
    /// Convolution of `exp(-b s)`, for positive `s`, with the normal density, at `a`.
    SmearedDecay,
}

impl Unary {
    /// Returns whether the second derivative of the function may differ from zero.
    pub(super) fn is_curved(self) -> bool {
        !matches!(self, Self::Neg | Self::Abs)
    }

    /// Returns the value, the first derivative and the second derivative at `x`.
    #[inline(always)]
    pub(in crate::events) fn at<M: MulAdd>(self, x: f64) -> [f64; 3] {
        match self {
            Self::Neg => [-x, -1.0, 0.0],
            Self::Exp => {
                let e = exp::<M>(x);
                [e, e, e]
            }
            Self::Ln => {
                let r = 1.0 / x;
                [ln::<M>(x), r, -r * r]
            }
            Self::Sqrt => {
                let s = x.sqrt();
                let r = 0.5 / s;
                [s, r, -0.5 * r / x]
            }
            Self::Abs => [x.abs(), if x < 0.0 { -1.0 } else { 1.0 }, 0.0],
            Self::Sin => {
                let (s, c) = x.sin_cos();
                [s, c, -s]
            }
            Self::Cos => {
                let (s, c) = x.sin_cos();
                [c, -s, -c]
            }
            Self::Tan => {
                let t = x.tan();
                let d = 1.0 + t * t;
                [t, d, 2.0 * t * d]
            }
            Self::Asin => {
                let r = 1.0 / (1.0 - x * x);
                [x.asin(), r.sqrt(), x * r * r.sqrt()]
            }
            Self::Acos => {
                let r = 1.0 / (1.0 - x * x);
                [x.acos(), -r.sqrt(), -x * r * r.sqrt()]
            }
            Self::Atan => {
                let r = 1.0 / (1.0 + x * x);
                [x.atan(), r, -2.0 * x * r * r]
            }
            Self::Asinh => {
                let r = 1.0 / (1.0 + x * x);
                [x.asinh(), r.sqrt(), -x * r * r.sqrt()]
            }
            Self::Reciprocal => {
                let r = 1.0 / x;
                [r, -r * r, 2.0 * r * r * r]
            }
            Self::Special(function) => function.derivatives(x),
            Self::Decay => special::decay(x),
            Self::Power(p) => power(x, p),
            Self::Interpolation(interpolation) => interpolation.at(x),
        }
    }
}

impl Binary {
    /// Returns six numbers at `(a, b)`: the value, the first derivatives with respect to `a` and to `b`, and the second
    /// derivatives with respect to `a` twice, to `a` and `b`, and to `b` twice.
    #[inline(always)]
    pub(in crate::events) fn at<M: MulAdd>(self, a: f64, b: f64) -> [f64; 6] {
        match self {
            Self::Div => {
                let r = 1.0 / b;
                let q = a * r;
                [q, r, -q * r, 0.0, -r * r, 2.0 * q * r * r]
            }
            Self::Pow => {
                let value = a.powf(b);
                // For the base 0 the value is 0 or 1. The derivative with respect to the exponent is 0.
                let l = if a > 0.0 { a.ln() } else { 0.0 };
                let [_, first, second] = power(a, b);
                let lower = a.powf(b - 1.0);
                [value, first, value * l, second, lower * (1.0 + b * l), value * l * l]
            }
            Self::Atan2 => {
                let r = 1.0 / (a * a + b * b);
                let (by_a, by_b) = (b * r, -a * r);
                let twice = 2.0 * by_a * by_b;
                [a.atan2(b), by_a, by_b, twice, by_b * by_b - by_a * by_a, -twice]
            }
            Self::NormalIntegral => special::normal_integral(a, b),
            Self::Voigt => special::voigt(a, b),
            Self::FaddeevaImaginary => special::faddeeva_imaginary(a, b),
            Self::SmearedDecay => special::smeared_decay::<M>(a, b, exp::<M>),
        }
    }
}

/// Returns `x^p` and its first and second derivatives with respect to `x`. `x` may be 0.
fn power(x: f64, p: f64) -> [f64; 3] {
    // For smaller `x`, `1/x` may be infinite.
    if x > f64::MIN_POSITIVE {
        let (value, inverse) = (x.powf(p), 1.0 / x);
        let first = p * value * inverse;
        return [value, first, (p - 1.0) * first * inverse];
    }
    let first = if p == 0.0 { 0.0 } else { p * x.powf(p - 1.0) };
    let second = if p == 0.0 || p == 1.0 { 0.0 } else { p * (p - 1.0) * x.powf(p - 2.0) };
    [x.powf(p), first, second]
}
