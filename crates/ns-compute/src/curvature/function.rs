//! Derivatives of the yields of one block (one sample in one channel) with respect to the parameters of the functions
//! that are factors of the block.
//!
//! Let `F` be the function and `R` the product of the other scalar factors. Then `N = R F` has the derivatives
//! `N_p = F R_p + R F_p` and `N_pq = F R_pq + R_p F_q + F_p R_q + R F_pq`. No number is divided by `F`, which may be zero.

use super::Curvature;
use super::assemble::Part;
use super::per_bin::{add_pair, mixed};
use crate::eval::Scratch;
use crate::events::pair;
use crate::factors::FactorMemory;
use crate::terms::{per_bin, scale};

/// Computes `R`, the product of the scalar factors of the block other than its function.
pub(super) fn prepare(part: Part<'_>, scratch: &mut Scratch) {
    let factors = part.plan.scale_factors(part.block);
    scratch.factors.rest = scale::product(scratch.norm[part.index], factors, [], |p| part.point.theta[p]);
}

/// Replaces the derivatives of `R` in `scratch.slot` by those of `N`, in the first array, and by `F` times those of `R` in
/// the third and the fourth array. Writes `R_p`, `F R_p` and `F_p` to `scratch.factors.slot`.
pub(super) fn multiply(part: Part<'_>, scratch: &mut Scratch) {
    let Part { plan, block, point, columns, .. } = part;
    let Some(function) = block.function else { return };
    let FactorMemory { at, slot: [by_rest, scaled, own], rest, .. } = &mut scratch.factors;
    let result = plan.factors.result(function.index, at);
    let [first, _, cross, second] = &mut scratch.slot;
    for slot in 0..columns.len() {
        (by_rest[slot], scaled[slot], own[slot]) = (first[slot], result[0] * first[slot], 0.0);
        first[slot] = scaled[slot];
        cross[slot] *= result[0];
        second[slot] *= result[0];
    }
    for (i, &p) in plan.factors.parameters(function.index).iter().enumerate() {
        let slot = plan.structure.function_slot[function.slots + i] as usize;
        if point.active[p] {
            own[slot] = result[1 + i];
            first[slot] += *rest * result[1 + i];
        }
    }
}

/// Adds the second derivatives that the function contributes to the Hessian: `u v' + v u'` with `u = R s + t R'` and
/// `v = F'`, and `t R F''`. `s` are the sums `sum_b r_b g_b dD_b/dp` in `ranked[0]`, and `total` is `t`, the sum
/// `sum_b r_b g_b D_b` ([`super::scalars::first_order`]).
pub(super) fn second_order(part: Part<'_>, total: f64, scratch: &Scratch, out: &mut Curvature) {
    let Part { plan, block, columns, rank, point, .. } = part;
    let Some(function) = block.function else { return };
    let (n_slots, width, rest) = (columns.len(), part.component.width, scratch.factors.rest);
    let slots = &part.layout.slots[block.params.0..block.params.1];
    let [by_rest, _, own] = &scratch.factors.slot;
    let [sums, x, y, _] = &mut out.ranked;
    for (place, &slot) in slots.iter().enumerate() {
        let slot = slot as usize;
        x[place] = rest * sums[place] + total * by_rest[slot];
        y[place] = own[slot];
    }
    let h = &mut out.matrices[part.k].h;
    super::scalars::rank_two(h, width, columns, &x[..n_slots], &y[..n_slots]);

    let result = plan.factors.result(function.index, &scratch.factors.at);
    let parameters = plan.factors.parameters(function.index);
    let own = &plan.structure.function_slot[function.slots..function.slots + parameters.len()];
    let column = |i: usize| columns[rank[own[i] as usize] as usize] as usize;
    for (i, &p) in parameters.iter().enumerate() {
        for (j, &q) in parameters.iter().enumerate().take(i + 1) {
            if point.active[p] && point.active[q] {
                let (a, b) = (column(i), column(j));
                h[a.min(b) * width + a.max(b)] += total * rest * result[pair(parameters.len(), i, j)];
            }
        }
    }
}

/// Adds the derivatives with respect to the parameters of functions of single bins. The yield of a bin is `D N g f`, where
/// `f` is the function of the bin and `g` the product of the per-bin factors.
pub(super) fn bins(part: Part<'_>, scratch: &Scratch, out: &mut Curvature) {
    let Part { plan, layout, k, component, block, point, .. } = part;
    let (bins, width, list) = (component.padded_bins(), component.width, plan.per_bin_factors(block));
    for (b, &function) in plan.bin_functions(block).iter().enumerate() {
        let result = plan.factors.result(function as usize, &scratch.factors.at);
        let parameters = plan.factors.parameters(function as usize);
        let product = |without: usize| per_bin::product(1.0, list, b, [without], |p| point.theta[p]);
        // No factor is at this position of the list.
        let all = product(usize::MAX);
        let (additive, n) = (scratch.additive[block.cell + b], scratch.scale[part.index]);
        let weight = point.exactness * scratch.slope[block.bin + b];
        for (i, &p) in parameters.iter().enumerate() {
            let (true, Some(column)) = (point.active[p], layout.column(k, p)) else { continue };
            let derivative = result[1 + i];
            out.jacobian[column * bins + part.first_bin + b] += additive * n * all * derivative;
            if weight == 0.0 {
                continue;
            }
            let h = &mut out.matrices[k].h;
            mixed(part, b, weight * all * derivative, scratch, |other, value| {
                let (lo, hi) = (column.min(other), column.max(other));
                h[lo * width + hi] += if lo == hi { 2.0 * value } else { value };
            });
            for (j, &q) in parameters.iter().enumerate().take(i + 1) {
                if let (true, Some(other)) = (point.active[q], layout.column(k, q)) {
                    let value = weight * additive * n * all * result[pair(parameters.len(), i, j)];
                    h[column.min(other) * width + column.max(other)] += value;
                }
            }
            for (i, &first) in list.iter().enumerate() {
                let q = first as usize + b;
                if point.active[q] {
                    add_pair(part, b, (p, q), weight * additive * n * product(i) * derivative, out);
                }
            }
        }
    }
}
