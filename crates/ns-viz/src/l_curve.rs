//! The picture of scanned strengths of a regularisation.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLUE, VERMILION};
use crate::drawing::{Drawing, Ink, Stroke};
use crate::error::{PictureError, same_length};
use crate::frame;
use crate::header::Header;
use crate::legend::{Entry, Symbol};
use crate::number::{extent, present};
use crate::panel::Layout;

const PICTURE: &str = "L-curve";
const CURVE: Stroke = Stroke { colour: BLUE, width: 1.6, dash: None };

/// The picture of a curve along scanned strengths, such as an L-curve.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LCurve {
    /// Title of the picture. If empty, there is no title.
    pub title: String,
    /// Subtitle, a smaller line below the title. If empty, there is no subtitle.
    pub subtitle: String,
    /// Title of the horizontal axis, which is logarithmic.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Horizontal positions in the order of the strengths; `None` where there is none.
    pub x: Vec<Option<f64>>,
    /// Vertical positions in the same order.
    pub y: Vec<Option<f64>>,
    /// The chosen point.
    pub chosen: Option<[f64; 2]>,
    /// Text of the legend about the chosen point.
    pub chosen_text: String,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
}

impl LCurve {
    /// Draws the points, a line through them and the chosen point.
    ///
    /// # Errors
    /// If no point can be drawn or the lengths of fields differ.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        same_length(PICTURE, "y", self.y.len(), "x", self.x.len())?;
        let is_shown = |(x, y): &(f64, f64)| *x > 0.0 && (!self.log_y || *y > 0.0);
        let points: Vec<(f64, f64)> = self
            .x
            .iter()
            .zip(&self.y)
            .filter_map(|(x, y)| Some((present(*x)?, present(*y)?)))
            .filter(is_shown)
            .collect();
        let chosen = self.chosen.map(|[x, y]| (x, y)).filter(is_shown);
        let all = || points.iter().copied().chain(chosen);
        let ends = extent(all().map(|point| point.0)).zip(extent(all().map(|point| point.1)));
        let (Some((x, y)), false) = (ends, points.is_empty()) else {
            let remedy = "at least one positive point";
            return Err(PictureError::Empty { picture: PICTURE, field: "x".into(), remedy });
        };
        let mut panel = self.layout(x, y, chosen.is_some()).start();
        panel.curve(&points, CURVE);
        for (x, y) in &points {
            let (x, y) = (panel.x.at(*x), panel.y.at(*y));
            panel.drawing.circle(x, y, 2.2, Ink::fill(BLUE));
        }
        if let Some((x, y)) = chosen {
            let (x, y) = (panel.x.at(x), panel.y.at(y));
            panel.drawing.circle(x, y, 5.0, Ink::fill(VERMILION));
        }
        Ok(panel.finish())
    }

    fn layout(&self, x: (f64, f64), y: (f64, f64), has_chosen: bool) -> Layout<'_> {
        let mut entries = vec![Entry::new(Symbol::Dotted(CURVE), "scanned strengths")];
        if has_chosen {
            entries.push(Entry::new(Symbol::Dot(Ink::fill(VERMILION)), self.chosen_text.clone()));
        }
        let room = (x.1 / x.0).powf(0.04).max(1.005);
        let y = if self.log_y {
            let room = (y.1 / y.0).powf(0.05).max(1.02);
            Axis::log(y.0 / room, y.1 * room)
        } else {
            let room = 0.08 * (y.1 - y.0);
            Axis::linear(y.0 - room, y.1 + room)
        };
        Layout {
            header: Header { title: &self.title, subtitle: &self.subtitle, entries },
            description: "Scanned strengths of a regularisation".into(),
            x: Axis::log(x.0 / room, x.1 * room),
            y,
            x_title: &self.x_title,
            y_title: &self.y_title,
            right: frame::RIGHT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_cannot_be_drawn_are_left_out() {
        let picture = LCurve {
            x: vec![Some(10.0), None, Some(12.0), Some(400.0)],
            y: vec![Some(1e3), Some(1.0), Some(2.0), Some(0.0)],
            chosen: Some([12.0, 2.0]),
            chosen_text: "chosen".into(),
            log_y: true,
            ..LCurve::default()
        };
        let labels = picture.draw().unwrap().labels();
        assert!(labels.iter().any(|label| label.text == "chosen"), "{labels:?}");
        assert!(LCurve { x: vec![None; 4], ..picture }.draw().is_err());
    }
}
