//! Computes sums over the events of a channel. The events are handled in blocks of [`BLOCK`] events.

use super::block::add_block;
use super::channel::ChannelPlan;
use super::leaf::LeafMemory;
use crate::simd::Level;

/// Number of events in a block. The steps of a computation are done for one block after the other.
pub(super) const BLOCK: usize = 128;

/// An array with one number for each of the [`BLOCK`] events of a block.
pub(super) type Column = [f64; BLOCK];

/// Number of events in a piece. A piece is the part of the events that one thread sums at a time. The sums of pieces
/// are added in order, so results do not depend on the number of threads.
pub(super) const PIECE: usize = 16_384;

/// The sum `-sum w ln f` over events, and its derivatives with respect to the coordinates of the channel (the
/// amplitudes of its terms and the shape variables of its densities). `w` is the weight of an event, and `f` the
/// density at the event.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    /// The sum `-sum w ln f`, with the weight `w` and the density `f` of each event.
    pub(super) value: f64,
    /// Sum of the absolute values of the terms of `value`. Rounding errors of `value` are proportional to it.
    pub(super) scale: f64,
    /// First derivatives of `value` with respect to the coordinates of the channel.
    pub(super) gradient: Vec<f64>,
    /// The sums `sum w (f_a / f) (f_b / f)` for all pairs of coordinates `a` and `b`, stored as a lower triangle, row
    /// by row. `w` is the weight of an event, `f` its density, and `f_a` the derivative of `f` with respect to `a`.
    pub(super) squares: Vec<f64>,
    /// The sums `-sum w f_ab / f` for all pairs of coordinates `a` and `b`, stored as a lower triangle, row by row. `w`
    /// is the weight of an event, `f` its density, and `f_ab` the second derivative of `f`. The Hessian of `value` is
    /// the sum of `squares` and `bends`.
    pub(super) bends: Vec<f64>,
    /// Index of the first event whose density is not positive or not finite; `None` if there is no such event.
    pub(super) bad: Option<usize>,
}

impl Sums {
    pub(super) fn new(coordinates: usize) -> Self {
        let pairs = coordinates * (coordinates + 1) / 2;
        Self {
            gradient: vec![0.0; coordinates],
            squares: vec![0.0; pairs],
            bends: vec![0.0; pairs],
            ..Self::default()
        }
    }

    /// Sets all sums to zero.
    pub(super) fn clear(&mut self) {
        (self.value, self.scale, self.bad) = (0.0, 0.0, None);
        for array in [&mut self.gradient, &mut self.squares, &mut self.bends] {
            array.fill(0.0);
        }
    }

    /// Adds `other`, the sums over the next piece of the events, to `self`.
    pub(super) fn add(&mut self, other: &Self) {
        self.value += other.value;
        self.scale += other.scale;
        self.bad = self.bad.or(other.bad);
        for (mine, theirs) in [
            (&mut self.gradient, &other.gradient),
            (&mut self.squares, &other.squares),
            (&mut self.bends, &other.bends),
        ] {
            for (to, from) in mine.iter_mut().zip(theirs) {
                *to += from;
            }
        }
    }
}

/// Working memory of one thread for the sums of one channel.
#[derive(Debug, Clone)]
pub(super) struct SumMemory {
    pub(super) leaves: Vec<LeafMemory>,
    /// For each term of the density, the product of its leaves (basic densities) for each event of a block.
    pub(super) products: Vec<Column>,
    /// For each term with several leaves (basic densities), and for each of these leaves, the product of the term's
    /// other leaves.
    pub(super) others: Vec<Vec<Column>>,
    /// 1 divided by the density, for each event of a block.
    pub(super) inverse: Column,
    pub(super) weights: Column,
    /// For each coordinate (an amplitude or a shape variable), the derivative of the density with respect to the
    /// coordinate, divided by the density.
    pub(super) slopes: Vec<Column>,
    pub(super) sums: Sums,
    /// Whether the leaves (basic densities) are prepared for the current values of the channel.
    pub(super) prepared: bool,
}

impl SumMemory {
    pub(super) fn new(plan: &ChannelPlan) -> Self {
        let zero = [0.0; BLOCK];
        Self {
            leaves: plan.leaves.iter().map(|leaf| leaf.memory(BLOCK)).collect(),
            products: vec![zero; plan.terms.len()],
            others: plan.terms.iter().map(|term| vec![zero; term.leaves.len()]).collect(),
            inverse: zero,
            weights: zero,
            slopes: vec![zero; plan.coordinates],
            sums: Sums::new(plan.coordinates),
            prepared: false,
        }
    }

    /// Prepares the leaves (basic densities) of the channel. `locals` contains the values that the channel uses
    /// (parameters or functions of parameters).
    pub(super) fn prepare(&mut self, level: Level, plan: &ChannelPlan, locals: &[f64]) {
        for (leaf, memory) in plan.leaves.iter().zip(&mut self.leaves) {
            leaf.prepare(level, locals, memory);
        }
        self.prepared = true;
    }
}

/// The events of a channel: columns, weights and number of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events<'a> {
    pub(super) columns: &'a [&'a [f64]],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) count: usize,
}

/// Computes the sums over the events with indices `from..to`, and writes them to `memory.sums`. `amplitudes` contains
/// the factors of all terms of the density.
pub(super) fn sum_piece(
    level: Level,
    plan: &ChannelPlan,
    events: Events<'_>,
    amplitudes: &[f64],
    (from, to): (usize, usize),
    memory: &mut SumMemory,
) {
    memory.sums.clear();
    let mut start = from;
    while start < to {
        let n = BLOCK.min(to - start);
        for (leaf, own) in plan.leaves.iter().zip(&mut memory.leaves) {
            leaf.run(level, events.columns, start, n, own);
        }
        match events.weights {
            Some(weights) => memory.weights[..n].copy_from_slice(&weights[start..start + n]),
            None => memory.weights[..n].fill(1.0),
        }
        // Elements after the last event have weight 0.
        memory.weights[n..].fill(0.0);
        add_block(level, plan, amplitudes, n, start, memory);
        start += n;
    }
}

/// Returns the position of the element `(a, b)` of a symmetric matrix. The matrix is stored as its lower triangle, row
/// by row.
pub(super) fn triangle(a: usize, b: usize) -> usize {
    let (a, b) = if a < b { (b, a) } else { (a, b) };
    a * (a + 1) / 2 + b
}
