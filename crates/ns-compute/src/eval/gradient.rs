//! Gradient of `-ln L`: one backward pass over the blocks.

use ns_core::NormsysCode;

use super::forward::coefficients;
use super::{Dataset, Scratch};
use crate::interp::polynomial_derivatives;
use crate::plan::{Block, LANES, Plan, TERM_LANES};
use crate::simd::{MulAdd, Vector, isa_fn};

isa_fn! {
    /// Fills `scratch.gradient` at the point of the last `forward` and `likelihood`. Where a
    /// parameter sits on a kink its element is the mean of both one-sided derivatives, and
    /// `scratch.jump` holds half their difference.
    pub(crate) fn gradient(plan: &Plan, theta: &[f64], data: &Dataset, scratch: &mut Scratch) = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &Plan, theta: &[f64], data: &Dataset, scratch: &mut Scratch) {
    scratch.gradient.fill(0.0);
    for (index, block) in plan.blocks.iter().enumerate() {
        let total = weights::<M>(block, scratch);
        scratch.block_sum[index] = total * scratch.scale[index];
        factors(plan, index, block, theta, total, scratch);
        binwise(plan, index, block, theta, scratch);
        let mut lane = 0;
        while lane < block.n_lanes {
            lane += match block.n_lanes - lane {
                1 => templates::<M, 1>(plan, index, block, lane, scratch),
                2 => templates::<M, 2>(plan, index, block, lane, scratch),
                3 => templates::<M, 3>(plan, index, block, lane, scratch),
                _ => templates::<M, 4>(plan, index, block, lane, scratch),
            };
        }
    }
    if scratch.degenerate {
        degenerate_norms(plan, theta, scratch);
    } else {
        norms::<M>(plan, theta, scratch);
    }
    if plan.has_kinks {
        jumps(plan, theta, scratch);
    }
    constraints(plan, theta, data, &mut scratch.gradient);
}

/// `r_b g_b` per cell, and `sum_b r_b g_b D_b`: the block's derivative by its scale.
#[inline(always)]
fn weights<M: MulAdd>(block: &Block, scratch: &mut Scratch) -> f64 {
    let mut total = M::V4::splat(0.0);
    for lane in 0..block.n_lanes {
        let cell = block.cell + lane * LANES;
        let weight = M::V4::load(&scratch.slope[block.bin + lane * LANES..])
            .mul(M::V4::load(&scratch.binwise[cell..]));
        weight.store(&mut scratch.weight[cell..]);
        total = weight.mul_add(M::V4::load(&scratch.additive[cell..]), total);
    }
    total.sum()
}

/// normfactor and lumi: the product without the factor itself, never a division.
#[inline(always)]
fn factors(plan: &Plan, index: usize, block: &Block, theta: &[f64], total: f64, scratch: &mut Scratch) {
    let list = &plan.factor_param[block.factor.0..block.factor.1];
    for (i, &p) in list.iter().enumerate() {
        let mut others = scratch.norm[index] * total;
        for (j, &q) in list.iter().enumerate() {
            if i != j {
                others *= theta[q as usize];
            }
        }
        scratch.gradient[p as usize] += others;
    }
}

/// shapesys, staterror, shapefactor: bin by bin, again without the factor itself.
#[inline(always)]
fn binwise(plan: &Plan, index: usize, block: &Block, theta: &[f64], scratch: &mut Scratch) {
    let list = &plan.binwise_first[block.binwise.0..block.binwise.1];
    let scale = scratch.scale[index];
    for (i, &first) in list.iter().enumerate() {
        for b in 0..block.n_bins {
            let mut others = scratch.slope[block.bin + b] * scratch.additive[block.cell + b] * scale;
            for (j, &other) in list.iter().enumerate() {
                if i != j {
                    others *= theta[other as usize + b];
                }
            }
            scratch.gradient[first as usize + b] += others;
        }
    }
}

/// histosys terms over `N` vectors of bins; returns `N`.
#[inline(always)]
fn templates<M: MulAdd, const N: usize>(
    plan: &Plan,
    index: usize,
    block: &Block,
    lane: usize,
    scratch: &mut Scratch,
) -> usize {
    let (stride, offset) = (block.n_lanes * LANES, lane * LANES);
    let mut weight = [M::V4::splat(0.0); N];
    for v in 0..N {
        weight[v] = M::V4::load(&scratch.weight[block.cell + offset + v * LANES..]);
    }
    let scale = scratch.scale[index];
    let curved = block.hist_curved - block.hist.0;
    let params = &plan.hist_param[block.hist.0..block.hist.1];
    // Bounds of all loads below, checked once.
    assert!(block.slope + params.len() * stride <= plan.hist_slope.len() && offset + N * LANES <= stride);
    assert!(block.curve + curved * stride <= plan.hist_curve.len() && curved <= params.len());
    let n = plan.table.init.len();
    assert!(scratch.curved_first.len() == n && scratch.gradient.len() == n);
    let at = (block.slope + offset, block.curve + offset);
    let whole = params.len() / 4 * 4;
    for i in (0..whole).step_by(4) {
        let first = &scratch.curved_first;
        let mut sums = [0.0; 4];
        let mut four = [M::V4::splat(0.0); 4];
        for k in 0..4 {
            // SAFETY: ranges and parameter indices as asserted above.
            four[k] = unsafe { term::<M, N>(plan, params, curved, at, stride, i + k, first, &weight) };
        }
        M::V4::sums(four, &mut sums);
        for k in 0..4 {
            // SAFETY: as above.
            unsafe { *scratch.gradient.get_unchecked_mut(params[i + k] as usize) += scale * sums[k] };
        }
    }
    for (i, &p) in params.iter().enumerate().skip(whole) {
        // SAFETY: as above.
        let sum =
            unsafe { term::<M, N>(plan, params, curved, at, stride, i, &scratch.curved_first, &weight) };
        scratch.gradient[p as usize] += scale * sum.sum();
    }
    N
}

/// Weighted template of histosys `i` of a block, not yet summed over bins.
///
/// # Safety
/// `i` is below the number of `params`, whose values are below the length of `first`; templates of
/// `N` vectors start `i` strides after `at` (slopes, curves).
#[inline(always)]
unsafe fn term<M: MulAdd, const N: usize>(
    plan: &Plan,
    params: &[u32],
    curved: usize,
    at: (usize, usize),
    stride: usize,
    i: usize,
    first: &[f64],
    weight: &[M::V4; N],
) -> M::V4 {
    let mut sum = M::V4::splat(0.0);
    // SAFETY: the caller's promise.
    unsafe {
        let s = at.0 + i * stride;
        if i < curved {
            let first = M::V4::splat(*first.get_unchecked(*params.get_unchecked(i) as usize));
            let a = at.1 + i * stride;
            for v in 0..N {
                let slope = first.mul_add(
                    M::V4::load_at(&plan.hist_curve, a + v * LANES),
                    M::V4::load_at(&plan.hist_slope, s + v * LANES),
                );
                sum = weight[v].mul_add(slope, sum);
            }
        } else {
            for v in 0..N {
                sum = weight[v].mul_add(M::V4::load_at(&plan.hist_slope, s + v * LANES), sum);
            }
        }
    }
    sum
}

/// normsys: relative derivative of each factor times the block sum that it scales.
#[inline(always)]
fn norms<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    for run in &plan.norm_runs {
        let alpha = theta[run.param];
        let polynomial = plan.normsys == NormsysCode::Code4 && alpha.abs() < 1.0;
        let sign = if alpha == 0.0 { 0.0 } else { alpha.signum() };
        let mut sum = M::V8::splat(0.0);
        for i in (run.start..run.end).step_by(TERM_LANES) {
            // SAFETY: `norm_block` names blocks of the plan, or the dummy one after them.
            let sums = unsafe { M::V8::gather(&scratch.block_sum, &plan.norm_block[i..]) };
            let ratio = if polynomial {
                let (first, _) = polynomial_derivatives::<M::V8>(alpha, coefficients(plan, i));
                first.mul(M::V8::load(&scratch.kappa[i..]).reciprocal())
            } else {
                // Half the difference and half the sum of the logarithms, by the side of 0.
                let (hi, lo) = (M::V8::load(&plan.norm_log_hi[i..]), M::V8::load(&plan.norm_log_lo[i..]));
                hi.mul(M::V8::splat(0.5 * (1.0 + sign))).add(lo.mul(M::V8::splat(0.5 * (sign - 1.0))))
            };
            sum = sums.mul_add(ratio, sum);
        }
        scratch.gradient[run.param] += sum.sum();
    }
}

/// Some factor is (almost) zero: products without it, term by term.
#[inline(always)]
fn degenerate_norms(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let mut total = vec_of_totals(plan, scratch);
    for (index, block) in plan.blocks.iter().enumerate() {
        for &p in &plan.factor_param[block.factor.0..block.factor.1] {
            total[index] *= theta[p as usize];
        }
        let terms = &plan.norm_of_block[block.norm.0..block.norm.1];
        for (i, &term) in terms.iter().enumerate() {
            let mut others = total[index];
            for (j, &other) in terms.iter().enumerate() {
                if i != j {
                    others *= scratch.kappa[other as usize];
                }
            }
            let p = plan.block_params[block.params.0 + plan.norm_slot[block.norm.0 + i] as usize];
            scratch.gradient[p as usize] +=
                others * super::forward::kappa_derivative(plan, term as usize, theta[p as usize]);
        }
    }
}

/// `sum_b r_b g_b D_b` per block. Allocates: the degenerate case is rare.
fn vec_of_totals(plan: &Plan, scratch: &Scratch) -> Vec<f64> {
    plan.blocks
        .iter()
        .map(|block| {
            let cells = block.cell..block.cell + block.n_bins;
            scratch.weight[cells.clone()].iter().zip(&scratch.additive[cells]).map(|(w, d)| w * d).sum()
        })
        .collect()
}

/// Half the difference of the one-sided derivatives of parameters at a kink.
#[inline(always)]
fn jumps(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    scratch.jump.fill(0.0);
    for (index, block) in plan.blocks.iter().enumerate() {
        let stride = block.n_lanes * LANES;
        for (i, &p) in plan.hist_param[block.hist.0..block.hist_curved].iter().enumerate() {
            let p = p as usize;
            if theta[p] == 0.0 && plan.histosys == ns_core::HistosysCode::Code0 {
                let a = &plan.hist_curve[block.curve + i * stride..][..block.n_bins];
                let w = &scratch.weight[block.cell..][..block.n_bins];
                let sum: f64 = a.iter().zip(w).map(|(a, w)| a * w).sum();
                scratch.jump[p] += scratch.scale[index] * sum;
            }
        }
    }
    if plan.normsys == NormsysCode::Code1 {
        for run in plan.norm_runs.iter().filter(|run| theta[run.param] == 0.0) {
            for i in run.start..run.end {
                let half = 0.5 * (plan.norm_log_hi[i] + plan.norm_log_lo[i]);
                scratch.jump[run.param] += half * scratch.block_sum[plan.norm_block[i] as usize];
            }
        }
    }
}

/// Adds the constraint terms.
#[inline(always)]
fn constraints(plan: &Plan, theta: &[f64], data: &Dataset, gradient: &mut [f64]) {
    for ((&p, &a), &w) in plan.gaussian.param.iter().zip(&plan.gaussian.aux).zip(&plan.gaussian.inverse_sigma)
    {
        gradient[p] += (theta[p] - data.aux[a]) * w * w;
    }
    for ((&p, &a), &tau) in plan.poisson.param.iter().zip(&plan.poisson.aux).zip(&plan.poisson.tau) {
        let n = data.aux[a];
        gradient[p] += if n > 0.0 { (tau * theta[p] - n) / theta[p] } else { tau };
    }
}
