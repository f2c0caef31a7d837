//! The function `nextstat.upper_limit` and its result.

use std::path::PathBuf;

use ns_core::Execution;
use ns_inference::report::hepdata::hepdata;
use ns_inference::{LimitOptions, ToyLimitOptions, Work};
use ns_viz::Limit;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::analysis::{Common, result_class};
use crate::arrays::numbers;
use crate::device::execution;
use crate::error::inference_error;
use crate::hypotest::statistic;
use crate::load::{self, Names};
use crate::model::Question;
use crate::options;
use crate::pickle::{read, written};
use crate::picture::{self, Picture, check, replace};
use crate::pois::for_each;
use crate::toys::ToyLimitResult;
use crate::work::{Progress, run};

result_class! {
    /// The result of the search for an upper limit. Attributes have the names of the keys in the JSON of `nextstat
    /// upper-limit`. A limit is None if CLs does not cross `1 - cl` within the bounds, and `warnings` says why.
    LimitResult {
        param cl test_stat observed expected nsigma_order cls_at_limit mu_hat n_evaluations scan converged
        warnings
    }, Drawn, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "LimitResult", self.1.pickled(py)?)
        }

        /// Returns the limits as a data table of HEPData in YAML, which HEPData takes as a submission. The bands are the errors
        /// of the median expected limit.
        fn to_hepdata(&self, py: Python<'_>) -> PyResult<String> {
            Ok(hepdata(&self.0.reread::<ns_inference::LimitResult>(py)?.data_tables()))
        }

        /// Draws CLs with the expected bands and the limits. Saves the picture if `path` is given. If the
        /// result has no scan, the limit is computed again with a scan of `points` values.
        #[pyo3(signature = (path = None, *, points = 41, log_y = false, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            #[pyo3(from_py_with = crate::whole::points)] points: usize,
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

/// The data for the picture of an upper limit. If the result has no scan, the limit is computed again from the model
/// and the options.
pub(crate) struct Drawn {
    /// The limit with its scan; `None` if the result has no scan.
    limit: Option<Limit>,
    /// The model, for computing the limit again with a scan; `None` for limits of a server.
    question: Option<Question>,
    options: LimitOptions,
    execution: Execution,
}

/// Largest number of points of a scan for a picture.
const MOST_POINTS: usize = 1_000_000;

impl Drawn {
    /// Returns the data for the picture as a tuple that `pickle` can store.
    fn pickled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let limit = self.limit.as_ref().map(written).transpose()?;
        let o = &self.options;
        let asked = (o.statistic.name(), o.cl, o.expected_only, o.observed_only, o.scan.clone());
        let execution = (self.execution.device.to_string(), self.execution.threads);
        let question = self.question.as_ref().map(|question| question.pickled(py)).transpose()?;
        (limit, question, options::pickled(py, &o.fit)?, asked, execution).into_pyobject(py)
    }

    /// Restores the data for the picture from a tuple of [`Self::pickled`].
    ///
    /// # Errors
    /// If the object has another form.
    pub(crate) fn restored(py: Python<'_>, kept: &Bound<'_, PyAny>) -> PyResult<Self> {
        type Asked = (String, f64, bool, bool, Vec<f64>);
        let limit: Option<String> = kept.get_item(0)?.extract()?;
        let (name, cl, expected_only, observed_only, scan): Asked = kept.get_item(3)?.extract()?;
        let (device, threads): (String, usize) = kept.get_item(4)?.extract()?;
        Ok(Self {
            limit: limit.map(|text| read(&text)).transpose()?,
            question: Some(kept.get_item(1)?)
                .filter(|kept| !kept.is_none())
                .map(|kept| Question::restored(py, &kept))
                .transpose()?,
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

    /// Returns the data for the picture of a limit that a server found.
    pub(crate) fn remote(limit: &ns_inference::LimitResult, options: LimitOptions) -> Self {
        let limit = ns_inference::picture::limit(limit);
        Self { limit, question: None, options, execution: Execution::default() }
    }

    /// Returns the limit with the scan that the picture shows. If the result has no scan, computes the limit again with
    /// a scan of `points` values.
    ///
    /// # Errors
    /// `ValueError` for a wrong number of points, and the errors of the analysis.
    fn limit(&self, py: Python<'_>, points: usize) -> PyResult<Limit> {
        if let Some(limit) = &self.limit {
            return Ok(limit.clone());
        }
        let Some(question) = &self.question else {
            return Err(PyValueError::new_err(
                "this limit of a server has no scan to draw: ask for it with plot=\"svg\", or with options of a scan",
            ));
        };
        if !(2..=MOST_POINTS).contains(&points) {
            return Err(PyValueError::new_err(format!(
                "points is {points}; a curve needs at least 2 and at most {MOST_POINTS}"
            )));
        }
        let options = self.options.clone().auto_scan(Some(points));
        let result = run(py, &Progress::Silent, |control| {
            let session = question.session(&self.execution)?;
            ns_inference::upper_limit(&question.model, session.as_ref(), &options, control)
        })?
        .map_err(|error| inference_error(&error))?;
        Ok(ns_inference::picture::limit(&result).unwrap_or_default())
    }
}

/// Returns the confidence level from the arguments `cl` and `alpha`, by default 0.95.
///
/// # Errors
/// `ValueError` if both are given, or `alpha` does not lie between 0 and 0.5.
pub(crate) fn confidence_level(cl: Option<f64>, alpha: Option<f64>) -> PyResult<f64> {
    match (cl, alpha) {
        (Some(_), Some(_)) => Err(PyValueError::new_err("give cl or alpha, not both: alpha is 1 - cl")),
        (None, Some(alpha)) if alpha > 0.0 && alpha < 0.5 => Ok(1.0 - alpha),
        (None, Some(alpha)) => Err(PyValueError::new_err(format!(
            "alpha is {alpha}; it is 1 - cl and must lie between 0 and 0.5, for example 0.05"
        ))),
        (cl, None) => Ok(cl.unwrap_or(0.95)),
    }
}

/// Computes the CLs upper limits on the parameter of interest, observed and expected.
///
/// `cl` is the confidence level, by default 0.95. `alpha=0.05` means the same. `expected_only` leaves out the
/// observed limit, and `observed_only` the expected limits. With `scan_values`, `result.scan` has CLs at
/// these values. With `toys=N`, CLs is computed from N toys of each hypothesis at every tested value. The
/// toys are generated with `seed`, and the result is a `ToyLimitResult`. `poi` names the parameter of interest; a list of
/// names gives a dictionary with one result per name, in each of which the other parameters are fitted. The other arguments
/// have the same meaning as for `hypotest`.
#[pyfunction]
#[pyo3(signature = (model, *, cl = None, test_stat = "qtilde", expected_only = false, observed_only = false,
                    scan_values = None, toys = None, seed = 0, device = "auto", data = None, asimov = None, blind = None,
                    fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None, alpha = None,
                    poi = None))]
pub(crate) fn upper_limit<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
    cl: Option<f64>,
    test_stat: &str,
    expected_only: bool,
    observed_only: bool,
    scan_values: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::perhaps::toys)] toys: Option<u64>,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
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
    alpha: Option<f64>,
    poi: Option<Names>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(poi) = poi {
        return for_each(py, model, device, poi, |model| {
            upper_limit(
                py,
                model,
                cl,
                test_stat,
                expected_only,
                observed_only,
                scan_values,
                toys,
                seed,
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
                alpha,
                None,
            )
        });
    }
    let cl = confidence_level(cl, alpha)?;
    if expected_only && observed_only {
        return Err(PyValueError::new_err("expected_only and observed_only leave nothing to find"));
    }
    let grid = scan_values.map(|object| numbers("scan_values", object)).transpose()?;
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
        let limit = common.run_keeping(
            py,
            model,
            Work::toys_of_limit(n_toys),
            |core, session, control| ns_inference::upper_limit_toys(core, session, &options, control),
            |result| (result.parts(), ()),
            |record, ()| ToyLimitResult(record),
        )?;
        return Ok(limit.into_bound(py).into_any());
    }
    let options = LimitOptions::default()
        .fit(common.fit_options(model)?)
        .statistic(statistic(test_stat)?)
        .cl(cl)
        .expected_only(expected_only)
        .observed_only(observed_only)
        .scan(grid.unwrap_or_default());
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
    let (question, execution) = (Some(model.question()), execution(device, threads)?);
    Ok(Bound::new(py, LimitResult(record, Drawn { limit, question, options, execution }))?.into_any())
}
