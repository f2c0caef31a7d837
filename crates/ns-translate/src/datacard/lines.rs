//! The lines of a card: words, comments and numbers.

use std::fmt;
use std::sync::Arc;

use crate::pyhf::names::LONGEST;
use crate::pyhf::problem::Report;

/// A line of a card, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    /// Number of the line, counted from 1.
    pub(super) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A line that is not empty, without its comment.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    pub(super) place: Place,
    /// The words; there is at least one.
    pub(super) words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    /// Returns the first word.
    pub(super) fn key(&self) -> &'a str {
        self.words.first().copied().unwrap_or_default()
    }

    /// Returns the words from the given one on.
    pub(super) fn rest(&self, from: usize) -> &[&'a str] {
        self.words.get(from..).unwrap_or_default()
    }
}

/// Splits a text into lines with words. Comments begin with `#`.
pub(super) fn lines<'a>(text: &'a str, file: &Arc<str>) -> impl Iterator<Item = Line<'a>> {
    text.lines().enumerate().filter_map(move |(i, line)| {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        (!words.is_empty()).then(|| Line { place: Place { file: file.clone(), line: i + 1 }, words })
    })
}

/// Reads a finite number.
pub(super) fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Returns whether a word consists of dashes, which stand for "no effect".
pub(super) fn is_dash(word: &str) -> bool {
    word.bytes().all(|b| b == b'-')
}

/// Reads a range such as `[0,10]`.
pub(super) fn range(word: &str) -> Option<(f64, f64)> {
    let (lo, hi) = word.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    let (lo, hi) = (number(lo.trim())?, number(hi.trim())?);
    (lo < hi).then_some((lo, hi))
}

/// Reports a name that is too long to be repeated in messages and results. Returns whether it is.
pub(super) fn too_long(name: &str, what: &str, place: &Place, report: &mut Report) -> bool {
    let long = name.len() > LONGEST;
    if long {
        report.error(
            place.to_string(),
            format!("The name of the {what} has {} bytes; the most is {LONGEST}.", name.len()),
            "Shorten it.",
        );
    }
    long
}
