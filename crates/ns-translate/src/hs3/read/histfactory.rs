//! Reads `histfactory_dist`: the samples of a channel with their modifiers.

use serde_json::Value;

use super::data;
use super::fields::Fields;
use crate::hs3::document::{
    Effect, HistFactory, Interpolation, Kind, Modifier, Placed, Sample, ShapeValues, StatSettings,
    WrittenConstraint,
};
use crate::pyhf::expect::{self, ValueLocation, lower};
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::problem::Report;

/// Names of the modifier types, including `overallsys`, the older name of normsys.
const TYPES: [&str; 7] =
    ["normfactor", "normsys", "histosys", "shapesys", "shapefactor", "staterror", "overallsys"];

/// Reads the axes and samples of a channel.
pub(super) fn read(fields: &Fields<'_>, report: &mut Report) -> HistFactory {
    let axes = data::axes(fields, report);
    let default = fields.optional("default_interpolation");
    let default =
        default.and_then(|value| structure(value, &fields.location("default_interpolation"), report));
    let items = fields.items("samples", "samples", report);
    let samples = items.into_iter().filter_map(|(value, place)| sample(value, place, &default, report));
    HistFactory { axes, samples: samples.collect(), stat: stat_settings(fields, report) }
}

/// Reads the settings of all staterror modifiers of a channel. The key and the word of the constraint have several
/// spellings.
fn stat_settings(fields: &Fields<'_>, report: &mut Report) -> StatSettings {
    let key = if fields.has("statError") { "statError" } else { "staterror" };
    let Some(value) = fields.optional(key) else { return StatSettings::default() };
    let Some(inner) = Fields::of(value, fields.location(key), report) else { return StatSettings::default() };
    let constraint =
        inner.optional_name("constraint_type", report).or(inner.optional_name("constraint", report));
    let threshold = inner.optional_number("relThreshold", report).unwrap_or(0.0);
    inner.finish(report);
    let constraint = constraint.and_then(|word| match Kind::of(&word.value) {
        Some(kind) => Some(Placed { value: kind, path: word.path }),
        None => {
            let message = format!("There is no kind of constraint {}.", quoted(&word.value));
            report.error(word.path, message, "Write \"Poisson\" or \"Gauss\".");
            None
        }
    });
    StatSettings { constraint, threshold }
}

fn sample(
    value: &Value,
    mut place: ValueLocation,
    default: &Option<Placed<Interpolation>>,
    report: &mut Report,
) -> Option<Sample> {
    let path = place.path.clone();
    let name = value.get("name").and_then(Value::as_str);
    if let Some(name) = name {
        place.what = format!("Sample {}", quoted(name));
    }
    let fields = Fields::of(value, place, report)?;
    fields.ignore(&["name"]);
    let (mut contents, mut errors) = (Vec::new(), None);
    if let Some(value) = fields.required("data", report)
        && let Some(inner) = Fields::of(value, fields.location("data"), report)
    {
        contents = inner.numbers("contents", report);
        if inner.has("errors") {
            errors = Some(inner.numbers("errors", report));
        }
        inner.ignore(&["errors"]);
        inner.finish(report);
    }
    let modifiers = match fields.optional("modifiers") {
        None => Vec::new(),
        Some(_) => {
            let items = fields.items("modifiers", "modifiers", report);
            items.into_iter().filter_map(|(value, place)| modifier(value, place, default, report)).collect()
        }
    };
    fields.finish(report);
    let name = name.map_or_else(|| path.clone(), str::to_owned);
    Some(Sample { name, path, contents, errors, modifiers })
}

fn modifier(
    value: &Value,
    mut place: ValueLocation,
    default: &Option<Placed<Interpolation>>,
    report: &mut Report,
) -> Option<Modifier> {
    let path = place.path.clone();
    let name = value.get("name").and_then(Value::as_str);
    if let Some(name) = name {
        place.what = format!("Modifier {}", quoted(name));
    }
    let fields = Fields::of(value, place, report)?;
    fields.ignore(&["name"]);
    let kind = fields.text("type", report)?;
    let effect = match kind {
        "normfactor" => Effect::NormFactor,
        "normsys" | "overallsys" => {
            let inner = payload(&fields, report)?;
            let effect = Effect::NormSys { hi: inner.number("hi", report), lo: inner.number("lo", report) };
            inner.finish(report);
            effect
        }
        "histosys" => {
            let inner = payload(&fields, report)?;
            let (hi, lo) = (template(&inner, "hi", report), template(&inner, "lo", report));
            inner.finish(report);
            Effect::HistoSys { hi, lo }
        }
        "shapesys" => {
            let values = match fields.has("data") {
                false => None,
                true => {
                    let inner = payload(&fields, report)?;
                    let values = inner.numbers("vals", report);
                    inner.finish(report);
                    Some(values)
                }
            };
            fields.ignore(&["data"]);
            Effect::ShapeSys { values, meaning: meaning(&fields, report) }
        }
        "shapefactor" => Effect::ShapeFactor,
        "staterror" => Effect::StatError,
        other => {
            let near = nearest(other, TYPES.iter().copied());
            report.error(
                fields.path("type"),
                format!("There is no modifier type {}.", quoted(other)),
                near.map_or_else(
                    || list("The types are", &TYPES),
                    |near| format!("Did you mean {}?", quoted(near)),
                ),
            );
            return None;
        }
    };
    let mut parameters: Vec<String> =
        fields.optional_names("parameters", report).into_iter().map(|name| name.value).collect();
    if let Some(parameter) = fields.optional_name("parameter", report) {
        parameters.insert(0, parameter.value);
    }
    let constraint = constraint(&fields, report);
    let interpolation = match fields.optional("interpolation") {
        Some(value) => interpolation(value, &fields.location("interpolation"), report),
        None => default.clone(),
    };
    fields.finish(report);
    let name = name.map(str::to_owned).or_else(|| parameters.first().cloned());
    let name = name.unwrap_or_else(|| kind.to_owned());
    Some(Modifier { name, path, effect, parameters, constraint, interpolation })
}

/// Reads what the values of a shapesys mean, if the file says it.
fn meaning(fields: &Fields<'_>, report: &mut Report) -> Option<ShapeValues> {
    let word = fields.optional_name("nextstat.vals", report)?;
    let known = ShapeValues::ALL.into_iter().find(|meaning| meaning.word() == word.value);
    if known.is_none() {
        report.error(
            word.path,
            format!("{} is no meaning of the values of a shapesys.", quoted(&word.value)),
            "Write \"relative\", \"absolute\" or \"counts\".",
        );
    }
    known
}

/// Returns the object under the key `data` of a modifier. Reports a problem if there is none.
fn payload<'a>(fields: &Fields<'a>, report: &mut Report) -> Option<Fields<'a>> {
    let value = fields.required("data", report)?;
    Fields::of(value, fields.location("data"), report)
}

/// Reads the bin contents of the varied histogram under the key `key`.
fn template(fields: &Fields<'_>, key: &'static str, report: &mut Report) -> Vec<f64> {
    let Some(value) = fields.required(key, report) else { return Vec::new() };
    let Some(inner) = Fields::of(value, fields.location(key), report) else { return Vec::new() };
    let contents = inner.numbers("contents", report);
    inner.ignore(&["errors"]);
    inner.finish(report);
    contents
}

/// Reads the constraint of a modifier. The HS3 standard, ROOT and pyhs3 write the constraint under different keys.
fn constraint(fields: &Fields<'_>, report: &mut Report) -> WrittenConstraint {
    let named = fields.optional_name("constraint_name", report);
    let kind = fields.optional_name("constraint_type", report);
    let either = fields.optional_name("constraint", report);
    let many = fields.optional("constraints").is_some();
    if many {
        let items = fields.items("constraints", "names", report);
        let read = |(value, place): (&Value, ValueLocation)| match value {
            Value::Null => None,
            value => {
                let name = expect::string(value, &place, report)?.to_owned();
                Some(Placed { value: name, path: place.path })
            }
        };
        return WrittenConstraint::Distributions(items.into_iter().map(read).collect());
    }
    if let Some(name) = named {
        return WrittenConstraint::Distribution(name);
    }
    match kind.or(either) {
        None => WrittenConstraint::None,
        Some(word) => match Kind::of(&word.value) {
            Some(kind) => WrittenConstraint::Kind(Placed { value: kind, path: word.path }),
            None => WrittenConstraint::Distribution(word),
        },
    }
}

/// Reads the interpolation of a modifier: a number as in ROOT, a name of the HS3 standard, or the notation of
/// the next version of the standard.
pub(super) fn interpolation(
    value: &Value,
    place: &ValueLocation,
    report: &mut Report,
) -> Option<Placed<Interpolation>> {
    let path = place.path.clone();
    match value {
        Value::Number(number) if number.as_i64().is_some() => {
            number.as_i64().map(|code| Placed { value: Interpolation::Number(code), path })
        }
        Value::String(word) => Some(Placed { value: Interpolation::Word(word.clone()), path }),
        Value::Object(_) => structure(value, place, report),
        other => {
            report.error(
                path,
                format!("{} is {}.", place.what, expect::kind_of(other)),
                "Write one of ROOT's numbers, a word such as \"poly6\", or {\"type\": .., \"in\": .., \"out\": ..}.",
            );
            None
        }
    }
}

fn structure(value: &Value, place: &ValueLocation, report: &mut Report) -> Option<Placed<Interpolation>> {
    let fields = Fields::of(value, place.clone(), report)?;
    let kind = fields.text("type", report);
    let inside = fields.text("in", report).map(str::to_owned);
    let outside = fields.optional_name("out", report).map(|name| name.value);
    let path = fields.here();
    let kind_path = fields.path("type");
    fields.finish(report);
    let multiplies = match kind? {
        "add" => false,
        "mult" => true,
        other => {
            report.error(
                kind_path,
                format!("The 'type' of {} is {}.", lower(&place.what), quoted(other)),
                "Write \"add\" or \"mult\".",
            );
            return None;
        }
    };
    Some(Placed { value: Interpolation::Structure { multiplies, inside: inside?, outside }, path })
}
