//! sPlot weights: one weight per event and process.
//!
//! The weights are computed from the densities `f_k` of the processes and their fitted yields `N_k`. The weight of
//! process `n` for an event at `x` is `w_n(x) = sum_j V_nj f_j(x) / sum_k N_k f_k(x)`. The matrix `V`, the covariance
//! matrix of the yields, is the inverse of a sum over the events `i`:
//! `(V^-1)_nj = sum_i f_n(x_i) f_j(x_i) / (sum_k N_k f_k(x_i))^2` (equations 12 and 13 of M. Pivk and F. R. Le
//! Diberder, Nucl. Instrum. Meth. A 555 (2005) 356, physics/0402083).
//!
//! If a histogram of another observable is filled with the weights of a process, the histogram estimates the
//! distribution of this process. The other observable must be independent of the observables in the fit. The weights
//! are exact only if the yields are free and the shapes fixed; see [`SplotWeights::closure`].

use ns_compute::{EventShapes, Level};
use ns_core::{Data, Model, SessionError};
use serde::Serialize;

use crate::InferenceError;

/// sPlot weights of the events of one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SplotWeights {
    /// Name of the channel.
    pub channel: String,
    /// Names of the processes.
    pub processes: Vec<String>,
    /// sPlot weights: one list per process, with one number per event. If the events of the data have weights, each
    /// number includes the weight of its event as a factor.
    pub weights: Vec<Vec<f64>>,
    /// Expected number of events of each process at the best fit. The order is that of `processes`.
    pub yields: Vec<f64>,
    /// For each process, the sum of its sPlot weights divided by its yield, minus 1. The value is 0 at the minimum of
    /// an extended fit in which only the yields are free. Any other value shows that the weights are not exact.
    pub closure: Vec<f64>,
}

/// Computes the sPlot weights of the events of a channel at the best fit. `parameters` are the best-fit values of all
/// parameters, and `data` are the data of the fit. `channel` may be `None` if the model has one event channel.
///
/// # Errors
/// If the channel does not exist or is not extended; if a process has no events or the same shape as another process;
/// if the number of parameters is not that of the model.
pub fn splot(
    model: &Model,
    data: &Data,
    parameters: &[f64],
    channel: Option<&str>,
) -> Result<SplotWeights, InferenceError> {
    let n = model.parameters.len();
    if parameters.len() != n {
        let (what, actual) = ("the parameters of sPlot weights", parameters.len());
        return Err(SessionError::WrongLength { what, actual, expected: n }.into());
    }
    let bad = |reason: String| InferenceError::NoSplot { reason };
    let names =
        || model.event_channels.iter().map(|c| format!("'{}'", c.name)).collect::<Vec<_>>().join(", ");
    let index = match channel {
        Some(name) => model.event_channels.iter().position(|c| c.name == name),
        None => (model.event_channels.len() == 1).then_some(0),
    };
    let found = index.and_then(|i| Some((i, model.event_channels.get(i)?)));
    let Some((index, chosen)) = found else {
        return Err(bad(match model.event_channels.is_empty() {
            true => "the model has no channel of events".to_owned(),
            false => format!("name one of the channels of events: {}", names()),
        }));
    };
    if !chosen.extended {
        return Err(bad(format!("the number of events of channel '{}' is not part of the fit", chosen.name)));
    }
    let given = &data.counts(model).events;
    let tables = if given.is_empty() { &model.observed.events } else { given };
    let Some(table) = tables.get(index) else { return Err(bad("there are no events".to_owned())) };
    let shapes = EventShapes::new(model, Level::detect()).map_err(SessionError::from)?;
    let yields = shapes.rates(parameters, index);
    let columns: Vec<&[f64]> = table.columns.iter().map(|column| &column[..]).collect();
    // Each column is a yield times a density. The inverse of V then needs no factors N_n N_j.
    let parts = shapes.densities(parameters, index, &columns);
    let k = parts.len();
    let part =
        |process: usize, event: usize| parts.get(process).and_then(|p| p.get(event)).copied().unwrap_or(0.0);
    let weight = |event: usize| table.weights.as_ref().and_then(|w| w.get(event)).copied().unwrap_or(1.0);
    let totals: Vec<f64> = (0..table.len()).map(|event| (0..k).map(|p| part(p, event)).sum()).collect();
    let mut matrix = vec![vec![0.0; k]; k];
    for (event, total) in totals.iter().enumerate() {
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, element) in row.iter_mut().enumerate() {
                *element += weight(event) * part(i, event) * part(j, event) / (total * total);
            }
        }
    }
    let Some(inverse) = inverted(matrix) else {
        let reason = format!(
            "the processes of channel '{}' cannot be told apart: one has no events, or two have one shape",
            chosen.name
        );
        return Err(bad(reason));
    };
    let mut weights = Vec::with_capacity(k);
    for (row, own) in inverse.iter().zip(&yields) {
        let of = |(event, total): (usize, &f64)| {
            let sum: f64 = row.iter().enumerate().map(|(j, v)| v * part(j, event)).sum();
            weight(event) * own * sum / total
        };
        weights.push(totals.iter().enumerate().map(of).collect::<Vec<f64>>());
    }
    let closure = weights.iter().zip(&yields).map(|(w, own)| w.iter().sum::<f64>() / own - 1.0).collect();
    Ok(SplotWeights {
        channel: chosen.name.clone(),
        processes: chosen.processes.iter().map(|process| process.name.clone()).collect(),
        weights,
        yields,
        closure,
    })
}

/// Returns the inverse of a small symmetric matrix, computed by Gauss-Jordan elimination with pivoting; `None` if the
/// matrix is singular.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    let largest = matrix.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()));
    for column in 0..n {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if !(matrix[pivot][column].abs() > 1e-13 * largest) {
            return None;
        }
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let factor = 1.0 / matrix[column][column];
        for x in matrix[column].iter_mut().chain(inverse[column].iter_mut()) {
            *x *= factor;
        }
        let (own, other) = (matrix[column].clone(), inverse[column].clone());
        for row in (0..n).filter(|row| *row != column) {
            let by = matrix[row][column];
            matrix[row].iter_mut().zip(&own).for_each(|(x, y)| *x -= by * y);
            inverse[row].iter_mut().zip(&other).for_each(|(x, y)| *x -= by * y);
        }
    }
    Some(inverse)
}
