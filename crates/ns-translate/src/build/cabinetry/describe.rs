//! Turns a configuration and its templates into a description.

use std::collections::HashMap;

use super::super::describe::{
    Channel, Description, Effect, Measurement, Parameter, Parts, Sample, Smoothing, Symmetrise, Systematic,
};
use super::super::fields::Reader;
use super::super::sources::Filled;
use super::config::{self, Config, includes};
use super::plan::{Key, Side};
use crate::pyhf::names::{list, nearest, quoted, show};

/// The description. Problems go to the report; it is complete if there are none.
pub(super) fn describe(
    config: &Config,
    templates: &HashMap<Key, Filled>,
    reader: &mut Reader,
) -> Description {
    let mut channels = Vec::new();
    for (r, region) in config.regions.iter().enumerate() {
        let title = region.variable.clone();
        let mut channel = Channel { name: region.name.clone(), title, ..Channel::default() };
        for (s, sample) in config.samples.iter().enumerate() {
            let Some(filled) = templates.get(&(r, s, None)) else { continue };
            check_edges(&mut channel, region.line, &sample.name, filled, reader);
            if sample.data {
                channel.data = Some(filled.template.values.clone());
                continue;
            }
            let factors = config.norm_factors.iter().filter(|factor| {
                includes(&factor.regions, &region.name) && includes(&factor.samples, &sample.name)
            });
            let norm_factors = factors.map(|factor| factor.name.clone()).collect();
            let mut systematics = Vec::new();
            for (i, systematic) in config.systematics.iter().enumerate() {
                if systematic.acts_on(region, sample) {
                    let side = |side| templates.get(&(r, s, Some((i, side))));
                    for filled in [side(Side::Up), side(Side::Down)].into_iter().flatten() {
                        check_edges(&mut channel, systematic.line, &sample.name, filled, reader);
                    }
                    let smoothed = systematic.is_smoothed(region, sample);
                    systematics.extend(effect(systematic, side(Side::Up), side(Side::Down), smoothed));
                }
            }
            channel.samples.push(Sample {
                name: sample.name.clone(),
                template: filled.template.clone(),
                mc_statistics: !sample.disable_staterror,
                functions: Vec::new(),
                norm_factors,
                shape_factors: Vec::new(),
                systematics,
            });
        }
        channels.push(channel);
    }
    let general = &config.general;
    let measurement = Measurement {
        name: general.measurement.clone(),
        poi: general.poi.clone(),
        parameters: parameters(config, reader),
    };
    Description { measurement, channels, ..Description::default() }
}

fn effect(
    systematic: &config::Systematic,
    up: Option<&Filled>,
    down: Option<&Filled>,
    smoothed: bool,
) -> Option<Systematic> {
    let effect = if systematic.has_templates {
        Effect::Templates {
            up: up?.template.values.clone(),
            down: down.map(|filled| filled.template.values.clone()),
            symmetrise: if systematic.down.symmetrize { Symmetrise::OneSided } else { Symmetrise::None },
            smooth: smoothed.then_some(Smoothing::Medians353Qh),
            parts: Parts::Both,
        }
    } else {
        Effect::Normalisation { up: systematic.up.normalization?, down: systematic.down.normalization? }
    };
    Some(Systematic {
        name: systematic.name.clone(),
        parameter: systematic.modifier.clone(),
        effect,
        pruned_as: None,
    })
}

/// Checks that all templates of a channel have the same bins.
fn check_edges(channel: &mut Channel, line: usize, sample: &str, filled: &Filled, reader: &mut Reader) {
    let Some(edges) = &channel.edges else {
        channel.edges = Some(filled.edges.clone());
        return;
    };
    let width = match (edges.first(), edges.last()) {
        (Some(low), Some(high)) => high - low,
        _ => 0.0,
    };
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * width;
    if edges.len() != filled.edges.len() || !edges.iter().zip(&filled.edges).all(near) {
        let message = format!(
            "A template of the sample {} in region {} has other bins than those before it.",
            quoted(sample),
            quoted(&channel.name)
        );
        reader.error(line, message, "Make the bins of all histograms of a region the same.");
    }
}

/// The settings of norm factors, and of systematics that are fixed.
fn parameters(config: &Config, reader: &mut Reader) -> Vec<Parameter> {
    let fixed =
        |names: [&str; 2]| config.general.fixed.iter().find(|fixed| names.contains(&fixed.name.as_str()));
    let mut parameters = Vec::new();
    for factor in &config.norm_factors {
        let fixed = fixed([&factor.name, &factor.name]);
        if let Some((fixed, nominal)) = fixed.zip(factor.nominal).filter(|(fixed, n)| fixed.value != *n) {
            let message = format!(
                "{} is fixed to {}, and its 'Nominal' is {}.",
                quoted(&factor.name),
                show(fixed.value),
                show(nominal)
            );
            reader.error(fixed.line, message, "Make the two numbers the same, or remove 'Nominal'.");
        }
        parameters.push(Parameter {
            name: factor.name.clone(),
            init: factor.nominal.or(fixed.map(|fixed| fixed.value)),
            bounds: factor.bounds,
            fixed: fixed.is_some(),
        });
    }
    for systematic in &config.systematics {
        let name = systematic.parameter();
        let Some(fixed) = fixed([&systematic.name, name]) else { continue };
        if parameters.iter().all(|parameter| parameter.name != name) {
            let init = Some(fixed.value);
            parameters.push(Parameter { name: name.to_owned(), init, bounds: None, fixed: true });
        }
    }
    let factors = config.norm_factors.iter().map(|factor| factor.name.as_str());
    let known: Vec<&str> =
        factors.chain(config.systematics.iter().flat_map(|s| [s.name.as_str(), s.parameter()])).collect();
    for fixed in &config.general.fixed {
        if !known.contains(&fixed.name.as_str()) {
            let remedy = match nearest(&fixed.name, known.iter().copied()) {
                Some(near) => format!("Did you mean {}?", quoted(near)),
                None => list("The parameters are", &known),
            };
            reader.error(
                fixed.line,
                format!("There is no parameter {} to fix.", quoted(&fixed.name)),
                remedy,
            );
        }
    }
    parameters
}
