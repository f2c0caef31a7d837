//! Converts errors of the Rust crates to Python exceptions.

use ns_core::{SessionError, plain_lines};
use ns_inference::InferenceError;
use ns_inference::toys::store::{SavedRunError, StoreError};
use ns_translate::pyhf;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pyo3::create_exception!(nextstat, NextstatError, PyException, "Base of the package's own exceptions.");
pyo3::create_exception!(
    nextstat,
    WorkspaceError,
    NextstatError,
    "The workspace or a patch is not valid; `problems` lists every problem with path, message and remedy."
);
pyo3::create_exception!(nextstat, ConvergenceError, NextstatError, "There is no fit to return.");
pyo3::create_exception!(nextstat, DeviceError, NextstatError, "The device asked for cannot be used.");

/// Returns the exception for an error of a workspace. The exception has a list of problems. If a file cannot be read,
/// the exception is an `OSError`, as usual in Python.
pub(crate) fn workspace_error(py: Python<'_>, error: &pyhf::WorkspaceError) -> PyErr {
    if let pyhf::WorkspaceError::Io { path, source } = error {
        // Python chooses the subclass, such as FileNotFoundError, from errno and the file name.
        return match source.raw_os_error() {
            Some(code) => {
                let words = source.to_string();
                let words = words.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((code, words, path.display().to_string()))
            }
            None => PyOSError::new_err(error.to_string()),
        };
    }
    let exception = WorkspaceError::new_err(plain_lines(&error.to_string()).into_owned());
    match listed(py, error.problems()).and_then(|list| exception.value(py).setattr("problems", list)) {
        Ok(()) => exception,
        Err(failed) => failed,
    }
}

/// Returns problems as a list of dictionaries.
pub(crate) fn listed<'py>(py: Python<'py>, problems: &[pyhf::Problem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("severity", problem.severity.to_string())?;
        entry.set_item("path", &problem.path)?;
        entry.set_item("message", &problem.message)?;
        entry.set_item("remedy", &problem.remedy)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Returns the exception for an error of an analysis.
pub(crate) fn inference_error(error: &InferenceError) -> PyErr {
    match error {
        InferenceError::Session(error) => session_error(error),
        InferenceError::FitFailed { reason } => ConvergenceError::new_err(plain_lines(reason).into_owned()),
        InferenceError::Sampling { .. } => {
            ConvergenceError::new_err(plain_lines(&error.to_string()).into_owned())
        }
        InferenceError::Cancelled => PyKeyboardInterrupt::new_err(()),
        error if error.is_unknown_name() => {
            let text = error.to_string();
            let link = if text.ends_with('?') { "" } else { ";" };
            let text = format!("{text}{link} `Model.parameter_names` lists all");
            PyValueError::new_err(plain_lines(&text).into_owned())
        }
        other => PyValueError::new_err(plain_lines(&other.to_string()).into_owned()),
    }
}

/// Returns the exception for an error of a session.
pub(crate) fn session_error(error: &SessionError) -> PyErr {
    let text = error.to_string();
    match error {
        SessionError::DeviceDisagrees { .. } => DeviceError::new_err(text),
        error if error.is_of_device() => DeviceError::new_err(text),
        SessionError::TooLarge { .. } | SessionError::MemoryLimit { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// An error of an analysis that becomes a Python exception.
pub(crate) trait ToPython {
    /// Returns the exception.
    fn exception(&self) -> PyErr;
}

impl ToPython for InferenceError {
    fn exception(&self) -> PyErr {
        inference_error(self)
    }
}

impl ToPython for StoreError {
    /// `OSError` for an error of the operating system, otherwise `ValueError`.
    fn exception(&self) -> PyErr {
        // The remedies name flags of the command.
        let text = self.to_string().replace("--resume", "resume=True").replace("--save", "save");
        let text = plain_lines(&text).into_owned();
        match self {
            Self::Io { .. } => PyOSError::new_err(text),
            _ => PyValueError::new_err(text),
        }
    }
}

impl ToPython for SavedRunError {
    fn exception(&self) -> PyErr {
        match self {
            Self::Store(error) => error.exception(),
            Self::Inference(error) => error.exception(),
        }
    }
}
