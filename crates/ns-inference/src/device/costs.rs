//! The measured constants of the cost model that chooses a device.
//!
//! The constants are measured as follows:
//!
//! * `first`, `near`, `toy`: on one thread, for workspaces of several sizes, measure the time of `nextstat fit`
//!   (`first`), of `nextstat ranking` per refit (`near`) and of `nextstat hypotest-toys` per fit (`toy`). Plot each
//!   time against the `operations` that `nextstat devices --explain` prints. The constants are the offset and the
//!   slope of a line through the points. What models with thousands of parameters take beyond this line, divided by
//!   their number of free parameters, is the time per parameter.
//! * `nonlinear_toy`: as `toy`, for strongly nonlinear models.
//! * `toy_alone`: measure the time of `nextstat hypotest-toys` per fit of models that are too large for SIMD lanes, and
//!   divide it by the time that `toy` predicts.
//! * `gpu_start`: measure the time of a process that opens a CUDA session and makes one fit. Subtract the time of the
//!   same process on the CPU. The driver's cache of compiled code must be empty.
//! * `gpu_launch`: measure the time of a batch with one fit of the smallest model, in a session that has made fits
//!   before.
//! * `gpu_latency`: measure the time of the fit of one toy in a session that has made fits before. Divide it by the
//!   operations of the model.
//! * `gpu_parameter`: measure the difference of the times of rankings on a GPU with and without pre-fit impacts. Divide
//!   it by the number of fits and by the number of parameters, for models of some hundred parameters.
//! * `gpu_divided`: measure the time per fit of 10 000 toys of a model that is too large for SIMD lanes on a GPU, and
//!   divide it by the time that `gpu_fit` and `gpu_operation` predict.
//! * `gpu_nonlinear_toy`: as `gpu_fit` and `gpu_operation`, for strongly nonlinear models, with 1 000 toys.
//! * `gpu_of_toy`: measure the times of `time_toys` on a GPU and on the CPU, with 250 toys of each of 22 models
//!   (`benches/cliffs.py`, numbers 500 to 529). The constant is the median of the ratios of the times per thread.
//! * `toy_of_test`: the median ratio of the measured to the predicted times of the same tests on 16 threads.
//! * `event`: measure the time of a fit of a million events of a Gaussian on an exponential (the example `fit_events`
//!   of ns-compute), and divide it by the number of events.
//! * `event_toy`, `toy_event`: measure the times of toys of this model with 2 000 and with 10 000 events (`nextstat
//!   toys --threads 1`). The constants are the offset and the slope of a line through the times.
//! * `gpu_event_toy`, `gpu_event`: measure the times of `check_event_toys cuda 10000 10000` (ns-compute) with one
//!   host thread and with many host threads.
//! * `gpu_fit`, `gpu_operation`: measure the time per fit of 100 000 toys, in a session that has made fits before.
//!   Plot it against the operations of the model. The constants are the offset and the slope of a line.

/// Time of one fit on one thread of the CPU, or on a fully used GPU. It is a linear function of the number of
/// floating-point operations of one evaluation of the likelihood with its gradient, and of the number of free parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// Part of the time, in seconds, that does not depend on the model.
    pub(super) least: f64,
    /// Time in seconds for each operation of one evaluation of the likelihood with its gradient (`Plan::operations`).
    pub(super) operation: f64,
    /// Time in seconds for each free parameter.
    pub(super) parameter: f64,
}

impl Fit {
    /// Returns the time of the fit, in seconds. `operations` is the number of floating-point operations of one
    /// evaluation of the likelihood with its gradient, and `n_free` the number of free parameters.
    pub(super) fn seconds(self, operations: f64, n_free: f64) -> f64 {
        self.least + self.operation * operations + self.parameter * n_free
    }
}

/// Constants of the cost model. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    /// Time of a fit that starts at the model's initial parameters, including the uncertainties.
    pub(super) first: Fit,
    /// Time of a fit that starts at the minimum of a neighbouring fit.
    pub(super) near: Fit,
    /// Time of the fit of a toy in a batch of toys.
    pub(super) toy: Fit,
    /// Time of the fit of a toy in a batch of toys of a strongly nonlinear model, whose fits look for further minima.
    pub(super) nonlinear_toy: Fit,
    /// Time of the fit of a toy in a model that is too large for SIMD lanes (several fits per vector), divided by the
    /// time that `toy` predicts.
    pub(super) toy_alone: f64,
    /// Time per event of a fit of events, on one thread.
    pub(super) event: f64,
    /// Time per event to draw a toy of events and fit it once, on one thread.
    pub(super) toy_event: f64,
    /// Constant part of the time to draw a toy of events and fit it once. It does not depend on the number of
    /// events.
    pub(super) event_toy: f64,
    /// Speed that each further thread adds, in units of the speed of one thread. It is below 1, because threads share
    /// the memory and the clock of the CPU.
    pub(super) thread_efficiency: f64,
    /// Time to create a CUDA context and load the kernels. This happens once per process.
    pub(super) gpu_start: f64,
    /// Time to send a batch to the GPU and to fetch its outcomes.
    pub(super) gpu_launch: f64,
    /// Time of the fit of one toy on a GPU that does nothing else, divided by the number of floating-point operations
    /// of one evaluation of the likelihood.
    pub(super) gpu_latency: f64,
    /// Constant part of the time per fit of a toy on a fully used GPU. It does not depend on the model.
    pub(super) gpu_fit: f64,
    /// Variable part of the time per fit of a toy on a fully used GPU: time per floating-point operation of one
    /// evaluation of the likelihood.
    pub(super) gpu_operation: f64,
    /// Time per parameter that the host needs for each fit that starts at the minimum of a neighbouring fit: it prepares
    /// the starting points, and reads the outcomes.
    pub(super) gpu_parameter: f64,
    /// Time per fit of a toy on a fully used GPU in a model that is too large for SIMD lanes (several fits per vector on
    /// the CPU), divided by the time that `gpu_fit` and `gpu_operation` predict.
    pub(super) gpu_divided: f64,
    /// Time of the fit of a toy on a fully used GPU in a strongly nonlinear model, whose fits look for further minima.
    pub(super) gpu_nonlinear_toy: Fit,
    /// Mean time of the fits of the toys of a test, divided by the measured time of the free fit of a toy that is drawn at
    /// the best fit. The toys of the other hypothesis and the conditional fits take longer, and a batch waits for its last
    /// toys.
    pub(super) toy_of_test: f64,
    /// Time of the fit of a toy on a fully used GPU, divided by its measured time on one CPU thread.
    pub(super) gpu_of_toy: f64,
    /// Time that one CPU thread needs for the fit of a toy of events if a GPU computes the sums over events.
    pub(super) gpu_event_toy: f64,
    /// Time per event that the GPU needs for the fit of a toy of events.
    pub(super) gpu_event: f64,
    /// Number of f64 multiply-add operations per clock cycle of the GPU that was used to measure `gpu_fit` and
    /// `gpu_operation`.
    pub(super) gpu_lanes: f64,
}

/// The measured constants, for models of 3 to 10 001 parameters. The time of a fit on the CPU is the geometric mean
/// of the times on two machines. One thread of an AMD EPYC (Zen 5, AVX-512) takes two thirds of this time. One
/// thread of a virtual Intel Xeon, in a host with an H100, takes one and a half times as long. The GPU is an NVIDIA
/// H200 (132 multiprocessors).
pub(super) const COSTS: Costs = Costs {
    first: Fit { least: 150e-6, operation: 8.0e-9, parameter: 1e-6 },
    near: Fit { least: 12e-6, operation: 0.6e-9, parameter: 0.22e-6 },
    toy: Fit { least: 1e-6, operation: 3.0e-9, parameter: 0.0 },
    nonlinear_toy: Fit { least: 240e-6, operation: 10e-9, parameter: 0.0 },
    toy_alone: 2.2,
    event: 25e-9,
    toy_event: 25e-9,
    event_toy: 180e-6,
    thread_efficiency: 0.7,
    gpu_start: 0.35,
    gpu_launch: 50e-6,
    gpu_latency: 7e-9,
    gpu_fit: 0.5e-6,
    gpu_operation: 5.5e-11,
    gpu_parameter: 25e-9,
    gpu_divided: 2.2,
    gpu_nonlinear_toy: Fit { least: 25e-6, operation: 0.35e-9, parameter: 0.0 },
    toy_of_test: 1.5,
    gpu_of_toy: 1.0 / 36.0,
    gpu_event_toy: 70e-6,
    gpu_event: 0.8e-9,
    gpu_lanes: 132.0 * 64.0,
};

/// Returns the number of f64 multiply-add operations per clock cycle of one multiprocessor with the given compute
/// capability (CUDA programming guide, "arithmetic instructions"). The number is far smaller for graphics GPUs than for
/// GPUs of data centres.
pub(super) fn lanes_per_multiprocessor(capability: (u32, u32)) -> f64 {
    match capability {
        (6, 0) | (7, 0 | 2) | (8, 0) => 32.0,
        (9, 0) | (10, 0) => 64.0,
        _ => 2.0,
    }
}
