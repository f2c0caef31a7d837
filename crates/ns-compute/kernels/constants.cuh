// What kernels and host share. Made from src/shared_constants.rs (src/device/header.rs says how): do not edit.
#pragma once
#include <stdint.h>

namespace ns {

// Largest number of iterations of a descent in SIMD lanes or on a device. Beyond it the scalar optimiser
// on the CPU finishes the fit.
constexpr int MOST_ITERATIONS = 120;
// Largest number of times that one step is shortened before the descent is given up.
constexpr int MOST_TRIALS = 8;
// Largest number of times within one step that more parameters are fixed at bounds, after which the
// direction is computed again.
constexpr int MOST_PINS = 4;
// Least decrease of the function in an accepted step, as a fraction of the decrease that its slope
// predicts (Armijo condition).
constexpr double LEAST_DECREASE = 0.0001;
// Largest increase of the function in an accepted step, in units of the rounding error of its terms
// (`EPSILON` times the sum of their magnitudes).
constexpr double VALUE_ROUNDINGS = 8.0;
// Factor by which a step is shortened when its end point is rejected.
constexpr double SHORTENED = 0.3;
// Fraction of a step below which bounds count as blocking it: the parameters at these bounds are then
// fixed there.
constexpr double SHORTEST_REACH = 1e-10;
// Magnitude up to which a component of a direction is ignored when the distance to a bound is computed.
constexpr double LEAST_COMPONENT = 1e-300;
// Smallest ratio `s y / y y` for which a pair of step `s` and change of slope `y` is used by L-BFGS.
constexpr double LEAST_PAIR_CURVATURE = 1e-16;
// Smallest ratio of the new to the old value of a parameter with a Poisson constraint in one step: the
// constraint is infinite at 0.
constexpr double LEFT_BY_A_STEP = 0.1;
// Fraction of the EDM tolerance below which the fit has converged without a further step that confirms
// it.
constexpr double SURELY = 0.01;
// Ratio of successive EDMs up to which the metric is used without L-BFGS corrections.
constexpr double GOOD_CONTRACTION = 0.05;
// EDM up to which the remaining decrease of the function is predicted to within a factor `EDM_MARGIN`.
constexpr double FORESEEABLE = 0.001;
// Largest remaining decrease of the function in a descent, in units of its EDM.
constexpr double EDM_MARGIN = 10.0;
// Value of `FORESEEABLE` in fits whose metric has the derivatives at their own point.
constexpr double FORESEEABLE_WITH_DERIVATIVES = 0.1;
// Value of `EDM_MARGIN` in fits whose metric has the derivatives at their own point. It was measured with 19 561
// further descents of toys of the model 1Lbb, of which 213 lead to a lower minimum: a margin of 100 ends 2 of
// them early. A margin of 10 would end 15 early, and save 5 % of the evaluations.
constexpr double EDM_MARGIN_WITH_DERIVATIVES = 100.0;
// Largest EDM at which the next step of a descent may reveal the minimum to which it returns (see
// `KnownMinimum::recognises` in lanes/known_minimum.rs, also for the next five constants).
constexpr double RETURNING_EDM = 0.3;
// Largest ratio of the distance from the known minimum after the next step to the distance before it.
constexpr double APPROACH = 0.5;
// Largest height above the known minimum at which a parabola may reveal that a descent returns to it.
constexpr double RETURNING_HEIGHT = 0.5;
// Largest relative difference between the slope towards the known minimum and the slope of the parabola.
constexpr double PARABOLA_DIFFERENCE = 0.2;
// Value of `APPROACH` in the test with the parabola. With a ratio of 1, one of 3 474 fits of toys of the test
// model `strongly_bent` did not find the lower of two minima that are 0.3 constraint widths apart.
constexpr double APPROACH_ON_PARABOLA = 0.7;
// Least curvature of the parabola in units of the curvature of the constraints.
constexpr double PARABOLA_CURVATURE = 0.6666666666666666;
// Smallest curvature of a constrained parameter in a metric with the derivatives at the point of the fit, as a
// fraction of the curvature of the constraint.
constexpr double LEAST_STIFFNESS = 0.2;
// EDM up to which the predicted end of a descent is compared with a known minimum.
constexpr double RECOGNISABLE = 0.001;
// Largest distance in each parameter between the predicted end of a descent and a known minimum for the
// two to count as the same, in widths of the constraint.
constexpr double CLOSE = 0.03;
// Value of `RECOGNISABLE` in the kernels for models that are not strongly nonlinear, whose minima are
// several constraint widths apart.
constexpr double RECOGNISABLE_UNLESS_NONLINEAR = 0.25;
// Value of `CLOSE` in the kernels for models that are not strongly nonlinear.
constexpr double CLOSE_UNLESS_NONLINEAR = 0.2;
// Difference in `-ln L` up to which two minima count as the same.
constexpr double SAME = 3e-7;
// Value of `SAME` for single fits and for models with kinks. Minima of such models in neighbouring
// orthants differ by less than `SAME`.
constexpr double LOWER_BY = 1e-10;
// Smallest magnitude of a product of normsys factors for which relative derivatives are usable.
constexpr double LEAST_PRODUCT = 1e-100;
// Value of `-ln L`, relative to the saturated model, below which a descent is given up because no
// minimum follows. All terms are positive on this scale, except those of empty bins with a negative
// expected yield.
constexpr double BELOW_SATURATED = -10.0;
// Smallest count that enters the Gauss-Newton metric. It replaces smaller counts, so that empty bins
// have some curvature.
constexpr double FEWEST = 0.25;
// Number of pairs of step and change of slope that L-BFGS keeps in SIMD lanes and on a device.
constexpr int PAIRS = 12;
// Number of iterations of a fit's first descent above which further minima are expected nearby.
constexpr int LONG = 30;
// Difference in `-ln L` above which two minima count as different.
constexpr double DISTINCT = 0.001;
// Largest number of rounds in which single parameters change sign (flips). Another round follows only a
// lower minimum.
constexpr int FLIP_ROUNDS = 3;
// Height in `-ln L` above the minimum below which a point with one flipped parameter is worth a descent.
constexpr double MOST_RISE = 3.0;
// Ratio of two heights above the minimum, of the point with one flipped parameter and of the point with
// that parameter at 0, below which the flipped point is worth a descent. For a parabola the ratio is 4.
constexpr double LEAST_DENT = 1.5;
// Largest number of descents from flipped points of one minimum; the lowest points are taken.
constexpr int MOST_FLIPS = 8;
// Number of values of a parameter that are tried, at equal distances, along which functions turn.
constexpr int FOLD_VALUES = 32;
// Largest number of valleys along one parameter from which descents start.
constexpr int MOST_VALLEYS = 2;
// Descents start from points in other valleys at which `-ln L` is at most this much above the minimum. The other
// parameters are not adjusted before.
constexpr double HIGHEST_VALLEY = 20.0;
// Value of `MOST_RISE` for models with kinks.
constexpr double MOST_RISE_BETWEEN_KINKS = 0.5;
// Largest number of descents from flipped points in one fit of a model with kinks. Most of these
// descents end after two steps because they return to the known minimum.
constexpr int MOST_FLIPS_BETWEEN_KINKS = 256;
// Largest number of directions, per fit, in which normsys effects add up. A fit with this number of
// directions tries the mirror image of its minimum in the second round only.
constexpr int MOST_DIRECTIONS = 2;
// Number of points at which descents start, on each direction in which normsys effects add up.
constexpr int PLACES = 2;
// Largest number of threads in a thread block that fits or evaluates.
constexpr int MOST_THREADS = 128;
// Largest number of threads in a thread block that differentiates by inputs: there are few rows, so that a
// row gets more threads.
constexpr int MOST_DIFFERENTIATING = 1024;
// Number of threads in a thread block that sums over events.
constexpr int EVENT_THREADS = 128;
// Number of sums over the events of a toy that a thread block makes in one pass.
constexpr int EVENT_OUTPUTS = 64;
// Smallest normal floating-point number.
constexpr double LEAST_NORMAL = 2.2250738585072014e-308;
// Largest number of threads in a thread block that inverts matrices.
constexpr int MOST_INVERTING = 512;
// Number of threads in a team: neighbouring threads that compute one row of a table together.
constexpr int TEAM = 8;
// Number of templates, and of normsys effects, on one bin that a thread reads together to compute derivatives. The
// lists of the bins in a part of `Effects` are padded to a multiple of this number.
constexpr int EFFECTS_AT_A_TIME = 2;
// Number of threads in a warp. The templates of this number of cells (one bin of one sample) are stored
// together, as one slice.
constexpr int WARP = 32;
// Number of templates of a cell that a thread reads together. The lists of templates of the cells in a
// slice are padded to a multiple of this number.
constexpr int AT_A_TIME = 4;
// Largest number of warps in a thread block that fits.
constexpr int MOST_WARPS = 4;
// Largest number of sums that a thread block computes together.
constexpr int MOST_SUMS = 4;
// Number of doubles for the partial sums of the warps, in two areas that are used alternately.
constexpr int SUMS_SIZE = 32;
// Offset of `BlockProgress` in BLOCK_DATA, in doubles. The partial sums come before it.
constexpr int PROGRESS_AT = 32;
// Offset of the copy of `Metric` in BLOCK_DATA, in doubles.
constexpr int METRIC_AT = 42;
// Offset of the L-BFGS scalars in BLOCK_DATA, in doubles: two arrays of length `PAIRS`.
constexpr int MEMORY_AT = 62;
// Size of BLOCK_DATA in doubles.
constexpr int BLOCK_DATA_SIZE = 86;
// Size of PARTS, the partial sums of a matrix-vector product, in doubles.
constexpr int MOST_PARTS = 128;
// Largest number of rows of a matrix that a thread block of `MOST_THREADS` threads inverts in registers.
constexpr int MOST_TILED = 48;
// Smallest size of COLUMN, in doubles, that the inversion of a matrix of any size needs.
constexpr int LEAST_COLUMNS = 96;
// Number of rows, and of columns, in the square tiles of matrix products and inverses.
constexpr int TILE = 4;
// Number of doubles per matrix row that `ns_covariance` keeps in shared memory besides the matrix:
// scale, slope, product, two columns of tiles, and two 32-bit indices.
constexpr int TABLE_COLUMNS = 12;
// Index, in the counters of a queue, of the number of finished items. Index 0 has the next item's number.
constexpr int DONE_AT = 1;
// Index, in the counters of a queue, of the number of rounds with starting points that no thread block
// has taken.
constexpr int OPEN_AT = 2;
// Number of counters of a queue.
constexpr int N_COUNTERS = 3;
// Constraint kind of a parameter without constraint.
constexpr int UNCONSTRAINED = 0;
// Constraint kind of a parameter with a Gaussian constraint.
constexpr int GAUSSIAN = 1;
// Constraint kind of a parameter with a Poisson constraint.
constexpr int POISSON = 2;
// Value of `Plan::cell_factor` for a cell without per-bin factor.
constexpr int NO_FACTOR = -1;
// Value of `Plan::cell_factor` for a cell with more than one per-bin factor.
constexpr int SEVERAL_FACTORS = -2;
// Value of `Request::start` for a fit that starts at a given point.
constexpr int START_AT = 0;
// Value of `Request::start` for a fit that starts where an earlier fit of the same item ended.
constexpr int START_EARLIER = 1;
// Value of `Request::start` for a fit that starts where an earlier fit ended, moved along a direction.
constexpr int START_ALONG = 2;
// Value of `Outcome::status` for a fit with a convergence certificate.
constexpr int CONVERGED = 0;
// Value of `Outcome::status` for a fit that the CPU must finish.
constexpr int LEFT = 1;
// Value of `Outcome::status` for a fit whose condition was not met, so that it was skipped.
constexpr int NOT_NEEDED = 2;
// Value of `Outcome::status` for a fit whose `-ln L` falls without limit from all starting points.
constexpr int FALLS = 3;
// Status of a differentiated row: all numbers are as they should be.
constexpr int FINE = 0;
// Status of a differentiated row with an input or a parameter that is not finite, or a factor or width that is not
// positive. All its results are NaN.
constexpr int BAD_INPUT = 1;
// Status of a differentiated row at whose point the likelihood is not finite.
constexpr int NO_LIKELIHOOD = 2;
// Status of a differentiated row in which a product of normsys factors is zero, so that derivatives by these factors and
// by their parameters are not finite.
constexpr int ZERO_FACTOR = 3;
// Status of a differentiated row whose Asimov data do not exist, because an expected count is negative or not
// finite. All its results are NaN.
constexpr int NO_ASIMOV = 4;
// State of a parameter at a minimum: free to move.
constexpr int MOVES_FREELY = 0;
// State of a parameter at a minimum: fixed, or on a kink.
constexpr int RESTS = 1;
// State of a parameter at a minimum: at a bound.
constexpr int HELD_BY_BOUND = 2;
// Value of `DatumSource::method`: a Poisson count from a table, whose smallest count is `numbers[0]`.
constexpr uint32_t DRAW_TABLE = 0x0u;
// Value of `DatumSource::method`: a Poisson count by transformed rejection. `numbers` are the fields of
// `PoissonRejection`.
constexpr uint32_t DRAW_REJECTION = 0x1u;
// Value of `DatumSource::method`: a normal number with mean `numbers[0]` and width `numbers[1]`.
constexpr uint32_t DRAW_NORMAL = 0x2u;
// Distance from 1 to the next larger double.
constexpr double EPSILON = 2.220446049250313e-16;
// 1 / ln 2.
constexpr double LOG2_E = 1.4426950408889634;
// Leading part of ln 2, such that its product with any integer below 2^11 is exact (Cody and Waite).
constexpr double LN2_HIGH = 0.6931471803691238;
// Difference between ln 2 and `LN2_HIGH`.
constexpr double LN2_LOW = 1.9082149292705877e-10;
// 1.5 times 2^52. Adding it to a double rounds the double to an integer. The lowest bits of the sum then contain
// this integer.
constexpr double ROUND_TO_INTEGER = 6755399441055744.0;
// Taylor coefficients 1/n! of the exponential for n = 13 down to 2.
#define NS_EXP_TERMS {1.6059043836821613e-10, 2.08767569878681e-9, 2.505210838544172e-8, 2.755731922398589e-7, 2.7557319223985893e-6, 2.48015873015873e-5, 0.0001984126984126984, 0.001388888888888889, 0.008333333333333333, 0.041666666666666664, 0.16666666666666666, 0.5}
// Minimax coefficients of the series R = 2 (s^2/3 + s^4/5 + ...) with s = f/(2+f), which gives
// log(1+f) = 2s + s R on the reduced range (Tang; used by every libm).
#define NS_DEVIANCE_TERMS {0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805, 0.15313837699209373, 0.14798198605116586}
// Bits of the double 1.
constexpr uint64_t ONE_BITS = 0x3ff0000000000000ull;
// Bits of the double nearest to the square root of 1/2.
constexpr uint64_t HALF_ROOT_BITS = 0x3fe6a09e667f3bcdull;

// Interpolation codes, documented in interpolation.rs of ns-core.
enum class NormsysCode { CODE0, CODE1, CODE4, CODE6, LNN };
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
