//! Writes HistFactory models as HS3, in the notation of version 0.2.9 of the standard. Parts that version 0.2.9
//! cannot express are written in the notation of its next version.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ns_core::{Constraint, Effect, HistosysCode, Model, Modifier, NormsysCode, Parameter};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::write_functions;

/// Reasons why a model cannot be written as HS3.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The formula of a function cannot be written as an expression.
    #[error(
        "the function '{function}' is not written: {why}. Give its parameters names of letters, digits and underscores."
    )]
    Function {
        /// Name of the function.
        function: String,
        /// Why it is not written.
        why: &'static str,
    },
    /// The model has channels of unbinned events, or constraint terms that do not belong to a single parameter.
    #[error(
        "the model has {what}, which are not written yet. Models of HistFactory channels alone can be written."
    )]
    NotWritten {
        /// Description of the parts that cannot be written.
        what: &'static str,
    },
}

/// The names that the written document uses so far. Distributions, functions and parameters must all have different
/// names.
struct Names(HashSet<String>);

impl Names {
    /// Returns `name`, with a suffix if the name is in use already. The result is in use from now on.
    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.0.insert(free.clone()) {
            free.push('_');
        }
        free
    }
}

/// Returns a model as an HS3 document. The document has one analysis, which has the name of the model's
/// measurement.
///
/// # Errors
/// [`WriteError::NotWritten`] if the model has channels of unbinned events, or constraint terms of functions of
/// parameters, or asymmetric normsys modifiers with the interpolation code `lnN`, for which HS3 has no word.
pub fn write(model: &Model) -> Result<Value, WriteError> {
    if !model.event_channels.is_empty() {
        return Err(WriteError::NotWritten { what: "channels of events" });
    }
    if model.penalties.iter().any(|penalty| penalty.form.correlations().is_none()) {
        return Err(WriteError::NotWritten { what: "constraint terms of functions" });
    }
    if model.interpolation.normsys == NormsysCode::AsymmetricLogNormal && has_asymmetric_normsys(model) {
        return Err(WriteError::NotWritten {
            what: "normsys modifiers with the interpolation lnN that are asymmetric",
        });
    }
    let mut names = Names(model.parameters.iter().map(|p| p.name.clone()).collect());
    let mut written = Written::default();
    written.constraints(model, &mut names);
    let functions = write_functions::write(model, |name| names.free(name))?;
    let mut channels = Vec::new();
    let mut data = Vec::new();
    for channel in &model.channels {
        let name = names.free(&channel.name);
        let observable = names.free(&format!("obs_{name}"));
        let axes = if channel.axis.edges.len() == channel.n_bins + 1 {
            json!([{"name": observable, "edges": channel.axis.edges}])
        } else {
            json!([{"name": observable, "min": 0, "max": channel.n_bins, "nbins": channel.n_bins}])
        };
        let samples: Vec<Value> = channel
            .samples
            .iter()
            .map(|sample| {
                let modifiers: Vec<Value> = sample
                    .modifiers
                    .iter()
                    .map(|m| written.modifier(model, &functions.names, m, channel.n_bins))
                    .collect();
                json!({"name": sample.name, "data": {"contents": sample.nominal}, "modifiers": modifiers})
            })
            .collect();
        written.distributions.push(
            json!({"name": name, "type": "histfactory_dist", "axes": axes.clone(), "samples": samples}),
        );
        let contents: Vec<f64> =
            model.observed.main.iter().skip(channel.first_bin).take(channel.n_bins).copied().collect();
        data.push(
            json!({"name": format!("data_{name}"), "type": "binned", "axes": axes, "contents": contents}),
        );
        channels.push(name);
    }
    written.functions.extend(functions.written);
    let data_names: Vec<Value> = data.iter().filter_map(|data| data.get("name").cloned()).collect();
    let axes: Vec<Value> = model.parameters.iter().map(range).collect();
    let mut values: Vec<Value> = model
        .parameters
        .iter()
        .map(|p| match p.fixed {
            false => json!({"name": p.name, "value": p.init}),
            true => json!({"name": p.name, "value": p.init, "const": true}),
        })
        .collect();
    values.extend(written.nominal);
    let name = &model.measurement;
    let mut terms: Vec<&String> = Vec::new();
    for term in written.names.values() {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    let interest: Vec<&str> = model.poi_names().collect();
    Ok(json!({
        "metadata": {
            "hs3_version": "0.2.9",
            "packages": [{"name": "NextStat", "version": env!("CARGO_PKG_VERSION")}],
        },
        "distributions": written.distributions,
        "functions": written.functions,
        "data": data,
        "likelihoods": [{"name": name, "distributions": channels, "data": data_names, "aux_distributions": terms}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "default_values", "parameters": values}],
        "analyses": [{"name": name, "likelihood": name, "parameters_of_interest": interest,
                      "domain": "default_domain", "init": "default_values"}],
    }))
}

/// Returns the range of a parameter as JSON. An open end is left out.
fn range(parameter: &Parameter) -> Value {
    let mut axis = Map::from_iter([("name".to_owned(), json!(parameter.name))]);
    for (key, bound) in [("min", parameter.bounds.0), ("max", parameter.bounds.1)] {
        if bound.is_finite() {
            axis.insert(key.to_owned(), json!(bound));
        }
    }
    Value::Object(axis)
}

#[derive(Default)]
struct Written {
    distributions: Vec<Value>,
    functions: Vec<Value>,
    /// Constant parameters that represent the auxiliary data, as HS3 objects with name and value.
    nominal: Vec<Value>,
    /// Name of each constraint term. The key is the index of the constrained parameter in the model.
    names: BTreeMap<usize, String>,
}

impl Written {
    /// Writes one constraint term per constrained parameter.
    fn constraints(&mut self, model: &Model, names: &mut Names) {
        let correlated = self.correlated(model, names);
        for (i, parameter) in model.parameters.iter().enumerate().filter(|(i, _)| !correlated.contains(i)) {
            let Some(datum) = parameter.constraint.aux().and_then(|aux| model.observed.aux.get(aux)) else {
                continue;
            };
            let nominal = names.free(&format!("nom_{}", parameter.name));
            let name = names.free(&format!("{}_constraint", parameter.name));
            self.nominal.push(json!({"name": nominal, "value": datum, "const": true}));
            let term = match parameter.constraint {
                Constraint::Gaussian { sigma, .. } => {
                    json!({"name": name, "type": "gaussian_dist", "x": parameter.name, "mean": nominal, "sigma": sigma})
                }
                Constraint::Poisson { tau, .. } => {
                    let mean = names.free(&format!("{}_expected", parameter.name));
                    self.functions
                        .push(json!({"name": mean, "type": "product", "factors": [tau, parameter.name]}));
                    json!({"name": name, "type": "poisson_dist", "x": nominal, "mean": mean})
                }
                Constraint::None => continue,
            };
            self.distributions.push(term);
            self.names.insert(i, name);
        }
    }

    /// Writes one constraint term per group of correlated parameters. Returns the indices of these parameters.
    fn correlated(&mut self, model: &Model, names: &mut Names) -> BTreeSet<usize> {
        let mut correlated = BTreeSet::new();
        for penalty in &model.penalties {
            let Some(own) = penalty.form.correlations() else { continue };
            let name = names.free(&penalty.name);
            let (mut x, mut mean, mut sigmas) = (Vec::new(), Vec::new(), Vec::new());
            for &i in own.parameters() {
                let Some(parameter) = model.parameters.get(i) else { continue };
                let Constraint::Gaussian { sigma, aux } = parameter.constraint else { continue };
                let nominal = names.free(&format!("nom_{}", parameter.name));
                self.nominal
                    .push(json!({"name": nominal, "value": model.observed.aux.get(aux), "const": true}));
                x.push(parameter.name.clone());
                mean.push(nominal);
                sigmas.push(sigma);
                self.names.insert(i, name.clone());
                correlated.insert(i);
            }
            let rows = own.matrix().chunks(sigmas.len().max(1)).zip(&sigmas);
            let covariances: Vec<Vec<f64>> =
                rows.map(|(row, a)| row.iter().zip(&sigmas).map(|(rho, b)| rho * a * b).collect()).collect();
            self.distributions.push(json!({"name": name, "type": "multivariate_normal_dist", "x": x,
                "mean": mean, "covariances": covariances}));
        }
        correlated
    }

    fn modifier(&self, model: &Model, functions: &[String], modifier: &Modifier, n_bins: usize) -> Value {
        let name = |i: usize| model.parameters.get(i).map(|p| p.name.clone()).unwrap_or_default();
        let mut written = Map::from_iter([("name".to_owned(), json!(modifier.name))]);
        let mut set = |key: &str, value: Value| written.insert(key.to_owned(), value);
        let constraint = match modifier.effect {
            Effect::Function { .. } => None,
            _ => self.names.get(&modifier.first),
        };
        match &modifier.effect {
            Effect::NormFactor | Effect::Lumi => {
                set("type", json!("normfactor"));
                set("parameter", json!(name(modifier.first)));
                if let Some(constraint) = constraint {
                    set("constraint", json!(constraint));
                }
            }
            Effect::NormSys { lo, hi } => {
                set("type", json!("normsys"));
                set("parameter", json!(name(modifier.first)));
                set("data", json!({"hi": hi, "lo": lo}));
                set("interpolation", normsys(model.interpolation.normsys));
                if let Some(constraint) = constraint {
                    set("constraint", json!(constraint));
                }
            }
            Effect::HistoSys { lo, hi } => {
                set("type", json!("histosys"));
                set("parameter", json!(name(modifier.first)));
                set("data", json!({"hi": {"contents": hi}, "lo": {"contents": lo}}));
                set("interpolation", histosys(model.interpolation.histosys));
                if let Some(constraint) = constraint {
                    set("constraint", json!(constraint));
                }
            }
            Effect::Function { values } => {
                let written: Vec<Value> =
                    values.iter().map(|&value| write_functions::name(model, functions, value)).collect();
                match written.as_slice() {
                    [one] => {
                        set("type", json!("normfactor"));
                        set("parameter", one.clone());
                    }
                    _ => {
                        set("type", json!("shapefactor"));
                        set("parameters", Value::Array(written));
                    }
                }
            }
            Effect::ShapeSys | Effect::StatError | Effect::ShapeFactor => {
                let bins = modifier.first..modifier.first + n_bins;
                let constraints: Vec<Option<&String>> = bins.clone().map(|i| self.names.get(&i)).collect();
                set("type", json!("shapesys"));
                set("parameters", json!(bins.map(name).collect::<Vec<_>>()));
                if constraints.iter().any(Option::is_some) {
                    set("constraints", json!(constraints));
                }
            }
        }
        Value::Object(written)
    }
}

/// Returns whether a normsys modifier has factors at -1 and 1 whose product is not 1.
fn has_asymmetric_normsys(model: &Model) -> bool {
    let modifiers = model.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers);
    modifiers
        .into_iter()
        .any(|m| matches!(m.effect, Effect::NormSys { lo, hi } if (lo * hi - 1.0).abs() > 1e-14))
}

/// Returns an interpolation code of normsys in the notation of the next version of HS3.
fn normsys(code: NormsysCode) -> Value {
    match code {
        NormsysCode::Code0 => json!({"type": "mult", "in": "poly1", "out": null}),
        // A symmetric lnN is an exponential everywhere. Others are refused before.
        NormsysCode::Code1 | NormsysCode::AsymmetricLogNormal => {
            json!({"type": "mult", "in": "exp", "out": null})
        }
        NormsysCode::Code4 => json!({"type": "mult", "in": "poly6", "out": "exp"}),
        NormsysCode::Code6 => json!({"type": "mult", "in": "poly6", "out": "poly1"}),
    }
}

/// Returns an interpolation code of histosys in the notation of the next version of HS3.
fn histosys(code: HistosysCode) -> Value {
    match code {
        HistosysCode::Code0 => json!({"type": "add", "in": "poly1", "out": null}),
        HistosysCode::Code2 => json!({"type": "add", "in": "poly2", "out": "poly1"}),
        HistosysCode::Code4p => json!({"type": "add", "in": "poly6", "out": "poly1"}),
    }
}
