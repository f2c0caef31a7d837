//! The toys of a result, if they were asked for: columns with an entry for each toy, named as in files of toys.

use std::borrow::Cow;
use std::sync::Mutex;

use ns_inference::toys::{FitToyRow, ToyRow, ToyStatus};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

/// What a Python result keeps besides its numbers: the data of its picture, and its toys if they were asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WithToys<P> {
    pub(crate) picture: P,
    pub(crate) toys: Option<KeptToys>,
}

impl<P> WithToys<P> {
    /// Returns a picture of a result whose toys were not asked for.
    pub(crate) fn without(picture: P) -> Self {
        Self { picture, toys: None }
    }
}

/// Columns of equal length with their names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct KeptToys(Vec<(String, Column)>);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Column {
    Words(Vec<Cow<'static, str>>),
    Counts(Vec<u64>),
    Numbers(Vec<Option<f64>>),
}

impl KeptToys {
    /// Makes the columns of the toys of a hypothesis test.
    pub(crate) fn of_test(mut rows: Vec<ToyRow>) -> Self {
        rows.sort_unstable_by_key(|row| (row.hypothesis, row.index));
        let word = |row: &ToyRow| Cow::Borrowed(row.hypothesis.name());
        Self(vec![
            ("hypothesis".to_owned(), Column::Words(rows.iter().map(word).collect())),
            ("index".to_owned(), Column::Counts(rows.iter().map(|row| row.index).collect())),
            ("statistic".to_owned(), Column::Numbers(rows.iter().map(|row| row.statistic).collect())),
            ("mu_hat".to_owned(), Column::Numbers(rows.iter().map(|row| row.mu_hat).collect())),
            ("status".to_owned(), Column::Words(rows.iter().map(|row| status(row.status)).collect())),
            ("reason".to_owned(), Column::Words(rows.into_iter().map(|row| row.reason.into()).collect())),
        ])
    }

    /// Makes the columns of the toys of a study of these parameters.
    pub(crate) fn of_study(params: &[String], mut rows: Vec<FitToyRow>) -> Self {
        rows.sort_unstable_by_key(|row| row.index);
        let mut columns = vec![
            ("index".to_owned(), Column::Counts(rows.iter().map(|row| row.index).collect())),
            ("nll".to_owned(), Column::Numbers(rows.iter().map(|row| row.nll).collect())),
            ("status".to_owned(), Column::Words(rows.iter().map(|row| status(row.status)).collect())),
        ];
        for (i, name) in params.iter().enumerate() {
            let values = rows.iter().map(|row| row.values.get(i).copied()).collect();
            columns.push((format!("value:{name}"), Column::Numbers(values)));
            let uncertainties = rows.iter().map(|row| row.uncertainties.get(i).copied().flatten()).collect();
            columns.push((format!("uncertainty:{name}"), Column::Numbers(uncertainties)));
        }
        let reasons = rows.into_iter().map(|row| row.reason.into()).collect();
        columns.insert(3, ("reason".to_owned(), Column::Words(reasons)));
        Self(columns)
    }

    /// Returns a dictionary from names to arrays, with NaN for numbers that do not exist, and to lists of texts.
    pub(crate) fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, column) in &self.0 {
            match column {
                Column::Words(words) => columns.set_item(name, words)?,
                Column::Counts(counts) => columns.set_item(name, PyArray1::from_slice(py, counts))?,
                Column::Numbers(numbers) => {
                    let numbers = numbers.iter().map(|number| number.unwrap_or(f64::NAN)).collect();
                    columns.set_item(name, PyArray1::from_vec(py, numbers))?;
                }
            }
        }
        Ok(columns)
    }
}

/// The word for a status in files of toys.
fn status(status: ToyStatus) -> Cow<'static, str> {
    Cow::Borrowed(status.name())
}

/// Takes what an analysis has put there.
pub(crate) fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

/// Puts something there for [`taken`].
pub(crate) fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(value);
}
