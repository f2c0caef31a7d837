//! The function `nextstat.fit_toys` with its result, and the method `Model.toy_data`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ns_core::{Data, Execution, Observations, Session, SessionError, ToySource};
use ns_inference::Work;
use ns_inference::picture::toy_pulls;
use ns_inference::toys::store::{SavedRunError, run_saved};
use ns_inference::toys::{
    FitToyRow, FitToysOptions, FitToysSummary, FitToysTest, GeneratingPoint, RowSink as _, STUDY_HYPOTHESIS,
    source_of_expectation,
};
use ns_viz::ToyPulls;
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::analysis::{Common, result_class};
use crate::arrays::{Rows, array, bad};
use crate::datasets::dataset;
use crate::error::session_error;
use crate::events::RESERVED;
use crate::kept_toys::{KeptToys, WithToys, put, taken};
use crate::load::Names;
use crate::model::Model;
use crate::options;
use crate::picture::{self, Picture};
use crate::work::released;
use crate::{load, toys};

result_class! {
    /// The result of a study of fits to toys. Attributes have the names of the keys in the JSON of `nextstat
    /// toys`. `parameters` has one dictionary per parameter.
    FitToysResult {
        parameters n_toys n_failed n_nonconverged n_error seed search shard toys_per_s converged warnings
    }, WithToys<ToyPulls>, {
        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "FitToysResult", crate::pickle::written(&self.1)?)
        }

        /// The toys if `keep_toys=True`: a dictionary from the names of columns, as in files of toys, to arrays with an entry for
        /// each toy, and to lists of texts. None otherwise.
        #[getter]
        fn kept_toys<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
            self.1.toys.as_ref().map(|toys| toys.dictionary(py)).transpose()
        }

        /// Draws the means and widths of the pulls in a row for each parameter. Long lists are arranged in `columns`;
        /// None chooses their number. Saves the picture if `path` is given.
        #[pyo3(signature = (path = None, *, columns = None, title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            #[pyo3(from_py_with = crate::whole::perhaps::columns)] columns: Option<usize>,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            picture::check(path.as_deref())?;
            let mut plot = self.1.picture.clone();
            plot.columns = columns.or(plot.columns);
            picture::replace(&mut plot.title, title);
            picture::replace(&mut plot.subtitle, subtitle);
            picture::finish(py, plot.draw(), path)
        }
    }
}

/// Reads a point at which toys are generated. It is None or "bestfit", "init", all values in order, or some
/// values by name. In the last case, the other parameters have their initial values.
pub(crate) fn point(model: &ns_core::Model, object: Option<&Bound<'_, PyAny>>) -> PyResult<GeneratingPoint> {
    let Some(object) = object else { return Ok(GeneratingPoint::BestFit) };
    if let Ok(word) = object.extract::<String>() {
        return match word.as_str() {
            "bestfit" => Ok(GeneratingPoint::BestFit),
            "init" => Ok(GeneratingPoint::Init),
            other => Err(PyValueError::new_err(format!(
                "unknown params '{other}'; use \"bestfit\", \"init\", an array or a dictionary"
            ))),
        };
    }
    let options = options::init(ns_inference::FitOptions::default(), model, "params", Some(object))?;
    Ok(options.start.map_or(GeneratingPoint::Init, GeneratingPoint::At))
}

/// Fits toys that are generated at `params`. Compares the fitted values with the generated values: bias,
/// pulls and coverage.
///
/// `params` is the point at which toys are generated: None or "bestfit" (the best fit of the data), "init",
/// all values in order, or some values by name. `parameters` names the parameters to study, by default all
/// free parameters. The other arguments have the same meaning as for `hypotest_toys`. `model.toy_data(params,
/// n_toys, seed)` returns the toys. `keep_toys=True` keeps the fits of the toys in memory: `result.kept_toys`, and a row for each
/// toy in data frames, which otherwise have a row for each parameter.
#[pyfunction]
#[pyo3(signature = (model, params = None, n_toys = 1000, seed = 0, *, parameters = None, shard = None, keep_toys = false, device = "auto",
                    data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, threads = 0, progress = None))]
pub(crate) fn fit_toys(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    params: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: u64,
    #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
    parameters: Option<Vec<String>>,
    shard: Option<&str>,
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
) -> PyResult<Py<FitToysResult>> {
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
    let options = FitToysOptions::default()
        .fit(common.fit_options(model)?)
        .point(point(&model.inner, params)?)
        .params(parameters.unwrap_or_default())
        .n_toys(n_toys)
        .seed(seed)
        .shard(toys::shard(shard)?);
    let range = options.shard.range(n_toys);
    let kept = Mutex::new(None);
    common.run_keeping(
        py,
        model,
        Work::Toys { toys: range.end.saturating_sub(range.start), fits: 1 },
        |core, session, control| {
            if !keep_toys {
                return Ok(ns_inference::fit_toys(core, session, &options, control)?);
            }
            let test = FitToysTest::prepare(core, session, &options, control)?;
            let params = test.header().params.clone();
            let mut summary = FitToysSummary::new(test.header());
            let mut rows: Vec<FitToyRow> = Vec::new();
            let mut take = |some: &[FitToyRow]| {
                rows.extend_from_slice(some);
                summary.rows(some)
            };
            let run = run_saved(None, test, None, (core, session), control, &mut take)?;
            put(&kept, KeptToys::of_study(&params, rows));
            let mut result = summary.finish();
            (result.toys_per_s, result.interrupted) = (run.toys_per_s, run.interrupted);
            result.warnings.extend(run.warnings(false));
            Ok::<_, SavedRunError>(result)
        },
        |result| (result.parts(), WithToys { picture: toy_pulls(result), toys: taken(&kept) }),
        FitToysResult,
    )
}

/// Approximate number of data values that are drawn between two checks whether the user pressed Ctrl-C.
const PORTION: usize = 1 << 21;

/// The distribution from which toys are generated.
pub(crate) enum Origin {
    /// A parameter point, and the number of a hypothesis. Different hypothesis numbers give different random numbers.
    Point(Vec<f64>, u8),
    /// Given expected data.
    Expectation(Arc<Observations>),
}

impl Origin {
    /// Reads the arguments `params`, `expected` and `hypothesis`.
    ///
    /// # Errors
    /// `ValueError` for a wrong shape, an unknown hypothesis, both or neither of `params` and `expected`, and
    /// `hypothesis` together with `expected`.
    pub(crate) fn of(
        model: &ns_core::Model,
        params: Option<&Bound<'_, PyAny>>,
        expected: Option<&Bound<'_, PyAny>>,
        hypothesis: Option<&str>,
    ) -> PyResult<Self> {
        let params = match (params, expected) {
            (None, Some(expected)) if hypothesis.is_none() => {
                return Ok(Self::Expectation(dataset(model, expected)?));
            }
            (None, Some(_)) => {
                return Err(PyValueError::new_err(
                    "a given expectation belongs to no hypothesis: leave one of them out",
                ));
            }
            (Some(_), Some(_)) => return Err(PyValueError::new_err("give params or expected, not both")),
            (None, None) => {
                return Err(PyValueError::new_err(
                    "toys need params, the parameters to draw at, or expected, the expectation itself",
                ));
            }
            (Some(params), None) => params,
        };
        let rows = Rows::of_width("params", params, model.parameters.len())?;
        if rows.batch.is_some() {
            return Err(PyValueError::new_err("params must have one dimension"));
        }
        let number = match hypothesis {
            None => STUDY_HYPOTHESIS,
            Some("b") => 0,
            Some("sb") => 1,
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "unknown hypothesis '{other}'; use \"b\" or \"sb\" for the toys of a test, None for those of fit_toys"
                )));
            }
        };
        Ok(Self::Point(rows.values, number))
    }

    /// Returns the distributions from which the toys are drawn.
    fn source(
        &self,
        model: &ns_core::Model,
        session: &dyn Session,
        seed: u64,
    ) -> Result<Arc<ToySource>, SessionError> {
        match self {
            Self::Point(point, hypothesis) => session.toy_source(point, &Data::observed(), seed, *hypothesis),
            Self::Expectation(data) => {
                source_of_expectation(model, &data.main, Some(&data.aux), seed).map(Arc::new)
            }
        }
    }
}

/// Generates toys `first` to `first + n_toys - 1`. Each is a row of main counts, followed by the auxiliary
/// data if `include_auxdata` is set.
///
/// # Errors
/// `ValueError` if no toys can be drawn from the origin; `MemoryError` if the toys do not fit into memory.
pub(crate) fn toy_data<'py>(
    py: Python<'py>,
    model: &Model,
    from: &Origin,
    n_toys: usize,
    seed: u64,
    first: u64,
    include_auxdata: bool,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    if !model.inner.event_channels.is_empty() {
        let remedy =
            "rows of counts hold no events; toy_events returns toys of this model, and fit_toys fits them";
        return Err(session_error(&SessionError::ForeignData { remedy }));
    }
    let (bins, aux) = (model.inner.n_bins(), model.inner.observed.aux.len());
    let width = if include_auxdata { bins + aux } else { bins };
    let session = model.session(py, &Execution::default())?;
    let too_many = || {
        PyMemoryError::new_err(format!(
            "no memory for {n_toys} toys of {width} numbers; draw fewer at a time"
        ))
    };
    let mut drawn = Vec::new();
    let size = n_toys.checked_mul(width).ok_or_else(too_many)?;
    drawn.try_reserve_exact(size).map_err(|_| too_many())?;
    let source = released(py, || from.source(&model.inner, session.as_ref(), seed))?;
    let source = source.map_err(|error| session_error(&error))?;
    let (mut main, mut auxiliary) = (vec![0.0; bins], vec![0.0; aux]);
    let mut left = (first..=u64::MAX).take(n_toys);
    let portion = (PORTION / width.max(1)).max(1);
    loop {
        let before = drawn.len();
        released(py, || {
            for index in left.by_ref().take(portion) {
                source.draw_into(index, &mut main, &mut auxiliary);
                drawn.extend_from_slice(&main);
                if include_auxdata {
                    drawn.extend_from_slice(&auxiliary);
                }
            }
        })?;
        if drawn.len() == before {
            return array(py, drawn, &[n_toys, width]);
        }
        py.check_signals()?;
    }
}

/// Generates toys `first` to `first + n_toys - 1` of a model with channels of events. Each toy is a dictionary for
/// the argument `data` of an analysis: the columns of each channel by its name, and if they exist the main counts
/// under `main` and the auxiliary data under `auxdata`.
///
/// # Errors
/// `ValueError` if no toys can be drawn from the origin, for data of a binned channel, and for channels with the
/// names `main` or `auxdata`.
pub(crate) fn toy_events<'py>(
    py: Python<'py>,
    model: &Model,
    from: &Origin,
    n_toys: usize,
    seed: u64,
    first: u64,
) -> PyResult<Bound<'py, PyList>> {
    let channels = &model.inner.event_channels;
    if channels.is_empty() {
        return Err(bad("the model has no channels of events; toy_data returns toys of counts".to_owned()));
    }
    for channel in channels {
        if channel.binning.is_some() || RESERVED.contains(&channel.name.as_str()) {
            let reason =
                if channel.binning.is_some() { "its data are a histogram" } else { "its name is reserved" };
            return Err(bad(format!("toys of channel '{}' cannot be returned: {reason}", channel.name)));
        }
    }
    let session = model.session(py, &Execution::default())?;
    let source = released(py, || from.source(&model.inner, session.as_ref(), seed))?;
    let source = source.map_err(|error| session_error(&error))?;
    let toys = PyList::empty(py);
    for index in (first..=u64::MAX).take(n_toys) {
        let drawn = released(py, || source.draw_whole(index))?;
        let drawn =
            drawn.map_err(|_| bad(format!("toy {index} cannot be drawn: a density is not positive")))?;
        let toy = PyDict::new(py);
        for (channel, table) in channels.iter().zip(&drawn.events) {
            let columns = PyDict::new(py);
            for (axis, column) in channel.observables.iter().zip(&table.columns) {
                columns.set_item(&axis.name, array(py, column.to_vec(), &[column.len()])?)?;
            }
            toy.set_item(&channel.name, columns)?;
        }
        for (name, numbers) in RESERVED.iter().zip([drawn.main, drawn.aux]).filter(|(_, n)| !n.is_empty()) {
            let n = numbers.len();
            toy.set_item(name, array(py, numbers, &[n])?)?;
        }
        toys.append(toy)?;
        py.check_signals()?;
    }
    Ok(toys)
}
