//! Pages with one row for each parameter, arranged in columns. Very long lists become a sheet that is about square, or
//! a PDF of several pages.

use std::ops::Range;

use crate::drawing::{Area, Drawing};
use crate::frame;
use crate::header::Header;
use crate::legend::Entry;
use crate::rows;

const MARGIN: f64 = 16.0;
/// Largest number of rows in a column, if the user does not choose the number of columns.
const MOST_ROWS: usize = 50;
/// Largest number of rows that are drawn on a page with columns of at most [`MOST_ROWS`]. A picture with more rows
/// is one page that is about square, or a PDF of several pages.
const LONGEST_PAGE: usize = 3 * MOST_ROWS;
/// A number of rows for which [`rows::height`] returns its smallest value.
const MANY_ROWS: usize = 61;

/// A list of rows with names, without what is drawn in the panels.
pub(crate) struct Sheet<'a> {
    pub(crate) title: &'a str,
    pub(crate) subtitle: &'a str,
    /// The legend.
    pub(crate) entries: Vec<Entry>,
    pub(crate) description: &'a str,
    /// Names of the rows, from top to bottom. There is at least one.
    pub(crate) names: Vec<&'a str>,
    /// Width of the panel of the only column, in pixels.
    pub(crate) wide_panel: f64,
    /// Width of the panel of each column, in pixels, if there are several columns.
    pub(crate) narrow_panel: f64,
    /// Number of columns, all on one page. By default it depends on the number of rows.
    pub(crate) columns: Option<usize>,
}

/// One column of a page.
pub(crate) struct Column {
    /// The panel.
    pub(crate) area: Area,
    /// Indices of the rows in the column.
    pub(crate) rows: Range<usize>,
    /// Width for the names to the left of the panel, in pixels.
    pub(crate) names: f64,
    /// Height of a row, in pixels.
    pub(crate) row: f64,
    /// Whether the labels of the axis are also above the panel.
    pub(crate) labels_above: bool,
}

impl Column {
    /// Returns the height on the page of the middle of a row. `place` is its index in the column.
    pub(crate) fn y(&self, place: usize) -> f64 {
        self.area.top + (place as f64 + 0.5) * self.row
    }
}

impl Sheet<'_> {
    /// Draws the pages. `column` draws the panel of a column with its names and axes.
    pub(crate) fn draw(&self, column: impl Fn(&mut Drawing, &Column)) -> Drawing {
        let count = self.names.len();
        if let Some(columns) = self.columns {
            return self.page(0..count, columns, self.subtitle, &column);
        }
        if count <= LONGEST_PAGE {
            return self.page(0..count, count.div_ceil(MOST_ROWS), self.subtitle, &column);
        }
        let mut sheet = self.page(0..count, self.square(), self.subtitle, &column);
        let pages = count.div_ceil(2 * MOST_ROWS);
        for index in 0..pages {
            let first = index * 2 * MOST_ROWS;
            let rows = first..(first + 2 * MOST_ROWS).min(count);
            let place =
                format!("page {} of {pages}: {} to {} of {count}", index + 1, rows.start + 1, rows.end);
            let subtitle =
                if self.subtitle.is_empty() { place } else { format!("{} · {place}", self.subtitle) };
            let columns = rows.len().div_ceil(MOST_ROWS);
            sheet.pages.push(self.page(rows, columns, &subtitle, &column));
        }
        sheet
    }

    /// Returns the number of columns that makes the page about as wide as high.
    fn square(&self) -> usize {
        let row = rows::height(MANY_ROWS);
        let names = rows::name_room(self.names.iter().copied(), row);
        let column = names + self.narrow_panel + frame::RIGHT;
        ((self.names.len() as f64 * row / column).sqrt().ceil() as usize).max(LONGEST_PAGE / MOST_ROWS)
    }

    /// Draws `rows` on one page in `columns` columns.
    fn page(
        &self,
        rows: Range<usize>,
        columns: usize,
        subtitle: &str,
        column: &impl Fn(&mut Drawing, &Column),
    ) -> Drawing {
        let columns = columns.clamp(1, rows.len().max(1));
        let each = rows.len().div_ceil(columns).max(1);
        let row = rows::height(each.max(if columns > 2 { MANY_ROWS } else { 1 }));
        let panel = if columns == 1 { self.wide_panel } else { self.narrow_panel };
        let chunks: Vec<Range<usize>> =
            rows.clone().step_by(each).map(|first| first..(first + each).min(rows.end)).collect();
        let room_of = |chunk: &Range<usize>| {
            let names = self.names.get(chunk.clone()).unwrap_or_default();
            rows::name_room(names.iter().copied(), row)
        };
        let names: Vec<f64> = chunks.iter().map(room_of).collect();
        let content = names.iter().sum::<f64>() + chunks.len() as f64 * (panel + frame::RIGHT);
        let width = (MARGIN + content).max(520.0);

        let header = Header { title: self.title, subtitle, entries: self.entries.clone() };
        let room = width - 2.0 * MARGIN;
        // Columns that are longer than a screen also have the labels of their axis above them.
        let labels_above = each > MOST_ROWS;
        let above = if labels_above { 20.0 } else { 0.0 };
        let top = header.height(room) + 6.0 + above;
        let height = top + row * each as f64 + frame::BELOW;
        let mut page = Drawing::new(width, height, self.description.into());
        header.draw(&mut page, MARGIN, room);

        let mut right = width - content - frame::RIGHT;
        for (chunk, names) in chunks.into_iter().zip(names) {
            let left = right + frame::RIGHT + names;
            right = left + panel;
            let area = Area { left, right, top, bottom: top + row * chunk.len() as f64 };
            column(&mut page, &Column { area, rows: chunk, names, row, labels_above });
        }
        page
    }
}
