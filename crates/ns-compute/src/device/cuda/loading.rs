//! Loads NVIDIA's driver, if it is installed. Finds its version and lists the devices.
//!
//! The driver's library is loaded when it is first needed, never when the program starts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use ns_core::{Device, SessionError};

use super::failure::{DriverCall, explain};
use super::images::LEAST_DRIVER;

/// A GPU that the driver lists, with its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaDevice {
    /// Index of the device: `I` in the device name `cuda:I`.
    pub index: usize,
    /// Name of the GPU, for example "NVIDIA H200".
    pub name: String,
    /// Compute capability as (major, minor), for example (9, 0).
    pub capability: (u32, u32),
    /// Total memory of the GPU in bytes.
    pub memory: u64,
    /// Number of multiprocessors.
    pub multiprocessors: usize,
    /// CUDA version of the driver, for example 13000 for 13.0.
    pub driver: u32,
}

/// A driver that has been started, with the version and the number of devices that it reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Driver {
    /// CUDA version, for example 13000 for 13.0.
    pub(super) version: u32,
    /// Number of devices that the driver lists.
    pub(super) devices: usize,
}

/// Returns the CUDA devices of this machine. The list is empty if there is a driver but no GPU. Whether a device can
/// be used is checked only when a session is opened.
///
/// The first call starts the driver. No device is opened.
///
/// # Errors
/// [`SessionError::CudaDriverMissing`] without a driver, [`SessionError::CudaDriverTooOld`] for an old driver, and
/// [`SessionError::DeviceUnavailable`] with the reason that the driver gives in all other cases.
pub fn found() -> Result<Vec<CudaDevice>, SessionError> {
    let driver = driver()?;
    (0..driver.devices).map(|index| guarded(Device::Cuda(index), || describe(driver, index))).collect()
}

/// Returns the version of the driver and the number of its devices. The first call starts the driver. Later calls
/// return the same result.
pub(super) fn driver() -> Result<Driver, SessionError> {
    static DRIVER: OnceLock<Result<Driver, SessionError>> = OnceLock::new();
    DRIVER.get_or_init(|| guarded(Device::Cuda(0), start)).clone()
}

/// Returns whether NVIDIA's driver is installed. The driver is not started.
#[must_use]
pub fn is_installed() -> bool {
    // SAFETY: the call opens and closes the library. Only the driver's own initialisers run.
    unsafe { sys::is_culib_present() }
}

fn start() -> Result<Driver, SessionError> {
    if !is_installed() {
        return Err(SessionError::CudaDriverMissing);
    }
    let failed = |error: DriverError| explain(Device::Cuda(0), DriverCall::Starting, error.0);
    let mut version = 0;
    // SAFETY: the pointer is to a local integer; this function needs no initialisation.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(failed)?;
    let version = u32::try_from(version).unwrap_or(0);
    // The version is checked before anything else, because older drivers lack functions that are used below.
    if version < LEAST_DRIVER {
        return Err(SessionError::CudaDriverTooOld { found: version, needed: LEAST_DRIVER });
    }
    let devices = match result::init().and_then(|()| result::device::get_count()) {
        Ok(count) => usize::try_from(count).unwrap_or(0),
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
        Err(error) => return Err(failed(error)),
    };
    Ok(Driver { version, devices })
}

/// Returns the properties of the device with this index.
pub(super) fn describe(driver: Driver, index: usize) -> Result<CudaDevice, SessionError> {
    let device = handle(driver, index)?;
    let name = result::device::get_name(device)
        .map_err(|error| explain(Device::Cuda(index), DriverCall::Asking, error.0))?;
    let capability = (
        attribute(index, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(index, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let multiprocessors =
        attribute(index, device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize;
    // SAFETY: the handle of the device comes from the driver.
    let memory = unsafe { result::device::total_mem(device) }
        .map_err(|error| explain(Device::Cuda(index), DriverCall::Asking, error.0))? as u64;
    Ok(CudaDevice { index, name, capability, memory, multiprocessors, driver: driver.version })
}

/// Returns the driver's handle of the device with this index.
pub(super) fn handle(driver: Driver, index: usize) -> Result<sys::CUdevice, SessionError> {
    let missing = SessionError::NoSuchCudaDevice { index, count: driver.devices };
    if index >= driver.devices {
        return Err(missing);
    }
    let ordinal = i32::try_from(index).map_err(|_| missing)?;
    result::device::get(ordinal).map_err(|error| explain(Device::Cuda(index), DriverCall::Asking, error.0))
}

/// Returns the attribute `which` of a device. `index` is the index of the device in error messages.
pub(super) fn attribute(index: usize, device: sys::CUdevice, which: Attribute) -> Result<u32, SessionError> {
    // SAFETY: the device is one that the driver gave.
    let value = unsafe { result::device::get_attribute(device, which) }
        .map_err(|error| explain(Device::Cuda(index), DriverCall::Asking, error.0))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// Runs `call`, which calls the driver, and converts a panic to an error. The Rust bindings of the driver panic if the
/// library or one of its functions is missing. Earlier checks should already exclude this.
pub(super) fn guarded<T>(
    device: Device,
    call: impl FnOnce() -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        Err(SessionError::DeviceUnavailable {
            device,
            reason: "NVIDIA's driver library lacks a function".to_owned(),
            remedy: "Install NVIDIA's driver anew, or choose the device cpu".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the call returns a list or an error, with or without a driver, and never panics.
    #[test]
    fn devices_are_listed_or_an_error_says_why_not() {
        // SAFETY: as in `start`.
        let present = unsafe { sys::is_culib_present() };
        match found() {
            Ok(devices) => {
                assert!(present);
                for (index, device) in devices.iter().enumerate() {
                    assert_eq!(device.index, index);
                    assert!(device.memory > 0 && device.driver >= LEAST_DRIVER, "{device:?}");
                }
            }
            Err(SessionError::CudaDriverMissing) => assert!(!present),
            Err(error) => assert!(present && error.is_of_device(), "{error}"),
        }
    }

    #[test]
    fn a_missing_device_says_how_many_there_are() {
        let two = Driver { version: 13_000, devices: 2 };
        let error = SessionError::NoSuchCudaDevice { index: 2, count: 2 };
        assert!(error.to_string().starts_with("there is no device cuda:2: NVIDIA's driver shows 2 devices."));
        assert_eq!(handle(two, 2), Err(error));
        let none = Driver { version: 13_000, devices: 0 };
        let error = SessionError::NoSuchCudaDevice { index: 0, count: 0 };
        assert!(error.to_string().contains("shows no device. See what nvidia-smi lists"), "{error}");
        assert_eq!(handle(none, 0), Err(error));
    }

    #[test]
    fn a_panic_of_the_bindings_is_an_error() {
        let result: Result<(), SessionError> =
            guarded(Device::Cuda(0), || std::panic::resume_unwind(Box::new("missing symbol")));
        assert!(matches!(result, Err(SessionError::DeviceUnavailable { .. })), "{result:?}");
    }
}
