//! The three stages of a toy-based test (prepare, run, summarise) as separate functions. With these functions, a run
//! can be distributed over several processes.

use std::ops::Range;
use std::sync::Arc;

use ns_core::{Control, Session};
use ns_inference::Work;
use ns_inference::picture::toy_test;
use ns_inference::report::{Report, RunInfo};
use ns_inference::toys::{HypotestToysOptions, Hypothesis, Summary, ToyHeader, ToyPlan, ToyRow, ToyStatus};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::analysis::{Common, Record};
use crate::device::execution;
use crate::earlier::model_and_mu;
use crate::error::inference_error;
use crate::hypotest::{statistic, tested};
use crate::kept_toys::WithToys;
use crate::load::{self, Names};
use crate::model::{PickledParts, Question};
use crate::pickle::{Reduced, restorer};
use crate::toys::{HypotestToysResult, shard as read_shard, work};
use crate::warn::warn;
use crate::work::{Progress, run};

/// A toy-based test whose observed data have been fitted. `header` is JSON text from which `toys_from_header`
/// makes the same test in another process. The toys of both tests have the same bits.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct ToyTest {
    question: Question,
    session: Arc<dyn Session>,
    plan: ToyPlan,
    /// The argument `device` that the user gave.
    device: String,
    threads: usize,
}

/// Toys as arrays of index, test statistic, best-fit value and status, and a dictionary from index to reason.
type Columns<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyDict>,
);

fn bad(text: String) -> PyErr {
    PyValueError::new_err(text)
}

fn hypothesis(name: &str) -> PyResult<Hypothesis> {
    let found = Hypothesis::BOTH.into_iter().find(|h| h.name() == name);
    found.ok_or_else(|| bad(format!("unknown hypothesis '{name}'; use \"b\" or \"sb\"")))
}

fn to_json(header: &ToyHeader) -> PyResult<String> {
    serde_json::to_string(header).map_err(|error| bad(error.to_string()))
}

fn from_json(text: &str) -> PyResult<ToyHeader> {
    serde_json::from_str(text).map_err(|error| bad(format!("this is no header of a toy-based test: {error}")))
}

#[pymethods]
impl ToyTest {
    /// JSON text with everything that determines the toys.
    #[getter]
    fn header(&self) -> PyResult<String> {
        to_json(self.plan.header())
    }

    /// Number of toys of each hypothesis in all shards together.
    #[getter]
    fn n_toys(&self) -> u64 {
        self.plan.header().origin.n_toys
    }

    /// Runs toys `start` to `stop - 1` of hypothesis "b" or "sb". Returns arrays of index, test statistic,
    /// best-fit value of the parameter of interest and status (0 converged, 1 not converged, 2 failed). NaN
    /// stands for numbers that do not exist. Also returns a dictionary from index to reason, for toys that
    /// did not converge or failed.
    #[pyo3(signature = (hypothesis, start, stop, *, progress = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        hypothesis: &str,
        #[pyo3(from_py_with = crate::whole::start)] start: u64,
        #[pyo3(from_py_with = crate::whole::stop)] stop: u64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Columns<'py>> {
        let which = self::hypothesis(hypothesis)?;
        if start > stop || stop > self.n_toys() {
            return Err(bad(format!(
                "toys {start} to {stop} are not among the {} of this run",
                self.n_toys()
            )));
        }
        let ranges: [(Hypothesis, Range<u64>); 1] = [(which, start..stop)];
        let rows = run(py, &Progress::read(progress)?, |control| {
            let mut rows: Vec<ToyRow> = Vec::new();
            let ended = self
                .plan
                .attach(&self.question.model, self.session.as_ref())
                .run(&ranges, control, &mut rows)?;
            if ended.interrupted { Err(ns_inference::InferenceError::Cancelled) } else { Ok(rows) }
        })?
        .map_err(|error| inference_error(&error))?;
        let column = |of: &dyn Fn(&ToyRow) -> Option<f64>| -> Vec<f64> {
            rows.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect()
        };
        let reasons = PyDict::new(py);
        for row in rows.iter().filter(|row| !row.reason.is_empty()) {
            reasons.set_item(row.index, &row.reason)?;
        }
        Ok((
            PyArray1::from_vec(py, rows.iter().map(|row| row.index).collect()),
            PyArray1::from_vec(py, column(&|row| row.statistic)),
            PyArray1::from_vec(py, column(&|row| row.mu_hat)),
            PyArray1::from_vec(py, rows.iter().map(|row| row.status.code()).collect()),
            reasons,
        ))
    }

    /// Returns the data from which `pickle` and `copy` restore the test. Restoring the test repeats no fit.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let arguments = (self.question.pickled(py)?, self.header()?, &self.device, self.threads);
        Ok((restorer(py, "_toy_test")?, arguments.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let header = self.plan.header();
        format!(
            "<nextstat.ToyTest: {} = {} with {}, {} toys of each hypothesis, seed {}>",
            header.param, header.mu_test, header.test_stat, header.origin.n_toys, header.origin.seed
        )
    }
}

/// Prepares a toy-based test: fits the observed data and runs no toys. The arguments have the same meaning as
/// for `hypotest_toys`.
#[pyfunction]
#[pyo3(signature = (*args, model = None, mu = None, n_toys = 10_000, seed = 0, test_stat = "qtilde", shard = None, device = "auto",
                    data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0),
       text_signature = "(model, mu, *, n_toys=10000, seed=0, test_stat='qtilde', shard=None, device='auto', data=None, asimov=None, blind=None, fixed=None, init=None, search='standard', integral_tolerance=None, threads=0)")]
pub(crate) fn toys_prepare<'py>(
    py: Python<'py>,
    args: &Bound<'py, PyTuple>,
    model: Option<Bound<'py, PyAny>>,
    mu: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: u64,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    test_stat: &str,
    shard: Option<&str>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
) -> PyResult<ToyTest> {
    let (model, mu) = &model_and_mu("toys_prepare", args, model, mu)?;
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
        progress: None,
    };
    let options = HypotestToysOptions::default()
        .fit(common.fit_options(model)?)
        .statistic(statistic(test_stat)?)
        .n_toys(n_toys)
        .seed(seed)
        .shard(read_shard(shard)?);
    let session = model.open(py, &execution(device, threads)?, work(&options))?.session;
    let core = Arc::clone(&model.inner);
    let plan = run(py, &Progress::Silent, |control: Control<'_>| {
        ns_inference::toys::ToyTest::prepare(&core, session.as_ref(), mu, &options, control)
            .map(|test| test.plan())
    })?
    .map_err(|error| inference_error(&error))?;
    Ok(ToyTest { question: model.question(), session, plan, device: device.to_owned(), threads })
}

/// Restores a test from its `header`, which may come from another process. The model must be the same.
#[pyfunction]
#[pyo3(signature = (model, header, *, device = "auto", threads = 0))]
pub(crate) fn toys_from_header(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    header: &str,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
) -> PyResult<ToyTest> {
    let model = load::model(py, model, device)?;
    let model = model.get();
    let header = from_json(header)?;
    let range = header.origin.shard.range(header.origin.n_toys);
    let work = Work::Toys { toys: range.end.saturating_sub(range.start).saturating_mul(2), fits: 2 };
    let session = model.open(py, &execution(device, threads)?, work)?.session;
    let core = Arc::clone(&model.inner);
    let plan = run(py, &Progress::Silent, |control: Control<'_>| {
        ns_inference::toys::ToyTest::from_header(&core, session.as_ref(), header, control)
            .map(|test| test.plan())
    })?
    .map_err(|error| inference_error(&error))?;
    Ok(ToyTest { question: model.question(), session, plan, device: device.to_owned(), threads })
}

/// Restores a pickled test.
#[pyfunction]
pub(crate) fn _toy_test(
    py: Python<'_>,
    question: PickledParts<'_>,
    header: &str,
    device: &str,
    threads: usize,
) -> PyResult<ToyTest> {
    let (text, measurement, (normsys, histosys), pois, notes, folder, correlations, axes) = question;
    let codes = (&*normsys, &*histosys);
    let text = text.as_bytes();
    let model = load::_restored(py, text, measurement, codes, pois, notes, folder, correlations, axes)?;
    toys_from_header(py, Bound::new(py, model)?.as_any(), header, device, threads)
}

/// Computes the result of a test from toys that `ToyTest.run` returned. `parts` contains, in any order, tuples
/// `(hypothesis, index, statistic, mu_hat, status)` of a text and four arrays. A sixth entry, the reasons, is ignored.
/// A toy that occurs twice is an error. If toys are missing, `warnings` says so. `wall_s` is the time of the run in
/// seconds. The number of toys per second is computed from it.
#[pyfunction]
#[pyo3(signature = (header, parts, *, expected_set = false, wall_s = None))]
pub(crate) fn toys_summarise(
    py: Python<'_>,
    header: &str,
    parts: &Bound<'_, PyAny>,
    expected_set: bool,
    wall_s: Option<f64>,
) -> PyResult<HypotestToysResult> {
    let header = from_json(header)?;
    let mut summary = Summary::new(&header).expected_set(expected_set);
    let mut seen: Vec<(Hypothesis, u64)> = Vec::new();
    for part in parts.try_iter()? {
        let part = part?;
        let column = |i: usize| part.get_item(i);
        let which = hypothesis(&column(0)?.extract::<String>()?)?;
        let index: Vec<u64> = column(1)?.extract()?;
        let q: Vec<f64> = column(2)?.extract()?;
        let mu_hat: Vec<f64> = column(3)?.extract()?;
        let status: Vec<u8> = column(4)?.extract()?;
        if [q.len(), mu_hat.len(), status.len()].iter().any(|n| *n != index.len()) {
            return Err(bad("the columns of a part have different lengths".to_owned()));
        }
        for (((index, q), mu_hat), status) in index.iter().zip(q).zip(mu_hat).zip(status) {
            let status =
                ToyStatus::from_code(status).ok_or_else(|| bad(format!("unknown status {status}")))?;
            if *index >= header.origin.n_toys {
                return Err(bad(format!(
                    "toy {index} is not among the {} of this run",
                    header.origin.n_toys
                )));
            }
            seen.push((which, *index));
            summary.add(&ToyRow {
                hypothesis: which,
                index: *index,
                statistic: Some(q).filter(|q| q.is_finite()),
                mu_hat: Some(mu_hat).filter(|x| x.is_finite()),
                status,
                reason: String::new(),
            });
        }
    }
    seen.sort_unstable();
    if let Some([(which, index), _]) = seen.windows(2).find_map(|w| match w {
        [a, b] if a == b => Some([*a, *b]),
        _ => None,
    }) {
        return Err(bad(format!("toy {index} of {which} comes twice")));
    }
    if let Some(wall_s) = wall_s {
        summary.add_time(wall_s);
    }
    let mut result = summary.finish();
    let range = header.origin.shard.range(header.origin.n_toys);
    let (wanted, got) = (range.end.saturating_sub(range.start).saturating_mul(2), seen.len() as u64);
    if got < wanted {
        result.warnings.push(format!("only {got} of {wanted} toys are here"));
    }
    // The parts may have run on different devices, so no device is given.
    let ran = RunInfo {
        interpolation: Some(header.origin.interpolation),
        model_digest: Some(header.origin.model_digest),
        wall_s,
        ..RunInfo::default()
    };
    let (parts, plot) = (result.parts(), toy_test(&result));
    warn(py, result.warnings.iter().map(String::as_str))?;
    Ok(HypotestToysResult(Record::new(py, Report { result, ran, parts })?, WithToys::without(plot)))
}
