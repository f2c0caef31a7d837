//! The frame of a panel: ticks inside its edges, tick labels, and titles at the ends of the axes.

use crate::axis::{Axis, Ticks};
use crate::colour::BLACK;
use crate::drawing::{Area, Drawing, Ink, Stroke, rectangle};
use crate::font;
use crate::number::power_of_ten;
use crate::text::{Style, drop, fit};

/// Font size of tick labels, in pixels.
pub(crate) const TICK_SIZE: f64 = 12.0;
/// Font size of axis titles, in pixels.
pub(crate) const TITLE_SIZE: f64 = 14.0;
/// Height below a panel for the tick labels and the title of its axis, in pixels.
pub(crate) const BELOW: f64 = 52.0;
/// Smallest width to the right of a panel in pixels. It has room for half of the last tick label.
pub(crate) const RIGHT: f64 = 26.0;
/// Height between two panels, in pixels. It has room for half a tick label of each panel.
pub(crate) const SPLIT: f64 = 16.0;
const GAP: f64 = 7.0;

/// Returns the width in pixels that a vertical axis needs to the left of its panel, for its tick labels and
/// title.
pub(crate) fn left_room(ticks: &[&Ticks]) -> f64 {
    GAP + label_width(ticks) + 8.0 + TITLE_SIZE + 8.0
}

fn label_width(ticks: &[&Ticks]) -> f64 {
    let labels = ticks.iter().flat_map(|ticks| &ticks.major);
    labels.map(|(_, label)| font::width(label, TICK_SIZE)).fold(0.0, f64::max)
}

/// Draws the line around a panel.
pub(crate) fn outline(drawing: &mut Drawing, area: &Area) {
    drawing.path(rectangle(*area), Ink::stroke(Stroke::solid(BLACK, 1.2)));
}

/// Returns the title of an axis. If the tick labels leave out a power of ten, the title states this factor.
pub(crate) fn with_factor(title: &str, exponent: Option<i32>) -> String {
    match exponent {
        None => title.to_owned(),
        Some(exponent) => format!("{title}  [×{}]", power_of_ten(exponent)).trim_start().to_owned(),
    }
}

/// Returns ticks of a horizontal axis. Their number is limited so that the labels fit into `width`. There are at least two
/// labels if that is possible with less space between them, because one label gives no scale.
pub(crate) fn horizontal_ticks(axis: &Axis, width: f64) -> Ticks {
    let fits = |ticks: &Ticks, gap: f64| {
        let widest = label_width(&[ticks]) + gap;
        let spacing = ticks.major.windows(2).map(|pair| (axis.at(pair[1].0) - axis.at(pair[0].0)).abs());
        spacing.fold(width, f64::min) >= widest
    };
    let all = || (2..=9).rev().map(|most| axis.ticks(most));
    let scaled = |gap: f64| all().find(|ticks| ticks.major.len() > 1 && fits(ticks, gap));
    let any = || all().find(|ticks| fits(ticks, 14.0));
    scaled(14.0).or_else(|| scaled(5.0)).or_else(any).unwrap_or_else(|| axis.ticks(1))
}

/// Returns ticks of a vertical axis. Their number is limited so that the labels fit into `height`.
pub(crate) fn vertical_ticks(axis: &Axis, height: f64) -> Ticks {
    axis.ticks(((height / 52.0) as usize).clamp(2, 9))
}

/// The upper or the lower edge of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Top,
    Bottom,
}

/// Draws the ticks of a horizontal axis inside the given edges of a panel, without labels.
pub(crate) fn horizontal_marks(
    drawing: &mut Drawing,
    area: &Area,
    axis: &Axis,
    ticks: &Ticks,
    edges: &[Edge],
) {
    let pen = Stroke::solid(BLACK, 1.0);
    // In a panel with one or two rows, long ticks would meet in the middle.
    let share = (area.height() / 60.0).min(1.0);
    let long = ticks.major.iter().map(|(value, _)| (*value, 8.0 * share));
    for (value, length) in long.chain(ticks.minor.iter().map(|value| (*value, 4.0 * share))) {
        let x = axis.at(value);
        for edge in edges {
            match edge {
                Edge::Bottom => drawing.line((x, area.bottom), (x, area.bottom - length), pen),
                Edge::Top => drawing.line((x, area.top), (x, area.top + length), pen),
            }
        }
    }
}

/// Draws the tick labels and the title of a horizontal axis, outside of the given edge of the panel.
pub(crate) fn horizontal_labels(
    drawing: &mut Drawing,
    area: &Area,
    axis: &Axis,
    ticks: &Ticks,
    edge: Edge,
    title: &str,
) {
    let (labels_at, title_at) = match edge {
        Edge::Bottom => (area.bottom + GAP + 0.76 * TICK_SIZE, area.bottom + 41.0),
        Edge::Top => (area.top - GAP, area.top - 27.0),
    };
    let mut free_from = 1.0;
    for (value, label) in &ticks.major {
        let half = 0.5 * font::width(label, TICK_SIZE);
        let x = axis.at(*value).min(drawing.width - half - 1.0);
        if x - half >= free_from {
            drawing.text(x, labels_at, label.clone(), Style::new(TICK_SIZE).centred());
            free_from = x + half + 4.0;
        }
    }
    let (text, size) = fit(&with_factor(title, ticks.exponent), area.right - 6.0, TITLE_SIZE, 9.0);
    drawing.text(area.right, title_at, text, Style::new(size).ending());
}

/// Draws a vertical axis. Its ticks are inside the left and the right edge of the panel. Its labels and its
/// title are to the left of the panel.
pub(crate) fn vertical(
    drawing: &mut Drawing,
    area: &Area,
    axis: &Axis,
    ticks: &Ticks,
    label_room: f64,
    title: &str,
) {
    let pen = Stroke::solid(BLACK, 1.0);
    let long = ticks.major.iter().map(|(value, _)| (*value, 8.0));
    for (value, length) in long.chain(ticks.minor.iter().map(|value| (*value, 4.0))) {
        let y = axis.at(value);
        drawing.line((area.left, y), (area.left + length, y), pen);
        drawing.line((area.right, y), (area.right - length, y), pen);
    }
    for (value, label) in &ticks.major {
        let y = axis.at(*value) + drop(TICK_SIZE);
        drawing.text(area.left - GAP, y, label.clone(), Style::new(TICK_SIZE).ending());
    }
    let (text, size) = fit(&with_factor(title, ticks.exponent), area.height(), TITLE_SIZE, 8.0);
    let x = area.left - label_room + 8.0 + 0.76 * TITLE_SIZE;
    drawing.text(x, area.top, text, Style::new(size).ending().upwards());
}
