//! Assembles the matrices of the curvature (the Hessian of `-ln L`), component by component and block by block. A
//! component is a set of channels that share parameters. A block is one sample in one channel. The inputs are the
//! results that `forward` has written to its working memory, a `Scratch`.
//!
//! The expected yield of a block in bin `b` is `nu_b = D_b N g_b`. `D_b` is the nominal yield plus additive
//! variations, `N` is the product of the scalar factors, and `g_b` is the product of the per-bin factors. Let `J` be
//! the Jacobian of the expected yields. Let `r_b` be the first derivative of `-ln L` with respect to the expected
//! yield of a bin, and `w` the diagonal matrix of the second derivatives. Then
//! `H = J' w J + sum_b r_b d2 nu_b + constraints`, where `d2 nu_b` are the second derivatives of the yield. The sum
//! over `b` gives a symmetric rank-2 update per block for the parameters of the scalar factors, and one row of the
//! matrix for each per-bin factor.

use super::block::scalar_derivatives;
use super::per_bin::{per_bin_rows, shared_rows, shared_slopes};
use super::scalars::{first_order, second_order};
use super::{Curvature, Point, function};
use crate::eval::{Scratch, constraint_curvatures, norm_ratios};
use crate::linalg::{Shape, product_until};
use crate::plan::{Block, Component, CurvatureSlot, LANES, Layout, Plan};
use crate::simd::{Level, MulAdd, Vector, isa_fn};
use crate::stop::Stop;

/// Assembles the curvature matrices of every component (channels that share parameters) at `point`. Before this call,
/// `forward` and `likelihood` must have run at the same point.
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

/// Does the same as [`assemble`], but returns early, with incomplete matrices, once `stop` is set.
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
    event_terms(plan, layout, point, scratch, out);
    constraints(plan, layout, point, out);
}

/// Adds the Hessians of the event channels and of the penalty terms to the matrices.
fn event_terms(plan: &Plan, layout: &Layout, point: Point<'_>, scratch: &Scratch, out: &mut Curvature) {
    let terms = plan.events.parameters().zip(&scratch.events.terms).zip(&layout.event_component);
    for ((parameters, term), &component) in terms {
        let k = component as usize;
        let (h, width) = (&mut out.matrices[k].h, layout.components[k].width);
        let mut at = 0;
        for (i, &p) in parameters.iter().enumerate() {
            for &q in &parameters[..=i] {
                let value = term.squares[at] + point.exactness * term.bends[at];
                at += 1;
                let columns = (layout.column(k, p), layout.column(k, q));
                if let (true, true, (Some(a), Some(b))) = (point.active[p], point.active[q], columns) {
                    h[a.min(b) * width + a.max(b)] += value;
                }
            }
        }
    }
}

isa_fn! {
    fn prepare(plan: &Plan, point: Point<'_>, scratch: &mut Scratch) = prepare_body
}

/// For each parameter at a kink, replaces the derivatives with respect to that parameter by the one-sided derivatives
/// on the chosen side.
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

/// One block (one sample in one channel) at a parameter point. This structure contains everything, except the scratch,
/// that is needed for the derivatives of the block's expected yields.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) plan: &'a Plan,
    pub(super) layout: &'a Layout,
    pub(super) point: Point<'a>,
    /// Index of the block's component (channels that share parameters) in the layout.
    pub(super) k: usize,
    pub(super) component: &'a Component,
    /// Index of the block in the plan.
    pub(super) index: usize,
    pub(super) block: &'a Block,
    /// Columns of the block's parameters in the matrix of the component, in ascending order.
    pub(super) columns: &'a [u32],
    /// For each parameter of the block, its position in `columns`.
    pub(super) rank: &'a [u32],
    /// First bin of the block, counted within the component.
    pub(super) first_bin: usize,
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
    out.jacobian[..component.columns * component.padded_bins()].fill(0.0);
    let m = &mut out.matrices[k];
    for array in [&mut m.h, &mut m.local, &mut m.local_slope, &mut m.local_block] {
        array.fill(0.0);
    }
    for (&index, shared) in component.blocks.iter().zip(&component.shared) {
        let index = index as usize;
        let block = &plan.structure.blocks[index];
        let (columns, rank) =
            (&layout.columns[block.params.0..block.params.1], &layout.rank[block.params.0..block.params.1]);
        let first_bin = layout.block_bin[index] as usize;
        let part = Part { plan, layout, point, k, component, index, block, columns, rank, first_bin };
        if block.function.is_some() {
            function::prepare(part, scratch);
        }
        let kind = scalar_derivatives(plan, index, block, point.theta, point.active, scratch);
        if block.function.is_some() {
            function::multiply(part, scratch);
        }
        for lane in 0..block.n_lanes {
            // The product `r g` in each bin, times the weight of the second derivatives of the yields.
            let cell = block.cell + lane * LANES;
            M::V4::load(&scratch.slope[block.bin + lane * LANES..])
                .mul(M::V4::load(&scratch.binwise[cell..]))
                .mul(M::V4::splat(point.exactness))
                .store(&mut scratch.weight[cell..]);
        }
        first_order::<M>(part, scratch, out);
        if point.exactness != 0.0 {
            second_order(part, kind, scratch, out);
        }
        // Blocks that share one local factor come first in their channel. In the bins of the channel the Jacobian
        // contains only their contributions so far, so their mixed derivatives with the factor `gamma` are this
        // Jacobian times `r / gamma`.
        let first = shared.first as usize;
        if shared.member && point.theta[first..][..block.n_bins].iter().all(|g| g.abs() > 1e-3) {
            shared_slopes(part, first, scratch, out);
            if shared.last && point.exactness != 0.0 {
                shared_rows(part, first, scratch, out);
            }
        } else {
            per_bin_rows(part, scratch, out);
            function::bins(part, scratch, out);
        }
    }
}

isa_fn! {
    fn weigh(layout: &Layout, k: usize, scratch: &Scratch, out: &mut Curvature) = weigh_body
}

/// Computes `sqrt(w) J` with one row per bin. `J` is the Jacobian of the expected yields of component `k`, and `w` is
/// the second derivative of `-ln L` with respect to the expected yield of a bin. Also adds the Gauss-Newton part of the
/// Hessian to the rows of the local parameters, each of which acts on a single bin.
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

/// Adds the curvature of the constraints and the damping to the diagonal. Sets the diagonal element of each parameter
/// that may not move to 1. Also computes the fields `scale` and `slack` of [`Curvature`] for all parameters.
fn constraints(plan: &Plan, layout: &Layout, point: Point<'_>, out: &mut Curvature) {
    let diagonal = &mut out.constraint;
    constraint_curvatures(plan, point.theta, &point.data.aux, diagonal);
    for (curvature, tether) in diagonal.iter_mut().zip(point.tether) {
        *curvature += tether;
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
        out.scale[p as usize] = to.abs();
    }
}
