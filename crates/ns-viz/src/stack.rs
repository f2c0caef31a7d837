//! One channel: the stack of samples with data above, and their ratio below.

use crate::axis::{Axis, Ticks};
use crate::colour::{BLACK, Colour, GREY, LIGHT_GREY};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::frame::{self, Edge};
use crate::legend;
use crate::number::present;
use crate::poisson;
use crate::text::{Style, fit};

/// One colour of a stack.
pub(crate) struct Layer {
    pub(crate) colour: Colour,
    pub(crate) counts: Vec<f64>,
}

/// A channel, checked and ready to draw.
pub(crate) struct Stack {
    name: String,
    x_title: String,
    x: Axis,
    edges: Vec<f64>,
    layers: Vec<Layer>,
    total: Vec<f64>,
    /// Count and ends of its error bar.
    data: Vec<Option<(f64, f64, f64)>>,
    uncertainty: Vec<Option<f64>>,
    y: Axis,
    ratio: Axis,
}

impl Stack {
    pub(crate) fn new(
        name: &str,
        x_title: &str,
        x: Axis,
        edges: Vec<f64>,
        layers: Vec<Layer>,
        data: &[Option<f64>],
        uncertainty: &[Option<f64>],
        log: bool,
    ) -> Self {
        let bins = edges.len().saturating_sub(1);
        let sum = |bin: usize| layers.iter().filter_map(|layer| layer.counts.get(bin)).sum();
        let total: Vec<f64> = (0..bins).map(sum).collect();
        let bar = |count: &Option<f64>| {
            let count = present(*count).filter(|count| *count >= 0.0)?;
            let (low, up) = poisson::interval(count);
            Some((count, low, up))
        };
        let data: Vec<_> = data.iter().map(bar).collect();
        let uncertainty: Vec<_> = uncertainty.iter().map(|value| present(*value).map(f64::abs)).collect();
        let mut stack = Self {
            name: name.to_owned(),
            x_title: x_title.to_owned(),
            x,
            edges,
            layers,
            total,
            data,
            uncertainty,
            y: Axis::linear(0.0, 1.0),
            ratio: Axis::linear(0.5, 1.5),
        };
        stack.y = stack.y_axis(log);
        stack.ratio = stack.ratio_axis();
        stack
    }

    /// Expected events of each bin.
    #[cfg(test)]
    pub(crate) fn total(&self) -> &[f64] {
        &self.total
    }

    /// Whether there is anything to compare: data on top of an expectation.
    pub(crate) fn has_ratio(&self) -> bool {
        !self.layers.is_empty() && self.data.iter().any(Option::is_some)
    }

    fn spread(&self, bin: usize) -> Option<f64> {
        self.uncertainty.get(bin).copied().flatten()
    }

    fn y_axis(&self, log: bool) -> Axis {
        let tops = self.total.iter().enumerate().map(|(bin, total)| total + self.spread(bin).unwrap_or(0.0));
        let bars = self.data.iter().flatten().map(|(_, _, up)| *up);
        let high = tops.chain(bars).fold(0.0, f64::max);
        if !log {
            return Axis::linear(0.0, if high > 0.0 { 1.15 * high } else { 1.0 });
        }
        let seen = self.data.iter().flatten().map(|(count, ..)| *count);
        let low = self.total.iter().copied().chain(seen).filter(|value| *value > 0.0).fold(high, f64::min);
        if !(high > 0.0) {
            return Axis::log(0.1, 1.0);
        }
        // Room for the stack to be seen below the smallest bin, but no more than eight decades.
        Axis::log((0.2 * low).max(1e-8 * high), 3.0 * high)
    }

    /// Symmetric around one, as wide as data and uncertainty need, at most 0 to 2.
    fn ratio_axis(&self) -> Axis {
        let mut reach = 0.0_f64;
        for (bin, total) in self.total.iter().enumerate().filter(|(_, total)| **total > 0.0) {
            if let Some(Some((count, ..))) = self.data.get(bin) {
                reach = reach.max((count / total - 1.0).abs() * 1.15);
            }
            reach = reach.max(self.spread(bin).unwrap_or(0.0) / total * 1.1);
        }
        let half = [0.05, 0.1, 0.2, 0.3, 0.5].into_iter().find(|half| *half >= reach).unwrap_or(1.0);
        Axis::linear(1.0 - half, 1.0 + half)
    }

    /// Draws the channel into an area that has room for its labels on the left; those below follow the
    /// area's end.
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

        let (name, size) = fit(&self.name, upper.width(), 13.0, 8.0);
        page.text(left, area.top + 14.0, name, Style::new(size));
        let y = self.y.between(upper.bottom, upper.top);
        self.paint_layers(page, &x, &y);
        self.paint_uncertainty(page, &x, &y);
        self.paint_data(page, &upper, &x, &y);
        frame::horizontal_marks(page, &upper, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
        frame::vertical(page, &upper, &y, &y_ticks, left_room, "Events");
        frame::outline(page, &upper);
        let mut lowest = upper;
        if ratio > 0.0 {
            lowest = Area { top: area.bottom - ratio, bottom: area.bottom, ..upper };
            self.paint_ratio(page, &lowest, &x);
            let axis = self.ratio.between(lowest.bottom, lowest.top);
            frame::horizontal_marks(page, &lowest, &x, &x_ticks, &[Edge::Bottom, Edge::Top]);
            frame::vertical(page, &lowest, &axis, &ratio_ticks, left_room, "Data / pred.");
            frame::outline(page, &lowest);
        }
        frame::horizontal_labels(page, &lowest, &x, &x_ticks, Edge::Bottom, &self.x_title);
    }

    /// Bins counted from zero have no marks between whole numbers.
    fn x_ticks(&self, x: &Axis, width: f64) -> Ticks {
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

    fn bin(&self, index: usize, x: &Axis) -> Option<(f64, f64)> {
        Some((x.at(*self.edges.get(index)?), x.at(*self.edges.get(index + 1)?)))
    }

    /// Each layer as one outline between the sums below and above it; negative counts have no height.
    fn paint_layers(&self, page: &mut Drawing, x: &Axis, y: &Axis) {
        let mut below = vec![0.0; self.total.len()];
        for layer in &self.layers {
            let above: Vec<f64> =
                below.iter().zip(&layer.counts).map(|(sum, count)| sum + count.max(0.0)).collect();
            if above != below {
                let mut outline = self.steps(&above, x, y);
                outline.extend(self.steps(&below, x, y).into_iter().rev());
                page.polygon(
                    &outline,
                    Ink::outlined(layer.colour, Stroke::solid(layer.colour.mix(BLACK, 0.45), 0.6)),
                );
            }
            below = above;
        }
        if !self.layers.is_empty() {
            page.polyline(&self.steps(&self.total, x, y), Stroke::solid(BLACK, 1.2));
        }
    }

    fn steps(&self, heights: &[f64], x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
        let step = |(index, height): (usize, &f64)| {
            let (left, right) = self.bin(index, x)?;
            Some([(left, y.clamped(*height)), (right, y.clamped(*height))])
        };
        heights.iter().enumerate().filter_map(step).flatten().collect()
    }

    fn paint_uncertainty(&self, page: &mut Drawing, x: &Axis, y: &Axis) {
        for (index, total) in self.total.iter().enumerate() {
            if let (Some(spread), Some((left, right))) = (self.spread(index), self.bin(index, x)) {
                let (top, bottom) = (y.clamped(total + spread), y.clamped(total - spread));
                legend::hatch(page, &Area { left, right, top, bottom });
            }
        }
    }

    fn paint_data(&self, page: &mut Drawing, area: &Area, x: &Axis, y: &Axis) {
        for (index, point) in self.data.iter().enumerate() {
            if let (Some((count, low, up)), Some((left, right))) = (point, self.bin(index, x)) {
                mark(page, area, y, 0.5 * (left + right), *count, *low, *up);
            }
        }
    }

    fn paint_ratio(&self, page: &mut Drawing, area: &Area, x: &Axis) {
        let axis = self.ratio.between(area.bottom, area.top);
        for (index, total) in self.total.iter().enumerate().filter(|(_, total)| **total > 0.0) {
            if let (Some(spread), Some((left, right))) = (self.spread(index), self.bin(index, x)) {
                let (top, bottom) = (axis.clamped(1.0 + spread / total), axis.clamped(1.0 - spread / total));
                page.rect(Area { left, right, top, bottom }, Ink::tile(LIGHT_GREY));
            }
        }
        page.line((area.left, axis.at(1.0)), (area.right, axis.at(1.0)), Stroke::dashed(GREY, 1.0, 5.0, 4.0));
        for (index, total) in self.total.iter().enumerate().filter(|(_, total)| **total > 0.0) {
            let point = self.data.get(index).copied().flatten();
            if let (Some((count, low, up)), Some((left, right))) = (point, self.bin(index, x)) {
                mark(page, area, &axis, 0.5 * (left + right), count / total, low / total, up / total);
            }
        }
    }
}

/// A point with its error bar, cut at the edges of the area; an arrow for a point above or below it.
fn mark(page: &mut Drawing, area: &Area, y: &Axis, x: f64, value: f64, low: f64, up: f64) {
    if y.holds(up) || y.holds(low) || (low < y.lo && up > y.hi) {
        page.line((x, y.clamped(low)), (x, y.clamped(up)), Stroke::solid(BLACK, 1.3));
    }
    let radius = (0.012 * area.width()).clamp(2.0, 3.6);
    if y.holds(value) {
        page.circle(x, y.at(value), radius, Ink::fill(BLACK));
    } else if value > y.hi {
        let tip = area.top + 1.5;
        page.polygon(&[(x, tip), (x - 4.0, tip + 7.0), (x + 4.0, tip + 7.0)], Ink::fill(BLACK));
    } else if value > 0.0 || up < y.lo {
        let tip = area.bottom - 1.5;
        page.polygon(&[(x, tip), (x - 4.0, tip - 7.0), (x + 4.0, tip - 7.0)], Ink::fill(BLACK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(counts: &[f64], data: &[Option<f64>], log: bool) -> Stack {
        let edges = (0..=counts.len()).map(|edge| edge as f64).collect();
        let layer = |share: f64| Layer { colour: GREY, counts: counts.iter().map(|c| share * c).collect() };
        let x = Axis::linear(0.0, counts.len() as f64);
        let spread = vec![Some(1.0); counts.len()];
        Stack::new("SR", "bin", x, edges, vec![layer(0.25), layer(0.75)], data, &spread, log)
    }

    #[test]
    fn axes_hold_the_stack_the_data_and_their_ratio() {
        let stack = stack(&[100.0, 40.0, 8.0], &[Some(90.0), Some(52.0), None], false);
        assert_eq!(stack.total(), &[100.0, 40.0, 8.0]);
        assert!(stack.y.holds(101.0) && stack.y.lo == 0.0);
        assert!(stack.ratio.holds(52.0 / 40.0) && stack.ratio.holds(90.0 / 100.0));
        assert!(stack.ratio.hi < 2.0, "no wider than needed: {:?}", stack.ratio);
        assert!((stack.ratio.lo + stack.ratio.hi - 2.0).abs() < 1e-12);
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
