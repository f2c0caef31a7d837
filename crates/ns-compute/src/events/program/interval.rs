//! Interval arithmetic: computes bounds of the result of an operation whose operands are within given bounds.
//!
//! Reference: R. E. Moore, R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis" (SIAM, 2009). Every result
//! is widened by more than the rounding errors of the operation. It therefore contains the result of the same operation
//! in [`super::fixed`].

use super::fixed;

/// Upper limit of the relative rounding error of every operation: a few units in the last place.
const ROUNDING: f64 = 1e-15;

/// All numbers from `lo` to `hi`. In the empty interval both ends are NaN. The empty interval is the result of an
/// operation that is not defined for any of its operands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Interval {
    pub(in crate::events) lo: f64,
    pub(in crate::events) hi: f64,
}

impl Interval {
    /// The interval of one number.
    pub(in crate::events) const fn point(x: f64) -> Self {
        Self { lo: x, hi: x }
    }

    /// The empty interval.
    pub(in crate::events) const EMPTY: Self = Self { lo: f64::NAN, hi: f64::NAN };

    /// The interval of all numbers.
    pub(in crate::events) const ALL: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    pub(in crate::events) fn new(lo: f64, hi: f64) -> Self {
        Self { lo, hi }
    }

    pub(in crate::events) fn is_empty(self) -> bool {
        self.lo.is_nan() || self.hi.is_nan()
    }

    /// Returns the interval, widened by the largest possible rounding errors.
    pub(super) fn widened(self) -> Self {
        let room = |x: f64| if x.is_finite() { ROUNDING * x.abs() } else { 0.0 };
        Self { lo: self.lo - room(self.lo), hi: self.hi + room(self.hi) }
    }

    /// Returns the smallest interval that contains both intervals.
    pub(in crate::events) fn hull(self, other: Self) -> Self {
        if self.is_empty() {
            other
        } else if other.is_empty() {
            self
        } else {
            Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
        }
    }

    fn of(values: &[f64]) -> Self {
        let start = Self { lo: f64::INFINITY, hi: f64::NEG_INFINITY };
        values.iter().fold(start, |all, &x| Self { lo: all.lo.min(x), hi: all.hi.max(x) }).widened()
    }

    pub(in crate::events) fn add(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return Self::EMPTY;
        }
        // The sum of infinities of opposite sign is NaN. Then there is no bound.
        let or = |x: f64, unbounded: f64| if x.is_nan() { unbounded } else { x };
        let (lo, hi) = (self.lo + other.lo, self.hi + other.hi);
        Self { lo: or(lo, f64::NEG_INFINITY), hi: or(hi, f64::INFINITY) }.widened()
    }

    pub(in crate::events) fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    pub(in crate::events) fn mul(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return Self::EMPTY;
        }
        // An infinite end means that the numbers have no bound. Zero times any of these numbers is zero.
        let product = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
        let (a, b) = (self, other);
        Self::of(&[product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)])
    }

    /// Returns the interval of the squares of the numbers in this interval. Squares are never negative.
    pub(in crate::events) fn square(self) -> Self {
        let size = self.abs();
        if size.is_empty() { size } else { Self::of(&[size.lo * size.lo, size.hi * size.hi]) }
    }

    pub(in crate::events) fn reciprocal(self) -> Self {
        if self.is_empty() {
            return Self::EMPTY;
        }
        match (self.lo, self.hi) {
            (0.0, 0.0) => Self::ALL,
            (0.0, hi) => Self { lo: 1.0 / hi, hi: f64::INFINITY }.widened(),
            (lo, 0.0) => Self { lo: f64::NEG_INFINITY, hi: 1.0 / lo }.widened(),
            (lo, hi) if lo < 0.0 && hi > 0.0 => Self::ALL,
            (lo, hi) => Self { lo: 1.0 / hi, hi: 1.0 / lo }.widened(),
        }
    }

    pub(in crate::events) fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }

    pub(in crate::events) fn abs(self) -> Self {
        if self.is_empty() || self.lo >= 0.0 {
            self
        } else if self.hi <= 0.0 {
            self.neg()
        } else {
            Self { lo: 0.0, hi: self.hi.max(-self.lo) }
        }
    }

    /// Returns the interval of the values of the non-decreasing function `f` on this interval.
    pub(in crate::events) fn rising(self, f: impl Fn(f64) -> f64) -> Self {
        if self.is_empty() { self } else { Self { lo: f(self.lo), hi: f(self.hi) }.widened() }
    }

    /// Returns the interval of the values of the non-increasing function `f` on this interval.
    pub(in crate::events) fn falling(self, f: impl Fn(f64) -> f64) -> Self {
        if self.is_empty() { self } else { Self { lo: f(self.hi), hi: f(self.lo) }.widened() }
    }

    /// Returns the part of the interval between `lo` and `hi`.
    pub(in crate::events) fn within(self, lo: f64, hi: f64) -> Self {
        if self.is_empty() || self.hi < lo || self.lo > hi {
            return Self::EMPTY;
        }
        Self { lo: self.lo.max(lo), hi: self.hi.min(hi) }
    }

    /// Returns the interval of `sin(x + shift)` for all numbers `x` in this interval.
    pub(in crate::events) fn sin(self, shift: f64) -> Self {
        if self.is_empty() {
            return self;
        }
        use std::f64::consts::{FRAC_PI_2, TAU};
        let (lo, hi) = (self.lo + shift, self.hi + shift);
        if !(hi - lo < TAU) || lo.abs().max(hi.abs()) > 1e6 {
            return Self::new(-1.0, 1.0);
        }
        // Checks whether a maximum (at pi/2) or a minimum (at -pi/2) of the sine is inside. There is a margin for
        // rounding errors.
        let holds = |at: f64| {
            let room = 1e-9;
            ((hi - at) / TAU + room).floor() >= ((lo - at) / TAU - room).ceil()
        };
        let (a, b) = (libm::sin(lo), libm::sin(hi));
        let top = if holds(FRAC_PI_2) { 1.0 } else { a.max(b) + 1e-12 };
        let bottom = if holds(-FRAC_PI_2) { -1.0 } else { a.min(b) - 1e-12 };
        Self { lo: bottom, hi: top }
    }

    pub(in crate::events) fn tan(self) -> Self {
        use std::f64::consts::{FRAC_PI_2, PI};
        if self.is_empty() {
            return self;
        }
        let branch = |x: f64| ((x + FRAC_PI_2) / PI).floor();
        let inside = branch(self.lo) == branch(self.hi) && self.lo.abs().max(self.hi.abs()) < 1e6;
        if inside { self.rising(libm::tan) } else { Self::ALL }
    }

    /// Returns the interval of `x` to the power `p` for all numbers `x` in this interval.
    pub(in crate::events) fn power(self, p: f64) -> Self {
        if self.is_empty() {
            return self;
        }
        if p == 0.0 {
            return Self::new(1.0, 1.0);
        }
        if p < 0.0 {
            return self.power(-p).reciprocal();
        }
        let raise = |x: f64| fixed::power(x, p);
        if p.fract() != 0.0 {
            self.within(0.0, f64::INFINITY).rising(raise)
        } else if p % 2.0 == 0.0 {
            self.abs().rising(raise)
        } else {
            self.rising(raise)
        }
    }

    /// Returns an interval that contains `x` to the power `y` for all `x` in `self` and all `y` in `other`. If `self`
    /// is not negative, the extreme values are at the ends of the two intervals, because a power is monotonic in each
    /// argument.
    pub(in crate::events) fn pow(self, other: Self) -> Self {
        if other.lo == other.hi {
            return self.power(other.lo);
        }
        if self.is_empty() || other.is_empty() {
            return Self::EMPTY;
        }
        // A power of a negative number exists only for an integer exponent.
        if self.lo < 0.0 {
            return Self::ALL;
        }
        let base = self;
        let corner = |x: f64, p: f64| fixed::power(x, p);
        let corners = [
            corner(base.lo, other.lo),
            corner(base.lo, other.hi),
            corner(base.hi, other.lo),
            corner(base.hi, other.hi),
        ];
        if corners.iter().any(|x| x.is_nan()) { Self::ALL } else { Self::of(&corners) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks for many intervals and for every function that the values at points inside an interval are within the
    /// computed bounds.
    #[test]
    fn bounds_hold() {
        type Case = (&'static str, fn(Interval) -> Interval, fn(f64) -> f64);
        let cases: [Case; 14] = [
            ("square", |x| x.square(), |x| x * x),
            ("abs", |x| x.abs(), f64::abs),
            ("reciprocal", |x| x.reciprocal(), |x| 1.0 / x),
            ("exp", |x| x.rising(fixed::exp), fixed::exp),
            ("ln", |x| x.within(0.0, f64::INFINITY).rising(fixed::ln), fixed::ln),
            ("sin", |x| x.sin(0.0), libm::sin),
            ("cos", |x| x.sin(std::f64::consts::FRAC_PI_2), libm::cos),
            ("tan", |x| x.tan(), libm::tan),
            ("x^3", |x| x.power(3.0), |x| fixed::power(x, 3.0)),
            ("x^4", |x| x.power(4.0), |x| fixed::power(x, 4.0)),
            ("x^0.5", |x| x.power(0.5), |x| fixed::power(x, 0.5)),
            ("x^-2", |x| x.power(-2.0), |x| fixed::power(x, -2.0)),
            ("x^x", |x| x.pow(x), |x| fixed::power(x, x)),
            ("x x", |x| x.mul(x), |x| x * x),
        ];
        for (name, bounds, at) in cases {
            for i in -40..40 {
                for length in [0.0, 0.03, 0.7, 5.0] {
                    let lo = 0.17 * f64::from(i);
                    let all = bounds(Interval::new(lo, lo + length));
                    for k in 0..=20 {
                        let y = at(lo + length * f64::from(k) / 20.0);
                        assert!(
                            y.is_nan() || (all.lo <= y && y <= all.hi),
                            "{name} {lo} {length}: {y} {all:?}"
                        );
                    }
                }
            }
        }
    }
}
