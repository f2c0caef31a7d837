//! Factors the curvature by nested elimination. Local parameters (which act on a single bin) are eliminated first, then
//! dense parameters (which act on whole channels), and finally border parameters (which act on many channels). See
//! [`Layout`].

use super::Curvature;
use super::storage::Matrices;
use crate::linalg::{FROZEN, Shape, factor_until as factor_dense, is_flat, is_negative, product_until};
use crate::plan::{Component, Layout};
use crate::simd::{Level, MulAdd, isa_fn};
use crate::stop::Stop;

/// Result of the factorisation of a curvature matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Factored {
    /// The matrix is positive definite, except for the parameters in `flat`. The pivots of these parameters are
    /// replaced by a very large number, so a solve does not move them.
    Positive {
        /// Indices of the parameters without curvature.
        flat: Vec<usize>,
        /// Smallest ratio of a pivot to its diagonal element before the elimination, without those in `flat`. It is
        /// close to 0 if the likelihood is nearly flat along a direction. Tiny diagonal elements count as their slack.
        least: f64,
    },
    /// The matrix has a negative pivot, so it is not positive semi-definite.
    Indefinite,
}

/// Factors the matrices that `assemble` has filled. The factors overwrite the matrices.
pub(crate) fn factor(level: Level, layout: &Layout, out: &mut Curvature) -> Factored {
    factor_until(level, layout, out, Stop::default())
}

/// Does the same as [`factor`], but returns [`Factored::Indefinite`] early once `stop` is set.
pub(crate) fn factor_until(level: Level, layout: &Layout, out: &mut Curvature, stop: Stop<'_>) -> Factored {
    let mut flat = Vec::new();
    let mut least = 1.0;
    let mut pivots = std::mem::take(&mut out.pivots);
    for (component, m) in layout.components.iter().zip(&mut out.matrices) {
        if !eliminate_locals(level, component, m, &out.scale, &out.slack, &mut flat, &mut least) {
            out.pivots = pivots;
            return Factored::Indefinite;
        }
        let (width, n) = (component.width, component.columns);
        if !component.local.is_empty() {
            let shape =
                Shape { rows: (0, n), columns: (0, n), inner: (0, component.local.len()), upper: true };
            let local = (m.local.as_slice(), width);
            product_until(level, local, local, (&mut m.h, width), shape, -1.0, stop);
        }
        let dense = component.dense.len();
        limits(&mut out.limits, &component.dense, &out.scale, &out.slack);
        factor_dense(level, &mut m.h, width, n, dense, &out.limits, &mut pivots, stop);
        if pivots.negative.is_some() {
            out.pivots = pivots;
            return Factored::Indefinite;
        }
        flat.extend(pivots.flat.iter().map(|&i| component.dense[i] as usize));
        least = pivots.least.min(least);
        for i in 0..layout.border.len() {
            for j in i..layout.border.len() {
                out.border[i * out.border_width + j] += m.h[(dense + i) * width + dense + j];
            }
        }
    }
    let n = layout.border.len();
    limits(&mut out.limits, &layout.border, &out.scale, &out.slack);
    factor_dense(level, &mut out.border, out.border_width, n, n, &out.limits, &mut pivots, stop);
    let negative = pivots.negative.is_some();
    flat.extend(pivots.flat.iter().map(|&i| layout.border[i] as usize));
    least = pivots.least.min(least);
    out.pivots = pivots;
    for (c, &p) in out.isolated.iter_mut().zip(&layout.isolated) {
        if *c <= 0.0 {
            *c = FROZEN;
            flat.push(p as usize);
        }
    }
    if negative { Factored::Indefinite } else { Factored::Positive { flat, least } }
}

fn limits(out: &mut Vec<(f64, f64)>, params: &[u32], scale: &[f64], slack: &[f64]) {
    out.clear();
    out.extend(params.iter().map(|&p| (scale[p as usize], slack[p as usize])));
}

isa_fn! {
    /// For every bin, factors the matrix over the bin's local parameters (those that act on this bin only) into `L L'`.
    /// Replaces the coupling `R` of these parameters to all other parameters by `L^-1 R`. Appends the parameters
    /// without curvature to `flat`, and reduces `least` to the smallest ratio of a pivot to its diagonal element.
    /// Returns false if a pivot is negative.
    fn eliminate_locals(component: &Component, m: &mut Matrices, scale: &[f64], slack: &[f64], flat: &mut Vec<usize>, least: &mut f64) -> bool = eliminate_locals_body
}

#[inline(always)]
fn eliminate_locals_body<M: MulAdd>(
    component: &Component,
    m: &mut Matrices,
    scale: &[f64],
    slack: &[f64],
    flat: &mut Vec<usize>,
    least: &mut f64,
) -> bool {
    let width = component.width;
    for bin in 0..component.n_bins {
        let start = component.local_start[bin] as usize;
        let n = component.local_start[bin + 1] as usize - start;
        let l = &mut m.local_block[m.local_block_start[bin] as usize..][..n * n];
        for i in 0..n {
            let p = component.local[start + i] as usize;
            for j in 0..=i {
                let mut sum = l[i * n + j];
                for k in 0..j {
                    sum -= l[i * n + k] * l[j * n + k];
                }
                if i != j {
                    l[i * n + j] = sum / l[j * n + j];
                } else if is_negative(sum, (scale[p], slack[p])) {
                    return false;
                } else if is_flat(sum, scale[p]) {
                    l[i * n + i] = FROZEN;
                    flat.push(p);
                } else {
                    let diagonal = scale[p].max(slack[p]);
                    if sum < *least * diagonal {
                        *least = sum / diagonal;
                    }
                    l[i * n + i] = sum.sqrt();
                }
            }
            let (above, row) = m.local[start * width..].split_at_mut(i * width);
            let row = &mut row[..width];
            for (k, other) in above.chunks_exact(width).enumerate() {
                let c = l[i * n + k];
                for (x, y) in row.iter_mut().zip(other) {
                    *x = M::mul_add(-c, *y, *x);
                }
            }
            let inverse = 1.0 / l[i * n + i];
            for x in row {
                *x *= inverse;
            }
        }
    }
    true
}
