//! Opens sessions on one NVIDIA GPU or on all GPUs of one type.

use std::sync::Arc;

use ns_core::{Device, Execution, Model, Session, SessionError};

use super::super::backend::Backend;
use super::super::event_columns::EventTarget;
use super::super::events::{EventGpuSession, FEWEST_EVENTS};
use super::super::flow::DeviceFlow;
use super::super::multi_gpu::{MultiGpuSession, joined};
use super::super::session::GpuSession;
use super::driver;
use super::loading::{CudaDevice, found};

/// Opens the device with this index.
///
/// # Errors
/// The errors of [`driver::open`].
pub(crate) fn backend(index: usize) -> Result<Arc<dyn Backend>, SessionError> {
    Ok(driver::open(index)?)
}

/// Returns the indices of all devices that are of the same type as the first device. The type consists of name,
/// compute capability, number of multiprocessors and memory. An empty list `found` is an error.
fn alike(found: &[CudaDevice]) -> Result<Vec<usize>, SessionError> {
    let kind = |gpu: &CudaDevice| (gpu.name.clone(), gpu.capability, gpu.multiprocessors, gpu.memory);
    let Some(first) = found.first().map(kind) else {
        return Err(SessionError::NoSuchCudaDevice { index: 0, count: 0 });
    };
    Ok(found.iter().filter(|gpu| kind(gpu) == first).map(|gpu| gpu.index).collect())
}

/// Opens a session on CUDA devices. For [`Device::Cuda`], the session uses the device with that index. For
/// [`Device::CudaAll`], it uses all devices of the same type as the first one. For any other device, it uses the first
/// CUDA device.
///
/// # Errors
/// If there is no driver, no such device, or not enough device memory, and the errors of `GpuSession::open`.
pub fn open(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    if model.has_formula_terms() {
        // Fits use one device.
        let index = if let Device::Cuda(index) = execution.device { index } else { 0 };
        let device = Device::Cuda(index);
        let session = EventGpuSession::open(model, execution, device, backend(index)?, FEWEST_EVENTS)?;
        return Ok(Box::new(session));
    }
    if execution.device == Device::CudaAll {
        let gpus = alike(&found()?)?;
        if gpus.len() > 1 {
            // Opening a device takes 0.2 s, so all devices are opened in parallel.
            let backends = std::thread::scope(|scope| {
                let ready = |index: usize| Ok((Device::Cuda(index), backend(index)?));
                let threads: Vec<_> =
                    gpus.into_iter().map(|index| scope.spawn(move || ready(index))).collect();
                threads.into_iter().map(joined).collect::<Result<Vec<_>, SessionError>>()
            })?;
            return Ok(Box::new(MultiGpuSession::open(model, execution, backends)?));
        }
    }
    let index = match execution.device {
        Device::Cuda(index) => index,
        _ => 0,
    };
    Ok(Box::new(GpuSession::open(model, execution, Device::Cuda(index), backend(index)?)?))
}

/// Prepares a CUDA device to compute `-ln L` of events from their log-densities in `n_processes` processes. `index` is
/// the index of the device. `weights` are the weights of the events, for calls with a single set of data.
///
/// # Errors
/// If there is no driver, no such device, or not enough device memory; if there are too many processes or a weight is
/// not finite.
pub fn open_flow(
    index: usize,
    n_processes: usize,
    weights: Option<&[f64]>,
) -> Result<DeviceFlow, SessionError> {
    DeviceFlow::new(backend(index)?, Device::Cuda(index), n_processes, weights)
}

/// Returns the CUDA device with this index as a target for columns of events.
///
/// # Errors
/// If there is no driver or no such device.
pub fn event_target(index: usize) -> Result<EventTarget, SessionError> {
    Ok(EventTarget::new(backend(index)?, Device::Cuda(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_the_kind_of_the_first_are_taken() {
        let gpu = |index, name: &str| CudaDevice {
            index,
            name: name.into(),
            capability: (9, 0),
            memory: 1 << 37,
            multiprocessors: 132,
            driver: 13_000,
        };
        assert_eq!(alike(&[]), Err(SessionError::NoSuchCudaDevice { index: 0, count: 0 }));
        let found = [gpu(0, "NVIDIA H200"), gpu(1, "NVIDIA T4"), gpu(2, "NVIDIA H200")];
        assert_eq!(alike(&found), Ok(vec![0, 2]));
        assert_eq!(alike(&found[1..]), Ok(vec![1]));
    }
}
