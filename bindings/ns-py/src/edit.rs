//! `nextstat.prune`, `rename`, `decorrelate` and `combine`. They edit workspaces and return the result as a dictionary.

use std::collections::BTreeMap;

use ns_core::plain;
use ns_translate::pyhf::{
    Combine, Decorrelate, DecorrelateBy, Edited, Join, Problem, Prune, Region, Rename, Workspace,
    WorkspaceError,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::workspace_error;
use crate::load::{Names, NewNames, Text};
use crate::work::released;

/// Removes parts of a workspace (a path or a dictionary), and returns the remaining workspace as a
/// dictionary.
///
/// `channels`, `samples`, `modifiers`, `modifier_types` and `measurements` are names, as in
/// `pyhf.Workspace.prune`. `norm_threshold` removes every normsys that changes the normalisation of its
/// sample by no more than this fraction, up and down. `shape_threshold` also removes histosys modifiers. A
/// histosys is removed if it changes the sum of its sample by no more than the norm threshold and, once this
/// change is divided out, no bin by more than the shape threshold. Both thresholds apply to each sample of
/// each channel separately.
///
/// Changes that may be unintended give a `UserWarning`. With `return_report=True` the result is a pair
/// of the workspace and `{"changes": [...], "warnings": [...]}`, which lists all changes.
///
/// Raises `WorkspaceError` for names that do not exist, or if the remaining workspace would be invalid.
#[pyfunction]
#[pyo3(signature = (workspace, *, channels = None, samples = None, modifiers = None, modifier_types = None,
                    measurements = None, norm_threshold = None, shape_threshold = None, return_report = false))]
pub(crate) fn prune<'py>(
    py: Python<'py>,
    workspace: &Bound<'py, PyAny>,
    channels: Option<Names>,
    samples: Option<Names>,
    modifiers: Option<Names>,
    modifier_types: Option<Names>,
    measurements: Option<Names>,
    norm_threshold: Option<f64>,
    shape_threshold: Option<f64>,
    return_report: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let names = |names: Option<Names>| names.map(Names::list).unwrap_or_default();
    let prune = Prune {
        channels: names(channels),
        samples: names(samples),
        modifiers: names(modifiers),
        modifier_types: names(modifier_types),
        measurements: names(measurements),
        norm_threshold,
        shape_threshold,
    };
    let text = Text::of(workspace)?;
    edit(py, return_report, || read(&text)?.prune(&prune))
}

/// Renames parts of a workspace (a path or a dictionary), and returns the renamed workspace as a dictionary.
///
/// The arguments map old names to new names, as in `pyhf.Workspace.rename`. Names in observations, parameter
/// settings and parameters of interest change too. Warnings, `return_report` and errors are as for `prune`.
#[pyfunction]
#[pyo3(signature = (workspace, *, channels = None, samples = None, modifiers = None, measurements = None,
                    return_report = false))]
pub(crate) fn rename<'py>(
    py: Python<'py>,
    workspace: &Bound<'py, PyAny>,
    channels: Option<NewNames>,
    samples: Option<NewNames>,
    modifiers: Option<NewNames>,
    measurements: Option<NewNames>,
    return_report: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let rename = Rename {
        channels: channels.unwrap_or_default().0,
        samples: samples.unwrap_or_default().0,
        modifiers: modifiers.unwrap_or_default().0,
        measurements: measurements.unwrap_or_default().0,
    };
    let text = Text::of(workspace)?;
    edit(py, return_report, || read(&text)?.rename(&rename))
}

/// Makes the parameter of a modifier independent parameters, and returns the workspace as a dictionary.
///
/// `by` is "channel" (one parameter per channel, called MODIFIER_CHANNEL), "sample" (one per sample), or a dictionary from
/// the names of the new parameters to their channels. In place of the channels it may have a dictionary with the lists
/// `channels` and `samples`. Elsewhere the old parameter stays. The settings of measurements are copied to the new names.
/// Warnings, `return_report` and errors are as for `prune`.
#[pyfunction]
#[pyo3(signature = (workspace, modifier, by, *, return_report = false))]
pub(crate) fn decorrelate<'py>(
    py: Python<'py>,
    workspace: &Bound<'py, PyAny>,
    modifier: String,
    by: &Bound<'py, PyAny>,
    return_report: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let by = match by.extract::<String>().as_deref() {
        Ok("channel") => DecorrelateBy::Channel,
        Ok("sample") => DecorrelateBy::Sample,
        Ok(other) => {
            let message =
                format!("unknown by '{other}'; use \"channel\", \"sample\" or a dictionary of regions");
            return Err(PyValueError::new_err(message));
        }
        Err(_) => DecorrelateBy::Regions(regions(by)?),
    };
    let text = Text::of(workspace)?;
    edit(py, return_report, || read(&text)?.decorrelate(&Decorrelate { modifier, by }))
}

/// Reads a dictionary of regions.
fn regions(by: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, Region>> {
    let wrong = |_| {
        PyTypeError::new_err(
            "by must be \"channel\", \"sample\", or a dictionary from new names to lists of channels, or to dictionaries \
             with the lists channels and samples",
        )
    };
    let mut regions = BTreeMap::new();
    for (name, places) in by.cast::<PyDict>().map_err(|error| wrong(error.into()))? {
        let list = |key: &str| -> PyResult<Vec<String>> {
            let found = places.cast::<PyDict>().map_err(PyErr::from)?.get_item(key)?;
            found.map_or_else(|| Ok(Vec::new()), |names| names.extract())
        };
        let region = match places.extract::<Vec<String>>() {
            Ok(channels) => Region { channels, samples: Vec::new() },
            Err(_) => Region {
                channels: list("channels").map_err(wrong)?,
                samples: list("samples").map_err(wrong)?,
            },
        };
        regions.insert(name.extract::<String>().map_err(wrong)?, region);
    }
    Ok(regions)
}

/// Combines two workspaces (paths or dictionaries), and returns the result as a dictionary.
///
/// `join` says what happens to channels, observations and measurements that both workspaces have under one
/// name, as in `pyhf.Workspace.combine`. "none" forbids them. "outer" requires them to be equal. "left outer"
/// takes them from the first workspace, and "right outer" from the second. `merge_channels` merges channels
/// of the same name sample by sample. Modifiers of the same name are correlated in the result. Warnings,
/// `return_report` and errors are as for `prune`.
#[pyfunction]
#[pyo3(signature = (left, right, join = "none", merge_channels = false, *, return_report = false))]
pub(crate) fn combine<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
    join: &str,
    merge_channels: bool,
    return_report: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let join: Join = join.parse().map_err(PyValueError::new_err)?;
    let (left, right) = (Text::of(left)?, Text::of(right)?);
    edit(py, return_report, || read(&left)?.combine(&read(&right)?, Combine { join, merge_channels }))
}

fn read(text: &Text) -> Result<Workspace, WorkspaceError> {
    Workspace::from_slice(&text.bytes()?)
}

/// Runs the edit `work` with the interpreter lock released. With `return_report`, returns the workspace as a
/// dictionary and the report. Without it, issues the warnings as Python warnings and returns only the
/// dictionary.
fn edit<'py>(
    py: Python<'py>,
    return_report: bool,
    work: impl Send + FnOnce() -> Result<Edited, WorkspaceError>,
) -> PyResult<Bound<'py, PyAny>> {
    let edited = released(py, work)?.map_err(|error| workspace_error(py, &error))?;
    let text = serde_json::to_string(&edited.workspace)
        .map_err(|error| PyValueError::new_err(format!("cannot write the workspace as JSON: {error}")))?;
    let workspace = py.import("json")?.call_method1("loads", (text,))?;
    let warnings: Vec<String> =
        edited.warnings.iter().map(|w| Problem::paragraph(w).trim_end().to_owned()).collect();
    if return_report {
        let report = PyDict::new(py);
        let changes: Vec<String> = edited.changes.iter().map(ToString::to_string).collect();
        report.set_item("changes", changes)?;
        report.set_item("warnings", warnings)?;
        return (workspace, report).into_pyobject(py).map(Bound::into_any);
    }
    let module = py.import("warnings")?;
    for warning in warnings {
        module.call_method1("warn", (plain(&warning),))?;
    }
    Ok(workspace)
}
