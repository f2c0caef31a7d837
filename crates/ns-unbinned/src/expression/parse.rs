//! Parses the text of an expression. The precedence of the operators decides how they group (Pratt's method).
//!
//! The operators, from the lowest to the highest precedence: `? :`, `||`, `&&`, `== != === !==`, `< <= > >=`, `+ -`,
//! `* /`, the signs `- + !`, and `^`. The operators `^` and `? :` group from the right, all other operators from the
//! left.

use std::collections::HashMap;
use std::ops::Range;

use ns_core::Special;

use super::error::{ExpressionError, Mistake};
use super::function::{Base, Function, constant};
use super::node::{Binary, Expression, Node, Unary};
use super::token::{Token, tokens};

/// Largest length of an expression in bytes.
pub const LONGEST: usize = 65_536;

/// Largest number of nested levels. Brackets, functions, signs and operators that group from the right count as
/// levels.
pub const NESTING: usize = 200;

/// Precedence of a sign. Operators of at least this precedence belong to the operand of the sign.
const SIGN: u8 = 13;

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The first error in the text, and its position.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::with_variables(text, &[])
    }

    /// Parses an expression in which `@0` or `x[0]` stands for the first of `variables`, `@1` or `x[1]` for the second, and so
    /// on, as in ROOT's formulas. Names may be used too.
    ///
    /// # Errors
    /// The first error in the text, and its position.
    pub fn with_variables(text: &str, variables: &[String]) -> Result<Self, ExpressionError> {
        if text.len() > LONGEST {
            let mistake = Mistake::TooLong { length: text.len(), limit: LONGEST };
            return Err(ExpressionError { character: 1, mistake });
        }
        let mut parser = Parser {
            text,
            tokens: tokens(text)?,
            next: 0,
            depth: 0,
            nodes: Vec::new(),
            names: Vec::new(),
            positions: HashMap::new(),
            variables,
        };
        parser.operand(0)?;
        if parser.next < parser.tokens.len() {
            return Err(parser.unexpected("an operator"));
        }
        Ok(Self { nodes: parser.nodes, names: parser.names })
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, Range<usize>)>,
    next: usize,
    depth: usize,
    nodes: Vec<Node>,
    names: Vec<String>,
    positions: HashMap<&'a str, usize>,
    /// The names for which `@0`, `@1`, ... stand.
    variables: &'a [String],
}

/// An operator between two operands.
enum Infix {
    /// An operation on the two operands. The first flag says whether the operands are exchanged before the operation.
    /// The second flag says whether the result is negated logically.
    Binary(Binary, bool, bool),
    /// The conditional operator `? :`.
    Conditional,
}

/// Returns the operator that a token stands for, its precedence towards the operand on its left, and its precedence
/// towards the operand on its right. Returns `None` if the token is no such operator.
fn infix(token: Token<'_>) -> Option<(Infix, u8, u8)> {
    let plain = |operation| Infix::Binary(operation, false, false);
    Some(match token {
        Token::Question => (Infix::Conditional, 1, 0),
        Token::Or => (plain(Binary::Or), 2, 3),
        Token::And => (plain(Binary::And), 4, 5),
        Token::AlmostEqual => (plain(Binary::AlmostEqual), 6, 7),
        Token::NotAlmostEqual => (Infix::Binary(Binary::AlmostEqual, false, true), 6, 7),
        Token::Equal => (plain(Binary::Equal), 6, 7),
        Token::NotEqual => (Infix::Binary(Binary::Equal, false, true), 6, 7),
        Token::Less => (plain(Binary::Less), 8, 9),
        Token::LessOrEqual => (plain(Binary::LessOrEqual), 8, 9),
        Token::Greater => (Infix::Binary(Binary::Less, true, false), 8, 9),
        Token::GreaterOrEqual => (Infix::Binary(Binary::LessOrEqual, true, false), 8, 9),
        Token::Plus => (plain(Binary::Add), 10, 11),
        Token::Minus => (plain(Binary::Sub), 10, 11),
        Token::Times => (plain(Binary::Mul), 12, 13),
        Token::Over => (plain(Binary::Div), 12, 13),
        Token::Power => (plain(Binary::Pow), 15, 14),
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|(token, _)| *token)
    }

    /// Returns the error for an unexpected token, or for an unexpected end of the text. `expected` describes what is
    /// allowed.
    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        match self.tokens.get(self.next) {
            Some((_, place)) => {
                let found = self.text.get(place.clone()).unwrap_or_default().to_owned();
                self.mistake(self.next, Mistake::Unexpected { expected, found })
            }
            None => ExpressionError::at(self.text, self.text.len(), Mistake::Ends { expected }),
        }
    }

    /// Creates an error at the position of the token with index `token`.
    fn mistake(&self, token: usize, mistake: Mistake) -> ExpressionError {
        let byte = self.tokens.get(token).map_or(self.text.len(), |(_, place)| place.start);
        ExpressionError::at(self.text, byte, mistake)
    }

    fn expect(&mut self, token: Token<'_>, expected: &'static str) -> Result<(), ExpressionError> {
        if self.peek() != Some(token) {
            return Err(self.unexpected(expected));
        }
        self.next += 1;
        Ok(())
    }

    /// Parses an operand and all operators after it whose precedence is at least `least`. Returns the position of the
    /// node with the result.
    fn operand(&mut self, least: u8) -> Result<usize, ExpressionError> {
        self.depth += 1;
        if self.depth > NESTING {
            return Err(self.mistake(self.next, Mistake::TooDeep { limit: NESTING }));
        }
        let mut left = self.first()?;
        while let Some((operator, before, behind)) = self.peek().and_then(infix) {
            if before < least {
                break;
            }
            self.next += 1;
            left = match operator {
                Infix::Conditional => {
                    let yes = self.operand(0)?;
                    self.expect(Token::Colon, "':'")?;
                    let no = self.operand(behind)?;
                    self.select(left, yes, no)
                }
                Infix::Binary(operation, exchanged, inverted) => {
                    let right = self.operand(behind)?;
                    let (a, b) = if exchanged { (right, left) } else { (left, right) };
                    let result = self.binary(operation, a, b);
                    if inverted { self.unary(Unary::Not, result) } else { result }
                }
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Parses a number, a name, a function, a sign with its operand, or an expression in brackets. Returns the
    /// position of its node.
    fn first(&mut self) -> Result<usize, ExpressionError> {
        const EXPECTED: &str = "a number, a name or '('";
        let Some(token) = self.peek() else { return Err(self.unexpected(EXPECTED)) };
        let at = self.next;
        self.next += 1;
        match token {
            Token::Number(x) => Ok(self.push(Node::Number(x))),
            Token::Name(name) => self.name(name, at),
            Token::Position(position) => match self.variables.get(position) {
                Some(name) => Ok(self.variable(name)),
                None => {
                    let known = self.variables.len();
                    Err(self.mistake(at, Mistake::Position { position, known }))
                }
            },
            Token::Plus => self.operand(SIGN),
            Token::Minus => {
                let x = self.operand(SIGN)?;
                Ok(self.unary(Unary::Neg, x))
            }
            Token::Not => {
                let x = self.operand(SIGN)?;
                Ok(self.unary(Unary::Not, x))
            }
            Token::Open => {
                let inner = self.operand(0)?;
                self.expect(Token::Close, "an operator or ')'")?;
                Ok(inner)
            }
            _ => {
                self.next = at;
                Err(self.unexpected(EXPECTED))
            }
        }
    }

    /// Parses the rest of a name or of a function. A function has its arguments after the name. `at` is the index of
    /// the token with the name.
    fn name(&mut self, name: &'a str, at: usize) -> Result<usize, ExpressionError> {
        let function = Function::of(name);
        if self.peek() == Some(Token::Open) {
            let unknown = || Mistake::UnknownFunction { name: name.to_owned() };
            let function = function.ok_or_else(|| self.mistake(at, unknown()))?;
            self.next += 1;
            return self.call(name, function, at);
        }
        if let Some(value) = constant(name) {
            return Ok(self.push(Node::Number(value)));
        }
        if Function::is_reserved(name) {
            return Err(self.mistake(at, Mistake::WithoutArguments { name: name.to_owned() }));
        }
        Ok(self.variable(name))
    }

    fn variable(&mut self, name: &'a str) -> usize {
        let new = self.names.len();
        let position = *self.positions.entry(name).or_insert(new);
        if position == new {
            self.names.push(name.to_owned());
        }
        self.push(Node::Name(position))
    }

    fn call(&mut self, name: &str, function: Function, at: usize) -> Result<usize, ExpressionError> {
        let mut given = [0; 3];
        let mut count = 0;
        if self.peek() == Some(Token::Close) {
            self.next += 1;
        } else {
            loop {
                let argument = self.operand(0)?;
                if let Some(place) = given.get_mut(count) {
                    *place = argument;
                }
                count += 1;
                match self.peek() {
                    Some(Token::Comma) => self.next += 1,
                    Some(Token::Close) => break self.next += 1,
                    _ => return Err(self.unexpected("an operator, ',' or ')'")),
                }
            }
        }
        if count != function.arguments() {
            let expected = match function.arguments() {
                0 => "no argument",
                1 => "1 argument",
                2 => "2 arguments",
                _ => "3 arguments",
            };
            let mistake = Mistake::Arguments { name: name.to_owned(), expected, found: count };
            return Err(self.mistake(at, mistake));
        }
        let [a, b, c] = given;
        Ok(match function {
            Function::Unary(operation) => self.unary(operation, a),
            Function::Binary(operation) => self.binary(operation, a, b),
            Function::Select => self.select(a, b, c),
            Function::Constant(word) => self.push(Node::Number(constant(word).unwrap_or(f64::NAN))),
            composed => self.composed(composed, given),
        })
    }

    /// Appends the nodes of a function that is made of others.
    fn composed(&mut self, function: Function, [a, b, c]: [usize; 3]) -> usize {
        match function {
            Function::Logarithm(base) => {
                let logarithm = self.unary(Unary::Ln, a);
                let scale = self.push(Node::Number(match base {
                    Base::Two => std::f64::consts::LOG2_E,
                    Base::Ten => std::f64::consts::LOG10_E,
                }));
                self.binary(Binary::Mul, logarithm, scale)
            }
            // A number that is used twice must not be replaced by the result of its first use.
            Function::Square | Function::Atanh if self.number(a).is_some() => {
                let x = self.number(a).unwrap_or(f64::NAN);
                self.fold(a, if function == Function::Square { x * x } else { x.atanh() })
            }
            Function::Square => self.binary(Binary::Mul, a, a),
            Function::Step => {
                let zero = self.push(Node::Number(0.0));
                self.binary(Binary::LessOrEqual, zero, a)
            }
            // acosh(x) = 2 asinh(sqrt((x - 1) / 2)) and atanh(x) = asinh(x / sqrt(1 - x^2)) lose no digits.
            Function::Acosh => {
                let one = self.push(Node::Number(1.0));
                let excess = self.binary(Binary::Sub, a, one);
                let half = self.push(Node::Number(0.5));
                let square = self.binary(Binary::Mul, excess, half);
                let root = self.unary(Unary::Sqrt, square);
                let angle = self.unary(Unary::Special(Special::Asinh), root);
                let two = self.push(Node::Number(2.0));
                self.binary(Binary::Mul, angle, two)
            }
            Function::Atanh => {
                let one = self.push(Node::Number(1.0));
                let (less, more) = (self.binary(Binary::Sub, one, a), self.binary(Binary::Add, one, a));
                let square = self.binary(Binary::Mul, less, more);
                let root = self.unary(Unary::Sqrt, square);
                let sinh = self.binary(Binary::Div, a, root);
                self.unary(Unary::Special(Special::Asinh), sinh)
            }
            _ => {
                let distance = self.binary(Binary::Sub, a, b);
                let pull = self.binary(Binary::Div, distance, c);
                let square = self.binary(Binary::Mul, pull, pull);
                let factor = self.push(Node::Number(-0.5));
                let exponent = self.binary(Binary::Mul, square, factor);
                self.unary(Unary::Exp, exponent)
            }
        }
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn number(&self, node: usize) -> Option<f64> {
        match self.nodes.get(node) {
            Some(Node::Number(x)) => Some(*x),
            _ => None,
        }
    }

    /// Replaces all nodes from position `first` on by a single node with their result.
    fn fold(&mut self, first: usize, value: f64) -> usize {
        self.nodes.truncate(first);
        self.push(Node::Number(value))
    }

    fn unary(&mut self, operation: Unary, x: usize) -> usize {
        match self.number(x) {
            Some(value) if x + 1 == self.nodes.len() => self.fold(x, operation.apply(value)),
            _ => self.push(Node::Unary(operation, x)),
        }
    }

    fn binary(&mut self, operation: Binary, a: usize, b: usize) -> usize {
        let first = a.min(b);
        match (self.number(a), self.number(b)) {
            (Some(x), Some(y)) if first + 2 == self.nodes.len() => self.fold(first, operation.apply(x, y)),
            _ => self.push(Node::Binary(operation, a, b)),
        }
    }

    fn select(&mut self, condition: usize, yes: usize, no: usize) -> usize {
        self.push(Node::Select(condition, yes, no))
    }
}
