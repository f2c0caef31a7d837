//! `nextstat.profile_scan` and `nextstat.ScanResult`.

use std::path::PathBuf;

use ns_inference::picture::Scanned;
use ns_inference::present::significant;
use ns_inference::report::hepdata::hepdata;
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::scan::ContourLevel;
use ns_inference::stored::StoredScan;
use ns_inference::{ScanAxis, ScanOptions, Work};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{Common, inner_methods};
use crate::arrays::{array, numbers, or_nan};
use crate::load::{self, Names};
use crate::pickle::{Reduced, attributes, read, restorer, written};
use crate::picture::{self, Picture, check, replace};
use crate::plain::dictionary;
use crate::pois::for_each;
use crate::warn::warn_of_result;

attributes! {
    /// The values of the parameter at which `twice_delta_nll` crosses `level`, below and above the best fit. If
    /// `twice_delta_nll` does not cross the level within the scan, `lower` or `upper` is None, and `lower_reason` or
    /// `upper_reason` says why.
    ScanInterval, _scan_interval from ns_inference::ScanInterval {
        level: f64,
        confidence_level: f64,
        lower: Option<f64>,
        upper: Option<f64>,
        lower_reason: Option<String>,
        upper_reason: Option<String>,
    }
}

#[pymethods]
impl ScanInterval {
    fn __repr__(&self) -> String {
        let side = |x: Option<f64>| x.map_or_else(|| "None".to_owned(), significant);
        format!("<ScanInterval at {}: {} to {}>", self.level, side(self.lower), side(self.upper))
    }

    /// Returns the data from which `pickle` and `copy` restore the object.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.reduced(py)
    }
}

/// Restores a pickled scan.
#[pyfunction]
pub(crate) fn _scan(py: Python<'_>, inner: &str, measurement: String, ran: &str) -> PyResult<ScanResult> {
    let StoredScan(inner) = read(inner)?;
    ScanResult::new(py, inner, measurement, read(ran)?)
}

/// A profile likelihood scan in one or two parameters. A number that does not exist is NaN in arrays and None
/// in `to_dict()`, and `reasons` and `warnings` say why. In a scan in two parameters, arrays of points have
/// one row per value of the second parameter, and `q_mu_values` is None. In a scan in one parameter, the
/// attributes of the second parameter are None.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct ScanResult {
    inner: ns_inference::ScanResult,
    mu_values: Py<PyArray1<f64>>,
    mu2_values: Option<Py<PyArray1<f64>>>,
    twice_delta_nll: Py<PyArrayDyn<f64>>,
    q_mu_values: Option<Py<PyArrayDyn<f64>>>,
    converged: Py<PyArrayDyn<bool>>,
    /// Name of the measurement, for the text of the result.
    measurement: String,
    ran: RunInfo,
}

impl ScanResult {
    /// Creates the Python object of a result.
    ///
    /// # Errors
    /// If a NumPy array cannot be created.
    pub(crate) fn new(
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

inner_methods! { ScanResult {
    /// Name of the scanned parameter, or of the first of two.
    param: String,
    /// Best-fit value of the scanned parameter, or of the first of two.
    mu_hat: f64,
    /// Uncertainty of the scanned parameter, or of the first of two, at the best fit; None if there is no uncertainty.
    uncertainty: Option<f64>,
    /// `-2 ln L` at the best fit.
    twice_nll: f64,
    /// Whether the best fit converged.
    bestfit_converged: bool,
    /// Number of iterations, summed over all fits.
    n_iter: usize,
    /// Warnings about the result.
    warnings: Vec<String>,
}, {
    /// Scanned values of the parameter (of the first of two), in the order in which they were given.
    #[getter]
    fn mu_values(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.mu_values.clone_ref(py)
    }

    /// Name of the second parameter, or None.
    #[getter]
    fn param2(&self) -> Option<String> {
        self.inner.second.as_ref().map(|s| s.param.clone())
    }

    /// Scanned values of the second parameter, or None.
    #[getter]
    fn mu2_values(&self, py: Python<'_>) -> Option<Py<PyArray1<f64>>> {
        self.mu2_values.as_ref().map(|values| values.clone_ref(py))
    }

    /// `-2 ln L` at each point, minimised over all other parameters, minus its value at the best fit.
    #[getter]
    fn twice_delta_nll(&self, py: Python<'_>) -> Py<PyArrayDyn<f64>> {
        self.twice_delta_nll.clone_ref(py)
    }

    /// One-sided test statistic at each point: `twice_delta_nll`, but 0 for values below the best fit. None
    /// in a scan in two parameters.
    #[getter]
    fn q_mu_values(&self, py: Python<'_>) -> Option<Py<PyArrayDyn<f64>>> {
        self.q_mu_values.as_ref().map(|values| values.clone_ref(py))
    }

    /// Best-fit value of the second parameter, or None.
    #[getter]
    fn mu2_hat(&self) -> Option<f64> {
        self.inner.second.as_ref().map(|s| s.mu_hat)
    }

    /// Uncertainty of the second parameter at the best fit, or None.
    #[getter]
    fn uncertainty2(&self) -> Option<f64> {
        self.inner.second.as_ref().and_then(|s| s.uncertainty)
    }

    /// Contour levels of a scan in two parameters, as pairs `(confidence level, twice_delta_nll)`. None in a
    /// scan in one parameter.
    #[getter]
    fn levels(&self) -> Option<Vec<(f64, f64)>> {
        let pair = |level: &ContourLevel| (level.confidence_level, level.twice_delta_nll);
        self.inner.second.as_ref().map(|_| self.inner.levels.iter().map(pair).collect())
    }

    /// Intervals between the values at which `twice_delta_nll` crosses the levels, by default 1 and 4. The list is empty in a scan
    /// in two parameters, and if the intervals were not requested.
    #[getter]
    fn intervals(&self) -> Vec<ScanInterval> {
        self.inner.intervals.iter().cloned().map(ScanInterval::from).collect()
    }

    /// Whether the fit converged, for each point.
    #[getter]
    fn converged(&self, py: Python<'_>) -> Py<PyArrayDyn<bool>> {
        self.converged.clone_ref(py)
    }

    /// For each point, the reason why it has no value or its fit did not converge; None for other points. In
    /// a scan in two parameters, this is a list with one row per value of the second parameter.
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

    /// Returns the scan as a data table of HEPData in YAML, which HEPData takes as a submission.
    fn to_hepdata(&self) -> String {
        hepdata(&self.inner.data_tables())
    }

    /// Draws the scan, with contours if it has two parameters. Saves the picture if `path` is given. `levels`
    /// are the values of `twice_delta_nll` to draw in place of the default levels. `y_max` is the upper end
    /// of the vertical axis of a scan in one parameter.
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
                    // The stored crossings belong to the default levels only.
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

    /// Returns the result as plain Python data, with the keys of the JSON of `nextstat scan`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &Report { result: &self.inner, ran: self.ran.clone(), parts: Vec::new() })
    }

    /// Returns the data from which `pickle` and `copy` restore the object.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let inner = written(&StoredScan(self.inner.clone()))?;
        Ok((restorer(py, "_scan")?, (inner, &self.measurement, written(&self.ran)?).into_pyobject(py)?))
    }

    fn __len__(&self) -> usize {
        self.inner.twice_delta_nll.len()
    }
} }

/// Scans the profile likelihood of a parameter, or of two.
///
/// At each of `mu_values` the parameter `param` (by default the parameter of interest) is fixed and the likelihood is
/// maximised in all other parameters. Without `mu_values`, `points` values are scanned, from three uncertainties
/// below the best fit to as many above it, within the bounds; in two parameters, the range goes beyond the contour of
/// 95 %. With `param2` and
/// `mu2_values` (or `points2`) the scan is in two parameters. `intervals=False` leaves out the search for the values
/// at which `twice_delta_nll` is 1 and 4. `poi` names the scanned parameter of interest; a list of names gives a dictionary with one
/// scan per name. `levels` are the confidence levels of intervals or contours, such as `[0.683, 0.954]`.
///
/// `data`, `asimov`, `fixed`, `init` and `search` have the same meaning as for `fit`. `progress` is True for a
/// line on standard error, or a function of `(done, total)`. Ctrl-C stops the scan and raises
/// `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (model, mu_values = None, *, param = None, points = 21, param2 = None, mu2_values = None,
                    points2 = 21, intervals = true, device = "auto", data = None, asimov = None, blind = None, fixed = None,
                    init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None, poi = None,
                    levels = None))]
pub(crate) fn profile_scan<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
    mu_values: Option<&Bound<'_, PyAny>>,
    param: Option<String>,
    #[pyo3(from_py_with = crate::whole::points)] points: usize,
    param2: Option<String>,
    mu2_values: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::points2)] points2: usize,
    intervals: bool,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    poi: Option<Names>,
    levels: Option<Vec<f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(poi) = poi {
        if param.is_some() {
            return Err(PyValueError::new_err(
                "give param or poi, not both: each names the scanned parameter",
            ));
        }
        return for_each(py, model, device, poi, |model| {
            profile_scan(
                py,
                model,
                mu_values,
                None,
                points,
                param2.clone(),
                mu2_values,
                points2,
                intervals,
                device,
                data,
                asimov,
                blind.clone(),
                fixed,
                init,
                search,
                integral_tolerance,
                threads,
                progress,
                None,
                levels.clone(),
            )
        });
    }
    let model = load::model(py, model, device)?;
    let model = model.get();
    let common = Common {
        device,
        threads,
        data,
        asimov,
        blind: blind.map(Names::list),
        fixed,
        init,
        search,
        integral_tolerance,
        progress,
    };
    let wanted = common.fit_options(model)?;
    let mut question = ScanOptions::new(axis("mu_values", param, mu_values, points)?)
        .intervals(intervals)
        .levels(levels.unwrap_or_default());
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
    let (result, ran) = common.ran(py, model, work, |core, session, control| {
        ns_inference::scan(core, session, &question, control)
    })?;
    warn_of_result(py, &model.inner, &result.warnings)?;
    let scan = ScanResult::new(py, result, model.inner.measurement.clone(), ran)?;
    Ok(Bound::new(py, scan)?.into_any())
}

/// Reads the arguments of one scanned parameter.
fn axis(
    what: &str,
    param: Option<String>,
    values: Option<&Bound<'_, PyAny>>,
    points: usize,
) -> PyResult<ScanAxis> {
    let axis = param.map_or_else(ScanAxis::default, ScanAxis::param).points(points);
    let Some(object) = values else { return Ok(axis) };
    Ok(axis.values(numbers(what, object)?))
}
