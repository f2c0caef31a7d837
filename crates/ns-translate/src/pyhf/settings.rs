//! Applies the parameter settings of a measurement to the declared parameter sets.
//!
//! The rules are those of `pyhf.parameters.utils`. An array in a setting replaces the whole default array,
//! and must have one value per parameter. A property may be set only for parameters that have it. For
//! example, `sigmas` needs a Gaussian constraint.

use std::collections::HashMap;

use super::declare::{Declared, SetKind};
use super::diagnose::expect::and;
use super::document::{Document, Effect, Measurement, Modifier, Setting};
use super::names::{nearest, quoted, show};
use super::problem::Report;
use super::rules::values;

/// The start values, bounds, fixed flags and constraints of one parameter set. Arrays have one element per scalar
/// parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) inits: Vec<f64>,
    pub(crate) bounds: Vec<(f64, f64)>,
    pub(crate) fixed: Vec<bool>,
    pub(crate) constraint: ResolvedConstraint,
}

/// The constraint terms of a parameter set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResolvedConstraint {
    None,
    Gaussian { auxdata: Vec<f64>, sigmas: Vec<f64> },
    Poisson { auxdata: Vec<f64>, factors: Vec<f64> },
}

/// The parameter sets of a document, with the start values, bounds, fixed flags and constraints for one measurement.
pub(crate) struct Resolution {
    /// The parameter sets, in the order of the declared sets.
    pub(crate) sets: Vec<Resolved>,
    /// Indices of the declared sets that are the parameters of interest.
    pub(crate) pois: Vec<usize>,
}

/// Determines the start values, bounds, fixed flags and constraints of every parameter set for `measurement`, and the
/// parameters of interest.
pub(crate) fn resolve(
    document: &Document,
    measurement: &Measurement,
    declared: &[Declared],
    report: &mut Report,
) -> Resolution {
    let by_name: HashMap<&str, usize> =
        declared.iter().enumerate().map(|(i, d)| (d.name.as_str(), i)).collect();
    let settings = settings_by_name(document, measurement, declared, &by_name, report);
    let sets = declared
        .iter()
        .map(|set| resolve_set(document, measurement, set, settings.get(set.name.as_str()).copied(), report))
        .collect();
    let pois = find_pois(document, measurement, declared, &by_name, report);
    Resolution { sets, pois }
}

/// Returns the settings of a measurement, by the name of the parameter set to which they apply. Reports repeated and
/// unused settings.
fn settings_by_name<'a>(
    document: &Document,
    measurement: &'a Measurement,
    declared: &[Declared],
    by_name: &HashMap<&str, usize>,
    report: &mut Report,
) -> HashMap<&'a str, &'a Setting> {
    let mut settings: HashMap<&str, &Setting> = HashMap::new();
    let mut unused = 0;
    for setting in &measurement.config.parameters {
        let path = format!("{}/name", setting.path(measurement));
        if let Some(first) = settings.get(setting.name.as_str()) {
            report.error(
                path,
                format!(
                    "Measurement {} configures the parameter {} twice, first at {}.",
                    quoted(&measurement.name),
                    quoted(&setting.name),
                    first.path(measurement),
                ),
                "Merge the two settings into one.",
            );
            continue;
        }
        if !by_name.contains_key(setting.name.as_str()) && document.known.modifiers {
            unused += 1;
            // A search for the nearest name takes time. A hostile file must not cause thousands of searches.
            let near = if unused <= 50 {
                nearest(&setting.name, declared.iter().map(|d| d.name.as_str()))
            } else {
                None
            };
            report.warn(
                path,
                format!(
                    "Measurement {} configures {}, but no modifier has this name, so the setting has no effect.",
                    quoted(&measurement.name),
                    quoted(&setting.name)
                ),
                match near {
                    Some(near) => format!("Did you mean {}? Else remove the setting.", quoted(near)),
                    None => "Correct the name, or remove the setting.".to_owned(),
                },
            );
        }
        settings.insert(&setting.name, setting);
    }
    settings
}

/// Returns the start values, bounds, fixed flags and constraints of one parameter set. Those that `setting` does not
/// give have pyhf's default values.
fn resolve_set(
    document: &Document,
    measurement: &Measurement,
    set: &Declared,
    setting: Option<&Setting>,
    report: &mut Report,
) -> Resolved {
    let n = set.kind.n();
    let mut resolved = defaults(&set.kind);
    if let (SetKind::Lumi, true) = (&set.kind, document.known.modifiers) {
        require_lumi(measurement, set, setting, report);
    }
    if let (SetKind::OfFunctions, true) = (&set.kind, document.known.modifiers) {
        require_function_parameter(measurement, set, setting, report);
    }
    let Some(setting) = setting else { return resolved };
    if let (SetKind::OfFunctions, Some(sigmas)) = (&set.kind, &setting.sigmas) {
        // The auxiliary datum is the start value, unless the setting gives another one.
        let auxdata = setting.inits.clone().unwrap_or_else(|| resolved.inits.clone());
        resolved.constraint = ResolvedConstraint::Gaussian { auxdata, sigmas: sigmas.clone() };
    }
    let path = setting.path(measurement);
    let mut replace = |key: &str, given: &Option<Vec<f64>>, target: Option<&mut Vec<f64>>| {
        let Some(given) = given else { return };
        match target {
            None => report_no_such_property(key, &path, set, report),
            Some(target) => {
                if check_length(key, given.len(), n, &path, set, report) {
                    target.clone_from(given);
                }
            }
        }
    };
    replace("inits", &setting.inits, Some(&mut resolved.inits));
    match &mut resolved.constraint {
        ResolvedConstraint::None => {
            replace("auxdata", &setting.auxdata, None);
            replace("sigmas", &setting.sigmas, None);
            replace("factors", &setting.factors, None);
        }
        ResolvedConstraint::Gaussian { auxdata, sigmas } => {
            replace("auxdata", &setting.auxdata, Some(auxdata));
            // By definition, the constraint of a histosys or normsys has width 1.
            let configurable = !matches!(set.kind, SetKind::Alpha);
            replace("sigmas", &setting.sigmas, configurable.then_some(sigmas));
            replace("factors", &setting.factors, None);
        }
        ResolvedConstraint::Poisson { auxdata, factors } => {
            replace("auxdata", &setting.auxdata, Some(auxdata));
            replace("factors", &setting.factors, Some(factors));
            replace("sigmas", &setting.sigmas, None);
        }
    }
    if let Some(bounds) = &setting.bounds
        && check_length("bounds", bounds.len(), n, &path, set, report)
    {
        resolved.bounds.clone_from(bounds);
    }
    if let Some(fixed) = setting.fixed {
        resolved.fixed = vec![fixed; n];
    }
    check_values(&resolved, &path, set, setting, report);
    resolved
}

/// Returns pyhf's default values for a parameter set of this type (`pyhf.modifiers.*.required_parset`).
fn defaults(kind: &SetKind) -> Resolved {
    let n = kind.n();
    let (init, bounds) = match kind {
        SetKind::Alpha => (0.0, (-5.0, 5.0)),
        SetKind::Lumi => (1.0, (0.0, 10.0)), // never used, because the measurement must give these numbers
        // The measurement must give these numbers of parameters of functions.
        SetKind::NormFactor | SetKind::ShapeFactor { .. } | SetKind::OfFunctions => (1.0, (0.0, 10.0)),
        SetKind::ShapeSys { .. } | SetKind::StatError { .. } => (1.0, (1e-10, 10.0)),
    };
    let constraint = match kind {
        SetKind::Alpha => ResolvedConstraint::Gaussian { auxdata: vec![0.0], sigmas: vec![1.0] },
        SetKind::Lumi => ResolvedConstraint::Gaussian { auxdata: vec![1.0], sigmas: vec![1.0] },
        SetKind::NormFactor | SetKind::ShapeFactor { .. } | SetKind::OfFunctions => ResolvedConstraint::None,
        SetKind::ShapeSys { tau, .. } => {
            ResolvedConstraint::Poisson { auxdata: tau.clone(), factors: tau.clone() }
        }
        SetKind::StatError { sigma, .. } => {
            ResolvedConstraint::Gaussian { auxdata: vec![1.0; n], sigmas: sigma.clone() }
        }
    };
    let fixed = match kind {
        SetKind::ShapeSys { fixed, .. } | SetKind::StatError { fixed, .. } => fixed.clone(),
        _ => vec![false; n],
    };
    Resolved { inits: vec![init; n], bounds: vec![bounds; n], fixed, constraint }
}

/// Reports an error if the measurement lacks the start value, the bounds or the auxiliary datum of the
/// luminosity, because pyhf has no defaults for these. Missing sigmas give a warning.
fn require_lumi(measurement: &Measurement, set: &Declared, setting: Option<&Setting>, report: &mut Report) {
    const EXAMPLE: &str =
        r#"{"name": "lumi", "inits": [1.0], "bounds": [[0.5, 1.5]], "auxdata": [1.0], "sigmas": [0.02]}"#;
    let Some(setting) = setting else {
        report.error(
            format!("/measurements/{}/config/parameters", measurement.at),
            format!(
                "The modifier at {} is of type lumi, but measurement {} does not configure the parameter 'lumi', \
                 which has no default values.",
                set.path,
                quoted(&measurement.name)
            ),
            format!("Add a setting with the value and uncertainty of the luminosity, such as {EXAMPLE}."),
        );
        return;
    };
    if setting.broken {
        return;
    }
    let given = [
        ("inits", setting.inits.is_some()),
        ("bounds", setting.bounds.is_some()),
        ("auxdata", setting.auxdata.is_some()),
    ];
    let missing: Vec<&str> = given.iter().filter(|(_, there)| !there).map(|(key, _)| *key).collect();
    if !missing.is_empty() {
        report.error(
            setting.path(measurement),
            format!(
                "The luminosity has no default {}, and measurement {} does not give {}.",
                and(&missing),
                quoted(&measurement.name),
                if missing.len() == 1 { "it" } else { "them" },
            ),
            format!("Complete the setting, for example {EXAMPLE}."),
        );
    }
    if setting.sigmas.is_none() {
        report.warn(
            setting.path(measurement),
            format!(
                "Measurement {} gives no sigmas for the luminosity, so it is constrained with a width of 1.0, \
                 that is 100 %.",
                quoted(&measurement.name)
            ),
            "Add the absolute uncertainty of the luminosity as sigmas, such as [0.02].",
        );
    }
}

/// Reports an error if the measurement lacks the start value or the bounds of a parameter that only functions use. A
/// misspelt name in an expression is found here.
fn require_function_parameter(
    measurement: &Measurement,
    set: &Declared,
    setting: Option<&Setting>,
    report: &mut Report,
) {
    let given = setting.map_or([false, false], |s| [s.inits.is_some(), s.bounds.is_some()]);
    if setting.is_some_and(|s| s.broken) || given == [true, true] {
        return;
    }
    let example = format!("{{\"name\": \"{}\", \"inits\": [1.0], \"bounds\": [[-5.0, 5.0]]}}", set.name);
    let (path, message) = match setting {
        None => (
            set.path.clone(),
            format!(
                "The expression uses {}, which is neither a modifier nor a parameter in the settings of measurement {}.",
                quoted(&set.name),
                quoted(&measurement.name)
            ),
        ),
        Some(setting) => (
            setting.path(measurement),
            format!(
                "Only functions use the parameter {}, which has no default {}.",
                quoted(&set.name),
                if given[0] { "bounds" } else { "start value" }
            ),
        ),
    };
    let near = match setting {
        Some(_) => None,
        None => nearest(&set.name, measurement.config.parameters.iter().map(|s| s.name.as_str())),
    };
    let hint = near.map_or(String::new(), |near| format!("Did you mean {}? ", quoted(near)));
    report.error(
        path,
        message,
        format!("{hint}Complete the settings of the measurement, for example {example}."),
    );
}

fn report_no_such_property(key: &str, path: &str, set: &Declared, report: &mut Report) {
    let why = match set.kind {
        SetKind::Alpha => "A histosys or normsys parameter has a Gaussian constraint of unit width",
        SetKind::Lumi => "The luminosity has a Gaussian constraint",
        SetKind::NormFactor => "A normfactor is free: it has no constraint",
        SetKind::ShapeFactor { .. } => "A shapefactor is free: it has no constraint",
        SetKind::ShapeSys { .. } => "A shapesys has a Poisson constraint, whose width follows from factors",
        SetKind::StatError { .. } => "A staterror has a Gaussian constraint, whose width is sigmas",
        SetKind::OfFunctions => "A parameter of functions has a Gaussian constraint if sigmas give its width",
    };
    report.error(
        format!("{path}/{key}"),
        format!("The parameter {} does not use {key}. {why}.", quoted(&set.name)),
        format!("Remove {key}."),
    );
}

fn check_length(key: &str, given: usize, n: usize, path: &str, set: &Declared, report: &mut Report) -> bool {
    // A set has no parameters if its modifier could not be read. Arrays in settings are never empty.
    if given == n || n == 0 {
        return given == n;
    }
    let consists = if set.kind.scalar() {
        "is a single parameter".to_owned()
    } else {
        format!("has {n} parameter{}, one per bin", if n == 1 { "" } else { "s" })
    };
    report.error(
        format!("{path}/{key}"),
        format!("{key} has {}, but {} {consists}.", values(given), quoted(&set.name)),
        format!("Give {}.", values(n)),
    );
    false
}

/// Reports settings whose values are not valid. Default values are not checked.
fn check_values(resolved: &Resolved, path: &str, set: &Declared, setting: &Setting, report: &mut Report) {
    if setting.bounds.is_some() {
        for (i, (lo, hi)) in resolved.bounds.iter().enumerate() {
            if lo > hi {
                report.error(
                    format!("{path}/bounds/{i}"),
                    format!(
                        "The lower bound {} of {} is above the upper bound {}.",
                        show(*lo),
                        quoted(&set.name),
                        show(*hi)
                    ),
                    "Swap the two.",
                );
            } else if lo == hi && !resolved.fixed.get(i).copied().unwrap_or(true) {
                report.warn(
                    format!("{path}/bounds/{i}"),
                    format!("Both bounds of {} are {}, so it cannot move.", quoted(&set.name), show(*lo)),
                    "Say \"fixed\": true if that is meant, or widen the bounds.",
                );
            }
        }
    }
    if setting.bounds.is_some() || setting.inits.is_some() {
        let outside = resolved
            .inits
            .iter()
            .zip(&resolved.bounds)
            .position(|(x, (lo, hi))| lo <= hi && (x < lo || x > hi));
        if let Some(i) = outside {
            let (x, (lo, hi)) = (
                resolved.inits.get(i).copied().unwrap_or_default(),
                resolved.bounds.get(i).copied().unwrap_or_default(),
            );
            report.warn(
                path.to_owned(),
                format!(
                    "The start value {} of {} is outside its bounds [{}, {}].",
                    show(x),
                    quoted(&set.name),
                    show(lo),
                    show(hi)
                ),
                "Choose a start value between the bounds; a fit starts at the nearest bound instead.",
            );
        }
    }
    let mut positive = |key: &str, given: bool, numbers: &[f64], what: &str| {
        if !given {
            return;
        }
        for (i, x) in numbers.iter().enumerate() {
            if *x <= 0.0 {
                report.error(
                    format!("{path}/{key}/{i}"),
                    format!("The {what} of {} is {}; it must be positive.", quoted(&set.name), show(*x)),
                    "Give a positive number; to hold the parameter in place, say \"fixed\": true.",
                );
            }
        }
    };
    match &resolved.constraint {
        ResolvedConstraint::None => {}
        ResolvedConstraint::Gaussian { sigmas, .. } => {
            positive("sigmas", setting.sigmas.is_some(), sigmas, "constraint width");
        }
        ResolvedConstraint::Poisson { auxdata, factors } => {
            positive("factors", setting.factors.is_some(), factors, "Poisson rate factor");
            if setting.auxdata.is_some() {
                for (i, x) in auxdata.iter().enumerate().filter(|(_, x)| **x < 0.0) {
                    report.error(
                        format!("{path}/auxdata/{i}"),
                        format!(
                            "The auxiliary count of {} is {}; a Poisson count cannot be negative.",
                            quoted(&set.name),
                            show(*x)
                        ),
                        "Give 0 or more.",
                    );
                }
            }
        }
    }
}

fn find_pois(
    document: &Document,
    measurement: &Measurement,
    declared: &[Declared],
    by_name: &HashMap<&str, usize>,
    report: &mut Report,
) -> Vec<usize> {
    let names = measurement.config.poi.names();
    let path = format!("/measurements/{}/config/poi", measurement.at);
    if names.is_empty() && document.known.modifiers && !measurement.config.poi_broken {
        report.warn(
            path.clone(),
            format!("Measurement {} names no parameter of interest.", quoted(&measurement.name)),
            "Fits work; limits, significances and rankings need one.",
        );
    }
    let mut found = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let path = if names.len() > 1 { format!("{path}/{at}") } else { path.clone() };
        if names.iter().take(at).any(|earlier| earlier == name) {
            let message = format!(
                "The list of parameters of interest of measurement {} has {} twice.",
                quoted(&measurement.name),
                quoted(name)
            );
            report.error(path, message, "Give every name once.");
            continue;
        }
        found.extend(find_poi(document, measurement, (name, path), declared, by_name, report));
    }
    found
}

/// Returns the index of the declared set with the name of a parameter of interest, which is written at `path`.
fn find_poi(
    document: &Document,
    measurement: &Measurement,
    (poi, path): (&str, String),
    declared: &[Declared],
    by_name: &HashMap<&str, usize>,
    report: &mut Report,
) -> Option<usize> {
    let Some(&index) = by_name.get(poi) else {
        if !document.known.modifiers || measurement.config.poi_broken {
            return None;
        }
        let near = nearest(poi, declared.iter().map(|d| d.name.as_str()));
        let hint = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
        let (then, remedy) = if measurement.config.poi.names().len() > 1 {
            ("the model has only the others", "Correct the name, or leave it out.")
        } else {
            ("the model has none", "Fits work; limits, significances and rankings need one.")
        };
        let mut modifiers = document.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers);
        let is_function = |m: &Modifier| m.name == poi && matches!(m.effect, Effect::Function(_));
        let (what, remedy) = if modifiers.any(is_function) {
            (
                "is a function",
                format!("Name one of its parameters; --derive gives values of functions. {remedy}"),
            )
        } else {
            ("is used by no modifier", format!("{remedy}{hint}"))
        };
        report.warn(
            path,
            format!(
                "The parameter of interest {} of measurement {} {what}, so {then}.",
                quoted(poi),
                quoted(&measurement.name)
            ),
            remedy,
        );
        return None;
    };
    let n = declared.get(index).map_or(0, |d| d.kind.n());
    if n > 1 {
        report.error(
            path,
            format!(
                "The parameter of interest {} of measurement {} has {n} elements, one per bin.",
                quoted(poi),
                quoted(&measurement.name)
            ),
            "Choose a scalar parameter, usually the normfactor of the signal.",
        );
        return None;
    }
    Some(index)
}
