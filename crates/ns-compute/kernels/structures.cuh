// What kernels and host share. Made from src/device/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// Arrays of one block; those before FIRST_GLOBAL are in shared memory if the model is small enough.
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
    // The first one that is always in the block's slab of device memory.
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

// Arrays of a Hessian besides those of an evaluation, behind these in the slab.
enum class Extra {
    // By parameter: f' and f'' of histosys; rank among the parameters, scalar ones first.
    FIRST,
    SECOND,
    RANK,
    // By bin: curvature. By cell: G. By block: sum of r G A. By scalar factor: N F without it, and its block.
    CURVATURE,
    PRODUCT,
    BARE,
    LEFT,
    OWNER,
    // Blocks x scalar parameters: relative derivative of N, derivative of S, derivative of BARE through A.
    RATIOS,
    RATES,
    TILTS,
    // Bins x parameters: derivative of lambda.
    JACOBIAN,
};

// Number of arrays; offsets, an even number of them.
constexpr int N_ARRAYS = 51;
constexpr int N_OFFSETS = 52;
// The first array that is always in the block's slab of device memory.
constexpr int FIRST_GLOBAL = 36;
// Number of arrays that only a Hessian has.
constexpr int N_EXTRA = 12;

// The compiled model on the device.
struct Plan {
    int n_params;
    int n_bins;
    int n_aux;
    int n_blocks;
    int n_cells;
    int n_terms;
    int n_slices;
    int n_reacting;
    int n_binwise;
    int n_factors;
    // Interpolation codes.
    int histosys;
    int normsys;
    // Entries of `binwise_cell`; whether the model is so nonlinear that fits flip single parameters.
    int n_scaled;
    int strongly_nonlinear;
    // The EDM of a certificate.
    double edm_tolerance;
    // Blocks (one sample in one channel), those with many templates first. Three vectors each: normsys terms from and to,
    // cells from and to; scalar factors from and to, per-bin factors from and to; the channel's first bin.
    const int4* block;
    const int* factor_param;
    // Parameter of the channel's first bin, per per-bin factor.
    const int* binwise_first;
    // normsys terms, parameter after parameter, so that neighbouring threads take the same branch; coefficients 5 and 4
    // of term i at [i], 3 and 2 at [n_terms + i], 1 and 0 at [2 n_terms + i]; rates of hi and lo beyond.
    const int* norm_param;
    const Pair* norm_coefficient;
    const Pair* norm_rate;
    const int* norm_block;
    // Position of each term when they are sorted by block.
    const int* norm_place;
    // Cells (one bin of one block), block after block. The one per-bin factor of a cell, NO_FACTOR or SEVERAL_FACTORS.
    const int* cell_block;
    const int* cell_factor;
    const double* nominal;
    // histosys for the forward sum: slices of cells from and to, then term after term, a cell per place.
    const int2* slice;
    const int* slice_param;
    // Slope and curve.
    const Pair* slice_template;
    // Of each bin, from and to; cell and block.
    const int2* bin;
    const int2* bin_cell;
    // Scalar parameters that act on yields, most work first. Two vectors each: cells with a template from and to, terms from
    // and to; scalar factors from and to, the parameter.
    const int4* reacting;
    const int* hist_cell;
    const Pair* hist_template;
    const int* factor_place;
    // Per-bin factors by parameter: from, to, the parameter; cell, block, bin, and the place of the factor within its
    // block's list, -1 if it is the only one.
    const int4* binwise;
    const int4* binwise_cell;
    // Constraints by parameter: kind and auxiliary datum; 1/sigma or tau.
    const int2* constraint;
    const double* constraint_scale;
    // Box, and width of the constraint (0: none).
    const double* lower;
    const double* upper;
    const double* width;
    // 1 for parameters with a kink at 0; null if there are none.
    const int* kinked;
};
static_assert(sizeof(Plan) == 288, "as on the host");

// The shared part of the Gauss-Newton metric of one kind of fit (see lanes/metric.rs).
struct Metric {
    int n_local;
    int n_dual;
    int n_primal;
    int padding;
    // Parameters that act on one bin: derivative there, curvature of the constraint, auxiliary count or -1;
    // `local_factor` where they are per-bin factors and nothing else.
    // They are sorted by bin; `local_start` has one more entry than bins.
    const int* local_start;
    const int* local_param;
    const int* local_bin;
    const int* local_factor;
    const int* local_count;
    const double* local_reaction;
    const double* local_stiffness;
    const int* dual_param;
    const double* dual_inverse;
    const double* dual_rows;
    const double* dual_columns;
    // J D^-1 J' over dual parameters, n_bins x n_bins.
    const double* kernel;
    const int* primal_param;
    const double* primal_stiffness;
    const double* primal_rows;
};
static_assert(sizeof(Metric) == 136, "as on the host");

// A parameter that a request treats unlike the model: its box, and where it is held (lower = upper).
struct Override {
    int param;
    int held;
    double lower;
    double upper;
};
static_assert(sizeof(Override) == 24, "as on the host");

// A direction in which normsys effects on one sample add up (see lanes/directions.rs): parameters, their parts, the
// widths of their constraints, and places to start from.
struct Direction {
    int n;
    int padding;
    const int* params;
    const double* parts;
    const double* widths;
    double places[2];
};
static_assert(sizeof(Direction) == 48, "as on the host");

// One minimisation.
struct Request {
    int start;
    int earlier;
    // Start point, or direction from an earlier fit; the first held parameter and its value.
    const double* point;
    int held_param;
    int n_overrides;
    double held_value;
    const Override* overrides;
    // Done only if parameter `condition_param` of fit `condition_fit` lies within the range; -1: always.
    int condition_fit;
    int condition_param;
    double condition_low;
    double condition_high;
    const Metric* metric;
    // Further start points, and the parameters whose mirror image may hide another minimum.
    int n_first;
    int n_second;
    int n_nonlinear;
    int n_directions;
    const double* first;
    const double* second;
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

// What is known of a fit besides its parameters.
struct Outcome {
    double value;
    double saturated;
    double edm;
    int status;
    int iterations;
    int evaluations;
    int usable;
};
static_assert(sizeof(Outcome) == 40, "as on the host");

// Further starts of a fit that any block may take (see help.cuh): zero before a launch, and never read by the host.
struct Round {
    // The next start in the upper half, their number in the lower one.
    uint64_t word;
    // The request, which round of its search this is, and the value that a minimum must get below.
    int request;
    int number;
    double known;
    // What came out: value and EDM of the lowest minimum below that, and its start (-1: none).
    double value;
    double edm;
    int start;
    // Starts that tell of another minimum, and ONE_OPEN for each that is open; sums over starts; starts that are done.
    int several;
    int iterations;
    int evaluations;
    int finished;
    // Who has it set may write value, edm and start.
    int lock;
};
static_assert(sizeof(Round) == 64, "as on the host");

// The progress of a block, in BLOCK_DATA; of the kernels alone.
struct BlockProgress {
    int item;
    // The start that is taken, -1 if there is none, and whose round it is of; the round, -1 for the first descent, and its
    // starts.
    int start;
    int owner;
    int round;
    int count;
    // Whether other blocks may take starts of the round; whether a minimum is the lowest so far; whether nothing is left.
    int offered;
    int lowest;
    int over;
    // What the fit has come to; `several` has the signs SEVERAL and OPEN.
    int several;
    int converged;
    int iterations;
    int evaluations;
    double value;
    double edm;
};
static_assert(sizeof(BlockProgress) == 64, "as on the host");

// What transformed rejection (PTRS) needs of a mean.
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
    uint32_t method;
    // Where its table begins in `Draws::thresholds` and `Draws::guides`.
    uint32_t thresholds;
    uint32_t guide;
    uint32_t unused;
    // What they are, the method says.
    double numbers[7];
};
static_assert(sizeof(DatumSource) == 72, "as on the host");

// The distributions of all data of a toy: main counts, then auxiliary data; the slot is the index.
struct Draws {
    const DatumSource* sources;
    const uint64_t* thresholds;
    const uint16_t* guides;
    uint64_t seed;
    uint32_t hypothesis;
    uint32_t slots;
};
static_assert(sizeof(Draws) == 40, "as on the host");

// The parameter of `ns_fit`.
struct FitLaunch {
    Plan plan;
    uint32_t offset[52];
    int n_items;
    int n_requests;
    double* slab;
    uint64_t slab_stride;
    // The next item, items that are done, and rounds with starts to take.
    int* queue;
    // One per block, zero; null if blocks do not help each other.
    Round* rounds;
    // Blocks, and how many of them wait for starts to take until all items are done; others go when there is none.
    int n_blocks;
    int n_waiting;
    const Request* requests;
    // Null for toys: then item `i` is toy `first_toy + i`, with all requests.
    const Item* items;
    const Draws* draws;
    uint64_t first_toy;
    Outcome* outcomes;
    // n_params per outcome; flags: n_params (held) + n_bins (nothing expected) bytes per outcome.
    double* parameters;
    uint8_t* flags;
};
static_assert(sizeof(FitLaunch) == 600, "as on the host");

// The parameter of `ns_evaluate`.
struct EvaluateLaunch {
    Plan plan;
    uint32_t offset[52];
    uint64_t extra[12];
    int n_points;
    // Row length of JACOBIAN: parameters, filled up to whole tiles.
    int row;
    double* slab;
    uint64_t slab_stride;
    // Main counts, then auxiliary data; numbers from one point's data to the next one's (0: the same for all), or between
    // sets of which each point takes the one that `data_of` says (null: in order).
    const double* data;
    uint64_t data_stride;
    const int* data_of;
    const double* points;
    // Null, or main part and constraint part from the saturated value, per point.
    double* values;
    // Null, or n_params per point.
    double* gradients;
    // Null, or n_params x n_params per point; then `usable` says 0 where there is none. Only of `ns_evaluate_global`.
    double* hessians;
    int* usable;
};
static_assert(sizeof(EvaluateLaunch) == 680, "as on the host");

// The parameter of `ns_covariance`.
struct CovarianceLaunch {
    int n;
    int n_matrices;
    // Whether tiles are in shared memory; else in the block's slab.
    int in_shared;
    int padding;
    double* slab;
    uint64_t slab_stride;
    // n x n numbers per matrix, both triangles; covariances take their place if they are wanted.
    double* hessians;
    int wanted;
    int unused;
    const double* gradients;
    // By parameter: what it does. 0 per matrix where there is no Hessian.
    const uint8_t* rests;
    const int* usable;
    // n numbers per matrix; the least part of its curvature that the other parameters leave to one (not above 0: the matrix
    // is not positive, there is none, or a bound hardly holds) and the EDM.
    double* variances;
    // The step to the minimum of the quadratic form, n numbers per matrix.
    double* steps;
    Pair* found;
};
static_assert(sizeof(CovarianceLaunch) == 96, "as on the host");

// The parameter of `ns_draw`.
struct DrawLaunch {
    const Draws* draws;
    uint64_t first_toy;
    int n_toys;
    int n_data;
    double* data;
};
static_assert(sizeof(DrawLaunch) == 32, "as on the host");

}  // namespace ns
