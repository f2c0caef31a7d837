//! The functions `nextstat.hypotest`, `nextstat.significance` and `nextstat.goodness_of_fit` and their
//! results.

use std::path::PathBuf;

use ns_inference::goodness::DEFAULT_BINS;
use ns_inference::picture::{event_goodness, goodness};
use ns_inference::{HypotestOptions, PointOptions, TestStatistic, Work};
use ns_viz::ToyDistribution;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::analysis::{Common, result_class};
use crate::earlier::model_and_mu;
use crate::load::{self, Names};
use crate::picture::{self, Picture};
use crate::pois::{for_each, with_pois};
use crate::shown::shown;

result_class! {
    /// The result of an asymptotic hypothesis test. Attributes have the names of the keys in the JSON of
    /// `nextstat hypotest`. None stands for a number that does not exist, and `warnings` says why.
    HypotestResult {
        param mu_test test_stat cls clsb clb q_obs q_asimov mu_hat twice_nll_free twice_nll_conditional
        expected_set converged warnings
    }
}

result_class! {
    /// The result of a test of a point in several parameters by the likelihood ratio. Attributes have the names of the keys
    /// in the JSON of `nextstat hypotest --mu NAME=V`. `p_value_toys`, `p_value_toys_error` and `toys` exist with toys alone.
    PointResult {
        params values best_fit test_stat t n_dof p_value z p_value_toys p_value_toys_error toys twice_nll_free
        twice_nll_conditional converged interrupted warnings
    }
}

result_class! {
    /// The result of a discovery test. Attributes have the names of the keys in the JSON of `nextstat
    /// significance`.
    SignificanceResult {
        param p0 z p0_expected z_expected q0 mu_hat converged warnings
    }
}

result_class! {
    /// The result of a goodness-of-fit test. Attributes have the names of the keys in the JSON of `nextstat
    /// gof`.
    GoodnessResult {
        chi2 ndof p_value p_value_toys p_value_toys_error toys n_bins n_unconstrained twice_nll
        twice_nll_saturated converged warnings
    }, ToyDistribution, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "GoodnessResult", crate::pickle::written(&self.1)?)
        }

        /// Draws `chi2` in the toys, with the observed value and the asymptotic distribution.
        /// `log_y` chooses a logarithmic vertical axis. Saves the picture if `path` is given.
        #[pyo3(signature = (path = None, *, log_y = false, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            log_y: bool,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            picture::toys(py, &self.1, path, log_y, (title, subtitle), "goodness_of_fit(model, toys=1000)")
        }
    }
}

result_class! {
    /// The result of a goodness-of-fit test of events. Attributes have the names of the keys in the JSON of
    /// `nextstat gof --statistic`.
    EventGoodnessResult {
        statistic value ndof p_value p_value_toys p_value_toys_error toys channels n_unconstrained twice_nll converged
        warnings
    }, ToyDistribution, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "EventGoodnessResult", crate::pickle::written(&self.1)?)
        }

        /// Draws the statistic in the toys, with the observed value and, for chi2, the asymptotic distribution.
        /// `log_y` chooses a logarithmic vertical axis. Saves the picture if `path` is given.
        #[pyo3(signature = (path = None, *, log_y = false, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            log_y: bool,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            picture::toys(py, &self.1, path, log_y, (title, subtitle), "goodness_of_fit(model, statistic=\"ks\", toys=1000)")
        }
    }
}

/// Reads the argument `test_stat`.
pub(crate) fn statistic(name: &str) -> PyResult<TestStatistic> {
    name.parse().map_err(PyValueError::new_err)
}

/// Reads the argument `mu` of a hypothesis test, which is the tested value of the parameter of interest.
///
/// # Errors
/// `TypeError` if the object is not a number.
pub(crate) fn tested(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    object.extract().map_err(|_| {
        PyTypeError::new_err(format!(
            "mu must be the tested value of the parameter of interest, as in hypotest(model, 1.0), not {}",
            shown(object)
        ))
    })
}

/// What `hypotest` tests: a value of the parameter of interest, or values of parameters by name.
pub(crate) enum Tested {
    Value(f64),
    Point(Vec<(String, f64)>),
}

/// Reads the argument `mu` of `hypotest`, a number or a dictionary of numbers.
///
/// # Errors
/// The errors of [`tested`].
pub(crate) fn value_or_point(object: &Bound<'_, PyAny>) -> PyResult<Tested> {
    let Ok(dict) = object.cast::<PyDict>() else { return tested(object).map(Tested::Value) };
    let values: PyResult<Vec<(String, f64)>> =
        dict.iter().map(|(name, value)| Ok((name.extract()?, value.extract()?))).collect();
    values.map(Tested::Point).or_else(|_| tested(object).map(Tested::Value))
}

/// Tests the hypothesis that the parameter of interest is `mu`, with asymptotic distributions.
///
/// `model` is a `Model`, or a path or dictionary for `load_workspace`. `test_stat` is "qtilde" (upper limits
/// if the signal cannot be negative), "q" (upper limits) or "q0" (discovery; tests 0, and `clsb` is its
/// p-value). If `mu` is a dictionary of names and values, the point with these values is tested by the two-sided
/// likelihood ratio, and the result is a `PointResult`; with `toys=N` it also has the p-value of N toys at this point,
/// which are generated with `seed`. `poi` names the parameter of interest. `data`, `asimov`, `fixed`, `init` and `search`
/// have the same meaning as for `fit`. `progress` is True or a function of (done, total).
#[pyfunction]
#[pyo3(signature = (*args, model = None, mu = None, test_stat = None, device = "auto", data = None, asimov = None, blind = None, fixed = None,
                    init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None,
                    poi = None, toys = None, seed = 0),
       text_signature = "(model, mu, *, test_stat=None, device='auto', data=None, asimov=None, blind=None, fixed=None, init=None, search='standard', integral_tolerance=None, threads=0, progress=None, poi=None, toys=None, seed=0)")]
pub(crate) fn hypotest<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    model: Option<Bound<'py, PyAny>>,
    mu: Option<Bound<'py, PyAny>>,
    test_stat: Option<&str>,
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
    poi: Option<String>,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let (model, mu) = &model_and_mu("hypotest", args, model, mu)?;
    let mu = value_or_point(mu)?;
    let model = load::model(py, model, device)?;
    let model = match poi {
        Some(name) => Bound::new(py, with_pois(py, model.get(), vec![name])?)?,
        None => model,
    };
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
    let fit = common.fit_options(model)?;
    match mu {
        Tested::Value(_) if toys.is_some() => Err(PyValueError::new_err(
            "toys are for a point, as in hypotest(model, {\"mu\": 1.0}, toys=1000); toys of qtilde, q and q0 are those of \
             hypotest_toys",
        )),
        Tested::Value(mu) => {
            let options =
                HypotestOptions::default().fit(fit).statistic(statistic(test_stat.unwrap_or("qtilde"))?);
            let record = common.run(
                py,
                model,
                Work::Test,
                |core, session, control| ns_inference::hypotest(core, session, mu, &options, control),
                |result| result.parts(true),
            )?;
            Ok(Bound::new(py, HypotestResult(record))?.into_any())
        }
        Tested::Point(values) => {
            if let Some(name) = test_stat {
                return Err(PyValueError::new_err(format!(
                    "test_stat \"{name}\" is one-sided, and a point in several parameters has no side; leave it out for the \
                     likelihood ratio, or test one parameter with hypotest(model, value, poi=name)"
                )));
            }
            let options = PointOptions::default().fit(fit).n_toys(toys).seed(seed);
            let result = common.run_keeping(
                py,
                model,
                options.work(),
                |core, session, control| {
                    ns_inference::hypotest_point(core, session, &values, &options, control)
                },
                |result| (result.parts(), ()),
                |record, ()| PointResult(record),
            )?;
            Ok(result.into_bound(py).into_any())
        }
    }
}

/// Tests the hypothesis that there is no signal. Computes the p-value `p0` and its significance `z`, observed
/// and expected for a signal of strength 1. `poi` names the parameter of interest; a list of names gives a dictionary with
/// one result per name. The arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, device = "auto", data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None, poi = None))]
pub(crate) fn significance<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
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
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(poi) = poi {
        return for_each(py, model, device, poi, |model| {
            significance(
                py,
                model,
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
    let options = common.fit_options(model)?;
    let record = common.run(
        py,
        model,
        Work::Test,
        |core, session, control| ns_inference::significance(core, session, &options, control),
        ns_inference::SignificanceResult::parts,
    )?;
    Ok(Bound::new(py, SignificanceResult(record))?.into_any())
}

/// Compares the best fit with the saturated model. Computes `chi2`, `ndof` and `p_value`. With `toys=N` it also
/// computes `p_value_toys`, the fraction of N toys whose `chi2` is at least as large as that of the data. The toys are
/// generated at the best fit with `seed`. `statistic` is "saturated". For channels of events, `statistic` may also be
/// "chi2" (in `bins` bins of each observable) or "ks" (the distance of Kolmogorov and Smirnov). With "chi2" and "ks"
/// the result is an `EventGoodnessResult`. The other arguments have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, toys = None, seed = 0, device = "auto", data = None, asimov = None, blind = None, fixed = None,
                    init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None, statistic = "saturated",
                    bins = None))]
pub(crate) fn goodness_of_fit<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'py, PyAny>>,
    asimov: Option<&Bound<'py, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'py, PyAny>>,
    init: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
    statistic: &str,
    #[pyo3(from_py_with = crate::whole::perhaps::bins)] bins: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
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
    let options = common.fit_options(model)?;
    if statistic != "saturated" {
        let of = (statistic.parse().map_err(PyValueError::new_err)?, bins.unwrap_or(DEFAULT_BINS));
        let work = toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
        let toys = toys.map(|n_toys| (n_toys, seed));
        let result = common.run_keeping(
            py,
            model,
            work,
            |core, session, control| {
                ns_inference::event_goodness_of_fit(core, session, &options, of, toys, control)
            },
            |result| (result.parts(), event_goodness(result)),
            EventGoodnessResult,
        )?;
        return Ok(result.into_bound(py).into_any());
    }
    if bins.is_some() {
        return Err(PyValueError::new_err("bins are for statistic=\"chi2\" alone"));
    }
    let parts = ns_inference::GoodnessResult::parts;
    let result = match toys {
        None => {
            let record = common.run(
                py,
                model,
                Work::Test,
                |core, session, control| ns_inference::goodness_of_fit(core, session, &options, control),
                parts,
            )?;
            Py::new(py, GoodnessResult(record, ToyDistribution::default()))?
        }
        Some(n_toys) => common.run_keeping(
            py,
            model,
            Work::Toys { toys: n_toys, fits: 1 },
            |core, session, control| {
                ns_inference::goodness_of_fit_toys(core, session, &options, n_toys, seed, control)
            },
            |result| (parts(result), goodness(result)),
            GoodnessResult,
        )?,
    };
    Ok(result.into_bound(py).into_any())
}
