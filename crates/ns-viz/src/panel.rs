//! The page of a picture with one panel: a header above the panel, and axes around it.

use crate::axis::{Axis, Ticks};
use crate::clip;
use crate::drawing::{Area, Drawing, Stroke};
use crate::frame::{self, Edge};
use crate::header::Header;

/// Everything that determines a page with one panel, except the data.
pub(crate) struct Layout<'a> {
    pub(crate) header: Header<'a>,
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) x_title: &'a str,
    pub(crate) y_title: &'a str,
    /// Width to the right of the panel, in pixels.
    pub(crate) right: f64,
}

/// A page with one panel on which data can be drawn. The axes of the panel convert values to positions on the
/// page.
pub(crate) struct Panel<'a> {
    pub(crate) drawing: Drawing,
    pub(crate) area: Area,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    x_ticks: Ticks,
    y_ticks: Ticks,
    x_title: &'a str,
    y_title: &'a str,
    left: f64,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;

impl<'a> Layout<'a> {
    /// Computes the positions of the panel and its axes, and draws the header.
    pub(crate) fn start(self) -> Panel<'a> {
        let y_ticks = frame::vertical_ticks(&self.y, HEIGHT);
        let left = frame::left_room(&[&y_ticks]);
        let right = WIDTH - self.right.max(frame::RIGHT);
        let room = right - left;
        let top = self.header.height(room);
        let area = Area { left, top, right, bottom: top + HEIGHT };
        let mut drawing = Drawing::new(WIDTH, area.bottom + frame::BELOW, self.description);
        self.header.draw(&mut drawing, left, room);
        let x = self.x.between(left, right);
        let x_ticks = frame::horizontal_ticks(&x, room);
        let y = self.y.between(area.bottom, area.top);
        Panel { drawing, area, x, y, x_ticks, y_ticks, x_title: self.x_title, y_title: self.y_title, left }
    }
}

impl Panel<'_> {
    /// Draws a line through points, given as pairs of values on the two axes. The line is clipped at the edges of the
    /// panel.
    pub(crate) fn curve(&mut self, values: &[(f64, f64)], pen: Stroke) {
        let points: Vec<_> = values.iter().map(|(x, y)| (self.x.at(*x), self.y.at(*y))).collect();
        for part in clip::polyline(&points, &self.area) {
            self.drawing.polyline(&part, pen);
        }
    }

    /// Returns whether the point with the values `x` and `y` on the two axes lies in the panel.
    pub(crate) fn holds(&self, x: f64, y: f64) -> bool {
        self.x.holds(x) && self.y.holds(y)
    }

    /// Draws the axes on top of the data and returns the page.
    pub(crate) fn finish(mut self) -> Drawing {
        let page = &mut self.drawing;
        frame::horizontal_marks(page, &self.area, &self.x, &self.x_ticks, &[Edge::Bottom, Edge::Top]);
        frame::horizontal_labels(page, &self.area, &self.x, &self.x_ticks, Edge::Bottom, self.x_title);
        frame::vertical(page, &self.area, &self.y, &self.y_ticks, self.left, self.y_title);
        frame::outline(page, &self.area);
        self.drawing
    }
}
