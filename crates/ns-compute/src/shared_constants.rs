//! Numbers that the CPU's code and the kernels share, each with one name and one value.
//!
//! The C++ header `kernels/constants.cuh` is made from this list, so that no kernel has such a number of its own (`device/header.rs`). A
//! value that differs between the two on purpose has two names here.
// Some are of the kernels alone, and builds without devices have no use for others.
#![allow(dead_code)]

/// Declares constants, and lists them for the header.
macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[doc = $doc])+ pub(crate) const $name: $kind = $value;)*

        /// Name, documentation and C++ declaration of every constant.
        #[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
        pub(crate) fn declarations() -> Vec<(&'static [&'static str], String)> {
            vec![$((&[$($doc),+] as &[&str], $name.declare(stringify!($name)))),*]
        }
    };
}

constants! {
    /// Iterations of a descent on lanes or on a device before the scalar optimiser takes over.
    MOST_ITERATIONS: usize = 120;
    /// Trials of one step.
    MOST_TRIALS: usize = 8;
    /// How often bounds may hold further parameters within one step.
    MOST_PINS: usize = 4;
    /// The part of what the slope promises by which a step must lower the function.
    LEAST_DECREASE: f64 = 1e-4;
    /// Rounding errors of a value, in units of the last place of its terms, that a step may raise it by.
    VALUE_ROUNDINGS: f64 = 8.0;
    /// What is left of a step after a trial that failed.
    SHORTENED: f64 = 0.3;
    /// A step that bounds shorten to less than this part of it holds the parameters in its way.
    SHORTEST_REACH: f64 = 1e-10;
    /// A component of a direction of no more than this reaches any bound.
    LEAST_COMPONENT: f64 = 1e-300;
    /// A pair of step and change of slope counts if its product is more than this part of the square of the change.
    LEAST_PAIR_CURVATURE: f64 = 1e-16;
    /// The part of a value under a Poisson constraint that one step leaves: the constraint is a barrier at 0.
    LEFT_BY_A_STEP: f64 = 0.1;
    /// An EDM of this part of what a certificate allows needs no further step to confirm it.
    SURELY: f64 = 1e-2;
    /// While every step shrinks the EDM to less than this part of it, the metric needs no corrections.
    GOOD_CONTRACTION: f64 = 0.05;
    /// An EDM that says how far it is to the minimum, give or take the factor below.
    FORESEEABLE: f64 = 1e-3;
    /// How many times its EDM a descent may still fall.
    EDM_MARGIN: f64 = 10.0;
    /// An EDM at which the minimum ahead can be recognised.
    RECOGNISABLE: f64 = 1e-3;
    /// How close the point ahead must be to that of the known minimum, in widths of the constraints.
    CLOSE: f64 = 0.03;
    /// `RECOGNISABLE` of the kernels where nothing is strongly nonlinear: two minima then lie widths apart.
    RECOGNISABLE_UNLESS_NONLINEAR: f64 = 0.25;
    /// `CLOSE` of the kernels where nothing is strongly nonlinear.
    CLOSE_UNLESS_NONLINEAR: f64 = 0.2;
    /// A minimum that is lower by less than this is the same one.
    SAME: f64 = 3e-7;
    /// The same between kinks, where minima of neighbouring orthants differ by less, and in fits of their own.
    LOWER_BY: f64 = 1e-10;
    /// A product of normsys factors below this has no usable relative derivative.
    LEAST_PRODUCT: f64 = 1e-100;
    /// A value this far below that of the saturated model is on its way to no minimum: every term of `-ln L`, measured from the
    /// saturated model, is positive, but for bins without counts that have a negative expected yield.
    BELOW_SATURATED: f64 = -10.0;
    /// Counts below this are taken for this many in a metric: it has to push back a little where nothing was seen.
    FEWEST: f64 = 0.25;
    /// Pairs of the limited memory of a descent on lanes or on a device.
    PAIRS: usize = 12;
    /// Iterations of a descent that tell of a curved function, whose minima may lie close to each other.
    LONG: usize = 30;
    /// Minima whose values differ by more than this are different ones.
    DISTINCT: f64 = 1e-3;
    /// How often single parameters are flipped, as long as that leads lower.
    FLIP_ROUNDS: usize = 3;
    /// A point with one parameter flipped is worth a descent if it lies less than this above the minimum,
    MOST_RISE: f64 = 3.0;
    /// and less than so many times as high as the point with that parameter at 0.
    LEAST_DENT: f64 = 1.5;
    /// Descents from flipped points of one minimum, the lowest first, at most.
    MOST_FLIPS: usize = 8;
    /// `MOST_RISE` where parameters have kinks.
    MOST_RISE_BETWEEN_KINKS: f64 = 0.5;
    /// `MOST_FLIPS` where parameters have kinks, of one fit. Most of these descents end after two steps, on their way back.
    MOST_FLIPS_BETWEEN_KINKS: usize = 256;
    /// Directions in which normsys effects add up, of one fit, at most. With so many the mirror image is left to the second round.
    MOST_DIRECTIONS: usize = 2;
    /// Points on each direction where descents start.
    PLACES: usize = 2;

    /// Most threads of a block that fits or evaluates.
    MOST_THREADS: usize = 128;
    /// Most threads of a block that inverts matrices.
    MOST_INVERTING: usize = 512;
    /// Threads of a warp, and cells of a slice of templates.
    WARP: usize = 32;
    /// Templates of a cell that a thread reads at a time; slices are filled up to whole multiples.
    AT_A_TIME: usize = 4;
    /// Most warps of a block that fits.
    MOST_WARPS: usize = MOST_THREADS / WARP;
    /// Sums that a block takes at a time.
    MOST_SUMS: usize = 4;
    /// Numbers of a block's sums: partial sums meet in one of two places, in turn.
    SUMS_SIZE: usize = 2 * MOST_WARPS * MOST_SUMS;
    /// Behind them in BLOCK_DATA: what the block is at,
    PROGRESS_AT: usize = SUMS_SIZE;
    /// a copy of the metric,
    METRIC_AT: usize = PROGRESS_AT + 8;
    /// the limited memory;
    MEMORY_AT: usize = METRIC_AT + 20;
    /// and all numbers in BLOCK_DATA.
    BLOCK_DATA_SIZE: usize = MEMORY_AT + 2 * PAIRS;
    /// Partial sums of a block in PARTS.
    MOST_PARTS: usize = 128;
    /// Numbers that an inversion needs at least in COLUMN, whatever the size of the matrix.
    LEAST_COLUMNS: usize = 96;
    /// Rows and columns of the tiles that products and inverses are made of.
    TILE: usize = 4;

    /// Numbers per row that an inversion has in shared memory besides the matrix: scale, slope, product, two columns of tiles, and two
    /// indices, which take half a number each.
    TABLE_COLUMNS: usize = 4 + 2 * TILE;
    /// Counters of a queue: the next item is the first; items that are done,
    DONE_AT: usize = 1;
    /// rounds with starts to take,
    OPEN_AT: usize = 2;
    /// and how many there are.
    N_COUNTERS: usize = 3;

    /// Kinds of constraint: none,
    UNCONSTRAINED: i32 = 0;
    /// Gaussian,
    GAUSSIAN: i32 = 1;
    /// Poisson.
    POISSON: i32 = 2;
    /// The per-bin factor of a cell that has none,
    NO_FACTOR: i32 = -1;
    /// and of a cell that has several.
    SEVERAL_FACTORS: i32 = -2;
    /// Where a fit starts: at a point,
    START_AT: i32 = 0;
    /// where an earlier fit of its item ended,
    START_EARLIER: i32 = 1;
    /// or from there along a direction.
    START_ALONG: i32 = 2;
    /// How a fit ended: certified,
    CONVERGED: i32 = 0;
    /// left to the CPU,
    LEFT: i32 = 1;
    /// or not needed.
    NOT_NEEDED: i32 = 2;
    /// What a parameter does at a minimum: it moves,
    MOVES_FREELY: u8 = 0;
    /// rests,
    RESTS: u8 = 1;
    /// or a bound holds it.
    HELD_BY_BOUND: u8 = 2;
    /// How a datum is drawn: Poisson by a table, where `numbers[0]` is the least count;
    DRAW_TABLE: u32 = 0;
    /// Poisson by transformed rejection, where numbers are the fields of `PoissonRejection`;
    DRAW_REJECTION: u32 = 1;
    /// normal, by mean and sigma.
    DRAW_NORMAL: u32 = 2;

    /// The distance from 1 to the next number.
    EPSILON: f64 = f64::EPSILON;
    /// 1 / ln 2.
    LOG2_E: f64 = std::f64::consts::LOG2_E;
    /// ln 2 in two parts, such that an integer below 2^11 times the first is exact (Cody and Waite).
    LN2_HIGH: f64 = 6.931_471_803_691_238_164_90e-1;
    /// The second part.
    LN2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;
    /// Adding this rounds to an integer, which is then in the last bits.
    ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    /// 1/n! for n = 13 down to 2: the exponential.
    EXP_TERMS: [f64; 12] = ns_core::random::constants::EXP_TERMS;
    /// Minimax coefficients of (log(1+f) - 2s)/s - ... on the reduced range: the series 2 (s^2/3 + s^4/5 + ...) with
    /// s = f/(2+f), optimised (Tang; used by every libm).
    DEVIANCE_TERMS: [f64; 7] = [
        6.666_666_666_666_735_130e-1,
        3.999_999_999_940_941_908e-1,
        2.857_142_874_366_239_149e-1,
        2.222_219_843_214_978_396e-1,
        1.818_357_216_161_805_012e-1,
        1.531_383_769_920_937_332e-1,
        1.479_819_860_511_658_591e-1,
    ];
    /// The bits of 1,
    ONE_BITS: u64 = 1.0_f64.to_bits();
    /// and of the square root of 1/2.
    HALF_ROOT_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
}

const _: () = assert!(MOST_WARPS * WARP == MOST_THREADS && MOST_PARTS >= MOST_THREADS);

#[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
pub(crate) use in_cpp::Literal;

#[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
mod in_cpp {
    //! How constants are written in C++.

    /// A constant in C++.
    pub(crate) trait Literal {
        /// Its declaration.
        fn declare(&self, name: &str) -> String;
    }

    macro_rules! literals {
        ($($kind:ty: $form:literal;)*) => {
            $(impl Literal for $kind {
                fn declare(&self, name: &str) -> String {
                    format!($form, name, self)
                }
            })*
        };
    }

    literals! {
        usize: "constexpr int {} = {};";
        i32: "constexpr int {} = {};";
        i64: "constexpr int {} = {};";
        u8: "constexpr int {} = {};";
        u32: "constexpr uint32_t {} = {:#x}u;";
        u64: "constexpr uint64_t {} = {:#x}ull;";
        f64: "constexpr double {} = {:?};";
    }

    /// A list in C++ initialises an array: `const double terms[8] = NS_TERMS;` lets a compiler put its numbers into instructions.
    impl<const N: usize> Literal for [f64; N] {
        fn declare(&self, name: &str) -> String {
            let numbers: Vec<String> = self.iter().map(|number| format!("{number:?}")).collect();
            format!("#define NS_{name} {{{}}}", numbers.join(", "))
        }
    }
}
