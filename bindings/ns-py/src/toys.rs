//! The function `nextstat.hypotest_toys` with its result, and the result of `nextstat.upper_limit` with toys.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use ns_inference::Work;
use ns_inference::picture::toy_test;
use ns_inference::toys::store::{SavedRunError, Saving, ToyDestination, run_saved};
use ns_inference::toys::{HypotestToysOptions, RowSink as _, Shard, Summary, ToyRow, ToyTest};
use ns_viz::ToyDistribution;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::analysis::{Common, result_class};
use crate::earlier::model_and_mu;
use crate::error::{ToPython as _, inference_error};
use crate::hypotest::{statistic, tested};
use crate::kept_toys::{KeptToys, WithToys, put, taken};
use crate::load::{self, Names};
use crate::picture::{self, Picture};

result_class! {
    /// The result of a toy-based test. Attributes have the names of the keys in the JSON of `nextstat
    /// hypotest-toys`. None stands for a number that does not exist, and `warnings` says why.
    HypotestToysResult {
        param mu_test test_stat cls clsb clb cls_error clsb_error clb_error cls_upper cls_failed_low
        cls_failed_high q_obs mu_hat n_toys n_nonconverged n_error seed search shard toys_per_s expected_set
        converged warnings distributions
    }, WithToys<ToyDistribution>, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "HypotestToysResult", crate::pickle::written(&self.1)?)
        }

        /// The toys if `keep_toys=True`: a dictionary from the names of columns, as in files of toys, to arrays with an entry for
        /// each toy, and to lists of texts. None otherwise.
        #[getter]
        fn kept_toys<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
            self.1.toys.as_ref().map(|toys| toys.dictionary(py)).transpose()
        }

        /// Draws the test statistic in the toys of both hypotheses, with the observed value and the p-values.
        /// `log_y` chooses a logarithmic vertical axis. Saves the picture if `path` is given.
        #[pyo3(signature = (path = None, *, log_y = true, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            log_y: bool,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            picture::toys(py, &self.1.picture, path, log_y, (title, subtitle), "hypotest_toys(model, 1.0, n_toys=1000)")
        }
    }
}

result_class! {
    /// The result of a toy-based upper limit. Attributes have the names of the keys in the JSON of `nextstat
    /// upper-limit --toys`. `points` has all tested values.
    ToyLimitResult {
        param cl test_stat observed observed_error expected expected_error nsigma_order observed_asymptotic
        mu_hat n_evaluations n_toys seed search points toys_per_s converged warnings
    }
}

/// Reads the argument `shard`. It is "K/N" for part K of N of the toys, or None for all toys.
pub(crate) fn shard(text: Option<&str>) -> PyResult<Shard> {
    text.map_or(Ok(Shard::WHOLE), |text| text.parse().map_err(|error| inference_error(&error)))
}

/// Returns a description of the fits of a toy-based test. The choice of the device `auto` depends on it.
pub(crate) fn work(options: &HypotestToysOptions) -> Work {
    let range = options.shard.range(options.n_toys);
    Work::Toys { toys: range.end.saturating_sub(range.start).saturating_mul(2), fits: 2 }
}

/// Tests the hypothesis that the parameter of interest is `mu`, with toys of both hypotheses.
///
/// `n_toys` toys of each hypothesis are generated with `seed`. The same seed gives the same toys.
/// `expected_set` adds the band that is expected if there is only background (8 bytes of memory per toy).
/// `shard`, as "K/N", runs only part K of N of the toys. The other arguments have the same meaning as for
/// `hypotest`. Ctrl-C raises `KeyboardInterrupt`. Its attribute `result` is the result from the finished
/// toys.
///
/// `save` is the path of a Parquet file for all toys, as the command's `--save` writes it. During the run the toys are in
/// pieces in the folder beside it, whose name ends in `.parts`. `resume=True` continues a saved run that was interrupted
/// or killed, with the missing toys, and gives the result of all. `keep_toys=True` keeps the toys in memory: `result.kept_toys`,
/// and a row for each toy in data frames.
#[pyfunction]
#[pyo3(signature = (*args, model = None, mu = None, n_toys = 10_000, seed = 0, test_stat = "qtilde", expected_set = false, shard = None,
                    save = None, resume = false, keep_toys = false, device = "auto", data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0,
                    progress = None),
       text_signature = "(model, mu, *, n_toys=10000, seed=0, test_stat='qtilde', expected_set=False, shard=None, save=None, resume=False, keep_toys=False, device='auto', data=None, asimov=None, blind=None, fixed=None, init=None, search='standard', integral_tolerance=None, threads=0, progress=None)")]
pub(crate) fn hypotest_toys<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    model: Option<Bound<'py, PyAny>>,
    mu: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: u64,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    test_stat: &str,
    expected_set: bool,
    shard: Option<&str>,
    save: Option<PathBuf>,
    resume: bool,
    keep_toys: bool,
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
) -> PyResult<Py<HypotestToysResult>> {
    let (model, mu) = &model_and_mu("hypotest_toys", args, model, mu)?;
    let mu = tested(mu)?;
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
    let options = HypotestToysOptions::default()
        .fit(common.fit_options(model)?)
        .statistic(statistic(test_stat)?)
        .n_toys(n_toys)
        .seed(seed)
        .shard(self::shard(shard)?)
        .expected_set(expected_set);
    if resume && save.is_none() {
        return Err(PyValueError::new_err("resume=True needs save: the path with which the run was begun"));
    }
    // The file is reserved before any fit.
    let place = save.map(|path| ToyDestination::claim(&path, resume)).transpose();
    let saving = place
        .map_err(|error| error.exception())?
        .map(|destination| Saving { destination, every: Duration::from_secs(2) });
    let resumes = saving.is_some();
    let kept = Mutex::new(None);
    common.run_keeping(
        py,
        model,
        work(&options),
        |core, session, control| {
            if saving.is_none() && !keep_toys {
                return Ok(ns_inference::hypotest_toys(core, session, mu, &options, control)?);
            }
            let test = ToyTest::prepare(core, session, mu, &options, control)?;
            let mut summary = Summary::new(test.header()).expected_set(expected_set);
            let mut rows: Vec<ToyRow> = Vec::new();
            let mut take = |some: &[ToyRow]| {
                if keep_toys {
                    rows.extend_from_slice(some);
                }
                summary.rows(some)
            };
            let run = run_saved(saving, test, None, (core, session), control, &mut take)?;
            if keep_toys {
                put(&kept, KeptToys::of_test(rows));
            }
            let mut result = summary.finish();
            (result.toys_per_s, result.interrupted) = (run.toys_per_s, run.interrupted);
            result.warnings.extend(run.warnings(false));
            if run.interrupted && resumes {
                result.warnings.push("continue this run with resume=True".to_owned());
            }
            Ok::<_, SavedRunError>(result)
        },
        |result| (result.parts(), WithToys { picture: toy_test(result), toys: taken(&kept) }),
        HypotestToysResult,
    )
}
