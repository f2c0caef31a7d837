//! Lines of text: their style and size, and methods to fit long lines into the available width.

use serde::{Deserialize, Serialize};

use crate::colour::{BLACK, Colour};
use crate::font;
use crate::markup;

/// The alignment of a text. It says which part of the text lies at the position of the text: the start, the middle or
/// the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Size, alignment, colour and direction of a text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Style {
    /// Font size, in pixels.
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    /// Whether the text runs upwards instead of to the right.
    pub(crate) upwards: bool,
}

impl Style {
    /// Returns the style of black text that starts at its position, with this font size in pixels.
    pub(crate) fn new(size: f64) -> Self {
        Self { size, anchor: Anchor::Start, colour: BLACK, upwards: false }
    }

    /// Returns the same style with the middle of the text at its position.
    pub(crate) fn centred(self) -> Self {
        Self { anchor: Anchor::Middle, ..self }
    }

    /// Returns the same style with the end of the text at its position.
    pub(crate) fn ending(self) -> Self {
        Self { anchor: Anchor::End, ..self }
    }

    /// Returns the same style in another colour.
    pub(crate) fn coloured(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// Returns the same style for text that runs upwards.
    pub(crate) fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// Height of a line above its baseline, as a fraction of the font size.
pub(crate) const ASCENT: f64 = 0.76;
/// Depth of a line below its baseline, as a fraction of the font size.
pub(crate) const DESCENT: f64 = 0.24;

/// Returns the distance from the middle of a line of text down to its baseline, for a font size in pixels.
pub(crate) fn drop(size: f64) -> f64 {
    0.36 * size
}

/// Returns a text and a font size that fit into the width `room`. The font size is reduced first, but not
/// below `least`. If that is not enough, the text is shortened in the middle, where names of systematic
/// uncertainties differ least.
pub(crate) fn fit(text: &str, room: f64, size: f64, least: f64) -> (String, f64) {
    let unit = font::width(text, 1.0);
    if unit * size <= room {
        return (text.to_owned(), size);
    }
    let fitting = (room / unit * 100.0).floor() / 100.0;
    if fitting >= least {
        return (text.to_owned(), fitting);
    }
    // Markup that is cut in the middle would be drawn as it is written.
    let characters: Vec<char> = markup::plain(text).chars().collect();
    let shortened = |kept: usize| -> String {
        let front = kept.div_ceil(2);
        let back = characters.len() - (kept - front);
        let start = characters.iter().take(front);
        start.chain(std::iter::once(&'…')).chain(characters.iter().skip(back)).collect()
    };
    let (mut kept, mut too_many) = (0, characters.len());
    while too_many - kept > 1 {
        let middle = (kept + too_many) / 2;
        if font::width(&shortened(middle), least) <= room {
            kept = middle;
        } else {
            too_many = middle;
        }
    }
    (shortened(kept), least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_shrink_before_they_are_shortened() {
        let name = "alpha_".repeat(13);
        assert_eq!(fit("mu", 100.0, 12.0, 8.0), ("mu".to_owned(), 12.0));
        let (text, size) = fit(&name, 500.0, 12.0, 8.0);
        assert_eq!(text, name);
        assert!(size < 12.0 && font::width(&text, size) <= 500.0);
        let (text, size) = fit(&name, 200.0, 12.0, 8.0);
        assert!(text.contains('…') && text.starts_with("alpha") && size == 8.0);
        assert!(font::width(&text, size) <= 200.0);
        assert!(font::width(&text, size) > 180.0, "no more is cut than needed: {text}");
    }
}
