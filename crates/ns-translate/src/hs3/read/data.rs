//! Reads data sets and axes.

use std::sync::Arc;

use serde_json::Value;

use super::fields::Fields;
use super::source;
use crate::hs3::document::{Axis, Data, Origin};
use crate::hs3::sources::{EventSources, GivenEvents};
use crate::hs3::words::count;
use crate::pyhf::expect;
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// Reads the keys of a data set. `sources` provides events that are not in the file.
pub(super) fn read(fields: &Fields<'_>, sources: &EventSources, report: &mut Report) -> Option<Data> {
    let kind = fields.text("type", report)?;
    Some(match kind {
        "unbinned" => unbinned(fields, sources, report)?,
        "binned" => {
            unused(fields, "uncertainty", report);
            let axes = axes(fields, report);
            Data::Binned { axes, contents: fields.numbers("contents", report) }
        }
        "point" => {
            unused(fields, "uncertainty", report);
            let axes = if fields.has("axes") { axes(fields, report) } else { Vec::new() };
            fields.ignore(&["axes"]);
            Data::Point { axes, value: fields.number("value", report) }
        }
        other => {
            fields.ignore_all();
            let axes = fields.optional("axes").and_then(Value::as_array).into_iter().flatten();
            let name = |axis: &Value| axis.get("name").and_then(Value::as_str).map(str::to_owned);
            Data::Unsupported { kind: other.to_owned(), axes: axes.filter_map(name).collect() }
        }
    })
}

/// Warns that a key of the file has no influence on the likelihood.
fn unused(fields: &Fields<'_>, key: &'static str, report: &mut Report) {
    if fields.optional(key).is_some() {
        report.warn(
            fields.path(key),
            format!("The key {} is not used: the likelihood of data needs no uncertainties.", quoted(key)),
            "Remove it, or do not expect a chi-square fit.",
        );
    }
}

/// Reads the axes under the key `axes`.
pub(super) fn axes(fields: &Fields<'_>, report: &mut Report) -> Vec<Axis> {
    let items = fields.items("axes", "axes", report);
    let mut axes: Vec<Axis> = Vec::new();
    for (value, place) in items {
        let path = place.path.clone();
        let Some(axis) = Fields::of(value, place, report) else { continue };
        let Some(name) = axis.text("name", report).map(str::to_owned) else { continue };
        let (min, max) = (axis.optional_number("min", report), axis.optional_number("max", report));
        let bins = axis.optional("nbins").and_then(|bins| {
            let count = bins.as_u64().filter(|n| (1..=1 << 24).contains(n));
            if count.is_none() {
                let remedy = "Write a whole number from 1 on.";
                report.error(
                    axis.path("nbins"),
                    format!("The number of bins of axis {} is wrong.", quoted(&name)),
                    remedy,
                );
            }
            count.and_then(|n| usize::try_from(n).ok())
        });
        // ROOT called the edges `bounds` before version 6.32.
        let key = if axis.has("edges") { "edges" } else { "bounds" };
        let edges = axis.has(key).then(|| axis.numbers(key, report));
        axis.ignore(&["edges", "value", "const"]);
        axis.finish(report);
        if axes.iter().any(|other| other.name == name) {
            report.error(
                path,
                format!("The axis {} is given twice.", quoted(&name)),
                "Remove one of the two.",
            );
            continue;
        }
        axes.push(Axis { name, path, min, max, bins, edges });
    }
    axes
}

/// Reads events into one column per axis. The events come from the caller, from another file, or from the data set
/// itself.
fn unbinned(fields: &Fields<'_>, sources: &EventSources, report: &mut Report) -> Option<Data> {
    unused(fields, "entries_uncertainties", report);
    let axes = axes(fields, report);
    let name = fields.optional("name").and_then(Value::as_str).unwrap_or_default();
    let given = sources.given.get(name);
    let has_source = fields.optional(source::KEY).is_some();
    if has_source && (fields.has("entries") || fields.has("weights")) {
        report.error(
            fields.path(source::KEY),
            "The data set has both events and a file of events.",
            "Remove 'entries' and 'weights', or the file.",
        );
    }
    if has_source || given.is_some() {
        fields.ignore(&["entries", "weights"]);
        let origin = if given.is_some() { Origin::Given } else { Origin::File };
        let events = elsewhere(fields, &axes, given, has_source, sources, report);
        // A data set without events keeps its axes, so that no further problems are reported.
        let events = events.unwrap_or_default();
        return Some(Data::Unbinned { axes, columns: events.columns, weights: events.weights, origin });
    }
    written(fields, axes, report)
}

/// Returns the events of a data set that are not written in it: the caller gives them, or another file contains them.
/// If the events cannot be read, reports an error and returns `None`.
fn elsewhere(
    fields: &Fields<'_>,
    axes: &[Axis],
    given: Option<&GivenEvents>,
    has_source: bool,
    sources: &EventSources,
    report: &mut Report,
) -> Option<source::Events> {
    let file = if has_source { Some(source::file_source(fields, axes, report)?) } else { None };
    match (given, &file) {
        (Some(given), file) => source::from_caller(fields, axes, file.as_ref(), given, report),
        (None, Some(file)) => source::from_file(fields, axes, file, sources, report),
        (None, None) => None,
    }
}

/// Reads the events that are written in the data set.
fn written(fields: &Fields<'_>, axes: Vec<Axis>, report: &mut Report) -> Option<Data> {
    let place = fields.location("entries");
    let items = expect::array(fields.required("entries", report)?, &place, "events", report)?;
    let mut columns: Vec<Vec<f64>> = axes.iter().map(|_| Vec::with_capacity(items.len())).collect();
    for (i, item) in items.iter().enumerate() {
        // Messages are built only for errors, because there can be many events.
        let mut bad = |message: String, remedy: &str| {
            report.error(format!("{}/{i}", place.path), message, remedy);
        };
        // A single number stands for an event of one observable.
        let values = match item {
            Value::Array(values) => values.as_slice(),
            Value::Number(_) if axes.len() == 1 => std::slice::from_ref(item),
            other => {
                let found = expect::kind_of(other);
                bad(
                    format!("Event {i} must be an array of numbers, but is {found}."),
                    "Write [x, y, ...], one number per axis.",
                );
                continue;
            }
        };
        if values.len() != axes.len() {
            let (found, expected) = (values.len(), axes.len());
            bad(
                format!(
                    "Event {i} has {}, but there {} {}.",
                    count(found, "number", "numbers"),
                    if expected == 1 { "is" } else { "are" },
                    count(expected, "axis", "axes"),
                ),
                "Write one number per axis.",
            );
            continue;
        }
        for ((value, axis), column) in values.iter().zip(&axes).zip(&mut columns) {
            match value.as_f64().filter(|x| x.is_finite()) {
                Some(x) => column.push(x),
                None => {
                    let name = quoted(&axis.name);
                    bad(
                        format!("Event {i} has no finite number for the axis {name}."),
                        "Write a number, or remove the event.",
                    );
                    column.push(f64::NAN);
                }
            }
        }
    }
    let weights = fields.has("weights").then(|| fields.numbers("weights", report));
    fields.ignore(&["weights"]);
    if let Some(weights) = &weights
        && weights.len() != items.len()
    {
        report.error(
            fields.path("weights"),
            format!(
                "There are {} for {}.",
                count(weights.len(), "weight", "weights"),
                count(items.len(), "event", "events")
            ),
            "Write one weight per event.",
        );
    }
    let columns = columns.into_iter().map(Arc::from).collect();
    Some(Data::Unbinned { axes, columns, weights: weights.map(Arc::from), origin: Origin::Entries })
}
