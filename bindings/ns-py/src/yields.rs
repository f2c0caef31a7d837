//! `nextstat.yields` and `nextstat.YieldsResult`.

use std::path::PathBuf;

use ns_core::{Control, Session};
use ns_inference::present::{measurement, significant};
use ns_inference::{Work, YieldsResult as Numbers, postfit_yields, prefit_yields};
use ns_viz::Yields;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::analysis::{Common, result_class};
use crate::load;
use crate::picture::{self, Picture, check, replace};
use crate::table::Table;
use crate::whole::{perhaps_whole, whole};

result_class! {
    /// Expected and observed events of every channel; `channels` is a list of dictionaries with `name`,
    /// `samples` (`name`, `signal`, `counts`), `total`, `uncertainty`, `data`, `sum`, `sum_uncertainty` and
    /// `data_sum`.
    YieldsResult, Yields, {
        /// What `pickle` and `copy` keep.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            crate::pickle::of_record(py, "YieldsResult", &self.0, crate::pickle::written(&self.1)?)
        }

        /// Draws the channels as stacks with data, uncertainty and their ratio; saves the picture if there is
        /// a path. `channels` picks some by name, `max_samples` is how many backgrounds keep a colour of their
        /// own, `columns` how many panels stand side by side.
        #[pyo3(signature = (path = None, *, channels = None, log_y = false, columns = None, max_samples = None,
                            title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            channels: Option<Vec<String>>,
            log_y: bool,
            #[pyo3(from_py_with = perhaps_whole)]
            columns: Option<usize>,
            #[pyo3(from_py_with = perhaps_whole)]
            max_samples: Option<usize>,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            check(path.as_deref())?;
            let mut yields = Yields { log_y, columns, ..self.1.clone() };
            if let Some(names) = channels {
                picture::select(&mut yields, &names)?;
            }
            replace(&mut yields.max_samples, max_samples);
            replace(&mut yields.title, title);
            replace(&mut yields.subtitle, subtitle);
            picture::finish(py, yields.draw(), path)
        }
    }
}

/// Predicts the events of every sample in every channel, with the uncertainty of their sum.
///
/// After the fit (which is made; `data`, `asimov`, `fixed` and `init` are those of `fit`) at the best fit
/// with its covariance, or with `prefit=True` at the initial parameters with the widths of their constraints,
/// where free parameters without a constraint contribute nothing.
#[pyfunction]
#[pyo3(signature = (model, *, prefit = false, device = "auto", data = None, asimov = None, fixed = None, init = None,
                    threads = 0))]
pub(crate) fn yields(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    prefit: bool,
    device: &str,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    fixed: Option<&Bound<'_, PyDict>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] threads: usize,
) -> PyResult<YieldsResult> {
    let model = load::model(py, model)?;
    let model = model.get();
    let common = Common { device, threads, data, asimov, fixed, init, progress: None };
    let options = common.fit_options(model)?;
    let mut drawn = None;
    let analysis = |core: &ns_core::Model, session: &dyn Session, control: Control<'_>| {
        if prefit {
            return prefit_yields(core, session, &options);
        }
        let result = ns_inference::fit(core, session, &options, control)?;
        postfit_yields(core, session, &options, &result)
    };
    let record = common.run(py, model, Work::Fit, analysis, |result| {
        drawn = Some(ns_inference::picture::yields(result));
        table(result)
    })?;
    Ok(YieldsResult(record, drawn.unwrap_or_default()))
}

/// One row per channel.
fn table(result: &Numbers) -> (Table, String) {
    let rows = result.channels.iter().map(|channel| {
        let expected = match channel.sum_uncertainty {
            Some(sigma) => measurement(channel.sum, sigma),
            None => significant(channel.sum),
        };
        vec![channel.name.clone(), channel.total.len().to_string(), expected, significant(channel.data_sum)]
    });
    let table = Table::new(&["channel", "bins", "expected", "observed"], rows.collect());
    (table, format!("{} yields of measurement {}", result.stage.name(), result.measurement))
}
