//! The columns of files of toys, and the names in these files. There are files with rows of hypothesis tests and files
//! with rows of studies.

use super::column::{Content, Spec, Value};
use crate::InferenceError;
use crate::toys::{FitToyRow, FitToysHeader, Hypothesis, Row, ToyHeader, ToyRow, ToyStatus};

/// Conversion of a row to and from the columns of a file.
pub(super) trait Columns: Sized {
    /// Type of the header, equal to [`Row::Header`].
    type Head;
    /// Returns the name and the type of each column, in the order of the columns.
    fn specs(header: &Self::Head) -> Vec<Spec>;
    /// Passes the values of this row to `take`, in the order of the columns.
    fn values<'a>(&'a self, take: &mut dyn FnMut(Value<'a>));
    /// Builds a row from the values of its columns. If the values do not form a row, the error is the reason.
    fn from_values(values: &[Value<'_>]) -> Result<Self, String>;
}

/// A row that can be stored in files: [`ToyRow`] or [`FitToyRow`].
#[allow(private_bounds)]
pub trait StoredRow: Row + Columns<Head = Self::Header> {
    /// Name of this type of rows. Files contain this name.
    const KIND: &'static str;

    /// Names of the series of toys (for example, of the hypotheses) in files, in the order of [`Row::SERIES`].
    const NAMES: &'static [&'static str];

    /// Returns an error unless toys with these two headers belong to one run.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first field that differs.
    fn compatible(ours: &Self::Header, theirs: &Self::Header) -> Result<(), InferenceError>;

    /// Returns the index in [`Row::SERIES`] of the series to which this row belongs.
    fn stream(&self) -> usize {
        Self::SERIES.iter().position(|series| *series == self.series()).unwrap_or_default()
    }
}

impl StoredRow for ToyRow {
    const KIND: &'static str = "hypotest-toys";
    const NAMES: &'static [&'static str] = &["b", "sb"];

    fn compatible(ours: &ToyHeader, theirs: &ToyHeader) -> Result<(), InferenceError> {
        ours.compatible(theirs)
    }
}

impl Columns for ToyRow {
    type Head = ToyHeader;

    fn specs(_header: &ToyHeader) -> Vec<Spec> {
        vec![
            Spec::new("hypothesis", Content::Name),
            Spec::new("index", Content::Count),
            Spec::new("statistic", Content::Number),
            Spec::new("mu_hat", Content::Number),
            Spec::new("status", Content::Name),
            Spec::new("reason", Content::Text),
        ]
    }

    fn values<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        take(Value::Name(self.hypothesis.name()));
        take(Value::Count(self.index));
        take(Value::Number(self.statistic));
        take(Value::Number(self.mu_hat));
        take(Value::Name(self.status.name()));
        take(reason_value(&self.reason));
    }

    fn from_values(values: &[Value<'_>]) -> Result<Self, String> {
        let [
            Value::Name(hypothesis),
            Value::Count(index),
            Value::Number(statistic),
            Value::Number(mu_hat),
            Value::Name(status_text),
            Value::Text(reason),
        ] = *values
        else {
            return Err("a row with other columns".to_owned());
        };
        Ok(Self {
            hypothesis: Hypothesis::BOTH
                .into_iter()
                .find(|h| h.name() == hypothesis)
                .ok_or_else(|| format!("toy {index} has the hypothesis '{hypothesis}', not b or sb"))?,
            index,
            statistic,
            mu_hat,
            status: status(status_text, index)?,
            reason: reason.unwrap_or_default().to_owned(),
        })
    }
}

impl StoredRow for FitToyRow {
    const KIND: &'static str = "toys";
    const NAMES: &'static [&'static str] = &["the study"];

    fn compatible(ours: &FitToysHeader, theirs: &FitToysHeader) -> Result<(), InferenceError> {
        ours.compatible(theirs)
    }
}

impl Columns for FitToyRow {
    type Head = FitToysHeader;

    fn specs(header: &FitToysHeader) -> Vec<Spec> {
        let mut list = vec![
            Spec::new("index", Content::Count),
            Spec::new("nll", Content::Number),
            Spec::new("status", Content::Name),
            Spec::new("reason", Content::Text),
        ];
        for name in &header.params {
            list.push(Spec::new(format!("value:{name}"), Content::Number));
            list.push(Spec::new(format!("uncertainty:{name}"), Content::Number));
        }
        list
    }

    fn values<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        take(Value::Count(self.index));
        take(Value::Number(self.nll));
        take(Value::Name(self.status.name()));
        take(reason_value(&self.reason));
        for (i, value) in self.values.iter().enumerate() {
            take(Value::Number(Some(*value)));
            take(Value::Number(self.uncertainties.get(i).copied().flatten()));
        }
    }

    fn from_values(values: &[Value<'_>]) -> Result<Self, String> {
        let [
            Value::Count(index),
            Value::Number(nll),
            Value::Name(status_text),
            Value::Text(reason),
            pairs @ ..,
        ] = values
        else {
            return Err("a row with other columns".to_owned());
        };
        let mut row = Self {
            index: *index,
            nll: *nll,
            status: status(status_text, *index)?,
            reason: reason.unwrap_or_default().to_owned(),
            values: Vec::new(),
            uncertainties: Vec::new(),
        };
        for pair in pairs.chunks(2) {
            match pair {
                [Value::Number(Some(value)), Value::Number(uncertainty)] => {
                    row.values.push(*value);
                    row.uncertainties.push(*uncertainty);
                }
                [Value::Number(None), Value::Number(None)] => {}
                _ => return Err(format!("toy {index} has an uncertainty without a value")),
            }
        }
        if row.values.is_empty() || 2 * row.values.len() == pairs.len() {
            Ok(row)
        } else {
            Err(format!("toy {index} has values of some parameters only"))
        }
    }
}

fn status(name: &str, index: u64) -> Result<ToyStatus, String> {
    [ToyStatus::Converged, ToyStatus::NotConverged, ToyStatus::Failed]
        .into_iter()
        .find(|status| status.name() == name)
        .ok_or_else(|| format!("toy {index} has the unknown status '{name}'"))
}

/// Returns the value that stands in files for the reason why a toy failed or did not converge. An empty reason becomes
/// null.
fn reason_value(reason: &str) -> Value<'_> {
    Value::Text(Some(reason).filter(|text| !text.is_empty()))
}
