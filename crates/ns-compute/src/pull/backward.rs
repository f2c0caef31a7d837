//! Computes derivatives with respect to parameters, inputs (numbers of the model that data may replace) and data in one
//! backward pass, which begins at the expected yields (reverse-mode differentiation).
//!
//! The yield of a sample in bin `b` is `nu_b = D_b N g_b`. `D_b` is the nominal yield plus its histosys variations. `N`
//! is the product of the scale factors and normsys factors, and `g_b` the product of the per-bin factors. Let `r_b` be
//! the derivative of the result with respect to the expected yield of bin `b`. Then the derivatives with respect to
//! `D_b`, `N` and `g_b` are `r_b N g_b`, `sum_b r_b D_b g_b` and `r_b D_b N`. Functions of parameters are factors of `N` or
//! of `g_b`.

use super::forward::{Ray, Sweep};
use crate::events::pair;
use crate::number::{Jet, Number};
use crate::plan::{Block, LANES, Plan};
use crate::terms::poisson::{deviance_derivatives, log_factorial_slope};
use crate::terms::{gaussian, histosys, per_bin, scale};

/// Computes the derivatives of the Poisson terms with respect to the expected yields (`sweep.slope`), and with
/// respect to the counts `main` (`sweep.by_main`).
pub(super) fn poisson_slopes<T: Number>(main: &[f64], sweep: &mut Sweep<T>) {
    sweep.slope.clear();
    sweep.by_main.clear();
    for (&lambda, &n) in sweep.lambda.iter().zip(main) {
        let (slope, by_count) = poisson(lambda, n);
        sweep.slope.push(slope);
        sweep.by_main.push(by_count);
    }
}

/// Returns the derivatives of a Poisson term with respect to the expected yield `lambda` and with respect to the count
/// `n`. If `lambda` is not positive, the derivative with respect to the count does not exist. It is set to 0, so that
/// an empty bin does not contribute.
#[inline(always)]
fn poisson<T: Number>(lambda: T, n: f64) -> (T, T) {
    let slope = if n > 0.0 { deviance_derivatives(lambda, T::splat(n)).0 } else { T::splat(1.0) };
    let by_count = match lambda.value() > 0.0 {
        true => T::splat(log_factorial_slope(n)).sub(lambda.ln()),
        false => T::splat(0.0),
    };
    (slope, by_count)
}

/// Sets the derivatives with respect to all parameters, inputs (numbers of the model that data may replace) and
/// auxiliary data to zero.
pub(super) fn clear<T: Number>(plan: &Plan, sweep: &mut Sweep<T>) {
    for (array, n) in [
        (&mut sweep.by_parameters, plan.n_parameters()),
        (&mut sweep.by_inputs, plan.open.table.len()),
        (&mut sweep.by_aux, plan.n_aux()),
    ] {
        array.clear();
        array.resize(n, T::splat(0.0));
    }
}

/// Returns the sum `sum_b r_b g_b D_b` over the bins `b` of a block (one sample in one channel). `r_b` is the
/// derivative of the result with respect to the expected yield, `g_b` the product of the per-bin factors, and `D_b` the
/// nominal yield plus its histosys variations.
#[inline(always)]
fn total<T: Number>(block: &Block, sweep: &Sweep<T>) -> T {
    let mut total = T::splat(0.0);
    for (b, cell) in (block.cell..block.cell + block.n_bins).enumerate() {
        let weight = sweep.slope[block.bin + b].mul(sweep.binwise[cell]);
        total = weight.mul_add(sweep.additive[cell], total);
    }
    total
}

/// Adds the derivatives with respect to nominal yields, templates and normsys factors, as far as these are inputs
/// (numbers of the model that data may replace).
pub(super) fn inputs<T: Number>(plan: &Plan, ray: Ray<'_>, sweep: &mut Sweep<T>) {
    for open in &plan.open.blocks {
        let block = &plan.structure.blocks[open.block];
        let scale = sweep.scale[open.block];
        let weight = |sweep: &Sweep<T>, b: usize| {
            sweep.slope[block.bin + b].mul(sweep.binwise[block.cell + b]).mul(scale)
        };
        let params = plan.templates(block);
        // Because of `A = (hi + lo)/2 - nominal`, a nominal yield also acts through all templates of its sample.
        let mut by_nominal = T::splat(1.0);
        for t in &open.templates {
            let p = params[t.index] as usize;
            let (alpha, curved) = (sweep.theta[p], sweep.curved[p]);
            by_nominal = by_nominal.sub(curved);
            let (by_lo, by_hi) = histosys::template::by_yields(alpha, curved);
            for (source, factor) in [(&t.hi, by_hi), (&t.lo, by_lo)] {
                let Some(place) = source.place() else { continue };
                for b in 0..block.n_bins {
                    sweep.by_inputs[place + b] = weight(sweep, b).mul_add(factor, sweep.by_inputs[place + b]);
                }
            }
        }
        if let Some(place) = open.nominal.place() {
            for b in 0..block.n_bins {
                sweep.by_inputs[place + b] = weight(sweep, b).mul_add(by_nominal, sweep.by_inputs[place + b]);
            }
        }
    }
    for open in &plan.open.norms {
        let block = &plan.structure.blocks[open.block];
        let terms = &plan.structure.norm_of_block[block.norm.0..block.norm.1];
        let Some(at) = terms.iter().position(|&term| term as usize == open.term) else { continue };
        let i = block.norm.0 + at;
        let mut others = scale::product(
            with_function(block, total(block, sweep), sweep),
            plan.scale_factors(block),
            [],
            |p| sweep.theta[p],
        );
        for k in (block.norm.0..block.norm.1).filter(|&k| k != i) {
            others = others.mul(sweep.kappa[k]);
        }
        let alpha = sweep.theta[plan.norm_param(block, i)];
        let (by_lo, by_hi) = by_factors(plan, ray, open.term, alpha, sweep.kappa[i]);
        for (place, by) in [(open.lo.place(), by_lo), (open.hi.place(), by_hi)] {
            if let Some(place) = place {
                sweep.by_inputs[place] = others.mul_add(by, sweep.by_inputs[place]);
            }
        }
    }
}

/// Returns `x` times the function that is a factor of the whole block (one sample in one channel), if there is one.
#[inline(always)]
fn with_function<T: Number>(block: &Block, x: T, sweep: &Sweep<T>) -> T {
    block.function.map_or(x, |function| x.mul(sweep.function[function.index]))
}

/// Returns the derivatives of the normsys factor `value` with respect to the factor's values at the parameter values -1
/// and 1. `alpha` is the current parameter value.
fn by_factors<T: Number>(plan: &Plan, ray: Ray<'_>, term: usize, alpha: T, value: T) -> (T, T) {
    let normsys = plan.structure.normsys;
    let (lo, hi): (T, T) = (
        ray.number(plan, |numbers| &numbers.norm_lo, term),
        ray.number(plan, |numbers| &numbers.norm_hi, term),
    );
    if !normsys.is_polynomial(alpha.value()) {
        let size = alpha.abs();
        let zero = T::splat(0.0);
        return if alpha.value() > 0.0 {
            (zero, normsys.beyond.by_factor(size, hi, value))
        } else {
            (normsys.beyond.by_factor(size, lo, value), zero)
        };
    }
    let along = ray.numbers.map_or([0.0; 2], |numbers| [numbers.norm_lo[term], numbers.norm_hi[term]]);
    let (fixed_lo, fixed_hi) = (Jet::moving(lo.value(), 0.0), Jet::moving(hi.value(), 0.0));
    let (moved_lo, moved_hi) = (Jet::moving(lo.value(), 1.0), Jet::moving(hi.value(), 1.0));
    let polynomial = |coefficients: [Jet; 6], rate: f64| {
        let mut sum = T::splat(0.0);
        for c in coefficients.into_iter().rev() {
            sum = sum.add(T::moving(c.first, c.second * rate)).mul(alpha);
        }
        sum
    };
    // Each coefficient is a function of `lo` plus a function of `hi`, so there are no mixed derivatives.
    let by_lo = polynomial((normsys.coefficients_of_jets)(moved_lo, fixed_hi), along[0]);
    let by_hi = polynomial((normsys.coefficients_of_jets)(fixed_lo, moved_hi), along[1]);
    if normsys.has_exponent() { (value.mul(by_lo), value.mul(by_hi)) } else { (by_lo, by_hi) }
}

/// Adds the derivatives with respect to the parameters. They are the derivatives of the expected yields, weighted with
/// the derivatives `sweep.slope` of the result with respect to the expected yields.
pub(super) fn parameters<T: Number>(plan: &Plan, ray: Ray<'_>, sweep: &mut Sweep<T>) {
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let (stride, scale, sum) = (block.n_lanes * LANES, sweep.scale[index], total(block, sweep));
        let n_curved = block.hist_curved - block.hist.0;
        for (i, &p) in plan.templates(block).iter().enumerate() {
            let mut element = T::splat(0.0);
            for b in 0..block.n_bins {
                let weight = sweep.slope[block.bin + b].mul(sweep.binwise[block.cell + b]);
                let mut by_alpha: T = ray.number(plan, |n| &n.hist_slope, block.slope + i * stride + b);
                if i < n_curved {
                    let curve: T = ray.number(plan, |n| &n.hist_curve, block.curve + i * stride + b);
                    by_alpha = sweep.curved_first[p as usize].mul_add(curve, by_alpha);
                }
                element = weight.mul_add(by_alpha, element);
            }
            let to = &mut sweep.by_parameters[p as usize];
            *to = element.mul_add(scale, *to);
        }
        let factors = plan.scale_factors(block);
        let rest = scale::product(sum, factors, [], |p| sweep.theta[p]);
        if let Some(function) = block.function {
            let others = sweep.kappa[block.norm.0..block.norm.1]
                .iter()
                .fold(rest, |product, &kappa| product.mul(kappa));
            let to = &mut sweep.by_function[function.index];
            *to = to.add(others);
        }
        normsys(plan, block, with_function(block, rest, sweep), sweep);
        for (i, &p) in factors.iter().enumerate() {
            let others = scale::product(sum.mul(sweep.norm[index]), factors, [i], |q| sweep.theta[q]);
            let to = &mut sweep.by_parameters[p as usize];
            *to = to.add(others);
        }
        let list = plan.per_bin_factors(block);
        let of_bins = plan.bin_functions(block);
        for (b, &function) in of_bins.iter().enumerate() {
            let whole = sweep.slope[block.bin + b].mul(sweep.additive[block.cell + b]).mul(scale);
            let others = per_bin::product(whole, list, b, [], |q| sweep.theta[q]);
            let to = &mut sweep.by_function[function as usize];
            *to = to.add(others);
        }
        for (i, &first) in list.iter().enumerate() {
            for (b, cell) in (block.cell..block.cell + block.n_bins).enumerate() {
                let mut whole = sweep.slope[block.bin + b].mul(sweep.additive[cell]).mul(scale);
                if let Some(&function) = of_bins.get(b) {
                    whole = whole.mul(sweep.function[function as usize]);
                }
                let others = per_bin::product(whole, list, b, [i], |q| sweep.theta[q]);
                let to = &mut sweep.by_parameters[first as usize + b];
                *to = to.add(others);
            }
        }
    }
    functions(plan, ray, sweep);
}

/// Adds the derivatives with respect to the parameters of functions that are factors.
fn functions<T: Number>(plan: &Plan, ray: Ray<'_>, sweep: &mut Sweep<T>) {
    for function in plan.factors.all() {
        let slope = sweep.by_function[function];
        let result = plan.factors.result(function, &sweep.factors.at);
        let parameters = plan.factors.parameters(function);
        for (i, &p) in parameters.iter().enumerate() {
            let mixed = |direction: &[f64]| -> f64 {
                let each = parameters.iter().enumerate();
                each.map(|(j, &q)| result[pair(parameters.len(), i, j)] * direction[q]).sum()
            };
            let third = ray.third.and_then(|third| third.get(p)?.get(function)).copied().unwrap_or(0.0);
            let derivative = T::with_derivatives([result[1 + i], ray.along.map_or(0.0, mixed), third]);
            sweep.by_parameters[p] = slope.mul_add(derivative, sweep.by_parameters[p]);
        }
    }
}

/// Adds the derivatives with respect to the parameters of the normsys factors of a block (one sample in one channel).
/// `rest` is the derivative of the result with respect to the product of these factors.
#[inline(always)]
fn normsys<T: Number>(plan: &Plan, block: &Block, rest: T, sweep: &mut Sweep<T>) {
    let Sweep { kappa, kappa_first, products, by_parameters, .. } = sweep;
    let terms = block.norm.0..block.norm.1;
    // The first loop computes the product of all factors before each factor. The second loop goes backwards, and
    // multiplies by the factors after it.
    products.clear();
    let mut product = rest;
    for i in terms.clone() {
        products.push(product);
        product = product.mul(kappa[i]);
    }
    let mut after = T::splat(1.0);
    for (i, &before) in terms.clone().zip(products.iter()).rev() {
        let to = &mut by_parameters[plan.norm_param(block, i)];
        *to = before.mul(after).mul_add(kappa_first[i], *to);
        after = after.mul(kappa[i]);
    }
}

/// Adds the derivatives of the constraint terms with respect to parameters and auxiliary data, and with respect to the
/// widths that are inputs (numbers of the model that data may replace).
pub(super) fn constraints<T: Number>(plan: &Plan, ray: Ray<'_>, aux: &[f64], sweep: &mut Sweep<T>) {
    for (i, (p, a, weight)) in plan.gaussian().enumerate() {
        let weight = match ray.numbers.map_or(0.0, |numbers| numbers.sigma[i]) {
            0.0 => T::splat(weight),
            along => T::moving(plan.numbers.sigma[i], along).reciprocal(),
        };
        let pull = gaussian::pull(sweep.theta[p], T::splat(aux[a]), weight);
        sweep.by_parameters[p] = gaussian::add_slope(pull, weight, sweep.by_parameters[p]);
        sweep.by_aux[a] = sweep.by_aux[a].sub(pull.mul(weight));
    }
    for open in &plan.open.gaussian {
        let along = ray.numbers.map_or(0.0, |numbers| numbers.sigma[open.term]);
        let weight = T::moving(plan.numbers.sigma[open.term], along).reciprocal();
        let gaussian = &plan.structure.gaussian;
        let (theta, datum) = (sweep.theta[gaussian.param[open.term]], aux[gaussian.aux[open.term]]);
        let pull = gaussian::pull(theta, T::splat(datum), weight);
        // The term is `pull^2/2 + ln(sigma)` plus a constant.
        sweep.by_inputs[open.place] =
            sweep.by_inputs[open.place].add(weight.mul(T::splat(1.0).sub(pull.mul(pull))));
    }
    for (i, (p, a, tau)) in plan.poisson().enumerate() {
        let tau: T = rate(ray, i, tau);
        let (slope, by_count) = poisson(tau.mul(sweep.theta[p]), aux[a]);
        sweep.by_parameters[p] = slope.mul_add(tau, sweep.by_parameters[p]);
        sweep.by_aux[a] = sweep.by_aux[a].add(by_count);
    }
    for open in &plan.open.poisson {
        let poisson_terms = &plan.structure.poisson;
        let (p, a) = (poisson_terms.param[open.term], poisson_terms.aux[open.term]);
        let tau: T = rate(ray, open.term, plan.numbers.tau[open.term]);
        let theta = sweep.theta[p];
        let slope = poisson(tau.mul(theta), aux[a]).0;
        sweep.by_inputs[open.place] = slope.mul(theta).mul_add(by_width(tau), sweep.by_inputs[open.place]);
    }
}

/// Adds the derivatives of a weighted sum of the expected auxiliary data. `aux` contains one weight per auxiliary
/// datum.
pub(super) fn expected_auxiliary<T: Number>(plan: &Plan, ray: Ray<'_>, aux: &[f64], sweep: &mut Sweep<T>) {
    for (p, a, _) in plan.gaussian() {
        sweep.by_parameters[p] = sweep.by_parameters[p].add(T::splat(aux[a]));
    }
    for (i, (p, a, tau)) in plan.poisson().enumerate() {
        let tau: T = rate(ray, i, tau);
        sweep.by_parameters[p] = tau.mul_add(T::splat(aux[a]), sweep.by_parameters[p]);
    }
    for open in &plan.open.poisson {
        let (p, a) = (plan.structure.poisson.param[open.term], plan.structure.poisson.aux[open.term]);
        let tau: T = rate(ray, open.term, plan.numbers.tau[open.term]);
        let by_rate = T::splat(aux[a]).mul(sweep.theta[p]);
        sweep.by_inputs[open.place] = by_rate.mul_add(by_width(tau), sweep.by_inputs[open.place]);
    }
}

/// Returns the rate `tau` of a Poisson constraint as a function of its relative uncertainty `1/sqrt(tau)`, with the
/// derivatives along the direction of `ray`.
#[inline(always)]
fn rate<T: Number>(ray: Ray<'_>, term: usize, tau: f64) -> T {
    match ray.numbers.map_or(0.0, |numbers| numbers.tau[term]) {
        0.0 => T::splat(tau),
        along => {
            let width = T::moving(1.0 / tau.sqrt(), along);
            width.mul(width).reciprocal()
        }
    }
}

/// Returns the derivative of a rate `tau` with respect to its relative uncertainty `1/sqrt(tau)`: `-2 tau^(3/2)`.
#[inline(always)]
fn by_width<T: Number>(tau: T) -> T {
    T::splat(-2.0).mul(tau).mul(tau.sqrt())
}
