//! Computes the gradient of `-ln L` in one backward pass over the blocks (a block is one sample in one channel).

use super::scratch::Unsummed;
use super::{Dataset, Scratch};
use crate::plan::{Block, LANES, Plan, TERM_LANES};
use crate::simd::{Level, MulAdd, Vector, isa_fn};
use crate::terms::normsys::signed_rate;
use crate::terms::{gaussian, per_bin, scale};

/// Computes `scratch.gradient` at `theta`. The last calls of `forward` and `likelihood` must have been at the same
/// point. If a parameter is at a kink, its element of the gradient is the mean of the two one-sided derivatives. Half
/// of their difference is stored in `scratch.jump`.
pub(crate) fn gradient(level: Level, plan: &Plan, theta: &[f64], data: &Dataset, scratch: &mut Scratch) {
    scratch.factors.slopes.fill(0.0);
    of_bins_and_constraints(level, plan, theta, data, scratch);
    if !plan.factors.is_empty() {
        let Scratch { factors, gradient, jump, .. } = scratch;
        plan.factors.pull_back(factors, gradient);
        plan.factors.jumps(level, theta, factors, jump);
    }
    for (parameters, term) in plan.events.parameters().zip(&scratch.events.terms) {
        for (&p, derivative) in parameters.iter().zip(&term.gradient) {
            scratch.gradient[p] += derivative;
        }
    }
    for &(p, jump) in &scratch.events.jumps {
        scratch.jump[p] += jump;
    }
}

isa_fn! {
    fn of_bins_and_constraints(plan: &Plan, theta: &[f64], data: &Dataset, scratch: &mut Scratch) = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &Plan, theta: &[f64], data: &Dataset, scratch: &mut Scratch) {
    scratch.gradient.fill(0.0);
    for &p in &plan.structure.hist_params {
        scratch.unsummed[p] = Unsummed::default();
    }
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let total = weights::<M>(block, scratch);
        scratch.block_sum[index] = total * scratch.scale[index];
        factors(plan, index, block, theta, total, scratch);
        binwise(plan, index, block, theta, scratch);
        let mut lane = 0;
        while lane < block.n_lanes {
            lane += match block.n_lanes - lane {
                1 => templates::<M::V4, 1, 1>(plan, index, block, lane, scratch),
                2 => templates::<M::V8, 2, 1>(plan, index, block, lane, scratch),
                3 => templates::<M::V4, 1, 3>(plan, index, block, lane, scratch),
                _ => templates::<M::V8, 2, 2>(plan, index, block, lane, scratch),
            };
        }
    }
    sum_up::<M>(plan, scratch);
    if scratch.degenerate {
        degenerate_norms(plan, theta, scratch);
    } else {
        norms::<M>(plan, theta, scratch);
    }
    if plan.structure.has_kinks {
        jumps(plan, |p| theta[p] == 0.0, scratch);
    }
    constraints(plan, theta, data, &mut scratch.gradient);
}

/// Computes the product `r_b g_b` for each bin `b` of one block (one sample in one channel), and writes it to
/// `scratch.weight`. Here `r_b` is the derivative of `-ln L` with respect to the expected yield of the bin, and `g_b`
/// is the product of the per-bin factors.
///
/// Returns `sum_b r_b g_b D_b`, where `D_b` is the nominal yield plus additive variations. This sum is the derivative
/// of `-ln L` with respect to the product of the block's scalar factors (normsys, normfactor, lumi).
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

/// Adds the derivatives with respect to the parameters of normfactor and lumi in one block (one sample in one channel)
/// to the gradient, and the derivative with respect to the value of the block's function to `scratch.factors`.
#[inline(always)]
fn factors(plan: &Plan, index: usize, block: &Block, theta: &[f64], mut total: f64, scratch: &mut Scratch) {
    let list = plan.scale_factors(block);
    if let Some(function) = block.function {
        let rest = scale::product(scratch.norm[index] * total, list, [], |q| theta[q]);
        scratch.factors.slopes[function.index] += rest;
        total *= plan.factors.value(function.index, &scratch.factors);
    }
    for (i, &p) in list.iter().enumerate() {
        scratch.gradient[p as usize] += scale::product(scratch.norm[index] * total, list, [i], |q| theta[q]);
    }
}

/// Adds the derivatives with respect to the parameters of shapesys, staterror and shapefactor in one block (one sample
/// in one channel) to the gradient, bin by bin.
#[inline(always)]
fn binwise(plan: &Plan, index: usize, block: &Block, theta: &[f64], scratch: &mut Scratch) {
    let list = plan.per_bin_factors(block);
    let scale = scratch.scale[index];
    let slopes = &scratch.slope[block.bin..block.bin + block.n_bins];
    let additive = &scratch.additive[block.cell..block.cell + block.n_bins];
    let functions = plan.bin_functions(block);
    if !functions.is_empty() {
        for (b, (&function, (slope, additive))) in
            functions.iter().zip(slopes.iter().zip(additive)).enumerate()
        {
            let others = per_bin::product(slope * additive * scale, list, b, [], |q| theta[q]);
            scratch.factors.slopes[function as usize] += others;
        }
    }
    for (i, &first) in list.iter().enumerate() {
        let elements = &mut scratch.gradient[first as usize..first as usize + block.n_bins];
        for (b, ((element, slope), additive)) in elements.iter_mut().zip(slopes).zip(additive).enumerate() {
            let mut others = slope * additive * scale;
            if let Some(&function) = functions.get(b) {
                others *= plan.factors.value(function as usize, &scratch.factors);
            }
            *element += per_bin::product(others, list, b, [i], |q| theta[q]);
        }
    }
}

/// Adds the derivatives with respect to the histosys parameters of one block (one sample in one channel) to
/// `scratch.unsummed`, for some of its bins. Bins are counted in groups of `LANES` bins. The call begins at the group
/// with the index `lane`, and covers `N` SIMD vectors of `L` groups each. Returns `N * L`, the number of groups that
/// were covered.
///
/// `unsummed` has one sum per parameter and SIMD lane. `sum_up` adds the lanes up once, after all blocks. Adding up
/// the lanes after each histosys template would take longer than the template itself.
#[inline(always)]
fn templates<V: Vector, const L: usize, const N: usize>(
    plan: &Plan,
    index: usize,
    block: &Block,
    lane: usize,
    scratch: &mut Scratch,
) -> usize {
    let (stride, offset, width) = (block.n_lanes * LANES, lane * LANES, L * LANES);
    let scale = V::splat(scratch.scale[index]);
    let mut weight = [V::splat(0.0); N];
    for v in 0..N {
        weight[v] = V::load(&scratch.weight[block.cell + offset + v * width..]).mul(scale);
    }
    let params = plan.templates(block);
    let (curved_params, linear_params) = params.split_at(block.hist_curved - block.hist.0);
    let (slopes, curves, first) =
        (&plan.numbers.hist_slope[..], &plan.numbers.hist_curve[..], &scratch.curved_first[..]);
    let sums = &mut scratch.unsummed[..];
    // Bounds of all loads below, checked once.
    assert!(block.slope + params.len() * stride <= slopes.len() && offset + N * width <= stride);
    assert!(block.curve + curved_params.len() * stride <= curves.len() && width <= 2 * LANES);
    assert!(first.len() == plan.structure.table.init.len() && sums.len() == first.len());
    let (mut s, mut a) = (block.slope + offset, block.curve + offset);
    for &p in curved_params {
        // SAFETY: parameter indices are below the number of parameters (`compile::check`), the templates
        // lie within the ranges asserted above.
        unsafe {
            let bend = V::splat(*first.get_unchecked(p as usize));
            let place = &mut sums.get_unchecked_mut(p as usize).0;
            let mut sum = V::load_at(place, 0);
            for v in 0..N {
                let slope = V::load_at(slopes, s + v * width);
                let slope = bend.mul_add(V::load_at(curves, a + v * width), slope);
                sum = weight[v].mul_add(slope, sum);
            }
            sum.store(place);
        }
        (s, a) = (s + stride, a + stride);
    }
    for &p in linear_params {
        // SAFETY: as above.
        unsafe {
            let place = &mut sums.get_unchecked_mut(p as usize).0;
            let mut sum = V::load_at(place, 0);
            for v in 0..N {
                sum = weight[v].mul_add(V::load_at(slopes, s + v * width), sum);
            }
            sum.store(place);
        }
        s += stride;
    }
    L * N
}

/// Adds up the SIMD lanes of each histosys parameter's sum in `scratch.unsummed`. Adds the results to the gradient.
#[inline(always)]
fn sum_up<M: MulAdd>(plan: &Plan, scratch: &mut Scratch) {
    let mut groups = plan.structure.hist_params.chunks_exact(4);
    for group in groups.by_ref() {
        let mut four = [M::V8::splat(0.0); 4];
        let mut sums = [0.0; 4];
        for k in 0..4 {
            four[k] = M::V8::load(&scratch.unsummed[group[k]].0);
        }
        M::V8::sums(four, &mut sums);
        for k in 0..4 {
            scratch.gradient[group[k]] += sums[k];
        }
    }
    for &p in groups.remainder() {
        scratch.gradient[p] += M::V8::load(&scratch.unsummed[p].0).sum();
    }
}

/// Adds the derivatives with respect to the parameters of normsys to the gradient. A normsys term scales one block (one
/// sample in one channel) by a factor. The term contributes the relative derivative of this factor times
/// `scratch.block_sum` of the block.
#[inline(always)]
fn norms<M: MulAdd>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let (kappa, rate, sums) = (&scratch.kappa[..], &scratch.kappa_first[..], &scratch.block_sum[..]);
    let (rate_hi, rate_lo, blocks) =
        (&plan.numbers.norm_rate_hi[..], &plan.numbers.norm_rate_lo[..], &plan.structure.norm_block[..]);
    // Bounds of all loads below, checked once per run.
    let n = kappa.len();
    assert!(rate.len() == n && rate_hi.len() == n && rate_lo.len() == n && blocks.len() == n);
    for run in &plan.structure.norm_runs {
        let alpha = theta[run.param];
        let polynomial = plan.structure.normsys.is_polynomial(alpha);
        let sign = M::V8::splat(if alpha == 0.0 { 0.0 } else { alpha.signum() });
        let mut sum = M::V8::splat(0.0);
        assert!(run.end <= n);
        let mut i = run.start;
        while i + TERM_LANES <= run.end {
            // SAFETY: eight terms from `i` on are within the run, which is within all arrays; `norm_block`
            // holds indices of blocks of the plan, or of the dummy block after them.
            unsafe {
                let blocks = blocks.get_unchecked(i..i + TERM_LANES);
                // Eight single loads are faster than a gather.
                let each: [f64; TERM_LANES] =
                    std::array::from_fn(|k| *sums.get_unchecked(*blocks.get_unchecked(k) as usize));
                let sums = M::V8::load(&each);
                let ratio = if polynomial {
                    M::V8::load_at(rate, i).mul(M::V8::load_at(kappa, i).reciprocal())
                } else {
                    let rate = signed_rate(sign, M::V8::load_at(rate_hi, i), M::V8::load_at(rate_lo, i));
                    plan.structure.normsys.beyond.relative(rate, M::V8::load_at(kappa, i)).0
                };
                sum = sums.mul_add(ratio, sum);
            }
            i += TERM_LANES;
        }
        scratch.gradient[run.param] += sum.sum();
    }
}

/// Adds the derivatives with respect to the parameters of normsys to the gradient, if the product of the normsys
/// factors of a block (one sample in one channel) is zero or almost zero. No number is divided by a factor: the
/// derivative of a factor is multiplied by the product of all other factors.
#[inline(always)]
fn degenerate_norms(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let total = vec_of_totals(plan, scratch);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let mut total = scale::product(total[index], plan.scale_factors(block), [], |p| theta[p]);
        if let Some(function) = block.function {
            total *= plan.factors.value(function.index, &scratch.factors);
        }
        let terms = &plan.structure.norm_of_block[block.norm.0..block.norm.1];
        for (i, &term) in terms.iter().enumerate() {
            let others = scale::product(total, terms, [i], |other| scratch.kappa[other]);
            let p = plan.structure.block_params
                [block.params.0 + plan.structure.norm_slot[block.norm.0 + i] as usize];
            let kappa = scratch.kappa[term as usize];
            let (first, _) = super::kappa_derivatives(plan, term as usize, theta[p as usize], kappa);
            scratch.gradient[p as usize] += others * first;
        }
    }
}

/// Returns one sum per block (one sample in one channel): `sum_b r_b g_b D_b` over its bins `b`. `r_b` is the
/// derivative of `-ln L` with respect to the expected yield of the bin, `g_b` is the product of the per-bin factors,
/// and `D_b` is the nominal yield plus additive variations. The function allocates memory, which is acceptable in this
/// rare case.
fn vec_of_totals(plan: &Plan, scratch: &Scratch) -> Vec<f64> {
    plan.structure
        .blocks
        .iter()
        .map(|block| {
            let cells = block.cell..block.cell + block.n_bins;
            scratch.weight[cells.clone()].iter().zip(&scratch.additive[cells]).map(|(w, d)| w * d).sum()
        })
        .collect()
}

/// Computes half the difference of the two one-sided derivatives for each parameter that `at_kink` names: exact for a
/// parameter at its kink, and else an estimate of what it will be there. Needs the state that a gradient left.
#[inline(always)]
pub(crate) fn jumps(plan: &Plan, at_kink: impl Fn(usize) -> bool, scratch: &mut Scratch) {
    scratch.jump.fill(0.0);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let stride = block.n_lanes * LANES;
        for (i, &p) in plan.structure.hist_param[block.hist.0..block.hist_curved].iter().enumerate() {
            let p = p as usize;
            if at_kink(p) && plan.structure.histosys.has_kink() {
                let a = &plan.numbers.hist_curve[block.curve + i * stride..][..block.n_bins];
                let w = &scratch.weight[block.cell..][..block.n_bins];
                let sum: f64 = a.iter().zip(w).map(|(a, w)| a * w).sum();
                scratch.jump[p] += scratch.scale[index] * sum;
            }
        }
    }
    if plan.structure.normsys.has_kink() {
        for run in plan.structure.norm_runs.iter().filter(|run| at_kink(run.param)) {
            for i in run.start..run.end {
                let half = 0.5 * (plan.numbers.norm_rate_hi[i] + plan.numbers.norm_rate_lo[i]);
                scratch.jump[run.param] += half * scratch.block_sum[plan.structure.norm_block[i] as usize];
            }
        }
    }
}

/// Adds the derivatives of the constraint terms to the gradient.
#[inline(always)]
fn constraints(plan: &Plan, theta: &[f64], data: &Dataset, gradient: &mut [f64]) {
    for (p, a, w) in plan.gaussian() {
        gradient[p] = gaussian::add_slope(gaussian::pull(theta[p], data.aux[a], w), w, gradient[p]);
    }
    for (p, a, tau) in plan.poisson() {
        let n = data.aux[a];
        gradient[p] += if n > 0.0 { (tau * theta[p] - n) / theta[p] } else { tau };
    }
}

/// Writes the second derivatives of the constraint terms to `to`, one per parameter. They are 0 for parameters
/// without a constraint.
pub(crate) fn constraint_curvatures(plan: &Plan, theta: &[f64], aux: &[f64], to: &mut [f64]) {
    to.fill(0.0);
    for (p, _, w) in plan.gaussian() {
        to[p] = gaussian::second(w);
    }
    for (p, a, _) in plan.poisson() {
        to[p] = aux[a] / (theta[p] * theta[p]);
    }
}
