//! Writes the operations of a tape as the text of an expression.

use std::collections::BTreeMap;

use ns_core::{Op, Tape, Value};

use super::function::Function;
use super::token::{Token, tokens};

/// How tightly an operation binds its operands. Looser operands are put in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Select,
    Logic,
    Comparison,
    Sum,
    Product,
    Sign,
    Power,
    Atom,
}

/// Returns the text of the expression of a tape without observables. `name` returns the name of a parameter or a function.
/// Returns `None` if a value has no name, or if the tape has observables. [`is_name`] says whether a name can be used in
/// expressions. A result that several operations
/// use is written several times, and `longest` is the largest length of the text in bytes; `None` if it is exceeded.
pub fn text(tape: &Tape, name: &dyn Fn(Value) -> Option<String>, longest: usize) -> Option<String> {
    let mut texts: Vec<(String, Level)> = Vec::with_capacity(tape.ops().len());
    for op in tape.ops() {
        let own = operation(op, &texts, name)?;
        if own.0.len() > longest {
            return None;
        }
        texts.push(own);
    }
    texts.pop().map(|(text, _)| text)
}

/// Returns whether a text is a name that expressions can contain.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let Ok(found) = tokens(text) else { return false };
    matches!(found.as_slice(), [(Token::Name(name), _)] if *name == text)
        && super::Expression::parse(text).is_ok_and(|parsed| parsed.names() == [text])
}

/// Returns an expression in which names are replaced. `names` contains the new names. The names of functions and constants,
/// and expressions with mistakes, stay.
#[must_use]
pub fn with_names(text: &str, names: &BTreeMap<String, String>) -> String {
    let (Ok(found), Ok(parsed)) = (tokens(text), super::Expression::parse(text)) else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (i, (token, place)) in found.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let is_call = matches!(found.get(i + 1), Some((Token::Open, _)));
        let new = names.get(*name).filter(|_| !is_call && parsed.names().iter().any(|own| own == name));
        if let Some(new) = new {
            out.push_str(text.get(copied..place.start).unwrap_or_default());
            out.push_str(new);
            copied = place.end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

fn operation(
    op: &Op,
    texts: &[(String, Level)],
    name: &dyn Fn(Value) -> Option<String>,
) -> Option<(String, Level)> {
    let at = |i: usize, least: Level| match texts.get(i) {
        Some((text, level)) if *level >= least => text.clone(),
        Some((text, _)) => format!("({text})"),
        None => String::new(),
    };
    let infix = |sign: &str, level: Level, a: usize, b: usize| {
        // Sums and products group from the left. Operands of other operations get brackets where they could be misread.
        let (left, right) = match level {
            Level::Sum => (Level::Sum, Level::Product),
            Level::Product => (Level::Product, Level::Sign),
            Level::Comparison => (Level::Sum, Level::Sum),
            _ => (Level::Atom, Level::Atom),
        };
        (format!("{} {sign} {}", at(a, left), at(b, right)), level)
    };
    let call = |function: &str, arguments: &[usize]| {
        let all: Vec<String> = arguments.iter().map(|&i| at(i, Level::Select)).collect();
        (format!("{function}({})", all.join(", ")), Level::Atom)
    };
    Some(match *op {
        Op::Number(x) => number(x),
        Op::Value(Value::Number(x)) => number(x),
        Op::Value(value) => (name(value)?, Level::Atom),
        Op::Observable(_) => return None,
        Op::Add(a, b) => infix("+", Level::Sum, a, b),
        Op::Sub(a, b) => infix("-", Level::Sum, a, b),
        Op::Mul(a, b) => infix("*", Level::Product, a, b),
        Op::Div(a, b) => infix("/", Level::Product, a, b),
        Op::Pow(a, b) => call("pow", &[a, b]),
        Op::Min(a, b) => call("min", &[a, b]),
        Op::Max(a, b) => call("max", &[a, b]),
        Op::Neg(a) => (format!("-{}", at(a, Level::Power)), Level::Sign),
        Op::Exp(a) => call("exp", &[a]),
        Op::Ln(a) => call("log", &[a]),
        Op::Sqrt(a) => call("sqrt", &[a]),
        Op::Abs(a) => call("abs", &[a]),
        Op::Sin(a) => call("sin", &[a]),
        Op::Cos(a) => call("cos", &[a]),
        Op::Tan(a) => call("tan", &[a]),
        Op::Asin(a) => call("asin", &[a]),
        Op::Acos(a) => call("acos", &[a]),
        Op::Atan(a) => call("atan", &[a]),
        Op::Atan2(a, b) => call("atan2", &[a, b]),
        Op::Special(function, a) => call(Function::name_of(function)?, &[a]),
        Op::Less(a, b) => infix("<", Level::Comparison, a, b),
        Op::LessEqual(a, b) => infix("<=", Level::Comparison, a, b),
        Op::Equal(a, b) => infix("===", Level::Comparison, a, b),
        Op::NotEqual(a, b) => infix("!==", Level::Comparison, a, b),
        Op::And(a, b) => infix("&&", Level::Logic, a, b),
        Op::Or(a, b) => infix("||", Level::Logic, a, b),
        Op::Not(a) => (format!("!{}", at(a, Level::Atom)), Level::Sign),
        Op::Select(condition, yes, no) => (
            format!("{} ? {} : {}", at(condition, Level::Atom), at(yes, Level::Atom), at(no, Level::Atom)),
            Level::Select,
        ),
    })
}

fn number(x: f64) -> (String, Level) {
    // The shortest text that is read as the same number; large and small ones with an exponent.
    let text = format!("{x:?}");
    let text = text.strip_suffix(".0").map_or(text.clone(), str::to_owned);
    (text, if x < 0.0 || x.is_sign_negative() { Level::Sign } else { Level::Atom })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ns_core::{Op, Tape, Value};

    use super::super::Expression;
    use std::collections::BTreeMap;

    use super::{is_name, text, with_names};

    /// Returns the expression with its operations written as text again.
    fn again(written: &str) -> String {
        let parsed = Expression::parse(written).unwrap();
        let names = parsed.names().to_vec();
        let mut ops: Vec<Op> = (0..names.len()).map(|i| Op::Value(Value::Parameter(i))).collect();
        let operands: Vec<usize> = (0..names.len()).collect();
        let last = parsed.append_to(&mut ops, &operands);
        if last + 1 != ops.len() {
            ops.push(ops[last]);
        }
        let name = |value: Value| match value {
            Value::Parameter(i) => names.get(i).cloned(),
            _ => None,
        };
        text(&Tape::new(ops).unwrap(), &name, 1000).unwrap()
    }

    #[test]
    fn written_expressions_mean_the_same() {
        for written in [
            "1 + 0.3*c + 0.1*c^2",
            "a - (b - c) - (a - b)*c",
            "a/(b/c)/b*c",
            "-(-a)^2 - -b",
            "(a || b) && c || a && (b < c) == (a <= b)",
            "a > b ? exp(-a) : b != c ? max(a, b + 1e-7) : 2.5e20",
            "!(a && b) + log10(abs(c) + 1)*PI",
            "erf(a) + lgamma(1 + b^2)*tanh(c) - j1(atan2(a, b))",
            "a",
        ] {
            let (first, second) =
                (Expression::parse(written).unwrap(), Expression::parse(&again(written)).unwrap());
            for point in [[0.3, 1.7, 2.9], [2.0, -0.4, 0.0], [-1.1, -1.2, 5.0]] {
                let value = |e: &Expression| {
                    e.value(|i| match e.names()[i].as_str() {
                        "a" => point[0],
                        "b" => point[1],
                        _ => point[2],
                    })
                };
                assert_eq!(value(&first), value(&second), "{written} became {}", again(written));
            }
        }
        let names = BTreeMap::from(
            [("a", "b"), ("b", "c1"), ("exp", "x")].map(|(a, b)| (a.to_owned(), b.to_owned())),
        );
        assert_eq!(with_names("a + exp( b )*aa - b", &names), "b + exp( c1 )*aa - c1");
        assert!(is_name("mu_1") && !is_name("gamma[0]") && !is_name("PI") && !is_name("2a") && !is_name(""));
    }
}
