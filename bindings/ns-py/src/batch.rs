//! `nextstat.fit_batch`: fits many data sets in one call.

use ns_inference::present::{count, significant};
use ns_inference::report::{Part, RunInfo, Table};
use ns_inference::{BatchFit, FitOptions, Work};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::Common;
use crate::arrays::{array, or_nan};
use crate::datasets::datasets as read_datasets;
use crate::model::Model;
use crate::pickle::{Reduced, attributes};
use crate::plain::plain;
use crate::warn::warn_of_result;
use crate::{load, table};

attributes! {
    /// Results of the fits to many data sets. Arrays have one row per data set, in the order of the data sets. If a fit
    /// has no result, its row is NaN, and `errors` has the reason.
    BatchResult, _batch {
        parameter_names: Vec<String>,
        bestfit: Py<PyArrayDyn<f64>>,
        uncertainties: Option<Py<PyArrayDyn<f64>>>,
        covariance: Option<Py<PyArrayDyn<f64>>>,
        nll: Py<PyArray1<f64>>,
        twice_nll: Py<PyArray1<f64>>,
        converged: Py<PyArray1<bool>>,
        edm: Py<PyArray1<f64>>,
        n_iter: Py<PyArray1<i64>>,
        errors: Vec<Option<String>>,
        n_converged: usize,
        n_error: usize,
        device: Option<String>,
        device_reason: Option<String>,
        gpu_check: Py<PyAny>,
        interpolation: Option<String>,
        model_digest: Option<String>,
        warnings: Vec<String>,
        wall_s: Option<f64>,
    }
}

/// Fits every data set with the same options.
///
/// `datasets` has one row per data set: main counts, or main counts followed by auxiliary data. The options
/// have the same meaning as for `fit`. `bounds` replaces bounds of the model, for all fits or for each data
/// set. It is an array of shape (parameters, 2) or (data sets, parameters, 2), a dictionary from names to
/// pairs, or a list of such dictionaries, one per data set. `progress` is True for a line on standard error,
/// or a function of `(done, total)`. Ctrl-C stops the batch and raises `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (model, datasets, *, device = "auto", fixed = None, init = None, uncertainties = true,
                    covariance = false, search = "standard", integral_tolerance = None, threads = 0, progress = None, bounds = None))]
pub(crate) fn fit_batch(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    datasets: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    uncertainties: bool,
    covariance: bool,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    bounds: Option<&Bound<'_, PyAny>>,
) -> PyResult<BatchResult> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    if datasets.len().is_ok_and(|n| n == 0) && !datasets.hasattr("shape")? {
        return Err(PyValueError::new_err("datasets is empty; give one row of counts per data set"));
    }
    let (data, batch) = read_datasets(&model.inner, "datasets", datasets)?;
    if batch.is_none() {
        return Err(PyValueError::new_err("datasets must have two dimensions, one row per data set"));
    }
    let common = Common {
        device,
        threads,
        data: None,
        blind: None,
        asimov: None,
        fixed,
        init,
        search,
        integral_tolerance,
        progress,
    };
    let wanted = common.fit_options(model)?;
    let wanted = wanted.covariance(covariance).uncertainties(uncertainties);
    let bounds = crate::bounds::bounds(&model.inner, bounds)?;
    let fits = batch.map_or(1, |n| n as u64);
    let (batch, ran) = common.ran(py, model, Work::Batch { fits }, |core, session, control| {
        ns_inference::fit_batch_within(core, session, data, &bounds, &wanted, control)
    })?;
    let result = BatchResult::new(py, batch, &wanted, model, ran)?;
    warn_of_result(py, &model.inner, &result.warnings)?;
    Ok(result)
}

impl BatchResult {
    /// Collects the results of the fits in arrays with one row per fit.
    fn new(
        py: Python<'_>,
        batch: BatchFit,
        options: &FitOptions,
        model: &Model,
        ran: RunInfo,
    ) -> PyResult<Self> {
        let (n, width) = (batch.fits.len(), model.inner.parameters.len());
        let mut bestfit = Vec::with_capacity(n * width);
        let mut sigmas: Vec<f64> = Vec::new();
        let mut matrices: Vec<f64> = Vec::new();
        let mut nll = Vec::with_capacity(n);
        let mut edm = Vec::with_capacity(n);
        let mut converged = Vec::with_capacity(n);
        let mut n_iter: Vec<i64> = Vec::with_capacity(n);
        for fit in &batch.fits {
            let fit = fit.as_ref().ok();
            extend(&mut bestfit, fit.map(|f| f.parameters.as_slice()), width);
            if options.uncertainties {
                let row = fit.map(|f| or_nan(&f.uncertainties));
                extend(&mut sigmas, row.as_deref(), width);
            }
            if options.covariance {
                let matrix = fit.and_then(|f| f.covariance.as_ref());
                extend(&mut matrices, matrix.map(|c| c.values.as_slice()), width * width);
            }
            nll.push(fit.map_or(f64::NAN, |f| f.nll));
            edm.push(fit.map_or(f64::NAN, |f| f.certificate.edm));
            converged.push(fit.is_some_and(ns_core::FitOutcome::converged));
            n_iter.push(fit.map_or(0, |f| i64::try_from(f.n_iterations).unwrap_or(i64::MAX)));
        }
        let errors: Vec<Option<String>> = (0..n).map(|i| batch.failure(&model.inner, i)).collect();
        let (n_converged, n_error) = (batch.n_converged(), errors.iter().flatten().count());
        let mut warnings = model.inner.warnings.clone();
        warnings.extend(batch.warning());
        let twice_nll = nll.iter().map(|x| 2.0 * x).collect();
        Ok(Self {
            parameter_names: batch.parameter_names,
            bestfit: array(py, bestfit, &[n, width])?.unbind(),
            uncertainties: match options.uncertainties {
                true => Some(array(py, sigmas, &[n, width])?.unbind()),
                false => None,
            },
            covariance: match options.covariance {
                true => Some(array(py, matrices, &[n, width, width])?.unbind()),
                false => None,
            },
            nll: PyArray1::from_vec(py, nll).unbind(),
            twice_nll: PyArray1::from_vec(py, twice_nll).unbind(),
            converged: PyArray1::from_vec(py, converged).unbind(),
            edm: PyArray1::from_vec(py, edm).unbind(),
            n_iter: PyArray1::from_vec(py, n_iter).unbind(),
            errors,
            n_converged,
            n_error,
            device: ran.device,
            device_reason: ran.device_reason,
            gpu_check: plain(py, &ran.gpu_check)?.unbind(),
            interpolation: ran.interpolation,
            model_digest: ran.model_digest,
            warnings,
            wall_s: ran.wall_s,
        })
    }

    /// Returns the text of the result: the mean and the standard deviation of every parameter over the
    /// converged fits, and a summary.
    fn parts(&self, py: Python<'_>) -> PyResult<Vec<Part>> {
        let (values, good) = (self.bestfit.bind(py).to_vec()?, self.converged.bind(py).to_vec()?);
        let width = self.parameter_names.len();
        let mut table = Table::new(&["parameter", "mean", "spread"], &[1, 2]);
        for (p, name) in self.parameter_names.iter().enumerate() {
            let column = values.iter().skip(p).step_by(width.max(1)).zip(&good);
            let column: Vec<f64> = column.filter(|(_, good)| **good).map(|(value, _)| *value).collect();
            let n = column.len() as f64;
            let mean = column.iter().sum::<f64>() / n;
            // A single value has no standard deviation, so no number is shown.
            let n_free = if column.len() > 1 { n - 1.0 } else { f64::NAN };
            let spread = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n_free).sqrt();
            let show = |x: f64| if x.is_finite() { significant(x) } else { String::new() };
            table.row([name.clone(), show(mean), show(spread)]);
        }
        let summary = format!(
            "{}, {} converged, {} without a result, {:.3} s on {}",
            count(self.errors.len(), "fit"),
            self.n_converged,
            self.n_error,
            self.wall_s.unwrap_or_default(),
            self.device.as_deref().unwrap_or_default(),
        );
        Ok(vec![Part::Table(table), Part::Text(summary)])
    }
}

/// Appends a row of `width` numbers to `column`. If the row is missing, appends NaN `width` times.
fn extend(column: &mut Vec<f64>, row: Option<&[f64]>, width: usize) {
    let end = column.len() + width;
    column.extend_from_slice(row.unwrap_or_default());
    column.resize(end, f64::NAN);
}

#[pymethods]
impl BatchResult {
    /// Returns the data from which `pickle` and `copy` restore the result.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.reduced(py)
    }

    fn __len__(&self) -> usize {
        self.errors.len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(table::text(&self.parts(py)?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(table::html(&self.parts(py)?))
    }

    /// Returns the tables of the result in LaTeX, with the rules of the package `booktabs`. Numbers are rounded to
    /// their uncertainties.
    fn to_latex(&self, py: Python<'_>) -> PyResult<String> {
        Ok(ns_inference::report::DocumentFormat::Latex.render(&self.parts(py)?))
    }

    /// Returns the tables and texts of the result in Markdown. Numbers are rounded to their uncertainties.
    fn to_markdown(&self, py: Python<'_>) -> PyResult<String> {
        Ok(ns_inference::report::DocumentFormat::Markdown.render(&self.parts(py)?))
    }

    /// Returns the tables of the result as comma-separated values. Numbers are rounded to their uncertainties.
    fn to_csv(&self, py: Python<'_>) -> PyResult<String> {
        Ok(ns_inference::report::DocumentFormat::Csv.render(&self.parts(py)?))
    }

    /// Returns the result as a data frame of pandas (see `to_polars`).
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::frame(slf.as_any(), "pandas")
    }

    /// Returns the result as a data frame of polars, with all digits of its numbers. A fit has a row per parameter, a
    /// batch of fits a row per data set, a ranking a row per parameter, yields a row per sample and bin, a scan a row
    /// per value, a limit a row per quantile; other results are one row. Raises `ImportError` without polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::frame(slf.as_any(), "polars")
    }

    /// Returns the data frame as a stream of Arrow, for pyarrow, polars, DuckDB and others that take such objects. Needs polars,
    /// pyarrow or a pandas with pyarrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::arrow(slf.as_any(), requested_schema)
    }

    /// Returns the result as plain Python data. Numbers that do not exist are None.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.attributes(py)?;
        dict.set_item("bestfit", table::rows(py, self.bestfit.bind(py))?)?;
        let matrix = self.uncertainties.as_ref().map(|m| table::rows(py, m.bind(py))).transpose()?;
        dict.set_item("uncertainties", matrix)?;
        let width = self.parameter_names.len();
        let covariance =
            self.covariance.as_ref().map(|m| m.bind(py).reshape(vec![self.errors.len(), width * width]));
        let covariance = covariance.transpose()?.map(|m| table::rows(py, &m)).transpose()?;
        dict.set_item("covariance", covariance)?;
        for (name, column) in [("nll", &self.nll), ("twice_nll", &self.twice_nll), ("edm", &self.edm)] {
            let values = column.bind(py).to_vec()?;
            let values: Vec<Option<f64>> =
                values.into_iter().map(|x| Some(x).filter(|x| !x.is_nan())).collect();
            dict.set_item(name, values)?;
        }
        dict.set_item("converged", self.converged.bind(py).to_vec()?)?;
        dict.set_item("n_iter", self.n_iter.bind(py).to_vec()?)?;
        Ok(dict)
    }
}
