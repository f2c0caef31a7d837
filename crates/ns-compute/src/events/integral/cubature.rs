//! Adaptive numerical integration over boxes of one or more observables.
//!
//! The box is divided into regions, always where the estimated error is largest, until the sum of the errors is small.
//! Bounds from interval arithmetic (`reach`) find peaks that lie between the nodes of a rule: a region in which the
//! integrand may have such a peak is divided before any rule is applied, and the error of a region without a rule is its
//! volume times the bound. Regions with negligible bounds never need a rule. Where the integrand has a pole, the
//! contributions of ever smaller regions decide whether the integral exists (`singular`).

use std::cmp::Ordering;

use super::Purpose;
use super::quadrature::{Found, Quadrature};
use super::reach::{Reach, Reaches};
use super::regions::{Region, Regions, State};
use super::singular::{Chain, Outlook};
use crate::events::program::{Program, Sources};
use crate::simd::Level;

/// Largest accepted sum of the errors, as a fraction of the integral of the absolute value: for one observable, for two,
/// and for more.
const TOLERANCE: [f64; 3] = [1e-12, 1e-10, 1e-9];

/// The same for bins of pictures and tables, which warn about an error above 1e-6.
const ROUGH_TOLERANCE: [f64; 3] = [1e-12, 1e-8, 1e-7];

/// Largest number of regions into which bounds divide a bin of a picture. Then rules decide. Bounds of long formulae are loose,
/// and a picture has hundreds of bins.
const ROUGH_REGIONS: usize = 8;

/// Largest number of nodes of one integration, for one observable and for several.
const MOST_NODES: [usize; 2] = [420_000, 4_000_000];

/// Time for the bounds of one region, in units of the time for one node.
const NODES_PER_BOUND: usize = 32;

/// Number of divided regions with poles, without a finite bound of any part, after which bounds are not used.
const MOST_WITHOUT_BOUNDS: usize = 64;

/// A rule of low degree is good enough for a region if its error is at most this fraction of the accepted error.
const LOW_SHARE: f64 = 1e-3;

/// A rule is applied where the integrand varies by at most this fraction, whatever its parts do.
const FLAT: f64 = 0.01;

/// Regions whose share of the integral is below this number are left out of the derivatives.
const LEAST_SHARE: f64 = 1e-18;

/// Number of regions in which the integrand is infinite at a node, and which are divided for that. A pole may be at a
/// node by chance.
const MOST_OVERFLOWS: usize = 16;

/// Relative rounding error of an integrand, divided by the logarithm of the integrand.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Why an integration ended without a result.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Problem {
    /// The integrand is not a number at a node.
    NotANumber,
    /// The contributions of the regions around a pole do not fall.
    Diverges,
    /// The integrand or its integral over a region is out of the range of doubles.
    Overflow,
}

/// Working memory of an integration.
#[derive(Debug, Clone)]
pub(in crate::events) struct Cubature {
    quadrature: Quadrature,
    reaches: Reaches,
    dimensions: usize,
    tolerance: f64,
    /// Largest number of regions that bounds may make.
    most_bounded: usize,
    regions: Regions,
    chains: Vec<Chain>,
    /// Sides of the region that is divided, and of its halves.
    whole: Vec<(f64, f64)>,
    halves: [Vec<(f64, f64)>; 2],
    /// Number of nodes so far.
    spent: usize,
    without_bounds: usize,
    overflows: usize,
    /// Whether the integrand is multiplied by a power of 2. There are no bounds of such an integrand.
    is_scaled: bool,
    /// Estimated error of the last integral, as a fraction of the integral.
    pub(in crate::events) error: f64,
    /// Whether the last integral is infinite because the integrand has a pole, and not because it overflowed.
    pub(super) diverges: bool,
}

impl Cubature {
    /// Allocates the memory.
    pub(in crate::events) fn new(program: &Program, dimensions: usize, purpose: Purpose) -> Self {
        let (tolerances, most_bounded) = match purpose {
            Purpose::Picture if dimensions > 1 => (ROUGH_TOLERANCE, ROUGH_REGIONS),
            _ => (TOLERANCE, usize::MAX),
        };
        let sides = vec![(0.0, 0.0); dimensions];
        Self {
            quadrature: Quadrature::new(program, dimensions, purpose),
            reaches: Reaches::default(),
            dimensions,
            tolerance: tolerances[dimensions.clamp(1, 3) - 1],
            most_bounded,
            regions: Regions::new(dimensions),
            chains: Vec::new(),
            whole: sides.clone(),
            halves: [sides.clone(), sides],
            spent: 0,
            without_bounds: 0,
            overflows: 0,
            is_scaled: false,
            error: 0.0,
            diverges: false,
        }
    }

    /// Multiplies the integrand by `2^exponent`. The integrand itself may be out of the range of doubles.
    pub(super) fn scale(&mut self, program: &Program, exponent: i64) {
        self.quadrature.memory.scale(program, exponent);
        self.is_scaled = true;
        // The logarithm of the integrand is as large as `exponent`, and its rounding errors are in proportion.
        self.tolerance = self.tolerance.max(ROUNDING * exponent.unsigned_abs() as f64);
    }

    /// Integrates the value and the derivatives of `program` over a box. `edges` contains, for each observable, the ends
    /// of the box and the places between them at which it is divided first. If the integral is infinite, its value is
    /// infinity. If the integrand is not a number, neither is the integral.
    pub(in crate::events) fn integrate(
        &mut self,
        level: Level,
        program: &Program,
        sources: Sources<'_>,
        edges: &[Vec<f64>],
        out: &mut [f64],
    ) {
        self.quadrature.prepare(level, program, sources);
        self.reaches.prepare(program, &self.quadrature.memory);
        self.diverges = false;
        match self.divide(level, program, edges) {
            Ok(()) => {
                let least = LEAST_SHARE * self.regions.size();
                let wanted = self.regions.all().filter(|(region, _)| region.size > least);
                let wanted = wanted.map(|(region, sides)| (sides, region.low));
                self.quadrature.sum(level, program, wanted, out);
                let error = self.regions.error();
                self.error = if error == 0.0 { 0.0 } else { error / out[0].abs() };
            }
            Err(problem) => {
                out.fill(f64::NAN);
                if problem != Problem::NotANumber {
                    out[0] = f64::INFINITY;
                }
                self.diverges = problem == Problem::Diverges;
                self.error = f64::INFINITY;
            }
        }
    }

    /// Divides the box into regions until the sum of their errors is small or the budget is spent.
    fn divide(&mut self, level: Level, program: &Program, edges: &[Vec<f64>]) -> Result<(), Problem> {
        self.regions.clear();
        self.chains.clear();
        (self.spent, self.without_bounds, self.overflows) = (0, 0, 0);
        let most = MOST_NODES[usize::from(self.dimensions > 1)];
        let count: usize = edges.iter().map(|edges| edges.len() - 1).product();
        for number in 0..count {
            let mut rest = number;
            for (side, edges) in self.whole.iter_mut().zip(edges) {
                let at = rest % (edges.len() - 1);
                rest /= edges.len() - 1;
                *side = (edges[at], edges[at + 1]);
            }
            let reach = self.bound(program, None);
            let place = self.regions.add(&self.whole);
            self.wait(place, reach, None);
        }
        while self.spent < most && !self.regions.are_good(self.tolerance) {
            let Some(place) = self.regions.pop() else { return Ok(()) };
            self.improve(level, program, place)?;
        }
        if self.spent >= most {
            self.finish(level, program, most / 4);
        }
        self.regions.add_up();
        Ok(())
    }

    /// Applies a rule to the regions that are left without one, so that no known part of the integral is missing. Their
    /// errors stay. `most` limits the number of nodes.
    fn finish(&mut self, level: Level, program: &Program, most: usize) {
        let most = self.spent + most;
        while let Some(place) = self.regions.pop().filter(|_| self.spent < most) {
            let region = self.read(place);
            if let State::Waiting { .. } | State::Singular(_) = region.state {
                self.spent += self.quadrature.nodes(false);
                let found = self.quadrature.apply(level, program, &self.whole, false);
                if found.size.is_finite() {
                    let error = region.error.max(found.error);
                    self.regions
                        .set(place, Region { state: State::Closed, size: found.size, error, low: false });
                }
            }
        }
    }

    /// Lowers the error of a region: divides it, or applies a rule.
    fn improve(&mut self, level: Level, program: &Program, place: usize) -> Result<(), Problem> {
        let region = self.read(place);
        match region.state {
            State::Waiting { wide: None, unseen } => match self.apply(level, program) {
                Err(Problem::Overflow) if self.may_avoid_node() => {
                    for (half, place) in self.replace(place).into_iter().enumerate() {
                        let reach = self.bound(program, Some(half));
                        self.wait(place, reach, None);
                    }
                }
                found => self.done(place, &found?, unseen),
            },
            State::Waiting { wide: Some(axis), .. } => {
                if self.halve(axis) {
                    for (half, place) in self.replace(place).into_iter().enumerate() {
                        let reach = self.bound(program, Some(half));
                        self.wait(place, reach, None);
                    }
                } else {
                    let found = self.apply(level, program)?;
                    self.done(place, &found, region.error);
                    self.regions.close(place);
                }
            }
            State::Singular(chain) => self.improve_singular(level, program, place, chain)?,
            State::Done(axis) => {
                if !self.halve(axis) {
                    self.regions.close(place);
                    return Ok(());
                }
                for place in self.replace(place) {
                    self.read(place);
                    match self.apply(level, program) {
                        Err(Problem::Overflow) if self.overflows < MOST_OVERFLOWS => {
                            let state = State::Waiting { wide: None, unseen: 0.0 };
                            self.regions.set(place, Region::without_rule(state, f64::INFINITY));
                        }
                        found => self.done(place, &found?, 0.0),
                    }
                }
            }
            State::Closed => {}
        }
        Ok(())
    }

    /// Halves the region `whole`, in which the integrand is infinite at a node, along the side that is longest. Returns false
    /// if there are too many such regions, or the region is too small.
    fn may_avoid_node(&mut self) -> bool {
        self.overflows += 1;
        let length = |axis: &usize| {
            let (lo, hi) = self.whole[*axis];
            (hi - lo) / self.reaches.length(*axis)
        };
        let axis = (0..self.dimensions).max_by(|a, b| length(a).total_cmp(&length(b))).unwrap_or(0);
        !self.is_scaled && self.overflows <= MOST_OVERFLOWS && self.halve(axis)
    }

    /// Divides a region with a pole.
    fn improve_singular(
        &mut self,
        level: Level,
        program: &Program,
        place: usize,
        chain: usize,
    ) -> Result<(), Problem> {
        let Some((axis, reaches)) = self.best_axis(program, self.chains[chain].is_rough) else {
            self.regions.close(place);
            return Ok(());
        };
        self.halve(axis);
        let places = self.replace(place);
        let (mut shell, mut error, mut singular) = (0.0, 0.0, 0);
        for (place, reach) in places.into_iter().zip(reaches) {
            if reach.singular {
                singular += 1;
                continue;
            }
            self.read(place);
            let found = self.apply(level, program)?;
            shell += found.size;
            error += found.error;
            if reach.wide.is_some() { self.wait(place, reach, None) } else { self.done(place, &found, 0.0) }
        }
        match singular {
            0 => return Ok(()),
            // On one axis, a region is never too long.
            1 => self.chains[chain].push(shell, if self.dimensions > 1 { error } else { 0.0 }),
            _ => self.without_bounds += 1,
        }
        let outlook = self.chains[chain].outlook(self.regions.size());
        match outlook {
            Outlook::Infinite => return Err(Problem::Diverges),
            Outlook::Overflow => return Err(Problem::Overflow),
            Outlook::Ended | Outlook::Open => {}
        }
        let mut own = Some(chain);
        for (place, reach) in places.into_iter().zip(reaches) {
            if reach.singular {
                let own = own.take().unwrap_or_else(|| {
                    let copy = self.chains[chain].clone();
                    self.chains.push(copy);
                    self.chains.len() - 1
                });
                self.wait(place, reach, Some(own));
                if outlook == Outlook::Ended {
                    self.regions.close(place);
                }
            }
        }
        Ok(())
    }

    /// Finds the axis along which the region `whole`, which has a pole, is best divided: the bounds of the two halves are
    /// smallest. If `is_rough`, the longest side is divided. Returns the axis and the bounds of the halves, or `None` if the
    /// region is too small.
    fn best_axis(&mut self, program: &Program, is_rough: bool) -> Option<(usize, [Reach; 2])> {
        let mut best: Option<(usize, [Reach; 2], [f64; 3])> = None;
        for axis in 0..self.dimensions {
            if !self.halve(axis) {
                continue;
            }
            let reaches = [0, 1].map(|half| self.bound(program, Some(half)));
            let infinite = reaches.iter().filter(|reach| reach.size == f64::INFINITY).count() as f64;
            let finite: f64 = reaches.iter().map(|reach| reach.size).filter(|size| size.is_finite()).sum();
            let (lo, hi) = self.whole[axis];
            let length = (hi - lo) / self.reaches.length(axis);
            let rank = if is_rough { [-length, infinite, finite] } else { [infinite, finite, -length] };
            let is_better = |other: &[f64; 3]| {
                let pairs = rank.iter().zip(other);
                pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()) == Some(Ordering::Less)
            };
            if best.as_ref().is_none_or(|(_, _, other)| is_better(other)) {
                best = Some((axis, reaches, rank));
            }
        }
        best.map(|(axis, reaches, _)| (axis, reaches))
    }

    /// Bounds the integrand within the region `whole`, or within one of its halves.
    fn bound(&mut self, program: &Program, half: Option<usize>) -> Reach {
        if self.is_scaled {
            return Reach { size: f64::NAN, spread: f64::NAN, wide: None, singular: false };
        }
        self.spent += NODES_PER_BOUND;
        self.reaches.of(program, half.map_or(&self.whole, |half| &self.halves[half]))
    }

    /// Writes the halves of the region `whole` to `halves`. Returns false if there are not enough numbers between its
    /// ends.
    fn halve(&mut self, axis: usize) -> bool {
        let (lo, hi) = self.whole[axis];
        let middle = 0.5 * lo + 0.5 * hi;
        for half in &mut self.halves {
            half.copy_from_slice(&self.whole);
        }
        self.halves[0][axis] = (lo, middle);
        self.halves[1][axis] = (middle, hi);
        hi - lo > 4096.0 * f64::EPSILON * lo.abs().max(hi.abs()) && hi - lo > 1e-290
    }

    /// Replaces a region by its halves, and returns their places.
    fn replace(&mut self, place: usize) -> [usize; 2] {
        self.regions.set_sides(place, &self.halves[0]);
        [place, self.regions.add(&self.halves[1])]
    }

    /// Copies the sides of a region to `whole`. Returns what is known about the region.
    fn read(&mut self, place: usize) -> Region {
        let (region, sides) = self.regions.get(place);
        self.whole.copy_from_slice(sides);
        region
    }

    /// Applies a rule to the region `whole`.
    fn apply(&mut self, level: Level, program: &Program) -> Result<Found, Problem> {
        let mut low = None;
        if self.quadrature.has_low() {
            self.spent += self.quadrature.nodes(true);
            let found = self.quadrature.apply(level, program, &self.whole, true);
            let negligible = LOW_SHARE * self.tolerance * self.regions.size().max(found.size);
            low = Some(found).filter(|found| found.error <= negligible);
        }
        let mut found = match low {
            Some(found) => found,
            None => {
                self.spent += self.quadrature.nodes(false);
                self.quadrature.apply(level, program, &self.whole, false)
            }
        };
        if found.value.is_nan() {
            return Err(Problem::NotANumber);
        }
        if !found.size.is_finite() {
            return Err(Problem::Overflow);
        }
        if self.quadrature.has_comparisons() {
            let reach = self.bound(program, None);
            found.error += self.quadrature.hidden(&self.reaches.bounds, reach.size, &found).unwrap_or(0.0);
        }
        Ok(found)
    }

    /// Makes a region wait, with the error that follows from its bounds.
    fn wait(&mut self, place: usize, reach: Reach, chain: Option<usize>) {
        let is_blind = reach.size.is_nan() || (reach.singular && self.without_bounds >= MOST_WITHOUT_BOUNDS);
        let (state, error) = match (reach.singular, chain) {
            // Without usable bounds a rule decides.
            _ if is_blind => (State::Waiting { wide: None, unseen: 0.0 }, f64::INFINITY),
            (true, Some(chain)) => (State::Singular(chain), self.chains[chain].remainder()),
            (true, None) => {
                self.chains.push(Chain::default());
                (State::Singular(self.chains.len() - 1), f64::INFINITY)
            }
            // If the integrand is almost constant, only its small variation can be missed.
            (false, _) if reach.size.is_finite() && reach.spread <= FLAT * reach.size => {
                let unseen = if reach.wide.is_some() { reach.spread } else { 0.0 };
                (State::Waiting { wide: None, unseen }, reach.size)
            }
            (false, _) => {
                let wide = reach.wide.filter(|_| self.regions.count() < self.most_bounded);
                (State::Waiting { wide, unseen: 0.0 }, reach.size)
            }
        };
        self.regions.set(place, Region::without_rule(state, error));
    }

    /// Stores what a rule has found. The error is at least `least`.
    fn done(&mut self, place: usize, found: &Found, least: f64) {
        let (state, error) = (State::Done(found.axis), found.error.max(least));
        self.regions.set(place, Region { state, size: found.size, error, low: found.low });
    }
}
