//! The part of a card up to the line `rate`: channels, observations, processes, and where the templates are.

mod channels;
mod columns;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::document::{Document, Origin, ShapeRule};
use super::lines::{Line, Place};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// The first words that mean something in this part. All other lines are free text.
const KEYS: [&str; 9] =
    ["imax", "jmax", "kmax", "shapes", "bin", "observation", "Observation", "process", "rate"];

/// Words of a line, with its place.
type Row<'a> = (Vec<&'a str>, Place);

/// The lines of the header.
#[derive(Debug, Default)]
struct Rows<'a> {
    imax: Option<(usize, Place)>,
    jmax: Option<(usize, Place)>,
    /// The last `bin` line that no other line used yet.
    bin: Option<Row<'a>>,
    /// The `bin` line of the observations.
    observed_bins: Option<Row<'a>>,
    observation: Option<Row<'a>>,
    names: Option<Row<'a>>,
    ids: Option<Row<'a>>,
    rate: Option<Row<'a>>,
    shapes: Vec<ShapeRule>,
    /// Lines that begin like a key in another spelling.
    alike: Vec<(Place, &'a str, &'static str)>,
}

/// What the header says besides the document.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Number of systematic uncertainties according to `kmax`.
    pub(super) kmax: Option<(usize, Place)>,
}

/// Reads the header. `lines` is advanced to the line after `rate`. Problems are added to the report; the document has
/// no columns if they cannot be read.
pub(super) fn read<'a>(
    lines: &mut impl Iterator<Item = Line<'a>>,
    folder: PathBuf,
    file: &Arc<str>,
    report: &mut Report,
) -> (Document, Header) {
    let mut header = Header::default();
    let mut rows = Rows::default();
    for line in lines {
        let row = || (line.rest(1).to_vec(), line.place.clone());
        match line.key() {
            key @ ("imax" | "jmax" | "kmax") => {
                let value = maximum(&line, report).map(|n| (n, line.place.clone()));
                match key {
                    "imax" => rows.imax = value,
                    "jmax" => rows.jmax = value,
                    _ => header.kmax = value,
                }
            }
            "shapes" => rows.shapes.extend(shape_rule(&line, report)),
            "bin" => rows.bin = Some(row()),
            "observation" | "Observation" => {
                rows.observation = Some(row());
                rows.observed_bins = rows.bin.take();
            }
            "process" if rows.names.is_none() => rows.names = Some(row()),
            "process" => rows.ids = Some(row()),
            "rate" => {
                rows.rate = Some(row());
                break;
            }
            key => {
                if let Some(known) = KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)) {
                    rows.alike.push((line.place.clone(), key, known));
                }
            }
        }
    }
    let document = rows.document(folder, file, report);
    (document, header)
}

/// Reads the number of an `imax`, `jmax` or `kmax` line; `None` for `*`.
fn maximum(line: &Line<'_>, report: &mut Report) -> Option<usize> {
    let word = line.words.get(1).copied().unwrap_or_default();
    if word == "*" || word == "-1" {
        return None;
    }
    let value = word.parse().ok();
    if value.is_none() {
        report.error(
            line.place.to_string(),
            format!("'{}' is followed by {}, which is no number.", line.key(), quoted(word)),
            "Write a number, or * to have it counted.",
        );
    }
    value
}

fn shape_rule(line: &Line<'_>, report: &mut Report) -> Option<ShapeRule> {
    let place = line.place.clone();
    let mut malformed = |message: String| {
        report.error(
            place.to_string(),
            message,
            "Write 'shapes PROCESS CHANNEL FILE HISTOGRAM [HISTOGRAM_OF_SYSTEMATIC]', or FAKE as the file.",
        );
    };
    let &[process, channel, file, ref objects @ ..] = line.rest(1) else {
        malformed(format!(
            "The number of words after 'shapes' is {}, but at least 3 are needed.",
            line.words.len() - 1
        ));
        return None;
    };
    let rule = |file: Option<&str>, nominal: &str, systematic: Option<&str>| ShapeRule {
        process: process.to_owned(),
        channel: channel.to_owned(),
        file: file.map(str::to_owned),
        nominal: nominal.to_owned(),
        systematic: systematic.map(str::to_owned),
        place: line.place.clone(),
    };
    match objects {
        [] if file == "FAKE" => Some(rule(None, "", None)),
        [nominal] => Some(rule(Some(file), nominal, None)),
        [nominal, systematic] => Some(rule(Some(file), nominal, Some(systematic))),
        [] => {
            malformed(format!("The 'shapes' line of file {} names no histogram.", quoted(file)));
            None
        }
        _ => {
            malformed(format!(
                "The 'shapes' line of file {} has words after the second histogram.",
                quoted(file)
            ));
            None
        }
    }
}

impl Rows<'_> {
    fn document(mut self, folder: PathBuf, file: &Arc<str>, report: &mut Report) -> Document {
        let mut document = Document::default();
        duplicate_rules(&self.shapes, report);
        let origin = Arc::new(Origin { folder, shapes: std::mem::take(&mut self.shapes) });
        let Some((bins, columns)) = self.columns(file, report) else { return document };
        self.channels(&bins, &origin, &mut document, report);
        let index: HashMap<&str, usize> =
            document.channels.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect();
        let mut seen = HashSet::new();
        for (bin, mut column) in bins.iter().zip(columns) {
            let Some(&channel) = index.get(bin) else { continue };
            column.channel = channel;
            if !seen.insert((channel, column.process.clone())) {
                report.error(
                    column.place.to_string(),
                    format!("Process {} stands twice in channel {}.", quoted(&column.process), quoted(bin)),
                    "Add the two columns, or give the processes different names.",
                );
            }
            document.columns.push(column);
        }
        self.numbers(&document, report);
        if report.has_errors() {
            for (place, written, known) in &self.alike {
                report.warn(
                    place.to_string(),
                    format!("The line begins with {} and is taken for free text.", quoted(written)),
                    format!("Write '{known}' if it is meant."),
                );
            }
        }
        document
    }

    /// Compares `imax` and `jmax` with the card.
    fn numbers(&self, document: &Document, report: &mut Report) {
        let processes: HashSet<&str> = document.columns.iter().map(|c| c.process.as_str()).collect();
        for (key, declared, found, what) in [
            ("imax", &self.imax, document.channels.len(), "channels"),
            ("jmax", &self.jmax, processes.len().saturating_sub(1), "processes besides the first"),
        ] {
            if let Some((n, place)) = declared
                && *n != found
            {
                report.error(
                    place.to_string(),
                    format!("'{key}' is {n}, but the number of {what} is {found}."),
                    "Correct the number or the card, or write *.",
                );
            }
        }
    }
}

fn duplicate_rules(rules: &[ShapeRule], report: &mut Report) {
    let mut seen: HashMap<(&str, &str), &Place> = HashMap::new();
    for rule in rules {
        if let Some(first) = seen.insert((&rule.process, &rule.channel), &rule.place) {
            report.error(
                rule.place.to_string(),
                format!(
                    "The templates of process {} in channel {} are already given in line {}.",
                    quoted(&rule.process),
                    quoted(&rule.channel),
                    first.line
                ),
                "Remove one of the lines.",
            );
        }
    }
}
