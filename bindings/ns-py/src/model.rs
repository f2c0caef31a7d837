//! `nextstat.Model`: the compiled model of a measurement, with its sessions. The Python methods of this class
//! are in `methods`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use ns_core::{Device, Execution, Interpolation, Model as CoreModel, Session, SessionError, UnknownCode};
use ns_inference::device::{compiled_session, resolve};
use ns_inference::report::RunInfo;
use ns_inference::{CpuSession, Work};
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{DigestCheck, ModelOptions, Problem, Severity, WorkspaceError};
use ns_translate::{Axes, CorrelationTables, ModelSource};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::device::Opened;
use crate::error::{session_error, workspace_error};
use crate::recipe::Recipe;
use crate::work::released;

/// The model of one measurement of a workspace, or of one analysis of an HS3 file. Arrays are in the order of
/// `parameter_names`, which is pyhf's order.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct Model {
    pub(crate) inner: Arc<CoreModel>,
    /// The workspace and the options of the model. Pickles store them.
    pub(crate) origin: Arc<Origin>,
    /// Digest of the likelihood. It is computed once, because hashing a large model takes a large part of the
    /// time of a fit.
    digest: OnceLock<String>,
    /// Parameters that move a jump of a density. They are found once, because a call of the likelihood takes less time.
    jumps: OnceLock<Vec<usize>>,
    /// The model compiled for the CPU. CPU sessions with any number of threads share it. Results use it too
    /// for later computations, for example for their pictures.
    compiled: Arc<OnceLock<CpuSession>>,
    /// The open sessions, one per device and number of threads.
    sessions: Mutex<Vec<(Execution, Arc<dyn Session>)>>,
    /// Largest memory, in bytes, that each session may use on the host and on each GPU; no limit if `None`.
    /// Pickles do not contain this limit, because it depends on the machine.
    memory: Option<u64>,
}

/// The workspace or HS3 file that a model was built from, and the options of the model.
pub(crate) struct Origin {
    workspace: ModelSource,
    options: ModelOptions,
    /// Folder of the files of the model's flows, which are needed when the model is built again. `None` for other
    /// models.
    folder: Option<PathBuf>,
    /// The text of the workspace, stored when the model is first pickled. All results of the model share this
    /// object. A pickle of several results therefore contains the text only once.
    text: OnceLock<Py<PyBytes>>,
}

/// The data that `pickle` stores for a model: the workspace as text, the measurement, the interpolation codes, the
/// parameters of interest, the warnings from reading the workspace, the folder with the files of the model's flows, and in
/// JSON the correlations and the axes.
pub(crate) type Pickled<'py> = (
    Bound<'py, PyBytes>,
    Option<String>,
    (&'static str, &'static str),
    Vec<String>,
    Vec<Note>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// The same data as [`Pickled`], with the types that are extracted from Python objects.
pub(crate) type PickledParts<'py> = (
    Bound<'py, PyBytes>,
    Option<String>,
    (String, String),
    Vec<String>,
    Vec<Note>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// A warning from reading the workspace (path, message, remedy). Pickles store it, because the text of the workspace
/// in a pickle no longer contains the cause of the warning.
pub(crate) type Note = (String, String, String);

impl Origin {
    /// Creates the origin of a model. `folder` is the folder of the workspace's file; `None` if the workspace
    /// was not in a file.
    pub(crate) fn new(workspace: ModelSource, options: ModelOptions, folder: Option<PathBuf>) -> Self {
        Self { workspace, options, folder, text: OnceLock::new() }
    }

    /// Returns an origin of the same workspace with other parameters of interest.
    pub(crate) fn with_pois(&self, pois: Vec<String>) -> Self {
        let options = ModelOptions { pois, ..self.options.clone() };
        let text = self.text.get().map(|text| Python::attach(|py| text.clone_ref(py)));
        let text = text.map_or_else(OnceLock::new, OnceLock::from);
        Self { text, ..Self::new(self.workspace.clone(), options, self.folder.clone()) }
    }

    /// Sets the text that pickles store in place of that of the workspace.
    pub(crate) fn with_text(mut self, text: Py<PyBytes>) -> Self {
        self.text = OnceLock::from(text);
        self
    }

    /// Returns the values from which [`Self::restored`] restores the workspace and options.
    pub(crate) fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let options = &self.options;
        let text = match self.text.get() {
            Some(text) => text.clone_ref(py),
            None => {
                let text =
                    self.workspace.to_json().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                let text = PyBytes::new(py, &text).unbind();
                self.text.get_or_init(|| text).clone_ref(py)
            }
        };
        let codes = (options.interpolation.normsys.name(), options.interpolation.histosys.name());
        let note = |p: &Problem| (p.path.clone(), p.message.clone(), p.remedy.clone());
        let notes = self.workspace.reading_warnings().iter().map(note).collect();
        let folder = self.folder.as_ref().and_then(|folder| folder.to_str()).map(str::to_owned);
        // The text of a workspace that was made of other files lacks the axes of their histograms.
        let axes = self.workspace.axes().map(|found| options.axes.over(found));
        let axes = axes.as_ref().unwrap_or(&options.axes).to_json();
        let correlations = options.correlations.to_json();
        let (measurement, pois) = (options.measurement.clone(), options.pois.clone());
        Ok((text.into_bound(py), measurement, codes, pois, notes, folder, correlations, axes))
    }

    /// Restores the workspace and options from the values of [`Self::pickled`].
    ///
    /// # Errors
    /// If the text is not a valid workspace, or a code is unknown.
    pub(crate) fn restored(
        py: Python<'_>,
        text: &[u8],
        measurement: Option<String>,
        (normsys, histosys): (&str, &str),
        pois: Vec<String>,
        notes: Vec<Note>,
        folder: Option<String>,
        correlations: Option<String>,
        axes: Option<String>,
    ) -> PyResult<Self> {
        let axes = match axes {
            // The model has been made with these axes, and what did not suit it was said then.
            Some(text) => Axes::from_slice(text.as_bytes())
                .map_err(|error| workspace_error(py, &error.into()))?
                .as_found(),
            None => Axes::default(),
        };
        let correlations = match correlations {
            Some(text) => CorrelationTables::from_slice(text.as_bytes())
                .map_err(|error| workspace_error(py, &error.into()))?,
            None => CorrelationTables::default(),
        };
        if let Some(recipe) = Recipe::of_pickle(text) {
            let card = released(py, || recipe.source())?.map_err(|error| workspace_error(py, &error))?;
            let options = ModelOptions { pois, axes, ..ModelOptions::default() };
            return Ok(Self::new(card, options, None).with_text(PyBytes::new(py, text).unbind()));
        }
        let unknown = |error: UnknownCode| PyValueError::new_err(error.to_string());
        let (normsys, histosys) = (normsys.parse().map_err(unknown)?, histosys.parse().map_err(unknown)?);
        let interpolation = Interpolation { normsys, histosys };
        // The device of flows is not restored, because it depends on the machine.
        let options = ModelOptions {
            measurement,
            interpolation,
            pois,
            unobserved: true,
            correlations,
            axes,
            ..ModelOptions::default()
        };
        let folder = folder.map(PathBuf::from);
        let sources = EventSources { folder: folder.clone(), ..EventSources::default() };
        let read = || ModelSource::with_events(text, &[], DigestCheck::Verify, &sources);
        let workspace = released(py, read)?;
        let warning =
            |(path, message, remedy)| Problem { severity: Severity::Warning, path, message, remedy };
        let notes = notes.into_iter().map(warning).collect();
        let workspace = workspace.map_err(|error| workspace_error(py, &error))?;
        Ok(Self::new(workspace.with_reading_warnings(notes), options, folder))
    }

    /// Builds the model.
    ///
    /// # Errors
    /// If the workspace is invalid.
    pub(crate) fn model(self) -> Result<Model, WorkspaceError> {
        let model = self.workspace.model(&self.options)?;
        let has_flows = model.event_channels.iter().any(|channel| {
            !channel.log_densities().is_empty() || !channel.conditional_densities().is_empty()
        });
        let folder = self.folder.filter(|_| has_flows);
        // The path is absolute, because a pickle may be restored in another folder.
        let folder = folder.map(|folder| folder.canonicalize().unwrap_or(folder));
        Ok(Model::new(model, Self { folder, ..self }))
    }
}

/// The model that a result belongs to. It is used for later computations, for example for pictures of the result.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) model: Arc<CoreModel>,
    origin: Arc<Origin>,
    compiled: Arc<OnceLock<CpuSession>>,
}

impl Question {
    /// Returns the data from which `pickle` restores the model.
    ///
    /// # Errors
    /// If a Python object cannot be created.
    pub(crate) fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.origin.pickled(py)?.into_pyobject(py)
    }

    /// Restores the model from a tuple of [`Self::pickled`].
    ///
    /// # Errors
    /// If the object has another form.
    pub(crate) fn restored(py: Python<'_>, kept: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (text, measurement, (normsys, histosys), pois, notes, folder, correlations, axes): PickledParts<
            '_,
        > = kept.extract()?;
        let codes = (&*normsys, &*histosys);
        let mut origin = Origin::restored(
            py,
            text.as_bytes(),
            measurement,
            codes,
            pois,
            notes,
            folder,
            correlations,
            axes,
        )?;
        origin.text = OnceLock::from(text.unbind());
        let model = origin.workspace.model(&origin.options).map_err(|error| workspace_error(py, &error))?;
        Ok(Self { model: Arc::new(model), origin: Arc::new(origin), compiled: Arc::default() })
    }

    /// Opens a session for later computations of the result. A session on the CPU uses the model that is
    /// already compiled.
    ///
    /// # Errors
    /// The errors of [`ns_inference::open_session`].
    pub(crate) fn session(&self, execution: &Execution) -> Result<Arc<dyn Session>, SessionError> {
        ns_inference::open_session_sharing(&self.model, execution, &self.compiled)
    }
}

impl Model {
    /// Creates the Python object of a model. It has no session yet.
    fn new(inner: CoreModel, origin: Origin) -> Self {
        Self {
            inner: Arc::new(inner),
            origin: Arc::new(origin),
            digest: OnceLock::new(),
            jumps: OnceLock::new(),
            compiled: Arc::default(),
            sessions: Mutex::default(),
            memory: None,
        }
    }

    /// Returns the model with a limit on the memory, in bytes, of each of its sessions.
    pub(crate) fn within(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    /// Returns the limit on the memory of sessions, in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Returns the part of the model that a result stores for later computations.
    pub(crate) fn question(&self) -> Question {
        let (model, origin) = (Arc::clone(&self.inner), Arc::clone(&self.origin));
        Question { model, origin, compiled: Arc::clone(&self.compiled) }
    }

    /// Returns the digest that identifies the likelihood.
    pub(crate) fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.inner.digest())
    }

    /// Returns the indices of the parameters that move a jump of a density.
    pub(crate) fn jumps(&self) -> &[usize] {
        self.jumps.get_or_init(|| {
            let all = self.inner.density_jumps().into_iter().flat_map(|jump| jump.parameters);
            all.collect::<std::collections::BTreeSet<usize>>().into_iter().collect()
        })
    }

    /// Returns the information about a finished run, which its result contains.
    pub(crate) fn ran(&self, opened: Opened, started: Instant) -> RunInfo {
        let ran = RunInfo::on(opened.session.as_ref(), opened.reason, started);
        ran.about(&self.inner, self.digest().to_owned())
    }

    /// Returns the session for the device and number of threads of `execution`, and opens it if necessary.
    ///
    /// # Errors
    /// `DeviceError` if the device is not available; `MemoryError` if the model is too large.
    pub(crate) fn session(&self, py: Python<'_>, execution: &Execution) -> PyResult<Arc<dyn Session>> {
        // If no other thread is opening a session at this moment, an open session is found without releasing
        // the interpreter lock.
        if let Ok(sessions) = self.sessions.try_lock()
            && let Some((_, session)) = sessions.iter().find(|(e, _)| e == execution)
        {
            return Ok(Arc::clone(session));
        }
        released(py, || self.kept(execution))?.map_err(|error| session_error(&error))
    }

    /// Returns the session for `execution` like [`Self::session`], but also accepts `device="auto"`. In this
    /// case `work`, the description of the analysis's fits, decides whether they run on a GPU.
    ///
    /// # Errors
    /// The errors of [`Self::session`].
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

    /// Returns the stored session for `execution`. If there is none, opens a session and stores it.
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
