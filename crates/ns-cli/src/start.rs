//! Reads starting points of fits from files.

use std::path::Path;

use ns_core::{Covariance, Model};
use ns_inference::options::Point;
use ns_inference::parameter_index;
use serde::Deserialize;

use crate::error::CliError;
use crate::load;

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
    read_with_covariance(path, model).map(|(point, _)| point)
}

/// Reads a starting point for `model`. If the file is the result of a fit with a covariance, also reads the
/// covariance.
///
/// # Errors
/// The errors of [`read`], and if the size of the covariance differs from the number of parameters.
pub(crate) fn read_with_covariance(
    path: &Path,
    model: &Model,
) -> Result<(Vec<f64>, Option<Covariance>), CliError> {
    let usage = |why: String| CliError::Usage(format!("start values {}: {why}", path.display()));
    if is_assignment(path) && !path.exists() {
        // The user wrote NAME=V, which is the form of `--fix`.
        let tip = "there is no such file; give a JSON file, such as one with {\"mu\": 1.0}";
        return Err(usage(tip.to_owned()));
    }
    let expected = "an object of parameter names and numbers, a list of all values, or the result of a fit";
    let file: StartFile = load::form(path, &usage, expected)?;
    match file {
        StartFile::Point(Point::Values(values)) => Ok((values, None)),
        StartFile::Point(Point::ByName(named)) => {
            by_name(named, model).map(|point| (point, None)).map_err(usage)
        }
        StartFile::Result { parameter_names, bestfit, covariance: matrix } => {
            if parameter_names.len() != bestfit.len() {
                return Err(usage("parameter_names and bestfit differ in length".to_owned()));
            }
            let matrix = matrix.map(|rows| covariance(&parameter_names, &rows, model));
            let matrix = matrix.transpose().map_err(usage)?;
            let named = parameter_names.into_iter().zip(bestfit).collect();
            by_name(named, model).map(|point| (point, matrix)).map_err(usage)
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

/// Reorders a covariance matrix from the order of `names` to the order of the model's parameters. Null
/// elements become NaN. The elements of parameters that are not in `names` are 0.
fn covariance(names: &[String], rows: &[Vec<Option<f64>>], model: &Model) -> Result<Covariance, String> {
    if rows.len() != names.len() || rows.iter().any(|row| row.len() != names.len()) {
        return Err(format!("covariance is no matrix of {0} x {0} numbers", names.len()));
    }
    let places: Vec<usize> = names
        .iter()
        .map(|name| parameter_index(model, name).map_err(|error| CliError::from(error).to_string()))
        .collect::<Result<_, _>>()?;
    let n = model.parameters.len();
    let mut values = vec![0.0; n * n];
    for (row, i) in rows.iter().zip(&places) {
        for (value, j) in row.iter().zip(&places) {
            if let Some(element) = values.get_mut(i * n + j) {
                *element = value.unwrap_or(f64::NAN);
            }
        }
    }
    Ok(Covariance { n, values })
}
