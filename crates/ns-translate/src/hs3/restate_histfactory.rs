//! Writes the channels of HistFactory models in the notation of the next version of HS3.

use serde_json::{Value, json};

use super::document::{Effect, HistFactory, Interpolation, Modifier, Placed, Sample, WrittenConstraint};
use super::restate::{axis, object};

/// Returns a channel as a JSON object, without its name.
pub(super) fn histfactory(channel: &HistFactory) -> Value {
    let axes: Vec<Value> = channel.axes.iter().map(|a| axis(a, true)).collect();
    let samples: Vec<Value> = channel.samples.iter().map(sample).collect();
    let mut map = object(json!({"type": "histfactory_dist", "axes": axes, "samples": samples}));
    if channel.stat.threshold > 0.0 {
        map.insert("staterror".to_owned(), json!({"relThreshold": channel.stat.threshold}));
    }
    Value::Object(map)
}

fn sample(sample: &Sample) -> Value {
    let mut data = object(json!({"contents": sample.contents}));
    if let Some(errors) = &sample.errors {
        data.insert("errors".to_owned(), json!(errors));
    }
    let modifiers: Vec<Value> = sample.modifiers.iter().map(modifier).collect();
    json!({"name": sample.name, "data": data, "modifiers": modifiers})
}

fn modifier(modifier: &Modifier) -> Value {
    let (kind, data) = match &modifier.effect {
        Effect::NormFactor => ("normfactor", None),
        Effect::NormSys { hi, lo } => ("normsys", Some(json!({"hi": hi, "lo": lo}))),
        Effect::HistoSys { hi, lo } => {
            ("histosys", Some(json!({"hi": {"contents": hi}, "lo": {"contents": lo}})))
        }
        Effect::ShapeSys { values, .. } => {
            ("shapesys", values.as_ref().map(|values| json!({"vals": values})))
        }
        Effect::ShapeFactor => ("shapefactor", None),
        Effect::StatError => ("staterror", None),
    };
    let mut map = object(json!({"name": modifier.name, "type": kind}));
    let mut set = |key: &str, value: Value| drop(map.insert(key.to_owned(), value));
    if let Some(data) = data {
        set("data", data);
    }
    if let Effect::ShapeSys { meaning: Some(meaning), .. } = &modifier.effect {
        set("nextstat.vals", json!(meaning.word()));
    }
    let per_bin = matches!(kind, "shapesys" | "shapefactor" | "staterror");
    match modifier.parameters.as_slice() {
        [] => {}
        [only] if !per_bin => set("parameter", json!(only)),
        several => set("parameters", json!(several)),
    }
    match &modifier.constraint {
        WrittenConstraint::None => {}
        WrittenConstraint::Kind(kind) => set("constraint", json!(kind.value.word())),
        WrittenConstraint::Distribution(name) => set("constraint", json!(name.value)),
        WrittenConstraint::Distributions(names) => {
            let names: Vec<Option<&String>> =
                names.iter().map(|name| name.as_ref().map(|n| &n.value)).collect();
            set("constraints", json!(names));
        }
    }
    if let Some(written) = &modifier.interpolation {
        set("interpolation", interpolation(written, kind == "normsys"));
    }
    Value::Object(map)
}

/// Returns an interpolation in the notation of the next version of HS3. `factor` is true if the interpolation belongs
/// to a normsys.
pub(super) fn interpolation(written: &Placed<Interpolation>, factor: bool) -> Value {
    let structure =
        |kind: &str, inside: &str, outside: Option<&str>| json!({"type": kind, "in": inside, "out": outside});
    match (&written.value, factor) {
        (Interpolation::Number(0), _) => structure("add", "poly1", None),
        (Interpolation::Number(1), true) => structure("mult", "exp", None),
        (Interpolation::Number(2), false) => structure("add", "poly2", Some("poly1")),
        (Interpolation::Number(4), _) => structure("add", "poly6", Some("poly1")),
        (Interpolation::Number(5), true) => structure("mult", "poly6", Some("exp")),
        (Interpolation::Number(6), true) => structure("mult", "poly6", Some("poly1")),
        (Interpolation::Word(word), true) if word == "lin" => structure("mult", "poly1", None),
        (Interpolation::Word(word), true) if word == "log" => structure("mult", "exp", None),
        (Interpolation::Word(word), true) if word == "poly6" => structure("mult", "poly6", Some("poly1")),
        (Interpolation::Word(word), false) if word == "lin" => structure("add", "poly1", None),
        (Interpolation::Word(word), false) if word == "parabolic" => structure("add", "poly2", Some("poly1")),
        (Interpolation::Word(word), false) if word == "poly6" => structure("add", "poly6", Some("poly1")),
        // An unknown interpolation is reported if the model uses it.
        (Interpolation::Number(number), _) => json!(number),
        (Interpolation::Word(word), _) => json!(word),
        (Interpolation::Structure { multiplies, inside, outside }, _) => {
            structure(if *multiplies { "mult" } else { "add" }, inside, outside.as_deref())
        }
    }
}
