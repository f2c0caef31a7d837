//! Turns the schemas that are generated from types into those of the JSON that is written.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::text::reworded;

/// Where schemas refer to each other in an OpenAPI description, and in a document of JSON schema.
const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";

/// The keywords whose value is a schema or a list of schemas.
const PARTS: [&str; 5] = ["items", "prefixItems", "oneOf", "allOf", "additionalProperties"];

/// Returns `schema` with its parts joined: an object that has the keys of several objects (`allOf`) becomes one object.
/// `types` has the objects to which the parts refer.
pub(super) fn joined(schema: Value, types: &Map<String, Value>) -> Value {
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return schema };
    let (mut properties, mut required, mut about) =
        (Map::new(), Vec::new(), schema.get("description").cloned());
    for part in parts {
        let named = part["$ref"].as_str().and_then(|place| place.strip_prefix(COMPONENTS));
        let part = named.and_then(|name| types.get(name)).unwrap_or(part).clone();
        let mut part = joined(part, types);
        about = about.or_else(|| part.get("description").cloned());
        if let Some(Value::Object(more)) = part.get_mut("properties").map(Value::take) {
            properties.extend(more);
        }
        if let Some(Value::Array(more)) = part.get_mut("required").map(Value::take) {
            required.extend(more);
        }
    }
    let mut object = json!({ "type": "object", "properties": properties, "required": required });
    if let Some(about) = about {
        object["description"] = about;
    }
    object
}

/// Completes a schema and its parts.
///
/// A key is required if it is always written. A key whose value may be `null` is always written, and a key that may be absent
/// is never `null`: the types mark such keys as not nullable.
pub(super) fn tidy(schema: &mut Value, types: &Map<String, Value>) {
    *schema = joined(schema.take(), types);
    let Value::Object(object) = schema else { return };
    object.remove("format");
    object.remove("propertyNames");
    if object.get("additionalProperties") == Some(&Value::Bool(false)) {
        object.remove("additionalProperties");
    }
    for keyword in PARTS {
        match object.get_mut(keyword) {
            Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| tidy(part, types)),
            Some(part) => tidy(part, types),
            None => {}
        }
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = reworded(text, false);
    }
    let Some(Value::Object(mut properties)) = object.remove("properties") else { return };
    let known = object.remove("required").unwrap_or_default();
    let known: Vec<&str> = known.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut required = Vec::new();
    for (key, property) in &mut properties {
        raise_description(property);
        let written = known.contains(&key.as_str()) || is_nullable(property);
        if let Some(Value::String(text)) = property.get_mut("description") {
            *text = reworded(text, !written);
        }
        tidy(property, types);
        if written {
            required.push(key.clone());
        }
    }
    required.sort();
    properties.sort_keys();
    object.insert("properties".to_owned(), Value::Object(properties));
    object.insert("required".to_owned(), json!(required));
}

/// Gives an object that may be `null` the description of the key, which the object has in its place.
fn raise_description(property: &mut Value) {
    let Some(forms) = property.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    let text = forms.iter_mut().filter_map(Value::as_object_mut).find_map(|form| form.remove("description"));
    if let Some(text) = text {
        property["description"] = text;
    }
}

/// Returns whether a schema allows `null`.
fn is_nullable(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    is_null(&schema["type"])
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_null))
        || schema["oneOf"].as_array().is_some_and(|forms| forms.iter().any(is_nullable))
}

/// Returns the names of the schemas to which `schemas` refer.
pub(super) fn mentioned(schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    schemas.values().for_each(|schema| collect(schema, &mut names));
    names
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let name = object.get("$ref").and_then(Value::as_str).and_then(|p| p.strip_prefix(COMPONENTS));
            names.extend(name.map(str::to_owned));
            object.values().for_each(|value| collect(value, names));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

/// Changes all references to those of a document with the schemas in `$defs`.
pub(super) fn refer_to_definitions(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(place)) = object.get_mut("$ref") {
                *place = place.replacen(COMPONENTS, DEFINITIONS, 1);
            }
            object.values_mut().for_each(refer_to_definitions);
        }
        Value::Array(list) => list.iter_mut().for_each(refer_to_definitions),
        _ => {}
    }
}
