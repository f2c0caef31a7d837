//! Files with correlations between the Gaussian constraints of parameters.

use ns_core::{Constraint, CorrelationError, Correlations, Model, Penalty, PenaltyForm};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::names::quoted;

/// Largest number of correlated parameters in one matrix. The time and memory of a term grow with the square.
const MOST: usize = 500;

/// Correlation matrices of parameters, by name. A parameter is in one matrix at most, and is independent of those of the
/// other matrices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CorrelationTables {
    tables: Vec<CorrelationTable>,
}

/// One correlation matrix of parameters, by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrelationTable {
    /// Full names of the parameters, in the order of the rows.
    pub parameters: Vec<String>,
    /// Correlations, one list per row.
    pub correlations: Vec<Vec<f64>>,
}

/// The reason why correlations cannot be read, or do not suit a model.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CorrelationsError {
    /// The text is neither JSON of the expected form nor a table of comma-separated values.
    #[error("correlations: {message}; {remedy}")]
    Form {
        /// What is wrong, with its place.
        message: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// The rows of a matrix do not have one element per parameter.
    #[error(
        "correlations: the matrix of {first} and others has {n} parameters and {rows} rows, of which row {row} has {columns} elements; \
         give one row and one column per parameter",
        first = quoted(first)
    )]
    Shape {
        /// Name of the first parameter.
        first: String,
        /// Number of parameters.
        n: usize,
        /// Number of rows.
        rows: usize,
        /// The first row of another length, or the last row.
        row: usize,
        /// Number of its elements.
        columns: usize,
    },
    /// The model has no such parameter.
    #[error("correlations: the model has no parameter {}; `nextstat inspect` lists all", quoted(name))]
    UnknownParameter {
        /// The name.
        name: String,
    },
    /// A parameter is named twice.
    #[error(
        "correlations: parameter {} is named twice, or has correlations in the model already; name it once",
        quoted(name)
    )]
    Twice {
        /// The name.
        name: String,
    },
    /// A parameter has no Gaussian constraint.
    #[error(
        "correlations: parameter {} has {kind}, and only Gaussian constraints can be correlated; leave it out",
        quoted(name)
    )]
    NotGaussian {
        /// The name.
        name: String,
        /// What it has instead.
        kind: &'static str,
    },
    /// An element of a matrix is wrong.
    #[error("correlations: the element of {} and {} is {value}, {problem}", quoted(row), quoted(column))]
    Element {
        /// Name of the parameter of the row.
        row: String,
        /// Name of the parameter of the column.
        column: String,
        /// The element.
        value: f64,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The matrix as a whole is wrong.
    #[error("correlations of {} and others: {source}", quoted(first))]
    Matrix {
        /// Name of the first parameter.
        first: String,
        /// What is wrong, and what to do.
        source: CorrelationError,
    },
}

/// A file has one matrix or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tables {
    One(CorrelationTable),
    Many(Vec<CorrelationTable>),
}

impl From<Vec<CorrelationTable>> for CorrelationTables {
    fn from(tables: Vec<CorrelationTable>) -> Self {
        Self { tables }
    }
}

impl CorrelationTables {
    /// Reads a file: JSON with the keys `parameters` and `correlations`, a list of such objects, or comma-separated values
    /// whose first row and first column have the names.
    ///
    /// # Errors
    /// [`CorrelationsError::Form`] for other contents.
    pub fn from_slice(text: &[u8]) -> Result<Self, CorrelationsError> {
        const REMEDY: &str = "give {\"parameters\": [NAME, ...], \"correlations\": [[1, ...], ...]}, a list of such objects, or \
                              comma-separated values with the names in the first row and the first column";
        let wrong = |message: String| CorrelationsError::Form { message, remedy: REMEDY };
        let text =
            std::str::from_utf8(text).map_err(|error| wrong(format!("the text is not UTF-8 ({error})")))?;
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with(['{', '[']) {
            return match serde_json::from_str(text) {
                Ok(Tables::One(table)) => Ok(vec![table].into()),
                Ok(Tables::Many(tables)) => Ok(tables.into()),
                Err(error) => Err(wrong(format!("the JSON has another form ({error})"))),
            };
        }
        comma_separated(text).map(|table| vec![table].into()).map_err(wrong)
    }

    /// Returns the matrices as JSON that [`Self::from_slice`] reads; `None` if there are none.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        if self.tables.is_empty() { None } else { serde_json::to_string(&self.tables).ok() }
    }

    /// Adds the matrices of another file.
    pub fn extend(&mut self, other: Self) {
        self.tables.extend(other.tables);
    }

    /// Adds the correlations to a model.
    ///
    /// # Errors
    /// If a name is unknown or is given twice, a parameter has no Gaussian constraint, or a matrix is no correlation matrix.
    pub fn apply(&self, model: &mut Model) -> Result<(), CorrelationsError> {
        let mut known: Vec<usize> =
            model.correlations().flat_map(|own| own.parameters().iter().copied()).collect();
        for table in &self.tables {
            let own = table.resolve(model, &mut known)?;
            let name = format!("correlations of {}", table.parameters.join(", "));
            model.penalties.push(Penalty { name, form: PenaltyForm::Correlated(own) });
        }
        Ok(())
    }
}

impl CorrelationTable {
    /// Finds the parameters in the model, and adds their indices to `known`, those that have correlations already.
    fn resolve(&self, model: &Model, known: &mut Vec<usize>) -> Result<Correlations, CorrelationsError> {
        let first = self.parameters.first().cloned().unwrap_or_default();
        let n = self.parameters.len();
        if !(2..=MOST).contains(&n) {
            return Err(CorrelationsError::Form {
                message: format!("the number of parameters of a matrix is {n}"),
                remedy: "name 2 to 500",
            });
        }
        let other = self.correlations.iter().position(|row| row.len() != n);
        if other.is_some() || self.correlations.len() != n {
            let rows = self.correlations.len();
            let row = other.unwrap_or(rows.saturating_sub(1));
            let columns = self.correlations.get(row).map_or(0, Vec::len);
            return Err(CorrelationsError::Shape { first, n, rows, row, columns });
        }
        let mut indices = Vec::with_capacity(n);
        for name in &self.parameters {
            let index = model
                .parameter_index(name)
                .ok_or_else(|| CorrelationsError::UnknownParameter { name: name.clone() })?;
            if known.contains(&index) {
                return Err(CorrelationsError::Twice { name: name.clone() });
            }
            known.push(index);
            indices.push(index);
            let kind = match model.parameters.get(index).map(|p| p.constraint) {
                Some(Constraint::Gaussian { .. }) => continue,
                Some(Constraint::Poisson { .. }) => "a Poisson constraint",
                Some(Constraint::None) | None => "no constraint",
            };
            return Err(CorrelationsError::NotGaussian { name: name.clone(), kind });
        }
        Correlations::new(indices, self.correlations.concat()).map_err(|error| self.named(error))
    }

    /// Adds the names of parameters to an error that has their rows.
    fn named(&self, error: CorrelationError) -> CorrelationsError {
        let name = |row: usize| self.parameters.get(row).cloned().unwrap_or_default();
        let element = |row, column, value, problem: String| CorrelationsError::Element {
            row: name(row),
            column: name(column),
            value,
            problem,
        };
        match error {
            CorrelationError::NotFinite { row, column, value } => {
                element(row, column, value, "which is no finite number; give one".to_owned())
            }
            CorrelationError::Diagonal { row, value } => {
                let problem =
                    "and the diagonal of a correlation matrix is 1; divide covariances by the widths";
                element(row, row, value, problem.to_owned())
            }
            CorrelationError::NotSymmetric { row, column, value, mirrored } => element(
                row,
                column,
                value,
                format!("and its mirror image is {mirrored}; give both the same value"),
            ),
            source => CorrelationsError::Matrix { first: name(0), source },
        }
    }
}

/// Reads comma-separated values whose first row and first column have the names of the parameters.
fn comma_separated(text: &str) -> Result<CorrelationTable, String> {
    let mut rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = rows.next().ok_or("the file is empty")?;
    let parameters: Vec<String> = fields(head).into_iter().skip(1).collect();
    let mut correlations = Vec::new();
    for (line, text) in rows {
        let mut cells = fields(text).into_iter();
        let name = cells.next().unwrap_or_default();
        let expected = parameters.get(correlations.len()).map_or("", String::as_str);
        if name != expected {
            return Err(format!(
                "line {} begins with {}, and the names of the first row have {} there",
                line + 1,
                quoted(&name),
                quoted(expected)
            ));
        }
        let number = |(column, cell): (usize, String)| {
            cell.parse::<f64>().map_err(|_| {
                format!("line {}, field {}: {} is no number", line + 1, column + 2, quoted(&cell))
            })
        };
        correlations.push(cells.enumerate().map(number).collect::<Result<Vec<f64>, String>>()?);
    }
    Ok(CorrelationTable { parameters, correlations })
}

/// Splits a line at commas outside quotation marks. Two quotation marks within quotation marks stand for one.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let Some(field) = fields.last_mut() else { break };
        match c {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}
