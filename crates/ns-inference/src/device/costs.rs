//! The measured constants of the cost model that chooses a device.
//!
//! How to measure them again:
//!
//! * `first`, `near`, `toy`: on one thread, for workspaces of several sizes, measure the time of `nextstat fit`
//!   (`first`), of `nextstat ranking` per refit (`near`) and of `nextstat hypotest-toys` per fit (`toy`). Plot each
//!   time against the `operations` that `nextstat devices --explain` prints. The constants are the offset and the
//!   slope of a line through the points.
//! * `several_minima`, `toy_alone`: the time of `nextstat hypotest-toys` per fit, for strongly nonlinear models and
//!   for models that are too large for SIMD lanes, divided by the time that `toy` predicts.
//! * `gpu_start`: the time of a process that opens a CUDA session and makes one fit, minus the time of the same
//!   process on the CPU. The driver's cache of compiled code must be empty.
//! * `gpu_launch`: the time of a batch with one fit of the smallest model, in a session that has made fits before.
//! * `gpu_latency`: the time of one toy's fit in such a session, divided by the operations of the model.
//! * `event`: the time of a fit of a million events (the example `fit_events` of ns-compute), for the Gaussian on an exponential.
//! * `event_toy`, `toy_event`: offset and slope of a line through the times of toys of 2 000 and of 10 000 events of this model
//!   (`nextstat toys --threads 1`).
//! * `gpu_event_toy`, `gpu_event`: the times of `check_event_toys cuda 10000 10000` (ns-compute) with one thread of the
//!   host and with many.
//! * `gpu_fit`, `gpu_operation`: offset and slope of a line through the time per fit of 100 000 toys in such a
//!   session, against the operations of the model.

/// Time of one fit on one thread of the CPU, linear in the operations of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// Seconds that do not depend on the model.
    pub(super) least: f64,
    /// Seconds for each operation of one evaluation (`Plan::operations`: the likelihood with its gradient).
    pub(super) operation: f64,
}

impl Fit {
    /// Returns the time of the fit, in seconds, for a model with this number of operations.
    pub(super) fn seconds(self, operations: f64) -> f64 {
        self.least + self.operation * operations
    }
}

/// Constants of the cost model. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    /// Time of a fit from the model's start values, with uncertainties.
    pub(super) first: Fit,
    /// Time of a fit that starts at the minimum of a neighbouring fit.
    pub(super) near: Fit,
    /// Time of the fit of a toy in a batch of toys.
    pub(super) toy: Fit,
    /// Ratio by which the fit of a toy takes longer in a strongly nonlinear model, on the CPU and on a GPU.
    pub(super) several_minima: f64,
    /// Ratio by which the fit of a toy takes longer in a model that is too large for SIMD lanes.
    pub(super) toy_alone: f64,
    /// Time of a fit on one thread for each event of the data.
    pub(super) event: f64,
    /// Time of a toy of events on one thread, drawn and fitted once, for each of its events.
    pub(super) toy_event: f64,
    /// Part of this time that does not depend on the number of events.
    pub(super) event_toy: f64,
    /// Speed that each further thread adds, relative to the first. It is below 1 because threads share memory
    /// and clock.
    pub(super) thread_efficiency: f64,
    /// Time to create a CUDA context and load the kernels, once per process.
    pub(super) gpu_start: f64,
    /// Time to hand a batch to the GPU and fetch its outcomes.
    pub(super) gpu_launch: f64,
    /// Time of a toy fit on an otherwise idle GPU, for each operation of one evaluation.
    pub(super) gpu_latency: f64,
    /// Time of a toy fit on a busy GPU: the part that does not depend on the model.
    pub(super) gpu_fit: f64,
    /// Time of a toy fit on a busy GPU: the part for each operation of one evaluation.
    pub(super) gpu_operation: f64,
    /// Time of one thread of the CPU for the fit of a toy of events whose sums a GPU makes.
    pub(super) gpu_event_toy: f64,
    /// Time of a GPU for each event of such a fit.
    pub(super) gpu_event: f64,
    /// Number of f64 multiply-adds per clock cycle of the GPU on which `gpu_fit` and `gpu_operation` were
    /// measured.
    pub(super) gpu_lanes: f64,
}

/// The constants as measured. CPU: a core of an AMD EPYC (Zen 5, AVX-512) with models of 3 to 249 parameters.
/// GPU: an NVIDIA H200 (132 multiprocessors).
pub(super) const COSTS: Costs = Costs {
    first: Fit { least: 100e-6, operation: 5.5e-9 },
    near: Fit { least: 8e-6, operation: 0.6e-9 },
    toy: Fit { least: 2e-6, operation: 2.0e-9 },
    several_minima: 14.0,
    toy_alone: 2.2,
    event: 25e-9,
    toy_event: 25e-9,
    event_toy: 180e-6,
    thread_efficiency: 0.9,
    gpu_start: 0.35,
    gpu_launch: 50e-6,
    gpu_latency: 7e-9,
    gpu_fit: 0.5e-6,
    gpu_operation: 4e-11,
    gpu_event_toy: 70e-6,
    gpu_event: 0.8e-9,
    gpu_lanes: 132.0 * 64.0,
};

/// Returns the number of f64 multiply-adds per clock cycle of one multiprocessor, by compute capability (CUDA
/// programming guide, "arithmetic instructions"). GPUs for graphics have far fewer than GPUs for data centres.
pub(super) fn lanes_per_multiprocessor(capability: (u32, u32)) -> f64 {
    match capability {
        (6, 0) | (7, 0 | 2) | (8, 0) => 32.0,
        (9, 0) | (10, 0) => 64.0,
        _ => 2.0,
    }
}
