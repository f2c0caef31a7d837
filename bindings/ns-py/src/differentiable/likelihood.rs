//! `nextstat.DifferentiableSession`.

use ns_core::{Execution, Model as CoreModel};
use ns_inference::FitOptions;
use ns_inference::differentiable::{DifferentiableSession as Inner, NllGradient, SecondOrder};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::on_device::{self, Addresses, CudaArray};
use super::{inputs, rows};
use crate::arrays::{Rows, array};
use crate::earlier::{deprecated, names};
use crate::model::Model;
use crate::options;
use crate::work::released;

/// An array of numbers that is returned to Python.
pub(super) type Array<'py> = Bound<'py, PyArrayDyn<f64>>;

/// A model whose likelihood is a differentiable function of its parameters and of inputs. Inputs are chosen
/// numbers of the model.
///
/// `inputs` names the inputs. The name of a sample selects its nominal yields in all channels. A tuple
/// selects one histogram, template, factor or width. The argument `yields` of the methods contains the
/// numbers of all inputs, one input after another. It is one row, or a batch of rows.
#[pyclass(frozen, weakref, module = "nextstat")]
pub(crate) struct DifferentiableSession {
    pub(super) inner: Inner,
    /// The model in the memory of a GPU; `None` for a session on the CPU.
    #[cfg(feature = "cuda")]
    pub(super) on_device: Option<ns_inference::differentiable::DeviceNll>,
}

/// Returns a copy of the model in which the numbers that `object` names are inputs. `object` is the argument `inputs`.
/// If `poi` is given, this parameter becomes the parameter of interest.
pub(super) fn opened(model: &Model, object: &Bound<'_, PyAny>, poi: Option<&str>) -> PyResult<CoreModel> {
    let list = inputs::read(&model.inner, object)?;
    let mut opened = model.inner.open(&list).map_err(|error| inputs::refused(&model.inner, &error))?;
    if let Some(name) = poi {
        let index = ns_inference::parameter_index(&opened, name).map_err(rows::failed)?;
        opened.pois = vec![index];
    }
    Ok(opened)
}

/// The inputs, each with the start and the end of its numbers in a row of yields. An input is a tuple of strings. The
/// end is not included.
pub(super) type Listed<'py> = Vec<(Bound<'py, PyAny>, (usize, usize))>;

/// Returns the inputs of a session, with their positions in a row of yields.
pub(super) fn listed<'py>(py: Python<'py>, inner: &Inner) -> PyResult<Listed<'py>> {
    let table = inner.inputs();
    let both = table.inputs.iter().zip(&table.ranges);
    both.map(|(&input, range)| {
        let names = pyo3::types::PyTuple::new(py, inputs::written(inner.model(), input))?;
        Ok((names.into_any(), (range.start, range.end)))
    })
    .collect()
}

#[pymethods]
impl DifferentiableSession {
    #[new]
    #[pyo3(signature = (model, inputs, *, follow=Vec::new(), data=None, asimov=None, device="cpu", threads=0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        model: &Model,
        inputs: &Bound<'_, PyAny>,
        follow: Vec<String>,
        data: Option<&Bound<'_, PyAny>>,
        asimov: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let opened = opened(model, inputs, None)?;
        let options = options::data(FitOptions::default(), &opened, data, asimov, None)?;
        let execution = Execution { threads, ..Execution::default() };
        let follow = super::inputs::follow(&follow)?;
        let inner = released(py, || Inner::open(&opened, follow, &options.data, &execution))?;
        let inner = inner.map_err(rows::failed)?;
        on_device::open(py, inner, device)
    }

    /// Name of the device whose memory holds the arrays of calls: "cpu", or a GPU such as "cuda:0".
    #[getter]
    fn device(&self) -> String {
        on_device::name(self)
    }

    /// The inputs in their order. Each is a tuple of names, with the start and the end of its numbers in a
    /// row of yields.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Listed<'py>> {
        listed(py, &self.inner)
    }

    /// A row of yields with the model's own numbers for all inputs.
    #[getter]
    fn nominal<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let values = self.inner.inputs().values.clone();
        let n = values.len();
        array(py, values, &[n])
    }

    /// Total number of values of all inputs, and number of parameters.
    #[getter]
    fn _widths(&self) -> (usize, usize) {
        (self.inner.inputs().len(), self.inner.model().parameters.len())
    }

    /// Names of the parameters, in the order of the parameter arrays.
    #[getter]
    fn parameter_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        names(py, self.inner.model().parameters.iter().map(|p| p.name.clone()).collect())
    }

    /// The earlier name of `init`, for one release.
    fn suggested_init<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        deprecated(py, "session.suggested_init() becomes session.init")?;
        self.init(py)
    }

    /// Initial values of the parameters.
    #[getter]
    fn init<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let init: Vec<f64> = self.inner.model().parameters.iter().map(|p| p.init).collect();
        let n = init.len();
        array(py, init, &[n])
    }

    /// Returns -ln L and its derivatives with respect to the yields and to the parameters. Each of the two
    /// arguments is one row, or a batch of rows. Two batches must have the same number of rows. If a row has
    /// numbers that are not finite, its results are NaN. With `check=True` such a row raises an error.
    #[pyo3(signature = (yields, params, *, check=false))]
    fn nll<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        params: &Bound<'_, PyAny>,
        check: bool,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>)> {
        let (n, m) = (self.inner.inputs().len(), self.inner.model().parameters.len());
        let (yields, params) = (rows::read("yields", yields, n)?, Rows::of_width("params", params, m)?);
        let batch = common(yields.batch, params.batch)?;
        let missing =
            || NllGradient { nll: f64::NAN, parameters: vec![f64::NAN; m], yields: vec![f64::NAN; n] };
        let one = |i: usize| {
            let (y, p) = (row_of(&yields, i), row_of(&params, i));
            if !check && y.iter().chain(p).any(|x| !x.is_finite()) {
                return Ok(missing());
            }
            rows::or_missing(self.inner.nll(y, p), check, missing)
        };
        let made = released(py, || self.inner.each(batch.unwrap_or(1), one))?.map_err(rows::failed)?;
        let values = made.iter().map(|r| r.nll).collect();
        let by_yields = made.iter().flat_map(|r| r.yields.iter().copied()).collect();
        let by_params = made.iter().flat_map(|r| r.parameters.iter().copied()).collect();
        Ok((
            rows::results(py, values, batch, &[])?,
            rows::results(py, by_yields, batch, &[n])?,
            rows::results(py, by_params, batch, &[m])?,
        ))
    }

    /// Starts the computation of `nll` for arrays in the memory of the session's GPU, and returns before the
    /// computation ends. The computation runs on the stream with the handle `stream`. Nothing is copied: numbers are
    /// read and results are written in place. The arrays have `__cuda_array_interface__` and contain contiguous float64
    /// numbers. `status` contains 32-bit integers, one per row. Each becomes 0 for a row without a problem, 1 for
    /// numbers that are not allowed (all results are NaN), 2 if the likelihood is not finite, 3 if a normsys factor
    /// is zero, and 4 if an expected count of the Asimov data is negative or not finite (all results are NaN). All
    /// arrays must exist until the computation has ended.
    #[pyo3(signature = (yields, params, *, value, by_yields, by_params, status, stream=0))]
    #[allow(clippy::too_many_arguments)]
    fn enqueue_nll(
        &self,
        yields: &Bound<'_, PyAny>,
        params: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        by_yields: &Bound<'_, PyAny>,
        by_params: &Bound<'_, PyAny>,
        status: &Bound<'_, PyAny>,
        stream: u64,
    ) -> PyResult<()> {
        let (n, m) = (self.inner.inputs().len(), self.inner.model().parameters.len());
        let (yields, y_rows) = CudaArray::read("yields", yields, "<f8", false)?.rows("yields", n)?;
        let (params, p_rows) = CudaArray::read("params", params, "<f8", false)?.rows("params", m)?;
        let n_rows = common(y_rows, p_rows)?.unwrap_or(1);
        let result = |what: &str, object: &Bound<'_, PyAny>, kind: &str, shape: &[usize]| {
            CudaArray::read(what, object, kind, true)?.of_shape(what, shape)
        };
        let arrays = Addresses {
            n_rows,
            yields: (yields, y_rows.is_none()),
            params: (params, p_rows.is_none()),
            values: result("value", value, "<f8", &[n_rows])?,
            by_yields: result("by_yields", by_yields, "<f8", &[n_rows, n])?,
            by_params: result("by_params", by_params, "<f8", &[n_rows, m])?,
            status: result("status", status, "<i4", &[n_rows])?,
            strides: None,
            check: true,
        };
        on_device::enqueue(self, &arrays, stream)
    }

    /// Works like `enqueue_nll`, but takes the addresses of arrays that the caller has checked. The results
    /// are one array: first the values of all rows; then, for each row, the derivatives with respect to
    /// yields and to parameters; then the status of all rows.
    fn _enqueue(&self, n_rows: usize, yields: u64, params: u64, results: u64, stream: u64) -> PyResult<()> {
        let (n, m) = (self.inner.inputs().len(), self.inner.model().parameters.len());
        let after = |numbers: usize| results + 8 * numbers as u64;
        let arrays = Addresses {
            n_rows,
            yields: (yields, false),
            params: (params, false),
            values: results,
            by_yields: after(n_rows),
            by_params: after(n_rows + n),
            status: after(n_rows * (1 + n + m)),
            strides: Some((n + m, n + m)),
            check: false,
        };
        on_device::enqueue(self, &arrays, stream)
    }

    /// Returns the directional derivative of the gradient that `nll` returns, along a direction of the yields
    /// and the parameters. This is the product of the Hessian of -ln L and the direction. The two results are
    /// the parts for the yields and for the parameters.
    fn nll_along<'py>(
        &self,
        py: Python<'py>,
        yields: &Bound<'_, PyAny>,
        params: &Bound<'_, PyAny>,
        along_yields: &Bound<'_, PyAny>,
        along_params: &Bound<'_, PyAny>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let (n, m) = (self.inner.inputs().len(), self.inner.model().parameters.len());
        let (yields, params) = (rows::read("yields", yields, n)?, Rows::of_width("params", params, m)?);
        let along_yields = rows::read("along_yields", along_yields, n)?;
        let along_params = Rows::of_width("along_params", along_params, m)?;
        let batch =
            common(common(yields.batch, params.batch)?, common(along_yields.batch, along_params.batch)?)?;
        let missing = || SecondOrder { parameters: vec![f64::NAN; m], yields: vec![f64::NAN; n] };
        let one = |i: usize| {
            let all = [&yields, &params, &along_yields, &along_params].map(|rows| row_of(rows, i));
            if all.iter().copied().flatten().any(|x| !x.is_finite()) {
                return Ok(missing());
            }
            self.inner.nll_along(all[0], all[1], (all[2], all[3]))
        };
        let made = released(py, || self.inner.each(batch.unwrap_or(1), one))?.map_err(rows::failed)?;
        let by_yields = made.iter().flat_map(|r| r.yields.iter().copied()).collect();
        let by_params = made.iter().flat_map(|r| r.parameters.iter().copied()).collect();
        Ok((rows::results(py, by_yields, batch, &[n])?, rows::results(py, by_params, batch, &[m])?))
    }
}

/// Returns row `i` of a batch. If `rows` is a single row, returns this row.
fn row_of(rows: &Rows, i: usize) -> &[f64] {
    rows.row(if rows.batch.is_some() { i } else { 0 })
}

/// Returns the common number of rows of two arguments with `a` and `b` rows; `None` means a single row. Two batches
/// must have the same number of rows. A single row matches any batch.
fn common(a: Option<usize>, b: Option<usize>) -> PyResult<Option<usize>> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Err(PyValueError::new_err(format!(
            "the batches have {a} and {b} rows; give the same number, or a single row"
        ))),
        (a, b) => Ok(a.or(b)),
    }
}
