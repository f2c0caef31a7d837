//! Expected yields of every bin at one point.

use ns_core::NormsysCode;

use super::Scratch;
use crate::interp;
use crate::plan::{Block, LANES, Plan, TERM_LANES};
use crate::simd::{MulAdd, Separate, Vector, exp, isa_fn};

/// Below this some factor of the product is too close to zero to be divided by.
const TINY_PRODUCT: f64 = 1e-100;

isa_fn! {
    /// Fills `scratch` up to the expected yields `lambda` at `theta`. Derivatives at a kink
    /// are the mean of both sides.
    pub(crate) fn forward(plan: &Plan, theta: &[f64], scratch: &mut Scratch) = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    for &p in &plan.hist_params {
        let c = interp::curved(plan.histosys, theta[p]);
        scratch.curved[p] = c.f;
        scratch.curved_first[p] = c.first;
        scratch.curved_second[p] = c.second;
    }
    match plan.normsys {
        NormsysCode::Code4 => norm_products::<M>(plan, theta, scratch),
        NormsysCode::Code1 => norm_logarithms::<M>(plan, theta, scratch),
    }
    scratch.lambda.fill(0.0);
    for (index, block) in plan.blocks.iter().enumerate() {
        let mut scale = scratch.norm[index];
        for &p in &plan.factor_param[block.factor.0..block.factor.1] {
            scale *= theta[p as usize];
        }
        scratch.scale[index] = scale;
        binwise(plan, block, theta, scratch);
        let mut lane = 0;
        while lane < block.n_lanes {
            lane += match block.n_lanes - lane {
                1 => yields::<M, 1>(plan, block, lane, theta, scale, scratch),
                2 => yields::<M, 2>(plan, block, lane, theta, scale, scratch),
                3 => yields::<M, 3>(plan, block, lane, theta, scale, scratch),
                _ => yields::<M, 4>(plan, block, lane, theta, scale, scratch),
            };
        }
    }
}

/// Polynomial coefficients of the terms from `i` on.
#[inline(always)]
pub(super) fn coefficients<V: Vector>(plan: &Plan, i: usize) -> [V; 6] {
    let mut c = [V::splat(0.0); 6];
    for k in 0..6 {
        c[k] = V::load(&plan.norm_coefficients[k][i..]);
    }
    c
}

/// code4: product of factors per block; each run of terms shares one branch.
#[inline(always)]
fn norm_products<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    for run in &plan.norm_runs {
        let alpha = theta[run.param];
        let kappa = &mut scratch.kappa[run.start..run.end];
        if alpha.abs() < 1.0 {
            for i in (0..kappa.len()).step_by(TERM_LANES) {
                interp::polynomial::<M::V8>(alpha, coefficients(plan, run.start + i)).store(&mut kappa[i..]);
            }
        } else {
            let log = if alpha > 0.0 { &plan.norm_log_hi } else { &plan.norm_log_lo };
            for (k, l) in kappa.iter_mut().zip(&log[run.start..run.end]) {
                *k = exp::<M>(alpha.abs() * l);
            }
        }
    }
    for (index, block) in plan.blocks.iter().enumerate() {
        let terms = &plan.norm_of_block[block.norm.0..block.norm.1];
        // Four chains: one would wait for each product.
        let mut parts = [1.0; 4];
        let whole = terms.len() / 4 * 4;
        for four in terms[..whole].chunks_exact(4) {
            for k in 0..4 {
                debug_assert!((four[k] as usize) < scratch.kappa.len());
                // SAFETY: `norm_of_block` lists positions of the plan's own terms (`add_normsys`).
                parts[k] *= unsafe { *scratch.kappa.get_unchecked(four[k] as usize) };
            }
        }
        for (k, &term) in terms[whole..].iter().enumerate() {
            parts[k] *= scratch.kappa[term as usize];
        }
        scratch.norm[index] = (parts[0] * parts[1]) * (parts[2] * parts[3]);
    }
    // A factor at zero takes its whole product with it.
    scratch.degenerate = scratch.norm.iter().any(|n| !(n.abs() > TINY_PRODUCT));
}

/// code1: exponentials add up in the exponent; one `exp` per block.
#[inline(always)]
fn norm_logarithms<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    scratch.norm.fill(0.0);
    for run in &plan.norm_runs {
        let alpha = theta[run.param];
        let log = if alpha >= 0.0 { &plan.norm_log_hi } else { &plan.norm_log_lo };
        for i in run.start..run.end {
            scratch.norm[plan.norm_block[i] as usize] += alpha.abs() * log[i];
        }
    }
    for x in &mut scratch.norm {
        *x = exp::<M>(*x);
    }
    scratch.degenerate = false;
}

/// Product of the per-bin factors of one block.
#[inline(always)]
fn binwise(plan: &Plan, block: &Block, theta: &[f64], scratch: &mut Scratch) {
    let factors = &plan.binwise_first[block.binwise.0..block.binwise.1];
    let Some((&first, others)) = factors.split_first() else { return };
    let cells = &mut scratch.binwise[block.cell..block.cell + block.n_bins];
    cells.copy_from_slice(&theta[first as usize..first as usize + block.n_bins]);
    for &first in others {
        for (cell, value) in cells.iter_mut().zip(&theta[first as usize..]) {
            *cell *= value;
        }
    }
}

/// Additive part and yield of `N` vectors of bins; returns `N`.
#[inline(always)]
fn yields<M: MulAdd, const N: usize>(
    plan: &Plan,
    block: &Block,
    lane: usize,
    theta: &[f64],
    scale: f64,
    scratch: &mut Scratch,
) -> usize {
    let (stride, offset) = (block.n_lanes * LANES, lane * LANES);
    let cell = block.cell + offset;
    // Two sums per vector, for S and A: one would wait for each addition.
    let mut sum = [M::V4::splat(0.0); N];
    let mut bent = [M::V4::splat(0.0); N];
    for v in 0..N {
        sum[v] = M::V4::load(&plan.nominal[cell + v * LANES..]);
    }
    let curved = block.hist_curved - block.hist.0;
    let params = &plan.hist_param[block.hist.0..block.hist.1];
    // Bounds of all loads below, checked once.
    assert!(block.slope + params.len() * stride <= plan.hist_slope.len() && offset + N * LANES <= stride);
    assert!(block.curve + curved * stride <= plan.hist_curve.len() && curved <= params.len());
    assert!(theta.len() == plan.table.init.len() && scratch.curved.len() == theta.len());
    let mut at = block.slope + offset;
    for (i, &p) in params[..curved].iter().enumerate() {
        // SAFETY: parameter indices are below the number of parameters (`compile::check`), the
        // templates lie within the ranges asserted above.
        unsafe {
            let alpha = M::V4::splat(*theta.get_unchecked(p as usize));
            let f = M::V4::splat(*scratch.curved.get_unchecked(p as usize));
            let a = block.curve + offset + i * stride;
            for v in 0..N {
                sum[v] = alpha.mul_add(M::V4::load_at(&plan.hist_slope, at + v * LANES), sum[v]);
                bent[v] = f.mul_add(M::V4::load_at(&plan.hist_curve, a + v * LANES), bent[v]);
            }
        }
        at += stride;
    }
    let mut straight = params[curved..].chunks_exact(2);
    for pair in straight.by_ref() {
        // SAFETY: as above.
        unsafe {
            let alpha = M::V4::splat(*theta.get_unchecked(pair[0] as usize));
            let beta = M::V4::splat(*theta.get_unchecked(pair[1] as usize));
            for v in 0..N {
                sum[v] = alpha.mul_add(M::V4::load_at(&plan.hist_slope, at + v * LANES), sum[v]);
                bent[v] = beta.mul_add(M::V4::load_at(&plan.hist_slope, at + stride + v * LANES), bent[v]);
            }
        }
        at += 2 * stride;
    }
    for &p in straight.remainder() {
        let alpha = M::V4::splat(theta[p as usize]);
        for v in 0..N {
            sum[v] = alpha.mul_add(M::V4::load(&plan.hist_slope[at + v * LANES..]), sum[v]);
        }
    }
    let one = M::V4::splat(1.0);
    for v in 0..N {
        sum[v] = bent[v].mul_add(one, sum[v]);
    }
    let scale = M::V4::splat(scale);
    for v in 0..N {
        sum[v].store(&mut scratch.additive[cell + v * LANES..]);
        let g = M::V4::load(&scratch.binwise[cell + v * LANES..]);
        let lambda = &mut scratch.lambda[block.bin + offset + v * LANES..];
        sum[v].mul(scale).mul_add(g, M::V4::load(lambda)).store(lambda);
    }
    N
}

/// Relative derivatives of the normsys factors at the point of the last `forward`. At a
/// kink `side(parameter)` picks the branch: -1, +1, or 0 for the mean.
#[inline(always)]
pub(crate) fn norm_ratios<M: MulAdd>(
    plan: &Plan,
    theta: &[f64],
    side: impl Fn(usize) -> f64,
    scratch: &mut Scratch,
) {
    for run in &plan.norm_runs {
        let alpha = theta[run.param];
        let polynomial = plan.normsys == NormsysCode::Code4 && alpha.abs() < 1.0;
        let sign = if alpha == 0.0 { side(run.param) } else { alpha.signum() };
        let mut i = run.start;
        while i < run.end {
            if polynomial {
                let (first, curve) = interp::polynomial_derivatives::<M::V8>(alpha, coefficients(plan, i));
                let inverse = M::V8::load(&scratch.kappa[i..]).reciprocal();
                first.mul(inverse).store(&mut scratch.ratio[i..]);
                curve.mul(inverse).store(&mut scratch.ratio_second[i..]);
            } else {
                // d ln(kappa) = S + sign A, with S, A half the difference and sum of the logarithms.
                for k in i..i + TERM_LANES {
                    let (hi, lo) = (plan.norm_log_hi[k], plan.norm_log_lo[k]);
                    let ratio = 0.5 * ((hi - lo) + sign * (hi + lo));
                    scratch.ratio[k] = ratio;
                    scratch.ratio_second[k] = ratio * ratio;
                }
            }
            i += TERM_LANES;
        }
    }
}

/// First and second derivative of one code4 factor, not relative to it.
fn kappa_derivatives(plan: &Plan, term: usize, alpha: f64) -> (f64, f64) {
    if alpha.abs() < 1.0 {
        type V = <Separate as MulAdd>::V4;
        let c = std::array::from_fn(|k| V::splat(plan.norm_coefficients[k][term]));
        let (first, second) = interp::polynomial_derivatives(alpha, c);
        // All four lanes are the same number.
        (first.sum() * 0.25, second.sum() * 0.25)
    } else {
        let log = if alpha > 0.0 { plan.norm_log_hi[term] } else { -plan.norm_log_lo[term] };
        let kappa = (alpha * log).exp();
        (log * kappa, log * log * kappa)
    }
}

/// Derivative of one code4 factor: for factors too small to divide by.
pub(crate) fn kappa_derivative(plan: &Plan, term: usize, alpha: f64) -> f64 {
    kappa_derivatives(plan, term, alpha).0
}

/// Second derivative of one code4 factor.
pub(crate) fn kappa_second(plan: &Plan, term: usize, alpha: f64) -> f64 {
    kappa_derivatives(plan, term, alpha).1
}
