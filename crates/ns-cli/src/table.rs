//! Lays out tables within the width of the terminal.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets,
};

use ns_core::plain;
use ns_inference::report::{self, Part};

/// Largest number of characters in a line, if standard output is not a terminal of known width. A wider table is
/// split into groups of columns, if the table allows this.
const WIDTH: usize = 100;

/// Smallest width of a terminal, in characters, that is believed. If a terminal reports a smaller width, its width
/// counts as unknown, because some terminals report 0.
const NARROWEST: u16 = 20;

/// Smallest width of the first column, in characters, even if the terminal is narrower than the table.
const LEAST_NAME: usize = 12;

/// Returns the text of a result.
pub(crate) fn render(parts: &[Part]) -> String {
    let rendered = parts.iter().map(|part| match part {
        Part::Text(lines) => lines.clone(),
        Part::Table(table) | Part::Arranged { screen: table, .. } => text(table),
        Part::Either(wide, narrow) => {
            let table = laid_out(wide);
            if fits(&table) { arranged(table) } else { render(narrow) }
        }
    });
    rendered.collect::<Vec<_>>().join("\n")
}

/// Returns a table as text. A table that is too wide is split into groups of columns, if the table allows this. The
/// groups are printed one below the other, and each of them repeats the first column.
pub(crate) fn text(table: &report::Table) -> String {
    if !table.splits || table.columns.len() < 2 {
        return arranged(laid_out(table));
    }
    let widest = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let title = table.columns.get(column).map(|column| &column.title);
        cells.chain(title).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    // Three spaces separate two columns.
    let cell = (1..table.columns.len()).map(widest).max().unwrap_or(0) + 3;
    let per_block = (width().saturating_sub(widest(0) + 2) / cell).max(1);
    let block = |start: usize| {
        let kept = |column: usize| column == 0 || (start..start + per_block).contains(&column);
        let columns = table.columns.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, c)| c.clone());
        let row = |row: &Vec<String>| {
            row.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, cell)| cell.clone()).collect()
        };
        let rows = table.rows.iter().map(row).collect();
        arranged(laid_out(&report::Table { columns: columns.collect(), rows, splits: false }))
    };
    (1..table.columns.len()).step_by(per_block).map(block).collect::<Vec<_>>().join("\n")
}

/// Creates the table with its style and alignment. Text of cells may come from files, so its control
/// characters are escaped. Numbers are never broken into two lines.
fn laid_out(from: &report::Table) -> Table {
    let safe = |cell: &String| Cell::new(plain(cell));
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    // There are no lines between rows, because models have hundreds of rows.
    for part in [
        TableComponent::HorizontalLines,
        TableComponent::MiddleIntersections,
        TableComponent::LeftBorderIntersections,
        TableComponent::RightBorderIntersections,
    ] {
        table.remove_style(part);
    }
    table.set_header(from.columns.iter().map(|column| safe(&column.title)));
    for (i, _) in from.columns.iter().enumerate().filter(|(_, column)| column.numbers) {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for row in &from.rows {
        table.add_row(row.iter().map(safe));
    }
    table
}

/// Returns the width of the terminal in characters; `None` if standard output is not a terminal or its width
/// is unknown.
fn limit(table: &Table) -> Option<u16> {
    table.width().filter(|width| *width >= NARROWEST)
}

/// Returns the largest number of characters in a line.
fn width() -> usize {
    limit(&Table::new()).map_or(WIDTH, usize::from)
}

/// Returns whether the table fits into the terminal without line breaks in its cells. If there is no
/// terminal, the result is true.
fn fits(table: &Table) -> bool {
    let columns = table.column_max_content_widths();
    let needed: usize = columns.iter().map(|width| usize::from(*width) + 3).sum();
    limit(table).is_none_or(|width| needed <= usize::from(width))
}

/// Returns the text of the table, without spaces at the ends of lines. If the table is too wide for the
/// terminal, text is broken between words. If this is not enough, names in the first column are broken too.
fn arranged(mut table: Table) -> String {
    if let Some(width) = limit(&table) {
        arrange(&mut table, usize::from(width));
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Sets the smallest widths of the columns of text. The first column becomes as wide as its longest name, if
/// the table then fits into `width`. Every other column becomes at least as wide as its longest word.
fn arrange(table: &mut Table, width: usize) {
    let contents = table.column_max_content_widths();
    // A cell has two spaces around it, and one space separates two cells.
    let mut needed = 3 * contents.len();
    for (i, content) in contents.iter().enumerate() {
        let words =
            table.column_cells_with_header_iter(i).flatten().map(|cell| longest_word(&cell.content()));
        let longest = u16::try_from(words.max().unwrap_or(0)).unwrap_or(u16::MAX);
        let Some(column) = table.column_mut(i) else { continue };
        let breakable = i > 0 && column.constraint().is_none();
        needed += usize::from(if breakable { longest } else { *content });
        if breakable {
            let padded = longest.saturating_add(column.padding_width());
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(padded)));
        }
    }
    let names = contents.first().map_or(0, |content| usize::from(*content));
    if let Some(column) = table.column_mut(0) {
        let room = LEAST_NAME.min(names);
        if needed <= width {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if needed - names + room > width {
            // The table stays wider than the terminal, which then breaks the lines. This is easier to read
            // than a column with one letter per line.
            let least = u16::try_from(room).unwrap_or(u16::MAX).saturating_add(column.padding_width());
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(least)));
        }
    }
}

/// Returns the number of characters of the longest word.
fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{arranged, fits, laid_out, report};

    fn table(titles: &[&str], cells: &[&[&str]]) -> comfy_table::Table {
        let mut table = report::Table::new(titles, &[1]);
        for row in cells {
            table.row(row.iter().copied());
        }
        laid_out(&table)
    }

    fn text(table: &comfy_table::Table) -> String {
        arranged(table.clone())
    }

    #[test]
    fn only_names_are_broken_in_a_narrow_terminal() {
        let row = ["a_long_name_of_a_parameter", "+0.18012 / -0.19443", "unconstrained, clipped"];
        let mut t = table(&["parameter", "impact up / down", ""], &[&row]);
        t.set_width(60);
        assert!(!fits(&t));
        let narrow = text(&t);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        assert!(!narrow.contains("a_long_name_of_a_parameter"), "{narrow}");
        for whole in ["+0.18012 / -0.19443", "impact up / down", "unconstrained", "clipped"] {
            assert!(narrow.contains(whole), "{whole} in\n{narrow}");
        }
        t.set_width(70);
        assert!(!fits(&t));
        assert!(text(&t).contains("a_long_name_of_a_parameter"), "{}", text(&t));
        t.set_width(80);
        assert!(fits(&t));
        assert!(text(&t).contains("a_long_name_of_a_parameter"));
    }

    #[test]
    fn names_keep_a_dozen_letters_side_by_side_in_the_narrowest_terminal() {
        let rows: [&[&str]; 2] = [&["mu", "+0.18012 / -0.19443"], &["a_long_name_of_a_parameter", "1"]];
        let mut t = table(&["parameter", "impact up / down"], &rows);
        t.set_width(25);
        let narrow = text(&t);
        assert!(narrow.contains(" parameter ") && narrow.contains(" a_long_name_ "), "{narrow}");
        assert!(narrow.contains("+0.18012 / -0.19443"), "{narrow}");
    }

    #[test]
    fn a_terminal_that_does_not_know_its_width_breaks_nothing() {
        let mut t = table(&["parameter", "pull"], &[&["a_long_name_of_a_parameter", "+0.18"]]);
        t.set_width(0);
        assert!(text(&t).contains("a_long_name_of_a_parameter"));
    }
}
