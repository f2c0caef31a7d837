//! `nextstat.Model`: a compiled workspace and its likelihood.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use ns_core::{Device, EvaluationRequest, Execution, Model as CoreModel, Session, SessionError};
use ns_inference::device::{compiled_session, resolve};
use ns_inference::report::RunInfo;
use ns_inference::{CpuSession, Work};
use ns_translate::pyhf::{ModelOptions, Problem, Workspace, WorkspaceError};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::array;
use crate::device::{Memory, Opened};
use crate::error::{session_error, workspace_error};
use crate::evaluate::{evaluate, shape};
use crate::load::{Names, Text, built, interpolation};
use crate::pickle::{Reduced, restorer};
use crate::whole::whole;
use crate::work::released;

/// One measurement of a workspace. Arrays follow the order of `parameter_names()`, which is pyhf's.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct Model {
    pub(crate) inner: Arc<CoreModel>,
    /// For pickles.
    origin: Arc<Origin>,
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
type Pickled<'py> =
    (Bound<'py, PyBytes>, Option<String>, (&'static str, &'static str), Option<String>, Vec<Note>);

/// A warning of how the workspace was read, which its text no longer shows: path, message, remedy.
pub(crate) type Note = (String, String, String);

impl Origin {
    pub(crate) fn new(workspace: Workspace, options: ModelOptions) -> Self {
        Self { workspace, options, text: OnceLock::new() }
    }

    /// The arguments of the function that restores it.
    fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
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
        type PickledParts<'py> =
            (Bound<'py, PyBytes>, Option<String>, (String, String), Option<String>, Vec<Note>);
        let (text, measurement, (normsys, histosys), poi, notes): PickledParts<'_> = kept.extract()?;
        let mut origin =
            crate::load::origin(py, text.as_bytes(), measurement, (&normsys, &histosys), poi, notes)?;
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

#[pymethods]
impl Model {
    /// The model of a workspace: `load_workspace`, which also takes JSON text here.
    #[staticmethod]
    #[pyo3(signature = (source, measurement = None, patch = None, interp_defaults = "smooth", *, normsys_code = None,
                        histosys_code = None, poi = None, digest_check = true, channels = None, mask = None,
                        memory = None))]
    fn from_workspace(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        measurement: Option<String>,
        patch: Option<&Bound<'_, PyAny>>,
        interp_defaults: &str,
        normsys_code: Option<&str>,
        histosys_code: Option<&str>,
        poi: Option<String>,
        digest_check: bool,
        channels: Option<Names>,
        mask: Option<Names>,
        memory: Option<Memory>,
    ) -> PyResult<Self> {
        let interpolation = interpolation(interp_defaults, normsys_code, histosys_code)?;
        let options = ModelOptions { measurement, interpolation, poi };
        built(py, Text::any(source)?, options, patch, digest_check, channels, mask, memory)
    }

    /// Names of all parameters; an element of a vector is `name[i]`.
    fn parameter_names(&self) -> Vec<String> {
        self.inner.parameters.iter().map(|p| p.name.clone()).collect()
    }

    /// Start values.
    fn suggested_init<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.inner.parameters.iter().map(|p| p.init).collect())
    }

    /// Bounds, one row `(lower, upper)` per parameter.
    fn suggested_bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let flat: Vec<f64> = self.inner.parameters.iter().flat_map(|p| [p.bounds.0, p.bounds.1]).collect();
        let n = flat.len() / 2;
        array(py, flat, &[n, 2])
    }

    /// Which parameters the measurement fixes.
    fn suggested_fixed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.inner.parameters.iter().map(|p| p.fixed).collect())
    }

    /// Observed counts, followed by the auxiliary data unless they are not wanted.
    #[pyo3(signature = (include_auxdata = true))]
    fn observed_data<'py>(&self, py: Python<'py>, include_auxdata: bool) -> Bound<'py, PyArray1<f64>> {
        let mut data = self.inner.observed.main.clone();
        if include_auxdata {
            data.extend_from_slice(&self.inner.observed.aux);
        }
        PyArray1::from_vec(py, data)
    }

    /// Number of bins of each channel.
    #[getter]
    fn channels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for channel in &self.inner.channels {
            dict.set_item(&channel.name, channel.n_bins)?;
        }
        Ok(dict)
    }

    /// Index of the parameter of interest, or None.
    #[getter]
    fn poi_index(&self) -> Option<usize> {
        self.inner.poi
    }

    /// Name of the parameter of interest, or None.
    #[getter]
    fn poi_name(&self) -> Option<String> {
        self.inner.poi.and_then(|i| self.inner.parameters.get(i)).map(|p| p.name.clone())
    }

    /// Pickles hold the workspace; whoever restores one compiles it anew.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((restorer(py, "_restored")?, self.origin.pickled(py)?.into_pyobject(py)?))
    }

    /// The model itself: nothing in it changes.
    fn __copy__(model: PyRef<'_, Self>) -> Py<Self> {
        model.into()
    }

    /// The model itself: nothing in it changes.
    fn __deepcopy__(model: PyRef<'_, Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        model.into()
    }

    /// Name of the measurement.
    #[getter]
    fn measurement(&self) -> String {
        self.inner.measurement.clone()
    }

    /// Interpolation codes, in words.
    #[getter]
    fn interpolation(&self) -> String {
        self.inner.interpolation.to_string()
    }

    /// Fingerprint of the likelihood, as in every result.
    #[getter]
    fn model_digest(&self) -> String {
        self.digest().to_owned()
    }

    /// What a user of this model should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    /// `-ln L` at one point (a float) or at each row of a batch (an array), for the observed data
    /// or other ones. `device` "auto" is the CPU here.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn nll<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        device: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, data, request, device)?;
        match (batch, result.nll.first()) {
            (None, Some(value)) => Ok(value.into_pyobject(py)?.into_any()),
            _ => Ok(PyArray1::from_vec(py, result.nll).into_any()),
        }
    }

    /// Gradient of `-ln L`: one row per point.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn grad_nll<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        device: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, data, request, device)?;
        array(py, result.gradient, &shape(batch, &[self.inner.parameters.len()]))
    }

    /// Both at once, for about the price of the gradient: what an optimiser asks for.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn nll_and_grad<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        device: &str,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArrayDyn<f64>>)> {
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, data, request, device)?;
        let value = match (batch, result.nll.first()) {
            (None, Some(value)) => value.into_pyobject(py)?.into_any(),
            _ => PyArray1::from_vec(py, result.nll).into_any(),
        };
        Ok((value, array(py, result.gradient, &shape(batch, &[self.inner.parameters.len()]))?))
    }

    /// Exact Hessian of `-ln L`: one matrix per point.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn hessian<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        device: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, data, request, device)?;
        let n = self.inner.parameters.len();
        array(py, result.hessian, &shape(batch, &[n, n]))
    }

    /// Expected counts at one point or a batch of them, followed by the expected auxiliary data
    /// unless they are not wanted.
    #[pyo3(signature = (params, include_auxdata = true))]
    fn expected_data<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        include_auxdata: bool,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, None, request, "auto")?;
        let (bins, aux) = (self.inner.n_bins(), self.inner.observed.aux.len());
        if include_auxdata || aux == 0 {
            return array(py, result.expected, &shape(batch, &[bins + aux]));
        }
        let main =
            result.expected.chunks(bins + aux).flat_map(|row| row.iter().take(bins).copied()).collect();
        array(py, main, &shape(batch, &[bins]))
    }

    /// Draws toys at `params`: one row each, main counts followed by the auxiliary data unless they are not
    /// wanted. Toy number `first + i` is in row `i`; it depends on `params`, `seed` and its number alone.
    /// These are the toys of `fit_toys`; with `hypothesis` "b" or "sb" those of a test.
    ///
    /// Instead of `params`, `expected` may give the expectation itself: of the main counts, or of main counts and
    /// auxiliary data (by default the observed ones), whose widths are those of the constraints.
    #[pyo3(signature = (params = None, n_toys = 1, seed = 0, *, first = 0, hypothesis = None, include_auxdata = true,
                        expected = None))]
    fn toy_data<'py>(
        &self,
        py: Python<'py>,
        params: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = whole)] n_toys: usize,
        #[pyo3(from_py_with = whole)] seed: u64,
        #[pyo3(from_py_with = whole)] first: u64,
        hypothesis: Option<&str>,
        include_auxdata: bool,
        expected: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let from = crate::study::Origin::of(&self.inner, params, expected, hypothesis)?;
        crate::study::toy_data(py, self, &from, n_toys, seed, first, include_auxdata)
    }

    fn __repr__(&self) -> String {
        format!(
            "<nextstat.Model: measurement '{}', {} channels, {} bins, {} parameters, {}>",
            self.inner.measurement,
            self.inner.channels.len(),
            self.inner.n_bins(),
            self.inner.parameters.len(),
            self.poi_name()
                .map_or_else(|| "no parameter of interest".to_owned(), |poi| format!("POI '{poi}'")),
        )
    }
}
