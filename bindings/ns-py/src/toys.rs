//! `nextstat.hypotest_toys`, and `nextstat.upper_limit` with toys.

use ns_inference::present::significant;
use ns_inference::toys::{HypotestToysOptions, HypotestToysResult as Answer, Shard};
use ns_inference::{ToyLimitOptions, ToyLimitResult as Limit, Work};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{Common, result_class};
use crate::error::inference_error;
use crate::hypotest::{SIGMAS, number, statistic};
use crate::load;
use crate::model::Model;
use crate::table::Table;
use crate::whole::{tested, whole};

result_class! {
    /// A toy-based test: attributes are the keys of `nextstat hypotest-toys`'s JSON. None stands for a
    /// number that does not exist, and `warnings` says why.
    HypotestToysResult
}

result_class! {
    /// A toy-based upper limit: attributes are the keys of `nextstat upper-limit --toys`'s JSON; `points` has
    /// every value tested.
    ToyLimitResult
}

/// A number with its error.
fn with_error(x: Option<f64>, error: Option<f64>) -> String {
    match (x, error) {
        (Some(x), Some(error)) => format!("{} +- {}", significant(x), significant(error)),
        (x, _) => number(x),
    }
}

/// Reads `shard`: "K/N".
pub(crate) fn shard(text: Option<&str>) -> PyResult<Shard> {
    text.map_or(Ok(Shard::WHOLE), |text| text.parse().map_err(|error| inference_error(&error)))
}

/// What a test asks of a device.
pub(crate) fn work(options: &HypotestToysOptions) -> Work {
    let range = options.shard.range(options.n_toys);
    Work::Toys { toys: range.end.saturating_sub(range.start).saturating_mul(2), fits: 2 }
}

/// The table of a test.
pub(crate) fn table(result: &Answer) -> (Table, String) {
    let mut rows = vec![vec![
        "observed".to_owned(),
        with_error(result.cls, result.cls_error),
        with_error(result.clsb, result.clsb_error),
        with_error(result.clb, result.clb_error),
    ]];
    if let Some(set) = &result.expected_set {
        for (i, sigma) in SIGMAS.iter().enumerate() {
            let of = |list: &[Option<f64>]| number(list.get(i).copied().flatten());
            rows.push(vec![format!("expected {sigma}"), of(&set.cls), of(&set.clsb), of(&set.clb)]);
        }
    }
    let failed = result.n_nonconverged.b + result.n_nonconverged.sb + result.n_error.b + result.n_error.sb;
    let mut summary = format!(
        "{} = {} tested with {}: q {}, best fit {}; {} + {} toys",
        result.param,
        significant(result.mu_test),
        result.test_stat,
        significant(result.q_obs),
        significant(result.mu_hat),
        result.n_toys.b,
        result.n_toys.sb,
    );
    if failed > 0 {
        summary.push_str(&format!(", {failed} not counted"));
    }
    (Table::new(&["", "CLs", "CLs+b", "CLb"], rows), summary)
}

/// Tests the hypothesis that the parameter of interest is `mu` with toys of both hypotheses.
///
/// `n_toys` are drawn of each hypothesis with `seed`; the same seed gives the same toys. `expected_set`
/// adds the band expected for background alone (8 bytes per toy). `shard` is "K/N": only that part of the
/// toys. The other arguments are those of `hypotest`. Ctrl-C raises `KeyboardInterrupt` with the toys done
/// by then as its attribute `result`.
#[pyfunction]
#[pyo3(signature = (mu, model, *, n_toys = 10_000, seed = 0, test_stat = "qtilde", expected_set = false, shard = None,
                    device = "auto", data = None, asimov = None, fixed = None, init = None, threads = 0,
                    progress = None))]
pub(crate) fn hypotest_toys(
    py: Python<'_>,
    #[pyo3(from_py_with = tested)] mu: f64,
    model: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = whole)] n_toys: u64,
    #[pyo3(from_py_with = whole)] seed: u64,
    test_stat: &str,
    expected_set: bool,
    shard: Option<&str>,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<HypotestToysResult>> {
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress };
    let options = HypotestToysOptions::default()
        .fit(common.fit_options(model)?)
        .statistic(statistic(test_stat)?)
        .n_toys(n_toys)
        .seed(seed)
        .shard(self::shard(shard)?)
        .expected_set(expected_set);
    common.run_keeping(
        py,
        model,
        work(&options),
        |core, session, control| ns_inference::hypotest_toys(core, session, mu, &options, control),
        table,
        HypotestToysResult,
    )
}

/// The limit of `upper_limit(toys=N)`.
///
/// # Errors
/// As [`Common::run_keeping`].
pub(crate) fn toy_limit(
    py: Python<'_>,
    model: &Model,
    common: &Common<'_, '_>,
    options: &ToyLimitOptions,
) -> PyResult<Py<ToyLimitResult>> {
    let table = |result: &Limit| {
        let mut rows = vec![vec!["observed".to_owned(), with_error(result.observed, result.observed_error)]];
        for ((limit, error), sigma) in result.expected.iter().zip(&result.expected_error).zip(SIGMAS) {
            rows.push(vec![format!("expected {sigma}"), with_error(*limit, *error)]);
        }
        let summary = format!(
            "upper limit on {} at {} % confidence with {}: best fit {}; {} values with {} toys of each hypothesis",
            result.param,
            significant(100.0 * result.cl),
            result.test_stat,
            significant(result.mu_hat),
            result.n_evaluations,
            result.n_toys,
        );
        (Table::new(&["", "limit"], rows), summary)
    };
    common.run_keeping(
        py,
        model,
        Work::toys_of_limit(options.n_toys),
        |core, session, control| ns_inference::upper_limit_toys(core, session, options, control),
        table,
        ToyLimitResult,
    )
}
