//! Given results and their uncertainties.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::linear::eigen;
use crate::present::significant;

/// Smallest eigenvalue of a matrix of correlations; below 0, for rounding errors.
const LEAST_EIGENVALUE: f64 = -1e-9;

/// Results that are combined.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs)]
pub struct BlueInput {
    /// The results.
    pub results: Vec<GivenResult>,
    /// Correlations of each source of uncertainty.
    #[serde(default)]
    pub correlations: BTreeMap<String, Correlation>,
}

/// A result with its uncertainties.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::exhaustive_structs)]
pub struct GivenResult {
    /// Name of the result, such as that of an experiment.
    pub name: String,
    /// Name of what is measured. Results with the same name measure the same. If it is empty in all results, there is one.
    #[serde(default)]
    pub quantity: String,
    /// Measured value.
    pub value: f64,
    /// Standard deviation by source. The sign counts: two results that a source moves in opposite directions have
    /// opposite signs.
    pub uncertainties: BTreeMap<String, f64>,
}

/// The correlation of a source of uncertainty between results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a correlation has another form; give a number from -1 to 1, or a matrix as a list of rows of numbers"
)]
#[allow(clippy::exhaustive_enums)]
pub enum Correlation {
    /// The same correlation between all results.
    Common(f64),
    /// The correlation matrix, in the order of the results.
    Matrix(Vec<Vec<f64>>),
}

/// Why results cannot be combined.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BlueError {
    /// The text of the results has another form.
    #[error("{0}")]
    Form(String),
    /// There is no result.
    #[error("results: there is none; give at least one")]
    Empty,
    /// A name is given twice.
    #[error("results: '{0}' is there twice; give each result a name of its own")]
    Twice(String),
    /// A number of a result is not finite.
    #[error("results: {place} of '{name}' is {value}; give a finite number")]
    NotFinite {
        /// Which number.
        place: String,
        /// Name of the result.
        name: String,
        /// The number.
        value: f64,
    },
    /// Some results say what they measure and others do not.
    #[error("results: '{0}' has no quantity, but others have; give one for each")]
    NoQuantity(String),
    /// A source has no correlation.
    #[error(
        "correlations: '{0}' is missing, a source of several results; give a number from -1 to 1 (0 for independent, 1 for fully \
         correlated) or a matrix"
    )]
    Missing(String),
    /// A correlation is for a source that no result has.
    #[error("correlations: no result has the source '{0}'; remove it, or correct its name")]
    UnknownSource(String),
    /// A matrix is not one of correlations.
    #[error("correlations: '{source_name}': {problem}")]
    BadMatrix {
        /// Name of the source.
        source_name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The covariance cannot be inverted.
    #[error(
        "the covariance of the results is not positive: some combination of them would have no uncertainty; check correlations \
         near 1, or give every result an uncertainty of its own"
    )]
    Singular,
}

impl BlueInput {
    /// Reads a text with the results, in TOML or JSON.
    ///
    /// # Errors
    /// [`BlueError::Form`] for other contents.
    pub fn from_slice(text: &[u8]) -> Result<Self, BlueError> {
        let wrong = |message: String| BlueError::Form(message.trim_end().to_owned());
        let text = std::str::from_utf8(text)
            .map_err(|_| wrong("it is no text in UTF-8; give TOML or JSON".to_owned()))?;
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
        } else {
            toml::from_str(text).map_err(|error| wrong(error.to_string()))
        }
    }

    /// Checks the results, and returns the sources of uncertainty, each with its covariance, row by row.
    pub(super) fn sources(&self) -> Result<Vec<(String, Vec<f64>)>, BlueError> {
        let results = &self.results;
        if results.is_empty() {
            return Err(BlueError::Empty);
        }
        let mut names: Vec<&str> = Vec::new();
        for result in results {
            let name = &result.name;
            let seen = results.iter().filter(|other| other.name == *name).count();
            if seen > 1 {
                return Err(BlueError::Twice(name.clone()));
            }
            if result.quantity.is_empty() && results.iter().any(|other| !other.quantity.is_empty()) {
                return Err(BlueError::NoQuantity(name.clone()));
            }
            let numbers = result.uncertainties.iter().map(|(source, value)| (source.as_str(), *value));
            for (place, value) in numbers.chain([("the value", result.value)]) {
                if !value.is_finite() {
                    let (place, name) = (place.to_owned(), name.clone());
                    return Err(BlueError::NotFinite { place, name, value });
                }
            }
            for source in result.uncertainties.keys() {
                if !names.contains(&source.as_str()) {
                    names.push(source);
                }
            }
        }
        if let Some(unknown) = self.correlations.keys().find(|source| !names.contains(&source.as_str())) {
            return Err(BlueError::UnknownSource(unknown.clone()));
        }
        names.into_iter().map(|name| Ok((name.to_owned(), self.covariance(name)?))).collect()
    }

    /// Returns the covariance of one source.
    fn covariance(&self, source: &str) -> Result<Vec<f64>, BlueError> {
        let n = self.results.len();
        let sigma =
            |i: usize| self.results.get(i).and_then(|r| r.uncertainties.get(source)).copied().unwrap_or(0.0);
        let given = self.correlations.get(source);
        let shared = (0..n).filter(|i| sigma(*i) != 0.0).count() > 1;
        if given.is_none() && shared {
            return Err(BlueError::Missing(source.to_owned()));
        }
        let bad = |problem: String| BlueError::BadMatrix { source_name: source.to_owned(), problem };
        let within = |value: f64| {
            let inside = (-1.0..=1.0).contains(&value);
            if inside {
                Ok(value)
            } else {
                Err(bad(format!("{value} is no correlation; give numbers from -1 to 1")))
            }
        };
        let mut correlations = vec![0.0; n * n];
        for (place, entry) in correlations.iter_mut().enumerate() {
            let (i, j) = (place / n, place % n);
            *entry = match given {
                Some(Correlation::Matrix(rows)) => {
                    let at = |i: usize, j: usize| rows.get(i).and_then(|row| row.get(j)).copied();
                    let square = rows.len() == n && rows.iter().all(|row| row.len() == n);
                    let (Some(own), Some(other), true) = (at(i, j), at(j, i), square) else {
                        return Err(bad(format!(
                            "give {n} rows of {n} numbers, in the order of the results"
                        )));
                    };
                    if (own - other).abs() > 1e-9 || (i == j && (own - 1.0).abs() > 1e-9) {
                        return Err(bad("the matrix is not symmetric with 1 on its diagonal".to_owned()));
                    }
                    within(own)?
                }
                _ if i == j => 1.0,
                Some(Correlation::Common(value)) => within(*value)?,
                None => 0.0,
            };
        }
        // Results without the source do not take part: what is said of them there has no effect.
        let of_source: Vec<usize> = (0..n).filter(|i| sigma(*i) != 0.0).collect();
        let entry = |i: usize, j: usize| correlations.get(i * n + j).copied().unwrap_or(0.0);
        let part: Vec<f64> = of_source.iter().flat_map(|i| of_source.iter().map(|j| entry(*i, *j))).collect();
        let smallest = eigen(&part, of_source.len()).0.into_iter().fold(f64::INFINITY, f64::min);
        if smallest < LEAST_EIGENVALUE {
            return Err(bad(match given {
                Some(Correlation::Common(value)) => {
                    let count = of_source.len();
                    let least = significant(-1.0 / (count.saturating_sub(1).max(1) as f64));
                    format!(
                        "{value} between each two of {count} results is not possible; give at least {least}"
                    )
                }
                _ => format!(
                    "no quantities have these correlations: the matrix has the eigenvalue {}; give a matrix without negative \
                     eigenvalues",
                    significant(smallest)
                ),
            }));
        }
        let scaled = |(place, entry): (usize, &f64)| entry * sigma(place / n) * sigma(place % n);
        Ok(correlations.iter().enumerate().map(scaled).collect())
    }
}
