//! Computes `-ln L` and its gradient at eight points, each with its own data.
//!
//! The formulas are the same as in `eval`, but each SIMD lane computes a fit of its own. Every coefficient of the plan
//! (compiled model) is read once for eight fits, and nothing is padded. The bits of the results in one lane do not
//! depend on the other lanes.

use super::WIDTH;
use super::{correlated, scratch::Scratch};
use crate::plan::{Block, LANES, NormRun, Plan};
use crate::shared_constants::FEWEST;
use crate::simd::{Level, MulAdd, Vector, exp, isa_fn};
use crate::terms::normsys::{exponent_and_slope, second, signed_rate, value_and_slope};
use crate::terms::poisson::{deviance_derivatives, term};
use crate::terms::{gaussian, histosys, per_bin, scale};

/// Computes `-ln L`, relative to the saturated model, and its gradient for eight fits (lanes) at the points `theta`. `main`
/// contains the counts and `aux` the auxiliary data of every lane. The results are written to `scratch`. The value of a
/// lane is infinite if a bin with counts has an expected yield of zero or less.
pub(super) fn evaluate(
    level: Level,
    plan: &Plan,
    theta: &[f64],
    main: &[f64],
    aux: &[f64],
    scratch: &mut Scratch,
) {
    if plan.has_function_factors() {
        plan.factors.evaluate_lanes(level, theta, WIDTH, &mut scratch.factors);
        scratch.factors.slopes.fill(0.0);
    }
    of_bins_and_constraints(level, plan, theta, main, aux, scratch);
    // With derivatives of the expected yields, these contain those through functions.
    if plan.has_function_factors() && scratch.derivatives.is_none() {
        plan.factors.pull_back_lanes(&scratch.factors, WIDTH, &mut scratch.gradient);
    }
}

isa_fn! {
    fn of_bins_and_constraints(plan: &Plan, theta: &[f64], main: &[f64], aux: &[f64], scratch: &mut Scratch) = body
}

#[inline(always)]
fn body<M: MulAdd>(plan: &Plan, theta: &[f64], main: &[f64], aux: &[f64], scratch: &mut Scratch) {
    assert!(theta.len() == plan.n_parameters() * WIDTH && main.len() == plan.n_bins() * WIDTH);
    let mut derivatives = scratch.derivatives.take();
    for &p in &plan.structure.hist_params {
        let curved = histosys::curved(plan.structure.histosys, at::<M::V8>(theta, p));
        put(&mut scratch.curved, p, curved.f);
        put(&mut scratch.curved_first, p, curved.first);
        if derivatives.is_some() {
            put(&mut scratch.curved_second, p, curved.second);
        }
    }
    if derivatives.is_some() {
        if super::own_norms::applies(plan) {
            super::own_norms::norms::<M>(plan, theta, scratch);
        } else {
            norms::<M, true>(plan, theta, scratch);
        }
    } else {
        norms::<M, false>(plan, theta, scratch);
    }
    scratch.lambda.fill(0.0);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        match &derivatives {
            Some(own) => {
                forward::<M, true>(plan, index, (block, own.columns.of_block(index)), theta, scratch);
            }
            None => forward::<M, false>(plan, index, (block, &[]), theta, scratch),
        }
    }
    counts::<M>(plan, main, scratch);
    scratch.gradient.fill(0.0);
    scratch.reaction.fill(0.0);
    match &mut derivatives {
        Some(derivatives) => super::derivatives::backward::<M>(plan, theta, scratch, derivatives),
        None => {
            for (index, block) in plan.structure.blocks.iter().enumerate() {
                backward::<M>(plan, index, block, theta, scratch);
            }
            for run in &plan.structure.norm_runs {
                norm_gradient::<M>(plan, run, scratch);
            }
        }
    }
    scratch.derivatives = derivatives;
    constraints::<M>(plan, theta, aux, scratch);
}

/// Computes the expected yields and the Poisson terms of the main bins for eight fits (lanes) at the points `theta`,
/// without derivatives.
pub(super) fn expect(level: Level, plan: &Plan, theta: &[f64], main: &[f64], scratch: &mut Scratch) {
    if plan.has_function_factors() {
        plan.factors.evaluate_lanes(level, theta, WIDTH, &mut scratch.factors);
    }
    of_bins(level, plan, theta, main, scratch);
}

isa_fn! {
    fn of_bins(plan: &Plan, theta: &[f64], main: &[f64], scratch: &mut Scratch) = expect_body
}

#[inline(always)]
fn expect_body<M: MulAdd>(plan: &Plan, theta: &[f64], main: &[f64], scratch: &mut Scratch) {
    for &p in &plan.structure.hist_params {
        put(&mut scratch.curved, p, histosys::curved(plan.structure.histosys, at::<M::V8>(theta, p)).f);
    }
    norms::<M, false>(plan, theta, scratch);
    scratch.lambda.fill(0.0);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        forward::<M, false>(plan, index, (block, &[]), theta, scratch);
    }
    counts::<M>(plan, main, scratch);
}

/// Returns the factor of the normsys term with index `i` (the effect of one normsys modifier) at the parameter values
/// `alpha` of all lanes (eight fits).
#[inline(always)]
pub(super) fn normsys_factor<M: MulAdd>(plan: &Plan, i: usize, alpha: M::V8) -> M::V8 {
    let (splat, numbers) = (M::V8::splat, &plan.numbers);
    let mut c = [splat(0.0); 6];
    for k in 0..6 {
        c[k] = splat(numbers.norm_coefficients[k][i]);
    }
    let (hi, lo) = (splat(numbers.norm_rate_hi[i]), splat(numbers.norm_rate_lo[i]));
    let (size, rate) = (alpha.abs(), alpha.below(splat(0.0), lo, hi));
    let (normsys, inside) = (plan.structure.normsys, splat(plan.structure.normsys.inside));
    if normsys.has_exponent() {
        let exponent = size.below(inside, exponent_and_slope(alpha, c).0, size.mul(rate));
        return normsys.beyond.value::<M>(exponent, splat(1.0));
    }
    let (value, _) = value_and_slope(alpha, c);
    size.below(inside, value, normsys.beyond.value::<M>(size, rate))
}

/// Loads the eight numbers of element `i` of an array, one for each lane.
#[inline(always)]
pub(super) fn at<V: Vector>(from: &[f64], i: usize) -> V {
    V::load(&from.as_chunks::<WIDTH>().0[i])
}

/// Writes the eight numbers of element `i` of an array, one for each lane.
#[inline(always)]
pub(super) fn put<V: Vector>(to: &mut [f64], i: usize, x: V) {
    x.store(&mut to.as_chunks_mut::<WIDTH>().0[i]);
}

/// Adds `a b` to element `i` of an array in all lanes (eight fits).
#[inline(always)]
pub(super) fn add_product<V: Vector>(to: &mut [f64], i: usize, a: V, b: V) {
    let sum: V = at(to, i);
    put(to, i, a.mul_add(b, sum));
}

/// Computes the product of the normsys factors of each block (one sample in one channel), and the derivative of each
/// factor divided by the factor. If `SECOND` is true, also computes the second derivatives divided by the factors.
#[inline(always)]
fn norms<M: MulAdd, const SECOND: bool>(plan: &Plan, theta: &[f64], scratch: &mut Scratch) {
    let splat = M::V8::splat;
    let normsys = plan.structure.normsys;
    let (zero, one, inside) = (splat(0.0), splat(1.0), splat(normsys.inside));
    scratch.exponent.fill(0.0);
    let n_blocks = plan.structure.blocks.len();
    for i in 0..n_blocks {
        put(&mut scratch.norm, i, splat(1.0));
    }
    for run in &plan.structure.norm_runs {
        let alpha: M::V8 = at(theta, run.param);
        let far =
            theta[run.param * WIDTH..][..WIDTH].iter().any(|a| !plan.structure.normsys.is_polynomial(*a));
        let size = alpha.abs();
        let sign = alpha.sign();
        for i in run.start..run.end {
            let block = plan.structure.norm_block[i] as usize;
            if block >= n_blocks {
                break; // padding
            }
            let mut c = [zero; 6];
            for k in 0..6 {
                c[k] = splat(plan.numbers.norm_coefficients[k][i]);
            }
            if normsys.has_exponent() {
                let (hi, lo) = (splat(plan.numbers.norm_rate_hi[i]), splat(plan.numbers.norm_rate_lo[i]));
                let (exponent, slope) = exponent_and_slope(alpha, c);
                let near = size.below(inside, exponent, size.mul(alpha.below(zero, lo, hi)));
                let ratio = size.below(inside, slope, signed_rate(sign, hi, lo));
                let sum: M::V8 = at(&scratch.exponent, block);
                put(&mut scratch.exponent, block, sum.add(near));
                put(&mut scratch.ratio, i, ratio);
                if SECOND {
                    let bend = size.below(inside, second(alpha, c), zero);
                    put(&mut scratch.relative_second, i, ratio.mul_add(ratio, bend));
                }
                continue;
            }
            let (mut value, first) = value_and_slope(alpha, c);
            let reciprocal = value.reciprocal();
            let mut ratio = first.mul(reciprocal);
            let mut curvature = if SECOND { second(alpha, c).mul(reciprocal) } else { zero };
            if far {
                let (hi, lo) = (splat(plan.numbers.norm_rate_hi[i]), splat(plan.numbers.norm_rate_lo[i]));
                let rate = alpha.below(zero, lo, hi);
                let beyond = if normsys.beyond.adds_exponents() {
                    // The exponents of all exponential factors of a block are added, so one exponential per block
                    // suffices.
                    let sum: M::V8 = at(&scratch.exponent, block);
                    put(&mut scratch.exponent, block, size.below(inside, sum, size.mul_add(rate, sum)));
                    one
                } else {
                    normsys.beyond.value::<M>(size, rate)
                };
                let (slope, bend) = normsys.beyond.relative(signed_rate(sign, hi, lo), beyond);
                value = size.below(inside, value, beyond);
                ratio = size.below(inside, ratio, slope);
                curvature = size.below(inside, curvature, bend);
            }
            put(&mut scratch.ratio, i, ratio);
            if SECOND {
                put(&mut scratch.relative_second, i, curvature);
            }
            let product: M::V8 = at(&scratch.norm, block);
            put(&mut scratch.norm, block, product.mul(value));
        }
    }
    finish_norms::<M>(n_blocks, scratch);
}

/// Completes the product of the normsys factors of each block (one sample in one channel): multiplies it by the
/// exponential of the sum of the exponents in `scratch.exponent`. Also finds the smallest absolute value of the
/// products of all blocks.
#[inline(always)]
pub(super) fn finish_norms<M: MulAdd>(n_blocks: usize, scratch: &mut Scratch) {
    let mut least = M::V8::splat(f64::INFINITY);
    for i in 0..n_blocks {
        let exponents = &scratch.exponent[i * WIDTH..(i + 1) * WIDTH];
        let mut far = false;
        for exponent in exponents {
            far |= *exponent != 0.0;
        }
        if far {
            let mut factors = [0.0; WIDTH];
            for l in 0..WIDTH {
                factors[l] = exp::<M>(exponents[l]);
            }
            let product: M::V8 = at(&scratch.norm, i);
            put(&mut scratch.norm, i, product.mul(M::V8::load(&factors)));
        }
        let size = at::<M::V8>(&scratch.norm, i).abs();
        least = size.below(least, size, least);
    }
    least.store(&mut scratch.least);
}

/// Calls a function for all bins of a block (one sample in one channel). The function handles `N` bins per call: eight
/// bins as long as there are that many, and the remaining bins in one more call.
macro_rules! eight_by_eight {
    ($block:ident, $b:ident => $of:ident($($arg:expr),*)) => {
        let mut $b = 0;
        while $b < $block.n_bins {
            $b += match $block.n_bins - $b {
                1 => $of::<M, 1>($($arg),*),
                2 => $of::<M, 2>($($arg),*),
                3 => $of::<M, 3>($($arg),*),
                4 => $of::<M, 4>($($arg),*),
                5 => $of::<M, 5>($($arg),*),
                6 => $of::<M, 6>($($arg),*),
                7 => $of::<M, 7>($($arg),*),
                _ => $of::<M, 8>($($arg),*),
            };
        }
    };
}

/// Computes the expected yields of one block (one sample in one channel), and adds them to `lambda`. If `APART` is
/// true, the templates are added in four partial sums (see
/// [`derivatives::additive_apart`](super::derivatives::additive_apart)).
#[inline(always)]
fn forward<M: MulAdd, const APART: bool>(
    plan: &Plan,
    index: usize,
    (block, numbers): (&Block, &[f64]),
    theta: &[f64],
    scratch: &mut Scratch,
) {
    let factor = |p| at::<M::V8>(theta, p);
    let norm = with_function::<M::V8>(plan, block, at(&scratch.norm, index), scratch);
    let scale = scale::product(norm, plan.scale_factors(block), [], factor);
    put(&mut scratch.block_scale, index, scale);
    for b in 0..block.n_bins {
        let own = bin_function::<M::V8>(plan, block, b, scratch);
        let product = per_bin::product(own, plan.per_bin_factors(block), b, [], factor);
        put(&mut scratch.binwise, block.cell + b, product);
    }
    if APART {
        use super::derivatives::additive_apart;
        eight_by_eight!(block, b => additive_apart(plan, (block, numbers), b, theta, scratch));
    } else {
        eight_by_eight!(block, b => additive(plan, block, b, theta, scratch));
    }
    for b in 0..block.n_bins {
        let yields = at::<M::V8>(&scratch.additive, block.cell + b).mul(scale);
        add_product(&mut scratch.lambda, block.bin + b, yields, at(&scratch.binwise, block.cell + b));
    }
}

/// Returns `norm` times the function that is a factor of the whole block (one sample in one channel), if there is one.
#[inline(always)]
pub(super) fn with_function<V: Vector>(plan: &Plan, block: &Block, norm: V, scratch: &Scratch) -> V {
    match block.function {
        Some(function) => norm.mul(at(plan.factors.in_lanes(function.index, &scratch.factors), 0)),
        None => norm,
    }
}

/// Returns the function that is a factor of bin `b` of the block (one sample in one channel), or 1.
#[inline(always)]
pub(super) fn bin_function<V: Vector>(plan: &Plan, block: &Block, b: usize, scratch: &Scratch) -> V {
    match plan.bin_functions(block).get(b) {
        Some(&function) => at(plan.factors.in_lanes(function as usize, &scratch.factors), 0),
        None => V::splat(1.0),
    }
}

/// Computes the nominal yields plus the histosys variations of `N` bins of a block (one sample in one channel),
/// beginning with bin `b`. Returns `N`.
#[inline(always)]
fn additive<M: MulAdd, const N: usize>(
    plan: &Plan,
    block: &Block,
    b: usize,
    theta: &[f64],
    scratch: &mut Scratch,
) -> usize {
    let stride = block.n_lanes * LANES;
    let mut sum = [M::V8::splat(0.0); N];
    for v in 0..N {
        sum[v] = M::V8::splat(plan.numbers.nominal[block.cell + b + v]);
    }
    for (i, &p) in plan.templates(block).iter().enumerate() {
        let alpha: M::V8 = at(theta, p as usize);
        let slope = &plan.numbers.hist_slope[block.slope + i * stride + b..][..N];
        for v in 0..N {
            sum[v] = alpha.mul_add(M::V8::splat(slope[v]), sum[v]);
        }
        if block.hist.0 + i < block.hist_curved {
            let f: M::V8 = at(&scratch.curved, p as usize);
            let curve = &plan.numbers.hist_curve[block.curve + i * stride + b..][..N];
            for v in 0..N {
                sum[v] = f.mul_add(M::V8::splat(curve[v]), sum[v]);
            }
        }
    }
    for v in 0..N {
        put(&mut scratch.additive, block.cell + b + v, sum[v]);
    }
    N
}

/// Computes the Poisson terms of the main bins, their derivatives, and the weights of the bins in the metric. Sets
/// `value` and `noise` in `scratch`.
#[inline(always)]
fn counts<M: MulAdd>(plan: &Plan, main: &[f64], scratch: &mut Scratch) {
    let size = plan.n_bins() * WIDTH;
    let (lambdas, main) = (&scratch.lambda[..size], &main[..size]);
    let (terms, slopes) = (&mut scratch.term[..size], &mut scratch.slope[..size]);
    let weights = &mut scratch.weight[..size];
    for i in 0..size {
        let (lambda, n) = (lambdas[i], main[i]);
        let term = term::<M>(lambda, n);
        terms[i] = if term.is_impossible { f64::INFINITY } else { term.value };
        let (slope, _) = deviance_derivatives(term.lambda, term.n);
        slopes[i] = if n > 0.0 { slope } else { 1.0 };
        // A bin without counts gets no large weight in the metric, even if its expected yield is very small.
        let near = if n > 0.0 || lambda > FEWEST { lambda } else { FEWEST };
        let (positive, few) = (if lambda > 0.0 { near } else { 1.0 }, if n > FEWEST { n } else { FEWEST });
        weights[i] = few / (positive * positive);
    }
    let (mut value, mut noise) = (M::V8::splat(0.0), M::V8::splat(0.0));
    for b in 0..plan.n_bins() {
        let term: M::V8 = at(terms, b);
        value = value.add(term);
        noise = noise.add(term.abs()).add(at::<M::V8>(lambdas, b).sub(at(main, b)).abs());
    }
    value.store(&mut scratch.value);
    noise.store(&mut scratch.noise);
}

/// Adds the derivatives of `-ln L` with respect to the parameters of one block (one sample in one channel), except its
/// normsys parameters, to the gradient.
///
/// `norm_gradient` computes the derivatives with respect to normsys parameters later. It needs one sum per block: the
/// sum over the bins of the yield times the derivative of `-ln L` with respect to the yield. This sum replaces the
/// product of factors in `scratch.norm`.
#[inline(always)]
fn backward<M: MulAdd>(plan: &Plan, index: usize, block: &Block, theta: &[f64], scratch: &mut Scratch) {
    let without: M::V8 = at(&scratch.norm, index);
    let norm = with_function(plan, block, without, scratch);
    let (factors, per_bin_factors) = (plan.scale_factors(block), plan.per_bin_factors(block));
    let factor = |p| at::<M::V8>(theta, p);
    let scale = scale::product(norm, factors, [], factor);
    let mut total = M::V8::splat(0.0);
    for b in 0..block.n_bins {
        let slope: M::V8 = at(&scratch.slope, block.bin + b);
        let additive: M::V8 = at(&scratch.additive, block.cell + b);
        let weight = slope.mul(at(&scratch.binwise, block.cell + b));
        total = weight.mul_add(additive, total);
        let mut yields = additive.mul(scale);
        if let Some(&function) = plan.bin_functions(block).get(b) {
            let others = per_bin::product(yields, per_bin_factors, b, [], factor);
            add_product(&mut scratch.factors.slopes, function as usize, slope, others);
            yields = yields.mul(at(plan.factors.in_lanes(function as usize, &scratch.factors), 0));
        }
        for (k, &first) in per_bin_factors.iter().enumerate() {
            let others = per_bin::product(yields, per_bin_factors, b, [k], factor);
            let p = first as usize + b;
            add_product(&mut scratch.gradient, p, slope, others);
            let sum: M::V8 = at(&scratch.reaction, p);
            put(&mut scratch.reaction, p, sum.add(others));
        }
    }
    for (k, &p) in factors.iter().enumerate() {
        let others = scale::product(norm, factors, [k], factor);
        add_product(&mut scratch.gradient, p as usize, others, total);
    }
    if let Some(function) = block.function {
        let others = scale::product(without, factors, [], factor);
        add_product(&mut scratch.factors.slopes, function.index, others, total);
    }
    eight_by_eight!(block, b => templates(plan, block, b, scale, scratch));
    put(&mut scratch.norm, index, scale.mul(total));
}

/// Adds the derivatives with respect to the histosys parameters to the gradient, for `N` bins of a block (one sample in
/// one channel), beginning with bin `b`. Returns `N`.
#[inline(always)]
fn templates<M: MulAdd, const N: usize>(
    plan: &Plan,
    block: &Block,
    b: usize,
    scale: M::V8,
    scratch: &mut Scratch,
) -> usize {
    let stride = block.n_lanes * LANES;
    let mut weight = [M::V8::splat(0.0); N];
    for v in 0..N {
        let slope: M::V8 = at(&scratch.slope, block.bin + b + v);
        weight[v] = slope.mul(at(&scratch.binwise, block.cell + b + v)).mul(scale);
    }
    for (i, &p) in plan.templates(block).iter().enumerate() {
        let mut sum: M::V8 = at(&scratch.gradient, p as usize);
        let slope = &plan.numbers.hist_slope[block.slope + i * stride + b..][..N];
        for v in 0..N {
            sum = weight[v].mul_add(M::V8::splat(slope[v]), sum);
        }
        if block.hist.0 + i < block.hist_curved {
            let curve = &plan.numbers.hist_curve[block.curve + i * stride + b..][..N];
            let mut curve_sum = M::V8::splat(0.0);
            for v in 0..N {
                curve_sum = weight[v].mul_add(M::V8::splat(curve[v]), curve_sum);
            }
            sum = curve_sum.mul_add(at(&scratch.curved_first, p as usize), sum);
        }
        put(&mut scratch.gradient, p as usize, sum);
    }
    N
}

/// Adds the derivative with respect to one normsys parameter to the gradient. It uses the sums that `backward` has
/// stored in `scratch.norm`.
#[inline(always)]
fn norm_gradient<M: MulAdd>(plan: &Plan, run: &NormRun, scratch: &mut Scratch) {
    let mut sum: M::V8 = at(&scratch.gradient, run.param);
    for i in run.start..run.end {
        let block = plan.structure.norm_block[i] as usize;
        if block >= plan.structure.blocks.len() {
            break;
        }
        sum = at::<M::V8>(&scratch.norm, block).mul_add(at(&scratch.ratio, i), sum);
    }
    put(&mut scratch.gradient, run.param, sum);
}

/// Adds the constraint terms of every lane (one of eight fits) to its value, its noise (scale of the rounding errors)
/// and its gradient.
#[inline(always)]
fn constraints<M: MulAdd>(plan: &Plan, theta: &[f64], aux: &[f64], scratch: &mut Scratch) {
    let mut constraint = M::V8::splat(0.0);
    for (p, a, w) in plan.gaussian() {
        let w = M::V8::splat(w);
        let pull = gaussian::pull(at(theta, p), at(aux, a), w);
        constraint = constraint.add(gaussian::value(pull));
        let sum = gaussian::add_slope(pull, w, at(&scratch.gradient, p));
        put(&mut scratch.gradient, p, sum);
    }
    for (i, (p, a, tau)) in plan.poisson().enumerate() {
        put(&mut scratch.rate, i, at::<M::V8>(theta, p).mul(M::V8::splat(tau)));
        put(&mut scratch.count, i, at::<M::V8>(aux, a));
    }
    let size = plan.poisson().len() * WIDTH;
    let (rates, counts, terms) =
        (&scratch.rate[..size], &scratch.count[..size], &mut scratch.rate_term[..size]);
    for i in 0..size {
        let (lambda, n) = (rates[i], counts[i]);
        let term = term::<M>(lambda, n);
        terms[i] = if term.is_impossible { f64::INFINITY } else { term.value };
    }
    let mut noise = M::V8::load(&scratch.noise);
    let zero = M::V8::splat(0.0);
    for (i, (p, _, tau)) in plan.poisson().enumerate() {
        let (rate, count): (M::V8, M::V8) = (at(rates, i), at(counts, i));
        constraint = constraint.add(at(terms, i));
        noise = noise.add(rate.sub(count).abs());
        let tau = M::V8::splat(tau);
        // The slope is tau (1 - n / (tau theta)), or tau if nothing was counted.
        let slope = zero.below(count, rate.sub(count).div(rate), M::V8::splat(1.0)).mul(tau);
        let sum: M::V8 = at(&scratch.gradient, p);
        put(&mut scratch.gradient, p, sum.add(slope));
    }
    let value = M::V8::load(&scratch.value).add(constraint);
    value.store(&mut scratch.value);
    noise.add(constraint.abs()).store(&mut scratch.noise);
    correlated::add::<M>(plan, theta, aux, scratch);
}
