//! The font of the pictures: widths of texts, and positions and outlines of glyphs. Characters that this font
//! lacks are drawn with a font of the system.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::markup::{self, Piece};
use crate::shown::shown;
use crate::system_fonts;

/// The font file that is built into this crate (see `font/README.md` for its origin and licence).
pub(crate) const FILE: &[u8] = include_bytes!("../font/DejaVuSans.ttf");

/// The licence of the font that is built into this crate. Whoever distributes a program with this crate must
/// distribute this text too.
pub const FONT_LICENCE: &str = include_str!("../font/LICENSE");

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FILE, 0).ok());

/// Returns the parsed font. It would be `None` only if the font file were damaged, which a test excludes.
pub(crate) fn face() -> Option<&'static Face<'static>> {
    FACE.as_ref()
}

/// One glyph of a line of text, with lengths in units of the font size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) glyph: GlyphId,
    /// The font of the system that contains the glyph; `None` if the font of this crate contains the glyph.
    pub(crate) system: Option<&'static Face<'static>>,
    /// The character that the glyph shows.
    pub(crate) character: char,
    /// Horizontal distance of the glyph from the start of the text.
    pub(crate) x: f64,
    /// Height of the glyph above the baseline of the text.
    pub(crate) y: f64,
    /// Size of the glyph, as a fraction of the font size. It is below 1 in sub- and superscripts.
    pub(crate) scale: f64,
}

/// Returns the glyphs of a text with their positions, and the width of the text, in units of the font size.
///
/// Combining accents are centred above the letter before them, which is enough for labels such as θ̂. If this
/// font lacks a character, its glyph comes from a font of the system; if no font has it, the replacement
/// character is shown. Invisible and control characters are escaped.
///
/// Texts may have [markup](crate::markup).
pub(crate) fn place(text: &str) -> (Vec<Placed>, f64) {
    let plain = |text: &str| place_with(text, system_fonts::face_for);
    let Some((pieces, width)) = pieces(text) else { return plain(text) };
    let glyphs = pieces.iter().flat_map(|piece| {
        let Piece { x, rise, scale, .. } = *piece;
        let moved =
            move |glyph: Placed| Placed { x: x + scale * glyph.x, y: rise + scale * glyph.y, scale, ..glyph };
        plain(&piece.text).0.into_iter().map(moved)
    });
    (glyphs.collect(), width)
}

/// Returns the pieces of a text with markup, and its width, in units of the font size. Returns `None` if the text has no
/// markup.
pub(crate) fn pieces(text: &str) -> Option<(Vec<Piece>, f64)> {
    let width = |text: &str| place_with(text, system_fonts::face_for).1;
    markup::parse(text).map(|nodes| markup::lay(&nodes, &width))
}

/// Returns the characters in the texts that no font contains. Each character occurs once.
pub(crate) fn missing<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut found = String::new();
    let strange = |c: &char| !c.is_ascii();
    let characters = |text: &str| shown(&markup::plain(text)).chars().filter(strange).collect::<Vec<_>>();
    for character in texts.flat_map(characters) {
        let own = face().is_none_or(|face| face.glyph_index(character).is_some());
        if !own && !found.contains(character) && system_fonts::face_for(character).is_none() {
            found.push(character);
        }
    }
    found
}

/// Returns a warning about characters in these texts that no font contains. The warning is for readers of a
/// PNG or PDF.
#[must_use]
pub fn font_warning<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let missing = missing(texts);
    if missing.is_empty() {
        return None;
    }
    let shown: String = missing.chars().take(20).collect();
    let more = if missing.chars().count() > 20 { " and more" } else { "" };
    Some(format!(
        "the picture shows \u{fffd} for characters that no font of this machine has: {shown}{more}; install a font that \
         has them, such as Noto Sans CJK, or write SVG, which is drawn with the fonts of its viewer"
    ))
}

fn place_with(
    text: &str,
    system: impl Fn(char) -> Option<(&'static Face<'static>, GlyphId)>,
) -> (Vec<Placed>, f64) {
    let Some(face) = face() else { return (Vec::new(), 0.6 * text.chars().count() as f64) };
    let unit = 1.0 / f64::from(face.units_per_em());
    let mut placed: Vec<Placed> = Vec::new();
    let mut pen = 0.0;
    let mut base: Option<Placed> = None;
    for character in shown(text).chars() {
        let own = face.glyph_index(character);
        if let Some((other, glyph)) = own.is_none().then(|| system(character)).flatten() {
            placed.push(Placed { glyph, system: Some(other), character, x: pen, y: 0.0, scale: 1.0 });
            pen += f64::from(other.glyph_hor_advance(glyph).unwrap_or(0)) / f64::from(other.units_per_em());
            base = None;
            continue;
        }
        let Some(glyph) = own.or_else(|| face.glyph_index('\u{fffd}')) else {
            continue;
        };
        let mut here = Placed { glyph, system: None, character, x: pen, y: 0.0, scale: 1.0 };
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

/// Returns the width in pixels of a text at a font size in pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    place(text).1 * size
}

/// Sends a glyph's outline to `builder`, in units of the font size of the text and with y upwards.
pub(crate) fn outline(glyph: &Placed, builder: &mut dyn OutlineBuilder) {
    if let Some(face) = glyph.system.or_else(face) {
        let unit = glyph.scale as f32 / f32::from(face.units_per_em());
        // A glyph without an outline, such as a space, has nothing to send.
        let _ = face.outline_glyph(glyph.glyph, &mut Scaled { builder, unit });
    }
}

/// Converts an outline to units of the font size and passes it on to another builder.
struct Scaled<'a> {
    builder: &'a mut dyn OutlineBuilder,
    unit: f32,
}

impl OutlineBuilder for Scaled<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(x * self.unit, y * self.unit);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(x * self.unit, y * self.unit);
    }

    fn quad_to(&mut self, a: f32, b: f32, x: f32, y: f32) {
        let u = self.unit;
        self.builder.quad_to(a * u, b * u, x * u, y * u);
    }

    fn curve_to(&mut self, a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) {
        let u = self.unit;
        self.builder.curve_to(a * u, b * u, c * u, d * u, x * u, y * u);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_what_labels_use() {
        let face = face().expect("the font is intact");
        let labels = "Az09θμσΔλχ−±≤√×²₀ₛ·…†▲⁻⁹′\u{a0}\u{2009}\u{302}\u{fffd}";
        for character in labels.chars().chain(markup::signs().chars()) {
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

    #[test]
    fn scripts_are_smaller_and_leave_no_markup() {
        let (glyphs, wide) = place(r"$m_{bb}$");
        assert_eq!(glyphs.iter().map(|glyph| glyph.character).collect::<String>(), "mbb");
        assert!(glyphs[1].y < 0.0 && glyphs[1].scale == 0.7 && glyphs[0].scale == 1.0);
        assert!(wide < width("mbb", 1.0) && wide > width("mb", 1.0));
        assert_eq!(width(r"\alpha_JES", 1.0), width("α_JES", 1.0));
        assert_eq!(missing([r"\alpha \to"].into_iter()), "");
    }

    #[test]
    fn cjk_names_use_a_system_font_or_a_replacement_that_is_told() {
        // A font of the system has the character. In this test, the font of the pictures replaces it.
        let lent = |_| Some((face()?, face()?.glyph_index('M')?));
        let (glyphs, wide) = place_with("a中", lent);
        assert!(glyphs[0].system.is_none() && glyphs[1].system.is_some());
        assert!((wide - width("aM", 1.0)).abs() < 1e-12);
        // No font of the system has the character.
        let (glyphs, _) = place_with("a中", |_| None);
        assert_eq!(Some(glyphs[1].glyph), face().unwrap().glyph_index('\u{fffd}'));
        // Whether this machine has such a font or not, the warning agrees with the drawing.
        let has_font = system_fonts::face_for('中').is_some();
        assert_eq!(missing(["μ_中", "中_b"].into_iter()), if has_font { "" } else { "中" });
    }
}
