//! Assembles the matrices of every component at the point that `forward` left in the scratch.
//!
//! With `nu_b = D_b N g_b` (additive part, scalar factors, per-bin factors) of one block,
//! `r` and `w` the first and second derivative of the likelihood by the yield:
//! `H = J' w J + sum_b r_b d2 nu_b + constraints`. The scalar part of the second sum is a
//! symmetric rank-2 update per block; per-bin factors add a row each.

use super::block::{Product, scalar_derivatives};
use super::{Curvature, Point};
use crate::eval::{Scratch, norm_ratios};
use crate::linalg::{Shape, product_until};
use crate::plan::{Block, CurvatureSlot, LANES, Layout, Plan};
use crate::simd::{Level, MulAdd, Vector, isa_fn};
use crate::stop::Stop;

/// Assembles every component at `point`; `forward` and `likelihood` must have run there.
pub(crate) fn assemble(
    level: Level,
    plan: &Plan,
    layout: &Layout,
    point: Point<'_>,
    scratch: &mut Scratch,
    out: &mut Curvature,
) {
    assemble_until(level, plan, layout, point, scratch, out, Stop::default());
}

/// The same; it ends early once `stop` is set.
pub(crate) fn assemble_until(
    level: Level,
    plan: &Plan,
    layout: &Layout,
    point: Point<'_>,
    scratch: &mut Scratch,
    out: &mut Curvature,
    stop: Stop<'_>,
) {
    out.border.fill(0.0);
    prepare(level, plan, point, scratch);
    for k in 0..layout.components.len() {
        derivatives(level, plan, layout, k, point, scratch, out);
        weigh(level, layout, k, scratch, out);
        let component = &layout.components[k];
        let shape = Shape {
            rows: (0, component.columns),
            columns: (0, component.columns),
            inner: (0, component.n_bins),
            upper: true,
        };
        let width = component.width;
        let rows = (out.rows.as_slice(), width);
        product_until(level, rows, rows, (&mut out.matrices[k].h, width), shape, 1.0, stop);
    }
    constraints(plan, layout, point, out);
}

isa_fn! {
    fn prepare(plan: &Plan, point: Point<'_>, scratch: &mut Scratch) = prepare_body
}

/// Slopes on the chosen side of every kink, and zero for parameters that do not move.
#[inline(always)]
fn prepare_body<M: MulAdd>(plan: &Plan, point: Point<'_>, scratch: &mut Scratch) {
    norm_ratios::<M>(plan, point.theta, |p| point.side[p], scratch);
    if plan.structure.has_kinks && plan.structure.histosys.has_kink() {
        for &p in &plan.structure.hist_params {
            if point.theta[p] == 0.0 {
                scratch.curved_first[p] = point.side[p];
            }
        }
    }
}

isa_fn! {
    fn derivatives(plan: &Plan, layout: &Layout, k: usize, point: Point<'_>, scratch: &mut Scratch, out: &mut Curvature) = derivatives_body
}

#[inline(always)]
fn derivatives_body<M: MulAdd>(
    plan: &Plan,
    layout: &Layout,
    k: usize,
    point: Point<'_>,
    scratch: &mut Scratch,
    out: &mut Curvature,
) {
    let component = &layout.components[k];
    let bins = component.padded_bins();
    out.jacobian[..component.columns * bins].fill(0.0);
    let m = &mut out.matrices[k];
    m.h.fill(0.0);
    m.local.fill(0.0);
    m.local_slope.fill(0.0);
    m.local_block.fill(0.0);
    for (position, &index) in component.blocks.iter().enumerate() {
        let index = index as usize;
        let block = &plan.structure.blocks[index];
        let shared = component.shared[position];
        let kind = scalar_derivatives(plan, index, block, point.theta, point.active, scratch);
        for lane in 0..block.n_lanes {
            // r g, scaled by how much of the second derivatives is wanted.
            let cell = block.cell + lane * LANES;
            M::V4::load(&scratch.slope[block.bin + lane * LANES..])
                .mul(M::V4::load(&scratch.binwise[cell..]))
                .mul(M::V4::splat(point.exactness))
                .store(&mut scratch.weight[cell..]);
        }
        first_order::<M>(plan, layout, k, index, block, point, scratch, out);
        if point.exactness != 0.0 {
            second_order(layout, k, block, scratch.scale[index], kind, scratch, out);
        }
        // Samples that share one local factor come first in their channel, and their mixed
        // derivatives with it are the Jacobian so far, times r / gamma.
        let together = shared.member
            && point.theta[shared.first as usize..][..block.n_bins].iter().all(|g| g.abs() > 1e-3);
        if together {
            shared_slopes(layout, index, block, shared.first as usize, point, scratch, &mut out.matrices[k]);
            if shared.last && point.exactness != 0.0 {
                shared_rows(layout, k, index, block, shared.first as usize, point, scratch, out);
            }
        } else if block.binwise.0 < block.binwise.1 {
            binwise_rows(plan, layout, k, index, block, point, scratch, out);
        }
    }
}

/// Adds `d nu_b / d p` to the Jacobian; leaves `sum_b r_b g_b dD_b/dp` per slot in
/// `ranked[0]` (in column order) and the pure histosys curvature on the diagonal.
#[inline(always)]
fn first_order<M: MulAdd>(
    plan: &Plan,
    layout: &Layout,
    k: usize,
    index: usize,
    block: &Block,
    point: Point<'_>,
    scratch: &mut Scratch,
    out: &mut Curvature,
) {
    let component = &layout.components[k];
    let (bins, first_bin) = (component.padded_bins(), layout.block_bin[index] as usize);
    let stride = block.n_lanes * LANES;
    let n = scratch.scale[index];
    let n_slots = block.params.1 - block.params.0;
    let columns = &layout.columns[block.params.0..block.params.1];
    let rank = &layout.rank[block.params.0..block.params.1];
    out.ranked[0][..n_slots].fill(0.0);

    // D g and N g, shared by all slots of the block.
    let [base, scale] = &mut scratch.cells;
    for lane in 0..block.n_lanes {
        let (cell, at) = (block.cell + lane * LANES, lane * LANES);
        let g = M::V4::load(&scratch.binwise[cell..]);
        g.mul(M::V4::load(&scratch.additive[cell..])).store(&mut base[at..]);
        g.mul(M::V4::splat(n)).store(&mut scale[at..]);
    }
    for slot in 0..n_slots {
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
    for (i, &p) in plan.structure.hist_param[block.hist.0..block.hist.1].iter().enumerate() {
        let p = p as usize;
        if !point.active[p] {
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
            out.matrices[k].h[column * component.width + column] += second * n * curve.sum();
        }
    }
}

/// The symmetric rank-2 (rank-4 where a factor is zero) update of one block.
#[inline(always)]
fn second_order(
    layout: &Layout,
    k: usize,
    block: &Block,
    n: f64,
    kind: Product,
    scratch: &Scratch,
    out: &mut Curvature,
) {
    let width = layout.components[k].width;
    let n_slots = block.params.1 - block.params.0;
    let slots = &layout.slots[block.params.0..block.params.1];
    let columns = &layout.columns[block.params.0..block.params.1];
    let [first, relative, cross, second] = &scratch.slot;
    let cells = block.cell..block.cell + block.n_bins;
    let total: f64 =
        scratch.weight[cells.clone()].iter().zip(&scratch.additive[cells]).map(|(w, d)| w * d).sum();
    let [sums, x, y, z] = &mut out.ranked;
    let h = &mut out.matrices[k].h;
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
            // sums_p N_q + N_p sums_q + total N_pq with N_p = N q_p: one update in q.
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
}

/// `H += x y' + y x'` on the columns of one block.
#[inline(always)]
fn rank_two(h: &mut [f64], width: usize, columns: &[u32], x: &[f64], y: &[f64]) {
    for i in 0..columns.len() {
        let (xi, yi) = (x[i], y[i]);
        if xi == 0.0 && yi == 0.0 {
            continue;
        }
        let row = &mut h[columns[i] as usize * width..][..width];
        for ((&column, &xj), &yj) in columns[i..].iter().zip(&x[i..]).zip(&y[i..]) {
            debug_assert!((column as usize) < width);
            // SAFETY: a layout's columns are below its width (`Layout::build`); this loop is the
            // hottest of the assembly and the check would cost a third of it.
            unsafe { *row.get_unchecked_mut(column as usize) += xi * yj + yi * xj };
        }
    }
}

/// Adds `d nu_b / d gamma` of a block whose only per-bin factor is a local one.
fn shared_slopes(
    layout: &Layout,
    index: usize,
    block: &Block,
    first: usize,
    point: Point<'_>,
    scratch: &Scratch,
    m: &mut super::storage::Matrices,
) {
    for b in 0..block.n_bins {
        if let (CurvatureSlot::Local { row, .. }, true) = (layout.place[first + b], point.active[first + b]) {
            m.local_slope[row as usize] += scratch.additive[block.cell + b] * scratch.scale[index];
        }
    }
}

/// Mixed derivatives of a shared local factor with every column, from the Jacobian of the
/// blocks that carry it.
#[inline(always)]
fn shared_rows(
    layout: &Layout,
    k: usize,
    index: usize,
    block: &Block,
    first: usize,
    point: Point<'_>,
    scratch: &Scratch,
    out: &mut Curvature,
) {
    let component = &layout.components[k];
    let (bins, width, first_bin) =
        (component.padded_bins(), component.width, layout.block_bin[index] as usize);
    for b in 0..block.n_bins {
        let p = first + b;
        let CurvatureSlot::Local { row, .. } = layout.place[p] else { continue };
        if !point.active[p] {
            continue;
        }
        let factor = point.exactness * scratch.slope[block.bin + b] / point.theta[p];
        let to = &mut out.matrices[k].local[row as usize * width..][..component.columns];
        for (column, x) in to.iter_mut().enumerate() {
            *x += factor * out.jacobian[column * bins + first_bin + b];
        }
    }
}

/// Rows of the per-bin parameters: their slopes, and their mixed second derivatives with
/// the scalars of the block and with each other.
#[inline(always)]
fn binwise_rows(
    plan: &Plan,
    layout: &Layout,
    k: usize,
    index: usize,
    block: &Block,
    point: Point<'_>,
    scratch: &Scratch,
    out: &mut Curvature,
) {
    let component = &layout.components[k];
    let (bins, width, first_bin) =
        (component.padded_bins(), component.width, layout.block_bin[index] as usize);
    let list = &plan.structure.binwise_first[block.binwise.0..block.binwise.1];
    let n = scratch.scale[index];
    for (i, &first) in list.iter().enumerate() {
        for b in 0..block.n_bins {
            let p = first as usize + b;
            if !point.active[p] {
                continue;
            }
            let without: f64 = list
                .iter()
                .enumerate()
                .filter(|&(j, _)| j != i)
                .map(|(_, &other)| point.theta[other as usize + b])
                .product();
            let additive = scratch.additive[block.cell + b];
            let slope = additive * n * without;
            let residual = point.exactness * scratch.slope[block.bin + b] * without;
            let m = &mut out.matrices[k];
            let column = match layout.place[p] {
                CurvatureSlot::Local { row, .. } => {
                    m.local_slope[row as usize] += slope;
                    if residual != 0.0 {
                        let row = &mut m.local[row as usize * width..][..width];
                        mixed(
                            plan,
                            layout,
                            block,
                            b,
                            residual,
                            additive,
                            n,
                            point,
                            scratch,
                            |column, value| {
                                row[column] += value;
                            },
                        );
                    }
                    None
                }
                _ => layout.column(k, p),
            };
            if let Some(column) = column {
                out.jacobian[column * bins + first_bin + b] += slope;
                if residual != 0.0 {
                    mixed(plan, layout, block, b, residual, additive, n, point, scratch, |other, value| {
                        let (lo, hi) = (column.min(other), column.max(other));
                        m.h[lo * width + hi] += if lo == hi { 2.0 * value } else { value };
                    });
                }
            }
            // Pairs of per-bin factors on this bin.
            for (j, &other) in list.iter().enumerate().skip(i + 1) {
                let q = other as usize + b;
                if !point.active[q] || point.exactness == 0.0 {
                    continue;
                }
                let rest: f64 = list
                    .iter()
                    .enumerate()
                    .filter(|&(l, _)| l != i && l != j)
                    .map(|(_, &f)| point.theta[f as usize + b])
                    .product();
                let value = point.exactness * scratch.slope[block.bin + b] * additive * n * rest;
                add_pair(layout, k, first_bin + b, p, q, value, out);
            }
        }
    }
}

/// Mixed derivative of bin `b` by a per-bin factor and every scalar of the block:
/// `residual (N dD/dp + D N_p)`.
#[inline(always)]
fn mixed(
    plan: &Plan,
    layout: &Layout,
    block: &Block,
    b: usize,
    residual: f64,
    additive: f64,
    n: f64,
    point: Point<'_>,
    scratch: &Scratch,
    mut add: impl FnMut(usize, f64),
) {
    let columns = &layout.columns[block.params.0..block.params.1];
    let rank = &layout.rank[block.params.0..block.params.1];
    for (slot, &place) in rank.iter().enumerate() {
        let value = scratch.slot[0][slot];
        if value != 0.0 {
            add(columns[place as usize] as usize, residual * additive * value);
        }
    }
    let stride = block.n_lanes * LANES;
    let curved = block.hist_curved - block.hist.0;
    for (i, &p) in plan.structure.hist_param[block.hist.0..block.hist.1].iter().enumerate() {
        if point.active[p as usize] {
            let mut slope = plan.numbers.hist_slope[block.slope + i * stride + b];
            if i < curved {
                slope +=
                    scratch.curved_first[p as usize] * plan.numbers.hist_curve[block.curve + i * stride + b];
            }
            let place = rank[plan.structure.hist_slot[block.hist.0 + i] as usize] as usize;
            add(columns[place] as usize, residual * n * slope);
        }
    }
}

/// Adds a mixed second derivative of two per-bin parameters of one bin.
fn add_pair(layout: &Layout, k: usize, bin: usize, p: usize, q: usize, value: f64, out: &mut Curvature) {
    let component = &layout.components[k];
    let width = component.width;
    let m = &mut out.matrices[k];
    match (layout.place[p], layout.place[q]) {
        (CurvatureSlot::Local { row: a, .. }, CurvatureSlot::Local { row: c, .. }) => {
            let start = component.local_start[bin];
            let n = (component.local_start[bin + 1] - start) as usize;
            let (a, c) = ((a - start) as usize, (c - start) as usize);
            let block = &mut m.local_block[m.local_block_start[bin] as usize..];
            block[a.max(c) * n + a.min(c)] += if a == c { 2.0 * value } else { value };
        }
        (CurvatureSlot::Local { row, .. }, _) => {
            if let Some(column) = layout.column(k, q) {
                m.local[row as usize * width + column] += value;
            }
        }
        (_, CurvatureSlot::Local { row, .. }) => {
            if let Some(column) = layout.column(k, p) {
                m.local[row as usize * width + column] += value;
            }
        }
        _ => {
            if let (Some(a), Some(c)) = (layout.column(k, p), layout.column(k, q)) {
                m.h[a.min(c) * width + a.max(c)] += if a == c { 2.0 * value } else { value };
            }
        }
    }
}

isa_fn! {
    fn weigh(layout: &Layout, k: usize, scratch: &Scratch, out: &mut Curvature) = weigh_body
}

/// `sqrt(w) J` with bins as rows, and the Gauss-Newton part of the local rows.
#[inline(always)]
fn weigh_body<M: MulAdd>(layout: &Layout, k: usize, scratch: &Scratch, out: &mut Curvature) {
    let component = &layout.components[k];
    let (bins, width) = (component.padded_bins(), component.width);
    let m = &mut out.matrices[k];
    for (b, &global) in component.bins.iter().enumerate() {
        let root = scratch.curvature[global as usize].sqrt();
        let row = &mut out.rows[b * width..(b + 1) * width];
        for (column, to) in row[..component.columns].iter_mut().enumerate() {
            *to = root * out.jacobian[column * bins + b];
        }
        row[component.columns..].fill(0.0);
        let (start, end) = (component.local_start[b] as usize, component.local_start[b + 1] as usize);
        let n = end - start;
        for a in 0..n {
            let slope = root * m.local_slope[start + a];
            if slope == 0.0 {
                continue;
            }
            let local = &mut m.local[(start + a) * width..(start + a + 1) * width];
            for (to, &x) in local.iter_mut().zip(row.iter()) {
                *to = M::mul_add(slope, x, *to);
            }
            let block = &mut m.local_block[m.local_block_start[b] as usize..];
            for c in 0..=a {
                block[a * n + c] += slope * root * m.local_slope[start + c];
            }
        }
    }
}

/// Constraint curvature, damping, and unit pivots for parameters that do not move.
fn constraints(plan: &Plan, layout: &Layout, point: Point<'_>, out: &mut Curvature) {
    let diagonal = &mut out.constraint;
    diagonal.fill(0.0);
    for (&p, &w) in plan.structure.gaussian.param.iter().zip(&plan.numbers.inverse_sigma) {
        diagonal[p] += w * w;
    }
    for (&p, &a) in plan.structure.poisson.param.iter().zip(&plan.structure.poisson.aux) {
        diagonal[p] += point.data.aux[a] / (point.theta[p] * point.theta[p]);
    }
    for (p, &place) in layout.place.iter().enumerate() {
        let curvature = diagonal[p];
        let target = match place {
            CurvatureSlot::Dense { component, column } => {
                let width = layout.components[component as usize].width;
                &mut out.matrices[component as usize].h[column as usize * (width + 1)]
            }
            CurvatureSlot::Border { column } => &mut out.border[column as usize * (out.border_width + 1)],
            CurvatureSlot::Local { component, row } => {
                let c = &layout.components[component as usize];
                let m = &mut out.matrices[component as usize];
                let bin = c.local_bin[row as usize] as usize;
                let n = (c.local_start[bin + 1] - c.local_start[bin]) as usize;
                let i = (row - c.local_start[bin]) as usize;
                &mut m.local_block[m.local_block_start[bin] as usize + i * n + i]
            }
            CurvatureSlot::Isolated => continue,
        };
        if point.active[p] {
            *target += curvature;
            if point.damping > 0.0 {
                *target += point.damping * target.abs().max(1e-8);
            }
        } else {
            *target = 1.0;
        }
        out.scale[p] = target.abs();
        let reach = 1.0 + point.theta[p].abs();
        out.slack[p] = 1e-6 / (reach * reach);
    }
    for (component, m) in layout.components.iter().zip(&out.matrices) {
        for (i, &p) in layout.border.iter().enumerate() {
            out.scale[p as usize] += m.h[(component.dense.len() + i) * (component.width + 1)].abs();
        }
    }
    for (to, &p) in out.isolated.iter_mut().zip(&layout.isolated) {
        *to = if point.active[p as usize] { diagonal[p as usize] * (1.0 + point.damping) } else { 1.0 };
    }
}
