//! Third derivatives of programs: twice along a direction, and once with respect to a variable.
//!
//! Every result is a polynomial in `t` and `e` that is cut off after `t^2 e` (Griewank and Walther, "Evaluating
//! Derivatives", 2nd edition, chapter 13). The variables are `x + t u + e v`.

use super::{Binary, Program, Step, Unary};
use crate::simd::Separate;

/// The coefficients of 1, `t`, `t^2`, `e`, `t e` and `t^2 e`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Truncated([f64; 6]);

impl Truncated {
    /// Returns `value + t along + e beside`.
    pub(in crate::events) fn new(value: f64, along: f64, beside: f64) -> Self {
        Self([value, along, 0.0, beside, 0.0, 0.0])
    }

    /// Returns the derivative twice with respect to `t` and once with respect to `e`.
    pub(in crate::events) fn third(self) -> f64 {
        2.0 * self.0[5]
    }

    fn add(self, other: Self, factor: f64) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + factor * other.0[i]))
    }

    fn mul(self, other: Self) -> Self {
        let [a0, a1, a2, a3, a4, a5] = self.0;
        let [b0, b1, b2, b3, b4, b5] = other.0;
        Self([
            a0 * b0,
            a0 * b1 + a1 * b0,
            a0 * b2 + a1 * b1 + a2 * b0,
            a0 * b3 + a3 * b0,
            a0 * b4 + a1 * b3 + a3 * b1 + a4 * b0,
            a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0,
        ])
    }

    /// Returns the function of this number that has the given value and first three derivatives at its constant part.
    fn mapped(self, [value, first, second, third]: [f64; 4]) -> Self {
        let [_, a1, a2, a3, a4, a5] = self.0;
        let step = Self([0.0, a1, a2, a3, a4, a5]);
        let square = step.mul(step);
        let zero = Self::new(value, 0.0, 0.0);
        zero.add(step, first).add(square, 0.5 * second).add(square.mul(step), third / 6.0)
    }
}

impl Program {
    /// Evaluates a program without events. `variables` contains its variables, and `input` returns its inputs. Returns `None`
    /// if an operation has no third derivative here.
    pub(in crate::events) fn truncated(
        &self,
        variables: &[Truncated],
        input: &dyn Fn(usize) -> Option<Truncated>,
    ) -> Option<Truncated> {
        let number = |x: f64| Truncated::new(x, 0.0, 0.0);
        let mut results: Vec<Truncated> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let at = |slot: usize| results.get(slot).copied();
            let value = |slot: usize| at(slot).map(|result| result.0[0]);
            let truth = |is: bool| number(f64::from(u8::from(is)));
            let result = match *step {
                Step::Number(x) => number(x),
                Step::Variable(i) => *variables.get(i)?,
                Step::Input(i) => input(i)?,
                Step::Observable(_) | Step::Datum(_) | Step::Table(..) => return None,
                Step::Add(a, b) => at(a)?.add(at(b)?, 1.0),
                Step::Sub(a, b) => at(a)?.add(at(b)?, -1.0),
                Step::Mul(a, b) => at(a)?.mul(at(b)?),
                Step::Unary(unary, a) => {
                    let x = value(a)?;
                    let [value, first, second] = unary.at::<Separate>(x);
                    at(a)?.mapped([value, first, second, third(unary, x)?])
                }
                Step::Binary(Binary::Div, a, b) => {
                    let r = 1.0 / value(b)?;
                    at(a)?.mul(at(b)?.mapped([r, -r * r, 2.0 * r.powi(3), -6.0 * r.powi(4)]))
                }
                Step::Binary(Binary::Pow, a, b) => {
                    let exponent = at(b)?;
                    if exponent == number(value(b)?) {
                        let power = Unary::Power(value(b)?);
                        let [f, first, second] = power.at::<Separate>(value(a)?);
                        at(a)?.mapped([f, first, second, third(power, value(a)?)?])
                    } else if value(a)? > 0.0 {
                        let (x, r) = (value(a)?, 1.0 / value(a)?);
                        let logarithm = at(a)?.mapped([x.ln(), r, -r * r, 2.0 * r.powi(3)]);
                        let product = exponent.mul(logarithm);
                        product.mapped([product.0[0].exp(); 4])
                    } else {
                        return None;
                    }
                }
                Step::Binary(..) => return None,
                Step::Less(a, b) => truth(value(a)? < value(b)?),
                Step::LessEqual(a, b) => truth(value(a)? <= value(b)?),
                Step::Equal(a, b) => truth(value(a)? == value(b)?),
                Step::Select(condition, a, b) => {
                    if value(condition)? != 0.0 {
                        at(a)?
                    } else {
                        at(b)?
                    }
                }
            };
            results.push(result);
        }
        results.pop()
    }
}

/// Returns the third derivative of a function at `x`, if it is known.
fn third(unary: Unary, x: f64) -> Option<f64> {
    let square = x * x;
    let (above, below) = (1.0 / (1.0 + square), 1.0 / (1.0 - square));
    Some(match unary {
        Unary::Neg | Unary::Abs => 0.0,
        Unary::Exp => unary.at::<Separate>(x)[0],
        Unary::Ln => 2.0 / (x * square),
        Unary::Sqrt => 0.375 / (square * x.sqrt()),
        Unary::Sin => -x.cos(),
        Unary::Cos => x.sin(),
        Unary::Tan => {
            let t = x.tan().powi(2);
            2.0 * (1.0 + t) * (1.0 + 3.0 * t)
        }
        Unary::Asin => (1.0 + 2.0 * square) * below.powi(2) * below.sqrt(),
        Unary::Acos => -(1.0 + 2.0 * square) * below.powi(2) * below.sqrt(),
        Unary::Atan => (6.0 * square - 2.0) * above.powi(3),
        Unary::Asinh => (2.0 * square - 1.0) * above.powi(2) * above.sqrt(),
        Unary::Reciprocal => -6.0 / square.powi(2),
        Unary::Power(p) if p == 0.0 || p == 1.0 || p == 2.0 => 0.0,
        Unary::Power(p) => p * (p - 1.0) * (p - 2.0) * x.powf(p - 3.0),
        Unary::Interpolation(interpolation) => interpolation.third(x),
        Unary::Special(_) | Unary::Decay => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_derivatives_are_differences_of_second_ones() {
        let all = [
            Unary::Neg,
            Unary::Exp,
            Unary::Ln,
            Unary::Sqrt,
            Unary::Abs,
            Unary::Sin,
            Unary::Cos,
            Unary::Tan,
            Unary::Asin,
            Unary::Acos,
            Unary::Atan,
            Unary::Asinh,
            Unary::Reciprocal,
            Unary::Power(3.5),
            Unary::Power(2.0),
        ];
        for unary in all {
            for x in [0.2_f64, 0.7] {
                let h = 1e-5;
                let second = |x: f64| unary.at::<Separate>(x)[2];
                let want = (second(x + h) - second(x - h)) / (2.0 * h);
                let got = third(unary, x).unwrap_or(f64::NAN);
                assert!(
                    (got - want).abs() <= 1e-6 * (1.0 + want.abs()),
                    "{unary:?} at {x}: {got}, not {want}"
                );
            }
        }
    }
}
