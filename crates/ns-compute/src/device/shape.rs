//! Chooses the number of threads per thread block, where the arrays of a thread block are in memory, and the
//! size of a launch.
//!
//! The number of threads determines the order of sums, so it depends on the model alone, never on the batch.
//! Neither the placement of arrays nor the size of a launch changes any bit of the outcomes.

use super::arrays::{Array, FIRST_GLOBAL, N_ARRAYS, N_OFFSETS};
use super::backend::Properties;
use super::fit_kind::Size;
use super::layout;
use crate::shared_constants::{BLOCK_DATA_SIZE, LEAST_COLUMNS, MOST_PARTS, MOST_THREADS, PAIRS};

/// Shared memory per thread block that the driver reserves, in bytes.
pub(super) const RESERVED: usize = 1024;

/// Ratio of a device's memory to the largest total size of the slabs of one launch (a slab is the working
/// memory of a thread block). Two launches run at a time, and other data need memory too.
const PART_FOR_SLABS: u64 = 8;
/// Ratio of a device's memory to the largest total size of those arrays of a launch whose length is
/// proportional to the number of fits or points.
const PART_FOR_ARRAYS: u64 = 16;
/// Largest total size in bytes of those arrays of a launch whose length is proportional to the number of fits
/// or points.
const MOST_ARRAYS: usize = 256 << 20;

/// Returns for how many thread blocks there is memory, at least 1. Each block has a slab of `slab` doubles,
/// and all slabs together take at most `most` bytes. No outcome of a fit depends on this number.
pub(super) fn most_slabs(properties: &Properties, slab: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_SLABS);
    usize::try_from(room / (8 * slab.max(1)) as u64).unwrap_or(usize::MAX).max(1)
}

/// Returns how many fits or points one launch takes, at least 1, if each of them needs `bytes` bytes of
/// result arrays. No outcome of a fit depends on this number.
pub(super) fn at_a_time(properties: &Properties, bytes: usize) -> usize {
    within(properties, bytes, MOST_ARRAYS)
}

/// Returns how many fits or points one launch takes, at least 1, if each of them needs `bytes` bytes and all
/// together may take at most `most` bytes.
pub(super) fn within(properties: &Properties, bytes: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_ARRAYS);
    usize::try_from(room / bytes.max(1) as u64).unwrap_or(usize::MAX).max(1)
}

/// Placement of the arrays of a thread block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayPlacement {
    pub(super) offset: [u32; N_OFFSETS],
    /// Whether the arrays before `FIRST_GLOBAL`, the most used ones, are in shared memory.
    pub(super) in_shared: bool,
    /// Size of the arrays in shared memory, in bytes.
    pub(super) shared: usize,
    /// Size of the arrays in the slab, in doubles.
    pub(super) slab: usize,
}

/// Returns the number of threads per block. It is at most the number of threads that the loops of an
/// evaluation can use.
pub(super) fn threads(plan: &layout::Plan) -> u32 {
    let work = plan.n_terms.max(plan.n_cells) + plan.n_params;
    match work {
        ..=160 => 32,
        161..=640 => 64,
        _ => MOST_THREADS as u32,
    }
}

/// Returns the size of each array in doubles, for a fit, or only for an evaluation if `whole_fit` is false.
fn sizes(plan: &layout::Plan, size: Size, whole_fit: bool) -> [usize; N_ARRAYS] {
    let (n, bins, aux) = (plan.n_params as usize, plan.n_bins as usize, plan.n_aux as usize);
    let (blocks, cells) = (plan.n_blocks as usize, plan.n_cells as usize);
    let Size { locals, dual, primal } = size;
    let mut sizes = [0; N_ARRAYS];
    let mut set = |arrays: &[Array], numbers: usize| {
        for &array in arrays {
            sizes[array as usize] = numbers;
        }
    };
    use Array::*;
    set(&[BlockData], BLOCK_DATA_SIZE);
    set(&[Trial, Gradient, Curved, Reaction], n);
    set(&[Lambda, BinSlope, Weight, Main], bins);
    set(&[Aux], aux);
    set(&[Norm, Scale, Total], blocks);
    set(&[Others], plan.n_factors as usize);
    set(&[Additive, Binwise], cells);
    set(&[Factor, Ratio], plan.n_terms as usize);
    if whole_fit {
        set(&[Slope, Direction, Theta, Held, From, To, Lower, Upper, Start, Best, BestHeld, Snapshot], n);
        set(&[Bins, BinsTo, Root, Empty], bins);
        set(&[Data], bins + aux);
        if plan.kinked.is_some() {
            set(&[Jump, Side], n);
        }
        if plan.kinked.is_some() || plan.strongly_nonlinear != 0 {
            set(&[Rise], n);
        }
        set(&[Parts], MOST_PARTS);
        set(&[Column], (2 * bins.max(primal)).max(dual).max(LEAST_COLUMNS));
        set(&[Matrix], if dual > 0 { bins * bins } else { bins });
        set(&[Local, LocalReaction], locals);
        set(&[Dual], dual);
        set(&[Right, Moves], primal);
        set(&[Inner], primal * primal);
        set(&[Scaled, Columns], primal * bins);
        set(&[Steps, Changes], PAIRS * n);
    }
    sizes
}

/// Array of an evaluation whose memory the arrays [`LATER`] reuse.
const FIRST_USED: Array = Array::Curved;
/// Arrays of an evaluation that are written only after the last use of [`FIRST_USED`].
const LATER: [Array; 2] = [Array::Total, Array::Others];
/// Further arrays that only an evaluation uses.
const EVALUATION: [Array; 5] = [Array::BinSlope, Array::Norm, Array::Scale, Array::Additive, Array::Binwise];
/// Arrays that are used only between evaluations, in a step of the descent. They share memory with the arrays
/// of an evaluation above.
const STEP: [Array; 8] = [
    Array::From,
    Array::To,
    Array::Bins,
    Array::BinsTo,
    Array::Parts,
    Array::Column,
    Array::Right,
    Array::Scaled,
];

/// Places the arrays of a thread block. The most used arrays are in shared memory if all of them fit there;
/// otherwise only BLOCK_DATA is. Models with kinks are fitted with only BLOCK_DATA in shared memory.
pub(super) fn place_arrays(
    plan: &layout::Plan,
    size: Size,
    whole_fit: bool,
    properties: &Properties,
) -> ArrayPlacement {
    let sizes = sizes(plan, size, whole_fit);
    let limit = properties.shared_per_block.saturating_sub(RESERVED);
    let placement = lay_out(&sizes, true);
    // Only the kernel `Kernel::FitGlobal` fits models with kinks.
    let smooth = !plan.kinked.is_some() || !whole_fit;
    if smooth && placement.shared <= limit { placement } else { lay_out(&sizes, false) }
}

/// Places the arrays of an evaluation, with all arrays except BLOCK_DATA in the slab.
pub(super) fn place_in_slab(plan: &layout::Plan) -> ArrayPlacement {
    lay_out(&sizes(plan, Size::default(), false), false)
}

fn lay_out(sizes: &[usize; N_ARRAYS], in_shared: bool) -> ArrayPlacement {
    let mut offset = [0; N_OFFSETS];
    let (mut shared, mut slab) = (0, 0);
    let mut put = |array: usize, at: &mut usize| {
        offset[array] = *at as u32;
        // Even offsets keep 16-byte alignment.
        *at += sizes[array].next_multiple_of(2);
    };
    let of = |group: &[Array], array: usize| group.iter().any(|&one| one as usize == array);
    let passing = |array: usize| {
        array == FIRST_USED as usize || of(&LATER, array) || of(&EVALUATION, array) || of(&STEP, array)
    };
    for array in 0..N_ARRAYS {
        if !passing(array) {
            let is_shared = array == Array::BlockData as usize || (in_shared && array < FIRST_GLOBAL);
            put(array, if is_shared { &mut shared } else { &mut slab });
        }
    }
    let end = if in_shared { &mut shared } else { &mut slab };
    let (mut first, mut later, mut step) = (*end, *end, *end);
    put(FIRST_USED as usize, &mut first);
    for array in LATER {
        put(array as usize, &mut later);
    }
    let mut evaluation = first.max(later);
    for array in EVALUATION {
        put(array as usize, &mut evaluation);
    }
    for array in STEP {
        put(array as usize, &mut step);
    }
    *end = evaluation.max(step);
    ArrayPlacement { offset, in_shared, shared: 8 * shared, slab }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
