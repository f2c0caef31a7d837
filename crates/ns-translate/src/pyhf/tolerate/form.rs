//! Corrects deviations from the format that have only one possible meaning.

use serde_json::{Map, Value, json};

use super::gathered::Gathered;
use crate::pyhf::document::ModifierType;
use crate::pyhf::names::{pointer_token, quoted};
use crate::pyhf::parse::VERSION;
use crate::pyhf::problem::Report;

/// Descriptive keys. They may be anywhere in the file and have no effect on the model.
const DESCRIPTIVE: [&str; 4] = ["$schema", "comment", "description", "metadata"];

/// The keys of a workspace apart from its version.
const CONTENTS: [&str; 3] = ["channels", "observations", "measurements"];

/// Corrects a document, with a warning for each correction. It removes descriptive keys, adds missing values
/// for which there is only one possibility, and replaces single numbers by lists. The reader refuses any
/// other deviation from the format. No element of an array is moved, so JSON pointers to the corrected
/// document are also valid for the file.
pub(crate) fn bring_into_form(document: &mut Value, report: &mut Report) {
    let mut gathered = Gathered::default();
    drop_descriptions(document, &mut String::new(), &mut gathered);
    add_version(document, &mut gathered);
    for (c, channel) in items(document.get_mut("channels")).enumerate() {
        for (s, sample) in items(channel.get_mut("samples")).enumerate() {
            let path = format!("/channels/{c}/samples/{s}");
            put_into_list(sample, "data", &path, &mut gathered);
            add_empty_list(sample, "modifiers", &["name", "data"], &path, &mut gathered);
            for (m, modifier) in items(sample.get_mut("modifiers")).enumerate() {
                complete(modifier, &format!("{path}/modifiers/{m}"), &mut gathered);
            }
        }
    }
    for (o, observation) in items(document.get_mut("observations")).enumerate() {
        put_into_list(observation, "data", &format!("/observations/{o}"), &mut gathered);
    }
    for (m, measurement) in items(document.get_mut("measurements")).enumerate() {
        if let Some(config) = measurement.get_mut("config") {
            let path = format!("/measurements/{m}/config");
            add_empty_list(config, "parameters", &["poi"], &path, &mut gathered);
        }
        for (p, setting) in items(measurement.pointer_mut("/config/parameters")).enumerate() {
            let path = format!("/measurements/{m}/config/parameters/{p}");
            for key in ["inits", "auxdata", "factors", "sigmas"] {
                put_into_list(setting, key, &path, &mut gathered);
            }
            put_pair_into_list(setting, &path, &mut gathered);
        }
    }
    gathered.tell(report);
}

/// Returns the elements of an array. If the value is not an array, there are no elements.
fn items(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    let items = value.and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

/// Removes descriptive keys from a value and all values inside it.
fn drop_descriptions(value: &mut Value, path: &mut String, gathered: &mut Gathered) {
    let length = path.len();
    match value {
        Value::Object(map) => {
            for key in DESCRIPTIVE {
                if map.remove(key).is_some() {
                    gathered.note(key, format!("{path}/{key}"), || {
                        (
                            format!("The key {} is no part of the format and is ignored.", quoted(key)),
                            "pyhf refuses it: remove it if others are to read the file.".to_owned(),
                        )
                    });
                }
            }
            for (key, item) in map {
                path.push('/');
                path.push_str(&pointer_token(key));
                drop_descriptions(item, path, gathered);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate().filter(|(_, i)| i.is_object() || i.is_array()) {
                path.push_str(&format!("/{i}"));
                drop_descriptions(item, path, gathered);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Adds a missing version, because the format has only one. Adds nothing if there are unknown keys, because
/// one of them may be a misspelt `version`.
fn add_version(document: &mut Value, gathered: &mut Gathered) {
    let Value::Object(map) = document else { return };
    if !has_only(map, &CONTENTS) || map.len() < CONTENTS.len() {
        return;
    }
    map.insert("version".to_owned(), VERSION.into());
    gathered.note("version", "/version".to_owned(), || {
        (
            format!("The workspace names no version of its format and is read as version \"{VERSION}\"."),
            format!("Add \"version\": \"{VERSION}\"; pyhf wants it."),
        )
    });
}

/// Adds the missing list `key` to an object that has the keys `others`, because a missing list can only be empty. Adds
/// nothing if there are other keys, because one of them may be the misspelt key.
fn add_empty_list(
    object: &mut Value,
    key: &'static str,
    others: &[&str],
    path: &str,
    gathered: &mut Gathered,
) {
    let Value::Object(map) = object else { return };
    if map.len() != others.len() || !has_only(map, others) {
        return;
    }
    map.insert(key.to_owned(), json!([]));
    gathered.note(key, path.to_owned(), || {
        (
            format!("The key {} is missing, and the list is read as empty.", quoted(key)),
            format!("Add \"{key}\": []; pyhf wants it."),
        )
    });
}

fn has_only(map: &Map<String, Value>, known: &[&str]) -> bool {
    map.keys().all(|key| known.contains(&key.as_str()))
}

/// Adds a missing `"data": null` to a modifier whose data can only be null. In other modifiers, replaces
/// single numbers in the data by lists.
fn complete(modifier: &mut Value, path: &str, gathered: &mut Gathered) {
    let Some(kind) = modifier.get("type").and_then(Value::as_str).and_then(ModifierType::from_name) else {
        return;
    };
    match kind {
        ModifierType::NormFactor | ModifierType::Lumi | ModifierType::ShapeFactor => {
            let Value::Object(map) = modifier else { return };
            // Another key may be a misspelt `data`.
            if !has_only(map, &["name", "type"]) {
                return;
            }
            map.insert("data".to_owned(), Value::Null);
            gathered.note("data", path.to_owned(), || {
                let name = map.get("name").and_then(Value::as_str).unwrap_or_default();
                (
                    format!("The {kind} {} has no data, which can only be null.", quoted(name)),
                    "Add \"data\": null; pyhf wants it.".to_owned(),
                )
            });
        }
        ModifierType::ShapeSys | ModifierType::StatError => put_into_list(modifier, "data", path, gathered),
        ModifierType::HistoSys => {
            let Some(data) = modifier.get_mut("data") else { return };
            for key in ["lo_data", "hi_data"] {
                put_into_list(data, key, &format!("{path}/data"), gathered);
            }
        }
        ModifierType::NormSys | ModifierType::Function => {}
    }
}

/// Replaces a number under `key` by a list with this number. A later check tests whether the list has the
/// right length.
fn put_into_list(object: &mut Value, key: &str, path: &str, gathered: &mut Gathered) {
    let Some(value) = object.get_mut(key).filter(|value| value.is_number()) else { return };
    *value = json!([value]);
    gathered.note("number", format!("{path}/{key}"), || {
        (
            format!("{key} is a single number and is read as a list of one, {value}."),
            "Put it into brackets; pyhf wants a list.".to_owned(),
        )
    });
}

/// Replaces a single pair of bounds by a list with this pair.
fn put_pair_into_list(setting: &mut Value, path: &str, gathered: &mut Gathered) {
    let Some(bounds) = setting.get_mut("bounds") else { return };
    let Some([Value::Number(_), Value::Number(_)]) = bounds.as_array().map(Vec::as_slice) else { return };
    *bounds = json!([bounds]);
    gathered.note("bounds", format!("{path}/bounds"), || {
        (
            format!("bounds is a single pair and is read as a list of one pair, {bounds}."),
            "Put it into one more pair of brackets; pyhf wants a list of pairs.".to_owned(),
        )
    });
}
