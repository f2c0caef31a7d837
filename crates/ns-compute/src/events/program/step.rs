//! The operations of a program.

use super::{Binary, Slot, Unary};

/// One operation; operands are earlier results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) enum Step {
    /// A constant.
    Number(f64),
    /// A variable. Its derivative with respect to itself is 1.
    Variable(usize),
    /// A result of another computation with its derivatives.
    Input(usize),
    /// A column of the events.
    Observable(usize),
    /// An auxiliary datum.
    Datum(usize),
    /// A function of observables that is given by a table: index of the table, index of the row.
    Table(usize, usize),
    /// Sum.
    Add(Slot, Slot),
    /// First minus second.
    Sub(Slot, Slot),
    /// Product.
    Mul(Slot, Slot),
    /// A function of one result.
    Unary(Unary, Slot),
    /// A function of two results.
    Binary(Binary, Slot, Slot),
    /// 1 where the first result is less than the second, otherwise 0.
    Less(Slot, Slot),
    /// 1 where the first result is at most the second, otherwise 0.
    LessEqual(Slot, Slot),
    /// 1 where two results are equal, otherwise 0.
    Equal(Slot, Slot),
    /// The second result where the first is not 0, otherwise the third.
    Select(Slot, Slot, Slot),
}
