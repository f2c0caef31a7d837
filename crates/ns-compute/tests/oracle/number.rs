//! Hyper-dual numbers: a value with its first derivatives with respect to two variables and the mixed second
//! derivative, exact apart from rounding (Fike and Alonso, AIAA 2011-886).

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The number `value + a e1 + b e2 + ab e1 e2`, with `e1 e1 = e2 e2 = 0`: `a` and `b` are the first
/// derivatives, `ab` is the second derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hyper {
    pub(super) value: f64,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) ab: f64,
}

impl Hyper {
    pub(super) fn constant(value: f64) -> Self {
        Self { value, a: 0.0, b: 0.0, ab: 0.0 }
    }

    /// Applies a function to this number, by the chain rule. `f`, `first` and `second` are the value and the first
    /// two derivatives of the function at `self.value`.
    fn chain(self, f: f64, first: f64, second: f64) -> Self {
        Self {
            value: f,
            a: first * self.a,
            b: first * self.b,
            ab: first * self.ab + second * self.a * self.b,
        }
    }

    pub(super) fn ln(self) -> Self {
        self.chain(self.value.ln(), 1.0 / self.value, -1.0 / (self.value * self.value))
    }

    pub(super) fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e, e)
    }
}

impl Add for Hyper {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { value: self.value + o.value, a: self.a + o.a, b: self.b + o.b, ab: self.ab + o.ab }
    }
}

impl Sub for Hyper {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Neg for Hyper {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, a: -self.a, b: -self.b, ab: -self.ab }
    }
}

impl Mul for Hyper {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self {
            value: self.value * o.value,
            a: self.a * o.value + self.value * o.a,
            b: self.b * o.value + self.value * o.b,
            ab: self.ab * o.value + self.a * o.b + self.b * o.a + self.value * o.ab,
        }
    }
}

impl Div for Hyper {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let i = 1.0 / o.value;
        self * o.chain(i, -i * i, 2.0 * i * i * i)
    }
}

impl Mul<f64> for Hyper {
    type Output = Self;
    fn mul(self, x: f64) -> Self {
        self * Self::constant(x)
    }
}

impl Add<f64> for Hyper {
    type Output = Self;
    fn add(self, x: f64) -> Self {
        self + Self::constant(x)
    }
}
