//! Computes the inverse of a factored curvature: the full matrix, or only its diagonal.

use super::Curvature;
use crate::linalg::{Shape, invert_factor, product, product_until};
use crate::plan::Layout;
use crate::simd::Level;
use crate::stop::Stop;

/// Writes the full inverse of the curvature to `out`, as `n x n` numbers row by row, where `n` is the number of
/// parameters. The layout must have no border parameters (see [`Layout`]). The function returns early once `stop` is
/// set.
///
/// Local parameters (l) act on a single bin, and dense parameters (d) act on whole channels. `L` is the factor of the
/// matrix over the local parameters. `U` is the factor of the matrix over the dense parameters, after the local
/// parameters are eliminated. `Y = L^-1 R` is the stored coupling, where `R` is the part of the curvature between
/// local and dense parameters. With `T = L^-T Y`, the parts of the inverse `C` are `C_dd = (U'U)^-1`,
/// `C_dl = -C_dd T'` and `C_ll = (L L')^-1 - T C_dl`.
pub(crate) fn covariance(level: Level, layout: &Layout, c: &Curvature, out: &mut Vec<f64>, stop: Stop<'_>) {
    let n = layout.place.len();
    out.clear();
    out.resize(n * n, 0.0);
    for (component, m) in layout.components.iter().zip(&c.matrices) {
        let (width, dense, locals) = (component.width, component.dense.len(), component.local.len());
        let dd = inverse(level, &m.h, width, dense, stop);
        for (i, &p) in component.dense.iter().enumerate() {
            for (j, &q) in component.dense.iter().enumerate() {
                out[p as usize * n + q as usize] = dd[i * width + j];
            }
        }
        if locals == 0 {
            continue;
        }
        let wide = locals.div_ceil(16) * 16;
        // `t` contains T': its rows are dense parameters, and its columns are local parameters. The same loop also
        // writes the blocks (L L')^-1 to `out`.
        let mut t = vec![0.0; dense.max(1) * wide];
        for bin in 0..component.n_bins {
            if stop.asked() {
                return;
            }
            let start = component.local_start[bin] as usize;
            let count = component.local_start[bin + 1] as usize - start;
            let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
            for i in 0..count {
                let column = inverse_column(l, count, i);
                for (r, &x) in column.iter().enumerate() {
                    for (k, y) in m.local[(start + r) * width..][..dense].iter().enumerate() {
                        t[k * wide + start + i] += x * y;
                    }
                }
                for j in 0..=i {
                    let value: f64 =
                        inverse_column(l, count, j).iter().zip(&column).map(|(a, b)| a * b).sum();
                    let (p, q) = (component.local[start + i] as usize, component.local[start + j] as usize);
                    out[p * n + q] += value;
                    if p != q {
                        out[q * n + p] += value;
                    }
                }
            }
        }
        let mut dl = vec![0.0; dense.max(1) * wide];
        let shape = Shape { rows: (0, dense), columns: (0, locals), inner: (0, dense), upper: false };
        product_until(level, (&dd, width), (&t, wide), (&mut dl, wide), shape, -1.0, stop);
        let mut ll = vec![0.0; wide * wide];
        let shape = Shape { rows: (0, locals), columns: (0, locals), inner: (0, dense), upper: true };
        product_until(level, (&t, wide), (&dl, wide), (&mut ll, wide), shape, -1.0, stop);
        for (j, &q) in component.local.iter().enumerate() {
            if stop.asked() {
                return;
            }
            let q = q as usize;
            for (i, &p) in component.dense.iter().enumerate() {
                out[p as usize * n + q] = dl[i * wide + j];
                out[q * n + p as usize] = dl[i * wide + j];
            }
            for (i, &p) in component.local[..=j].iter().enumerate() {
                let p = p as usize;
                out[p * n + q] += ll[i * wide + j];
                if p != q {
                    out[q * n + p] += ll[i * wide + j];
                }
            }
        }
    }
    for (&p, &h) in layout.isolated.iter().zip(&c.isolated) {
        out[p as usize * (n + 1)] = 1.0 / h;
    }
}

/// Returns the full symmetric inverse of the matrix `U'U`, given the factor `U`. The inverse is `W'W` with `W = U^-T`.
fn inverse(level: Level, u: &[f64], width: usize, n: usize, stop: Stop<'_>) -> Vec<f64> {
    let mut w = vec![0.0; width * width];
    invert_factor(level, u, width, n, &mut w, stop);
    let mut out = vec![0.0; width * width];
    for j in (0..n).step_by(16) {
        if stop.asked() {
            break;
        }
        let shape =
            Shape { rows: (0, n.min(j + 16)), columns: (j, n.min(j + 16)), inner: (j, n), upper: false };
        product(level, &w, width, &w, width, &mut out, width, shape, 1.0);
    }
    for i in 0..n {
        for j in i + 1..n {
            out[j * width + i] = out[i * width + j];
        }
    }
    out
}

/// Returns column `i` of the inverse of the lower triangular factor `l` (`count x count`).
fn inverse_column(l: &[f64], count: usize, i: usize) -> Vec<f64> {
    let mut column = vec![0.0; count];
    for r in i..count {
        let mut sum = if r == i { 1.0 } else { 0.0 };
        for k in i..r {
            sum -= l[r * count + k] * column[k];
        }
        column[r] = sum / l[r * count + r];
    }
    column
}

/// Writes the diagonal of the inverse of the curvature to `out`, one number per parameter. The layout may have border
/// parameters. The function returns early once `stop` is set.
pub(crate) fn variances(level: Level, layout: &Layout, c: &mut Curvature, out: &mut [f64], stop: Stop<'_>) {
    let n_border = layout.border.len();
    // Inverse of the border matrix S from its factor: S^-1 = W' W.
    let bw = c.border_width;
    let mut border_w = vec![0.0; bw * bw];
    invert_factor(level, &c.border, bw, n_border, &mut border_w, stop);
    // Returns |W v|^2 = v' S^-1 v.
    let border_form = |v: &[f64]| -> f64 {
        (0..n_border)
            .map(|k| {
                let sum: f64 = border_w[k * bw..=k * bw + k].iter().zip(v).map(|(w, v)| w * v).sum();
                sum * sum
            })
            .sum()
    };
    for (i, &p) in layout.border.iter().enumerate() {
        out[p as usize] = (i..n_border).map(|k| border_w[k * bw + i] * border_w[k * bw + i]).sum();
    }
    let mut w = Vec::new();
    let mut coupling = vec![0.0; n_border];
    for (component, m) in layout.components.iter().zip(&c.matrices) {
        let (width, n, dense) = (component.width, component.columns, component.dense.len());
        w.clear();
        w.resize(width * dense.div_ceil(16).max(1) * 16, 0.0);
        invert_factor(level, &m.h, width, dense, &mut w, stop);
        // For a vector v over the dense and border columns, returns |W v_d|^2 plus the contribution of the border.
        let mut y = vec![0.0; dense];
        let mut quadratic = |v: &[f64], from: usize| -> f64 {
            coupling.copy_from_slice(&v[dense..n]);
            let mut total = 0.0;
            for k in from..dense {
                let sum: f64 =
                    w[k * width + from..=k * width + k].iter().zip(&v[from..]).map(|(w, v)| w * v).sum();
                y[k] = sum;
                total += sum * sum;
                for (to, u) in coupling.iter_mut().zip(&m.h[k * width + dense..]) {
                    *to -= sum * u;
                }
            }
            total + border_form(&coupling)
        };
        let mut unit = vec![0.0; n];
        for (i, &p) in component.dense.iter().enumerate() {
            if stop.asked() {
                return;
            }
            unit[i] = 1.0;
            out[p as usize] = quadratic(&unit, i);
            unit[i] = 0.0;
        }
        for bin in 0..component.n_bins {
            if stop.asked() {
                return;
            }
            let start = component.local_start[bin] as usize;
            let count = component.local_start[bin + 1] as usize - start;
            let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
            for i in 0..count {
                let column = inverse_column(l, count, i);
                let own: f64 = column.iter().map(|x| x * x).sum();
                // One row of L^-T (L^-1 R), which is the coupling of this local parameter to the columns.
                unit.fill(0.0);
                for (r, &x) in column.iter().enumerate() {
                    for (to, y) in unit.iter_mut().zip(&m.local[(start + r) * width..]) {
                        *to += x * y;
                    }
                }
                out[component.local[start + i] as usize] = own + quadratic(&unit, 0);
                unit.fill(0.0);
            }
        }
    }
    for (&p, &h) in layout.isolated.iter().zip(&c.isolated) {
        out[p as usize] = 1.0 / h;
    }
}
