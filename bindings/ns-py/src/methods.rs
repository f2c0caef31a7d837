//! The methods of `nextstat.Model`: its properties and its likelihood.

use ns_core::EvaluationRequest;
use ns_inference::present::count;
use ns_translate::pyhf::ModelOptions;
use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::array;
use crate::device::Memory;
use crate::earlier::{deprecated, names};
use crate::error::inference_error;
use crate::evaluate::{evaluate, shape};
use crate::jumps;
use crate::load::{Names, Text, built, interpolation};
use crate::model::Model;
use crate::pickle::{Reduced, restorer};
use crate::pois::with_pois;
use crate::study::{Origin, toy_data, toy_events};

#[pymethods]
impl Model {
    /// Builds the model of a workspace like `load_workspace`. The workspace may also be JSON text.
    #[staticmethod]
    #[pyo3(signature = (source, measurement = None, patch = None, interp_defaults = "smooth", *, normsys_code = None,
                        histosys_code = None, poi = None, digest_check = true, channels = None, mask = None,
                        memory = None, events = None))]
    fn from_workspace(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        measurement: Option<String>,
        patch: Option<&Bound<'_, PyAny>>,
        interp_defaults: &str,
        normsys_code: Option<&str>,
        histosys_code: Option<&str>,
        poi: Option<Names>,
        digest_check: bool,
        channels: Option<Names>,
        mask: Option<Names>,
        memory: Option<Memory>,
        events: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let interpolation = interpolation(interp_defaults, normsys_code, histosys_code)?;
        let pois = poi.map(Names::list).unwrap_or_default();
        let options =
            ModelOptions { measurement, interpolation, pois, unobserved: true, ..ModelOptions::default() };
        built(py, Text::any(source)?, options, patch, digest_check, channels, mask, memory, events)
    }

    /// Names of all parameters. The elements of a modifier with several parameters are called `name[i]`.
    #[getter]
    fn parameter_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        names(py, self.inner.parameters.iter().map(|p| p.name.clone()).collect())
    }

    /// Initial values of all parameters, the default starting point of fits.
    #[getter]
    fn init<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.inner.parameters.iter().map(|p| p.init).collect())
    }

    /// Bounds, one row `(lower, upper)` per parameter.
    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let flat: Vec<f64> = self.inner.parameters.iter().flat_map(|p| [p.bounds.0, p.bounds.1]).collect();
        let n = flat.len() / 2;
        array(py, flat, &[n, 2])
    }

    /// Whether the measurement fixes each parameter, as an array of booleans.
    #[getter]
    fn fixed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.inner.parameters.iter().map(|p| p.fixed).collect())
    }

    /// The earlier name of `init`, for one release.
    fn suggested_init<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        deprecated(py, "model.suggested_init() becomes model.init")?;
        Ok(self.init(py))
    }

    /// The earlier name of `bounds`, for one release.
    fn suggested_bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        deprecated(py, "model.suggested_bounds() becomes model.bounds")?;
        self.bounds(py)
    }

    /// The earlier name of `fixed`, for one release.
    fn suggested_fixed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        deprecated(py, "model.suggested_fixed() becomes model.fixed")?;
        Ok(self.fixed(py))
    }

    /// Observed counts, followed by the auxiliary data if `include_auxdata` is True. Raises `ValueError` if a channel has no
    /// observed counts.
    #[pyo3(signature = (include_auxdata = true))]
    fn observed_data<'py>(
        &self,
        py: Python<'py>,
        include_auxdata: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        ns_inference::observed(&self.inner).map_err(|error| inference_error(&error))?;
        let mut data = self.inner.observed.main.clone();
        if include_auxdata {
            data.extend_from_slice(&self.inner.observed.aux);
        }
        Ok(PyArray1::from_vec(py, data))
    }

    /// Number of bins of each channel, by its name.
    #[getter]
    fn channels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for channel in &self.inner.channels {
            dict.set_item(&channel.name, channel.n_bins)?;
        }
        Ok(dict)
    }

    /// Index of the first parameter of interest, or None.
    #[getter]
    fn poi_index(&self) -> Option<usize> {
        self.inner.poi()
    }

    /// Name of the first parameter of interest, or None.
    #[getter]
    fn poi_name(&self) -> Option<String> {
        self.inner.poi_names().next().map(str::to_owned)
    }

    /// Names of all parameters of interest.
    #[getter]
    fn poi_names(&self) -> Vec<String> {
        self.inner.poi_names().map(str::to_owned).collect()
    }

    /// Returns a model of the same workspace with the parameter of interest that `poi` names, or with several if it is a
    /// list. Raises `WorkspaceError` for a name that is no parameter, or is given twice.
    fn with_poi(&self, py: Python<'_>, poi: Names) -> PyResult<Self> {
        with_pois(py, self, poi.list())
    }

    /// Returns the data from which `pickle` restores the model: the workspace and its options. A restored model is
    /// compiled again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((restorer(py, "_restored")?, self.origin.pickled(py)?.into_pyobject(py)?))
    }

    /// Returns the model itself, because models are immutable.
    fn __copy__(model: PyRef<'_, Self>) -> Py<Self> {
        model.into()
    }

    /// Returns the model itself, because models are immutable.
    fn __deepcopy__(model: PyRef<'_, Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        model.into()
    }

    /// Name of the measurement.
    #[getter]
    fn measurement(&self) -> String {
        self.inner.measurement.clone()
    }

    /// Names of the interpolation codes, as text.
    #[getter]
    fn interpolation(&self) -> String {
        self.inner.interpolation.to_string()
    }

    /// Digest that identifies the likelihood, as hexadecimal text. Every result contains it.
    #[getter]
    fn model_digest(&self) -> String {
        self.digest().to_owned()
    }

    /// Warnings about the model.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    /// Returns `-ln L` for the observed data or for `data`. The result is a float for one point, and an array for a
    /// batch of points with one point per row. `device="auto"` means the CPU here.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn nll<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, data, request, device)?;
        match (batch, result.nll.first()) {
            (None, Some(value)) => Ok(value.into_pyobject(py)?.into_any()),
            _ => Ok(PyArray1::from_vec(py, result.nll).into_any()),
        }
    }

    /// Returns the gradient of `-ln L`. For a batch of points it has one row per point. It is NaN for a parameter
    /// that moves a jump of a density, with a warning if the parameter is free.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn grad_nll<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
        let (mut result, batch) = evaluate(self, py, params, data, request, device)?;
        jumps::withdraw(self, py, &mut result)?;
        array(py, result.gradient, &shape(batch, &[self.inner.parameters.len()]))
    }

    /// Returns `-ln L` and its gradient. This takes about the time of the gradient alone.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn nll_and_grad<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArrayDyn<f64>>)> {
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let (mut result, batch) = evaluate(self, py, params, data, request, device)?;
        jumps::withdraw(self, py, &mut result)?;
        let value = match (batch, result.nll.first()) {
            (None, Some(value)) => value.into_pyobject(py)?.into_any(),
            _ => PyArray1::from_vec(py, result.nll).into_any(),
        };
        Ok((value, array(py, result.gradient, &shape(batch, &[self.inner.parameters.len()]))?))
    }

    /// Returns the exact Hessian of `-ln L`, one matrix per point.
    #[pyo3(signature = (params, data = None, *, device = "auto"))]
    fn hessian<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
        let (mut result, batch) = evaluate(self, py, params, data, request, device)?;
        jumps::withdraw(self, py, &mut result)?;
        let n = self.inner.parameters.len();
        array(py, result.hessian, &shape(batch, &[n, n]))
    }

    /// Returns the expected counts at one point or at each point of a batch. The expected auxiliary data
    /// follow if `include_auxdata` is True.
    #[pyo3(signature = (params, include_auxdata = true))]
    fn expected_data<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        include_auxdata: bool,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
        let (result, batch) = evaluate(self, py, params, None, request, "auto")?;
        let (bins, aux) = (self.inner.n_bins(), self.inner.observed.aux.len());
        if include_auxdata || aux == 0 {
            return array(py, result.expected, &shape(batch, &[bins + aux]));
        }
        let main =
            result.expected.chunks(bins + aux).flat_map(|row| row.iter().take(bins).copied()).collect();
        array(py, main, &shape(batch, &[bins]))
    }

    /// Generates toys at `params`. Each toy is a row of main counts, followed by the auxiliary data if
    /// `include_auxdata` is True. Row `i` is the toy with the number `first + i`. It depends only on the
    /// model, `params`, `seed` and this number. The toys are those of `fit_toys`. With `hypothesis` "b" or
    /// "sb" they are the toys of a hypothesis test.
    ///
    /// In place of `params`, `expected` may give the expected data themselves: the expected main counts,
    /// optionally followed by the expected auxiliary data (by default the observed auxiliary data). The
    /// auxiliary data are generated with the widths of the constraints.
    #[pyo3(signature = (params = None, n_toys = 1, seed = 0, *, first = 0, hypothesis = None, include_auxdata = true,
                        expected = None))]
    fn toy_data<'py>(
        &self,
        py: Python<'py>,
        params: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: usize,
        #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
        #[pyo3(from_py_with = crate::whole::first)] first: u64,
        hypothesis: Option<&str>,
        include_auxdata: bool,
        expected: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let from = Origin::of(&self.inner, params, expected, hypothesis)?;
        toy_data(py, self, &from, n_toys, seed, first, include_auxdata)
    }

    /// Generates toys at `params` for a model with channels of events. Each toy is a dictionary for the
    /// argument `data` of `fit`. It has the columns of each channel by its name, and `main` and `auxdata` if
    /// the model has counts and auxiliary data. Toy `i` has the number `first + i`. The toys are those of
    /// `fit_toys`. With `hypothesis` they are the toys of a hypothesis test.
    #[pyo3(signature = (params, n_toys = 1, seed = 0, *, first = 0, hypothesis = None))]
    fn toy_events<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = crate::whole::n_toys)] n_toys: usize,
        #[pyo3(from_py_with = crate::whole::seed)] seed: u64,
        #[pyo3(from_py_with = crate::whole::first)] first: u64,
        hypothesis: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let from = Origin::of(&self.inner, Some(params), None, hypothesis)?;
        toy_events(py, self, &from, n_toys, seed, first)
    }

    fn __repr__(&self) -> String {
        format!(
            "<nextstat.Model: measurement '{}', {}, {}, {}, {}>",
            self.inner.measurement,
            count(self.inner.channels.len(), "channel"),
            count(self.inner.n_bins(), "bin"),
            count(self.inner.parameters.len(), "parameter"),
            match self.poi_names().as_slice() {
                [] => "no parameter of interest".to_owned(),
                [poi] => format!("POI '{poi}'"),
                pois => format!("POIs '{}'", pois.join("', '")),
            },
        )
    }
}
