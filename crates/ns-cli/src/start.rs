//! Start points from a file.

use std::fmt;
use std::path::Path;

use ns_core::Model;
use ns_inference::parameter_index;
use ns_translate::pyhf::{WorkspaceError, read_file};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::CliError;

/// The three forms of a start file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StartFile {
    /// The result of `nextstat fit`.
    Result { parameter_names: Vec<String>, bestfit: Vec<f64> },
    /// All values in the model's order.
    List(Vec<f64>),
    /// Some values by name; the others start where the model says.
    ByName(Pairs),
}

/// The entries of an object, in order, repeated ones among them.
#[derive(Debug)]
struct Pairs(Vec<(String, f64)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Reads a start point for `model`.
///
/// # Errors
/// If the file cannot be read or has another form, or names a parameter that the model lacks.
pub(crate) fn read(path: &Path, model: &Model) -> Result<Vec<f64>, CliError> {
    let usage = |why: String| CliError::Usage(format!("start values {}: {why}", path.display()));
    let bytes = read_file(path).map_err(|error| match error {
        WorkspaceError::Io { source, .. } => usage(format!("cannot be read: {source}")),
        other => usage(other.to_string()),
    })?;
    serde_json::from_slice::<IgnoredAny>(&bytes)
        .map_err(|error| usage(format!("not valid JSON: {error}")))?;
    let file: StartFile = serde_json::from_slice(&bytes).map_err(|_| {
        usage(
            "expected an object of parameter names and numbers, a list of all values, or the result of a fit"
                .to_owned(),
        )
    })?;
    let named: Vec<(String, f64)> = match file {
        StartFile::List(values) => return Ok(values),
        StartFile::Result { parameter_names, bestfit } => {
            if parameter_names.len() != bestfit.len() {
                return Err(usage("parameter_names and bestfit differ in length".to_owned()));
            }
            parameter_names.into_iter().zip(bestfit).collect()
        }
        StartFile::ByName(Pairs(values)) => values,
    };
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    for (i, (name, value)) in named.iter().enumerate() {
        let earlier = named.iter().take(i).find(|(known, _)| known == name);
        if let Some((_, other)) = earlier.filter(|(_, other)| other != value) {
            return Err(usage(format!("{name} has the values {other} and {value}; give each parameter one")));
        }
        let index = parameter_index(model, name).map_err(|error| usage(error.to_string()))?;
        if let Some(x) = point.get_mut(index) {
            *x = *value;
        }
    }
    Ok(point)
}
