//! Adaptive numerical integration over one observable.

use super::rules::{KRONROD, kronrod};
use crate::events::program::{Memory, Program, Sources, components};
use crate::simd::Level;

/// Number of panels (parts of equal width) into which a fit range is divided at first. Peaks that are narrower than
/// about a hundredth of a panel could be missed.
pub(in crate::events) const PANELS: usize = 16;

/// Largest accepted difference between the results of the Kronrod rule and of the Gauss rule on a panel (a part of the
/// range), as a fraction of the integral. If the integrand is smooth, the error of the Kronrod rule is far smaller than
/// this difference.
const TOLERANCE: f64 = 1e-10;

/// Largest number of times that a panel (a part of the range) is halved.
const MOST_HALVINGS: u32 = 40;

/// Largest number of panels (parts of the range) that an integration evaluates before it stops halving panels.
const MOST_PANELS: usize = 20_000;

/// Working memory of an adaptive integration.
#[derive(Debug, Clone)]
pub(in crate::events) struct Quadrature {
    memory: Memory,
    nodes: Vec<f64>,
    /// Panels (parts of the range) that are not integrated yet. Each has a lower end, an upper end, and the number of
    /// halvings that produced it.
    panels: Vec<(f64, f64, u32)>,
    panel: Vec<f64>,
    /// Number of panels (parts of the range) at the beginning of the integration.
    first: usize,
    /// Upper limit of the error of the last integral, as a fraction of the integral.
    pub(in crate::events) error: f64,
}

impl Quadrature {
    pub(super) fn new(program: &Program, first: usize) -> Self {
        Self {
            memory: Memory::new(program, KRONROD),
            nodes: vec![0.0; KRONROD],
            panels: Vec::with_capacity(first + 2 * MOST_HALVINGS as usize),
            panel: vec![0.0; components(program.variables())],
            first,
            error: 0.0,
        }
    }

    /// Integrates the value and the derivatives of `program` over the range `lo..hi` of its only observable. Panels
    /// (parts of the range) are halved until the Kronrod rule and the Gauss rule agree.
    pub(super) fn integrate(
        &mut self,
        level: Level,
        program: &Program,
        sources: Sources<'_>,
        (lo, hi): (f64, f64),
        out: &mut [f64],
    ) {
        program.prepare(level, sources, &mut self.memory);
        let first = self.first;
        let edge = |i: usize| lo + (hi - lo) * i as f64 / first as f64;
        let mut size = 0.0;
        for i in 0..first {
            self.rule(level, program, edge(i), edge(i + 1));
            size += self.panel[0].abs();
        }
        self.panels.clear();
        self.panels.extend((0..first).rev().map(|i| (edge(i), edge(i + 1), 0)));
        out.fill(0.0);
        let (mut error, mut done) = (0.0, 0);
        while let Some((from, to, halvings)) = self.panels.pop() {
            let difference = self.rule(level, program, from, to);
            done += 1;
            size = size.max(self.panel[0].abs());
            let good = difference <= TOLERANCE * size || !difference.is_finite();
            if good || halvings >= MOST_HALVINGS || done >= MOST_PANELS {
                error += difference;
                for (sum, part) in out.iter_mut().zip(&self.panel) {
                    *sum += part;
                }
            } else {
                let middle = 0.5 * (from + to);
                self.panels.push((middle, to, halvings + 1));
                self.panels.push((from, middle, halvings + 1));
            }
        }
        self.error = error / out[0].abs();
    }

    /// Applies the Kronrod rule to one panel (a part of the range). Returns the difference between the results of the
    /// Kronrod rule and of the Gauss rule.
    fn rule(&mut self, level: Level, program: &Program, from: f64, to: f64) -> f64 {
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        for (index, node) in self.nodes.iter_mut().enumerate() {
            *node = centre + half * kronrod(index).0;
        }
        program.run(level, &[&self.nodes], 0, KRONROD, &mut self.memory);
        self.panel.fill(0.0);
        let value = self.memory.value(program);
        let Some(active) = program.result() else { return f64::INFINITY };
        let mut by_gauss = 0.0;
        for component in active.columns(program.variables()) {
            let column = &value[component * KRONROD..][..KRONROD];
            let mut sum = 0.0;
            for (index, y) in column.iter().enumerate() {
                let (_, weight, gauss) = kronrod(index);
                sum += weight * y;
                if component == 0 {
                    by_gauss += gauss * y;
                }
            }
            self.panel[component] = half * sum;
        }
        (self.panel[0] - half * by_gauss).abs()
    }
}
