//! Renames channels, samples, modifiers and measurements.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ns_unbinned::expression::{is_name, with_names};
use serde::Deserialize;

use super::super::document::{Document, Effect, Measurement};
use super::super::error::WorkspaceError;
use super::super::names::{list, quoted};
use super::super::problem::Report;
use super::super::workspace::Workspace;
use super::edited::{Edited, Log, Operation, usable};
use super::unknown::{NameKind, expressed, modifiers};

/// Old names with their new names. All names are changed at the same time, so two names can be swapped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rename {
    /// New names of channels and their observations.
    pub channels: BTreeMap<String, String>,
    /// New names of samples, in every channel.
    pub samples: BTreeMap<String, String>,
    /// New names of modifiers of any type. The parameters of the modifiers get the same names, also in
    /// settings and as parameters of interest.
    pub modifiers: BTreeMap<String, String>,
    /// New names of measurements.
    pub measurements: BTreeMap<String, String>,
}

impl Workspace {
    /// Renames channels, samples, modifiers and measurements.
    ///
    /// Two channels, two measurements or two samples of one channel must not get the same name. If two modifiers get
    /// the same name, they share a parameter, and there is a warning.
    ///
    /// # Errors
    /// [`WorkspaceError::CannotEdit`] for old names that do not exist and new names that are empty or taken;
    /// [`WorkspaceError::InvalidAfterEdit`] if a valid workspace would not be valid any more, for example
    /// because modifiers that cannot share a parameter would get the same name.
    pub fn rename(&self, rename: &Rename) -> Result<Edited, WorkspaceError> {
        const OPERATION: Operation = Operation::Rename;
        let mut log = Log::of(self);
        let maps = [
            (NameKind::Channel, &rename.channels),
            (NameKind::Sample, &rename.samples),
            (NameKind::Modifier, &rename.modifiers),
            (NameKind::Measurement, &rename.measurements),
        ];
        for (kind, map) in maps {
            kind.require(map.keys(), &self.document, &mut log.report);
            for (old, _) in map.iter().filter(|(_, new)| new.is_empty()) {
                log.report.error(
                    String::new(),
                    format!("The new name of {} {} is empty.", kind.name(), quoted(old)),
                    "Give it a name.",
                );
            }
        }
        check_lumi(&self.document, &rename.modifiers, &mut log.report);
        check_words(&self.document, &rename.modifiers, &mut log.report);
        check_taken(&self.document, rename, &mut log.report);
        for measurement in &self.document.measurements {
            check_settings(measurement, &rename.modifiers, &mut log.report);
        }
        log.check(OPERATION)?;
        note_shared(&self.document, &rename.modifiers, &mut log.report);

        let mut document = self.document.clone();
        for (kind, map) in maps {
            for (old, new) in map.iter().filter(|(old, new)| old != new) {
                log.change("", format!("{} {} to {}", kind.name(), quoted(old), quoted(new)));
            }
        }
        apply(&mut document, rename);
        log.finish(OPERATION, usable(&self.document), document)
    }
}

/// Returns the new name of `name`, or `name` itself if it has no new name.
fn renamed<'a>(map: &'a BTreeMap<String, String>, name: &'a str) -> &'a str {
    map.get(name).map_or(name, String::as_str)
}

fn apply(document: &mut Document, rename: &Rename) {
    let set = |name: &mut String, map: &BTreeMap<String, String>| {
        if let Some(new) = map.get(name) {
            name.clone_from(new);
        }
    };
    for channel in &mut document.channels {
        set(&mut channel.name, &rename.channels);
        for sample in &mut channel.samples {
            set(&mut sample.name, &rename.samples);
            for modifier in &mut sample.modifiers {
                set(&mut modifier.name, &rename.modifiers);
                if let Effect::Function(formulas) = &mut modifier.effect {
                    formulas.change(|text| *text = with_names(text, &rename.modifiers));
                }
            }
        }
    }
    for observation in &mut document.observations {
        set(&mut observation.name, &rename.channels);
    }
    for measurement in &mut document.measurements {
        set(&mut measurement.name, &rename.measurements);
        measurement.config.poi.rename(|name| set(name, &rename.modifiers));
        for setting in &mut measurement.config.parameters {
            set(&mut setting.name, &rename.modifiers);
        }
    }
}

/// Reports a new name for a lumi modifier, because the format allows only one name for it.
fn check_lumi(document: &Document, map: &BTreeMap<String, String>, report: &mut Report) {
    let renamed = map.get("lumi").is_some_and(|new| new != "lumi");
    for channel in &document.channels {
        for sample in &channel.samples {
            let found = sample.modifiers.iter().find(|m| matches!(m.effect, Effect::Lumi));
            if let (true, Some(modifier)) = (renamed, found) {
                report.error(
                    modifier.path(channel, sample),
                    "A modifier of type lumi is always called 'lumi'.",
                    "Leave its name, or turn it into a normsys of another name to make it independent.",
                );
                return;
            }
        }
    }
}

/// Reports new names that expressions cannot contain, of names that expressions contain.
fn check_words(document: &Document, map: &BTreeMap<String, String>, report: &mut Report) {
    let used = expressed(document);
    for (old, new) in map.iter().filter(|(old, new)| used.contains(*old) && !is_name(new)) {
        report.error(
            "/channels".to_owned(),
            format!("Expressions of functions contain {}, and cannot contain {}.", quoted(old), quoted(new)),
            "Use letters, digits and underscores, beginning with a letter.",
        );
    }
}

/// Reports new names that two channels, two samples of a channel or two measurements would have in common.
fn check_taken(document: &Document, rename: &Rename, report: &mut Report) {
    let channels = document.channels.iter().map(|c| (c.name.as_str(), format!("{}/name", c.path())));
    taken(
        NameKind::Channel,
        channels,
        &rename.channels,
        "",
        "Choose another name. To merge channels, rename in two workspaces and combine them with merging.",
        report,
    );
    for channel in &document.channels {
        let samples = channel.samples.iter().map(|s| (s.name.as_str(), format!("{}/name", s.path(channel))));
        taken(
            NameKind::Sample,
            samples,
            &rename.samples,
            &format!(" of channel {}", quoted(&channel.name)),
            "Choose another name; samples are not added up.",
            report,
        );
    }
    let measurements =
        document.measurements.iter().map(|m| (m.name.as_str(), format!("/measurements/{}/name", m.at)));
    taken(NameKind::Measurement, measurements, &rename.measurements, "", "Choose another name.", report);
}

fn taken<'a>(
    kind: NameKind,
    names: impl Iterator<Item = (&'a str, String)>,
    map: &'a BTreeMap<String, String>,
    place: &str,
    remedy: &str,
    report: &mut Report,
) {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for (old, path) in names {
        let new = renamed(map, old);
        match seen.get(new) {
            Some(first) if *first != old => report.error(
                path,
                format!(
                    "The {}s {} and {}{place} would both be called {}.",
                    kind.name(),
                    quoted(first),
                    quoted(old),
                    quoted(new)
                ),
                remedy,
            ),
            _ => {
                seen.insert(new, old);
            }
        }
    }
}

/// Reports settings of a measurement that belong to different parameters now, but would belong to the same parameter
/// after renaming.
fn check_settings(measurement: &Measurement, map: &BTreeMap<String, String>, report: &mut Report) {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for setting in &measurement.config.parameters {
        let new = renamed(map, &setting.name);
        match seen.get(new) {
            Some(first) if *first != setting.name => report.error(
                setting.path(measurement),
                format!(
                    "Measurement {} has settings of {} and of {}, which would both be those of {}.",
                    quoted(&measurement.name),
                    quoted(first),
                    quoted(&setting.name),
                    quoted(new)
                ),
                "Remove one of the two settings.",
            ),
            _ => {
                seen.insert(new, &setting.name);
            }
        }
    }
}

/// Warns about modifiers that were independent and now share a parameter.
fn note_shared(document: &Document, map: &BTreeMap<String, String>, report: &mut Report) {
    if map.is_empty() {
        return;
    }
    let mut by_new: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for modifier in modifiers(document) {
        by_new.entry(renamed(map, &modifier.name)).or_default().insert(&modifier.name);
    }
    for (new, old) in by_new.iter().filter(|(_, old)| old.len() > 1) {
        let old: Vec<&&str> = old.iter().collect();
        report.warn(
            String::new(),
            format!(
                "{} modifiers that were independent now share the parameter {}. {}",
                old.len(),
                quoted(new),
                list("Their names were", &old)
            ),
            "Choose another name if they are not fully correlated.",
        );
    }
}
