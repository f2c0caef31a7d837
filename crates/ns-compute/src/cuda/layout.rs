//! Structures that kernels read: twins of those in `kernels/plan.cuh`, field by field.
//!
//! Addresses are `u64`. `host.rs` has a test that both sides agree on all sizes.

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::shared_constants::PLACES;

/// Arrays of one block (`enum Array`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Array {
    Room,
    Trial,
    Gradient,
    Curved,
    Slope,
    Direction,
    Theta,
    Held,
    From,
    To,
    Lambda,
    BinSlope,
    Weight,
    Bins,
    Root,
    Main,
    Aux,
    Norm,
    Scale,
    Total,
    Others,
    Additive,
    Binwise,
    Parts,
    BinsTo,
    Column,
    Matrix,
    Local,
    LocalReaction,
    Dual,
    Right,
    Moves,
    Inner,
    Scaled,
    Columns,
    Reaction,
    Factor,
    Ratio,
    Lower,
    Upper,
    Start,
    Best,
    BestHeld,
    Empty,
    Snapshot,
    Steps,
    Changes,
    Data,
    Jump,
    Side,
    Rise,
}

/// Number of arrays.
pub(super) const N_ARRAYS: usize = Array::Rise as usize + 1;

/// Offsets, an even number of them: what follows in a structure is aligned.
pub(super) const N_OFFSETS: usize = N_ARRAYS.next_multiple_of(2);

/// The first array that is always in the block's slab in device memory; those before it are in shared memory if the
/// model is small enough.
pub(super) const FIRST_FAR: usize = Array::Factor as usize;

/// `struct Plan`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Plan {
    pub(super) n_params: i32,
    pub(super) n_bins: i32,
    pub(super) n_aux: i32,
    pub(super) n_blocks: i32,
    pub(super) n_cells: i32,
    pub(super) n_terms: i32,
    pub(super) n_slices: i32,
    pub(super) n_reacting: i32,
    pub(super) n_binwise: i32,
    pub(super) n_factors: i32,
    pub(super) histosys: i32,
    pub(super) normsys: i32,
    pub(super) n_scaled: i32,
    pub(super) bent: i32,
    pub(super) edm_tolerance: f64,
    pub(super) block: u64,
    pub(super) factor_param: u64,
    pub(super) binwise_first: u64,
    pub(super) norm_param: u64,
    pub(super) norm_coefficient: u64,
    pub(super) norm_log: u64,
    pub(super) norm_block: u64,
    pub(super) norm_place: u64,
    pub(super) cell_block: u64,
    pub(super) cell_factor: u64,
    pub(super) nominal: u64,
    pub(super) slice: u64,
    pub(super) slice_param: u64,
    pub(super) slice_template: u64,
    pub(super) bin: u64,
    pub(super) bin_cell: u64,
    pub(super) reacting: u64,
    pub(super) hist_cell: u64,
    pub(super) hist_template: u64,
    pub(super) factor_place: u64,
    pub(super) binwise: u64,
    pub(super) binwise_cell: u64,
    pub(super) constraint: u64,
    pub(super) constraint_scale: u64,
    pub(super) lower: u64,
    pub(super) upper: u64,
    pub(super) width: u64,
    /// 0 if no parameter has a kink.
    pub(super) kinked: u64,
}

/// `struct Metric`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Metric {
    pub(super) n_local: i32,
    pub(super) n_dual: i32,
    pub(super) n_primal: i32,
    pub(super) padding: i32,
    pub(super) local_start: u64,
    pub(super) local_param: u64,
    pub(super) local_bin: u64,
    pub(super) local_factor: u64,
    pub(super) local_count: u64,
    pub(super) local_reaction: u64,
    pub(super) local_stiffness: u64,
    pub(super) dual_param: u64,
    pub(super) dual_inverse: u64,
    pub(super) dual_rows: u64,
    pub(super) dual_columns: u64,
    pub(super) kernel: u64,
    pub(super) primal_param: u64,
    pub(super) primal_stiffness: u64,
    pub(super) primal_rows: u64,
}

/// `struct Override`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Override {
    pub(super) param: i32,
    pub(super) held: i32,
    pub(super) lower: f64,
    pub(super) upper: f64,
}

/// `struct Direction`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Direction {
    pub(super) n: i32,
    pub(super) padding: i32,
    pub(super) params: u64,
    pub(super) parts: u64,
    pub(super) widths: u64,
    pub(super) places: [f64; PLACES],
}

/// `struct Request`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Request {
    pub(super) start: i32,
    pub(super) earlier: i32,
    pub(super) point: u64,
    pub(super) held_param: i32,
    pub(super) n_overrides: i32,
    pub(super) held_value: f64,
    pub(super) overrides: u64,
    pub(super) condition_fit: i32,
    pub(super) condition_param: i32,
    pub(super) condition_low: f64,
    pub(super) condition_high: f64,
    pub(super) metric: u64,
    pub(super) n_first: i32,
    pub(super) n_second: i32,
    pub(super) n_bendable: i32,
    pub(super) n_directions: i32,
    pub(super) first: u64,
    pub(super) second: u64,
    pub(super) bendable: u64,
    pub(super) directions: u64,
}

/// `struct Item`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Item {
    pub(super) first_request: i32,
    pub(super) n_requests: i32,
    pub(super) first_outcome: i32,
    pub(super) padding: i32,
    pub(super) data: u64,
}

/// `struct Outcome`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Outcome {
    pub(super) value: f64,
    pub(super) saturated: f64,
    pub(super) edm: f64,
    pub(super) status: i32,
    pub(super) iterations: i32,
    pub(super) evaluations: i32,
    pub(super) usable: i32,
}

/// `struct Round`: zero before a launch, and never read here.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct Round {
    words: [u64; 8],
}

/// `struct FitLaunch`.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
pub(super) struct FitLaunch {
    pub(super) plan: Plan,
    pub(super) offset: [u32; N_OFFSETS],
    pub(super) n_items: i32,
    pub(super) n_requests: i32,
    pub(super) slab: u64,
    pub(super) slab_stride: u64,
    pub(super) queue: u64,
    pub(super) rounds: u64,
    pub(super) n_blocks: i32,
    pub(super) n_waiting: i32,
    pub(super) requests: u64,
    pub(super) items: u64,
    pub(super) draws: u64,
    pub(super) first_toy: u64,
    pub(super) outcomes: u64,
    pub(super) parameters: u64,
    pub(super) flags: u64,
}

/// Arrays of a Hessian besides those of an evaluation (`enum class Extra`).
pub(super) const N_EXTRA: usize = 12;

/// `struct EvaluateLaunch`.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
pub(super) struct EvaluateLaunch {
    pub(super) plan: Plan,
    pub(super) offset: [u32; N_OFFSETS],
    pub(super) extra: [u64; N_EXTRA],
    pub(super) n_points: i32,
    pub(super) row: i32,
    pub(super) slab: u64,
    pub(super) slab_stride: u64,
    pub(super) data: u64,
    pub(super) data_stride: u64,
    pub(super) data_of: u64,
    pub(super) points: u64,
    pub(super) values: u64,
    pub(super) gradients: u64,
    pub(super) hessians: u64,
    pub(super) usable: u64,
}

/// `struct CovarianceLaunch`.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
pub(super) struct CovarianceLaunch {
    pub(super) n: i32,
    pub(super) n_matrices: i32,
    pub(super) near: i32,
    pub(super) padding: i32,
    pub(super) slab: u64,
    pub(super) slab_stride: u64,
    pub(super) hessians: u64,
    pub(super) wanted: i32,
    pub(super) unused: i32,
    pub(super) gradients: u64,
    pub(super) rests: u64,
    pub(super) usable: u64,
    pub(super) variances: u64,
    pub(super) steps: u64,
    pub(super) found: u64,
}

/// `struct DrawLaunch`.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
pub(super) struct DrawLaunch {
    pub(super) draws: u64,
    pub(super) first_toy: u64,
    pub(super) n_toys: i32,
    pub(super) n_data: i32,
    pub(super) data: u64,
}
