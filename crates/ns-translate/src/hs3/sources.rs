//! Events that are not written in the model file.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::arrow::parquet::Condition;
use crate::pyhf::names::quoted;

/// The sources of events that are not written in the model file: other files, and the caller.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventSources {
    /// Folder of the model file. Files of events are looked for in this folder. If it is `None`, no file is
    /// read, for example because the model came over the network.
    pub folder: Option<PathBuf>,
    /// Events from the caller, by the name of their data set. They replace the events that the model file
    /// names.
    pub given: BTreeMap<String, GivenEvents>,
}

/// The events of one data set, column by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GivenEvents {
    /// Columns with their names, all of the same length. The names are those of the axes of the data set, or
    /// those of the columns in its `nextstat.source`. The column `weights` has the weights of the events,
    /// unless an axis is called `weights`.
    pub columns: Vec<(String, Arc<[f64]>)>,
}

impl EventSources {
    /// Returns sources that read files of events from the folder of the model file `file`.
    #[must_use]
    pub fn beside(file: &Path) -> Self {
        let folder = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Self { folder: Some(folder), given: BTreeMap::new() }
    }

    /// Returns the same sources with events from the caller, by the name of their data set.
    #[must_use]
    pub fn with(mut self, given: BTreeMap<String, GivenEvents>) -> Self {
        self.given = given;
        self
    }
}

impl GivenEvents {
    /// Returns the column of this name.
    pub(super) fn column(&self, name: &str) -> Option<&Arc<[f64]>> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, column)| column)
    }
}

/// Names of the columns that a data set of events may take from the caller's events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WantedColumns {
    /// Names of the axes of the data set.
    pub axes: Vec<String>,
    /// Names of the columns that the key `nextstat.source` of the data set names, and the name `weights`.
    pub others: Vec<String>,
}

/// Returns, for each data set of events, the columns that it may take from the caller's events. The result is
/// empty if the text is not a model.
#[must_use]
pub fn wanted_columns(text: &[u8]) -> BTreeMap<String, WantedColumns> {
    let tree: Value = serde_json::from_slice(text).unwrap_or_default();
    let data = tree.get("data").and_then(Value::as_array);
    let mut wanted = BTreeMap::new();
    for data in
        data.into_iter().flatten().filter(|data| data.get("type").is_some_and(|kind| kind == "unbinned"))
    {
        let axes = data.get("axes").and_then(Value::as_array).into_iter().flatten();
        let source = data.get("nextstat.source");
        let columns = source.and_then(|source| source.get("columns")).and_then(Value::as_object);
        let conditions = source.and_then(|source| source.get("where")).and_then(Value::as_array);
        let axes = axes.filter_map(|axis| axis.get("name")?.as_str()).map(str::to_owned).collect();
        let names = columns
            .into_iter()
            .flat_map(|columns| columns.values())
            .chain(source.and_then(|source| source.get("weight")))
            .chain(conditions.into_iter().flatten().filter_map(|condition| condition.get(0)));
        let mut others: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
        others.push("weights".to_owned());
        if let Some(name) = data.get("name").and_then(Value::as_str) {
            wanted.insert(name.to_owned(), WantedColumns { axes, others });
        }
    }
    wanted
}

/// A file of events, as described in a data set.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FileSource {
    /// Path of the file of events, relative to the folder of the model file.
    pub(super) file: String,
    /// Name of the tree of a ROOT file; `None` for a Parquet file.
    pub(super) tree: Option<String>,
    /// Expected hash of the file, as hexadecimal text.
    pub(super) sha256: Option<String>,
    /// Name of the column that belongs to each axis, in the order of the axes.
    pub(super) columns: Vec<String>,
    /// Name of the column of weights.
    pub(super) weight: Option<String>,
    /// Names of further columns of weights of a template. For each nuisance parameter there are two columns: the
    /// weights at the parameter values 1 and -1.
    pub(super) more: Vec<String>,
    /// Conditions that each event must fulfil.
    pub(super) selection: Vec<Condition>,
}

/// Returns the path of a file that a model names. The file must lie in the folder of the model or in a
/// subfolder, also after links are resolved. An error consists of a message and a remedy.
pub(super) fn inside(folder: &Path, file: &str) -> Result<PathBuf, (String, String)> {
    let near =
        "Put the file into the folder of the model, and write its path relative to that folder.".to_owned();
    if file.contains("://") {
        return Err((format!("{} is an address, not a path.", quoted(file)), near));
    }
    let path = Path::new(file);
    if file.is_empty() || !path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        let message = format!("The path {} does not stay in the folder of the model.", quoted(file));
        return Err((message, near));
    }
    let wrong = |error: std::io::Error| {
        let message = format!("The file {} cannot be read: {error}.", quoted(file));
        (message, "Check the path, which is relative to the folder of the model.".to_owned())
    };
    let root = folder.canonicalize().map_err(wrong)?;
    let whole = root.join(path).canonicalize().map_err(wrong)?;
    if !whole.starts_with(&root) {
        let message = format!("The path {} is a link that leaves the folder of the model.", quoted(file));
        return Err((message, near));
    }
    if !whole.metadata().map_err(wrong)?.is_file() {
        return Err((
            format!("{} is no file.", quoted(file)),
            "Name a Parquet file or a ROOT file.".to_owned(),
        ));
    }
    Ok(whole)
}
