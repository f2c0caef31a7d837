//! Reads the JSON tree of an HS3 file into a [`Document`], and reports every problem in the structure of the file.

mod analyses;
mod data;
mod decay;
mod distributions;
mod fields;
mod functions;
mod histfactory;
mod settle;
mod source;
mod template;

use serde_json::Value;

use crate::pyhf::expect::{self, ValueLocation};
use crate::pyhf::names::{LONGEST, list, nearest, quoted};
use crate::pyhf::problem::Report;

use super::document::{Data, Document, Named, ShapeValues};
use super::sources::EventSources;
use fields::Fields;

/// Reads a document. Parts that cannot be read are reported and left out. `sources` provides events that are
/// not in the file.
pub(super) fn read(tree: &Value, sources: &EventSources, report: &mut Report) -> Document {
    let place = ValueLocation::new("", "The document");
    let Some(fields) = Fields::of(tree, place, report) else { return Document::default() };
    let writers = metadata(&fields, report);
    let by = |name: &str| writers.iter().find(|writer| writer.name == name);
    let (root, pyhs3, ours) = (by("root"), by("pyhs3"), by("nextstat"));
    let mut document = Document {
        from_root: root.or(pyhs3).is_some(),
        from_nextstat: ours.is_some(),
        templates_are_yields: root.or(pyhs3).or(ours).is_some(),
        ..Document::default()
    };
    let dialect = settle::Dialect {
        gaussian_by_default: root.or(pyhs3).is_some(),
        shape_values: match (root, pyhs3, ours) {
            (Some(root), ..) if root.version.is_some_and(|version| version < (6, 30)) => {
                Some(ShapeValues::Counts)
            }
            (Some(_), ..) | (None, None, Some(_)) => Some(ShapeValues::Relative),
            (None, Some(_), _) => Some(ShapeValues::Absolute),
            (None, None, None) => None,
        },
    };
    // The contents of `misc` are not part of the model. But ROOT writes the names of constant parameters
    // there.
    if let Some(misc) = fields.optional("misc") {
        document.constants = constants(misc);
        document.first = misc.pointer("/nextstat/analysis").and_then(Value::as_str).map(str::to_owned);
        warnings(misc, report);
    }
    let from_root = document.from_root;
    let mut sections = Sections { document: &fields, broken: Vec::new(), report };
    document.distributions = sections.parts("distributions", "Distribution", |fields, report| {
        distributions::read(fields, from_root, sources, report)
    });
    document.functions = sections.parts("functions", "Function", functions::read);
    document.data = sections.parts("data", "Data set", |fields, report| data::read(fields, sources, report));
    document.likelihoods = sections.parts("likelihoods", "Likelihood", analyses::likelihood);
    document.domains = sections.parts("domains", "Domain", analyses::domain);
    document.points = sections.parts("parameter_points", "Parameter point", analyses::point);
    document.analyses = sections.parts("analyses", "Analysis", analyses::analysis);
    document.broken = sections.broken;
    settle::settle(&mut document, &dialect, report);
    fields.finish(report);
    unknown_given(&document, sources, report);
    document
}

/// Reports each name under which the caller gives events, if the file has no data set of events with this name.
fn unknown_given(document: &Document, sources: &EventSources, report: &mut Report) {
    let events = |data: &&Named<Data>| matches!(data.content, Data::Unbinned { .. });
    let known: Vec<&str> = document.data.iter().filter(events).map(|data| data.name.as_str()).collect();
    for name in sources.given.keys() {
        if !known.contains(&name.as_str()) && !document.broken.contains(name) {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
            report.error(
                "/data".to_owned(),
                format!("Events are given for {}, which is no data set of events.{near}", quoted(name)),
                list("The data sets of events are", &known),
            );
        }
    }
}

/// A program that wrote the file.
struct Writer {
    /// Name in lower case.
    name: String,
    /// First two numbers of the version, if they can be read.
    version: Option<(u32, u32)>,
}

/// Reads the metadata. Returns the programs that wrote the file.
fn metadata(fields: &Fields<'_>, report: &mut Report) -> Vec<Writer> {
    let Some(value) = fields.required("metadata", report) else { return Vec::new() };
    let place = ValueLocation::new("/metadata", "The metadata");
    let Some(metadata) = Fields::of(value, place, report) else { return Vec::new() };
    if let Some(version) = metadata.text("hs3_version", report) {
        // ROOT 6.26 wrote version 0.1, in which HistFactory modifiers did not name their parameters.
        if !version.starts_with("0.2") && !version.starts_with("0.3") {
            report.warn(
                metadata.path("hs3_version"),
                format!(
                    "The file follows version {} of HS3; versions 0.2 and 0.3 are known.",
                    quoted(version)
                ),
                "Check the result, because words may have changed their meaning.",
            );
        }
    }
    let packages = metadata.optional("packages").and_then(Value::as_array);
    let writer = |package: &Value| {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        Some(Writer { name: text("name")?.to_lowercase(), version: text("version").and_then(two_numbers) })
    };
    packages.into_iter().flatten().filter_map(writer).collect()
}

/// Returns the first two numbers of a version: (6, 32) for `6.32.06`, and for ROOT's older spelling `6.32/06`.
fn two_numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '/']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the names of the objects that have ROOT's tag `Constant`. `misc` is the section of the file in which ROOT
/// writes the tags.
fn constants(misc: &Value) -> Vec<String> {
    let attributes = misc.pointer("/ROOT_internal/attributes").and_then(Value::as_object);
    let constant = |value: &Value| {
        let tags = value.get("tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|tag| tag == "Constant"))
    };
    let named = attributes.into_iter().flatten().filter(|(_, value)| constant(value));
    named.map(|(name, _)| name.clone()).collect()
}

/// Repeats the warnings of the conversion that made the file.
fn warnings(misc: &Value, report: &mut Report) {
    let list = misc.pointer("/nextstat/warnings").and_then(Value::as_array);
    for warning in list.into_iter().flatten() {
        let text = |key: &str| warning.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        report.warn(text("path"), text("message"), text("remedy"));
    }
}

/// Reads the sections of a document. A section is an array of objects with names.
struct Sections<'a, 'r> {
    document: &'a Fields<'a>,
    broken: Vec<String>,
    report: &'r mut Report,
}

impl Sections<'_, '_> {
    /// Reads the objects of one section. Returns an empty list if the document does not have this section.
    fn parts<T>(
        &mut self,
        key: &'static str,
        kind: &str,
        mut read: impl FnMut(&Fields<'_>, &mut Report) -> Option<T>,
    ) -> Vec<Named<T>> {
        if self.document.optional(key).is_none() {
            return Vec::new();
        }
        let report = &mut *self.report;
        let mut named = Vec::new();
        for (value, place) in self.document.items(key, "objects", report) {
            let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
            let what = match name {
                "" => format!("A {}", kind.to_lowercase()),
                name => format!("{kind} {}", quoted(name)),
            };
            let place = ValueLocation::new(place.path, what);
            let path = place.path.clone();
            let Some(fields) = Fields::of(value, place, report) else { continue };
            let name = fields.text("name", report).map(str::to_owned);
            let content = read(&fields, report);
            // Without readable contents it is unknown which keys belong to the object.
            if content.is_some() {
                fields.finish(report);
            }
            let Some(name) = name else { continue };
            let Some(content) = content else {
                self.broken.push(name);
                continue;
            };
            if name.is_empty() || name.len() > LONGEST {
                report.error(
                    format!("{path}/name"),
                    format!(
                        "The name of a {} is empty, or longer than {LONGEST} bytes.",
                        expect::lower(kind)
                    ),
                    "Give it another name.",
                );
            }
            named.push(Named { name, path, content });
        }
        named
    }
}
