//! Reads data sets of a model. A data set is an array of counts, or a dictionary with the events of each channel.

use std::sync::Arc;

use ns_core::{Model, Observations};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Rows, bad};

/// Reads data sets of a model from the argument `what`. Returns the data sets and the number of rows, which is `None` for a single
/// data set. A row contains the main counts, or the main counts followed by the auxiliary data. For a row
/// without auxiliary data, the observed auxiliary data of the model are used. A dictionary contains the
/// events of each channel, with the names of channels as keys (see [`crate::events::data`]).
///
/// # Errors
/// `ValueError` if a row has the wrong length, and the errors of [`crate::events::data`].
pub(crate) fn datasets(
    model: &Model,
    what: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Observations>, Option<usize>)> {
    if let Ok(channels) = object.cast::<PyDict>() {
        return Ok((vec![crate::events::data(model, channels)?], None));
    }
    let rows = Rows::read(what, object)?;
    let (bins, aux) = (model.n_bins(), model.observed.aux.len());
    if rows.width != bins && rows.width != bins + aux {
        if let Some(channel) = model.event_channels.first() {
            let axis = channel.observables.first().map_or("x", |axis| axis.name.as_str());
            return Err(bad(format!(
                "the model has channels of events: give a dictionary of its channels, for example {{'{}': {{'{axis}': [...]}}}}",
                channel.name
            )));
        }
        return Err(bad(format!(
            "a row of {what} must have {bins} elements (main counts) or {} (with auxiliary data, as observed_data() has); \
             it has {}",
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
/// `ValueError` if the object has a wrong length or is a batch of several data sets.
pub(crate) fn dataset(model: &Model, object: &Bound<'_, PyAny>) -> PyResult<Arc<Observations>> {
    let (mut sets, batch) = datasets(model, "data", object)?;
    match (sets.pop(), batch) {
        (Some(set), None) => Ok(Arc::new(set)),
        _ => Err(bad("data must have one dimension here; use fit_batch for several data sets".to_owned())),
    }
}
