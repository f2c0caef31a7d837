//! The argument `patches` of `nextstat.grid`: a patchset, or patches with names.

use std::path::PathBuf;

use ns_translate::pyhf::{Background, DigestCheck, Patchset, SignalGrid, WorkspaceError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::workspace_error;
use crate::load::{PatchSource, Text, patches as patches_of};
use crate::shown::shown;
use crate::work::released;

/// The argument `patches`.
pub(crate) enum Given {
    /// A patchset as JSON, with its name in messages.
    Set(Vec<u8>, String),
    /// Patches with their names.
    List(Vec<(String, PatchSource)>),
}

impl Given {
    /// Reads a path or a dictionary (a patchset), a mapping from names to patches, or a list of patches.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(dict) = object.cast::<PyDict>() {
            if dict.get_item("patches")?.is_some_and(|list| list.is_instance_of::<PyList>()) {
                let text = Text::of(object)?.bytes().map_err(|error| workspace_error(py, &error))?;
                return Ok(Self::Set(text, "the patchset given".to_owned()));
            }
            let named = dict.iter().map(|(name, patch)| Ok((name.str()?.to_string(), one(&patch)?)));
            return Ok(Self::List(named.collect::<PyResult<_>>()?));
        }
        if let Ok(list) = object.cast::<PyList>() {
            if list.iter().any(|item| item.is_instance_of::<PyDict>()) {
                return Err(PyTypeError::new_err(
                    "patches is one patch (a list of operations): a grid needs a patchset, a mapping from names to \
                     patches, or a list of patches",
                ));
            }
            let named = list.iter().enumerate().map(|(i, patch)| {
                let name =
                    if patch.is_instance_of::<PyList>() { i.to_string() } else { patch.str()?.to_string() };
                Ok((name, one(&patch)?))
            });
            return Ok(Self::List(named.collect::<PyResult<_>>()?));
        }
        let path: PathBuf = object.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "patches must be a patchset (a path or a dictionary), a mapping from names to patches, or a list of \
                 patches, not {}",
                shown(object)
            ))
        })?;
        let text = released(py, || ns_translate::pyhf::read_file(&path))?
            .map_err(|error| workspace_error(py, &error))?;
        Ok(Self::Set(text, path.display().to_string()))
    }

    /// Returns the grid of these patches.
    pub(crate) fn grid<'a>(
        &'a mut self,
        background: Background,
        check: DigestCheck,
    ) -> Result<SignalGrid<'a>, WorkspaceError> {
        match self {
            Self::Set(text, origin) => {
                SignalGrid::of_patchset(background, Patchset::from_slice(text, origin)?, check)
            }
            Self::List(list) => {
                let load = |(name, source): (String, PatchSource)| Ok((name, source.load()?));
                let patches =
                    std::mem::take(list).into_iter().map(load).collect::<Result<_, WorkspaceError>>()?;
                Ok(SignalGrid::of_patches(background, patches))
            }
        }
    }
}

/// Reads one patch of a list.
fn one(object: &Bound<'_, PyAny>) -> PyResult<PatchSource> {
    let mut patches = patches_of(Some(object))?;
    match (patches.pop(), patches.is_empty()) {
        (Some(patch), true) => Ok(patch),
        _ => Err(PyTypeError::new_err(
            "each item of patches must be one patch: a path or a list of operations",
        )),
    }
}
