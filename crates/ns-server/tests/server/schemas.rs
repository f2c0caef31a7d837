//! Checks results against the JSON schemas of `docs/reference/results.schema.json`. Every result that a test of this program
//! asks for is checked, see [`check`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use super::http::get;
use super::process::Server;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results.schema.json")
}

/// Returns the committed schemas.
fn document() -> &'static Value {
    static READ: OnceLock<Value> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap())
}

/// Panics if the result of a request for `path` does not follow its schema. A key that the schema does not have is a mistake,
/// too. Paths that have no schema are left out.
pub(crate) fn check(path: &str, body: &[u8]) {
    let Some(name) = path.strip_prefix("/v1/").filter(|name| !name.contains(['?', '/'])) else { return };
    if document()["$defs"].get(format!("{name}-output")).is_some() {
        let result: Value = serde_json::from_slice(body).unwrap();
        check_named(name, &result);
    }
}

/// Panics if `result` does not follow the schema for the result of the analysis `name`.
pub(crate) fn check_named(name: &str, result: &Value) {
    let schema = &document()["$defs"][format!("{name}-output")];
    assert!(schema.is_object(), "there is no schema for the result of {name}");
    let found = mistakes(schema, result, "");
    assert!(found.is_empty(), "{name}: {}", found.join("; "));
}

/// Returns what differs between `value` and its schema. `place` is the JSON pointer of the value.
fn mistakes(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let schema = match schema["$ref"].as_str() {
        Some(pointer) => document().pointer(pointer.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description" | "title" => {}
            "type" => {
                let kinds = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !kinds.iter().any(|kind| is_of(value, kind.as_str().unwrap())) {
                    found.push(format!("{place} is {value}, no {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{place} is {value}, none of {rule}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) {
                    found.push(format!("{place} is {value}, less than {rule}"));
                }
            }
            "minItems" | "maxItems" => {
                let (n, limit) = (value.as_array().map_or(0, Vec::len) as u64, rule.as_u64().unwrap());
                if (keyword == "minItems" && n < limit) || (keyword == "maxItems" && n > limit) {
                    found.push(format!("{place} has {n} elements: {keyword} {limit}"));
                }
            }
            "oneOf" => {
                let forms: Vec<Vec<String>> =
                    rule.as_array().unwrap().iter().map(|form| mistakes(form, value, place)).collect();
                match forms.iter().filter(|form| form.is_empty()).count() {
                    1 => {}
                    0 => found.extend(forms.into_iter().min_by_key(Vec::len).unwrap()),
                    n => found.push(format!("{place} has {n} forms at once")),
                }
            }
            "items" | "prefixItems" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    let of_item = rule.get(i).filter(|_| rule.is_array()).unwrap_or(rule);
                    if of_item.is_object() {
                        found.extend(mistakes(of_item, item, &format!("{place}/{i}")));
                    }
                }
            }
            "properties" | "additionalProperties" => {
                let open = schema["properties"].is_null();
                for (key, value) in value.as_object().into_iter().flatten() {
                    let place = format!("{place}/{key}");
                    match rule.get(key).filter(|_| !open) {
                        Some(rule) => found.extend(mistakes(rule, value, &place)),
                        None if open => found.extend(mistakes(rule, value, &place)),
                        None => found.push(format!("{place} is not in the schema")),
                    }
                }
            }
            "required" => {
                let missing = |key: &&Value| value.is_object() && value.get(key.as_str().unwrap()).is_none();
                let keys = rule.as_array().unwrap().iter().filter(missing);
                found.extend(keys.map(|key| format!("{place} lacks {key}")));
            }
            other => panic!("this test does not know the keyword {other} of {place}"),
        }
    }
    found
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn the_committed_schemas_are_those_of_the_server() {
    let server = Server::start(&[]);
    let answer = get(server.address, "/results.schema.json");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.json() == *document(),
        "docs/reference/results.schema.json is stale: run scripts/reference"
    );
    let described = get(server.address, "/openapi.json").json();
    let schemas = described["components"]["schemas"].as_object().unwrap();
    for (name, schema) in document()["$defs"].as_object().unwrap() {
        let moved = schemas[name].to_string().replace("#/components/schemas/", "#/$defs/");
        assert_eq!(serde_json::from_str::<Value>(&moved).unwrap(), *schema, "{name}");
    }
}

#[test]
fn every_analysis_has_a_schema_and_every_key_a_description() {
    let server = Server::start(&[]);
    let described = get(server.address, "/openapi.json").json();
    for path in described["paths"].as_object().unwrap().keys() {
        let Some(name) = path.strip_prefix("/v1/").filter(|name| !name.contains('/')) else { continue };
        if !["models", "jobs", "health", "devices"].contains(&name) {
            assert!(document()["$defs"].get(format!("{name}-output")).is_some(), "{name}");
        }
    }
    let mut without = BTreeSet::new();
    for (name, schema) in document()["$defs"].as_object().unwrap() {
        assert!(!schema.to_string().contains("\"allOf\""), "{name}");
        for schema in schema["oneOf"].as_array().into_iter().flatten().chain([schema]) {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let about = property["description"].as_str().unwrap_or_default();
                if about.is_empty() || about.contains("None") || about.contains("[`") {
                    without.insert(format!("{name}: {key}: {about}"));
                }
            }
        }
    }
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn a_result_with_other_keys_is_found() {
    let blue = serde_json::json!({
        "results": ["a"], "combined": [], "covariance": [[1.0]], "pulls": [null], "chi2": 0.0, "n_dof": 0, "p_value": null,
        "warnings": []
    });
    check_named("blue", &blue);
    let mut wrong = blue.clone();
    wrong["more"] = true.into();
    let mut missing = blue.clone();
    missing.as_object_mut().unwrap().remove("p_value");
    let mut negative = blue.clone();
    negative["n_dof"] = (-1).into();
    let mut text = blue;
    text["covariance"] = serde_json::json!([["1"]]);
    let schema = &document()["$defs"]["blue-output"];
    for wrong in [wrong, missing, negative, text] {
        assert_eq!(mistakes(schema, &wrong, "").len(), 1, "{wrong}");
    }
}
