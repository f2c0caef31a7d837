//! Small symmetric matrices, stored row by row.

use crate::linear::{cholesky, eigen};

/// A square matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Square {
    n: usize,
    values: Vec<f64>,
}

impl Square {
    /// Creates a matrix from its elements.
    pub(super) fn from_fn(n: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        let place = |k: usize| element(k / n.max(1), k % n.max(1));
        Self { n, values: (0..n * n).map(place).collect() }
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn get(&self, i: usize, j: usize) -> f64 {
        self.values.get(i * self.n + j).copied().unwrap_or(f64::NAN)
    }

    /// Returns the rows and columns with the indices `kept`.
    pub(super) fn part(&self, kept: &[usize]) -> Self {
        let at = |k: usize| kept.get(k).copied().unwrap_or(usize::MAX);
        Self::from_fn(kept.len(), |i, j| self.get(at(i), at(j)))
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self::from_fn(self.n, |i, j| (0..self.n).map(|k| self.get(i, k) * other.get(k, j)).sum())
    }

    /// Returns `self - factor * other`, made symmetric.
    pub(super) fn less(&self, factor: f64, other: &Self) -> Self {
        let at = |i: usize, j: usize| self.get(i, j) - factor * other.get(i, j);
        Self::from_fn(self.n, |i, j| 0.5 * (at(i, j) + at(j, i)))
    }

    pub(super) fn apply(&self, vector: &[f64]) -> Vec<f64> {
        self.values.chunks(self.n.max(1)).map(|row| dot(row, vector)).collect()
    }

    /// Returns `v' M v`.
    pub(super) fn form(&self, vector: &[f64]) -> f64 {
        dot(vector, &self.apply(vector))
    }

    /// Returns the inverse; `None` unless the matrix is positive definite.
    pub(super) fn inverse(&self) -> Option<Self> {
        let n = self.n;
        let lower = cholesky(&self.values, n)?;
        let columns: Vec<Vec<f64>> = (0..n)
            .map(|k| {
                let mut x: Vec<f64> = Vec::with_capacity(n);
                for (i, row) in lower.chunks(n).enumerate() {
                    let known = dot(row, &x);
                    let unit = f64::from(u8::from(i == k));
                    x.push((unit - known) / row.get(i).copied().unwrap_or(1.0));
                }
                x
            })
            .collect();
        let column = |k: usize| columns.get(k).map_or(&[][..], Vec::as_slice);
        Some(Self::from_fn(n, |i, j| dot(column(i), column(j))))
    }

    /// Returns the eigenvalues, and the eigenvectors in columns.
    pub(super) fn eigen(&self) -> (Vec<f64>, Self) {
        // The rotations end at an absolute size of the elements.
        let size = self.values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let scale = if size > 0.0 { size } else { 1.0 };
        let scaled: Vec<f64> = self.values.iter().map(|x| x / scale).collect();
        let (values, vectors) = eigen(&scaled, self.n);
        (values.iter().map(|x| x * scale).collect(), Self { n: self.n, values: vectors })
    }

    /// Returns the rows of the matrix.
    pub(super) fn rows(&self) -> Vec<Vec<f64>> {
        self.values.chunks(self.n.max(1)).map(<[f64]>::to_vec).collect()
    }
}

/// Sums the products of two lists up to the end of the shorter one.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_eigenvectors_belong_to_the_matrix() {
        let values = [[4.0, 2.0, 0.5], [2.0, 3.0, -0.3], [0.5, -0.3, 1.0]];
        for scale in [1.0, 1e-9, 1e9] {
            let matrix = Square::from_fn(3, |i, j| scale * values[i][j]);
            let unit = matrix.times(&matrix.inverse().unwrap());
            let (eigenvalues, vectors) = matrix.eigen();
            for i in 0..3 {
                for j in 0..3 {
                    assert!((unit.get(i, j) - f64::from(u8::from(i == j))).abs() < 1e-14);
                }
                let column: Vec<f64> = (0..3).map(|j| vectors.get(j, i)).collect();
                let stretched = matrix.apply(&column);
                assert!((dot(&column, &stretched) / eigenvalues[i] - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(Square::from_fn(2, |_, _| 1.0).inverse(), None);
    }
}
