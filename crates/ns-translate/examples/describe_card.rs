//! Writes the model of a datacard as JSON, for comparison with other programs.
//!
//! `describe_card CARD [--mass M] [--mask CHANNEL] [--map MAP] [--mc-stats ignore|staterror]`
#![allow(clippy::print_stdout)]

use ns_core::{Constraint, Effect, Model};
use ns_translate::datacard::{Card, CardError, CardOptions};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = CardOptions::default();
    let mut cards = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("an option has no value");
        match argument.as_str() {
            "--mass" => options.mass = Some(value()?.parse()?),
            "--mask" => options.masks.push(value()?),
            "--map" => options.maps.push(value()?.parse()?),
            "--mc-stats" => options.mc_stats = Some(value()?.parse()?),
            _ => cards.push(argument),
        }
    }
    match model(&cards, &options) {
        Ok(model) => println!("{}", describe(&model)),
        Err(error) => println!("{}", json!({ "error": error.to_string() })),
    }
    Ok(())
}

/// Reads one card, or puts several together: `LABEL=CARD`.
fn model(cards: &[String], options: &CardOptions) -> Result<Model, CardError> {
    if let [card] = cards {
        return Card::read(card, options)?.model();
    }
    let labelled = cards.iter().map(|text| {
        let (label, path) = text.split_once('=').unwrap_or(("", text));
        Card::read(path, options).map(|card| (label.to_owned(), card))
    });
    Card::combine(labelled.collect::<Result<_, _>>()?)?.model()
}

fn describe(model: &Model) -> Value {
    let parameters: Vec<Value> = model
        .parameters
        .iter()
        .map(|p| {
            let (constraint, width, datum) = match p.constraint {
                Constraint::None => ("none", None, None),
                Constraint::Gaussian { sigma, aux } => ("gaussian", Some(sigma), model.observed.aux.get(aux)),
                Constraint::Poisson { tau, aux } => ("poisson", Some(tau), model.observed.aux.get(aux)),
            };
            // JSON has no infinity.
            let bound = |x: f64| x.is_finite().then_some(x);
            json!({
                "name": p.name, "init": p.init, "bounds": [bound(p.bounds.0), bound(p.bounds.1)],
                "fixed": p.fixed, "constraint": constraint, "width": width, "datum": datum,
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
            let counts = model.observed.main.get(channel.first_bin..channel.first_bin + channel.n_bins);
            json!({ "name": channel.name, "observed": counts, "samples": samples })
        })
        .collect();
    json!({
        "parameters": parameters, "channels": channels, "poi": model.poi,
        "interpolation": model.interpolation.normsys.name(), "warnings": model.warnings,
    })
}
