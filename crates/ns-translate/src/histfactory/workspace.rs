//! Writes a description as a workspace of pyhf, where one can say the same.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::describe::{Channel, Combination, Effect, Modifier, Sample};
use super::settle::{Constraint, Groups, Kind};
use super::view::View;
use crate::pyhf::interest::Interest;

/// Why a workspace of pyhf cannot say the same, in words; nothing if it can.
pub(super) fn obstacle(combination: &Combination, groups: &Groups, views: &[View<'_>]) -> Option<String> {
    let mut names: HashMap<String, &'static str> = HashMap::new();
    for function in &combination.functions {
        names.insert(function.name.clone(), "");
    }
    for group in &groups.all {
        let name = group.name();
        if names.insert(name.clone(), "").is_some() {
            return Some(format!("two different parameters are called '{name}'"));
        }
        if group.kind == Kind::Shape && group.uses > 1 {
            return Some(format!("the ShapeSys '{}' acts on several samples", group.source));
        }
        let poisson = group.constraint.iter().any(|c| matches!(c, Constraint::Poisson(_)));
        if group.kind == Kind::Stat && group.uses > 1 && poisson {
            return Some(format!(
                "the simulation of several samples of the channel '{}' has a common Poisson constraint",
                group.source
            ));
        }
    }
    for view in views {
        if let Some((_, term)) = view.terms.first() {
            return Some(format!("'{}' has a constraint that is not Gaussian of width 1", term.name));
        }
        for (i, group) in groups.all.iter().enumerate() {
            if !group.is_scalar() && free_bins_differ(view, groups, i) {
                return Some(format!("only some bins of '{}' are constant", group.roofit()));
            }
        }
    }
    None
}

/// Whether a measurement fixes some bins of a group but not all.
fn free_bins_differ(view: &View<'_>, groups: &Groups, i: usize) -> bool {
    let (Some(own), Some(fixed)) = (groups.all.get(i), view.fixed.get(i)) else { return false };
    let some = own.fixed != *fixed;
    some && !fixed.iter().all(|fixed| *fixed)
}

/// The workspace.
pub(super) fn write(
    combination: &Combination,
    lumi: bool,
    groups: &Groups,
    views: &[View<'_>],
    data: &[Vec<f64>],
) -> Value {
    let channels: Vec<Value> = combination
        .channels
        .iter()
        .map(|channel| {
            let samples: Vec<Value> =
                channel.samples.iter().map(|sample| self::sample(channel, sample, lumi, groups)).collect();
            json!({"name": channel.name, "samples": samples})
        })
        .collect();
    let observations: Vec<Value> = combination
        .channels
        .iter()
        .zip(data)
        .map(|(channel, data)| json!({"name": channel.name, "data": data}))
        .collect();
    let measurements: Vec<Value> = views.iter().map(|view| measurement(view, groups)).collect();
    json!({"channels": channels, "observations": observations, "measurements": measurements, "version": "1.0.0"})
}

fn sample(channel: &Channel, sample: &Sample, lumi: bool, groups: &Groups) -> Value {
    let mut modifiers = Vec::new();
    if sample.lumi.unwrap_or(lumi) {
        modifiers.push(json!({"name": "lumi", "type": "lumi", "data": null}));
    }
    modifiers.extend(sample.modifiers.iter().map(|modifier| self::modifier(modifier, &sample.contents)));
    if let (Some(errors), Some(group)) = (&sample.errors, groups.get(Kind::Stat, &channel.name)) {
        // Bins below the threshold have no uncertainty.
        let active = errors.iter().zip(&group.constraint);
        let data: Vec<f64> = active.map(|(e, c)| if *c == Constraint::None { 0.0 } else { *e }).collect();
        let poisson = group.constraint.iter().any(|c| matches!(c, Constraint::Poisson(_)));
        let kind = if poisson { "shapesys" } else { "staterror" };
        modifiers.push(json!({"name": group.name(), "type": kind, "data": data}));
    }
    json!({"name": sample.name, "data": sample.contents, "modifiers": modifiers})
}

fn modifier(modifier: &Modifier, contents: &[f64]) -> Value {
    let (kind, data) = match &modifier.effect {
        Effect::NormFactor { .. } => ("normfactor", Value::Null),
        Effect::Function { expression } => ("function", json!({"expression": expression})),
        Effect::OverallSys { low, high } => ("normsys", json!({"lo": low, "hi": high})),
        Effect::HistoSys { low, high } => ("histosys", json!({"lo_data": low, "hi_data": high})),
        Effect::ShapeSys { relative, poisson } => {
            let data: Vec<f64> = relative.iter().zip(contents).map(|(r, n)| n * r).collect();
            (if *poisson { "shapesys" } else { "staterror" }, json!(data))
        }
        Effect::ShapeFactor { .. } => ("shapefactor", Value::Null),
    };
    json!({"name": modifier.name, "type": kind, "data": data})
}

fn measurement(view: &View<'_>, groups: &Groups) -> Value {
    let mut parameters = Vec::new();
    for (i, group) in groups.all.iter().enumerate() {
        let (Some(start), Some(fixed)) = (view.start.get(i), view.fixed.get(i)) else { continue };
        let mut entry = Map::from_iter([("name".to_owned(), json!(group.name()))]);
        let mut set = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        let changed = view.changed.get(i).copied().unwrap_or(false);
        let all = !fixed.is_empty() && fixed.iter().all(|fixed| *fixed);
        match group.kind {
            Kind::Lumi if group.uses == 0 => continue,
            Kind::Lumi => {
                let nominal = view.measurement.lumi;
                let sigma = match view.constraint.first().and_then(|c| c.first()) {
                    Some(Constraint::Gaussian(sigma)) => *sigma,
                    _ => nominal,
                };
                set("auxdata", json!([nominal]));
                set("sigmas", json!([sigma]));
                set("bounds", json!([[nominal - 5.0 * sigma, nominal + 5.0 * sigma]]));
                set("inits", json!(start));
            }
            Kind::Norm => {
                set("inits", json!(start));
                set("bounds", json!([[group.bounds.0, group.bounds.1]]));
            }
            Kind::Free if *start == group.start && group.start.iter().all(|s| *s == 1.0) && !all => continue,
            Kind::Free => {
                set("inits", json!(start));
            }
            Kind::Alpha | Kind::Shape | Kind::Stat if !changed => continue,
            _ if *start != group.start => {
                set("inits", json!(start));
            }
            _ => {}
        }
        if all {
            set("fixed", json!(true));
        }
        parameters.push(Value::Object(entry));
    }
    let poi = Interest::new(view.measurement.interest.clone());
    json!({"name": view.measurement.name, "config": {"poi": poi, "parameters": parameters}})
}
