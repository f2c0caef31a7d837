//! Structures that kernels read and write. `kernels/structures.cuh` is generated from this file
//! (`header.rs`).

use bytemuck::{Pod, Zeroable};

use super::arrays::{N_EXTRA, N_OFFSETS};
#[cfg(test)]
use super::declare::Declaration;
use super::declare::{Element, Field, structures};
use super::offset::{Offset, OffsetMut};
use crate::shared_constants::{MEMORY_AT, METRIC_AT, PLACES, PROGRESS_AT};

const _: () = assert!(size_of::<BlockProgress>() <= 8 * (METRIC_AT - PROGRESS_AT));
const _: () = assert!(size_of::<Metric>() <= 8 * (MEMORY_AT - METRIC_AT));

structures! {
    /// The effects of the parameters on the expected yields, bin by bin. Fits use them whose metric has the
    /// derivatives at their own point (see own_derivatives.cuh). The effects of one parameter are divided into
    /// parts, each for at most TEAM bins. The entries of a part are interleaved: the first entry of each of its
    /// bins, then the second of each bin, and so on. Shorter lists are padded.
    Effects {
        /// Number of parameters with effects.
        n_params: i32,
        padding: i32,
        /// Two vectors per parameter: first part, end of its parts, the parameter, an unused number; range of
        /// its normsys terms, two unused numbers. Parameters with the longest lists come first.
        param: Offset<[i32; 4]>,
        /// Two vectors per part: ranges of its entries in `cell` and in `norm`; range of its entries in
        /// `factor`, two unused numbers.
        part: Offset<[i32; 4]>,
        /// TEAM bins per part; -1 if the part has fewer bins.
        bin: Offset<i32>,
        /// Cell of each template.
        cell: Offset<i32>,
        /// Slope and curve of each template. They are 0 in padding.
        shape: Offset<[f64; 2]>,
        /// Normsys term and cell of each effect of a term on a cell. The term is -1 in padding.
        norm: Offset<[i32; 2]>,
        /// Effects of factors: cell, block, index of the scalar factor (-1 for a per-bin factor), and index of
        /// the per-bin factor in `binwise_first` (-1 if the cell has no other per-bin factor). The cell is -1 in
        /// padding.
        factor: Offset<[i32; 4]>,
        /// Coefficients of 1, alpha and alpha^2 in the approximation of the second derivative of each normsys
        /// term, divided by the term (see lanes/own_norms.rs): `n_terms` numbers of each kind. Null if the
        /// second derivative is computed exactly.
        norm_bend: Offset<f64>,
    }

    /// One operation of a function of parameters. Results have `1 + d + d (d + 1) / 2` components for the `d` variables of the
    /// function: value, first and second derivatives. Operands and results are given by the index of their first
    /// component in the array FUNCTIONS.
    FunctionStep {
        /// Value of `EventCode`.
        code: i32,
        to: i32,
        operands: [i32; 3],
        /// Range in `Functions::single` of the variables with a first derivative.
        first: [i32; 2],
        /// Range in `Functions::pair` of the pairs of variables with a second derivative: start, end of the pairs of equal
        /// variables, end.
        second: [i32; 3],
        n_variables: i32,
        padding: i32,
        /// Exponent (POWER).
        number: f64,
    }

    /// Factors that are functions of parameters. Kernels treat their values as further parameters, the columns, which come
    /// after the parameters (see functions.cuh).
    Functions {
        n_functions: i32,
        n_columns: i32,
        /// Number of parameters on which functions depend.
        n_params: i32,
        /// Number of components of the results of all operations: the size of the array FUNCTIONS.
        n_components: i32,
        /// Number of components that are the same at all points and not zero.
        n_fixed: i32,
        padding: i32,
        /// For each function: range of its operations in `step`, and range of its variables in `variable`.
        function: Offset<[i32; 4]>,
        step: Offset<FunctionStep>,
        single: Offset<i32>,
        pair: Offset<[i32; 2]>,
        /// Index of the variable's value in FUNCTIONS, and the parameter.
        variable: Offset<[i32; 2]>,
        fixed_place: Offset<i32>,
        fixed_number: Offset<f64>,
        /// For each column: the index of its value in FUNCTIONS, and the number of variables of its function.
        column: Offset<[i32; 2]>,
        /// For each parameter of functions: range in `slope`, the parameter, and 1 if the parameter acts on expected yields
        /// without a function too, else 0.
        param: Offset<[i32; 4]>,
        /// Index in `param` of each parameter, -1 for parameters of no function.
        list_of: Offset<i32>,
        /// Columns that depend on a parameter: the column (counted from the first parameter), the indices in FUNCTIONS of the
        /// first and of the second derivative of its function with respect to the parameter, and the index of the
        /// parameter among the variables of the function.
        slope: Offset<[i32; 4]>,
    }

    /// Correlations between Gaussian constraints. The correlated parameters are listed group by group.
    Correlations {
        /// For each correlated parameter: the parameter, its auxiliary datum, and the first and the last member of its group (index
        /// after the last).
        member: Offset<[i32; 4]>,
        /// 1/sigma of each correlated parameter.
        weight: Offset<f64>,
        /// For each correlated parameter, the start of its row in `excess`.
        row: Offset<i32>,
        /// The matrix `R^-1 - 1` of each group, row by row.
        excess: Offset<f64>,
        /// For each parameter and column, its index among the correlated parameters, -1 for all others.
        place: Offset<i32>,
    }

    /// The compiled model on the device. A block is one sample in one channel, a cell one bin of a block. A
    /// scalar factor (normfactor, lumi) acts on all cells of a block, a per-bin factor on one cell. A
    /// template is the histosys effect of a parameter on a cell. Ranges are given by first index and end.
    Plan {
        n_params: i32,
        n_bins: i32,
        n_aux: i32,
        n_blocks: i32,
        n_cells: i32,
        /// Number of normsys terms: factors, each of one parameter on one block.
        n_terms: i32,
        n_slices: i32,
        /// Number of scalar parameters (of normsys, histosys or scalar factors).
        n_reacting: i32,
        /// Number of parameters that are per-bin factors.
        n_binwise: i32,
        /// Number of scalar factors, added up over all blocks.
        n_factors: i32,
        /// Interpolation code of histosys.
        histosys: i32,
        /// Interpolation code of normsys.
        normsys: i32,
        /// Number of entries of `binwise_cell`.
        n_scaled: i32,
        /// 1 if the model is so nonlinear that fits try the opposite sign of single parameters, else 0.
        strongly_nonlinear: i32,
        /// Number of parameters and of columns (values of functions that kernels treat as parameters).
        n_columns: i32,
        /// Size of the array FUNCTIONS.
        n_components: i32,
        /// Largest EDM of a converged fit.
        edm_tolerance: f64,
        /// Three vectors per block: ranges of its normsys terms (positions of `norm_place`) and of its cells;
        /// ranges of its scalar and of its per-bin factors; first bin of its channel and three unused
        /// numbers. Blocks with the most templates come first.
        block: Offset<[i32; 4]>,
        /// Parameter of each scalar factor, block after block.
        factor_param: Offset<i32>,
        /// Parameter that acts on the channel's first bin, for each per-bin factor, block after block.
        binwise_first: Offset<i32>,
        /// Parameter of each normsys term. Terms are sorted by parameter, so that neighbouring threads take
        /// the same branch.
        norm_param: Offset<i32>,
        /// Polynomial coefficients of normsys term `i`: degrees 6 and 5 at index `i`, degrees 4 and 3 at
        /// index `n_terms + i`, degrees 2 and 1 at index `2 n_terms + i`.
        norm_coefficient: Offset<[f64; 2]>,
        /// Rates of the exponential or line beyond the polynomial, for hi and lo, per normsys term.
        norm_rate: Offset<[f64; 2]>,
        /// Block of each normsys term.
        norm_block: Offset<i32>,
        /// Position of each normsys term in the order of terms sorted by block.
        norm_place: Offset<i32>,
        /// Block of each cell. Cells are sorted by block.
        cell_block: Offset<i32>,
        /// Parameter of the only per-bin factor of each cell, else NO_FACTOR or SEVERAL_FACTORS.
        cell_factor: Offset<i32>,
        /// Nominal yield of each cell.
        nominal: Offset<f64>,
        /// Range of each slice in `slice_param` and `slice_template`. A slice holds the templates of WARP
        /// neighbouring cells: the first template of every cell, then the second of every cell, and so on,
        /// padded with zeros.
        slice: Offset<[i32; 2]>,
        /// Parameter of each template in the slices.
        slice_param: Offset<i32>,
        /// Slope `S` and curve `A` of each template in the slices (effect `alpha S + f(alpha) A`).
        slice_template: Offset<[f64; 2]>,
        /// Range of each bin in `bin_cell`.
        bin: Offset<[i32; 2]>,
        /// Cell and block of each contribution to a bin.
        bin_cell: Offset<[i32; 2]>,
        /// Two vectors per scalar parameter: ranges of its templates in `hist_cell` and of its normsys terms;
        /// range of its scalar factors in `factor_place`, the parameter, an unused number. The longest lists
        /// come first.
        reacting: Offset<[i32; 4]>,
        /// Cell of each template, sorted by parameter.
        hist_cell: Offset<i32>,
        /// Slope `S` and curve `A` of each template, sorted by parameter.
        hist_template: Offset<[f64; 2]>,
        /// Index in `factor_param` of each scalar factor, sorted by parameter.
        factor_place: Offset<i32>,
        /// Parameters that are per-bin factors: range in `binwise_cell`, the parameter, an unused number.
        binwise: Offset<[i32; 4]>,
        /// Cells that a per-bin factor scales: cell, block, bin, and index of the factor in `binwise_first`,
        /// which is -1 if the cell has no other per-bin factor.
        binwise_cell: Offset<[i32; 4]>,
        /// Kind of constraint (such as GAUSSIAN) and index of its auxiliary datum, per parameter and column.
        constraint: Offset<[i32; 2]>,
        /// 1/sigma of a Gaussian or tau of a Poisson constraint, per parameter and column; 0 without constraint.
        constraint_scale: Offset<f64>,
        /// Lower bound of each parameter.
        lower: Offset<f64>,
        /// Upper bound of each parameter.
        upper: Offset<f64>,
        /// Width of the constraint of each parameter; 0 without constraint.
        width: Offset<f64>,
        /// 1 for parameters with a kink at 0, else 0; null for models without kinks.
        kinked: Offset<i32>,
        /// Null if the metric of fits has the derivatives at a point that all fits share.
        effects: Offset<Effects>,
        /// Null for models without factors that are functions.
        functions: Offset<Functions>,
        /// Null for models whose constraints are independent.
        correlations: Offset<Correlations>,
    }

    /// The part of the Gauss-Newton metric that all fits of one kind share; lanes/metric.rs defines its
    /// symbols. A local parameter is constrained and acts on one bin. For the others the metric is inverted
    /// through a matrix over bins (dual parameters) or over parameters (primal parameters).
    Metric {
        n_local: i32,
        n_dual: i32,
        n_primal: i32,
        /// Number of groups of bins. Each dual parameter acts on bins of one group only.
        n_groups: i32,
        /// For each group: its first bin, its first dual parameter, and the positions of its first elements in
        /// `kernel` and in `dual_rows`. One more element marks the ends.
        group: Offset<[i32; 4]>,
        /// Index of the first local parameter of each bin, n_bins + 1 entries. Local parameters are sorted by
        /// bin.
        local_start: Offset<i32>,
        local_param: Offset<i32>,
        local_bin: Offset<i32>,
        /// 1 if a local parameter is only a per-bin factor, so that `local_reaction` is not used, else 0.
        local_factor: Offset<i32>,
        /// Index of the auxiliary datum of a local parameter's Poisson constraint, -1 if it has none.
        local_count: Offset<i32>,
        /// Derivative of the bin's yield by the local parameter, at the point that all fits share.
        local_reaction: Offset<f64>,
        /// Second derivative of the constraint of a local parameter.
        local_stiffness: Offset<f64>,
        dual_param: Offset<i32>,
        /// Inverse of the second derivative of the constraint of a dual parameter.
        dual_inverse: Offset<f64>,
        /// Jacobian of the expected yields: for each group, its dual parameters x its bins.
        dual_rows: Offset<f64>,
        /// Transpose of the matrix of each group in `dual_rows`.
        dual_columns: Offset<f64>,
        /// `J D^-1 J'` of the dual parameters: for each group, its bins x its bins.
        kernel: Offset<f64>,
        primal_param: Offset<i32>,
        /// Second derivative of the constraint of a primal parameter, 0 without constraint.
        primal_stiffness: Offset<f64>,
        /// Second derivatives of correlated constraints with respect to pairs of primal parameters, a row for each; 0 for equal
        /// ones. Null for independent constraints.
        primal_coupling: Offset<f64>,
        /// 1 for primal parameters of functions, else 0. In metrics with the derivatives at the point of the fit, the positive
        /// part of the array BENDS is added to their second derivatives.
        primal_bends: Offset<i32>,
        /// Jacobian of the expected yields, primal parameters x bins.
        primal_rows: Offset<f64>,
    }

    /// Bounds of a parameter in a request that differ from those of the model. A fixed parameter has lower =
    /// upper, and `held` is 1 for it, else 0.
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
        /// Components of the unit vector, one per parameter, in units of the constraint widths.
        parts: Offset<f64>,
        /// Width of the constraint of each of these parameters.
        widths: Offset<f64>,
        /// Positions along the direction at which descents start.
        places: [f64; PLACES],
    }

    /// One fit: a minimisation with its starting point, its bounds and its search for further minima.
    Request {
        /// START_AT (a given point), START_EARLIER (the minimum of an earlier fit) or START_ALONG (this minimum, moved
        /// along `point`).
        start: i32,
        /// Index, within the item, of the earlier fit at whose end this fit starts.
        earlier: i32,
        /// Starting point for START_AT, direction for START_ALONG, null for START_EARLIER.
        point: Offset<f64>,
        /// First fixed parameter, -1 if there is none. START_ALONG moves it to `held_value`.
        held_param: i32,
        n_overrides: i32,
        /// Value of the first fixed parameter.
        held_value: f64,
        overrides: Offset<Override>,
        /// Index, within the item, of an earlier fit that decides whether this fit is made; -1 if this fit is always
        /// made. If the earlier fit converged, this fit is made only if the best-fit value of parameter
        /// `condition_param` there is from `condition_low` to `condition_high`.
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
        /// Parameters at whose opposite sign there may be another minimum.
        nonlinear: Offset<i32>,
        directions: Offset<Direction>,
        /// Starting points of further descents if `-ln L` falls without limit in the first descent.
        others: Offset<f64>,
        /// Number of points in `others`.
        n_others: i32,
        /// Number of parameters along which functions turn (see lanes/folds.rs).
        n_folds: i32,
        /// These parameters.
        fold_param: Offset<i32>,
        /// Values of each of these parameters that are tried, FOLD_VALUES each.
        fold_values: Offset<f64>,
    }

    /// Fits that share one set of data, i.e. the fits of one task or of one toy.
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
        /// For toys, `-ln L` of the saturated model without the Gaussian constant; for given data, 0.
        saturated: f64,
        edm: f64,
        /// CONVERGED, LEFT (to the CPU), NOT_NEEDED (by its condition) or FALLS (without limit).
        status: i32,
        iterations: i32,
        evaluations: i32,
        /// 1 if `value` is finite and not negative, so that the CPU may continue the fit, else 0.
        usable: i32,
    }

    /// One round of a fit's search for further minima: a list of starting points that any thread block may
    /// take (see help.cuh). All bytes are zero before a launch, and the host never reads them.
    Round {
        /// Upper 32 bits: index of the next starting point; lower 32 bits: number of starting points.
        word: u64,
        /// Index of the request.
        request: i32,
        /// Number of this round within its search.
        number: i32,
        /// `-ln L` of the lowest minimum before the round.
        known: f64,
        /// `-ln L` of the lowest minimum in the round so far; `known` if no minimum is lower.
        value: f64,
        /// EDM of that minimum.
        edm: f64,
        /// Index of the starting point that led to that minimum, -1 if none is below `known`.
        start: i32,
        /// Number of descents that indicate another minimum, plus ONE_OPEN for each descent that was given up
        /// below `known`. In the round RESCUE, number of descents in which `-ln L` did not fall without limit.
        several: i32,
        /// Number of iterations of all finished descents of the round.
        iterations: i32,
        /// Number of evaluations of all finished descents of the round.
        evaluations: i32,
        /// Number of finished descents.
        finished: i32,
        /// 1 while a block holds the lock on `value`, `edm` and `start`.
        lock: i32,
    }

    /// Progress of a thread block. It is in the array BLOCK_DATA, and only kernels use it.
    BlockProgress {
        item: i32,
        /// Index of the current descent's starting point in its round, -1 if there is none.
        start: i32,
        /// Index of the thread block that owns the round of the starting point.
        owner: i32,
        /// Index of the round within the search; FIRST for the first descent of a fit, RESCUE for the round after it if
        /// `-ln L` fell without limit.
        round: i32,
        /// Number of starting points of the round.
        count: i32,
        /// Whether other thread blocks may take starting points of the round.
        offered: i32,
        /// Whether the last descent ended in the lowest minimum so far.
        lowest: i32,
        /// Whether the thread block has nothing left to do.
        over: i32,
        /// Combination of the flags SEVERAL, OPEN, STANDING and FALLEN (see help.cuh).
        several: i32,
        /// Whether the descent to the lowest minimum converged.
        converged: i32,
        iterations: i32,
        evaluations: i32,
        /// `-ln L` of the lowest minimum, relative to the saturated model.
        value: f64,
        /// EDM of the lowest minimum.
        edm: f64,
        /// `-ln L` at the end of the first descent, if it fell without limit.
        fallen: f64,
        unused: f64,
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

    /// The distribution from which one datum of a toy is drawn.
    DatumSource {
        /// DRAW_TABLE (Poisson, inversion), DRAW_REJECTION (Poisson, PTRS) or DRAW_NORMAL.
        method: u32,
        /// Index in `Draws::thresholds` of the first threshold of the datum's table.
        thresholds: u32,
        /// Index in `Draws::guides` of the datum's guide, which shortens the look-up in the table.
        guide: u32,
        unused: u32,
        /// First count of the table (DRAW_TABLE), a `PoissonRejection`, or mean and sigma (DRAW_NORMAL).
        numbers: [f64; 7],
    }

    /// Auxiliary data that are drawn jointly, group by group.
    Joint {
        /// Number of groups.
        n: i32,
        /// Number of main counts, whose distributions come first.
        n_main: i32,
        /// For each group: its range in `datum`, the start of its matrix in `lower`, and an unused number.
        group: Offset<[i32; 4]>,
        /// Indices of the auxiliary data.
        datum: Offset<i32>,
        /// Cholesky factor of the correlation matrix of each group, row by row.
        lower: Offset<f64>,
    }

    /// The distributions of all data of a toy, with the key of the random numbers.
    Draws {
        /// Distributions of the main counts, then of the auxiliary data, by slot of the random numbers.
        sources: Offset<DatumSource>,
        thresholds: Offset<u64>,
        guides: Offset<u16>,
        seed: u64,
        hypothesis: u32,
        slots: u32,
        /// Null if all data are independent.
        joint: Offset<Joint>,
    }

    /// The parameter of `ns_fit`, `ns_fit_own` and `ns_fit_global`.
    FitLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        n_items: i32,
        n_requests: i32,
        slab: OffsetMut<f64>,
        /// Doubles from the slab of one thread block to that of the next.
        slab_stride: u64,
        /// Counters: next item, finished items, rounds that have starting points to take.
        queue: OffsetMut<i32>,
        /// One round per thread block; null if thread blocks do not help each other.
        rounds: OffsetMut<Round>,
        n_blocks: i32,
        /// Number of thread blocks that, when idle, wait for starting points until all items are finished.
        /// The other blocks end as soon as there are no starting points to take.
        n_waiting: i32,
        requests: Offset<Request>,
        /// Items with given data. Null for toys: then item `i` is toy `first_toy + i`, with all requests.
        items: Offset<Item>,
        draws: Offset<Draws>,
        first_toy: u64,
        outcomes: OffsetMut<Outcome>,
        /// Best-fit values, n_params per outcome.
        parameters: OffsetMut<f64>,
        /// Bytes per outcome: n_params that are 1 for parameters that are fixed, held at a bound or on a
        /// kink, then n_bins that are 1 for bins without a positive expected yield.
        flags: OffsetMut<u8>,
    }

    /// The parameter of `ns_evaluate` and `ns_evaluate_global`.
    EvaluateLaunch {
        plan: Plan,
        offset: [u32; N_OFFSETS],
        extra: [u64; N_EXTRA],
        n_points: i32,
        /// Row length of the array JACOBIAN: the number of parameters rounded up to a multiple of TILE.
        row: i32,
        slab: OffsetMut<f64>,
        /// Doubles from the slab of one thread block to that of the next.
        slab_stride: u64,
        /// Sets of data, each with main counts, then auxiliary data.
        data: Offset<f64>,
        /// Doubles from one set of data to the next, 0 if all points have the same data.
        data_stride: u64,
        /// Index of the set of data for each point; null if point `i` has the set with index `i`.
        data_of: Offset<i32>,
        points: Offset<f64>,
        /// Main part and constraint part of `-ln L` relative to the saturated model, per point; may be null.
        values: OffsetMut<f64>,
        /// n_params values per point; may be null.
        gradients: OffsetMut<f64>,
        /// n_params x n_params values per point; may be null. Only `ns_evaluate_global` computes Hessians.
        hessians: OffsetMut<f64>,
        /// 0 for points whose Hessian is left to the CPU, else 1.
        usable: OffsetMut<i32>,
    }

    /// The parameter of `ns_covariance`.
    CovarianceLaunch {
        n: i32,
        n_matrices: i32,
        /// 1 if matrices are in shared memory during inversion, 0 if they are in the blocks' slabs.
        in_shared: i32,
        padding: i32,
        slab: OffsetMut<f64>,
        slab_stride: u64,
        /// n x n values per matrix, both triangles. If `wanted` is 1, covariances replace the Hessians.
        hessians: OffsetMut<f64>,
        wanted: i32,
        unused: i32,
        /// n values per matrix.
        gradients: Offset<f64>,
        /// n values per matrix: MOVES_FREELY, RESTS (fixed or on a kink) or HELD_BY_BOUND.
        rests: Offset<u8>,
        /// 0 for matrices whose Hessian is missing, else 1.
        usable: Offset<i32>,
        /// n values per matrix.
        variances: OffsetMut<f64>,
        /// Newton step to the minimum of the quadratic approximation, n values per matrix.
        steps: OffsetMut<f64>,
        /// Smallest `1 / (H_ii C_ii)` (Hessian H, covariance C) of the parameters, and the EDM, per matrix.
        /// The former is not positive if the Hessian is missing or not positive definite, or if `-ln L`
        /// hardly falls beyond a bound that holds a parameter.
        found: OffsetMut<[f64; 2]>,
    }

    /// The parameter of `ns_draw`.
    DrawLaunch {
        draws: Offset<Draws>,
        first_toy: u64,
        n_toys: i32,
        n_data: i32,
        /// Main counts, then auxiliary data, n_data values per toy.
        data: OffsetMut<f64>,
    }
}
