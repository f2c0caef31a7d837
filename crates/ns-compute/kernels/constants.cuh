// What kernels and host share. Made from src/shared_constants.rs (src/cuda/header.rs says how): do not edit.
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
// `RECOGNISABLE` of the kernels where nothing bends much: two minima then lie widths apart.
constexpr double RECOGNISABLE_UNLESS_BENT = 0.25;
// `CLOSE` of the kernels where nothing bends much.
constexpr double CLOSE_UNLESS_BENT = 0.2;
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
constexpr int SUMS_ROOM = 32;
// Behind them in ROOM: what the block is at,
constexpr int TICKET_AT = 32;
// a copy of the metric,
constexpr int METRIC_AT = 40;
// the limited memory;
constexpr int MEMORY_AT = 60;
// and all numbers in ROOM.
constexpr int ROOM_SIZE = 84;
// Partial sums of a block in PARTS.
constexpr int MOST_PARTS = 128;
// Numbers that an inversion needs at least in COLUMN, whatever the size of the matrix.
constexpr int LEAST_COLUMNS = 96;
// Rows and columns of the tiles that products and inverses are made of.
constexpr int TILE = 4;
// Interpolation codes, as kernels number them. 4p of histosys counts as 4.
constexpr int CODE0 = 0;
// Code 1 of normsys.
constexpr int CODE1 = 1;
// Code 2 of histosys.
constexpr int CODE2 = 2;
// Code 4 of normsys, 4p of histosys.
constexpr int CODE4 = 4;
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
// left to the processor,
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

}  // namespace ns
