//! The parsed form of an expression: a list of nodes. Each node uses only earlier nodes.

use ns_core::Special;

/// A parsed expression. Its nodes are computed one after another, and the value of the last node is the value of the
/// expression. Each name is listed once, in the order of first use.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<String>,
}

/// One step of the computation. A number of type `usize` is the position of an earlier node, except in
/// [`Node::Name`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// A number.
    Number(f64),
    /// The value of the name at this position in [`Expression::names`].
    Name(usize),
    /// An operation on one value.
    Unary(Unary, usize),
    /// An operation on two values.
    Binary(Binary, usize, usize),
    /// The second value if the first value is true, otherwise the third value.
    Select(usize, usize, usize),
}

/// Operations on one value `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// `-x`.
    Neg,
    /// `!x`: 1 if `x` is 0, otherwise 0.
    Not,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Square root.
    Sqrt,
    /// Absolute value.
    Abs,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// A special function.
    Special(Special),
}

/// Operations on two values `a` and `b`. Comparisons and logical operations give 1 for true and 0 for false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum `a + b`.
    Add,
    /// Difference `a - b`.
    Sub,
    /// Product `a * b`.
    Mul,
    /// Quotient `a / b`. The quotient of two integers is not rounded.
    Div,
    /// The power `a^b`.
    Pow,
    /// The smaller of the two values.
    Min,
    /// The larger of the two values.
    Max,
    /// Angle in radians of the point with the ordinate `a` and the abscissa `b`.
    Atan2,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a == b`. True if the values differ by at most four units in the last place of the larger value.
    AlmostEqual,
    /// `a === b`. True if the values are exactly equal.
    Equal,
    /// `a && b`: true if both values are true.
    And,
    /// `a || b`: true if at least one value is true.
    Or,
}

impl Expression {
    /// Returns the nodes in the order of computation.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the names in the expression. Each name is listed once.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the value of an expression that contains no names. Returns `None` if it contains names.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        match self.nodes.last() {
            Some(Node::Number(value)) => Some(*value),
            _ => None,
        }
    }
}
