//! Sums over the events of a channel, block by block.

use super::channel::ChannelPlan;
use super::leaf::LeafMemory;
use super::program::pair;
use crate::simd::{Level, MulAdd, Vector, isa_fn, ln};

/// Number of events in a block.
pub(super) const BLOCK: usize = 128;

/// Number of events in a piece, the unit of work of a thread. Results do not depend on the number of threads,
/// because pieces are added up in their order.
pub(super) const PIECE: usize = 16_384;

/// Sums over events: `-sum w ln f` with its derivatives by the channel's coordinates.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    /// `-sum w ln f`.
    pub(super) value: f64,
    /// Sum of the absolute values of its terms.
    pub(super) scale: f64,
    /// Derivatives by the coordinates.
    pub(super) gradient: Vec<f64>,
    /// `sum w (f_a / f) (f_b / f)`, lower triangle row by row.
    pub(super) squares: Vec<f64>,
    /// `-sum w f_ab / f`, likewise. The Hessian is the sum of both.
    pub(super) bends: Vec<f64>,
    /// Index of the first event whose density is not positive or not finite.
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

    /// Adds the sums of the next piece.
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

/// Working memory of one thread for one channel.
#[derive(Debug, Clone)]
pub(super) struct SumMemory {
    leaves: Vec<LeafMemory>,
    /// Product of the leaves of each term.
    products: Vec<f64>,
    /// For each term and each of its leaves, the product of its other leaves.
    others: Vec<Vec<f64>>,
    /// Density of each event, and its inverse.
    density: Vec<f64>,
    inverse: Vec<f64>,
    weights: Vec<f64>,
    /// Derivatives of the density by the coordinates, divided by the density.
    slopes: Vec<f64>,
    /// One column.
    column: Vec<f64>,
    pub(super) sums: Sums,
    /// Whether the leaves are prepared for the current point.
    pub(super) prepared: bool,
}

impl SumMemory {
    pub(super) fn new(plan: &ChannelPlan) -> Self {
        let column = || vec![0.0; BLOCK];
        Self {
            leaves: plan.leaves.iter().map(|leaf| leaf.memory(BLOCK)).collect(),
            products: vec![0.0; plan.terms.len() * BLOCK],
            others: plan.terms.iter().map(|term| vec![1.0; term.leaves.len() * BLOCK]).collect(),
            density: column(),
            inverse: column(),
            weights: column(),
            slopes: vec![0.0; plan.coordinates * BLOCK],
            column: column(),
            sums: Sums::new(plan.coordinates),
            prepared: false,
        }
    }

    /// Prepares the leaves for the values `locals` of the channel.
    pub(super) fn prepare(&mut self, level: Level, plan: &ChannelPlan, locals: &[f64]) {
        for (leaf, memory) in plan.leaves.iter().zip(&mut self.leaves) {
            leaf.prepare(level, locals, memory);
        }
        self.prepared = true;
    }
}

/// The events of a channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events<'a> {
    pub(super) columns: &'a [&'a [f64]],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) count: usize,
}

/// Sums over the events `from..to` into `memory.sums`. `amplitudes` are the values of all amplitudes.
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
        // Lanes beyond the last event have weight 0.
        memory.weights[n..].fill(0.0);
        add_block(level, plan, amplitudes, n, start, memory);
        start += n;
    }
}

isa_fn! {
    fn add_block(plan: &ChannelPlan, amplitudes: &[f64], n: usize, start: usize, memory: &mut SumMemory) = block_body
}

#[inline(always)]
fn block_body<M: MulAdd>(
    plan: &ChannelPlan,
    amplitudes: &[f64],
    n: usize,
    start: usize,
    memory: &mut SumMemory,
) {
    let SumMemory { leaves, products, others, density, inverse, weights, slopes, column, sums, .. } = memory;
    density.fill(0.0);
    for (t, (term, others)) in plan.terms.iter().zip(others.iter_mut()).enumerate() {
        let product = &mut products[t * BLOCK..][..BLOCK];
        if term.leaves.is_empty() {
            product.fill(1.0);
        }
        let factor = |leaf: usize| &plan.leaves[leaf].result(&leaves[leaf])[..BLOCK];
        for (j, &leaf) in term.leaves.iter().enumerate() {
            if j == 0 {
                product.copy_from_slice(factor(leaf));
            } else {
                times(product, factor(leaf));
            }
            if term.leaves.len() > 1 {
                let other = &mut others[j * BLOCK..][..BLOCK];
                other.fill(1.0);
                for (k, &leaf) in term.leaves.iter().enumerate().filter(|(k, _)| *k != j) {
                    debug_assert!(k != j);
                    times(other, factor(leaf));
                }
            }
        }
        for (to, p) in density.iter_mut().zip(product.iter()) {
            *to = M::mul_add(amplitudes[t], *p, *to);
        }
    }
    density[n..].fill(1.0);
    for (i, &f) in density.iter().enumerate() {
        if !(f > 0.0 && f < f64::INFINITY) {
            sums.bad = sums.bad.or(Some(start + i));
        }
    }
    for (to, &f) in inverse.iter_mut().zip(density.iter()) {
        *to = 1.0 / f;
    }
    for (to, &f) in column.iter_mut().zip(density.iter()) {
        *to = ln::<M>(f);
    }
    sums.value -= dot::<M>(column, weights);
    for (x, w) in column.iter_mut().zip(weights.iter()) {
        *x = (*x * *w).abs();
    }
    sums.scale += total::<M>(column);

    slopes.fill(0.0);
    for t in 0..plan.terms.len() {
        let product = &products[t * BLOCK..][..BLOCK];
        let slope = &mut slopes[t * BLOCK..][..BLOCK];
        for ((to, p), r) in slope.iter_mut().zip(product).zip(inverse.iter()) {
            *to = p * r;
        }
    }
    let variables = plan.leaves.iter().zip(leaves.iter()).zip(&plan.first);
    for (l, ((leaf, own), &first)) in variables.enumerate() {
        let (result, d) = (leaf.result(own), leaf.variables.len());
        let (ones, pairs) = leaf.active();
        for (t, term) in plan.terms.iter().enumerate() {
            let Some(j) = term.leaves.iter().position(|&other| other == l) else { continue };
            let other = &others[t][j * BLOCK..][..BLOCK];
            // The mixed derivatives by amplitude and variable are the slope without its amplitude.
            for &v in ones {
                let derivative = &result[(1 + v) * BLOCK..][..BLOCK];
                for i in 0..BLOCK {
                    column[i] = derivative[i] * other[i] * inverse[i];
                }
                let a = amplitudes[t];
                let slope = &mut slopes[(first + v) * BLOCK..][..BLOCK];
                for (to, x) in slope.iter_mut().zip(column.iter()) {
                    *to = M::mul_add(a, *x, *to);
                }
                sums.bends[triangle(first + v, t)] -= dot::<M>(column, weights);
            }
            for i in 0..BLOCK {
                column[i] = amplitudes[t] * other[i] * inverse[i] * weights[i];
            }
            for &(v, w) in pairs {
                let second = &result[pair(d, v, w) * BLOCK..][..BLOCK];
                sums.bends[triangle(first + v, first + w)] -= dot::<M>(column, second);
            }
            // Mixed derivatives by the variables of two leaves of the term.
            for (k, &m) in term.leaves.iter().enumerate().skip(j + 1) {
                let partner = &plan.leaves[m];
                let beside = partner.result(&leaves[m]);
                for i in 0..BLOCK {
                    column[i] = amplitudes[t] * inverse[i] * weights[i];
                }
                for (_, &third) in term.leaves.iter().enumerate().filter(|(i, _)| *i != j && *i != k) {
                    times(column, &plan.leaves[third].result(&leaves[third])[..BLOCK]);
                }
                for &v in ones {
                    let derivative = &result[(1 + v) * BLOCK..][..BLOCK];
                    for &w in partner.active().0 {
                        let theirs = &beside[(1 + w) * BLOCK..][..BLOCK];
                        let sum = dot3::<M>(column, derivative, theirs);
                        sums.bends[triangle(first + v, plan.first[m] + w)] -= sum;
                    }
                }
            }
        }
    }
    for a in 0..plan.coordinates {
        let one = &slopes[a * BLOCK..][..BLOCK];
        for i in 0..BLOCK {
            column[i] = one[i] * weights[i];
        }
        sums.gradient[a] -= total::<M>(column);
        for b in 0..=a {
            sums.squares[triangle(a, b)] += dot::<M>(column, &slopes[b * BLOCK..][..BLOCK]);
        }
    }
}

/// Returns the index of an element of a symmetric matrix that is stored as its lower triangle.
pub(super) fn triangle(a: usize, b: usize) -> usize {
    let (a, b) = if a < b { (b, a) } else { (a, b) };
    a * (a + 1) / 2 + b
}

#[inline(always)]
fn times(to: &mut [f64], by: &[f64]) {
    for (to, by) in to.iter_mut().zip(by) {
        *to *= by;
    }
}

/// Returns the scalar product of two columns of a block.
#[inline(always)]
fn dot<M: MulAdd>(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [M::V8::splat(0.0); 2];
    for k in 0..BLOCK / 16 {
        for (half, sum) in sums.iter_mut().enumerate() {
            let at = 16 * k + 8 * half;
            *sum = M::V8::load(&x[at..]).mul_add(M::V8::load(&y[at..]), *sum);
        }
    }
    sums[0].add(sums[1]).sum()
}

/// Returns the sum over events of the product of three columns.
#[inline(always)]
fn dot3<M: MulAdd>(x: &[f64], y: &[f64], z: &[f64]) -> f64 {
    let mut sum = M::V8::splat(0.0);
    for k in 0..BLOCK / 8 {
        let product = M::V8::load(&x[8 * k..]).mul(M::V8::load(&y[8 * k..]));
        sum = product.mul_add(M::V8::load(&z[8 * k..]), sum);
    }
    sum.sum()
}

/// Returns the sum of a column.
#[inline(always)]
fn total<M: MulAdd>(x: &[f64]) -> f64 {
    let mut sum = M::V8::splat(0.0);
    for k in 0..BLOCK / 8 {
        sum = sum.add(M::V8::load(&x[8 * k..]));
    }
    sum.sum()
}
