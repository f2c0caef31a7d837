//! Applies the operations of which patches of signals consist to a document that was read. The document is then not read again
//! for each of hundreds of signals.

use json_patch::PatchOperation;
use serde::Deserialize;
use serde_json::Value;

use super::apply::{Copies, apply};
use crate::pyhf::document::{Document, Measurement, Observation, Sample};
use crate::pyhf::parse::{non_empty_objects, object, objects};

/// Parts of a workspace that are small, so that they are read again if a patch changes them.
const SMALL: [&str; 2] = ["measurements", "observations"];

#[derive(Deserialize)]
struct SmallParts {
    #[serde(deserialize_with = "non_empty_objects")]
    measurements: Vec<Measurement>,
    #[serde(default, deserialize_with = "objects")]
    observations: Vec<Observation>,
}

/// Returns `document`, which was read from `value`, with a patch. `None` if the patch has other operations than to add, replace
/// and remove samples, to remove channels, and to change measurements and observations, or if anything is wrong: the patch
/// must then be applied to the value, which finds the error.
pub(super) fn applied(patch: &json_patch::Patch, value: &Value, document: &Document) -> Option<Document> {
    let mut document = document.clone();
    let mut rest = Vec::new();
    for operation in patch.iter() {
        let tokens: Vec<String> =
            operation.path().tokens().map(|token| token.decoded().into_owned()).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        match (tokens.as_slice(), operation) {
            (["channels", c, "samples", s], operation) => {
                let samples = &mut document.channels.get_mut(index(c)?)?.samples;
                change(samples, s, operation)?;
            }
            (["channels", c], PatchOperation::Remove(_)) => _ = taken(&mut document.channels, index(c)?)?,
            ([part, ..], PatchOperation::Add(_) | PatchOperation::Remove(_) | PatchOperation::Replace(_))
                if SMALL.contains(part) =>
            {
                rest.push(operation.clone())
            }
            _ => return None,
        }
    }
    if !rest.is_empty() {
        let part = |name: &&str| Some(((*name).to_owned(), value.get(*name)?.clone()));
        let mut parts = Value::Object(SMALL.iter().filter_map(part).collect());
        apply(&json_patch::Patch(rest), &mut parts, "", &mut Copies::up_to(0)).ok()?;
        let SmallParts { measurements, observations } = object(&parts).ok()?;
        (document.measurements, document.observations) = (measurements, observations);
    }
    if document.channels.is_empty() || document.channels.iter().any(|channel| channel.samples.is_empty()) {
        return None;
    }
    document.number();
    Some(document)
}

/// Adds, replaces or removes the sample at the place `token`.
fn change(samples: &mut Vec<Sample>, token: &str, operation: &PatchOperation) -> Option<()> {
    match operation {
        PatchOperation::Add(add) => {
            let at = if token == "-" { samples.len() } else { index(token)? };
            if at > samples.len() {
                return None;
            }
            samples.insert(at, object(&add.value).ok()?);
        }
        PatchOperation::Replace(replace) => *samples.get_mut(index(token)?)? = object(&replace.value).ok()?,
        PatchOperation::Remove(_) => _ = taken(samples, index(token)?)?,
        _ => return None,
    }
    Some(())
}

fn taken<T>(list: &mut Vec<T>, at: usize) -> Option<T> {
    (at < list.len()).then(|| list.remove(at))
}

/// Reads an index of an array as RFC 6901 writes it: digits without leading zeros.
fn index(token: &str) -> Option<usize> {
    let plain =
        token.bytes().all(|digit| digit.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if plain { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use crate::pyhf::{Background, DigestCheck, Patch, Workspace};

    const WORKSPACE: &[u8] = include_bytes!("../../../../../tests/fixtures/background_only.json");

    /// The workspaces and the messages are those of the patch applied to the text.
    #[test]
    fn patches_of_documents_are_patches_of_texts() {
        let background = Background::from_slice(WORKSPACE).unwrap();
        let document = background.document.as_ref().unwrap();
        let sample = r#"{"name": "new", "data": [1.0, 2.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]}"#;
        let add = |path: &str, value: &str| format!(r#"{{"op": "add", "path": "{path}", "value": {value}}}"#);
        let replace = |path: &str, value: &str| add(path, value).replacen("add", "replace", 1);
        let remove = |path: &str| format!(r#"{{"op": "remove", "path": "{path}"}}"#);
        // The second value says whether the patch can be applied to the document that was read.
        let operations: Vec<(String, bool)> = [
            (add("/channels/0/samples/0", sample), true),
            (add("/channels/0/samples/1", sample), true),
            (add("/channels/0/samples/-", sample), true),
            (add("/channels/0/samples/01", sample), false),
            (add("/channels/0/samples/+1", sample), false),
            (add("/channels/0/samples/9", sample), false),
            (add("/channels/9/samples/0", sample), false),
            (add("/channels/0/samples/0", "[1, 2]"), false),
            (add("/channels/0/samples/0", r#"{"name": "new"}"#), false),
            (add("/channels/0/samples/0/name", r#""other""#), false),
            (add("/channels/0/samples", &format!("[{sample}]")), false),
            (replace("/channels/0/samples/0", sample), true),
            (replace("/channels/0/samples/-", sample), false),
            (remove("/channels/0/samples/0"), true),
            (remove("/channels/0/samples/9"), false),
            (remove("/channels/1"), true),
            (remove("/channels/x"), false),
            (remove("/observations/1"), true),
            (remove("/observations/7"), false),
            (remove("/measurements"), false),
            (replace("/measurements/0/config/poi", r#""mu""#), true),
            (replace("/measurements/0/config/poi", "[[]]"), false),
            (add("/comment", "1"), false),
            (r#"{"op": "test", "path": "/version", "value": "1.0.0"}"#.to_owned(), false),
            (
                r#"{"op": "copy", "from": "/channels/0/samples/0", "path": "/channels/0/samples/1"}"#
                    .to_owned(),
                false,
            ),
        ]
        .into();
        let both = |text: &str| {
            let patch = Patch::from_slice(text.as_bytes(), "patch.json").unwrap();
            let ours = background.patched(&patch).map_err(|error| error.to_string());
            let theirs =
                Workspace::from_slice_patched(WORKSPACE, std::slice::from_ref(&patch), DigestCheck::Verify);
            assert_eq!(ours, theirs.map_err(|error| error.to_string()), "{text}");
            super::applied(&patch.operations, &background.value, document).is_some()
        };
        for (first, direct) in &operations {
            assert_eq!(both(&format!("[{first}]")), *direct, "{first}");
            for (second, _) in &operations {
                both(&format!("[{first}, {second}]"));
            }
        }
    }
}
