//! The part of a card up to the line `rate`: channels, observations, processes, and where the templates are.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::document::{Channel, Column, Document, Origin, ShapeRule};
use super::lines::{Line, Place, number, too_long};
use crate::pyhf::names::{list, nearest, quoted};
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

    /// Returns the channel of each column, and the columns with channel 0. `None` if a line is missing or has the wrong
    /// length.
    fn columns(&self, file: &Arc<str>, report: &mut Report) -> Option<(Vec<&str>, Vec<Column>)> {
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

    /// Adds the channels: those of the observations, or, if there are none, those of the columns.
    fn channels(&self, bins: &[&str], origin: &Arc<Origin>, document: &mut Document, report: &mut Report) {
        let rate_place = self.rate.as_ref().map(|(_, place)| place.clone());
        let (names, place): (Vec<&str>, Place) = match &self.observed_bins {
            Some((names, place)) => (names.clone(), place.clone()),
            None => {
                let mut seen = HashSet::new();
                let place = self.bin.as_ref().map(|(_, place)| place.clone()).or(rate_place);
                let Some(place) = place else { return };
                (bins.iter().copied().filter(|bin| seen.insert(*bin)).collect(), place)
            }
        };
        let mut observations: Vec<Option<f64>> = vec![None; names.len()];
        match &self.observation {
            None => report.error(
                place.to_string(),
                "The card has no line 'observation'.",
                "Add one with a count per channel, or -1 for the integral of data_obs.",
            ),
            Some((counts, place)) if counts.len() != names.len() => report.error(
                place.to_string(),
                format!(
                    "The number of observations is {}, but the number of channels is {}.",
                    counts.len(),
                    names.len()
                ),
                "Give one count per channel, in the order of the 'bin' line above.",
            ),
            Some((counts, place)) => {
                for (slot, (word, name)) in observations.iter_mut().zip(counts.iter().zip(&names)) {
                    *slot = number(word).filter(|count| *count >= 0.0 || *count == -1.0);
                    if slot.is_none() {
                        report.error(
                            place.to_string(),
                            format!("The observation of channel {} is {}.", quoted(name), quoted(word)),
                            "Write a count that is not negative, or -1 for the integral of data_obs.",
                        );
                    }
                }
            }
        }
        let mut seen = HashSet::new();
        for (&name, observation) in names.iter().zip(observations) {
            too_long(name, "channel", &place, report);
            if !seen.insert(name) {
                report.error(
                    place.to_string(),
                    format!("Channel {} stands twice in the 'bin' line of the observations.", quoted(name)),
                    "Name each channel once.",
                );
                continue;
            }
            document.channels.push(Channel {
                name: name.to_owned(),
                place: place.clone(),
                observation,
                origin: origin.clone(),
                written: name.to_owned(),
                mc_stats: None,
            });
        }
        self.unknown_channels(bins, document, report);
    }

    /// Reports columns of channels without an observation, and channels without columns.
    fn unknown_channels(&self, bins: &[&str], document: &Document, report: &mut Report) {
        let Some((_, place)) = &self.bin else { return };
        let names: Vec<&str> = document.channels.iter().map(|c| c.name.as_str()).collect();
        let (known, used): (HashSet<&str>, HashSet<&str>) =
            (names.iter().copied().collect(), bins.iter().copied().collect());
        let mut said = HashSet::new();
        for bin in bins.iter().filter(|bin| !known.contains(*bin)) {
            if said.insert(*bin) {
                let near = nearest(bin, names.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
                report.error(
                    place.to_string(),
                    format!("Channel {} has no observation.{near}", quoted(bin)),
                    "Add it to the 'bin' and 'observation' lines above.",
                );
            }
        }
        for channel in document.channels.iter().filter(|c| !used.contains(c.name.as_str())) {
            report.error(
                channel.place.to_string(),
                format!("Channel {} has no processes.", quoted(&channel.name)),
                "Add columns for it, or leave it out.",
            );
        }
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
