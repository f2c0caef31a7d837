//! Tables and texts in HTML.

use ns_core::{plain, plain_lines};

use crate::report::Table;

/// Returns lines of text as a paragraph.
#[must_use]
pub fn html_text(lines: &str) -> String {
    format!("<p>{}</p>\n", html_escaped(&plain_lines(lines)).replace('\n', "<br>"))
}

/// Returns a table with its head. Cells of columns with numbers have the class `number`.
#[must_use]
pub fn html_table(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = &String>, tag: &str| {
        let cells = cells.enumerate().map(|(i, cell)| {
            let numbers = table.columns.get(i).is_some_and(|column| column.numbers);
            let class = if numbers { " class=\"number\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", html_escaped(&plain(cell)))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head = row(&mut table.columns.iter().map(|column| &column.title), "th");
    let body: String = table.rows.iter().map(|cells| row(&mut cells.iter(), "td")).collect();
    format!("<table><thead>{head}</thead><tbody>{body}</tbody></table>\n")
}

/// Escapes the characters that have a meaning in HTML, in texts and in attributes within double quotation marks.
#[must_use]
pub fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
