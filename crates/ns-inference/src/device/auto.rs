//! Chooses between the CPU and a GPU if the user requests `--device auto`. The choice depends on predicted times.
//!
//! A predicted time is accurate to a factor of about two. For some models the factor is three, on a machine that is
//! faster or slower than those on which the constants were measured. This accuracy is enough: if both devices take
//! about the same time, either choice is good. Results of the two devices agree within the parity contract
//! (`docs/numerics.md`).

use std::fmt;

use ns_compute::CpuSession;
use ns_core::{Device, LeftToCpu};
use serde::Serialize;

use super::costs::{COSTS, Costs, Fit, lanes_per_multiprocessor};
use super::trial::Measured;
use super::work::{Load, Work};
use crate::present::duration;

/// Smallest number of fits of toys for which the time of a toy is measured first.
const FITS_PER_TRIAL: f64 = 500.0;

/// The fit of a toy may take this number of times longer than the cost model predicts.
const MOST_TIMES_LONGER: f64 = 1_000.0;

/// The properties of a model that determine the time of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelSize {
    /// Number of parameters.
    pub n_parameters: usize,
    /// Number of parameters that are free in fits.
    pub n_free: usize,
    /// Number of main bins of all channels together.
    pub n_bins: usize,
    /// Number of floating-point operations of one evaluation of the likelihood with its gradient.
    pub operations: u64,
    /// Whether the likelihood of this model commonly has several minima. If so, fits of toys search for further minima.
    pub strongly_nonlinear: bool,
    /// Whether the model is too large for fits in SIMD lanes (several fits per vector).
    pub too_large_for_lanes: bool,
    /// Whether the model is too large for fits on a GPU.
    pub too_large_for_gpus: bool,
    /// Number of observed events of all event channels together.
    pub n_events: u64,
    /// Whether a GPU can compute the sums over events in fits of toys.
    pub gpu_events: bool,
    /// Measured time of the fit of the observed data on one CPU thread, in seconds. `None` if it was not measured.
    pub first_s: Option<f64>,
    /// Measured time of the fit of a toy on one CPU thread, in seconds. `None` if it was not measured.
    pub toy_s: Option<f64>,
}

impl ModelSize {
    /// Returns the size of a compiled model.
    #[must_use]
    pub fn of(session: &CpuSession) -> Self {
        let plan = session.plan();
        Self {
            n_parameters: plan.n_parameters(),
            n_free: plan.n_free(),
            n_bins: plan.n_bins(),
            operations: plan.operations(),
            strongly_nonlinear: plan.is_strongly_nonlinear(),
            too_large_for_lanes: session.is_too_large_for_lanes(),
            too_large_for_gpus: session.is_too_large_for_gpus(),
            n_events: session.n_events() as u64,
            gpu_events: session.gpus_sum_its_events(),
            first_s: None,
            toy_s: None,
        }
    }

    /// Returns a copy with measured times.
    pub(super) fn with(self, measured: Option<Measured>) -> Self {
        Self { first_s: measured.map(|times| times.first), toy_s: measured.map(|times| times.toy), ..self }
    }

    /// Returns the time of a fit of observed data on one CPU thread, in seconds: the measured time, or else the time that
    /// the costs predict.
    fn first_seconds(&self, costs: &Costs) -> f64 {
        self.first_s.unwrap_or_else(|| costs.first.seconds(self.operations as f64, self.n_free as f64))
    }

    /// Returns the time of the fit of a toy on one CPU thread, in seconds: the measured time, or else the time that the
    /// costs predict.
    fn toy_seconds(&self, costs: &Costs) -> f64 {
        let measured = self.toy_s.map(|toy_s| costs.toy_of_test * toy_s);
        measured.unwrap_or_else(|| self.predicted_toy_seconds(costs))
    }

    fn predicted_toy_seconds(&self, costs: &Costs) -> f64 {
        let seconds = |fit: Fit| fit.seconds(self.operations as f64, self.n_free as f64);
        // Fits search for further minima only if they run in SIMD lanes.
        if self.too_large_for_lanes || self.n_events > 0 {
            costs.toy_alone * seconds(costs.toy)
        } else if self.strongly_nonlinear {
            seconds(costs.nonlinear_toy)
        } else {
            seconds(costs.toy)
        }
    }
}

/// A GPU that `auto` can choose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GpuCandidate {
    pub(super) device: Device,
    pub(super) name: String,
    /// Number of f64 multiply-add operations that the GPU can do per clock cycle, summed over all multiprocessors.
    pub(super) lanes: f64,
    /// Whether this process has already created a CUDA context.
    pub(super) warm: bool,
}

impl GpuCandidate {
    pub(crate) fn new(
        index: usize,
        name: &str,
        capability: (u32, u32),
        multiprocessors: usize,
        warm: bool,
    ) -> Self {
        let lanes = lanes_per_multiprocessor(capability) * multiprocessors.max(1) as f64;
        Self { device: Device::Cuda(index), name: name.to_owned(), lanes, warm }
    }
}

/// The device that `auto` chooses for some work, and the reason for this choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Description of the work for which the device is chosen.
    pub job: String,
    /// The device: `cpu` or `cuda:I`.
    #[serde(serialize_with = "as_text")]
    pub device: Device,
    /// Predicted time on the CPU, in seconds.
    pub cpu_s: f64,
    /// Predicted time on the GPU, in seconds, including the start of the GPU if this process has not used a GPU yet.
    /// `None` if there is no GPU, or if `auto` chose the CPU without looking for a GPU.
    pub gpu_s: Option<f64>,
    /// Reason for the choice.
    pub reason: String,
}

fn as_text<S: serde::Serializer>(device: &Device, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(device)
}

/// Returns the time of the fit of a toy, divided by the time in a model of the same size that has only one minimum.
fn search_factor(costs: &Costs, size: &ModelSize) -> f64 {
    let seconds = |fit: Fit| fit.seconds(size.operations as f64, size.n_free as f64);
    if size.strongly_nonlinear { seconds(costs.nonlinear_toy) / seconds(costs.toy) } else { 1.0 }
}

/// Predicts the time, in seconds, of the fits that always run on the CPU. They run before a GPU makes the remaining
/// fits.
fn before(costs: &Costs, size: &ModelSize, load: Load) -> f64 {
    load.before * size.first_seconds(costs)
}

/// Returns the speed of `threads` CPU threads together, in units of the speed of one thread.
fn speed_of(costs: &Costs, threads: usize) -> f64 {
    1.0 + costs.thread_efficiency * (threads.max(1) as f64 - 1.0)
}

/// Predicts the time of `work` on `threads` CPU threads, in seconds.
fn on_cpu(costs: &Costs, size: &ModelSize, work: Work, threads: usize) -> f64 {
    let load = work.load(size.n_free);
    let operations = size.operations as f64;
    let threads = speed_of(costs, threads);
    // Fits of one batch run in parallel; batches run one after another.
    let share = |fits: f64| threads.min((fits / load.batches).max(1.0));
    let seconds = |fit: Fit| fit.seconds(operations, size.n_free as f64);
    let others = load.near * seconds(costs.near) + load.toys * size.toy_seconds(costs);
    let first = before(costs, size, load) + load.first * size.first_seconds(costs) / share(load.first);
    first + others / share(load.near + load.toys) + events_on_cpu(costs, size, load) / threads
}

/// Predicts the time of the sums over events on one thread, in seconds. The caller divides this time by the number of
/// threads, because even in a single fit the events are divided among the threads.
fn events_on_cpu(costs: &Costs, size: &ModelSize, load: Load) -> f64 {
    if size.n_events == 0 {
        return 0.0;
    }
    let single = load.before + load.first + load.near;
    let events = size.n_events as f64;
    events * single * costs.event + load.toys * (costs.event_toy + events * costs.toy_event)
}

/// Predicts the time, in seconds, of toys of a model with event channels if a GPU is used. The fits run on `threads`
/// CPU threads, and the GPU computes the sums over events.
fn event_toys_on_gpu(costs: &Costs, size: &ModelSize, load: Load, gpu: &GpuCandidate, threads: usize) -> f64 {
    let threads = speed_of(costs, threads);
    let start = if gpu.warm { 0.0 } else { costs.gpu_start };
    let observed = Load { toys: 0.0, ..load };
    let single = before(costs, size, load) + events_on_cpu(costs, size, observed) / threads;
    let host =
        costs.gpu_event_toy + costs.toy_alone * costs.toy.seconds(size.operations as f64, size.n_free as f64);
    let busy = size.n_events as f64 * costs.gpu_event * costs.gpu_lanes / gpu.lanes;
    start + single + load.toys * (host / threads + busy)
}

/// Predicts the time of `work` on a GPU, in seconds. The constants measured on GPUs are for the fit of a toy. The times
/// of other fits are derived from these constants, with the ratios of fit times measured on the CPU.
fn on_gpu(costs: &Costs, size: &ModelSize, work: Work, gpu: &GpuCandidate) -> f64 {
    let load = work.load(size.n_free);
    let operations = size.operations as f64;
    let longer = |fit: Fit| fit.operation / costs.toy.operation;
    let toy = if size.too_large_for_lanes { costs.gpu_divided } else { search_factor(costs, size) };
    // A batch takes as long as the longest fit in it.
    let present = [(load.first, longer(costs.first)), (load.near, longer(costs.near)), (load.toys, toy)];
    let length = present.iter().filter(|(n, _)| *n > 0.0).map(|(_, length)| *length).fold(0.0, f64::max);
    let start = if gpu.warm { 0.0 } else { costs.gpu_start };
    let waiting = load.batches * (costs.gpu_launch + costs.gpu_latency * operations * length);
    let seconds = |length: f64| costs.gpu_fit + length * costs.gpu_operation * operations;
    let of_toy = if size.strongly_nonlinear && !size.too_large_for_lanes {
        costs.gpu_nonlinear_toy.seconds(operations, size.n_free as f64)
    } else {
        seconds(toy)
    };
    let of_others = load.first * seconds(longer(costs.first)) + load.near * seconds(longer(costs.near));
    // What takes many evaluations on the CPU takes many on a GPU.
    let of_toy = of_toy.max(size.toy_s.unwrap_or(0.0) * costs.toy_of_test * costs.gpu_of_toy);
    let busy = of_others + load.toys * of_toy;
    let host = before(costs, size, load) + load.near * size.n_free as f64 * costs.gpu_parameter;
    start + host + waiting + busy * costs.gpu_lanes / gpu.lanes
}

/// Returns whether the time of a toy is to be measured before a device is chosen for `work`: the trial takes at most a
/// small part of the time of the toys, and its result may matter.
pub(super) fn deserves_trial(size: &ModelSize, work: Work, threads: usize, warm: bool) -> bool {
    let fits = work.load(size.n_free).toys;
    size.n_events == 0
        && !size.too_large_for_gpus
        && fits >= FITS_PER_TRIAL
        && (warm || MOST_TIMES_LONGER * on_cpu(&COSTS, size, work, threads) > COSTS.gpu_start)
}

/// Chooses a device. `look` returns a GPU, or the reason why there is none. The driver needs a large part of a second
/// to list the GPUs. Therefore `look` is called only if `warm` is true, i.e. this process has used a GPU before, or
/// if the predicted time on the CPU is longer than the start of a GPU.
pub(super) fn choose(
    size: &ModelSize,
    work: Work,
    threads: usize,
    warm: bool,
    look: impl FnOnce() -> Result<GpuCandidate, String>,
) -> Choice {
    if let Some(why) = stays_on_cpu(size, work) {
        return choice(size, work, threads, None, why);
    }
    if warm || on_cpu(&COSTS, size, work, threads) > COSTS.gpu_start {
        return weigh(size, work, threads, look());
    }
    let why = format!("and a GPU takes {} to start", duration(COSTS.gpu_start));
    choice(size, work, threads, None, &why)
}

/// Returns the reason why `auto` takes the CPU even if a GPU is available. Returns `None` if the choice depends on
/// the predicted times.
fn stays_on_cpu(size: &ModelSize, work: Work) -> Option<&'static str> {
    match (size.n_events, work) {
        (0, _) => None,
        (_, Work::Toys { .. }) if size.gpu_events => None,
        (_, Work::Toys { .. }) => Some("and a density has a function that GPUs lack"),
        _ => Some("and only toys of events go to a GPU that is not named"),
    }
}

/// Chooses between the CPU and the GPU in `found`. If `found` is an error, i.e. the reason why there is no GPU, the
/// choice is the CPU.
pub(super) fn weigh(
    size: &ModelSize,
    work: Work,
    threads: usize,
    found: Result<GpuCandidate, String>,
) -> Choice {
    if let Some(why) = stays_on_cpu(size, work) {
        return choice(size, work, threads, None, why);
    }
    match found {
        Ok(gpu) if size.too_large_for_gpus && size.n_events == 0 => choice(
            size,
            work,
            threads,
            None,
            &format!("and {} would leave it to the CPU: {}", gpu.device, LeftToCpu::Large),
        ),
        Err(why) => choice(size, work, threads, None, &format!("and there is no GPU: {why}")),
        Ok(gpu) => {
            let gpu_s = if size.n_events > 0 {
                event_toys_on_gpu(&COSTS, size, work.load(size.n_free), &gpu, threads)
            } else {
                on_gpu(&COSTS, size, work, &gpu)
            };
            let start = if gpu.warm { "" } else { ", its start included" };
            let why = format!("{} on {} ({}{start})", duration(gpu_s), gpu.device, gpu.name);
            choice(size, work, threads, Some((gpu.device, gpu_s)), &why)
        }
    }
}

fn choice(size: &ModelSize, work: Work, threads: usize, gpu: Option<(Device, f64)>, why: &str) -> Choice {
    let cpu_s = on_cpu(&COSTS, size, work, threads);
    let reason = format!("{work}: about {} on the CPU with {}, {why}", duration(cpu_s), Threads(threads));
    let device = gpu.filter(|(_, gpu_s)| *gpu_s < cpu_s).map_or(Device::Cpu, |(device, _)| device);
    Choice { job: work.to_string(), device, cpu_s, gpu_s: gpu.map(|(_, gpu_s)| gpu_s), reason }
}

/// A number of threads, displayed in messages as "1 thread" or, for example, "4 threads".
struct Threads(usize);

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(operations: u64) -> ModelSize {
        ModelSize {
            n_parameters: 184,
            n_free: 184,
            n_bins: 41,
            operations,
            strongly_nonlinear: false,
            too_large_for_lanes: false,
            too_large_for_gpus: false,
            n_events: 0,
            gpu_events: false,
            first_s: None,
            toy_s: None,
        }
    }

    fn h200(warm: bool) -> GpuCandidate {
        GpuCandidate::new(0, "NVIDIA H200", (9, 0), 132, warm)
    }

    const TOYS: fn(u64) -> Work = |toys| Work::Toys { toys, fits: 2 };

    #[test]
    fn times_grow_with_the_work_and_shrink_with_threads_and_gpus() {
        for work in [
            Work::Fit,
            Work::Test,
            Work::Limit,
            Work::Scan { points: 101 },
            Work::Ranking { per_parameter: 2 },
        ] {
            for gpu in [h200(false), h200(true)] {
                assert!(
                    on_gpu(&COSTS, &size(200_000), work, &gpu) > on_gpu(&COSTS, &size(100_000), work, &gpu)
                );
            }
            let at = |operations, threads| on_cpu(&COSTS, &size(operations), work, threads);
            assert!(at(200_000, 1) > at(100_000, 1));
            assert!(at(100_000, 4) <= at(100_000, 2) && at(100_000, 2) <= at(100_000, 1));
        }
        let mut last = (0.0, 0.0);
        for n in [1, 10, 1_000, 100_000, 10_000_000] {
            let now = (
                on_cpu(&COSTS, &size(100_000), TOYS(n), 8),
                on_gpu(&COSTS, &size(100_000), TOYS(n), &h200(false)),
            );
            assert!(now.0 > last.0 && now.1 > last.1);
            last = now;
        }
        let graphics = GpuCandidate::new(0, "NVIDIA GeForce", (8, 9), 128, false);
        assert!(
            on_gpu(&COSTS, &size(100_000), TOYS(100_000), &graphics)
                > on_gpu(&COSTS, &size(100_000), TOYS(100_000), &h200(false))
        );
    }

    #[test]
    fn small_work_stays_on_the_cpu_and_no_driver_is_woken() {
        let never = || -> Result<GpuCandidate, String> { unreachable!("nobody should look for a GPU") };
        let choice = choose(&size(100_000), Work::Fit, 1, false, never);
        assert_eq!((choice.device, choice.gpu_s), (Device::Cpu, None));
        assert!(choice.reason.starts_with("one fit: about ") && choice.reason.contains("to start"));
        // For a single fit the CPU is faster even if the GPU has already been started.
        assert_eq!(choose(&size(100_000), Work::Fit, 1, true, || Ok(h200(true))).device, Device::Cpu);
    }

    #[test]
    fn fits_before_toys_take_as_long_whichever_device_makes_the_toys() {
        let (cpu, gpu) = (
            on_cpu(&COSTS, &size(300_000), TOYS(0), 16),
            on_gpu(&COSTS, &size(300_000), TOYS(0), &h200(true)),
        );
        assert!(cpu >= 6.0 * COSTS.first.seconds(300_000.0, 184.0));
        // The GPU adds the launch of one batch.
        assert!(cpu < gpu && gpu < cpu + COSTS.gpu_launch + 1e-3, "{cpu} {gpu}");
    }

    #[test]
    fn many_toys_go_to_a_gpu_if_there_is_one() {
        let toys = TOYS(200_000);
        let choice = choose(&size(100_000), toys, 16, false, || Ok(h200(false)));
        assert_eq!(choice.device, Device::Cuda(0));
        assert!(choice.gpu_s.is_some_and(|gpu_s| gpu_s < choice.cpu_s));
        assert!(choice.reason.contains("cuda:0 (NVIDIA H200, its start included)"), "{}", choice.reason);
        let without = choose(&size(100_000), toys, 16, false, || Err("no driver".to_owned()));
        assert_eq!((without.device, without.gpu_s), (Device::Cpu, None));
        assert!(without.reason.ends_with("no GPU: no driver"), "{}", without.reason);
    }

    #[test]
    fn only_toys_of_events_go_to_a_gpu() {
        let events = ModelSize { n_events: 10_000, gpu_events: true, ..size(100) };
        let never = || -> Result<GpuCandidate, String> { unreachable!("nobody should look for a GPU") };
        let many = ModelSize { n_events: 100_000_000, ..events };
        assert_eq!(choose(&many, Work::Fit, 2, true, never).device, Device::Cpu);
        assert_eq!(choose(&events, TOYS(100_000), 16, false, || Ok(h200(false))).device, Device::Cuda(0));
        assert_eq!(choose(&events, TOYS(10), 16, false, never).device, Device::Cpu);
        let other = ModelSize { gpu_events: false, ..events };
        let choice = choose(&other, TOYS(100_000), 16, true, never);
        assert!(choice.reason.ends_with("a function that GPUs lack"), "{}", choice.reason);
    }

    #[test]
    fn once_a_gpu_is_chosen_more_toys_do_not_bring_the_cpu_back() {
        let chosen: Vec<bool> = (0..24)
            .map(|k| choose(&size(100_000), TOYS(1 << k), 2, false, || Ok(h200(false))).device != Device::Cpu)
            .collect();
        assert!(!chosen[0] && chosen[23]);
        assert_eq!(chosen.windows(2).filter(|w| w[0] != w[1]).count(), 1, "{chosen:?}");
    }
}
