//! The axes of a channel's panels: events, ratios and pulls.

use super::Stack;
use crate::axis::Axis;
use crate::number::trimmed;

/// Largest upper end of an axis of ratios. On a longer axis, ratios near 1 would look the same.
const HIGHEST_RATIO: f64 = 4.0;

impl Stack {
    /// Returns the vertical axis for the events. It contains the stack, the curves and the error bars of the
    /// data.
    pub(super) fn y_axis(&self, log: bool) -> Axis {
        let tops = self.total.iter().enumerate().map(|(bin, total)| total + self.spread(bin).unwrap_or(0.0));
        let bars = self.data.iter().flatten().map(|(_, _, up)| *up);
        let (deepest, highest) = self.reach();
        let before = self.before.iter().flatten().copied();
        let high = tops.chain(bars).chain(self.total_curve()).chain(before).fold(highest, f64::max);
        if !log {
            let top = if high > 0.0 { 1.15 * high } else { 0.0 };
            let low = 1.15 * deepest;
            return Axis::linear(low, if top > 0.0 || low < 0.0 { top } else { 1.0 });
        }
        let seen = self.data.iter().flatten().map(|(count, ..)| *count);
        let low = self.total.iter().copied().chain(seen).filter(|value| *value > 0.0).fold(high, f64::min);
        if !(high > 0.0) {
            return Axis::log(0.1, 1.0);
        }
        // The axis starts below the smallest bin to make this bin visible, and below its lowest layer, if this layer has a
        // share of it that can be seen. It spans at most about eight decades.
        let layer = self.lowest_layer().unwrap_or(low).max(2e-3 * low);
        Axis::log((0.2 * low).min(0.5 * layer).max(1e-8 * high), 3.0 * high)
    }

    /// Returns the smallest positive height of the lowest layers of all bins, or of all layers that are drawn as lines.
    fn lowest_layer(&self) -> Option<f64> {
        let lowest = |bin: usize| {
            let heights = self.layers.iter().filter_map(|layer| layer.counts.get(bin).copied());
            let mut seen = heights.filter(|height| *height > 0.0);
            if self.lines { seen.reduce(f64::min) } else { seen.next() }
        };
        (0..self.total.len()).filter_map(lowest).reduce(f64::min)
    }

    /// Returns the lowest sum of the negative and the highest sum of the positive parts of the layers, in bins and on
    /// curves. Layers that are drawn as lines are not summed.
    fn reach(&self) -> (f64, f64) {
        let at = |heights: &dyn Fn(&super::Layer) -> Option<f64>| {
            let parts = self.layers.iter().filter_map(heights);
            parts.fold((0.0_f64, 0.0_f64), |(low, high), height| match self.lines {
                true => (low.min(height), high.max(height)),
                false => (low + height.min(0.0), high + height.max(0.0)),
            })
        };
        let bins = (0..self.total.len()).map(|bin| at(&|layer| layer.counts.get(bin).copied()));
        let curves = (0..self.positions.len()).map(|i| at(&|layer| layer.curve.get(i).copied()));
        bins.chain(curves).fold((0.0, 0.0), |(low, high), (l, h)| (f64::min(low, l), f64::max(high, h)))
    }

    /// Returns the function that converts a number of events in a bin to the scale of the lower panel. For ratios
    /// the function divides by the prediction. For pulls it subtracts the prediction, and divides by the error bar
    /// of the data on the side of the prediction. Returns `None` if the prediction is not positive. For pulls, also
    /// returns `None` if the bin has no data or this error bar is 0.
    pub(super) fn compared(&self, bin: usize) -> Option<impl Fn(f64) -> f64 + use<>> {
        let total = self.total.get(bin).copied().filter(|total| *total > 0.0)?;
        let (zero, unit) = match self.pulls {
            false => (0.0, total),
            true => {
                let (count, low, up) = self.point(bin)?;
                let sigma = if count < total { up - count } else { count - low };
                (total, Some(sigma).filter(|sigma| *sigma > 0.0)?)
            }
        };
        Some(move |x: f64| (x - zero) / unit)
    }

    /// Returns the axis of the pulls. It is symmetric around 0, holds all error bars, and reaches at most from -8 to 8.
    pub(super) fn pull_axis(&self) -> Axis {
        let reach = |bin: usize| {
            let (compared, (count, low, up)) = (self.compared(bin)?, self.point(bin)?);
            Some([count, low, up].map(|x| compared(x).abs()).into_iter().fold(0.0, f64::max))
        };
        let most = (0..self.total.len()).filter_map(reach).fold(0.0, f64::max);
        let half = [3.0, 4.0, 5.0, 6.0].into_iter().find(|half| *half >= most).unwrap_or(8.0);
        Axis::linear(-half, half)
    }

    /// Returns the axis of the ratio that the channel needs. It is symmetric around 1 if all error bars and uncertainties lie within 0.5
    /// of 1. Otherwise it goes from 0 to the upper end of the largest of them, but at most to [`HIGHEST_RATIO`].
    /// Upper error bars of bins with an expected yield below 1 are ignored, because they can be very long. They may
    /// end in an arrow.
    pub(super) fn ratio_axis(&self) -> Axis {
        let (mut down, mut up) = (0.0_f64, 0.0_f64);
        for (bin, total) in self.total.iter().enumerate().filter(|(_, total)| **total > 0.0) {
            let spread = self.spread(bin).unwrap_or(0.0) / total;
            (down, up) = (down.max(spread), up.max(spread));
            if let Some(before) = self.before.get(bin).copied().flatten() {
                (down, up) = (down.max(1.0 - before / total), up.max(before / total - 1.0));
            }
            if let Some((count, low, high)) = self.point(bin) {
                let high = if *total >= 1.0 { high } else { count };
                (down, up) = (down.max(1.0 - low / total), up.max(high / total - 1.0));
            }
        }
        let reach = 1.05 * down.max(up);
        if let Some(half) = [0.05, 0.1, 0.2, 0.3, 0.5].into_iter().find(|half| *half >= reach) {
            return Axis::linear(1.0 - half, 1.0 + half);
        }
        let high = [2.0, 2.5, 3.0].into_iter().find(|high| *high >= 1.0 + 1.05 * up).unwrap_or(HIGHEST_RATIO);
        Axis::linear(0.0, high)
    }
}

impl Stack {
    /// Gives all panels of a page the same axis of ratios, from the lowest to the highest end that one of them needs.
    pub(crate) fn share_ratio(stacks: Vec<Self>) -> Vec<Self> {
        let own = stacks.iter().filter(|stack| stack.has_ratio() && !stack.pulls).map(|stack| stack.ratio);
        let ends = own.map(|axis| [axis.lo, axis.hi]);
        let common = ends.reduce(|[low, high], [lo, hi]| [low.min(lo), high.max(hi)]);
        stacks.into_iter().map(|stack| stack.with_ratio(common)).collect()
    }
}

/// Returns the title of the vertical axis. This is "Events / W" if all bins have the width W, and otherwise
/// "Events / bin". If the edges are the bin numbers 0, 1, 2, ..., it is "Events". Bins with an expected yield
/// of 0, such as bins between two fit ranges, are ignored.
pub(super) fn y_title(edges: &[f64], total: &[f64]) -> String {
    if edges.iter().enumerate().all(|(index, edge)| *edge == index as f64) {
        return "Events".to_owned();
    }
    let widths = || edges.windows(2).zip(total).filter(|(_, total)| **total != 0.0).map(|(e, _)| e[1] - e[0]);
    let mean = widths().sum::<f64>() / widths().count() as f64;
    if !widths().all(|width| (width - mean).abs() <= 1e-6 * mean) || mean.is_nan() {
        return "Events / bin".to_owned();
    }
    format!("Events / {}", trimmed(mean, 4))
}
