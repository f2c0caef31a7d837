//! Checks the names of a configuration: those that are used twice, and those that nothing has.

use super::super::fields::Reader;
use super::config::Config;
use crate::pyhf::names::{list, nearest, quoted};

/// Checks the names. Problems go to the report.
pub(super) fn names(config: &Config, reader: &mut Reader) {
    let regions: Vec<(&str, usize)> = config.regions.iter().map(|r| (r.name.as_str(), r.line)).collect();
    let samples: Vec<(&str, usize)> = config.samples.iter().map(|s| (s.name.as_str(), s.line)).collect();
    let factors: Vec<(&str, usize)> = config.norm_factors.iter().map(|n| (n.name.as_str(), n.line)).collect();
    let systematics: Vec<(&str, usize)> =
        config.systematics.iter().map(|s| (s.name.as_str(), s.line)).collect();
    let all = [
        ("regions", &regions),
        ("samples", &samples),
        ("norm factors", &factors),
        ("systematics", &systematics),
    ];
    for (what, names) in all {
        for (i, (name, line)) in names.iter().enumerate() {
            if !name.is_empty() && names.iter().take(i).any(|(other, _)| other == name) {
                reader.error(
                    *line,
                    format!("Two {what} are called {}.", quoted(name)),
                    "Rename one of them.",
                );
            }
        }
    }
    let data: Vec<usize> = config.samples.iter().filter(|s| s.data).map(|s| s.line).collect();
    match data.as_slice() {
        [_] => {}
        [] if config.samples.is_empty() => {}
        [] => reader.error(
            samples.first().map_or(1, |(_, line)| *line),
            "No sample is the data.",
            "Write 'Data: True' for one of them.",
        ),
        [.., last] => {
            reader.error(*last, "Two samples are the data.", "Keep 'Data: True' for one of them.");
        }
    }
    let mut used = |line: usize, what: &str, names: &[String], known: &[(&str, usize)]| {
        for name in names {
            if known.iter().any(|(known, _)| known == name) {
                continue;
            }
            let known = known.iter().map(|(name, _)| *name);
            let remedy = match nearest(name, known.clone()) {
                Some(near) => format!("Did you mean {}?", quoted(near)),
                None => list(&format!("The {what}s are"), &known.collect::<Vec<_>>()),
            };
            reader.error(line, format!("There is no {what} {}.", quoted(name)), remedy);
        }
    };
    for sample in &config.samples {
        used(sample.line, "region", &sample.regions, &regions);
    }
    for factor in &config.norm_factors {
        used(factor.line, "region", &factor.regions, &regions);
        used(factor.line, "sample", &factor.samples, &samples);
    }
    for systematic in &config.systematics {
        used(systematic.line, "region", &systematic.regions, &regions);
        used(systematic.line, "sample", &systematic.samples, &samples);
        if let Some(rule) = &systematic.smoothing {
            used(systematic.line, "region", &rule.regions, &regions);
            used(systematic.line, "sample", &rule.samples, &samples);
        }
    }
}
