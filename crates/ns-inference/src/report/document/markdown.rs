//! Tables in GitHub's Markdown.

use ns_core::{plain, plain_lines};

use crate::report::Table;

/// Returns lines of text as a paragraph. Two spaces at the end of a line keep the break.
pub(super) fn text(lines: &str) -> String {
    let lines = plain_lines(lines);
    lines.lines().map(escaped).collect::<Vec<_>>().join("  \n") + "\n"
}

/// Returns a table with its head.
pub(super) fn table(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
        format!("|{cells}\n")
    };
    let mut text = row(&mut table.columns.iter().map(|column| escaped(&column.title)));
    let rule = |numbers| if numbers { "---:" } else { "---" };
    text += &row(&mut table.columns.iter().map(|column| rule(column.numbers).to_owned()));
    for cells in &table.rows {
        text += &row(&mut cells.iter().map(|cell| escaped(cell)));
    }
    text
}

/// Escapes characters with a meaning in Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        if matches!(c, '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
