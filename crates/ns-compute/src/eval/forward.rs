//! Computes the expected yields of every bin at one point.

use super::Scratch;
use crate::plan::{Block, LANES, Plan, TERM_LANES};
use crate::shared_constants::LEAST_PRODUCT;
use crate::simd::{Level, MulAdd, Vector, exp, isa_fn};
use crate::terms::normsys::{exponent_and_slope, second, signed_rate, value_and_slope};
use crate::terms::{histosys, scale};

/// Computes the expected yields `scratch.lambda` at `theta`, and all quantities in `scratch` from which they are
/// computed. Derivatives at a kink are the mean of the derivatives on both sides.
pub(crate) fn forward(level: Level, plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    if !plan.factors.is_empty() {
        plan.factors.evaluate(level, theta, &mut scratch.factors);
    }
    yields_of_blocks(level, plan, theta, scratch);
}

isa_fn! {
    fn yields_of_blocks(plan: &Plan, theta: &[f64], scratch: &mut Scratch) = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    for &p in &plan.structure.hist_params {
        let curved = histosys::curved(plan.structure.histosys, M::V1::splat(theta[p]));
        curved.f.store(&mut scratch.curved[p..]);
        curved.first.store(&mut scratch.curved_first[p..]);
        curved.second.store(&mut scratch.curved_second[p..]);
    }
    if plan.structure.normsys.is_exponential() {
        norm_logarithms::<M>(plan, theta, scratch);
    } else {
        norm_products::<M>(plan, theta, scratch);
    }
    scratch.lambda.fill(0.0);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let mut scale = scale::product(scratch.norm[index], plan.scale_factors(block), [], |p| theta[p]);
        if let Some(function) = block.function {
            scale *= plan.factors.value(function.index, &scratch.factors);
        }
        scratch.scale[index] = scale;
        binwise(plan, block, theta, scratch);
        bin_functions(plan, block, scratch);
        let mut lane = 0;
        while lane < block.n_lanes {
            lane += match block.n_lanes - lane {
                1 => yields::<M::V4, 1, 1, 4>(plan, block, lane, theta, scale, scratch),
                2 => yields::<M::V8, 2, 1, 2>(plan, block, lane, theta, scale, scratch),
                3 => yields::<M::V4, 1, 3, 1>(plan, block, lane, theta, scale, scratch),
                _ => yields::<M::V8, 2, 2, 1>(plan, block, lane, theta, scale, scratch),
            };
        }
    }
}

/// Loads the coefficients of the normsys terms `i`, `i + 1`, ..., as many as a SIMD vector has elements. A term is the
/// effect of one modifier on one sample. Element `k` of the result contains the polynomial coefficient of degree `k +
/// 1` of each term.
#[inline(always)]
fn coefficients<V: Vector>(plan: &Plan, i: usize) -> [V; 6] {
    let mut c = [V::splat(0.0); 6];
    for k in 0..6 {
        c[k] = V::load(&plan.numbers.norm_coefficients[k][i..]);
    }
    c
}

/// Returns the coefficients of one normsys term, in ascending order.
#[inline(always)]
fn coefficient(plan: &Plan, term: usize) -> [f64; 6] {
    plan.numbers.norm_coefficients.each_ref().map(|c| c[term])
}

/// Computes the factors of all normsys terms, and the product of these factors for each block (one sample in one
/// channel). The terms are processed in runs. All terms of a run have the same parameter, so they use the same branch
/// of the interpolation.
#[inline(always)]
fn norm_products<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let coefficients: [&[f64]; 6] = std::array::from_fn(|k| &plan.numbers.norm_coefficients[k][..]);
    let (kappa, rate) = (&mut scratch.kappa[..], &mut scratch.kappa_first[..]);
    // Bounds of all loads and stores of the polynomials, checked once per run.
    let n = kappa.len();
    assert!(rate.len() == n && coefficients.iter().all(|c| c.len() == n));
    for run in &plan.structure.norm_runs {
        let alpha = theta[run.param];
        assert!(run.end <= n);
        let mut i = run.start;
        if plan.structure.normsys.is_polynomial(alpha) {
            let alpha = M::V8::splat(alpha);
            while i + TERM_LANES <= run.end {
                // Value and slope are computed in one pass, because loading the coefficients takes most of the time.
                // SAFETY: `i + TERM_LANES <= run.end <= n`, the length of all arrays, as asserted above.
                unsafe {
                    let c = coefficients.map(|c| M::V8::load_at(c, i));
                    let (value, first) = value_and_slope(alpha, c);
                    value.store(kappa.get_unchecked_mut(i..i + TERM_LANES));
                    first.store(rate.get_unchecked_mut(i..i + TERM_LANES));
                }
                i += TERM_LANES;
            }
        } else {
            let rates = if alpha > 0.0 { &plan.numbers.norm_rate_hi } else { &plan.numbers.norm_rate_lo };
            let size = M::V8::splat(alpha.abs());
            while i + TERM_LANES <= run.end {
                let factors = plan.structure.normsys.beyond.value::<M>(size, M::V8::load(&rates[i..]));
                factors.store(&mut kappa[i..]);
                i += TERM_LANES;
            }
        }
    }
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let terms = &plan.structure.norm_of_block[block.norm.0..block.norm.1];
        // With a single product, each multiplication would wait for the one before. Four products are independent.
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
    // If a factor is zero, the whole product is zero.
    scratch.degenerate = scratch.norm.iter().any(|n| !(n.abs() > LEAST_PRODUCT));
}

/// Computes the product of the exponential normsys factors of each block (one sample in one channel). The product is a
/// single `exp` of the sum of all exponents.
#[inline(always)]
fn norm_logarithms<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    scratch.norm.fill(0.0);
    for run in &plan.structure.norm_runs {
        let alpha = theta[run.param];
        if plan.structure.normsys.is_polynomial(alpha) {
            for i in run.start..run.end {
                let (exponent, slope) = exponent_and_slope(alpha, coefficient(plan, i));
                scratch.norm[plan.structure.norm_block[i] as usize] += exponent;
                // Relative to the factor. The factors of exponentials in `kappa` stay 1.
                scratch.kappa_first[i] = slope;
            }
            continue;
        }
        let log = if alpha >= 0.0 { &plan.numbers.norm_rate_hi } else { &plan.numbers.norm_rate_lo };
        for i in run.start..run.end {
            scratch.norm[plan.structure.norm_block[i] as usize] += alpha.abs() * log[i];
        }
    }
    for x in &mut scratch.norm {
        *x = exp::<M>(*x);
    }
    scratch.degenerate = false;
}

/// Computes the product of the per-bin factors in each bin of one block (one sample in one channel).
#[inline(always)]
fn binwise(plan: &Plan, block: &Block, theta: &[f64], scratch: &mut Scratch) {
    let Some((&first, others)) = plan.per_bin_factors(block).split_first() else { return };
    let cells = &mut scratch.binwise[block.cell..block.cell + block.n_bins];
    let values = &theta[first as usize..first as usize + block.n_bins];
    match (&mut *cells, values) {
        ([cell], [value]) => *cell = *value,
        _ => cells.copy_from_slice(values),
    }
    for &first in others {
        for (cell, value) in cells.iter_mut().zip(&theta[first as usize..]) {
            *cell *= value;
        }
    }
}

/// Multiplies the per-bin factors of one block (one sample in one channel) by the functions of its bins.
#[inline(always)]
fn bin_functions(plan: &Plan, block: &Block, scratch: &mut Scratch) {
    let functions = plan.bin_functions(block);
    let cells = &mut scratch.binwise[block.cell..block.cell + block.n_bins];
    if plan.per_bin_factors(block).is_empty() && !functions.is_empty() {
        cells.fill(1.0);
    }
    for (cell, &function) in cells.iter_mut().zip(functions) {
        *cell *= plan.factors.value(function as usize, &scratch.factors);
    }
}

/// Computes the additive part (nominal yield plus histosys variations) and the expected yield of one block (one sample
/// in one channel), for some of its bins. Bins are counted in groups of `LANES` bins. The call begins at the group
/// with the index `lane`, and covers `N` SIMD vectors of `L` groups each. Returns `N * L`, the number of groups that
/// were computed.
///
/// The templates are added to `T` separate sums. With a single sum, each addition would wait for the one before.
#[inline(always)]
fn yields<V: Vector, const L: usize, const N: usize, const T: usize>(
    plan: &Plan,
    block: &Block,
    lane: usize,
    theta: &[f64],
    scale: f64,
    scratch: &mut Scratch,
) -> usize {
    let (stride, offset, width) = (block.n_lanes * LANES, lane * LANES, L * LANES);
    let cell = block.cell + offset;
    // The symmetric and the asymmetric parts of the templates (S and A) have separate sums.
    let mut sum = [[V::splat(0.0); N]; T];
    let mut curve_sum = [[V::splat(0.0); N]; T];
    for v in 0..N {
        sum[0][v] = V::load(&plan.numbers.nominal[cell + v * width..]);
    }
    let curved = block.hist_curved - block.hist.0;
    let params = plan.templates(block);
    let (slopes, curves, f) =
        (&plan.numbers.hist_slope[..], &plan.numbers.hist_curve[..], &scratch.curved[..]);
    // Bounds of all loads below, checked once.
    assert!(block.slope + params.len() * stride <= slopes.len() && offset + N * width <= stride);
    assert!(block.curve + curved * stride <= curves.len() && curved <= params.len());
    assert!(theta.len() == plan.structure.table.init.len() && f.len() == theta.len());
    let (mut s, mut a) = (block.slope + offset, block.curve + offset);
    let (curved_params, linear_params) = params.split_at(curved);
    let mut several = curved_params.chunks_exact(T);
    for group in several.by_ref() {
        for (t, &p) in group.iter().enumerate() {
            // SAFETY: parameter indices are below the number of parameters (`compile::check`), the
            // templates lie within the ranges asserted above.
            unsafe { add(theta, p, slopes, s, width, &mut sum[t]) };
            // SAFETY: as above.
            unsafe { add(f, p, curves, a, width, &mut curve_sum[t]) };
            (s, a) = (s + stride, a + stride);
        }
    }
    for &p in several.remainder() {
        // SAFETY: as above.
        unsafe { add(theta, p, slopes, s, width, &mut sum[0]) };
        // SAFETY: as above.
        unsafe { add(f, p, curves, a, width, &mut curve_sum[0]) };
        (s, a) = (s + stride, a + stride);
    }
    for &p in linear_params {
        // SAFETY: as above.
        unsafe { add(theta, p, slopes, s, width, &mut curve_sum[T - 1]) };
        s += stride;
    }
    let scale = V::splat(scale);
    for v in 0..N {
        let mut total = V::splat(0.0);
        for t in 0..T {
            total = total.add(sum[t][v].add(curve_sum[t][v]));
        }
        total.store(&mut scratch.additive[cell + v * width..]);
        let g = V::load(&scratch.binwise[cell + v * width..]);
        let lambda = &mut scratch.lambda[block.bin + offset + v * width..];
        total.mul(scale).mul_add(g, V::load(lambda)).store(lambda);
    }
    L * N
}

/// Adds `factors[p]` times a histosys template to `sums`. The template begins at `templates[at]`. It consists of `N`
/// SIMD vectors of `width` numbers.
///
/// # Safety
/// `p` must be within `factors`. `N` vectors of `width` numbers from `at` on must be within `templates`.
#[inline(always)]
unsafe fn add<V: Vector, const N: usize>(
    factors: &[f64],
    p: u32,
    templates: &[f64],
    at: usize,
    width: usize,
    sums: &mut [V; N],
) {
    // SAFETY: the caller guarantees this.
    let factor = V::splat(unsafe { *factors.get_unchecked(p as usize) });
    for v in 0..N {
        // SAFETY: the caller guarantees this.
        let template = unsafe { V::load_at(templates, at + v * width) };
        sums[v] = factor.mul_add(template, sums[v]);
    }
}

/// Computes the relative first and second derivatives of the normsys factors at the point of the last call of
/// [`forward`]. At a kink, `side(parameter)` chooses the branch: -1, +1, or 0 for the mean of both.
#[inline(always)]
pub(crate) fn norm_ratios<M: MulAdd>(
    plan: &Plan,
    theta: &[f64],
    side: impl Fn(usize) -> f64,
    scratch: &mut Scratch,
) {
    for run in &plan.structure.norm_runs {
        let alpha = theta[run.param];
        let polynomial = plan.structure.normsys.is_polynomial(alpha);
        let sign = M::V8::splat(if alpha == 0.0 { side(run.param) } else { alpha.signum() });
        for i in (run.start..run.end).step_by(TERM_LANES) {
            let kappa = M::V8::load(&scratch.kappa[i..]);
            let (first, second) = if polynomial {
                let inverse = kappa.reciprocal();
                let curve = second(M::V8::splat(alpha), coefficients(plan, i));
                let first = M::V8::load(&scratch.kappa_first[i..]).mul(inverse);
                let curve = curve.mul(inverse);
                (
                    first,
                    if plan.structure.normsys.has_exponent() { first.mul_add(first, curve) } else { curve },
                )
            } else {
                let (hi, lo) = (
                    M::V8::load(&plan.numbers.norm_rate_hi[i..]),
                    M::V8::load(&plan.numbers.norm_rate_lo[i..]),
                );
                plan.structure.normsys.beyond.relative(signed_rate(sign, hi, lo), kappa)
            };
            first.store(&mut scratch.ratio[i..]);
            second.store(&mut scratch.ratio_second[i..]);
        }
    }
}

/// Returns the first and second derivatives of the normsys factor `kappa` with respect to its parameter `alpha`. These
/// derivatives are not divided by `kappa`, which may be too small for a division.
pub(crate) fn kappa_derivatives(plan: &Plan, term: usize, alpha: f64, kappa: f64) -> (f64, f64) {
    let normsys = plan.structure.normsys;
    if normsys.is_polynomial(alpha) {
        let c = coefficient(plan, term);
        let (first, second) = (value_and_slope(alpha, c).1, second(alpha, c));
        if normsys.has_exponent() {
            (kappa * first, kappa * (first * first + second))
        } else {
            (first, second)
        }
    } else {
        let (hi, lo) = (plan.numbers.norm_rate_hi[term], plan.numbers.norm_rate_lo[term]);
        normsys.beyond.derivatives(signed_rate(alpha.sign(), hi, lo), kappa)
    }
}
