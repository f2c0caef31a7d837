//! Tables in LaTeX, with the rules of the package `booktabs`.

use ns_core::{plain, plain_lines};

use crate::report::Table;

/// Returns lines of text as comments.
pub(super) fn text(lines: &str) -> String {
    plain_lines(lines).lines().map(|line| format!("% {line}\n")).collect()
}

/// Returns the environment `tabular` with a table.
pub(super) fn table(table: &Table) -> String {
    let kinds: String = table.columns.iter().map(|column| if column.numbers { 'r' } else { 'l' }).collect();
    let row = |cells: &mut dyn Iterator<Item = String>| cells.collect::<Vec<_>>().join(" & ") + " \\\\\n";
    let mut text = format!("\\begin{{tabular}}{{{kinds}}}\n\\toprule\n");
    text += &row(&mut table.columns.iter().map(|column| cell(&column.title)));
    text += "\\midrule\n";
    for cells in &table.rows {
        text += &row(&mut cells.iter().map(|text| cell(text)));
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Returns the text of a cell. Neighbouring numbers, with `±` between them, are one formula. The two ends of an interval,
/// such as `-0.6 +0.7`, are below and above each other.
fn cell(text: &str) -> String {
    if let Some((lower, upper)) = text.split_once(" +")
        && lower.starts_with('-')
        && let (Some(lower), Some(upper)) = (number(lower), number(upper))
    {
        return format!("${{}}_{{{lower}}}^{{+{upper}}}$");
    }
    let mut out = String::new();
    let mut formula = false;
    for word in plain(text).split(' ') {
        // A number of standard deviations, such as `-2 sigma`.
        if formula && word == "sigma" {
            out += "\\sigma";
            continue;
        }
        let mathematics = if word == "±" { Some("\\pm".to_owned()) } else { number(word) };
        match (formula, mathematics.is_some()) {
            (true, false) => out += "$ ",
            (true, true) => out.push(' '),
            (false, _) if out.is_empty() => {}
            (false, _) => out.push(' '),
        }
        match mathematics {
            Some(mathematics) => {
                if !formula {
                    out.push('$');
                }
                out += &mathematics;
                formula = true;
            }
            None => {
                out += &escaped(word);
                formula = false;
            }
        }
    }
    if formula {
        out.push('$');
    }
    out
}

/// Returns a number as a formula; `None` if the word is no number.
fn number(word: &str) -> Option<String> {
    let digits = word.trim_start_matches(['+', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || word.parse::<f64>().is_err() {
        return None;
    }
    Some(match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            format!("{mantissa} \\times 10^{{{}}}", exponent.trim_start_matches('+'))
        }
        None => word.to_owned(),
    })
}

/// Escapes characters with a meaning in LaTeX.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '\\' => out += "\\textbackslash{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            _ => out.push(c),
        }
    }
    out
}
