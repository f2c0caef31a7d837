//! Legends: symbols with their texts, in as many rows as the width requires.

use crate::colour::{BLACK, Colour};
use crate::drawing::{Area, Drawing, Ink, Segment, Stroke};
use crate::font;
use crate::text::{Style, drop, fit};

/// Font size of legends, in pixels.
pub(crate) const SIZE: f64 = 12.0;
/// Height of a row of a legend, in pixels.
pub(crate) const ROW: f64 = 20.0;
const SYMBOL: f64 = 28.0;
const PAD: f64 = 6.0;
const GAP: f64 = 20.0;

/// The symbol in front of the text of a legend entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Symbol {
    Line(Stroke),
    /// A line with a point in its middle.
    Dotted(Stroke),
    Box(Ink),
    /// A point with a vertical error bar.
    Point(Colour),
    /// A point with a horizontal error bar.
    Pull,
    Hatched,
    Cross(Stroke),
    /// A small circle.
    Dot(Ink),
    Plus,
    /// An arrow that points down, with the stroke of its line and the ink of its head.
    Arrow(Stroke, Ink),
    /// A character, such as a dagger.
    Sign(&'static str),
}

/// One entry of a legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) symbol: Symbol,
    pub(crate) text: String,
}

impl Entry {
    pub(crate) fn new(symbol: Symbol, text: impl Into<String>) -> Self {
        Self { symbol, text: text.into() }
    }

    fn width(&self, room: f64) -> f64 {
        (SYMBOL + PAD + font::width(&self.text, SIZE)).min(room)
    }
}

/// Distributes the entries over rows that are no wider than `room`, in reading order.
fn rows(entries: &[Entry], room: f64) -> Vec<Vec<&Entry>> {
    let mut rows: Vec<Vec<&Entry>> = Vec::new();
    let mut used = 0.0;
    for entry in entries {
        let width = entry.width(room);
        match rows.last_mut() {
            Some(row) if used + GAP + width <= room => {
                row.push(entry);
                used += GAP + width;
            }
            _ => {
                rows.push(vec![entry]);
                used = width;
            }
        }
    }
    rows
}

/// Returns the height of a legend in pixels if its width is `room`.
pub(crate) fn height(entries: &[Entry], room: f64) -> f64 {
    rows(entries, room).len() as f64 * ROW
}

/// Draws a legend with its upper edge at `top`, its left edge at `left` and the width `room`.
pub(crate) fn draw(drawing: &mut Drawing, entries: &[Entry], left: f64, top: f64, room: f64) {
    for (index, row) in rows(entries, room).into_iter().enumerate() {
        let middle = top + (index as f64 + 0.5) * ROW;
        let mut x = left;
        for entry in row {
            symbol(drawing, &entry.symbol, x, middle);
            let (text, size) = fit(&entry.text, room - SYMBOL - PAD, SIZE, 9.0);
            drawing.text(x + SYMBOL + PAD, middle + drop(size), text, Style::new(size));
            x += entry.width(room) + GAP;
        }
    }
}

fn symbol(drawing: &mut Drawing, symbol: &Symbol, x: f64, y: f64) {
    let area = Area { left: x, top: y - 6.0, right: x + SYMBOL, bottom: y + 6.0 };
    let centre = x + 0.5 * SYMBOL;
    let across = |drawing: &mut Drawing, pen: Stroke| drawing.line((x, y), (x + SYMBOL, y), pen);
    match symbol {
        Symbol::Line(pen) => across(drawing, *pen),
        Symbol::Dotted(pen) => {
            across(drawing, *pen);
            drawing.circle(centre, y, 3.0, Ink::fill(pen.colour));
        }
        Symbol::Box(ink) => drawing.rect(area, *ink),
        Symbol::Point(colour) => {
            drawing.line((centre, y - 8.0), (centre, y + 8.0), Stroke::solid(*colour, 1.4));
            drawing.circle(centre, y, 3.5, Ink::fill(*colour));
        }
        Symbol::Pull => {
            across(drawing, Stroke::solid(BLACK, 1.4));
            drawing.circle(centre, y, 3.5, Ink::fill(BLACK));
        }
        Symbol::Hatched => hatch(drawing, &area),
        Symbol::Cross(pen) => drawing.cross(centre, y, 4.5, *pen),
        Symbol::Dot(ink) => drawing.circle(centre, y, 3.5, *ink),
        Symbol::Plus => plus(drawing, centre, y),
        Symbol::Arrow(pen, head) => {
            drawing.line((centre, y - 9.0), (centre, y - 1.0), *pen);
            arrow_head(drawing, centre, y + 8.0, *head);
        }
        Symbol::Sign(text) => {
            drawing.text(centre, y + drop(SIZE), *text, Style::new(SIZE).centred());
        }
    }
}

/// Draws the head of an arrow that points down. The tip of the arrow is at (`x`, `tip`).
pub(crate) fn arrow_head(drawing: &mut Drawing, x: f64, tip: f64, ink: Ink) {
    drawing.polygon(&[(x, tip), (x - 4.5, tip - 9.0), (x + 4.5, tip - 9.0)], ink);
}

/// Draws a plus sign, the mark of a best fit.
pub(crate) fn plus(drawing: &mut Drawing, x: f64, y: f64) {
    let pen = Stroke::solid(BLACK, 2.2);
    drawing.line((x - 7.0, y), (x + 7.0, y), pen);
    drawing.line((x, y - 7.0), (x, y + 7.0), pen);
}

/// Hatches an area, i.e. draws slanted lines that are clipped at the edges of the area. The hatching marks an
/// uncertainty and leaves the shapes behind it visible.
pub(crate) fn hatch(drawing: &mut Drawing, area: &Area) {
    drawing.path(hatching(area), hatching_ink());
}

/// Returns the stroke of the lines of [`hatching`].
pub(crate) fn hatching_ink() -> Ink {
    Ink::stroke(Stroke::solid(Colour(60, 60, 60), 0.9))
}

/// Returns the slanted lines of [`hatch`]. Their positions are fixed on the page, so the lines of
/// neighbouring areas join.
pub(crate) fn hatching(area: &Area) -> Vec<Segment> {
    const SPACING: f64 = 6.0;
    let mut path = Vec::new();
    // Lines x + y = c.
    let mut c = ((area.left + area.top) / SPACING).ceil() * SPACING;
    while c <= area.right + area.bottom && path.len() < 20_000 {
        let from = area.left.max(c - area.bottom);
        let to = area.right.min(c - area.top);
        if to - from > 0.05 {
            path.push(Segment::Move(from, c - from));
            path.push(Segment::Line(to, c - to));
        }
        c += SPACING;
    }
    path
}
