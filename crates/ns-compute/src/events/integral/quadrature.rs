//! Products of Kronrod rules over regions.

use super::Purpose;
use super::rules::{KRONROD, Rule};
use super::series::Series;
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
    /// For each node of the rule, the weight of the Gauss rule divided by that of the Kronrod rule.
    gauss: Vec<f64>,
    /// Estimates the rate of convergence. `None` for rules of low degree.
    series: Option<Series>,
    /// Number of nodes in a region.
    nodes: usize,
}

impl Grid {
    fn new(rule: &'static Rule, dimensions: usize) -> Self {
        let gauss = (0..rule.len()).map(|index| {
            let (_, kronrod, gauss) = rule.node(index);
            gauss / kronrod
        });
        let nodes = rule.len().pow(u32::try_from(dimensions).unwrap_or(u32::MAX));
        Self { rule, gauss: gauss.collect(), series: Series::new(rule), nodes }
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
    /// For each axis and node along it, the part of the integral that belongs to this node: [`KRONROD`] numbers per axis.
    parts: Vec<f64>,
    /// Whether [`Quadrature::sum`] leaves the derivatives out.
    values_only: bool,
    /// Results of comparisons that depend on observables. For each, whether it was false and true at some node.
    comparisons: Vec<(Slot, bool, bool)>,
}

impl Quadrature {
    pub(super) fn new(program: &Program, dimensions: usize, purpose: Purpose) -> Self {
        let lanes = if purpose != Purpose::Normalisation && dimensions == 1 { FEW_LANES } else { LANES };
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
            parts: vec![0.0; KRONROD * dimensions],
            values_only: purpose == Purpose::Picture,
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
        self.parts.fill(0.0);
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
                for (axis, parts) in self.parts.chunks_exact_mut(KRONROD).enumerate() {
                    parts[self.places[axis * self.lanes + lane]] += part;
                }
            }
            for (slot, no, yes) in &mut self.comparisons {
                for result in &self.memory.components(program, *slot)[..n] {
                    if *result == 0.0 { *no = true } else { *yes = true }
                }
            }
        }
        let (mut sum, mut most, mut axis) = (0.0, -1.0, 0);
        let Grid { gauss, series, .. } = &self.grids[grid];
        for (k, parts) in self.parts.chunks_exact(KRONROD).enumerate() {
            let by_gauss: f64 = parts.iter().zip(gauss).map(|(part, gauss)| part * gauss).sum();
            let difference = (value - by_gauss).abs();
            let error = series.as_ref().map_or(difference, |series| series.error(difference, parts));
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

    /// Integrates the value and all derivatives of the integrand over regions, and writes the sums to `out`. Derivatives that
    /// nobody needs are 0. Each region comes with whether the rule of low degree is used.
    pub(super) fn sum<'a>(
        &mut self,
        level: Level,
        program: &Program,
        regions: impl Iterator<Item = (&'a [(f64, f64)], bool)>,
        out: &mut [f64],
    ) {
        self.memory.set_values_only(self.values_only);
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
        let wanted = if self.values_only { 1 } else { out.len() };
        debug_assert_eq!(out.len(), components(program.variables()));
        for component in active.columns(program.variables()).filter(|c| *c < wanted) {
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
