//! `nextstat.profile_scan` and `nextstat.ScanResult`.

use std::path::PathBuf;
use std::time::Instant;

use ns_inference::picture::Scanned;
use ns_inference::present::significant;
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::scan::ContourLevel;
use ns_inference::stored::StoredScan;
use ns_inference::{ScanAxis, ScanOptions, Work};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Rows, array, or_nan};
use crate::device::execution;
use crate::error::inference_error;
use crate::pickle::{Reduced, read, restorer, written};
use crate::picture::{self, Picture, check, replace};
use crate::plain::{dictionary, plain};
use crate::whole::whole;
use crate::work::{Progress, run};
use crate::{load, options, table};

/// Where twice_delta_nll crosses a level on either side of the best fit; None with a reason where it
/// does not within the scan.
#[pyclass(frozen, module = "nextstat", get_all)]
#[derive(Clone)]
pub(crate) struct ScanInterval {
    level: f64,
    confidence_level: f64,
    lower: Option<f64>,
    upper: Option<f64>,
    lower_reason: Option<String>,
    upper_reason: Option<String>,
}

#[pymethods]
impl ScanInterval {
    fn __repr__(&self) -> String {
        let side = |x: Option<f64>| x.map_or_else(|| "None".to_owned(), significant);
        format!("<ScanInterval at {}: {} to {}>", self.level, side(self.lower), side(self.upper))
    }

    /// What `pickle` and `copy` keep.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let i = self.clone();
        let arguments = (i.level, i.confidence_level, i.lower, i.upper, i.lower_reason, i.upper_reason)
            .into_pyobject(py)?;
        Ok((restorer(py, "_scan_interval")?, arguments))
    }
}

/// An interval again.
#[pyfunction]
pub(crate) fn _scan_interval(
    level: f64,
    confidence_level: f64,
    lower: Option<f64>,
    upper: Option<f64>,
    lower_reason: Option<String>,
    upper_reason: Option<String>,
) -> ScanInterval {
    ScanInterval { level, confidence_level, lower, upper, lower_reason, upper_reason }
}

/// A scan again.
#[pyfunction]
pub(crate) fn _scan(py: Python<'_>, inner: &str, measurement: String, ran: &str) -> PyResult<ScanResult> {
    let StoredScan(inner) = read(inner)?;
    ScanResult::new(py, inner, measurement, read(ran)?)
}

impl From<&ns_inference::ScanInterval> for ScanInterval {
    fn from(interval: &ns_inference::ScanInterval) -> Self {
        let i = interval.clone();
        Self {
            level: i.level,
            confidence_level: i.confidence_level,
            lower: i.lower,
            upper: i.upper,
            lower_reason: i.lower_reason,
            upper_reason: i.upper_reason,
        }
    }
}

/// A profile likelihood scan. NaN stands for a number that does not exist (None in `to_dict()`), and
/// `reasons` and `warnings` say why. In two parameters arrays per point have one row per value of the
/// second; `q_mu_values` is None there, and the attributes of the second parameter are None in one.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct ScanResult {
    inner: ns_inference::ScanResult,
    mu_values: Py<PyArray1<f64>>,
    mu2_values: Option<Py<PyArray1<f64>>>,
    twice_delta_nll: Py<PyArrayDyn<f64>>,
    q_mu_values: Option<Py<PyArrayDyn<f64>>>,
    converged: Py<PyArrayDyn<bool>>,
    /// The measurement, for the text.
    measurement: String,
    ran: RunInfo,
}

impl ScanResult {
    fn new(
        py: Python<'_>,
        inner: ns_inference::ScanResult,
        measurement: String,
        ran: RunInfo,
    ) -> PyResult<Self> {
        let shape = match &inner.second {
            Some(second) => vec![second.mu_values.len(), inner.mu_values.len()],
            None => vec![inner.mu_values.len()],
        };
        Ok(Self {
            mu_values: PyArray1::from_slice(py, &inner.mu_values).unbind(),
            mu2_values: inner.second.as_ref().map(|s| PyArray1::from_slice(py, &s.mu_values).unbind()),
            twice_delta_nll: array(py, or_nan(&inner.twice_delta_nll), &shape)?.unbind(),
            q_mu_values: match &inner.second {
                None => Some(array(py, or_nan(&inner.q_mu_values), &shape)?.unbind()),
                Some(_) => None,
            },
            converged: array(py, inner.converged.clone(), &shape)?.unbind(),
            inner,
            measurement,
            ran,
        })
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = self.inner.parts();
        parts.push(self.ran.closing(&self.measurement));
        parts
    }
}

#[pymethods]
impl ScanResult {
    /// Where it ran.
    #[getter]
    fn device(&self) -> Option<String> {
        self.ran.device.clone()
    }

    /// Why it ran there, where `auto` chose.
    #[getter]
    fn device_reason(&self) -> Option<String> {
        self.ran.device_reason.clone()
    }

    /// How the fits of a GPU compare with the CPU's, or None.
    #[getter]
    fn gpu_check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &self.ran.gpu_check)
    }

    /// Interpolation codes, in words.
    #[getter]
    fn interpolation(&self) -> Option<String> {
        self.ran.interpolation.clone()
    }

    /// Fingerprint of the likelihood.
    #[getter]
    fn model_digest(&self) -> Option<String> {
        self.ran.model_digest.clone()
    }

    /// Seconds of wall time.
    #[getter]
    fn wall_s(&self) -> Option<f64> {
        self.ran.wall_s
    }

    /// Name of the (first) scanned parameter.
    #[getter]
    fn param(&self) -> String {
        self.inner.param.clone()
    }

    /// Its points, in the order of the question.
    #[getter]
    fn mu_values(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.mu_values.clone_ref(py)
    }

    /// Name of the second parameter, or None.
    #[getter]
    fn param2(&self) -> Option<String> {
        self.inner.second.as_ref().map(|s| s.param.clone())
    }

    /// The points of the second parameter, or None.
    #[getter]
    fn mu2_values(&self, py: Python<'_>) -> Option<Py<PyArray1<f64>>> {
        self.mu2_values.as_ref().map(|values| values.clone_ref(py))
    }

    /// twice_nll above the best fit's, minimised over all other parameters.
    #[getter]
    fn twice_delta_nll(&self, py: Python<'_>) -> Py<PyArrayDyn<f64>> {
        self.twice_delta_nll.clone_ref(py)
    }

    /// The one-sided statistic: 0 where the value lies below the best fit; None in two parameters.
    #[getter]
    fn q_mu_values(&self, py: Python<'_>) -> Option<Py<PyArrayDyn<f64>>> {
        self.q_mu_values.as_ref().map(|values| values.clone_ref(py))
    }

    /// Best-fit value of the (first) parameter.
    #[getter]
    fn mu_hat(&self) -> f64 {
        self.inner.mu_hat
    }

    /// Its uncertainty, or None.
    #[getter]
    fn uncertainty(&self) -> Option<f64> {
        self.inner.uncertainty
    }

    /// Best-fit value of the second parameter, or None.
    #[getter]
    fn mu2_hat(&self) -> Option<f64> {
        self.inner.second.as_ref().map(|s| s.mu_hat)
    }

    /// Its uncertainty, or None.
    #[getter]
    fn uncertainty2(&self) -> Option<f64> {
        self.inner.second.as_ref().and_then(|s| s.uncertainty)
    }

    /// Contour levels of a scan in two parameters: `(confidence level, twice_delta_nll)`; else None.
    #[getter]
    fn levels(&self) -> Option<Vec<(f64, f64)>> {
        let pair = |level: ContourLevel| (level.confidence_level, level.twice_delta_nll);
        self.inner.second.as_ref().map(|_| ContourLevel::usual().map(pair).to_vec())
    }

    /// Where twice_delta_nll crosses 1 and 4; empty in two parameters or if not asked for.
    #[getter]
    fn intervals(&self) -> Vec<ScanInterval> {
        self.inner.intervals.iter().map(ScanInterval::from).collect()
    }

    /// twice_nll at the best fit.
    #[getter]
    fn twice_nll(&self) -> f64 {
        self.inner.twice_nll
    }

    /// Whether the certificate of a minimum holds, per point.
    #[getter]
    fn converged(&self, py: Python<'_>) -> Py<PyArrayDyn<bool>> {
        self.converged.clone_ref(py)
    }

    /// Whether it holds at the best fit.
    #[getter]
    fn bestfit_converged(&self) -> bool {
        self.inner.bestfit_converged
    }

    /// Per point, why there is no value or no certificate, or None; rows in two parameters.
    #[getter]
    fn reasons(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let reasons = &self.inner.reasons;
        Ok(match self.inner.second {
            None => reasons.into_pyobject(py)?.into_any().unbind(),
            Some(_) => {
                let rows: Vec<_> = reasons.chunks(self.inner.row_length()).collect();
                rows.into_pyobject(py)?.into_any().unbind()
            }
        })
    }

    /// Iterations of all fits.
    #[getter]
    fn n_iter(&self) -> usize {
        self.inner.n_iter
    }

    /// What a reader of the numbers should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    /// Draws the scan, in two parameters as contours; saves the picture if there is a path. `levels` are
    /// other heights of twice_delta_nll, `y_max` is the top of the axis in one parameter.
    #[pyo3(signature = (path = None, *, levels = None, y_max = None, title = None, subtitle = None))]
    fn plot(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        levels: Option<Vec<f64>>,
        y_max: Option<f64>,
        title: Option<String>,
        subtitle: Option<String>,
    ) -> PyResult<Picture> {
        check(path.as_deref())?;
        let mut scanned = ns_inference::picture::scan(&self.inner);
        match &mut scanned {
            Scanned::Line(scan) => {
                if let Some(levels) = levels {
                    // The crossings found by fits belong to the usual levels.
                    (scan.levels, scan.crossings) = (levels, Vec::new());
                }
                scan.y_max = y_max;
            }
            Scanned::Plane(contour) => replace(&mut contour.levels, levels),
        }
        let (heading, remark) = scanned.titles();
        replace(heading, title);
        replace(remark, subtitle);
        picture::finish(py, scanned.draw(), path)
    }

    /// Everything as plain Python data, as in the JSON of `nextstat scan`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &Report { result: &self.inner, ran: self.ran.clone(), parts: Vec::new() })
    }

    /// What `pickle` and `copy` keep.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let inner = written(&StoredScan(self.inner.clone()))?;
        Ok((restorer(py, "_scan")?, (inner, &self.measurement, written(&self.ran)?).into_pyobject(py)?))
    }

    fn __len__(&self) -> usize {
        self.inner.twice_delta_nll.len()
    }

    fn __repr__(&self) -> String {
        table::text(&self.parts())
    }

    fn _repr_html_(&self) -> String {
        table::html(&self.parts())
    }
}

/// Scans the profile likelihood of a parameter, or of two.
///
/// At every one of `mu_values` the parameter `param` (by default the parameter of interest) is held and
/// all others are minimised; without `mu_values`, at `points` values over three uncertainties on either
/// side of the best fit, inside the bounds. `param2` with `mu2_values` (or `points2`) makes it a scan in
/// two parameters. `intervals=False` leaves out where twice_delta_nll crosses 1 and 4.
///
/// `data`, `asimov`, `fixed`, `init` and `search` are those of `fit`. `progress` is True for a line on
/// standard error, or a function of `(done, total)`. Ctrl-C stops the scan and raises
/// `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (model, mu_values = None, *, param = None, points = 21, param2 = None, mu2_values = None,
                    points2 = 21, intervals = true, device = "auto", data = None, asimov = None, fixed = None,
                    init = None, search = "standard", threads = 0, progress = None))]
pub(crate) fn profile_scan(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    mu_values: Option<&Bound<'_, PyAny>>,
    param: Option<String>,
    #[pyo3(from_py_with = whole)] points: usize,
    param2: Option<String>,
    mu2_values: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] points2: usize,
    intervals: bool,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    search: &str,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ScanResult> {
    let started = Instant::now();
    let model = load::model(py, model)?;
    let model = model.get();
    let core = &model.inner;
    let mut wanted = ns_inference::FitOptions::default().search(options::search(search)?);
    wanted = options::data(wanted, core, data, asimov)?;
    wanted = options::fixed(wanted, fixed)?;
    wanted = options::init(wanted, core, init)?;
    let mut question = ScanOptions::new(axis("mu_values", param, mu_values, points)?).intervals(intervals);
    question = match (param2, mu2_values) {
        (Some(name), values) => question.second(axis("mu2_values", Some(name), values, points2)?),
        (None, None) => question,
        (None, Some(_)) => {
            return Err(PyValueError::new_err("mu2_values needs param2, the second parameter"));
        }
    };
    question = question.fit(wanted);
    let count = |axis: &ScanAxis| axis.values.as_ref().map_or(axis.points, Vec::len) as u64;
    let second = question.second.as_ref().map_or(1, count);
    let work = Work::Scan { points: count(&question.first).saturating_mul(second) };
    let opened = model.open(py, &execution(device, threads)?, work)?;
    let session = opened.session.as_ref();
    let result =
        run(py, &Progress::read(progress)?, |control| ns_inference::scan(core, session, &question, control))?
            .map_err(|error| inference_error(&error))?;
    ScanResult::new(py, result, core.measurement.clone(), model.ran(opened, started))
}

/// The axis of one parameter.
fn axis(
    what: &str,
    param: Option<String>,
    values: Option<&Bound<'_, PyAny>>,
    points: usize,
) -> PyResult<ScanAxis> {
    let axis = param.map_or_else(ScanAxis::default, ScanAxis::param).points(points);
    let Some(object) = values else { return Ok(axis) };
    let rows = Rows::read(what, object)?;
    match rows.batch {
        None => Ok(axis.values(rows.values)),
        Some(_) => Err(PyValueError::new_err(format!("{what} must have one dimension"))),
    }
}
