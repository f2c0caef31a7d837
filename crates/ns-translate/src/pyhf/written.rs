//! A workspace whose numbers are kept as the file writes them. Patching, sorting and digests need this.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::error::WorkspaceError;
use super::mark::without_mark;
use super::patch::{Copies, DigestAlgorithm, DigestCheck, Patch, digest_of};
use super::problem::Report;
use super::workspace::{ModelOptions, Workspace};

/// A workspace with every number as the file writes it. `50` and `50.0` therefore differ, as they do in a digest.
///
/// The JSON value has the structure of a workspace. Serialisation writes the keys in a fixed order.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenWorkspace {
    value: Value,
    /// Origins of the patches that were applied: file and, for a patchset, name of the patch.
    patches: Vec<String>,
}

impl WrittenWorkspace {
    /// Reads JSON text and applies patches to it, in their order.
    ///
    /// # Errors
    /// The errors of [`Workspace::from_slice_patched`].
    pub fn from_slice_patched(
        text: &[u8],
        patches: &[Patch],
        check: DigestCheck,
    ) -> Result<Self, WorkspaceError> {
        let written = Self {
            value: patched(text, patches, check)?.0,
            patches: patches.iter().map(|patch| patch.origin().to_owned()).collect(),
        };
        written.workspace()?;
        Ok(written)
    }

    /// Converts the JSON value to a [`Workspace`].
    ///
    /// # Errors
    /// [`WorkspaceError::AfterPatch`] if the patches made it an invalid workspace.
    pub fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::from_patched_value(self.value.clone(), self.patches.clone())
    }

    /// Checks that a model can be made for at least one measurement.
    ///
    /// # Errors
    /// The error for the first measurement, if no measurement has a model.
    pub fn check(&self) -> Result<(), WorkspaceError> {
        let workspace = self.workspace()?;
        let model = |name: &str| {
            let options = ModelOptions { measurement: Some(name.to_owned()), ..ModelOptions::default() };
            workspace.model(&options).map(|_| ())
        };
        let mut first = None;
        for name in workspace.measurement_names() {
            match model(name) {
                Ok(()) => return Ok(()),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Sorts channels, samples, measurements, parameter settings and observations by name, and modifiers by
    /// name and type, as `pyhf.Workspace.sorted` does. The models do not change, but another measurement may
    /// become the first one.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        for channel in sort_by(self.value.get_mut("channels"), &["name"]) {
            for sample in sort_by(channel.get_mut("samples"), &["name"]) {
                sort_by(sample.get_mut("modifiers"), &["name", "type"]);
            }
        }
        for measurement in sort_by(self.value.get_mut("measurements"), &["name"]) {
            sort_by(measurement.pointer_mut("/config/parameters"), &["name"]);
        }
        sort_by(self.value.get_mut("observations"), &["name"]);
        self
    }

    /// Returns the hexadecimal digest that `pyhf digest` prints. It is the hash of the JSON text that Python
    /// writes with sorted keys.
    #[must_use]
    pub fn digest(&self, algorithm: DigestAlgorithm) -> String {
        digest_of(&self.value, algorithm)
    }
}

/// Reads a JSON text and applies patches to it. Returns the patched document and the warnings about the text
/// and the patches.
///
/// # Errors
/// If the text is not JSON, a digest does not match, or an operation fails.
pub(super) fn patched(
    text: &[u8],
    patches: &[Patch],
    check: DigestCheck,
) -> Result<(Value, Report), WorkspaceError> {
    let (mut value, mut report) = tree(text)?;
    for patch in patches {
        patch.verify(&value, check)?;
        report.extend(patch.notes().clone());
    }
    let limit = patches.iter().map(Patch::most_copied).min().unwrap_or(0);
    let mut copies = Copies::up_to(limit);
    for patch in patches {
        patch.apply_counted(&mut value, &mut copies)?;
    }
    Ok((value, report))
}

/// Reads JSON text as a tree. Also returns warnings about the text.
///
/// # Errors
/// If the text is not JSON, or an object has a key twice.
pub(super) fn tree(text: &[u8]) -> Result<(Value, Report), WorkspaceError> {
    let mut report = Report::default();
    let text = without_mark(text, &mut report);
    let value =
        serde_json::from_slice(text).map_err(|error| super::diagnose::explain_syntax(text, &error))?;
    super::diagnose::report_duplicate_keys(text, &mut report);
    if report.has_errors() { Err(WorkspaceError::Invalid { report }) } else { Ok((value, report)) }
}

/// Sorts an array of objects by their strings under `keys`. Returns the array.
fn sort_by<'a>(list: Option<&'a mut Value>, keys: &[&str]) -> &'a mut [Value] {
    let Some(Value::Array(items)) = list else { return &mut [] };
    let texts = |item: &Value| -> Vec<String> {
        keys.iter().map(|key| item.get(*key).and_then(Value::as_str).unwrap_or_default().to_owned()).collect()
    };
    items.sort_by_cached_key(texts);
    items
}

/// The order in which keys are written. Other keys follow them, and `version` comes last.
const USUAL: [&str; 11] = [
    "name",
    "type",
    "config",
    "poi",
    "channels",
    "observations",
    "measurements",
    "parameters",
    "data",
    "modifiers",
    "samples",
];

/// Returns the position of a key in the order of [`USUAL`].
fn rank(key: &str) -> usize {
    let known = USUAL.iter().position(|usual| *usual == key);
    known.unwrap_or(if key == "version" { USUAL.len() + 1 } else { USUAL.len() })
}

impl Serialize for WrittenWorkspace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ordered(&self.value).serialize(serializer)
    }
}

/// Serialises a value with the keys of its objects in the order of [`USUAL`].
struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&Ordered(item)))?;
                list.end()
            }
            Value::Object(map) => {
                let mut entries: Vec<(&String, &Value)> = map.iter().collect();
                entries.sort_by(|a, b| rank(a.0).cmp(&rank(b.0)).then_with(|| a.0.cmp(b.0)));
                let mut object = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .into_iter()
                    .try_for_each(|(key, item)| object.serialize_entry(key, &Ordered(item)))?;
                object.end()
            }
            other => other.serialize(serializer),
        }
    }
}
