//! Combines two workspaces.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::super::document::{Channel, Document, Measurement, Observation, Setting};
use super::super::error::WorkspaceError;
use super::super::names::{list, quoted};
use super::super::workspace::Workspace;
use super::edited::{Edited, Log, Operation, usable};
use super::unknown::NameKind;

/// How channels, observations and measurements with the same name in both workspaces are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Join {
    /// The same name in both workspaces is an error.
    #[default]
    None,
    /// Items with the same name must be equal. They are taken once. Measurements with the same name must have
    /// the same parameter of interest. Their settings are joined if no setting differs.
    Outer,
    /// Of two items with the same name, the item of the left workspace is taken.
    LeftOuter,
    /// Of two items with the same name, the item of the right workspace is taken. The items of the right
    /// workspace come first in the result.
    RightOuter,
}

impl Join {
    /// All ways to combine items with the same name.
    pub const ALL: [Self; 4] = [Self::None, Self::Outer, Self::LeftOuter, Self::RightOuter];

    /// Returns pyhf's name of the join.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Outer => "outer",
            Self::LeftOuter => "left outer",
            Self::RightOuter => "right outer",
        }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Join {
    type Err = String;

    /// Parses `none`, `outer`, `left outer` or `right outer`, with a space or a hyphen.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|join| join.name() == text || join.name().replace(' ', "-") == text)
            .ok_or_else(|| {
                format!("there is no join {}; use none, outer, left-outer or right-outer", quoted(text))
            })
    }
}

/// Options for combining two workspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Combine {
    /// How items with the same name are combined.
    #[serde(deserialize_with = "join")]
    pub join: Join,
    /// Whether channels with the same name are merged sample by sample. If false, one of the channels is
    /// taken as a whole.
    pub merge_channels: bool,
}

fn join<'de, D: Deserializer<'de>>(from: D) -> Result<Join, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The two input documents, in the order in which their items appear in the result.
struct Pair<'a> {
    first: &'a Document,
    second: &'a Document,
    /// Names of the two documents in messages: `left` and `right`, in the order of the documents.
    names: [&'static str; 2],
    options: Combine,
}

impl Workspace {
    /// Combines two workspaces. Modifiers with the same name in both workspaces share a parameter in the result, so
    /// that the two workspaces are correlated. The changes in the result list these parameters.
    ///
    /// # Errors
    /// [`WorkspaceError::CannotEdit`] with every conflict, and if `merge_channels` is set with [`Join::None`];
    /// [`WorkspaceError::InvalidAfterEdit`] if two valid workspaces would be combined to an invalid one, for example
    /// because modifiers that cannot share a parameter have the same name.
    pub fn combine(&self, right: &Self, options: Combine) -> Result<Edited, WorkspaceError> {
        const OPERATION: Operation = Operation::Combine;
        let mut log = Log::default();
        for (side, workspace) in [("left", self), ("right", right)] {
            for note in workspace.notes.warnings() {
                let message = format!("In the {side} workspace: {}", note.message);
                log.report.warn(note.path.clone(), message, note.remedy.clone());
            }
        }
        if options.merge_channels && options.join == Join::None {
            log.report.error(
                String::new(),
                "Channels cannot be merged with join none.",
                "Choose outer, left-outer or right-outer.",
            );
            log.check(OPERATION)?;
        }
        // Numbers the elements as in a file. Messages then give the right JSON pointers, and equal items
        // compare equal.
        let (mut a, mut b) = (self.document.clone(), right.document.clone());
        a.number();
        b.number();
        let pair = if options.join == Join::RightOuter {
            Pair { first: &b, second: &a, names: ["right", "left"], options }
        } else {
            Pair { first: &a, second: &b, names: ["left", "right"], options }
        };
        let channels = pair.channels(&mut log);
        let observations = pair.observations(&mut log);
        let measurements = pair.measurements(&mut log);
        log.check(OPERATION)?;
        pair.note_shared(&mut log);
        let document = Document { channels, observations, measurements, ..Document::default() };
        let usable_before = usable(&a) && usable(&b);
        log.finish(OPERATION, usable_before, document)
    }
}

impl Pair<'_> {
    /// Joins the lists of the two documents. `kind` has the functions that compare and describe items. `merge` merges
    /// the second of two items with the same name into the first.
    fn join<T: Clone>(
        &self,
        lists: [&[T]; 2],
        kind: &Named<T>,
        log: &mut Log,
        mut merge: impl FnMut(&mut T, &T, &mut Log),
    ) -> Vec<T> {
        let [first, second] = lists;
        let mut joined = first.to_vec();
        let by_name: HashMap<String, usize> =
            first.iter().enumerate().rev().map(|(i, item)| ((kind.name)(item).to_owned(), i)).collect();
        for item in second {
            let name = (kind.name)(item);
            let Some(place) = by_name.get(name).and_then(|i| joined.get_mut(*i)) else {
                log.change(
                    (kind.path)(item),
                    format!("{} {} from the {} workspace", kind.what, quoted(name), self.names[1]),
                );
                joined.push(item.clone());
                continue;
            };
            let both = format!(
                "{} {} is in both workspaces, at {} of the {} one",
                capital(kind.what),
                quoted(name),
                (kind.path)(place),
                self.names[0]
            );
            match self.options.join {
                Join::None => log.report.error(
                    (kind.path)(item),
                    format!("{both}."),
                    "Rename one of the two, or choose another join.",
                ),
                _ if kind.merges => merge(place, item, log),
                _ if (kind.same)(place, item) => {}
                Join::Outer => log.report.error(
                    (kind.path)(item),
                    format!("{both}, and the two differ{}.", (kind.difference)(place, item)),
                    kind.remedy,
                ),
                Join::LeftOuter | Join::RightOuter => self.dropped(kind, place, item, log),
            }
        }
        joined
    }

    /// Adds a warning that `item` of the second document is left out, because the first document has the item `kept`
    /// with the same name.
    fn dropped<T>(&self, kind: &Named<T>, kept: &T, item: &T, log: &mut Log) {
        log.report.warn(
            (kind.path)(item),
            format!(
                "{} {} of the {} workspace is not taken: it differs from that of the {} one, at {}{}.",
                capital(kind.what),
                quoted((kind.name)(item)),
                self.names[1],
                self.names[0],
                (kind.path)(kept),
                (kind.difference)(kept, item)
            ),
            "Rename one of the two to have both.",
        );
    }

    fn channels(&self, log: &mut Log) -> Vec<Channel> {
        let kind = Named {
            what: "channel",
            name: |c: &Channel| &c.name,
            path: Channel::path,
            same: |a, b| a.samples == b.samples,
            difference: differing_samples,
            merges: self.options.merge_channels,
            remedy: "Make them equal, rename one, merge the channels, or choose a side with left-outer or \
                     right-outer.",
        };
        self.join([&self.first.channels, &self.second.channels], &kind, log, |channel, other, log| {
            self.merge_samples(channel, other, log);
        })
    }

    /// Adds the samples of `other` that `channel` lacks.
    fn merge_samples(&self, channel: &mut Channel, other: &Channel, log: &mut Log) {
        for sample in &other.samples {
            let place = format!("sample {} of channel {}", quoted(&sample.name), quoted(&channel.name));
            let found = channel.samples.iter().find(|s| s.name == sample.name);
            let [first, second] = self.names;
            match found {
                None => {
                    log.change(sample.path(other), format!("{place} from the {second} workspace"));
                    channel.samples.push(sample.clone());
                }
                Some(kept) if kept.data == sample.data && kept.modifiers == sample.modifiers => {}
                Some(kept) => {
                    let place = capital(&place);
                    let at = kept.path(channel);
                    if self.options.join == Join::Outer {
                        log.report.error(
                            sample.path(other),
                            format!(
                                "{place} is in both workspaces, at {at} of the {first} one, and the two \
                                 differ."
                            ),
                            "Make them equal, rename one, or choose a side with left-outer or right-outer.",
                        );
                    } else {
                        log.report.warn(
                            sample.path(other),
                            format!(
                                "{place} of the {second} workspace is not taken: it differs from that of the \
                                 {first} one, at {at}."
                            ),
                            "Rename one of the two to have both.",
                        );
                    }
                }
            }
        }
    }

    fn observations(&self, log: &mut Log) -> Vec<Observation> {
        let kind = Named {
            what: "observation",
            name: |o: &Observation| &o.name,
            path: |o| format!("/observations/{}", o.at),
            same: |a, b| a.data == b.data,
            difference: |_, _| String::new(),
            merges: false,
            remedy: "Make them equal, or choose a side with left-outer or right-outer.",
        };
        // The changes already list the channels. Observations need no further lines.
        let changes = log.changes.len();
        let joined =
            self.join([&self.first.observations, &self.second.observations], &kind, log, |_, _, _| {});
        log.changes.truncate(changes);
        joined
    }

    fn measurements(&self, log: &mut Log) -> Vec<Measurement> {
        let kind = Named {
            what: "measurement",
            name: |m: &Measurement| &m.name,
            path: |m| format!("/measurements/{}", m.at),
            same: |a, b| a.config == b.config,
            difference: |_, _| String::new(),
            merges: self.options.join == Join::Outer,
            remedy: "",
        };
        self.join([&self.first.measurements, &self.second.measurements], &kind, log, merge_settings)
    }

    /// Adds a change that lists the parameters shared by the two workspaces.
    fn note_shared(&self, log: &mut Log) {
        let first = NameKind::Modifier.names(self.first);
        let shared: BTreeSet<&str> =
            NameKind::Modifier.names(self.second).into_iter().filter(|name| first.contains(name)).collect();
        let shared: Vec<&str> = shared.into_iter().collect();
        log.change(
            "",
            match shared.len() {
                0 => "no parameter is shared by the two workspaces".to_owned(),
                n => list(&format!("{n} parameter{} shared", if n == 1 { " is" } else { "s are" }), &shared),
            },
        );
    }
}

/// How items of one kind (channels, observations or measurements) are compared and described.
struct Named<T> {
    what: &'static str,
    name: fn(&T) -> &str,
    path: fn(&T) -> String,
    /// Returns whether two items are equal, except for their index in the file.
    same: fn(&T, &T) -> bool,
    /// Returns the difference of two items with the same name, as the end of a sentence; may be empty.
    difference: fn(&T, &T) -> String,
    /// Whether two items with the same name are merged. Otherwise one of them is taken, or an error is reported,
    /// depending on the [`Join`].
    merges: bool,
    remedy: &'static str,
}

/// Returns the samples in which two channels differ, as the end of a sentence.
fn differing_samples(a: &Channel, b: &Channel) -> String {
    let find = |channel: &Channel, name: &str| channel.samples.iter().position(|s| s.name == name);
    let mut names: Vec<&str> = a
        .samples
        .iter()
        .filter(|s| {
            let other = find(b, &s.name).and_then(|i| b.samples.get(i));
            other.is_none_or(|other| other.data != s.data || other.modifiers != s.modifiers)
        })
        .map(|s| s.name.as_str())
        .collect();
    names.extend(b.samples.iter().map(|s| s.name.as_str()).filter(|name| find(a, name).is_none()));
    if names.is_empty() {
        return " in the order of their samples".to_owned();
    }
    list(" in the samples", &names).trim_end_matches('.').to_owned()
}

/// Adds the settings of `other` to a measurement of the same name, and reports differences.
fn merge_settings(measurement: &mut Measurement, other: &Measurement, log: &mut Log) {
    let place = format!("/measurements/{}/config", other.at);
    if measurement.config.poi != other.config.poi {
        log.report.error(
            format!("{place}/poi"),
            format!(
                "Measurement {} has the parameter of interest {} in the left workspace and {} in the right one.",
                quoted(&measurement.name),
                measurement.config.poi.quoted(),
                other.config.poi.quoted()
            ),
            "Rename one of the two measurements, or one of the two parameters.",
        );
    }
    for setting in &other.config.parameters {
        let found = measurement.config.parameters.iter().find(|s| s.name == setting.name);
        match found {
            None => measurement.config.parameters.push(setting.clone()),
            Some(kept) if equal(kept, setting) => {}
            Some(kept) => log.report.error(
                setting.path(other),
                format!(
                    "Measurement {} has settings of {} in both workspaces, at {} of the left one, and the two \
                     differ.",
                    quoted(&measurement.name),
                    quoted(&setting.name),
                    kept.path(measurement)
                ),
                "Make them equal, rename one of the measurements or parameters, or choose a side with \
                 left-outer or right-outer.",
            ),
        }
    }
}

/// Returns whether two settings are equal, except for their index in the file.
fn equal(a: &Setting, b: &Setting) -> bool {
    let b = Setting { at: a.at, ..b.clone() };
    *a == b
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
