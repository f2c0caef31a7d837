//! Writes a model as a pyhf workspace. This is possible if workspaces can express all parts of the model.

mod shared;

use std::collections::{BTreeMap, BTreeSet};

use ns_core::{Channel, Constraint, Effect, Model, Modifier, Parameter};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::from_functions::{self, WrittenFunctions};
use super::interest::Interest;
use super::names::quoted;
use shared::Shared;

/// The error that a pyhf workspace cannot express some parts of the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the model cannot be written as a pyhf workspace: {}", reasons.join("; "))]
pub struct NotPyhf {
    /// The parts that cannot be written, one phrase each.
    pub reasons: Vec<String>,
}

/// Absolute value of the bound that replaces an infinite bound, because bounds in workspaces are finite.
const FAR: f64 = 1e10;

/// Name of the factor with a Gaussian constraint.
const LUMI: &str = "lumi";

/// The kind of parameters that a modifier has, and the modifier type that declares them in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    /// One factor without a constraint (normfactor).
    Free,
    /// One factor with a Gaussian constraint, such as the luminosity (lumi).
    Lumi,
    /// One nuisance parameter with a Gaussian constraint of width 1 (normsys or histosys).
    Alpha,
    /// One factor per bin, without constraints (shapefactor).
    FreeBins,
    /// One factor per bin, with Poisson constraints (shapesys).
    Poisson,
    /// One factor per bin, with Gaussian constraints (staterror).
    Gaussian,
}

impl Declared {
    fn per_bin(self) -> bool {
        matches!(self, Self::FreeBins | Self::Poisson | Self::Gaussian)
    }
}

/// A modifier of the workspace, with its name, its parameters, and the samples on which it acts.
#[derive(Debug, Clone)]
struct Entry {
    declared: Declared,
    name: String,
    /// Number of the modifier's parameters.
    n: usize,
    /// The samples on which the modifier acts, each as the name of its channel and the name of the sample.
    users: Vec<(String, String)>,
}

/// Returns a model as a pyhf workspace with one measurement. Parameters of single bins get the names
/// `modifier[i]`.
///
/// # Errors
/// [`NotPyhf`] with everything that a workspace cannot express.
pub fn workspace_of(model: &Model) -> Result<Value, NotPyhf> {
    let mut reasons = Vec::new();
    for channel in &model.event_channels {
        reasons.push(format!("{} is a channel of events", quoted(&channel.name)));
    }
    for penalty in &model.penalties {
        let name = quoted(&penalty.name);
        if penalty.form.correlations().is_some() {
            reasons
                .push(format!("the term {name} correlates constraints, which a workspace has no word for"));
            continue;
        }
        reasons.push(format!("the term {name} is no Gaussian or Poisson constraint of one parameter"));
    }
    let entries = entries(model, &mut reasons);
    let mut used: BTreeSet<usize> = entries.iter().flat_map(|(first, e)| *first..first + e.n).collect();
    let functions = from_functions::written(model, &names_of(model, &entries), &used, &mut reasons);
    used.extend(functions.parameters.iter().copied());
    for (i, parameter) in model.parameters.iter().enumerate() {
        if !used.contains(&i) && model.event_channels.is_empty() && model.penalties.is_empty() {
            reasons.push(format!("no modifier uses the parameter {}", quoted(&parameter.name)));
        }
    }
    let channels: Vec<Value> = model
        .channels
        .iter()
        .map(|channel| written_channel(model, channel, &entries, &functions, &mut reasons))
        .collect();
    let mut settings: Vec<Value> =
        entries.iter().filter_map(|(first, entry)| setting(model, *first, entry, &mut reasons)).collect();
    settings.extend(functions.settings.iter().cloned());
    if !reasons.is_empty() {
        let mut told = BTreeSet::new();
        reasons.retain(|reason| told.insert(reason.clone()));
        return Err(NotPyhf { reasons });
    }
    let counts = |channel: &Channel| {
        model.observed.main.get(channel.first_bin..channel.first_bin + channel.n_bins).unwrap_or_default()
    };
    let observations: Vec<Value> =
        model.channels.iter().map(|c| json!({"name": c.name, "data": counts(c)})).collect();
    let name = |i: &usize| match entries.get(i) {
        Some(entry) => Some(entry.name.clone()),
        None => model.parameters.get(*i).filter(|_| functions.parameters.contains(i)).map(|p| p.name.clone()),
    };
    let poi = Interest::new(model.pois.iter().filter_map(name).collect());
    Ok(json!({
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": model.measurement, "config": {"poi": poi, "parameters": settings}}],
        "version": "1.0.0",
    }))
}

/// Returns the parameters with a single value that [`workspace_of`] renames: the name in the model, and that in the workspace.
#[must_use]
pub fn renamed(model: &Model) -> Vec<(String, String)> {
    let entries = entries(model, &mut Vec::new());
    let names = names_of(model, &entries);
    let pairs = model.parameters.iter().zip(names).filter_map(|(p, name)| Some((p.name.clone(), name?)));
    pairs.filter(|(own, name)| own != name).collect()
}

/// Returns the name that each parameter with a single value has in the workspace; `None` for the others.
fn names_of(model: &Model, entries: &BTreeMap<usize, Entry>) -> Vec<Option<String>> {
    let of = |(i, parameter): (usize, &Parameter)| match entries.get(&i) {
        Some(entry) => (!entry.declared.per_bin()).then(|| entry.name.clone()),
        None => Some(parameter.name.clone()),
    };
    model.parameters.iter().enumerate().map(of).collect()
}

/// Returns the modifiers of all samples. The key is the index of the modifier's first parameter.
fn entries(model: &Model, reasons: &mut Vec<String>) -> BTreeMap<usize, Entry> {
    let mut entries: BTreeMap<usize, Entry> = BTreeMap::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for channel in &model.channels {
        for sample in &channel.samples {
            for modifier in sample.modifiers.iter().filter(|modifier| modifier.function().is_none()) {
                let Some(parameter) = model.parameters.get(modifier.first) else { continue };
                let n = if modifier.effect.per_bin() { channel.n_bins } else { 1 };
                let Some(declared) = declared(model, modifier, n, reasons) else { continue };
                let user = (channel.name.clone(), sample.name.clone());
                if let Some(known) = entries.get_mut(&modifier.first) {
                    if known.declared != declared || known.n != n {
                        let name = quoted(&parameter.name);
                        reasons.push(format!("the parameter {name} is used by modifiers of different types"));
                    }
                    known.users.push(user);
                    continue;
                }
                let wish = match declared {
                    Declared::Lumi => LUMI,
                    declared if declared.per_bin() => &modifier.name,
                    _ => &parameter.name,
                };
                let mut name = wish.to_owned();
                // pyhf knows the luminosity by its name, so it cannot have another one.
                while declared != Declared::Lumi && !names.insert(name.clone()) {
                    name = format!("{name}_{}", channel.name);
                }
                entries.insert(modifier.first, Entry { declared, name, n, users: vec![user] });
            }
        }
    }
    if entries.values().filter(|entry| entry.declared == Declared::Lumi).count() > 1 {
        reasons.push(
            "several factors of samples have Gaussian constraints, and a workspace has one, 'lumi'"
                .to_owned(),
        );
    }
    let name_of = |first: &usize| quoted(model.parameters.get(*first).map_or("", |p| p.name.as_str()));
    if let Some((lumi, _)) = entries.iter().find(|(_, entry)| entry.declared == Declared::Lumi)
        && let Some((other, _)) =
            entries.iter().find(|(_, entry)| entry.declared != Declared::Lumi && entry.name == LUMI)
    {
        reasons.push(format!(
            "the factor {} has a Gaussian constraint, which a workspace gives to 'lumi' alone, and the parameter {} has this name; \
             rename the latter",
            name_of(lumi),
            name_of(other)
        ));
    }
    for entry in entries.values() {
        let channels: BTreeSet<&String> = entry.users.iter().map(|(channel, _)| channel).collect();
        if entry.declared == Declared::Poisson && entry.users.len() > 1 {
            reasons.push(format!("several samples share the Poisson factors {}", quoted(&entry.name)));
        }
        if entry.declared == Declared::Gaussian && channels.len() > 1 {
            reasons.push(format!("several channels share the Gaussian factors {}", quoted(&entry.name)));
        }
    }
    entries
}

/// Returns how a workspace declares the parameters of a modifier. `n` is their number. If a workspace cannot express
/// them, adds a reason and returns `None`.
fn declared(model: &Model, modifier: &Modifier, n: usize, reasons: &mut Vec<String>) -> Option<Declared> {
    let parameters = model.parameters.get(modifier.first..modifier.first + n)?;
    let first = parameters.first()?;
    let name = quoted(&first.name);
    match (&modifier.effect, first.constraint) {
        (Effect::NormFactor, Constraint::None) => Some(Declared::Free),
        (Effect::NormFactor | Effect::Lumi, Constraint::Gaussian { .. }) => Some(Declared::Lumi),
        (Effect::NormSys { .. } | Effect::HistoSys { .. }, Constraint::Gaussian { sigma: 1.0, .. }) => {
            Some(Declared::Alpha)
        }
        (Effect::NormSys { .. } | Effect::HistoSys { .. }, _) => {
            reasons.push(format!(
                "the constraint of {name} is not the Gaussian of width 1 of a normsys or histosys"
            ));
            None
        }
        (Effect::Function { .. }, _) => None,
        (Effect::NormFactor | Effect::Lumi, _) => {
            reasons.push(format!("the factor {name} has a constraint that is not Gaussian"));
            None
        }
        (Effect::ShapeSys | Effect::StatError | Effect::ShapeFactor, _) => {
            let count =
                |which: fn(&Constraint) -> bool| parameters.iter().filter(|p| which(&p.constraint)).count();
            let gaussian = count(|c| matches!(c, Constraint::Gaussian { .. }));
            let poisson = count(|c| matches!(c, Constraint::Poisson { .. }));
            match (gaussian, poisson) {
                (0, 0) => Some(Declared::FreeBins),
                (_, 0) => Some(Declared::Gaussian),
                (0, _) => Some(Declared::Poisson),
                _ => {
                    reasons.push(format!(
                        "the factors of bins that begin with {name} have different constraints"
                    ));
                    None
                }
            }
        }
    }
}

fn written_channel(
    model: &Model,
    channel: &Channel,
    entries: &BTreeMap<usize, Entry>,
    functions: &WrittenFunctions,
    reasons: &mut Vec<String>,
) -> Value {
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let samples: Vec<Value> = channel
        .samples
        .iter()
        .map(|sample| {
            let modifiers: Vec<Value> = sample
                .modifiers
                .iter()
                .filter_map(|modifier| {
                    if let Some(values) = modifier.function() {
                        return functions.modifier(&modifier.name, values);
                    }
                    let entry = entries.get(&modifier.first)?;
                    let first_use = seen.insert(modifier.first);
                    let (kind, data) = match (&modifier.effect, entry.declared) {
                        (Effect::NormSys { lo, hi }, _) => ("normsys", json!({"lo": lo, "hi": hi})),
                        (Effect::HistoSys { lo, hi }, _) => {
                            ("histosys", json!({"lo_data": lo, "hi_data": hi}))
                        }
                        (_, Declared::Lumi) => ("lumi", Value::Null),
                        (_, Declared::FreeBins) => ("shapefactor", Value::Null),
                        (_, Declared::Poisson) => {
                            ("shapesys", json!(absolute(model, modifier, &sample.nominal, reasons)))
                        }
                        (_, Declared::Gaussian) => {
                            let shared = Shared::of(channel, modifier.first);
                            let values = absolute(model, modifier, &shared.sums, reasons);
                            ("staterror", json!(shared.part(&values, &sample.nominal, first_use)))
                        }
                        _ => ("normfactor", Value::Null),
                    };
                    Some(json!({"name": entry.name, "type": kind, "data": data}))
                })
                .collect();
            json!({"name": sample.name, "data": sample.nominal, "modifiers": modifiers})
        })
        .collect();
    json!({"name": channel.name, "samples": samples})
}

/// Returns, for each per-bin factor of a modifier, the absolute uncertainty of the yield that it multiplies.
/// `yields` has these yields. The uncertainty is 0 if the factor has no constraint, if the yield is 0, or if the factor
/// is fixed and others are not, because pyhf fixes factors without uncertainty. For a factor without constraint that is
/// free, adds a reason why the model cannot be written.
fn absolute(model: &Model, modifier: &Modifier, yields: &[f64], reasons: &mut Vec<String>) -> Vec<f64> {
    let factors = model.parameters.get(modifier.first..modifier.first + yields.len()).unwrap_or_default();
    let some_free = factors.iter().any(|p| !p.fixed);
    let of = |(bin, yields): (usize, &f64)| {
        let parameter = factors.get(bin);
        if some_free && parameter.is_some_and(|p| p.fixed) {
            return 0.0;
        }
        let relative = match parameter.map(|p| p.constraint) {
            Some(Constraint::Gaussian { sigma, .. }) => sigma,
            Some(Constraint::Poisson { tau, .. }) => 1.0 / tau.sqrt(),
            _ => 0.0,
        };
        let value = relative * yields;
        if let Some(parameter) = parameter.filter(|p| value == 0.0 && !p.fixed && *yields != 0.0) {
            reasons.push(format!(
                "the factor {} of a bin has no constraint, but others have",
                quoted(&parameter.name)
            ));
        }
        value
    };
    yields.iter().enumerate().map(of).collect()
}

/// Returns the settings (start values, bounds, fixed flags, auxiliary data) of the parameters of a modifier.
fn setting(model: &Model, first: usize, entry: &Entry, reasons: &mut Vec<String>) -> Option<Value> {
    let parameters = model.parameters.get(first..first + entry.n)?;
    let inits: Vec<f64> = parameters.iter().map(|p| p.init).collect();
    let bounds: Vec<[f64; 2]> =
        parameters.iter().map(|p| [p.bounds.0.max(-FAR), p.bounds.1.min(FAR)]).collect();
    let mut map: Map<String, Value> = Map::new();
    map.insert("name".to_owned(), json!(entry.name));
    map.insert("inits".to_owned(), json!(inits));
    map.insert("bounds".to_owned(), json!(bounds));
    // pyhf itself fixes constrained factors without uncertainty, so single fixed ones need no setting.
    let some_free = parameters.iter().any(|p| !p.fixed);
    let constrained = matches!(entry.declared, Declared::Poisson | Declared::Gaussian);
    let matters = |p: &&Parameter| !(constrained && some_free && p.fixed);
    let fixed: Vec<bool> = parameters.iter().filter(matters).map(|p| p.fixed).collect();
    match (fixed.iter().any(|fixed| *fixed), fixed.iter().all(|fixed| *fixed)) {
        (true, true) => drop(map.insert("fixed".to_owned(), json!(true))),
        (true, false) => {
            let name = quoted(&entry.name);
            reasons.push(format!("some of the factors {name} are fixed and some are not"));
        }
        _ => {}
    }
    let datum = |p: &Parameter| p.constraint.aux().and_then(|aux| model.observed.aux.get(aux)).copied();
    match entry.declared {
        Declared::Lumi => {
            let sigma = match parameters.first().map(|p| p.constraint) {
                Some(Constraint::Gaussian { sigma, .. }) => sigma,
                _ => 0.0,
            };
            map.insert("auxdata".to_owned(), json!(parameters.iter().filter_map(datum).collect::<Vec<_>>()));
            map.insert("sigmas".to_owned(), json!([sigma]));
        }
        Declared::Alpha => {
            let data: Vec<f64> = parameters.iter().filter_map(datum).collect();
            if data.iter().any(|x| *x != 0.0) {
                map.insert("auxdata".to_owned(), json!(data));
            }
        }
        Declared::Poisson | Declared::Gaussian => {
            let expected = |p: &Parameter| match p.constraint {
                Constraint::Poisson { tau, .. } => tau,
                _ => 1.0,
            };
            let moved =
                |p: &Parameter| datum(p).is_some_and(|x| (x - expected(p)).abs() > 1e-12 * expected(p));
            if parameters.iter().any(moved) {
                let data: Vec<f64> =
                    parameters.iter().map(|p| datum(p).unwrap_or_else(|| expected(p))).collect();
                map.insert("auxdata".to_owned(), json!(data));
            }
        }
        Declared::Free | Declared::FreeBins => {}
    }
    Some(Value::Object(map))
}
