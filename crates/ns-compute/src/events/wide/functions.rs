//! The functions of programs for numbers with a wide range.

use super::Wide;
use crate::events::program::{Binary, Unary, pair};
use crate::events::special;
use crate::simd::Separate;

/// The numbers sqrt(pi / 2) and sqrt(1 / 2).
const ROOT_HALF_PI: f64 = 1.253_314_137_315_500_251_2;
const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// From this argument on, the complementary error function is computed with its continued fraction. Its value is then
/// below 1e-271.
const FAR: f64 = 25.0;

/// Number of terms of the continued fraction. For arguments of at least [`FAR`] the remainder is below 1e-17.
const TERMS: i32 = 12;

/// Returns a number and its derivatives with respect to `d` variables from those of its logarithm.
pub(in crate::events) fn exponential(logarithm: &[f64], d: usize) -> Vec<Wide> {
    let value = Wide::exp(logarithm[0]);
    let mut out: Vec<Wide> = logarithm.iter().map(|derivative| value.times(*derivative)).collect();
    for i in 0..d {
        for j in 0..=i {
            let at = pair(d, i, j);
            out[at] = value.times(logarithm[at] + logarithm[1 + i] * logarithm[1 + j]);
        }
    }
    out[0] = value;
    out
}

/// Returns the value, the first derivative and the second derivative of a function at `x`.
pub(super) fn unary(function: Unary, x: Wide) -> [Wide; 3] {
    let one = Wide::ONE;
    match function {
        Unary::Neg => [x.neg(), one.neg(), Wide::ZERO],
        Unary::Exp => [Wide::exp(x.to_f64()); 3],
        Unary::Ln if !x.is_zero() => {
            let r = one.div(x);
            [x.ln().into(), r, r.mul(r).neg()]
        }
        Unary::Sqrt if !x.is_zero() => {
            let s = x.sqrt();
            let r = Wide::from(0.5).div(s);
            [s, r, r.div(x).times(-0.5)]
        }
        Unary::Abs => {
            let is_negative = x.neg().is_positive();
            [x.abs(), if is_negative { one.neg() } else { one }, Wide::ZERO]
        }
        Unary::Reciprocal => {
            let r = one.div(x);
            [r, r.mul(r).neg(), r.mul(r).mul(r).times(2.0)]
        }
        Unary::Power(p) if x.is_positive() => {
            let value = power(x, p);
            let first = value.times(p).div(x);
            [value, first, first.times(p - 1.0).div(x)]
        }
        // For negative arguments, the value overflows long before the formula loses precision.
        Unary::Decay if x.to_f64().abs() > 1.0 => {
            let e = Wide::exp(-x.to_f64());
            let value = one.sub(e).div(x);
            let first = e.sub(value).div(x);
            [value, first, e.add(first.times(2.0)).div(x).neg()]
        }
        other => other.at::<Separate>(x.to_f64()).map(Wide::from),
    }
}

/// Returns six numbers at `(a, b)`: the value of a function, the first derivatives with respect to `a` and to `b`, and
/// the second derivatives with respect to `a` twice, to `a` and `b`, and to `b` twice.
pub(super) fn binary(function: Binary, a: Wide, b: Wide) -> [Wide; 6] {
    match function {
        Binary::Div => {
            let r = Wide::ONE.div(b);
            let q = a.mul(r);
            let slope = q.mul(r).neg();
            [q, r, slope, Wide::ZERO, r.mul(r).neg(), slope.mul(r).times(-2.0)]
        }
        Binary::Pow if a.is_positive() => {
            let (p, log) = (b.to_f64(), a.ln());
            let value = power(a, p);
            let lower = value.div(a);
            let second = lower.times(p * (p - 1.0)).div(a);
            [
                value,
                lower.times(p),
                value.times(log),
                second,
                lower.times(1.0 + p * log),
                value.times(log * log),
            ]
        }
        Binary::NormalIntegral => normal_integral(a.to_f64(), b.to_f64()),
        Binary::SmearedDecay => smeared_decay(a.to_f64(), b.to_f64()),
        other => other.at::<Separate>(a.to_f64(), b.to_f64()).map(Wide::from),
    }
}

/// Returns `x^p` for a positive `x`.
fn power(x: Wide, p: f64) -> Wide {
    let direct = x.to_f64().powf(p);
    if x.to_f64().is_normal() && direct.is_normal() { direct.into() } else { Wide::exp(p * x.ln()) }
}

/// Returns the complementary error function of `x`.
fn erfc(x: f64) -> Wide {
    if x < FAR {
        return libm::erfc(x).into();
    }
    // erfc(x) = exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / ...)))
    let mut below = x;
    for k in (1..=TERMS).rev() {
        below = x + 0.5 * f64::from(k) / below;
    }
    Wide::exp(-x * x).times(0.5 * std::f64::consts::FRAC_2_SQRT_PI / below)
}

/// Returns the convolution of a decay with the normal density, as [`special::smeared_decay`].
fn smeared_decay(u: f64, c: f64) -> [Wide; 6] {
    let distance = c - u;
    let gauss = Wide::exp(-0.5 * u * u);
    let near = gauss.times(0.5 * special::erfcx::<Separate>(distance.abs() * ROOT_HALF));
    let value = if distance < 0.0 { Wide::exp(c * (0.5 * c - u)).sub(near) } else { near };
    let phi = gauss.times(0.5 / ROOT_HALF_PI);
    let by_u = phi.sub(value.times(c));
    let by_c = value.times(distance).sub(phi);
    [
        value,
        by_u,
        by_c,
        phi.times(u).add(by_u.times(c)).neg(),
        value.add(by_c.times(c)).neg(),
        value.add(by_c.times(distance)),
    ]
}

/// Returns the integral of `exp(-t^2/2)` from `a` to `b`, with its derivatives.
fn normal_integral(a: f64, b: f64) -> [Wide; 6] {
    let (x, y) = (a * ROOT_HALF, b * ROOT_HALF);
    let difference = if x > 0.0 && y > 0.0 {
        erfc(x).sub(erfc(y))
    } else if x < 0.0 && y < 0.0 {
        erfc(-y).sub(erfc(-x))
    } else {
        (libm::erf(y) - libm::erf(x)).into()
    };
    let (at_a, at_b) = (Wide::exp(-0.5 * a * a), Wide::exp(-0.5 * b * b));
    // The second derivative with respect to an infinite limit is 0. The product would be NaN.
    let bend = |t: f64, e: Wide| if e.is_zero() { Wide::ZERO } else { e.times(t) };
    [difference.times(ROOT_HALF_PI), at_a.neg(), at_b, bend(a, at_a), Wide::ZERO, bend(b, at_b).neg()]
}
