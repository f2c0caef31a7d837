//! Several cards put together, as `combineCards.py` does.

use std::collections::{BTreeMap, HashMap};

use super::card::Card;
use super::document::{Document, Kind};
use super::error::CardError;
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

impl Card {
    /// Puts cards together. A card with one channel gives it the name of its label; the channels of another card are
    /// called `label_channel`. An empty label stands for `ch1`, `ch2` and so on. Parameters of one name are one
    /// parameter. The options of the first card are used, with the masks of all.
    ///
    /// # Errors
    /// [`CardError::Invalid`] if two channels get one name, a process is a signal in one card and a background in
    /// another, or parameters of one name do not fit together.
    pub fn combine(cards: Vec<(String, Card)>) -> Result<Self, CardError> {
        let mut options = cards.first().map(|(_, card)| card.options.clone()).unwrap_or_default();
        options.masks.clear();
        let mut whole =
            Self { document: Document::default(), options, file: String::new(), notes: Report::default() };
        let mut signals: HashMap<String, bool> = HashMap::new();
        for (i, (label, card)) in cards.into_iter().enumerate() {
            let label = if label.is_empty() { format!("ch{}", i + 1) } else { label };
            let separator = if whole.file.is_empty() { "" } else { " + " };
            whole.file.push_str(separator);
            whole.file.push_str(&card.file);
            whole.notes.extend(card.notes);
            let alone = card.document.channels.len() == 1;
            let renamed = |name: &str| if alone { label.clone() } else { format!("{label}_{name}") };
            whole.options.masks.extend(card.options.masks.iter().map(|mask| renamed(mask)));
            for column in &card.document.columns {
                let signal = *signals.entry(column.process.clone()).or_insert(column.signal);
                if signal != column.signal {
                    whole.notes.error(
                        column.place.to_string(),
                        format!(
                            "Process {} is a signal in one card and a background in another.",
                            quoted(&column.process)
                        ),
                        "Give it numbers of one sign, or two names.",
                    );
                }
            }
            let mut document = card.document;
            for channel in &mut document.channels {
                channel.name = renamed(&channel.name);
                if whole.document.channels.iter().any(|known| known.name == channel.name) {
                    whole.notes.error(
                        channel.place.to_string(),
                        format!("Two channels would have the name {}.", quoted(&channel.name)),
                        "Give the cards different labels.",
                    );
                }
            }
            whole.document.append(document, &mut whole.notes);
        }
        whole.checked()
    }
}

impl Document {
    /// Adds the contents of another card.
    fn append(&mut self, other: Self, notes: &mut Report) {
        let (channels, columns) = (self.channels.len(), self.columns.len());
        let mut lines: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, line) in self.systematics.iter().enumerate() {
            lines.entry(line.name.clone()).or_default().push(at);
        }
        self.channels.extend(other.channels);
        self.columns.extend(other.columns.into_iter().map(|mut column| {
            column.channel += channels;
            column
        }));
        for mut line in other.systematics {
            line.sizes =
                line.sizes.into_iter().map(|(at, size)| (at + columns, size)).collect::<BTreeMap<_, _>>();
            line.written = line.written.into_iter().map(|(at, name)| (at + columns, name)).collect();
            let same = lines.get(&line.name).map(Vec::as_slice).unwrap_or_default();
            // Two lines of one card with the same name and columns stay apart: both act.
            let alike = |at: &&usize| {
                self.systematics.get(**at).is_some_and(|s| {
                    s.kind == line.kind && !line.sizes.keys().any(|column| s.sizes.contains_key(column))
                })
            };
            let known = same.iter().find(alike).copied();
            match known.and_then(|at| self.systematics.get_mut(at)) {
                Some(known) => {
                    known.sizes.extend(line.sizes);
                    known.written.extend(line.written);
                    known.no_float |= line.no_float;
                }
                None => {
                    let param = |kind: Kind| matches!(kind, Kind::Param { .. });
                    let others = same.iter().filter_map(|at| self.systematics.get(*at));
                    let clash = others.into_iter().find(|s| param(s.kind) && param(line.kind));
                    if let Some(clash) = clash {
                        notes.error(
                            line.place.to_string(),
                            format!(
                                "The param {} differs from that of {}:{}.",
                                quoted(&line.name),
                                clash.place.file,
                                clash.place.line
                            ),
                            "Rename one of them, or give both the same values.",
                        );
                    }
                    self.systematics.push(line);
                }
            }
        }
        self.rate_params.extend(other.rate_params.into_iter().map(|mut param| {
            param.columns.iter_mut().for_each(|at| *at += columns);
            param
        }));
        self.flat.extend(other.flat);
        for group in other.groups {
            match self.groups.iter_mut().find(|known| known.name == group.name) {
                Some(known) => {
                    for member in group.members {
                        if !known.members.contains(&member) {
                            known.members.push(member);
                        }
                    }
                }
                None => self.groups.push(group),
            }
        }
        self.frozen.extend(other.frozen);
        self.frozen.sort();
        self.frozen.dedup();
    }
}
