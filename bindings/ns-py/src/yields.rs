//! `nextstat.yields` and `nextstat.YieldsResult`.

use std::path::PathBuf;

use ns_core::{Control, Session};
use ns_inference::report::hepdata::hepdata;
use ns_inference::toys::GeneratingPoint;
use ns_inference::yields::MOST_WITH_COVARIANCE;
use ns_inference::{Work, YieldsAt, expected_yields};
use ns_viz::Yields;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::analysis::{Common, result_class};
use crate::error::inference_error;
use crate::load::{self, Names};
use crate::picture::{self, Picture, check, replace};
use crate::result::FitResult;
use crate::study::point;

result_class! {
    /// Expected and observed events of every channel. `channels` is a list of dictionaries with the keys
    /// `name`, `samples`, `total`, `uncertainty`, `data`, `sum`, `sum_uncertainty` and `data_sum`. A sample
    /// is a dictionary with the keys `name`, `signal`, `counts`, `uncertainty`, `sum` and `sum_uncertainty`.
    YieldsResult {
        stage measurement parameter_names parameters channels converged warnings
    }, Yields, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "YieldsResult", crate::pickle::written(&self.1)?)
        }

        /// Returns the yields as data tables of HEPData in YAML: the documents of one file, which HEPData takes as a
        /// submission. With `per_bin=True` each channel has a table with a row per bin.
        #[pyo3(signature = (*, per_bin = false))]
        fn to_hepdata(&self, py: Python<'_>, per_bin: bool) -> PyResult<String> {
            Ok(hepdata(&self.0.reread::<ns_inference::YieldsResult>(py)?.data_tables(per_bin)))
        }

        /// Draws the stacked samples of each channel with the data, the uncertainty, and the ratio of data
        /// and prediction. Saves the picture if `path` is given. `channels` selects channels by name.
        /// `max_samples` is the largest number of colours of backgrounds. `columns` is the number of panels
        /// next to each other. `components` is "stack" or "lines" (a line for each sample, and one for their
        /// sum). `kind="summary"` draws all channels with one bin for each. `blind` maps observables of single events to lists of ranges in which no data are drawn.
        #[pyo3(signature = (path = None, *, kind = "yields", channels = None, log_y = false, columns = None, max_samples = None,
                            blind = None, components = "stack", title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            kind: &str,
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
            let drawn = match kind {
                "yields" => self.1.clone(),
                "summary" => ns_inference::picture::summary(&self.0.reread(py)?, None),
                other => {
                    let text = format!("unknown kind '{other}'; use \"yields\" or \"summary\"");
                    return Err(PyValueError::new_err(text));
                }
            };
            let mut yields = Yields { log_y, columns, ..drawn };
            if let Some(names) = channels {
                picture::select(&mut yields, &names)?;
            }
            picture::shape_events(&mut yields, blind, components)?;
            replace(&mut yields.max_samples, max_samples);
            replace(&mut yields.title, title);
            replace(&mut yields.subtitle, subtitle);
            picture::finish(py, yields.draw(), path)
        }
    }
}

/// Predicts the events of every sample in every channel and their sums, with uncertainties. Returns them with
/// the data.
///
/// By default the model is fitted, and the events are predicted at the best fit. The uncertainties come from
/// the covariance of the fit. `data`, `asimov`, `fixed`, `init` and `search` have the same meaning as for
/// `fit`. With `prefit=True` the events are predicted at the initial parameters, with uncertainties from the
/// widths of the constraints. Free parameters without a constraint contribute nothing. `params` is another
/// point: "bestfit", "init", a `FitResult`, all values in order, or some values by name. Parameters without a
/// value have their initial values. The covariance of a `FitResult` gives the uncertainties. For given values
/// they come from the widths of the constraints.
#[pyfunction]
#[pyo3(signature = (model, params = None, *, prefit = false, device = "auto", data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None,
                    threads = 0))]
pub(crate) fn yields(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    params: Option<&Bound<'_, PyAny>>,
    prefit: bool,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
) -> PyResult<YieldsResult> {
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
    let options = common.fit_options(model)?;
    let place = YieldPoint::of(py, &model.inner, params, prefit)?;
    let mut drawn = None;
    let analysis = |core: &ns_core::Model, session: &dyn Session, control: Control<'_>| {
        let at = match &place {
            YieldPoint::BestFit => {
                let matrix = core.parameters.len() <= MOST_WITH_COVARIANCE;
                let result = ns_inference::fit(core, session, &options.clone().covariance(matrix), control)?;
                return expected_yields(core, session, &options, YieldsAt::Postfit(&result));
            }
            YieldPoint::Init => YieldsAt::Prefit,
            YieldPoint::Fit(result) => YieldsAt::Postfit(result),
            YieldPoint::Given(point) => YieldsAt::Given(point, None),
        };
        expected_yields(core, session, &options, at)
    };
    let record = common.run(py, model, Work::Fit, analysis, |result| {
        drawn = Some(ns_inference::picture::yields(result));
        result.parts(false)
    })?;
    Ok(YieldsResult(record, drawn.unwrap_or_default()))
}

/// Point at which yields are predicted.
enum YieldPoint {
    BestFit,
    Init,
    Fit(Box<ns_inference::FitResult>),
    Given(Vec<f64>),
}

impl YieldPoint {
    /// Reads the arguments `params` and `prefit`.
    ///
    /// # Errors
    /// `ValueError` if both are given, for an unknown word or name, and for a wrong number of values.
    fn of(
        py: Python<'_>,
        model: &ns_core::Model,
        params: Option<&Bound<'_, PyAny>>,
        prefit: bool,
    ) -> PyResult<Self> {
        let Some(object) = params else { return Ok(if prefit { Self::Init } else { Self::BestFit }) };
        if prefit {
            return Err(PyValueError::new_err("give params or prefit=True, not both"));
        }
        if let Ok(result) = object.cast::<FitResult>() {
            return Ok(Self::Fit(Box::new(result.get().whole(py)?)));
        }
        // A given point need not lie within the bounds of the parameters, which apply only to fits.
        match point(model, Some(object))? {
            GeneratingPoint::At(point) => {
                point.values(model).map(Self::Given).map_err(|error| inference_error(&error))
            }
            GeneratingPoint::Init => Ok(Self::Init),
            _ => Ok(Self::BestFit),
        }
    }
}
