//! Removes the byte order mark that some editors write at the beginning of a file.

use super::problem::Report;

/// The byte order mark in UTF-8.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Returns the text without a byte order mark. If there is a mark, adds a warning that pyhf refuses such
/// text.
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
