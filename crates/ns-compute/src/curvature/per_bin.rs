//! Derivatives of the yields of one block (one sample in one channel) with respect to the per-bin factors of the
//! block. These are the first derivatives, and the mixed second derivatives with respect to a per-bin factor and any
//! other parameter that acts on the same bin.

use super::Curvature;
use super::assemble::Part;
use crate::eval::Scratch;
use crate::plan::CurvatureSlot;
use crate::terms::per_bin;

/// Adds the derivatives of the yields of a block (one sample in one channel) to `local_slope`. The block has a single
/// per-bin factor, whose parameter in each bin is a local parameter (it acts on this bin only). The derivative in a
/// bin is taken with respect to the parameter of this bin. `first` is the parameter of the first bin.
pub(super) fn shared_slopes(part: Part<'_>, first: usize, scratch: &Scratch, out: &mut Curvature) {
    let Part { layout, block, point, .. } = part;
    for b in 0..block.n_bins {
        if let (CurvatureSlot::Local { row, .. }, true) = (layout.place[first + b], point.active[first + b]) {
            out.matrices[part.k].local_slope[row as usize] +=
                scratch.additive[block.cell + b] * scratch.scale[part.index];
        }
    }
}

/// Adds mixed second derivatives of `-ln L` for a per-bin factor that several blocks (samples) of a channel share.
/// One of the two parameters is the factor's parameter in a bin. The other is the parameter of a matrix column. The
/// derivatives are computed from the Jacobian, which must contain the contributions of exactly the blocks with this
/// factor. `first` is the parameter of the factor in the first bin.
#[inline(always)]
pub(super) fn shared_rows(part: Part<'_>, first: usize, scratch: &Scratch, out: &mut Curvature) {
    let Part { component, block, point, first_bin, .. } = part;
    let (bins, width) = (component.padded_bins(), component.width);
    for b in 0..block.n_bins {
        let p = first + b;
        let CurvatureSlot::Local { row, .. } = part.layout.place[p] else { continue };
        if !point.active[p] {
            continue;
        }
        let factor = point.exactness * scratch.slope[block.bin + b] / point.theta[p];
        let to = &mut out.matrices[part.k].local[row as usize * width..][..component.columns];
        for (column, x) in to.iter_mut().enumerate() {
            *x += factor * out.jacobian[column * bins + first_bin + b];
        }
    }
}

/// Adds the derivatives of one block (one sample in one channel) with respect to the per-bin factors of the block:
/// the first derivatives and the mixed second derivatives. A mixed derivative belongs to a per-bin factor and either
/// a scalar parameter of the block or another per-bin factor.
#[inline(always)]
pub(super) fn per_bin_rows(part: Part<'_>, scratch: &Scratch, out: &mut Curvature) {
    let Part { layout, k, component, block, point, .. } = part;
    let (bins, width) = (component.padded_bins(), component.width);
    let list = part.plan.per_bin_factors(block);
    let theta = |p: usize| point.theta[p];
    for (i, &first) in list.iter().enumerate() {
        for b in 0..block.n_bins {
            let p = first as usize + b;
            if !point.active[p] {
                continue;
            }
            let without = per_bin::product(of_bin(part, b, scratch), list, b, [i], theta);
            let (additive, n) = (scratch.additive[block.cell + b], scratch.scale[part.index]);
            let weight = point.exactness * scratch.slope[block.bin + b];
            let (slope, residual) = (additive * n * without, weight * without);
            let m = &mut out.matrices[k];
            if let CurvatureSlot::Local { row, .. } = layout.place[p] {
                m.local_slope[row as usize] += slope;
                let row = &mut m.local[row as usize * width..][..width];
                mixed(part, b, residual, scratch, |column, value| row[column] += value);
            } else if let Some(column) = layout.column(k, p) {
                out.jacobian[column * bins + part.first_bin + b] += slope;
                mixed(part, b, residual, scratch, |other, value| {
                    let (lo, hi) = (column.min(other), column.max(other));
                    m.h[lo * width + hi] += if lo == hi { 2.0 * value } else { value };
                });
            }
            // All pairs of two per-bin factors that act on this bin.
            for (j, &other) in list.iter().enumerate().skip(i + 1) {
                let q = other as usize + b;
                if point.active[q] && point.exactness != 0.0 {
                    let rest = per_bin::product(of_bin(part, b, scratch), list, b, [i, j], theta);
                    add_pair(part, b, (p, q), weight * additive * n * rest, out);
                }
            }
        }
    }
}

/// Returns the value of the function that multiplies bin `b` of the block; 1 if there is none.
#[inline(always)]
fn of_bin(part: Part<'_>, b: usize, scratch: &Scratch) -> f64 {
    let function = part.plan.bin_functions(part.block).get(b);
    function.map_or(1.0, |&function| part.plan.factors.value(function as usize, &scratch.factors))
}

/// Calls `add` for every scalar parameter `p` of the block (one sample in one channel) that changes the yield in bin
/// `b`. The first argument of `add` is the matrix column of `p`. The second argument is the mixed second derivative
/// of `-ln L` with respect to `p` and a per-bin factor, `residual (N dD/dp + D dN/dp)`. `D` is the additive part of
/// the yield, and `N` is the product of the scalar factors. `residual` is the product of `Point::exactness`, the
/// derivative of `-ln L` with respect to the yield, and the other per-bin factors.
#[inline(always)]
pub(super) fn mixed(
    part: Part<'_>,
    b: usize,
    residual: f64,
    scratch: &Scratch,
    mut add: impl FnMut(usize, f64),
) {
    let Part { plan, block, columns, rank, .. } = part;
    if residual == 0.0 {
        return;
    }
    let (additive, n) = (scratch.additive[block.cell + b], scratch.scale[part.index]);
    for (slot, &place) in rank.iter().enumerate() {
        let value = scratch.slot[0][slot];
        if value != 0.0 {
            add(columns[place as usize] as usize, residual * additive * value);
        }
    }
    let slots = &plan.structure.hist_slot[block.hist.0..block.hist.1];
    for (template, &slot) in plan.templates_in(block, b).zip(slots) {
        if part.point.active[template.param] {
            let slope = template.slope + scratch.curved_first[template.param] * template.curve;
            add(columns[rank[slot as usize] as usize] as usize, residual * n * slope);
        }
    }
}

/// Adds `value`, the mixed second derivative with respect to two per-bin parameters `p` and `q`, both of which act on
/// bin `b` of the block.
pub(super) fn add_pair(part: Part<'_>, b: usize, (p, q): (usize, usize), value: f64, out: &mut Curvature) {
    let Part { layout, k, component, .. } = part;
    let m = &mut out.matrices[k];
    // If only one of the two parameters is local, this swap makes it the first.
    let (p, q) = if matches!(layout.place[q], CurvatureSlot::Local { .. }) { (q, p) } else { (p, q) };
    match (layout.place[p], layout.place[q]) {
        (CurvatureSlot::Local { row: a, .. }, CurvatureSlot::Local { row: c, .. }) => {
            let bin = part.first_bin + b;
            let start = component.local_start[bin];
            let n = (component.local_start[bin + 1] - start) as usize;
            let (a, c) = ((a - start) as usize, (c - start) as usize);
            let block = &mut m.local_block[m.local_block_start[bin] as usize..];
            block[a.max(c) * n + a.min(c)] += if a == c { 2.0 * value } else { value };
        }
        (CurvatureSlot::Local { row, .. }, _) => {
            if let Some(column) = layout.column(k, q) {
                m.local[row as usize * component.width + column] += value;
            }
        }
        _ => {
            if let (Some(a), Some(c)) = (layout.column(k, p), layout.column(k, q)) {
                m.h[a.min(c) * component.width + a.max(c)] += if a == c { 2.0 * value } else { value };
            }
        }
    }
}
