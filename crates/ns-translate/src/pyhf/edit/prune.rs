//! Removes channels, samples, modifiers and measurements by name, and systematics with small effects.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Deserialize;

use super::super::document::{Channel, Document, ModifierType, Sample};
use super::super::error::WorkspaceError;
use super::super::names::{list, quoted, show};
use super::super::problem::Report;
use super::super::workspace::Workspace;
use super::edited::{Edited, Log, Operation, usable};
use super::effect::{self, Thresholds};
use super::unknown::{NameKind, expressed, modifiers, suggestion};

/// The parts of a workspace to remove.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prune {
    /// Names of channels to remove with their observations.
    pub channels: Vec<String>,
    /// Names of samples to remove from every channel.
    pub samples: Vec<String>,
    /// Names of modifiers to remove from every sample. The settings of their parameters are removed too.
    pub modifiers: Vec<String>,
    /// Types of modifiers (`normsys`, `histosys`, ...) to remove from every sample.
    pub modifier_types: Vec<String>,
    /// Names of measurements to remove.
    pub measurements: Vec<String>,
    /// Threshold for normsys modifiers. A normsys is removed if it changes the normalisation of its sample by
    /// at most this fraction, up and down (0.005 is half a percent). Each modifier of each sample is
    /// considered alone.
    pub norm_threshold: Option<f64>,
    /// Threshold for histosys modifiers. A histosys is removed if its shape effect in every bin is at most
    /// this fraction and its normalisation effect is at most `norm_threshold`, which must be given too. For
    /// the shape effect, the template is first scaled to the nominal sum over all bins. The shape effect of a
    /// bin is then the relative change of the bin.
    pub shape_threshold: Option<f64>,
}

impl Workspace {
    /// Removes the parts that `prune` names, and then the modifiers whose effects are within its thresholds.
    ///
    /// Observations are removed with their channels. If a parameter loses its last modifier because modifiers
    /// were removed, its settings are removed too, and it is no longer a parameter of interest. If its last
    /// modifier was on a removed channel or sample, the parameter keeps its settings and stays a parameter of
    /// interest, because a patch may add the signal again later. A warning says so. Modifiers of a parameter
    /// of interest are never removed for a small effect.
    ///
    /// # Errors
    /// [`WorkspaceError::CannotEdit`] for names that do not exist, thresholds that are not valid, and if a
    /// channel would have no sample or the workspace no channel, observation or measurement;
    /// [`WorkspaceError::InvalidAfterEdit`] if a valid workspace would not be valid any more.
    pub fn prune(&self, prune: &Prune) -> Result<Edited, WorkspaceError> {
        const OPERATION: Operation = Operation::Prune;
        let mut log = Log::of(self);
        check_names(prune, &self.document, &mut log.report);
        let thresholds = Thresholds::of(prune, &mut log.report);
        log.check(OPERATION)?;

        let mut document = self.document.clone();
        let before = parameters(&document);
        prune_channels(prune, &mut document, &mut log);
        prune_samples(prune, &mut document, &mut log);
        prune_measurements(prune, &mut document, &mut log);
        log.check(OPERATION)?;
        let between = parameters(&document);
        prune_modifiers(prune, &mut document, &mut log);
        if let Some(thresholds) = thresholds {
            effect::prune(&mut document, &thresholds, &mut log);
        }
        let after = parameters(&document);
        let gone: HashSet<&str> = between
            .difference(&after)
            .map(String::as_str)
            .chain(prune.modifiers.iter().map(String::as_str))
            .filter(|name| !after.contains(*name))
            .collect();
        let unused: HashSet<&str> =
            before.difference(&between).map(String::as_str).filter(|name| !gone.contains(name)).collect();
        follow(&gone, &unused, &mut document, &mut log);
        log.finish(OPERATION, usable(&self.document), document)
    }
}

/// Returns the names of all parameters on which the modifiers of a document depend.
fn parameters(document: &Document) -> HashSet<String> {
    modifiers(document).map(|m| m.name.clone()).chain(expressed(document)).collect()
}

fn check_names(prune: &Prune, document: &Document, report: &mut Report) {
    NameKind::Channel.require(prune.channels.iter(), document, report);
    NameKind::Sample.require(prune.samples.iter(), document, report);
    NameKind::Modifier.require(prune.modifiers.iter(), document, report);
    NameKind::Measurement.require(prune.measurements.iter(), document, report);
    let known: BTreeSet<&str> = modifiers(document).map(|m| m.effect.kind().name()).collect();
    for name in &prune.modifier_types {
        let kind = ModifierType::from_name(name);
        if kind.is_some() && known.contains(name.as_str()) {
            continue;
        }
        let (message, remedy) = match kind {
            Some(kind) => (
                format!("No modifier is of type {kind}."),
                list("The types in use are", &known.iter().collect::<Vec<_>>()),
            ),
            None => (
                format!("There is no modifier type {}.", quoted(name)),
                suggestion(name, &known, "The types in use are"),
            ),
        };
        report.error("/channels".to_owned(), message, remedy);
    }
}

fn prune_channels(prune: &Prune, document: &mut Document, log: &mut Log) {
    if prune.channels.is_empty() {
        return;
    }
    let goes = |name: &str| prune.channels.iter().any(|c| c == name);
    for channel in document.channels.iter().filter(|c| goes(&c.name)) {
        log.change(channel.path(), format!("channel {} with its observation", quoted(&channel.name)));
    }
    document.channels.retain(|c| !goes(&c.name));
    document.observations.retain(|o| !goes(&o.name));
    if document.channels.is_empty() {
        log.report.error(
            "/channels".to_owned(),
            "All channels are to be pruned.",
            "Keep at least one channel.",
        );
    } else if document.observations.is_empty() {
        log.report.error(
            "/observations".to_owned(),
            "All observations are to be pruned with their channels.",
            "Add the observations of the channels that stay.",
        );
    }
}

fn prune_samples(prune: &Prune, document: &mut Document, log: &mut Log) {
    if prune.samples.is_empty() {
        return;
    }
    let goes = |sample: &Sample| prune.samples.contains(&sample.name);
    for channel in &mut document.channels {
        if !channel.samples.is_empty() && channel.samples.iter().all(goes) {
            log.report.error(
                channel.path(),
                format!("Channel {} would have no sample left.", quoted(&channel.name)),
                "Prune the channel too, or keep one of its samples.",
            );
        }
        for sample in channel.samples.iter().filter(|s| goes(s)) {
            log.change(
                sample.path(channel),
                format!("sample {} of channel {}", quoted(&sample.name), quoted(&channel.name)),
            );
        }
        channel.samples.retain(|s| !goes(s));
    }
}

fn prune_measurements(prune: &Prune, document: &mut Document, log: &mut Log) {
    if prune.measurements.is_empty() {
        return;
    }
    let goes = |name: &str| prune.measurements.iter().any(|m| m == name);
    for measurement in document.measurements.iter().filter(|m| goes(&m.name)) {
        log.change(
            format!("/measurements/{}", measurement.at),
            format!("measurement {}", quoted(&measurement.name)),
        );
    }
    document.measurements.retain(|m| !goes(&m.name));
    if document.measurements.is_empty() {
        log.report.error(
            "/measurements".to_owned(),
            "All measurements are to be pruned.",
            "Keep at least one measurement.",
        );
    }
}

fn prune_modifiers(prune: &Prune, document: &mut Document, log: &mut Log) {
    if prune.modifiers.is_empty() && prune.modifier_types.is_empty() {
        return;
    }
    let names: HashSet<&str> = prune.modifiers.iter().map(String::as_str).collect();
    let types: HashSet<&str> = prune.modifier_types.iter().map(String::as_str).collect();
    // A systematic can be on many samples, so the log gets one change for each name and type.
    let mut counts: BTreeMap<(String, ModifierType), (String, usize)> = BTreeMap::new();
    for_each_sample(document, |channel, sample| {
        let place = sample.path(channel);
        sample.modifiers.retain(|modifier| {
            let kind = modifier.effect.kind();
            let stays = !names.contains(modifier.name.as_str()) && !types.contains(kind.name());
            if !stays {
                let first = || (format!("{place}/modifiers/{}", modifier.at), 0);
                counts.entry((modifier.name.clone(), kind)).or_insert_with(first).1 += 1;
            }
            stays
        });
    });
    for ((name, kind), (path, n)) in counts {
        let samples = if n == 1 { "1 sample".to_owned() } else { format!("{n} samples, here first") };
        log.change(path, format!("{kind} {} on {samples}", quoted(&name)));
    }
}

/// Calls `edit` with every sample and its channel. During the call, the channel's list of samples is empty.
pub(super) fn for_each_sample(document: &mut Document, mut edit: impl FnMut(&Channel, &mut Sample)) {
    for channel in &mut document.channels {
        let mut samples = std::mem::take(&mut channel.samples);
        for sample in &mut samples {
            edit(channel, sample);
        }
        channel.samples = samples;
    }
}

/// Removes the settings of the parameters in `gone`. These parameters are no longer parameters of interest.
/// Warns about settings of the parameters in `unused`, which lost their modifiers together with a channel or
/// sample.
fn follow(gone: &HashSet<&str>, unused: &HashSet<&str>, document: &mut Document, log: &mut Log) {
    for measurement in &mut document.measurements {
        let mut kept = Vec::new();
        for setting in &measurement.config.parameters {
            if gone.contains(setting.name.as_str()) {
                log.change(
                    setting.path(measurement),
                    format!(
                        "settings of {} in measurement {}",
                        quoted(&setting.name),
                        quoted(&measurement.name)
                    ),
                );
            } else if unused.contains(setting.name.as_str()) {
                kept.push(setting.name.as_str());
            }
        }
        if !kept.is_empty() {
            log.report.warn(
                format!("/measurements/{}/config/parameters", measurement.at),
                format!(
                    "Measurement {} keeps settings that no modifier uses any more. {}",
                    quoted(&measurement.name),
                    list("They are those of", &kept)
                ),
                "Prune the modifiers by name to remove them.",
            );
        }
        let path = format!("/measurements/{}/config/poi", measurement.at);
        for poi in measurement.config.poi.names().to_vec() {
            let poi = poi.as_str();
            if unused.contains(poi) {
                log.report.warn(
                    path.clone(),
                    format!(
                        "Measurement {} keeps the parameter of interest {}, which no modifier uses any more.",
                        quoted(&measurement.name),
                        quoted(poi)
                    ),
                    "Patch a signal in, or fit without a parameter of interest.",
                );
            } else if gone.contains(poi) {
                log.change(path.clone(), format!("parameter of interest {}", quoted(poi)));
                measurement.config.poi.remove(poi);
                let left = &measurement.config.poi;
                let (has, remedy) = if left.is_empty() {
                    ("none".to_owned(), "Fits work; limits, significances and rankings need one.")
                } else {
                    (left.quoted(), "Limits, significances and rankings are about what is left.")
                };
                log.report.warn(
                    path.clone(),
                    format!(
                        "The parameter of interest {} is pruned, so measurement {} has {has}.",
                        quoted(poi),
                        quoted(&measurement.name)
                    ),
                    remedy,
                );
            }
        }
        measurement.config.parameters.retain(|s| !gone.contains(s.name.as_str()));
    }
}

impl Thresholds {
    /// Returns the thresholds that `prune` gives; `None` without a normalisation threshold. Reports invalid
    /// thresholds.
    fn of(prune: &Prune, report: &mut Report) -> Option<Self> {
        for (name, value) in [("norm", prune.norm_threshold), ("shape", prune.shape_threshold)] {
            if let Some(value) = value.filter(|x| !(x.is_finite() && *x >= 0.0)) {
                report.error(
                    String::new(),
                    format!("The {name} threshold is {}.", show(value)),
                    "Give a relative effect of 0 or more, such as 0.005 for half a percent.",
                );
            }
        }
        if prune.shape_threshold.is_some() && prune.norm_threshold.is_none() {
            report.error(
                String::new(),
                "A shape threshold needs a norm threshold: a histosys changes both, and is pruned as a whole.",
                "Give both; a norm threshold of 0 leaves every normsys that has an effect.",
            );
        }
        prune.norm_threshold.map(|norm| Self { norm, shape: prune.shape_threshold })
    }
}
