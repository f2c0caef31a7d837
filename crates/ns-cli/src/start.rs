//! Start points from a file.

use std::collections::BTreeMap;
use std::path::Path;

use ns_core::Model;
use ns_inference::parameter_index;
use serde::Deserialize;

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
    ByName(BTreeMap<String, f64>),
}

/// Reads a start point for `model`.
///
/// # Errors
/// If the file cannot be read or has another form, or names a parameter that the model lacks.
pub(crate) fn read(path: &Path, model: &Model) -> Result<Vec<f64>, CliError> {
    let usage = |why: String| CliError::Usage(format!("start values {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| usage(format!("not valid JSON: {error}")))?;
    let file = StartFile::deserialize(value).map_err(|_| {
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
        StartFile::ByName(values) => values.into_iter().collect(),
    };
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    for (name, value) in named {
        let index = parameter_index(model, &name).map_err(|error| usage(error.to_string()))?;
        if let Some(x) = point.get_mut(index) {
            *x = value;
        }
    }
    Ok(point)
}
