//! Compares a JSON tree with the structure of a workspace, reports every deviation, and keeps the parts that
//! can be read.

use serde_json::{Map, Value};

use super::expect::{ValueLocation, array, kind_of, lower, non_empty, number, numbers, object, string};
use crate::pyhf::document::{
    Channel, Config, Document, Effect, Formulas, Measurement, Modifier, ModifierType, Observation, ReadParts,
    Sample, Setting,
};
use crate::pyhf::interest::Interest;
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::parse::VERSION;
use crate::pyhf::problem::Report;

/// Reads a workspace as far as possible.
pub(crate) fn document(value: &Value, report: &mut Report) -> Document {
    let place = ValueLocation::new("", "The workspace");
    let mut document = Document::default();
    let unknown = ReadParts { channels: false, modifiers: false, observations: false };
    if is_something_else(value, report) {
        document.known = unknown;
        return document;
    }
    let Some(map) =
        object(value, &place, &["channels", "observations", "measurements", "version"], &[], report)
    else {
        document.known = unknown;
        return document;
    };
    document.known.channels = read_list(map, "channels", "channel", report, |item, at, report| {
        channel(item, at, &mut document.known, report).map(|c| document.channels.push(c)).is_some()
    });
    document.known.modifiers &= document.known.channels;
    document.known.observations =
        read_list(map, "observations", "observation", report, |item, at, report| {
            observation(item, at, report).map(|o| document.observations.push(o)).is_some()
        });
    read_list(map, "measurements", "measurement", report, |item, at, report| {
        measurement(item, at, report).map(|m| document.measurements.push(m)).is_some()
    });
    if let Some(version) = map.get("version") {
        check_version(version, report);
    }
    document
}

/// Returns whether the value is a file of another kind that is often confused with a workspace. Reports such
/// a file in one sentence, in place of a list of missing keys.
pub(super) fn is_something_else(value: &Value, report: &mut Report) -> bool {
    let message = match value {
        Value::Array(items) if items.iter().any(|i| i.get("op").is_some()) => (
            "This is a JSON Patch, not a workspace.",
            "Give the workspace it belongs to as the input, and this file as the patch.",
        ),
        Value::Object(map) if map.contains_key("patches") && !map.contains_key("channels") => (
            "This is a patchset, not a workspace.",
            "Give the background-only workspace as the input, and this file with the name of a patch as the patch.",
        ),
        Value::Object(map) if map.contains_key("distributions") && map.contains_key("likelihoods") => (
            "This is an HS3 model, not a pyhf workspace.",
            "Commands that fit take it; this one needs a workspace.",
        ),
        Value::Object(map)
            if map.contains_key("channels")
                && map.contains_key("parameters")
                && !map.contains_key("measurements") =>
        {
            (
                "This is a pyhf model specification, not a workspace: it has parameters of its own and no measurements.",
                "Move the parameters into the config of a measurement, and add observations and the version.",
            )
        }
        _ => return false,
    };
    report.error(String::new(), message.0, message.1);
    true
}

fn check_version(version: &Value, report: &mut Report) {
    if version.as_str() != Some(VERSION) {
        let found = match version {
            Value::String(text) => quoted(text),
            other => kind_of(other).to_owned(),
        };
        report.error(
            "/version".to_owned(),
            format!("The version of the workspace format is {found}, but only \"{VERSION}\" is known."),
            format!("Write \"version\": \"{VERSION}\"."),
        );
    }
}

/// Reads the non-empty array under `key`. `item` reads each element. Returns whether all elements could be
/// read.
fn read_list(
    map: &Map<String, Value>,
    key: &str,
    item_name: &str,
    report: &mut Report,
    mut item: impl FnMut(&Value, usize, &mut Report) -> bool,
) -> bool {
    let Some(value) = map.get(key) else { return false };
    let place = ValueLocation::new(format!("/{key}"), format!("The list of {key}"));
    let Some(items) = non_empty(value, &place, &format!("{item_name} objects"), report) else { return false };
    let mut complete = true;
    for (at, value) in items.iter().enumerate() {
        complete &= item(value, at, report);
    }
    complete
}

/// Reads the value of the key `name`.
fn name_of(map: &Map<String, Value>, place: &ValueLocation, report: &mut Report) -> Option<String> {
    let value = map.get("name")?; // a missing name was reported with the keys
    let name = ValueLocation::new(place.key("name"), format!("The name of {}", lower(&place.what)));
    string(value, &name, report).map(str::to_owned)
}

/// Returns the kind and the name of an object, for messages. An object without a name is described by its index `at`
/// in the list. The text `of` is appended.
fn described(kind: &str, at: usize, value: &Value, of: &str) -> String {
    match value.get("name").and_then(Value::as_str) {
        Some(name) => format!("{kind} {}{of}", quoted(name)),
        None => format!("{kind} number {at}{of} (counted from 0)"),
    }
}

fn channel(value: &Value, at: usize, known: &mut ReadParts, report: &mut Report) -> Option<Channel> {
    let place = ValueLocation::new(format!("/channels/{at}"), described("Channel", at, value, ""));
    let map = object(value, &place, &["name", "samples"], &[], report)?;
    let name = name_of(map, &place, report);
    let mut samples = Vec::new();
    let items = map.get("samples").and_then(|value| {
        let samples = ValueLocation::new(
            place.key("samples"),
            format!("The list of samples of {}", lower(&place.what)),
        );
        non_empty(value, &samples, "sample objects", report)
    });
    known.modifiers &= items.is_some();
    for (s, item) in items.unwrap_or_default().iter().enumerate() {
        match sample(item, s, &place, known, report) {
            Some(sample) => samples.push(sample),
            None => known.modifiers = false,
        }
    }
    let Some(name) = name else {
        known.modifiers = false;
        return None;
    };
    Some(Channel { at, name, samples })
}

fn sample(
    value: &Value,
    at: usize,
    channel: &ValueLocation,
    known: &mut ReadParts,
    report: &mut Report,
) -> Option<Sample> {
    let of = format!(" of {}", lower(&channel.what));
    let place =
        ValueLocation::new(format!("{}/samples/{at}", channel.path), described("Sample", at, value, &of));
    let map = object(value, &place, &["name", "data", "modifiers"], &[], report)?;
    let name = name_of(map, &place, report);
    let data = map.get("data").map_or_else(Vec::new, |value| {
        let what = format!("The data of {}", lower(&place.what));
        numbers(value, &ValueLocation::new(place.key("data"), what), report)
    });
    let mut modifiers = Vec::new();
    let items = map.get("modifiers").and_then(|value| {
        let what = format!("The list of modifiers of {}", lower(&place.what));
        array(value, &ValueLocation::new(place.key("modifiers"), what), "modifier objects", report)
    });
    known.modifiers &= items.is_some();
    for (m, item) in items.unwrap_or_default().iter().enumerate() {
        match modifier(item, m, &place, report) {
            Some(modifier) => modifiers.push(modifier),
            None => known.modifiers = false,
        }
    }
    // The modifiers of a sample without a name are read too, because they may have problems of their own.
    let name = name.unwrap_or_else(|| {
        known.modifiers = false;
        format!("number {at} (unnamed)")
    });
    Some(Sample { at, name, data, modifiers })
}

fn modifier(value: &Value, at: usize, sample: &ValueLocation, report: &mut Report) -> Option<Modifier> {
    let of = format!(" on {}", lower(&sample.what));
    let place =
        ValueLocation::new(format!("{}/modifiers/{at}", sample.path), described("Modifier", at, value, &of));
    let map = object(value, &place, &["name", "type", "data"], &[], report)?;
    let name = name_of(map, &place, report);
    let kind = map.get("type").and_then(|value| modifier_type(value, &place, report));
    let kind = kind?;
    let data = map.get("data");
    let data_place = ValueLocation::new(
        place.key("data"),
        format!("The data of the {kind} {}", lower_object(&place.what)),
    );
    let mut pair = |keys: [&str; 2]| -> Option<(Option<&Value>, Option<&Value>)> {
        let map = object(data?, &data_place, &keys, &[], report)?;
        let [lo, hi] = keys;
        Some((map.get(lo), map.get(hi)))
    };
    let effect = match kind {
        ModifierType::Function => Effect::Function(formulas(data, &data_place, report)?),
        ModifierType::HistoSys => {
            let (lo, hi) = pair(["lo_data", "hi_data"]).unwrap_or_default();
            Effect::HistoSys {
                lo: template(lo, "lo_data", &data_place, report),
                hi: template(hi, "hi_data", &data_place, report),
            }
        }
        ModifierType::NormSys => {
            let (lo, hi) = pair(["lo", "hi"]).unwrap_or_default();
            Effect::NormSys {
                lo: factor(lo, "lo", &data_place, report),
                hi: factor(hi, "hi", &data_place, report),
            }
        }
        ModifierType::ShapeSys | ModifierType::StatError => {
            let data = data.map_or_else(Vec::new, |data| numbers(data, &data_place, report));
            if kind == ModifierType::ShapeSys { Effect::ShapeSys(data) } else { Effect::StatError(data) }
        }
        ModifierType::Lumi | ModifierType::NormFactor | ModifierType::ShapeFactor => {
            if let Some(data) = data.filter(|d| !d.is_null()) {
                report.error(
                    data_place.path.clone(),
                    format!("{} must be null, but is {}.", data_place.what, kind_of(data)),
                    format!(
                        "Write \"data\": null; start value and bounds of a {kind} belong into the parameters of the \
                         measurement."
                    ),
                );
            }
            match kind {
                ModifierType::Lumi => Effect::Lumi,
                ModifierType::NormFactor => Effect::NormFactor,
                _ => Effect::ShapeFactor,
            }
        }
    };
    let name = name?;
    if kind == ModifierType::Lumi && name != "lumi" {
        report.error(
            place.key("name"),
            format!("{} is of type lumi, which must be called 'lumi'.", place.what),
            "Rename it to 'lumi', or make it a normfactor or normsys if it is not the luminosity.",
        );
        return None;
    }
    Some(Modifier { at, name, effect })
}

/// Reads the expressions of a modifier of type `function`.
fn formulas(data: Option<&Value>, place: &ValueLocation, report: &mut Report) -> Option<Formulas> {
    let map = object(data?, place, &[], &["expression", "expressions"], report)?;
    match (map.get("expression"), map.get("expressions")) {
        (Some(text), None) => {
            let what = format!("The expression in {}", lower(&place.what));
            string(text, &ValueLocation::new(place.key("expression"), what), report)
                .map(|text| Formulas::Whole(text.to_owned()))
        }
        (None, Some(texts)) => {
            let what = format!("The expressions in {}", lower(&place.what));
            let list = ValueLocation::new(place.key("expressions"), what);
            let texts = non_empty(texts, &list, "expressions", report)?;
            let one = |(bin, text): (usize, &Value)| {
                let what = format!("Expression {bin} of {}", lower(&place.what));
                string(text, &ValueLocation::new(list.key(&bin.to_string()), what), report).map(str::to_owned)
            };
            // All mistakes are reported.
            let read: Vec<Option<String>> = texts.iter().enumerate().map(one).collect();
            read.into_iter().collect::<Option<Vec<_>>>().map(Formulas::Bins)
        }
        _ => {
            report.error(
                place.path.clone(),
                format!("{} must have either 'expression' or 'expressions'.", place.what),
                "Write {\"expression\": \"1 + 0.3*c\"} for all bins, or {\"expressions\": [...]} with one per bin.",
            );
            None
        }
    }
}

/// Removes the word "Modifier" from the beginning of a text such as "Modifier 'x' on ...".
fn lower_object(what: &str) -> &str {
    what.strip_prefix("Modifier ").unwrap_or(what)
}

/// Reads the template of a histosys under `key`, which is `lo_data` or `hi_data`. If the template is missing,
/// returns an empty list and reports nothing, because a missing key has been reported already.
fn template(value: Option<&Value>, key: &str, data: &ValueLocation, report: &mut Report) -> Vec<f64> {
    let Some(value) = value else { return Vec::new() };
    numbers(value, &ValueLocation::new(data.key(key), format!("{key} in {}", lower(&data.what))), report)
}

/// Reads one factor of a normsys; NaN if it is missing.
fn factor(value: Option<&Value>, key: &str, data: &ValueLocation, report: &mut Report) -> f64 {
    let Some(value) = value else { return f64::NAN };
    number(value, &ValueLocation::new(data.key(key), format!("{key} in {}", lower(&data.what))), report)
}

/// Returns the pyhf modifier type that corresponds to the modifier type `name` of other formats (HistFactory's XML
/// and Combine's data cards).
fn foreign_type(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "overallsys" | "lnn" => Some(ModifierType::NormSys.name()),
        "rateparam" => Some(ModifierType::NormFactor.name()),
        _ => None,
    }
}

fn modifier_type(value: &Value, place: &ValueLocation, report: &mut Report) -> Option<ModifierType> {
    let what = format!("The type of {}", lower(&place.what));
    let name = string(value, &ValueLocation::new(place.key("type"), what), report)?;
    let kind = ModifierType::from_name(name);
    if kind.is_none() {
        let names = ModifierType::ALL.map(ModifierType::name);
        report.error(
            place.key("type"),
            format!("{} has the unknown type {}.", place.what, quoted(name)),
            match foreign_type(name).or_else(|| nearest(name, names.iter().copied())) {
                Some(near) => format!("Did you mean {}? {}", quoted(near), list("The types are", &names)),
                None => list("The types are", &names),
            },
        );
    }
    kind
}

fn observation(value: &Value, at: usize, report: &mut Report) -> Option<Observation> {
    let place = ValueLocation::new(format!("/observations/{at}"), described("Observation", at, value, ""));
    let map = object(value, &place, &["name", "data"], &[], report)?;
    let name = name_of(map, &place, report);
    let data = map.get("data").map_or_else(Vec::new, |value| {
        let what = format!("The data of {}", lower(&place.what));
        numbers(value, &ValueLocation::new(place.key("data"), what), report)
    });
    Some(Observation { at, name: name?, data })
}

fn measurement(value: &Value, at: usize, report: &mut Report) -> Option<Measurement> {
    let place = ValueLocation::new(format!("/measurements/{at}"), described("Measurement", at, value, ""));
    let map = object(value, &place, &["name", "config"], &[], report)?;
    let name = name_of(map, &place, report);
    let config_place =
        ValueLocation::new(place.key("config"), format!("The config of {}", lower(&place.what)));
    let config = map.get("config").and_then(|value| config(value, &config_place, report));
    Some(Measurement { at, name: name?, config: config? })
}

fn config(value: &Value, place: &ValueLocation, report: &mut Report) -> Option<Config> {
    let map = object(value, place, &["poi", "parameters"], &[], report)?;
    let poi = map.get("poi").and_then(|value| {
        let what = format!("The parameter of interest (poi) in {}", lower(&place.what));
        let place = ValueLocation::new(place.key("poi"), what);
        if value.is_null() {
            report.error(
                place.path,
                format!("{} is null.", place.what),
                "Write \"poi\": \"\" if there is none, as in a background-only workspace.",
            );
            return None;
        }
        interest(value, &place, report)
    });
    let mut parameters = Vec::new();
    if let Some(value) = map.get("parameters") {
        let what = format!("The list of parameters in {}", lower(&place.what));
        let list = ValueLocation::new(place.key("parameters"), what);
        for (at, item) in
            array(value, &list, "parameter settings", report).unwrap_or_default().iter().enumerate()
        {
            parameters.extend(setting(item, at, &list, report));
        }
    }
    Some(Config { poi_broken: poi.is_none(), poi: poi.unwrap_or_default(), parameters })
}

/// Reads the names of the parameters of interest: a text or a list of texts.
fn interest(value: &Value, place: &ValueLocation, report: &mut Report) -> Option<Interest> {
    let Value::Array(items) = value else {
        return string(value, place, report).map(|name| Interest::new(vec![name.to_owned()]));
    };
    if items.is_empty() {
        report.error(
            place.path.clone(),
            format!("{} is an empty list.", place.what),
            "List the names of parameters, or write \"poi\": \"\" if there is none.",
        );
        return None;
    }
    let name = |(at, item): (usize, &Value)| {
        let what = format!("Entry {at} of {}", lower(&place.what));
        let place = ValueLocation::new(format!("{}/{at}", place.path), what);
        string(item, &place, report).map(str::to_owned)
    };
    let names: Vec<Option<String>> = items.iter().enumerate().map(name).collect();
    names.into_iter().collect::<Option<_>>().map(Interest::new)
}

fn setting(value: &Value, at: usize, list: &ValueLocation, report: &mut Report) -> Option<Setting> {
    let place =
        ValueLocation::new(format!("{}/{at}", list.path), described("Parameter setting", at, value, ""));
    const OPTIONAL: [&str; 6] = ["inits", "bounds", "auxdata", "factors", "sigmas", "fixed"];
    let map = object(value, &place, &["name"], &OPTIONAL, report)?;
    let mut setting = Setting { at, ..Setting::default() };
    let name = name_of(map, &place, report);
    let what = |key: &str| ValueLocation::new(place.key(key), format!("{key} in {}", lower(&place.what)));
    let mut broken = map.keys().any(|k| k != "name" && !OPTIONAL.contains(&k.as_str()));
    let mut read = |key: &str, report: &mut Report| {
        let numbers = numbers(map.get(key)?, &what(key), report);
        let sound = !numbers.is_empty() && numbers.iter().all(|x| !x.is_nan());
        broken |= !sound;
        sound.then_some(numbers)
    };
    setting.inits = read("inits", report);
    setting.auxdata = read("auxdata", report);
    setting.factors = read("factors", report);
    setting.sigmas = read("sigmas", report);
    if let Some(value) = map.get("bounds") {
        setting.bounds = bounds(value, &what("bounds"), report);
        broken |= setting.bounds.is_none();
    }
    if let Some(value) = map.get("fixed") {
        setting.fixed = value.as_bool();
        if setting.fixed.is_none() {
            broken = true;
            report.error(
                place.key("fixed"),
                format!("{} must be true or false, but is {}.", what("fixed").what, kind_of(value)),
                "Write true or false, without quotes; it holds for all parameters of the name.",
            );
        }
    }
    setting.broken = broken;
    setting.name = name?;
    Some(setting)
}

/// Reads an array of pairs of numbers; `None` if any pair cannot be read.
fn bounds(value: &Value, place: &ValueLocation, report: &mut Report) -> Option<Vec<(f64, f64)>> {
    let items = non_empty(value, place, "[lower, upper] pairs", report)?;
    if let [lo, hi] = items
        && lo.is_number()
        && hi.is_number()
    {
        report.error(
            place.path.clone(),
            format!("{} must be an array of pairs, but is a single pair.", place.what),
            format!("Put it into one more pair of brackets: [[{lo}, {hi}]]."),
        );
        return None;
    }
    let mut pairs = Vec::with_capacity(items.len());
    let mut sound = true;
    for (i, item) in items.iter().enumerate() {
        let pair = ValueLocation::new(
            format!("{}/{i}", place.path),
            format!("Element {i} of {}", lower(&place.what)),
        );
        match item.as_array().map(Vec::as_slice) {
            Some([lo, hi]) => {
                let at = |end| {
                    ValueLocation::new(
                        format!("{}/{end}", pair.path),
                        format!("A bound in {}", lower(&pair.what)),
                    )
                };
                let (lo, hi) = (number(lo, &at(0), report), number(hi, &at(1), report));
                sound &= !(lo.is_nan() || hi.is_nan());
                pairs.push((lo, hi));
            }
            other => {
                sound = false;
                let found = match other {
                    Some(items) => format!("an array of {}", items.len()),
                    None => kind_of(item).to_owned(),
                };
                report.error(
                    pair.path,
                    format!("{} must be a pair [lower, upper], but is {found}.", pair.what),
                    "Write the lower and the upper bound.",
                );
            }
        }
    }
    sound.then_some(pairs)
}
