//! Numbers that carry their first and second derivatives along a direction in the space of parameters and data
//! (forward-mode differentiation).

use crate::simd::Vector;

/// A number type for the formulas of the likelihood terms. It is implemented by `f64`, which has no derivatives, and
/// by [`Jet`], which carries derivatives.
pub(crate) trait Number: Vector {
    /// Returns the value without the derivatives.
    fn value(self) -> f64;
    /// Returns a number with the given value. Its first derivative along the direction is `along`, and its second
    /// derivative is 0. For the type `f64` the argument `along` is ignored.
    fn moving(value: f64, along: f64) -> Self;
    /// Returns a number with the given value and derivatives along the direction. For the type `f64` the derivatives are
    /// ignored.
    fn with_derivatives(derivatives: [f64; 3]) -> Self;
    /// Returns `f(x)` for a function `f`, where `x` is this number. `derivatives` contains the value and the first and
    /// second derivatives of `f` at the value of `x`.
    fn mapped(self, derivatives: [f64; 3]) -> Self;

    /// Returns the exponential of the number.
    #[inline(always)]
    fn exp(self) -> Self {
        let e = self.value().exp();
        self.mapped([e; 3])
    }

    /// Returns the natural logarithm of the number.
    #[inline(always)]
    fn ln(self) -> Self {
        let (x, inverse) = (self.value(), 1.0 / self.value());
        self.mapped([x.ln(), inverse, -inverse * inverse])
    }
}

impl Number for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }

    #[inline(always)]
    fn moving(value: f64, _along: f64) -> Self {
        value
    }

    #[inline(always)]
    fn with_derivatives([value, ..]: [f64; 3]) -> Self {
        value
    }

    #[inline(always)]
    fn mapped(self, [value, ..]: [f64; 3]) -> Self {
        value
    }
}

/// A number with its first and second derivatives along a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Jet {
    pub(crate) value: f64,
    pub(crate) first: f64,
    pub(crate) second: f64,
}

impl Number for Jet {
    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn moving(value: f64, along: f64) -> Self {
        Self { value, first: along, second: 0.0 }
    }

    #[inline(always)]
    fn with_derivatives([value, first, second]: [f64; 3]) -> Self {
        Self { value, first, second }
    }

    #[inline(always)]
    fn mapped(self, [value, first, second]: [f64; 3]) -> Self {
        Self {
            value,
            first: first * self.first,
            second: first * self.second + second * self.first * self.first,
        }
    }
}

impl Vector for Jet {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self { value: x, first: 0.0, second: 0.0 }
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Self::splat(from[0])
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[0] = self.value;
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self {
            value: self.value * b.value,
            first: self.first * b.value + self.value * b.first,
            second: self.second * b.value + 2.0 * self.first * b.first + self.value * b.second,
        }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { value: self.value + b.value, first: self.first + b.first, second: self.second + b.second }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self { value: self.value - b.value, first: self.first - b.first, second: self.second - b.second }
    }

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        self.mul(b.reciprocal())
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        if self.value < limit.value { then } else { otherwise }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.mapped([root, 0.5 / root, -0.25 / (root * self.value)])
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        let inverse = 1.0 / self.value;
        self.mapped([inverse, -inverse * inverse, 2.0 * inverse * inverse * inverse])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of one number that uses all operations of [`Number`].
    fn function<T: Number>(x: T) -> T {
        let y = x.mul(x).add(T::splat(0.7)).sqrt().ln();
        y.mul_add(x, T::splat(-1.0)).exp().div(x.sub(T::splat(5.0))).add(x.abs().reciprocal())
    }

    #[test]
    fn jets_have_the_derivatives_of_their_function() {
        for x in [-1.3, -0.2, 0.4, 2.1] {
            let got = function(Jet::moving(x, 1.0));
            let (h, at) = (1e-3, |x: f64| function(x));
            let first = |h: f64| (at(x + h) - at(x - h)) / (2.0 * h);
            let second = |h: f64| (at(x + h) - 2.0 * at(x) + at(x - h)) / (h * h);
            // Richardson's extrapolation removes the error of order h^2.
            let extrapolated = |f: &dyn Fn(f64) -> f64| (4.0 * f(h / 2.0) - f(h)) / 3.0;
            assert_eq!(got.value.to_bits(), at(x).to_bits());
            let close = |got: f64, want: f64| (got - want).abs() < 2e-6 * (1.0 + want.abs());
            assert!(close(got.first, extrapolated(&first)), "{x}: {}", got.first);
            assert!(close(got.second, extrapolated(&second)), "{x}: {}", got.second);
        }
    }
}
