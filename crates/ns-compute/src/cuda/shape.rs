//! How a launch is shaped: threads of a block by the size of the model, and where its arrays lie.
//!
//! The number of threads decides in which order sums are taken, so it depends on the model alone, never on the
//! batch. Where an array lies changes no number.

use super::backend::Properties;
use super::kind::Size;
use super::layout::{self, Array, IN_SLAB, N_ARRAYS, N_OFFSETS, PARTS, ROOM};

/// Registers of a multiprocessor, and what a thread of the fit takes at most (see the launch bounds in
/// `kernels/ns.cu`).
const THREADS_AT_A_TIME: usize = 768;

/// Pairs of the limited memory (`kernels/memory.cuh`).
const PAIRS: usize = 12;

/// Room that inversions need at least (`kernels/invert.cuh`).
const LEAST_COLUMNS: usize = 96;

/// Shared memory that the driver takes of each block, bytes.
const RESERVED: usize = 1024;

/// Where the arrays of a block lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rooms {
    pub(super) offset: [u32; N_OFFSETS],
    /// Bytes in shared memory.
    pub(super) shared: usize,
    /// Numbers in the slab.
    pub(super) slab: usize,
}

/// Threads per block: enough for the loops of an evaluation, no more than keep busy.
pub(super) fn threads(plan: &layout::Plan) -> u32 {
    let work = plan.n_terms.max(plan.n_cells) + plan.n_params;
    match work {
        ..=160 => 32,
        161..=640 => 64,
        _ => 128,
    }
}

/// Shared memory that a block may take so that registers, not memory, limit how many run at a time.
pub(super) fn budget(properties: &Properties, threads: u32) -> usize {
    let blocks = (THREADS_AT_A_TIME / threads as usize).max(1);
    (properties.shared_per_multiprocessor / blocks)
        .saturating_sub(RESERVED)
        .min(properties.shared_per_block.saturating_sub(RESERVED))
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
    set(&[Room], ROOM);
    set(&[Trial, Gradient, Curved, CurvedFirst, Reaction], n);
    set(&[Lambda, BinSlope, Weight, Main], bins);
    set(&[Aux], aux);
    set(&[Norm, Scale, Total], blocks);
    set(&[Others], plan.n_factors as usize);
    set(&[Additive, Binwise, CellWeight], cells);
    set(&[Factor, Ratio], plan.n_terms as usize);
    if whole_fit {
        set(&[Slope, Direction, Theta, Held, From, To, Lower, Upper, Start, Best, BestHeld, Snapshot], n);
        set(&[Bins, BinsTo, Root, Empty], bins);
        set(&[Parts], PARTS);
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

/// Gives out shared memory up to `budget` bytes, array after array, and puts the rest into the slab.
pub(super) fn rooms(plan: &layout::Plan, size: Size, whole_fit: bool, budget: usize) -> Rooms {
    let mut rooms = Rooms { offset: [0; N_OFFSETS], shared: 0, slab: 0 };
    let (mut shared, mut slab) = (0, 0);
    for (offset, numbers) in rooms.offset.iter_mut().zip(sizes(plan, size, whole_fit)) {
        // Even offsets keep 16-byte alignment.
        let numbers = numbers.next_multiple_of(2);
        if 8 * (shared + numbers) <= budget || shared == 0 {
            *offset = shared as u32;
            shared += numbers;
        } else {
            *offset = slab as u32 | IN_SLAB;
            slab += numbers;
        }
    }
    rooms.shared = 8 * shared;
    rooms.slab = slab;
    rooms
}
