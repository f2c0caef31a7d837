//! Results as data tables of HEPData (<https://hepdata.net>), in YAML.
//!
//! A result has one or more tables, which are the documents of one YAML file. HEPData takes such a file as a submission.
//! The format is that of HEPData's JSON schemas, version 1.1. Numbers have six significant digits.

mod fit;
mod limit;
mod scan;
mod yaml;
mod yields;

use serde::{Deserialize, Serialize};

/// A table: columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataTable {
    /// Name of the table. HEPData accepts 64 characters, and longer names are cut when they are written.
    pub name: String,
    /// What the table contains.
    pub description: String,
    /// Phrases that describe the table for a search.
    pub phrases: Vec<String>,
    /// Columns that identify the rows.
    pub independent: Vec<DataColumn>,
    /// Columns with the results.
    pub dependent: Vec<DataColumn>,
}

/// A column of a data table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataColumn {
    /// Heading of the column.
    pub name: String,
    /// Properties of all values, with their names, such as the confidence level.
    pub qualifiers: Vec<(String, String)>,
    /// One entry per row.
    pub values: Vec<DataValue>,
}

/// An entry of a data table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DataValue {
    /// A text, such as the name of a sample.
    Text(String),
    /// A range, from its lower to its upper end.
    Range(f64, f64),
    /// A number; `None` if it does not exist.
    Number(Option<f64>),
    /// A number with errors; without a number there are none.
    Measured(Option<f64>, Vec<DataError>),
}

/// An error of a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataError {
    /// What the error comes from, such as `1 sigma`; may be empty.
    pub label: String,
    /// Distance to the lower end, zero or negative.
    pub minus: f64,
    /// Distance to the upper end, zero or positive. If it equals `-minus`, the error is symmetric.
    pub plus: f64,
}

impl DataColumn {
    /// Creates a column without qualifiers.
    #[must_use]
    pub fn new(name: impl Into<String>, values: Vec<DataValue>) -> Self {
        Self { name: name.into(), qualifiers: Vec::new(), values }
    }
}

impl DataValue {
    /// Creates a number with a symmetric error. A number that is not finite does not exist, and one below a millionth of its
    /// error is 0, because its digits would be those of rounding.
    #[must_use]
    pub fn measured(value: Option<f64>, error: Option<f64>) -> Self {
        let is_noise = |value: f64| error.is_some_and(|error| value.abs() < 1e-6 * error);
        let value = value.map(|value| if is_noise(value) { 0.0 } else { value });
        let errors = error.filter(|error| error.is_finite() && *error >= 0.0);
        let errors = errors.map(|error| DataError { label: String::new(), minus: -error, plus: error });
        Self::Measured(value.filter(|value| value.is_finite()), errors.into_iter().collect())
    }
}

/// Returns data tables as the documents of one YAML file, which ends with a line break.
#[must_use]
pub fn hepdata(tables: &[DataTable]) -> String {
    tables.iter().map(yaml::document).collect::<Vec<_>>().join("---\n")
}
