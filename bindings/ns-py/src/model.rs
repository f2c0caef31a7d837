//! `nextstat.Model`: a compiled workspace and its sessions. Its methods are in `methods`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use ns_core::{Device, Execution, Interpolation, Model as CoreModel, Session, SessionError, UnknownCode};
use ns_inference::device::{compiled_session, resolve};
use ns_inference::report::RunInfo;
use ns_inference::{CpuSession, Work};
use ns_translate::pyhf::{ModelOptions, Problem, Severity, Workspace, WorkspaceError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::device::Opened;
use crate::error::{session_error, workspace_error};
use crate::work::released;

/// One measurement of a workspace. Arrays follow the order of `parameter_names()`, which is pyhf's.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct Model {
    pub(crate) inner: Arc<CoreModel>,
    /// For pickles.
    pub(crate) origin: Arc<Origin>,
    /// Hashing a large model takes as long as a good part of its fit: done once.
    digest: OnceLock<String>,
    /// Compiled once, whatever the thread counts, and for what results still ask.
    compiled: Arc<OnceLock<CpuSession>>,
    /// One session per device and thread count.
    sessions: Mutex<Vec<(Execution, Arc<dyn Session>)>>,
    /// Memory that they may take. It is about this machine: pickles do not hold it.
    memory: Option<u64>,
}

/// What a model is made of.
pub(crate) struct Origin {
    workspace: Workspace,
    options: ModelOptions,
    /// The workspace as text, once it was asked for: pickles of several results of one model then hold it once.
    text: OnceLock<Py<PyBytes>>,
}

/// What `pickle` keeps of a model.
pub(crate) type Pickled<'py> =
    (Bound<'py, PyBytes>, Option<String>, (&'static str, &'static str), Option<String>, Vec<Note>);

/// The same as Python hands it back.
pub(crate) type PickledParts<'py> =
    (Bound<'py, PyBytes>, Option<String>, (String, String), Option<String>, Vec<Note>);

/// A warning of how the workspace was read, which its text no longer shows: path, message, remedy.
pub(crate) type Note = (String, String, String);

impl Origin {
    pub(crate) fn new(workspace: Workspace, options: ModelOptions) -> Self {
        Self { workspace, options, text: OnceLock::new() }
    }

    /// The arguments of the function that restores it.
    pub(crate) fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let options = &self.options;
        let text = match self.text.get() {
            Some(text) => text.clone_ref(py),
            None => {
                let text = serde_json::to_vec(&self.workspace)
                    .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                let text = PyBytes::new(py, &text).unbind();
                self.text.get_or_init(|| text).clone_ref(py)
            }
        };
        let codes = (options.interpolation.normsys.name(), options.interpolation.histosys.name());
        let note = |p: &Problem| (p.path.clone(), p.message.clone(), p.remedy.clone());
        let notes = self.workspace.reading_warnings().iter().map(note).collect();
        Ok((text.into_bound(py), options.measurement.clone(), codes, options.poi.clone(), notes))
    }

    /// What [`Self::pickled`] gave.
    ///
    /// # Errors
    /// If it is no workspace.
    pub(crate) fn restored(
        py: Python<'_>,
        text: &[u8],
        measurement: Option<String>,
        (normsys, histosys): (&str, &str),
        poi: Option<String>,
        notes: Vec<Note>,
    ) -> PyResult<Self> {
        let unknown = |error: UnknownCode| PyValueError::new_err(error.to_string());
        let (normsys, histosys) = (normsys.parse().map_err(unknown)?, histosys.parse().map_err(unknown)?);
        let options = ModelOptions { measurement, interpolation: Interpolation { normsys, histosys }, poi };
        let workspace = released(py, || Workspace::from_slice(text))?;
        let warning =
            |(path, message, remedy)| Problem { severity: Severity::Warning, path, message, remedy };
        let notes = notes.into_iter().map(warning).collect();
        let workspace = workspace.map_err(|error| workspace_error(py, &error))?;
        Ok(Self::new(workspace.with_reading_warnings(notes), options))
    }

    /// Makes it.
    ///
    /// # Errors
    /// If the workspace makes no sense.
    pub(crate) fn model(self) -> Result<Model, WorkspaceError> {
        Ok(Model::new(self.workspace.model(&self.options)?, self))
    }
}

/// The model that a result is about.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) model: Arc<CoreModel>,
    origin: Arc<Origin>,
    compiled: Arc<OnceLock<CpuSession>>,
}

impl Question {
    /// For pickles.
    ///
    /// # Errors
    /// If Python refuses.
    pub(crate) fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.origin.pickled(py)?.into_pyobject(py)
    }

    /// What [`Self::pickled`] gave.
    ///
    /// # Errors
    /// If it is something else.
    pub(crate) fn restored(py: Python<'_>, kept: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (text, measurement, (normsys, histosys), poi, notes): PickledParts<'_> = kept.extract()?;
        let codes = (&*normsys, &*histosys);
        let mut origin = Origin::restored(py, text.as_bytes(), measurement, codes, poi, notes)?;
        origin.text = OnceLock::from(text.unbind());
        let model = origin.workspace.model(&origin.options).map_err(|error| workspace_error(py, &error))?;
        Ok(Self { model: Arc::new(model), origin: Arc::new(origin), compiled: Arc::default() })
    }

    /// A session for further questions about the result. On the CPU it is that of the model, compiled already.
    ///
    /// # Errors
    /// As [`ns_inference::open_session`].
    pub(crate) fn session(&self, execution: &Execution) -> Result<Arc<dyn Session>, SessionError> {
        ns_inference::open_session_sharing(&self.model, execution, &self.compiled)
    }
}

impl Model {
    /// Wraps a model.
    fn new(inner: CoreModel, origin: Origin) -> Self {
        Self {
            inner: Arc::new(inner),
            origin: Arc::new(origin),
            digest: OnceLock::new(),
            compiled: Arc::default(),
            sessions: Mutex::default(),
            memory: None,
        }
    }

    /// The same, whose sessions take so much memory at most.
    pub(crate) fn within(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    /// What results keep of it.
    pub(crate) fn question(&self) -> Question {
        let (model, origin) = (Arc::clone(&self.inner), Arc::clone(&self.origin));
        Question { model, origin, compiled: Arc::clone(&self.compiled) }
    }

    /// Fingerprint of the likelihood.
    pub(crate) fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.inner.digest())
    }

    /// What results say of what ran, once it has.
    pub(crate) fn ran(&self, opened: Opened, started: Instant) -> RunInfo {
        let ran = RunInfo::on(opened.session.as_ref(), opened.reason, started);
        ran.about(&self.inner, self.digest().to_owned())
    }

    /// The model compiled for an execution.
    ///
    /// # Errors
    /// `DeviceError` if the device is not there; `MemoryError` if the model is too large.
    pub(crate) fn session(&self, py: Python<'_>, execution: &Execution) -> PyResult<Arc<dyn Session>> {
        // Nobody compiles at the moment: there is nothing to wait for without the interpreter.
        if let Ok(sessions) = self.sessions.try_lock()
            && let Some((_, session)) = sessions.iter().find(|(e, _)| e == execution)
        {
            return Ok(Arc::clone(session));
        }
        released(py, || self.kept(execution))?.map_err(|error| session_error(&error))
    }

    /// The model compiled for an execution; `auto` takes what suits the work.
    ///
    /// # Errors
    /// As [`Self::session`].
    pub(crate) fn open(&self, py: Python<'_>, execution: &Execution, work: Work) -> PyResult<Opened> {
        if execution.device != Device::Auto {
            return Ok(Opened { session: self.session(py, execution)?, reason: None });
        }
        let (gpu, reason) = released(py, || {
            let cpu = compiled_session(&self.inner, &self.compiled)?;
            Ok(resolve(cpu, execution, work, |device| {
                let on_gpu = Execution { device, ..execution.clone() };
                self.kept(&on_gpu)
            }))
        })?
        .map_err(|error| session_error(&error))?;
        let session = match gpu {
            Some(session) => session,
            None => self.session(py, execution)?,
        };
        Ok(Opened { session, reason: Some(reason) })
    }

    /// The session of an execution, opened if there is none yet.
    fn kept(&self, execution: &Execution) -> Result<Arc<dyn Session>, SessionError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, session)) = sessions.iter().find(|(e, _)| e == execution) {
            return Ok(Arc::clone(session));
        }
        let limited = Execution { memory_limit: self.memory, ..execution.clone() };
        let session = ns_inference::open_session_sharing(&self.inner, &limited, &self.compiled)?;
        sessions.push((execution.clone(), Arc::clone(&session)));
        Ok(session)
    }
}
