//! Products of Kronrod rules over regions.

use super::rules::{Rule, legendre};
use crate::events::program::{Interval, Memory, Program, Slot, Sources, Step, components};
use crate::simd::Level;

/// Number of nodes that are evaluated together.
const LANES: usize = 64;

/// Number of nodes that are evaluated together if there are many integrals over one observable.
const FEW_LANES: usize = 21;

/// A bound that exceeds the values at all nodes by this factor may belong to a part that no node has seen.
const UNSEEN: f64 = 1.25;

/// The results of a rule for one region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) value: f64,
    /// Integral of the absolute value.
    pub(super) size: f64,
    /// Estimate of the error.
    pub(super) error: f64,
    /// Axis along which the error is largest.
    pub(super) axis: usize,
    /// Largest absolute value at a node.
    pub(super) largest: f64,
    /// Volume of the region.
    pub(super) volume: f64,
    /// Whether the rule of low degree was used.
    pub(super) low: bool,
}

/// A rule for every axis of a region.
#[derive(Debug, Clone)]
struct Grid {
    rule: &'static Rule,
    /// For each node of the rule, three factors of the integrand: the weight of the Gauss rule divided by that of the
    /// Kronrod rule, and two Legendre polynomials.
    factors: Vec<[f64; 3]>,
    /// Number of nodes in a region.
    nodes: usize,
}

impl Grid {
    fn new(rule: &'static Rule, dimensions: usize) -> Self {
        let factors = (0..rule.len()).map(|index| {
            let (x, kronrod, gauss) = rule.node(index);
            let [first, second] = rule.degree().map_or([0.0; 2], |degree| legendre(degree, x));
            [gauss / kronrod, first, second]
        });
        let nodes = rule.len().pow(u32::try_from(dimensions).unwrap_or(u32::MAX));
        Self { rule, factors: factors.collect(), nodes }
    }
}

/// Working memory for the evaluation of the integrand at the nodes of a rule.
#[derive(Debug, Clone)]
pub(super) struct Quadrature {
    pub(super) memory: Memory,
    /// The rule, and a rule of low degree.
    grids: Vec<Grid>,
    dimensions: usize,
    lanes: usize,
    /// Coordinates of the nodes of a block: `lanes` numbers per observable.
    nodes: Vec<f64>,
    weights: Vec<f64>,
    /// For each observable and node of a block, the index of the node along the axis.
    places: Vec<usize>,
    /// Index of the current node along each axis.
    index: Vec<usize>,
    /// For each axis, three integrals of the integrand times one of the factors of this axis: the integral with the Gauss
    /// rule along the axis and the Kronrod rule along all others, and two coefficients of Legendre polynomials.
    moments: Vec<[f64; 3]>,
    /// Results of comparisons that depend on observables. For each, whether it was false and true at some node.
    comparisons: Vec<(Slot, bool, bool)>,
}

impl Quadrature {
    pub(super) fn new(program: &Program, dimensions: usize, is_small: bool) -> Self {
        let lanes = if is_small && dimensions == 1 { FEW_LANES } else { LANES };
        let is_comparison =
            |step: &Step| matches!(step, Step::Less(..) | Step::LessEqual(..) | Step::Equal(..));
        let steps = program.all_steps().enumerate();
        let rules = [Some(Rule::of(dimensions)), Rule::low(dimensions)];
        let comparisons = steps.filter(|(_, (step, uniform))| !uniform && is_comparison(step));
        Self {
            memory: Memory::new(program, lanes),
            grids: rules.into_iter().flatten().map(|rule| Grid::new(rule, dimensions)).collect(),
            dimensions,
            lanes,
            nodes: vec![0.0; lanes * dimensions],
            weights: vec![0.0; lanes],
            places: vec![0; lanes * dimensions],
            index: vec![0; dimensions],
            moments: vec![[0.0; 3]; dimensions],
            comparisons: comparisons.map(|(slot, _)| (slot, false, false)).collect(),
        }
    }

    pub(super) fn prepare(&mut self, level: Level, program: &Program, sources: Sources<'_>) {
        program.prepare(level, sources, &mut self.memory);
    }

    /// Returns the number of nodes in a region. `low` selects the rule of low degree.
    pub(super) fn nodes(&self, low: bool) -> usize {
        self.grids[usize::from(low)].nodes
    }

    /// Returns whether there is a rule of low degree.
    pub(super) fn has_low(&self) -> bool {
        self.grids.len() > 1
    }

    pub(super) fn has_comparisons(&self) -> bool {
        !self.comparisons.is_empty()
    }

    /// Integrates the value of the integrand over a region. `low` selects the rule of low degree.
    pub(super) fn apply(
        &mut self,
        level: Level,
        program: &Program,
        region: &[(f64, f64)],
        low: bool,
    ) -> Found {
        let grid = usize::from(low);
        self.memory.set_values_only(true);
        self.moments.fill([0.0; 3]);
        self.comparisons.iter_mut().for_each(|seen| (seen.1, seen.2) = (false, false));
        let (mut value, mut size, mut largest) = (0.0, 0.0, 0.0_f64);
        self.index.fill(0);
        let mut left = self.grids[grid].nodes;
        while left > 0 {
            let n = left.min(self.lanes);
            for lane in 0..n {
                self.put(lane, region, grid);
                self.advance(grid);
            }
            left -= n;
            self.run(level, program, n);
            let values = &self.memory.value(program)[..n];
            for (lane, (y, weight)) in values.iter().zip(&self.weights).enumerate() {
                let part = weight * y;
                value += part;
                size += part.abs();
                largest = largest.max(y.abs());
                for (axis, moments) in self.moments.iter_mut().enumerate() {
                    let factors = &self.grids[grid].factors[self.places[axis * self.lanes + lane]];
                    for (moment, factor) in moments.iter_mut().zip(factors) {
                        *moment += part * factor;
                    }
                }
            }
            for (slot, no, yes) in &mut self.comparisons {
                for result in &self.memory.components(program, *slot)[..n] {
                    if *result == 0.0 { *no = true } else { *yes = true }
                }
            }
        }
        let (mut sum, mut most, mut axis) = (0.0, -1.0, 0);
        for (k, &[by_gauss, first, second]) in self.moments.iter().enumerate() {
            let error = estimate((value - by_gauss).abs(), first.abs().max(second.abs()));
            sum += error;
            if error > most {
                (most, axis) = (error, k);
            }
        }
        let volume = region.iter().map(|(lo, hi)| hi - lo).product();
        Found { value, size, error: sum, axis, largest, volume, low }
    }

    /// Returns the error that follows from a comparison that has the same result at all nodes, but may have another
    /// result elsewhere in the region. `bounds` contains the bounds of all results, and `reach` the bound of the
    /// integral. Returns `None` if there is no such comparison.
    pub(super) fn hidden(&self, bounds: &[Interval], reach: f64, found: &Found) -> Option<f64> {
        let seen = found.largest * found.volume;
        let is_hidden =
            |(slot, no, yes): &(Slot, bool, bool)| no != yes && bounds[*slot].lo != bounds[*slot].hi;
        (reach > UNSEEN * seen && self.comparisons.iter().any(is_hidden)).then_some(reach - seen)
    }

    /// Integrates the value and all derivatives of the integrand over regions, and writes the sums to `out`. Each region
    /// comes with whether the rule of low degree is used.
    pub(super) fn sum<'a>(
        &mut self,
        level: Level,
        program: &Program,
        regions: impl Iterator<Item = (&'a [(f64, f64)], bool)>,
        out: &mut [f64],
    ) {
        self.memory.set_values_only(false);
        out.fill(0.0);
        let mut filled = 0;
        for (region, low) in regions {
            let grid = usize::from(low);
            self.index.fill(0);
            for _ in 0..self.grids[grid].nodes {
                self.put(filled, region, grid);
                self.advance(grid);
                filled += 1;
                if filled == self.lanes {
                    self.add(level, program, filled, out);
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            self.add(level, program, filled, out);
        }
    }

    /// Adds the contributions of the first `n` nodes of the block to `out`.
    fn add(&mut self, level: Level, program: &Program, n: usize, out: &mut [f64]) {
        self.run(level, program, n);
        let value = self.memory.value(program);
        let Some(active) = program.result() else { return };
        debug_assert_eq!(out.len(), components(program.variables()));
        for component in active.columns(program.variables()) {
            let column = &value[component * self.lanes..][..n];
            out[component] += column.iter().zip(&self.weights).map(|(y, w)| y * w).sum::<f64>();
        }
    }

    fn run(&mut self, level: Level, program: &Program, n: usize) {
        let lanes = self.lanes;
        match self.dimensions {
            1 => program.run(level, &[&self.nodes], 0, n, &mut self.memory),
            _ => {
                let columns: Vec<&[f64]> = self.nodes.chunks_exact(lanes).collect();
                program.run(level, &columns, 0, n, &mut self.memory);
            }
        }
    }

    /// Writes the node at the current index to a lane of the block.
    fn put(&mut self, lane: usize, region: &[(f64, f64)], grid: usize) {
        let rule = self.grids[grid].rule;
        let mut weight = 1.0;
        for (axis, (&(lo, hi), &index)) in region.iter().zip(&self.index).enumerate() {
            let (node, kronrod, _) = rule.node(index);
            let (centre, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
            self.nodes[axis * self.lanes + lane] = centre + half * node;
            self.places[axis * self.lanes + lane] = index;
            weight *= half * kronrod;
        }
        self.weights[lane] = weight;
    }

    /// Moves to the next node.
    fn advance(&mut self, grid: usize) {
        let len = self.grids[grid].rule.len();
        for index in &mut self.index {
            *index += 1;
            if *index < len {
                return;
            }
            *index = 0;
        }
    }
}

/// Estimates the error of the Kronrod rule along an axis.
///
/// `difference` is that to the Gauss rule, and shows the size of the terms of a Legendre series at which the Gauss rule
/// fails. `coefficient` is the size of the terms just before. If the terms fall, those at which the Kronrod rule fails
/// are smaller still, by the square of the ratio at least (J. Berntsen, T. O. Espelid, "Error estimation in automatic
/// quadrature routines", ACM Trans. Math. Softw. 17, 1991, 233).
fn estimate(difference: f64, coefficient: f64) -> f64 {
    let ratio = difference / coefficient;
    if ratio < 1.0 { difference * (10.0 * ratio * ratio).min(1.0) } else { difference }
}
