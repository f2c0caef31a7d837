//! `nextstat.joint_ranking` and `nextstat.JointRanking`: rankings of several parameters of interest in one table.

use std::path::PathBuf;

use ns_inference::RankingResult as Inner;
use ns_inference::ranking::joint_rows;
use ns_inference::report::{DocumentFormat, Part, joint_ranking as parts};
use ns_viz::JointRanking as Drawn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::pickle::{Reduced, read, restorer, written};
use crate::picture::{self, Picture, check, replace};
use crate::plain::plain;
use crate::ranking::RankingResult;
use crate::table;

/// Rankings of several parameters of interest in one table: a row per nuisance parameter, and a column of impacts for each
/// parameter of interest. The order is that of the largest impact in units of the uncertainty of the parameter of interest.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct JointRanking(Vec<Inner>);

impl JointRanking {
    fn parts(&self) -> Vec<Part> {
        parts(&self.0)
    }
}

#[pymethods]
impl JointRanking {
    /// Names of the parameters of interest.
    #[getter]
    fn pois(&self) -> Vec<&str> {
        self.0.iter().map(|result| result.param.as_str()).collect()
    }

    /// Names of the nuisance parameters, in the order of the table.
    #[getter]
    fn names(&self) -> Vec<String> {
        joint_rows(&self.0).iter().map(|row| row.name.to_owned()).collect()
    }

    fn __repr__(&self) -> String {
        table::text(&self.parts())
    }

    fn _repr_html_(&self) -> String {
        table::html(&self.parts())
    }

    /// Returns the table in LaTeX, with the rules of the package `booktabs`. Numbers are rounded to their uncertainties.
    fn to_latex(&self) -> String {
        DocumentFormat::Latex.render(&self.parts())
    }

    /// Returns the table and its texts in Markdown. Numbers are rounded to their uncertainties.
    fn to_markdown(&self) -> String {
        DocumentFormat::Markdown.render(&self.parts())
    }

    /// Returns the table as comma-separated values. Numbers are rounded to their uncertainties.
    fn to_csv(&self) -> String {
        DocumentFormat::Csv.render(&self.parts())
    }

    /// Returns a dictionary with the keys `pois` and `results`, as in the JSON of `nextstat ranking`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("pois", self.pois())?;
        all.set_item("results", plain(py, &self.0)?)?;
        Ok(all)
    }

    /// Returns the table as a data frame of pandas (see `to_polars`).
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::frame(slf.as_any(), "pandas")
    }

    /// Returns the table as a data frame of polars, with all digits of its numbers: a row per nuisance parameter, with columns
    /// such as `delta_mu_up mu_ggH`. Raises `ImportError` without polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::frame(slf.as_any(), "polars")
    }

    /// Returns the data frame as a stream of Arrow, for pyarrow, polars, DuckDB and others that take such objects. Needs polars,
    /// pyarrow or a pandas with pyarrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::analysis::arrow(slf.as_any(), requested_schema)
    }

    /// Draws the impacts on each parameter of interest in a panel of its own, and the pulls, of the first `max_rows`
    /// parameters; None draws all parameters. Saves the picture if `path` is given.
    #[pyo3(signature = (path = None, *, max_rows = Some(30), title = None, subtitle = None))]
    fn plot(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        #[pyo3(from_py_with = crate::whole::perhaps::max_rows)] max_rows: Option<usize>,
        title: Option<String>,
        subtitle: Option<String>,
    ) -> PyResult<Picture> {
        check(path.as_deref())?;
        let mut drawn = Drawn { max_rows, ..ns_inference::picture::joint_ranking(&self.0) };
        replace(&mut drawn.title, title);
        replace(&mut drawn.subtitle, subtitle);
        picture::finish(py, drawn.draw(), path)
    }

    /// Returns the data from which `pickle` and `copy` restore the object.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((restorer(py, "_joint_ranking")?, (written(&self.0)?,).into_pyobject(py)?))
    }
}

/// Restores a pickled table of rankings.
#[pyfunction]
pub(crate) fn _joint_ranking(text: &str) -> PyResult<JointRanking> {
    Ok(JointRanking(read(text)?))
}

/// Puts rankings of several parameters of interest into one table. `rankings` is the dictionary that `ranking` returns for a list
/// of names, or a list of rankings that share their best fit.
#[pyfunction]
pub(crate) fn joint_ranking(rankings: &Bound<'_, PyAny>) -> PyResult<JointRanking> {
    let list: Vec<Bound<'_, PyAny>> = match rankings.cast::<PyDict>() {
        Ok(dict) => dict.values().iter().collect(),
        Err(_) => rankings.try_iter()?.collect::<PyResult<_>>()?,
    };
    let results: Vec<Inner> =
        list.iter().map(|one| Ok(one.cast::<RankingResult>()?.get().1.clone())).collect::<PyResult<_>>()?;
    let Some(first) = results.first() else {
        return Err(PyValueError::new_err(
            "there are no rankings; give what ranking(model, poi=[...]) returns, or a list of rankings",
        ));
    };
    // Two rankings of one model have the same fits in common; a table of others would mix pulls of different fits.
    if let Some(other) = results.iter().find(|other| other.twice_nll != first.twice_nll) {
        return Err(PyValueError::new_err(format!(
            "the rankings of {} and {} are of different fits; rank both with ranking(model, poi=[...])",
            first.param, other.param
        )));
    }
    Ok(JointRanking(results))
}
