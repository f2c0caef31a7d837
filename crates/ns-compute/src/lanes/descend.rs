//! Runs eight descents at once, one per SIMD lane. A lane whose descent has finished takes the next fit.
//!
//! The steps are `-H g`. `g` is the gradient, and `H` is the inverse Gauss-Newton metric (see `metric`) with
//! limited-memory BFGS corrections. A step is shortened if it leaves the bounds, and until `-ln L` falls. A descent
//! has converged if the EDM (estimated distance to the minimum) in the corrected metric is at most 1e-12 at two
//! points in a row, or at most 1e-14 at one point. In models whose metric may be far from the true Hessian, these
//! limits are smaller (`SearchPolicy::edm_tolerance`).
//!
//! The scalar optimiser takes over if a step cannot be accepted, if there are too many iterations, or if a product of
//! normsys factors is close to zero.

use super::WIDTH;
use super::derivatives::Derivatives;
use super::descents::Descents;
use super::evaluate::evaluate;
use super::group::{Bounds, Group, absorb, advance, after, before, reach};
use super::known_minimum::{Progress, ToBeat};
use super::metric::Metric;
use super::scratch::Scratch;
use super::solver::{Solver, factor, solve};
use crate::plan::Plan;
use crate::shared_constants::{
    BELOW_SATURATED, EDM_MARGIN, EDM_MARGIN_WITH_DERIVATIVES, FORESEEABLE, FORESEEABLE_WITH_DERIVATIVES,
    GOOD_CONTRACTION, LEAST_DECREASE, LEAST_PRODUCT, MOST_ITERATIONS, MOST_PINS, MOST_TRIALS, SAME,
    SHORTENED, SHORTEST_REACH, SURELY, VALUE_ROUNDINGS,
};
use crate::simd::Level;
use crate::stop::Stop;

/// Working memory of one thread, for fits that share one [`FitKind`].
pub(crate) struct DescentMemory {
    pub(super) group: Group,
    pub(super) scratch: Scratch,
    pub(super) solver: Solver,
    /// Working memory with one number per main bin and lane.
    pub(super) shifts: Vec<f64>,
}

impl DescentMemory {
    pub(super) fn new(plan: &Plan, metric: &Metric) -> Self {
        Self {
            group: Group::new(plan, Derivatives::new(plan, metric)),
            scratch: Scratch::new(plan, Derivatives::new(plan, metric)),
            solver: Solver::new(metric, plan.n_bins()),
            shifts: vec![0.0; plan.n_bins() * WIDTH],
        }
    }
}

/// Inputs that all fits of one kind share, such as plan, bounds and metric.
pub(crate) struct FitKind<'a> {
    pub(crate) plan: &'a Plan,
    pub(super) level: Level,
    pub(crate) metric: &'a Metric,
    pub(crate) bounds: &'a Bounds,
    /// For each parameter, the width of its constraint; `None` without a constraint.
    pub(super) width: &'a [Option<f64>],
    /// Device that makes the descents.
    pub(super) descents: &'a dyn Descents,
    /// Flag that is set when the caller wants to stop. The results of descents are not used after that.
    pub(super) stop: Stop<'a>,
}

impl FitKind<'_> {
    /// Returns true once the caller has asked to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.asked()
    }
}

/// The data and the starting point of one descent.
#[derive(Clone, Copy)]
pub(crate) struct DescentJob<'a> {
    pub(crate) main: &'a [f64],
    pub(crate) aux: &'a [f64],
    /// Starting point, which is inside the bounds. Fixed parameters have their fixed values.
    pub(crate) start: &'a [f64],
    /// A known minimum. The descent ends early, without a certificate, if it is not expected to reach a lower value.
    pub(super) beat: Option<ToBeat<'a>>,
}

impl DescentJob<'_> {
    /// Returns the result of a descent that was cancelled: the starting point, with infinite `-ln L` and EDM.
    pub(crate) fn never_done(&self) -> DescentEnd {
        DescentEnd {
            theta: self.start.to_vec(),
            value: f64::INFINITY,
            held: Vec::new(),
            empty: Vec::new(),
            edm: f64::INFINITY,
            converged: false,
            falls: false,
            iterations: 0,
            evaluations: 0,
        }
    }
}

/// Result of a descent: the last accepted point, and whether this point is a minimum.
#[derive(Debug, Clone)]
pub(crate) struct DescentEnd {
    pub(crate) theta: Vec<f64>,
    /// `-ln L` minus its value in the saturated model. It is infinite if the likelihood at the starting point is
    /// zero.
    pub(crate) value: f64,
    /// Indices of the parameters that are held at a bound.
    pub(crate) held: Vec<usize>,
    /// Indices of the bins without counts whose expected yield is zero or negative.
    pub(crate) empty: Vec<usize>,
    pub(crate) edm: f64,
    /// Whether the point is certified as a minimum.
    pub(crate) converged: bool,
    /// Whether `-ln L` falls without limit in this descent and in the descents from all other starting points of the
    /// toy.
    pub(crate) falls: bool,
    pub(crate) iterations: usize,
    pub(crate) evaluations: usize,
}

impl DescentEnd {
    /// Returns whether the descent ended because `-ln L` fell far below the value of the saturated model.
    pub(super) fn has_fallen(&self) -> bool {
        !self.converged && self.value < BELOW_SATURATED
    }

    /// Returns whether the scalar optimiser can continue from this point. Points below the value of the saturated
    /// model are not used, because there may be no minimum.
    pub(super) fn is_usable(&self) -> bool {
        self.value >= 0.0 && self.value.is_finite() && self.theta.iter().all(|x| x.is_finite())
    }
}

/// State of the descent in one lane.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    /// Index of the job in this lane. It is `usize::MAX` if the lane only repeats the first job.
    job: usize,
    busy: bool,
    /// Whether the starting point still has to be evaluated.
    fresh: bool,
    /// `-ln L` at the accepted point. It is infinite until a point is accepted.
    value: f64,
    noise: f64,
    edm: f64,
    last_edm: f64,
    length: f64,
    trials: usize,
    iterations: usize,
    evaluations: usize,
}

impl Lane {
    /// Returns the state of a lane that begins the job with this index.
    fn new(job: usize) -> Self {
        Self { job, busy: true, fresh: true, value: f64::INFINITY, ..Self::default() }
    }
}

/// Runs all descents `jobs`, each in the next free lane. Returns their results in the order of the jobs. If the
/// caller asks to stop, unfinished descents return infinite values.
pub(super) fn descend(
    kind: &FitKind<'_>,
    jobs: &[DescentJob<'_>],
    memory: &mut DescentMemory,
) -> Vec<DescentEnd> {
    let mut ends: Vec<Option<DescentEnd>> = jobs.iter().map(|_| None).collect();
    let mut waiting = jobs.iter().enumerate();
    let mut lanes = [Lane::default(); WIDTH];
    for (l, lane) in lanes.iter_mut().enumerate() {
        // If there are fewer jobs than lanes, the remaining lanes repeat the first job.
        match waiting.next().or(jobs.first().map(|job| (usize::MAX, job))) {
            Some((index, job)) => {
                load(job, l, &mut memory.group);
                *lane = Lane { busy: index != usize::MAX, ..Lane::new(index) };
            }
            None => return Vec::new(),
        }
    }
    let own = memory.group.derivatives.is_some();
    let (foreseeable, margin) = if own {
        (FORESEEABLE_WITH_DERIVATIVES, EDM_MARGIN_WITH_DERIVATIVES)
    } else {
        (FORESEEABLE, EDM_MARGIN)
    };
    while lanes.iter().any(|lane| lane.busy) {
        if kind.is_cancelled() {
            return ends
                .into_iter()
                .zip(jobs)
                .map(|(done, job)| done.unwrap_or_else(|| job.never_done()))
                .collect();
        }
        evaluate(
            kind.level,
            kind.plan,
            &memory.group.trial,
            &memory.group.main,
            &memory.group.aux,
            &mut memory.scratch,
        );
        let lost = step(kind, memory, &mut lanes);
        for (l, lane) in lanes.iter_mut().enumerate() {
            if !lane.busy {
                continue;
            }
            let tolerance = kind.plan.policy.edm_tolerance;
            let certain = lane.edm <= SURELY * tolerance || lane.edm.max(lane.last_edm) <= tolerance;
            let converged = certain && lane.trials == 0 && !lost[l];
            let beaten = lane.trials == 0
                && jobs.get(lane.job).and_then(|job| job.beat).is_some_and(
                    |ToBeat { known, starts_near }| {
                        let at = Progress { lane: l, value: lane.value, edm: lane.edm };
                        let foreseen = lane.edm <= foreseeable
                            && (lane.value - margin * lane.edm >= known.value - SAME
                                || known.awaits(&at, kind, &memory.group));
                        foreseen || own && known.recognises(&at, starts_near, kind, &memory.group)
                    },
                );
            if !converged && !lost[l] && !beaten {
                continue;
            }
            if let Some(place) = ends.get_mut(lane.job) {
                *place = Some(DescentEnd {
                    theta: of_lane(&memory.group.theta, l).collect(),
                    held: places(of_lane(&memory.group.held, l).map(|held| held != 0.0)),
                    empty: places(of_lane(&memory.scratch.lambda, l).map(|lambda| !(lambda > 0.0))),
                    value: lane.value,
                    edm: lane.edm,
                    converged,
                    falls: false,
                    iterations: lane.iterations,
                    evaluations: lane.evaluations,
                });
            }
            if let Some((index, job)) = waiting.next() {
                load(job, l, &mut memory.group);
                *lane = Lane::new(index);
            } else {
                lane.busy = false;
            }
        }
    }
    ends.into_iter().flatten().collect()
}

/// Returns `-ln L` minus its value in the saturated model at all `points`, for the data of `job`. The value is
/// infinite where the likelihood is zero.
pub(super) fn values(
    kind: &FitKind<'_>,
    job: &DescentJob<'_>,
    points: &[Vec<f64>],
    memory: &mut DescentMemory,
) -> Vec<f64> {
    let mut values = Vec::with_capacity(points.len());
    for eight in points.chunks(WIDTH) {
        // If there are fewer points than lanes, the remaining lanes repeat them.
        for (l, point) in eight.iter().cycle().take(WIDTH).enumerate() {
            load(&DescentJob { start: point, ..*job }, l, &mut memory.group);
        }
        let DescentMemory { group, scratch, .. } = &mut *memory;
        evaluate(kind.level, kind.plan, &group.trial, &group.main, &group.aux, scratch);
        values.extend(scratch.value.iter().take(eight.len()));
    }
    values
}

/// Iterates over the elements of an array that belong to one lane.
fn of_lane(all: &[f64], lane: usize) -> impl ExactSizeIterator<Item = f64> {
    all.as_chunks::<WIDTH>().0.iter().map(move |eight| eight[lane])
}

/// Returns the indices of the elements of `holds` that are true.
fn places(holds: impl Iterator<Item = bool>) -> Vec<usize> {
    holds.enumerate().filter(|(_, holds)| *holds).map(|(i, _)| i).collect()
}

/// Writes the data and the starting point of a job to a lane of `group`.
pub(super) fn load(job: &DescentJob<'_>, lane: usize, group: &mut Group) {
    let spread = |from: &[f64], to: &mut [f64]| {
        for (to, from) in to.as_chunks_mut::<WIDTH>().0.iter_mut().zip(from) {
            to[lane] = *from;
        }
    };
    spread(job.main, &mut group.main);
    spread(job.aux, &mut group.aux);
    spread(job.start, &mut group.trial);
    spread(job.start, &mut group.theta);
    group.forget(lane);
}

/// Accepts or rejects the trial point of each lane, and computes the next trial point. Returns for each lane whether
/// its descent has failed.
fn step(kind: &FitKind<'_>, memory: &mut DescentMemory, lanes: &mut [Lane; WIDTH]) -> [bool; WIDTH] {
    let DescentMemory { group, scratch, solver, .. } = memory;
    let free = &kind.metric.free;
    let mut lost = [false; WIDTH];
    let (mut accept, mut fresh) = ([0.0; WIDTH], [0.0; WIDTH]);
    for (l, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.busy) {
        lane.evaluations += 1;
        let value = scratch.value[l];
        let bound = lane.value
            + LEAST_DECREASE * lane.length * group.descent[l]
            + VALUE_ROUNDINGS * f64::EPSILON * lane.noise;
        let good = if lane.fresh { value.is_finite() } else { value <= bound };
        if good && scratch.least[l] > LEAST_PRODUCT {
            accept[l] = 1.0;
            fresh[l] = f64::from(u8::from(lane.fresh));
            lane.fresh = false;
            lane.value = value;
            lane.noise = scratch.noise[l];
            lane.trials = 0;
            lane.iterations += 1;
            lost[l] = lane.iterations > MOST_ITERATIONS || value < BELOW_SATURATED;
        } else {
            lane.trials += 1;
            lost[l] = lane.fresh || lane.trials > MOST_TRIALS || !(scratch.least[l] > LEAST_PRODUCT);
        }
    }
    absorb(kind.level, free, kind.bounds, scratch, &accept, &fresh, group);
    for l in 0..WIDTH {
        if group.turned[l] != 0.0 {
            group.forget(l);
        }
    }
    let mut length = [1.0; WIDTH];
    for pin in 0..=MOST_PINS {
        factor(kind.level, kind.metric, group, solver);
        before(kind.level, free, group);
        solve(kind.level, kind.metric, group.derivatives.as_ref(), &group.from, solver, &mut group.to);
        after(kind.level, free, &accept, group);
        reach(kind.level, free, kind.bounds, group, &mut length);
        let mut pinned = false;
        for (l, lane) in lanes.iter().enumerate() {
            if lane.busy && accept[l] == 1.0 && length[l] < SHORTEST_REACH {
                pinned |= pin < MOST_PINS && pin_outward(l, free, kind.bounds, group);
                lost[l] |= pin == MOST_PINS;
            }
        }
        if !pinned {
            break;
        }
    }
    for (l, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.busy) {
        if accept[l] == 1.0 {
            lane.last_edm = if fresh[l] == 1.0 { f64::INFINITY } else { lane.edm };
            lane.edm = -0.5 * group.descent[l];
            if fresh[l] == 1.0 {
                group.corrects[l] = 0.0;
            } else if lane.edm > GOOD_CONTRACTION * lane.last_edm {
                group.corrects[l] = 1.0;
            }
            if !(lane.edm >= 0.0 && lane.edm.is_finite()) {
                lost[l] = true;
                group.clear(l);
            }
            lane.length = length[l];
        } else {
            lane.length *= SHORTENED;
        }
        length[l] = lane.length;
    }
    advance(kind.level, free, kind.bounds, &length, group);
    lost
}

/// Holds those parameters of a lane that are at a bound and whose search direction leads out of the bounds. Returns
/// true if at least one of these parameters was not held before.
fn pin_outward(lane: usize, free: &[usize], bounds: &Bounds, group: &mut Group) -> bool {
    let mut any = false;
    for &p in free {
        let i = p * WIDTH + lane;
        let (theta, step) = (group.theta[i], group.direction[i]);
        let outward = (theta <= bounds.lower[p] && step < 0.0) || (theta >= bounds.upper[p] && step > 0.0);
        if outward && group.held[i] == 0.0 {
            group.held[i] = 1.0;
            group.slope[i] = 0.0;
            any = true;
        }
    }
    if any {
        group.forget(lane);
    }
    any
}
