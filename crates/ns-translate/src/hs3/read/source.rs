//! Reads the events of a data set that are not written in the model file.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ns_root::{RootError, RootFile};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::Fields;
use crate::arrow::parquet::{
    Comparison, Condition, ParquetOptions, ParquetReadError, read_parquet_events_soa,
};
use crate::hs3::document::Axis;
use crate::hs3::sources::{EventSources, FileSource, GivenEvents, inside};
use crate::hs3::words::count;
use crate::pyhf::expect::{self, ValueLocation};
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::problem::Report;

/// The key under which a data set names its file of events.
pub(super) const KEY: &str = "nextstat.source";

/// Events as one column of values per axis, with the weights of the events.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) columns: Vec<Arc<[f64]>>,
    pub(super) weights: Option<Arc<[f64]>>,
    /// Further columns of weights, for the responses of a template. A response is the effect of a nuisance
    /// parameter on the weights. It has two columns: the weights at the parameter values 1 (`up`) and -1 (`down`).
    pub(super) more: Vec<Arc<[f64]>>,
}

/// Reads the keys of a data set that describe its file of events.
pub(super) fn file_source(fields: &Fields<'_>, axes: &[Axis], report: &mut Report) -> Option<FileSource> {
    let value = fields.required(KEY, report)?;
    let source = Fields::of(value, fields.location(KEY), report)?;
    let file = source.text("file", report).map(str::to_owned);
    let sha256 = source.optional_name("sha256", report).map(|hash| hash.value);
    let format = source.optional_name("format", report);
    let kind = format.as_ref().map_or("parquet", |format| format.value.as_str());
    let is_root = kind == "root" || file.as_deref().is_some_and(|file| file.ends_with(".root"));
    let tree = if is_root { source.text("tree", report).map(str::to_owned) } else { None };
    if !is_root && kind != "parquet" {
        report.error(
            source.path("format"),
            format!("Files of the format {} are not read.", quoted(kind)),
            "Write the events to a Parquet file with \"format\": \"parquet\", or to a tree with \"format\": \"root\".",
        );
    }
    let mut columns: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    if let Some(value) = source.optional("columns")
        && let Some(named) = Fields::of(value, source.location("columns"), report)
    {
        for (key, value) in value.as_object().into_iter().flatten() {
            let place = named.location(key);
            let column = expect::string(value, &place, report);
            match axes.iter().position(|axis| axis.name == *key) {
                Some(i) => {
                    if let (Some(place), Some(column)) = (columns.get_mut(i), column) {
                        *place = column.to_owned();
                    }
                }
                None => {
                    let near = nearest(key, axes.iter().map(|axis| axis.name.as_str()));
                    let near = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
                    report.error(
                        named.path(key),
                        format!("The data set has no axis {}.", quoted(key)),
                        format!("Write axes and their columns, \"axis\": \"column\".{near}"),
                    );
                }
            }
        }
    }
    let weight = source.optional_name("weight", report).map(|weight| weight.value);
    let selection = if source.has("where") { conditions(&source, report) } else { Vec::new() };
    source.ignore(&["columns", "where"]);
    source.finish(report);
    let file = file.filter(|_| if is_root { tree.is_some() } else { kind == "parquet" })?;
    Some(FileSource { file, tree, sha256, columns, weight, more: Vec::new(), selection })
}

/// Reads the conditions that events must fulfil, each of the form `["column", "<", number]`.
fn conditions(source: &Fields<'_>, report: &mut Report) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for (item, place) in source.items("where", "conditions", report) {
        let parts = item.as_array().map(Vec::as_slice).unwrap_or_default();
        let condition = match parts {
            [Value::String(column), Value::String(sign), Value::Number(limit)] => Comparison::of(sign)
                .zip(limit.as_f64().filter(|x| x.is_finite()))
                .map(|(comparison, limit)| Condition { column: column.clone(), comparison, limit }),
            _ => None,
        };
        match condition {
            Some(condition) => conditions.push(condition),
            None => report.error(
                place.path.clone(),
                format!("{} is no condition.", place.what),
                "Write [\"column\", \"<\", number]; the signs are <, <=, >, >=, == and !=.",
            ),
        }
    }
    conditions
}

/// Reads the file of events that a data set names.
pub(super) fn from_file(
    fields: &Fields<'_>,
    axes: &[Axis],
    source: &FileSource,
    sources: &EventSources,
    report: &mut Report,
) -> Option<Events> {
    let path = format!("{}/file", fields.path(KEY));
    let Some(folder) = &sources.folder else {
        report.error(
            path,
            format!(
                "The file {} is not read, because the model was not read from a file.",
                quoted(&source.file)
            ),
            "Write the events into the key 'entries', or give them beside the model (events= in Python).",
        );
        return None;
    };
    let place = match inside(folder, &source.file) {
        Ok(place) => place,
        Err((message, remedy)) => {
            report.error(path, message, remedy);
            return None;
        }
    };
    if let Some(expected) = &source.sha256 {
        match hash(&place) {
            Ok(actual) if actual.eq_ignore_ascii_case(expected) => {}
            Ok(actual) => {
                report.error(
                    format!("{}/sha256", fields.path(KEY)),
                    format!(
                        "The file {} is another one: its SHA-256 hash is {actual}.",
                        quoted(&source.file)
                    ),
                    "Restore the file, or correct the hash if the change is meant.",
                );
                return None;
            }
            Err(error) => {
                let message = format!("The file {} cannot be read: {error}.", quoted(&source.file));
                report.error(path, message, "Check the file.");
                return None;
            }
        }
    }
    // Each column is read once, even if several axes or the weights use it.
    let mut names: Vec<String> = Vec::new();
    for name in source.columns.iter().chain(&source.weight).chain(&source.more) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let read = match &source.tree {
        Some(tree) => read_tree(&place, tree, &names, &source.selection).map_err(|error| error.to_string()),
        None => read_parquet(&place, &names, &source.selection).map_err(|error| error.to_string()),
    };
    let (rows, data) = match read {
        Ok(read) => read,
        Err(error) => {
            let remedy = "Correct the data set or the file.";
            report.error(fields.path(KEY), format!("The events cannot be read: {error}"), remedy);
            return None;
        }
    };
    let column =
        |name: &String| names.iter().position(|known| known == name).and_then(|i| data.get(i)).cloned();
    let columns: Option<Vec<Arc<[f64]>>> = source.columns.iter().map(column).collect();
    let more = source.more.iter().map(column).collect::<Option<_>>()?;
    let events = Events { columns: columns?, weights: source.weight.as_ref().and_then(column), more };
    checked(events, axes, rows, &ValueLocation::new(fields.path(KEY), fields.here()), report)
}

/// Number of events before conditions, and the columns of the events that fulfil them.
type Table = (usize, Vec<Arc<[f64]>>);

fn read_parquet(file: &Path, names: &[String], selection: &[Condition]) -> Result<Table, ParquetReadError> {
    let options =
        ParquetOptions { columns: Some(names.to_vec()), selection: selection.to_vec(), threads: None };
    let data = read_parquet_events_soa(file, &options)?;
    Ok((usize::try_from(data.rows).unwrap_or(usize::MAX), data.columns))
}

fn read_tree(file: &Path, tree: &str, names: &[String], selection: &[Condition]) -> Result<Table, RootError> {
    let mut all = names.to_vec();
    for condition in selection {
        if !all.contains(&condition.column) {
            all.push(condition.column.clone());
        }
    }
    let columns = RootFile::open(file)?.columns(tree, &all)?;
    let rows = columns.first().map_or(0, Vec::len);
    let mut passes = vec![true; rows];
    for condition in selection {
        let column = all.iter().position(|name| *name == condition.column).and_then(|i| columns.get(i));
        for (passes, x) in passes.iter_mut().zip(column.into_iter().flatten()) {
            *passes &= condition.comparison.holds(*x, condition.limit);
        }
    }
    let kept = |column: Vec<f64>| -> Arc<[f64]> {
        column.into_iter().zip(&passes).filter(|(_, passes)| **passes).map(|(x, _)| x).collect()
    };
    Ok((rows, columns.into_iter().take(names.len()).map(kept).collect()))
}

/// Takes the events that the caller provides for a data set.
pub(super) fn from_caller(
    fields: &Fields<'_>,
    axes: &[Axis],
    source: Option<&FileSource>,
    given: &GivenEvents,
    report: &mut Report,
) -> Option<Events> {
    let here = fields.here();
    let known: Vec<&str> = given.columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut find = |name: &str, what: &str| {
        let found = given.column(name).cloned();
        if found.is_none() {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
            report.error(
                here.clone(),
                format!("The events given have no column {}{what}.{near}", quoted(name)),
                match known.is_empty() {
                    true => "Give a column of this name.".to_owned(),
                    false => format!("Give it. {}", list("The columns given are", &known)),
                },
            );
        }
        found
    };
    let mut columns = Vec::new();
    for (i, axis) in axes.iter().enumerate() {
        let mapped = source.and_then(|source| source.columns.get(i));
        // A column that was not given is replaced by the column with the name of the axis.
        let name = mapped.filter(|name| known.contains(&name.as_str())).unwrap_or(&axis.name);
        columns.push(find(name, "")?);
    }
    let is_axis = axes.iter().any(|axis| axis.name == "weights");
    let weighted = source.is_some_and(|source| source.weight.is_some()) || fields.has("weights");
    let mapped = source.and_then(|source| source.weight.as_deref()).filter(|name| known.contains(name));
    let name = mapped.or_else(|| known.contains(&"weights").then_some("weights").filter(|_| !is_axis));
    let weights = match name {
        Some(name) => Some(find(name, "")?),
        None if weighted => Some(find("weights", ", and the data set has weights")?),
        None => None,
    };
    let rows = columns.first().map_or(0, |column| column.len());
    let mut passes = vec![true; rows];
    for condition in source.map(|source| source.selection.as_slice()).unwrap_or_default() {
        let column = find(&condition.column, ", which a condition of 'where' needs")?;
        for (passes, x) in passes.iter_mut().zip(column.iter()) {
            *passes &= condition.comparison.holds(*x, condition.limit);
        }
    }
    let kept = |column: Arc<[f64]>| -> Arc<[f64]> {
        if passes.iter().all(|p| *p) {
            return column;
        }
        column.iter().zip(&passes).filter(|(_, passes)| **passes).map(|(x, _)| *x).collect()
    };
    let columns = columns.into_iter().map(&kept).collect();
    let events = Events { columns, weights: weights.map(kept), more: Vec::new() };
    checked(events, axes, rows, &ValueLocation::new(here, "the events given"), report)
}

/// Checks that the conditions keep an event, and that all numbers are finite. Reports a problem otherwise. `rows` is the
/// number of events before the conditions on events were applied.
pub(super) fn checked(
    events: Events,
    axes: &[Axis],
    rows: usize,
    place: &ValueLocation,
    report: &mut Report,
) -> Option<Events> {
    if rows > 0 && events.columns.first().is_some_and(|column| column.is_empty()) {
        let message = format!("No event is left: the conditions drop all {}.", count(rows, "row", "rows"));
        report.error(place.path.clone(), message, "Check the file and the conditions under 'where'.");
        return None;
    }
    let named = axes.iter().map(|axis| format!("the axis {}", quoted(&axis.name)));
    let weights = events.weights.iter().map(|w| ("the weights".to_owned(), w));
    let more = events.more.iter().map(|w| ("the varied weights".to_owned(), w));
    let all = named.zip(&events.columns).chain(weights).chain(more);
    let mut fine = true;
    for (what, column) in all {
        let wrong = column.iter().filter(|x| !x.is_finite()).count();
        if let Some(first) = column.iter().position(|x| !x.is_finite()) {
            fine = false;
            report.error(
                place.path.clone(),
                format!(
                    "Event {first} has no finite number for {what}; {} of {} {}.",
                    wrong,
                    count(column.len(), "event", "events"),
                    if wrong == 1 { "has none" } else { "have none" }
                ),
                "Drop such events with a condition under 'where', or correct them.",
            );
        }
    }
    fine.then_some(events)
}

/// Returns the SHA-256 hash of a file.
fn hash(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hash.update(buffer.get(..n).unwrap_or_default()),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
