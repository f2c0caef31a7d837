//! Writes a drawing as PNG.

use std::io::Write;

use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use crate::colour::Colour;
use crate::drawing::{Drawing, Item, Segment, Shape};
use crate::error::PictureError;
use crate::font;
use crate::text::{Anchor, Style};

/// Largest number of pixels of a PNG.
pub(crate) const MOST_PIXELS: usize = 100_000_000;
/// Approximate number of pixels that are in memory at the same time. A page is drawn in horizontal bands of
/// this size.
const BAND_PIXELS: u32 = 2_000_000;
/// Number of pixels above which a picture is compressed for speed instead of file size.
const QUICK_ABOVE: u64 = 12_000_000;

impl Drawing {
    /// Returns the picture as a PNG file with `scale` pixels per CSS pixel. A scale of 2 is suitable for slides.
    ///
    /// # Errors
    /// [`PictureError::OutOfRange`] if the scale is not a positive number, and [`PictureError::TooLarge`] if there
    /// would be more than 100 million pixels.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, PictureError> {
        if !(scale > 0.0 && scale.is_finite()) {
            let range = "a positive number";
            return Err(PictureError::OutOfRange {
                picture: "png",
                field: "scale".into(),
                value: scale,
                range,
            });
        }
        let (width, height) = ((self.width * scale).round().max(1.0), (self.height * scale).round().max(1.0));
        let too_large = || PictureError::TooLarge { width, height, limit: MOST_PIXELS };
        if width * height > MOST_PIXELS as f64 {
            return Err(too_large());
        }
        let (width, height) = (width as u32, height as u32);
        let rows = (BAND_PIXELS / width).clamp(16, height.max(16));
        let mut pixels = Pixmap::new(width, rows).ok_or_else(too_large)?;
        let extents: Vec<(f64, f64)> = self.items.iter().map(vertical_extent).collect();
        let mut file = Vec::new();
        let failed =
            |error: png::EncodingError| PictureError::Encode { format: "PNG", message: error.to_string() };
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        if u64::from(width) * u64::from(height) > QUICK_ABOVE {
            encoder.set_compression(png::Compression::Fast);
        }
        let mut writer = encoder.write_header().map_err(failed)?;
        let mut stream = writer.stream_writer_with_size(1 << 16).map_err(failed)?;
        let mut line = Vec::with_capacity(3 * width as usize);
        for first in (0..height).step_by(rows as usize) {
            pixels.fill(tiny_skia::Color::WHITE);
            let here = rows.min(height - first);
            let (top, bottom) = (f64::from(first) / scale - 1.0, f64::from(first + here) / scale + 1.0);
            let transform =
                Transform::from_scale(scale as f32, scale as f32).post_translate(0.0, -(first as f32));
            for (item, extent) in self.items.iter().zip(&extents) {
                if extent.1 < top || extent.0 > bottom {
                    continue;
                }
                match item {
                    Item::Shape(shape) => paint(&mut pixels, shape, transform),
                    Item::Text { x, y, text, style } => write(&mut pixels, (*x, *y), text, style, transform),
                }
            }
            for row in pixels.data().chunks_exact(4 * width as usize).take(here as usize) {
                line.clear();
                // The page is white, so no pixel is transparent.
                line.extend(row.chunks_exact(4).flat_map(|pixel| pixel.iter().take(3)));
                stream
                    .write_all(&line)
                    .map_err(|error| PictureError::Encode { format: "PNG", message: error.to_string() })?;
            }
        }
        stream.finish().map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(file)
    }
}

/// Returns the upper and the lower end of an item on the page, including a margin for the width of its lines.
fn vertical_extent(item: &Item) -> (f64, f64) {
    match item {
        Item::Shape(shape) => {
            let pen = shape.ink.stroke.map_or(0.0, |stroke| stroke.width);
            let heights = shape.path.iter().flat_map(|segment| match *segment {
                Segment::Move(_, y) | Segment::Line(_, y) => [y; 3],
                Segment::Curve(_, b, _, d, _, y) => [b, d, y],
                Segment::Close => [f64::NAN; 3],
            });
            // The tip of a sharp corner reaches further out than the width of the line.
            heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| {
                (low.min(y - 5.0 * pen), high.max(y + 5.0 * pen))
            })
        }
        Item::Text { y, text, style, .. } => {
            let reach = if style.upwards { font::width(text, style.size) } else { 0.0 } + 2.0 * style.size;
            (y - reach, y + reach)
        }
    }
}

fn colour(colour: Colour, smooth: bool) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(colour.0, colour.1, colour.2, 255);
    paint.anti_alias = smooth;
    paint
}

fn paint(pixels: &mut Pixmap, shape: &Shape, transform: Transform) {
    let Some(path) = path(&shape.path) else { return };
    if let Some(fill) = shape.ink.fill {
        pixels.fill_path(&path, &colour(fill, !shape.ink.crisp), FillRule::Winding, transform, None);
    }
    if let Some(stroke) = shape.ink.stroke {
        let dash = stroke.dash.and_then(|(on, off)| StrokeDash::new(vec![on as f32, off as f32], 0.0));
        let pen = tiny_skia::Stroke { width: stroke.width as f32, dash, ..tiny_skia::Stroke::default() };
        pixels.stroke_path(&path, &colour(stroke.colour, true), &pen, transform, None);
    }
}

fn path(segments: &[Segment]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for segment in segments {
        match *segment {
            Segment::Move(x, y) => builder.move_to(x as f32, y as f32),
            Segment::Line(x, y) => builder.line_to(x as f32, y as f32),
            Segment::Curve(a, b, c, d, x, y) => {
                builder.cubic_to(a as f32, b as f32, c as f32, d as f32, x as f32, y as f32);
            }
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

/// Collects the outlines of glyphs. Each outline is shifted to the position of its glyph. Lengths are in
/// units of the font size, with y downwards.
struct Outlines {
    builder: PathBuilder,
    x: f32,
    y: f32,
}

impl Outlines {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x, -(self.y + y))
    }
}

impl OutlineBuilder for Outlines {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, a: f32, b: f32, x: f32, y: f32) {
        let ((a, b), (x, y)) = (self.at(a, b), self.at(x, y));
        self.builder.quad_to(a, b, x, y);
    }

    fn curve_to(&mut self, a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) {
        let ((a, b), (c, d), (x, y)) = (self.at(a, b), self.at(c, d), self.at(x, y));
        self.builder.cubic_to(a, b, c, d, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

fn write(pixels: &mut Pixmap, at: (f64, f64), text: &str, style: &Style, transform: Transform) {
    let (glyphs, width) = font::place(text);
    let mut outlines = Outlines { builder: PathBuilder::new(), x: 0.0, y: 0.0 };
    let start = match style.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -0.5 * width,
        Anchor::End => -width,
    };
    for glyph in glyphs {
        outlines.x = (start + glyph.x) as f32;
        outlines.y = glyph.y as f32;
        font::outline(&glyph, &mut outlines);
    }
    let Some(path) = outlines.builder.finish() else { return };
    let size = style.size as f32;
    let mut place = transform.pre_translate(at.0 as f32, at.1 as f32);
    if style.upwards {
        place = place.pre_rotate(-90.0);
    }
    let place = place.pre_scale(size, size);
    pixels.fill_path(&path, &colour(style.colour, true), FillRule::Winding, place, None);
}
