//! `nextstat.patch`, `sort` and `digest`. In their results, numbers stay as they are written in the text of the
//! workspace.

use ns_translate::pyhf::{DigestAlgorithm, DigestCheck, Patch, WorkspaceError, WrittenWorkspace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::workspace_error;
use crate::load::{PatchSource, Text, patches};
use crate::work::released;

/// Applies patches to a workspace (a path or a dictionary), and returns the result as a dictionary.
///
/// `patch` and `digest_check` have the same meaning as for `load_workspace`. Numbers stay as they are written
/// in the text of the workspace.
///
/// Raises `WorkspaceError`, which names the patch, if a patch cannot be applied or the patched workspace is
/// invalid.
#[pyfunction]
#[pyo3(signature = (workspace, patch, *, digest_check = true))]
pub(crate) fn patch<'py>(
    py: Python<'py>,
    workspace: &Bound<'py, PyAny>,
    patch: &Bound<'py, PyAny>,
    digest_check: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let text = Text::of(workspace)?;
    let patches = patches(Some(patch))?;
    let check = if digest_check { DigestCheck::Verify } else { DigestCheck::Skip };
    let written = released(py, || {
        let patches = patches.into_iter().map(PatchSource::load).collect::<Result<Vec<_>, _>>()?;
        let written = read(&text, &patches, check)?;
        written.check().map(|()| written)
    })?;
    dictionary(py, &written.map_err(|error| workspace_error(py, &error))?)
}

/// Sorts a workspace (a path or a dictionary), and returns the sorted workspace as a dictionary. Channels,
/// samples, modifiers, measurements, parameter settings and observations are sorted by name, as by
/// `pyhf.Workspace.sorted`.
#[pyfunction]
pub(crate) fn sort<'py>(py: Python<'py>, workspace: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let text = Text::of(workspace)?;
    let written = released(py, || read(&text, &[], DigestCheck::Verify).map(WrittenWorkspace::sorted))?;
    dictionary(py, &written.map_err(|error| workspace_error(py, &error))?)
}

/// Returns the digest of a workspace (a path or a dictionary). It equals the result of `pyhf.utils.digest`.
/// Patchsets use this digest to identify their workspace.
///
/// `algorithm` is "md5", "sha224", "sha256", "sha384" or "sha512".
#[pyfunction]
#[pyo3(signature = (workspace, algorithm = "sha256"))]
pub(crate) fn digest(py: Python<'_>, workspace: &Bound<'_, PyAny>, algorithm: &str) -> PyResult<String> {
    let algorithm: DigestAlgorithm = algorithm.parse().map_err(PyValueError::new_err)?;
    let text = Text::of(workspace)?;
    let digest =
        released(py, || read(&text, &[], DigestCheck::Verify).map(|written| written.digest(algorithm)))?;
    digest.map_err(|error| workspace_error(py, &error))
}

fn read(text: &Text, patches: &[Patch], check: DigestCheck) -> Result<WrittenWorkspace, WorkspaceError> {
    WrittenWorkspace::from_slice_patched(&text.bytes()?, patches, check)
}

fn dictionary<'py>(py: Python<'py>, written: &WrittenWorkspace) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(written)
        .map_err(|error| PyValueError::new_err(format!("cannot write the workspace as JSON: {error}")))?;
    py.import("json")?.call_method1("loads", (text,))
}
