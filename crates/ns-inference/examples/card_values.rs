//! Evaluates and fits the model of a datacard, for comparison with other programs: `cargo run -p ns-inference --example
//! card_values -- CARD [--mass M] [--mask CHANNEL] [--map MAP] [--mc-stats ignore|staterror] [--limit]`.
//!
//! Standard input is a list of points in JSON, each an object with values of parameters; the others have their start
//! values. The output is JSON with `-ln L` at these points, the best fit with the MINOS intervals of the parameters of
//! interest, and on request the upper limits. Several cards `LABEL=CARD` are put together.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;

use ns_core::{Constraint, Control, Data, EvaluationRequest, Execution, Model};
use ns_inference::limit::LimitOptions;
use ns_inference::{FitOptions, fit, limit, open_session};
use ns_translate::datacard::{Card, CardOptions};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = CardOptions::default();
    let (mut cards, mut with_limit, mut ranges) = (Vec::new(), false, Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("an option has no value");
        match argument.as_str() {
            "--mass" => options.mass = Some(value()?.parse()?),
            "--mask" => options.masks.push(value()?),
            "--map" => options.maps.push(value()?.parse()?),
            "--mc-stats" => options.mc_stats = Some(value()?.parse()?),
            "--lower" => ranges.push(value()?.parse::<f64>()?),
            "--limit" => with_limit = true,
            _ => cards.push(argument),
        }
    }
    let points: Vec<HashMap<String, f64>> = serde_json::from_reader(std::io::stdin())?;
    let mut model = read(&cards, &options)?;
    if let (Some(lower), Some(poi)) = (ranges.first(), model.poi) {
        model.parameters[poi].bounds.0 = *lower;
    }
    println!("{}", values(&model, &points, with_limit)?);
    Ok(())
}

fn read(cards: &[String], options: &CardOptions) -> Result<Model, Box<dyn Error>> {
    if let [card] = cards {
        return Ok(Card::read(card, options)?.model()?);
    }
    let mut labelled = Vec::new();
    for text in cards {
        let (label, path) = text.split_once('=').unwrap_or(("", text));
        labelled.push((label.to_owned(), Card::read(path, options)?));
    }
    Ok(Card::combine(labelled)?.model()?)
}

fn values(model: &Model, points: &[HashMap<String, f64>], with_limit: bool) -> Result<Value, Box<dyn Error>> {
    let session = open_session(model, &Execution::default())?;
    let mut flat = Vec::new();
    for point in points {
        flat.extend(model.parameters.iter().map(|p| point.get(&p.name).copied().unwrap_or(p.init)));
    }
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let nll = session.evaluate(&Data::observed(), &flat, request)?.nll;
    let free = |p: &&ns_core::Parameter| p.constraint == Constraint::None && !p.fixed;
    let minos: Vec<String> = match model.poi {
        Some(_) => model.parameters.iter().filter(free).map(|p| p.name.clone()).collect(),
        None => Vec::new(),
    };
    let options = minos.iter().fold(FitOptions::default(), |options, name| options.minos(name));
    let result = fit(model, session.as_ref(), &options, Control::default())?;
    let limits = match with_limit {
        true => {
            let result =
                limit::upper_limit(model, session.as_ref(), &LimitOptions::default(), Control::default())?;
            serde_json::to_value(&result)?
        }
        false => Value::Null,
    };
    Ok(
        json!({ "nll": nll, "fit": serde_json::to_value(&result)?, "limit": limits, "warnings": model.warnings }),
    )
}
