// What kernels and host share. Made from src/shared_constants.rs (src/device/header.rs says how): do not edit.
#pragma once
#include <stdint.h>

namespace ns {

// Iterations of a descent on lanes or on a device before the scalar optimiser takes over.
constexpr int MOST_ITERATIONS = 120;
// Trials of one step.
constexpr int MOST_TRIALS = 8;
// How often bounds may hold further parameters within one step.
constexpr int MOST_PINS = 4;
// The part of what the slope promises by which a step must lower the function.
constexpr double LEAST_DECREASE = 0.0001;
// Rounding errors of a value, in units of the last place of its terms, that a step may raise it by.
constexpr double VALUE_ROUNDINGS = 8.0;
// What is left of a step after a trial that failed.
constexpr double SHORTENED = 0.3;
// A step that bounds shorten to less than this part of it holds the parameters in its way.
constexpr double SHORTEST_REACH = 1e-10;
// A component of a direction of no more than this reaches any bound.
constexpr double LEAST_COMPONENT = 1e-300;
// A pair of step and change of slope counts if its product is more than this part of the square of the change.
constexpr double LEAST_PAIR_CURVATURE = 1e-16;
// The part of a value under a Poisson constraint that one step leaves: the constraint is a barrier at 0.
constexpr double LEFT_BY_A_STEP = 0.1;
// An EDM of this part of what a certificate allows needs no further step to confirm it.
constexpr double SURELY = 0.01;
// While every step shrinks the EDM to less than this part of it, the metric needs no corrections.
constexpr double GOOD_CONTRACTION = 0.05;
// An EDM that says how far it is to the minimum, give or take the factor below.
constexpr double FORESEEABLE = 0.001;
// How many times its EDM a descent may still fall.
constexpr double EDM_MARGIN = 10.0;
// An EDM at which the minimum ahead can be recognised.
constexpr double RECOGNISABLE = 0.001;
// How close the point ahead must be to that of the known minimum, in widths of the constraints.
constexpr double CLOSE = 0.03;
// `RECOGNISABLE` of the kernels where nothing is strongly nonlinear: two minima then lie widths apart.
constexpr double RECOGNISABLE_UNLESS_NONLINEAR = 0.25;
// `CLOSE` of the kernels where nothing is strongly nonlinear.
constexpr double CLOSE_UNLESS_NONLINEAR = 0.2;
// A minimum that is lower by less than this is the same one.
constexpr double SAME = 3e-7;
// The same between kinks, where minima of neighbouring orthants differ by less, and in fits of their own.
constexpr double LOWER_BY = 1e-10;
// A product of normsys factors below this has no usable relative derivative.
constexpr double LEAST_PRODUCT = 1e-100;
// A value this far below that of the saturated model is on its way to no minimum: every term of `-ln L`, measured from the
// saturated model, is positive, but for bins without counts that have a negative expected yield.
constexpr double BELOW_SATURATED = -10.0;
// Counts below this are taken for this many in a metric: it has to push back a little where nothing was seen.
constexpr double FEWEST = 0.25;
// Pairs of the limited memory of a descent on lanes or on a device.
constexpr int PAIRS = 12;
// Iterations of a descent that tell of a curved function, whose minima may lie close to each other.
constexpr int LONG = 30;
// Minima whose values differ by more than this are different ones.
constexpr double DISTINCT = 0.001;
// How often single parameters are flipped, as long as that leads lower.
constexpr int FLIP_ROUNDS = 3;
// A point with one parameter flipped is worth a descent if it lies less than this above the minimum,
constexpr double MOST_RISE = 3.0;
// and less than so many times as high as the point with that parameter at 0.
constexpr double LEAST_DENT = 1.5;
// Descents from flipped points of one minimum, the lowest first, at most.
constexpr int MOST_FLIPS = 8;
// `MOST_RISE` where parameters have kinks.
constexpr double MOST_RISE_BETWEEN_KINKS = 0.5;
// `MOST_FLIPS` where parameters have kinks, of one fit. Most of these descents end after two steps, on their way back.
constexpr int MOST_FLIPS_BETWEEN_KINKS = 256;
// Directions in which normsys effects add up, of one fit, at most. With so many the mirror image is left to the second round.
constexpr int MOST_DIRECTIONS = 2;
// Points on each direction where descents start.
constexpr int PLACES = 2;
// Most threads of a block that fits or evaluates.
constexpr int MOST_THREADS = 128;
// Most threads of a block that inverts matrices.
constexpr int MOST_INVERTING = 512;
// Threads of a warp, and cells of a slice of templates.
constexpr int WARP = 32;
// Templates of a cell that a thread reads at a time; slices are filled up to whole multiples.
constexpr int AT_A_TIME = 4;
// Most warps of a block that fits.
constexpr int MOST_WARPS = 4;
// Sums that a block takes at a time.
constexpr int MOST_SUMS = 4;
// Numbers of a block's sums: partial sums meet in one of two places, in turn.
constexpr int SUMS_SIZE = 32;
// Behind them in BLOCK_DATA: what the block is at,
constexpr int PROGRESS_AT = 32;
// a copy of the metric,
constexpr int METRIC_AT = 40;
// the limited memory;
constexpr int MEMORY_AT = 60;
// and all numbers in BLOCK_DATA.
constexpr int BLOCK_DATA_SIZE = 84;
// Partial sums of a block in PARTS.
constexpr int MOST_PARTS = 128;
// Numbers that an inversion needs at least in COLUMN, whatever the size of the matrix.
constexpr int LEAST_COLUMNS = 96;
// Rows and columns of the tiles that products and inverses are made of.
constexpr int TILE = 4;
// Numbers per row that an inversion has in shared memory besides the matrix: scale, slope, product, two columns of tiles, and two
// indices, which take half a number each.
constexpr int TABLE_COLUMNS = 12;
// Counters of a queue: the next item is the first; items that are done,
constexpr int DONE_AT = 1;
// rounds with starts to take,
constexpr int OPEN_AT = 2;
// and how many there are.
constexpr int N_COUNTERS = 3;
// Kinds of constraint: none,
constexpr int UNCONSTRAINED = 0;
// Gaussian,
constexpr int GAUSSIAN = 1;
// Poisson.
constexpr int POISSON = 2;
// The per-bin factor of a cell that has none,
constexpr int NO_FACTOR = -1;
// and of a cell that has several.
constexpr int SEVERAL_FACTORS = -2;
// Where a fit starts: at a point,
constexpr int START_AT = 0;
// where an earlier fit of its item ended,
constexpr int START_EARLIER = 1;
// or from there along a direction.
constexpr int START_ALONG = 2;
// How a fit ended: certified,
constexpr int CONVERGED = 0;
// left to the CPU,
constexpr int LEFT = 1;
// or not needed.
constexpr int NOT_NEEDED = 2;
// What a parameter does at a minimum: it moves,
constexpr int MOVES_FREELY = 0;
// rests,
constexpr int RESTS = 1;
// or a bound holds it.
constexpr int HELD_BY_BOUND = 2;
// How a datum is drawn: Poisson by a table, where `numbers[0]` is the least count;
constexpr uint32_t DRAW_TABLE = 0x0u;
// Poisson by transformed rejection, where numbers are the fields of `PoissonRejection`;
constexpr uint32_t DRAW_REJECTION = 0x1u;
// normal, by mean and sigma.
constexpr uint32_t DRAW_NORMAL = 0x2u;
// The distance from 1 to the next number.
constexpr double EPSILON = 2.220446049250313e-16;
// 1 / ln 2.
constexpr double LOG2_E = 1.4426950408889634;
// ln 2 in two parts, such that an integer below 2^11 times the first is exact (Cody and Waite).
constexpr double LN2_HIGH = 0.6931471803691238;
// The second part.
constexpr double LN2_LOW = 1.9082149292705877e-10;
// Adding this rounds to an integer, which is then in the last bits.
constexpr double ROUND_TO_INTEGER = 6755399441055744.0;
// 1/n! for n = 13 down to 2: the exponential.
#define NS_EXP_TERMS {1.6059043836821613e-10, 2.08767569878681e-9, 2.505210838544172e-8, 2.755731922398589e-7, 2.7557319223985893e-6, 2.48015873015873e-5, 0.0001984126984126984, 0.001388888888888889, 0.008333333333333333, 0.041666666666666664, 0.16666666666666666, 0.5}
// Minimax coefficients of (log(1+f) - 2s)/s - ... on the reduced range: the series 2 (s^2/3 + s^4/5 + ...) with
// s = f/(2+f), optimised (Tang; used by every libm).
#define NS_DEVIANCE_TERMS {0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805, 0.15313837699209373, 0.14798198605116586}
// The bits of 1,
constexpr uint64_t ONE_BITS = 0x3ff0000000000000ull;
// and of the square root of 1/2.
constexpr uint64_t HALF_ROOT_BITS = 0x3fe6a09e667f3bcdull;

// Interpolation codes, documented in interpolation.rs of ns-core.
enum class NormsysCode { CODE0, CODE1, CODE4, CODE6 };
enum class HistosysCode { CODE0, CODE2, CODE4P };

// Of the samplers, documented in random/constants.rs of ns-core.
constexpr uint32_t PHILOX_MULTIPLIER_0 = 0xd2511f53u;
constexpr uint32_t PHILOX_MULTIPLIER_2 = 0xcd9e8d57u;
constexpr uint32_t PHILOX_WEYL_0 = 0x9e3779b9u;
constexpr uint32_t PHILOX_WEYL_1 = 0xbb67ae85u;
constexpr uint32_t PHILOX_ROUNDS = 0xau;
constexpr double UNIFORM_STEP = 1.1102230246251565e-16;
constexpr double LN2_UPPER = 0.6931471803691238;
constexpr double LN2_REST = 1.9082149292705877e-10;
constexpr uint64_t HALF_ROOT_UPPER = 0x3fe6a09e00000000ull;
constexpr uint64_t FRACTION_BITS = 0xfffffffffffffull;
constexpr int EXPONENT_BIAS = 1023;
#define NS_LN_TERMS {0.09523809523809523, 0.10526315789473684, 0.11764705882352941, 0.13333333333333333, 0.15384615384615385, 0.18181818181818182, 0.2222222222222222, 0.2857142857142857, 0.4, 0.6666666666666666}
constexpr double TWO_PI = 6.283185307179586;
#define NS_STIRLING_ERRORS {0.0, 0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193, 0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287, 0.007573675487951841, 0.00694284010720953, 0.006408994188004207, 0.0059513701127588475, 0.005554733551962801}
#define NS_STIRLING_TERMS {0.0008417508417508417, -0.0005952380952380953, 0.0007936507936507937, -0.002777777777777778, 0.08333333333333333}
#define NS_POISSON_DEVIANCE_TERMS {0.058823529411764705, 0.06666666666666667, 0.07692307692307693, 0.09090909090909091, 0.1111111111111111, 0.14285714285714285, 0.2, 0.3333333333333333}
constexpr double NEAR_THE_MEAN = 0.1;
constexpr double EDGE = 0.013;
constexpr double SQUEEZE_FROM = 0.07;
constexpr double CENTRE_OF_COUNTS = 0.43;
constexpr double CENTRAL = 0.425;
constexpr double CENTRAL_SQUARED = 0.180625;
constexpr double NEAR_TAIL = 5.0;
constexpr double NEAR_TAIL_CENTRE = 1.6;
#define NS_NORMAL_CENTRE_NUMERATOR {2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665}
#define NS_NORMAL_CENTRE_DENOMINATOR {5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751, 687.1870074920579, 42.31333070160091, 1.0}
#define NS_NORMAL_NEAR_NUMERATOR {0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835}
#define NS_NORMAL_NEAR_DENOMINATOR {1.0507500716444169e-9, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0}
#define NS_NORMAL_FAR_NUMERATOR {2.0103343992922881e-7, 2.7115555687434876e-5, 0.0012426609473880784, 0.026532189526576124, 0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103}
#define NS_NORMAL_FAR_DENOMINATOR {2.0442631033899397e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 0.0007868691311456133, 0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0}
constexpr uint32_t GUIDE_SHIFT = 0x37u;
constexpr uint32_t ATTEMPTS = 0x1000000u;

}  // namespace ns
