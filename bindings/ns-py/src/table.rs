//! Converts results to text and to HTML, and arrays to nested lists.

use ns_core::{plain, plain_lines};
use ns_inference::report::{Part, Table, html_table, html_text};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Returns a result as plain text. Control characters are escaped, because names come from files.
pub(crate) fn text(parts: &[Part]) -> String {
    let shown = parts.iter().map(|part| match part {
        Part::Text(lines) => plain_lines(lines).into_owned(),
        Part::Table(table) | Part::Either(table, _) | Part::Arranged { screen: table, .. } => aligned(table),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Returns a result as HTML for a notebook.
pub(crate) fn html(parts: &[Part]) -> String {
    let shown = parts.iter().map(|part| match part {
        Part::Text(lines) => html_text(lines),
        Part::Table(table) | Part::Either(table, _) | Part::Arranged { screen: table, .. } => {
            html_table(table)
        }
    });
    shown.collect()
}

/// Returns a table as text with aligned columns. Texts are aligned to the left, numbers to the right.
fn aligned(table: &Table) -> String {
    let titles: Vec<String> = table.columns.iter().map(|column| column.title.clone()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(&titles)
        .chain(&table.rows)
        .map(|row| row.iter().map(|cell| plain(cell).into_owned()).collect())
        .collect();
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..titles.len()).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).zip(&table.columns).map(|((cell, width), column)| {
            if column.numbers { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1, "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)));
    lines.join("\n")
}

/// Converts a matrix to a list of lists, with None for NaN.
///
/// # Errors
/// If the array is not contiguous. Arrays of results are contiguous unless the user changes them.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyArrayDyn<f64>>,
) -> PyResult<Bound<'py, PyList>> {
    let width = matrix.shape().last().copied().unwrap_or(1).max(1);
    let values = matrix.to_vec()?;
    let list = PyList::empty(py);
    for row in values.chunks(width) {
        let row: Vec<Option<f64>> = row.iter().map(|x| Some(*x).filter(|x| !x.is_nan())).collect();
        list.append(row)?;
    }
    Ok(list)
}
