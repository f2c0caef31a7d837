//! Chooses the number of threads per thread block, the place of a thread block's arrays in memory, and the size of a
//! launch.
//!
//! The number of threads determines the order of sums. It therefore depends on the model alone, never on the batch.
//! The size of a launch changes no bit of the outcomes. The placement of arrays changes no bit either, with one exception:
//! fits have derivatives of their own only if all arrays that these fits need are in shared memory.

use super::arrays::{Array, FIRST_GLOBAL, N_ARRAYS, N_OFFSETS};
use super::backend::Properties;
use super::fit_kind::Size;
use super::layout;
use crate::shared_constants::{
    BLOCK_DATA_SIZE, FOLD_VALUES, LEAST_COLUMNS, MOST_PARTS, MOST_THREADS, MOST_VALLEYS, PAIRS,
};

/// Shared memory per thread block that the driver uses itself, in bytes.
pub(super) const RESERVED: usize = 1024;

/// The slabs of one launch take at most the device's memory divided by this number. A slab is the working memory of a
/// thread block. The number leaves memory for a second launch, which runs at the same time, and for other data.
const PART_FOR_SLABS: u64 = 8;
/// Some arrays of a launch have a length that is proportional to the number of fits or points. All these arrays
/// together take at most the device's memory divided by this number.
const PART_FOR_ARRAYS: u64 = 16;
/// Some arrays of a launch have a length that is proportional to the number of fits or points. This is the largest
/// total size of these arrays, in bytes.
const MOST_ARRAYS: usize = 256 << 20;

/// Returns for how many thread blocks there is enough memory, at least 1. Each block has a slab (working memory) of
/// `slab` doubles. All slabs together take at most `most` bytes. Outcomes of fits do not depend on this number.
pub(super) fn most_slabs(properties: &Properties, slab: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_SLABS);
    usize::try_from(room / (8 * slab.max(1)) as u64).unwrap_or(usize::MAX).max(1)
}

/// Returns how many fits or points one launch can process, at least 1. Each of them needs `bytes` bytes of result
/// arrays. Outcomes of fits do not depend on this number.
pub(super) fn at_a_time(properties: &Properties, bytes: usize) -> usize {
    within(properties, bytes, MOST_ARRAYS)
}

/// Returns how many fits or points one launch can process, at least 1. Each of them needs `bytes` bytes, and all
/// together may take at most `most` bytes.
pub(super) fn within(properties: &Properties, bytes: usize, most: usize) -> usize {
    let room = (most as u64).min(properties.memory / PART_FOR_ARRAYS);
    usize::try_from(room / bytes.max(1) as u64).unwrap_or(usize::MAX).max(1)
}

/// Placement of the arrays of a thread block: which are in shared memory, and which in the block's slab (its working
/// memory in device memory).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayPlacement {
    pub(super) offset: [u32; N_OFFSETS],
    /// Whether the most used arrays (those before `FIRST_GLOBAL` in the enum `Array`) are in shared memory.
    pub(super) in_shared: bool,
    /// Total size of the arrays in shared memory, in bytes.
    pub(super) shared: usize,
    /// Total size of the arrays in the slab (working memory in device memory), in doubles.
    pub(super) slab: usize,
}

/// Returns the number of threads per thread block: 32, 64 or `MOST_THREADS`. It grows with the number of normsys terms
/// or of cells (bins of samples), whichever is larger, plus the number of parameters.
pub(super) fn threads(plan: &layout::Plan) -> u32 {
    let work = plan.n_terms.max(plan.n_cells) + plan.n_columns;
    match work {
        ..=160 => 32,
        161..=640 => 64,
        _ => MOST_THREADS as u32,
    }
}

/// Returns `size` for fits whose metric has the derivatives at their own point, as in
/// [`Derivatives`](crate::lanes::derivatives). If the model does not have such fits, or if their arrays do not fit in
/// shared memory, returns `size` for fits that share their derivatives.
pub(super) fn with_own_derivatives(plan: &layout::Plan, size: Size, properties: &Properties) -> Size {
    let own = Size { own: size.own && plan.effects.is_some(), ..size };
    if own.own && place_arrays(plan, own, true, properties).in_shared {
        return own;
    }
    Size { own: false, ..size }
}

/// Returns the size of each array, in doubles. If `whole_fit` is false, all arrays that an evaluation does not need
/// have size 0.
fn sizes(plan: &layout::Plan, size: Size, whole_fit: bool) -> [usize; N_ARRAYS] {
    let (n, bins, aux) = (plan.n_params as usize, plan.n_bins as usize, plan.n_aux as usize);
    let (blocks, cells) = (plan.n_blocks as usize, plan.n_cells as usize);
    let Size { locals, dual, primal, matrix, own } = size;
    let mut sizes = [0; N_ARRAYS];
    let mut set = |arrays: &[Array], numbers: usize| {
        for &array in arrays {
            sizes[array as usize] = numbers;
        }
    };
    use Array::*;
    set(&[BlockData], BLOCK_DATA_SIZE);
    let columns = plan.n_columns as usize;
    set(&[Trial, Gradient, Reaction], columns);
    set(&[Curved], n);
    set(&[Functions], plan.n_components as usize);
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
            set(&[Jump], columns);
            set(&[Side], n);
        }
        if own {
            set(&[CellScale, Yield], cells);
            // Rows have an odd length (`row_length` in the kernels).
            set(&[Derivatives], bins * (columns | 1));
            set(&[Bends], columns);
        }
        if plan.kinked.is_some() || plan.strongly_nonlinear != 0 {
            set(&[Rise], n);
        }
        if plan.functions.is_some() {
            set(&[Folds], FOLD_VALUES + MOST_VALLEYS * n);
        }
        set(&[Parts], MOST_PARTS);
        set(&[Column], (2 * bins.max(primal)).max(dual).max(LEAST_COLUMNS));
        set(&[Matrix], if dual > 0 { matrix } else { bins });
        set(&[Local, LocalReaction], locals);
        set(&[Dual], dual);
        set(&[Right, Moves], primal);
        set(&[Inner], primal * primal);
        set(&[Scaled, Columns], primal * bins);
        set(&[Steps, Changes], PAIRS * n);
    }
    sizes
}

/// Array whose memory the arrays in [`LATER`] reuse. An evaluation no longer needs this array when it first writes
/// those arrays.
const FIRST_USED: Array = Array::Curved;
/// Arrays of an evaluation that are first written after the last use of [`FIRST_USED`].
const LATER: [Array; 2] = [Array::Total, Array::Others];
/// Further arrays that are used only during an evaluation.
const EVALUATION: [Array; 7] = [
    Array::BinSlope,
    Array::Norm,
    Array::Scale,
    Array::Additive,
    Array::Binwise,
    Array::CellScale,
    Array::Yield,
];
/// Arrays that are used only between evaluations, in a step of the descent. They use the same memory as the evaluation
/// arrays.
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

/// Chooses the placement of the arrays of a thread block. The most used arrays are in shared memory if all of them
/// fit there. Otherwise, and in fits of models with kinks, only BLOCK_DATA is in shared memory.
pub(super) fn place_arrays(
    plan: &layout::Plan,
    size: Size,
    whole_fit: bool,
    properties: &Properties,
) -> ArrayPlacement {
    let sizes = sizes(plan, size, whole_fit);
    let limit = properties.shared_per_block.saturating_sub(RESERVED);
    let placement = lay_out(&sizes, true);
    // Models with kinks are fitted only by the kernel `Kernel::FitGlobal`. Models with functions are evaluated by kernels for global
    // memory, and by the one for fits with derivatives of their own: without functions, the others are faster.
    let smooth = !plan.kinked.is_some() || !whole_fit;
    let suits = smooth && (!plan.functions.is_some() || size.own);
    if suits && placement.shared <= limit { placement } else { lay_out(&sizes, false) }
}

/// Returns the placement of the arrays of an evaluation. The array BLOCK_DATA is in shared memory. All other arrays are
/// in the slab (working memory in device memory).
pub(super) fn place_in_slab(plan: &layout::Plan) -> ArrayPlacement {
    lay_out(&sizes(plan, Size::default(), false), false)
}

fn lay_out(sizes: &[usize; N_ARRAYS], in_shared: bool) -> ArrayPlacement {
    let mut offset = [0; N_OFFSETS];
    let (mut shared, mut slab) = (0, 0);
    let mut put = |array: usize, at: &mut usize| {
        offset[array] = *at as u32;
        // Even offsets keep every array aligned to 16 bytes.
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
