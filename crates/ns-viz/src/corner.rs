//! The picture of a sample of several parameters: the distribution of each, and the region of each pair.

mod cells;

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Ticks};
use crate::colour::{LIGHT_GREY, VERMILION};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::error::{PictureError, drawable, increasing, same_length};
use crate::frame::{self, Edge};
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::limit::confidence;
use crate::number::usable;
use crate::text::{Style, fit};

use cells::{BEST, CURVE, region};
pub use cells::{CornerParameter, CornerPlane};

const PICTURE: &str = "corner";
const MARGIN: f64 = 16.0;
/// Distance of two cells, in pixels.
const GAP: f64 = 14.0;
/// Height of the line above a distribution.
const CAPTION: f64 = 20.0;
/// Width of the row of cells of a picture with few parameters.
const ROOM: f64 = 640.0;
/// Smallest and largest width of a cell.
const CELL: (f64, f64) = (110.0, 240.0);
/// Distance of a tick with a label from the edge of its cell.
const CLEAR: f64 = 12.0;

/// The picture of the distributions of parameters and of pairs of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Corner {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// The parameters, from left to right.
    pub parameters: Vec<CornerParameter>,
    /// The pairs: for the second parameter that with the first, for the third those with the first and the second, and so on.
    pub planes: Vec<CornerPlane>,
    /// Probabilities of the regions of pairs, the smallest first.
    pub masses: Vec<f64>,
    /// Probability of the intervals.
    pub interval_mass: f64,
    /// Name of the marked values.
    pub mark: String,
}

/// An axis of a parameter with its ticks, for cells of one size.
struct Scale {
    axis: Axis,
    ticks: Ticks,
}

impl Corner {
    /// Draws a triangle of cells.
    ///
    /// # Errors
    /// If there is no parameter, a number of planes, levels or densities does not fit, edges or values do not increase, or
    /// a number cannot be drawn.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        self.check()?;
        let n = self.parameters.len();
        let cell = (ROOM / n as f64).clamp(CELL.0, CELL.1);
        let scales: Vec<Scale> = self.parameters.iter().map(|one| scale(one, cell)).collect();
        let shown: Vec<&Ticks> = scales.iter().skip(1).map(|scale| &scale.ticks).collect();
        let left = MARGIN + frame::left_room(&shown);
        let pitch = cell + GAP;
        let width = (left + pitch * n as f64 - GAP + frame::RIGHT).max(300.0);
        let room = width - left - MARGIN;
        let header = Header { title: &self.title, subtitle: &self.subtitle, entries: self.entries() };
        let top = header.height(room) + CAPTION;
        let height = top + pitch * n as f64 - GAP + frame::BELOW;
        let names: Vec<&str> = self.parameters.iter().map(|one| one.parameter.as_str()).collect();
        let mut page = Drawing::new(width, height, format!("Distributions of {}", names.join(", ")));
        header.draw(&mut page, left, room);
        let area = |column: usize, row: usize| {
            let (x, y) = (left + pitch * column as f64, top + pitch * row as f64);
            Area { left: x, right: x + cell, top: y, bottom: y + cell }
        };
        let mut planes = self.planes.iter();
        for (row, up) in scales.iter().enumerate() {
            for (column, (along, one)) in scales.iter().zip(&self.parameters).enumerate().take(row + 1) {
                let area = area(column, row);
                let x = along.axis.between(area.left, area.right);
                if column == row {
                    one.draw(&mut page, &area, &x);
                } else if let Some(plane) = planes.next() {
                    let y = up.axis.between(area.bottom, area.top);
                    plane.draw(&mut page, (&x, &y), &area);
                    self.marks(&mut page, (&x, &y), &area, (column, row));
                    if column == 0 {
                        let name = self.parameters.get(row).map_or("", |one| one.parameter.as_str());
                        frame::vertical(&mut page, &area, &y, &up.ticks, left - MARGIN, name);
                    }
                }
                frame::horizontal_marks(&mut page, &area, &x, &along.ticks, &[Edge::Bottom]);
                if row + 1 == n {
                    labels(&mut page, &area, &x, &along.ticks, &one.parameter);
                }
                frame::outline(&mut page, &area);
            }
        }
        Ok(page)
    }

    fn check(&self) -> Result<(), PictureError> {
        let n = self.parameters.len();
        if n == 0 {
            let remedy = "at least one parameter";
            return Err(PictureError::Empty { picture: PICTURE, field: "parameters".into(), remedy });
        }
        same_length(PICTURE, "planes", self.planes.len(), "pairs of parameters", n * (n - 1) / 2)?;
        for one in &self.parameters {
            increasing(PICTURE, "edges", &one.edges)?;
            same_length(PICTURE, "edges", one.edges.len(), "density (one more)", one.density.len() + 1)?;
            drawable(PICTURE, "density", &one.density)?;
        }
        for plane in &self.planes {
            increasing(PICTURE, "x", &plane.x)?;
            increasing(PICTURE, "y", &plane.y)?;
            same_length(PICTURE, "density", plane.density.len(), "y", plane.y.len())?;
            same_length(PICTURE, "levels", plane.levels.len(), "masses", self.masses.len())?;
            for row in &plane.density {
                same_length(PICTURE, "density", row.len(), "x", plane.x.len())?;
                drawable(PICTURE, "density", row)?;
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (index, mass) in self.masses.iter().enumerate().filter(|_| !self.planes.is_empty()) {
            let ink = Ink::outlined(region(index, self.masses.len()), CURVE);
            entries.push(Entry::new(Symbol::Box(ink), format!("{} region", confidence(1.0 - mass))));
        }
        if self.parameters.iter().any(|one| one.interval.is_some()) {
            let text = format!("{} interval", confidence(1.0 - self.interval_mass));
            entries.push(Entry::new(Symbol::Box(Ink::fill(LIGHT_GREY)), text));
        }
        if self.parameters.iter().any(|one| one.mark.is_some()) && !self.mark.is_empty() {
            entries.push(Entry::new(Symbol::Line(BEST), self.mark.as_str()));
        }
        entries
    }

    /// Draws a small cross at the marked values of a pair.
    fn marks(&self, page: &mut Drawing, (x, y): (&Axis, &Axis), area: &Area, (column, row): (usize, usize)) {
        let value = |k: usize| self.parameters.get(k).and_then(|one| one.mark).and_then(usable);
        if let (Some(a), Some(b)) =
            (value(column).filter(|v| x.holds(*v)), value(row).filter(|v| y.holds(*v)))
        {
            let (a, b) = (x.at(a), y.at(b));
            let pen = Stroke::solid(VERMILION, 1.6);
            page.line(((a - 5.0).max(area.left), b), ((a + 5.0).min(area.right), b), pen);
            page.line((a, (b - 5.0).max(area.top)), (a, (b + 5.0).min(area.bottom)), pen);
        }
    }
}

/// Returns the axis of a parameter. Ticks near the ends are left out, so that labels of neighbouring cells keep apart.
fn scale(one: &CornerParameter, cell: f64) -> Scale {
    let ends = one.edges.first().copied().zip(one.edges.last().copied()).unwrap_or((0.0, 1.0));
    let axis = Axis::linear(ends.0, ends.1).between(0.0, cell);
    let fits = |ticks: &Ticks| {
        let widest = ticks.major.iter().map(|(_, label)| crate::font::width(label, frame::TICK_SIZE));
        let widest = widest.fold(0.0, f64::max) + 6.0;
        ticks.major.windows(2).all(|pair| axis.at(pair[1].0) - axis.at(pair[0].0) >= widest)
    };
    let clear = |mut ticks: Ticks| {
        ticks.major.retain(|(value, _)| (CLEAR..=cell - CLEAR).contains(&axis.at(*value)));
        ticks
    };
    let all = || (1..=7).rev().map(|most| clear(axis.ticks(most))).filter(fits);
    // One label gives no scale.
    let ticks = all().find(|ticks| (2..=3).contains(&ticks.major.len())).or_else(|| all().next());
    let ticks = ticks.unwrap_or_else(|| clear(axis.ticks(1)));
    Scale { axis, ticks }
}

/// Draws the tick labels of a column and the name of its parameter, within its width.
fn labels(page: &mut Drawing, area: &Area, axis: &Axis, ticks: &Ticks, name: &str) {
    for (value, label) in &ticks.major {
        let style = Style::new(frame::TICK_SIZE).centred();
        page.text(axis.at(*value), area.bottom + 7.0 + 0.76 * frame::TICK_SIZE, label.clone(), style);
    }
    let (text, size) = fit(&frame::with_factor(name, ticks.exponent), area.width(), frame::TITLE_SIZE, 7.0);
    page.text(area.right, area.bottom + 41.0, text, Style::new(size).ending());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Corner {
        let edges: Vec<f64> = (0..11).map(|i| -2.5 + 0.5 * f64::from(i)).collect();
        let centres: Vec<f64> = edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
        let one = |name: &str| CornerParameter {
            parameter: name.into(),
            summary: format!("{name} = 0.0 ± 1.0"),
            density: centres.iter().map(|x| (-0.5 * x * x).exp()).collect(),
            edges: edges.clone(),
            interval: Some([-1.9, 1.9]),
            mark: Some(0.1),
        };
        let row = |y: &f64| centres.iter().map(|x| (-0.5 * (x * x + y * y)).exp()).collect();
        let plane = CornerPlane {
            x: centres.clone(),
            y: centres.clone(),
            density: centres.iter().map(row).collect(),
            levels: vec![0.317, 0.05],
        };
        Corner {
            parameters: vec![one("mu"), one("nu")],
            planes: vec![plane],
            masses: vec![0.683, 0.95],
            interval_mass: 0.95,
            mark: "best fit".into(),
            ..Corner::default()
        }
    }

    #[test]
    fn a_corner_names_its_parts() {
        let labels = picture().draw().unwrap().labels();
        for text in
            ["68.3 % region", "95 % region", "95 % interval", "best fit", "mu", "nu", "mu = 0.0 ± 1.0"]
        {
            assert!(labels.iter().any(|label| label.text == text), "{text}: {labels:?}");
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert!(Corner { planes: Vec::new(), ..picture() }.draw().is_err());
        assert!(Corner { masses: vec![0.95], ..picture() }.draw().is_err());
        assert!(Corner { parameters: Vec::new(), planes: Vec::new(), ..picture() }.draw().is_err());
    }
}
