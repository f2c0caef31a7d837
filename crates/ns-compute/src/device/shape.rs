//! The shape of a launch: threads of a block by the size of the model, and the placement of its arrays.
//!
//! The number of threads decides the order of sums, so it depends on the model alone, never on the
//! batch. The placement of arrays does not change results.

use super::backend::Properties;
use super::fit_kind::Size;
use super::layout::{self, Array, FIRST_GLOBAL, N_ARRAYS, N_OFFSETS};
use crate::shared_constants::{BLOCK_DATA_SIZE, LEAST_COLUMNS, MOST_PARTS, MOST_THREADS, PAIRS};

/// Shared memory that the driver takes of each block, bytes.
pub(super) const RESERVED: usize = 1024;

/// The part of a device's memory that the slabs of one launch may take. Two launches run at a time, and other data need
/// memory too.
const PART_FOR_SLABS: u64 = 8;
/// The part that the arrays of one launch may take which grow with its work.
const PART_FOR_ARRAYS: u64 = 16;
/// What these arrays may take at most, bytes.
const MOST_ARRAYS: usize = 256 << 20;

/// Blocks whose slabs, of so many numbers each and of so many bytes together at most, there is room for; one at least. No result
/// depends on how many work.
pub(super) fn most_slabs(properties: &Properties, slab: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_SLABS);
    usize::try_from(room / (8 * slab.max(1)) as u64).unwrap_or(usize::MAX).max(1)
}

/// Fits or points of one launch that take so many bytes each; one at least. No result depends on how many they are.
pub(super) fn at_a_time(properties: &Properties, bytes: usize) -> usize {
    within(properties, bytes, MOST_ARRAYS)
}

/// The same where all of them may take `most` bytes.
pub(super) fn within(properties: &Properties, bytes: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_ARRAYS);
    usize::try_from(room / bytes.max(1) as u64).unwrap_or(usize::MAX).max(1)
}

/// Where the arrays of a block lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayPlacement {
    pub(super) offset: [u32; N_OFFSETS],
    /// Whether the most used ones are in shared memory.
    pub(super) in_shared: bool,
    /// Bytes in shared memory.
    pub(super) shared: usize,
    /// Numbers in the slab.
    pub(super) slab: usize,
}

/// Threads per block: as many as the loops of an evaluation keep busy.
pub(super) fn threads(plan: &layout::Plan) -> u32 {
    let work = plan.n_terms.max(plan.n_cells) + plan.n_params;
    match work {
        ..=160 => 32,
        161..=640 => 64,
        _ => MOST_THREADS as u32,
    }
}

/// Numbers in each array.
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

/// Arrays that only an evaluation uses, and arrays that only a step of the descent uses, share memory. Within an evaluation
/// the first array shares memory with those that are written after its last use.
const FIRST_USED: Array = Array::Curved;
const LATER: [Array; 2] = [Array::Total, Array::Others];
const EVALUATION: [Array; 5] = [Array::BinSlope, Array::Norm, Array::Scale, Array::Additive, Array::Binwise];
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

/// Places the arrays of a block: the most used ones in shared memory if all of them fit, else all in the
/// slab.
pub(super) fn place_arrays(
    plan: &layout::Plan,
    size: Size,
    whole_fit: bool,
    properties: &Properties,
) -> ArrayPlacement {
    let sizes = sizes(plan, size, whole_fit);
    let limit = properties.shared_per_block.saturating_sub(RESERVED);
    let placement = lay_out(&sizes, true);
    // Only the kernel for global memory fits models with kinks.
    let smooth = !plan.kinked.is_some() || !whole_fit;
    if smooth && placement.shared <= limit { placement } else { lay_out(&sizes, false) }
}

/// The same for an evaluation with all arrays in the slab.
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
