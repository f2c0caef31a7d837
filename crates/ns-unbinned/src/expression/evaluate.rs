//! Evaluates expressions and their operations.

use super::node::{Binary, Expression, Node, Unary};

/// Largest difference of two numbers that `==` treats as equal, in units in the last place of the larger number.
pub(super) const ALMOST: f64 = 4.0;

impl Unary {
    /// Returns the result of the operation for the value `x`.
    #[must_use]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Neg => -x,
            Self::Not => truth(x == 0.0),
            Self::Exp => x.exp(),
            Self::Ln => x.ln(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Asin => x.asin(),
            Self::Acos => x.acos(),
            Self::Atan => x.atan(),
            Self::Special(function) => function.value(x),
        }
    }
}

impl Binary {
    /// Returns the result of the operation for the values `a` and `b`.
    #[must_use]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Pow => a.powf(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Atan2 => a.atan2(b),
            Self::Less => truth(a < b),
            Self::LessOrEqual => truth(a <= b),
            Self::AlmostEqual => truth((a - b).abs() <= ALMOST * f64::EPSILON * a.abs().max(b.abs())),
            Self::Equal => truth(a == b),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Or => truth(a != 0.0 || b != 0.0),
        }
    }
}

/// Returns 1 for true and 0 for false.
fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

impl Expression {
    /// Returns the value of the expression. `of` returns the number for a name, which is given by its position in
    /// [`Expression::names`].
    pub fn value(&self, of: impl Fn(usize) -> f64) -> f64 {
        let mut values: Vec<f64> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let value = match *node {
                Node::Number(x) => x,
                Node::Name(i) => of(i),
                Node::Unary(operation, x) => operation.apply(values[x]),
                Node::Binary(operation, a, b) => operation.apply(values[a], values[b]),
                Node::Select(condition, yes, no) => values[if values[condition] != 0.0 { yes } else { no }],
            };
            values.push(value);
        }
        values.last().copied().unwrap_or(f64::NAN)
    }
}
