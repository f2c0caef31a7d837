//! The parsed form of an expression: a list of nodes, each of which uses only earlier nodes.

/// An expression. Its nodes are computed one after another; the last node is the value of the expression. Each name
/// is listed once, in the order in which the names first occur.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<String>,
}

/// One step of the computation. Numbers of type `usize` are positions of earlier nodes, except in [`Node::Name`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// A number.
    Number(f64),
    /// The value of a name, given by its position in [`Expression::names`].
    Name(usize),
    /// An operation on one value.
    Unary(Unary, usize),
    /// An operation on two values.
    Binary(Binary, usize, usize),
    /// The second value if the first is true, otherwise the third.
    Select(usize, usize, usize),
}

/// Operations on one value.
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
}

/// Operations on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient. The quotient of two integers is not rounded.
    Div,
    /// The first value to the power of the second.
    Pow,
    /// The smaller value.
    Min,
    /// The larger value.
    Max,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a == b`, true within four units in the last place of the larger value.
    AlmostEqual,
    /// `a === b`: equal to the last bit.
    Equal,
    /// `a && b`.
    And,
    /// `a || b`.
    Or,
}

impl Expression {
    /// Returns the nodes in the order of computation.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the names in the expression, each once.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the value of an expression without names. Returns `None` if the expression has names.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        match self.nodes.last() {
            Some(Node::Number(value)) => Some(*value),
            _ => None,
        }
    }
}
