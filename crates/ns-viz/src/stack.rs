//! The panels of one channel. The upper panel shows the stack of samples with the data. The lower panel shows
//! the ratio of data and prediction, or the pulls of the data.

use crate::axis::{Axis, Ticks};
use crate::colour::{BLACK, Colour, GREY, LIGHT_GREY};
use crate::columns::{self, Cell};
use crate::drawing::{Area, Drawing, Ink, Stroke, rectangle};
use crate::frame::{self, Edge};
use crate::legend;
use crate::marks::Marks;
use crate::number::present;
use crate::poisson;
use crate::text::{Style, fit};

mod axes;
mod bins;
mod curves;

pub(crate) use curves::{BLIND, before_line, sample_line, sum_line};

/// One layer of a stack: a sample, or several samples drawn together.
pub(crate) struct Layer {
    pub(crate) colour: Colour,
    pub(crate) counts: Vec<f64>,
    /// Expected yield at each position of the curve; empty if the layer is a histogram.
    pub(crate) curve: Vec<f64>,
    /// Whether the line of the layer is dashed, if layers are drawn as lines.
    pub(crate) dashed: bool,
}

/// The input from which a [`Stack`] is created. The lengths of all lists have been checked.
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) x_title: &'a str,
    pub(crate) edges: Vec<f64>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) data: &'a [Option<f64>],
    /// Error bars of the data. If the list is empty, the data are counts with Poisson error bars.
    pub(crate) errors: &'a [Option<f64>],
    pub(crate) uncertainty: &'a [Option<f64>],
    /// Total expected yield of each bin before the fit; empty if it is not drawn.
    pub(crate) before: &'a [Option<f64>],
    /// Names of the bins; empty if they have numbers.
    pub(crate) labels: &'a [String],
    /// Positions of the curves of all layers, in ascending order, possibly with repetitions; empty for
    /// histograms.
    pub(crate) positions: &'a [f64],
    /// Ranges in which no data are drawn.
    pub(crate) blind: &'a [(f64, f64)],
    /// Whether the expectation was fitted to the data of these ranges. It is then not drawn there, either. The other
    /// fields have no numbers about these ranges.
    pub(crate) fitted: bool,
    /// Whether the vertical axis is logarithmic.
    pub(crate) log: bool,
    /// Whether the lower panel shows pulls in place of ratios.
    pub(crate) pulls: bool,
    /// Whether layers are drawn as lines. Otherwise they are stacked.
    pub(crate) lines: bool,
}

/// A channel with checked lengths, and the axes of its panels.
pub(crate) struct Stack {
    name: String,
    x_title: String,
    y_title: String,
    x: Axis,
    edges: Vec<f64>,
    layers: Vec<Layer>,
    total: Vec<f64>,
    /// Observed events of each bin, with the lower and the upper end of the error bar; `None` if the data are
    /// not shown.
    data: Vec<Option<(f64, f64, f64)>>,
    uncertainty: Vec<Option<f64>>,
    /// Total expected yield of each bin before the fit.
    before: Vec<Option<f64>>,
    /// Names of the bins; empty if they have numbers.
    labels: Vec<String>,
    /// Positions of the curves of all layers; empty for histograms.
    positions: Vec<f64>,
    /// Ranges in which no data are drawn.
    blind: Vec<(f64, f64)>,
    /// Whether the expectation is not drawn in these ranges, either.
    fitted: bool,
    /// Whether layers are drawn as lines. Otherwise they are stacked.
    lines: bool,
    y: Axis,
    /// Whether the lower panel shows pulls in place of ratios.
    pulls: bool,
    /// Axis of the lower panel.
    ratio: Axis,
}

impl Stack {
    pub(crate) fn new(parts: Parts<'_>) -> Self {
        let Parts { edges, layers, .. } = parts;
        let bins = edges.len().saturating_sub(1);
        let sum = |bin: usize| layers.iter().filter_map(|layer| layer.counts.get(bin)).sum();
        let total: Vec<f64> = (0..bins).map(sum).collect();
        let bar = |(bin, count): (usize, &Option<f64>)| {
            let count = present(*count)?;
            if overlaps(parts.blind, &edges, bin) {
                return None;
            }
            if parts.errors.is_empty() {
                let (low, up) = poisson::interval(count);
                return Some((count, low, up)).filter(|_| count >= 0.0);
            }
            let error = parts.errors.get(bin).copied().flatten().and_then(|error| present(Some(error)))?;
            Some((count, count - error.abs(), count + error.abs()))
        };
        let data: Vec<_> = parts.data.iter().enumerate().map(bar).collect();
        let uncertainty: Vec<_> =
            parts.uncertainty.iter().map(|value| present(*value).map(f64::abs)).collect();
        let ends = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(1.0));
        let mut stack = Self {
            name: parts.name.to_owned(),
            x_title: parts.x_title.to_owned(),
            y_title: axes::y_title(&edges, &total),
            x: Axis::linear(ends.0, ends.1),
            edges,
            layers,
            total,
            data,
            uncertainty,
            before: parts.before.iter().map(|value| present(*value)).collect(),
            labels: parts.labels.to_vec(),
            positions: parts.positions.to_vec(),
            blind: parts.blind.to_vec(),
            fitted: parts.fitted,
            lines: parts.lines,
            y: Axis::linear(0.0, 1.0),
            pulls: parts.pulls,
            ratio: Axis::linear(0.5, 1.5),
        };
        stack.y = stack.y_axis(parts.log);
        stack.ratio = if parts.pulls { stack.pull_axis() } else { stack.ratio_axis() };
        stack
    }

    /// Returns the same channel with other ends of the axis of ratios, if they are given and in ascending order.
    pub(crate) fn with_ratio(mut self, ends: Option<[f64; 2]>) -> Self {
        if let Some([low, high]) = ends.filter(|[low, high]| low < high && !self.pulls) {
            self.ratio = Axis::linear(low, high);
        }
        self
    }

    /// Returns the ends of the axis of ratios.
    #[cfg(test)]
    pub(crate) fn ratio_ends(&self) -> (f64, f64) {
        (self.ratio.lo, self.ratio.hi)
    }

    /// Returns the expected yield of each bin, summed over the layers.
    #[cfg(test)]
    pub(crate) fn total(&self) -> &[f64] {
        &self.total
    }

    /// Returns whether the panel has no name above it.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.name.is_empty()
    }

    /// Returns whether the channel has both data and samples, so that their ratio can be drawn.
    pub(crate) fn has_ratio(&self) -> bool {
        !self.layers.is_empty() && self.data.iter().any(Option::is_some)
    }

    fn spread(&self, bin: usize) -> Option<f64> {
        self.uncertainty.get(bin).copied().flatten()
    }

    /// Returns the observed events of a bin, and the lower and the upper end of their error bar.
    fn point(&self, bin: usize) -> Option<(f64, f64, f64)> {
        self.data.get(bin).copied().flatten()
    }

    /// Draws the channel into an area. The area includes the labels to the left of the panels, but not those
    /// below them. `caption` is the height of the line with the channel's name. `ratio` is the height of the
    /// ratio panel. If it is 0, no ratio is drawn.
    pub(crate) fn draw(&self, page: &mut Drawing, area: Area, caption: f64, ratio: f64) {
        let split = if ratio > 0.0 { ratio + frame::SPLIT } else { 0.0 };
        let upper = Area { top: area.top + caption, bottom: area.bottom - split, ..area };
        let y_ticks = frame::vertical_ticks(&self.y, upper.height());
        let ratio_ticks = self.ratio.ticks(4);
        let left_room = frame::left_room(&[&y_ticks, &ratio_ticks]);
        let left = area.left + left_room;
        let upper = Area { left, ..upper };
        let x = self.x.between(left, area.right);
        let x_ticks = self.x_ticks(&x, upper.width());

        let (name, size) = fit(&self.caption(&x), upper.width(), 13.0, 8.0);
        page.text(left, area.top + 14.0, name, Style::new(size));
        let y = self.y.between(upper.bottom, upper.top);
        self.paint_blind(page, &upper, &x);
        if self.positions.is_empty() {
            self.paint_layers(page, &x, &y);
            self.paint_uncertainty(page, &x, &y);
            self.paint_before(page, &x, &y, |_, before| Some(before));
        } else {
            self.paint_curves(page, &upper, &x, &y);
        }
        self.paint_data(page, &upper, &x, &y);
        frame::horizontal_marks(page, &upper, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
        frame::vertical(page, &upper, &y, &y_ticks, left_room, &self.y_title);
        frame::outline(page, &upper);
        let mut lowest = upper;
        if ratio > 0.0 {
            lowest = Area { top: area.bottom - ratio, bottom: area.bottom, ..upper };
            self.paint_blind(page, &lowest, &x);
            self.paint_ratio(page, &lowest, &x);
            let axis = self.ratio.between(lowest.bottom, lowest.top);
            frame::horizontal_marks(page, &lowest, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
            frame::vertical(
                page,
                &lowest,
                &axis,
                &ratio_ticks,
                left_room,
                if self.pulls { "Pull" } else { "Data / pred." },
            );
            frame::outline(page, &lowest);
        }
        if self.labels.is_empty() {
            frame::horizontal_labels(page, &lowest, &x, &x_ticks, Edge::Bottom, &self.x_title);
        } else {
            self.name_bins(page, &lowest, &x, self.is_flat(area.width()));
        }
    }

    /// Returns the name of the channel, with a remark if some bins are not drawn.
    fn caption(&self, x: &Axis) -> String {
        let bins = (0..self.total.len()).filter(|bin| self.shows(*bin)).count();
        if self.cells(x, |_| Some(0.0)).len() >= bins {
            return self.name.clone();
        }
        format!(
            "{} ({} bins: the lowest and the highest of each pixel)",
            self.name,
            crate::number::fixed(bins as f64, 0)
        )
    }

    /// Returns the ticks of the horizontal axis. An axis of bin numbers has ticks at whole numbers only.
    fn x_ticks(&self, x: &Axis, width: f64) -> Ticks {
        if !self.labels.is_empty() {
            return Ticks { major: Vec::new(), minor: self.edges.clone(), exponent: None };
        }
        let mut ticks = frame::horizontal_ticks(x, width);
        let counted = self.edges.iter().enumerate().all(|(index, edge)| *edge == index as f64);
        if counted {
            ticks.minor.retain(|value| (value - value.round()).abs() < 1e-6);
            let whole = |value: f64| (value - value.round()).abs() < 1e-6;
            if !ticks.major.iter().all(|(value, _)| whole(*value)) {
                ticks.major.retain(|(value, _)| whole(*value));
                for (value, label) in &mut ticks.major {
                    *label = crate::number::fixed(*value, 0);
                }
            }
        }
        ticks
    }

    /// Returns whether the expectation of a bin is drawn. Bins that overlap with a blinded range hide what was fitted to
    /// their data.
    fn shows(&self, bin: usize) -> bool {
        !(self.fitted && overlaps(&self.blind, &self.edges, bin))
    }

    /// Returns the bins to draw, from left to right, with gaps at hidden bins. If bins are narrower than a pixel, only the lowest and
    /// the highest bin of each pixel are drawn. This keeps the file small for thousands of bins and does not
    /// change the look of the picture.
    fn cells(&self, x: &Axis, height: impl Fn(usize) -> Option<f64>) -> Vec<Cell> {
        columns::cells(&self.edges, x, |bin| self.shows(bin), height)
    }

    /// Draws each layer as the area between two sums: the sum of the layers below it, and this sum with the layer added.
    /// Negative counts are stacked downwards from 0.
    fn paint_layers(&self, page: &mut Drawing, x: &Axis, y: &Axis) {
        let cells = self.cells(x, |bin| self.total.get(bin).copied());
        for layer in self.layers.iter().filter(|_| self.lines) {
            for line in steps(&cells, &layer.counts, y) {
                page.polyline(&line, curves::pen(layer));
            }
        }
        for upwards in [true, false] {
            let mut sums = vec![0.0; self.total.len()];
            for layer in self.layers.iter().filter(|_| !self.lines) {
                self.pile(page, layer, &mut sums, &layer.counts, upwards, |sums| steps(&cells, sums, y));
            }
        }
        for line in steps(&cells, &self.total, y).iter().filter(|_| !self.layers.is_empty()) {
            page.polyline(line, Stroke::solid(BLACK, 1.2));
        }
        if let (true, Some(first), Some(last)) = (y.lo < 0.0, cells.first(), cells.last()) {
            page.line((first.left, y.at(0.0)), (last.right, y.at(0.0)), Stroke::solid(BLACK, 0.8));
        }
    }

    /// Adds the positive or the negative part of a layer to `sums`, and draws the area between the sums before and after.
    /// `outline` returns the line of sums, one for each run of bins or positions without a gap.
    fn pile(
        &self,
        page: &mut Drawing,
        layer: &Layer,
        sums: &mut Vec<f64>,
        heights: &[f64],
        upwards: bool,
        outline: impl Fn(&[f64]) -> Vec<Vec<(f64, f64)>>,
    ) {
        let part = |height: f64| if upwards { height.max(0.0) } else { height.min(0.0) };
        let next: Vec<f64> = sums.iter().zip(heights).map(|(sum, height)| sum + part(*height)).collect();
        if next != *sums {
            let edge = Stroke::solid(layer.colour.mix(BLACK, 0.45), 0.6);
            for (mut area, below) in outline(&next).into_iter().zip(outline(sums)) {
                area.extend(below.into_iter().rev());
                page.polygon(&area, Ink::outlined(layer.colour, edge));
            }
        }
        *sums = next;
    }

    fn paint_uncertainty(&self, page: &mut Drawing, x: &Axis, y: &Axis) {
        let mut lines = Vec::new();
        for Cell { left, right, bin, .. } in self.cells(x, |bin| self.total.get(bin).copied()) {
            if let (Some(spread), Some(total)) = (self.spread(bin), self.total.get(bin)) {
                let (top, bottom) = (y.clamped(total + spread), y.clamped(total - spread));
                lines.extend(legend::hatching(&Area { left, right, top, bottom }));
            }
        }
        page.path(lines, legend::hatching_ink());
    }

    fn paint_data(&self, page: &mut Drawing, area: &Area, x: &Axis, y: &Axis) {
        let mut marks = Marks::new(area, *y, false);
        for Cell { left, right, bin, other } in self.cells(x, |bin| self.point(bin).map(|point| point.0)) {
            if let Some((count, low, up)) = self.point(bin) {
                marks.add((left, right), count, low, up);
                if let Some((to, ..)) = other.and_then(|other| self.point(other)) {
                    marks.join(right, count, to);
                }
            }
        }
        marks.draw(page);
    }

    fn paint_ratio(&self, page: &mut Drawing, area: &Area, x: &Axis) {
        let axis = self.ratio.between(area.bottom, area.top);
        let centre = if self.pulls { 0.0 } else { 1.0 };
        let band_of = |bin: usize| {
            let (total, spread) = (self.total.get(bin)?, self.spread(bin)?);
            let compared = self.compared(bin)?;
            Some((compared(total - spread), compared(total + spread)))
        };
        let mut band = Vec::new();
        for Cell { left, right, bin, .. } in self.cells(x, |bin| band_of(bin).map(|band| band.1)) {
            if let Some((low, high)) = band_of(bin) {
                let (top, bottom) = (axis.clamped(high), axis.clamped(low));
                band.extend(rectangle(Area { left, right, top, bottom }));
            }
        }
        page.path(band, Ink::tile(LIGHT_GREY));
        self.paint_before(page, x, &axis, |bin, before| Some(self.compared(bin)?(before)));
        page.line(
            (area.left, axis.at(centre)),
            (area.right, axis.at(centre)),
            Stroke::dashed(GREY, 1.0, 5.0, 4.0),
        );
        let ratio = |bin: usize| {
            let (count, low, up) = self.point(bin)?;
            let compared = self.compared(bin)?;
            Some((compared(count), compared(low), compared(up)))
        };
        let mut marks = Marks::new(area, axis, true);
        for Cell { left, right, bin, other } in self.cells(x, |bin| ratio(bin).map(|point| point.0)) {
            if let Some((value, low, up)) = ratio(bin) {
                marks.add((left, right), value, low, up);
                if let Some((to, ..)) = other.and_then(ratio) {
                    marks.join(right, value, to);
                }
            }
        }
        marks.draw(page);
    }
}

/// Returns the upper outline of a histogram that consists of `cells`, one line for each run of cells without a gap.
/// `heights` has one height per bin.
fn steps(cells: &[Cell], heights: &[f64], y: &Axis) -> Vec<Vec<(f64, f64)>> {
    let step = |cell: &Cell| {
        let at = y.clamped(*heights.get(cell.bin)?);
        Some([(cell.left, at), (cell.right, at)])
    };
    columns::runs(cells).map(|run| run.iter().filter_map(step).flatten().collect()).collect()
}

/// Returns whether a bin overlaps with one of the ranges.
pub(crate) fn overlaps(ranges: &[(f64, f64)], edges: &[f64], bin: usize) -> bool {
    let ends = edges.get(bin).zip(edges.get(bin + 1));
    ends.is_some_and(|(low, high)| ranges.iter().any(|(from, to)| low < to && high > from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(counts: &[f64], data: &[Option<f64>], log: bool) -> Stack {
        let edges = (0..=counts.len()).map(|edge| edge as f64).collect();
        let layer = |share: f64| Layer {
            colour: GREY,
            counts: counts.iter().map(|c| share * c).collect(),
            curve: Vec::new(),
            dashed: false,
        };
        let (layers, uncertainty) = (vec![layer(0.25), layer(0.75)], vec![Some(1.0); counts.len()]);
        let (name, x_title, uncertainty) = ("SR", "bin", uncertainty.as_slice());
        let (errors, positions, blind) = (&[][..], &[][..], &[][..]);
        let (pulls, lines) = (false, false);
        Stack::new(Parts {
            name,
            x_title,
            edges,
            layers,
            data,
            errors,
            uncertainty,
            positions,
            blind,
            fitted: false,
            log,
            pulls,
            lines,
            before: &[],
            labels: &[],
        })
    }

    #[test]
    fn negative_samples_are_below_zero() {
        let mut stack = stack(&[100.0, 40.0], &[], false);
        if let Some(layer) = stack.layers.first_mut() {
            layer.counts = vec![-20.0, 0.0];
        }
        let axis = stack.y_axis(false);
        assert!(axis.lo < -20.0 && axis.lo > -30.0 && axis.holds(75.0), "{axis:?}");
        assert!(stack.y_axis(true).lo > 0.0);
    }

    #[test]
    fn pulls_are_distances_in_units_of_the_error_bars() {
        let mut stack = stack(&[100.0, 40.0, 8.0, 0.0], &[Some(90.0), Some(52.0), None, Some(1.0)], false);
        stack.pulls = true;
        let pull = |bin: usize| Some(stack.compared(bin)?(stack.point(bin)?.0));
        let (low, up) = poisson::interval(52.0);
        assert!((pull(1).unwrap() - 12.0 / (52.0 - low)).abs() < 1e-12 && up > 52.0);
        assert!(pull(0).is_some_and(|pull| (-1.1..-0.9).contains(&pull)), "{:?}", pull(0));
        assert_eq!((pull(2), pull(3)), (None, None));
        let axis = stack.pull_axis();
        assert_eq!((axis.lo, axis.hi), (-3.0, 3.0));
    }

    #[test]
    fn axes_hold_the_stack_the_data_and_their_ratio() {
        let stack = stack(&[100.0, 40.0, 8.0], &[Some(90.0), Some(44.0), None], false);
        assert_eq!(stack.total(), &[100.0, 40.0, 8.0]);
        assert!(stack.y.holds(101.0) && stack.y.lo == 0.0);
        assert!(stack.ratio.holds(44.0 / 40.0) && stack.ratio.holds(90.0 / 100.0));
        assert!(stack.ratio.hi < 2.0, "no wider than needed: {:?}", stack.ratio);
        assert!((stack.ratio.lo + stack.ratio.hi - 2.0).abs() < 1e-12);
    }

    #[test]
    fn error_bars_are_not_cut_in_the_ratio() {
        let stack = stack(&[2.0, 5.0, 0.05], &[Some(3.0), Some(4.0), Some(1.0)], false);
        for bin in [0, 1] {
            let (_, low, up) = stack.point(bin).unwrap();
            let total = stack.total()[bin];
            assert!(stack.ratio.holds(low / total) && stack.ratio.holds(up / total), "{:?}", stack.ratio);
        }
        assert!(stack.ratio.hi <= 4.0, "a bin that expects next to nothing does not flatten the others");
    }

    #[test]
    fn nothing_expected_and_nothing_seen_still_has_axes() {
        for log in [false, true] {
            let stack = stack(&[0.0, 0.0], &[Some(0.0), None], log);
            assert!(stack.y.lo < stack.y.hi && stack.has_ratio());
            assert_eq!(stack.data[0].map(|(count, low, _)| (count, low)), Some((0.0, 0.0)));
        }
    }

    #[test]
    fn logarithmic_axes_reach_below_the_smallest_bin() {
        let stack = stack(&[1e4, 0.5], &[], true);
        assert!(stack.y.lo < 0.5 && stack.y.hi > 1e4 && !stack.has_ratio());
    }

    #[test]
    fn bins_are_counted_in_whole_numbers() {
        let stack = stack(&[3.0], &[], false);
        let labels: Vec<_> = stack
            .x_ticks(&stack.x.between(0.0, 400.0), 400.0)
            .major
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        assert_eq!(labels, ["0", "1"]);
    }
}
