//! Writes descriptions of models as JSON, for comparison with other programs. The example reads one workspace per
//! line from standard input, and writes one line for each workspace.
//!
//! For text that is not a workspace, and for a measurement from which no model can be built, the example writes
//! `{"error": "..."}`.
#![allow(clippy::print_stdout)]

use std::io::BufRead as _;

use ns_core::{Constraint, Effect, Model};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let described = Workspace::from_slice(line?.as_bytes()).map(|workspace| {
            let names = workspace.measurement_names().into_iter().map(str::to_owned).collect::<Vec<_>>();
            let models = names.into_iter().map(|name| {
                let options = ModelOptions { measurement: Some(name.clone()), ..ModelOptions::default() };
                let described = match workspace.model(&options) {
                    Ok(model) => describe(&model),
                    Err(error) => json!({ "error": error.to_string() }),
                };
                (name, described)
            });
            models.collect::<serde_json::Map<_, _>>()
        });
        match described {
            Ok(models) => println!("{}", json!({ "models": models })),
            Err(error) => println!("{}", json!({ "error": error.to_string() })),
        }
    }
    Ok(())
}

fn describe(model: &Model) -> Value {
    let parameters: Vec<Value> = model
        .parameters
        .iter()
        .map(|p| {
            let (constraint, width) = match p.constraint {
                Constraint::None => ("none", None),
                Constraint::Gaussian { sigma, .. } => ("gaussian", Some(sigma)),
                Constraint::Poisson { tau, .. } => ("poisson", Some(tau)),
            };
            json!({
                "name": p.name, "init": p.init, "bounds": [p.bounds.0, p.bounds.1], "fixed": p.fixed,
                "constraint": constraint, "width": width,
            })
        })
        .collect();
    let channels: Vec<Value> = model
        .channels
        .iter()
        .map(|channel| {
            let samples: Vec<Value> = channel
                .samples
                .iter()
                .map(|sample| {
                    let modifiers: Vec<Value> = sample
                        .modifiers
                        .iter()
                        .map(|m| {
                            let data = match &m.effect {
                                Effect::HistoSys { lo, hi } => json!([lo, hi]),
                                Effect::NormSys { lo, hi } => json!([lo, hi]),
                                _ => Value::Null,
                            };
                            json!({ "type": m.effect.type_name(), "first": m.first, "data": data })
                        })
                        .collect();
                    json!({ "name": sample.name, "nominal": sample.nominal, "modifiers": modifiers })
                })
                .collect();
            json!({ "name": channel.name, "n_bins": channel.n_bins, "samples": samples })
        })
        .collect();
    json!({
        "parameters": parameters, "channels": channels, "poi": model.poi(),
        "main": model.observed.main, "aux": model.observed.aux, "warnings": model.warnings,
    })
}
