//! The byte order mark that some editors put before a text.

use super::problem::Report;

/// The mark in UTF-8.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The text behind its mark, with a warning if it has one: it changes nothing, but pyhf refuses it.
pub(super) fn without_mark<'a>(text: &'a [u8], report: &mut Report) -> &'a [u8] {
    match text.strip_prefix(&MARK) {
        None => text,
        Some(rest) => {
            report.warn(
                String::new(),
                "The text starts with a byte order mark, which is ignored.",
                "pyhf refuses it: save the file as UTF-8 without BOM.",
            );
            rest
        }
    }
}
