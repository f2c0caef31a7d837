//! Expressions of columns, as ntuples are read with: `lep_charge > 0`, `(a > 1) & (b < 2)`, `0.7*weight`.

use std::ops::Range;

use ns_unbinned::expression::{Binary, Expression, Node};

/// An expression that is evaluated for many events at once.
#[derive(Debug, Clone)]
pub(super) struct Formula {
    expression: Expression,
    /// Whether a quotient with the divisor 0 is 0.
    root_division: bool,
}

impl Formula {
    /// Parses a text. Beside the operators of expressions, `&`, `|`, `~`, `and` and `or` are read, as in Python.
    ///
    /// The error is what is wrong, and a remedy.
    pub(super) fn parse(text: &str, root_division: bool) -> Result<Self, (String, String)> {
        let translated = translated(text).map_err(|(m, r)| (m.to_owned(), r.to_owned()))?;
        Expression::parse(&translated)
            .map(|expression| Self { expression, root_division })
            .map_err(|error| (format!("{error}."), error.remedy()))
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[String] {
        self.expression.names()
    }

    /// Evaluates some rows. `columns` are in the order of the names, and have these rows.
    pub(super) fn evaluate(&self, columns: &[&[f64]], rows: &Range<usize>) -> Vec<f64> {
        let n = rows.len();
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.expression.nodes().len());
        let empty: &[f64] = &[];
        for node in self.expression.nodes() {
            let of = |i: usize| values.get(i).map_or(empty, Vec::as_slice);
            let next: Vec<f64> = match *node {
                Node::Number(x) => vec![x; n],
                Node::Name(i) => {
                    columns.get(i).and_then(|c| c.get(rows.clone())).map(<[f64]>::to_vec).unwrap_or_default()
                }
                Node::Unary(operation, x) => of(x).iter().map(|x| operation.apply(*x)).collect(),
                Node::Binary(Binary::Div, a, b) if self.root_division => {
                    let quotient = |(a, b): (&f64, &f64)| if *b == 0.0 { 0.0 } else { a / b };
                    of(a).iter().zip(of(b)).map(quotient).collect()
                }
                Node::Binary(operation, a, b) => {
                    of(a).iter().zip(of(b)).map(|(a, b)| operation.apply(*a, *b)).collect()
                }
                Node::Select(condition, yes, no) => {
                    let rows = of(condition).iter().zip(of(yes)).zip(of(no));
                    rows.map(|((c, yes), no)| if *c != 0.0 { *yes } else { *no }).collect()
                }
            };
            values.push(next);
        }
        values.pop().unwrap_or_default()
    }
}

/// What stands between two brackets so far.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// An operator of single bits, of Python.
    bits: bool,
    /// A comparison.
    compared: bool,
    /// A comparison since the last logical operator.
    pending: bool,
}

const NO_BRACKETS: (&str, &str) = (
    "'&' and '|' bind more strongly than comparisons.",
    "Put brackets around each comparison, such as '(a > 1) & (b < 2)'.",
);
const CHAIN: (&str, &str) =
    ("Two comparisons follow one another.", "Combine them, such as '(0 < a) & (a < 5)'.");
const NOT: (&str, &str) = ("'not' is not read.", "Write '!' and brackets, such as '!(a > 1)'.");

/// Writes the operators of Python as those of expressions. Refuses what the two languages understand differently.
fn translated(text: &str) -> Result<String, (&'static str, &'static str)> {
    let mut out = String::with_capacity(text.len());
    let mut levels = vec![Level::default()];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let level = levels.last_mut().ok_or(NO_BRACKETS)?;
        let next = chars.peek().map(|(_, c)| *c);
        match c {
            '(' => levels.push(Level::default()),
            ')' => {
                if level.bits && level.compared {
                    return Err(NO_BRACKETS);
                }
                if levels.len() > 1 {
                    levels.pop();
                }
            }
            '&' | '|' => {
                let double = next == Some(c);
                if double {
                    chars.next();
                }
                level.bits |= !double;
                level.pending = false;
                out.push_str(if c == '&' { "&&" } else { "||" });
                continue;
            }
            '?' | ':' | ',' => level.pending = false,
            '<' | '>' | '=' | '!' if c != '!' || next == Some('=') => {
                if level.pending {
                    return Err(CHAIN);
                }
                (level.compared, level.pending) = (true, true);
                out.push(c);
                while let Some((_, '=')) = chars.peek() {
                    out.push('=');
                    chars.next();
                }
                continue;
            }
            '~' => {
                out.push('!');
                continue;
            }
            c if c.is_alphabetic() || c == '_' => {
                let rest = text.get(at..).unwrap_or_default();
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                for _ in word.chars().skip(1) {
                    chars.next();
                }
                match word {
                    "and" | "or" => {
                        level.pending = false;
                        out.push_str(if word == "and" { " && " } else { " || " });
                    }
                    "not" => return Err(NOT),
                    "True" | "False" => out.push_str(&word.to_uppercase()),
                    _ => out.push_str(word),
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    match levels.last() {
        Some(level) if level.bits && level.compared => Err(NO_BRACKETS),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::Formula;

    fn value(text: &str, a: f64, b: f64) -> Result<f64, String> {
        let formula =
            Formula::parse(text, false).map_err(|(message, remedy)| format!("{message} {remedy}"))?;
        let (a, b) = ([a], [b]);
        let columns: Vec<&[f64]> =
            formula.names().iter().map(|name| if name == "a" { &a[..] } else { &b[..] }).collect();
        Ok(formula.evaluate(&columns, &(0..1)).first().copied().unwrap_or(f64::NAN))
    }

    #[test]
    fn expressions_of_python_are_read() {
        assert_eq!(value("0.7*a", 2.0, 0.0), Ok(1.4));
        assert_eq!(value("(a > 1) & ~(b <= 2)", 2.0, 3.0), Ok(1.0));
        assert_eq!(value("(a > 1) and (b == 2) or False", 2.0, 3.0), Ok(0.0));
        assert_eq!(value("a**2 + sqrt(b)", 3.0, 4.0), Ok(11.0));
        assert_eq!(value("a > 1 && b != 2", 2.0, 3.0), Ok(1.0));
        assert_eq!(value("1.5", 0.0, 0.0), Ok(1.5));
    }

    #[test]
    fn divisions_by_zero_are_those_of_root_where_that_is_asked() {
        for (root, expected) in [(true, 0.0), (false, f64::INFINITY)] {
            let formula = Formula::parse("1/a", root).ok();
            let found = formula.map(|formula| formula.evaluate(&[&[0.0]], &(0..1)));
            assert_eq!(found, Some(vec![expected]));
        }
    }

    #[test]
    fn what_means_something_else_in_python_is_refused() {
        for text in ["a > 1 & b < 2", "(a > 1 | b < 2)", "0 < a < 5", "not a > 1"] {
            assert!(value(text, 0.0, 0.0).is_err(), "{text}");
        }
        assert!(value("a +", 0.0, 0.0).is_err_and(|e| e.contains("at character")));
    }
}
