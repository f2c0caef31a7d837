//! Derivatives of the expected yields of one block (one sample in one channel) with respect to the parameters that act
//! on all bins of the sample: parameters of histosys templates, normsys factors and scale factors.

use super::Curvature;
use super::assemble::Part;
use super::block::Product;
use crate::eval::Scratch;
use crate::plan::LANES;
use crate::simd::{MulAdd, Vector};

/// Adds the derivatives `d nu_b / dp` of the expected yields of one block (one sample in one channel) to the
/// Jacobian. `nu_b` is the yield in bin `b`, and `p` is a parameter.
///
/// Also computes two contributions to second derivatives, both multiplied by `Point::exactness`. The sum
/// `sum_b r_b g_b dD_b/dp` of each parameter is written to `ranked[0]`, in the order of the block's columns in the
/// Hessian. `r_b` is the derivative of `-ln L` with respect to the expected yield of the bin, `g_b` is the product of
/// the per-bin factors, and `D_b` is the nominal yield plus additive variations. The second derivatives of the
/// histosys interpolation are added to the diagonal of the Hessian.
#[inline(always)]
pub(super) fn first_order<M: MulAdd>(part: Part<'_>, scratch: &mut Scratch, out: &mut Curvature) {
    let Part { plan, component, block, columns, rank, first_bin, .. } = part;
    let (bins, stride) = (component.padded_bins(), block.n_lanes * LANES);
    let n = scratch.scale[part.index];
    out.ranked[0][..columns.len()].fill(0.0);

    // The products D g and N g, which the derivatives with respect to all parameters of the block use.
    let [base, scale] = &mut scratch.cells;
    for lane in 0..block.n_lanes {
        let (cell, at) = (block.cell + lane * LANES, lane * LANES);
        let g = M::V4::load(&scratch.binwise[cell..]);
        g.mul(M::V4::load(&scratch.additive[cell..])).store(&mut base[at..]);
        g.mul(M::V4::splat(n)).store(&mut scale[at..]);
    }
    for slot in 0..columns.len() {
        let derivative = scratch.slot[0][slot];
        if derivative != 0.0 {
            let derivative = M::V4::splat(derivative);
            let row = columns[rank[slot] as usize] as usize * bins + first_bin;
            for lane in 0..block.n_lanes {
                let to = &mut out.jacobian[row + lane * LANES..];
                derivative.mul_add(M::V4::load(&base[lane * LANES..]), M::V4::load(to)).store(to);
            }
        }
    }
    let curved = block.hist_curved - block.hist.0;
    for (i, &p) in plan.templates(block).iter().enumerate() {
        let p = p as usize;
        if !part.point.active[p] {
            continue;
        }
        let place = rank[plan.structure.hist_slot[block.hist.0 + i] as usize] as usize;
        let column = columns[place] as usize;
        let row = column * bins + first_bin;
        let (first, second) = (M::V4::splat(scratch.curved_first[p]), scratch.curved_second[p]);
        let (mut sum, mut curve) = (M::V4::splat(0.0), M::V4::splat(0.0));
        for lane in 0..block.n_lanes {
            let at = lane * LANES;
            let mut slope = M::V4::load(&plan.numbers.hist_slope[block.slope + i * stride + at..]);
            let weight = M::V4::load(&scratch.weight[block.cell + at..]);
            if i < curved {
                let a = M::V4::load(&plan.numbers.hist_curve[block.curve + i * stride + at..]);
                slope = first.mul_add(a, slope);
                curve = weight.mul_add(a, curve);
            }
            sum = weight.mul_add(slope, sum);
            let to = &mut out.jacobian[row + at..];
            slope.mul_add(M::V4::load(&scale[at..]), M::V4::load(to)).store(to);
        }
        out.ranked[0][place] += sum.sum();
        if second != 0.0 {
            out.matrices[part.k].h[column * component.width + column] += second * n * curve.sum();
        }
    }
}

/// Adds the second derivatives of one block's expected yields to the Hessian. A block is one sample in one channel. The
/// derivatives are those with respect to parameters that act on all bins of the block. They are a symmetric update of
/// rank 2, or of rank 4 if one of the block's factors is zero.
#[inline(always)]
pub(super) fn second_order(part: Part<'_>, kind: Product, scratch: &Scratch, out: &mut Curvature) {
    let Part { block, columns, .. } = part;
    let (n, width, n_slots) = (scratch.scale[part.index], part.component.width, columns.len());
    let slots = &part.layout.slots[block.params.0..block.params.1];
    let [first, relative, cross, second] = &scratch.slot;
    // Without the derivatives of a function, which `function::second_order` adds.
    let first = if block.function.is_some() { &scratch.factors.slot[1] } else { first };
    let cells = block.cell..block.cell + block.n_bins;
    let total: f64 =
        scratch.weight[cells.clone()].iter().zip(&scratch.additive[cells]).map(|(w, d)| w * d).sum();
    let [sums, x, y, z] = &mut out.ranked;
    let h = &mut out.matrices[part.k].h;
    for (rank, &slot) in slots.iter().enumerate() {
        let slot = slot as usize;
        y[rank] = match kind {
            Product::Regular => relative[slot],
            Product::Zero => first[slot],
        };
        let column = columns[rank] as usize;
        h[column * width + column] += total * second[slot];
    }
    match kind {
        Product::Regular => {
            // With N_p = N q_p, the sum sums_p N_q + N_p sums_q + total N_pq becomes a single update with the vector
            // q.
            for (rank, &slot) in slots.iter().enumerate() {
                x[rank] = n * sums[rank] + 0.5 * total * first[slot as usize];
            }
            rank_two(h, width, columns, &x[..n_slots], &y[..n_slots]);
        }
        Product::Zero => {
            rank_two(h, width, columns, &sums[..n_slots], &y[..n_slots]);
            for (rank, &slot) in slots.iter().enumerate() {
                x[rank] = total * cross[slot as usize];
                z[rank] = relative[slot as usize];
            }
            rank_two(h, width, columns, &x[..n_slots], &z[..n_slots]);
        }
    }
    if block.function.is_some() {
        super::function::second_order(part, total, scratch, out);
    }
}

/// Adds `x y' + y x'` to the upper triangle of the Hessian `h`, whose rows have the length `width`. `columns` contains
/// the column in `h` of each element of `x` and `y`.
#[inline(always)]
pub(super) fn rank_two(h: &mut [f64], width: usize, columns: &[u32], x: &[f64], y: &[f64]) {
    for i in 0..columns.len() {
        let (xi, yi) = (x[i], y[i]);
        if xi == 0.0 && yi == 0.0 {
            continue;
        }
        let row = &mut h[columns[i] as usize * width..][..width];
        for ((&column, &xj), &yj) in columns[i..].iter().zip(&x[i..]).zip(&y[i..]) {
            debug_assert!((column as usize) < width);
            // SAFETY: the columns of a layout are smaller than its width (see `Layout::build`). This loop takes most
            // of the time of the assembly, and a bounds check would add a third to it.
            unsafe { *row.get_unchecked_mut(column as usize) += xi * yj + yi * xj };
        }
    }
}
