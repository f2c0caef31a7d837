//! Descents of one kind of fit on a GPU, as the search for minima uses them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ns_core::LeftToCpu;

use super::adapter::Gpu;
use super::kind::Kind;
use super::launch::{Failure, Launcher};
use super::program::{CONVERGED, FALLEN, Program};
use super::upload::single;
use crate::lanes::{DescentDevice, DescentEnd, DescentJob, DescentMemory, Descents, FitKind};

/// After [`TRIED`] descents of a kind of fit, lanes make all further ones unless this part of them has converged.
const LEAST_CONVERGED: f64 = 0.9;
const TRIED: u64 = 256;

/// Counts of the descents that a GPU made: all of them, those that had converged at their ends, and those whose `-ln L`
/// fell without limit.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) all: AtomicU64,
    pub(super) converged: AtomicU64,
    pub(super) fallen: AtomicU64,
}

/// What a session and the descents of its kinds of fits share.
#[derive(Debug, Default)]
struct Shared {
    made: Made,
    /// First failure, after which lanes make the descents.
    failure: OnceLock<Failure>,
    /// Why the GPU does not make descents of a kind of fit, for the first such kind.
    unsuitable: OnceLock<LeftToCpu>,
}

/// A GPU that makes descents for a session.
#[derive(Debug)]
pub(super) struct DescentGpu {
    gpu: Arc<Gpu>,
    shared: Arc<Shared>,
}

impl DescentGpu {
    pub(super) fn new(gpu: Gpu) -> Self {
        Self { gpu: Arc::new(gpu), shared: Arc::default() }
    }

    pub(super) fn made(&self) -> &Made {
        &self.shared.made
    }

    /// Returns what the driver said when a descent failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.shared.failure.get().map(String::as_str)
    }

    /// Returns why the GPU did not make the descents of some kind of fit.
    pub(super) fn unsuitable(&self) -> Option<LeftToCpu> {
        self.shared.unsuitable.get().copied()
    }
}

impl DescentDevice for DescentGpu {
    fn prepare(&self, kind: &FitKind<'_>) -> Option<Box<dyn Descents>> {
        let of = Kind {
            plan: kind.plan,
            metric: kind.metric,
            lower: &kind.bounds.lower,
            upper: &kind.bounds.upper,
        };
        if let Err(reason) = of.check() {
            let _ = self.shared.unsuitable.set(reason);
            return None;
        }
        if self.shared.failure.get().is_some() {
            return None;
        }
        let program = Program::new(&of, self.gpu.workgroup_memory);
        match Launcher::new(&self.gpu, &program, "descents") {
            Ok(launcher) => {
                let (shared, made) = (Arc::clone(&self.shared), Made::default());
                Some(Box::new(GpuDescents { launcher, made, shared }))
            }
            Err(failure) => {
                let _ = self.shared.failure.set(failure);
                None
            }
        }
    }
}

/// Descents of one kind of fit.
#[derive(Debug)]
struct GpuDescents {
    launcher: Launcher,
    made: Made,
    shared: Arc<Shared>,
}

impl Descents for GpuDescents {
    fn certifies(&self) -> bool {
        false
    }

    fn descend(&self, kind: &FitKind<'_>, jobs: &[DescentJob<'_>], _: &mut DescentMemory) -> Vec<DescentEnd> {
        let mut ends = Vec::with_capacity(jobs.len());
        while ends.len() < jobs.len()
            && self.is_worth_it()
            && self.shared.failure.get().is_none()
            && !kind.is_cancelled()
        {
            let left = &jobs[ends.len()..];
            let some = &left[..left.len().min(self.launcher.at_once())];
            let inputs: Vec<f32> = some
                .iter()
                .flat_map(|job| job.main.iter().chain(job.aux).chain(job.start))
                .map(|x| single(*x))
                .collect();
            match self.launcher.run(&inputs, some.len()) {
                Ok(results) => {
                    let size = results.len() / some.len().max(1);
                    let each = results.chunks_exact(size.max(1)).zip(some);
                    ends.extend(each.map(|(result, job)| self.read(kind, job, result)));
                }
                Err(failure) => {
                    let _ = self.shared.failure.set(failure);
                }
            }
        }
        ends.extend(jobs[ends.len()..].iter().map(DescentJob::never_done));
        ends
    }
}

impl GpuDescents {
    /// Returns whether enough descents of this kind converge.
    fn is_worth_it(&self) -> bool {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (all, converged) = (read(&self.made.all), read(&self.made.converged));
        let worth_it = all < TRIED || converged as f64 >= LEAST_CONVERGED * all as f64;
        if !worth_it {
            let _ = self.shared.unsuitable.set(LeftToCpu::SinglePrecision);
        }
        worth_it
    }

    /// Reads the end of one descent. Parameters that are held get the bounds in double precision, and fixed parameters
    /// their values.
    fn read(&self, kind: &FitKind<'_>, job: &DescentJob<'_>, result: &[f32]) -> DescentEnd {
        let n = kind.plan.n_parameters();
        let (mut theta, mut hold) = (job.start.to_vec(), Vec::new());
        for &p in &kind.metric.free {
            let (lower, upper) = (kind.bounds.lower[p], kind.bounds.upper[p]);
            let x = f64::from(result[p]);
            let held = result[n + p] != 0.0;
            theta[p] = match held {
                true if (x - lower).abs() <= (x - upper).abs() => lower,
                true => upper,
                false => x.clamp(lower, upper),
            };
            if held {
                hold.push(p);
            }
        }
        let scalar = |i: usize| f64::from(result[super::program::END_ARRAYS * n + i]);
        let status = scalar(2) as u32;
        for made in [&self.made, &self.shared.made] {
            let count = |counter: &AtomicU64, holds| counter.fetch_add(u64::from(holds), Ordering::Relaxed);
            count(&made.all, true);
            count(&made.converged, status == CONVERGED);
            count(&made.fallen, status == FALLEN);
        }
        // The value in single precision serves only to see whether the end is usable.
        let value =
            if status == FALLEN || !scalar(0).is_finite() { f64::INFINITY } else { scalar(0).max(0.0) };
        DescentEnd {
            theta,
            value,
            held: hold,
            empty: Vec::new(),
            edm: scalar(1),
            converged: false,
            falls: false,
            iterations: scalar(3) as usize,
            evaluations: scalar(4) as usize,
        }
    }
}
