//! Parts of `nextstat.DifferentiableSession` for a GPU and for arrays in the memory of this GPU.

use ns_core::Device;
use ns_inference::differentiable::DifferentiableSession as Inner;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::likelihood::DifferentiableSession;
#[cfg(feature = "cuda")]
use super::rows;
#[cfg(feature = "cuda")]
use crate::work::released;

/// Returns the Python session for the device that `text` names.
///
/// # Errors
/// `ValueError` for a device that cannot hold arrays, `DeviceError` for a GPU that cannot be used.
pub(super) fn open(py: Python<'_>, inner: Inner, text: &str) -> PyResult<DifferentiableSession> {
    let device: Device = text.parse().map_err(PyValueError::new_err)?;
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(index) => {
            let made = released(py, || inner.on_cuda(index))?.map_err(rows::failed)?;
            Ok(DifferentiableSession { inner, on_device: Some(made) })
        }
        Device::Cpu => Ok(DifferentiableSession {
            inner,
            #[cfg(feature = "cuda")]
            on_device: None,
        }),
        _ => Err(PyValueError::new_err(format!(
            "a session of derivatives cannot be on '{text}'; choose \"cpu\", \"cuda\" or one GPU such as \"cuda:0\""
        ))),
    }
}

/// Returns the name of a session's device.
pub(super) fn name(session: &DifferentiableSession) -> String {
    #[cfg(feature = "cuda")]
    if let Some(made) = &session.on_device {
        return made.device().to_string();
    }
    let _ = session;
    Device::Cpu.to_string()
}

/// Addresses of the arrays of a call on the GPU. The second element of `yields` and of `params` is true if the array
/// is a single row. This row is then used for all rows of the call.
pub(super) struct Addresses {
    pub(super) n_rows: usize,
    pub(super) yields: (u64, bool),
    pub(super) params: (u64, bool),
    pub(super) values: u64,
    pub(super) by_yields: u64,
    pub(super) by_params: u64,
    pub(super) status: u64,
    /// Distances between the starts of neighbouring rows in `by_params` and in `by_yields`, counted in f64 numbers.
    /// `None` if the rows follow each other without gaps.
    pub(super) strides: Option<(usize, usize)>,
    /// Whether to check that the addresses are in the memory of the GPU. PyTorch's tensors need no check.
    pub(super) check: bool,
}

/// Starts the computation of `-ln L` and its derivatives for all rows of `arrays`, which are in the memory of the
/// session's GPU. The computation runs on `stream`, a CUDA stream of the caller. The function returns before the
/// computation ends.
///
/// # Errors
/// `ValueError` for a session on the CPU or an array that is not in the memory of the GPU, `DeviceError` for errors of
/// the GPU.
pub(super) fn enqueue(session: &DifferentiableSession, arrays: &Addresses, stream: u64) -> PyResult<()> {
    #[cfg(feature = "cuda")]
    if let Some(made) = &session.on_device {
        let rows = ns_inference::differentiable::DeviceRows {
            n_rows: arrays.n_rows,
            inputs: arrays.yields.0,
            one_row_of_inputs: arrays.yields.1,
            parameters: arrays.params.0,
            one_row_of_parameters: arrays.params.1,
            values: arrays.values,
            by_parameters: arrays.by_params,
            by_inputs: arrays.by_yields,
            status: arrays.status,
            strides: arrays.strides,
        };
        let failed = |error| crate::error::session_error(&error);
        if arrays.check {
            made.check_addresses(&rows).map_err(failed)?;
        }
        // SAFETY: `CudaArray::read` and `nextstat.torch` check sizes, types and devices of the arrays. The
        // caller guarantees that the arrays exist until the computation has ended. An allocator that frees in
        // the order of the stream ensures this.
        return unsafe { made.enqueue(stream, rows) }.map_err(failed);
    }
    let _ = (session, arrays, stream);
    Err(PyValueError::new_err(
        "the session is on the CPU; open it with device=\"cuda\" to read arrays of a GPU",
    ))
}

/// An array in the memory of a GPU, described by `__cuda_array_interface__`. CuPy, Numba, PyTorch and JAX support
/// this interface.
pub(crate) struct CudaArray {
    /// Address of the first number.
    pub(crate) address: u64,
    /// Length of each dimension.
    pub(crate) shape: Vec<usize>,
}

impl CudaArray {
    /// Reads the description of an array of contiguous numbers. `kind` is the required type of the numbers in NumPy's
    /// notation, such as `<f8`. `written` says whether the call writes results to the array.
    ///
    /// # Errors
    /// `TypeError` for other objects and types of numbers, `ValueError` for an array with gaps, or a
    /// read-only array for results.
    pub(crate) fn read(what: &str, object: &Bound<'_, PyAny>, kind: &str, written: bool) -> PyResult<Self> {
        let interface = object.getattr("__cuda_array_interface__").map_err(|_| {
            PyTypeError::new_err(format!(
                "{what} must be an array on the GPU (one with __cuda_array_interface__, as of CuPy or PyTorch), not {}",
                object.get_type()
            ))
        })?;
        let typestr: String = interface.get_item("typestr")?.extract()?;
        let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
        let (address, read_only): (u64, bool) = interface.get_item("data")?.extract()?;
        if typestr != kind {
            return Err(PyTypeError::new_err(format!(
                "{what} must have numbers of type {kind}, not {typestr}"
            )));
        }
        let strides = interface.call_method1("get", ("strides",))?;
        if !strides.is_none() {
            let strides: Vec<usize> = strides.extract()?;
            let size = if kind.ends_with('4') { 4 } else { 8 };
            let wanted = shape.iter().rev().scan(size, |next, n| {
                let stride = *next;
                *next *= n;
                Some(stride)
            });
            if strides.iter().rev().copied().ne(wanted) {
                return Err(PyValueError::new_err(format!(
                    "{what} has gaps or another order; copy it first"
                )));
            }
        }
        if written && read_only {
            return Err(PyValueError::new_err(format!("{what} receives results, but is read-only")));
        }
        Ok(Self { address, shape })
    }

    /// Returns the address of an array, and its number of rows. This number is `None` for a single row.
    ///
    /// # Errors
    /// `ValueError` if a row does not have `width` numbers.
    pub(crate) fn rows(&self, what: &str, width: usize) -> PyResult<(u64, Option<usize>)> {
        match *self.shape.as_slice() {
            [n] if n == width => Ok((self.address, None)),
            [rows, n] if n == width => Ok((self.address, Some(rows))),
            _ => Err(PyValueError::new_err(format!(
                "{what} must have the shape ({width},) or (rows, {width}), not {:?}",
                self.shape
            ))),
        }
    }

    /// Returns the address of an array that results are written to.
    ///
    /// # Errors
    /// `ValueError` if the array has another shape.
    pub(crate) fn of_shape(&self, what: &str, shape: &[usize]) -> PyResult<u64> {
        if self.shape == shape {
            return Ok(self.address);
        }
        Err(PyValueError::new_err(format!("{what} must have the shape {shape:?}, not {:?}", self.shape)))
    }
}
