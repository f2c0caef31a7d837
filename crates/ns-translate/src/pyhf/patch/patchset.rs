//! pyhf patchsets: files with many patches for one background-only workspace.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Patch;
use super::apply::{MOST_COPIED, read_operations, syntax_error};
use crate::pyhf::diagnose::expect::{ValueLocation, and, array, kind_of, non_empty, object, string};
use crate::pyhf::diagnose::report_duplicate_keys;
use crate::pyhf::error::WorkspaceError;
use crate::pyhf::mark::without_mark;
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::parse::{VERSION, object as typed_object};
use crate::pyhf::problem::Report;
use crate::pyhf::tolerate::bring_patchset_into_form;

/// A patchset. Its patches stay unparsed until one of them is chosen, because published patchsets have
/// hundreds of patches.
#[derive(Debug, Clone)]
pub struct Patchset<'a> {
    origin: String,
    labels: Vec<String>,
    description: String,
    digests: Vec<(String, String)>,
    members: Vec<Member<'a>>,
    /// Warnings from reading the patchset.
    notes: Report,
}

#[derive(Debug, Clone)]
struct Member<'a> {
    name: String,
    values: Vec<Value>,
    operations: &'a RawValue,
}

/// The contents of a patchset that follows the format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    metadata: Map<String, Value>,
    #[serde(borrow)]
    patches: Vec<WrittenMember<'a>>,
    version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMember<'a> {
    metadata: Map<String, Value>,
    #[serde(borrow)]
    patch: &'a RawValue,
}

/// The contents of a patchset with tolerated deviations from the format: descriptive keys (such as `comment`) and a
/// missing version.
#[derive(Deserialize)]
struct Tolerated<'a> {
    metadata: Map<String, Value>,
    #[serde(borrow)]
    patches: Vec<ToleratedMember<'a>>,
}

#[derive(Deserialize)]
struct ToleratedMember<'a> {
    metadata: Map<String, Value>,
    #[serde(borrow)]
    patch: &'a RawValue,
}

impl<'a> From<Tolerated<'a>> for Written<'a> {
    fn from(set: Tolerated<'a>) -> Self {
        let member = |ToleratedMember { metadata, patch }| WrittenMember { metadata, patch };
        let patches = set.patches.into_iter().map(member).collect();
        Self { metadata: set.metadata, patches, version: VERSION.to_owned() }
    }
}

impl<'a> Patchset<'a> {
    /// Reads a patchset. `origin` is its name in messages.
    ///
    /// # Errors
    /// If the text is not JSON ([`WorkspaceError::Patch`]) or does not have the structure of a
    /// patchset ([`WorkspaceError::InvalidPatchset`], with every problem).
    pub fn from_slice(text: &'a [u8], origin: &str) -> Result<Self, WorkspaceError> {
        let mut report = Report::default();
        let text = without_mark(text, &mut report);
        let written: Written<'a> = match typed_object(&mut serde_json::Deserializer::from_slice(text)) {
            Ok(written) => written,
            Err(_) => Self::tolerated(text, origin, &mut report)?,
        };
        // The typed reader stops at the end of the object. This check finds text after the object.
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(text) {
            return Err(syntax_error(text, &error, origin));
        }
        let mut set = Self::check(written, origin, &mut report);
        if report.has_errors() {
            return Err(WorkspaceError::InvalidPatchset { origin: origin.to_owned(), report });
        }
        set.notes = report.of_file(origin);
        Ok(set)
    }

    /// Reads a patchset that could not be read as [`Written`], because it deviates from the format. Deviations with
    /// only one possible meaning are reported as warnings. If there are other deviations, the error has all problems
    /// of the patchset.
    fn tolerated(text: &'a [u8], origin: &str, report: &mut Report) -> Result<Written<'a>, WorkspaceError> {
        let mut value: Value =
            serde_json::from_slice(text).map_err(|error| syntax_error(text, &error, origin))?;
        bring_patchset_into_form(&mut value, report);
        let mut found = report.clone();
        check_structure(&value, &mut found);
        report_duplicate_keys(text, &mut found);
        if !found.has_errors() {
            match typed_object::<_, Tolerated<'a>>(&mut serde_json::Deserializer::from_slice(text)) {
                Ok(set) => return Ok(set.into()),
                Err(error) => found.error(
                    String::new(),
                    format!("This is not a patchset: {error}."),
                    "Compare it with the format of pyhf's patchset schema 1.0.0.",
                ),
            }
        }
        Err(WorkspaceError::InvalidPatchset { origin: origin.to_owned(), report: found })
    }

    /// Returns the name of the patchset in messages.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the names of the patches, in the order of the file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.members.iter().map(|m| m.name.as_str()).collect()
    }

    /// Returns the labels of the values that identify a patch. The labels are the same for all patches.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the values that identify each patch, in the order of [`Patchset::names`].
    #[must_use]
    pub fn values(&self) -> Vec<&[Value]> {
        self.members.iter().map(|m| m.values.as_slice()).collect()
    }

    /// Returns the description of the patchset; empty if there is none.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the patch with this name or these comma-separated values (`700,400`).
    ///
    /// # Errors
    /// [`WorkspaceError::NoSuchPatch`] if there is no such patch; [`WorkspaceError::Patch`] if it cannot be
    /// read.
    pub fn patch(&self, key: &str) -> Result<Patch, WorkspaceError> {
        let member = self
            .members
            .iter()
            .find(|m| m.name == key)
            .or_else(|| self.members.iter().find(|m| values_match(&m.values, key)))
            .ok_or_else(|| WorkspaceError::NoSuchPatch {
                origin: self.origin.clone(),
                name: key.to_owned(),
                available: self.members.iter().map(|m| m.name.clone()).collect(),
            })?;
        let origin = format!("{}:{}", self.origin, member.name);
        let text = member.operations.get().as_bytes();
        let value: Value =
            serde_json::from_slice(text).map_err(|error| syntax_error(text, &error, &origin))?;
        Ok(Patch {
            operations: read_operations(&value, &origin)?,
            origin,
            digests: self.digests.clone(),
            notes: self.notes.clone(),
            most_copied: MOST_COPIED,
        })
    }

    /// Checks the rules of the format that the Rust types do not enforce, and creates the patchset.
    fn check(written: Written<'a>, origin: &str, report: &mut Report) -> Self {
        check_version(&written.version, report);
        if written.patches.is_empty() {
            report.error("/patches".to_owned(), "The patchset has no patches.", "Add at least one.");
        }
        let metadata = Value::Object(written.metadata);
        let place = ValueLocation::new("/metadata", "The metadata of the patchset");
        check_metadata(&metadata, &place, report);
        let labels: Vec<String> = texts(metadata.get("labels"));
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut members = Vec::with_capacity(written.patches.len());
        for (i, member) in written.patches.into_iter().enumerate() {
            let metadata = Value::Object(member.metadata);
            let path = format!("/patches/{i}/metadata");
            let Some((name, values)) = check_member_metadata(&metadata, &path, report) else { continue };
            if !member.patch.get().starts_with('[') {
                report.error(
                    format!("/patches/{i}/patch"),
                    format!("Patch {} is not an array of operations.", quoted(&name)),
                    "Write a JSON Patch, [{\"op\": ...}, ...].",
                );
            }
            if values.len() != labels.len() && !labels.is_empty() {
                report.error(
                    format!("{path}/values"),
                    format!(
                        "Patch {} has {}, but the patchset has {}.",
                        quoted(&name),
                        count(values.len(), "value"),
                        count(labels.len(), "label")
                    ),
                    "Give one value per label.",
                );
            }
            if let Some(&first) = names.get(&name)
                && members.iter().any(|m: &Member<'_>| {
                    m.name == name && m.values == values && m.operations.get() == member.patch.get()
                })
            {
                report.warn(
                    format!("/patches/{i}"),
                    format!("Patch {} is the same as /patches/{first}, which is used.", quoted(&name)),
                    "Remove one of the two; pyhf refuses them.",
                );
                continue;
            }
            if let Some(first) = names.get(&name) {
                report.error(
                    format!("{path}/name"),
                    format!("The patch name {} is already taken by /patches/{first}.", quoted(&name)),
                    "Rename one of the two.",
                );
            }
            let key = format!("{values:?}");
            // `names` contains the names and the values of the patches. No name starts with a bracket.
            if let Some(first) = names.get(&key) {
                report.error(
                    format!("{path}/values"),
                    format!("Patch {} has the same values as /patches/{first}.", quoted(&name)),
                    "Give each patch values of its own, or remove one.",
                );
            }
            names.entry(key).or_insert(i);
            names.entry(name.clone()).or_insert(i);
            members.push(Member { name, values, operations: member.patch });
        }
        let digests = metadata.get("digests").and_then(Value::as_object).map_or_else(Vec::new, |digests| {
            digests
                .iter()
                .filter_map(|(algorithm, hex)| Some((algorithm.clone(), hex.as_str()?.to_owned())))
                .collect()
        });
        let description = metadata.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { origin: origin.to_owned(), labels, description, digests, members, notes: Report::default() }
    }
}

/// Writes a number of items in words: `1 value`, `2 values`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Returns whether `key` consists of `values`, separated by commas. Numbers may be written differently: `700` and
/// `700.0` are equal.
fn values_match(values: &[Value], key: &str) -> bool {
    let parts: Vec<&str> = key.trim_matches(['(', ')', '[', ']']).split(',').map(str::trim).collect();
    parts.len() == values.len()
        && parts.iter().zip(values).all(|(part, value)| match value {
            Value::String(text) => text == part,
            value => value.as_f64().is_some_and(|x| part.parse() == Ok(x)),
        })
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |items| items.iter().filter_map(|t| t.as_str().map(str::to_owned)).collect())
}

fn check_version(version: &str, report: &mut Report) {
    if version != VERSION {
        report.error(
            "/version".to_owned(),
            format!(
                "The version of the patchset format is {}, but only \"{VERSION}\" is known.",
                quoted(version)
            ),
            format!("Write \"version\": \"{VERSION}\"."),
        );
    }
}

/// Reports all errors in the structure of a patchset that could not be read.
fn check_structure(value: &Value, report: &mut Report) {
    if value.get("channels").is_some() && value.get("measurements").is_some() {
        report.error(
            String::new(),
            "This is a workspace, not a patch or patchset.",
            "Give it as the input, and the patch separately.",
        );
        return;
    }
    let place = ValueLocation::new("", "The patchset");
    let Some(map) = object(value, &place, &["metadata", "patches", "version"], &[], report) else { return };
    if let Some(version) = map.get("version") {
        match string(version, &ValueLocation::new("/version", "The version"), report) {
            Some(version) => check_version(version, report),
            None => return,
        }
    }
    if let Some(metadata) = map.get("metadata") {
        check_metadata(metadata, &ValueLocation::new("/metadata", "The metadata of the patchset"), report);
    }
    let Some(patches) = map.get("patches") else { return };
    let list = ValueLocation::new("/patches", "The list of patches");
    for (i, item) in non_empty(patches, &list, "patches", report).unwrap_or_default().iter().enumerate() {
        let place = ValueLocation::new(format!("/patches/{i}"), format!("Patch number {i}"));
        let Some(member) = object(item, &place, &["metadata", "patch"], &[], report) else { continue };
        if let Some(metadata) = member.get("metadata") {
            check_member_metadata(metadata, &place.key("metadata"), report);
        }
        if let Some(operations) = member.get("patch") {
            array(
                operations,
                &ValueLocation::new(place.key("patch"), format!("Patch number {i}")),
                "operations",
                report,
            );
        }
    }
}

fn check_metadata(value: &Value, place: &ValueLocation, report: &mut Report) {
    const REQUIRED: [&str; 4] = ["references", "digests", "labels", "description"];
    let Value::Object(map) = value else {
        object(value, place, &REQUIRED, &[], report);
        return;
    };
    check_metadata_keys(map, &REQUIRED, place, report);
    if let Some(labels) = map.get("labels") {
        let list = ValueLocation::new(place.key("labels"), "The list of labels");
        for (i, label) in non_empty(labels, &list, "names", report).unwrap_or_default().iter().enumerate() {
            string(label, &ValueLocation::new(format!("{}/{i}", list.path), format!("Label {i}")), report);
        }
    }
    if let Some(digests) = map.get("digests") {
        let place = ValueLocation::new(place.key("digests"), "The digests object of the patchset");
        let Some(map) = object(digests, &place, &[], &["sha256", "md5"], report) else { return };
        for (algorithm, hex) in
            map.iter().filter(|(algorithm, _)| ["sha256", "md5"].contains(&algorithm.as_str()))
        {
            let place = ValueLocation::new(place.key(algorithm), format!("The {algorithm} digest"));
            let Some(hex) = string(hex, &place, report) else { continue };
            let length = if algorithm == "md5" { 32 } else { 64 };
            if hex.len() != length || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                report.error(
                    place.path,
                    format!("{} must have {length} hexadecimal digits, but is {}.", place.what, quoted(hex)),
                    "Copy it again from where the patchset was published.",
                );
            }
        }
        if map.is_empty() {
            report.warn(
                place.path,
                "The patchset gives no digest, so it fits any workspace.",
                "Add the sha256 digest of the workspace it was made for; pyhf wants one.",
            );
        }
    }
}

/// Reports absent keys of the metadata. It is an error if an unknown key resembles an absent key and may be
/// misspelt. Otherwise there is only a warning, because no key of the metadata is needed to find and apply a
/// patch.
fn check_metadata_keys(map: &Map<String, Value>, known: &[&str], place: &ValueLocation, report: &mut Report) {
    let absent: Vec<&str> = known.iter().copied().filter(|key| !map.contains_key(*key)).collect();
    let mut misspelt = false;
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        if let Some(near) = nearest(key, absent.iter().copied()) {
            misspelt = true;
            report.error(
                place.key(key),
                format!("{} has the unknown key {}.", place.what, quoted(key)),
                format!("Did you mean {}?", quoted(near)),
            );
        }
    }
    if absent.is_empty() || misspelt {
        return;
    }
    let keys: Vec<String> = absent.iter().map(|key| quoted(key)).collect();
    let check = if absent.contains(&"digests") {
        " Without digests nothing tells whether a workspace is the one that the patches were made for."
    } else {
        ""
    };
    report.warn(
        place.path.clone(),
        format!(
            "{} lacks the key{} {}.{check}",
            place.what,
            if keys.len() == 1 { "" } else { "s" },
            and(&keys)
        ),
        if keys.len() == 1 { "Add it; pyhf wants it." } else { "Add them; pyhf wants them." },
    );
}

fn check_member_metadata(value: &Value, path: &str, report: &mut Report) -> Option<(String, Vec<Value>)> {
    let place = ValueLocation::new(path, "The metadata of a patch");
    let Value::Object(map) = value else {
        object(value, &place, &["name", "values"], &[], report);
        return None;
    };
    let lacking: Vec<&str> = ["name", "values"].into_iter().filter(|k| !map.contains_key(*k)).collect();
    if !lacking.is_empty() {
        report.error(
            place.path.clone(),
            format!("{} lacks {}.", place.what, lacking.join(" and ")),
            "Add what is missing.",
        );
        return None;
    }
    let name =
        string(map.get("name")?, &ValueLocation::new(place.key("name"), "The name of a patch"), report)?;
    let values = array(
        map.get("values")?,
        &ValueLocation::new(place.key("values"), "The values of a patch"),
        "numbers or strings",
        report,
    )?;
    for (i, value) in values.iter().enumerate().filter(|(_, v)| !(v.is_number() || v.is_string())) {
        report.error(
            format!("{path}/values/{i}"),
            format!(
                "A value of patch {} must be a number or a string, but is {}.",
                quoted(name),
                kind_of(value)
            ),
            "Write a number or a string.",
        );
    }
    Some((name.to_owned(), values.to_vec()))
}
