//! The likelihood at given points.

use ns_core::{Data, Device, Evaluation, EvaluationRequest};
use pyo3::prelude::*;

use crate::arrays::{Rows, dataset};
use crate::device::execution;
use crate::error::session_error;
use crate::model::Model;

/// Most numbers, of points and of bins, for which an evaluation keeps the interpreter to itself.
const BRIEF: usize = 512;

/// Evaluates at one point or at each row of a batch; returns the number of rows of a batch.
///
/// # Errors
/// `ValueError` for a wrong shape or numbers that are not finite.
pub(crate) fn evaluate(
    model: &Model,
    py: Python<'_>,
    params: &Bound<'_, PyAny>,
    data: Option<&Bound<'_, PyAny>>,
    request: EvaluationRequest,
    device: &str,
) -> PyResult<(Evaluation, Option<usize>)> {
    let points = Rows::of_width("params", params, model.inner.parameters.len())?;
    let data = match data {
        None => Data::Observed,
        Some(object) => Data::Binned(dataset(&model.inner, object)?),
    };
    let session = model.session(py, &execution(device, 0)?)?;
    let evaluate = || session.evaluate(&data, &points.values, request);
    // One point of a model of moderate size takes microseconds: handing the interpreter over and back
    // would be a good part of it.
    let brief = matches!(session.device(), Device::Cpu)
        && points.values.len() <= BRIEF
        && !request.hessian
        && model.inner.n_bins() <= BRIEF;
    let result = if brief { evaluate() } else { py.detach(evaluate) };
    Ok((result.map_err(|error| session_error(&error))?, points.batch))
}

/// The shape of an answer: that of one point, with the batch in front.
pub(crate) fn shape(batch: Option<usize>, one: &[usize]) -> Vec<usize> {
    batch.into_iter().chain(one.iter().copied()).collect()
}
