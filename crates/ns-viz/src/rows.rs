//! Parts of pictures that have one row for each parameter: names, stripes and pulls.

use crate::axis::Axis;
use crate::clip;
use crate::colour::{BLACK, Colour};
use crate::drawing::{Area, Drawing, Ink, Stroke};
use crate::font;
use crate::number::present;
use crate::text::{Style, drop, fit};

const STRIPE: Colour = Colour(243, 245, 248);
/// Largest width of a parameter name in pixels. Longer names get a smaller font. Names that are still too
/// long are shortened in the middle.
const WIDEST_NAME: f64 = 400.0;
const SMALLEST: f64 = 7.5;
/// Title of a pull axis.
pub(crate) const PULL_TITLE: &str = "(θ\u{302} − θ₀) / Δθ";

/// Returns the height of a row in pixels for a picture with `count` rows.
pub(crate) fn height(count: usize) -> f64 {
    match count {
        0..=30 => 22.0,
        31..=60 => 18.0,
        _ => 15.0,
    }
}

fn font_size(row: f64) -> f64 {
    (0.62 * row).min(12.0)
}

/// Returns the width in pixels that names need next to rows of the height `row`.
pub(crate) fn name_room<'a>(names: impl Iterator<Item = &'a str>, row: f64) -> f64 {
    names.map(|name| font::width(name, font_size(row))).fold(20.0, f64::max).min(WIDEST_NAME) + 8.0
}

/// Writes the name of a row, right-aligned within the width `room` to the left of `right`. The middle of the
/// text is at the height `y`.
pub(crate) fn name(drawing: &mut Drawing, right: f64, y: f64, name: &str, room: f64, row: f64) {
    let (text, size) = fit(name, room - 8.0, font_size(row), SMALLEST.min(font_size(row)));
    drawing.text(right - 8.0, y + drop(size), text, Style::new(size).ending());
}

/// Writes a text in the middle of the row at the height `y` of a panel of pulls, on the colour `behind`.
pub(crate) fn note(drawing: &mut Drawing, area: &Area, y: f64, text: &str, row: f64, behind: Colour) {
    if text.is_empty() {
        return;
    }
    let (text, size) = fit(text, 0.9 * area.width(), (0.6 * row).min(11.0), 6.0);
    let (middle, half) = (0.5 * (area.left + area.right), 0.5 * font::width(&text, size) + 3.0);
    let line = Area { left: middle - half, right: middle + half, top: y - 0.4 * row, bottom: y + 0.4 * row };
    drawing.rect(line, Ink::tile(behind));
    drawing.text(middle, y + drop(size), text, Style::new(size).centred());
}

/// Paints light stripes behind every second row.
pub(crate) fn stripes(drawing: &mut Drawing, area: &Area, count: usize, row: f64) {
    for index in (1..count).step_by(2) {
        let top = area.top + index as f64 * row;
        drawing.rect(Area { top, bottom: top + row, ..*area }, Ink::tile(STRIPE));
    }
}

/// Returns the upper end of an axis of pulls that is symmetric around 0. The result is `usual`, or larger (up to 5)
/// if the outermost pull with its error bar needs a longer axis.
pub(crate) fn pull_range<'a>(
    pulls: impl Iterator<Item = (&'a Option<f64>, &'a Option<f64>)>,
    usual: f64,
) -> f64 {
    let reach = pulls.filter_map(|(pull, error)| {
        Some(present(*pull)?.abs() + present(*error).unwrap_or(0.0).abs().min(1.0))
    });
    let most = reach.fold(0.0, f64::max);
    if most <= 0.95 * usual { usual } else { (most * 1.05).ceil().clamp(usual, 5.0) }
}

/// Draws a pull at the height `y`, as a black point with its error bar. A pull beyond the axis becomes an arrow at
/// the edge.
pub(crate) fn pull(
    drawing: &mut Drawing,
    area: &Area,
    axis: &Axis,
    y: f64,
    pull: Option<f64>,
    error: Option<f64>,
    row: f64,
) {
    point(drawing, area, axis, y, (pull, error), row, BLACK);
}

/// Draws a value with its error like [`pull`], in the given colour.
pub(crate) fn point(
    drawing: &mut Drawing,
    area: &Area,
    axis: &Axis,
    y: f64,
    (value, error): (Option<f64>, Option<f64>),
    row: f64,
    colour: Colour,
) {
    let Some(value) = present(value) else { return };
    let radius = (0.17 * row).clamp(2.0, 3.5);
    if let Some(error) = present(error) {
        let ends = [(axis.at(value - error.abs()), y), (axis.at(value + error.abs()), y)];
        for part in clip::polyline(&ends, area) {
            drawing.polyline(&part, Stroke::solid(colour, 1.4));
        }
    }
    if axis.holds(value) {
        drawing.circle(axis.at(value), y, radius, Ink::fill(colour));
    } else {
        let (tip, back) = if value > axis.hi {
            (area.right - 1.0, area.right - 9.0)
        } else {
            (area.left + 1.0, area.left + 9.0)
        };
        drawing.polygon(&[(tip, y), (back, y - 4.0), (back, y + 4.0)], Ink::fill(colour));
    }
}
