//! Errors: what ends one fit, and what ends a whole call.

use thiserror::Error;

use crate::{Device, Execution, Precision};

/// Why one fit has no result. The other fits of its batch go on.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitFailure {
    /// No start point gave a finite likelihood.
    #[error(
        "the likelihood is not finite at any start point: bin {bin} expects {expected:e} but {observed} were observed"
    )]
    NotFinite {
        /// Global index of the first offending bin.
        bin: usize,
        /// Expected yield there at the start point.
        expected: f64,
        /// Observed count there.
        observed: f64,
    },
    /// A constraint term is not finite at any start point.
    #[error(
        "the constraint term of parameter {parameter} is not finite at any start point (value {value:e})"
    )]
    ConstraintNotFinite {
        /// Index of the parameter.
        parameter: usize,
        /// Its value.
        value: f64,
    },
    /// The fit was skipped, because an earlier fit of the task already gave the answer.
    #[error("not needed: an earlier fit of the task decides")]
    NotNeeded,
    /// The batch was cancelled before this fit.
    #[error("cancelled before this fit")]
    Cancelled,
}

/// The text of a [`SessionError::BadNumber`] for a negative expected yield.
pub const EXPECTED: &str = "the expected data";

/// Why a whole call failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// An array has the wrong length for the model.
    #[error("{what} has {actual} elements; the model needs {expected}")]
    WrongLength {
        /// Which array.
        what: &'static str,
        /// Its length.
        actual: usize,
        /// The length needed.
        expected: usize,
    },
    /// A number given from outside is NaN or infinite, or data are negative where they cannot be.
    #[error("{what}[{index}] is {value}; {remedy}")]
    BadNumber {
        /// Which array.
        what: &'static str,
        /// Position.
        index: usize,
        /// The number.
        value: f64,
        /// What values are allowed.
        remedy: &'static str,
    },
    /// A parameter index is out of range.
    #[error("parameter index {index} is out of range: the model has {n_parameters} parameters")]
    NoSuchParameter {
        /// The index.
        index: usize,
        /// How many there are.
        n_parameters: usize,
    },
    /// Toys cannot be drawn: a bin or an auxiliary count has a negative expected yield, or one that is too large.
    #[error(
        "cannot draw toys: {what}[{index}] expects {mean} events, and a Poisson mean lies between 0 and 1e15; check for negative \
         yields or factors, and parameters outside their bounds"
    )]
    BadMean {
        /// Main or auxiliary data.
        what: &'static str,
        /// Position.
        index: usize,
        /// The expectation.
        mean: f64,
    },
    /// The device cannot be used.
    #[error("device {device} is not available: {reason}. {remedy}")]
    DeviceUnavailable {
        /// The device asked for.
        device: Device,
        /// Why not.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A device and the CPU find different numbers at the same point.
    #[error(
        "device {device} and the CPU disagree: {what} of fit {index} differs by {difference:e}, where {tolerance:e} is \
         allowed. Nothing of this run is to be trusted; run it again with the device cpu, and please report it with the \
         model and the device's name"
    )]
    DeviceDisagrees {
        /// The device.
        device: Device,
        /// Which quantity.
        what: &'static str,
        /// Number of the fit within its batch.
        index: usize,
        /// The difference.
        difference: f64,
        /// What the parity contract allows.
        tolerance: f64,
    },
    /// NVIDIA's driver is not installed, or not visible from a container.
    #[error(
        "no CUDA device can be used: NVIDIA's driver library (libcuda.so.1; nvcuda.dll on Windows) is not found. \
         Install the driver, in a container pass the GPUs through, or choose the device cpu"
    )]
    CudaDriverMissing,
    /// NVIDIA's driver is too old to load the embedded code.
    #[error(
        "no CUDA device can be used: the driver supports CUDA {}.{}, and {}.{} is the least that will do. \
         Update NVIDIA's driver, or choose the device cpu",
        .found / 1000, .found % 1000 / 10, .needed / 1000, .needed % 1000 / 10
    )]
    CudaDriverTooOld {
        /// CUDA version of the driver, 11040 for 11.4.
        found: u32,
        /// The least version that is needed, in the same form.
        needed: u32,
    },
    /// There is no CUDA device, or none of this index.
    #[error(
        "there is no device cuda:{index}: NVIDIA's driver shows {}. {}", show_devices(*count),
        if *count == 0 { "See what nvidia-smi lists and whether CUDA_VISIBLE_DEVICES hides it, or choose the device cpu" }
        else { "Choose one of them (CUDA_VISIBLE_DEVICES may hide some), or the device cpu" }
    )]
    NoSuchCudaDevice {
        /// The index asked for, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A GPU that is too old.
    #[error(
        "cuda:{index} ({name}) has compute capability {}.{}; {}.{} is the least that will do. \
         Choose another GPU, or the device cpu",
        .found.0, .found.1, .needed.0, .needed.1
    )]
    UnsupportedGpu {
        /// Index of the device.
        index: usize,
        /// Name of the GPU.
        name: String,
        /// Its compute capability.
        found: (u32, u32),
        /// The least compute capability.
        needed: (u32, u32),
    },
    /// Memory of the device is used up.
    #[error(
        "{device} is out of memory: {needed} bytes are needed, {free} are free. Results handed over before this \
         are complete and kept. Free memory that other programs hold, or choose the device cpu"
    )]
    OutOfDeviceMemory {
        /// The device.
        device: Device,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free then.
        free: u64,
    },
    /// The device stopped working while it was used; nothing more can be done with it in this session.
    #[error(
        "{device} was lost while {doing}: {error}. Results handed over before this are complete and kept. {remedy}"
    )]
    DeviceLost {
        /// The device.
        device: Device,
        /// What was being done.
        doing: &'static str,
        /// The driver's name for the error.
        error: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The device refuses a request.
    #[error(
        "{device} refuses while {doing}: {error}. Results handed over before this are complete and kept. {remedy}"
    )]
    DeviceRefused {
        /// The device.
        device: Device,
        /// What was being done.
        doing: &'static str,
        /// The driver's name for the error.
        error: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// None of the embedded code runs on the device.
    #[error("the code of this build cannot be loaded on {device}: {error}. {remedy}")]
    KernelImage {
        /// The device.
        device: Device,
        /// What the driver says of each piece of code tried.
        error: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The session does not know this kind of data.
    #[error("this session cannot use data of this kind; {remedy}")]
    ForeignData {
        /// What to do about it.
        remedy: &'static str,
    },
    /// The device has another arithmetic than the one asked for.
    #[error(
        "{device} does not compute in precision {asked}: ask for {available}, or leave the precision out"
    )]
    UnsupportedPrecision {
        /// The device.
        device: Device,
        /// The precision asked for.
        asked: Precision,
        /// The one that the device has.
        available: Precision,
    },
    /// What cannot be split any further does not fit into the memory limit.
    #[error(
        "{what} on {device} takes {needed} bytes, and the memory limit is {limit}. Raise the limit (--memory; in Python memory=), \
         or {remedy}"
    )]
    MemoryLimit {
        /// The device whose memory it is.
        device: Device,
        /// What does not fit.
        what: &'static str,
        /// Bytes needed, with all that the session holds already.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// What else would do.
        remedy: &'static str,
    },
    /// The model is too large for the device.
    #[error("{what} needs {needed} bytes, more than the limit of {limit}")]
    TooLarge {
        /// What does not fit.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

impl SessionError {
    /// Whether the device is the reason and not the input, so that another device may succeed.
    #[must_use]
    pub const fn is_of_device(&self) -> bool {
        matches!(
            self,
            Self::DeviceUnavailable { .. }
                | Self::CudaDriverMissing
                | Self::CudaDriverTooOld { .. }
                | Self::NoSuchCudaDevice { .. }
                | Self::UnsupportedGpu { .. }
                | Self::UnsupportedPrecision { .. }
                | Self::OutOfDeviceMemory { .. }
                | Self::DeviceLost { .. }
                | Self::DeviceRefused { .. }
                | Self::KernelImage { .. }
        )
    }
}

/// "no device", "1 device", "2 devices".
fn show_devices(count: usize) -> String {
    match count {
        0 => "no device".to_owned(),
        1 => "1 device".to_owned(),
        n => format!("{n} devices"),
    }
}

impl Execution {
    /// Refuses a precision other than the one that a device computes in.
    ///
    /// # Errors
    /// [`SessionError::UnsupportedPrecision`].
    pub fn check_precision(&self, device: Device, available: Precision) -> Result<(), SessionError> {
        if self.precision == available {
            return Ok(());
        }
        Err(SessionError::UnsupportedPrecision { device, asked: self.precision, available })
    }
}
