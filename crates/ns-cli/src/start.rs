//! Reads starting points of fits from files.

use std::path::Path;

use ns_core::{Covariance, Model};
use ns_inference::Extrapolated;
use ns_inference::options::Point;
use serde::Deserialize;

use crate::error::CliError;
use crate::load;
use crate::output::complain;

/// The three forms of a file with a starting point.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StartFile {
    /// The result of `nextstat fit`.
    Result {
        parameter_names: Vec<String>,
        bestfit: Vec<f64>,
        #[serde(default)]
        covariance: Option<Vec<Vec<Option<f64>>>>,
    },
    /// All values in the model's order, or some values by name. Parameters without a value have their initial
    /// values.
    Point(Point),
}

/// Reads a starting point for `model`.
///
/// # Errors
/// If the file cannot be read or has another form, or names a parameter that the model lacks.
pub(crate) fn read(path: &Path, model: &Model) -> Result<Vec<f64>, CliError> {
    match read_point(path, model)? {
        StartPoint::Values(values) => Ok(values),
        StartPoint::Fit(fit) => {
            for (names, what) in [
                (&fit.not_in_model, "parameters of this fit that the model lacks are left out"),
                (&fit.not_in_fit, "parameters that this fit did not contain have their initial values"),
            ] {
                if !names.is_empty() {
                    complain("note", &format!("{}: {what}: {}", path.display(), names.join(", ")));
                }
            }
            Ok(fit.parameters)
        }
    }
}

/// A point that a file describes.
pub(crate) enum StartPoint {
    /// The values of all parameters, in the model's order.
    Values(Vec<f64>),
    /// The result of a fit, possibly of a model with other parameters.
    Fit(Extrapolated),
}

/// Reads a point for `model`. The result of a fit may be that of a model with other channels.
///
/// # Errors
/// If the file cannot be read or has another form, names a parameter that the model lacks, or is the result of a fit
/// without any parameter of the model.
pub(crate) fn read_point(path: &Path, model: &Model) -> Result<StartPoint, CliError> {
    let usage = |why: String| CliError::Usage(format!("start values {}: {why}", path.display()));
    if is_assignment(path) && !path.exists() {
        // The user wrote NAME=V, which is the form of `--fix`.
        let tip = "there is no such file; give a JSON file, such as one with {\"mu\": 1.0}";
        return Err(usage(tip.to_owned()));
    }
    let expected = "an object of parameter names and numbers, a list of all values, or the result of a fit";
    let file: StartFile = load::form(path, &usage, expected)?;
    match file {
        StartFile::Point(Point::Values(values)) => Ok(StartPoint::Values(values)),
        StartFile::Point(Point::ByName(named)) => {
            by_name(named, model).map(StartPoint::Values).map_err(usage)
        }
        StartFile::Result { parameter_names: names, bestfit, covariance: matrix } => {
            if names.len() != bestfit.len() {
                return Err(usage("parameter_names and bestfit differ in length".to_owned()));
            }
            if let Some(name) =
                names.iter().enumerate().find_map(|(i, a)| names.get(..i)?.iter().find(|b| a == *b))
            {
                return Err(usage(format!(
                    "{name} is twice in parameter_names; give each parameter one value"
                )));
            }
            let matrix = matrix.map(|rows| covariance(names.len(), rows)).transpose().map_err(usage)?;
            Extrapolated::new(model, &names, &bestfit, matrix.as_ref())
                .map(StartPoint::Fit)
                .map_err(|error| usage(CliError::from(error).to_string()))
        }
    }
}

/// Returns whether a path looks like an assignment `NAME=V`.
fn is_assignment(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.rsplit_once('=').is_some_and(|(_, value)| value.trim().parse::<f64>().is_ok())
}

/// Returns a point that has the given values by name. All other parameters have the model's initial values.
///
/// # Errors
/// For a name that the model lacks, or a name with two values.
pub(crate) fn by_name(named: Vec<(String, f64)>, model: &Model) -> Result<Vec<f64>, String> {
    for (i, (name, value)) in named.iter().enumerate() {
        let earlier = named.iter().take(i).find(|(known, _)| known == name);
        if let Some((_, other)) = earlier.filter(|(_, other)| other != value) {
            return Err(format!("{name} has the values {other} and {value}; give each parameter one"));
        }
    }
    Point::ByName(named).values(model).map_err(|error| CliError::from(error).to_string())
}

/// Returns a covariance matrix of `n` parameters. Null elements become NaN.
fn covariance(n: usize, rows: Vec<Vec<Option<f64>>>) -> Result<Covariance, String> {
    if rows.len() != n || rows.iter().any(|row| row.len() != n) {
        return Err(format!("covariance is no matrix of {n} x {n} numbers"));
    }
    let values = rows.into_iter().flatten().map(|element| element.unwrap_or(f64::NAN)).collect();
    Ok(Covariance { n, values })
}
