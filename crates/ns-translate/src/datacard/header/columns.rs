//! The columns of a card: processes, whether they are signals, and rates.

use std::collections::HashMap;
use std::sync::Arc;

use crate::datacard::document::Column;
use crate::datacard::lines::{number, too_long};
use crate::pyhf::names::{list, quoted};
use crate::pyhf::problem::Report;

use super::Rows;

impl Rows<'_> {
    /// Returns the channel of each column, and the columns with channel 0. `None` if a line is missing or has the wrong
    /// length.
    pub(super) fn columns(&self, file: &Arc<str>, report: &mut Report) -> Option<(Vec<&str>, Vec<Column>)> {
        let missing = [
            ("bin", self.bin.is_none()),
            ("process", self.names.is_none()),
            ("process", self.names.is_some() && self.ids.is_none()),
            ("rate", self.rate.is_none()),
        ];
        let lines: Vec<&str> = missing.iter().filter(|(_, missing)| *missing).map(|(key, _)| *key).collect();
        if !lines.is_empty() {
            let message = match lines.as_slice() {
                ["process"] if self.names.is_some() => "The card has one 'process' line.".to_owned(),
                _ => list("The card lacks lines that begin with", &lines),
            };
            report.error(
                file.to_string(),
                message,
                "A card needs the lines 'bin', 'process' (names), 'process' (numbers) and 'rate', one word per column.",
            );
            return None;
        }
        let (bins, _) = self.bin.as_ref()?;
        let (names, names_place) = self.names.as_ref()?;
        let (ids, ids_place) = self.ids.as_ref()?;
        let (rates, place) = self.rate.as_ref()?;
        let mut same = true;
        for (what, row, place) in
            [("process", names, names_place), ("process", ids, ids_place), ("rate", rates, place)]
        {
            if row.len() != bins.len() || row.is_empty() {
                same = false;
                report.error(
                    place.to_string(),
                    format!(
                        "The '{what}' line has {} columns, and the 'bin' line above it has {}.",
                        row.len(),
                        bins.len()
                    ),
                    "Give each line one word per process and channel.",
                );
            }
        }
        if !same {
            return None;
        }
        let whole = |row: &[&str]| row.iter().all(|word| word.parse::<i64>().is_ok());
        // The two lines may stand in either order.
        let swapped = whole(names) && !whole(ids);
        let ((names, names_place), (ids, ids_place)) = if swapped {
            ((ids, ids_place), (names, names_place))
        } else {
            ((names, names_place), (ids, ids_place))
        };
        let mut columns = Vec::with_capacity(bins.len());
        let mut signals: HashMap<&str, bool> = HashMap::new();
        for ((&name, &id), &rate) in names.iter().zip(ids).zip(rates) {
            too_long(name, "process", names_place, report);
            let signal = match id.parse::<i64>() {
                Ok(id) => id <= 0,
                Err(_) => {
                    report.error(
                        ids_place.to_string(),
                        format!(
                            "Process {} has the number {}, which is no whole number.",
                            quoted(name),
                            quoted(id)
                        ),
                        "Write 0 or a negative number for signals, and a positive one for backgrounds.",
                    );
                    false
                }
            };
            if *signals.entry(name).or_insert(signal) != signal {
                report.error(
                    ids_place.to_string(),
                    format!(
                        "Process {} is a signal in one column and a background in another.",
                        quoted(name)
                    ),
                    "Give it numbers of one sign, or two names.",
                );
            }
            let rate = number(rate).filter(|rate| *rate >= 0.0 || *rate == -1.0).unwrap_or_else(|| {
                report.error(
                    place.to_string(),
                    format!("The rate of process {} is {}.", quoted(name), quoted(rate)),
                    "Write a number that is not negative, or -1 for the integral of the template.",
                );
                0.0
            });
            columns.push(Column { channel: 0, process: name.to_owned(), signal, rate, place: place.clone() });
        }
        Some((bins.clone(), columns))
    }
}
