//! Draws the expected events as curves: filled and stacked, or one line per sample and a line for the sum.
//! Also shades blinded ranges.

use std::ops::Range;

use super::{Layer, Stack};
use crate::axis::Axis;
use crate::clip;
use crate::colour::{BLACK, BLUE, Colour};
use crate::drawing::{Area, Drawing, Ink, Stroke, rectangle};
use crate::legend;

/// Background colour of blinded ranges.
pub(crate) const BLIND: Colour = Colour(236, 236, 236);

/// Returns the stroke of a layer that is drawn as a line.
pub(super) fn pen(layer: &Layer) -> Stroke {
    sample_line(layer.colour, layer.dashed)
}

/// Returns the stroke of a sample that is drawn as a line of this colour.
pub(crate) fn sample_line(colour: Colour, dashed: bool) -> Stroke {
    if dashed { Stroke::dashed(colour, 2.0, 7.0, 3.5) } else { Stroke::solid(colour, 2.0) }
}

/// Returns the stroke of the line for the sum of all samples.
pub(crate) fn sum_line() -> Stroke {
    Stroke::solid(BLACK, 1.4)
}

/// Returns the stroke of the line for the expectation before the fit.
pub(crate) fn before_line() -> Stroke {
    Stroke::dashed(BLUE, 1.6, 6.0, 3.0)
}

impl Stack {
    /// Iterates over the sum of all layers at each position of the curves.
    pub(super) fn total_curve(&self) -> impl Iterator<Item = f64> {
        (0..self.positions.len()).map(|i| self.layers.iter().filter_map(|layer| layer.curve.get(i)).sum())
    }

    /// Returns the runs of positions between which no hidden range lies.
    fn runs(&self) -> Vec<Range<usize>> {
        let hidden = if self.fitted { self.blind.as_slice() } else { &[] };
        let is_inside = |at: f64| hidden.iter().any(|(from, to)| *from < at && at < *to);
        let is_gap = |left: f64, right: f64| hidden.iter().any(|(from, to)| left <= *from && right >= *to);
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut before = None;
        for (index, at) in self.positions.iter().enumerate() {
            match runs.last_mut() {
                _ if is_inside(*at) => {}
                Some(run) if run.end == index && !before.is_some_and(|left| is_gap(left, *at)) => {
                    run.end = index + 1;
                }
                _ => runs.push(index..index + 1),
            }
            before = Some(*at);
        }
        runs
    }

    /// Draws the curves of the layers, and the uncertainty of their sum.
    pub(super) fn paint_curves(&self, page: &mut Drawing, area: &Area, x: &Axis, y: &Axis) {
        let runs = self.runs();
        let line = |run: &Range<usize>, heights: &[f64], y: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
            let heights = heights.get(run.clone()).unwrap_or_default();
            let positions = self.positions.get(run.clone()).unwrap_or_default();
            positions.iter().zip(heights).map(|(&at, &height)| (x.at(at), y(height))).collect()
        };
        let at = |heights: &[f64]| -> Vec<Vec<(f64, f64)>> {
            runs.iter().map(|run| line(run, heights, &|height| y.clamped(height))).collect()
        };
        for upwards in [true, false] {
            let mut sums = vec![0.0; self.positions.len()];
            for layer in self.layers.iter().filter(|_| !self.lines) {
                self.pile(page, layer, &mut sums, &layer.curve, upwards, at);
            }
        }
        let total: Vec<f64> = self.total_curve().collect();
        self.paint_curve_band(page, x, y, &total);
        let mut curve = |heights: &[f64], stroke: Stroke| {
            for run in &runs {
                for part in clip::polyline(&line(run, heights, &|height| y.at(height)), area) {
                    page.polyline(&part, stroke);
                }
            }
        };
        if !self.layers.is_empty() {
            curve(&total, sum_line());
        }
        for layer in self.layers.iter().filter(|_| self.lines) {
            curve(&layer.curve, pen(layer));
        }
    }

    /// Draws the uncertainty of the sum along its curve. At each point of the curve, the relative uncertainty
    /// is that of the bin in which the point lies.
    fn paint_curve_band(&self, page: &mut Drawing, x: &Axis, y: &Axis, total: &[f64]) {
        let mut lines = Vec::new();
        for (ends, heights) in self.positions.windows(2).zip(total.windows(2)) {
            let (&[from, to], &[low, high]) = (ends, heights) else { continue };
            let middle = 0.5 * (from + to);
            if self.fitted && self.blind.iter().any(|(low, high)| from < *high && to > *low) {
                continue;
            }
            let bin = self.edges.partition_point(|edge| *edge <= middle).saturating_sub(1);
            let (Some(spread), Some(&expected)) = (self.spread(bin), self.total.get(bin)) else { continue };
            if !(expected > 0.0 && from < to) {
                continue;
            }
            let (height, share) = (0.5 * (low + high), spread / expected);
            let (top, bottom) = (y.clamped(height * (1.0 + share)), y.clamped(height * (1.0 - share)));
            lines.extend(legend::hatching(&Area { left: x.at(from), right: x.at(to), top, bottom }));
        }
        page.path(lines, legend::hatching_ink());
    }

    /// Shades the blinded ranges.
    pub(super) fn paint_blind(&self, page: &mut Drawing, area: &Area, x: &Axis) {
        for (from, to) in &self.blind {
            // Bins that overlap with the range show no data as a whole. Events have a range of their own.
            let binned = self.positions.is_empty();
            let hidden = self.edges.windows(2).filter_map(|ends| match ends {
                [low, high] if binned && low < to && high > from => Some((*low, *high)),
                _ => None,
            });
            let (from, to) =
                hidden.fold((*from, *to), |(from, to), (low, high)| (from.min(low), to.max(high)));
            let (left, right) = (x.clamped(from), x.clamped(to));
            if right > left {
                page.path(rectangle(Area { left, right, ..*area }), Ink::tile(BLIND));
            }
        }
    }
}
