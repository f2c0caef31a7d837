//! Numerical integration over several observables with a product of Kronrod rules. The grid is refined until the
//! integral is stable.

use super::rules::{KRONROD, kronrod};
use crate::events::program::{Memory, Program, Sources, components};
use crate::simd::Level;

/// The refinement of the grid ends when the integral changes by at most this fraction.
const TOLERANCE: f64 = 1e-11;

/// Largest number of nodes (points at which the integrand is evaluated) in one refinement.
const MOST_NODES: f64 = 4e6;

/// Number of nodes (points at which the integrand is evaluated) in a block. The nodes of a block are evaluated
/// together.
const LANES: usize = 64;

/// Working memory of an integration over several observables.
#[derive(Debug, Clone)]
pub(in crate::events) struct TensorQuadrature {
    memory: Memory,
    /// Coordinates of the nodes of a block, one array per observable.
    nodes: Vec<[f64; LANES]>,
    weights: [f64; LANES],
    before: Vec<f64>,
    /// Index of the current node in each observable.
    index: Vec<usize>,
    /// Change of the integral in the last refinement, as a fraction of the integral.
    pub(in crate::events) error: f64,
}

impl TensorQuadrature {
    pub(super) fn new(program: &Program, dimensions: usize) -> Self {
        Self {
            memory: Memory::new(program, LANES),
            nodes: vec![[0.0; LANES]; dimensions],
            weights: [0.0; LANES],
            before: vec![0.0; components(program.variables())],
            index: vec![0; dimensions],
            error: 0.0,
        }
    }

    /// Integrates the value and the derivatives of `program` over a box. The range of each observable is divided into
    /// panels, whose number is doubled until the integral is stable.
    pub(super) fn integrate(
        &mut self,
        level: Level,
        program: &Program,
        sources: Sources<'_>,
        ends: &[(f64, f64)],
        out: &mut [f64],
    ) {
        program.prepare(level, sources, &mut self.memory);
        self.sum(level, program, ends, 1, out);
        let mut panels = 2;
        loop {
            self.before.copy_from_slice(out);
            self.sum(level, program, ends, panels, out);
            self.error = ((out[0] - self.before[0]) / out[0]).abs();
            panels *= 2;
            let nodes = ((panels * KRONROD) as f64).powi(ends.len() as i32);
            if self.error <= TOLERANCE || !self.error.is_finite() || nodes > MOST_NODES {
                break;
            }
        }
    }

    /// Computes the integral with a product of Kronrod rules. The range of each observable is divided into `panels`
    /// panels.
    fn sum(&mut self, level: Level, program: &Program, ends: &[(f64, f64)], panels: usize, out: &mut [f64]) {
        out.fill(0.0);
        self.index.fill(0);
        let per_axis = panels * KRONROD;
        let mut filled = 0;
        'nodes: loop {
            let mut weight = 1.0;
            for (axis, (&(lo, hi), &index)) in ends.iter().zip(&self.index).enumerate() {
                let (node, kronrod, _) = kronrod(index % KRONROD);
                let half = 0.5 * (hi - lo) / panels as f64;
                self.nodes[axis][filled] = lo + half * ((2 * (index / KRONROD) + 1) as f64 + node);
                weight *= half * kronrod;
            }
            self.weights[filled] = weight;
            filled += 1;
            if filled == LANES {
                self.add(level, program, filled, out);
                filled = 0;
            }
            for index in &mut self.index {
                *index += 1;
                if *index < per_axis {
                    continue 'nodes;
                }
                *index = 0;
            }
            break;
        }
        self.add(level, program, filled, out);
    }

    /// Adds the contributions of the first `n` nodes (points at which the integrand is evaluated) of the block to
    /// `out`.
    fn add(&mut self, level: Level, program: &Program, n: usize, out: &mut [f64]) {
        let columns: Vec<&[f64]> = self.nodes.iter().map(<[f64; LANES]>::as_slice).collect();
        program.run(level, &columns, 0, n, &mut self.memory);
        let value = self.memory.value(program);
        let Some(active) = program.result() else { return };
        for component in active.columns(program.variables()) {
            let column = &value[component * LANES..][..n];
            out[component] += column.iter().zip(&self.weights).map(|(y, w)| y * w).sum::<f64>();
        }
    }
}
