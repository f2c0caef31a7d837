//! Tests of models that are written as workspaces: uncertainties of the simulation, and names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ns_core::{Constraint, Model};
use ns_translate::datacard::{Card, CardOptions};
use ns_translate::pyhf::{ModelOptions, Workspace, renamed, workspace_of};
use serde_json::{Value, json};

fn model(document: &Value) -> Model {
    Workspace::from_value(document.clone()).unwrap().model(&ModelOptions::default()).unwrap()
}

fn workspace(signal: &[f64], background: &[f64], errors: [&[f64]; 2]) -> Value {
    let sample = |name: &str, data: &[f64], errors: &[f64]| json!({"name": name, "data": data, "modifiers": [{"name": "stat", "type": "staterror", "data": errors}]});
    let mut out = json!({
        "channels": [{"name": "SR", "samples": [sample("sig", signal, errors[0]), sample("bkg", background, errors[1])]}],
        "observations": [{"name": "SR", "data": background}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    });
    let modifiers = out["channels"][0]["samples"][0]["modifiers"].as_array_mut().unwrap();
    modifiers.push(json!({"name": "mu", "type": "normfactor", "data": null}));
    out
}

fn widths(model: &Model) -> Vec<f64> {
    let width = |constraint: Constraint| match constraint {
        Constraint::Gaussian { sigma, .. } => sigma,
        _ => 0.0,
    };
    let stat = model.parameters.iter().filter(|p| p.name.starts_with("stat"));
    stat.map(|p| width(p.constraint)).collect()
}

fn errors(document: &Value, sample: usize) -> Vec<f64> {
    let modifiers = document["channels"][0]["samples"][sample]["modifiers"].as_array().unwrap();
    let stat = modifiers.iter().find(|m| m["type"] == "staterror").unwrap();
    stat["data"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn samples_share_the_uncertainty_of_the_simulation() {
    // The last bins have a sample without yield and one with a negative yield.
    let read = workspace(&[5.0, 0.0, -2.0], &[50.0, 40.0, 30.0], [&[0.3, 0.5, 1.0], &[4.0, 3.0, 2.0]]);
    let before = model(&read);
    let written = workspace_of(&before).unwrap();
    let (signal, background) = (errors(&written, 0), errors(&written, 1));
    let total = (0.3f64 * 0.3 + 4.0 * 4.0).sqrt();
    assert!((signal[0] - total * (5.0f64 / 55.0).sqrt()).abs() < 1e-12, "{signal:?}");
    assert!((background[0] - total * (50.0f64 / 55.0).sqrt()).abs() < 1e-12, "{background:?}");
    assert_eq!(signal[1..], [0.0, 0.0]);
    for (a, b) in widths(&before).iter().zip(widths(&model(&written))) {
        assert!((a - b).abs() < 1e-14, "{a} {b}");
    }
    // Without the signal the background keeps its uncertainty.
    let mut pruned = written;
    pruned["channels"][0]["samples"][0]["modifiers"]
        .as_array_mut()
        .unwrap()
        .retain(|m| m["type"] != "staterror");
    assert!(widths(&model(&pruned)).iter().all(|sigma| *sigma > 0.05));
}

#[test]
fn one_measurement_and_its_parameters_of_interest_can_be_kept() {
    let mut document = workspace(&[5.0], &[50.0], [&[0.3], &[4.0]]);
    let second = json!({"name": "n", "config": {"poi": "", "parameters": []}});
    document["measurements"].as_array_mut().unwrap().push(second);
    let workspace = Workspace::from_value(document).unwrap();
    let kept = workspace.of_measurement("n", Some(vec!["mu".to_owned()])).to_value();
    assert_eq!(kept["measurements"], json!([{"name": "n", "config": {"poi": "mu", "parameters": []}}]));
    assert_eq!(workspace.of_measurement("m", None).measurement_names(), ["m"]);
}

/// A card with a factor that has a Gaussian constraint.
fn card(lines: &str) -> Model {
    let text = format!(
        "imax 1\njmax *\nkmax *\nbin sr\nobservation 12\nbin sr sr sr\nprocess sig ttbar wj\nprocess 0 1 2\nrate 3 6 4\n\
         w2 rateParam sr wj 1 [0,2]\nw2 param 1 0.05\n{lines}"
    );
    Card::from_text(text.as_bytes(), "card.txt", &CardOptions::default()).unwrap().model().unwrap()
}

#[test]
fn the_factor_with_a_constraint_is_called_lumi_unless_another_parameter_is() {
    let alone = card("");
    let written = workspace_of(&alone).unwrap();
    assert_eq!(renamed(&alone), [("w2".to_owned(), "lumi".to_owned())]);
    assert_eq!(model(&written).parameters.len(), alone.parameters.len());
    // Whichever of the two comes first.
    for line in ["lumi lnN 1.1 - 1.1\n", "lumi lnN - - 1.1\n"] {
        let error = workspace_of(&card(line)).unwrap_err().to_string();
        assert!(error.contains("'w2'") && error.contains("'lumi' has this name"), "{error}");
    }
}
