//! The search of toys for lower minima, where the model can have several.

use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind, KnownMinimum, descend};
use super::directions::Direction;
use super::flips::flips;
use super::starts::Starts;
use crate::shared_constants::{DISTINCT, EDM_MARGIN, FLIP_ROUNDS, LONG, MOST_DIRECTIONS, SAME};

/// The further start points of a search.
pub(super) struct FurtherStarts<'a> {
    pub(super) starts: &'a Starts,
    /// Where normsys effects add up: every fit also starts from its minimum moved along these.
    pub(super) directions: &'a [Direction],
    /// Free parameters that are asymmetric enough for a second minimum.
    pub(super) nonlinear: &'a [usize],
}

impl FurtherStarts<'_> {
    /// Whether every fit starts from the mirror image of its minimum, or only one that may have several minima.
    fn mirrors_first(&self) -> bool {
        self.directions.len() < MOST_DIRECTIONS
    }

    /// Looks for minima lower than `ends`. First from the points that all fits share; from the minimum found, moved
    /// along each direction to either place; and, unless there are two directions, from the
    /// mirror image of the minimum, all strongly asymmetric parameters on their other side. Where one of these leads
    /// to another minimum, lower or not, there may be more, and where the way was long: these toys start from further
    /// points, the mirror image among them if it was not yet. In strongly nonlinear models, single parameters of the
    /// lowest minimum are flipped in the end.
    ///
    /// Far from the point where the metric was taken a descent may fall below the minimum known and run out of
    /// steps before its certificate. Returns the lowest point of that kind of every toy.
    pub(super) fn find_lower(
        &self,
        kind: &FitKind<'_>,
        jobs: &[DescentJob<'_>],
        ends: &mut [DescentEnd],
        memory: &mut DescentMemory,
    ) -> Vec<Option<KnownMinimum>> {
        let several_minima = ends.iter().map(|end| end.iterations > LONG).collect();
        let unfinished = ends.iter().map(|_| None).collect();
        let mut search = Search { kind, jobs, ends, unfinished, several_minima };
        let converged = search.converged();
        let mut open = converged.clone();
        for (shared, round) in [(&self.starts.first, 0), (&self.starts.second, 1)] {
            let own: Vec<Vec<Vec<f64>>> =
                open.iter().map(|&i| self.own_starts(kind, &search.ends[i].theta, round)).collect();
            let mut starts: Vec<(usize, &[f64])> = Vec::new();
            for (&i, own) in open.iter().zip(&own) {
                starts.extend(shared.iter().chain(own).map(|start| (i, start.as_slice())));
            }
            search.from(&starts, memory);
            open.retain(|&i| search.several_minima[i]);
        }
        if kind.plan.policy.strongly_nonlinear {
            search.flip(self.nonlinear, converged, memory);
        }
        search.lower()
    }

    /// Start points of a round that are made from the minimum known.
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

/// The known minima of some toys.
struct Search<'a> {
    kind: &'a FitKind<'a>,
    jobs: &'a [DescentJob<'a>],
    /// The lowest certified minimum of each.
    ends: &'a mut [DescentEnd],
    /// The lowest point that a further descent reached without a certificate.
    unfinished: Vec<Option<KnownMinimum>>,
    /// Whether a toy seems to have several minima.
    several_minima: Vec<bool>,
}

impl Search<'_> {
    /// The toys that have a minimum.
    fn converged(&self) -> Vec<usize> {
        (0..self.ends.len()).filter(|&i| self.ends[i].converged).collect()
    }

    /// Makes further descents, each of one toy from one start.
    fn from(&mut self, starts: &[(usize, &[f64])], memory: &mut DescentMemory) {
        let before: Vec<KnownMinimum> = self
            .ends
            .iter()
            .map(|best| KnownMinimum { value: best.value, theta: best.theta.clone() })
            .collect();
        let again: Vec<DescentJob<'_>> = starts
            .iter()
            .map(|&(i, start)| DescentJob { start, beat: Some(&before[i]), ..self.jobs[i] })
            .collect();
        for (&(i, _), other) in starts.iter().zip(descend(self.kind, &again, memory)) {
            // Most end before their certificate, as soon as they cannot become the lowest. How far they would have
            // fallen is known to a factor. A start without a finite likelihood tells nothing.
            let distinct = other.value - EDM_MARGIN * other.edm > before[i].value + DISTINCT
                || other.value < before[i].value - DISTINCT;
            self.several_minima[i] |= distinct && other.value.is_finite();
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
        }
    }

    /// Flips single parameters of the minima of the toys `open`, again where that leads lower.
    fn flip(&mut self, nonlinear: &[usize], mut open: Vec<usize>, memory: &mut DescentMemory) {
        for _ in 0..FLIP_ROUNDS {
            if self.kind.is_cancelled() {
                return;
            }
            let before: Vec<f64> = self.ends.iter().map(|best| best.value).collect();
            let mut points: Vec<(usize, Vec<f64>)> = Vec::new();
            for &i in &open {
                if self.kind.is_cancelled() {
                    return;
                }
                let best = &self.ends[i];
                let found = flips(self.kind, &self.jobs[i], (best.value, &best.theta), nonlinear, memory);
                points.extend(found.into_iter().map(|point| (i, point)));
            }
            let starts: Vec<(usize, &[f64])> =
                points.iter().map(|(i, point)| (*i, point.as_slice())).collect();
            self.from(&starts, memory);
            open.retain(|&i| self.ends[i].value < before[i] - SAME);
        }
    }

    /// Points below the minima known.
    fn lower(self) -> Vec<Option<KnownMinimum>> {
        let known = self.unfinished.into_iter().zip(self.ends.iter());
        known.map(|(point, best)| point.filter(|point| point.value < best.value - SAME)).collect()
    }
}
