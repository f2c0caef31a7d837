//! Adds one block of events to the sums of a channel. A block is a fixed number of events, [`BLOCK`], that are
//! processed together.

use super::channel::ChannelPlan;
use super::program::pair;
use super::sums::{BLOCK, Column, SumMemory, Sums, triangle};
use super::wide::RANGE;
use crate::simd::{MulAdd, Vector, isa_fn, ln};

/// A column (one number per event of a block) in which all numbers are zero.
const ZERO: &Column = &[0.0; BLOCK];

/// Returns whether a density is positive and well within the range of doubles. Its logarithm and its derivatives can then
/// be computed with doubles.
#[inline(always)]
pub(super) fn is_regular(density: f64) -> bool {
    density > RANGE.0 && density < RANGE.1
}

isa_fn! {
    /// Adds `n` events to the sums. `memory` contains the weights of these events and the results of the leaves (basic
    /// densities) for them. Weights after the first `n` are 0. Returns false, and adds nothing, if the density of an
    /// event is not regular ([`is_regular`]). All densities are then in `memory.density`.
    pub(super) fn add_block(plan: &ChannelPlan, amplitudes: &[f64], n: usize, memory: &mut SumMemory) -> bool = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &ChannelPlan, amplitudes: &[f64], n: usize, memory: &mut SumMemory) -> bool {
    multiply_leaves(plan, memory);
    if !values::<M>(amplitudes, n, memory) {
        return false;
    }
    for (slope, product) in memory.slopes.iter_mut().zip(&memory.products) {
        *slope = *product;
        times(slope, &memory.inverse);
    }
    for leaf in 0..plan.leaves.len() {
        leaf_slopes::<M>(plan, amplitudes, leaf, memory);
    }
    squares::<M>(&memory.slopes, &memory.weights, &mut memory.sums);
    true
}

/// Computes the product of the leaves (basic densities) of each term of the density, for all events of the block.
#[inline(always)]
pub(super) fn multiply_leaves(plan: &ChannelPlan, memory: &mut SumMemory) {
    let SumMemory { leaves, products, others, .. } = memory;
    for ((term, product), others) in plan.terms.iter().zip(products).zip(others) {
        let factor = |leaf: usize| column(plan.leaves[leaf].result(&leaves[leaf]), 0);
        match term.leaves.as_slice() {
            [] => product.fill(1.0),
            [leaf] => *product = *factor(*leaf),
            several => {
                for (j, other) in others.iter_mut().enumerate() {
                    other.fill(1.0);
                    for (k, &leaf) in several.iter().enumerate() {
                        if k != j {
                            times(other, factor(leaf));
                        }
                    }
                }
                *product = *factor(several[0]);
                times(product, &others[0]);
            }
        }
    }
}

/// Computes the densities `f` of `n` events, and adds `-w ln f` of each event to the sums, where `w` is the weight of
/// the event. Returns false, and adds nothing, if a density is not regular.
#[inline(always)]
fn values<M: MulAdd>(amplitudes: &[f64], n: usize, memory: &mut SumMemory) -> bool {
    let SumMemory { products, density, inverse, weights, sums, .. } = memory;
    density.fill(0.0);
    for (product, &a) in products.iter().zip(amplitudes) {
        for i in 0..BLOCK {
            density[i] = M::mul_add(a, product[i], density[i]);
        }
    }
    density[n..].fill(1.0);
    // The loop counts all other densities. A loop that ends at the first of them cannot be vectorised.
    let mut irregular = 0.0;
    for f in density.iter() {
        irregular += if is_regular(*f) { 0.0 } else { 1.0 };
    }
    if irregular > 0.0 {
        return false;
    }
    let (mut logs, mut sizes) = ([0.0; BLOCK], [0.0; BLOCK]);
    for i in 0..BLOCK {
        inverse[i] = 1.0 / density[i];
        logs[i] = weights[i] * ln::<M>(density[i]);
        sizes[i] = logs[i].abs();
    }
    sums.value -= total::<M>(&logs);
    sums.scale += total::<M>(&sizes);
    true
}

/// Computes the derivatives of the logarithm of the channel's density with respect to the variables of leaf `l` (a
/// basic density). Also adds the terms with second derivatives that involve these variables to the sums in `bends`.
#[inline(always)]
fn leaf_slopes<M: MulAdd>(plan: &ChannelPlan, amplitudes: &[f64], l: usize, memory: &mut SumMemory) {
    let SumMemory { leaves, others, inverse, weights, slopes, sums, .. } = memory;
    let (leaf, first) = (&plan.leaves[l], plan.first[l]);
    let (result, d) = (leaf.result(&leaves[l]), leaf.variables.len());
    let (ones, pairs) = leaf.active();
    let mut fresh = true;
    for (t, term) in plan.terms.iter().enumerate() {
        let Some(j) = term.leaves.iter().position(|&other| other == l) else { continue };
        let mut share = *inverse;
        if term.leaves.len() > 1 {
            times(&mut share, &others[t][j]);
        }
        let mut weighted = share;
        times(&mut weighted, weights);
        let a = amplitudes[t];
        for &v in ones {
            let derivative = column(result, 1 + v);
            // The slope divided by the amplitude is the mixed derivative with respect to the amplitude and the
            // variable.
            sums.bends[triangle(first + v, t)] -= dot::<M>(derivative, &weighted);
            let slope = &mut slopes[first + v];
            for i in 0..BLOCK {
                let own = a * derivative[i] * share[i];
                slope[i] = if fresh { own } else { slope[i] + own };
            }
        }
        fresh = false;
        for &(v, w) in pairs {
            let second = column(result, pair(d, v, w));
            sums.bends[triangle(first + v, first + w)] -= a * dot::<M>(second, &weighted);
        }
        // Mixed derivatives with respect to one variable each of two leaves of the same term.
        for (k, &m) in term.leaves.iter().enumerate().skip(j + 1) {
            let partner = &plan.leaves[m];
            let beside = partner.result(&leaves[m]);
            let mut rest = *inverse;
            times(&mut rest, weights);
            for (i, &third) in term.leaves.iter().enumerate() {
                if i != j && i != k {
                    times(&mut rest, column(plan.leaves[third].result(&leaves[third]), 0));
                }
            }
            for &v in ones {
                let mut product = rest;
                times(&mut product, column(result, 1 + v));
                for &w in partner.active().0 {
                    let sum = dot::<M>(&product, column(beside, 1 + w));
                    sums.bends[triangle(first + v, plan.first[m] + w)] -= a * sum;
                }
            }
        }
    }
    if fresh {
        slopes[first..first + d].fill(*ZERO);
    }
}

/// Adds the sums over the events of a block to `sums.gradient` and `sums.squares`. `slopes` contains the derivative
/// of the density with respect to each coordinate, divided by the density.
#[inline(always)]
fn squares<M: MulAdd>(slopes: &[Column], weights: &Column, sums: &mut Sums) {
    let mut at = 0;
    for (a, slope) in slopes.iter().enumerate() {
        let mut own = *slope;
        times(&mut own, weights);
        sums.gradient[a] -= total::<M>(&own);
        let row = &mut sums.squares[at..=at + a];
        // With a single sum, each addition would wait for the one before. Four sums are independent.
        for (four, to) in slopes[..=a].chunks(4).zip(row.chunks_mut(4)) {
            let others: [&Column; 4] = std::array::from_fn(|k| four.get(k).unwrap_or(ZERO));
            let mut parts = [M::V8::splat(0.0); 4];
            for k in 0..BLOCK / 8 {
                let own = M::V8::load(&own[8 * k..]);
                for (part, other) in parts.iter_mut().zip(others) {
                    *part = own.mul_add(M::V8::load(&other[8 * k..]), *part);
                }
            }
            let mut found = [0.0; 4];
            M::V8::sums(parts, &mut found);
            for (to, sum) in to.iter_mut().zip(found) {
                *to += sum;
            }
        }
        at += a + 1;
    }
}

/// Returns one component (value or derivative) of the result of a leaf (a basic density), for all events of the block.
#[inline(always)]
fn column(result: &[f64], component: usize) -> &Column {
    result[component * BLOCK..].first_chunk().unwrap_or(ZERO)
}

#[inline(always)]
fn times(to: &mut Column, by: &Column) {
    for i in 0..BLOCK {
        to[i] *= by[i];
    }
}

/// Returns the scalar product of two columns (each has one number per event of a block).
#[inline(always)]
fn dot<M: MulAdd>(x: &Column, y: &Column) -> f64 {
    let mut sums = [M::V8::splat(0.0); 4];
    for k in 0..BLOCK / 32 {
        for (part, sum) in sums.iter_mut().enumerate() {
            let at = 32 * k + 8 * part;
            *sum = M::V8::load(&x[at..]).mul_add(M::V8::load(&y[at..]), *sum);
        }
    }
    let [a, b, c, d] = sums;
    a.add(b).add(c.add(d)).sum()
}

/// Returns the sum of a column (one number per event of a block).
#[inline(always)]
fn total<M: MulAdd>(x: &Column) -> f64 {
    let mut sums = [M::V8::splat(0.0); 4];
    for k in 0..BLOCK / 32 {
        for (part, sum) in sums.iter_mut().enumerate() {
            *sum = sum.add(M::V8::load(&x[32 * k + 8 * part..]));
        }
    }
    let [a, b, c, d] = sums;
    a.add(b).add(c.add(d)).sum()
}
