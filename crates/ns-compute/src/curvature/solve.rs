//! Solves `H x = b` with a curvature matrix `H` that `factor` has factored.

use super::Curvature;
use crate::linalg::{solve_lower, solve_upper};
use crate::plan::Layout;
use crate::simd::{Level, MulAdd, isa_fn};

/// Solves `H x = b` for `x`. `c` contains the factors of the matrix `H`. `b` and `x` have one element per parameter.
/// The elements of `b` must be zero for parameters that may not move.
pub(crate) fn solve(level: Level, layout: &Layout, c: &mut Curvature, b: &[f64], x: &mut [f64]) {
    let n_border = layout.border.len();
    for (to, &p) in c.border_vector.iter_mut().zip(&layout.border) {
        *to = b[p as usize];
    }
    for (component, m) in layout.components.iter().zip(&c.matrices) {
        let (width, n, dense) = (component.width, component.columns, component.dense.len());
        let v = &mut c.vector[..n];
        v.fill(0.0);
        for (to, &p) in v.iter_mut().zip(&component.dense) {
            *to = b[p as usize];
        }
        for bin in 0..component.n_bins {
            let start = component.local_start[bin] as usize;
            let count = component.local_start[bin + 1] as usize - start;
            let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
            for i in 0..count {
                let p = component.local[start + i] as usize;
                let mut w = b[p];
                for k in 0..i {
                    w -= l[i * count + k] * x[component.local[start + k] as usize];
                }
                w /= l[i * count + i];
                x[p] = w;
                axpy(level, -w, &m.local[(start + i) * width..][..n], v);
            }
        }
        solve_lower(level, &m.h, width, n, dense, v);
        for (&p, &y) in component.dense.iter().zip(v.iter()) {
            x[p as usize] = y;
        }
        for (to, add) in c.border_vector.iter_mut().zip(&v[dense..]) {
            *to += add;
        }
    }
    solve_lower(level, &c.border, c.border_width, n_border, n_border, &mut c.border_vector);
    solve_upper(level, &c.border, c.border_width, n_border, n_border, &mut c.border_vector);
    for (&p, &value) in layout.border.iter().zip(&c.border_vector) {
        x[p as usize] = value;
    }
    for (component, m) in layout.components.iter().zip(&c.matrices) {
        let (width, n, dense) = (component.width, component.columns, component.dense.len());
        let v = &mut c.vector[..n];
        for (to, &p) in v.iter_mut().zip(&component.dense) {
            *to = x[p as usize];
        }
        v[dense..].copy_from_slice(&c.border_vector[..n_border]);
        solve_upper(level, &m.h, width, n, dense, v);
        for (&p, &value) in component.dense.iter().zip(v.iter()) {
            x[p as usize] = value;
        }
        for bin in 0..component.n_bins {
            let start = component.local_start[bin] as usize;
            let count = component.local_start[bin + 1] as usize - start;
            let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
            for i in (0..count).rev() {
                let p = component.local[start + i] as usize;
                let row = &m.local[(start + i) * width..][..n];
                let mut w = x[p] - dot(level, row, v);
                for k in i + 1..count {
                    w -= l[k * count + i] * x[component.local[start + k] as usize];
                }
                x[p] = w / l[i * count + i];
            }
        }
    }
    for (&p, &h) in layout.isolated.iter().zip(&c.isolated) {
        x[p as usize] = b[p as usize] / h;
    }
}

isa_fn! {
    /// Adds the number `a` times the vector `x` to the vector `y`.
    pub(super) fn axpy(a: f64, x: &[f64], y: &mut [f64]) = axpy_body
}

#[inline(always)]
fn axpy_body<M: MulAdd>(a: f64, x: &[f64], y: &mut [f64]) {
    for (to, &from) in y.iter_mut().zip(x) {
        *to = M::mul_add(a, from, *to);
    }
}

isa_fn! {
    /// Returns the scalar product of two vectors.
    pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 = dot_body
}

/// Returns the scalar product of two vectors. It is the sum of eight partial sums, which are added in a fixed order.
#[inline(always)]
fn dot_body<M: MulAdd>(x: &[f64], y: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let whole = x.len() / 8 * 8;
    for (a, b) in x[..whole].chunks_exact(8).zip(y[..whole].chunks_exact(8)) {
        for i in 0..8 {
            parts[i] = M::mul_add(a[i], b[i], parts[i]);
        }
    }
    for (i, (a, b)) in x[whole..].iter().zip(&y[whole..]).enumerate() {
        parts[i] = M::mul_add(*a, *b, parts[i]);
    }
    ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]))
}
