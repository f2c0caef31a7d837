//! Searches for lower minima of toys, in models that can have several minima.

use super::WIDTH;
use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind};
use super::descents::descend;
use super::directions::Direction;
use super::flips::Flips;
use super::folds::{self, Fold};
use super::known_minimum::{KnownMinimum, ToBeat};
use super::metric::Metric;
use super::starts::Starts;
use crate::optimise::{BUDGET_TIMES, Budget};
use crate::plan::Plan;
use crate::shared_constants::{DISTINCT, EDM_MARGIN, FLIP_ROUNDS, LONG, MOST_DIRECTIONS, SAME};

/// Number of descents of the first round that must seem to end in a higher minimum before a toy of a strongly
/// nonlinear model gets a second round. A single such descent proves little: usually it stopped early, and its EDM is
/// too small to show how far `-ln L` would still have fallen. Of 3 131 fits of toys of the model 1Lbb, 1 487 have one
/// such descent, and 771 have two. The second round finds a lower minimum in three fits, and each of these has three
/// or more such descents.
const LEAST_HIGHER: usize = 2;

/// Price in nanoseconds of one operation (`Plan::operations`) of an evaluation in a lane, and of one multiplication of a
/// search direction, as estimates.
const OPERATION_IN_LANES: f64 = 0.06;
const MULTIPLICATION_IN_LANES: f64 = 0.2;

/// Number of descents of one toy that are begun together. Between them the search may end.
const TOGETHER: usize = 2;

/// The search of a toy in a lane may cost this multiple of its first descent, and in any case this part of what the search of a
/// single fit may always cost, but at least [`LEAST_IN_LANES`] nanoseconds. Descents in lanes are several times cheaper.
const TIMES_IN_LANES: f64 = 2.0 * BUDGET_TIMES;
const ALWAYS_IN_LANES: f64 = 0.2;
const LEAST_IN_LANES: f64 = 3e6;

/// Evaluations of `-ln L` that the search of a toy may make (see "Budget" in `docs/numerics/minima.md`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    always: f64,
}

impl Allowance {
    pub(super) fn new(plan: &Plan, metric: &Metric) -> Self {
        let price = OPERATION_IN_LANES * plan.operations() as f64
            + MULTIPLICATION_IN_LANES * metric.multiplications(plan.n_bins()) as f64;
        Self {
            always: (ALWAYS_IN_LANES * Budget::of_toys(plan, metric.free.len())).max(LEAST_IN_LANES) / price,
        }
    }

    /// Returns the number of evaluations after a first descent of `first` evaluations.
    fn after(&self, first: usize) -> usize {
        (TIMES_IN_LANES * first as f64 + self.always) as usize
    }
}

/// The starting points of the further descents in a search for lower minima.
pub(super) struct FurtherStarts<'a> {
    /// Starting points that all fits of a model share.
    pub(super) starts: &'a Starts,
    /// Directions along which normsys effects add up. Descents start from points that lie along these directions from
    /// the minimum of each fit.
    pub(super) directions: &'a [Direction],
    /// Indices of the free parameters whose effects are asymmetric enough for a second minimum.
    pub(super) nonlinear: &'a [usize],
    /// Finds starting points at which one parameter in `nonlinear` has the opposite sign. `None` unless the model is
    /// strongly nonlinear.
    pub(super) flips: Option<&'a Flips>,
    /// Parameters of functions along which there may be other valleys.
    pub(super) folds: &'a [Fold],
    /// What the search of a toy may cost.
    pub(super) allowance: Allowance,
}

impl FurtherStarts<'_> {
    /// Returns true if every fit has a descent that starts at the mirror image of its minimum, where all parameters
    /// `nonlinear` have the opposite sign. Returns false if only fits that seem to have several minima have such a
    /// descent.
    fn mirrors_first(&self) -> bool {
        self.directions.len() < MOST_DIRECTIONS
    }

    /// Returns whether descents start from points that all fits share, and from points along directions.
    fn scatters(&self) -> bool {
        !self.nonlinear.is_empty() || !self.directions.is_empty()
    }

    /// Searches for minima that are lower than `ends`, which are the results of the first descents. Returns for each
    /// toy the lowest point that is below the known minimum but not certified, or `None` if there is none. Such points
    /// occur far from the point at which the metric was computed: a descent may use up its steps before its point is
    /// certified.
    ///
    /// In the first round, descents of every toy start from the points that all fits share, and from the toy's minimum
    /// moved along each of the `directions`. With fewer than two directions, a descent also starts from the mirror
    /// image of the minimum, at which all parameters `nonlinear` have the opposite sign.
    ///
    /// The second round is for toys that may have more minima. These are the toys whose first descent was long, and
    /// the toys for which a descent of the first round ended in a lower or in a higher minimum. In strongly nonlinear
    /// models the first round has more descents, and [`LEAST_HIGHER`] of them must have ended in higher minima. In the
    /// second round, descents start from more points. They also start from the mirror image, unless the first round
    /// did that.
    ///
    /// In strongly nonlinear models, descents finally start from the lowest minimum of every toy with the sign of a
    /// single parameter changed.
    ///
    /// If functions turn along parameters, descents start from other valleys along these parameters.
    ///
    /// In strongly nonlinear models, `-ln L` of a toy can fall without limit in the first descent. Such toys are
    /// treated before all other toys: descents start from all points that fits share.
    pub(super) fn find_lower(
        &self,
        kind: &FitKind<'_>,
        jobs: &[DescentJob<'_>],
        ends: &mut [DescentEnd],
        memory: &mut DescentMemory,
    ) -> Vec<Option<KnownMinimum>> {
        let several_minima = ends.iter().map(|end| end.iterations > LONG).collect();
        let unfinished = ends.iter().map(|_| None).collect();
        let higher = vec![0; ends.len()];
        let allowed = ends.iter().map(|end| self.allowance.after(end.evaluations)).collect();
        let limits = ends.iter().map(|end| end.evaluations + self.allowance.after(end.evaluations)).collect();
        let mut search = Search { kind, jobs, ends, unfinished, several_minima, higher, allowed, limits };
        if kind.plan.policy.strongly_nonlinear {
            let fallen: Vec<usize> = (0..jobs.len()).filter(|&i| search.ends[i].has_fallen()).collect();
            search.rescue(&self.starts.others, &fallen, memory);
        }
        let converged = search.converged();
        let mut open = if self.scatters() { converged.clone() } else { Vec::new() };
        for (shared, round) in [(&self.starts.first, 0), (&self.starts.second, 1)] {
            let own: Vec<Vec<Vec<f64>>> =
                open.iter().map(|&i| self.own_starts(kind, &search.ends[i].theta, round)).collect();
            let mut starts: Vec<(usize, &[f64])> = Vec::new();
            for (&i, own) in open.iter().zip(&own) {
                starts.extend(shared.iter().chain(own).map(|start| (i, start.as_slice())));
            }
            search.from(&starts, false, memory);
            open.retain(|&i| search.several_minima[i]);
        }
        if let Some(flips) = self.flips {
            search.flip(flips, converged.clone(), memory);
        }
        if !self.folds.is_empty() {
            search.unfold(self.folds, converged, memory);
        }
        search.lower()
    }

    /// Returns those starting points of a round (0 or 1) that depend on the minimum `theta` of the toy.
    fn own_starts(&self, kind: &FitKind<'_>, theta: &[f64], round: usize) -> Vec<Vec<f64>> {
        let (lower, upper) = (&kind.bounds.lower, &kind.bounds.upper);
        let mut starts = Vec::new();
        for direction in self.directions.iter().filter(|_| round == 0) {
            for place in direction.places {
                let mut start = theta.to_vec();
                direction.go(&mut start, place, lower, upper);
                starts.push(start);
            }
        }
        if !self.nonlinear.is_empty() && self.mirrors_first() == (round == 0) {
            let mut start = theta.to_vec();
            for &p in self.nonlinear {
                start[p] = (-start[p]).clamp(lower[p], upper[p]);
            }
            starts.push(start);
        }
        starts
    }
}

/// State of the search for lower minima of several toys.
struct Search<'a> {
    kind: &'a FitKind<'a>,
    jobs: &'a [DescentJob<'a>],
    /// Lowest certified minimum of each toy found so far. If a toy has none, this is the result of its first descent.
    ends: &'a mut [DescentEnd],
    /// For each toy, the lowest point that a further descent reached without a certificate.
    unfinished: Vec<Option<KnownMinimum>>,
    /// For each toy, whether it seems to have several minima.
    several_minima: Vec<bool>,
    /// For each toy, the number of descents that seem to end in a higher minimum.
    higher: Vec<usize>,
    /// For each toy, the number of evaluations that the search may make before it finds a lower minimum, and again
    /// after each one.
    allowed: Vec<usize>,
    /// For each toy, the number of evaluations at which the search ends.
    limits: Vec<usize>,
}

impl Search<'_> {
    /// Returns the indices of the toys that have a certified minimum.
    fn converged(&self) -> Vec<usize> {
        (0..self.ends.len()).filter(|&i| self.ends[i].converged).collect()
    }

    /// Runs further descents and updates the state. Each element of `starts` contains the index of a toy and a starting
    /// point; those of a toy follow each other. If `starts_near` is true, each starting point is next to the known
    /// minimum of its toy. The descents of a toy whose budget is spent are left out.
    fn from(&mut self, starts: &[(usize, &[f64])], starts_near: bool, memory: &mut DescentMemory) {
        let mut waiting: Vec<&[(usize, &[f64])]> = starts.chunk_by(|(a, _), (b, _)| a == b).collect();
        while !waiting.is_empty() {
            let mut together = Vec::new();
            waiting.retain_mut(|of_toy| {
                let (now, later) = of_toy.split_at(TOGETHER.min(of_toy.len()));
                if now.first().is_some_and(|&(i, _)| self.ends[i].evaluations < self.limits[i]) {
                    together.extend_from_slice(now);
                    *of_toy = later;
                    return !later.is_empty();
                }
                false
            });
            self.descend_from(&together, starts_near, memory);
        }
    }

    /// Runs further descents and updates the state.
    fn descend_from(&mut self, starts: &[(usize, &[f64])], starts_near: bool, memory: &mut DescentMemory) {
        let before: Vec<KnownMinimum> = self
            .ends
            .iter()
            .map(|best| KnownMinimum { value: best.value, theta: best.theta.clone() })
            .collect();
        let again: Vec<DescentJob<'_>> = starts
            .iter()
            .map(|&(i, start)| DescentJob {
                start,
                beat: Some(ToBeat { known: &before[i], starts_near }),
                ..self.jobs[i]
            })
            .collect();
        let least_higher = if self.kind.plan.policy.strongly_nonlinear { LEAST_HIGHER } else { 1 };
        for (&(i, _), other) in starts.iter().zip(descend(self.kind, &again, memory)) {
            // Most descents end before they are certified, when they can no longer become the lowest. The EDM limits
            // how far they would still have fallen. A starting point without a finite likelihood gives no
            // information.
            let higher =
                other.value.is_finite() && other.value - EDM_MARGIN * other.edm > before[i].value + DISTINCT;
            self.higher[i] += usize::from(higher);
            self.several_minima[i] |=
                other.value < before[i].value - DISTINCT || self.higher[i] >= least_higher;
            let best = &mut self.ends[i];
            let (iterations, evaluations) =
                (best.iterations + other.iterations, best.evaluations + other.evaluations);
            if other.converged && other.value < best.value {
                *best = other;
            } else if !other.converged && other.is_usable() {
                let least = self.unfinished[i].as_ref().map_or(f64::INFINITY, |least| least.value);
                if other.value < least {
                    self.unfinished[i] = Some(KnownMinimum { value: other.value, theta: other.theta });
                }
            }
            (best.iterations, best.evaluations) = (iterations, evaluations);
            if best.value < before[i].value - DISTINCT {
                self.limits[i] = self.limits[i].max(evaluations + self.allowed[i]);
            }
        }
    }

    /// For the toys with the indices `open`: changes the sign of single parameters at the minimum, and descends from
    /// the resulting points. Repeats this for the toys in which a lower minimum was found.
    fn flip(&mut self, flips: &Flips, mut open: Vec<usize>, memory: &mut DescentMemory) {
        for _ in 0..FLIP_ROUNDS {
            open.retain(|&i| self.ends[i].evaluations < self.limits[i]);
            let before: Vec<f64> = self.ends.iter().map(|best| best.value).collect();
            let mut points: Vec<(usize, Vec<f64>)> = Vec::new();
            for some in open.chunks(WIDTH) {
                if self.kind.is_cancelled() {
                    return;
                }
                let toys: Vec<_> = some.iter().map(|&i| (&self.jobs[i], &self.ends[i])).collect();
                let found = flips.of_minima(self.kind, &toys, memory);
                for (&i, found) in some.iter().zip(found) {
                    points.extend(found.into_iter().map(|point| (i, point)));
                }
            }
            let starts: Vec<(usize, &[f64])> =
                points.iter().map(|(i, point)| (*i, point.as_slice())).collect();
            self.from(&starts, true, memory);
            open.retain(|&i| self.ends[i].value < before[i] - SAME);
        }
    }

    /// For the toys with the indices `open`: descends from points in other valleys along parameters of functions. Repeats this
    /// for the toys in which a lower minimum was found.
    fn unfold(&mut self, folds: &[Fold], mut open: Vec<usize>, memory: &mut DescentMemory) {
        for _ in 0..FLIP_ROUNDS {
            open.retain(|&i| self.ends[i].evaluations < self.limits[i]);
            let before: Vec<f64> = self.ends.iter().map(|best| best.value).collect();
            let mut points: Vec<(usize, Vec<f64>)> = Vec::new();
            for &i in &open {
                if self.kind.is_cancelled() {
                    return;
                }
                let found = folds::starts(self.kind, folds, &self.jobs[i], &self.ends[i], memory);
                points.extend(found.into_iter().map(|point| (i, point)));
            }
            let starts: Vec<(usize, &[f64])> =
                points.iter().map(|(i, point)| (*i, point.as_slice())).collect();
            self.from(&starts, false, memory);
            open.retain(|&i| self.ends[i].value < before[i] - SAME);
        }
    }

    /// Searches for certified minima of the toys with the indices `fallen`, for which `-ln L` fell without limit in the
    /// first descent. Sets [`DescentEnd::falls`] of a toy if `-ln L` falls without limit from all starting points.
    fn rescue(&mut self, starts: &[Vec<f64>], fallen: &[usize], memory: &mut DescentMemory) {
        let again: Vec<(usize, DescentJob<'_>)> = fallen
            .iter()
            .flat_map(|&i| starts.iter().map(move |start| (i, start)))
            .map(|(i, start)| (i, DescentJob { start, beat: None, ..self.jobs[i] }))
            .collect();
        for &i in fallen {
            self.ends[i].falls = true;
        }
        let jobs: Vec<DescentJob<'_>> = again.iter().map(|(_, job)| *job).collect();
        for (&(i, _), other) in again.iter().zip(descend(self.kind, &jobs, memory)) {
            let best = &mut self.ends[i];
            let (iterations, evaluations) =
                (best.iterations + other.iterations, best.evaluations + other.evaluations);
            if other.converged && (!best.converged || other.value < best.value) {
                *best = other;
            } else {
                best.falls &= other.has_fallen();
            }
            (best.iterations, best.evaluations) = (iterations, evaluations);
        }
    }

    /// Returns for each toy the lowest point that has no certificate, if `-ln L` is lower at this point than at the
    /// known minimum, and `None` otherwise.
    fn lower(self) -> Vec<Option<KnownMinimum>> {
        let known = self.unfinished.into_iter().zip(self.ends.iter());
        known.map(|(point, best)| point.filter(|point| point.value < best.value - SAME)).collect()
    }
}
