//! The cells of a picture of several parameters: one for each parameter, and one for each pair.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::colour::{BLACK, BLUE, Colour, LIGHT_GREY, VERMILION, sequential};
use crate::drawing::{Area, Drawing, Ink, Segment, Stroke};
use crate::marching::Grid;
use crate::number::usable;
use crate::text::{Style, fit};

const CAPTION_SIZE: f64 = 12.0;
pub(super) const CURVE: Stroke = Stroke { colour: BLUE, width: 1.6, dash: None };
pub(super) const BEST: Stroke = Stroke { colour: VERMILION, width: 1.4, dash: Some((5.0, 3.0)) };

/// The distribution of one parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CornerParameter {
    /// Name of the parameter.
    pub parameter: String,
    /// A text above the distribution, such as the mean. If empty, there is none.
    pub summary: String,
    /// Edges of the bins, one more than there are bins. They are the range of the axis, too.
    pub edges: Vec<f64>,
    /// Density in each bin, on any scale.
    pub density: Vec<f64>,
    /// Ends of an interval, which is shaded.
    pub interval: Option<[f64; 2]>,
    /// A value that is marked, such as the best fit.
    pub mark: Option<f64>,
}

/// The joint distribution of two parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CornerPlane {
    /// Values of the parameter of the column, strictly increasing.
    pub x: Vec<f64>,
    /// Values of the parameter of the row, strictly increasing.
    pub y: Vec<f64>,
    /// Density on any scale, indexed `[y][x]`.
    pub density: Vec<Vec<f64>>,
    /// Density at the border of each region of `Corner::masses`.
    pub levels: Vec<f64>,
}

/// Colour of a region, darker for smaller probabilities.
pub(super) fn region(index: usize, count: usize) -> Colour {
    sequential(0.15 + 0.65 * index as f64 / (count.max(2) - 1) as f64)
}

impl CornerParameter {
    pub(super) fn draw(&self, page: &mut Drawing, area: &Area, x: &Axis) {
        if let Some([low, high]) = self.interval {
            let (left, right) = (x.clamped(low), x.clamped(high));
            page.rect(Area { left, right, ..*area }, Ink::fill(LIGHT_GREY));
        }
        let most = self.density.iter().copied().fold(0.0, f64::max);
        let y = Axis::linear(0.0, if most > 0.0 { 1.1 * most } else { 1.0 }).between(area.bottom, area.top);
        let mut line = Vec::with_capacity(2 * self.density.len() + 2);
        for (edges, density) in self.edges.windows(2).zip(&self.density) {
            line.extend(edges.iter().map(|edge| (x.at(*edge), y.at(*density))));
        }
        page.polyline(&line, CURVE);
        if let Some(mark) = self.mark.and_then(usable).filter(|mark| x.holds(*mark)) {
            page.line((x.at(mark), area.top), (x.at(mark), area.bottom), BEST);
        }
        let (text, size) = fit(&self.summary, area.width(), CAPTION_SIZE, 7.0);
        page.text(area.left, area.top - 5.0, text, Style::new(size).coloured(BLACK));
    }
}

impl CornerPlane {
    pub(super) fn draw(&self, page: &mut Drawing, (x, y): (&Axis, &Axis), area: &Area) {
        // Regions are below a height, so that the density is turned upside down.
        let heights: Vec<Vec<Option<f64>>> =
            self.density.iter().map(|row| row.iter().map(|density| Some(-density)).collect()).collect();
        let grid = Grid { x: &self.x, y: &self.y, values: &heights };
        let at =
            |(a, b): (f64, f64)| (x.at(a).clamp(area.left, area.right), y.at(b).clamp(area.top, area.bottom));
        for (index, level) in self.levels.iter().enumerate().rev() {
            let mut path = Vec::new();
            for outline in grid.regions(-level) {
                for (k, point) in outline.into_iter().enumerate() {
                    let (a, b) = at(point);
                    path.push(if k == 0 { Segment::Move(a, b) } else { Segment::Line(a, b) });
                }
                path.push(Segment::Close);
            }
            page.path(path, Ink::fill(region(index, self.levels.len())));
            for line in grid.lines(-level) {
                page.polyline(&line.into_iter().map(at).collect::<Vec<_>>(), CURVE);
            }
        }
    }
}
