//! Structures that kernels read and write: `kernels/structures.cuh` is made from these declarations (`header.rs`).

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::declare::Declaration;
use super::declare::{Element, Field, enumeration, structures};
use super::offset::{Offset, OffsetMut};
use crate::shared_constants::{MEMORY_AT, METRIC_AT, PLACES, PROGRESS_AT};

enumeration! {
    /// Arrays of one block; those before FIRST_GLOBAL are in shared memory if the model is small enough.
    Array, arrays {
        BlockData, Trial, Gradient, Curved, Slope, Direction, Theta, Held, From, To,
        Lambda, BinSlope, Weight, Bins, Root, Main, Aux,
        Norm, Scale, Total, Others, Additive, Binwise,
        Parts, BinsTo, Column, Matrix, Local, LocalReaction, Dual, Right, Moves, Inner, Scaled, Columns, Reaction,
        /// The first one that is always in the block's slab of device memory.
        Factor, Ratio, Lower, Upper, Start, Best, BestHeld, Empty, Snapshot, Steps, Changes, Data, Jump, Side, Rise,
    }
}

enumeration! {
    /// Arrays of a Hessian besides those of an evaluation, behind these in the slab.
    Extra, extras {
        /// By parameter: f' and f'' of histosys; rank among the parameters, scalar ones first.
        First, Second, Rank,
        /// By bin: curvature. By cell: G. By block: sum of r G A. By scalar factor: N F without it, and its block.
        Curvature, Product, Bare, Left, Owner,
        /// Blocks x scalar parameters: relative derivative of N, derivative of S, derivative of BARE through A.
        Ratios, Rates, Tilts,
        /// Bins x parameters: derivative of lambda.
        Jacobian,
    }
}

/// Number of arrays.
pub(super) const N_ARRAYS: usize = Array::ALL.len();

/// Offsets, an even number of them: what follows in a structure is aligned.
pub(super) const N_OFFSETS: usize = N_ARRAYS.next_multiple_of(2);

/// The first array that is always in the block's slab.
pub(super) const FIRST_GLOBAL: usize = Array::Factor as usize;

/// Number of arrays that only a Hessian has.
pub(super) const N_EXTRA: usize = Extra::ALL.len();

const _: () = assert!(size_of::<BlockProgress>() <= 8 * (METRIC_AT - PROGRESS_AT));
const _: () = assert!(size_of::<Metric>() <= 8 * (MEMORY_AT - METRIC_AT));

structures! {
    /// The compiled model on the device.
    Plan {
        n_params: i32,
        n_bins: i32,
        n_aux: i32,
        n_blocks: i32,
        n_cells: i32,
        n_terms: i32,
        n_slices: i32,
        n_reacting: i32,
        n_binwise: i32,
        n_factors: i32,
        /// Interpolation codes.
        histosys: i32,
        normsys: i32,
        /// Entries of `binwise_cell`; whether the model is so nonlinear that fits flip single parameters.
        n_scaled: i32,
        strongly_nonlinear: i32,
        /// The EDM of a certificate.
        edm_tolerance: f64,
        /// Blocks (one sample in one channel), those with many templates first. Three vectors each: normsys terms from and to,
        /// cells from and to; scalar factors from and to, per-bin factors from and to; the channel's first bin.
        block: Offset<[i32; 4]>,
        factor_param: Offset<i32>,
        /// Parameter of the channel's first bin, per per-bin factor.
        binwise_first: Offset<i32>,
        /// normsys terms, parameter after parameter, so that neighbouring threads take the same branch; coefficients 5 and 4
        /// of term i at [i], 3 and 2 at [n_terms + i], 1 and 0 at [2 n_terms + i]; rates of hi and lo beyond.
        norm_param: Offset<i32>,
        norm_coefficient: Offset<[f64; 2]>,
        norm_rate: Offset<[f64; 2]>,
        norm_block: Offset<i32>,
        /// Position of each term when they are sorted by block.
        norm_place: Offset<i32>,
        /// Cells (one bin of one block), block after block. The one per-bin factor of a cell, NO_FACTOR or SEVERAL_FACTORS.
        cell_block: Offset<i32>,
        cell_factor: Offset<i32>,
        nominal: Offset<f64>,
        /// histosys for the forward sum: slices of cells from and to, then term after term, a cell per place.
        slice: Offset<[i32; 2]>,
        slice_param: Offset<i32>,
        /// Slope and curve.
        slice_template: Offset<[f64; 2]>,
        /// Of each bin, from and to; cell and block.
        bin: Offset<[i32; 2]>,
        bin_cell: Offset<[i32; 2]>,
        /// Scalar parameters that act on yields, most work first. Two vectors each: cells with a template from and to, terms from
        /// and to; scalar factors from and to, the parameter.
        reacting: Offset<[i32; 4]>,
        hist_cell: Offset<i32>,
        hist_template: Offset<[f64; 2]>,
        factor_place: Offset<i32>,
        /// Per-bin factors by parameter: from, to, the parameter; cell, block, bin, and the place of the factor within its
        /// block's list, -1 if it is the only one.
        binwise: Offset<[i32; 4]>,
        binwise_cell: Offset<[i32; 4]>,
        /// Constraints by parameter: kind and auxiliary datum; 1/sigma or tau.
        constraint: Offset<[i32; 2]>,
        constraint_scale: Offset<f64>,
        /// Box, and width of the constraint (0: none).
        lower: Offset<f64>,
        upper: Offset<f64>,
        width: Offset<f64>,
        /// 1 for parameters with a kink at 0; null if there are none.
        kinked: Offset<i32>,
    }

    /// The shared part of the Gauss-Newton metric of one kind of fit (see lanes/metric.rs).
    Metric {
        n_local: i32,
        n_dual: i32,
        n_primal: i32,
        padding: i32,
        /// Parameters that act on one bin: derivative there, curvature of the constraint, auxiliary count or -1;
        /// `local_factor` where they are per-bin factors and nothing else.
        /// They are sorted by bin; `local_start` has one more entry than bins.
        local_start: Offset<i32>,
        local_param: Offset<i32>,
        local_bin: Offset<i32>,
        local_factor: Offset<i32>,
        local_count: Offset<i32>,
        local_reaction: Offset<f64>,
        local_stiffness: Offset<f64>,
        dual_param: Offset<i32>,
        dual_inverse: Offset<f64>,
        dual_rows: Offset<f64>,
        dual_columns: Offset<f64>,
        /// J D^-1 J' over dual parameters, n_bins x n_bins.
        kernel: Offset<f64>,
        primal_param: Offset<i32>,
        primal_stiffness: Offset<f64>,
        primal_rows: Offset<f64>,
    }

    /// A parameter that a request treats unlike the model: its box, and where it is held (lower = upper).
    Override {
        param: i32,
        held: i32,
        lower: f64,
        upper: f64,
    }

    /// A direction in which normsys effects on one sample add up (see lanes/directions.rs): parameters, their parts, the
    /// widths of their constraints, and places to start from.
    Direction {
        n: i32,
        padding: i32,
        params: Offset<i32>,
        parts: Offset<f64>,
        widths: Offset<f64>,
        places: [f64; PLACES],
    }

    /// One minimisation.
    Request {
        start: i32,
        earlier: i32,
        /// Start point, or direction from an earlier fit; the first held parameter and its value.
        point: Offset<f64>,
        held_param: i32,
        n_overrides: i32,
        held_value: f64,
        overrides: Offset<Override>,
        /// Done only if parameter `condition_param` of fit `condition_fit` lies within the range; -1: always.
        condition_fit: i32,
        condition_param: i32,
        condition_low: f64,
        condition_high: f64,
        metric: Offset<Metric>,
        /// Further start points, and the parameters whose mirror image may hide another minimum.
        n_first: i32,
        n_second: i32,
        n_nonlinear: i32,
        n_directions: i32,
        first: Offset<f64>,
        second: Offset<f64>,
        nonlinear: Offset<i32>,
        directions: Offset<Direction>,
    }

    /// Fits that share one set of data.
    Item {
        first_request: i32,
        n_requests: i32,
        first_outcome: i32,
        padding: i32,
        /// Main counts, then auxiliary data.
        data: Offset<f64>,
    }

    /// What is known of a fit besides its parameters.
    Outcome {
        value: f64,
        saturated: f64,
        edm: f64,
        status: i32,
        iterations: i32,
        evaluations: i32,
        usable: i32,
    }

    /// Further starts of a fit that any block may take (see help.cuh): zero before a launch, and never read by the host.
    Round {
        /// The next start in the upper half, their number in the lower one.
        word: u64,
        /// The request, which round of its search this is, and the value that a minimum must get below.
        request: i32,
        number: i32,
        known: f64,
        /// What came out: value and EDM of the lowest minimum below that, and its start (-1: none).
        value: f64,
        edm: f64,
        start: i32,
        /// Starts that tell of another minimum, and ONE_OPEN for each that is open; sums over starts; starts that are done.
        several: i32,
        iterations: i32,
        evaluations: i32,
        finished: i32,
        /// Who has it set may write value, edm and start.
        lock: i32,
    }

    /// The progress of a block, in BLOCK_DATA; of the kernels alone.
    BlockProgress {
        item: i32,
        /// The start that is taken, -1 if there is none, and whose round it is of; the round, -1 for the first descent, and its
        /// starts.
        start: i32,
        owner: i32,
        round: i32,
        count: i32,
        /// Whether other blocks may take starts of the round; whether a minimum is the lowest so far; whether nothing is left.
        offered: i32,
        lowest: i32,
        over: i32,
        /// What the fit has come to; `several` has the signs SEVERAL and OPEN.
        several: i32,
        converged: i32,
        iterations: i32,
        evaluations: i32,
        value: f64,
        edm: f64,
    }

    /// What transformed rejection (PTRS) needs of a mean.
    PoissonRejection {
        whole: f64,
        part: f64,
        mean: f64,
        a: f64,
        b: f64,
        attempts: f64,
        squeeze: f64,
    }

    /// The distribution of one datum.
    DatumSource {
        method: u32,
        /// Where its table begins in `Draws::thresholds` and `Draws::guides`.
        thresholds: u32,
        guide: u32,
        unused: u32,
        /// What they are, the method says.
        numbers: [f64; 7],
    }

    /// The distributions of all data of a toy: main counts, then auxiliary data; the slot is the index.
    Draws {
        sources: Offset<DatumSource>,
        thresholds: Offset<u64>,
        guides: Offset<u16>,
        seed: u64,
        hypothesis: u32,
        slots: u32,
    }

    /// The parameter of `ns_fit`.
    FitLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        n_items: i32,
        n_requests: i32,
        slab: OffsetMut<f64>,
        slab_stride: u64,
        /// The next item, items that are done, and rounds with starts to take.
        queue: OffsetMut<i32>,
        /// One per block, zero; null if blocks do not help each other.
        rounds: OffsetMut<Round>,
        /// Blocks, and how many of them wait for starts to take until all items are done; others go when there is none.
        n_blocks: i32,
        n_waiting: i32,
        requests: Offset<Request>,
        /// Null for toys: then item `i` is toy `first_toy + i`, with all requests.
        items: Offset<Item>,
        draws: Offset<Draws>,
        first_toy: u64,
        outcomes: OffsetMut<Outcome>,
        /// n_params per outcome; flags: n_params (held) + n_bins (nothing expected) bytes per outcome.
        parameters: OffsetMut<f64>,
        flags: OffsetMut<u8>,
    }

    /// The parameter of `ns_evaluate`.
    EvaluateLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        extra: [u64; N_EXTRA],
        n_points: i32,
        /// Row length of JACOBIAN: parameters, filled up to whole tiles.
        row: i32,
        slab: OffsetMut<f64>,
        slab_stride: u64,
        /// Main counts, then auxiliary data; numbers from one point's data to the next one's (0: the same for all), or between
        /// sets of which each point takes the one that `data_of` says (null: in order).
        data: Offset<f64>,
        data_stride: u64,
        data_of: Offset<i32>,
        points: Offset<f64>,
        /// Null, or main part and constraint part from the saturated value, per point.
        values: OffsetMut<f64>,
        /// Null, or n_params per point.
        gradients: OffsetMut<f64>,
        /// Null, or n_params x n_params per point; then `usable` says 0 where there is none. Only of `ns_evaluate_global`.
        hessians: OffsetMut<f64>,
        usable: OffsetMut<i32>,
    }

    /// The parameter of `ns_covariance`.
    CovarianceLaunch {
        n: i32,
        n_matrices: i32,
        /// Whether tiles are in shared memory; else in the block's slab.
        in_shared: i32,
        padding: i32,
        slab: OffsetMut<f64>,
        slab_stride: u64,
        /// n x n numbers per matrix, both triangles; covariances take their place if they are wanted.
        hessians: OffsetMut<f64>,
        wanted: i32,
        unused: i32,
        gradients: Offset<f64>,
        /// By parameter: what it does. 0 per matrix where there is no Hessian.
        rests: Offset<u8>,
        usable: Offset<i32>,
        /// n numbers per matrix; the least part of its curvature that the other parameters leave to one (not above 0: the matrix
        /// is not positive, there is none, or a bound hardly holds) and the EDM.
        variances: OffsetMut<f64>,
        /// The step to the minimum of the quadratic form, n numbers per matrix.
        steps: OffsetMut<f64>,
        found: OffsetMut<[f64; 2]>,
    }

    /// The parameter of `ns_draw`.
    DrawLaunch {
        draws: Offset<Draws>,
        first_toy: u64,
        n_toys: i32,
        n_data: i32,
        data: OffsetMut<f64>,
    }
}
