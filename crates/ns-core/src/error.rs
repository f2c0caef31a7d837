//! Errors of a single fit ([`FitFailure`]), and errors of a whole call of a session ([`SessionError`]).

use thiserror::Error;

use crate::{Device, EventModelError, Execution, InputError, LogProbError, Precision, exact};

/// Reasons why one fit has no result. The other fits of the batch continue.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitFailure {
    /// The likelihood of a bin is not finite at any start point.
    #[error(
        "the likelihood is not finite at any start point: bin {bin} expects {expected:e} but {observed} were observed"
    )]
    NotFinite {
        /// Index, among all bins of the model, of the first bin whose likelihood term is not finite.
        bin: usize,
        /// Expected yield of this bin at the start point.
        expected: f64,
        /// Observed count of this bin.
        observed: f64,
    },
    /// The density of an event is not positive or not finite at any start point.
    #[error(
        "the density of event {event} in event channel {channel} is not a positive number at any start point"
    )]
    DensityNotPositive {
        /// Index of the event channel.
        channel: usize,
        /// Index of the first event in the channel whose density is not positive or not finite.
        event: usize,
    },
    /// The expected number of events of an extended event channel is negative at every start point.
    #[error("event channel {channel} expects {expected:e} events at every start point")]
    NegativeTotal {
        /// Index of the event channel.
        channel: usize,
        /// The expected number of events at the last point of the search.
        expected: f64,
    },
    /// A density that depends on a context of parameters, such as a normalising flow, cannot be evaluated at any start
    /// point.
    #[error("event channel {channel}, at every start point: {cause}")]
    NotEvaluated {
        /// Index of the event channel.
        channel: usize,
        /// The error of the evaluation.
        cause: LogProbError,
    },
    /// The density of a process has an infinite integral over the fit ranges at every start point.
    #[error(
        "the density of process {process} in event channel {channel} has an infinite integral over its observables \
         {observables:?} at every start point"
    )]
    InfiniteIntegral {
        /// Index of the event channel.
        channel: usize,
        /// Index of the process in the channel.
        process: usize,
        /// Indices of the observables of the integral, in the channel.
        observables: Vec<usize>,
    },
    /// A constraint term is not finite at any start point.
    #[error(
        "the constraint term of parameter {parameter} is not finite at any start point (value {value:e})"
    )]
    ConstraintNotFinite {
        /// Index of the parameter.
        parameter: usize,
        /// Value of the parameter at the start point.
        value: f64,
    },
    /// The events of a toy could not be drawn.
    #[error(
        "no events of event channel {channel} can be drawn: its density is negative or not a number at the point where toys \
         are drawn"
    )]
    NotDrawn {
        /// Index of the event channel.
        channel: usize,
    },
    /// The fit was skipped, because the result of an earlier fit of the task made this fit unnecessary.
    #[error("not needed: an earlier fit of the task decides")]
    NotNeeded,
    /// The batch was cancelled before this fit.
    #[error("cancelled before this fit")]
    Cancelled,
}

/// The value of `what` in [`SessionError::BadNumber`] if the number is an expected yield that is negative or not
/// finite.
pub const EXPECTED: &str = "the expected data";

/// Reasons why a session could not be opened, or why a whole call of a session failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// An array has the wrong length for the model.
    #[error("{what} has {actual} elements; the model needs {expected}")]
    WrongLength {
        /// Name of the array, for the error message.
        what: &'static str,
        /// Length of the array.
        actual: usize,
        /// Length that the model needs.
        expected: usize,
    },
    /// A number given by the caller is not allowed, for example NaN, infinity or a negative count.
    #[error("{what}[{index}] is {}; {remedy}", exact(*value))]
    BadNumber {
        /// Name of the array or quantity.
        what: &'static str,
        /// Position of the number in the array.
        index: usize,
        /// The number given.
        value: f64,
        /// Description of the allowed values.
        remedy: &'static str,
    },
    /// The event channels, functions, penalties or data of the model are inconsistent.
    #[error(transparent)]
    EventModel(#[from] EventModelError),
    /// A density that is not a formula, such as a normalising flow, cannot be evaluated.
    #[error(transparent)]
    LogProb(#[from] LogProbError),
    /// The model does not have an input (array of numbers) that was opened.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A parameter index is out of range.
    #[error("parameter index {index} is out of range: the model has {n_parameters} parameters")]
    NoSuchParameter {
        /// The index that was given.
        index: usize,
        /// Number of parameters of the model.
        n_parameters: usize,
    },
    /// Toys cannot be drawn. The expected yield of a bin or the expected value of an auxiliary count is
    /// negative, or too large for a Poisson mean.
    #[error(
        "cannot draw toys: {what}[{index}] expects {} events, and a Poisson mean lies between 0 and 1e15; check for negative \
         yields or factors, and parameters outside their bounds",
        exact(*mean)
    )]
    BadMean {
        /// Name of the array: main data or auxiliary data.
        what: &'static str,
        /// Position of the bin or auxiliary datum in the array.
        index: usize,
        /// Expected yield or auxiliary count.
        mean: f64,
    },
    /// The density of an event channel is negative or not finite at a point at which events are expected.
    #[error(
        "the density of event channel {channel} is {value:e} at the point {at:?}, and a density is finite and not negative"
    )]
    BadDensity {
        /// Index of the event channel.
        channel: usize,
        /// Values of the observables at the point, in the order of the channel.
        at: Vec<f64>,
        /// The density at the point.
        value: f64,
    },
    /// Toys cannot be drawn, because the density of an event channel cannot be sampled.
    #[error("cannot draw toys: the density of event channel {channel} {problem}")]
    CannotSample {
        /// Index of the event channel.
        channel: usize,
        /// Description of what is wrong with the density, and of what the user can do.
        problem: &'static str,
    },
    /// The device cannot be used.
    #[error("device {device} is not available: {reason}. {remedy}")]
    DeviceUnavailable {
        /// The device that was requested.
        device: Device,
        /// Why the device cannot be used.
        reason: String,
        /// What the user can do.
        remedy: String,
    },
    /// An array is not in the memory of a device, where it is needed.
    #[error("{what} is not in memory of {device}: {problem}. Move it there first")]
    NotOnDevice {
        /// Name of the array, for the error message.
        what: &'static str,
        /// The device.
        device: Device,
        /// Description of where the array is.
        problem: String,
    },
    /// A device and the CPU compute different values at the same point.
    #[error(
        "device {device} and the CPU disagree: {what} of fit {index} differs by {difference:e}, where {tolerance:e} is \
         allowed. Nothing of this run is to be trusted; run it again with the device cpu, and please report it with the \
         model and the device's name"
    )]
    DeviceDisagrees {
        /// The device whose values differ from those of the CPU.
        device: Device,
        /// Name of the quantity that differs.
        what: &'static str,
        /// Index of the fit for which the values differ, among the fits of one kernel launch.
        index: usize,
        /// Absolute difference of the two values.
        difference: f64,
        /// Largest difference that is allowed.
        tolerance: f64,
    },
    /// NVIDIA's driver is not installed, or not visible from a container.
    #[error(
        "no CUDA device can be used: NVIDIA's driver library (libcuda.so.1; nvcuda.dll on Windows) is not found. \
         Install the driver, in a container pass the GPUs through, or choose the device cpu"
    )]
    CudaDriverMissing,
    /// NVIDIA's driver is too old to load the kernels of this build.
    #[error(
        "no CUDA device can be used: the driver supports CUDA {}.{}, and {}.{} is the least that will do. \
         Update NVIDIA's driver, or choose the device cpu",
        .found / 1000, .found % 1000 / 10, .needed / 1000, .needed % 1000 / 10
    )]
    CudaDriverTooOld {
        /// CUDA version that the driver supports, as an integer: 11040 stands for 11.4.
        found: u32,
        /// Lowest CUDA version that can load the kernels, as an integer: 11040 stands for 11.4.
        needed: u32,
    },
    /// There is no CUDA device, or no CUDA device with this index.
    #[error(
        "there is no device cuda:{index}: NVIDIA's driver shows {}. {}", show_devices(*count),
        if *count == 0 { "See what nvidia-smi lists and whether CUDA_VISIBLE_DEVICES hides it, or choose the device cpu" }
        else { "Choose one of them (CUDA_VISIBLE_DEVICES may hide some), or the device cpu" }
    )]
    NoSuchCudaDevice {
        /// Index of the requested device, counted from 0.
        index: usize,
        /// Number of CUDA devices that the driver reports.
        count: usize,
    },
    /// The GPU is too old: its compute capability is too low.
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
        /// Compute capability of the GPU (major, minor).
        found: (u32, u32),
        /// Lowest compute capability that is supported (major, minor).
        needed: (u32, u32),
    },
    /// The memory of the device is used up.
    #[error(
        "{device} is out of memory: {needed} bytes are needed, {free} are free. Results handed over before this \
         are complete and kept. Free memory that other programs hold, or choose the device cpu"
    )]
    OutOfDeviceMemory {
        /// The device whose memory is used up.
        device: Device,
        /// Number of bytes that were requested.
        needed: u64,
        /// Number of bytes that were free at the time of the request.
        free: u64,
    },
    /// The device stopped working during an operation; this session can no longer use it.
    #[error(
        "{device} was lost while {doing}: {error}. Results handed over before this are complete and kept. {remedy}"
    )]
    DeviceLost {
        /// The device that stopped working.
        device: Device,
        /// The operation during which the error occurred.
        doing: &'static str,
        /// The driver's name for the error.
        error: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// The driver refused an operation on the device.
    #[error(
        "{device} refuses while {doing}: {error}. Results handed over before this are complete and kept. {remedy}"
    )]
    DeviceRefused {
        /// The device on which the operation was refused.
        device: Device,
        /// The operation during which the error occurred.
        doing: &'static str,
        /// The driver's name for the error.
        error: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// None of the kernel images in this build can be loaded on the device.
    #[error("the code of this build cannot be loaded on {device}: {error}. {remedy}")]
    KernelImage {
        /// The device on which no image could be loaded.
        device: Device,
        /// The driver's error for each image that was tried.
        error: String,
        /// What the user can do.
        remedy: &'static str,
    },
    /// The session cannot use data of this form.
    #[error("this session cannot use data of this kind; {remedy}")]
    ForeignData {
        /// What the user can do.
        remedy: &'static str,
    },
    /// The device does not compute in the requested precision.
    #[error(
        "{device} does not compute in precision {asked}: ask for {available}, or leave the precision out"
    )]
    UnsupportedPrecision {
        /// The device that does not compute in this precision.
        device: Device,
        /// The requested precision.
        asked: Precision,
        /// The precision in which the device computes.
        available: Precision,
    },
    /// A part of the computation needs more memory than the memory limit allows, and it cannot be divided into smaller
    /// parts.
    #[error(
        "{what} on {device} takes {needed} bytes, and the memory limit is {limit}. Raise the limit (--memory; in Python memory=), \
         or {remedy}"
    )]
    MemoryLimit {
        /// The device whose memory is limited.
        device: Device,
        /// Description of the part that needs too much memory.
        what: &'static str,
        /// Bytes needed, including those that the session holds already.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// What the user can do instead of raising the limit.
        remedy: &'static str,
    },
    /// The model is too large for the device, for example for the shared memory of a thread block.
    #[error("{what} needs {needed} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Description of the part that is too large.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

impl SessionError {
    /// Returns whether the error is due to the device and not to the input. If it is, another device may succeed.
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

/// Writes a number of devices in words: "no device", "1 device", "2 devices".
fn show_devices(count: usize) -> String {
    match count {
        0 => "no device".to_owned(),
        1 => "1 device".to_owned(),
        n => format!("{n} devices"),
    }
}

impl Execution {
    /// Checks that the requested precision is `available`, the precision in which `device` computes.
    ///
    /// # Errors
    /// [`SessionError::UnsupportedPrecision`] if the two precisions differ.
    pub fn check_precision(&self, device: Device, available: Precision) -> Result<(), SessionError> {
        if self.precision == available {
            return Ok(());
        }
        Err(SessionError::UnsupportedPrecision { device, asked: self.precision, available })
    }
}
