//! Results whose attributes are the keys of the command's JSON, and what their functions share.

use std::time::Instant;

use ns_core::{Control, Session, plain_lines};
use ns_inference::{FitOptions, InferenceError, Work};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass_init::PyClassInitializer;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::device::{Opened, execution};
use crate::error::inference_error;
use crate::model::Model;
use crate::options;
use crate::table::{Table, escape};
use crate::work::{Progress, SHORT_FIT, run, run_keeping, run_short, without_result};

/// The content of all results of this kind.
pub(crate) struct Record {
    /// The keys of the JSON with their values.
    pub(crate) values: Py<PyDict>,
    pub(crate) table: Table,
    pub(crate) summary: String,
}

/// Declares a class around [`Record`]; after a comma, its further content (`.1`) and its method `plot`.
macro_rules! result_class {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "nextstat")]
        pub(crate) struct $name(pub(crate) $crate::analysis::Record);

        $crate::analysis::result_methods! { $name, [], {
            /// The state that `pickle` and `copy` store.
            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<$crate::pickle::Reduced<'py>> {
                $crate::pickle::of_record(py, stringify!($name), &self.0, py.None())
            }
        } }
    };
    ($(#[$doc:meta])* $name:ident, $more:ty, { $($plot:tt)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "nextstat")]
        pub(crate) struct $name(pub(crate) $crate::analysis::Record, pub(crate) $more);

        $crate::analysis::result_methods! { $name, ["plot".to_owned()], { $($plot)* } }
    };
}
pub(crate) use result_class;

/// The methods of such a class, and further ones with their names.
macro_rules! result_methods {
    ($name:ident, [$($names:expr)?], { $($methods:tt)* }) => {
        #[pymethods]
        impl $name {
            fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
                match self.0.values.bind(py).get_item(name)? {
                    Some(value) => Ok(value),
                    None => Err(pyo3::exceptions::PyAttributeError::new_err(format!(
                        concat!("'", stringify!($name), "' object has no attribute '{}'"),
                        name
                    ))),
                }
            }

            fn __dir__(&self, py: Python<'_>) -> PyResult<Vec<String>> {
                let mut names: Vec<String> = self.0.values.bind(py).keys().extract()?;
                names.push("to_dict".to_owned());
                $(names.push($names);)?
                Ok(names)
            }

            /// Everything as plain Python data, as in the JSON of the command.
            fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                py.import("copy")?.call_method1("deepcopy", (self.0.values.bind(py),))
            }

            fn __repr__(&self) -> String {
                self.0.text()
            }

            fn _repr_html_(&self) -> String {
                self.0.html()
            }

            $($methods)*
        }
    };
}
pub(crate) use result_methods;

impl Record {
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.table.text(), plain_lines(&self.summary))
    }

    pub(crate) fn html(&self) -> String {
        format!("{}<p>{}</p>", self.table.html(), escape(&plain_lines(&self.summary)))
    }
}

/// The keyword arguments that all analyses share.
pub(crate) struct Common<'a, 'py> {
    pub(crate) device: &'a str,
    pub(crate) threads: usize,
    pub(crate) data: Option<&'a Bound<'py, PyAny>>,
    pub(crate) asimov: Option<&'a Bound<'py, PyAny>>,
    pub(crate) fixed: Option<&'a Bound<'py, PyDict>>,
    pub(crate) init: Option<&'a Bound<'py, PyAny>>,
    pub(crate) progress: Option<&'a Bound<'py, PyAny>>,
}

impl Common<'_, '_> {
    /// Data, fixed parameters and start of all fits.
    ///
    /// # Errors
    /// For arguments that do not fit the model.
    pub(crate) fn fit_options(&self, model: &Model) -> PyResult<FitOptions> {
        let wanted = options::data(FitOptions::default(), &model.inner, self.data, self.asimov)?;
        options::init(options::fixed(wanted, self.fixed)?, &model.inner, self.init)
    }

    /// Runs an analysis and hands its result to Python. `work` is what it asks of a device.
    ///
    /// # Errors
    /// Those of the analysis, and what a signal handler or the progress function raised.
    pub(crate) fn run<T: Serialize + Send>(
        &self,
        py: Python<'_>,
        model: &Model,
        work: Work,
        analysis: impl FnOnce(&ns_core::Model, &dyn Session, Control<'_>) -> Result<T, InferenceError> + Send,
        table: impl FnOnce(&T) -> (Table, String),
    ) -> PyResult<Record> {
        let started = Instant::now();
        let opened = model.open(py, &execution(self.device, self.threads)?, work)?;
        let session = opened.session.as_ref();
        let progress = Progress::read(self.progress)?;
        let core = &model.inner;
        let few_fits = matches!(work, Work::Fit | Work::Test);
        let work = |control: Control<'_>| analysis(core, session, control);
        let short = few_fits && matches!(progress, Progress::Silent) && core.parameters.len() <= SHORT_FIT;
        let result = if short { run_short(py, work)? } else { run(py, &progress, work)? }
            .map_err(|error| inference_error(&error))?;
        record(py, model, &opened, started, &result, table(&result))
    }

    /// The same for analyses that count what is done when they are stopped: the exception then has the result
    /// as its attribute `result`.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_keeping<T: Serialize + Send, C: Into<PyClassInitializer<C>> + PyClass>(
        &self,
        py: Python<'_>,
        model: &Model,
        work: Work,
        analysis: impl FnOnce(&ns_core::Model, &dyn Session, Control<'_>) -> Result<T, InferenceError> + Send,
        table: impl FnOnce(&T) -> (Table, String),
        wrap: impl FnOnce(Record) -> C,
    ) -> PyResult<Py<C>> {
        let started = Instant::now();
        let opened = model.open(py, &execution(self.device, self.threads)?, work)?;
        let session = opened.session.as_ref();
        let progress = Progress::read(self.progress)?;
        let core = &model.inner;
        let (raised, result) = run_keeping(py, &progress, |control| analysis(core, session, control));
        let result = match (result, &raised) {
            (Some(Ok(result)), _) => result,
            (Some(Err(error)), None) => return Err(inference_error(&error)),
            (_, Some(error)) => return Err(error.clone_ref(py)),
            (None, None) => return Err(without_result()),
        };
        let record = record(py, model, &opened, started, &result, table(&result))?;
        let object = Py::new(py, wrap(record))?;
        match raised {
            None => Ok(object),
            Some(error) => {
                error.value(py).setattr("result", object)?;
                Err(error)
            }
        }
    }
}

/// A result as Python keeps it.
///
/// # Errors
/// If it cannot be written as JSON, which is a bug.
pub(crate) fn record<T: Serialize>(
    py: Python<'_>,
    model: &Model,
    opened: &Opened,
    started: Instant,
    result: &T,
    (table, summary): (Table, String),
) -> PyResult<Record> {
    let text = serde_json::to_string(result)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    let values = py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?;
    let ran = opened.ran(py)?;
    let wall_s = started.elapsed().as_secs_f64();
    ran.add_to(py, &values)?;
    values.set_item("interpolation", model.inner.interpolation.to_string())?;
    values.set_item("model_digest", model.digest())?;
    values.set_item("wall_s", wall_s)?;
    let summary = format!("{summary}, {:.1} ms on {}", 1e3 * wall_s, ran.device);
    Ok(Record { values: values.unbind(), table, summary })
}
