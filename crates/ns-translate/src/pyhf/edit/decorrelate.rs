//! Makes a parameter that acts in several places independent parameters.

use std::collections::{BTreeMap, BTreeSet};

use ns_unbinned::expression::{Expression, is_name, with_names};
use serde::Deserialize;

use super::super::document::{Document, Effect, Measurement, Modifier};
use super::super::error::WorkspaceError;
use super::super::names::{list, quoted};
use super::super::problem::Report;
use super::super::workspace::Workspace;
use super::edited::{Edited, Log, Operation, usable};
use super::unknown::{NameKind, expressed};

/// A modifier whose parameter becomes several independent parameters, the inverse of [`Rename`](super::Rename).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decorrelate {
    /// Name of the modifiers, of any type. All modifiers with this name share the parameter.
    pub modifier: String,
    /// Which places get a parameter of their own.
    pub by: DecorrelateBy,
}

/// The places that get a parameter of their own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecorrelateBy {
    /// One parameter per channel, called `MODIFIER_CHANNEL`.
    Channel,
    /// One parameter per sample, in all channels, called `MODIFIER_SAMPLE`.
    Sample,
    /// One parameter per region. The keys are the names of the parameters. Elsewhere the old parameter stays.
    Regions(BTreeMap<String, Region>),
}

/// The places of one parameter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "WrittenRegion")]
pub struct Region {
    /// Names of the channels; all channels if empty.
    pub channels: Vec<String>,
    /// Names of the samples; all samples if empty.
    pub samples: Vec<String>,
}

/// A region as it is written: a list of channels, or lists of channels and samples.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenRegion {
    Channels(Vec<String>),
    Both(Lists),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    channels: Vec<String>,
    #[serde(default)]
    samples: Vec<String>,
}

impl From<WrittenRegion> for Region {
    fn from(written: WrittenRegion) -> Self {
        match written {
            WrittenRegion::Channels(channels) => Self { channels, samples: Vec::new() },
            WrittenRegion::Both(Lists { channels, samples }) => Self { channels, samples },
        }
    }
}

impl Region {
    fn contains(&self, channel: &str, sample: &str) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|own| own == name);
        has(&self.channels, channel) && has(&self.samples, sample)
    }
}

impl Decorrelate {
    /// Returns the new names of the parameter in a sample of a channel. Without one the old name stays.
    fn new_names(&self, channel: &str, sample: &str) -> Vec<String> {
        match &self.by {
            DecorrelateBy::Channel => vec![format!("{}_{channel}", self.modifier)],
            DecorrelateBy::Sample => vec![format!("{}_{sample}", self.modifier)],
            DecorrelateBy::Regions(regions) => {
                let here = regions.iter().filter(|(_, region)| region.contains(channel, sample));
                here.map(|(name, _)| name.clone()).collect()
            }
        }
    }
}

impl Workspace {
    /// Makes the parameter of a modifier independent parameters, one per channel, sample or region. Every new parameter
    /// takes over the settings of the old one in every measurement. Expressions of functions use the parameter of their
    /// place. If the parameter is the parameter of interest, the first new one takes its place, with a warning.
    ///
    /// # Errors
    /// [`WorkspaceError::CannotEdit`] for names that do not exist or that are taken, for regions that overlap or have no
    /// modifier, and for a lumi modifier, which has one name only; [`WorkspaceError::InvalidAfterEdit`] if a valid
    /// workspace would not be valid any more.
    pub fn decorrelate(&self, decorrelate: &Decorrelate) -> Result<Edited, WorkspaceError> {
        const OPERATION: Operation = Operation::Decorrelate;
        let mut log = Log::of(self);
        let old = &decorrelate.modifier;
        NameKind::Modifier.require(std::iter::once(old), &self.document, &mut log.report);
        check_regions(decorrelate, &self.document, &mut log.report);
        log.check(OPERATION)?;

        let expressed = expressed(&self.document);
        let mut document = self.document.clone();
        let mut made: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut is_left = false;
        for (channel, changed) in self.document.channels.iter().zip(&mut document.channels) {
            for (sample, changed) in channel.samples.iter().zip(&mut changed.samples) {
                let place = format!("{} of {}", quoted(&sample.name), quoted(&channel.name));
                for modifier in changed.modifiers.iter_mut().filter(|modifier| uses(modifier, old)) {
                    let path = modifier.path(channel, sample);
                    let names = decorrelate.new_names(&channel.name, &sample.name);
                    let name = match names.as_slice() {
                        [] => {
                            is_left = true;
                            continue;
                        }
                        [name] => name,
                        [first, second, ..] => {
                            log.report.error(
                                path,
                                format!(
                                    "The regions of {} and of {} overlap in sample {place}.",
                                    quoted(first),
                                    quoted(second)
                                ),
                                "Name each place in one region.",
                            );
                            continue;
                        }
                    };
                    change(modifier, (old, name), &path, &expressed, &mut log.report);
                    made.entry(name.clone()).or_default().push(path);
                }
            }
        }
        check_names(decorrelate, &made, &self.document, &mut log.report);
        log.check(OPERATION)?;
        for (name, places) in &made {
            let first = places.first().cloned().unwrap_or_default();
            log.change(first, format!("{} to {} in {} places", quoted(old), quoted(name), places.len()));
        }
        if made.len() + usize::from(is_left) < 2 {
            log.report.warn(
                String::new(),
                format!("The parameter {} acts in one of these places only, so it has a new name and nothing else changes.", quoted(old)),
                "Choose other places to make it several parameters.",
            );
        }
        let names: Vec<&String> = made.keys().collect();
        for measurement in &mut document.measurements {
            copy_settings(measurement, old, &names, is_left, &mut log.report);
        }
        log.finish(OPERATION, usable(&self.document), document)
    }
}

/// Returns whether a modifier has this name, or an expression that contains it.
fn uses(modifier: &Modifier, name: &str) -> bool {
    let in_formulas = match &modifier.effect {
        Effect::Function(formulas) => formulas.texts().into_iter().any(|(_, text)| {
            Expression::parse(text).is_ok_and(|expression| expression.names().iter().any(|own| own == name))
        }),
        _ => false,
    };
    modifier.name == name || in_formulas
}

/// Gives a modifier, or the parameter in its expressions, the new name. A function whose expressions change gets a name of
/// its own, `FUNCTION_NEW`, because one name is one function. `expressed` are the names in all expressions.
fn change(
    modifier: &mut Modifier,
    (old, new): (&str, &str),
    path: &str,
    expressed: &BTreeSet<String>,
    report: &mut Report,
) {
    if matches!(modifier.effect, Effect::Lumi) {
        report.error(
            path.to_owned(),
            "A modifier of type lumi is always called 'lumi'.",
            "Turn it into a normsys first, which can have several names.",
        );
    }
    if let Effect::Function(formulas) = &mut modifier.effect {
        if !is_name(new) {
            report.error(
                path.to_owned(),
                format!("Expressions of functions contain {}, and cannot contain {}.", quoted(old), quoted(new)),
                "Give a file of regions with names of letters, digits and underscores, beginning with a letter.",
            );
        }
        if expressed.contains(&modifier.name) {
            report.error(
                path.to_owned(),
                format!(
                    "The function {} contains {}, and other expressions contain the function.",
                    quoted(&modifier.name),
                    quoted(old)
                ),
                "Write the function out in these expressions.",
            );
        }
        if modifier.name != old {
            modifier.name = format!("{}_{new}", modifier.name);
        }
        let map = BTreeMap::from([(old.to_owned(), new.to_owned())]);
        formulas.change(|text| *text = with_names(text, &map));
    }
    if modifier.name == old {
        new.clone_into(&mut modifier.name);
    }
}

/// Reports channels and samples of regions that do not exist, and regions without a name.
fn check_regions(decorrelate: &Decorrelate, document: &Document, report: &mut Report) {
    let DecorrelateBy::Regions(regions) = &decorrelate.by else { return };
    if regions.is_empty() {
        report.error(String::new(), "There is no region.", "Name a parameter with its channels.");
    }
    for (name, region) in regions {
        if name.is_empty() {
            report.error(String::new(), "The name of a region's parameter is empty.", "Give it a name.");
        }
        NameKind::Channel.require(region.channels.iter(), document, report);
        NameKind::Sample.require(region.samples.iter(), document, report);
    }
}

/// Reports new names that other modifiers have, and regions in which the parameter does not act.
fn check_names(
    decorrelate: &Decorrelate,
    made: &BTreeMap<String, Vec<String>>,
    document: &Document,
    report: &mut Report,
) {
    let taken: BTreeSet<&str> = NameKind::Modifier.names(document);
    for (name, places) in made.iter().filter(|(name, _)| taken.contains(name.as_str())) {
        report.error(
            places.first().cloned().unwrap_or_default(),
            format!("The new name {} is that of another parameter, which would be shared.", quoted(name)),
            "Rename the other parameter first, or give a file of regions with other names.",
        );
    }
    if let DecorrelateBy::Regions(regions) = &decorrelate.by {
        let empty: Vec<&String> = regions.keys().filter(|name| !made.contains_key(*name)).collect();
        if !empty.is_empty() && !report.has_errors() {
            report.error(
                "/channels".to_owned(),
                format!(
                    "The parameter {} does not act in all regions. {}",
                    quoted(&decorrelate.modifier),
                    list("Those without it are", &empty)
                ),
                "Leave these regions out.",
            );
        }
    }
}

/// Gives the new parameters the settings of the old one, and the parameter of interest a new name.
fn copy_settings(
    measurement: &mut Measurement,
    old: &str,
    names: &[&String],
    is_left: bool,
    report: &mut Report,
) {
    let (path, title) = (format!("/measurements/{}/config", measurement.at), quoted(&measurement.name));
    let config = &mut measurement.config;
    let mut settings = Vec::with_capacity(config.parameters.len() + names.len());
    for setting in std::mem::take(&mut config.parameters) {
        if setting.name != old {
            settings.push(setting);
            continue;
        }
        for name in names {
            let mut copy = setting.clone();
            copy.name.clone_from(name);
            settings.push(copy);
        }
        if is_left {
            settings.push(setting);
        }
    }
    config.parameters = settings;
    if config.poi.names().iter().any(|name| name == old)
        && !is_left
        && let Some(first) = names.first()
    {
        config.poi.rename(|name| {
            if name == old {
                name.clone_from(first);
            }
        });
        report.warn(
            format!("{path}/poi"),
            format!(
                "The parameter of interest {} of measurement {title} is now {}.",
                quoted(old),
                quoted(first)
            ),
            "Choose another one with --poi, if you like.",
        );
    }
}
