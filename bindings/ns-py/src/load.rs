//! `nextstat.load_workspace`, and the arguments that select a workspace and its model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ns_core::{Interpolation, UnknownCode};
use ns_translate::hs3::{EventSources, wanted_columns};
use ns_translate::pyhf::{
    ChannelSelection, DigestCheck, ModelOptions, Patch, PatchArgument, WorkspaceError, file_of, read_file,
};
use ns_translate::{Axes, CorrelationTables, ModelSource, SourceText};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyList, PyString, PyTuple};

use crate::device::{Memory, execution};
use crate::error::workspace_error;
use crate::model::{Model, Note, Origin};
use crate::shown::shown;
use crate::warn::warn;
use crate::work::released;

/// Reads a pyhf workspace or an HS3 file and builds the model of one measurement or analysis.
///
/// `source` is a path or a dictionary. A file may be compressed with gzip (`.json.gz`), or be a member of an archive,
/// written as `"archive.tar.gz:path/in/archive.json"`. `measurement` is the name of a measurement, by default the first
/// one. `analysis` is the name of an analysis of an HS3 file, by default the only analysis whose data are not Asimov
/// data. `patch` is a JSON Patch (a list of operations, or a path), a member of a patchset (`"patchset.json:name"`), or
/// a list of patches in these forms. `digest_check=False` also applies a patchset that was made for another workspace.
/// `interp_defaults` is "smooth" (normsys code4, histosys code4p, as in pyhf) or "piecewise" (code1, code0).
/// `normsys_code` and `histosys_code` replace one of the two codes. `poi` names the parameter of interest, or several
/// in a list, in place of those that the measurement names. `channels` names the channels to use, and `mask` the channels to leave out.
/// Parameters that only the omitted channels use are not in the model. `memory` is the largest memory that fits of the
/// model may use on the host and on each GPU: a number of bytes, or text such as "500M" or "2G". `events` gives the
/// events of data sets of an HS3 file, by the name of the data set. The events of a data set are a dictionary of
/// columns, a NumPy array with one column per axis, or an object with columns that supports Arrow (a DataFrame of
/// pandas or polars, a table of pyarrow). A column `weights` has the weights of the events. `flow_device` is the device
/// on which log-densities of flows are evaluated, such as "cuda". `correlations` makes Gaussian constraints correlated: the
/// path of a file, or a dictionary with the keys `parameters` (names) and `correlations` (a matrix), or a list of these.
/// `axes` gives titles and bin edges of channels for pictures and tables: the path of a file in TOML or JSON, or a dictionary
/// of dictionaries with the keys `title` and `edges` by channel. By default they are those of the file `NAME.axes.json`
/// beside `NAME.json`, if there is one.
///
/// Raises `WorkspaceError` with every problem, or `OSError` if a file cannot be read.
#[pyfunction]
#[pyo3(signature = (source, measurement = None, patch = None, interp_defaults = "smooth", *, normsys_code = None,
                    histosys_code = None, poi = None, digest_check = true, channels = None, mask = None,
                    memory = None, analysis = None, events = None, flow_device = "cpu", correlations = None,
                    axes = None))]
pub(crate) fn load_workspace(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    measurement: Option<String>,
    patch: Option<&Bound<'_, PyAny>>,
    interp_defaults: &str,
    normsys_code: Option<&str>,
    histosys_code: Option<&str>,
    poi: Option<Names>,
    digest_check: bool,
    channels: Option<Names>,
    mask: Option<Names>,
    memory: Option<Memory>,
    analysis: Option<String>,
    events: Option<&Bound<'_, PyAny>>,
    flow_device: &str,
    correlations: Option<&Bound<'_, PyAny>>,
    axes: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    if measurement.is_some() && analysis.is_some() {
        return Err(PyTypeError::new_err(
            "give either measurement or analysis: they are two words for one choice",
        ));
    }
    let measurement = measurement.or(analysis);
    let interpolation = interpolation(interp_defaults, normsys_code, histosys_code)?;
    let flows = execution(flow_device, 0)?.device;
    let correlations = tables(py, correlations)?;
    let pois = poi.map(Names::list).unwrap_or_default();
    let text = Text::of(source)?;
    let axes = match axes {
        Some(axes) => given_axes(py, axes)?,
        None => text.axes(),
    };
    let options =
        ModelOptions { measurement, interpolation, pois, flows, unobserved: true, correlations, axes };
    built(py, text, options, patch, digest_check, channels, mask, memory, events)
}

/// Reads the argument `correlations`.
///
/// # Errors
/// `WorkspaceError` for a file or a dictionary of another form, `TypeError` for another object.
fn tables(py: Python<'_>, object: Option<&Bound<'_, PyAny>>) -> PyResult<CorrelationTables> {
    let Some(object) = object else { return Ok(CorrelationTables::default()) };
    let text = if object.is_instance_of::<PyDict>() || object.is_instance_of::<PyList>() {
        dumps(object)?.into_bytes()
    } else {
        let path: PathBuf = object.extract().map_err(|_| {
            PyTypeError::new_err("correlations must be a path, a dictionary, or a list of dictionaries")
        })?;
        read_file(&path).map_err(|error| workspace_error(py, &error))?
    };
    CorrelationTables::from_slice(&text).map_err(|error| workspace_error(py, &error.into()))
}

/// Reads the argument `axes`.
///
/// # Errors
/// `WorkspaceError` for a file or a dictionary of another form, `TypeError` for another object.
fn given_axes(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Axes> {
    if object.is_instance_of::<PyDict>() {
        return Axes::from_slice(dumps(object)?.as_bytes())
            .map_err(|error| workspace_error(py, &error.into()));
    }
    let path: PathBuf = object
        .extract()
        .map_err(|_| PyTypeError::new_err("axes must be a path or a dictionary by channel"))?;
    Axes::read(&path).map_err(|error| workspace_error(py, &error))
}

/// Returns the path of the axes beside a workspace.
#[pyfunction]
pub(crate) fn _axes_beside(path: PathBuf) -> PyResult<PathBuf> {
    Axes::place_beside(&path).ok_or_else(|| PyValueError::new_err("the path has no name"))
}

/// Builds the model of a workspace and compiles it. The first fit of the model is then fast. Issues the warnings of the
/// model as Python warnings.
///
/// # Errors
/// The errors of [`load_workspace`].
pub(crate) fn built(
    py: Python<'_>,
    text: Text,
    options: ModelOptions,
    patch: Option<&Bound<'_, PyAny>>,
    digest_check: bool,
    channels: Option<Names>,
    mask: Option<Names>,
    memory: Option<Memory>,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let memory = memory.map(Memory::bytes).transpose()?;
    let patches = patches(patch)?;
    let check = if digest_check { DigestCheck::Verify } else { DigestCheck::Skip };
    let selection =
        ChannelSelection { keep: channels.map(Names::list), mask: mask.map(Names::list).unwrap_or_default() };
    let read = released(py, || text.read())?.map_err(|error| workspace_error(py, &error))?;
    let sources = match events {
        Some(events) => text.sources().with(crate::events::given(events, &wanted_columns(&read.json))?),
        None => text.sources(),
    };
    let model = released(py, || {
        let patches = patches.into_iter().map(PatchSource::load).collect::<Result<Vec<Patch>, _>>()?;
        let workspace = ModelSource::from_text(read, &patches, check, &sources)?;
        let all = selection.is_everything();
        let workspace = if all { workspace } else { workspace.select_channels(&selection)? };
        Origin::new(workspace, options, sources.folder.clone()).model()
    })?;
    let model = ready(py, model.map(|model| model.within(memory)))?;
    warn(py, model.inner.warnings.iter().map(String::as_str))?;
    Ok(model)
}

/// Reads a file or a member of an archive, and returns the contents. Compressed contents are decompressed.
#[pyfunction]
pub(crate) fn _text(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyBytes>> {
    let text = released(py, || SourceText::read(&path).map(|text| text.json))?
        .map_err(|error| workspace_error(py, &error))?;
    Ok(PyBytes::new(py, &text).unbind())
}

/// Restores a pickled model from the arguments that `Model.__reduce__` returned.
#[pyfunction]
#[pyo3(signature = (text, measurement, codes, pois, notes, folder, correlations = None, axes = None))]
pub(crate) fn _restored(
    py: Python<'_>,
    text: &[u8],
    measurement: Option<String>,
    codes: (&str, &str),
    pois: Vec<String>,
    notes: Vec<Note>,
    folder: Option<String>,
    correlations: Option<String>,
    axes: Option<String>,
) -> PyResult<Model> {
    let origin = Origin::restored(py, text, measurement, codes, pois, notes, folder, correlations, axes)?;
    let model = released(py, || origin.model())?;
    ready(py, model)
}

/// Compiles the model and computes its digest. The first fit or evaluation of the model is then fast.
pub(crate) fn ready(py: Python<'_>, model: Result<Model, WorkspaceError>) -> PyResult<Model> {
    let model = model.map_err(|error| workspace_error(py, &error))?;
    // The digest and the session stay in the model.
    released(py, || {
        model.digest();
    })?;
    model.session(py, &ns_core::Execution::default())?;
    Ok(model)
}

/// An argument with one name or several names.
#[derive(Clone)]
pub(crate) enum Names {
    One(String),
    Many(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.extract::<String>() {
            return Ok(Self::One(name));
        }
        object.extract::<Vec<String>>().map(Self::Many).map_err(|_| {
            PyTypeError::new_err(format!(
                "expected a name or a list of names, such as [\"mu\"], not {}",
                shown(&object)
            ))
        })
    }
}

/// An argument that maps names to lists of names, such as groups of parameters. A single name stands for a list of one.
#[derive(Clone)]
pub(crate) struct NamesByName(pub(crate) Vec<(String, Vec<String>)>);

impl<'py> FromPyObject<'_, 'py> for NamesByName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = || {
            PyTypeError::new_err(format!(
                "expected a dictionary from names to lists of names, such as {{\"jets\": [\"JES\", \"JER*\"]}}, not {}",
                shown(&object)
            ))
        };
        let dictionary = object.cast::<PyDict>().map_err(|_| wrong())?;
        let entry = |(name, members): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let members = members.extract::<Names>().map_err(|_| wrong())?;
            Ok::<_, PyErr>((name.extract::<String>().map_err(|_| wrong())?, members.list()))
        };
        dictionary.iter().map(entry).collect::<PyResult<_>>().map(Self)
    }
}

/// An argument that maps old names to new ones.
#[derive(Clone, Default)]
pub(crate) struct NewNames(pub(crate) BTreeMap<String, String>);

impl<'py> FromPyObject<'_, 'py> for NewNames {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<BTreeMap<String, String>>().map(Self).map_err(|_| {
            PyTypeError::new_err(format!(
                "expected a dictionary from old names to new ones, such as {{\"SR\": \"signal region\"}}, not {}",
                shown(&object)
            ))
        })
    }
}

impl Names {
    /// Returns the names as a list.
    pub(crate) fn list(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

/// JSON text, or the path of a file that contains it.
pub(crate) enum Text {
    Path(PathBuf),
    Json(String),
}

impl Text {
    /// Reads an argument that is a path, a dictionary or a list. JSON text is a `TypeError`.
    pub(crate) fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyDict>() || source.is_instance_of::<PyList>() {
            return Ok(Self::Json(dumps(source)?));
        }
        if source.extract::<&str>().is_ok_and(|text| text.trim_start().starts_with('{')) {
            return Err(PyTypeError::new_err(
                "expected a path or a dictionary, not JSON text; make a dictionary of it with json.loads",
            ));
        }
        source.extract::<PathBuf>().map(Self::Path).map_err(|_| {
            let kind = source.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("expected a path or a dictionary, not {kind}"))
        })
    }

    /// Reads an argument like [`Self::of`]. It may also be JSON text in a `str` or `bytes`.
    pub(crate) fn any(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = match source.extract::<&str>() {
            Ok(text) => Some(text.to_owned()),
            Err(_) => source.extract::<&[u8]>().ok().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        };
        match text.filter(|text| text.trim_start().starts_with('{')) {
            Some(text) => Ok(Self::Json(text)),
            None => Self::of(source),
        }
    }

    /// Returns the folder in which the files of events that a model names are found: the folder of the model's file.
    /// A model from a dictionary has no such folder.
    fn sources(&self) -> EventSources {
        match self {
            Self::Json(_) => EventSources::default(),
            Self::Path(path) => EventSources::beside(file_of(path)),
        }
    }

    /// Returns the axes beside a file, if there are any.
    fn axes(&self) -> Axes {
        match self {
            Self::Json(_) => Axes::default(),
            Self::Path(path) => Axes::beside(path),
        }
    }

    /// Reads the text. A file of another format than JSON is converted.
    fn read(&self) -> Result<SourceText, WorkspaceError> {
        match self {
            Self::Json(text) => SourceText::from_bytes(text.clone().into_bytes()),
            Self::Path(path) => SourceText::read(path),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, WorkspaceError> {
        Ok(self.read()?.json)
    }
}

/// Returns Python data as JSON text. NumPy numbers and arrays become plain numbers and lists.
pub(crate) fn dumps(data: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = data.py();
    let options = PyDict::new(py);
    let plain = PyCFunction::new_closure(py, None, None, |args: &Bound<'_, PyTuple>, _| {
        let object = args.get_item(0)?;
        match object.getattr_opt("tolist")? {
            Some(tolist) => Ok(tolist.call0()?.unbind()),
            None => Err(PyTypeError::new_err(format!(
                "a workspace or patch is made of dictionaries, lists, strings, numbers and NumPy arrays, but this one \
                 has a {} in it; make it one of those, for example with float()",
                object.get_type().name()?
            ))),
        }
    })?;
    options.set_item("default", plain)?;
    py.import("json")?.call_method("dumps", (data,), Some(&options))?.extract()
}

/// A patch that is not read yet: a path (with the name of a patch if it is a patchset), or operations as JSON
/// text.
pub(crate) enum PatchSource {
    Argument(PatchArgument),
    Operations(String),
}

impl PatchSource {
    pub(crate) fn load(self) -> Result<Patch, WorkspaceError> {
        match self {
            Self::Argument(argument) => argument.load(),
            Self::Operations(text) => Patch::from_slice(text.as_bytes(), "the patch given"),
        }
    }
}

/// Reads the `patch` argument. It is a path such as `"patchset.json:name"`, a list of operations, or a list
/// of paths and lists of operations.
pub(crate) fn patches(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<PatchSource>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    if let Ok(list) = object.cast::<PyList>() {
        // A list of dictionaries is a list of operations. In any other list each item is a patch.
        if list.iter().all(|item| item.is_instance_of::<PyDict>()) {
            return Ok(vec![PatchSource::Operations(dumps(object)?)]);
        }
        return list
            .iter()
            .map(|item| patches(Some(&item)))
            .collect::<PyResult<Vec<_>>>()
            .map(|v| v.into_iter().flatten().collect());
    }
    let text = match object.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => match object.extract::<PathBuf>() {
            Ok(path) => path.display().to_string(),
            Err(_) => {
                return Err(PyTypeError::new_err(
                    "patch must be a path, \"patchset.json:name\", a list of operations, or a list of patches",
                ));
            }
        },
    };
    text.parse().map(|argument| vec![PatchSource::Argument(argument)]).map_err(|e| match e {})
}

/// Returns the interpolation codes that the arguments name.
pub(crate) fn interpolation(
    defaults: &str,
    normsys: Option<&str>,
    histosys: Option<&str>,
) -> PyResult<Interpolation> {
    let mut codes = match defaults {
        "smooth" | "root" => Interpolation::SMOOTH,
        "piecewise" | "pyhf" => Interpolation::PIECEWISE,
        other => {
            let known = "use \"smooth\" or \"piecewise\"";
            return Err(PyValueError::new_err(format!("unknown interp_defaults '{other}'; {known}")));
        }
    };
    let unknown = |error: UnknownCode| PyValueError::new_err(error.to_string());
    if let Some(name) = normsys {
        codes.normsys = name.parse().map_err(unknown)?;
    }
    if let Some(name) = histosys {
        codes.histosys = name.parse().map_err(unknown)?;
    }
    Ok(codes)
}

/// Returns the model for the argument `model` of an analysis on `device`. The argument is a model, a path or
/// a dictionary.
///
/// # Errors
/// The errors of [`load_workspace`].
pub(crate) fn model<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
    device: &str,
) -> PyResult<Bound<'py, Model>> {
    match object.cast::<Model>() {
        Ok(model) => Ok(model.clone()),
        Err(_) => {
            let kind = object.get_type();
            if !(object.is_instance_of::<PyDict>() || object.extract::<PathBuf>().is_ok()) {
                let kind = kind.name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
                return Err(PyTypeError::new_err(format!(
                    "expected a Model, or a path or a dictionary of one, not {kind}"
                )));
            }
            let model = load_workspace(
                py, object, None, None, "smooth", None, None, None, true, None, None, None, None, None,
                device, None, None,
            )?;
            Bound::new(py, model)
        }
    }
}
