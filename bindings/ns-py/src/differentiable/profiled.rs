//! `nextstat.ProfiledDifferentiableSession`.

use ns_core::Execution;
use ns_inference::differentiable::{
    Band, BestFit, Differentiated, ProfiledDifferentiableSession as Inner, ProfiledOptions,
};
use ns_inference::{FitOptions, InferenceError, TestStatistic};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::likelihood::{Array, Listed, listed, opened};
use super::rows;
use crate::arrays::{Rows, array};
use crate::earlier::names;
use crate::model::Model;
use crate::options;
use crate::work::released;

/// A model whose fit results are differentiable functions of inputs. Inputs are chosen numbers of the model.
///
/// Every method takes `yields`, the numbers of all inputs, in one row or a batch of rows. It returns the
/// values, their derivatives with respect to the yields, and for each value whether its derivatives are
/// one-sided. Rows without a result are NaN. With `check=True` such a row raises an error.
#[pyclass(frozen, weakref, module = "nextstat")]
pub(crate) struct ProfiledDifferentiableSession {
    inner: Inner,
    warm: Option<bool>,
}

/// Values, their derivatives, and for each value whether its derivatives are one-sided.
type Results<'py> = (Array<'py>, Array<'py>, Bound<'py, PyArrayDyn<bool>>);

/// The best fits that `best_fit` found, one per row of yields. `pull_back` computes derivatives from them.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct BestFits {
    fits: Vec<Option<BestFit>>,
    batch: Option<usize>,
}

impl ProfiledDifferentiableSession {
    /// Calls `work` for each row of `yields` and returns the results as arrays. `size` is the number of
    /// results per row, or `None` if the result is a single number.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        check: bool,
        size: Option<usize>,
        work: impl Fn(usize, &[f64]) -> Result<Vec<Differentiated>, InferenceError> + Sync,
    ) -> PyResult<Results<'py>> {
        let n = self.inner.likelihood().inputs().len();
        let yields = rows::read("yields", yields, n)?;
        let missing = || {
            let one = Differentiated { value: f64::NAN, gradient: vec![f64::NAN; n], one_sided: false };
            vec![one; size.unwrap_or(1)]
        };
        let one = |i: usize| {
            let row = yields.row(i);
            if !check && row.iter().any(|x| !x.is_finite()) {
                return Ok(missing());
            }
            rows::or_missing(work(i, row), check, missing)
        };
        let made =
            released(py, || self.inner.likelihood().each(yields.count(), one))?.map_err(rows::failed)?;
        let all = || made.iter().flatten();
        let shape: Vec<usize> = yields.batch.into_iter().chain(size).collect();
        let with_n: Vec<usize> = shape.iter().copied().chain([n]).collect();
        Ok((
            array(py, all().map(|d| d.value).collect(), &shape)?,
            array(py, all().flat_map(|d| d.gradient.iter().copied()).collect(), &with_n)?,
            array(py, all().map(|d| d.one_sided).collect(), &shape)?,
        ))
    }
}

/// Returns the observed result, followed by the expected results, as one list.
fn flat(band: Band) -> Vec<Differentiated> {
    std::iter::once(band.observed).chain(band.expected).collect()
}

fn statistic(name: &str) -> PyResult<TestStatistic> {
    name.parse().map_err(PyValueError::new_err)
}

#[pymethods]
impl ProfiledDifferentiableSession {
    #[new]
    #[pyo3(signature = (model, inputs, *, poi=None, follow=Vec::new(), data=None, asimov=None, search="standard", warm=None, threads=0))]
    fn new(
        py: Python<'_>,
        model: &Model,
        inputs: &Bound<'_, PyAny>,
        poi: Option<&str>,
        follow: Vec<String>,
        data: Option<&Bound<'_, PyAny>>,
        asimov: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
        warm: Option<bool>,
        threads: usize,
    ) -> PyResult<Self> {
        let opened = opened(model, inputs, poi)?;
        let FitOptions { data, .. } = options::data(FitOptions::default(), &opened, data, asimov, None)?;
        let options = ProfiledOptions {
            follow: super::inputs::follow(&follow)?,
            data,
            search: options::search(search)?,
        };
        let execution = Execution { threads, ..Execution::default() };
        let inner = released(py, || Inner::open(&opened, &options, &execution))?.map_err(rows::failed)?;
        Ok(Self { inner, warm })
    }

    /// Whether each fit of `statistic` starts at the minimum of the last fit; None if each call decides.
    #[getter]
    fn warm(&self) -> Option<bool> {
        self.warm
    }

    /// The inputs in their order. Each is a tuple of names, with the start and the end of its numbers in a
    /// row of yields.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Listed<'py>> {
        listed(py, self.inner.likelihood())
    }

    /// A row of yields with the model's own numbers for all inputs.
    #[getter]
    fn nominal<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let values = self.inner.likelihood().inputs().values.clone();
        let n = values.len();
        array(py, values, &[n])
    }

    /// Names of the parameters, in the order of the parameter arrays.
    #[getter]
    fn parameter_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        names(py, self.inner.likelihood().model().parameters.iter().map(|p| p.name.clone()).collect())
    }

    /// Returns the one-sided test statistic "q0" (tests the value 0), "q" or "qtilde" (test the value `mu`).
    /// With `warm=True` each fit starts at the minimum of the last warm fit of the same row. By default this
    /// is the session's `warm`, or False if the session's is None.
    #[pyo3(signature = (test_stat, mu, yields, *, check=false, warm=None))]
    fn statistic<'py>(
        &self,
        py: Python<'py>,
        test_stat: &str,
        mu: f64,
        yields: &Bound<'_, PyAny>,
        check: bool,
        warm: Option<bool>,
    ) -> PyResult<Results<'py>> {
        let test_stat = statistic(test_stat)?;
        let warm = warm.or(self.warm).unwrap_or(false);
        self.rows(py, yields, check, None, |i, row| {
            Ok(vec![self.inner.statistic(test_stat, mu, row, warm.then_some(i))?])
        })
    }

    /// Returns CLs of the value `mu`. The observed value comes first, then the values expected for background
    /// alone at -2, -1, 0, 1 and 2 standard deviations.
    #[pyo3(signature = (mu, yields, *, test_stat="qtilde", check=false))]
    fn cls<'py>(
        &self,
        py: Python<'py>,
        mu: f64,
        yields: &Bound<'_, PyAny>,
        test_stat: &str,
        check: bool,
    ) -> PyResult<Results<'py>> {
        let test_stat = statistic(test_stat)?;
        self.rows(py, yields, check, Some(6), |_, row| Ok(flat(self.inner.cls(test_stat, mu, row)?)))
    }

    /// Returns the CLs upper limit. The observed limit comes first, then the limits expected for background
    /// alone at -2, -1, 0, 1 and 2 standard deviations.
    #[pyo3(signature = (yields, *, cl=0.95, test_stat="qtilde", check=false))]
    fn upper_limit<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        cl: f64,
        test_stat: &str,
        check: bool,
    ) -> PyResult<Results<'py>> {
        let test_stat = statistic(test_stat)?;
        self.rows(py, yields, check, Some(6), |_, row| Ok(flat(self.inner.upper_limit(test_stat, cl, row)?)))
    }

    /// Returns the significance of a discovery. The observed value comes first, then the value expected for a
    /// signal of strength 1.
    #[pyo3(signature = (yields, *, check=false))]
    fn significance<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        check: bool,
    ) -> PyResult<Results<'py>> {
        self.rows(py, yields, check, Some(2), |_, row| Ok(flat(self.inner.significance(row)?)))
    }

    /// Returns the uncertainty of the parameter of interest from the exact Hessian.
    #[pyo3(signature = (yields, *, check=false))]
    fn uncertainty<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        check: bool,
    ) -> PyResult<Results<'py>> {
        self.rows(py, yields, check, None, |_, row| Ok(vec![self.inner.uncertainty(row)?]))
    }

    /// Returns three results: the best-fit parameters, for each row whether its derivatives are one-sided,
    /// and the fits. `pull_back` computes derivatives from the fits.
    #[pyo3(signature = (yields, *, check=false))]
    fn best_fit<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        check: bool,
    ) -> PyResult<(Array<'py>, Bound<'py, PyArrayDyn<bool>>, BestFits)> {
        let likelihood = self.inner.likelihood();
        let (n, m) = (likelihood.inputs().len(), likelihood.model().parameters.len());
        let yields = rows::read("yields", yields, n)?;
        let one = |i: usize| {
            let row = yields.row(i);
            if !check && row.iter().any(|x| !x.is_finite()) {
                return Ok(None);
            }
            rows::or_missing(self.inner.best_fit(row).map(Some), check, || None)
        };
        let fits = released(py, || likelihood.each(yields.count(), one))?.map_err(rows::failed)?;
        let values = fits.iter().flat_map(|fit| match fit {
            Some(fit) => fit.parameters.clone(),
            None => vec![f64::NAN; m],
        });
        let one_sided: Vec<bool> =
            fits.iter().map(|fit| fit.as_ref().is_some_and(|fit| fit.one_sided)).collect();
        let values = rows::results(py, values.collect(), yields.batch, &[m])?;
        let shape: Vec<usize> = yields.batch.into_iter().collect();
        Ok((values, array(py, one_sided, &shape)?, BestFits { fits, batch: yields.batch }))
    }

    /// Returns the derivatives of `sum_p factors[p] theta_p` with respect to the yields. `theta` are the
    /// best-fit parameters. `factors` has one row for each fit.
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        fits: &BestFits,
        factors: &Bound<'_, PyAny>,
    ) -> PyResult<Array<'py>> {
        let likelihood = self.inner.likelihood();
        let (n, m) = (likelihood.inputs().len(), likelihood.model().parameters.len());
        let factors = Rows::of_width("factors", factors, m)?;
        if factors.batch != fits.batch {
            let rows = fits.fits.len();
            return Err(PyValueError::new_err(format!(
                "factors must have a row for each of the {rows} fits"
            )));
        }
        let one = |i: usize| match fits.fits.get(i).and_then(Option::as_ref) {
            Some(fit) => self.inner.pull_back_best_fit(fit, factors.row(i)),
            None => Ok(vec![f64::NAN; n]),
        };
        let made = released(py, || likelihood.each(factors.count(), one))?.map_err(rows::failed)?;
        rows::results(py, made.into_iter().flatten().collect(), factors.batch, &[n])
    }
}
