// What kernels and host share. Made from src/device/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// Working arrays of one thread block. Those before FIRST_GLOBAL are in shared memory if the model is
// small enough, otherwise in the block's slab of device memory.
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
};

// Arrays that a Hessian needs in addition to those of an evaluation. They follow these in the slab.
enum class Extra {
    // `f'` of histosys, per parameter.
    FIRST,
    // `f''` of histosys, per parameter.
    SECOND,
    // Rank of each parameter. Parameters that act on whole samples ("scalar" ones) have the lowest
    // ranks.
    RANK,
    // Second derivative of the Poisson term by the expected yield, per bin.
    CURVATURE,
    // Product `G` of the per-bin factors, per cell.
    PRODUCT,
    // Sum of `r G A` over the cells of a block, per block (see hessian.cuh).
    BARE,
    // Product `N F` of a block without this factor, per scalar factor.
    LEFT,
    // Block of each scalar factor.
    OWNER,
    // Relative derivative of `N`, blocks x scalar parameters.
    RATIOS,
    // Derivative of `S = N F`, blocks x scalar parameters.
    RATES,
    // Derivative of BARE through `A`, blocks x scalar parameters.
    TILTS,
    // Derivative of the expected yield, bins x parameters.
    JACOBIAN,
};

// Number of arrays; offsets, an even number of them.
constexpr int N_ARRAYS = 51;
constexpr int N_OFFSETS = 52;
// The first array that is always in the block's slab of device memory.
constexpr int FIRST_GLOBAL = 36;
// Number of arrays that only a Hessian has.
constexpr int N_EXTRA = 12;

// The compiled model on the device. A "block" of the model is one sample in one channel, and a "cell" is
// one bin of a block. Ranges are given by first index and end.
struct Plan {
    int n_params;
    int n_bins;
    int n_aux;
    int n_blocks;
    int n_cells;
    // Number of normsys terms.
    int n_terms;
    int n_slices;
    // Number of scalar parameters that act on yields.
    int n_reacting;
    // Number of parameters that are per-bin factors.
    int n_binwise;
    // Number of scalar factors, summed over blocks.
    int n_factors;
    // Interpolation code of histosys.
    int histosys;
    // Interpolation code of normsys.
    int normsys;
    // Number of entries of `binwise_cell`.
    int n_scaled;
    // 1 if the model is so nonlinear that fits try the other sign of single parameters.
    int strongly_nonlinear;
    // Largest EDM of a converged fit.
    double edm_tolerance;
    // Blocks, sorted by decreasing number of templates. Each has three vectors: the ranges of its
    // normsys terms and of its cells; the ranges of its scalar factors and of its per-bin factors; the
    // first bin of its channel and three unused numbers.
    const int4* block;
    // Parameter of each scalar factor, block after block.
    const int* factor_param;
    // Parameter of the channel's first bin for each per-bin factor, block after block.
    const int* binwise_first;
    // Parameter of each normsys term. Terms are sorted by parameter, so that neighbouring threads take
    // the same branch.
    const int* norm_param;
    // Polynomial coefficients of normsys term `i`: degrees 6 and 5 at index `i`, degrees 4 and 3 at index
    // `n_terms + i`, degrees 2 and 1 at index `2 n_terms + i`.
    const Pair* norm_coefficient;
    // Rates of hi and lo beyond the polynomial, per normsys term.
    const Pair* norm_rate;
    // Block of each normsys term.
    const int* norm_block;
    // Position of each normsys term when they are sorted by block.
    const int* norm_place;
    // Block of each cell. Cells are sorted by block.
    const int* cell_block;
    // Parameter of the only per-bin factor of each cell, or NO_FACTOR or SEVERAL_FACTORS.
    const int* cell_factor;
    // Nominal yield of each cell.
    const double* nominal;
    // Range of each slice in `slice_param` and `slice_template`. A slice has the histosys templates of
    // WARP neighbouring cells: first the first template of every cell, then the second one of every
    // cell, and so on.
    const int2* slice;
    // Parameter of each template in the slices.
    const int* slice_param;
    // Slope `S` and curve `A` of each template in the slices.
    const Pair* slice_template;
    // Range of each bin in `bin_cell`.
    const int2* bin;
    // Cell and block of each contribution to a bin.
    const int2* bin_cell;
    // Scalar parameters that act on yields, those with most work first. Each has two vectors: the ranges
    // of its templates in `hist_cell` and of its normsys terms; the range of its scalar factors in
    // `factor_place`, the parameter, and an unused number.
    const int4* reacting;
    // Cell of each template, sorted by parameter.
    const int* hist_cell;
    // Slope `S` and curve `A` of each template, sorted by parameter.
    const Pair* hist_template;
    // Index in `factor_param` of each scalar factor, sorted by parameter.
    const int* factor_place;
    // Parameters that are per-bin factors: range in `binwise_cell`, the parameter, and an unused number.
    const int4* binwise;
    // Cells that a per-bin factor scales: cell, block, bin, and index of the factor in `binwise_first`,
    // which is -1 if it is the only one of the cell.
    const int4* binwise_cell;
    // Kind of constraint and index of the auxiliary datum, per parameter.
    const int2* constraint;
    // 1/sigma of a Gaussian constraint or tau of a Poisson constraint, per parameter.
    const double* constraint_scale;
    // Lower bound of each parameter.
    const double* lower;
    // Upper bound of each parameter.
    const double* upper;
    // Width of the constraint of each parameter, 0 without constraint.
    const double* width;
    // 1 for parameters with a kink at 0, else 0; null for models without kinks.
    const int* kinked;
};
static_assert(sizeof(Plan) == 288, "as on the host");

// The part of the Gauss-Newton metric that all fits of one kind share (see lanes/metric.rs). A local
// parameter acts on one bin. The other parameters are dual or primal, according to how the matrix is
// inverted.
struct Metric {
    int n_local;
    int n_dual;
    int n_primal;
    int padding;
    // Index of the first local parameter of each bin, n_bins + 1 entries. Local parameters are sorted by
    // bin.
    const int* local_start;
    const int* local_param;
    const int* local_bin;
    // 1 for local parameters that are per-bin factors and nothing else.
    const int* local_factor;
    // Index of the auxiliary datum of the Poisson constraint of a local parameter, else -1.
    const int* local_count;
    // Derivative of the bin's expected yield by the local parameter.
    const double* local_reaction;
    // Second derivative of the constraint of a local parameter.
    const double* local_stiffness;
    const int* dual_param;
    // Inverse second derivative of the constraint of a dual parameter.
    const double* dual_inverse;
    // Jacobian of the expected yields, dual parameters x bins.
    const double* dual_rows;
    // Transpose of `dual_rows`, bins x dual parameters.
    const double* dual_columns;
    // `J D^-1 J'` summed over dual parameters, bins x bins.
    const double* kernel;
    const int* primal_param;
    // Second derivative of the constraint of a primal parameter, 0 without constraint.
    const double* primal_stiffness;
    // Jacobian of the expected yields, primal parameters x bins.
    const double* primal_rows;
};
static_assert(sizeof(Metric) == 136, "as on the host");

// A parameter whose bounds in a request differ from those of the model. A fixed parameter has lower =
// upper.
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
    // Components of the unit vector, in units of the constraint widths.
    const double* parts;
    // Widths of the constraints.
    const double* widths;
    // Positions along the direction at which descents start.
    double places[2];
};
static_assert(sizeof(Direction) == 48, "as on the host");

// One fit: a minimisation with its starting point, its bounds and its search for further minima.
struct Request {
    // START_AT, START_EARLIER or START_ALONG.
    int start;
    // Index, within its item, of the earlier fit at whose end this one starts.
    int earlier;
    // Starting point for START_AT, direction for START_ALONG, null for START_EARLIER.
    const double* point;
    // First fixed parameter, -1 if there is none.
    int held_param;
    int n_overrides;
    // Value of the first fixed parameter.
    double held_value;
    const Override* overrides;
    // Index, within its item, of the earlier fit on which this one depends, -1 if there is none. If that
    // fit converged, this one is made only if parameter `condition_param` ended within the range.
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
    // Parameters that may have another minimum with the opposite sign.
    const int* nonlinear;
    const Direction* directions;
};
static_assert(sizeof(Request) == 120, "as on the host");

// Fits that share one set of data.
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
    // `-ln L` of the saturated model without the Gaussian constant for toys, 0 for given data.
    double saturated;
    double edm;
    // CONVERGED, LEFT or NOT_NEEDED.
    int status;
    int iterations;
    int evaluations;
    // 1 if the CPU may continue from the end of the fit.
    int usable;
};
static_assert(sizeof(Outcome) == 40, "as on the host");

// A round of a search: further starting points of one fit, each of which any thread block may take (see
// help.cuh). It is zero before a launch, and the host never reads it.
struct Round {
    // Next starting point in the upper 32 bits, number of starting points in the lower 32 bits.
    uint64_t word;
    // Index of the request.
    int request;
    // Number of this round within its search.
    int number;
    // Value of the known minimum, which a descent must get below.
    double known;
    // Value of the lowest minimum found in the round.
    double value;
    // EDM of that minimum.
    double edm;
    // Starting point of the descent to that minimum, -1 if none is below `known`.
    int start;
    // Number of descents that indicate another minimum, plus ONE_OPEN for each descent that ended below
    // the known minimum without converging.
    int several;
    // Iterations of all descents of the round.
    int iterations;
    // Evaluations of all descents of the round.
    int evaluations;
    // Number of finished descents.
    int finished;
    // 1 while a block holds the lock on `value`, `edm` and `start`.
    int lock;
};
static_assert(sizeof(Round) == 64, "as on the host");

// Progress of a thread block, in BLOCK_DATA. Only kernels use it.
struct BlockProgress {
    int item;
    // Starting point of the current descent, -1 if there is none.
    int start;
    // Block to whose round the starting point belongs.
    int owner;
    // Number of the round, -1 for the first descent of a fit.
    int round;
    // Number of starting points of the round.
    int count;
    // Whether other blocks may take starting points of the round.
    int offered;
    // Whether the last minimum is the lowest so far.
    int lowest;
    // Whether there is nothing left to do.
    int over;
    // Combination of the flags SEVERAL and OPEN.
    int several;
    // Whether the descent to the lowest minimum converged.
    int converged;
    int iterations;
    int evaluations;
    // `-ln L` of the lowest minimum, relative to the saturated model.
    double value;
    // EDM of the lowest minimum.
    double edm;
};
static_assert(sizeof(BlockProgress) == 64, "as on the host");

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

// The distribution of one datum.
struct DatumSource {
    // DRAW_TABLE, DRAW_REJECTION or DRAW_NORMAL.
    uint32_t method;
    // Index in `Draws::thresholds` of the first threshold of its table.
    uint32_t thresholds;
    // Index in `Draws::guides` of the first guide of its table.
    uint32_t guide;
    uint32_t unused;
    // Constants of the distribution. Their meaning depends on `method`.
    double numbers[7];
};
static_assert(sizeof(DatumSource) == 72, "as on the host");

// The distributions of all data of a toy.
struct Draws {
    // Distributions of the main counts, then of the auxiliary data. The index is the slot of the random
    // numbers.
    const DatumSource* sources;
    const uint64_t* thresholds;
    const uint16_t* guides;
    uint64_t seed;
    uint32_t hypothesis;
    uint32_t slots;
};
static_assert(sizeof(Draws) == 40, "as on the host");

// The parameter of `ns_fit` and `ns_fit_global`.
struct FitLaunch {
    Plan plan;
    uint32_t offset[52];
    int n_items;
    int n_requests;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // Counters: the next item, the number of finished items, the number of rounds with starting points
    // to take.
    int* queue;
    // One round per thread block, initially zero; null if thread blocks do not help each other.
    Round* rounds;
    int n_blocks;
    // Number of thread blocks that, when idle, wait for starting points until all items are finished.
    // The others end as soon as there are none.
    int n_waiting;
    const Request* requests;
    // Null for toys: then item `i` is toy `first_toy + i` with all requests.
    const Item* items;
    const Draws* draws;
    uint64_t first_toy;
    Outcome* outcomes;
    // n_params values per outcome.
    double* parameters;
    // Bytes per outcome: n_params that are 1 for parameters that are fixed, at a bound or on a kink,
    // then n_bins that are 1 for bins without a positive expected yield.
    uint8_t* flags;
};
static_assert(sizeof(FitLaunch) == 600, "as on the host");

// The parameter of `ns_evaluate` and `ns_evaluate_global`.
struct EvaluateLaunch {
    Plan plan;
    uint32_t offset[52];
    uint64_t extra[12];
    int n_points;
    // Row length of JACOBIAN: the number of parameters rounded up to whole tiles.
    int row;
    double* slab;
    // Doubles from the slab of one thread block to that of the next.
    uint64_t slab_stride;
    // Sets of data, each with main counts, then auxiliary data.
    const double* data;
    // Doubles from one set of data to the next, 0 if all points have the same data.
    uint64_t data_stride;
    // Index of the set of data of each point; null if point `i` has set `i`.
    const int* data_of;
    const double* points;
    // Main part and constraint part of `-ln L` relative to the saturated model, per point; may be null.
    double* values;
    // n_params values per point; may be null.
    double* gradients;
    // n_params x n_params values per point; may be null. Only `ns_evaluate_global` computes them.
    double* hessians;
    // 0 for points without Hessian, else 1.
    int* usable;
};
static_assert(sizeof(EvaluateLaunch) == 680, "as on the host");

// The parameter of `ns_covariance`.
struct CovarianceLaunch {
    int n;
    int n_matrices;
    // 1 if the matrix is in shared memory during inversion, 0 if it is in the thread block's slab.
    int in_shared;
    int padding;
    double* slab;
    uint64_t slab_stride;
    // n x n values per matrix, both triangles. They are replaced by the covariances if `wanted` is 1.
    double* hessians;
    int wanted;
    int unused;
    // n values per matrix.
    const double* gradients;
    // State of each parameter, n values per matrix: MOVES_FREELY, RESTS or HELD_BY_BOUND.
    const uint8_t* rests;
    // 0 for matrices without Hessian.
    const int* usable;
    // n values per matrix.
    double* variances;
    // Newton step to the minimum of the quadratic form, n values per matrix.
    double* steps;
    // Smallest `1 / (H_ii C_ii)` of the parameters, and the EDM, per matrix. The former is not positive
    // if the Hessian is missing or not positive definite, or if the function hardly falls beyond the
    // bound of a parameter.
    Pair* found;
};
static_assert(sizeof(CovarianceLaunch) == 96, "as on the host");

// The parameter of `ns_draw`.
struct DrawLaunch {
    const Draws* draws;
    uint64_t first_toy;
    int n_toys;
    int n_data;
    // n_data values per toy.
    double* data;
};
static_assert(sizeof(DrawLaunch) == 32, "as on the host");

}  // namespace ns
