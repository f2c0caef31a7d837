//! Reports observed events in bins where the model never expects any, so that no parameters have a finite likelihood.

use std::collections::HashMap;

use super::declare::{Declared, SetKind};
use super::document::{Channel, Document, Effect, Modifier, Sample};
use super::names::{quoted, show};
use super::problem::Report;
use super::settings::{Resolution, Resolved};

/// Checks the observations of a document without errors. `resolutions` has one element per measurement.
pub(crate) fn check(
    document: &Document,
    declared: &[Declared],
    resolutions: &[Resolution],
    report: &mut Report,
) {
    let channels: HashMap<&str, &Channel> = document.channels.iter().map(|c| (c.name.as_str(), c)).collect();
    let parameters: Vec<HashMap<&str, (&Resolved, &SetKind)>> = resolutions
        .iter()
        .map(|resolution| {
            let sets = declared.iter().zip(&resolution.sets);
            sets.map(|(set, resolved)| (set.name.as_str(), (resolved, &set.kind))).collect()
        })
        .collect();
    for observation in &document.observations {
        let Some(channel) = channels.get(observation.name.as_str()) else { continue };
        for (bin, count) in observation.data.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let nothing = |parameters: &&HashMap<&str, (&Resolved, &SetKind)>| {
                channel.samples.iter().all(|sample| !may_expect(channel, sample, bin, parameters))
            };
            let hopeless = parameters.iter().filter(nothing).count();
            if hopeless == 0 {
                continue;
            }
            let path = format!("/observations/{}/data/{bin}", observation.at);
            let all = hopeless == parameters.len();
            let message = format!(
                "Channel {} observes {} in bin {bin}, where no sample ever expects any events{}: the likelihood is 0 for all \
                 values of the parameters.",
                quoted(&channel.name),
                show(*count),
                if all { "" } else { " with the settings of some measurements" },
            );
            let remedy =
                "Give a sample a yield there, merge the bin with another one, or correct the observation.";
            if all {
                report.error(path, message, remedy);
            } else {
                report.warn(path, message, remedy);
            }
        }
    }
}

/// Returns whether a sample can expect a positive number of events in a bin.
fn may_expect(
    channel: &Channel,
    sample: &Sample,
    bin: usize,
    parameters: &HashMap<&str, (&Resolved, &SetKind)>,
) -> bool {
    let at = |data: &[f64]| data.get(bin).copied().unwrap_or(0.0);
    let templates = sample.modifiers.iter().map(|modifier| match &modifier.effect {
        Effect::HistoSys { lo, hi } => at(lo) != 0.0 || at(hi) != 0.0,
        _ => false,
    });
    let vanishes = |modifier: &Modifier| {
        if matches!(modifier.effect, Effect::Function(_)) {
            return false;
        }
        let Some((set, kind)) = parameters.get(modifier.name.as_str()) else { return false };
        let element = match (&modifier.effect, kind) {
            (Effect::HistoSys { .. } | Effect::NormSys { .. }, _) => return false,
            (Effect::StatError(_), SetKind::StatError { offsets, .. }) => {
                offsets.get(&channel.at).copied().unwrap_or(0) + bin
            }
            (Effect::ShapeSys(_) | Effect::ShapeFactor, _) => bin,
            _ => 0,
        };
        let held = set.fixed.get(element) == Some(&true) && set.inits.get(element) == Some(&0.0);
        held || set.bounds.get(element) == Some(&(0.0, 0.0))
    };
    (at(&sample.data) != 0.0 || templates.into_iter().any(|moves| moves))
        && !sample.modifiers.iter().any(vanishes)
}
