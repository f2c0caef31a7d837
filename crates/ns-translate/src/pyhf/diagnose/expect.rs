//! Reads single values of a JSON tree. Each function reports what it expected and what it found instead.

use serde_json::{Map, Value};

use crate::pyhf::names::{list, nearest, pointer_token, quoted};
use crate::pyhf::problem::Report;

/// The location of a value: its JSON pointer, and its description in words.
#[derive(Clone, Debug)]
pub(crate) struct ValueLocation {
    pub(crate) path: String,
    pub(crate) what: String,
}

impl ValueLocation {
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }

    /// Returns the JSON pointer to a key of the object at this location.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}/{}", self.path, pointer_token(key))
    }
}

/// Returns the type of a value with an article, for messages.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Describes a value for messages, with its text if it is a number or a string.
fn found(value: &Value) -> String {
    match value {
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the string {}", quoted(s)),
        other => kind_of(other).to_owned(),
    }
}

/// Returns the object at `place`. Reports absent keys of `required`. Also reports keys that are neither in
/// `required` nor in `optional`.
pub(crate) fn object<'a>(
    value: &'a Value,
    place: &ValueLocation,
    required: &[&str],
    optional: &[&str],
    report: &mut Report,
) -> Option<&'a Map<String, Value>> {
    let Value::Object(map) = value else {
        let mut keys = required.to_vec();
        keys.extend_from_slice(optional);
        report.error(
            place.path.clone(),
            format!("{} must be an object, but is {}.", place.what, found(value)),
            if keys.is_empty() {
                "Write an object, {...}.".to_owned()
            } else {
                list("Write an object with the keys", &keys)
            },
        );
        return None;
    };
    let known = || required.iter().chain(optional).copied();
    let absent: Vec<&str> = required.iter().copied().filter(|k| !map.contains_key(*k)).collect();
    for key in map.keys().filter(|k| !known().any(|other| other == k.as_str())) {
        let near = nearest(key, known().filter(|k| !map.contains_key(*k)));
        let all: Vec<&str> = known().collect();
        report.error(
            place.key(key),
            format!("{} has the unknown key {}.", place.what, quoted(key)),
            match near {
                Some(near) => format!("Did you mean {}? Else remove it.", quoted(near)),
                None => format!("Remove it. {}", list("The keys are", &all)),
            },
        );
    }
    if !absent.is_empty() {
        let keys: Vec<String> = absent.iter().map(|k| quoted(k)).collect();
        report.error(
            place.path.clone(),
            format!("{} lacks the key{} {}.", place.what, if keys.len() == 1 { "" } else { "s" }, and(&keys)),
            match absent.as_slice() {
                [key] => how_to_add(key),
                _ => "Add them.",
            },
        );
    }
    Some(map)
}

/// Joins items to an enumeration in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn and<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [start @ .., last] => {
            let start: Vec<&str> = start.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", start.join(", "), last.as_ref())
        }
    }
}

/// Returns a sentence that says what to write for a missing key of a workspace.
fn how_to_add(key: &str) -> &'static str {
    match key {
        "version" => "Add \"version\": \"1.0.0\".",
        "poi" => "Add \"poi\": \"mu\" with the parameter's name, or \"poi\": \"\" if there is none.",
        "parameters" => "Add \"parameters\": [] if no parameter needs a setting.",
        "modifiers" => "Add \"modifiers\": [] if there are none.",
        "type" => "Add one of the seven types, such as \"type\": \"normsys\".",
        "name" => "Add \"name\": \"...\".",
        _ => "Add it.",
    }
}

/// Returns the elements of an array. Any other value is reported. `of` describes the elements in the message.
pub(crate) fn array<'a>(
    value: &'a Value,
    place: &ValueLocation,
    of: &str,
    report: &mut Report,
) -> Option<&'a [Value]> {
    if let Value::Array(items) = value {
        return Some(items);
    }
    report.error(
        place.path.clone(),
        format!("{} must be an array of {of}, but is {}.", place.what, found(value)),
        match value {
            Value::Number(_) | Value::String(_) => {
                "Put it into brackets, [...], if a single element is meant."
            }
            Value::Object(_) => "Write an array, [{...}, {...}], also for a single element.",
            _ => "Write an array, [...].",
        },
    );
    None
}

/// Returns the elements of an array. An empty array and any other value are reported. `of` describes the elements in
/// the message.
pub(crate) fn non_empty<'a>(
    value: &'a Value,
    place: &ValueLocation,
    of: &str,
    report: &mut Report,
) -> Option<&'a [Value]> {
    let items = array(value, place, of, report)?;
    if items.is_empty() {
        report.error(
            place.path.clone(),
            format!("{} is empty; it needs {of}.", place.what),
            "Add at least one element.",
        );
        return None;
    }
    Some(items)
}

/// Returns a string. Any other value is reported and gives `None`.
pub(crate) fn string<'a>(value: &'a Value, place: &ValueLocation, report: &mut Report) -> Option<&'a str> {
    if let Value::String(text) = value {
        return Some(text);
    }
    report.error(
        place.path.clone(),
        format!("{} must be a string, but is {}.", place.what, found(value)),
        match value {
            Value::Number(_) => "Put it into quotes.",
            _ => "Write a string, \"...\".",
        },
    );
    None
}

/// Returns a number. Any other value is reported and gives NaN.
pub(crate) fn number(value: &Value, place: &ValueLocation, report: &mut Report) -> f64 {
    if let Some(x) = value.as_f64().filter(|x| x.is_finite()) {
        return x;
    }
    report.error(
        place.path.clone(),
        format!("{} must be a number, but is {}.", place.what, found(value)),
        match value {
            Value::String(s) if s.trim().parse::<f64>().is_ok_and(f64::is_finite) => "Remove the quotes.",
            Value::Null => "Write the number; JSON has none for \"missing\" or NaN.",
            Value::String(_) => "Write a finite number; JSON has none for NaN or infinity.",
            _ => "Write a number.",
        },
    );
    f64::NAN
}

/// Returns the numbers of a non-empty array. Elements that are not numbers are reported and read as NaN. If
/// the value is not a non-empty array, reports this and returns an empty list.
pub(crate) fn numbers(value: &Value, place: &ValueLocation, report: &mut Report) -> Vec<f64> {
    let Some(items) = non_empty(value, place, "numbers", report) else { return Vec::new() };
    items
        .iter()
        .enumerate()
        .map(|(i, item)| {
            // Arrays can be long, so the description of the place is built only for an error.
            match item.as_f64().filter(|x| x.is_finite()) {
                Some(x) => x,
                None => {
                    let element = ValueLocation::new(
                        format!("{}/{i}", place.path),
                        format!("Element {i} of {}", lower(&place.what)),
                    );
                    number(item, &element, report)
                }
            }
        })
        .collect()
}

/// Returns the phrase with its first letter in lower case. It can then stand within a sentence.
pub(crate) fn lower(phrase: &str) -> String {
    let mut chars = phrase.chars();
    match chars.next() {
        Some(first) if first.is_ascii_uppercase() => first.to_ascii_lowercase().to_string() + chars.as_str(),
        _ => phrase.to_owned(),
    }
}
