//! Structures that kernels read and write. `kernels/structures.cuh` is generated from these declarations
//! (`header.rs`).

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::declare::Declaration;
use super::declare::{Element, Field, enumeration, structures};
use super::offset::{Offset, OffsetMut};
use crate::shared_constants::{MEMORY_AT, METRIC_AT, PLACES, PROGRESS_AT};

enumeration! {
    /// Working arrays of one thread block. Those before FIRST_GLOBAL are in shared memory if the model is
    /// small enough, otherwise in the block's slab of device memory.
    Array, arrays {
        BlockData, Trial, Gradient, Curved, Slope, Direction, Theta, Held, From, To,
        Lambda, BinSlope, Weight, Bins, Root, Main, Aux,
        Norm, Scale, Total, Others, Additive, Binwise,
        Parts, BinsTo, Column, Matrix, Local, LocalReaction, Dual, Right, Moves, Inner, Scaled, Columns, Reaction,
        /// This array and all later ones are always in the slab.
        Factor, Ratio, Lower, Upper, Start, Best, BestHeld, Empty, Snapshot, Steps, Changes, Data, Jump, Side, Rise,
    }
}

enumeration! {
    /// Arrays that a Hessian needs in addition to those of an evaluation. They follow these in the slab.
    Extra, extras {
        /// `f'` of histosys, per parameter.
        First,
        /// `f''` of histosys, per parameter.
        Second,
        /// Rank of each parameter. Parameters that act on whole samples ("scalar" ones) have the lowest
        /// ranks.
        Rank,
        /// Second derivative of the Poisson term by the expected yield, per bin.
        Curvature,
        /// Product `G` of the per-bin factors, per cell.
        Product,
        /// Sum of `r G A` over the cells of a block, per block (see hessian.cuh).
        Bare,
        /// Product `N F` of a block without this factor, per scalar factor.
        Left,
        /// Block of each scalar factor.
        Owner,
        /// Relative derivative of `N`, blocks x scalar parameters.
        Ratios,
        /// Derivative of `S = N F`, blocks x scalar parameters.
        Rates,
        /// Derivative of BARE through `A`, blocks x scalar parameters.
        Tilts,
        /// Derivative of the expected yield, bins x parameters.
        Jacobian,
    }
}

/// Number of working arrays.
pub(super) const N_ARRAYS: usize = Array::ALL.len();

/// Number of offsets in a launch: `N_ARRAYS` rounded up to an even number, so that the next field is aligned.
pub(super) const N_OFFSETS: usize = N_ARRAYS.next_multiple_of(2);

/// Number of the first array that is always in the block's slab.
pub(super) const FIRST_GLOBAL: usize = Array::Factor as usize;

/// Number of arrays that only a Hessian has.
pub(super) const N_EXTRA: usize = Extra::ALL.len();

const _: () = assert!(size_of::<BlockProgress>() <= 8 * (METRIC_AT - PROGRESS_AT));
const _: () = assert!(size_of::<Metric>() <= 8 * (MEMORY_AT - METRIC_AT));

structures! {
    /// The compiled model on the device. A "block" of the model is one sample in one channel, and a "cell" is
    /// one bin of a block. Ranges are given by first index and end.
    Plan {
        n_params: i32,
        n_bins: i32,
        n_aux: i32,
        n_blocks: i32,
        n_cells: i32,
        /// Number of normsys terms.
        n_terms: i32,
        n_slices: i32,
        /// Number of scalar parameters that act on yields.
        n_reacting: i32,
        /// Number of parameters that are per-bin factors.
        n_binwise: i32,
        /// Number of scalar factors, summed over blocks.
        n_factors: i32,
        /// Interpolation code of histosys.
        histosys: i32,
        /// Interpolation code of normsys.
        normsys: i32,
        /// Number of entries of `binwise_cell`.
        n_scaled: i32,
        /// 1 if the model is so nonlinear that fits try the other sign of single parameters.
        strongly_nonlinear: i32,
        /// Largest EDM of a converged fit.
        edm_tolerance: f64,
        /// Blocks, sorted by decreasing number of templates. Each has three vectors: the ranges of its
        /// normsys terms and of its cells; the ranges of its scalar factors and of its per-bin factors; the
        /// first bin of its channel and three unused numbers.
        block: Offset<[i32; 4]>,
        /// Parameter of each scalar factor, block after block.
        factor_param: Offset<i32>,
        /// Parameter of the channel's first bin for each per-bin factor, block after block.
        binwise_first: Offset<i32>,
        /// Parameter of each normsys term. Terms are sorted by parameter, so that neighbouring threads take
        /// the same branch.
        norm_param: Offset<i32>,
        /// Polynomial coefficients of normsys term `i`: degrees 6 and 5 at index `i`, degrees 4 and 3 at index
        /// `n_terms + i`, degrees 2 and 1 at index `2 n_terms + i`.
        norm_coefficient: Offset<[f64; 2]>,
        /// Rates of hi and lo beyond the polynomial, per normsys term.
        norm_rate: Offset<[f64; 2]>,
        /// Block of each normsys term.
        norm_block: Offset<i32>,
        /// Position of each normsys term when they are sorted by block.
        norm_place: Offset<i32>,
        /// Block of each cell. Cells are sorted by block.
        cell_block: Offset<i32>,
        /// Parameter of the only per-bin factor of each cell, or NO_FACTOR or SEVERAL_FACTORS.
        cell_factor: Offset<i32>,
        /// Nominal yield of each cell.
        nominal: Offset<f64>,
        /// Range of each slice in `slice_param` and `slice_template`. A slice has the histosys templates of
        /// WARP neighbouring cells: first the first template of every cell, then the second one of every
        /// cell, and so on.
        slice: Offset<[i32; 2]>,
        /// Parameter of each template in the slices.
        slice_param: Offset<i32>,
        /// Slope `S` and curve `A` of each template in the slices.
        slice_template: Offset<[f64; 2]>,
        /// Range of each bin in `bin_cell`.
        bin: Offset<[i32; 2]>,
        /// Cell and block of each contribution to a bin.
        bin_cell: Offset<[i32; 2]>,
        /// Scalar parameters that act on yields, those with most work first. Each has two vectors: the ranges
        /// of its templates in `hist_cell` and of its normsys terms; the range of its scalar factors in
        /// `factor_place`, the parameter, and an unused number.
        reacting: Offset<[i32; 4]>,
        /// Cell of each template, sorted by parameter.
        hist_cell: Offset<i32>,
        /// Slope `S` and curve `A` of each template, sorted by parameter.
        hist_template: Offset<[f64; 2]>,
        /// Index in `factor_param` of each scalar factor, sorted by parameter.
        factor_place: Offset<i32>,
        /// Parameters that are per-bin factors: range in `binwise_cell`, the parameter, and an unused number.
        binwise: Offset<[i32; 4]>,
        /// Cells that a per-bin factor scales: cell, block, bin, and index of the factor in `binwise_first`,
        /// which is -1 if it is the only one of the cell.
        binwise_cell: Offset<[i32; 4]>,
        /// Kind of constraint and index of the auxiliary datum, per parameter.
        constraint: Offset<[i32; 2]>,
        /// 1/sigma of a Gaussian constraint or tau of a Poisson constraint, per parameter.
        constraint_scale: Offset<f64>,
        /// Lower bound of each parameter.
        lower: Offset<f64>,
        /// Upper bound of each parameter.
        upper: Offset<f64>,
        /// Width of the constraint of each parameter, 0 without constraint.
        width: Offset<f64>,
        /// 1 for parameters with a kink at 0, else 0; null for models without kinks.
        kinked: Offset<i32>,
    }

    /// The part of the Gauss-Newton metric that all fits of one kind share (see lanes/metric.rs). A local
    /// parameter acts on one bin. The other parameters are dual or primal, according to how the matrix is
    /// inverted.
    Metric {
        n_local: i32,
        n_dual: i32,
        n_primal: i32,
        padding: i32,
        /// Index of the first local parameter of each bin, n_bins + 1 entries. Local parameters are sorted by
        /// bin.
        local_start: Offset<i32>,
        local_param: Offset<i32>,
        local_bin: Offset<i32>,
        /// 1 for local parameters that are per-bin factors and nothing else.
        local_factor: Offset<i32>,
        /// Index of the auxiliary datum of the Poisson constraint of a local parameter, else -1.
        local_count: Offset<i32>,
        /// Derivative of the bin's expected yield by the local parameter.
        local_reaction: Offset<f64>,
        /// Second derivative of the constraint of a local parameter.
        local_stiffness: Offset<f64>,
        dual_param: Offset<i32>,
        /// Inverse second derivative of the constraint of a dual parameter.
        dual_inverse: Offset<f64>,
        /// Jacobian of the expected yields, dual parameters x bins.
        dual_rows: Offset<f64>,
        /// Transpose of `dual_rows`, bins x dual parameters.
        dual_columns: Offset<f64>,
        /// `J D^-1 J'` summed over dual parameters, bins x bins.
        kernel: Offset<f64>,
        primal_param: Offset<i32>,
        /// Second derivative of the constraint of a primal parameter, 0 without constraint.
        primal_stiffness: Offset<f64>,
        /// Jacobian of the expected yields, primal parameters x bins.
        primal_rows: Offset<f64>,
    }

    /// A parameter whose bounds in a request differ from those of the model. A fixed parameter has lower =
    /// upper.
    Override {
        param: i32,
        held: i32,
        lower: f64,
        upper: f64,
    }

    /// A direction in parameter space in which normsys effects on one sample add up (see
    /// lanes/directions.rs).
    Direction {
        n: i32,
        padding: i32,
        /// Parameters that the direction moves.
        params: Offset<i32>,
        /// Components of the unit vector, in units of the constraint widths.
        parts: Offset<f64>,
        /// Widths of the constraints.
        widths: Offset<f64>,
        /// Positions along the direction at which descents start.
        places: [f64; PLACES],
    }

    /// One fit: a minimisation with its starting point, its bounds and its search for further minima.
    Request {
        /// START_AT, START_EARLIER or START_ALONG.
        start: i32,
        /// Index, within its item, of the earlier fit at whose end this one starts.
        earlier: i32,
        /// Starting point for START_AT, direction for START_ALONG, null for START_EARLIER.
        point: Offset<f64>,
        /// First fixed parameter, -1 if there is none.
        held_param: i32,
        n_overrides: i32,
        /// Value of the first fixed parameter.
        held_value: f64,
        overrides: Offset<Override>,
        /// Index, within its item, of the earlier fit on which this one depends, -1 if there is none. If that
        /// fit converged, this one is made only if parameter `condition_param` ended within the range.
        condition_fit: i32,
        condition_param: i32,
        condition_low: f64,
        condition_high: f64,
        metric: Offset<Metric>,
        /// Number of points in `first`.
        n_first: i32,
        /// Number of points in `second`.
        n_second: i32,
        /// Number of parameters in `nonlinear`.
        n_nonlinear: i32,
        n_directions: i32,
        /// Further starting points of the first round of the search.
        first: Offset<f64>,
        /// Further starting points of the second round of the search.
        second: Offset<f64>,
        /// Parameters that may have another minimum with the opposite sign.
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

    /// Result of a fit, without its parameters.
    Outcome {
        /// `-ln L` relative to the saturated model.
        value: f64,
        /// `-ln L` of the saturated model without the Gaussian constant for toys, 0 for given data.
        saturated: f64,
        edm: f64,
        /// CONVERGED, LEFT or NOT_NEEDED.
        status: i32,
        iterations: i32,
        evaluations: i32,
        /// 1 if the CPU may continue from the end of the fit.
        usable: i32,
    }

    /// A round of a search: further starting points of one fit, each of which any thread block may take (see
    /// help.cuh). It is zero before a launch, and the host never reads it.
    Round {
        /// Next starting point in the upper 32 bits, number of starting points in the lower 32 bits.
        word: u64,
        /// Index of the request.
        request: i32,
        /// Number of this round within its search.
        number: i32,
        /// Value of the known minimum, which a descent must get below.
        known: f64,
        /// Value of the lowest minimum found in the round.
        value: f64,
        /// EDM of that minimum.
        edm: f64,
        /// Starting point of the descent to that minimum, -1 if none is below `known`.
        start: i32,
        /// Number of descents that indicate another minimum, plus ONE_OPEN for each descent that ended below
        /// the known minimum without converging.
        several: i32,
        /// Iterations of all descents of the round.
        iterations: i32,
        /// Evaluations of all descents of the round.
        evaluations: i32,
        /// Number of finished descents.
        finished: i32,
        /// 1 while a block holds the lock on `value`, `edm` and `start`.
        lock: i32,
    }

    /// Progress of a thread block, in BLOCK_DATA. Only kernels use it.
    BlockProgress {
        item: i32,
        /// Starting point of the current descent, -1 if there is none.
        start: i32,
        /// Block to whose round the starting point belongs.
        owner: i32,
        /// Number of the round, -1 for the first descent of a fit.
        round: i32,
        /// Number of starting points of the round.
        count: i32,
        /// Whether other blocks may take starting points of the round.
        offered: i32,
        /// Whether the last minimum is the lowest so far.
        lowest: i32,
        /// Whether there is nothing left to do.
        over: i32,
        /// Combination of the flags SEVERAL and OPEN.
        several: i32,
        /// Whether the descent to the lowest minimum converged.
        converged: i32,
        iterations: i32,
        evaluations: i32,
        /// `-ln L` of the lowest minimum, relative to the saturated model.
        value: f64,
        /// EDM of the lowest minimum.
        edm: f64,
    }

    /// Constants of transformed rejection (PTRS) for one Poisson mean, as ns-core computes them.
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
        /// DRAW_TABLE, DRAW_REJECTION or DRAW_NORMAL.
        method: u32,
        /// Index in `Draws::thresholds` of the first threshold of its table.
        thresholds: u32,
        /// Index in `Draws::guides` of the first guide of its table.
        guide: u32,
        unused: u32,
        /// Constants of the distribution. Their meaning depends on `method`.
        numbers: [f64; 7],
    }

    /// The distributions of all data of a toy.
    Draws {
        /// Distributions of the main counts, then of the auxiliary data. The index is the slot of the random
        /// numbers.
        sources: Offset<DatumSource>,
        thresholds: Offset<u64>,
        guides: Offset<u16>,
        seed: u64,
        hypothesis: u32,
        slots: u32,
    }

    /// The parameter of `ns_fit` and `ns_fit_global`.
    FitLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        n_items: i32,
        n_requests: i32,
        slab: OffsetMut<f64>,
        /// Doubles from the slab of one thread block to that of the next.
        slab_stride: u64,
        /// Counters: the next item, the number of finished items, the number of rounds with starting points
        /// to take.
        queue: OffsetMut<i32>,
        /// One round per thread block, initially zero; null if thread blocks do not help each other.
        rounds: OffsetMut<Round>,
        n_blocks: i32,
        /// Number of thread blocks that, when idle, wait for starting points until all items are finished.
        /// The others end as soon as there are none.
        n_waiting: i32,
        requests: Offset<Request>,
        /// Null for toys: then item `i` is toy `first_toy + i` with all requests.
        items: Offset<Item>,
        draws: Offset<Draws>,
        first_toy: u64,
        outcomes: OffsetMut<Outcome>,
        /// n_params values per outcome.
        parameters: OffsetMut<f64>,
        /// Bytes per outcome: n_params that are 1 for parameters that are fixed, at a bound or on a kink,
        /// then n_bins that are 1 for bins without a positive expected yield.
        flags: OffsetMut<u8>,
    }

    /// The parameter of `ns_evaluate` and `ns_evaluate_global`.
    EvaluateLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        extra: [u64; N_EXTRA],
        n_points: i32,
        /// Row length of JACOBIAN: the number of parameters rounded up to whole tiles.
        row: i32,
        slab: OffsetMut<f64>,
        /// Doubles from the slab of one thread block to that of the next.
        slab_stride: u64,
        /// Sets of data, each with main counts, then auxiliary data.
        data: Offset<f64>,
        /// Doubles from one set of data to the next, 0 if all points have the same data.
        data_stride: u64,
        /// Index of the set of data of each point; null if point `i` has set `i`.
        data_of: Offset<i32>,
        points: Offset<f64>,
        /// Main part and constraint part of `-ln L` relative to the saturated model, per point; may be null.
        values: OffsetMut<f64>,
        /// n_params values per point; may be null.
        gradients: OffsetMut<f64>,
        /// n_params x n_params values per point; may be null. Only `ns_evaluate_global` computes them.
        hessians: OffsetMut<f64>,
        /// 0 for points without Hessian, else 1.
        usable: OffsetMut<i32>,
    }

    /// The parameter of `ns_covariance`.
    CovarianceLaunch {
        n: i32,
        n_matrices: i32,
        /// 1 if the matrix is in shared memory during inversion, 0 if it is in the thread block's slab.
        in_shared: i32,
        padding: i32,
        slab: OffsetMut<f64>,
        slab_stride: u64,
        /// n x n values per matrix, both triangles. They are replaced by the covariances if `wanted` is 1.
        hessians: OffsetMut<f64>,
        wanted: i32,
        unused: i32,
        /// n values per matrix.
        gradients: Offset<f64>,
        /// State of each parameter, n values per matrix: MOVES_FREELY, RESTS or HELD_BY_BOUND.
        rests: Offset<u8>,
        /// 0 for matrices without Hessian.
        usable: Offset<i32>,
        /// n values per matrix.
        variances: OffsetMut<f64>,
        /// Newton step to the minimum of the quadratic form, n values per matrix.
        steps: OffsetMut<f64>,
        /// Smallest `1 / (H_ii C_ii)` of the parameters, and the EDM, per matrix. The former is not positive
        /// if the Hessian is missing or not positive definite, or if the function hardly falls beyond the
        /// bound of a parameter.
        found: OffsetMut<[f64; 2]>,
    }

    /// The parameter of `ns_draw`.
    DrawLaunch {
        draws: Offset<Draws>,
        first_toy: u64,
        n_toys: i32,
        n_data: i32,
        /// n_data values per toy.
        data: OffsetMut<f64>,
    }
}
