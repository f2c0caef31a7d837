//! Derivatives with respect to parameters that move a jump of a density. The part of the derivatives that comes from the
//! jump is not computed, so they are NaN.

use std::ffi::CString;

use ns_core::Evaluation;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use crate::model::Model;

/// Replaces derivatives with respect to parameters that move a jump of a density by NaN. Warns if one of these parameters
/// is free.
///
/// # Errors
/// If the user has made warnings errors.
pub(crate) fn withdraw(model: &Model, py: Python<'_>, made: &mut Evaluation) -> PyResult<()> {
    let jumps = model.jumps();
    if jumps.is_empty() {
        return Ok(());
    }
    let n = model.inner.parameters.len();
    for row in made.gradient.chunks_exact_mut(n) {
        jumps.iter().for_each(|&p| row[p] = f64::NAN);
    }
    for matrix in made.hessian.chunks_exact_mut(n * n) {
        for &p in jumps {
            for q in 0..n {
                (matrix[p * n + q], matrix[q * n + p]) = (f64::NAN, f64::NAN);
            }
        }
    }
    let parameters = jumps.iter().filter_map(|p| model.inner.parameters.get(*p)).filter(|p| !p.fixed);
    let names: Vec<&str> = parameters.map(|p| p.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    let text = format!(
        "derivatives with respect to {names} are NaN: a density jumps at a place that depends on {names}, and what comes from \
         the jump is not computed; fix {names}, scan over a grid of values, or write a smooth turn-on"
    );
    let text = CString::new(text).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}
