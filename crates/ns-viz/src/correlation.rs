//! The picture of a correlation matrix.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{LIGHT_GREY, diverging};
use crate::drawing::{Area, Drawing, Ink, Segment, Stroke, rectangle};
use crate::error::{PictureError, same_length};
use crate::font;
use crate::frame::{self, TICK_SIZE};
use crate::header::Header;
use crate::number::{fixed, present};
use crate::text::{Style, drop, fit};

const PICTURE: &str = "correlation";
const MARGIN: f64 = 16.0;
/// Largest width of a parameter name in pixels. Longer names get a smaller font. Names that are still too
/// long are shortened in the middle.
const LONGEST_NAME: f64 = 360.0;
const SHADES: f64 = 32.0;
/// Largest number of parameters for which the coefficients are written into the cells.
const MOST_NUMBERED: usize = 16;

/// The picture of the correlation matrix of a fit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Correlation {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Names of the parameters, in the order of the matrix.
    pub parameters: Vec<String>,
    /// Correlation coefficients, with a row and a column for each parameter. A coefficient that does not
    /// exist, for example for a parameter without uncertainty, is `None`.
    pub matrix: Vec<Vec<Option<f64>>>,
    /// Smallest magnitude of a coefficient that counts as large, between 0 and 1. A parameter is drawn only
    /// if it has a large coefficient with another parameter. By default all parameters are drawn.
    pub threshold: Option<f64>,
}

impl Correlation {
    /// Draws the matrix in colours from blue (-1) through white (0) to red (1), with numbers if there are
    /// at most sixteen parameters.
    ///
    /// # Errors
    /// If there is no parameter, the size of the matrix is wrong, the threshold is not between 0 and 1, or no
    /// coefficient reaches the threshold.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        let empty =
            |field: &str, remedy| PictureError::Empty { picture: PICTURE, field: field.into(), remedy };
        if self.parameters.is_empty() {
            return Err(empty("parameters", "at least one parameter"));
        }
        same_length(PICTURE, "matrix", self.matrix.len(), "parameters", self.parameters.len())?;
        for (index, row) in self.matrix.iter().enumerate() {
            let field = format!("matrix[{index}]");
            same_length(PICTURE, &field, row.len(), "parameters", self.parameters.len())?;
        }
        if let Some(value) = self.threshold.filter(|threshold| !(0.0..=1.0).contains(threshold)) {
            let (field, range) = ("threshold".into(), "between 0 and 1");
            return Err(PictureError::OutOfRange { picture: PICTURE, field, value, range });
        }
        let kept = self.kept();
        if kept.is_empty() {
            let (field, value) = ("threshold".into(), self.threshold.unwrap_or(1.0));
            let range = "smaller: no correlation is as large";
            return Err(PictureError::OutOfRange { picture: PICTURE, field, value, range });
        }
        let names: Vec<&str> =
            kept.iter().filter_map(|at| self.parameters.get(*at)).map(String::as_str).collect();
        let cell: f64 = match kept.len() {
            0..=MOST_NUMBERED => 42.0,
            17..=40 => 22.0,
            41..=100 => 14.0,
            _ => 9.0,
        };
        let size = (0.9 * cell).min(12.0);
        let name_room =
            names.iter().map(|name| font::width(name, size)).fold(0.0, f64::max).min(LONGEST_NAME);
        let side = cell * kept.len() as f64;
        let left = MARGIN + name_room + 7.0;
        let (bar_gap, bar_room) = (18.0, 18.0 + 16.0 + 42.0 + MARGIN);
        let width = (left + side + bar_room).max(self.least_width());

        let subtitle = self.full_subtitle(kept.len());
        let header = Header { title: &self.title, subtitle: &subtitle, entries: Vec::new() };
        let room = width - 2.0 * MARGIN;
        let top = header.height(room);
        let area = Area { left, top, right: left + side, bottom: top + side };
        let height = area.bottom + 7.0 + name_room + MARGIN;
        let mut page = Drawing::new(width, height, "Correlation matrix of the parameters".into());
        header.draw(&mut page, MARGIN, room);

        self.paint_cells(&mut page, &area, &kept, cell);
        for (index, name) in names.iter().enumerate() {
            let middle = (index as f64 + 0.5) * cell;
            let (text, size) = fit(name, name_room, size, size.min(7.0));
            let style = Style::new(size).ending();
            page.text(area.left - 7.0, area.top + middle + drop(size), text.clone(), style);
            page.text(area.left + middle + drop(size), area.bottom + 7.0, text, style.upwards());
        }
        if cell >= 14.0 {
            grid(&mut page, &area, kept.len(), cell);
        }
        frame::outline(&mut page, &area);
        let bar = Area {
            left: area.right + bar_gap,
            right: area.right + bar_gap + 16.0,
            top: area.top,
            bottom: area.top + side.clamp(120.0, 420.0),
        };
        colour_bar(&mut page, &bar);
        page.height = page.height.max((bar.bottom + MARGIN).ceil());
        Ok(page)
    }

    /// Returns the indices of the parameters that are drawn. With a threshold, only parameters with a large
    /// coefficient with another parameter are drawn.
    fn kept(&self) -> Vec<usize> {
        let Some(threshold) = self.threshold else { return (0..self.parameters.len()).collect() };
        let large = |row: usize, column: usize| {
            row != column && self.value(row, column).is_some_and(|value| value.abs() >= threshold)
        };
        let count = self.parameters.len();
        (0..count).filter(|row| (0..count).any(|column| large(*row, column))).collect()
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        present(self.matrix.get(row)?.get(column).copied().flatten())
    }

    /// Returns the smallest width of the picture. It leaves room for a title.
    fn least_width(&self) -> f64 {
        if self.title.is_empty() && self.subtitle.is_empty() { 0.0 } else { 420.0 }
    }

    fn full_subtitle(&self, kept: usize) -> String {
        let Some(threshold) = self.threshold.filter(|_| kept < self.parameters.len()) else {
            return self.subtitle.clone();
        };
        let counted = format!(
            "the {kept} of {} parameters with a correlation of at least {}",
            self.parameters.len(),
            fixed(threshold, 2)
        );
        if self.subtitle.is_empty() { counted } else { format!("{} · {counted}", self.subtitle) }
    }

    /// Paints the cells of the matrix. All cells of the same shade form one path, in which neighbouring cells
    /// of a row are joined. This keeps the file small for 250 parameters. In small matrices the coefficients
    /// are written into the cells.
    fn paint_cells(&self, page: &mut Drawing, area: &Area, kept: &[usize], cell: f64) {
        let shade = |row, column| {
            self.value(row, column).map(|value| (value.clamp(-1.0, 1.0) * SHADES).round() as i32)
        };
        let mut paths: BTreeMap<Option<i32>, Vec<Segment>> = BTreeMap::new();
        for (j, row) in kept.iter().enumerate() {
            let mut start = 0;
            while let Some(first) = kept.get(start) {
                let here = shade(*row, *first);
                let run = kept.iter().skip(start).take_while(|column| shade(*row, **column) == here).count();
                if here != Some(0) {
                    let left = area.left + start as f64 * cell;
                    let top = area.top + j as f64 * cell;
                    let run = Area { left, top, right: left + run as f64 * cell, bottom: top + cell };
                    paths.entry(here).or_default().extend(rectangle(run));
                }
                start += run.max(1);
            }
        }
        for (shade, path) in paths {
            let colour = shade.map_or(LIGHT_GREY, |shade| diverging(f64::from(shade) / SHADES));
            page.path(path, Ink::tile(colour));
        }
        if kept.len() > MOST_NUMBERED {
            return;
        }
        for (j, row) in kept.iter().enumerate() {
            for (i, column) in kept.iter().enumerate() {
                let Some(value) = self.value(*row, *column) else { continue };
                let ink = diverging(value).readable_ink();
                let (text, size) = fit(&fixed(value, 2), cell - 4.0, 11.0, 6.0);
                let x = area.left + (i as f64 + 0.5) * cell;
                let y = area.top + (j as f64 + 0.5) * cell + drop(size);
                page.text(x, y, text, Style::new(size).centred().coloured(ink));
            }
        }
    }
}

fn grid(page: &mut Drawing, area: &Area, count: usize, cell: f64) {
    let mut path = Vec::new();
    for index in 1..count {
        let along = index as f64 * cell;
        path.push(Segment::Move(area.left + along, area.top));
        path.push(Segment::Line(area.left + along, area.bottom));
        path.push(Segment::Move(area.left, area.top + along));
        path.push(Segment::Line(area.right, area.top + along));
    }
    page.path(path, Ink::stroke(Stroke::solid(LIGHT_GREY, 0.5)));
}

fn colour_bar(page: &mut Drawing, area: &Area) {
    let steps = 2 * SHADES as i32;
    for step in 0..steps {
        let edge = |step: i32| area.bottom - area.height() * f64::from(step) / f64::from(steps);
        let colour = diverging((f64::from(step) + 0.5) / SHADES - 1.0);
        page.rect(Area { top: edge(step + 1), bottom: edge(step), ..*area }, Ink::tile(colour));
    }
    frame::outline(page, area);
    let axis = Axis::linear(-1.0, 1.0).between(area.bottom, area.top);
    for (value, label) in axis.ticks(4).major {
        let y = axis.at(value);
        page.line((area.right - 4.0, y), (area.right, y), Stroke::solid(crate::colour::BLACK, 1.0));
        page.text(area.right + 6.0, y + drop(TICK_SIZE), label, Style::new(TICK_SIZE));
    }
}
