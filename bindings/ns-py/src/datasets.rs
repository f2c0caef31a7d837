//! Data sets of a model, from arrays of counts and from events by channel.

use std::sync::Arc;

use ns_core::{Model, Observations};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Rows, bad};

/// Reads data sets of a model. Returns them and the number of rows, which is `None` for a single data set. A
/// row contains the main counts, or the main counts followed by the auxiliary data. If it has no auxiliary
/// data, those of the model's observed data are used.
///
/// # Errors
/// `ValueError` for another length. A dictionary has events by the names of channels, see
/// [`crate::events::data`].
pub(crate) fn datasets(
    model: &Model,
    object: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Observations>, Option<usize>)> {
    if let Ok(channels) = object.cast::<PyDict>() {
        return Ok((vec![crate::events::data(model, channels)?], None));
    }
    let rows = Rows::read("the data", object)?;
    let (bins, aux) = (model.n_bins(), model.observed.aux.len());
    if rows.width != bins && rows.width != bins + aux {
        return Err(bad(format!(
            "the data must have {bins} elements (main counts) or {} (with auxiliary data, as observed_data() has); \
             they have {}",
            bins + aux,
            rows.width
        )));
    }
    let split = |row: &[f64]| {
        let (main, rest) = row.split_at(bins.min(row.len()));
        let aux = if rows.width == bins { model.observed.aux.clone() } else { rest.to_vec() };
        Observations::binned(main.to_vec(), aux)
    };
    let sets = match (rows.width, rows.batch) {
        (0, n) => vec![Observations::default(); n.unwrap_or(1)],
        (width, _) => rows.values.chunks(width).map(split).collect(),
    };
    Ok((sets, rows.batch))
}

/// Reads one data set.
///
/// # Errors
/// `ValueError` for a wrong length or a batch.
pub(crate) fn dataset(model: &Model, object: &Bound<'_, PyAny>) -> PyResult<Arc<Observations>> {
    let (mut sets, batch) = datasets(model, object)?;
    match (sets.pop(), batch) {
        (Some(set), None) => Ok(Arc::new(set)),
        _ => {
            Err(bad("the data must have one dimension here; use fit_batch for several data sets".to_owned()))
        }
    }
}
