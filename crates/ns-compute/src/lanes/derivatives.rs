//! Derivatives of the expected yields at the point of each lane, for the metric of strongly nonlinear models.
//!
//! In most models one Jacobian serves all toys: the Jacobian at the point around which the data scatter (see
//! `metric`). In a strongly nonlinear model the derivatives change within a descent, and a single Jacobian would lead
//! to many small steps. Such a model has a Jacobian per lane, which is computed together with the gradient. Its
//! metric also contains the second derivative of the expected yields with respect to each parameter, which the
//! Gauss-Newton approximation omits. Mixed second derivatives are omitted, and so is the product of the normsys and
//! the histosys effect of one parameter. The L-BFGS pairs correct the metric for them.

use super::evaluate::{add_product, at, eight_by_eight, put};
use super::scratch::Scratch;
use super::{WIDTH, metric::Metric};
use crate::plan::{Block, LANES, Plan};
use crate::simd::{MulAdd, Vector};
use crate::terms::{per_bin, scale};

/// Largest number of elements (parameters times bins) of the Jacobian of one lane. Two Jacobians of this size
/// for eight lanes fit into the cache.
const MOST_ELEMENTS: usize = 8_000;

/// Returns how many numbers the [`Derivatives`] of a model contain; 0 if its metric uses the shared Jacobian.
pub(crate) fn numbers(plan: &Plan) -> usize {
    let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
    let used = plan.policy.strongly_nonlinear && n.saturating_mul(n_bins) <= MOST_ELEMENTS;
    if used { (n * n_bins + n) * WIDTH } else { 0 }
}

/// Derivatives of the expected yields in every lane.
#[derive(Debug)]
pub(super) struct Derivatives {
    /// First derivative of each expected yield with respect to each parameter, `[bin][parameter]`.
    pub(super) rows: Vec<f64>,
    /// Part of the second derivative of `-ln L` with respect to each parameter: the part due to the second
    /// derivatives of the expected yields with respect to the same parameter.
    pub(super) second: Vec<f64>,
    /// Number of elements of one row.
    length: usize,
}

impl Derivatives {
    /// Allocates the derivatives if the metric of a model uses them.
    pub(super) fn new(plan: &Plan, metric: &Metric) -> Option<Self> {
        (numbers(plan) > 0 && !metric.dual.is_empty()).then(|| Self::zero(plan))
    }

    /// Allocates the derivatives of eight lanes, all zero.
    pub(super) fn zero(plan: &Plan) -> Self {
        let (n, n_bins) = (plan.n_parameters(), plan.n_bins());
        Self { rows: vec![0.0; n * n_bins * WIDTH], second: vec![0.0; n * WIDTH], length: n * WIDTH }
    }

    /// Returns the derivatives of one bin's expected yield with respect to all parameters.
    #[inline(always)]
    pub(super) fn row(&self, bin: usize) -> &[f64] {
        &self.rows[bin * self.length..(bin + 1) * self.length]
    }
}

/// Computes the derivatives and the gradient of the main terms. Afterwards `scratch.additive` holds the expected yields
/// of all cells.
#[inline(always)]
pub(super) fn backward<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch, to: &mut Derivatives) {
    to.rows.fill(0.0);
    to.second.fill(0.0);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        of_block::<M>(plan, index, block, theta, scratch, to);
    }
    let n = plan.n_parameters();
    for (b, row) in to.rows.chunks_exact(n * WIDTH).enumerate() {
        let slope: M::V8 = at(&scratch.slope, b);
        for p in 0..n {
            add_product(&mut scratch.gradient, p, slope, at(row, p));
        }
    }
}

/// Adds the derivatives of the expected yields of one block.
#[inline(always)]
fn of_block<M: MulAdd>(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    scratch: &mut Scratch,
    to: &mut Derivatives,
) {
    let n = plan.n_parameters();
    let norm: M::V8 = at(&scratch.norm, index);
    let (factors, per_bin_factors) = (plan.scale_factors(block), plan.per_bin_factors(block));
    let factor = |p| at::<M::V8>(theta, p);
    let scale = scale::product(norm, factors, [], factor);
    let mut total = M::V8::splat(0.0);
    for b in 0..block.n_bins {
        let slope: M::V8 = at(&scratch.slope, block.bin + b);
        let additive: M::V8 = at(&scratch.additive, block.cell + b);
        let binwise: M::V8 = at(&scratch.binwise, block.cell + b);
        for (k, &first) in per_bin_factors.iter().enumerate() {
            let others = per_bin::product(additive.mul(scale), per_bin_factors, b, [k], factor);
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
    eight_by_eight!(block, b => of_bins(plan, block, b, scratch, to));
    for i in block.norm.0..block.norm.1 {
        let p = plan.norm_param(block, i);
        let term = plan.structure.norm_of_block[i] as usize;
        add_product(&mut to.second, p, total, at(&scratch.relative_second, term));
    }
}

/// Adds the derivatives of the expected yields of `N` bins, from bin `b` on, with respect to the parameters
/// of histosys and normsys. Returns `N`.
#[inline(always)]
fn of_bins<M: MulAdd, const N: usize>(
    plan: &Plan,
    block: &Block,
    b: usize,
    scratch: &Scratch,
    to: &mut Derivatives,
) -> usize {
    let stride = block.n_lanes * LANES;
    let zero = M::V8::splat(0.0);
    let (mut weight, mut pull, mut yields) = ([zero; N], [zero; N], [zero; N]);
    for v in 0..N {
        weight[v] = at(&scratch.binwise, block.cell + b + v);
        pull[v] = weight[v].mul(at(&scratch.slope, block.bin + b + v));
        yields[v] = at(&scratch.additive, block.cell + b + v);
    }
    let mut rest = to.rows.chunks_exact_mut(to.length).skip(block.bin + b);
    let rows: [&mut [f64]; N] = std::array::from_fn(|_| rest.next().unwrap_or_default());
    for (i, &p) in plan.templates(block).iter().enumerate() {
        let p = p as usize;
        let slope = &plan.numbers.hist_slope[block.slope + i * stride + b..][..N];
        let mut derivative = [zero; N];
        for v in 0..N {
            derivative[v] = M::V8::splat(slope[v]);
        }
        if block.hist.0 + i < block.hist_curved {
            let curve = &plan.numbers.hist_curve[block.curve + i * stride + b..][..N];
            let first: M::V8 = at(&scratch.curved_first, p);
            let mut sum = zero;
            for v in 0..N {
                let curve = M::V8::splat(curve[v]);
                derivative[v] = first.mul_add(curve, derivative[v]);
                sum = pull[v].mul_add(curve, sum);
            }
            add_product(&mut to.second, p, sum, at(&scratch.curved_second, p));
        }
        for v in 0..N {
            add_product(rows[v], p, weight[v], derivative[v]);
        }
    }
    for i in block.norm.0..block.norm.1 {
        let p = plan.norm_param(block, i);
        let ratio: M::V8 = at(&scratch.ratio, plan.structure.norm_of_block[i] as usize);
        for v in 0..N {
            add_product(rows[v], p, ratio, yields[v]);
        }
    }
    N
}
