//! Builds workspaces of bins for `nextstat.build`.

use std::path::PathBuf;

use ns_core::plain_lines;
use ns_translate::build::{
    BuildError, Built, ConfigOptions, Description, McConstraint, Pruning, build, build_config,
};
use ns_translate::pyhf::{self, Problem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{self, WorkspaceError, workspace_error};
use crate::work::released;

/// Builds the workspace of a description, which is JSON text. Returns JSON text with the workspace and the effects of its
/// systematics, and the warnings.
#[pyfunction]
pub(crate) fn _build(py: Python<'_>, description: &str) -> PyResult<(String, Vec<String>)> {
    let description: Description = serde_json::from_str(description)
        .map_err(|error| PyValueError::new_err(format!("the description of the model is wrong: {error}")))?;
    let built = released(py, || build(&description))?;
    finished(py, built)
}

/// Builds the workspace of a configuration file. The result is that of `_build`.
#[pyfunction]
pub(crate) fn _build_config(
    py: Python<'_>,
    path: PathBuf,
    norm_threshold: Option<f64>,
    shape_threshold: Option<f64>,
    mc_threshold: Option<f64>,
    mc_constraint: Option<&str>,
) -> PyResult<(String, Vec<String>)> {
    let options = ConfigOptions {
        pruning: Pruning { normalisation: norm_threshold, shape: shape_threshold, large: None },
        mc_threshold,
        mc_constraint: mc_constraint.map(constraint).transpose()?,
    };
    let built = released(py, || build_config(&path, options))?;
    finished(py, built)
}

fn constraint(word: &str) -> PyResult<McConstraint> {
    match word {
        "gaussian" => Ok(McConstraint::Gaussian),
        "poisson" => Ok(McConstraint::Poisson),
        _ => Err(PyValueError::new_err(format!(
            "there is no constraint '{word}'; use \"gaussian\" or \"poisson\""
        ))),
    }
}

fn finished(py: Python<'_>, built: Result<Built, BuildError>) -> PyResult<(String, Vec<String>)> {
    let built = built.map_err(|error| exception(py, &error))?;
    let text = serde_json::to_string(&built)
        .map_err(|error| PyValueError::new_err(format!("cannot write the workspace as JSON: {error}")))?;
    let warnings = built.warnings.iter().map(|w| Problem::paragraph(w).trim_end().to_owned()).collect();
    Ok((text, warnings))
}

/// The exception for an error: an `OSError` for a file that cannot be read, and else a `WorkspaceError` with its problems.
fn exception(py: Python<'_>, error: &BuildError) -> PyErr {
    match error {
        BuildError::Read { path, source } => {
            let io = std::io::Error::new(source.kind(), source.to_string());
            let io = source.raw_os_error().map_or(io, std::io::Error::from_raw_os_error);
            workspace_error(py, &pyhf::WorkspaceError::Io { path: path.clone(), source: io })
        }
        BuildError::Workspace(source) => workspace_error(py, source),
        other => {
            let exception = WorkspaceError::new_err(plain_lines(&other.to_string()).into_owned());
            let list = error::listed(py, other.problems());
            match list.and_then(|list| exception.value(py).setattr("problems", list)) {
                Ok(()) => exception,
                Err(failed) => failed,
            }
        }
    }
}
