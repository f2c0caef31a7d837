//! The picture of the pulls of constrained parameters.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BAND_ONE, BAND_TWO, GREY, WHITE};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::PictureError;
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::rows::{self, PULL_TITLE};

const PICTURE: &str = "pulls";
const MARGIN: f64 = 16.0;
/// Largest number of rows in a column, if the user does not choose the number of columns.
const MOST_ROWS: usize = 50;
/// Largest number of rows that are drawn on a page with columns of at most [`MOST_ROWS`]. A picture with more rows
/// is one page that is about square, or a PDF of several pages.
const LONGEST_PAGE: usize = 3 * MOST_ROWS;
/// A number of rows for which [`rows::height`] returns its smallest value.
const MANY_ROWS: usize = 61;
/// Width of the panel of each column, in pixels, if there are several columns.
const NARROW_PANEL: f64 = 220.0;

/// One parameter in the picture of pulls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullRow {
    /// Name of the parameter.
    pub parameter: String,
    /// The difference between the best fit and the centre of the constraint, divided by the uncertainty before the
    /// fit. For a Gaussian constraint, the centre is the auxiliary datum. For a Poisson constraint, it is the
    /// auxiliary datum divided by tau.
    pub pull: Option<f64>,
    /// Uncertainty after the fit, divided by the uncertainty before the fit.
    pub constraint: Option<f64>,
}

/// The picture of the pulls of parameters, with the bands of one and two standard deviations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pulls {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The parameters, from top to bottom.
    pub rows: Vec<PullRow>,
    /// Number of columns, all on one page. By default, up to 150 rows are arranged in columns of at most 50 rows.
    /// More rows are arranged in as many columns as make the page about square; a PDF then has several pages of two
    /// columns instead.
    pub columns: Option<usize>,
}

impl Pulls {
    /// Draws the pull of each parameter as a point, with its uncertainty after the fit as error bar. Long
    /// lists are arranged in columns, as described at [`Pulls::columns`].
    ///
    /// # Errors
    /// If there is no row.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        if self.rows.is_empty() {
            let remedy = "at least one constrained parameter";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        }
        let half = rows::pull_range(self.rows.iter().map(|entry| (&entry.pull, &entry.constraint)), 3.0);
        let count = self.rows.len();
        if let Some(columns) = self.columns {
            return Ok(self.sheet(&self.rows, columns, half, &self.subtitle));
        }
        if count <= LONGEST_PAGE {
            return Ok(self.sheet(&self.rows, count.div_ceil(MOST_ROWS), half, &self.subtitle));
        }
        let mut sheet = self.sheet(&self.rows, self.square(), half, &self.subtitle);
        let chunks = self.rows.chunks(2 * MOST_ROWS);
        let pages = chunks.len();
        for (index, chunk) in chunks.enumerate() {
            let first = index * 2 * MOST_ROWS + 1;
            let place =
                format!("page {} of {pages}: {first} to {} of {count}", index + 1, first + chunk.len() - 1);
            let subtitle =
                if self.subtitle.is_empty() { place } else { format!("{} · {place}", self.subtitle) };
            sheet.pages.push(self.sheet(chunk, chunk.len().div_ceil(MOST_ROWS), half, &subtitle));
        }
        Ok(sheet)
    }

    /// Returns the number of columns that makes the page about as wide as high.
    fn square(&self) -> usize {
        let row = rows::height(MANY_ROWS);
        let names = rows::name_room(self.rows.iter().map(|entry| entry.parameter.as_str()), row);
        let column = names + NARROW_PANEL + frame::RIGHT;
        ((self.rows.len() as f64 * row / column).sqrt().ceil() as usize).max(LONGEST_PAGE / MOST_ROWS)
    }

    /// Draws `entries` on one page in `columns` columns. The axes of the pulls go from `-half` to `half`.
    fn sheet(&self, entries: &[PullRow], columns: usize, half: f64, subtitle: &str) -> Drawing {
        let columns = columns.clamp(1, entries.len().max(1));
        let each = entries.len().div_ceil(columns).max(1);
        let row = rows::height(each.max(if columns > 2 { MANY_ROWS } else { 1 }));
        let panel = if columns == 1 { 380.0 } else { NARROW_PANEL };
        let chunks: Vec<&[PullRow]> = entries.chunks(each).collect();
        let names: Vec<f64> = chunks
            .iter()
            .map(|chunk| rows::name_room(chunk.iter().map(|entry| entry.parameter.as_str()), row))
            .collect();
        let content = names.iter().sum::<f64>() + chunks.len() as f64 * (panel + frame::RIGHT);
        let width = (MARGIN + content).max(520.0);

        let one = Entry::new(Symbol::Box(Ink::fill(BAND_ONE.mix(WHITE, 0.35))), "±1 standard deviation");
        let two = Entry::new(Symbol::Box(Ink::fill(BAND_TWO.mix(WHITE, 0.35))), "±2 standard deviations");
        let point = Entry::new(Symbol::Pull, "pull and constraint");
        let header = Header { title: &self.title, subtitle, entries: vec![point, one, two] };
        let room = width - 2.0 * MARGIN;
        // Columns that are longer than a screen also have the labels of their axis above them.
        let above = if each > MOST_ROWS { 20.0 } else { 0.0 };
        let top = header.height(room) + 6.0 + above;
        let height = top + row * each as f64 + frame::BELOW;
        let mut page = Drawing::new(width, height, "Pulls of the nuisance parameters".into());
        header.draw(&mut page, MARGIN, room);

        let mut right = width - content - frame::RIGHT;
        for (chunk, names) in chunks.iter().zip(names) {
            let left = right + frame::RIGHT + names;
            right = left + panel;
            let area = Area { left, right, top, bottom: top + row * chunk.len() as f64 };
            column(&mut page, &area, chunk, half, names, row);
            if above > 0.0 {
                let axis = Axis::linear(-half, half).between(area.left, area.right);
                let ticks = frame::horizontal_ticks(&axis, area.width());
                frame::horizontal_labels(&mut page, &area, &axis, &ticks, Edge::Top, "");
            }
        }
        page
    }
}

fn column(page: &mut Drawing, area: &Area, chunk: &[PullRow], half: f64, names: f64, row: f64) {
    let axis = Axis::linear(-half, half).between(area.left, area.right);
    for (reach, colour) in [(2.0, BAND_TWO), (1.0, BAND_ONE)] {
        let band = Area { left: axis.clamped(-reach), right: axis.clamped(reach), ..*area };
        page.rect(band, Ink::fill(colour.mix(WHITE, 0.35)));
    }
    page.line((axis.at(0.0), area.top), (axis.at(0.0), area.bottom), Stroke::dashed(GREY, 1.0, 5.0, 4.0));
    for (index, entry) in chunk.iter().enumerate() {
        let y = area.top + (index as f64 + 0.5) * row;
        rows::pull(page, area, &axis, y, entry.pull, entry.constraint, row);
        rows::name(page, area.left, y, &entry.parameter, names, row);
    }
    let ticks = frame::horizontal_ticks(&axis, area.width());
    frame::horizontal_marks(page, area, &axis, &ticks, &[Edge::Top, Edge::Bottom]);
    frame::horizontal_labels(page, area, &axis, &ticks, Edge::Bottom, PULL_TITLE);
    frame::outline(page, area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_of_a_thousand_parameters_fold_into_columns_and_pages() {
        let rows = (0..1000).map(|index| PullRow {
            parameter: format!("alpha_systematic_{index}"),
            pull: Some(0.001 * f64::from(index)),
            constraint: Some(0.9),
        });
        let pulls = Pulls { rows: rows.collect(), subtitle: "interrupted".into(), ..Pulls::default() };
        let sheet = pulls.draw().unwrap();
        let shape = sheet.width() / sheet.height();
        assert!((0.5..2.0).contains(&shape), "{} x {}", sheet.width(), sheet.height());
        assert!(sheet.width() < 4000.0, "{}", sheet.width());
        assert_eq!(sheet.pages(), 10);
        let names = |drawing: &Drawing| {
            drawing.labels().into_iter().filter(|label| label.text.starts_with("alpha_")).count()
        };
        assert_eq!((names(&sheet), sheet.pages.iter().map(names).sum::<usize>()), (1000, 1000));
        for page in &sheet.pages {
            assert!(page.width() < 1000.0 && page.height() < 1100.0, "{} x {}", page.width(), page.height());
            assert!(page.labels().iter().any(|label| label.text.starts_with("interrupted · page ")));
        }
        let pdf = sheet.to_pdf().unwrap();
        assert!(String::from_utf8_lossy(&pdf).contains("/Count 10"));
        assert_eq!(Pulls { columns: Some(4), ..pulls }.draw().unwrap().pages(), 1);
    }
}
