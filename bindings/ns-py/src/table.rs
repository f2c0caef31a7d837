//! Results as text and as HTML tables, and arrays as nested lists.

use ns_core::plain;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A table of texts; columns without any content are left out.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with its header; rows are as long as the header.
    pub(crate) fn new(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let used: Vec<bool> = (0..header.len())
            .map(|c| c == 0 || rows.iter().any(|row| row.get(c).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let keep = |row: Vec<String>| -> Vec<String> {
            let kept = row.into_iter().zip(&used).filter(|(_, used)| **used);
            // Names come from files, and a terminal must only show them.
            kept.map(|(cell, _)| plain(&cell).into_owned()).collect()
        };
        Self {
            header: keep(header.iter().map(|h| (*h).to_owned()).collect()),
            rows: rows.into_iter().map(keep).collect(),
        }
    }

    /// Header and rows.
    pub(crate) fn parts(&self) -> (Vec<String>, Vec<Vec<String>>) {
        (self.header.clone(), self.rows.clone())
    }

    /// A table of its header and rows.
    pub(crate) fn of_parts((header, rows): (Vec<String>, Vec<Vec<String>>)) -> Self {
        Self { header, rows }
    }

    /// Aligned columns: names to the left, numbers to the right.
    pub(crate) fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|c| {
                let cells = std::iter::once(&self.header).chain(&self.rows);
                cells.filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(c, (cell, width))| {
                        if c == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            cells.join("  ").trim_end().to_owned()
        };
        let rule = "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
        let mut lines = vec![line(&self.header), rule];
        lines.extend(self.rows.iter().map(line));
        lines.join("\n")
    }

    /// The same for a notebook.
    pub(crate) fn html(&self) -> String {
        let row = |cells: &Vec<String>, tag: &str| {
            let cells: Vec<String> =
                cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
            format!("<tr>{}</tr>", cells.concat())
        };
        let body: Vec<String> = self.rows.iter().map(|cells| row(cells, "td")).collect();
        format!("<table><thead>{}</thead><tbody>{}</tbody></table>", row(&self.header, "th"), body.concat())
    }
}

/// Text that HTML cannot take for markup.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A matrix as a list of lists, with None for NaN.
///
/// # Errors
/// If the array has been reshaped to something else.
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
