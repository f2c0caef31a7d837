//! Numbers with the precision of doubles and a much larger range.

use std::cmp::Ordering;

use crate::shared_constants::{LN2_HIGH, LN2_LOW};

/// If the exponents of two numbers differ by more than this number, their sum is the larger one.
const NEGLIGIBLE: i64 = 120;

/// The number `mantissa 2^exponent`. The absolute value of the mantissa is in `1..2`, unless the number is 0, infinite
/// or NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Wide {
    mantissa: f64,
    exponent: i64,
}

impl Wide {
    pub(in crate::events) const ZERO: Self = Self { mantissa: 0.0, exponent: 0 };
    pub(in crate::events) const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// Returns `mantissa 2^exponent` for any mantissa.
    pub(in crate::events) fn new(mantissa: f64, exponent: i64) -> Self {
        if mantissa == 0.0 || !mantissa.is_finite() {
            return Self { mantissa, exponent: 0 };
        }
        let (mantissa, exponent) = match mantissa.is_normal() {
            true => (mantissa, exponent),
            false => (mantissa * 2.0_f64.powi(64), exponent - 64),
        };
        let bits = mantissa.to_bits();
        let own = ((bits >> 52) & 0x7ff) as i64 - 1023;
        Self { mantissa: f64::from_bits((bits & !(0x7ff << 52)) | (1023 << 52)), exponent: exponent + own }
    }

    /// Returns `e^x`.
    pub(super) fn exp(x: f64) -> Self {
        let k = (x * std::f64::consts::LOG2_E).round();
        if !(k.abs() < 1e18) {
            return Self::new(x.exp(), 0);
        }
        Self::new(((x - k * LN2_HIGH) - k * LN2_LOW).exp(), k as i64)
    }

    /// Returns the natural logarithm.
    pub(super) fn ln(self) -> f64 {
        let k = self.exponent as f64;
        if k == 0.0 { self.mantissa.ln() } else { k * LN2_HIGH + (self.mantissa.ln() + k * LN2_LOW) }
    }

    /// Returns the nearest double. It is 0 or infinite if the number is out of the range of doubles.
    pub(in crate::events) fn to_f64(self) -> f64 {
        self.scaled(0)
    }

    /// Returns this number times `2^exponent` as a double.
    pub(in crate::events) fn scaled(self, exponent: i64) -> f64 {
        let k = self.exponent.saturating_add(exponent).clamp(-1200, 1200) as i32;
        // In two steps, because neither power is subnormal or infinite.
        self.mantissa * 2.0_f64.powi(k / 2) * 2.0_f64.powi(k - k / 2)
    }

    /// Returns the exponent of the leading binary digit; `None` for 0 and for numbers that are not finite.
    pub(in crate::events) fn exponent(self) -> Option<i64> {
        (self.mantissa != 0.0 && self.mantissa.is_finite()).then_some(self.exponent)
    }

    pub(super) fn is_finite(self) -> bool {
        self.mantissa.is_finite()
    }

    pub(super) fn is_infinite(self) -> bool {
        self.mantissa.is_infinite()
    }

    pub(super) fn is_positive(self) -> bool {
        self.mantissa > 0.0
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    pub(in crate::events) fn abs(self) -> Self {
        Self { mantissa: self.mantissa.abs(), ..self }
    }

    pub(super) fn neg(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }

    pub(in crate::events) fn add(self, other: Self) -> Self {
        if self.is_zero() || !other.is_finite() {
            return if other.is_finite() { other } else { Self::new(self.mantissa + other.mantissa, 0) };
        }
        if other.is_zero() || !self.is_finite() {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let distance = large.exponent - small.exponent;
        if distance > NEGLIGIBLE {
            return large;
        }
        Self::new(large.mantissa + small.mantissa * 2.0_f64.powi(-(distance as i32)), large.exponent)
    }

    pub(super) fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    pub(in crate::events) fn mul(self, other: Self) -> Self {
        Self::new(self.mantissa * other.mantissa, self.exponent + other.exponent)
    }

    pub(in crate::events) fn div(self, other: Self) -> Self {
        Self::new(self.mantissa / other.mantissa, self.exponent - other.exponent)
    }

    pub(super) fn times(self, factor: f64) -> Self {
        self.mul(Self::from(factor))
    }

    pub(super) fn sqrt(self) -> Self {
        let odd = self.exponent.rem_euclid(2);
        let mantissa = if odd == 1 { 2.0 * self.mantissa } else { self.mantissa };
        Self::new(mantissa.sqrt(), (self.exponent - odd) / 2)
    }

    /// Compares two numbers; `None` if one is NaN.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self.is_finite(), other.is_finite()) {
            (true, true) => self.sub(other).mantissa.partial_cmp(&0.0),
            _ => self.scaled(0).partial_cmp(&other.scaled(0)),
        }
    }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Self::new(x, 0)
    }
}
