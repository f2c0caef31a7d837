//! Computes normsys factors of code 4, for models whose metric uses the derivatives at each lane's point.
//!
//! A factor of code 4 is a polynomial for `|alpha| <= 1` and an exponential beyond. At 1 and -1 both have the same
//! value and the same first two derivatives. A factor at `alpha` is therefore the polynomial at the nearest point of
//! `[-1, 1]`, times an exponential of the distance from this point. Its relative derivatives are those at the nearest
//! point.
//!
//! In every SIMD vector, some lanes usually have `|alpha| > 1`. This form needs no separate case for them, and takes
//! two thirds of the operations.

use super::WIDTH;
use super::columns::{Column, Columns};
use super::evaluate::{at, finish_norms, put};
use super::scratch::Scratch;
use crate::plan::Plan;
use crate::simd::{MulAdd, Vector};

/// Returns whether the functions of this module apply to the model: its normsys factors use interpolation code 4.
pub(crate) fn applies(plan: &Plan) -> bool {
    plan.structure.normsys.inside == 1.0 && plan.structure.normsys.beyond.adds_exponents()
}

/// Returns the point of `[-1, 1]` nearest to `alpha` in every lane.
#[inline(always)]
fn nearest<V: Vector>(alpha: V) -> V {
    let (one, minus) = (V::splat(1.0), V::splat(-1.0));
    alpha.below(minus, minus, one.below(alpha, one, alpha))
}

/// Returns three coefficients of a parabola in `alpha`: of 1, `alpha` and `alpha^2`. The parabola approximates `f'' / f`,
/// where `f` is the normsys factor with index `i` and `f''` its second derivative. Both are equal at -1, 0 and 1. In
/// between they differ most for strong effects: for factors of 1.5 on both sides `f'' / f` is 0.41 at 0.5, and the
/// parabola 1.31. Only the metric contains these second derivatives. The approximation changes the steps of a descent
/// and its EDM, but not the point where the gradient is 0.
pub(crate) fn bend(plan: &Plan, i: usize) -> [f64; 3] {
    let numbers = &plan.numbers;
    let (low, high) = (numbers.norm_rate_lo[i].powi(2), numbers.norm_rate_hi[i].powi(2));
    let middle = 2.0 * numbers.norm_coefficients[1][i];
    [middle, 0.5 * (high - low), 0.5 * (high + low) - middle]
}

/// Returns the contribution of the normsys effects of a column to the second derivative of `-ln L`. It is the sum over
/// these effects of `f'' / f`, approximated as in [`bend`], times the element of `totals` for the effect's block.
#[inline(always)]
pub(super) fn bends<M: MulAdd>(theta: &[f64], columns: &Columns, column: &Column, totals: &[f64]) -> M::V8 {
    let splat = M::V8::splat;
    let (mut constant, mut linear, mut square) = (splat(0.0), splat(0.0), splat(0.0));
    let bends = &columns.bends[column.norms.clone()];
    for (k, norm) in columns.norms[column.norms.clone()].iter().enumerate() {
        let (total, bend): (M::V8, _) = (at(totals, norm.block), bends[k]);
        constant = total.mul_add(splat(bend[0]), constant);
        linear = total.mul_add(splat(bend[1]), linear);
        square = total.mul_add(splat(bend[2]), square);
    }
    let near = nearest::<M::V8>(at(theta, column.param));
    square.mul_add(near, linear).mul_add(near, constant)
}

/// Computes the product of the normsys factors of each block. Also computes the first derivative of each
/// factor, divided by the factor.
#[inline(always)]
pub(super) fn norms<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let splat = M::V8::splat;
    let (zero, one) = (splat(0.0), splat(1.0));
    let n_blocks = plan.structure.blocks.len();
    scratch.exponent.fill(0.0);
    scratch.norm.fill(1.0);
    let numbers = &plan.numbers;
    for run in &plan.structure.norm_runs {
        let alpha: M::V8 = at(theta, run.param);
        let near = nearest(alpha);
        let rest = alpha.sub(near);
        // Distances of `alpha` above 1 and below -1. Inside `[-1, 1]` both are 0.
        let (above, below) = (zero.below(rest, rest, zero), rest.below(zero, zero.sub(rest), zero));
        let mut far = false;
        for alpha in &theta[run.param * WIDTH..][..WIDTH] {
            far |= alpha.abs() > 1.0;
        }
        let n = run.end - run.start;
        // Slices of equal length let the compiler remove bounds checks from the loop.
        let [c1, c2, c3, c4, c5, c6] = &numbers.norm_coefficients;
        let (c1, c2, c3) = (&c1[run.start..][..n], &c2[run.start..][..n], &c3[run.start..][..n]);
        let (c4, c5, c6) = (&c4[run.start..][..n], &c5[run.start..][..n], &c6[run.start..][..n]);
        let blocks = &plan.structure.norm_block[run.start..][..n];
        let ratios = &mut scratch.ratio.as_chunks_mut::<WIDTH>().0[run.start..][..n];
        for i in 0..n {
            let block = blocks[i] as usize;
            if block >= n_blocks {
                break; // padding
            }
            // One Horner scheme computes the value and the first derivative.
            let highest = splat(c6[i]);
            let (mut value, mut first) = (highest, highest);
            for c in [c5[i], c4[i], c3[i], c2[i]] {
                value = value.mul_add(near, splat(c));
                first = first.mul_add(near, value);
            }
            value = value.mul_add(near, splat(c1[i]));
            first = first.mul_add(near, value);
            value = value.mul_add(near, one);
            let reciprocal = value.reciprocal();
            first.mul(reciprocal).store(&mut ratios[i]);
            let product: M::V8 = at(&scratch.norm, block);
            put(&mut scratch.norm, block, product.mul(value));
            if far {
                let (hi, lo) =
                    (splat(numbers.norm_rate_hi[run.start + i]), splat(numbers.norm_rate_lo[run.start + i]));
                let sum: M::V8 = at(&scratch.exponent, block);
                put(&mut scratch.exponent, block, below.mul_add(lo, above.mul_add(hi, sum)));
            }
        }
    }
    finish_norms::<M>(n_blocks, scratch);
}
