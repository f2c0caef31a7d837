//! Computes the Cholesky factor `U` of a symmetric matrix `H = U^T U`, block by block. The upper triangle of `H` is
//! stored row by row.

use super::product::{Shape, product};
use crate::simd::{Level, MulAdd, isa_fn};
use crate::stop::Stop;

/// Number of rows in a block. The rows below a block are read and written once for each block.
const BLOCK: usize = 16;

/// A pivot (diagonal element during the factorisation) counts as zero if it is at most this fraction of the original
/// diagonal element. The matrix has no curvature in the direction of such a pivot, which is called flat.
const FLAT: f64 = 2e-14;

/// Number that replaces the pivot of a flat direction (one in which the matrix has no curvature). It is so large that
/// steps along the flat direction are zero.
pub(crate) const FROZEN: f64 = 1e140;

/// Returns whether a pivot cannot be distinguished from zero. `scale` is the size of the elements from which the pivot
/// was computed. The rounding errors of the pivot are proportional to it.
#[inline(always)]
pub(crate) fn is_flat(pivot: f64, scale: f64) -> bool {
    pivot <= FLAT * scale || pivot < f64::MIN_POSITIVE
}

/// Returns whether a pivot is NaN or clearly below zero. The pivot must be below zero by more than the tolerance
/// `slack` and by more than the rounding errors of elements of size `scale`.
#[inline(always)]
pub(crate) fn is_negative(pivot: f64, (scale, slack): (f64, f64)) -> bool {
    pivot.is_nan() || pivot < -(1e-9 * scale).max(slack)
}

/// The rows whose pivots were zero or negative in a factorisation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pivots {
    /// Rows whose pivot was zero, because the matrix has no curvature in the direction of the row. These pivots were
    /// replaced by [`FROZEN`].
    pub(crate) flat: Vec<usize>,
    /// First row with a clearly negative pivot; `None` if there is no such row. If there is such a row, the factor
    /// cannot be used.
    pub(crate) negative: Option<usize>,
    /// Smallest ratio of a pivot to the diagonal element before the factorisation, or to the slack of its row if that is
    /// larger; 1 at most.
    pub(crate) least: f64,
}

impl Pivots {
    /// Returns whether the matrix is positive definite.
    pub(crate) fn is_regular(&self) -> bool {
        self.flat.is_empty() && self.negative.is_none()
    }
}

/// Computes the Cholesky factor of the first `rows` rows of the `n x n` upper triangle `h` in place. The distance
/// between the beginnings of two rows of `h` is `ld`, a multiple of 16. If `rows < n`, the remaining triangle becomes
/// the Schur complement. `limits` contains the scale and the slack of each row's pivot (see [`is_negative`]). Once
/// `stop` is set, the next pivot counts as negative.
pub(crate) fn factor_until(
    level: Level,
    h: &mut [f64],
    ld: usize,
    n: usize,
    rows: usize,
    limits: &[(f64, f64)],
    pivots: &mut Pivots,
    stop: Stop<'_>,
) {
    pivots.flat.clear();
    pivots.negative = None;
    pivots.least = 1.0;
    let mut k = 0;
    while k < rows {
        let end = (k + BLOCK).min(rows);
        if stop.asked() {
            pivots.negative = Some(k);
            return;
        }
        panel(level, h, ld, n, (k, end), limits, pivots);
        if pivots.negative.is_some() {
            return;
        }
        if end < n {
            let (head, tail) = h.split_at_mut(end * ld);
            trailing(level, &head[k * ld..], ld, tail, (end, n), end - k);
        }
        k = end;
    }
}

/// Subtracts the contribution of factored rows from the triangle `c`, which contains the rows `first` to `n` of the
/// matrix. The factored rows are the first `inner` rows in `rows`. Elements of `c` left of the diagonal may be
/// overwritten, because they are never read.
fn trailing(level: Level, rows: &[f64], ld: usize, c: &mut [f64], (first, n): (usize, usize), inner: usize) {
    for i in (0..n - first).step_by(16) {
        let columns = ((first + i) / 16 * 16, n);
        let shape = Shape { rows: (i, (i + 16).min(n - first)), columns, inner: (0, inner), upper: false };
        // Column `first + i` of A belongs to row `i` of C. Therefore A is passed from column `first` on.
        product(level, &rows[first..], ld, rows, ld, c, ld, shape, -1.0);
    }
}

isa_fn! {
    fn panel(h: &mut [f64], ld: usize, n: usize, rows: (usize, usize), limits: &[(f64, f64)], pivots: &mut Pivots) = panel_body
}

/// Factors the rows of one block. Other rows are neither read nor written.
#[inline(always)]
fn panel_body<M: MulAdd>(
    h: &mut [f64],
    ld: usize,
    n: usize,
    rows: (usize, usize),
    limits: &[(f64, f64)],
    pivots: &mut Pivots,
) {
    for k in rows.0..rows.1 {
        let pivot = h[k * ld + k];
        if is_negative(pivot, limits[k]) {
            pivots.negative = Some(k);
            return;
        }
        let (done, rest) = h.split_at_mut((k + 1) * ld);
        let row = &mut done[k * ld..];
        if is_flat(pivot, limits[k].0) {
            pivots.flat.push(k);
            row[k] = FROZEN;
            row[k + 1..n].fill(0.0);
            continue;
        }
        let diagonal = limits[k].0.max(limits[k].1);
        if pivot < pivots.least * diagonal {
            pivots.least = pivot / diagonal;
        }
        let root = pivot.sqrt();
        let inverse = 1.0 / root;
        row[k] = root;
        for x in &mut row[k + 1..n] {
            *x *= inverse;
        }
        for i in k + 1..rows.1 {
            let factor = -row[i];
            let target = &mut rest[(i - k - 1) * ld + i..(i - k - 1) * ld + n];
            for (t, &x) in target.iter_mut().zip(&row[i..n]) {
                *t = M::mul_add(factor, x, *t);
            }
        }
    }
}

isa_fn! {
    /// Solves `U^T y = b` for the first `rows` rows of the Cholesky factor `U`. At first `x` contains `b`. At the end
    /// the first `rows` elements of `x` contain `y`, and the elements from `rows` to `n` contain `b - U_rest^T y`,
    /// where `U_rest` consists of the later columns of the same rows.
    pub(crate) fn solve_lower(u: &[f64], ld: usize, n: usize, rows: usize, x: &mut [f64]) = solve_lower_body
}

#[inline(always)]
fn solve_lower_body<M: MulAdd>(u: &[f64], ld: usize, n: usize, rows: usize, x: &mut [f64]) {
    for k in 0..rows {
        let row = &u[k * ld..k * ld + n];
        let (done, rest) = x.split_at_mut(k + 1);
        let y = done[k] / row[k];
        done[k] = y;
        for (t, &c) in rest[..n - k - 1].iter_mut().zip(&row[k + 1..]) {
            *t = M::mul_add(-y, c, *t);
        }
    }
}

isa_fn! {
    /// Solves `U x = y` in place for the first `rows` rows of the Cholesky factor `U`. The elements of `x` from `rows`
    /// to `n` must contain the solution already.
    pub(crate) fn solve_upper(u: &[f64], ld: usize, n: usize, rows: usize, x: &mut [f64]) = solve_upper_body
}

#[inline(always)]
fn solve_upper_body<M: MulAdd>(u: &[f64], ld: usize, n: usize, rows: usize, x: &mut [f64]) {
    for k in (0..rows).rev() {
        let row = &u[k * ld..k * ld + n];
        let mut parts = [0.0; 8];
        let (coefficients, values) = (&row[k + 1..], &x[k + 1..n]);
        let whole = coefficients.len() / 8 * 8;
        for (c, v) in coefficients[..whole].chunks_exact(8).zip(values[..whole].chunks_exact(8)) {
            for i in 0..8 {
                parts[i] = M::mul_add(c[i], v[i], parts[i]);
            }
        }
        for (i, (c, v)) in coefficients[whole..].iter().zip(&values[whole..]).enumerate() {
            parts[i] = M::mul_add(*c, *v, parts[i]);
        }
        let sum =
            ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
        x[k] = (x[k] - sum) / row[k];
    }
}

/// Writes `W = U^-T` for the first `rows` rows of the Cholesky factor `U` of a matrix `H`, so that `H^-1 = W^T W`. `W`
/// is a lower triangle that is stored row by row, with the same leading dimension (distance between the beginnings of
/// two rows) as `U`. Returns early once `stop` is set.
pub(crate) fn invert_factor(level: Level, u: &[f64], ld: usize, rows: usize, w: &mut [f64], stop: Stop<'_>) {
    w[..rows * ld].fill(0.0);
    let mut k = 0;
    while k < rows && !stop.asked() {
        let end = (k + BLOCK).min(rows);
        for i in k..end {
            w[i * ld + i] = 1.0;
        }
        if k > 0 {
            let (done, current) = w.split_at_mut(k * ld);
            let shape = Shape { rows: (0, end - k), columns: (0, k), inner: (0, k), upper: false };
            product(level, &u[k..], ld, done, ld, current, ld, shape, -1.0);
        }
        substitute(level, u, ld, (k, end), w);
        k = end;
    }
}

isa_fn! {
    fn substitute(u: &[f64], ld: usize, rows: (usize, usize), w: &mut [f64]) = substitute_body
}

/// Applies forward substitution to the rows of one block of `w`.
#[inline(always)]
fn substitute_body<M: MulAdd>(u: &[f64], ld: usize, rows: (usize, usize), w: &mut [f64]) {
    for i in rows.0..rows.1 {
        let inverse = 1.0 / u[i * ld + i];
        let (done, rest) = w.split_at_mut((i + 1) * ld);
        let row = &mut done[i * ld..i * ld + i + 1];
        for x in row.iter_mut() {
            *x *= inverse;
        }
        for j in i + 1..rows.1 {
            let factor = -u[i * ld + j];
            let target = &mut rest[(j - i - 1) * ld..(j - i - 1) * ld + i + 1];
            for (t, &x) in target.iter_mut().zip(row.iter()) {
                *t = M::mul_add(factor, x, *t);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(
        level: Level,
        h: &mut [f64],
        ld: usize,
        n: usize,
        rows: usize,
        limits: &[(f64, f64)],
        pivots: &mut Pivots,
    ) {
        factor_until(level, h, ld, n, rows, limits, pivots, Stop::default());
    }

    fn matrix(n: usize, ld: usize) -> Vec<f64> {
        // B^T B plus a diagonal matrix is positive definite.
        let b: Vec<f64> = (0..n * n).map(|x| ((x * x) as f64 * 0.013).sin()).collect();
        let mut h = vec![0.0; n.div_ceil(16) * 16 * ld + 16];
        for i in 0..n {
            for j in i..n {
                h[i * ld + j] =
                    (0..n).map(|k| b[k * n + i] * b[k * n + j]).sum::<f64>() + if i == j { 0.5 } else { 0.0 };
            }
        }
        h
    }

    fn limits(h: &[f64], ld: usize, n: usize) -> Vec<(f64, f64)> {
        (0..n).map(|i| (h[i * ld + i], 0.0)).collect()
    }

    #[test]
    fn factor_solve_and_invert_agree() {
        for n in [1_usize, 5, 16, 17, 50, 83] {
            let ld = n.div_ceil(16) * 16;
            let h = matrix(n, ld);
            let at = |i: usize, j: usize| h[i.min(j) * ld + i.max(j)];
            for level in Level::available() {
                let (mut u, d, mut pivots) = (h.clone(), limits(&h, ld, n), Pivots::default());
                factor(level, &mut u, ld, n, n, &d, &mut pivots);
                assert!(pivots.is_regular());
                let b: Vec<f64> = (0..n).map(|i| (i as f64 + 0.3).cos()).collect();
                let mut x = b.clone();
                solve_lower(level, &u, ld, n, n, &mut x);
                solve_upper(level, &u, ld, n, n, &mut x);
                for i in 0..n {
                    let sum: f64 = (0..n).map(|j| at(i, j) * x[j]).sum();
                    assert!((sum - b[i]).abs() < 1e-9, "n {n} row {i}");
                }
                let mut w = vec![0.0; n.div_ceil(16) * 16 * ld];
                invert_factor(level, &u, ld, n, &mut w, Stop::default());
                for i in 0..n {
                    for j in 0..n {
                        let sum: f64 = (0..n)
                            .map(|m| at(i, m) * (0..n).map(|k| w[k * ld + m] * w[k * ld + j]).sum::<f64>())
                            .sum();
                        assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9, "n {n} inverse {i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn partial_factor_leaves_the_schur_complement() {
        let (n, rows, ld) = (37, 21, 48);
        let h = matrix(n, ld);
        let level = Level::detect();
        let (mut u, d, mut pivots) = (h.clone(), limits(&h, ld, n), Pivots::default());
        factor(level, &mut u, ld, n, rows, &d, &mut pivots);
        factor(level, &mut { u[rows * ld + rows..].to_vec() }, ld, n - rows, n - rows, &d, &mut pivots);
        let mut whole = h;
        factor(level, &mut whole, ld, n, n, &d, &mut pivots);
        let mut schur = vec![0.0; (n - rows) * (n - rows)];
        for i in rows..n {
            for j in i..n {
                schur[(i - rows) * (n - rows) + j - rows] =
                    (rows..=i).map(|k| whole[k * ld + i] * whole[k * ld + j]).sum();
                assert!((schur[(i - rows) * (n - rows) + j - rows] - u[i * ld + j]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn flat_and_negative_directions_are_told_apart() {
        let level = Level::detect();
        let (d, mut pivots) = (vec![(1.0, 0.0); 3], Pivots::default());
        // The matrix [[1, 1], [1, 1]] has one flat direction, which is found at the second pivot.
        let mut h = vec![0.0; 16 * 16 + 16];
        (h[0], h[1], h[17]) = (1.0, 1.0, 1.0);
        factor(level, &mut h, 16, 2, 2, &d, &mut pivots);
        assert_eq!((pivots.flat.as_slice(), pivots.negative), ([1].as_slice(), None));
        let mut h = vec![0.0; 16 * 16 + 16];
        (h[0], h[1], h[17]) = (1.0, 2.0, 1.0);
        factor(level, &mut h, 16, 2, 2, &d, &mut pivots);
        assert_eq!(pivots.negative, Some(1));
    }
}
