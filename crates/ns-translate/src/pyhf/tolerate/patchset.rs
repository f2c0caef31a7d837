//! Corrects two deviations of a patchset from the format: descriptive keys and a missing version.

use serde_json::{Map, Value};

use super::gathered::Gathered;
use crate::pyhf::names::quoted;
use crate::pyhf::parse::VERSION;
use crate::pyhf::problem::Report;

/// Descriptive keys. `metadata` is not one of them: it is part of the format of patchsets and may contain
/// anything.
const DESCRIPTIVE: [&str; 3] = ["$schema", "comment", "description"];

/// Removes descriptive keys and adds a missing version, each with a warning. The reader refuses any other
/// deviation from the format.
pub(crate) fn bring_patchset_into_form(document: &mut Value, report: &mut Report) {
    let mut gathered = Gathered::default();
    let Value::Object(map) = document else { return };
    drop_descriptions(map, "", &mut gathered);
    let members = map.get_mut("patches").and_then(Value::as_array_mut);
    for (i, member) in members.into_iter().flatten().enumerate() {
        if let Value::Object(member) = member {
            drop_descriptions(member, &format!("/patches/{i}"), &mut gathered);
        }
    }
    // Another key may be a misspelt `version`.
    if map.len() == 2 && map.contains_key("metadata") && map.contains_key("patches") {
        map.insert("version".to_owned(), VERSION.into());
        gathered.note("version", "/version".to_owned(), || {
            (
                format!("The patchset names no version of its format and is read as version \"{VERSION}\"."),
                format!("Add \"version\": \"{VERSION}\"; pyhf wants it."),
            )
        });
    }
    gathered.tell(report);
}

fn drop_descriptions(map: &mut Map<String, Value>, path: &str, gathered: &mut Gathered) {
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
}
