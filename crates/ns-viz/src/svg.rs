//! Writes a drawing as SVG.
//!
//! Texts are written as text elements, so that they can be searched, read aloud and edited on a slide. If the
//! viewer does not have the font for which the picture was laid out, it takes a similar font from a list. The
//! attribute `textLength` then keeps the width of the text, so that nothing overlaps.

use std::fmt::Write;

use crate::drawing::{Drawing, Ink, Item, Segment};
use crate::font;
use crate::markup::{self, Piece};
use crate::shown::shown;
use crate::text::{Anchor, Style};

/// Fonts in order of preference. Verdana is the font of Windows and macOS that is most similar to DejaVu
/// Sans.
const FAMILIES: &str = "'DejaVu Sans', 'Bitstream Vera Sans', Verdana, Arial, Helvetica, sans-serif";

impl Drawing {
    /// Returns the picture as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let (width, height) = (short(self.width), short(self.height));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FAMILIES}\">\n\
             <title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(&markup::plain(&self.description))
        );
        for item in &self.items {
            match item {
                Item::Shape(shape) => {
                    let _ = writeln!(out, "<path d=\"{}\"{}/>", data(&shape.path), painted(&shape.ink));
                }
                Item::Text { x, y, text, style } => out.push_str(&line(*x, *y, text, style)),
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn line(x: f64, y: f64, text: &str, style: &Style) -> String {
    if let Some((pieces, width)) = font::pieces(text) {
        return marked((x, y), &pieces, width, style);
    }
    let (x, y) = (short(x), short(y));
    let anchor = match style.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let (turned, fill) = (turned(style, &x, &y), filled(style));
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" textLength=\"{}\"{anchor}{fill}{turned}>{}</text>\n",
        short(style.size),
        short(font::width(text, style.size)),
        escaped(text)
    )
}

/// Returns a text with markup. Each piece has its position, because viewers place pieces of several sizes differently.
fn marked((x, y): (f64, f64), pieces: &[Piece], width: f64, style: &Style) -> String {
    let start = match style.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - 0.5 * width * style.size,
        Anchor::End => x - width * style.size,
    };
    let mut out = format!("<text{}{}>", filled(style), turned(style, &short(x), &short(y)));
    for piece in pieces {
        let _ = write!(
            out,
            "<tspan x=\"{}\" y=\"{}\" font-size=\"{}\" textLength=\"{}\">{}</tspan>",
            short(start + piece.x * style.size),
            short(y - piece.rise * style.size),
            short(piece.scale * style.size),
            short(piece.width * style.size),
            escaped(&piece.text)
        );
    }
    out.push_str("</text>\n");
    out
}

fn turned(style: &Style, x: &str, y: &str) -> String {
    if style.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() }
}

fn filled(style: &Style) -> String {
    if style.colour == crate::colour::BLACK {
        String::new()
    } else {
        format!(" fill=\"{}\"", style.colour.hex())
    }
}

fn painted(ink: &Ink) -> String {
    let mut out = match ink.fill {
        Some(colour) => format!(" fill=\"{}\"", colour.hex()),
        None => " fill=\"none\"".to_owned(),
    };
    if let Some(stroke) = ink.stroke {
        let _ = write!(out, " stroke=\"{}\" stroke-width=\"{}\"", stroke.colour.hex(), short(stroke.width));
        if let Some((dash, gap)) = stroke.dash {
            let _ = write!(out, " stroke-dasharray=\"{} {}\"", short(dash), short(gap));
        }
    }
    if ink.crisp {
        out.push_str(" shape-rendering=\"crispEdges\"");
    }
    out
}

/// Returns the path data. Coordinates are relative to the previous point, which halves the size of the file. Each
/// is the difference of two rounded positions, so that rounding errors do not add up.
fn data(path: &[Segment]) -> String {
    let mut out = String::new();
    let (mut at, mut start) = ((0, 0), (0, 0));
    let grid = |x: f64, y: f64| (hundredths(x), hundredths(y));
    let step = |value: i64| short(value as f64 / 100.0);
    for segment in path {
        match *segment {
            Segment::Move(x, y) => {
                at = grid(x, y);
                start = at;
                let _ = write!(out, "M{} {}", step(at.0), step(at.1));
            }
            Segment::Line(x, y) => {
                let to = grid(x, y);
                let (right, down) = (to.0 - at.0, to.1 - at.1);
                let _ = match (right, down) {
                    (0, 0) => Ok(()),
                    (0, _) => write!(out, "v{}", step(down)),
                    (_, 0) => write!(out, "h{}", step(right)),
                    _ => write!(out, "l{} {}", step(right), step(down)),
                };
                at = to;
            }
            Segment::Curve(a, b, c, d, x, y) => {
                let ends = [grid(a, b), grid(c, d), grid(x, y)];
                let steps = ends.map(|end| format!("{} {}", step(end.0 - at.0), step(end.1 - at.1)));
                let _ = write!(out, "c{}", steps.join(" "));
                at = grid(x, y);
            }
            Segment::Close => {
                out.push('z');
                at = start;
            }
        }
    }
    out
}

fn hundredths(value: f64) -> i64 {
    (100.0 * value).round() as i64
}

/// Returns a length with at most two decimals. The text is the same on every machine. A hundredth of a pixel
/// is finer than the resolution of any printer.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // `shown` escapes the characters that XML forbids even as references.
    for character in shown(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::BLUE;

    #[test]
    fn markup_in_names_stays_text() {
        let mut drawing = Drawing::new(100.0, 50.0, "a<b & \u{1}".into());
        drawing.text(5.0, 20.0, "x<y & \"z\"", Style::new(10.0).upwards().coloured(BLUE));
        let svg = drawing.to_svg();
        assert!(svg.contains("<title>a&lt;b &amp; \\u{1}</title>"), "{svg}");
        assert!(svg.contains(">x&lt;y &amp; &quot;z&quot;</text>"), "{svg}");
        assert!(svg.contains("rotate(-90 5 20)"));
    }

    #[test]
    fn pieces_of_a_marked_text_have_positions() {
        let mut drawing = Drawing::new(100.0, 50.0, r"of $m_{bb}$".into());
        drawing.text(50.0, 20.0, r"$m_{bb}$ <GeV>", Style::new(10.0).ending());
        let svg = drawing.to_svg();
        assert!(svg.contains("<title>of mbb</title>"), "{svg}");
        assert!(svg.contains("font-size=\"7\"") && svg.contains(">bb</tspan>"), "{svg}");
        assert!(svg.contains(" &lt;GeV&gt;</tspan></text>") && !svg.contains('$'), "{svg}");
        assert!(drawing.to_pdf().is_ok());
    }

    #[test]
    fn names_cannot_turn_a_picture_round() {
        let mut drawing = Drawing::new(100.0, 50.0, "of a\u{202e}b".into());
        drawing.text(5.0, 20.0, "a\u{202e}b\u{1b}[31m\u{feff}", Style::new(10.0));
        let svg = drawing.to_svg();
        assert!(svg.contains("<title>of a\\u{202e}b</title>"), "{svg}");
        assert!(svg.contains(">a\\u{202e}b\\u{1b}[31m\\u{feff}</text>"), "{svg}");
        assert!(!svg.chars().any(|c| matches!(c, '\u{202e}' | '\u{1b}' | '\u{feff}')), "{svg}");
        // PNG and PDF draw the glyphs of the same escaped text, and the layout uses its width.
        let written = font::place("a\\u{202e}b");
        assert_eq!(font::place("a\u{202e}b").1, written.1);
        assert_eq!(font::place("a\u{202e}b").0.len(), written.0.len());
    }

    #[test]
    fn shapes_that_are_not_finite_are_left_out() {
        let mut drawing = Drawing::new(10.0, 10.0, String::new());
        drawing.line((0.0, f64::NAN), (1.0, 1.0), crate::drawing::Stroke::solid(BLUE, 1.0));
        assert!(drawing.items.is_empty());
        assert_eq!(short(-0.001), "0");
        assert_eq!(short(12.5), "12.5");
    }
}
