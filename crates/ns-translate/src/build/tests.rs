//! Workspaces of small descriptions.

use serde_json::{Value, json};

use super::{BuildError, Built, Description, build};

fn described(systematics: Value) -> Value {
    json!({
        "measurement": {"name": "m", "poi": "mu", "parameters": [{"name": "mu", "bounds": [0, 5]}]},
        "channels": [{"name": "signal region", "edges": [0, 1, 2], "data": [14, 9], "samples": [
            {"name": "s", "template": {"values": [2, 4], "variances": [0.04, 0.09]}, "norm_factors": ["mu"]},
            {"name": "b", "template": {"values": [10, 30]}, "systematics": systematics}]}]
    })
}

fn built(document: Value) -> Result<Built, BuildError> {
    let description: Description =
        serde_json::from_value(document).unwrap_or_else(|error| unreachable!("{error}"));
    build(&description)
}

fn modifiers(document: Value) -> Value {
    let built = built(document).unwrap_or_else(|error| unreachable!("{error}"));
    built.workspace["channels"][0]["samples"][1]["modifiers"].clone()
}

fn message(document: Value) -> String {
    built(document).err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

#[test]
fn a_sample_has_its_modifiers_in_the_order_of_cabinetry() {
    let built = built(described(json!([]))).unwrap_or_else(|error| unreachable!("{error}"));
    let expected = json!([
        {"name": "staterror_signal-region", "type": "staterror", "data": [0.2, 0.3]},
        {"name": "mu", "type": "normfactor", "data": null}]);
    assert_eq!(built.workspace["channels"][0]["samples"][0]["modifiers"], expected);
    assert_eq!(
        built.workspace["measurements"],
        json!([{"name": "m", "config": {"poi": "mu", "parameters": [{"name": "mu", "bounds": [[0.0, 5.0]]}]}}])
    );
}

#[test]
fn templates_are_split_into_normalisation_and_shape() {
    let effect = json!({"type": "templates", "up": [20, 30], "down": [5, 15]});
    let found = modifiers(described(json!([{"name": "x", "parameter": "y", "effect": effect}])));
    let expected = json!([
        {"name": "y", "type": "normsys", "data": {"hi": 1.25, "lo": 0.5}},
        {"name": "y", "type": "histosys", "data": {"hi_data": [16.0, 24.0], "lo_data": [10.0, 30.0]}}]);
    assert_eq!(found, expected);
    let effect = json!({"type": "templates", "up": [20, 30], "down": [5, 15], "parts": "together"});
    let found = modifiers(described(json!([{"name": "x", "effect": effect}])));
    let expected =
        json!([{"name": "x", "type": "histosys", "data": {"hi_data": [20.0, 30.0], "lo_data": [5.0, 15.0]}}]);
    assert_eq!(found, expected);
}

#[test]
fn small_effects_are_left_out_part_by_part() {
    let mut document = described(json!([
        {"name": "norm", "effect": {"type": "normalisation", "up": 0.01, "down": -0.01}},
        {"name": "shape", "effect": {"type": "templates", "up": [14, 26], "down": [6, 34]}},
        {"name": "both", "effect": {"type": "templates", "up": [11, 33.1]}}]));
    document["pruning"] = json!({"normalisation": 0.01, "shape": 0.01});
    let built = built(document).unwrap_or_else(|error| unreachable!("{error}"));
    let kept: Vec<String> = built.workspace["channels"][0]["samples"][1]["modifiers"]
        .as_array()
        .unwrap_or(&Vec::new())
        .iter()
        .map(|m| format!("{} {}", m["name"], m["type"]))
        .collect();
    assert_eq!(kept, [r#""shape" "histosys""#, r#""both" "normsys""#]);
    assert!(built.systematics.iter().all(super::EffectRow::is_pruned));
}

#[test]
fn bins_with_enough_simulated_events_get_no_parameter() {
    let mut document = described(json!([]));
    document["mc_threshold"] = json!(0.01);
    let built = built(document).unwrap_or_else(|error| unreachable!("{error}"));
    let data = &built.workspace["channels"][0]["samples"][0]["modifiers"][0]["data"];
    assert_eq!(*data, json!([0.2, 0.0]));
}

#[test]
fn wrong_descriptions_are_refused_with_a_remedy() {
    let message_of = |effect: Value| message(described(json!([{"name": "x", "effect": effect}])));
    let found = message_of(json!({"type": "templates", "up": [20]}));
    assert!(
        found.contains("sample 'b', systematic 'x': The template up has 1 bins; the channel has 2."),
        "{found}"
    );
    let found = message_of(json!({"type": "templates", "up": [20, -20]}));
    assert!(found.contains("The sum of its template up is 0"), "{found}");
    let found = message_of(json!({"type": "templates", "up": [20, 30], "symmetrise": "two_sided"}));
    assert!(found.contains("needs a template down"), "{found}");
    let found = message_of(json!({"type": "normalisation", "up": 0.1, "down": -1.0}));
    assert!(found.contains("Give a number above -1"), "{found}");
    let mut document = described(json!([]));
    document["measurement"]["poi"] = json!("mue");
    let found = message(document);
    assert!(found.contains("Did you mean 'mu'?"), "{found}");
}
