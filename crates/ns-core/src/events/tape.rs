//! Expressions, stored as flat lists of operations.

use super::{Special, Value};

/// One operation of a [`Tape`]. Operands are indices of earlier operations of the same tape.
///
/// Comparisons and logical operations give 1 for true and 0 for false; any number other than 0 counts as true. The
/// derivatives of these operations are 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// A constant number.
    Number(f64),
    /// A parameter or function of the model.
    Value(Value),
    /// The observable with this index in the channel. Allowed in densities only.
    Observable(usize),
    /// Sum of two operands.
    Add(usize, usize),
    /// First operand minus second operand.
    Sub(usize, usize),
    /// Product of two operands.
    Mul(usize, usize),
    /// First operand divided by second operand.
    Div(usize, usize),
    /// First operand to the power of the second operand.
    Pow(usize, usize),
    /// The smaller of two operands.
    Min(usize, usize),
    /// The larger of two operands.
    Max(usize, usize),
    /// Negative of an operand.
    Neg(usize),
    /// Exponential function of an operand.
    Exp(usize),
    /// Natural logarithm of an operand.
    Ln(usize),
    /// Square root of an operand.
    Sqrt(usize),
    /// Absolute value of an operand.
    Abs(usize),
    /// Sine of an operand in radians.
    Sin(usize),
    /// Cosine of an operand in radians.
    Cos(usize),
    /// Tangent of an operand in radians.
    Tan(usize),
    /// Arc sine of an operand. The result is in radians.
    Asin(usize),
    /// Arc cosine of an operand. The result is in radians.
    Acos(usize),
    /// Arc tangent of an operand. The result is in radians.
    Atan(usize),
    /// Angle in radians of the point whose ordinate is the first operand and whose abscissa is the second operand.
    Atan2(usize, usize),
    /// A special function of an operand.
    Special(Special, usize),
    /// Whether the first operand is less than the second operand.
    Less(usize, usize),
    /// Whether the first operand is less than or equal to the second operand.
    LessEqual(usize, usize),
    /// Whether two operands are equal.
    Equal(usize, usize),
    /// Whether two operands differ.
    NotEqual(usize, usize),
    /// Whether both operands are true.
    And(usize, usize),
    /// Whether at least one operand is true.
    Or(usize, usize),
    /// Whether an operand is false.
    Not(usize),
    /// The second operand if the first operand is true, otherwise the third operand.
    Select(usize, usize, usize),
}

impl Op {
    /// Returns the operation with other operands: `to` returns the new index of an operand.
    #[must_use]
    pub fn with_operands(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Number(_) | Self::Value(_) | Self::Observable(_) => self,
            Self::Neg(a) => Self::Neg(to(a)),
            Self::Exp(a) => Self::Exp(to(a)),
            Self::Ln(a) => Self::Ln(to(a)),
            Self::Sqrt(a) => Self::Sqrt(to(a)),
            Self::Abs(a) => Self::Abs(to(a)),
            Self::Sin(a) => Self::Sin(to(a)),
            Self::Cos(a) => Self::Cos(to(a)),
            Self::Tan(a) => Self::Tan(to(a)),
            Self::Asin(a) => Self::Asin(to(a)),
            Self::Acos(a) => Self::Acos(to(a)),
            Self::Atan(a) => Self::Atan(to(a)),
            Self::Special(function, a) => Self::Special(function, to(a)),
            Self::Not(a) => Self::Not(to(a)),
            Self::Add(a, b) => Self::Add(to(a), to(b)),
            Self::Sub(a, b) => Self::Sub(to(a), to(b)),
            Self::Mul(a, b) => Self::Mul(to(a), to(b)),
            Self::Div(a, b) => Self::Div(to(a), to(b)),
            Self::Pow(a, b) => Self::Pow(to(a), to(b)),
            Self::Atan2(a, b) => Self::Atan2(to(a), to(b)),
            Self::Min(a, b) => Self::Min(to(a), to(b)),
            Self::Max(a, b) => Self::Max(to(a), to(b)),
            Self::Less(a, b) => Self::Less(to(a), to(b)),
            Self::LessEqual(a, b) => Self::LessEqual(to(a), to(b)),
            Self::Equal(a, b) => Self::Equal(to(a), to(b)),
            Self::NotEqual(a, b) => Self::NotEqual(to(a), to(b)),
            Self::And(a, b) => Self::And(to(a), to(b)),
            Self::Or(a, b) => Self::Or(to(a), to(b)),
            Self::Select(a, b, c) => Self::Select(to(a), to(b), to(c)),
        }
    }

    /// Returns the indices of the operands; `None` for operands that the operation does not have.
    #[must_use]
    pub fn operands(&self) -> [Option<usize>; 3] {
        match *self {
            Self::Number(_) | Self::Value(_) | Self::Observable(_) => [None; 3],
            Self::Neg(a)
            | Self::Exp(a)
            | Self::Ln(a)
            | Self::Sqrt(a)
            | Self::Abs(a)
            | Self::Sin(a)
            | Self::Cos(a)
            | Self::Tan(a)
            | Self::Asin(a)
            | Self::Acos(a)
            | Self::Atan(a)
            | Self::Special(_, a)
            | Self::Not(a) => [Some(a), None, None],
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Pow(a, b)
            | Self::Atan2(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b)
            | Self::Less(a, b)
            | Self::LessEqual(a, b)
            | Self::Equal(a, b)
            | Self::NotEqual(a, b)
            | Self::And(a, b)
            | Self::Or(a, b) => [Some(a), Some(b), None],
            Self::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        }
    }
}

/// Reasons why a list of operations is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// There is no operation.
    #[error("the expression is empty")]
    Empty,
    /// An operation uses its own result or the result of a later operation.
    #[error("operation {operation} of an expression uses result {operand}, which does not exist before it")]
    NotEarlier {
        /// Index of the operation.
        operation: usize,
        /// Index of the result that it uses.
        operand: usize,
    },
}

/// An expression, stored as a list of operations. Each operation can use the results of earlier operations. The result
/// of the last operation is the value of the expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Tape {
    ops: Vec<Op>,
}

impl Tape {
    /// Returns the expression with these operations.
    ///
    /// # Errors
    /// If there is no operation, or if an operation uses the result of an operation that is not earlier in the list.
    pub fn new(ops: Vec<Op>) -> Result<Self, TapeError> {
        if ops.is_empty() {
            return Err(TapeError::Empty);
        }
        for (operation, op) in ops.iter().enumerate() {
            for operand in op.operands().into_iter().flatten() {
                if operand >= operation {
                    return Err(TapeError::NotEarlier { operation, operand });
                }
            }
        }
        Ok(Self { ops })
    }

    /// Returns the operations, at least one, in the order in which they are carried out.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Iterates over the parameters and functions that the expression uses. A value that is used several
    /// times occurs several times.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.ops.iter().filter_map(|op| match op {
            Op::Value(value) => Some(*value),
            _ => None,
        })
    }

    /// Iterates over the indices of the observables that the expression uses. An index can occur several
    /// times.
    pub fn observables(&self) -> impl Iterator<Item = usize> {
        self.ops.iter().filter_map(|op| match op {
            Op::Observable(observable) => Some(*observable),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_use_earlier_results_only() {
        assert_eq!(Tape::new(Vec::new()), Err(TapeError::Empty));
        let own = Tape::new(vec![Op::Number(1.0), Op::Exp(1)]);
        assert_eq!(own, Err(TapeError::NotEarlier { operation: 1, operand: 1 }));
        let select = Tape::new(vec![Op::Number(1.0), Op::Select(0, 0, 7)]);
        assert_eq!(select, Err(TapeError::NotEarlier { operation: 1, operand: 7 }));
        let tape = Tape::new(vec![Op::Observable(2), Op::Value(Value::Parameter(3)), Op::Mul(0, 1)]).unwrap();
        assert_eq!(tape.values().collect::<Vec<_>>(), [Value::Parameter(3)]);
        assert_eq!(tape.observables().collect::<Vec<_>>(), [2]);
    }
}
