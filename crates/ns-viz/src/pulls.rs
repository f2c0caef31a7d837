//! Pulls of the constrained parameters.

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
/// Rows of a column before another one starts.
const MOST_ROWS: usize = 50;

/// One parameter of a pull plot.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullRow {
    /// The parameter's name.
    pub parameter: String,
    /// (Best fit - initial value) / uncertainty before the fit.
    pub pull: Option<f64>,
    /// Uncertainty after the fit / uncertainty before the fit.
    pub constraint: Option<f64>,
}

/// Pulls of many parameters, with the bands of one and two standard deviations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pulls {
    /// Title; none if empty.
    pub title: String,
    /// Second, smaller line of the title; none if empty.
    pub subtitle: String,
    /// The parameters, from top to bottom.
    pub rows: Vec<PullRow>,
    /// Number of columns; by default as many as keep each below 51 rows.
    pub columns: Option<usize>,
}

impl Pulls {
    /// Draws each parameter as a point with the uncertainty that the fit left it.
    ///
    /// # Errors
    /// If there is no row.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        if self.rows.is_empty() {
            let remedy = "at least one constrained parameter";
            return Err(PictureError::Empty { picture: PICTURE, field: "rows".into(), remedy });
        }
        let columns = self.columns.unwrap_or(self.rows.len().div_ceil(MOST_ROWS)).clamp(1, self.rows.len());
        let each = self.rows.len().div_ceil(columns);
        let row = rows::height(each.max(if columns > 2 { 61 } else { 1 }));
        let panel = if columns == 1 { 380.0 } else { 220.0 };
        let chunks: Vec<&[PullRow]> = self.rows.chunks(each).collect();
        let names: Vec<f64> = chunks
            .iter()
            .map(|chunk| rows::name_room(chunk.iter().map(|entry| entry.parameter.as_str()), row))
            .collect();
        let content = names.iter().sum::<f64>() + chunks.len() as f64 * (panel + frame::RIGHT);
        let width = (MARGIN + content).max(520.0);

        let one = Entry::new(Symbol::Box(Ink::fill(BAND_ONE.mix(WHITE, 0.35))), "±1 standard deviation");
        let two = Entry::new(Symbol::Box(Ink::fill(BAND_TWO.mix(WHITE, 0.35))), "±2 standard deviations");
        let point = Entry::new(Symbol::Pull, "pull and constraint");
        let header = Header { title: &self.title, subtitle: &self.subtitle, entries: vec![point, one, two] };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room) + 6.0;
        let height = top + row * each as f64 + frame::BELOW;
        let mut page = Drawing::new(width, height, "Pulls of the nuisance parameters".into());
        header.draw(&mut page, MARGIN, room);

        let half = rows::pull_range(self.rows.iter().map(|entry| (&entry.pull, &entry.constraint)), 3.0);
        let mut right = width - content - frame::RIGHT;
        for (chunk, names) in chunks.iter().zip(names) {
            let left = right + frame::RIGHT + names;
            right = left + panel;
            let area = Area { left, right, top, bottom: top + row * chunk.len() as f64 };
            column(&mut page, &area, chunk, half, names, row);
        }
        Ok(page)
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
