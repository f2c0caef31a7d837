// What kernels and host share. Made from src/device/{arrays,layout}.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// Working arrays of one thread block. The arrays before FIRST_GLOBAL are in shared memory if the model
// is small enough, otherwise in the block's slab (its part of device memory).
enum Array {
    BLOCK_DATA,
    TRIAL,
    GRADIENT,
    CURVED,
    SLOPE,
    DIRECTION,
    THETA,
    HELD,
    FROM,
    TO,
    LAMBDA,
    BIN_SLOPE,
    WEIGHT,
    BINS,
    ROOT,
    MAIN,
    AUX,
    NORM,
    SCALE,
    TOTAL,
    OTHERS,
    ADDITIVE,
    BINWISE,
    PARTS,
    BINS_TO,
    COLUMN,
    MATRIX,
    LOCAL,
    LOCAL_REACTION,
    DUAL,
    RIGHT,
    MOVES,
    INNER,
    SCALED,
    COLUMNS,
    REACTION,
    // These four arrays are used only in fits whose metric has the derivatives at their own point (see
    // own_derivatives.cuh).
    CELL_SCALE,
    YIELD,
    DERIVATIVES,
    BENDS,
    // This array and all later ones are always in the slab.
    FACTOR,
    RATIO,
    LOWER,
    UPPER,
    START,
    BEST,
    BEST_HELD,
    EMPTY,
    SNAPSHOT,
    STEPS,
    CHANGES,
    DATA,
    JUMP,
    SIDE,
    RISE,
    // Values and derivatives of functions of parameters (see functions.cuh).
    FUNCTIONS,
    // Heights along one parameter of functions, then the lowest points in other valleys along all of them.
    FOLDS,
};

// Further arrays for a Hessian. They come after the arrays of an evaluation in the block's slab.
enum class Extra {
    // First derivative `f'` of the histosys interpolation code, per parameter.
    FIRST,
    // Second derivative `f''` of the histosys interpolation code, per parameter.
    SECOND,
    // Rank of each parameter. Scalar parameters, which act on all bins of a sample, have the lowest
    // ranks.
    RANK,
    // Second derivative of the Poisson term by the expected yield, per bin.
    CURVATURE,
    // Product `G` of the per-bin factors of a cell, per cell.
    PRODUCT,
    // Sum of `r G A` over the cells of a block, per block (see hessian.cuh).
    BARE,
    // Product `N F` of the factor's block without this factor, per scalar factor.
    LEFT,
    // Index of the block, per scalar factor.
    OWNER,
    // Derivative of `N` divided by `N`, blocks x scalar parameters.
    RATIOS,
    // Derivative of `S = N F`, blocks x scalar parameters.
    RATES,
    // Derivative of BARE through its factor `A`, blocks x scalar parameters.
    TILTS,
    // Derivative of the expected yield, bins x parameters (and columns).
    JACOBIAN,
    // Hessian with respect to parameters and columns, in models with functions.
    WHOLE,
};

// Number of arrays; offsets, an even number of them.
constexpr int N_ARRAYS = 57;
constexpr int N_OFFSETS = 58;
// The first array that is always in the block's slab of device memory.
constexpr int FIRST_GLOBAL = 40;
// Number of arrays that only a Hessian has.
constexpr int N_EXTRA = 13;

// The effects of the parameters on the expected yields, bin by bin. Fits use them whose metric has the
// derivatives at their own point (see own_derivatives.cuh). The effects of one parameter are divided into
// parts, each for at most TEAM bins. The entries of a part are interleaved: the first entry of each of its
// bins, then the second of each bin, and so on. Shorter lists are padded.
struct Effects {
    // Number of parameters with effects.
    int n_params;
    int padding;
    // Two vectors per parameter: first part, end of its parts, the parameter, an unused number; range of
    // its normsys terms, two unused numbers. Parameters with the longest lists come first.
    const int4* param;
    // Two vectors per part: ranges of its entries in `cell` and in `norm`; range of its entries in
    // `factor`, two unused numbers.
    const int4* part;
    // TEAM bins per part; -1 if the part has fewer bins.
    const int* bin;
    // Cell of each template.
    const int* cell;
    // Slope and curve of each template. They are 0 in padding.
    const Pair* shape;
    // Normsys term and cell of each effect of a term on a cell. The term is -1 in padding.
    const int2* norm;
    // Effects of factors: cell, block, index of the scalar factor (-1 for a per-bin factor), and index of
    // the per-bin factor in `binwise_first` (-1 if the cell has no other per-bin factor). The cell is -1 in
    // padding.
    const int4* factor;
    // Coefficients of 1, alpha and alpha^2 in the approximation of the second derivative of each normsys
    // term, divided by the term (see lanes/own_norms.rs): `n_terms` numbers of each kind. Null if the
    // second derivative is computed exactly.
    const double* norm_bend;
};
static_assert(sizeof(Effects) == 72, "as on the host");

// One operation of a function of parameters. Results have `1 + d + d (d + 1) / 2` components for the `d` variables of the
// function: value, first and second derivatives. Operands and results are given by the index of their first
// component in the array FUNCTIONS.
struct FunctionStep {
    // Value of `EventCode`.
    int code;
    int to;
    int operands[3];
    // Range in `Functions::single` of the variables with a first derivative.
    int first[2];
    // Range in `Functions::pair` of the pairs of variables with a second derivative: start, end of the pairs of equal
    // variables, end.
    int second[3];
    int n_variables;
    int padding;
    // Exponent (POWER).
    double number;
};
static_assert(sizeof(FunctionStep) == 56, "as on the host");

// Factors that are functions of parameters. Kernels treat their values as further parameters, the columns, which come
// after the parameters (see functions.cuh).
struct Functions {
    int n_functions;
    int n_columns;
    // Number of parameters on which functions depend.
    int n_params;
    // Number of components of the results of all operations: the size of the array FUNCTIONS.
    int n_components;
    // Number of components that are the same at all points and not zero.
    int n_fixed;
    int padding;
    // For each function: range of its operations in `step`, and range of its variables in `variable`.
    const int4* function;
    const FunctionStep* step;
    const int* single;
    const int2* pair;
    // Index of the variable's value in FUNCTIONS, and the parameter.
    const int2* variable;
    const int* fixed_place;
    const double* fixed_number;
    // For each column: the index of its value in FUNCTIONS, and the number of variables of its function.
    const int2* column;
    // For each parameter of functions: range in `slope`, the parameter, and 1 if the parameter acts on expected yields
    // without a function too, else 0.
    const int4* param;
    // Index in `param` of each parameter, -1 for parameters of no function.
    const int* list_of;
    // Columns that depend on a parameter: the column (counted from the first parameter), the indices in FUNCTIONS of the
    // first and of the second derivative of its function with respect to the parameter, and the index of the
    // parameter among the variables of the function.
    const int4* slope;
};
static_assert(sizeof(Functions) == 112, "as on the host");

// Correlations between Gaussian constraints. The correlated parameters are listed group by group.
struct Correlations {
    // For each correlated parameter: the parameter, its auxiliary datum, and the first and the last member of its group (index
    // after the last).
    const int4* member;
    // 1/sigma of each correlated parameter.
    const double* weight;
    // For each correlated parameter, the start of its row in `excess`.
    const int* row;
    // The matrix `R^-1 - 1` of each group, row by row.
    const double* excess;
    // For each parameter and column, its index among the correlated parameters, -1 for all others.
    const int* place;
};
static_assert(sizeof(Correlations) == 40, "as on the host");

// The compiled model on the device. A block is one sample in one channel, a cell one bin of a block. A
// scalar factor (normfactor, lumi) acts on all cells of a block, a per-bin factor on one cell. A
// template is the histosys effect of a parameter on a cell. Ranges are given by first index and end.
struct Plan {
    int n_params;
    int n_bins;
    int n_aux;
    int n_blocks;
    int n_cells;
    // Number of normsys terms: factors, each of one parameter on one block.
    int n_terms;
    int n_slices;
    // Number of scalar parameters (of normsys, histosys or scalar factors).
    int n_reacting;
    // Number of parameters that are per-bin factors.
    int n_binwise;
    // Number of scalar factors, added up over all blocks.
    int n_factors;
    // Interpolation code of histosys.
    int histosys;
    // Interpolation code of normsys.
    int normsys;
    // Number of entries of `binwise_cell`.
    int n_scaled;
    // 1 if the model is so nonlinear that fits try the opposite sign of single parameters, else 0.
    int strongly_nonlinear;
    // Number of parameters and of columns (values of functions that kernels treat as parameters).
    int n_columns;
    // Size of the array FUNCTIONS.
    int n_components;
    // Largest EDM of a converged fit.
    double edm_tolerance;
    // Three vectors per block: ranges of its normsys terms (positions of `norm_place`) and of its cells;
    // ranges of its scalar and of its per-bin factors; first bin of its channel and three unused
    // numbers. Blocks with the most templates come first.
    const int4* block;
    // Parameter of each scalar factor, block after block.
    const int* factor_param;
    // Parameter that acts on the channel's first bin, for each per-bin factor, block after block.
    const int* binwise_first;
    // Parameter of each normsys term. Terms are sorted by parameter, so that neighbouring threads take
    // the same branch.
    const int* norm_param;
    // Polynomial coefficients of normsys term `i`: degrees 6 and 5 at index `i`, degrees 4 and 3 at
    // index `n_terms + i`, degrees 2 and 1 at index `2 n_terms + i`.
    const Pair* norm_coefficient;
    // Rates of the exponential or line beyond the polynomial, for hi and lo, per normsys term.
    const Pair* norm_rate;
    // Block of each normsys term.
    const int* norm_block;
    // Position of each normsys term in the order of terms sorted by block.
    const int* norm_place;
    // Block of each cell. Cells are sorted by block.
    const int* cell_block;
    // Parameter of the only per-bin factor of each cell, else NO_FACTOR or SEVERAL_FACTORS.
    const int* cell_factor;
    // Nominal yield of each cell.
    const double* nominal;
    // Range of each slice in `slice_param` and `slice_template`. A slice holds the templates of WARP
    // neighbouring cells: the first template of every cell, then the second of every cell, and so on,
    // padded with zeros.
    const int2* slice;
    // Parameter of each template in the slices.
    const int* slice_param;
    // Slope `S` and curve `A` of each template in the slices (effect `alpha S + f(alpha) A`).
    const Pair* slice_template;
    // Range of each bin in `bin_cell`.
    const int2* bin;
    // Cell and block of each contribution to a bin.
    const int2* bin_cell;
    // Two vectors per scalar parameter: ranges of its templates in `hist_cell` and of its normsys terms;
    // range of its scalar factors in `factor_place`, the parameter, an unused number. The longest lists
    // come first.
    const int4* reacting;
    // Cell of each template, sorted by parameter.
    const int* hist_cell;
    // Slope `S` and curve `A` of each template, sorted by parameter.
    const Pair* hist_template;
    // Index in `factor_param` of each scalar factor, sorted by parameter.
    const int* factor_place;
    // Parameters that are per-bin factors: range in `binwise_cell`, the parameter, an unused number.
    const int4* binwise;
    // Cells that a per-bin factor scales: cell, block, bin, and index of the factor in `binwise_first`,
    // which is -1 if the cell has no other per-bin factor.
    const int4* binwise_cell;
    // Kind of constraint (such as GAUSSIAN) and index of its auxiliary datum, per parameter and column.
    const int2* constraint;
    // 1/sigma of a Gaussian or tau of a Poisson constraint, per parameter and column; 0 without constraint.
    const double* constraint_scale;
    // Lower bound of each parameter.
    const double* lower;
    // Upper bound of each parameter.
    const double* upper;
    // Width of the constraint of each parameter; 0 without constraint.
    const double* width;
    // 1 for parameters with a kink at 0, else 0; null for models without kinks.
    const int* kinked;
    // Null if the metric of fits has the derivatives at a point that all fits share.
    const Effects* effects;
    // Null for models without factors that are functions.
    const Functions* functions;
    // Null for models whose constraints are independent.
    const Correlations* correlations;
};
static_assert(sizeof(Plan) == 320, "as on the host");

// The part of the Gauss-Newton metric that all fits of one kind share; lanes/metric.rs defines its
// symbols. A local parameter is constrained and acts on one bin. For the others the metric is inverted
// through a matrix over bins (dual parameters) or over parameters (primal parameters).
struct Metric {
    int n_local;
    int n_dual;
    int n_primal;
    // Number of groups of bins. Each dual parameter acts on bins of one group only.
    int n_groups;
    // For each group: its first bin, its first dual parameter, and the positions of its first elements in
    // `kernel` and in `dual_rows`. One more element marks the ends.
    const int4* group;
    // Index of the first local parameter of each bin, n_bins + 1 entries. Local parameters are sorted by
    // bin.
    const int* local_start;
    const int* local_param;
    const int* local_bin;
    // 1 if a local parameter is only a per-bin factor, so that `local_reaction` is not used, else 0.
    const int* local_factor;
    // Index of the auxiliary datum of a local parameter's Poisson constraint, -1 if it has none.
    const int* local_count;
    // Derivative of the bin's yield by the local parameter, at the point that all fits share.
    const double* local_reaction;
    // Second derivative of the constraint of a local parameter.
    const double* local_stiffness;
    const int* dual_param;
    // Inverse of the second derivative of the constraint of a dual parameter.
    const double* dual_inverse;
    // Jacobian of the expected yields: for each group, its dual parameters x its bins.
    const double* dual_rows;
    // Transpose of the matrix of each group in `dual_rows`.
    const double* dual_columns;
    // `J D^-1 J'` of the dual parameters: for each group, its bins x its bins.
    const double* kernel;
    const int* primal_param;
    // Second derivative of the constraint of a primal parameter, 0 without constraint.
    const double* primal_stiffness;
    // Second derivatives of correlated constraints with respect to pairs of primal parameters, a row for each; 0 for equal
    // ones. Null for independent constraints.
    const double* primal_coupling;
    // 1 for primal parameters of functions, else 0. In metrics with the derivatives at the point of the fit, the positive
    // part of the array BENDS is added to their second derivatives.
    const int* primal_bends;
    // Jacobian of the expected yields, primal parameters x bins.
    const double* primal_rows;
};
static_assert(sizeof(Metric) == 160, "as on the host");

// Bounds of a parameter in a request that differ from those of the model. A fixed parameter has lower =
// upper, and `held` is 1 for it, else 0.
struct Override {
    int param;
    int held;
    double lower;
    double upper;
};
static_assert(sizeof(Override) == 24, "as on the host");

// A direction in parameter space in which normsys effects on one sample add up (see
// lanes/directions.rs).
struct Direction {
    int n;
    int padding;
    // Parameters that the direction moves.
    const int* params;
    // Components of the unit vector, one per parameter, in units of the constraint widths.
    const double* parts;
    // Width of the constraint of each of these parameters.
    const double* widths;
    // Positions along the direction at which descents start.
    double places[2];
};
static_assert(sizeof(Direction) == 48, "as on the host");

// One fit: a minimisation with its starting point, its bounds and its search for further minima.
struct Request {
    // START_AT (a given point), START_EARLIER (the minimum of an earlier fit) or START_ALONG (this minimum, moved
    // along `point`).
    int start;
    // Index, within the item, of the earlier fit at whose end this fit starts.
    int earlier;
    // Starting point for START_AT, direction for START_ALONG, null for START_EARLIER.
    const double* point;
    // First fixed parameter, -1 if there is none. START_ALONG moves it to `held_value`.
    int held_param;
    int n_overrides;
    // Value of the first fixed parameter.
    double held_value;
    const Override* overrides;
    // Index, within the item, of an earlier fit that decides whether this fit is made; -1 if this fit is always
    // made. If the earlier fit converged, this fit is made only if the best-fit value of parameter
    // `condition_param` there is from `condition_low` to `condition_high`.
    int condition_fit;
    int condition_param;
    double condition_low;
    double condition_high;
    const Metric* metric;
    // Number of points in `first`.
    int n_first;
    // Number of points in `second`.
    int n_second;
    // Number of parameters in `nonlinear`.
    int n_nonlinear;
    int n_directions;
    // Further starting points of the first round of the search.
    const double* first;
    // Further starting points of the second round of the search.
    const double* second;
    // Parameters at whose opposite sign there may be another minimum.
    const int* nonlinear;
    const Direction* directions;
    // Starting points of further descents if `-ln L` falls without limit in the first descent.
    const double* others;
    // Number of points in `others`.
    int n_others;
    // Number of parameters along which functions turn (see lanes/folds.rs).
    int n_folds;
    // These parameters.
    const int* fold_param;
    // Values of each of these parameters that are tried, FOLD_VALUES each.
    const double* fold_values;
};
static_assert(sizeof(Request) == 152, "as on the host");

// Fits that share one set of data, i.e. the fits of one task or of one toy.
struct Item {
    int first_request;
    int n_requests;
    int first_outcome;
    int padding;
    // Main counts, then auxiliary data.
    const double* data;
};
static_assert(sizeof(Item) == 24, "as on the host");

// Result of a fit, without its parameters.
struct Outcome {
    // `-ln L` relative to the saturated model.
    double value;
    // For toys, `-ln L` of the saturated model without the Gaussian constant; for given data, 0.
    double saturated;
    double edm;
    // CONVERGED, LEFT (to the CPU), NOT_NEEDED (by its condition) or FALLS (without limit).
    int status;
    int iterations;
    int evaluations;
    // 1 if `value` is finite and not negative, so that the CPU may continue the fit, else 0.
    int usable;
};
static_assert(sizeof(Outcome) == 40, "as on the host");

// One round of a fit's search for further minima: a list of starting points that any thread block may
// take (see help.cuh). All bytes are zero before a launch, and the host never reads them.
struct Round {
    // Upper 32 bits: index of the next starting point; lower 32 bits: number of starting points.
    uint64_t word;
    // Index of the request.
    int request;
    // Number of this round within its search.
    int number;
    // `-ln L` of the lowest minimum before the round.
    double known;
    // `-ln L` of the lowest minimum in the round so far; `known` if no minimum is lower.
    double value;
    // EDM of that minimum.
    double edm;
    // Index of the starting point that led to that minimum, -1 if none is below `known`.
    int start;
    // Number of descents that indicate another minimum, plus ONE_OPEN for each descent that was given up
    // below `known`. In the round RESCUE, number of descents in which `-ln L` did not fall without limit.
    int several;
    // Number of iterations of all finished descents of the round.
    int iterations;
    // Number of evaluations of all finished descents of the round.
    int evaluations;
    // Number of finished descents.
    int finished;
    // 1 while a block holds the lock on `value`, `edm` and `start`.
    int lock;
};
static_assert(sizeof(Round) == 64, "as on the host");

// Progress of a thread block. It is in the array BLOCK_DATA, and only kernels use it.
struct BlockProgress {
    int item;
    // Index of the current descent's starting point in its round, -1 if there is none.
    int start;
    // Index of the thread block that owns the round of the starting point.
    int owner;
    // Index of the round within the search; FIRST for the first descent of a fit, RESCUE for the round after it if
    // `-ln L` fell without limit.
    int round;
    // Number of starting points of the round.
    int count;
    // Whether other thread blocks may take starting points of the round.
    int offered;
    // Whether the last descent ended in the lowest minimum so far.
    int lowest;
    // Whether the thread block has nothing left to do.
    int over;
    // Combination of the flags SEVERAL, OPEN, STANDING and FALLEN (see help.cuh).
    int several;
    // Whether the descent to the lowest minimum converged.
    int converged;
    int iterations;
    int evaluations;
    // `-ln L` of the lowest minimum, relative to the saturated model.
    double value;
    // EDM of the lowest minimum.
    double edm;
    // `-ln L` at the end of the first descent, if it fell without limit.
    double fallen;
    double unused;
};
static_assert(sizeof(BlockProgress) == 80, "as on the host");

// Constants of transformed rejection (PTRS) for one Poisson mean, as ns-core computes them.
struct PoissonRejection {
    double whole;
    double part;
    double mean;
    double a;
    double b;
    double attempts;
    double squeeze;
};
static_assert(sizeof(PoissonRejection) == 56, "as on the host");

// The distribution from which one datum of a toy is drawn.
struct DatumSource {
    // DRAW_TABLE (Poisson, inversion), DRAW_REJECTION (Poisson, PTRS) or DRAW_NORMAL.
    uint32_t method;
    // Index in `Draws::thresholds` of the first threshold of the datum's table.
    uint32_t thresholds;
    // Index in `Draws::guides` of the datum's guide, which shortens the look-up in the table.
    uint32_t guide;
    uint32_t unused;
    // First count of the table (DRAW_TABLE), a `PoissonRejection`, or mean and sigma (DRAW_NORMAL).
    double numbers[7];
};
static_assert(sizeof(DatumSource) == 72, "as on the host");

// Auxiliary data that are drawn jointly, group by group.
struct Joint {
    // Number of groups.
    int n;
    // Number of main counts, whose distributions come first.
    int n_main;
    // For each group: its range in `datum`, the start of its matrix in `lower`, and an unused number.
    const int4* group;
    // Indices of the auxiliary data.
    const int* datum;
    // Cholesky factor of the correlation matrix of each group, row by row.
    const double* lower;
};
static_assert(sizeof(Joint) == 32, "as on the host");

// The distributions of all data of a toy, with the key of the random numbers.
struct Draws {
    // Distributions of the main counts, then of the auxiliary data, by slot of the random numbers.
    const DatumSource* sources;
    const uint64_t* thresholds;
    const uint16_t* guides;
    uint64_t seed;
    uint32_t hypothesis;
    uint32_t slots;
    // Null if all data are independent.
    const Joint* joint;
};
static_assert(sizeof(Draws) == 48, "as on the host");

// The parameter of `ns_fit`, `ns_fit_own` and `ns_fit_global`.
struct FitLaunch {
    Plan plan;
    uint32_t offset[58];
    int n_items;
    int n_requests;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // Counters: next item, finished items, rounds that have starting points to take.
    int* queue;
    // One round per thread block; null if thread blocks do not help each other.
    Round* rounds;
    int n_blocks;
    // Number of thread blocks that, when idle, wait for starting points until all items are finished.
    // The other blocks end as soon as there are no starting points to take.
    int n_waiting;
    const Request* requests;
    // Items with given data. Null for toys: then item `i` is toy `first_toy + i`, with all requests.
    const Item* items;
    const Draws* draws;
    uint64_t first_toy;
    Outcome* outcomes;
    // Best-fit values, n_params per outcome.
    double* parameters;
    // Bytes per outcome: n_params that are 1 for parameters that are fixed, held at a bound or on a
    // kink, then n_bins that are 1 for bins without a positive expected yield.
    uint8_t* flags;
};
static_assert(sizeof(FitLaunch) == 656, "as on the host");

// The parameter of `ns_evaluate` and `ns_evaluate_global`.
struct EvaluateLaunch {
    Plan plan;
    uint32_t offset[58];
    uint64_t extra[13];
    int n_points;
    // Row length of the array JACOBIAN: the number of parameters rounded up to a multiple of TILE.
    int row;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // Sets of data, each with main counts, then auxiliary data.
    const double* data;
    // Doubles from one set of data to the next, 0 if all points have the same data.
    uint64_t data_stride;
    // Index of the set of data for each point; null if point `i` has the set with index `i`.
    const int* data_of;
    const double* points;
    // Main part and constraint part of `-ln L` relative to the saturated model, per point; may be null.
    double* values;
    // n_params values per point; may be null.
    double* gradients;
    // n_params x n_params values per point; may be null. Only `ns_evaluate_global` computes Hessians.
    double* hessians;
    // 0 for points whose Hessian is left to the CPU, else 1.
    int* usable;
};
static_assert(sizeof(EvaluateLaunch) == 744, "as on the host");

// The parameter of `ns_covariance`.
struct CovarianceLaunch {
    int n;
    int n_matrices;
    // 1 if matrices are in shared memory during inversion, 0 if they are in the blocks' slabs.
    int in_shared;
    int padding;
    double* slab;
    uint64_t slab_stride;
    // n x n values per matrix, both triangles. If `wanted` is 1, covariances replace the Hessians.
    double* hessians;
    int wanted;
    int unused;
    // n values per matrix.
    const double* gradients;
    // n values per matrix: MOVES_FREELY, RESTS (fixed or on a kink) or HELD_BY_BOUND.
    const uint8_t* rests;
    // 0 for matrices whose Hessian is missing, else 1.
    const int* usable;
    // n values per matrix.
    double* variances;
    // Newton step to the minimum of the quadratic approximation, n values per matrix.
    double* steps;
    // Smallest `1 / (H_ii C_ii)` (Hessian H, covariance C) of the parameters, and the EDM, per matrix.
    // The former is not positive if the Hessian is missing or not positive definite, or if `-ln L`
    // hardly falls beyond a bound that holds a parameter.
    Pair* found;
};
static_assert(sizeof(CovarianceLaunch) == 96, "as on the host");

// The parameter of `ns_draw`.
struct DrawLaunch {
    const Draws* draws;
    uint64_t first_toy;
    int n_toys;
    int n_data;
    // Main counts, then auxiliary data, n_data values per toy.
    double* data;
};
static_assert(sizeof(DrawLaunch) == 32, "as on the host");

}  // namespace ns
