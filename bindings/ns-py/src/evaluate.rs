//! Evaluates the likelihood at given points.

use std::time::{Duration, Instant};

use ns_core::{Data, Device, Evaluation, EvaluationRequest, Session, SessionError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::Rows;
use crate::datasets::dataset;
use crate::device::execution;
use crate::error::{inference_error, session_error};
use crate::model::Model;
use crate::work::released;

/// An evaluation on the CPU keeps the interpreter lock if it has at most this many parameter values and the model has
/// at most this many bins. Such an evaluation takes microseconds.
const BRIEF: usize = 512;

/// Evaluates the likelihood at one point, or at each row of a batch of points. Returns the values and the
/// number of rows. This number is `None` for one point.
///
/// # Errors
/// `ValueError` for a wrong shape or numbers that are not finite; the errors of opening the session.
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
        None => ns_inference::observed(&model.inner).map_err(|error| inference_error(&error))?,
        Some(object) => dataset(&model.inner, object)?.into(),
    };
    let session = model.session(py, &execution(device, 0)?)?;
    let evaluate = || session.evaluate(&data, &points.values, request);
    // One point of a model of moderate size takes microseconds. Releasing the interpreter lock would take a
    // large part of this time.
    let brief = matches!(session.device(), Device::Cpu)
        && points.values.len() <= BRIEF
        && !request.hessian
        && model.inner.n_bins() <= BRIEF;
    let result = if brief { evaluate() } else { in_portions(py, session.as_ref(), &data, &points, request)? };
    Ok((result.map_err(|error| of_params(&points).unwrap_or_else(|| session_error(&error)))?, points.batch))
}

/// Returns the error for the first parameter value that is not finite. The message gives the index of this value in the
/// argument `params`. Returns `None` if all values are finite.
fn of_params(points: &Rows) -> Option<PyErr> {
    let index = points.values.iter().position(|x| !x.is_finite())?;
    let (row, column) = (index / points.width, index % points.width);
    let place = if points.batch.is_some() { format!("{row}, {column}") } else { column.to_string() };
    let value = points.values.get(index)?;
    Some(PyValueError::new_err(format!("params[{place}] is {value}; give a finite number")))
}

/// Intended longest time between two checks whether the user pressed Ctrl-C.
const PORTION: Duration = Duration::from_millis(100);

/// Number of points in the first portion on a GPU. GPUs are slow if they get few points at a time.
const MANY: usize = 1024;

/// Evaluates the points in portions, with the interpreter lock released. After each portion, checks whether
/// the user pressed Ctrl-C.
///
/// # Errors
/// The exception that a signal handler raised.
fn in_portions(
    py: Python<'_>,
    session: &dyn Session,
    data: &Data,
    points: &Rows,
    request: EvaluationRequest,
) -> PyResult<Result<Evaluation, SessionError>> {
    let mut size = if session.device() == Device::Cpu { 1 } else { MANY };
    let (mut all, mut rest) = (None, points.values.as_slice());
    loop {
        let (some, later) = rest.split_at(rest.len().min(size.saturating_mul(points.width)));
        let started = Instant::now();
        let found = match released(py, || session.evaluate(data, some, request))? {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        match &mut all {
            None => all = Some(found),
            Some(all) => append(all, found),
        }
        rest = later;
        if rest.is_empty() {
            return Ok(Ok(all.unwrap_or_default()));
        }
        py.check_signals()?;
        if started.elapsed() < PORTION / 2 {
            size = size.saturating_mul(2);
        }
    }
}

/// Appends the values of `more` to those of `all`.
fn append(all: &mut Evaluation, more: Evaluation) {
    all.nll.extend(more.nll);
    all.nll_main.extend(more.nll_main);
    all.nll_constraint.extend(more.nll_constraint);
    all.gradient.extend(more.gradient);
    all.hessian.extend(more.hessian);
    all.expected.extend(more.expected);
    all.samples.extend(more.samples);
}

/// Returns the shape of an array of results. For a single point this is `one`. For a batch, it is the number of
/// points followed by `one`.
pub(crate) fn shape(batch: Option<usize>, one: &[usize]) -> Vec<usize> {
    batch.into_iter().chain(one.iter().copied()).collect()
}
