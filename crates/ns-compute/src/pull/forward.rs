//! Computes the expected yields of all samples at one point, with their derivatives along a direction.
//!
//! The formulas are the same as in `eval::forward`, but without SIMD vectors. Every number may carry derivatives
//! ([`Number`]).

use crate::events::pair;
use crate::factors::FactorMemory;
use crate::number::{Jet, Number};
use crate::plan::{Block, LANES, Numbers, Plan};
use crate::simd::Level;
use crate::terms::normsys::{signed_rate, value_and_slope};
use crate::terms::{histosys, per_bin, scale};

/// Intermediate and final results of one evaluation and of its derivatives. The next evaluation uses the same memory
/// again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep<T> {
    /// Values of the parameters.
    pub(super) theta: Vec<T>,
    /// Value of the interpolation function of the histosys interpolation code, per parameter.
    pub(super) curved: Vec<T>,
    /// First derivative of the histosys interpolation function, per parameter.
    pub(super) curved_first: Vec<T>,
    /// Value of each normsys factor, in the order of `Structure::norm_of_block`.
    pub(super) kappa: Vec<T>,
    /// Derivative of each normsys factor with respect to its parameter, in the same order as `kappa`.
    pub(super) kappa_first: Vec<T>,
    /// Values and derivatives of the functions of parameters that are factors.
    pub(super) factors: FactorMemory,
    /// For each function that is a factor, its value.
    pub(super) function: Vec<T>,
    /// For each function that is a factor, the derivative of the result (the number that is differentiated) with respect to
    /// its value.
    pub(super) by_function: Vec<T>,
    /// Product of the normsys factors and the function of the whole block, per block (one sample in one channel).
    pub(super) norm: Vec<T>,
    /// Product of `norm` and the scale factors, per block (one sample in one channel).
    pub(super) scale: Vec<T>,
    /// Nominal yield plus histosys variations, per cell. A cell is one bin of one sample.
    pub(super) additive: Vec<T>,
    /// Product of the per-bin factors and the function of the bin, per cell (one bin of one sample).
    pub(super) binwise: Vec<T>,
    /// Expected yield of each bin.
    pub(super) lambda: Vec<T>,
    /// Derivative of the result (the number that is differentiated) with respect to the expected yield, per bin.
    pub(super) slope: Vec<T>,
    /// Derivatives of the result with respect to the parameters.
    pub(crate) by_parameters: Vec<T>,
    /// Derivatives of the result with respect to the numbers of all inputs (numbers of the model that data may
    /// replace).
    pub(crate) by_inputs: Vec<T>,
    /// Derivatives of the result with respect to the main counts.
    pub(crate) by_main: Vec<T>,
    /// Derivatives of the result with respect to the auxiliary data.
    pub(crate) by_aux: Vec<T>,
    /// Working memory: for each normsys factor of a block (one sample in one channel), the product of the factors
    /// before it. The product of all factors except one is computed from it.
    pub(super) products: Vec<T>,
}

/// A point in parameter space, and the direction along which derivatives are taken.
#[derive(Clone, Copy)]
pub(crate) struct Ray<'a> {
    /// Instruction set with which functions of parameters are evaluated.
    pub(crate) level: Level,
    pub(crate) theta: &'a [f64],
    /// Changes of the parameters along the direction; `None` if the parameters do not change.
    pub(crate) along: Option<&'a [f64]>,
    /// Changes of the numbers of the model along the direction; `None` if these numbers do not change. The field
    /// `sigma` contains changes of Gaussian widths. The field `tau` contains changes of the relative uncertainties
    /// `1/sqrt(tau)`.
    pub(crate) numbers: Option<&'a Numbers>,
    /// Third derivatives of functions, twice along the direction ([`FactorFunctions::third`]); `None` if the second derivatives
    /// along the direction are not used.
    ///
    /// [`FactorFunctions::third`]: crate::factors::FactorFunctions::third
    pub(crate) third: Option<&'a [Vec<f64>]>,
}

impl<'a> Ray<'a> {
    /// Returns number `i` of one of the model's arrays, together with its derivative along the direction. `array`
    /// chooses the array.
    #[inline(always)]
    pub(super) fn number<T: Number>(
        self,
        plan: &'a Plan,
        array: impl Fn(&'a Numbers) -> &'a [f64],
        i: usize,
    ) -> T {
        T::moving(array(&plan.numbers)[i], self.numbers.map_or(0.0, |numbers| array(numbers)[i]))
    }

    /// Returns the numbers from index `first` on of one of the model's arrays, and their derivatives along the direction;
    /// `None` if no numbers change. `array` chooses the array.
    #[inline(always)]
    pub(super) fn row(
        self,
        plan: &'a Plan,
        array: impl Fn(&'a Numbers) -> &'a [f64],
        first: usize,
    ) -> (&'a [f64], Option<&'a [f64]>) {
        (&array(&plan.numbers)[first..], self.numbers.map(|numbers| &array(numbers)[first..]))
    }
}

/// Computes the expected yields, and all quantities in `sweep` that are needed for them.
pub(crate) fn forward<T: Number>(plan: &Plan, ray: Ray<'_>, sweep: &mut Sweep<T>) {
    let structure = &plan.structure;
    let zero = T::splat(0.0);
    sweep.theta.clear();
    sweep.theta.extend(
        ray.theta.iter().enumerate().map(|(p, &x)| T::moving(x, ray.along.map_or(0.0, |along| along[p]))),
    );
    for array in [&mut sweep.curved, &mut sweep.curved_first] {
        array.resize(ray.theta.len(), zero);
    }
    for &p in &structure.hist_params {
        let curved = histosys::curved(structure.histosys, sweep.theta[p]);
        (sweep.curved[p], sweep.curved_first[p]) = (curved.f, curved.first);
    }
    for array in [&mut sweep.kappa, &mut sweep.kappa_first] {
        array.resize(structure.norm_of_block.len(), zero);
    }
    for array in [&mut sweep.norm, &mut sweep.scale] {
        array.resize(structure.blocks.len(), zero);
    }
    for array in [&mut sweep.additive, &mut sweep.binwise] {
        array.resize(structure.n_cells, zero);
    }
    sweep.lambda.clear();
    sweep.lambda.resize(structure.n_bins, zero);
    functions(plan, ray, sweep);
    for (index, block) in structure.blocks.iter().enumerate() {
        let mut norm = T::splat(1.0);
        for i in block.norm.0..block.norm.1 {
            let term = structure.norm_of_block[i] as usize;
            let (kappa, first) = factor(plan, ray, term, sweep.theta[plan.norm_param(block, i)]);
            (sweep.kappa[i], sweep.kappa_first[i]) = (kappa, first);
            norm = norm.mul(kappa);
        }
        if let Some(function) = block.function {
            norm = norm.mul(sweep.function[function.index]);
        }
        sweep.norm[index] = norm;
        sweep.scale[index] = scale::product(norm, plan.scale_factors(block), [], |p| sweep.theta[p]);
        add_up(plan, ray, index, block, sweep);
    }
}

/// Evaluates the functions of parameters that are factors.
fn functions<T: Number>(plan: &Plan, ray: Ray<'_>, sweep: &mut Sweep<T>) {
    if !plan.has_function_factors() {
        return;
    }
    plan.factors.fit_memory(&mut sweep.factors);
    plan.factors.evaluate(ray.level, ray.theta, &mut sweep.factors);
    for array in [&mut sweep.function, &mut sweep.by_function] {
        array.clear();
        array.resize(plan.factors.len(), T::splat(0.0));
    }
    for function in plan.factors.all() {
        let result = plan.factors.result(function, &sweep.factors.at);
        sweep.function[function] =
            T::with_derivatives(along(result, plan.factors.parameters(function), ray.along));
    }
}

/// Returns the value of a function and its first two derivatives along a direction. `result` contains the value, the first
/// and the second derivatives with respect to `parameters`.
fn along(result: &[f64], parameters: &[usize], direction: Option<&[f64]>) -> [f64; 3] {
    let Some(direction) = direction else { return [result[0], 0.0, 0.0] };
    let (mut first, mut second) = (0.0, 0.0);
    for (i, &p) in parameters.iter().enumerate() {
        first += result[1 + i] * direction[p];
        for (j, &q) in parameters.iter().enumerate() {
            second += result[pair(parameters.len(), i, j)] * direction[p] * direction[q];
        }
    }
    [result[0], first, second]
}

/// Computes the yields of one block (one sample in one channel) in all its bins, and adds them to the expected yields.
/// `index` is the index of the block.
#[inline(always)]
fn add_up<T: Number>(plan: &Plan, ray: Ray<'_>, index: usize, block: &Block, sweep: &mut Sweep<T>) {
    let (stride, scale) = (block.n_lanes * LANES, sweep.scale[index]);
    let cells = block.cell..block.cell + block.n_bins;
    for cell in cells.clone() {
        sweep.additive[cell] = ray.number(plan, |numbers| &numbers.nominal, cell);
    }
    let n_curved = block.hist_curved - block.hist.0;
    let additive = &mut sweep.additive[cells.clone()];
    for (i, &p) in plan.templates(block).iter().enumerate() {
        let (alpha, curved) = (sweep.theta[p as usize], sweep.curved[p as usize]);
        add_template(ray.row(plan, |numbers| &numbers.hist_slope, block.slope + i * stride), alpha, additive);
        if i < n_curved {
            add_template(
                ray.row(plan, |numbers| &numbers.hist_curve, block.curve + i * stride),
                curved,
                additive,
            );
        }
    }
    let factors = plan.per_bin_factors(block);
    let of_bins = plan.bin_functions(block);
    for (b, cell) in cells.enumerate() {
        let own = of_bins.get(b).map_or(T::splat(1.0), |&function| sweep.function[function as usize]);
        let g = per_bin::product(own, factors, b, [], |p| sweep.theta[p]);
        sweep.binwise[cell] = g;
        let lambda = &mut sweep.lambda[block.bin + b];
        *lambda = sweep.additive[cell].mul(scale).mul_add(g, *lambda);
    }
}

/// Adds `factor` times the numbers of a template to the yields of a block in `to`. The first argument has the
/// numbers, and their derivatives along the direction if they change.
#[inline(always)]
fn add_template<T: Number>((numbers, along): (&[f64], Option<&[f64]>), factor: T, to: &mut [T]) {
    match along {
        None => to.iter_mut().zip(numbers).for_each(|(to, &x)| *to = factor.mul_add(T::splat(x), *to)),
        Some(along) => {
            for ((to, &x), &change) in to.iter_mut().zip(numbers).zip(along) {
                *to = factor.mul_add(T::moving(x, change), *to);
            }
        }
    }
}

/// Returns a normsys factor at the parameter value `alpha`, and its derivative with respect to the parameter.
#[inline(always)]
fn factor<T: Number>(plan: &Plan, ray: Ray<'_>, term: usize, alpha: T) -> (T, T) {
    let (normsys, numbers) = (plan.structure.normsys, &plan.numbers);
    if normsys.is_polynomial(alpha.value()) {
        // A loop, because the compiler does not inline the closure of `map`.
        let mut coefficients = [T::splat(0.0); 6];
        for (to, c) in coefficients.iter_mut().zip(&numbers.norm_coefficients) {
            *to = T::splat(c[term]);
        }
        if let Some(along) = ray.numbers {
            let move_by = [along.norm_lo[term], along.norm_hi[term]];
            if move_by != [0.0; 2] {
                let lo = Jet::moving(numbers.norm_lo[term], move_by[0]);
                let hi = Jet::moving(numbers.norm_hi[term], move_by[1]);
                // If numbers of the model change, only first derivatives along the direction are needed.
                coefficients = (normsys.coefficients_of_jets)(lo, hi).map(|c| T::moving(c.value, c.first));
            }
        }
        let (value, slope) = value_and_slope(alpha, coefficients);
        if normsys.has_exponent() {
            let value = value.sub(T::splat(1.0)).exp();
            return (value, value.mul(slope));
        }
        return (value, slope);
    }
    let hi: T = ray.number(plan, |numbers| &numbers.norm_hi, term);
    let lo: T = ray.number(plan, |numbers| &numbers.norm_lo, term);
    let (up, down) = (normsys.beyond.rate_of(hi), normsys.beyond.rate_of(lo));
    let value = normsys.beyond.at(alpha.abs(), if alpha.value() > 0.0 { up } else { down });
    (value, normsys.beyond.derivatives(signed_rate(alpha.sign(), up, down), value).0)
}
