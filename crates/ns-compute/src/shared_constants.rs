//! Constants that the CPU code and the GPU kernels share, each with one name and one value.
//!
//! The C++ header `kernels/constants.cuh` is generated from this list (`device/header.rs`), so that no kernel
//! defines such a constant itself. Where CPU and kernels differ on purpose, the list has two constants.
// Some constants are used by kernels only, and others are unused in builds without devices.
#![allow(dead_code)]

/// Declares constants, and a function that lists them for the C++ header.
macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[doc = $doc])+ pub(crate) const $name: $kind = $value;)*

        /// Returns the documentation and the C++ declaration of every constant.
        #[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
        pub(crate) fn declarations() -> Vec<(&'static [&'static str], String)> {
            vec![$((&[$($doc),+] as &[&str], $name.declare(stringify!($name)))),*]
        }
    };
}

constants! {
    /// Largest number of iterations of a descent in SIMD lanes or on a device. Beyond it the scalar optimiser
    /// on the CPU finishes the fit.
    MOST_ITERATIONS: usize = 120;
    /// Largest number of times that one step is shortened before the descent is given up.
    MOST_TRIALS: usize = 8;
    /// Largest number of times within one step that more parameters are fixed at bounds, after which the
    /// direction is computed again.
    MOST_PINS: usize = 4;
    /// Least decrease of the function in an accepted step, as a fraction of the decrease that its slope
    /// predicts (Armijo condition).
    LEAST_DECREASE: f64 = 1e-4;
    /// Largest increase of the function in an accepted step, in units of the rounding error of its terms
    /// (`EPSILON` times the sum of their magnitudes).
    VALUE_ROUNDINGS: f64 = 8.0;
    /// Factor by which a step is shortened when its end point is rejected.
    SHORTENED: f64 = 0.3;
    /// Fraction of a step below which bounds count as blocking it: the parameters at these bounds are then
    /// fixed there.
    SHORTEST_REACH: f64 = 1e-10;
    /// Magnitude up to which a component of a direction is ignored when the distance to a bound is computed.
    LEAST_COMPONENT: f64 = 1e-300;
    /// Smallest ratio `s y / y y` for which a pair of step `s` and change of slope `y` is used by L-BFGS.
    LEAST_PAIR_CURVATURE: f64 = 1e-16;
    /// Smallest ratio of the new to the old value of a parameter with a Poisson constraint in one step: the
    /// constraint is infinite at 0.
    LEFT_BY_A_STEP: f64 = 0.1;
    /// Fraction of the EDM tolerance below which the fit has converged without a further step that confirms
    /// it.
    SURELY: f64 = 1e-2;
    /// Ratio of successive EDMs up to which the metric is used without L-BFGS corrections.
    GOOD_CONTRACTION: f64 = 0.05;
    /// EDM up to which the remaining decrease of the function is predicted to within a factor `EDM_MARGIN`.
    FORESEEABLE: f64 = 1e-3;
    /// Largest remaining decrease of the function in a descent, in units of its EDM.
    EDM_MARGIN: f64 = 10.0;
    /// Value of `FORESEEABLE` in fits whose metric has the derivatives at their own point.
    FORESEEABLE_WITH_DERIVATIVES: f64 = 0.1;
    /// Value of `EDM_MARGIN` in fits whose metric has the derivatives at their own point. It was measured with 19 561
    /// further descents of toys of the model 1Lbb, of which 213 lead to a lower minimum: a margin of 100 ends 2 of
    /// them early. A margin of 10 would end 15 early, and save 5 % of the evaluations.
    EDM_MARGIN_WITH_DERIVATIVES: f64 = 100.0;
    /// Largest EDM at which the next step of a descent may reveal the minimum to which it returns (see
    /// `KnownMinimum::recognises` in lanes/known_minimum.rs, also for the next five constants).
    RETURNING_EDM: f64 = 0.3;
    /// Largest ratio of the distance from the known minimum after the next step to the distance before it.
    APPROACH: f64 = 0.5;
    /// Largest height above the known minimum at which a parabola may reveal that a descent returns to it.
    RETURNING_HEIGHT: f64 = 0.5;
    /// Largest relative difference between the slope towards the known minimum and the slope of the parabola.
    PARABOLA_DIFFERENCE: f64 = 0.2;
    /// Value of `APPROACH` in the test with the parabola. With a ratio of 1, one of 3 474 fits of toys of the test
    /// model `strongly_bent` did not find the lower of two minima that are 0.3 constraint widths apart.
    APPROACH_ON_PARABOLA: f64 = 0.7;
    /// Least curvature of the parabola in units of the curvature of the constraints.
    PARABOLA_CURVATURE: f64 = 2.0 / 3.0;
    /// Smallest curvature of a constrained parameter in a metric with the derivatives at the point of the fit, as a
    /// fraction of the curvature of the constraint.
    LEAST_STIFFNESS: f64 = 0.2;
    /// EDM up to which the predicted end of a descent is compared with a known minimum.
    RECOGNISABLE: f64 = 1e-3;
    /// Largest distance in each parameter between the predicted end of a descent and a known minimum for the
    /// two to count as the same, in widths of the constraint.
    CLOSE: f64 = 0.03;
    /// Value of `RECOGNISABLE` in the kernels for models that are not strongly nonlinear, whose minima are
    /// several constraint widths apart.
    RECOGNISABLE_UNLESS_NONLINEAR: f64 = 0.25;
    /// Value of `CLOSE` in the kernels for models that are not strongly nonlinear.
    CLOSE_UNLESS_NONLINEAR: f64 = 0.2;
    /// Difference in `-ln L` up to which two minima count as the same.
    SAME: f64 = 3e-7;
    /// Value of `SAME` for single fits and for models with kinks. Minima of such models in neighbouring
    /// orthants differ by less than `SAME`.
    LOWER_BY: f64 = 1e-10;
    /// Smallest magnitude of a product of normsys factors for which relative derivatives are usable.
    LEAST_PRODUCT: f64 = 1e-100;
    /// Value of `-ln L`, relative to the saturated model, below which a descent is given up because no
    /// minimum follows. All terms are positive on this scale, except those of empty bins with a negative
    /// expected yield.
    BELOW_SATURATED: f64 = -10.0;
    /// Smallest count that enters the Gauss-Newton metric. It replaces smaller counts, so that empty bins
    /// have some curvature.
    FEWEST: f64 = 0.25;
    /// Number of pairs of step and change of slope that L-BFGS keeps in SIMD lanes and on a device.
    PAIRS: usize = 12;
    /// Number of iterations of a fit's first descent above which further minima are expected nearby.
    LONG: usize = 30;
    /// Difference in `-ln L` above which two minima count as different.
    DISTINCT: f64 = 1e-3;
    /// Largest number of rounds in which single parameters change sign (flips). Another round follows only a
    /// lower minimum.
    FLIP_ROUNDS: usize = 3;
    /// Height in `-ln L` above the minimum below which a point with one flipped parameter is worth a descent.
    MOST_RISE: f64 = 3.0;
    /// Ratio of two heights above the minimum, of the point with one flipped parameter and of the point with
    /// that parameter at 0, below which the flipped point is worth a descent. For a parabola the ratio is 4.
    LEAST_DENT: f64 = 1.5;
    /// Largest number of descents from flipped points of one minimum; the lowest points are taken.
    MOST_FLIPS: usize = 8;
    /// Number of values of a parameter that are tried, at equal distances, along which functions turn.
    FOLD_VALUES: usize = 32;
    /// Largest number of valleys along one parameter from which descents start.
    MOST_VALLEYS: usize = 2;
    /// Descents start from points in other valleys at which `-ln L` is at most this much above the minimum. The other
    /// parameters are not adjusted before.
    HIGHEST_VALLEY: f64 = 20.0;
    /// Value of `MOST_RISE` for models with kinks.
    MOST_RISE_BETWEEN_KINKS: f64 = 0.5;
    /// Largest number of descents from flipped points in one fit of a model with kinks. Most of these
    /// descents end after two steps because they return to the known minimum.
    MOST_FLIPS_BETWEEN_KINKS: usize = 256;
    /// Largest number of directions, per fit, in which normsys effects add up. A fit with this number of
    /// directions tries the mirror image of its minimum in the second round only.
    MOST_DIRECTIONS: usize = 2;
    /// Number of points at which descents start, on each direction in which normsys effects add up.
    PLACES: usize = 2;

    /// Largest number of threads in a thread block that fits or evaluates.
    MOST_THREADS: usize = 128;
    /// Largest number of threads in a thread block that differentiates by inputs: there are few rows, so that a
    /// row gets more threads.
    MOST_DIFFERENTIATING: usize = 1024;
    /// Number of threads in a thread block that sums over events.
    EVENT_THREADS: usize = 128;
    /// Number of sums over the events of a toy that a thread block makes in one pass.
    EVENT_OUTPUTS: usize = 64;
    /// Smallest normal floating-point number.
    LEAST_NORMAL: f64 = f64::MIN_POSITIVE;
    /// Largest number of threads in a thread block that inverts matrices.
    MOST_INVERTING: usize = 512;
    /// Number of threads in a team: neighbouring threads that compute one row of a table together.
    TEAM: usize = 8;
    /// Number of templates, and of normsys effects, on one bin that a thread reads together to compute derivatives. The
    /// lists of the bins in a part of `Effects` are padded to a multiple of this number.
    EFFECTS_AT_A_TIME: usize = 2;
    /// Number of threads in a warp. The templates of this number of cells (one bin of one sample) are stored
    /// together, as one slice.
    WARP: usize = 32;
    /// Number of templates of a cell that a thread reads together. The lists of templates of the cells in a
    /// slice are padded to a multiple of this number.
    AT_A_TIME: usize = 4;
    /// Largest number of warps in a thread block that fits.
    MOST_WARPS: usize = MOST_THREADS / WARP;
    /// Largest number of sums that a thread block computes together.
    MOST_SUMS: usize = 4;
    /// Number of doubles for the partial sums of the warps, in two areas that are used alternately.
    SUMS_SIZE: usize = 2 * MOST_WARPS * MOST_SUMS;
    /// Offset of `BlockProgress` in BLOCK_DATA, in doubles. The partial sums come before it.
    PROGRESS_AT: usize = SUMS_SIZE;
    /// Offset of the copy of `Metric` in BLOCK_DATA, in doubles.
    METRIC_AT: usize = PROGRESS_AT + 10;
    /// Offset of the L-BFGS scalars in BLOCK_DATA, in doubles: two arrays of length `PAIRS`.
    MEMORY_AT: usize = METRIC_AT + 20;
    /// Size of BLOCK_DATA in doubles.
    BLOCK_DATA_SIZE: usize = MEMORY_AT + 2 * PAIRS;
    /// Size of PARTS, the partial sums of a matrix-vector product, in doubles.
    MOST_PARTS: usize = 128;
    /// Largest number of rows of a matrix that a thread block of `MOST_THREADS` threads inverts in registers.
    MOST_TILED: usize = 48;
    /// Smallest size of COLUMN, in doubles, that the inversion of a matrix of any size needs.
    LEAST_COLUMNS: usize = 2 * MOST_TILED;
    /// Number of rows, and of columns, in the square tiles of matrix products and inverses.
    TILE: usize = 4;

    /// Number of doubles per matrix row that `ns_covariance` keeps in shared memory besides the matrix:
    /// scale, slope, product, two columns of tiles, and two 32-bit indices.
    TABLE_COLUMNS: usize = 4 + 2 * TILE;
    /// Index, in the counters of a queue, of the number of finished items. Index 0 has the next item's number.
    DONE_AT: usize = 1;
    /// Index, in the counters of a queue, of the number of rounds with starting points that no thread block
    /// has taken.
    OPEN_AT: usize = 2;
    /// Number of counters of a queue.
    N_COUNTERS: usize = 3;

    /// Constraint kind of a parameter without constraint.
    UNCONSTRAINED: i32 = 0;
    /// Constraint kind of a parameter with a Gaussian constraint.
    GAUSSIAN: i32 = 1;
    /// Constraint kind of a parameter with a Poisson constraint.
    POISSON: i32 = 2;
    /// Value of `Plan::cell_factor` for a cell without per-bin factor.
    NO_FACTOR: i32 = -1;
    /// Value of `Plan::cell_factor` for a cell with more than one per-bin factor.
    SEVERAL_FACTORS: i32 = -2;
    /// Value of `Request::start` for a fit that starts at a given point.
    START_AT: i32 = 0;
    /// Value of `Request::start` for a fit that starts where an earlier fit of the same item ended.
    START_EARLIER: i32 = 1;
    /// Value of `Request::start` for a fit that starts where an earlier fit ended, moved along a direction.
    START_ALONG: i32 = 2;
    /// Value of `Outcome::status` for a fit with a convergence certificate.
    CONVERGED: i32 = 0;
    /// Value of `Outcome::status` for a fit that the CPU must finish.
    LEFT: i32 = 1;
    /// Value of `Outcome::status` for a fit whose condition was not met, so that it was skipped.
    NOT_NEEDED: i32 = 2;
    /// Value of `Outcome::status` for a fit whose `-ln L` falls without limit from all starting points.
    FALLS: i32 = 3;
    /// Status of a differentiated row: all numbers are as they should be.
    FINE: i32 = 0;
    /// Status of a differentiated row with an input or a parameter that is not finite, or a factor or width that is not
    /// positive. All its results are NaN.
    BAD_INPUT: i32 = 1;
    /// Status of a differentiated row at whose point the likelihood is not finite.
    NO_LIKELIHOOD: i32 = 2;
    /// Status of a differentiated row in which a product of normsys factors is zero, so that derivatives by these factors and
    /// by their parameters are not finite.
    ZERO_FACTOR: i32 = 3;
    /// Status of a differentiated row whose Asimov data do not exist, because an expected count is negative or not
    /// finite. All its results are NaN.
    NO_ASIMOV: i32 = 4;
    /// State of a parameter at a minimum: free to move.
    MOVES_FREELY: u8 = 0;
    /// State of a parameter at a minimum: fixed, or on a kink.
    RESTS: u8 = 1;
    /// State of a parameter at a minimum: at a bound.
    HELD_BY_BOUND: u8 = 2;
    /// Value of `DatumSource::method`: a Poisson count from a table, whose smallest count is `numbers[0]`.
    DRAW_TABLE: u32 = 0;
    /// Value of `DatumSource::method`: a Poisson count by transformed rejection. `numbers` are the fields of
    /// `PoissonRejection`.
    DRAW_REJECTION: u32 = 1;
    /// Value of `DatumSource::method`: a normal number with mean `numbers[0]` and width `numbers[1]`.
    DRAW_NORMAL: u32 = 2;

    /// Distance from 1 to the next larger double.
    EPSILON: f64 = f64::EPSILON;
    /// 1 / ln 2.
    LOG2_E: f64 = std::f64::consts::LOG2_E;
    /// Leading part of ln 2, such that its product with any integer below 2^11 is exact (Cody and Waite).
    LN2_HIGH: f64 = 6.931_471_803_691_238_164_90e-1;
    /// Difference between ln 2 and `LN2_HIGH`.
    LN2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;
    /// 1.5 times 2^52. Adding it to a double rounds the double to an integer. The lowest bits of the sum then contain
    /// this integer.
    ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    /// Taylor coefficients 1/n! of the exponential for n = 13 down to 2.
    EXP_TERMS: [f64; 12] = ns_core::random::constants::EXP_TERMS;
    /// Minimax coefficients of the series R = 2 (s^2/3 + s^4/5 + ...) with s = f/(2+f), which gives
    /// log(1+f) = 2s + s R on the reduced range (Tang; used by every libm).
    DEVIANCE_TERMS: [f64; 7] = [
        6.666_666_666_666_735_130e-1,
        3.999_999_999_940_941_908e-1,
        2.857_142_874_366_239_149e-1,
        2.222_219_843_214_978_396e-1,
        1.818_357_216_161_805_012e-1,
        1.531_383_769_920_937_332e-1,
        1.479_819_860_511_658_591e-1,
    ];
    /// Bits of the double 1.
    ONE_BITS: u64 = 1.0_f64.to_bits();
    /// Bits of the double nearest to the square root of 1/2.
    HALF_ROOT_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
}

const _: () = assert!(MOST_WARPS * WARP == MOST_THREADS && MOST_PARTS >= MOST_THREADS);

#[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
pub(crate) use in_cpp::Literal;

#[cfg(all(test, any(feature = "cuda", feature = "cuda-on-host")))]
mod in_cpp {
    //! Writes constants as C++ declarations.

    /// A type whose constants can be declared in C++.
    pub(crate) trait Literal {
        /// Returns the C++ declaration of this constant under the given name.
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

    /// A list becomes a macro that initialises an array, as in `const double terms[8] = NS_TERMS;`. The
    /// compiler can then put the numbers into instructions.
    impl<const N: usize> Literal for [f64; N] {
        fn declare(&self, name: &str) -> String {
            let numbers: Vec<String> = self.iter().map(|number| format!("{number:?}")).collect();
            format!("#define NS_{name} {{{}}}", numbers.join(", "))
        }
    }
}
