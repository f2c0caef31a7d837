//! Several parameters of interest: the argument `poi` of analyses, and models with other parameters of interest.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::load::{self, Names, ready};
use crate::model::Model;
use crate::work::released;

/// Number of names that a message shows.
const SHOWN: usize = 10;

/// Returns a model of the same workspace with other parameters of interest.
///
/// # Errors
/// `WorkspaceError` for a name that is no parameter, an empty name or a double.
pub(crate) fn with_pois(py: Python<'_>, model: &Model, names: Vec<String>) -> PyResult<Model> {
    if names.is_empty() {
        return Err(PyValueError::new_err("the list of parameters of interest is empty; name at least one"));
    }
    let other = released(py, || model.origin.with_pois(names).model())?;
    ready(py, other.map(|other| other.within(model.memory())))
}

/// Runs `analysis` on a model with the parameter of interest that `poi` names. If `poi` is a list, runs it once for each
/// name that is meant and returns a dictionary with the results by name. Names may be patterns.
///
/// # Errors
/// The errors of [`with_pois`] and of the analysis; `ValueError` for a pattern outside of a list
/// that means several parameters.
pub(crate) fn for_each<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
    device: &str,
    poi: Names,
    analysis: impl Fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = load::model(py, model, device)?;
    let of = |names: Vec<String>| -> PyResult<Bound<'py, PyAny>> {
        let other = Bound::new(py, with_pois(py, model.get(), names)?)?;
        analysis(other.as_any())
    };
    let names = match poi {
        Names::One(name) => {
            let other = Bound::new(py, with_pois(py, model.get(), vec![name.clone()])?)?;
            let meant: Vec<&str> = other.get().inner.poi_names().collect();
            if meant.len() > 1 {
                return Err(PyValueError::new_err(format!(
                    "poi='{name}' means {} parameters; write poi=[\"{name}\"] for a result for each, or name one of {}{}",
                    meant.len(),
                    meant.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", "),
                    if meant.len() > SHOWN { " and others" } else { "" }
                )));
            }
            return analysis(other.as_any());
        }
        Names::Many(names) => names,
    };
    // All names are checked before the first analysis, and patterns become names.
    let all = with_pois(py, model.get(), names)?;
    let names: Vec<String> = all.inner.poi_names().map(str::to_owned).collect();
    let results = PyDict::new(py);
    for name in &names {
        let others = names.iter().filter(|other| *other != name);
        let result = of(std::iter::once(name).chain(others).cloned().collect())?;
        results.set_item(name, result)?;
    }
    Ok(results.into_any())
}
