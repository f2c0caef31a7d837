//! Checks rules that a document must follow in addition to its structure. Each kind of object has one
//! function. The rules for parameters are in `declare` and `settings`.

use std::collections::{HashMap, HashSet};

use ns_core::NormsysCode;

use super::document::{Channel, Document, Effect, Formulas, Modifier, ModifierType, Sample};
use super::names::{LONGEST, list, nearest, quoted, show};
use super::problem::Report;

/// Checks channels, samples, modifiers and observations, and the names of measurements. `normsys` is the interpolation
/// code of normsys factors.
pub(crate) fn check(document: &Document, normsys: NormsysCode, report: &mut Report) {
    unique(
        "channel",
        document.channels.iter().map(|c| (c.name.as_str(), format!("{}/name", c.path()))),
        "Rename one of the two, or merge them into one channel with more bins.",
        report,
    );
    for channel in &document.channels {
        check_channel(channel, normsys, report);
    }
    check_observations(document, report);
    unique(
        "measurement",
        document.measurements.iter().map(|m| (m.name.as_str(), format!("/measurements/{}/name", m.at))),
        "Rename one of the two.",
        report,
    );
}

/// Reports names that occur twice, and names that are too long.
fn unique<'a>(what: &str, names: impl Iterator<Item = (&'a str, String)>, remedy: &str, report: &mut Report) {
    let mut seen: HashMap<&str, String> = HashMap::new();
    for (name, path) in names {
        if let Some(first) = seen.get(name) {
            report.error(
                path,
                format!("The {what} name {} is already taken by {first}.", quoted(name)),
                remedy,
            );
            continue;
        }
        check_length_of_name(what, name, || path.clone(), report);
        seen.insert(name, path);
    }
}

fn check_length_of_name(what: &str, name: &str, path: impl Fn() -> String, report: &mut Report) {
    if name.len() > LONGEST {
        report.error(
            path(),
            format!("This {what} name is {} bytes long; at most {LONGEST} are allowed.", name.len()),
            "Use a shorter name.",
        );
    }
}

fn check_channel(channel: &Channel, normsys: NormsysCode, report: &mut Report) {
    unique(
        "sample",
        channel.samples.iter().map(|s| (s.name.as_str(), format!("{}/name", s.path(channel)))),
        "Within a channel each sample needs a name of its own: rename or add up the two.",
        report,
    );
    let n_bins = channel.n_bins();
    for sample in &channel.samples {
        // The reader has already reported an empty array.
        if n_bins > 0 && !sample.data.is_empty() && sample.data.len() != n_bins {
            let first = channel.samples.first().map_or(String::new(), |s| quoted(&s.name));
            report.error(
                format!("{}/data", sample.path(channel)),
                format!(
                    "Sample {} of channel {} has {}, but the channel's first sample {first} has {n_bins}.",
                    quoted(&sample.name),
                    quoted(&channel.name),
                    values(sample.data.len()),
                ),
                "Give every sample of a channel one value per bin.",
            );
        }
        check_modifiers(channel, sample, normsys, report);
    }
}

fn check_modifiers(channel: &Channel, sample: &Sample, normsys: NormsysCode, report: &mut Report) {
    let mut seen: HashMap<(ModifierType, &str), usize> = HashMap::new();
    for modifier in &sample.modifiers {
        let kind = modifier.effect.kind();
        // Closures, because the texts are needed only where there is a problem.
        let path = || modifier.path(channel, sample);
        check_length_of_name("modifier", &modifier.name, || format!("{}/name", path()), report);
        if let Some(&first) = seen.get(&(kind, modifier.name.as_str())) {
            report.error(
                path(),
                format!(
                    "Sample {} of channel {} already has the {kind} {} (modifier number {first}, counted from \
                     0).",
                    quoted(&sample.name),
                    quoted(&channel.name),
                    quoted(&modifier.name),
                ),
                "Remove one of the two, or rename one if both are meant.",
            );
        } else {
            seen.insert((kind, modifier.name.as_str()), modifier.at);
        }
        check_effect(channel, sample, modifier, normsys, report);
    }
}

fn check_effect(
    channel: &Channel,
    sample: &Sample,
    modifier: &Modifier,
    normsys: NormsysCode,
    report: &mut Report,
) {
    let path = || modifier.path(channel, sample);
    let place = || {
        format!(
            "{} {} on sample {} of channel {}",
            modifier.effect.kind(),
            quoted(&modifier.name),
            quoted(&sample.name),
            quoted(&channel.name)
        )
    };
    let per_bin = |key: &str, data: &[f64], report: &mut Report| {
        // A wrong length of the sample is reported once, and not again for each modifier of the sample.
        let fits = data.len() == sample.data.len() || data.len() == channel.n_bins();
        if !data.is_empty() && !sample.data.is_empty() && !fits {
            report.error(
                format!("{}/data{key}", path()),
                format!(
                    "The {} has {}, but the sample has {}.",
                    place(),
                    values(data.len()),
                    bins(sample.data.len())
                ),
                "Give one value per bin of the sample.",
            );
        }
    };
    match &modifier.effect {
        Effect::HistoSys { lo, hi } => {
            per_bin("/lo_data", lo, report);
            per_bin("/hi_data", hi, report);
        }
        Effect::NormSys { lo, hi } if normsys.has_logarithm() => {
            for (key, factor) in [("lo", *lo), ("hi", *hi)] {
                if factor <= 0.0 {
                    report.error(
                        format!("{}/data/{key}", path()),
                        format!(
                            "The {} has {key} = {}. A normsys factor is interpolated in its logarithm and \
                             must be positive.",
                            place(),
                            show(factor)
                        ),
                        "Use a positive factor, or a histosys if the yield really goes to zero or below; interpolation codes 0 \
                         and 6 have no logarithm.",
                    );
                }
            }
        }
        Effect::ShapeSys(data) | Effect::StatError(data) => {
            per_bin("", data, report);
            if let Some(bin) = data.iter().position(|x| *x < 0.0) {
                let meaning = if matches!(modifier.effect, Effect::ShapeSys(_)) {
                    "The bin then has no uncertainty of this modifier."
                } else {
                    "Only its square counts."
                };
                report.warn(
                    format!("{}/data/{bin}", path()),
                    format!("The {} has a negative uncertainty in bin {bin}. {meaning}", place()),
                    "Check how the uncertainty was made.",
                );
            }
        }
        Effect::Function(Formulas::Bins(texts)) => {
            let fits = texts.len() == sample.data.len() || texts.len() == channel.n_bins();
            if !sample.data.is_empty() && !fits {
                report.error(
                    format!("{}/data/expressions", path()),
                    format!(
                        "The {} has {} expressions, but the sample has {}.",
                        place(),
                        texts.len(),
                        bins(sample.data.len())
                    ),
                    "Give one expression per bin, or one 'expression' for all bins.",
                );
            }
        }
        Effect::NormSys { .. }
        | Effect::Lumi
        | Effect::NormFactor
        | Effect::ShapeFactor
        | Effect::Function(Formulas::Whole(_)) => {}
    }
}

fn check_observations(document: &Document, report: &mut Report) {
    unique(
        "observation",
        document.observations.iter().map(|o| (o.name.as_str(), format!("/observations/{}/name", o.at))),
        "Keep one observation per channel.",
        report,
    );
    let channels: HashMap<&str, &Channel> =
        document.channels.iter().rev().map(|c| (c.name.as_str(), c)).collect();
    let observed: HashSet<&str> = document.observations.iter().map(|o| o.name.as_str()).collect();
    let names: Vec<&str> = document.channels.iter().map(|c| c.name.as_str()).collect();
    for observation in &document.observations {
        let path = format!("/observations/{}", observation.at);
        for (bin, count) in observation.data.iter().enumerate() {
            if *count < 0.0 {
                report.error(
                    format!("{path}/data/{bin}"),
                    format!(
                        "Channel {} observes {} in bin {bin}; a count cannot be negative.",
                        quoted(&observation.name),
                        show(*count)
                    ),
                    "Give the number of observed events, 0 or more.",
                );
            }
        }
        match channels.get(observation.name.as_str()) {
            Some(channel) => {
                let n_bins = channel.n_bins();
                if n_bins > 0 && !observation.data.is_empty() && observation.data.len() != n_bins {
                    report.error(
                        format!("{path}/data"),
                        format!(
                            "The observation of channel {} has {}, but the channel's first sample {} has \
                             {n_bins}.",
                            quoted(&observation.name),
                            values(observation.data.len()),
                            channel.samples.first().map_or(String::new(), |s| quoted(&s.name)),
                        ),
                        "Give one observed count per bin.",
                    );
                }
            }
            None if document.known.channels => {
                let unobserved = || names.iter().copied().filter(|c| !observed.contains(c));
                let hint = match nearest_few(&observation.name, unobserved(), observation.at) {
                    Some(name) => format!("Did you mean {}?", quoted(name)),
                    None => list("The channels are", &names),
                };
                report.warn(
                    format!("{path}/name"),
                    format!(
                        "There is no channel {} for this observation, which is not used.",
                        quoted(&observation.name)
                    ),
                    format!("Correct the name or remove the observation. {hint}"),
                );
            }
            None => {}
        }
    }
}

/// Checks that every channel has an observation.
pub(crate) fn check_observed(document: &Document, report: &mut Report) {
    if !document.known.observations {
        return;
    }
    if document.observations.is_empty() {
        report.error(
            "/observations".to_owned(),
            "The workspace has no observations.",
            "Add the observed counts of every channel. In commands, Asimov data and yields before a fit need none.",
        );
        return;
    }
    let channels: HashSet<&str> = document.channels.iter().map(|c| c.name.as_str()).collect();
    let observed: HashSet<&str> = document.observations.iter().map(|o| o.name.as_str()).collect();
    let unused = || {
        let names = document.observations.iter().map(|o| o.name.as_str());
        names.filter(|name| !channels.contains(name))
    };
    for channel in document.channels.iter().filter(|c| !observed.contains(c.name.as_str())) {
        let add = "Add its observed counts to the observations, under the channel's name.";
        report.error(
            channel.path(),
            format!("Channel {} has no observation.", quoted(&channel.name)),
            match nearest_few(&channel.name, unused(), channel.at) {
                Some(near) => format!(
                    "{add} Or is it the observation called {}, which belongs to no channel?",
                    quoted(near)
                ),
                None => add.to_owned(),
            },
        );
    }
}

/// Returns the candidate nearest to `name`, but only for the first 50 items of the file, because comparing
/// thousands of names with thousands of candidates would take long. `position` is the index of the item called
/// `name`. For later items, returns `None`.
fn nearest_few<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
    position: usize,
) -> Option<&'a str> {
    (position < 50).then(|| nearest(name, candidates)).flatten()
}

/// Writes a number of values in words: `1 value`, `2 values`.
pub(crate) fn values(n: usize) -> String {
    if n == 1 { "1 value".to_owned() } else { format!("{n} values") }
}

fn bins(n: usize) -> String {
    if n == 1 { "1 bin".to_owned() } else { format!("{n} bins") }
}
