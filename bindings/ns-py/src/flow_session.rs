//! `nextstat.GpuFlowSession`.

use ns_inference::gpu_session::{
    FlowConstraint, FlowNll, FlowProcess, FlowSessionOptions, GpuFlowSession as Inner,
};
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Rows, array};
use crate::differentiable::CudaArray;
use crate::error::session_error;
use crate::work::released;

/// The value of -ln L, its gradient, its Hessian, and the index of the first event without a density.
type Result1<'py> = (f64, Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>, Option<usize>);

/// Computes -ln L with its gradient and Hessian on one NVIDIA GPU. The input is log-densities of events,
/// which a network has computed.
///
/// `rates` has one element per process: a number, or a pair `(factor, parameter)`. `constraints` are tuples
/// `(parameter, mean, sigma)`. Log-densities have one row per process and one column per event.
#[pyclass(frozen, module = "nextstat")]
pub(crate) struct GpuFlowSession {
    inner: Inner,
    n_processes: usize,
    n_parameters: usize,
}

#[pymethods]
impl GpuFlowSession {
    #[new]
    #[pyo3(signature = (n_params, rates, *, constraints=Vec::new(), weights=None, device="cuda"))]
    fn new(
        py: Python<'_>,
        n_params: usize,
        rates: Vec<Bound<'_, PyAny>>,
        constraints: Vec<(usize, f64, f64)>,
        weights: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    ) -> PyResult<Self> {
        let process = |rate: &Bound<'_, PyAny>| match rate.extract::<f64>() {
            Ok(rate) => Ok(FlowProcess { rate, parameter: None }),
            Err(_) => {
                let (rate, parameter) = rate.extract::<(f64, usize)>().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "a rate is a number, or a factor and the index of the parameter it multiplies; not {rate}"
                    ))
                })?;
                Ok(FlowProcess { rate, parameter: Some(parameter) })
            }
        };
        let processes = rates.iter().map(process).collect::<PyResult<Vec<_>>>()?;
        let constraint = |(parameter, mean, sigma)| FlowConstraint { parameter, mean, sigma };
        let options = FlowSessionOptions {
            n_parameters: n_params,
            processes,
            constraints: constraints.into_iter().map(constraint).collect(),
            weights: weights
                .map(|weights| Rows::read("weights", weights))
                .transpose()?
                .map(|rows| rows.values),
        };
        let index = match device.parse::<ns_core::Device>() {
            Ok(ns_core::Device::Cuda(index)) => index,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "a session of flows is on one NVIDIA GPU, not on '{device}'; use \"cuda\" or \"cuda:I\""
                )));
            }
        };
        let inner = released(py, || Inner::open(index, &options))?.map_err(|error| session_error(&error))?;
        Ok(Self { inner, n_processes: options.processes.len(), n_parameters: n_params })
    }

    /// Name of the GPU, such as "cuda:0".
    #[getter]
    fn device(&self) -> String {
        self.inner.device()
    }

    /// Returns -ln L, its gradient and its Hessian with respect to the parameters, and the index of the first
    /// event without a density (or None). The log-densities are in the memory of the host.
    fn nll<'py>(
        &self,
        py: Python<'py>,
        log_probs: &Bound<'_, PyAny>,
        params: &Bound<'_, PyAny>,
    ) -> PyResult<Result1<'py>> {
        let rows = Rows::read("log_probs", log_probs)?;
        if rows.batch.unwrap_or(1) != self.n_processes {
            return Err(self.wrong_rows(rows.batch.unwrap_or(1)));
        }
        let params = Rows::of_width("params", params, self.n_parameters)?.values;
        let made = released(py, || self.inner.nll(&rows.values, &params))?;
        self.written(py, made.map_err(|error| session_error(&error))?)
    }

    /// Works like `nll`, but for log-densities in the memory of the GPU. The log-densities are an array of float64 or
    /// float32 numbers with `__cuda_array_interface__`. A kernel on the stream with the handle `stream` reads the array
    /// without a copy.
    #[pyo3(signature = (log_probs, params, *, stream=0))]
    fn nll_device<'py>(
        &self,
        py: Python<'py>,
        log_probs: &Bound<'_, PyAny>,
        params: &Bound<'_, PyAny>,
        stream: u64,
    ) -> PyResult<Result1<'py>> {
        let single = CudaArray::read("log_probs", log_probs, "<f4", false);
        let (there, is_single) = match single {
            Ok(there) => (there, true),
            Err(_) => (CudaArray::read("log_probs", log_probs, "<f8", false)?, false),
        };
        let n_events = match *there.shape.as_slice() {
            [n] if self.n_processes == 1 => n,
            [k, n] if k == self.n_processes => n,
            [k, ..] => return Err(self.wrong_rows(k)),
            [] => return Err(self.wrong_rows(0)),
        };
        self.at_address(py, there.address, n_events, params, stream, is_single)
    }

    /// Works like `nll`, but for float32 log-densities at an address in the memory of the GPU, such as the
    /// output of a network.
    #[pyo3(signature = (address, n_events, params, *, stream=0))]
    fn nll_device_ptr_f32<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        n_events: usize,
        params: &Bound<'_, PyAny>,
        stream: u64,
    ) -> PyResult<Result1<'py>> {
        self.at_address(py, address, n_events, params, stream, true)
    }

    /// Works like `nll` for several sets of events. Returns a list with the results of each set. The columns
    /// of `log_probs` contain the sets one after another. Set `i` has `counts[i]` events and row `i` of
    /// `params`.
    fn nll_batch<'py>(
        &self,
        py: Python<'py>,
        log_probs: &Bound<'_, PyAny>,
        counts: Vec<usize>,
        params: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Result1<'py>>> {
        let rows = Rows::read("log_probs", log_probs)?;
        if rows.batch.unwrap_or(1) != self.n_processes {
            return Err(self.wrong_rows(rows.batch.unwrap_or(1)));
        }
        let params = Rows::of_width("params", params, self.n_parameters)?.values;
        let made = released(py, || self.inner.nll_batch(&rows.values, &counts, &params))?;
        let made = made.map_err(|error| session_error(&error))?;
        made.into_iter().map(|one| self.written(py, one)).collect()
    }
}

impl GpuFlowSession {
    fn at_address<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        n_events: usize,
        params: &Bound<'_, PyAny>,
        stream: u64,
        is_single: bool,
    ) -> PyResult<Result1<'py>> {
        let params = Rows::of_width("params", params, self.n_parameters)?.values;
        let made = released(py, || {
            // SAFETY: the interface of the array or the caller describes the memory at the address. The session
            // checks that the address is on its GPU, and the call waits for the end of the computation.
            unsafe {
                match is_single {
                    true => self.inner.nll_device_ptr_f32(address, n_events, &params, stream),
                    false => self.inner.nll_device(address, n_events, &params, stream),
                }
            }
        })?;
        self.written(py, made.map_err(|error| session_error(&error))?)
    }

    fn wrong_rows(&self, rows: usize) -> PyErr {
        PyValueError::new_err(format!(
            "log_probs must have a row for each of the {} processes; it has {rows}",
            self.n_processes
        ))
    }

    fn written<'py>(&self, py: Python<'py>, made: FlowNll) -> PyResult<Result1<'py>> {
        let n = self.n_parameters;
        Ok((made.nll, array(py, made.gradient, &[n])?, array(py, made.hessian, &[n, n])?, made.bad_event))
    }
}
