//! Derivatives of the expected yields at the point of each lane. The metric of strongly nonlinear models uses them.
//!
//! In most models one Jacobian serves all toys: the Jacobian at the point around which the data scatter (see
//! `metric`). In a strongly nonlinear model the derivatives change during a descent, and a single Jacobian would lead
//! to many small steps. In such a model each lane has its own Jacobian, which is computed together with the gradient.
//! Each lane also has its own Jacobian in models of few bins, where it costs little, and in models whose trial toys do
//! not converge with the shared one (see `toys`).
//!
//! The metric then also contains the second derivative of the expected yields with respect to each single parameter.
//! The Gauss-Newton approximation omits all second derivatives. Mixed second derivatives are still omitted, and so is
//! the product of the normsys effect and the histosys effect of one parameter. The L-BFGS pairs correct the metric
//! for these omissions.

use super::columns::{Column, Columns};
use super::evaluate::{add_product, at, bin_function, put, with_function};
use super::scratch::Scratch;
use super::{WIDTH, metric::Metric, own_norms};
use crate::events::pair;
use crate::plan::{Block, Plan};
use crate::simd::{MulAdd, Vector};
use crate::terms::{per_bin, scale};

/// Largest number of elements (parameters times bins) of the Jacobian of one lane.
const MOST_ELEMENTS: usize = 24_000;

/// Largest number of elements of the Jacobian of one fit on a GPU.
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
const MOST_ELEMENTS_ON_GPUS: usize = 8_000;

/// Largest number of bins of a model whose lanes always have Jacobians of their own, because they cost little there.
const FEW_BINS: usize = 12;

/// Returns how many numbers the [`Derivatives`] of a model contain at most. Returns 0 if they would be too many.
pub(crate) fn numbers(plan: &Plan) -> usize {
    let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
    if n.saturating_mul(n_bins) <= MOST_ELEMENTS { (n * n_bins + n) * WIDTH } else { 0 }
}

/// Returns whether fits should have Jacobians of their own from what is known of the model alone: one Jacobian would
/// serve a strongly nonlinear model badly, and with few bins it saves nothing.
pub(super) fn are_better(plan: &Plan) -> bool {
    numbers(plan) > 0 && (plan.policy.strongly_nonlinear || plan.n_bins() <= FEW_BINS)
}

/// Returns whether each fit on a GPU has a Jacobian of its own.
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) fn are_better_on_gpus(plan: &Plan) -> bool {
    let fit = plan.n_parameters().saturating_mul(plan.n_bins()) <= MOST_ELEMENTS_ON_GPUS;
    (are_better(plan) || plan.has_function_factors()) && fit
}

/// Derivatives of the expected yields at the point of every lane.
#[derive(Debug)]
pub(super) struct Derivatives {
    /// First derivative of each expected yield with respect to each parameter. The index order is bin, parameter,
    /// lane.
    pub(super) rows: Vec<f64>,
    /// For each parameter, the part of the second derivative of `-ln L` that comes from the second derivatives of the
    /// expected yields. The index order is parameter, lane.
    pub(super) second: Vec<f64>,
    /// Number of elements in one row of `rows`: parameters times lanes.
    length: usize,
    /// The effects of each parameter, from which evaluations compute the derivatives. It is not used in the copy of
    /// the derivatives that a `Group` keeps.
    pub(super) columns: Columns,
}

impl Derivatives {
    /// Allocates the derivatives, or returns `None` if the metric does not use them.
    pub(super) fn new(plan: &Plan, metric: &Metric) -> Option<Self> {
        metric.own_derivatives.then(|| Self::zero(plan))
    }

    /// Allocates the derivatives of eight lanes. All numbers are zero.
    pub(super) fn zero(plan: &Plan) -> Self {
        let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
        Self {
            rows: vec![0.0; n * n_bins * WIDTH],
            second: vec![0.0; n * WIDTH],
            length: n * WIDTH,
            columns: Columns::new(plan),
        }
    }

    /// Returns the derivatives of the expected yield in one bin with respect to all parameters, for all lanes.
    #[inline(always)]
    pub(super) fn row(&self, bin: usize) -> &[f64] {
        &self.rows[bin * self.length..(bin + 1) * self.length]
    }
}

/// Computes the derivatives of the expected yields, and the gradient of the terms of the main bins. At the end
/// `scratch.additive` contains the expected yields of all cells.
#[inline(always)]
pub(super) fn backward<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch, to: &mut Derivatives) {
    let zero = M::V8::splat(0.0);
    to.second.fill(0.0);
    for &i in &to.columns.cleared {
        put(&mut to.rows, i, zero);
    }
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        of_factors::<M>(plan, index, block, theta, scratch, to);
    }
    let by_parabola = own_norms::applies(plan);
    for column in &to.columns.columns {
        let mut b = 0;
        while b < column.n_bins {
            let (rows, columns) = (&mut to.rows[(column.bin + b) * to.length..], &to.columns);
            b += match column.n_bins - b {
                1 => of_column::<M, 1>((columns, column), b, scratch, (rows, to.length), &mut to.second),
                2 => of_column::<M, 2>((columns, column), b, scratch, (rows, to.length), &mut to.second),
                3 => of_column::<M, 3>((columns, column), b, scratch, (rows, to.length), &mut to.second),
                _ => of_column::<M, 4>((columns, column), b, scratch, (rows, to.length), &mut to.second),
            };
        }
        let sum: M::V8 = at(&to.second, column.param);
        let bends = if by_parabola {
            own_norms::bends::<M>(theta, &to.columns, column, &scratch.norm)
        } else {
            stored_bends::<M>(&to.columns, column, scratch)
        };
        put(&mut to.second, column.param, sum.add(bends));
    }
    for &(b, p) in &to.columns.alone {
        let slope: M::V8 = at(&scratch.slope, b);
        add_product(&mut scratch.gradient, p, slope, at(to.row(b), p));
    }
}

/// Computes the nominal yields plus the histosys variations of `N` bins of a block (one sample in one channel),
/// beginning with bin `b`. Returns `N`. In contrast to `evaluate::additive`, each bin has four partial sums. With a
/// single sum, every addition would have to wait for the one before it.
#[inline(always)]
pub(super) fn additive_apart<M: MulAdd, const N: usize>(
    plan: &Plan,
    (block, numbers): (&Block, &[f64]),
    b: usize,
    theta: &[f64],
    scratch: &mut Scratch,
) -> usize {
    let mut sums = [[M::V8::splat(0.0); N]; 4];
    let n_curved = block.hist_curved - block.hist.0;
    let mut start = b;
    for (pair, params) in plan.templates(block).chunks(2).enumerate() {
        for (half, &p) in params.iter().enumerate() {
            let i = 2 * pair + half;
            let alpha: M::V8 = at(theta, p as usize);
            let slope = &numbers[start..][..N];
            start += block.n_bins;
            for v in 0..N {
                sums[half][v] = alpha.mul_add(M::V8::splat(slope[v]), sums[half][v]);
            }
            if i < n_curved {
                let f: M::V8 = at(&scratch.curved, p as usize);
                let curve = &numbers[start..][..N];
                start += block.n_bins;
                for v in 0..N {
                    sums[2 + half][v] = f.mul_add(M::V8::splat(curve[v]), sums[2 + half][v]);
                }
            }
        }
    }
    let [a, b_odd, c, d] = sums;
    for v in 0..N {
        let nominal = M::V8::splat(plan.numbers.nominal[block.cell + b + v]);
        let sum = nominal.add(a[v].add(b_odd[v])).add(c[v].add(d[v]));
        put(&mut scratch.additive, block.cell + b + v, sum);
    }
    N
}

/// Adds the derivatives with respect to the factors of one block (one sample in one channel).
///
/// Also writes three results to `scratch`: the expected yield of each cell of the block to `additive`, the product of
/// all factors of each cell to `binwise`, and one sum for the block to `norm`. This sum runs over the bins, and its
/// terms are the yield times the derivative of `-ln L` with respect to the expected yield.
#[inline(always)]
fn of_factors<M: MulAdd>(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    scratch: &mut Scratch,
    to: &mut Derivatives,
) {
    let n = plan.n_parameters();
    let without: M::V8 = at(&scratch.norm, index);
    let norm = with_function(plan, block, without, scratch);
    let (factors, per_bin_factors) = (plan.scale_factors(block), plan.per_bin_factors(block));
    let factor = |p| at::<M::V8>(theta, p);
    let scale = scale::product(norm, factors, [], factor);
    if block.function.is_some() || !plan.bin_functions(block).is_empty() {
        of_functions::<M>(plan, block, scale::product(without, factors, [], factor), theta, scratch, to);
    }
    let mut total = M::V8::splat(0.0);
    for b in 0..block.n_bins {
        let slope: M::V8 = at(&scratch.slope, block.bin + b);
        let additive: M::V8 = at(&scratch.additive, block.cell + b);
        let binwise: M::V8 = at(&scratch.binwise, block.cell + b);
        let own = bin_function::<M::V8>(plan, block, b, scratch);
        for (k, &first) in per_bin_factors.iter().enumerate() {
            let others = per_bin::product(additive.mul(scale).mul(own), per_bin_factors, b, [k], factor);
            let p = first as usize + b;
            let sum: M::V8 = at(&scratch.reaction, p);
            put(&mut scratch.reaction, p, sum.add(others));
            add_product(&mut to.rows, (block.bin + b) * n + p, others, M::V8::splat(1.0));
        }
        let product = additive.mul(binwise);
        for (k, &p) in factors.iter().enumerate() {
            let others = scale::product(norm, factors, [k], factor);
            add_product(&mut to.rows, (block.bin + b) * n + p as usize, others, product);
        }
        let yields = product.mul(scale);
        total = slope.mul_add(yields, total);
        put(&mut scratch.additive, block.cell + b, yields);
        put(&mut scratch.binwise, block.cell + b, binwise.mul(scale));
    }
    put(&mut scratch.norm, index, total);
}

/// Adds the derivatives with respect to the parameters of the functions that are factors of one block (one sample in one
/// channel) and of its bins. `rest` is the product of the other factors of the whole block.
#[inline(always)]
fn of_functions<M: MulAdd>(
    plan: &Plan,
    block: &Block,
    rest: M::V8,
    theta: &[f64],
    scratch: &Scratch,
    to: &mut Derivatives,
) {
    let factor = |p| at::<M::V8>(theta, p);
    for b in 0..block.n_bins {
        let additive: M::V8 = at(&scratch.additive, block.cell + b);
        let binwise: M::V8 = at(&scratch.binwise, block.cell + b);
        if let Some(function) = block.function {
            of_function::<M>(
                plan,
                function.index,
                block.bin + b,
                additive.mul(binwise).mul(rest),
                scratch,
                to,
            );
        }
        if let Some(&function) = plan.bin_functions(block).get(b) {
            let rest = with_function(plan, block, rest, scratch);
            let others = per_bin::product(additive.mul(rest), plan.per_bin_factors(block), b, [], factor);
            of_function::<M>(plan, function as usize, block.bin + b, others, scratch, to);
        }
    }
}

/// Adds the derivatives of the yield of one bin of a sample through a function. `others` is the yield without the function.
#[inline(always)]
fn of_function<M: MulAdd>(
    plan: &Plan,
    function: usize,
    bin: usize,
    others: M::V8,
    scratch: &Scratch,
    to: &mut Derivatives,
) {
    let (n, parameters) = (plan.n_parameters(), plan.factors.parameters(function));
    let result = plan.factors.in_lanes(function, &scratch.factors);
    let weight = others.mul(at(&scratch.slope, bin));
    for (i, &p) in parameters.iter().enumerate() {
        add_product(&mut to.rows, bin * n + p, others, at(result, 1 + i));
        add_product(&mut to.second, p, weight, at(result, pair(parameters.len(), i, i)));
    }
}

/// Returns the contribution of the normsys effects of a column to the second derivative of `-ln L`, from the second
/// derivatives that `evaluate` has stored. It is the sum over these effects of `f'' / f`, times the element of
/// `scratch.norm` for the effect's block. `f` is the normsys factor and `f''` its second derivative.
#[inline(always)]
fn stored_bends<M: MulAdd>(columns: &Columns, column: &Column, scratch: &Scratch) -> M::V8 {
    let mut sum = M::V8::splat(0.0);
    for norm in &columns.norms[column.norms.clone()] {
        let total: M::V8 = at(&scratch.norm, norm.block);
        sum = total.mul_add(at(&scratch.relative_second, norm.term), sum);
    }
    sum
}

/// Computes the derivatives of the expected yields with respect to one parameter, from its histosys and normsys
/// effects in one channel. The call covers `N` bins, beginning with bin `b`, whose row is the first in `rows`. Also
/// computes the parameter's part of the gradient, and adds the second derivatives of the histosys effects to
/// `second`. Returns `N`.
#[inline(always)]
fn of_column<M: MulAdd, const N: usize>(
    (columns, column): (&Columns, &Column),
    b: usize,
    scratch: &mut Scratch,
    (rows, length): (&mut [f64], usize),
    second: &mut [f64],
) -> usize {
    let zero = M::V8::splat(0.0);
    let p = column.param;
    let (mut slopes, mut curves) = ([zero; N], [zero; N]);
    let (weights, yields) = (scratch.binwise.as_chunks::<WIDTH>().0, scratch.additive.as_chunks::<WIDTH>().0);
    for template in &columns.curved[column.curved.clone()] {
        let weights = &weights[template.cell + b..][..N];
        let slope = &columns.numbers[template.numbers + b..][..N];
        let curve = &columns.numbers[template.numbers + column.n_bins + b..][..N];
        for v in 0..N {
            let weight = M::V8::load(&weights[v]);
            slopes[v] = weight.mul_add(M::V8::splat(slope[v]), slopes[v]);
            curves[v] = weight.mul_add(M::V8::splat(curve[v]), curves[v]);
        }
    }
    for template in &columns.straight[column.straight.clone()] {
        let weights = &weights[template.cell + b..][..N];
        let slope = &columns.numbers[template.numbers + b..][..N];
        for v in 0..N {
            let weight = M::V8::load(&weights[v]);
            slopes[v] = weight.mul_add(M::V8::splat(slope[v]), slopes[v]);
        }
    }
    if !column.curved.is_empty() {
        let first: M::V8 = at(&scratch.curved_first, p);
        let mut sum = zero;
        for v in 0..N {
            slopes[v] = first.mul_add(curves[v], slopes[v]);
            sum = at::<M::V8>(&scratch.slope, column.bin + b + v).mul_add(curves[v], sum);
        }
        add_product(second, p, sum, at(&scratch.curved_second, p));
    }
    for norm in &columns.norms[column.norms.clone()] {
        let ratio: M::V8 = at(&scratch.ratio, norm.term);
        let yields = &yields[norm.cell + b..][..N];
        for v in 0..N {
            slopes[v] = ratio.mul_add(M::V8::load(&yields[v]), slopes[v]);
        }
    }
    let mut gradient: M::V8 = at(&scratch.gradient, p);
    for v in 0..N {
        let row = &mut rows[v * length..][..length];
        let before: M::V8 = if column.adds { at(row, p) } else { zero };
        let derivative = slopes[v].add(before);
        put(row, p, derivative);
        gradient = at::<M::V8>(&scratch.slope, column.bin + b + v).mul_add(derivative, gradient);
    }
    put(&mut scratch.gradient, p, gradient);
    N
}
