//! Computes sums over the events of a channel. The events are handled in blocks of [`BLOCK`] events.

use super::block::{add_block, is_regular};
use super::channel::ChannelPlan;
use super::leaf::LeafMemory;
use super::wide::{EventMemory, WideAmplitudes, add_event};
use crate::simd::Level;

/// Number of events in a block. The steps of a computation are done for one block after the other.
pub(super) const BLOCK: usize = 128;

/// An array with one number for each of the [`BLOCK`] events of a block.
pub(super) type Column = [f64; BLOCK];

/// Number of events in a piece. A piece is the part of the events that one thread sums at a time. The sums of pieces
/// are added in order, so results do not depend on the number of threads.
pub(super) const PIECE: usize = 16_384;

/// So few events outside of the range of doubles take no noticeable time.
const FEW: usize = 64;

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
    /// Number of events whose density is not well within the range of doubles.
    pub(super) outliers: usize,
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
        (self.value, self.scale, self.bad, self.outliers) = (0.0, 0.0, None, 0);
        for array in [&mut self.gradient, &mut self.squares, &mut self.bends] {
            array.fill(0.0);
        }
    }

    /// Adds `other`, the sums over the next piece of the events, to `self`.
    pub(super) fn add(&mut self, other: &Self) {
        self.value += other.value;
        self.scale += other.scale;
        self.bad = self.bad.or(other.bad);
        self.outliers += other.outliers;
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
    /// The density of the channel, for each event of a block.
    pub(super) density: Column,
    /// 1 divided by the density, for each event of a block.
    pub(super) inverse: Column,
    pub(super) weights: Column,
    /// For each coordinate (an amplitude or a shape variable), the derivative of the density with respect to the
    /// coordinate, divided by the density.
    pub(super) slopes: Vec<Column>,
    pub(super) sums: Sums,
    /// Whether the leaves (basic densities) are prepared for the current values of the channel.
    pub(super) prepared: bool,
    /// Memory for single events whose densities are not well within the range of doubles, and whether it is prepared
    /// for the current values of the channel.
    single: (EventMemory, bool),
    /// Whether the results of the leaves may contain infinite numbers or NaN after the last event of a block.
    stale: bool,
}

impl SumMemory {
    pub(super) fn new(plan: &ChannelPlan) -> Self {
        let zero = [0.0; BLOCK];
        Self {
            leaves: plan.leaves.iter().map(|leaf| leaf.memory(BLOCK)).collect(),
            products: vec![zero; plan.terms.len()],
            others: plan.terms.iter().map(|term| vec![zero; term.leaves.len()]).collect(),
            density: zero,
            inverse: zero,
            weights: zero,
            slopes: vec![zero; plan.coordinates],
            sums: Sums::new(plan.coordinates),
            prepared: false,
            single: (EventMemory::default(), false),
            stale: false,
        }
    }

    /// Prepares the leaves (basic densities) of the channel. `locals` contains the values that the channel uses
    /// (parameters or functions of parameters).
    pub(super) fn prepare(&mut self, level: Level, plan: &ChannelPlan, locals: &[f64]) {
        for (leaf, memory) in plan.leaves.iter().zip(&mut self.leaves) {
            leaf.prepare(level, locals, memory);
        }
        self.prepared = true;
        self.single.1 = false;
    }

    /// Adds one event to the sums, with numbers of a wide range. If its density is not positive, `sums.bad` gets its
    /// index.
    fn add_single(&mut self, plan: &ChannelPlan, events: Events<'_>, point: Point<'_>, index: usize) {
        let Self { single: (memory, is_prepared), sums, .. } = self;
        // The point is impossible already.
        if sums.bad.is_some() && point.least.is_none() {
            return;
        }
        let weight = events.weights.map_or(1.0, |weights| weights[index]);
        // An event of weight 0, such as a bin without content, asks nothing of the density: 0 ln 0 is 0.
        if weight == 0.0 {
            return;
        }
        sums.outliers += 1;
        if point.most_outliers.is_some_and(|most| sums.outliers > most + FEW.max(events.count / 100)) {
            sums.bad.get_or_insert(index);
            return;
        }
        if !*is_prepared {
            memory.prepare(plan, point);
            *is_prepared = true;
        }
        if !add_event(plan, point, events.columns, (index, weight), memory, sums) {
            sums.bad.get_or_insert(index);
        }
    }

    /// Replaces the results of all leaves (basic densities) for those events of a block that `is_replaced` selects by
    /// the results for the event `by`.
    fn replace(&mut self, plan: &ChannelPlan, by: usize, is_replaced: impl Fn(usize) -> bool) {
        for (leaf, memory) in plan.leaves.iter().zip(&mut self.leaves) {
            for column in leaf.result_mut(memory).chunks_exact_mut(BLOCK) {
                for i in (0..BLOCK).filter(|&i| is_replaced(i)) {
                    column[i] = column[by];
                }
            }
        }
    }
}

/// What the sums over events depend on besides the events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) level: Level,
    /// The values that the channel uses.
    pub(super) locals: &'a [f64],
    /// The factors of all terms of the density.
    pub(super) amplitudes: &'a [f64],
    /// The same factors, if they are not well within the range of doubles.
    pub(super) wide: Option<&'a WideAmplitudes>,
    /// If this is given, a parabola continues `-ln f` from this density on for events whose density is not positive.
    pub(super) least: Option<f64>,
    /// If this is given, the density counts as not positive once more events than this number, and [`FEW`] or one in a
    /// hundred, have a density that is not well within the range of doubles.
    pub(super) most_outliers: Option<usize>,
}

/// The events of a channel: columns, weights and number of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events<'a> {
    pub(super) columns: &'a [&'a [f64]],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) count: usize,
}

/// Computes the sums over the events with indices `from..to`, and writes them to `memory.sums`.
pub(super) fn sum_piece(
    plan: &ChannelPlan,
    events: Events<'_>,
    point: Point<'_>,
    (from, to): (usize, usize),
    memory: &mut SumMemory,
) {
    memory.sums.clear();
    if point.wide.is_some() {
        for index in from..to {
            memory.add_single(plan, events, point, index);
        }
        return;
    }
    let mut start = from;
    while start < to {
        let n = BLOCK.min(to - start);
        for (leaf, own) in plan.leaves.iter().zip(&mut memory.leaves) {
            leaf.run(point.level, events.columns, start, n, own);
        }
        match events.weights {
            Some(weights) => memory.weights[..n].copy_from_slice(&weights[start..start + n]),
            None => memory.weights[..n].fill(1.0),
        }
        // Elements after the last event have weight 0.
        memory.weights[n..].fill(0.0);
        if memory.stale {
            memory.replace(plan, 0, |i| i >= n);
        }
        if !add_block(point.level, plan, point.amplitudes, n, memory) {
            add_singles(plan, events, point, (start, n), memory);
        }
        start += n;
    }
}

/// Adds a block of `n` events to the sums, beginning with the event `start`. Some densities of the block are not well
/// within the range of doubles, or not positive. These events are added one by one.
#[cold]
fn add_singles(
    plan: &ChannelPlan,
    events: Events<'_>,
    point: Point<'_>,
    (start, n): (usize, usize),
    memory: &mut SumMemory,
) {
    let mut is_single = [false; BLOCK];
    for i in 0..n {
        is_single[i] = !is_regular(memory.density[i]);
        if is_single[i] {
            memory.add_single(plan, events, point, start + i);
            memory.weights[i] = 0.0;
        }
    }
    match is_single[..n].iter().position(|is_single| !is_single) {
        Some(regular) => {
            memory.replace(plan, regular, |i| i >= n || is_single[i]);
            add_block(point.level, plan, point.amplitudes, n, memory);
        }
        None => memory.stale = true,
    }
}

/// Returns the position of the element `(a, b)` of a symmetric matrix. The matrix is stored as its lower triangle, row
/// by row.
pub(super) fn triangle(a: usize, b: usize) -> usize {
    let (a, b) = if a < b { (b, a) } else { (a, b) };
    a * (a + 1) / 2 + b
}
