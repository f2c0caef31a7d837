//! `nextstat.upload_parquet`: columns of a Parquet file in the memory of an NVIDIA GPU.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::device::Memory;

/// Bounds `(lower, upper)` of columns, by the name of the column. `None` means that there is no such bound.
type Bounds = BTreeMap<String, (Option<f64>, Option<f64>)>;

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
mod there {
    use std::path::Path;
    use std::sync::Arc;

    use ns_compute::cuda_parquet::{
        DeviceEvents as Inner, EventTarget, UploadError, UploadOptions, upload_events_to_cuda,
        upload_events_with_bounds_to_cuda,
    };
    use ns_core::{Device, RowGroups, SessionError};
    use ns_translate::arrow::parquet::{ParquetGroups, ParquetReadError};
    use numpy::PyArrayDyn;
    use pyo3::exceptions::{PyBufferError, PyKeyError, PyMemoryError, PyValueError};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use super::Bounds;
    use crate::arrays::array;
    use crate::dlpack::{DlDevice, capsule};
    use crate::error::session_error;
    use crate::events::parquet_error;
    use crate::work::released;

    /// All columns that were copied from a file, and the device (in the form of DLPack) whose memory contains them.
    struct Columns {
        events: Inner,
        device: DlDevice,
    }

    /// An array in the memory of a device: all columns, or one of them.
    struct Part {
        columns: Arc<Columns>,
        address: u64,
        shape: Vec<usize>,
    }

    impl Part {
        /// Returns the value of `__cuda_array_interface__`, which describes the array to libraries that use CUDA.
        fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            let address = if self.shape.contains(&0) { 0 } else { self.address };
            dict.set_item("shape", pyo3::types::PyTuple::new(py, &self.shape)?)?;
            dict.set_item("typestr", "<f8")?;
            dict.set_item("data", (address, false))?;
            dict.set_item("strides", py.None())?;
            // The numbers are there: no stream has to be waited for.
            dict.set_item("stream", py.None())?;
            dict.set_item("version", 3)?;
            Ok(dict)
        }

        fn dlpack<'py>(
            &self,
            py: Python<'py>,
            device: Option<(i32, i32)>,
            copy: Option<bool>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let own = self.columns.device;
            if device.is_some_and(|(kind, index)| DlDevice { kind, index } != own) || copy == Some(true) {
                return Err(PyBufferError::new_err(
                    "columns on a device are given to other libraries in place: copy them there",
                ));
            }
            capsule(py, self.address, &self.shape, own, Arc::clone(&self.columns))
        }
    }

    /// Columns of a Parquet file in the memory of an NVIDIA GPU. They are an array with one row per column of the file.
    /// `events["m"]` is the column `m`.
    #[pyclass(frozen, module = "nextstat")]
    pub(crate) struct DeviceEvents {
        all: Part,
    }

    impl DeviceEvents {
        fn inner(&self) -> &Inner {
            &self.all.columns.events
        }
    }

    #[pymethods]
    impl DeviceEvents {
        /// Name of the GPU, such as "cuda:0".
        #[getter]
        fn device(&self) -> String {
            self.inner().device().to_string()
        }

        /// Names of the columns.
        #[getter]
        fn names(&self) -> Vec<String> {
            self.inner().names().to_vec()
        }

        /// Number of rows on the GPU.
        #[getter]
        fn rows(&self) -> usize {
            self.inner().rows()
        }

        /// Number of rows of the file that are not on the GPU, because a number in them is outside the bounds of its
        /// column.
        #[getter]
        fn outside(&self) -> u64 {
            self.inner().outside().outside
        }

        /// For each column by name, the number of rows in which this column is outside its bounds.
        #[getter]
        fn outside_by_column<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            for (name, outside) in self.inner().names().iter().zip(&self.inner().outside().by_column) {
                dict.set_item(name, outside)?;
            }
            Ok(dict)
        }

        fn keys(&self) -> Vec<String> {
            self.names()
        }

        fn __len__(&self) -> usize {
            self.inner().names().len()
        }

        fn __contains__(&self, name: &str) -> bool {
            self.inner().names().iter().any(|own| own == name)
        }

        fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            Ok(pyo3::types::PyList::new(py, self.names())?.try_iter()?.into_any())
        }

        fn __getitem__(&self, name: &str) -> PyResult<DeviceColumn> {
            let index = self.inner().names().iter().position(|own| own == name);
            let (Some(index), rows) = (index, self.inner().rows()) else {
                return Err(PyKeyError::new_err(name.to_owned()));
            };
            let address = self.inner().address(index).unwrap_or(0);
            let columns = Arc::clone(&self.all.columns);
            Ok(DeviceColumn { part: Part { columns, address, shape: vec![rows] }, index })
        }

        fn __repr__(&self) -> String {
            let (names, rows) = (self.inner().names().join(", "), self.rows());
            format!("<DeviceEvents on {}: {rows} rows of {names}>", self.device())
        }

        #[getter]
        fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            self.all.interface(py)
        }

        fn __dlpack_device__(&self) -> (i32, i32) {
            (self.all.columns.device.kind, self.all.columns.device.index)
        }

        #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
        fn __dlpack__<'py>(
            &self,
            py: Python<'py>,
            stream: Option<Bound<'py, PyAny>>,
            max_version: Option<(u32, u32)>,
            dl_device: Option<(i32, i32)>,
            copy: Option<bool>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let _ = (stream, max_version);
            self.all.dlpack(py, dl_device, copy)
        }
    }

    /// One column in the memory of an NVIDIA GPU. While this object exists, the memory of all columns of the file is
    /// kept.
    #[pyclass(frozen, module = "nextstat")]
    pub(crate) struct DeviceColumn {
        part: Part,
        index: usize,
    }

    #[pymethods]
    impl DeviceColumn {
        /// Name of the column.
        #[getter]
        fn name(&self) -> String {
            self.part.columns.events.names().get(self.index).cloned().unwrap_or_default()
        }

        /// Name of the GPU, such as "cuda:0".
        #[getter]
        fn device(&self) -> String {
            self.part.columns.events.device().to_string()
        }

        /// Address of the first number on the GPU.
        #[getter]
        fn address(&self) -> u64 {
            self.part.address
        }

        fn __len__(&self) -> usize {
            self.part.columns.events.rows()
        }

        /// Returns a copy of the column in the memory of the host, as a NumPy array.
        fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
            let read = released(py, || self.part.columns.events.read(self.index))?;
            let numbers = read.map_err(|error| session_error(&error))?;
            let n = numbers.len();
            array(py, numbers, &[n])
        }

        fn __repr__(&self) -> String {
            format!("<DeviceColumn '{}' on {}: {} rows>", self.name(), self.device(), self.__len__())
        }

        #[getter]
        fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            self.part.interface(py)
        }

        fn __dlpack_device__(&self) -> (i32, i32) {
            (self.part.columns.device.kind, self.part.columns.device.index)
        }

        #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
        fn __dlpack__<'py>(
            &self,
            py: Python<'py>,
            stream: Option<Bound<'py, PyAny>>,
            max_version: Option<(u32, u32)>,
            dl_device: Option<(i32, i32)>,
            copy: Option<bool>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let _ = (stream, max_version);
            self.part.dlpack(py, dl_device, copy)
        }
    }

    /// Opens the GPU with this index as the target of copies. If the kernels are compiled for the CPU, the target is
    /// the memory of the process instead.
    fn target(index: usize) -> Result<(EventTarget, DlDevice), SessionError> {
        #[cfg(feature = "cuda-on-host")]
        if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() || cfg!(not(feature = "cuda")) {
            return Ok((
                ns_compute::device::host::event_target(),
                DlDevice { kind: DlDevice::CPU, index: 0 },
            ));
        }
        #[cfg(feature = "cuda")]
        let opened = ns_compute::device::cuda::event_target(index)
            .map(|target| (target, DlDevice { kind: DlDevice::CUDA, index: index as i32 }));
        #[cfg(not(feature = "cuda"))]
        let opened = Err(SessionError::NoSuchCudaDevice { index, count: 0 });
        opened
    }

    /// Reasons why the columns of a file cannot be copied to the device.
    enum Failure {
        Upload(UploadError<ParquetReadError>),
        NoColumn(String, Vec<String>),
    }

    impl From<Failure> for PyErr {
        fn from(failure: Failure) -> Self {
            match failure {
                Failure::Upload(UploadError::File(error)) => parquet_error(&error),
                Failure::Upload(UploadError::Device(error)) => session_error(&error),
                Failure::Upload(error @ UploadError::HostMemory { .. }) => {
                    PyMemoryError::new_err(error.to_string())
                }
                Failure::Upload(error) => PyValueError::new_err(error.to_string()),
                Failure::NoColumn(name, names) => PyValueError::new_err(format!(
                    "the bounds are of a column '{name}' that is not copied; the columns are {}",
                    names.join(", ")
                )),
            }
        }
    }

    pub(super) fn upload(
        py: Python<'_>,
        path: &Path,
        columns: Option<&[String]>,
        bounds: Option<&Bounds>,
        device: Device,
        options: UploadOptions,
    ) -> PyResult<DeviceEvents> {
        let Device::Cuda(index) = device else {
            return Err(PyValueError::new_err(format!(
                "columns are copied to one NVIDIA GPU, not to '{device}'; use \"cuda\" or \"cuda:I\""
            )));
        };
        let work = || {
            let file = |error| Failure::Upload(UploadError::File(error));
            let file = ParquetGroups::open(path, columns).map_err(file)?;
            let names = file.names();
            let pairs = bounds.map(|bounds| {
                if let Some(name) = bounds.keys().find(|name| !names.contains(name)) {
                    return Err(Failure::NoColumn(name.clone(), names.to_vec()));
                }
                let pair = |name| {
                    let (low, high) = bounds.get(name).copied().unwrap_or_default();
                    (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
                };
                Ok(names.iter().map(pair).collect::<Vec<_>>())
            });
            let pairs = pairs.transpose()?;
            let (target, device) = target(index).map_err(|error| Failure::Upload(error.into()))?;
            let events = match &pairs {
                Some(pairs) => upload_events_with_bounds_to_cuda(&file, pairs, &target, options),
                None => upload_events_to_cuda(&file, &target, options),
            };
            Ok((events.map_err(Failure::Upload)?, device))
        };
        let (events, device) = released(py, work)?.map_err(|failure: Failure| PyErr::from(failure))?;
        let (address, shape) = (events.start(), vec![events.names().len(), events.rows()]);
        Ok(DeviceEvents { all: Part { columns: Arc::new(Columns { events, device }), address, shape } })
    }
}

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use there::{DeviceColumn, DeviceEvents};

/// Copies columns of a Parquet file to the memory of an NVIDIA GPU, as 64-bit floating-point numbers. Threads decode
/// row groups of the file into page-locked memory while earlier row groups are copied.
///
/// `columns` are the names of the columns; by default all columns are copied. `bounds` is a dictionary from names of
/// columns to pairs `(lower, upper)`. Both ends are included, and None means that there is no such bound. With
/// `bounds`, only rows within all bounds are copied, and rows with NaN in any column are left out. `threads` is the
/// number of threads that decode. `host_memory` is the largest number of bytes of page-locked memory and of compressed
/// data (512 MiB by default); text such as `"500M"` is allowed.
///
/// Raises `DeviceError` without a GPU, `OSError` if the file cannot be read, `MemoryError` if the GPU or `host_memory` is
/// too small, and `ValueError` for other arguments.
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
#[pyfunction]
#[pyo3(signature = (path, columns = None, *, bounds = None, device = "cuda", threads = None, host_memory = None))]
pub(crate) fn upload_parquet(
    py: Python<'_>,
    path: PathBuf,
    columns: Option<Vec<String>>,
    bounds: Option<Bounds>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    threads: Option<NonZeroUsize>,
    host_memory: Option<Memory>,
) -> PyResult<DeviceEvents> {
    let device = device.parse().map_err(pyo3::exceptions::PyValueError::new_err)?;
    let mut options = ns_compute::cuda_parquet::UploadOptions::default();
    if let Some(threads) = threads {
        options.threads = threads.get();
    }
    if let Some(memory) = host_memory {
        options.host_memory = usize::try_from(memory.bytes()?).unwrap_or(usize::MAX);
    }
    there::upload(py, &path, columns.as_deref(), bounds.as_ref(), device, options)
}

/// Raises `DeviceError`, because this build has no CUDA.
#[cfg(not(any(feature = "cuda", feature = "cuda-on-host")))]
#[pyfunction]
#[pyo3(signature = (path, columns = None, *, bounds = None, device = "cuda", threads = None, host_memory = None))]
pub(crate) fn upload_parquet(
    path: PathBuf,
    columns: Option<Vec<String>>,
    bounds: Option<Bounds>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    threads: Option<NonZeroUsize>,
    host_memory: Option<Memory>,
) -> PyResult<()> {
    let _ = (path, columns, bounds, threads, host_memory);
    Err(crate::error::DeviceError::new_err(format!(
        "the device '{device}' cannot be used: this build has no CUDA backend. Build with the feature cuda, or use \
         read_parquet, which reads into the memory of the host"
    )))
}
