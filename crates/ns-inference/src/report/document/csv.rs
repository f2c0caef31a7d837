//! Tables as comma-separated values.

use ns_core::plain;

use crate::report::Table;

/// What stands between two numbers of a cell, and the words that tell the columns of both apart.
const PAIRS: [(&str, [&str; 2]); 3] =
    [(" ± ", ["", " uncertainty"]), (" / ", [" up", " down"]), (" +", [" down", " up"])];

/// Returns lines of text, each as a cell.
pub(super) fn text(lines: &str) -> String {
    lines.lines().map(|text| line(std::iter::once(text.to_owned()))).collect()
}

/// Returns a table with its head. A column of pairs of numbers becomes two columns.
pub(super) fn table(table: &Table) -> String {
    let pairs: Vec<Option<(&str, [&str; 2])>> = (0..table.columns.len())
        .map(|i| {
            let numbers = table.columns.get(i).is_some_and(|column| column.numbers);
            let has =
                |mark: &str| table.rows.iter().any(|row| row.get(i).is_some_and(|cell| cell.contains(mark)));
            PAIRS.into_iter().find(|(mark, _)| numbers && has(mark))
        })
        .collect();
    let head = table.columns.iter().zip(&pairs).enumerate().flat_map(|(i, (column, pair))| {
        let title = match (column.title.is_empty(), i) {
            (false, _) => &column.title,
            (true, 0) => "name",
            (true, _) => "note",
        };
        match pair {
            None => vec![title.to_owned()],
            Some((_, names)) => {
                let stem = title.strip_suffix(" up / down").unwrap_or(title);
                names.iter().map(|name| format!("{stem}{name}")).collect()
            }
        }
    });
    let body = table.rows.iter().map(|row| {
        row.iter().zip(&pairs).flat_map(|(cell, pair)| match pair {
            None => vec![cell.clone()],
            Some((mark, _)) => {
                let (first, second) = cell.split_once(mark).unwrap_or((cell, ""));
                // The sign of an upper end belongs to its number.
                let sign = if *mark == " +" && !second.is_empty() { "+" } else { "" };
                vec![first.to_owned(), format!("{sign}{second}")]
            }
        })
    });
    std::iter::once(line(head)).chain(body.map(line)).collect()
}

/// Returns one line. Cells with a comma, a quote or a line break are quoted.
fn line(cells: impl Iterator<Item = String>) -> String {
    let cell = |text: String| {
        let text = plain(&text);
        match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.into_owned(),
        }
    };
    cells.map(cell).collect::<Vec<_>>().join(",") + "\n"
}
