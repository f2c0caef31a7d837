//! Escapes text from files before it is shown. A name can then neither move the cursor nor hide or reverse
//! other text.

use std::borrow::Cow;

/// Returns whether a character can change how other text is shown: a control character, a character that changes the
/// direction of writing, or a character without a width.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes control characters, characters that change the direction of writing, and characters without a
/// width, in the form `\u{1b}`. Letters of all scripts stay as they are.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

/// Escapes the same characters as [`plain`], except line feeds. The text may have several lines.
#[must_use]
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && acts(c))
}

fn escaped(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{plain, plain_lines};

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(plain("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(
            plain("a\u{202e}b\u{2066}c\u{200b}d\u{200f}e\u{61c}f"),
            "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{200f}e\\u{61c}f"
        );
        assert_eq!(plain("one\ntwo\r\u{9b}"), "one\\u{a}two\\u{d}\\u{9b}");
        assert_eq!(plain_lines("one\ntwo\r"), "one\ntwo\\u{d}");
    }

    #[test]
    fn letters_of_all_scripts_stay() {
        for name in ["mu", "σ_µ", "Größe", "信号 バックグラウンド", "сигнал", "إشارة", "e\u{301}", "│─"]
        {
            assert_eq!(plain(name), name);
        }
    }
}
