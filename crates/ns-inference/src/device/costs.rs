//! The constants of the cost model that chooses a device, from measured times.
//!
//! How to measure them again:
//!
//! * `first`, `near`, `toy`: times of `fit`, of `ranking` (over its refits) and of `hypotest-toys` (over its fits) on
//!   one thread, for workspaces of several sizes, against the `operations` that `nextstat devices --explain` counts:
//!   offset and slope of a line.
//! * `gpu_start`: a whole process that opens a CUDA session and makes one fit, less the same on the CPU,
//!   with the driver's cache of compiled code empty.
//! * `gpu_launch`: the time of a batch of one fit of the smallest model in a warm session.
//! * `gpu_latency`: the time of one toy's fit in a warm session, over its operations.
//! * `gpu_fit`, `gpu_operation`: time per fit of 100 000 toys in a warm session, against operations: offset and slope.

/// Seconds of one fit on one thread of the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// The part that does not depend on the model.
    pub(super) least: f64,
    /// For each operation of one evaluation (`Plan::operations`: a value with its gradient).
    pub(super) operation: f64,
}

impl Fit {
    /// Seconds for a model.
    pub(super) fn seconds(self, operations: f64) -> f64 {
        self.least + self.operation * operations
    }
}

/// Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    /// From the model's start values, with uncertainties.
    pub(super) first: Fit,
    /// From a neighbour's minimum.
    pub(super) near: Fit,
    /// Of a toy, fitted together with others.
    pub(super) toy: Fit,
    /// The gain from one more thread, as a fraction of the speed of the first: threads share memory and clock.
    pub(super) thread_efficiency: f64,
    /// Making a CUDA context and loading code, once per process.
    pub(super) gpu_start: f64,
    /// Handing over a batch and fetching its outcomes.
    pub(super) gpu_launch: f64,
    /// The fit of a toy on an otherwise idle GPU, for each operation of one evaluation.
    pub(super) gpu_latency: f64,
    /// The fit of a toy on a busy GPU, whatever the model.
    pub(super) gpu_fit: f64,
    /// The same for each operation of one evaluation.
    pub(super) gpu_operation: f64,
    /// f64 multiply-adds per clock of the GPU that these belong to.
    pub(super) gpu_lanes: f64,
}

/// CPU: measured on a core of an AMD EPYC (Zen 5, AVX-512) with models of 3 to 249 parameters. Device:
/// measured on an NVIDIA H200 (132 multiprocessors).
pub(super) const COSTS: Costs = Costs {
    first: Fit { least: 100e-6, operation: 5.5e-9 },
    near: Fit { least: 8e-6, operation: 0.6e-9 },
    toy: Fit { least: 2e-6, operation: 2.0e-9 },
    thread_efficiency: 0.9,
    gpu_start: 0.35,
    gpu_launch: 50e-6,
    gpu_latency: 7e-9,
    gpu_fit: 0.5e-6,
    gpu_operation: 4e-11,
    gpu_lanes: 132.0 * 64.0,
};

/// f64 multiply-adds per clock and multiprocessor, by compute capability (CUDA programming guide,
/// "arithmetic instructions"): a GPU made for graphics has 1/32 or 1/64 of what a data centre's has.
pub(super) fn lanes_per_multiprocessor(capability: (u32, u32)) -> f64 {
    match capability {
        (6, 0) | (7, 0 | 2) | (8, 0) => 32.0,
        (9, 0) | (10, 0) => 64.0,
        _ => 2.0,
    }
}
