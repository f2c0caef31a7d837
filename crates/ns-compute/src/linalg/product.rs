//! Computes `C += sign * A^T B` for matrices that are stored row by row. The factorisation and the inversion of
//! matrices use this product.

use crate::simd::{Level, MulAdd, Vector, isa_fn};
use crate::stop::Stop;

/// Number of rows of a tile, which is a part of `C` that is kept in registers.
const TILE_ROWS: usize = 8;
/// Number of columns of a tile, which is a part of `C` that is kept in registers.
const TILE_COLUMNS: usize = 16;

/// The range of rows and columns of `C` that are computed in a product of matrices, and the range of the index that is
/// summed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Range of rows of `C`, which correspond to the columns of `A`: first index, and index after the last.
    pub(crate) rows: (usize, usize),
    /// Range of columns of `C`, which correspond to the columns of `B`: first index, and index after the last.
    pub(crate) columns: (usize, usize),
    /// Range of the index that is summed over, which is the row index of `A` and `B`: first index, and index after the
    /// last.
    pub(crate) inner: (usize, usize),
    /// If true, only those tiles (parts of `C` that are kept in registers) are computed that contain elements of the
    /// upper triangle (column >= row).
    pub(crate) upper: bool,
}

isa_fn! {
    /// Adds `sign * sum_k A[k][i] B[k][j]` to `C[i][j]`. `lda`, `ldb` and `ldc` are the leading dimensions of `A`, `B`
    /// and `C` (the distances between the beginnings of two rows). `C` must have space for whole tiles of 16 columns.
    /// Rows of `C` outside `shape.rows` do not change.
    pub(crate) fn product(a: &[f64], lda: usize, b: &[f64], ldb: usize, c: &mut [f64], ldc: usize, shape: Shape, sign: f64) = body
}

/// Computes the same result as [`product`], to the last bit, but a few rows at a time. Returns early once `stop` is
/// set.
pub(crate) fn product_until(
    level: Level,
    (a, lda): (&[f64], usize),
    (b, ldb): (&[f64], usize),
    (c, ldc): (&mut [f64], usize),
    shape: Shape,
    sign: f64,
    stop: Stop<'_>,
) {
    if stop.is_never() {
        return product(level, a, lda, b, ldb, c, ldc, shape, sign);
    }
    for first in (shape.rows.0..shape.rows.1).step_by(2 * TILE_ROWS) {
        if stop.asked() {
            return;
        }
        let rows = (first, shape.rows.1.min(first + 2 * TILE_ROWS));
        product(level, a, lda, b, ldb, c, ldc, Shape { rows, ..shape }, sign);
    }
}

#[inline(always)]
fn body<M: MulAdd>(
    a: &[f64],
    lda: usize,
    b: &[f64],
    ldb: usize,
    c: &mut [f64],
    ldc: usize,
    shape: Shape,
    sign: f64,
) {
    let mut i = shape.rows.0;
    while i < shape.rows.1 {
        let left = shape.rows.1 - i;
        let mut j = shape.columns.0;
        if shape.upper {
            // Starts at the tile that contains the diagonal element.
            j = j.max(shape.columns.0 + (i.saturating_sub(shape.columns.0)) / TILE_COLUMNS * TILE_COLUMNS);
        }
        while j < shape.columns.1 {
            match left {
                1 => tile::<M, 1>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                2 => tile::<M, 2>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                3 => tile::<M, 3>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                4 => tile::<M, 4>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                5 => tile::<M, 5>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                6 => tile::<M, 6>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                7 => tile::<M, 7>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
                _ => tile::<M, 8>(a, lda, b, ldb, c, ldc, i, j, shape.inner, sign),
            }
            j += TILE_COLUMNS;
        }
        i += TILE_ROWS.min(left);
    }
}

/// Adds the product to one tile of `C`, which has `R` rows and 16 columns and is kept in registers.
#[inline(always)]
fn tile<M: MulAdd, const R: usize>(
    a: &[f64],
    lda: usize,
    b: &[f64],
    ldb: usize,
    c: &mut [f64],
    ldc: usize,
    i: usize,
    j: usize,
    inner: (usize, usize),
    sign: f64,
) {
    let mut lo = [M::V8::splat(0.0); R];
    let mut hi = [M::V8::splat(0.0); R];
    for k in inner.0..inner.1 {
        let row = &b[k * ldb + j..k * ldb + j + TILE_COLUMNS];
        let (b_lo, b_hi) = (M::V8::load(row), M::V8::load(&row[8..]));
        let column = &a[k * lda + i..k * lda + i + R];
        for r in 0..R {
            let x = M::V8::splat(column[r]);
            lo[r] = x.mul_add(b_lo, lo[r]);
            hi[r] = x.mul_add(b_hi, hi[r]);
        }
    }
    let sign = M::V8::splat(sign);
    for r in 0..R {
        let out = &mut c[(i + r) * ldc + j..(i + r) * ldc + j + TILE_COLUMNS];
        lo[r].mul_add(sign, M::V8::load(out)).store(out);
        hi[r].mul_add(sign, M::V8::load(&out[8..])).store(&mut out[8..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that results do not depend on whether the computation may be stopped. If it may be stopped, rows are
    /// computed in strips of whole tiles.
    #[test]
    fn work_that_may_be_stopped_gives_the_same_bits() {
        let (n, ld) = (70, 80);
        let a: Vec<f64> = (0..n * ld).map(|x| (x as f64 * 0.37).sin()).collect();
        for level in Level::available() {
            for upper in [false, true] {
                let shape = Shape { rows: (0, n), columns: (0, n), inner: (0, n), upper };
                let (mut whole, mut strips) = (vec![1.0; n * ld + 32], vec![1.0; n * ld + 32]);
                product(level, &a, ld, &a, ld, &mut whole, ld, shape, -1.0);
                let a = (a.as_slice(), ld);
                let go_on = std::sync::atomic::AtomicBool::new(false);
                product_until(level, a, a, (&mut strips, ld), shape, -1.0, Stop::from(&go_on));
                assert_eq!(whole, strips);
                let stop = std::sync::atomic::AtomicBool::new(true);
                let mut untouched = vec![1.0; n * ld + 32];
                product_until(level, a, a, (&mut untouched, ld), shape, -1.0, Stop::from(&stop));
                assert!(untouched.iter().all(|x| *x == 1.0));
            }
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        for (rows, columns, inner) in [(1, 1, 1), (9, 16, 3), (23, 40, 7), (16, 33, 20)] {
            let (lda, ldb, ldc) = (rows, columns + 20, columns + 20);
            let a: Vec<f64> = (0..inner * lda).map(|x| (x as f64 * 0.37).sin()).collect();
            let b: Vec<f64> = (0..inner * ldb).map(|x| (x as f64 * 0.73).cos()).collect();
            for level in Level::available() {
                let mut c = vec![1.0; rows * ldc + 32];
                let shape = Shape { rows: (0, rows), columns: (0, columns), inner: (0, inner), upper: false };
                product(level, &a, lda, &b, ldb, &mut c, ldc, shape, -1.0);
                for i in 0..rows {
                    for j in 0..columns {
                        let want: f64 =
                            1.0 - (0..inner).map(|k| a[k * lda + i] * b[k * ldb + j]).sum::<f64>();
                        assert!((c[i * ldc + j] - want).abs() < 1e-13);
                    }
                }
            }
        }
    }
}
