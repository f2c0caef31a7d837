//! The operations of a program. A program is a list of operations that computes the value of a formula and its
//! derivatives.

use super::{Binary, Slot, Unary};

/// One operation of a program. Its operands are the results of earlier operations, each given by its slot (the index of
/// the earlier operation).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) enum Step {
    /// A constant number.
    Number(f64),
    /// A variable of the program, given by its index. Its derivative with respect to itself is 1.
    Variable(usize),
    /// An input of the program: the result of another computation, with its derivatives. The number is the index of the
    /// input.
    Input(usize),
    /// An observable: a column of the events, given by its index.
    Observable(usize),
    /// An auxiliary datum (a measured value in a constraint or penalty term), given by its index.
    Datum(usize),
    /// A function of observables that is given by a table. The numbers are the index of the table and the index of a
    /// row of this table.
    Table(usize, usize),
    /// Sum of two results.
    Add(Slot, Slot),
    /// First result minus second result.
    Sub(Slot, Slot),
    /// Product of two results.
    Mul(Slot, Slot),
    /// A function of one result.
    Unary(Unary, Slot),
    /// A function of two results.
    Binary(Binary, Slot, Slot),
    /// 1 where the first result is less than the second; 0 elsewhere.
    Less(Slot, Slot),
    /// 1 where the first result is at most the second; 0 elsewhere.
    LessEqual(Slot, Slot),
    /// 1 where both results are equal; 0 elsewhere.
    Equal(Slot, Slot),
    /// The second result where the first result is not 0; the third result elsewhere.
    Select(Slot, Slot, Slot),
}

/// What decides which branch an operation takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Branches {
    /// The sign of an earlier result.
    Sign(Slot),
    /// The result of the operation: 1 or 0.
    Truth,
}

impl Step {
    /// Returns what decides which branch the operation takes, if it has branches.
    pub(super) fn branches(self) -> Option<Branches> {
        match self {
            Self::Unary(Unary::Abs, a) => Some(Branches::Sign(a)),
            Self::Less(..) | Self::LessEqual(..) | Self::Equal(..) => Some(Branches::Truth),
            _ => None,
        }
    }
}
