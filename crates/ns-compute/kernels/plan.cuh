// The compiled model on the device, the metric of a kind of fit, and what a launch is told.
//
// Twins of the structures in src/cuda/layout.rs: same fields, same order. All pointers are device addresses.
#pragma once
#include "block.cuh"

namespace ns {

struct Plan {
    int n_params, n_bins, n_aux, n_blocks;
    int n_cells, n_terms, n_slices, n_reacting;
    int n_binwise, n_factors, histosys, normsys;
    // Entries of `binwise_cell`; whether effects bend so much that fits flip single parameters.
    int n_scaled, bent;
    // The EDM of a certificate.
    double edm_tolerance;
    // Blocks (one sample in one channel), those with many templates first. Three vectors each: normsys terms from and to,
    // cells from and to; scalar factors from and to, per-bin factors from and to; the channel's first bin.
    const int4* block;
    const int* factor_param;
    // Parameter of the channel's first bin, per per-bin factor.
    const int* binwise_first;
    // normsys terms, parameter after parameter, so that neighbouring threads take the same branch; coefficients 5 and 4
    // of term i at [i], 3 and 2 at [n_terms + i], 1 and 0 at [2 n_terms + i]; logarithms of hi and lo.
    const int* norm_param;
    const Pair* norm_coefficient;
    const Pair* norm_log;
    const int* norm_block;
    // Position of each term when they are sorted by block.
    const int* norm_place;
    // Cells (one bin of one block), block after block. The one per-bin factor of a cell; -1: none, -2: several.
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
    // Constraints by parameter: 0 none, 1 Gaussian, 2 Poisson, and auxiliary datum; 1/sigma or tau.
    const int2* constraint;
    const double* constraint_scale;
    // Box, and width of the constraint (0: none).
    const double* lower;
    const double* upper;
    const double* width;
    // 1 for parameters with a kink at 0; null if there are none.
    const int* kinked;
};

// Templates lie in slices of as many cells as a warp has threads.
NS_DEVICE int slice_of(int cell) { return (unsigned)cell / WARP; }
NS_DEVICE int place_in_slice(int cell) { return (unsigned)cell % WARP; }

// Interpolation codes of an evaluation, and whether kinks are looked at.
struct Codes {
    int histosys, normsys;
    bool kinks;
};

NS_DEVICE Codes codes_of(const Plan& plan) { return Codes{plan.histosys, plan.normsys, plan.kinked != nullptr}; }

// The shared part of the Gauss-Newton metric of one kind of fit (see lanes/metric.rs).
struct Metric {
    int n_local, n_dual, n_primal, padding;
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

// A parameter that a request treats unlike the model: its box, and where it is held (lower = upper).
struct Override {
    int param;
    int held;
    double lower, upper;
};

// A direction in which normsys effects on one sample add up (see lanes/directions.rs): parameters, their parts, the
// widths of their constraints, and places to start from.
struct Direction {
    int n, padding;
    const int* params;
    const double* parts;
    const double* widths;
    double places[PLACES];
};

// One minimisation.
struct Request {
    int start, earlier;
    // Start point, or direction from an earlier fit; the first held parameter and its value.
    const double* point;
    int held_param, n_overrides;
    double held_value;
    const Override* overrides;
    // Done only if parameter `condition_param` of fit `condition_fit` lies within the range; -1: always.
    int condition_fit, condition_param;
    double condition_low, condition_high;
    const Metric* metric;
    // Further start points, and the parameters whose mirror image may hide another minimum.
    int n_first, n_second, n_bendable, n_directions;
    const double* first;
    const double* second;
    const int* bendable;
    const Direction* directions;
};

// Fits that share one set of data.
struct Item {
    int first_request, n_requests;
    int first_outcome, padding;
    // Main counts, then auxiliary data.
    const double* data;
};

// What is known of a fit besides its parameters.
struct Outcome {
    double value, saturated, edm;
    int status, iterations, evaluations, usable;
};

// Arrays of one block; those before FIRST_FAR are in shared memory if the model is small enough.
enum Array {
    ROOM, TRIAL, GRADIENT, CURVED, SLOPE, DIRECTION, THETA, HELD, FROM, TO,
    LAMBDA, BIN_SLOPE, WEIGHT, BINS, ROOT, MAIN, AUX,
    NORM, SCALE, TOTAL, OTHERS, ADDITIVE, BINWISE,
    PARTS, BINS_TO, COLUMN, MATRIX, LOCAL, LOCAL_REACTION, DUAL, RIGHT, MOVES, INNER, SCALED, COLUMNS, REACTION,
    FIRST_FAR,
    FACTOR = FIRST_FAR, RATIO, LOWER, UPPER, START, BEST, BEST_HELD, EMPTY, SNAPSHOT, STEPS, CHANGES, DATA, JUMP, SIDE, RISE,
    N_ARRAYS
};

// Offsets, an even number of them: what follows in a structure is aligned.
constexpr int N_OFFSETS = (N_ARRAYS + 1) / 2 * 2;

struct Draws;

// Further starts of a fit that any block may take (see help.cuh).
struct Round {
    // The next start in the upper half, their number in the lower one.
    uint64_t word;
    // The request, which round of its search this is, and the value that a minimum must get below.
    int request, number;
    double known;
    // What came out: value and EDM of the lowest minimum below that, and its start (-1: none).
    double value, edm;
    int start;
    // Starts that tell of another minimum, and ONE_OPEN for each that is open; sums over starts; starts that are done.
    int several, iterations, evaluations, finished;
    // Who has it set may write value, edm and start.
    int lock;
};

// The parameter of `ns_fit`.
struct FitLaunch {
    Plan plan;
    uint32_t offset[N_OFFSETS];
    int n_items, n_requests;
    double* slab;
    uint64_t slab_stride;
    // The next item, items that are done, and rounds with starts to take.
    int* queue;
    // One per block, zero; null if blocks do not help each other.
    Round* rounds;
    // Blocks, and how many of them wait for starts to take until all items are done; others go when there is none.
    int n_blocks, n_waiting;
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

// Arrays besides those of an evaluation, behind these in the slab (src/cuda/hessian.rs has their sizes).
enum class Extra {
    // By parameter: f' and f'' of histosys; rank among the parameters, scalar ones first.
    FIRST, SECOND, RANK,
    // By bin: curvature. By cell: G. By block: sum of r G A. By scalar factor: N F without it, and its block.
    CURVATURE, PRODUCT, BARE, LEFT, OWNER,
    // Blocks x scalar parameters: relative derivative of N, derivative of S, derivative of BARE through A.
    RATIOS, RATES, TILTS,
    // Bins x parameters: derivative of lambda.
    JACOBIAN,
    COUNT
};

// The parameter of `ns_evaluate`.
struct EvaluateLaunch {
    Plan plan;
    uint32_t offset[N_OFFSETS];
    uint64_t extra[(int)Extra::COUNT];
    // Row length of JACOBIAN: parameters, filled up to whole tiles.
    int n_points, row;
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
    // Null, or n_params x n_params per point; then `usable` says 0 where there is none. Only of `ns_evaluate_far`.
    double* hessians;
    int* usable;
};

// The parameter of `ns_draw`.
struct DrawLaunch {
    const Draws* draws;
    uint64_t first_toy;
    int n_toys, n_data;
    double* data;
};

}  // namespace ns
