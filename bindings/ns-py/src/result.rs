//! `nextstat.FitResult`, whose attributes have the names of the JSON keys of `nextstat fit`.

use std::path::PathBuf;

use ns_core::{Covariance, Execution, plain as shown};
use ns_inference::present::significant;
use ns_inference::report::hepdata::hepdata;
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::stored::StoredFit;
use ns_inference::{FitOptions, YieldsResult};
use ns_viz::{Correlation, Drawing, PictureError, Yields};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::inner_methods;
use crate::arrays::{array, or_nan};
use crate::error::inference_error;
use crate::model::{Model, Question};
use crate::options;
use crate::pickle::{Reduced, attributes, read, restorer, written};
use crate::picture::{self, Picture, check, replace};
use crate::plain::{dictionary, plain};
use crate::table;
use crate::work::released;

attributes! {
    /// The values of a parameter at which `twice_nll` is 1 above its minimum (`lower_crossing`, `upper_crossing`), and
    /// their distances from the best fit (`lower`, which is negative, and `upper`). If `twice_nll` does not rise by 1
    /// before the bound of the parameter, the values of this side are None, and `lower_reason` or `upper_reason` says
    /// why.
    Interval, _interval from ns_inference::Interval {
        parameter: String,
        lower: Option<f64>,
        upper: Option<f64>,
        lower_crossing: Option<f64>,
        upper_crossing: Option<f64>,
        lower_reason: Option<String>,
        upper_reason: Option<String>,
    }
}

#[pymethods]
impl Interval {
    fn __repr__(&self) -> String {
        let side = |d: Option<f64>| d.map_or_else(|| "None".to_owned(), significant);
        format!(
            "<Interval {}: lower {}, upper {}>",
            shown(&self.parameter),
            side(self.lower),
            side(self.upper)
        )
    }

    /// Returns the data from which `pickle` and `copy` restore the object.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.reduced(py)
    }
}

/// The result of a fit. Arrays are in the order of `parameter_names`. A number that does not exist is NaN in
/// arrays and None in `to_dict()`, and `warnings` says why.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct FitResult {
    /// The result of `ns_inference::fit` without its covariance, which is stored as a NumPy array.
    inner: ns_inference::FitResult,
    bestfit: Py<PyArray1<f64>>,
    uncertainties: Py<PyArray1<f64>>,
    covariance: Option<Py<PyArrayDyn<f64>>>,
    /// The model, for pictures that need further computations.
    question: Question,
    options: FitOptions,
    ran: RunInfo,
}

impl FitResult {
    /// Creates the Python object of a result. NumPy takes over the memory of the covariance without a copy.
    ///
    /// # Errors
    /// If a NumPy array cannot be created.
    pub(crate) fn new(
        py: Python<'_>,
        mut inner: ns_inference::FitResult,
        model: &Model,
        options: FitOptions,
        ran: RunInfo,
    ) -> PyResult<Self> {
        let covariance = match inner.covariance.take() {
            Some(Covariance { n, values }) => Some(array(py, values, &[n, n])?.unbind()),
            None => None,
        };
        Ok(Self {
            bestfit: PyArray1::from_slice(py, &inner.bestfit).unbind(),
            uncertainties: PyArray1::from_vec(py, or_nan(&inner.uncertainties)).unbind(),
            covariance,
            inner,
            question: model.question(),
            options,
            ran,
        })
    }

    /// Returns the index of a parameter by name. Raises `KeyError` if the result lacks the parameter.
    fn index(&self, name: &str) -> PyResult<usize> {
        self.inner.index(name).ok_or_else(|| PyKeyError::new_err(format!("no parameter '{name}'")))
    }

    /// Returns the result of `ns_inference::fit`, including its covariance.
    pub(crate) fn whole(&self, py: Python<'_>) -> PyResult<ns_inference::FitResult> {
        let mut whole = self.inner.clone();
        if let Some(matrix) = &self.covariance {
            let values = matrix.bind(py).to_vec()?;
            whole.covariance = Some(Covariance { n: whole.parameter_names.len(), values });
        }
        Ok(whole)
    }

    /// Returns the expected and observed events: before the fit if `prefit` is true, otherwise after it.
    fn yields(&self, py: Python<'_>, prefit: bool) -> PyResult<YieldsResult> {
        let (whole, model) = (self.whole(py)?, self.question.model.as_ref());
        let work = || {
            let session = self.question.session(&Execution::default())?;
            if prefit {
                ns_inference::prefit_yields(model, session.as_ref(), &self.options)
            } else {
                ns_inference::postfit_yields(model, session.as_ref(), &self.options, &whole)
            }
        };
        released(py, work)?.map_err(|error| inference_error(&error))
    }

    fn parts(&self) -> Vec<Part> {
        self.inner.parts(&self.question.model, &self.ran)
    }
}

inner_methods! { FitResult {
    /// Names of all parameters, in pyhf's order.
    parameter_names: Vec<String>,
    /// `-ln L` at the minimum.
    nll: f64,
    /// `-2 ln L` at the minimum.
    twice_nll: f64,
    /// Index of the first parameter of interest, or None.
    poi_index: Option<usize>,
    /// Whether the fit converged, i.e. whether `edm` is below its tolerance at the best fit.
    converged: bool,
    /// Estimated distance to the minimum: the expected difference between `nll` and its true minimum.
    edm: Option<f64>,
    /// Number of iterations of the first descent and of the checks at the minimum.
    n_iter: usize,
    /// Number of iterations of all descents in search of lower minima.
    n_search_iter: usize,
    /// Names of the parameters whose best fit is at a bound.
    at_bound: Vec<String>,
    /// Names of the parameters whose best fit is at the kink of a piecewise interpolation.
    at_kink: Vec<String>,
    /// Names of the parameters along flat directions of the likelihood. The data do not determine these parameters,
    /// or determine them only in combination with others.
    flat: Vec<String>,
    /// Names of the fixed parameters.
    fixed: Vec<String>,
    /// Reason why the minimisation stopped.
    termination_reason: String,
    /// Warnings about the result.
    warnings: Vec<String>,
}, {
    /// Best-fit values of all parameters.
    #[getter]
    fn bestfit(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.bestfit.clone_ref(py)
    }

    /// Uncertainties of all parameters from the exact Hessian. They are NaN for fixed parameters, at bounds,
    /// at kinks and along flat directions.
    #[getter]
    fn uncertainties(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.uncertainties.clone_ref(py)
    }

    /// Pulls of all parameters: `(bestfit - auxiliary datum) / pre-fit width`. NaN for fixed and unconstrained parameters.
    #[getter]
    fn pulls<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, or_nan(&self.inner.pulls))
    }

    /// Ratios of the uncertainties of all parameters to their pre-fit widths. NaN without one of them.
    #[getter]
    fn constraints<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, or_nan(&self.inner.constraints))
    }

    /// Correlation matrix; None if there is no covariance. Elements of parameters without a variance are NaN.
    #[getter]
    fn correlation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArrayDyn<f64>>>> {
        let Some(matrix) = &self.covariance else { return Ok(None) };
        let (values, n) = (matrix.bind(py).to_vec()?, self.inner.parameter_names.len());
        let variance: Vec<f64> = values.iter().step_by(n + 1).copied().collect();
        let coefficient = |(k, value): (usize, &f64)| {
            let of = |i: usize| variance.get(i).copied().filter(|v| *v > 0.0).map_or(f64::NAN, f64::sqrt);
            let (i, j) = (k / n.max(1), k % n.max(1));
            match of(i) {
                // A parameter is correlated with itself, whatever the rounding.
                sigma if i == j && !sigma.is_nan() => 1.0,
                sigma => (value / sigma / of(j)).clamp(-1.0, 1.0),
            }
        };
        array(py, values.iter().enumerate().map(coefficient).collect(), &[n, n]).map(Some)
    }

    /// Covariance matrix; None if it was not requested. Rows of parameters that are fixed, at a bound or on a kink are
    /// 0, and the other elements are computed with these parameters kept at their values. Rows of parameters along flat
    /// directions are NaN.
    #[getter]
    fn covariance(&self, py: Python<'_>) -> Option<Py<PyArrayDyn<f64>>> {
        self.covariance.as_ref().map(|c| c.clone_ref(py))
    }

    /// MINOS intervals of the parameters in the argument `minos`, by the name of the parameter.
    #[getter]
    fn minos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        intervals(py, &self.inner.minos)
    }

    /// Intervals of the parameters at a bound or on a kink, by the name of the parameter.
    #[getter]
    fn crossings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        intervals(py, &self.inner.crossings)
    }

    /// Derived quantities, by name: dictionaries with the keys "expression", "value", "uncertainty" and, if they were asked
    /// for, "interval".
    #[getter]
    fn derived<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for quantity in &self.inner.derived {
            let own = plain(py, quantity)?;
            own.del_item("name")?;
            all.set_item(&quantity.name, own)?;
        }
        Ok(all)
    }

    /// The largest relative error of the integrals of densities at the best fit: a dictionary with the keys "relative",
    /// "channel" and "process". None if all integrals have closed forms.
    #[getter]
    fn integral_error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.integral_error.as_ref().map(|own| plain(py, own)).transpose()
    }

    /// Method by which uncertainties of weighted events were computed: "sandwich", "sumw2" or "hesse"; None
    /// without weights.
    #[getter]
    fn weighted_uncertainties(&self) -> Option<&'static str> {
        self.inner.weighted_uncertainties.map(ns_inference::WeightedUncertainties::name)
    }

    /// For each flow with context, a dictionary that says how derivatives with respect to the context were
    /// computed.
    #[getter]
    fn context_gradients<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.inner.context_gradients.iter().map(|own| plain(py, own)).collect()
    }

    /// Returns the best-fit value of a parameter by name.
    fn value(&self, name: &str) -> PyResult<f64> {
        let index = self.index(name)?;
        self.inner.bestfit.get(index).copied().ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// Returns the uncertainty of a parameter by name; None if the parameter has no uncertainty.
    fn uncertainty(&self, name: &str) -> PyResult<Option<f64>> {
        Ok(self.inner.uncertainties.get(self.index(name)?).copied().flatten())
    }

    /// Returns the fitted parameters and their correlations as data tables of HEPData in YAML: the documents of one file,
    /// which HEPData takes as a submission.
    fn to_hepdata(&self, py: Python<'_>) -> PyResult<String> {
        Ok(hepdata(&self.whole(py)?.data_tables()))
    }

    /// Draws the fit, and saves the picture if `path` is given.
    ///
    /// `kind` is "pulls" (pulls and constraints), "correlation" (the correlation matrix), "poi-correlation" (that of the
    /// parameters of interest), "yields" (expected and observed events) or "summary" (all channels with one bin for each, after and before the fit). For "correlation", `threshold` keeps only parameters with a coefficient of at least that size.
    /// For "yields", `prefit=True` draws the events before the fit; `channels`, `log_y`, `columns`, `max_samples`,
    /// `blind` and `components` have the same meaning as for `YieldsResult.plot`. For "pulls", `columns` is the number
    /// of columns of the picture.
    #[pyo3(signature = (path = None, *, kind = "pulls", prefit = false, threshold = None, channels = None,
                        log_y = false, columns = None, max_samples = None, blind = None, components = "stack",
                        title = None, subtitle = None))]
    fn plot(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        kind: &str,
        prefit: bool,
        threshold: Option<f64>,
        channels: Option<Vec<String>>,
        log_y: bool,
        #[pyo3(from_py_with = crate::whole::perhaps::columns)] columns: Option<usize>,
        #[pyo3(from_py_with = crate::whole::perhaps::max_samples)] max_samples: Option<usize>,
        blind: Option<picture::Blind>,
        components: &str,
        title: Option<String>,
        subtitle: Option<String>,
    ) -> PyResult<Picture> {
        check(path.as_deref())?;
        let drawing: Result<Drawing, PictureError> = match kind {
            "pulls" => {
                let mut pulls = ns_inference::picture::pulls(&self.inner);
                pulls.columns = columns;
                replace(&mut pulls.title, title);
                replace(&mut pulls.subtitle, subtitle);
                pulls.draw()
            }
            "correlation" => {
                let correlation = ns_inference::picture::correlation(&self.whole(py)?, threshold);
                let mut correlation: Correlation = correlation.ok_or_else(|| {
                    PyValueError::new_err("there is no covariance to draw: fit with covariance=True")
                })?;
                replace(&mut correlation.title, title);
                replace(&mut correlation.subtitle, subtitle);
                correlation.draw()
            }
            "poi-correlation" => {
                let correlation = ns_inference::picture::poi_correlation(&self.inner);
                let mut correlation: Correlation = correlation.ok_or_else(|| {
                    PyValueError::new_err(
                        "there are no correlations of parameters of interest to draw: the fit has fewer than two of them, or \
                         no uncertainties",
                    )
                })?;
                replace(&mut correlation.title, title);
                replace(&mut correlation.subtitle, subtitle);
                correlation.draw()
            }
            "yields" => {
                let drawn = ns_inference::picture::yields(&self.yields(py, prefit)?);
                let mut yields = Yields { log_y, columns, ..drawn };
                if let Some(names) = channels {
                    picture::select(&mut yields, &names)?;
                }
                picture::shape_events(&mut yields, blind, components)?;
                replace(&mut yields.max_samples, max_samples);
                replace(&mut yields.title, title);
                replace(&mut yields.subtitle, subtitle);
                yields.draw()
            }
            "summary" => {
                let (before, after) = (self.yields(py, true)?, self.yields(py, prefit)?);
                let drawn = ns_inference::picture::summary(&after, (!prefit).then_some(&before));
                let mut summary = Yields { log_y, ..drawn };
                replace(&mut summary.max_samples, max_samples);
                replace(&mut summary.title, title);
                replace(&mut summary.subtitle, subtitle);
                summary.draw()
            }
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown kind '{other}'; use \"pulls\", \"correlation\", \"poi-correlation\", \"yields\" or \
                     \"summary\""
                )));
            }
        };
        picture::finish(py, drawing, path)
    }

    /// Returns the result as plain Python data, with the keys of the JSON of `nextstat fit`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = Report { result: &self.inner, ran: self.ran.clone(), parts: Vec::new() };
        let dict = dictionary(py, &report)?;
        if let Some(matrix) = &self.covariance {
            dict.set_item("covariance", table::rows(py, matrix.bind(py))?)?;
        }
        Ok(dict)
    }

    /// Returns the data from which `pickle` and `copy` restore the object.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let inner = written(&StoredFit(self.inner.clone()))?;
        let covariance = self.covariance.as_ref().map(|c| c.clone_ref(py));
        let (question, options) = (self.question.pickled(py)?, options::pickled(py, &self.options)?);
        let arguments = (inner, covariance, question, options, written(&self.ran)?);
        Ok((restorer(py, "_fit")?, arguments.into_pyobject(py)?))
    }
} }

/// Restores a pickled result of a fit.
#[pyfunction]
pub(crate) fn _fit(
    py: Python<'_>,
    inner: &str,
    covariance: Option<Py<PyArrayDyn<f64>>>,
    question: &Bound<'_, PyAny>,
    options: &Bound<'_, PyAny>,
    ran: &str,
) -> PyResult<FitResult> {
    let StoredFit(inner) = read(inner)?;
    let question = Question::restored(py, question)?;
    Ok(FitResult {
        bestfit: PyArray1::from_slice(py, &inner.bestfit).unbind(),
        uncertainties: PyArray1::from_vec(py, or_nan(&inner.uncertainties)).unbind(),
        covariance,
        inner,
        question,
        options: options::restored(options)?,
        ran: read(ran)?,
    })
}

/// Returns a dictionary from names of parameters to their intervals.
fn intervals<'py>(py: Python<'py>, list: &[ns_inference::Interval]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for interval in list {
        dict.set_item(&interval.parameter, Bound::new(py, Interval::from(interval.clone()))?)?;
    }
    Ok(dict)
}
