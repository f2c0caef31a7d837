//! Points with error bars, collected into a few shapes. Viewers are slow to open files with twenty thousand
//! separate shapes.

use crate::axis::Axis;
use crate::colour::BLACK;
use crate::drawing::{Area, Drawing, Ink, Segment, Stroke, circle};

/// Smallest distance of a point from the end of its error bar at which the bar may end in a head.
const CLEAR: f64 = 8.0;

/// The points of a panel with their error bars.
pub(crate) struct Marks<'a> {
    area: &'a Area,
    axis: Axis,
    /// Whether an error bar that extends beyond the panel ends in an arrow head.
    heads: bool,
    bars: Vec<Segment>,
    points: Vec<Segment>,
    /// Arrow heads of points beyond the panel. They form a path of their own, because their outlines run in
    /// the opposite direction of those of the points. In a common path, the overlap of an arrow head and a
    /// point would not be filled.
    arrows: Vec<Segment>,
}

impl<'a> Marks<'a> {
    /// Creates an empty collection for the panel `area` with the vertical axis `axis`. `heads` says whether error
    /// bars that extend beyond the panel end in arrow heads.
    pub(crate) fn new(area: &'a Area, axis: Axis, heads: bool) -> Self {
        Self { area, axis, heads, bars: Vec::new(), points: Vec::new(), arrows: Vec::new() }
    }

    /// Adds a point in the middle between `left` and `right` (positions on the page), with an error bar from
    /// `low` to `up` (values). If the point is beyond the panel, an arrow is drawn at the edge instead. No
    /// arrow is drawn for a count of 0 on a logarithmic axis if its error bar is visible.
    pub(crate) fn add(&mut self, (left, right): (f64, f64), value: f64, low: f64, up: f64) {
        let (area, y) = (self.area, &self.axis);
        let x = 0.5 * (left + right);
        if y.holds(up) || y.holds(low) || (low < y.lo && up > y.hi) {
            self.bars.extend([Segment::Move(x, y.clamped(low)), Segment::Line(x, y.clamped(up))]);
            let mut head = |tip: f64, back: f64| {
                self.bars.extend([
                    Segment::Move(x - 2.5, back),
                    Segment::Line(x, tip),
                    Segment::Line(x + 2.5, back),
                ]);
            };
            // Close to a point, a head would be a blot.
            let is_clear = |end: f64| (y.at(value) - end).abs() > CLEAR;
            if self.heads && up > y.hi && !y.holds(up) && y.holds(value) && is_clear(area.top) {
                head(area.top + 1.0, area.top + 5.0);
            }
            if self.heads && low < y.lo && !y.holds(low) && y.holds(value) && is_clear(area.bottom) {
                head(area.bottom - 1.0, area.bottom - 5.0);
            }
        }
        // Points of narrow bins are smaller, but large enough to be seen.
        let narrow = (0.4 * (right - left)).max(1.2);
        let radius = (0.012 * area.width()).clamp(2.0, 3.6).min(narrow);
        let mut arrow = |tip: f64, back: f64| {
            self.arrows.extend([
                Segment::Move(x, tip),
                Segment::Line(x - 4.0, back),
                Segment::Line(x + 4.0, back),
                Segment::Close,
            ]);
        };
        if y.holds(value) {
            self.points.extend(circle(x, y.at(value), radius));
        } else if value > y.hi {
            arrow(area.top + 1.5, area.top + 8.5);
        } else if value > 0.0 || up < y.lo || !y.is_log() {
            arrow(area.bottom - 1.5, area.bottom - 8.5);
        }
    }

    /// Adds a vertical line at the position `x`, from the value `from` to the value `to`. The line stands for
    /// several bins within one pixel. `from` is their lowest value and `to` their highest.
    pub(crate) fn join(&mut self, x: f64, from: f64, to: f64) {
        self.bars
            .extend([Segment::Move(x, self.axis.clamped(from)), Segment::Line(x, self.axis.clamped(to))]);
    }

    /// Draws all points and error bars.
    pub(crate) fn draw(self, page: &mut Drawing) {
        page.path(self.bars, Ink::stroke(Stroke::solid(BLACK, 1.3)));
        page.path(self.points, Ink::fill(BLACK));
        page.path(self.arrows, Ink::fill(BLACK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_below_the_panel_are_arrows() {
        let area = Area { left: 0.0, right: 100.0, top: 0.0, bottom: 80.0 };
        let arrows = |axis: Axis, value: f64, low: f64, up: f64| {
            let mut marks = Marks::new(&area, axis.between(80.0, 0.0), true);
            marks.add((40.0, 60.0), value, low, up);
            (marks.arrows.len(), marks.points.len())
        };
        // A pull of -9 whose error bar ends within the panel, and a count of 0 on a logarithmic axis.
        assert_eq!(arrows(Axis::linear(-8.0, 8.0), -8.5, -9.5, -7.5), (4, 0));
        assert_eq!(arrows(Axis::linear(0.5, 1.5), 0.0, 0.0, 0.7), (4, 0));
        assert_eq!(arrows(Axis::log(0.1, 10.0), 0.0, 0.0, 1.8), (0, 0));
    }

    #[test]
    fn a_point_near_the_edge_has_no_head_on_its_bar() {
        let area = Area { left: 0.0, right: 100.0, top: 0.0, bottom: 80.0 };
        let bars = |value: f64| {
            let mut marks = Marks::new(&area, Axis::linear(-8.0, 8.0).between(80.0, 0.0), true);
            marks.add((40.0, 60.0), value, value - 4.0, value + 1.0);
            marks.bars.len()
        };
        assert_eq!((bars(-7.9), bars(-6.0)), (2, 5));
    }

    #[test]
    fn bars_beyond_the_panel_end_in_a_head() {
        let area = Area { left: 0.0, right: 100.0, top: 0.0, bottom: 80.0 };
        let axis = Axis::linear(0.0, 2.0).between(80.0, 0.0);
        let count = |up: f64, heads: bool| {
            let mut marks = Marks::new(&area, axis, heads);
            marks.add((40.0, 60.0), 1.0, 0.5, up);
            marks.bars.len()
        };
        assert_eq!((count(1.5, true), count(9.0, true), count(9.0, false)), (2, 5, 2));
    }
}
