//! Escapes text for pictures, so that a name from a file cannot hide, reverse or break other text.

use std::borrow::Cow;

/// Returns whether a character is unsafe to draw. A character is unsafe if it is a control character, changes
/// the direction of writing, has no width, or is forbidden in XML.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns the text with unsafe characters escaped, as in `\u{202e}`. Letters of all scripts stay unchanged.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_acts_is_written_out_and_what_shows_stays() {
        assert_eq!(shown("a\u{202e}b\u{1b}[31m\n"), "a\\u{202e}b\\u{1b}[31m\\u{a}");
        for name in ["μ_sig", "信号", "e\u{301}", "a b/c"] {
            assert_eq!(shown(name), name);
        }
        let once = shown("x\u{200b}").into_owned();
        assert_eq!(shown(&once), once);
    }
}
