//! Builds a [`Model`] from a document that has no errors.

use std::collections::HashMap;

use ns_core::{
    Channel, ChannelAxis, Constraint, Effect, Interpolation, Model, Modifier, Observations, Parameter,
    ParameterSet, Sample,
};

use super::declare::{Declared, SetKind};
use super::document::{self, Document, Measurement};
use super::functions::{self, Built};
use super::problem::Report;
use super::settings::{Resolution, ResolvedConstraint};

/// Builds the model of one measurement. `report` must have no errors. Its warnings are copied into the model.
pub(crate) fn build(
    document: &Document,
    measurement: &Measurement,
    declared: &[Declared],
    resolution: &Resolution,
    interpolation: Interpolation,
    report: &Report,
) -> Model {
    let parameters = parameters(declared, resolution);
    let starts: HashMap<&str, (usize, &SetKind)> = declared
        .iter()
        .zip(&parameters.sets)
        .map(|(d, set)| (d.name.as_str(), (set.range.start, &d.kind)))
        .collect();

    let built = functions::build(document, |name| starts.get(name).map(|(start, _)| *start));
    let mut order: Vec<&document::Channel> = document.channels.iter().collect();
    order.sort_by(|a, b| a.name.cmp(&b.name));
    let observations: HashMap<&str, &[f64]> =
        document.observations.iter().map(|o| (o.name.as_str(), o.data.as_slice())).collect();
    let mut channels = Vec::with_capacity(order.len());
    let (mut main, mut unobserved) = (Vec::new(), Vec::new());
    for channel in order {
        let first_bin = main.len();
        match observations.get(channel.name.as_str()) {
            Some(counts) => main.extend_from_slice(counts),
            None => {
                main.resize(first_bin + channel.n_bins(), 0.0);
                unobserved.push(channel.name.clone());
            }
        }
        channels.push(Channel {
            name: channel.name.clone(),
            first_bin,
            n_bins: channel.n_bins(),
            samples: channel.samples.iter().map(|s| sample(channel, s, &starts, &built)).collect(),
            axis: ChannelAxis::default(),
        });
    }
    let pois = resolution.pois.iter().filter_map(|set| parameters.sets.get(*set)).map(|set| set.range.start);
    let pois = pois.collect();
    Model {
        format: ns_core::ModelFormat::Pyhf,
        measurement: measurement.name.clone(),
        channels,
        parameters: parameters.scalars,
        parameter_sets: parameters.sets,
        pois,
        interpolation,
        functions: built.functions,
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(main, parameters.auxdata),
        unobserved,
        warnings: report.warnings().map(super::Problem::paragraph).collect(),
    }
}

struct Parameters {
    scalars: Vec<Parameter>,
    sets: Vec<ParameterSet>,
    auxdata: Vec<f64>,
}

/// Creates the scalar parameters, one parameter set after another, and the auxiliary data in the order of the
/// constrained parameters.
fn parameters(declared: &[Declared], resolution: &Resolution) -> Parameters {
    let n = declared.iter().map(|d| d.kind.n()).sum();
    let mut scalars = Vec::with_capacity(n);
    let mut sets = Vec::with_capacity(declared.len());
    let mut auxdata = Vec::new();
    for (set, resolved) in declared.iter().zip(&resolution.sets) {
        let start = scalars.len();
        let scalar = set.kind.scalar();
        let values = resolved.inits.iter().zip(&resolved.bounds).zip(&resolved.fixed);
        for (i, ((&init, &bounds), &fixed)) in values.enumerate() {
            let aux = auxdata.len();
            let (constraint, datum) = match &resolved.constraint {
                ResolvedConstraint::None => (Constraint::None, None),
                ResolvedConstraint::Gaussian { auxdata, sigmas } => (
                    Constraint::Gaussian { sigma: sigmas.get(i).copied().unwrap_or(1.0), aux },
                    auxdata.get(i),
                ),
                ResolvedConstraint::Poisson { auxdata, factors } => {
                    (Constraint::Poisson { tau: factors.get(i).copied().unwrap_or(1.0), aux }, auxdata.get(i))
                }
            };
            auxdata.extend(datum);
            let name = if scalar { set.name.clone() } else { format!("{}[{i}]", set.name) };
            scalars.push(Parameter { name, init, bounds, fixed, constraint });
        }
        sets.push(ParameterSet { name: set.name.clone(), range: start..scalars.len(), scalar });
    }
    Parameters { scalars, sets, auxdata }
}

fn sample(
    channel: &document::Channel,
    sample: &document::Sample,
    starts: &HashMap<&str, (usize, &SetKind)>,
    built: &Built,
) -> Sample {
    let modifiers = sample
        .modifiers
        .iter()
        .map(|modifier| {
            let (start, offset) = match starts.get(modifier.name.as_str()) {
                Some((start, SetKind::StatError { offsets, .. })) => {
                    (*start, offsets.get(&channel.at).copied().unwrap_or(0))
                }
                Some((start, _)) => (*start, 0),
                None => (0, 0), // a function, which has no parameters of its own
            };
            let effect = match &modifier.effect {
                document::Effect::HistoSys { lo, hi } => Effect::HistoSys { lo: lo.clone(), hi: hi.clone() },
                document::Effect::Lumi => Effect::Lumi,
                document::Effect::NormFactor => Effect::NormFactor,
                document::Effect::NormSys { lo, hi } => Effect::NormSys { lo: *lo, hi: *hi },
                document::Effect::ShapeFactor => Effect::ShapeFactor,
                document::Effect::ShapeSys(_) => Effect::ShapeSys,
                document::Effect::StatError(_) => Effect::StatError,
                document::Effect::Function(_) => {
                    let effect = built.effects.get(&modifier.name).cloned();
                    // Every modifier of this type has an effect.
                    effect.unwrap_or_else(|| Effect::Function { values: Vec::new() })
                }
            };
            Modifier { name: modifier.name.clone(), first: start + offset, effect }
        })
        .collect();
    Sample { name: sample.name.clone(), nominal: sample.data.clone(), modifiers }
}
