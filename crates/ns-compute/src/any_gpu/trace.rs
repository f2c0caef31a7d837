//! Writes formulas as WGSL: a [`Vector`] whose operations write text. The formulas of `terms` are generic over `Vector`,
//! so that the kernels have them from the Rust source.

use std::cell::RefCell;
use std::fmt::Write as _;

use crate::simd::Vector;

thread_local! {
    /// The statements of the function that is being written.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A number of a WGSL function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    /// A constant.
    Literal(f64),
    /// An argument, by its position.
    Argument(usize),
    /// The result of the statement with this index.
    Statement(usize),
}

impl Written {
    fn text(self, arguments: &[&str]) -> String {
        match self {
            Self::Literal(x) => format!("real({x:?})"),
            Self::Argument(i) => arguments.get(i).copied().unwrap_or_default().to_owned(),
            Self::Statement(i) => format!("v{i}"),
        }
    }

    /// Adds the statement `form`, in which `{0}`, `{1}` and so on stand for the operands.
    fn statement(form: &str, operands: &[Self]) -> Self {
        LINES.with_borrow_mut(|lines| {
            let mut text = form.to_owned();
            for (i, operand) in operands.iter().enumerate() {
                text = text.replace(&format!("{{{i}}}"), &operand.marked());
            }
            // A statement that is there already is not written again.
            let place = lines.iter().position(|line| *line == text).unwrap_or_else(|| {
                lines.push(text);
                lines.len() - 1
            });
            Self::Statement(place)
        })
    }

    /// Returns the text of an operand. The names of arguments are not known yet.
    fn marked(self) -> String {
        match self {
            Self::Argument(i) => format!("<{i}>"),
            other => other.text(&[]),
        }
    }
}

/// Returns the WGSL function `name`. `body` computes its results from its arguments. A function with one result returns
/// a number; one with several results returns the structure `of`, whose fields are the results.
pub(super) fn function(
    name: &str,
    arguments: &[&str],
    of: Option<&str>,
    body: impl FnOnce(&[Written]) -> Vec<Written>,
) -> String {
    LINES.with_borrow_mut(Vec::clear);
    let inputs: Vec<Written> = (0..arguments.len()).map(Written::Argument).collect();
    let results = body(&inputs);
    let lines = LINES.take();
    let parameters: Vec<String> = arguments.iter().map(|name| format!("{name}: real")).collect();
    let mut text = format!("fn {name}({}) -> {} {{\n", parameters.join(", "), of.unwrap_or("real"));
    let used = used(&lines, &results);
    for (i, line) in lines.iter().enumerate().filter(|(i, _)| used[*i]) {
        let mut line = line.clone();
        for (k, argument) in arguments.iter().enumerate() {
            line = line.replace(&format!("<{k}>"), argument);
        }
        let _ = writeln!(text, "    let v{i} = {line};");
    }
    let results: Vec<String> = results.iter().map(|result| result.text(arguments)).collect();
    let results = results.join(", ");
    let _ = match of {
        Some(of) => writeln!(text, "    return {of}({results});\n}}"),
        None => writeln!(text, "    return {results};\n}}"),
    };
    text
}

/// Returns for each statement whether it is a result, or an operand of a statement that is used.
fn used(lines: &[String], results: &[Written]) -> Vec<bool> {
    let mut used = vec![false; lines.len()];
    for result in results {
        if let Written::Statement(i) = result {
            used[*i] = true;
        }
    }
    for i in (0..lines.len()).rev() {
        let name = format!("v{i}");
        let names = |line: &str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name);
        used[i] |= (i + 1..lines.len()).any(|j| used[j] && names(&lines[j]));
    }
    used
}

impl Vector for Written {
    fn splat(x: f64) -> Self {
        Self::Literal(x)
    }

    fn load(from: &[f64]) -> Self {
        Self::Literal(from.first().copied().unwrap_or_default())
    }

    /// Formulas that write numbers to memory cannot be written as WGSL; a test would show their text as different.
    fn store(self, _: &mut [f64]) {}

    fn sum(self) -> f64 {
        f64::NAN
    }

    fn mul(self, b: Self) -> Self {
        Self::statement("{0} * {1}", &[self, b])
    }

    fn add(self, b: Self) -> Self {
        Self::statement("{0} + {1}", &[self, b])
    }

    fn mul_add(self, b: Self, c: Self) -> Self {
        Self::statement("fma({0}, {1}, {2})", &[self, b, c])
    }

    fn sub(self, b: Self) -> Self {
        Self::statement("{0} - {1}", &[self, b])
    }

    fn div(self, b: Self) -> Self {
        Self::statement("{0} / {1}", &[self, b])
    }

    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        Self::statement("select({3}, {2}, {0} < {1})", &[self, limit, then, otherwise])
    }

    fn sqrt(self) -> Self {
        Self::statement("sqrt({0})", &[self])
    }

    fn abs(self) -> Self {
        Self::statement("abs({0})", &[self])
    }

    fn sign(self) -> Self {
        Self::statement("sign({0})", &[self])
    }

    fn reciprocal(self) -> Self {
        Self::statement("1.0 / {0}", &[self])
    }
}
