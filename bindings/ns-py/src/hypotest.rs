//! `nextstat.hypotest`, `nextstat.upper_limit`, `nextstat.significance` and
//! `nextstat.goodness_of_fit`.

use std::path::PathBuf;

use ns_core::Execution;
use ns_inference::{HypotestOptions, LimitOptions, TestStatistic, ToyLimitOptions, Work};
use ns_viz::Limit;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::analysis::{Common, result_class};
use crate::arrays::Rows;
use crate::device::execution;
use crate::error::inference_error;
use crate::load;
use crate::model::Question;
use crate::options;
use crate::pickle::{read, written};
use crate::picture::{self, Picture, check, replace};
use crate::toys::toy_limit;
use crate::whole::{perhaps_whole, tested, whole};
use crate::work::{Progress, run};

result_class! {
    /// An asymptotic test: attributes are the keys of `nextstat hypotest`'s JSON. None stands for a
    /// number that does not exist, and `warnings` says why.
    HypotestResult {
        param mu_test test_stat cls clsb clb q_obs q_asimov mu_hat twice_nll_free twice_nll_conditional
        expected_set converged warnings
    }
}

result_class! {
    /// An upper limit: attributes are the keys of `nextstat upper-limit`'s JSON. None stands for a limit
    /// that is not crossed, and `warnings` says why.
    LimitResult {
        param cl test_stat observed expected nsigma_order cls_at_limit mu_hat n_evaluations scan converged
        warnings
    }, Drawn, {
        /// What `pickle` and `copy` keep.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            crate::pickle::of_record(py, "LimitResult", &self.0, self.1.pickled(py)?)
        }

        /// Draws CLs with the expected bands and the limits; saves the picture if there is a path. Without a
        /// scan in the result, the limit is found again with one of `points` values.
        #[pyo3(signature = (path = None, *, points = 41, log_y = false, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            #[pyo3(from_py_with = whole)]
            points: usize,
            log_y: bool,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            check(path.as_deref())?;
            let mut limit = Limit { log_y, ..self.1.limit(py, points)? };
            replace(&mut limit.title, title);
            replace(&mut limit.subtitle, subtitle);
            picture::finish(py, limit.draw(), path)
        }
    }
}

/// What a picture of a limit needs.
pub(crate) struct Drawn {
    /// With a scan, if there was one.
    limit: Option<Limit>,
    /// The question, to ask it again with a scan.
    question: Question,
    options: LimitOptions,
    execution: Execution,
}

/// Points of a curve, as on the command line.
const MOST_POINTS: usize = 1_000_000;

impl Drawn {
    /// For pickles.
    fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let limit = self.limit.as_ref().map(written).transpose()?;
        let o = &self.options;
        let asked = (o.statistic.name(), o.cl, o.expected_only, o.observed_only, o.scan.clone());
        let execution = (self.execution.device.to_string(), self.execution.threads);
        (limit, self.question.pickled(py)?, options::pickled(py, &o.fit)?, asked, execution).into_pyobject(py)
    }

    /// What [`Self::pickled`] gave.
    ///
    /// # Errors
    /// If it is something else.
    pub(crate) fn restored(py: Python<'_>, kept: &Bound<'_, PyAny>) -> PyResult<Self> {
        type Asked = (String, f64, bool, bool, Vec<f64>);
        let limit: Option<String> = kept.get_item(0)?.extract()?;
        let (name, cl, expected_only, observed_only, scan): Asked = kept.get_item(3)?.extract()?;
        let (device, threads): (String, usize) = kept.get_item(4)?.extract()?;
        Ok(Self {
            limit: limit.map(|text| read(&text)).transpose()?,
            question: Question::restored(py, &kept.get_item(1)?)?,
            options: LimitOptions::default()
                .fit(options::restored(&kept.get_item(2)?)?)
                .statistic(statistic(&name)?)
                .cl(cl)
                .expected_only(expected_only)
                .observed_only(observed_only)
                .scan(scan),
            execution: execution(&device, threads)?,
        })
    }

    /// # Errors
    /// `ValueError` for a wrong number of points, and those of the analysis.
    fn limit(&self, py: Python<'_>, points: usize) -> PyResult<Limit> {
        if let Some(limit) = &self.limit {
            return Ok(limit.clone());
        }
        if !(2..=MOST_POINTS).contains(&points) {
            return Err(PyValueError::new_err(format!(
                "points is {points}; a curve needs at least 2 and at most {MOST_POINTS}"
            )));
        }
        let options = self.options.clone().auto_scan(Some(points));
        let result = run(py, &Progress::Silent, |control| {
            let session = self.question.session(&self.execution)?;
            ns_inference::upper_limit(&self.question.model, session.as_ref(), &options, control)
        })?
        .map_err(|error| inference_error(&error))?;
        Ok(ns_inference::picture::limit(&result).unwrap_or_default())
    }
}

result_class! {
    /// A discovery test: attributes are the keys of `nextstat significance`'s JSON.
    SignificanceResult {
        param p0 z p0_expected z_expected q0 mu_hat converged warnings
    }
}

result_class! {
    /// A goodness of fit: attributes are the keys of `nextstat gof`'s JSON.
    GoodnessResult {
        chi2 ndof p_value p_value_toys p_value_toys_error toys n_bins n_unconstrained twice_nll
        twice_nll_saturated converged warnings
    }
}

/// Reads `test_stat`.
pub(crate) fn statistic(name: &str) -> PyResult<TestStatistic> {
    name.parse().map_err(PyValueError::new_err)
}

/// The confidence level of `cl` or `alpha`.
///
/// # Errors
/// `ValueError` if both are given, or alpha is no size of a test.
fn confidence_level(cl: Option<f64>, alpha: Option<f64>) -> PyResult<f64> {
    match (cl, alpha) {
        (Some(_), Some(_)) => Err(PyValueError::new_err("give cl or alpha, not both: alpha is 1 - cl")),
        (None, Some(alpha)) if alpha > 0.0 && alpha < 0.5 => Ok(1.0 - alpha),
        (None, Some(alpha)) => Err(PyValueError::new_err(format!(
            "alpha is {alpha}; it is 1 - cl and must lie between 0 and 0.5, for example 0.05"
        ))),
        (cl, None) => Ok(cl.unwrap_or(0.95)),
    }
}

/// Tests the hypothesis that the parameter of interest is `mu`, with asymptotic distributions.
///
/// `model` is a `Model`, or a path or dictionary for `load_workspace`. `test_stat` is "qtilde" (upper
/// limits where the signal cannot be negative), "q" (upper limits) or "q0" (discovery; tests 0, and
/// `clsb` is its p-value). `data`, `asimov`, `fixed` and `init` are those of `fit`; `progress` is True
/// or a function of (done, total).
#[pyfunction]
#[pyo3(signature = (mu, model, *, test_stat = "qtilde", device = "auto", data = None, asimov = None, fixed = None,
                    init = None, threads = 0, progress = None))]
pub(crate) fn hypotest(
    py: Python<'_>,
    #[pyo3(from_py_with = tested)] mu: f64,
    model: &Bound<'_, PyAny>,
    test_stat: &str,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<HypotestResult> {
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress };
    let options = HypotestOptions::default().fit(common.fit_options(model)?).statistic(statistic(test_stat)?);
    let record = common.run(
        py,
        model,
        Work::Test,
        |core, session, control| ns_inference::hypotest(core, session, mu, &options, control),
        |result| result.parts(true),
    )?;
    Ok(HypotestResult(record))
}

/// Finds the CLs upper limit on the parameter of interest, observed and expected.
///
/// `cl` is the confidence level, by default 0.95; `alpha=0.05` says the same. `expected_only` and `observed_only` leave out the other.
/// `scan_values` asks for CLs at these values too (`result.scan`). With `toys=N` CLs comes from N toys of
/// each hypothesis at every value tested, drawn with `seed`, and the result is a `ToyLimitResult`. The
/// other arguments are those of `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, cl = None, test_stat = "qtilde", expected_only = false, observed_only = false,
                    scan_values = None, toys = None, seed = 0, device = "auto", data = None, asimov = None,
                    fixed = None, init = None, threads = 0, progress = None, alpha = None))]
pub(crate) fn upper_limit<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
    cl: Option<f64>,
    test_stat: &str,
    expected_only: bool,
    observed_only: bool,
    scan_values: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = perhaps_whole)] toys: Option<u64>,
    #[pyo3(from_py_with = whole)] seed: u64,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    alpha: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let cl = confidence_level(cl, alpha)?;
    if expected_only && observed_only {
        return Err(PyValueError::new_err("expected_only and observed_only leave nothing to find"));
    }
    let grid = scan_values.map(|object| Rows::read("scan_values", object)).transpose()?;
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress };
    if let Some(n_toys) = toys {
        if expected_only || grid.is_some() {
            return Err(PyValueError::new_err(
                "expected_only and scan_values have no meaning with toys: result.points has CLs at every value tested",
            ));
        }
        let options = ToyLimitOptions::default()
            .fit(common.fit_options(model)?)
            .statistic(statistic(test_stat)?)
            .cl(cl)
            .expected(!observed_only)
            .n_toys(n_toys)
            .seed(seed);
        return Ok(toy_limit(py, model, &common, &options)?.into_bound(py).into_any());
    }
    let options = LimitOptions::default()
        .fit(common.fit_options(model)?)
        .statistic(statistic(test_stat)?)
        .cl(cl)
        .expected_only(expected_only)
        .observed_only(observed_only)
        .scan(grid.map(|rows| rows.values).unwrap_or_default());
    let mut limit = None;
    let record = common.run(
        py,
        model,
        Work::Limit,
        |core, session, control| ns_inference::upper_limit(core, session, &options, control),
        |result| {
            limit = ns_inference::picture::limit(result);
            result.parts(&options)
        },
    )?;
    let (question, execution) = (model.question(), execution(device, threads)?);
    Ok(Bound::new(py, LimitResult(record, Drawn { limit, question, options, execution }))?.into_any())
}

/// Tests the absence of a signal: `p0` and its significance `z`, observed and expected for a signal of
/// strength 1. The arguments are those of `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, device = "auto", data = None, asimov = None, fixed = None, init = None, threads = 0,
                    progress = None))]
pub(crate) fn significance(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<SignificanceResult> {
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress };
    let options = common.fit_options(model)?;
    let record = common.run(
        py,
        model,
        Work::Test,
        |core, session, control| ns_inference::significance(core, session, &options, control),
        ns_inference::SignificanceResult::parts,
    )?;
    Ok(SignificanceResult(record))
}

/// Compares the best fit with the saturated model: `chi2`, `ndof` and `p_value`. With `toys=N` also
/// `p_value_toys`, the fraction of N toys with a `chi2` at least as large, drawn at the best fit with
/// `seed`. The other arguments are those of `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, toys = None, seed = 0, device = "auto", data = None, asimov = None, fixed = None,
                    init = None, threads = 0, progress = None))]
pub(crate) fn goodness_of_fit(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = perhaps_whole)] toys: Option<u64>,
    #[pyo3(from_py_with = whole)] seed: u64,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<GoodnessResult>> {
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress };
    let options = common.fit_options(model)?;
    let parts = ns_inference::GoodnessResult::parts;
    match toys {
        None => {
            let record = common.run(
                py,
                model,
                Work::Test,
                |core, session, control| ns_inference::goodness_of_fit(core, session, &options, control),
                parts,
            )?;
            Py::new(py, GoodnessResult(record))
        }
        Some(n_toys) => common.run_keeping(
            py,
            model,
            Work::Toys { toys: n_toys, fits: 1 },
            |core, session, control| {
                ns_inference::goodness_of_fit_toys(core, session, &options, n_toys, seed, control)
            },
            parts,
            GoodnessResult,
        ),
    }
}
