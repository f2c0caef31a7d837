//! Derivatives of the product `N` of all scalar factors (normsys, normfactor, lumi) of one block. A block is one sample
//! in one channel.

use crate::eval::{Scratch, kappa_derivatives};
use crate::plan::{Block, Plan};

/// Absolute value below which a factor counts as zero. No number is divided by such a factor.
const TINY: f64 = 1e-100;

/// The form of the second derivatives of `N`, the product of the scalar factors of a block (one sample in one channel).
/// For two parameters `i` and `j` the second derivatives are `N_ij = x_i y_j + y_i x_j`, plus a correction on the
/// diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// No factor of the product `N` is zero. Then `x = N q / 2` and `y = q`. Here `q_i = N_i / N` is the relative
    /// derivative of `N` with respect to parameter `i`.
    Regular,
    /// At least one factor of the product is zero. Then the vectors `x` and `y` are stored separately.
    Zero,
}

/// Computes derivatives of `N`, the product of the scalar factors of a block (one sample in one channel). If the block
/// has a function, `N` is the product of the other factors (see [`super::function`]). Writes four
/// numbers per parameter of the block to `scratch.slot`: `first`, `relative`, `cross` and `second`. `first` is the
/// first derivative of `N`. `relative` is `y`, and `cross` is `x` (only for [`Product::Zero`]); [`Product`] defines
/// both. `second` is the correction on the diagonal of the second derivatives. All four numbers are zero for parameters
/// that may not move.
pub(super) fn scalar_derivatives(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    active: &[bool],
    scratch: &mut Scratch,
) -> Product {
    let n_slots = block.params.1 - block.params.0;
    let [first, relative, cross, second] = &mut scratch.slot;
    for array in [&mut *first, &mut *relative, &mut *cross, &mut *second] {
        array[..n_slots].fill(0.0);
    }
    let factors = || {
        plan.scale_factors(block)
            .iter()
            .zip(&plan.structure.factor_slot[block.factor.0..block.factor.1])
            .map(|(&p, &slot)| (p as usize, slot as usize))
    };
    let norms = || {
        plan.structure.norm_of_block[block.norm.0..block.norm.1]
            .iter()
            .zip(&plan.structure.norm_slot[block.norm.0..block.norm.1])
            .map(|(&term, &slot)| (term as usize, slot as usize))
    };
    let zero = |p: usize| theta[p].abs() < TINY;
    let zeros = factors().filter(|&(p, _)| zero(p)).count()
        + if scratch.degenerate {
            norms().filter(|&(t, _)| scratch.kappa[t].abs() < TINY).count()
        } else {
            0
        };

    if zeros == 0 {
        let n = match block.function {
            None => scratch.scale[index],
            Some(_) => scratch.factors.rest,
        };
        for (term, slot) in norms() {
            let q = scratch.ratio[term];
            relative[slot] += q;
            second[slot] += n * (scratch.ratio_second[term] - q * q);
        }
        for (p, slot) in factors() {
            let q = 1.0 / theta[p];
            relative[slot] += q;
            second[slot] -= n * q * q;
        }
        for (slot, &p) in plan.structure.block_params[block.params.0..block.params.1].iter().enumerate() {
            if !active[p as usize] {
                relative[slot] = 0.0;
                second[slot] = 0.0;
            }
            first[slot] = n * relative[slot];
        }
        return Product::Regular;
    }

    // `rest` is the product of all factors that are not zero. `vanishing` lists up to two factors that are zero.
    let mut rest = 1.0;
    let mut vanishing: [(usize, f64, f64); 2] = [(0, 0.0, 0.0); 2];
    let mut met = 0;
    let mut vanish = |slot: usize, derivative: f64, curve: f64| {
        if met < 2 {
            vanishing[met] = (slot, derivative, curve);
        }
        met += 1;
    };
    for (term, slot) in norms() {
        let kappa = scratch.kappa[term];
        if scratch.degenerate && kappa.abs() < TINY {
            let p = plan.structure.block_params[block.params.0 + slot] as usize;
            let (derivative, curve) = kappa_derivatives(plan, term, theta[p], kappa);
            vanish(slot, derivative, curve);
        } else {
            // Exponential normsys factors are never zero. `scratch.norm` contains their product.
            if !plan.structure.normsys.is_exponential() {
                rest *= kappa;
            }
            relative[slot] += scratch.ratio[term];
        }
    }
    if plan.structure.normsys.is_exponential() {
        rest *= scratch.norm[index];
    }
    for (p, slot) in factors() {
        if zero(p) {
            vanish(slot, 1.0, 0.0);
        } else {
            rest *= theta[p];
            relative[slot] += 1.0 / theta[p];
        }
    }
    let free = |slot: usize| active[plan.structure.block_params[block.params.0 + slot] as usize];
    match met {
        1 => {
            let (slot, derivative, curve) = vanishing[0];
            if free(slot) {
                first[slot] = rest * derivative;
                cross[slot] = rest * derivative;
                second[slot] = rest * curve;
            }
            for (slot, value) in relative[..n_slots].iter_mut().enumerate() {
                if !free(slot) {
                    *value = 0.0;
                }
            }
        }
        2 => {
            relative[..n_slots].fill(0.0);
            let ((a, da, _), (b, db, _)) = (vanishing[0], vanishing[1]);
            if free(a) && free(b) {
                cross[a] = rest * da * db;
                relative[b] = 1.0;
            }
        }
        _ => relative[..n_slots].fill(0.0),
    }
    Product::Zero
}
