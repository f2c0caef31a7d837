//! Lines with one number per column, and `param` lines.

use std::collections::{BTreeMap, HashMap};

use crate::datacard::document::{Kind, Size, Systematic};
use crate::datacard::lines::{Line, is_dash, number, range};
use crate::pyhf::names::quoted;

use super::Reader;

impl Reader<'_> {
    /// Reads a line with one word per column, from word `from` on.
    pub(super) fn sized(&mut self, line: &Line<'_>, from: usize, name: String, no_float: bool, kind: Kind) {
        self.counted += 1;
        let words = line.rest(from);
        let n = self.document.columns.len();
        if words.len() < n {
            self.error(
                line,
                format!("{} has {} values for {n} columns.", quoted(&name), words.len()),
                "Give one value per column, or - for no effect.",
            );
            return;
        }
        if words.get(n).is_some_and(|word| number(word).is_some() || is_dash(word)) {
            self.report.warn(
                line.place.to_string(),
                format!(
                    "{} has more values than the card has columns ({n}); the others are ignored.",
                    quoted(&name)
                ),
                "Remove them, or make them a comment with #.",
            );
        }
        let mut sizes = BTreeMap::new();
        for (column, word) in words.iter().take(n).enumerate() {
            match size(word, kind) {
                Ok(Some(size)) => {
                    sizes.insert(column, size);
                }
                Ok(None) => {}
                Err(remedy) => {
                    let message = format!(
                        "{} has the value {} in column {}{}.",
                        quoted(&name),
                        quoted(word),
                        column + 1,
                        self.column_name(column)
                    );
                    self.error(line, message, remedy);
                }
            }
        }
        if let Kind::Gamma { .. } = kind {
            for column in sizes.keys() {
                if let Some(column) =
                    self.document.columns.get_mut(*column).filter(|column| column.rate == 0.0)
                {
                    // As in Combine: the yield of a process with an empty sideband is not zero.
                    column.rate = 1e-6;
                }
            }
        }
        let place = line.place.clone();
        self.document.systematics.push(Systematic {
            name,
            no_float,
            kind,
            sizes,
            written: HashMap::new(),
            place,
        });
    }

    /// Returns ` (process 'x' of channel 'y')` for a column.
    fn column_name(&self, column: usize) -> String {
        self.document.columns.get(column).map_or_else(String::new, |c| {
            format!(" (process {} of channel {})", quoted(&c.process), quoted(self.document.channel_of(c)))
        })
    }

    pub(super) fn gamma(&mut self, line: &Line<'_>, name: String, no_float: bool) {
        let word = line.words.get(2).copied().unwrap_or_default();
        // Counts beyond this are not told apart from their neighbours.
        let count = word.parse::<u64>().ok().filter(|n| *n < 1 << 53);
        let Some(count) = count else {
            self.error(
                line,
                format!(
                    "gmN of {} is followed by {}, which is no number of events.",
                    quoted(&name),
                    quoted(word)
                ),
                "Write 'NAME gmN EVENTS' and one factor per column.",
            );
            self.counted += 1;
            return;
        };
        self.sized(line, 3, name, no_float, Kind::Gamma { count: count as f64 });
    }

    pub(super) fn param(&mut self, line: &Line<'_>, name: String, no_float: bool) {
        self.counted += 1;
        const REMEDY: &str = "Write 'NAME param MEAN SIGMA [LOWER,UPPER]'.";
        let words = line.rest(2);
        let mean = words.first().and_then(|word| number(word));
        let sigma = words.get(1).copied().unwrap_or_default();
        let Some(mean) = mean else {
            self.error(line, format!("The param {} has no mean.", quoted(&name)), REMEDY);
            return;
        };
        let sigma = match sigma.split_once('/') {
            None => number(sigma),
            Some((below, above)) => {
                match (below.strip_prefix('-').and_then(number), above.strip_prefix('+').and_then(number)) {
                    (Some(below), Some(above)) if below == above => Some(above),
                    (Some(_), Some(_)) => {
                        self.error(
                            line,
                            format!(
                                "The param {} has different widths below and above its mean.",
                                quoted(&name)
                            ),
                            "This is not supported; give one width.",
                        );
                        return;
                    }
                    _ => None,
                }
            }
        };
        let Some(sigma) = sigma.filter(|sigma| *sigma > 0.0 && (sigma * sigma).is_normal()) else {
            self.error(line, format!("The param {} has no positive width.", quoted(&name)), REMEDY);
            return;
        };
        let bounds = words.get(2).filter(|word| word.starts_with('['));
        let range = bounds.map(|word| range(word));
        if range == Some(None) {
            self.error(line, format!("The range of the param {} cannot be read.", quoted(&name)), REMEDY);
            return;
        }
        self.document.systematics.push(Systematic {
            name,
            no_float,
            kind: Kind::Param { mean, sigma, range: range.flatten() },
            sizes: BTreeMap::new(),
            written: HashMap::new(),
            place: line.place.clone(),
        });
    }
}

/// Reads the size of an effect. `None` stands for no effect; the error is a remedy.
pub(in crate::datacard) fn size(word: &str, kind: Kind) -> Result<Option<Size>, &'static str> {
    if is_dash(word) {
        return Ok(None);
    }
    if let Some((below, above)) = word.split_once('/') {
        if !matches!(kind, Kind::LogNormal { .. } | Kind::Shape { optional: true, .. }) {
            return Err("Only lnN, lnU and shape? take two factors; write one number.");
        }
        return match (number(below), number(above)) {
            (Some(below), Some(above)) if below > 0.0 && above > 0.0 => {
                Ok((below != 1.0 || above != 1.0).then_some(Size::Two(below, above)))
            }
            _ => Err("Write two positive factors such as 0.95/1.1, that at -1 sigma first."),
        };
    }
    match (number(word), kind) {
        (Some(0.0), _) => Ok(None),
        (Some(1.0), Kind::LogNormal { .. }) => Ok(None),
        (Some(x), _) if x > 0.0 => Ok(Some(Size::One(x))),
        _ => Err("Write a positive number, or - for no effect."),
    }
}
