//! Values of expressions and functions at one point, without derivatives. Likelihoods are evaluated elsewhere.

use super::{Function, FunctionForm, Op, Tape, Value};

impl Value {
    /// Returns the value at a point. A value that does not exist is NaN.
    pub(crate) fn at(self, parameters: &[f64], functions: &[f64]) -> f64 {
        match self {
            Self::Number(x) => x,
            Self::Parameter(p) => parameters.get(p).copied().unwrap_or(f64::NAN),
            Self::Function(f) => functions.get(f).copied().unwrap_or(f64::NAN),
        }
    }
}

/// Returns the values of functions of parameters at a point, each of which may use earlier ones. Interpolations are
/// piecewise linear whatever their code, which is exact at -1, 0 and 1. A value that does not exist is NaN.
#[must_use]
pub fn functions(all: &[Function], parameters: &[f64]) -> Vec<f64> {
    let (mut known, mut results) = (Vec::with_capacity(all.len()), Vec::new());
    for function in all {
        let at = |value: &Value| value.at(parameters, &known);
        let value = match &function.form {
            FunctionForm::Sum(values) => values.iter().map(at).sum(),
            FunctionForm::Product(values) => values.iter().map(at).product(),
            FunctionForm::Polynomial { x, coefficients } => {
                coefficients.iter().rev().fold(0.0, |sum, c| sum * at(x) + at(c))
            }
            FunctionForm::Interpolation { nominal, variations, .. } => {
                variations.iter().fold(*nominal, |sum, v| {
                    let alpha = at(&v.alpha);
                    sum + alpha * if alpha < 0.0 { nominal - v.lo } else { v.hi - nominal }
                })
            }
            FunctionForm::Expression(tape) => tape.evaluate(|value| at(&value), &[], &mut results),
        };
        known.push(value);
    }
    known
}

impl Tape {
    /// Returns the value of the expression for an event, and leaves the results of all operations in `results`.
    pub(crate) fn evaluate(
        &self,
        value: impl Fn(Value) -> f64,
        event: &[f64],
        results: &mut Vec<f64>,
    ) -> f64 {
        let truth = |is_true: bool| f64::from(u8::from(is_true));
        results.clear();
        for op in self.ops() {
            let of = |i: usize| results.get(i).copied().unwrap_or(f64::NAN);
            let result = match *op {
                Op::Number(x) => x,
                Op::Value(own) => value(own),
                Op::Observable(x) => event.get(x).copied().unwrap_or(f64::NAN),
                Op::Add(a, b) => of(a) + of(b),
                Op::Sub(a, b) => of(a) - of(b),
                Op::Mul(a, b) => of(a) * of(b),
                Op::Div(a, b) => of(a) / of(b),
                Op::Pow(a, b) => of(a).powf(of(b)),
                Op::Min(a, b) => of(a).min(of(b)),
                Op::Max(a, b) => of(a).max(of(b)),
                Op::Neg(a) => -of(a),
                Op::Exp(a) => of(a).exp(),
                Op::Ln(a) => of(a).ln(),
                Op::Sqrt(a) => of(a).sqrt(),
                Op::Abs(a) => of(a).abs(),
                Op::Sin(a) => of(a).sin(),
                Op::Cos(a) => of(a).cos(),
                Op::Tan(a) => of(a).tan(),
                Op::Asin(a) => of(a).asin(),
                Op::Acos(a) => of(a).acos(),
                Op::Atan(a) => of(a).atan(),
                Op::Atan2(a, b) => of(a).atan2(of(b)),
                Op::Special(function, a) => function.value(of(a)),
                Op::Less(a, b) => truth(of(a) < of(b)),
                Op::LessEqual(a, b) => truth(of(a) <= of(b)),
                Op::Equal(a, b) => truth(of(a) == of(b)),
                Op::NotEqual(a, b) => truth(of(a) != of(b)),
                Op::And(a, b) => truth(of(a) != 0.0 && of(b) != 0.0),
                Op::Or(a, b) => truth(of(a) != 0.0 || of(b) != 0.0),
                Op::Not(a) => truth(of(a) == 0.0),
                Op::Select(condition, yes, no) => of(if of(condition) == 0.0 { no } else { yes }),
            };
            results.push(result);
        }
        results.last().copied().unwrap_or(f64::NAN)
    }
}
