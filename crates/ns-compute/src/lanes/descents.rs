//! The primitive that fits of toys are made of: many descents of one kind of fit. Every device for such fits implements
//! [`Descents`]. The search for further minima is written on it once, and does not know the device.

use std::fmt::Debug;

use super::descend::{self, DescentEnd, DescentJob, DescentMemory, FitKind};

/// Fewest descents that are worth a call of a device other than the lanes.
const WORTH_A_CALL: usize = 32;

/// Runs many descents of one kind of fit. The ends are in the order of the jobs, whatever the device.
pub(crate) trait Descents: Debug + Send + Sync {
    /// Returns whether the ends are certified minima in double precision. If not, they are starting points from which lanes
    /// descend to their certificate in a few steps.
    fn certifies(&self) -> bool;

    /// Runs all descents. A device that fails, or that is asked to stop, may leave a descent at its starting point with
    /// infinite `-ln L`.
    fn descend(
        &self,
        kind: &FitKind<'_>,
        jobs: &[DescentJob<'_>],
        memory: &mut DescentMemory,
    ) -> Vec<DescentEnd>;
}

/// A device that can make descents of several kinds.
pub(crate) trait DescentDevice: Debug + Send + Sync {
    /// Prepares descents of one kind, or returns `None` if lanes have to make them.
    fn prepare(&self, kind: &FitKind<'_>) -> Option<Box<dyn Descents>>;
}

/// Descents in SIMD lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes;

impl Descents for Lanes {
    fn certifies(&self) -> bool {
        true
    }

    fn descend(
        &self,
        kind: &FitKind<'_>,
        jobs: &[DescentJob<'_>],
        memory: &mut DescentMemory,
    ) -> Vec<DescentEnd> {
        descend::descend(kind, jobs, memory)
    }
}

/// Runs all descents on the device of `kind`. The ends are certified in double precision, or the reason is in them.
pub(super) fn descend(
    kind: &FitKind<'_>,
    jobs: &[DescentJob<'_>],
    memory: &mut DescentMemory,
) -> Vec<DescentEnd> {
    if kind.descents.certifies() {
        return kind.descents.descend(kind, jobs, memory);
    }
    if jobs.len() < WORTH_A_CALL {
        return Lanes.descend(kind, jobs, memory);
    }
    let reached = kind.descents.descend(kind, jobs, memory);
    if kind.is_cancelled() {
        return reached;
    }
    let bounds = kind.bounds;
    let starts: Vec<Option<Vec<f64>>> = reached
        .iter()
        .map(|end| {
            // A descent without a usable end is made again in lanes as a whole.
            let mut start = end.is_usable().then(|| end.theta.clone())?;
            for &p in &kind.metric.free {
                start[p] = start[p].clamp(bounds.lower[p], bounds.upper[p]);
            }
            Some(start)
        })
        .collect();
    let again: Vec<DescentJob<'_>> = jobs
        .iter()
        .zip(&starts)
        .map(|(job, start)| DescentJob { start: start.as_deref().unwrap_or(job.start), ..*job })
        .collect();
    let mut ends = Lanes.descend(kind, &again, memory);
    for (end, reached) in ends.iter_mut().zip(&reached) {
        end.iterations += reached.iterations;
        end.evaluations += reached.evaluations;
    }
    ends
}
