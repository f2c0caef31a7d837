//! The one font: widths, outlines and where each glyph goes.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font file that travels with the crate (see `font/README.md` for its origin and licence).
pub(crate) const FILE: &[u8] = include_bytes!("../font/DejaVuSans.ttf");

/// The licence of the font inside this crate. Whoever passes on a program that contains the crate has to
/// pass on this text too.
pub const FONT_LICENCE: &str = include_str!("../font/LICENSE");

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FILE, 0).ok());

/// The parsed font; nothing only if the file were damaged, which a test excludes.
pub(crate) fn face() -> Option<&'static Face<'static>> {
    FACE.as_ref()
}

/// One glyph of a line of text, in units of the font size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) glyph: GlyphId,
    /// The character it stands for.
    pub(crate) character: char,
    /// Distance from the start of the text.
    pub(crate) x: f64,
    /// Height above the baseline.
    pub(crate) y: f64,
}

/// Where the glyphs of a text go, and how wide the text is, both for a font size of one.
///
/// Combining accents sit centred on top of the letter before them, which is all the shaping that
/// labels like θ̂ need. Characters that the font lacks become its replacement character.
pub(crate) fn place(text: &str) -> (Vec<Placed>, f64) {
    let Some(face) = face() else { return (Vec::new(), 0.6 * text.chars().count() as f64) };
    let unit = 1.0 / f64::from(face.units_per_em());
    let mut placed: Vec<Placed> = Vec::new();
    let mut pen = 0.0;
    let mut base: Option<Placed> = None;
    for character in text.chars() {
        let character = if character.is_control() { ' ' } else { character };
        let Some(glyph) = face.glyph_index(character).or_else(|| face.glyph_index('\u{fffd}')) else {
            continue;
        };
        let mut here = Placed { glyph, character, x: pen, y: 0.0 };
        if ('\u{300}'..='\u{36f}').contains(&character) {
            let boxes = base.and_then(|b| Some((b, face.glyph_bounding_box(b.glyph)?)));
            if let (Some((letter, under)), Some(mark)) = (boxes, face.glyph_bounding_box(glyph)) {
                let middle = |b: ttf_parser::Rect| 0.5 * (f64::from(b.x_min) + f64::from(b.x_max)) * unit;
                here.x = letter.x + middle(under) - middle(mark);
                here.y = ((f64::from(under.y_max) - f64::from(mark.y_min)) * unit + 0.04).max(0.0);
            }
        } else {
            pen += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * unit;
            base = Some(here);
        }
        placed.push(here);
    }
    (placed, pen)
}

/// Width of a text at a font size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    place(text).1 * size
}

/// Sends a glyph's outline, in units of the font size with y upwards, to `builder`.
pub(crate) fn outline(glyph: GlyphId, builder: &mut dyn OutlineBuilder) {
    if let Some(face) = face() {
        // A glyph without an outline, such as a space, has nothing to send.
        let _ = face.outline_glyph(glyph, builder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_what_labels_use() {
        let face = face().expect("the font is intact");
        for character in "Az09θμσΔλχ−±≤√×²₀ₛ·…†▲⁻⁹\u{2009}\u{302}\u{fffd}".chars()
        {
            assert!(face.glyph_index(character).is_some(), "no glyph for {character:?}");
        }
    }

    #[test]
    fn widths_add_up_and_accents_take_no_room() {
        assert!((width("ab", 10.0) - width("a", 10.0) - width("b", 10.0)).abs() < 1e-12);
        assert_eq!(width("θ\u{302}", 12.0), width("θ", 12.0));
        let (glyphs, _) = place("θ\u{302}");
        assert!(glyphs[1].y > 0.1, "the hat sits above the letter");
        assert!(width("\u{4e2d}", 10.0) > 0.0, "unknown characters show a replacement");
    }
}
