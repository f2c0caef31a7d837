//! Macros that define the Python classes of results, and shared code of the functions that return results. The
//! attributes of such a class have the names of the keys in the JSON result of a command of the `nextstat` program.

use std::time::Instant;

use ns_core::{Control, Session};
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::{FitOptions, InferenceError, Work};
use pyo3::prelude::*;
use pyo3::pyclass_init::PyClassInitializer;
use pyo3::types::PyDict;
use pyo3::{IntoPyObjectExt, PyClass};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::device::execution;
use crate::error::{ToPython, inference_error};
use crate::model::Model;
use crate::options;
use crate::pickle::{Reduced, read, restorer, written};
use crate::plain::dictionary;
use crate::warn::warn_of_result;
use crate::work::{Progress, SHORT_FIT, run, run_keeping, run_short, without_result};

/// The data of a Python result object: the values of its attributes, and its text. The attributes have the names of
/// the keys in the JSON result of a command.
pub(crate) struct Record {
    /// The JSON of the result as a dictionary.
    pub(crate) values: Py<PyDict>,
    /// The result as text and tables.
    pub(crate) parts: Vec<Part>,
}

/// Defines a Python class around a [`Record`], with the given keys as attributes. If `$more` and `$methods` are
/// given, the class also has a second field `.1` of the type `$more`, and the methods `$methods`. With `draws`, this field is a
/// picture, and the class has the methods `plot`, described by `$what`, and `__reduce__`.
macro_rules! result_class {
    ($(#[$doc:meta])* $name:ident { $($key:ident)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "nextstat")]
        pub(crate) struct $name(pub(crate) $crate::analysis::Record);

        $crate::analysis::result_methods! { $name { $($key)* }, {
            /// Returns the data from which `pickle` and `copy` restore the result.
            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<$crate::pickle::Reduced<'py>> {
                self.0.reduced(py, stringify!($name), py.None())
            }
        } }
    };
    // A class whose field `.1` is a picture, or the picture if there is one.
    ($(#[$doc:meta])* $name:ident { $($key:ident)* }, draws $more:ty, $what:tt, $remedy:tt) => {
        $crate::analysis::result_class! {
            $(#[$doc])*
            $name { $($key)* }, $more, {
                /// Returns the data from which `pickle` and `copy` restore the result.
                fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<$crate::pickle::Reduced<'py>> {
                    self.0.reduced(py, stringify!($name), $crate::pickle::written(&self.1)?)
                }

                #[doc = $what]
                #[pyo3(signature = (path = None, *, title = None, subtitle = None))]
                fn plot(
                    &self,
                    py: Python<'_>,
                    path: Option<std::path::PathBuf>,
                    title: Option<String>,
                    subtitle: Option<String>,
                ) -> PyResult<$crate::picture::Picture> {
                    $crate::picture::titled(py, self.1.clone(), path, (title, subtitle), $remedy)
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($key:ident)* }, $more:ty, { $($methods:tt)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "nextstat")]
        pub(crate) struct $name(pub(crate) $crate::analysis::Record, pub(crate) $more);

        $crate::analysis::result_methods! { $name { $($key)* }, { $($methods)* } }
    };
}
pub(crate) use result_class;

/// Defines the methods of a class that [`result_class`] defines. These are a getter for each given key and for each
/// key of [`ns_inference::report::RunInfo`], `to_dict`, the conversions to text and HTML, and the methods in
/// `$methods`.
macro_rules! result_methods {
    ($name:ident { $($key:ident)* }, { $($methods:tt)* }) => {
        $crate::analysis::result_methods! {
            @ $name { $($key)* device device_reason gpu_check interpolation model_digest wall_s }, { $($methods)* }
        }
    };
    (@ $name:ident { $($key:ident)* }, { $($methods:tt)* }) => {
        #[pymethods]
        impl $name {
            $(#[getter]
            fn $key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.0.value(py, stringify!($key))
            })*

            /// Returns the value of a key, as results of a server had it in earlier versions.
            fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                $crate::earlier::item(slf.as_any(), key)
            }

            /// For each flow of the model, a dictionary that describes how the flow was evaluated; None for a
            /// model without flows.
            #[getter]
            fn flows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                self.0.values.bind(py).get_item("flows")
            }

            /// A dictionary with the blinded channels; None if there are none.
            #[getter]
            fn blind<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                self.0.values.bind(py).get_item("blind")
            }

            /// Returns the result as plain Python data, with the keys of the JSON result of the command.
            fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                py.import("copy")?.call_method1("deepcopy", (self.0.values.bind(py),))
            }

            fn __repr__(&self) -> String {
                $crate::table::text(&self.0.parts)
            }

            fn _repr_html_(&self) -> String {
                $crate::table::html(&self.0.parts)
            }

            /// Returns the tables of the result in LaTeX, with the rules of the package `booktabs`. Numbers are rounded to
            /// their uncertainties.
            fn to_latex(&self) -> String {
                ns_inference::report::DocumentFormat::Latex.render(&self.0.parts)
            }

            /// Returns the tables and texts of the result in Markdown. Numbers are rounded to their uncertainties.
            fn to_markdown(&self) -> String {
                ns_inference::report::DocumentFormat::Markdown.render(&self.0.parts)
            }

            /// Returns the tables of the result as comma-separated values. Numbers are rounded to their uncertainties.
            fn to_csv(&self) -> String {
                ns_inference::report::DocumentFormat::Csv.render(&self.0.parts)
            }

            /// Returns the result as a data frame of pandas (see `to_polars`).
            fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::frame(slf.as_any(), "pandas")
            }

            /// Returns the result as a data frame of polars, with all digits of its numbers. A fit has a row per parameter, a
            /// batch of fits a row per data set, a ranking a row per parameter, yields a row per sample and bin, a scan a row
            /// per value, a limit a row per quantile, unfolded data a row per truth bin, an injection test a row per value. Toys
            /// that were kept (`keep_toys=True`) have a row per toy, and a study without its toys a row per parameter. Other
            /// results are one row. Raises `ImportError` without polars.
            fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::frame(slf.as_any(), "polars")
            }

            /// Returns the data frame as a stream of Arrow, for pyarrow, polars, DuckDB and others that take such objects. Needs polars,
            /// pyarrow or a pandas with pyarrow.
            #[pyo3(signature = (requested_schema = None))]
            fn __arrow_c_stream__<'py>(
                slf: &Bound<'py, Self>,
                requested_schema: Option<Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::arrow(slf.as_any(), requested_schema)
            }

            $($methods)*
        }
    };
}
pub(crate) use result_methods;

/// Defines the methods of a Python class that has a field `inner` (a result of `ns_inference`), a field `ran` (the
/// [`RunInfo`]) and a method `parts()` (the result as text). The macro defines a getter for each given key of `inner`
/// and for each key of `ran`, the conversions to text and HTML, and the methods in `$methods`.
macro_rules! inner_methods {
    ($name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty,)* }, { $($methods:tt)* }) => {
        #[pymethods]
        impl $name {
            $($(#[$doc])*
            #[getter]
            fn $key(&self) -> $kind {
                Clone::clone(&self.inner.$key)
            })*

            /// Returns the value of a key, as results of a server had it in earlier versions.
            fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                $crate::earlier::item(slf.as_any(), key)
            }

            /// Name of the device that the analysis ran on.
            #[getter]
            fn device(&self) -> Option<&str> {
                self.ran.device.as_deref()
            }

            /// Reason why "auto" chose the device; None if the user named the device.
            #[getter]
            fn device_reason(&self) -> Option<&str> {
                self.ran.device_reason.as_deref()
            }

            /// Comparison of fits on the GPU with the same fits on the CPU; None if no GPU was used.
            #[getter]
            fn gpu_check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                $crate::plain::plain(py, &self.ran.gpu_check)
            }

            /// For each flow of the model, a dictionary that describes how the flow was evaluated; None for a
            /// model without flows.
            #[getter]
            fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                $crate::plain::plain(py, &self.ran.flows)
            }

            /// A dictionary with the blinded channels; None if there are none.
            #[getter]
            fn blind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                $crate::plain::plain(py, &self.ran.blind)
            }

            /// Names of the interpolation codes, as text.
            #[getter]
            fn interpolation(&self) -> Option<&str> {
                self.ran.interpolation.as_deref()
            }

            /// Digest that identifies the likelihood (as hexadecimal text).
            #[getter]
            fn model_digest(&self) -> Option<&str> {
                self.ran.model_digest.as_deref()
            }

            /// Wall time of the analysis in seconds.
            #[getter]
            fn wall_s(&self) -> Option<f64> {
                self.ran.wall_s
            }

            fn __repr__(&self) -> String {
                $crate::table::text(&self.parts())
            }

            fn _repr_html_(&self) -> String {
                $crate::table::html(&self.parts())
            }

            /// Returns the tables of the result in LaTeX, with the rules of the package `booktabs`. Numbers are rounded to
            /// their uncertainties.
            fn to_latex(&self) -> String {
                ns_inference::report::DocumentFormat::Latex.render(&self.parts())
            }

            /// Returns the tables and texts of the result in Markdown. Numbers are rounded to their uncertainties.
            fn to_markdown(&self) -> String {
                ns_inference::report::DocumentFormat::Markdown.render(&self.parts())
            }

            /// Returns the tables of the result as comma-separated values. Numbers are rounded to their uncertainties.
            fn to_csv(&self) -> String {
                ns_inference::report::DocumentFormat::Csv.render(&self.parts())
            }

            /// Returns the result as a data frame of pandas (see `to_polars`).
            fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::frame(slf.as_any(), "pandas")
            }

            /// Returns the result as a data frame of polars, with all digits of its numbers. A fit has a row per parameter, a
            /// batch of fits a row per data set, a ranking a row per parameter, yields a row per sample and bin, a scan a row
            /// per value, a limit a row per quantile, unfolded data a row per truth bin, an injection test a row per value. Toys
            /// that were kept (`keep_toys=True`) have a row per toy, and a study without its toys a row per parameter. Other
            /// results are one row. Raises `ImportError` without polars.
            fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::frame(slf.as_any(), "polars")
            }

            /// Returns the data frame as a stream of Arrow, for pyarrow, polars, DuckDB and others that take such objects. Needs polars,
            /// pyarrow or a pandas with pyarrow.
            #[pyo3(signature = (requested_schema = None))]
            fn __arrow_c_stream__<'py>(
                slf: &Bound<'py, Self>,
                requested_schema: Option<Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                $crate::analysis::arrow(slf.as_any(), requested_schema)
            }

            $($methods)*
        }
    };
}
pub(crate) use inner_methods;

/// Returns a result as a data frame of `package`.
///
/// # Errors
/// `ImportError` if the package is not installed.
pub(crate) fn frame<'py>(result: &Bound<'py, PyAny>, package: &str) -> PyResult<Bound<'py, PyAny>> {
    result.py().import("nextstat._frames")?.call_method1("frame", (result, package))
}

/// Returns a result as a stream of Arrow.
///
/// # Errors
/// `ImportError` if no package that makes such streams is installed.
pub(crate) fn arrow<'py>(
    result: &Bound<'py, PyAny>,
    schema: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    result.py().import("nextstat._frames")?.call_method1("stream", (result, schema))
}

/// The keyword arguments that all analyses share.
pub(crate) struct Common<'a, 'py> {
    pub(crate) device: &'a str,
    pub(crate) threads: usize,
    pub(crate) data: Option<&'a Bound<'py, PyAny>>,
    pub(crate) asimov: Option<&'a Bound<'py, PyAny>>,
    pub(crate) blind: Option<Vec<String>>,
    pub(crate) fixed: Option<&'a Bound<'py, PyAny>>,
    pub(crate) init: Option<&'a Bound<'py, PyAny>>,
    pub(crate) search: &'a str,
    pub(crate) integral_tolerance: Option<f64>,
    pub(crate) progress: Option<&'a Bound<'py, PyAny>>,
}

impl Common<'_, '_> {
    /// Returns the options of all fits: data, fixed parameters, starting point, search, and accepted error
    /// of integrals.
    ///
    /// # Errors
    /// `ValueError` or `TypeError` for a wrong argument, such as data of a length that the model does not have.
    pub(crate) fn fit_options(&self, model: &Model) -> PyResult<FitOptions> {
        let wanted = FitOptions::default().search(options::search(self.search)?);
        let wanted = wanted.integral_tolerance(self.integral_tolerance);
        let wanted = options::data(wanted, &model.inner, self.data, self.asimov, self.blind.clone())?;
        options::init(
            options::fixed(wanted, Some(&model.inner), self.fixed)?,
            &model.inner,
            "init",
            self.init,
        )
    }

    /// Adds the blinded channels to the information about a run.
    fn told(&self, ran: RunInfo) -> PyResult<RunInfo> {
        Ok(ran.blinded(options::blinded(self.asimov, self.blind.clone())?.as_ref()))
    }

    /// Runs an analysis and returns its result as a [`Record`]. `work` describes the fits of the analysis,
    /// which influence the choice of `device="auto"`. `parts` returns the text and tables of the report.
    ///
    /// # Errors
    /// The errors of the analysis, and exceptions that a signal handler or the progress function raised.
    pub(crate) fn run<T: Serialize + Send>(
        &self,
        py: Python<'_>,
        model: &Model,
        work: Work,
        analysis: impl FnOnce(&ns_core::Model, &dyn Session, Control<'_>) -> Result<T, InferenceError> + Send,
        parts: impl FnOnce(&T) -> Vec<Part>,
    ) -> PyResult<Record> {
        let (result, ran) = self.ran(py, model, work, analysis)?;
        let parts = parts(&result);
        let record = record(py, model, result, ran, parts)?;
        record.warn(py, model)?;
        Ok(record)
    }

    /// Runs an analysis like [`Self::run`], but returns the value that `analysis` returned, without converting it, and
    /// the information about the run.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    pub(crate) fn ran<T: Send>(
        &self,
        py: Python<'_>,
        model: &Model,
        work: Work,
        analysis: impl FnOnce(&ns_core::Model, &dyn Session, Control<'_>) -> Result<T, InferenceError> + Send,
    ) -> PyResult<(T, RunInfo)> {
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
        Ok((result, self.told(model.ran(opened, started))?))
    }

    /// Runs an analysis like [`Self::run`], but keeps the partial result of an interrupted analysis. In this case the
    /// function returns the exception that interrupted the analysis. The attribute `result` of this exception is the
    /// partial result. `describe` returns the text and tables of the report, and what else the object of Python keeps, such as
    /// a picture. `wrap` converts a [`Record`] with it to the Python class of the result.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    pub(crate) fn run_keeping<
        T: Serialize + Send,
        E: ToPython + Send,
        M,
        C: Into<PyClassInitializer<C>> + PyClass,
    >(
        &self,
        py: Python<'_>,
        model: &Model,
        work: Work,
        analysis: impl FnOnce(&ns_core::Model, &dyn Session, Control<'_>) -> Result<T, E> + Send,
        describe: impl FnOnce(&T) -> (Vec<Part>, M),
        wrap: impl FnOnce(Record, M) -> C,
    ) -> PyResult<Py<C>> {
        let started = Instant::now();
        let opened = model.open(py, &execution(self.device, self.threads)?, work)?;
        let session = opened.session.as_ref();
        let progress = Progress::read(self.progress)?;
        let core = &model.inner;
        let (raised, result) = run_keeping(py, &progress, |control| analysis(core, session, control));
        let result = match (result, &raised) {
            (Some(Ok(result)), _) => result,
            (Some(Err(error)), None) => return Err(error.exception()),
            (_, Some(error)) => return Err(error.clone_ref(py)),
            (None, None) => return Err(without_result()),
        };
        let (parts, more) = describe(&result);
        let record = record(py, model, result, self.told(model.ran(opened, started))?, parts)?;
        if raised.is_none() {
            record.warn(py, model)?;
        }
        let object = Py::new(py, wrap(record, more))?;
        match raised {
            None => Ok(object),
            Some(error) => {
                error.value(py).setattr("result", object)?;
                Err(error)
            }
        }
    }
}

/// Converts a result of [`Common::ran`] to a [`Record`], and issues its warnings as Python warnings.
///
/// # Errors
/// If a Python object cannot be created, or the user has made warnings errors.
pub(crate) fn recorded(
    py: Python<'_>,
    model: &Model,
    result: impl Serialize,
    ran: RunInfo,
    parts: Vec<Part>,
) -> PyResult<Record> {
    let record = record(py, model, result, ran, parts)?;
    record.warn(py, model)?;
    Ok(record)
}

/// Converts a result to a [`Record`]. The text of the record ends with lines about the run.
///
/// # Errors
/// If a Python object cannot be created.
fn record(
    py: Python<'_>,
    model: &Model,
    result: impl Serialize,
    ran: RunInfo,
    mut parts: Vec<Part>,
) -> PyResult<Record> {
    parts.push(ran.closing(&model.inner.measurement));
    Record::new(py, Report { result, ran, parts })
}

impl Record {
    /// Returns the value that the result has under the key `key`.
    ///
    /// # Errors
    /// `KeyError` if the result lacks the key.
    pub(crate) fn value<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        self.values.bind(py).as_any().get_item(key)
    }

    /// Returns the result in Rust, read from its JSON.
    ///
    /// # Errors
    /// If the result is not a `T`.
    pub(crate) fn reread<T: DeserializeOwned>(&self, py: Python<'_>) -> PyResult<T> {
        let text: String = py.import("json")?.call_method1("dumps", (self.values.bind(py),))?.extract()?;
        read(&text)
    }

    /// Issues the warnings of the result as Python warnings.
    ///
    /// # Errors
    /// If the user has made warnings errors.
    fn warn(&self, py: Python<'_>, model: &Model) -> PyResult<()> {
        let warnings: Vec<String> = self.value(py, "warnings")?.extract()?;
        warn_of_result(py, &model.inner, &warnings)
    }

    /// Converts a report (a result, its text, and the information about the run) to a [`Record`].
    ///
    /// # Errors
    /// If a Python object cannot be created.
    pub(crate) fn new(py: Python<'_>, report: Report<impl Serialize>) -> PyResult<Self> {
        Ok(Self { values: dictionary(py, &report)?.unbind(), parts: report.parts })
    }

    /// Returns the data from which `pickle` and `copy` restore a result of the Python class `class`. `more` contains
    /// the data of the second field of this class; it is `None` if the class has no second field.
    ///
    /// # Errors
    /// If a Python object cannot be created.
    pub(crate) fn reduced<'py>(
        &self,
        py: Python<'py>,
        class: &str,
        more: impl IntoPyObject<'py>,
    ) -> PyResult<Reduced<'py>> {
        let more = more.into_bound_py_any(py)?;
        let arguments = (class, self.values.bind(py), written(&self.parts)?, more).into_pyobject(py)?;
        Ok((restorer(py, "_result")?, arguments))
    }
}
