//! `nextstat.ranking` and `nextstat.RankingResult`.

use std::path::PathBuf;

use ns_inference::{Group, Impact, RankingOptions, Work};
use ns_viz::{Impacts, Ranking};
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::analysis::{Common, recorded, result_class};
use crate::load::{self, Names, NamesByName};
use crate::picture::{self, Picture, check, replace};
use crate::pois::with_pois;

result_class! {
    /// Nuisance parameters in the order of their impact, largest first. Attributes have the names of the keys
    /// in the JSON of `nextstat ranking`. `names` and the arrays `pull`, `constraint` and `delta_mu_*` are in
    /// the order of the list `ranking`. NaN stands for a number that does not exist. `result["jet_scale"]` is
    /// the entry of the parameter `jet_scale` in this list.
    RankingResult {
        param mu_hat mu_uncertainty impacts prefit ranking n_ranked groups group_sums sequential breakdown twice_nll converged
        n_fits n_failed interrupted warnings
    }, ns_inference::RankingResult, {
        /// Names of the parameters, in the order of the list `ranking`.
        #[getter]
        fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
            self.list(py)?.iter().map(|entry| entry.get_item("name")?.extract()).collect()
        }

        /// `(best fit - auxiliary datum) / pre-fit width` of each parameter, in the order of the list
        /// `ranking`.
        #[getter]
        fn pull<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "pull", None)
        }

        /// `uncertainty / pre-fit width` of each parameter, in the order of the list `ranking`.
        #[getter]
        fn constraint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "constraint", None)
        }

        /// Post-fit impact of moving each parameter up, by the first definition in `impacts`.
        #[getter]
        fn delta_mu_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "delta_mu_up", None)
        }

        /// Post-fit impact of moving each parameter down, by the first definition in `impacts`.
        #[getter]
        fn delta_mu_down<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "delta_mu_down", None)
        }

        /// Pre-fit impact of moving each parameter up, by the first definition in `impacts`.
        #[getter]
        fn delta_mu_prefit_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "delta_mu_prefit_up", None)
        }

        /// Pre-fit impact of moving each parameter down, by the first definition in `impacts`.
        #[getter]
        fn delta_mu_prefit_down<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, "delta_mu_prefit_down", None)
        }

        /// Returns an array with the values of `key` in all entries of `ranking`. `impact` selects the
        /// definition of the impact ("refit", "covariance" or "global").
        #[pyo3(signature = (key, impact = None))]
        fn column<'py>(
            &self,
            py: Python<'py>,
            key: &str,
            impact: Option<&str>,
        ) -> PyResult<Bound<'py, PyArray1<f64>>> {
            self.numbers(py, key, impact)
        }

        fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
            Ok(self.list(py)?.len())
        }

        /// Returns an entry of the list `ranking` by the name of its parameter or by its position.
        fn entry<'py>(&self, py: Python<'py>, which: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            let list = self.list(py)?;
            if let Ok(name) = which.extract::<String>() {
                for entry in list {
                    if entry.get_item("name")?.extract::<String>()? == name {
                        return Ok(entry);
                    }
                }
                return Err(PyKeyError::new_err(format!("no parameter '{name}' in this ranking")));
            }
            let position = which.extract::<isize>()?;
            let index = if position < 0 { position.checked_add_unsigned(list.len()) } else { Some(position) };
            let index = index.and_then(|i| usize::try_from(i).ok()).filter(|i| *i < list.len());
            list.get_item(index.ok_or_else(|| PyIndexError::new_err("ranking index out of range"))?)
        }

        /// Returns the data from which `pickle` and `copy` restore the result.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<crate::pickle::Reduced<'py>> {
            self.0.reduced(py, "RankingResult", crate::pickle::written(&self.1)?)
        }

        /// Draws impacts, pulls and constraints of the `max_rows` parameters with the largest impacts; None draws all parameters.
        /// `kind="impacts"` draws all parameters on numbered pages of `max_rows`, with pulls and impacts side by side; a PDF has
        /// them as pages. Saves the picture if `path` is given.
        #[pyo3(signature = (path = None, *, kind = "ranking", max_rows = Some(30), title = None, subtitle = None))]
        fn plot(
            &self,
            py: Python<'_>,
            path: Option<PathBuf>,
            kind: &str,
            #[pyo3(from_py_with = crate::whole::perhaps::max_rows)] max_rows: Option<usize>,
            title: Option<String>,
            subtitle: Option<String>,
        ) -> PyResult<Picture> {
            check(path.as_deref())?;
            let mut ranking = ns_inference::picture::ranking(&self.1);
            if ranking.rows.is_empty() {
                return Err(PyValueError::new_err(ns_inference::NOTHING_TO_RANK));
            }
            replace(&mut ranking.title, title);
            replace(&mut ranking.subtitle, subtitle);
            let drawing = match kind {
                "ranking" => Ranking { max_rows, ..ranking }.draw(),
                "impacts" => {
                    let Ranking { title, subtitle, rows, .. } = ranking;
                    let per_page = Some(max_rows.unwrap_or(rows.len()));
                    Impacts { title, subtitle, rows, per_page, ..ns_inference::picture::impacts(&self.1) }.draw()
                }
                other => {
                    let text = format!("unknown kind '{other}'; use \"ranking\" or \"impacts\"");
                    return Err(PyValueError::new_err(text));
                }
            };
            picture::finish(py, drawing, path)
        }
    }
}

impl RankingResult {
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.0.value(py, "ranking")?.cast_into::<PyList>()?)
    }

    fn numbers<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        impact: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut values = Vec::new();
        for entry in self.list(py)? {
            let entry = match impact {
                Some(definition) => entry.get_item(definition).map_err(|_| {
                    PyKeyError::new_err(format!("the impact '{definition}' was not asked for"))
                })?,
                None => entry,
            };
            values.push(entry.get_item(key)?.extract::<Option<f64>>()?.unwrap_or(f64::NAN));
        }
        Ok(PyArray1::from_vec(py, values))
    }
}

/// Ranks the nuisance parameters of a model by their impact on the parameter of interest, or on `param`.
///
/// `impact` is one or several definitions of the impact; the first one gives the order. "refit": the parameter is
/// fixed one uncertainty away from its best fit and all others are refitted. "covariance": the impact from the
/// covariance matrix, as if the likelihood were a parabola. "global": the auxiliary datum is moved by its width.
/// `prefit=True` adds pre-fit impacts. `top` is the number of parameters to keep, in the order of their impact.
/// `groups` maps names to lists of parameter names or patterns (`*`, `?`). `poi` names the parameter of interest; a list of
/// names gives a dictionary with one ranking per name, and all of them share their fits.
///
/// `data`, `asimov`, `fixed`, `init` and `search` have the same meaning as for `fit`. `progress` is True for a line on
/// standard error, or a function of `(done, total)`. Ctrl-C stops the ranking and raises `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (model, impact = None, *, prefit = false, top = None, groups = None, param = None, device = "auto",
                    threads = 0, data = None, asimov = None, blind = None, fixed = None, init = None, search = "standard", integral_tolerance = None, progress = None,
                    poi = None))]
pub(crate) fn ranking<'py>(
    py: Python<'py>,
    model: &Bound<'_, PyAny>,
    impact: Option<&Bound<'_, PyAny>>,
    prefit: bool,
    #[pyo3(from_py_with = crate::whole::perhaps::top)] top: Option<usize>,
    groups: Option<NamesByName>,
    param: Option<String>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    data: Option<&Bound<'_, PyAny>>,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    init: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
    poi: Option<Names>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = load::model(py, model, device)?;
    let several = matches!(poi, Some(Names::Many(_)));
    let model = match poi {
        Some(_) if param.is_some() => {
            return Err(PyValueError::new_err("give param or poi, not both: each names what impacts are on"));
        }
        Some(names) => Bound::new(py, with_pois(py, model.get(), names.list())?)?,
        None => model,
    };
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
    let mut wanted = RankingOptions::default()
        .fit(common.fit_options(model)?)
        .impacts(definitions(impact)?)
        .prefit(prefit);
    wanted.top = top;
    wanted.parameter = param;
    for (name, members) in groups.into_iter().flat_map(|groups| groups.0) {
        wanted = wanted.group(Group::new(name, members));
    }
    let refitted = wanted.impacts.iter().filter(|impact| **impact != Impact::Covariance).count().max(1);
    let work = Work::Ranking { per_parameter: refitted as u64 * if prefit { 4 } else { 2 } };
    let (results, ran) = common.ran(py, model, work, |core, session, control| {
        if several {
            ns_inference::rankings(core, session, &wanted, control)
        } else {
            ns_inference::ranking(core, session, &wanted, control).map(|result| vec![result])
        }
    })?;
    let by_name = PyDict::new(py);
    for result in results {
        let (name, parts) = (result.param.clone(), result.parts());
        let record = recorded(py, model, &result, ran.clone(), parts)?;
        let ranking = Bound::new(py, RankingResult(record, result))?;
        if !several {
            return Ok(ranking.into_any());
        }
        by_name.set_item(name, ranking)?;
    }
    Ok(by_name.into_any())
}

/// Reads the argument `impact`, one definition or several.
fn definitions(impact: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Impact>> {
    let names: Vec<String> = match impact {
        None => Vec::new(),
        Some(object) => match object.extract::<String>() {
            Ok(name) => vec![name],
            Err(_) => object.extract()?,
        },
    };
    names.iter().map(|name| name.parse().map_err(PyValueError::new_err)).collect()
}
