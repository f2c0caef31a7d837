//! A finished picture: its shapes and texts, in the order in which they are painted.

use serde::{Deserialize, Serialize};

use crate::colour::Colour;
use crate::font;
use crate::text::{ASCENT, Anchor, DESCENT, Style};

/// A drawn picture, ready to be written as SVG, PNG or PDF.
///
/// Lengths are in CSS pixels (96 per inch).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Text that describes the picture to readers who cannot see it.
    pub(crate) description: String,
    pub(crate) items: Vec<Item>,
    /// Pages of the PDF file, if one page would be too large to read. Otherwise the list is empty.
    pub(crate) pages: Vec<Drawing>,
}

/// A text of a drawing, and the rectangle that contains the text, in CSS pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// The text as drawn.
    pub text: String,
    /// Left edge.
    pub left: f64,
    /// Upper edge. Vertical positions grow downwards.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Item {
    Shape(Shape),
    Text { x: f64, y: f64, text: String, style: Style },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) path: Vec<Segment>,
    pub(crate) ink: Ink,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Segment {
    Move(f64, f64),
    Line(f64, f64),
    Curve(f64, f64, f64, f64, f64, f64),
    Close,
}

/// Colour, width and dashes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of a dash and of the gap after it, in pixels; `None` for a solid line.
    pub(crate) dash: Option<(f64, f64)>,
}

impl Stroke {
    pub(crate) fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: None }
    }

    pub(crate) fn dashed(colour: Colour, width: f64, dash: f64, gap: f64) -> Self {
        Self { colour, width, dash: Some((dash, gap)) }
    }
}

/// Fill and outline of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Ink {
    pub(crate) fill: Option<Colour>,
    pub(crate) stroke: Option<Stroke>,
    /// Whether the edges are drawn without antialiasing. Neighbouring tiles then join without a visible line.
    pub(crate) crisp: bool,
}

impl Ink {
    pub(crate) fn fill(colour: Colour) -> Self {
        Self { fill: Some(colour), ..Self::default() }
    }

    pub(crate) fn tile(colour: Colour) -> Self {
        Self { fill: Some(colour), crisp: true, ..Self::default() }
    }

    pub(crate) fn stroke(stroke: Stroke) -> Self {
        Self { stroke: Some(stroke), ..Self::default() }
    }

    pub(crate) fn outlined(colour: Colour, stroke: Stroke) -> Self {
        Self { fill: Some(colour), stroke: Some(stroke), ..Self::default() }
    }
}

/// A rectangle on the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

impl Segment {
    fn numbers(&self) -> [f64; 6] {
        match *self {
            Self::Move(x, y) | Self::Line(x, y) => [x, y, x, y, x, y],
            Self::Curve(a, b, c, d, x, y) => [a, b, c, d, x, y],
            Self::Close => [0.0; 6],
        }
    }
}

impl Drawing {
    pub(crate) fn new(width: f64, height: f64, description: String) -> Self {
        Self {
            width: width.ceil().max(1.0),
            height: height.ceil().max(1.0),
            description,
            items: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// Returns the width in CSS pixels (96 per inch).
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Returns the height in CSS pixels (96 per inch).
    #[must_use]
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Returns the number of pages of the picture as PDF. SVG and PNG always show one page.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len().max(1)
    }

    /// Returns a warning about characters that neither the font of this crate nor a font of the system
    /// contains. PNG and PDF files show a replacement character for them. An SVG is drawn with the fonts of
    /// its viewer.
    #[must_use]
    pub fn font_warning(&self) -> Option<String> {
        let texts = self.items.iter().filter_map(|item| match item {
            Item::Shape(_) => None,
            Item::Text { text, .. } => Some(text.as_str()),
        });
        font::font_warning(texts)
    }

    /// Returns all texts with the rectangles that they cover, in the order in which they are drawn.
    #[must_use]
    pub fn labels(&self) -> Vec<Label> {
        let label = |item: &Item| match item {
            Item::Shape(_) => None,
            Item::Text { x, y, text, style } => {
                let width = font::width(text, style.size);
                let before = match style.anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5 * width,
                    Anchor::End => width,
                };
                let (up, down) = (ASCENT * style.size, DESCENT * style.size);
                let text = text.clone();
                Some(if style.upwards {
                    let bottom = y + before;
                    Label { text, left: x - up, top: bottom - width, right: x + down, bottom }
                } else {
                    let left = x - before;
                    Label { text, left, top: y - up, right: left + width, bottom: y + down }
                })
            }
        };
        self.items.iter().filter_map(label).collect()
    }

    /// Adds a path to the drawing. A path with a coordinate that is not finite is left out, because file
    /// formats cannot store it.
    pub(crate) fn path(&mut self, path: Vec<Segment>, ink: Ink) {
        if !path.is_empty() && path.iter().flat_map(Segment::numbers).all(f64::is_finite) {
            self.items.push(Item::Shape(Shape { path, ink }));
        }
    }

    /// Adds everything of another drawing, moved by `right` and `down` in pixels.
    pub(crate) fn put(&mut self, other: &Drawing, right: f64, down: f64) {
        let shift = |segment: &Segment| match *segment {
            Segment::Move(x, y) => Segment::Move(x + right, y + down),
            Segment::Line(x, y) => Segment::Line(x + right, y + down),
            Segment::Curve(a, b, c, d, x, y) => {
                Segment::Curve(a + right, b + down, c + right, d + down, x + right, y + down)
            }
            Segment::Close => Segment::Close,
        };
        let moved = |item: &Item| match item {
            Item::Shape(shape) => {
                Item::Shape(Shape { path: shape.path.iter().map(shift).collect(), ink: shape.ink })
            }
            Item::Text { x, y, text, style } => {
                Item::Text { x: x + right, y: y + down, text: text.clone(), style: *style }
            }
        };
        self.items.extend(other.items.iter().map(moved));
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, text: impl Into<String>, style: Style) {
        let text = text.into();
        if !text.is_empty() && x.is_finite() && y.is_finite() {
            self.items.push(Item::Text { x, y, text, style });
        }
    }

    pub(crate) fn rect(&mut self, area: Area, ink: Ink) {
        self.path(rectangle(area), ink);
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.polyline(&[from, to], stroke);
    }

    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        self.path(open(points), Ink::stroke(stroke));
    }

    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], ink: Ink) {
        let mut path = open(points);
        if path.len() > 2 {
            path.push(Segment::Close);
            self.path(path, ink);
        }
    }

    pub(crate) fn circle(&mut self, x: f64, y: f64, radius: f64, ink: Ink) {
        self.path(circle(x, y, radius).into(), ink);
    }

    /// Adds a cross of two diagonal lines around a point. `radius` is half the width of the cross.
    pub(crate) fn cross(&mut self, x: f64, y: f64, radius: f64, stroke: Stroke) {
        let r = radius;
        let path = vec![
            Segment::Move(x - r, y - r),
            Segment::Line(x + r, y + r),
            Segment::Move(x - r, y + r),
            Segment::Line(x + r, y - r),
        ];
        self.path(path, Ink::stroke(stroke));
    }
}

/// Returns a circle as four cubic curves. The distance of the curves from the centre deviates from the radius
/// by at most 0.03 %.
pub(crate) fn circle(x: f64, y: f64, r: f64) -> [Segment; 6] {
    let k = 0.552_284_749_8 * r;
    [
        Segment::Move(x + r, y),
        Segment::Curve(x + r, y + k, x + k, y + r, x, y + r),
        Segment::Curve(x - k, y + r, x - r, y + k, x - r, y),
        Segment::Curve(x - r, y - k, x - k, y - r, x, y - r),
        Segment::Curve(x + k, y - r, x + r, y - k, x + r, y),
        Segment::Close,
    ]
}

pub(crate) fn rectangle(area: Area) -> Vec<Segment> {
    vec![
        Segment::Move(area.left, area.top),
        Segment::Line(area.right, area.top),
        Segment::Line(area.right, area.bottom),
        Segment::Line(area.left, area.bottom),
        Segment::Close,
    ]
}

fn open(points: &[(f64, f64)]) -> Vec<Segment> {
    let segment = |(index, &(x, y)): (usize, &(f64, f64))| {
        if index == 0 { Segment::Move(x, y) } else { Segment::Line(x, y) }
    };
    points.iter().enumerate().map(segment).collect()
}
