//! Converts an expression to operations of a [`ns_core::Tape`].

use ns_core::Op;

use super::evaluate::ALMOST;
use super::node::{Binary, Expression, Node, Unary};

impl Expression {
    /// Appends the operations of the expression to `ops`. For each name in [`Expression::names`], `operands` has the
    /// index of the operation that gives the value of the name. Returns the index of the operation that gives the
    /// value of the expression.
    pub fn append_to(&self, ops: &mut Vec<Op>, operands: &[usize]) -> usize {
        let mut places: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let place = match *node {
                Node::Number(x) => push(ops, Op::Number(x)),
                Node::Name(i) => operands[i],
                Node::Unary(operation, x) => push(ops, unary(operation, places[x])),
                Node::Binary(operation, a, b) => binary(ops, operation, places[a], places[b]),
                Node::Select(condition, yes, no) => {
                    push(ops, Op::Select(places[condition], places[yes], places[no]))
                }
            };
            places.push(place);
        }
        // A parsed expression has at least one node.
        places.last().copied().unwrap_or_default()
    }
}

fn push(ops: &mut Vec<Op>, op: Op) -> usize {
    ops.push(op);
    ops.len() - 1
}

fn unary(operation: Unary, x: usize) -> Op {
    match operation {
        Unary::Neg => Op::Neg(x),
        Unary::Not => Op::Not(x),
        Unary::Exp => Op::Exp(x),
        Unary::Ln => Op::Ln(x),
        Unary::Sqrt => Op::Sqrt(x),
        Unary::Abs => Op::Abs(x),
        Unary::Sin => Op::Sin(x),
        Unary::Cos => Op::Cos(x),
        Unary::Tan => Op::Tan(x),
        Unary::Asin => Op::Asin(x),
        Unary::Acos => Op::Acos(x),
        Unary::Atan => Op::Atan(x),
        Unary::Special(function) => Op::Special(function, x),
    }
}

fn binary(ops: &mut Vec<Op>, operation: Binary, a: usize, b: usize) -> usize {
    let op = match operation {
        Binary::Add => Op::Add(a, b),
        Binary::Sub => Op::Sub(a, b),
        Binary::Mul => Op::Mul(a, b),
        Binary::Div => Op::Div(a, b),
        Binary::Pow => Op::Pow(a, b),
        Binary::Min => Op::Min(a, b),
        Binary::Max => Op::Max(a, b),
        Binary::Atan2 => Op::Atan2(a, b),
        Binary::Less => Op::Less(a, b),
        Binary::LessOrEqual => Op::LessEqual(a, b),
        Binary::Equal => Op::Equal(a, b),
        Binary::And => Op::And(a, b),
        Binary::Or => Op::Or(a, b),
        Binary::AlmostEqual => {
            let difference = push(ops, Op::Sub(a, b));
            let distance = push(ops, Op::Abs(difference));
            let size_a = push(ops, Op::Abs(a));
            let size_b = push(ops, Op::Abs(b));
            let size = push(ops, Op::Max(size_a, size_b));
            let unit = push(ops, Op::Number(ALMOST * f64::EPSILON));
            let allowed = push(ops, Op::Mul(size, unit));
            Op::LessEqual(distance, allowed)
        }
    };
    push(ops, op)
}
