//! Correlations between the Gaussian constraints of parameters.

use std::sync::Arc;

/// Largest accepted difference between an element of a correlation matrix and its mirror image, and between a diagonal
/// element and 1.
const ROUNDING: f64 = 1e-9;

/// Smallest accepted variance of a parameter given those before it, in units of its own variance. Below it, rounding
/// errors of the inverse matrix would show in `-ln L`.
const LEAST_VARIANCE: f64 = 1e-10;

/// The joint normal distribution of the auxiliary data of several parameters with Gaussian constraints: the covariance of
/// two data is `sigma_i sigma_j rho_ij`. The widths `sigma` and the indices of the data are those of the parameters'
/// constraints.
///
/// The term of `-ln L` is `u' (R^-1 - 1) u / 2 + ln(det R) / 2` with the pulls `u = (theta - a) / sigma` and the
/// correlation matrix `R`. Together with the independent Gaussian terms of the constraints, it is the negative logarithm
/// of the joint density.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlations {
    parameters: Vec<usize>,
    matrix: Vec<f64>,
    lower: Arc<[f64]>,
    excess: Vec<f64>,
    half_log_determinant: f64,
}

/// The reason why a matrix is no correlation matrix. Rows and columns are counted from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrelationError {
    /// The number of elements does not match the number of parameters.
    #[error("the matrix has {actual} elements, and {n} parameters need {n} x {n}")]
    Size {
        /// Number of elements.
        actual: usize,
        /// Number of parameters.
        n: usize,
    },
    /// An element is not a finite number.
    #[error("the element in row {row} and column {column} is {value}; give a finite number")]
    NotFinite {
        /// Row of the element.
        row: usize,
        /// Column of the element.
        column: usize,
        /// Value of the element.
        value: f64,
    },
    /// A diagonal element is not 1.
    #[error("the diagonal element {row} is {value}; give 1, or divide a covariance matrix by the widths")]
    Diagonal {
        /// Row of the element.
        row: usize,
        /// Value of the element.
        value: f64,
    },
    /// The matrix is not symmetric.
    #[error(
        "the element in row {row} and column {column} is {value}, and its mirror image is {mirrored}; give both the same value"
    )]
    NotSymmetric {
        /// Row of the element.
        row: usize,
        /// Column of the element.
        column: usize,
        /// Value of the element.
        value: f64,
        /// Value of the element with row and column exchanged.
        mirrored: f64,
    },
    /// The matrix is not positive definite.
    #[error(
        "the matrix is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}; multiply all correlations by {factor:.4} \
         or less, or make parameters that are fully correlated one parameter (nextstat rename)"
    )]
    NotPositive {
        /// Smallest eigenvalue.
        eigenvalue: f64,
        /// A factor of the correlations with which the matrix is positive definite.
        factor: f64,
    },
}

impl Correlations {
    /// Creates the correlations of `parameters`, which are indices of parameters of a model. `matrix` is their correlation
    /// matrix, row by row.
    ///
    /// # Errors
    /// If the matrix is not symmetric, its diagonal is not 1, or it is not positive definite.
    pub fn new(parameters: Vec<usize>, mut matrix: Vec<f64>) -> Result<Self, CorrelationError> {
        let n = parameters.len();
        if matrix.len() != n * n {
            return Err(CorrelationError::Size { actual: matrix.len(), n });
        }
        let at =
            |matrix: &[f64], row: usize, column: usize| matrix.get(row * n + column).copied().unwrap_or(0.0);
        for row in 0..n {
            for column in 0..n {
                let value = at(&matrix, row, column);
                if !value.is_finite() {
                    return Err(CorrelationError::NotFinite { row, column, value });
                }
            }
        }
        for row in 0..n {
            let value = at(&matrix, row, row);
            if (value - 1.0).abs() > ROUNDING {
                return Err(CorrelationError::Diagonal { row, value });
            }
            for column in 0..row {
                let (value, mirrored) = (at(&matrix, row, column), at(&matrix, column, row));
                if (value - mirrored).abs() > ROUNDING {
                    return Err(CorrelationError::NotSymmetric { row, column, value, mirrored });
                }
            }
        }
        for row in 0..n {
            for column in 0..=row {
                let mean = 0.5 * (at(&matrix, row, column) + at(&matrix, column, row));
                let value = if row == column { 1.0 } else { mean };
                for place in [row * n + column, column * n + row] {
                    if let Some(element) = matrix.get_mut(place) {
                        *element = value;
                    }
                }
            }
        }
        let Some(lower) = cholesky(&matrix, n) else {
            let eigenvalue = smallest_eigenvalue(&matrix, n);
            // With all correlations times f, an eigenvalue x becomes 1 - f (1 - x).
            let factor = 0.999 / (1.0 - eigenvalue).max(1.0);
            return Err(CorrelationError::NotPositive { eigenvalue, factor });
        };
        let mut excess = inverse(&lower, n);
        excess.iter_mut().step_by(n + 1).for_each(|element| *element -= 1.0);
        let half_log_determinant = lower.iter().step_by(n + 1).map(|x| x.ln()).sum();
        Ok(Self { parameters, matrix, lower: Arc::from(lower), excess, half_log_determinant })
    }

    /// Returns the indices of the parameters, in the order of the rows of the matrix.
    #[must_use]
    pub fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    /// Returns the correlation matrix, row by row.
    #[must_use]
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// Returns the Cholesky factor `L` of the matrix, with `R = L L'`, row by row. Elements above the diagonal are 0.
    #[must_use]
    pub fn lower(&self) -> &Arc<[f64]> {
        &self.lower
    }

    /// Returns the inverse of the matrix minus the unit matrix, row by row.
    #[must_use]
    pub fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// Returns half the logarithm of the determinant of the matrix.
    #[must_use]
    pub fn half_log_determinant(&self) -> f64 {
        self.half_log_determinant
    }

    /// Returns the correlation of two parameters of a model; `None` unless both are among those of this matrix.
    #[must_use]
    pub fn between(&self, first: usize, second: usize) -> Option<f64> {
        let place = |p: usize| self.parameters.iter().position(|q| *q == p);
        let (row, column) = (place(first)?, place(second)?);
        self.matrix.get(row * self.parameters.len() + column).copied()
    }

    /// Returns the variance that the auxiliary data of some of the parameters explain. `shifts` has, for each of these
    /// parameters, its index and the shift of a quantity if its datum is moved by its width, and all other data by what is
    /// then expected of them. For uncorrelated data this is the sum of the squares. Parameters without a row are left out.
    #[must_use]
    pub fn explained(&self, shifts: &[(usize, f64)]) -> f64 {
        let own: Vec<(usize, f64)> = shifts
            .iter()
            .filter_map(|(p, shift)| Some((self.parameters.iter().position(|q| q == p)?, *shift)))
            .collect();
        let n = self.parameters.len();
        let element = |row: usize, column: usize| self.matrix.get(row * n + column).copied().unwrap_or(0.0);
        let part: Vec<f64> =
            own.iter().flat_map(|(row, _)| own.iter().map(|(column, _)| element(*row, *column))).collect();
        let shifts: Vec<f64> = own.iter().map(|(_, shift)| *shift).collect();
        // A principal part of a positive definite matrix is positive definite.
        let lower = cholesky(&part, own.len()).unwrap_or_default();
        forward(&lower, &shifts).iter().map(|x| x * x).sum()
    }
}

/// Solves `L x = b` for a lower triangular matrix, given row by row.
fn forward(lower: &[f64], b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(b.len());
    for (row, value) in lower.chunks(b.len().max(1)).zip(b) {
        let known: f64 = row.iter().zip(&x).map(|(l, x)| l * x).sum();
        x.push((value - known) / row.get(x.len()).copied().unwrap_or(1.0));
    }
    x
}

/// Returns the Cholesky factor of a symmetric matrix; `None` if it is not positive definite.
fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (done, row) = lower.split_at(i * n);
            let other = if i == j { row } else { done.get(j * n..)? };
            let sum: f64 = row.iter().zip(other).take(j).map(|(a, b)| a * b).sum();
            let rest = matrix.get(i * n + j)? - sum;
            let value = if i == j {
                if !(rest > LEAST_VARIANCE) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / other.get(j)?
            };
            *lower.get_mut(i * n + j)? = value;
        }
    }
    Some(lower)
}

/// Returns the inverse of `L L'`, row by row.
fn inverse(lower: &[f64], n: usize) -> Vec<f64> {
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|k| {
            let unit: Vec<f64> = (0..n).map(|i| if i == k { 1.0 } else { 0.0 }).collect();
            forward(lower, &unit)
        })
        .collect();
    // The columns of L^-1 give (L L')^-1 = L'^-1 L^-1.
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    columns.iter().flat_map(|a| columns.iter().map(|b| product(a, b)).collect::<Vec<_>>()).collect()
}

/// Returns the smallest eigenvalue of a symmetric matrix, by Jacobi's rotations.
fn smallest_eigenvalue(matrix: &[f64], n: usize) -> f64 {
    const SWEEPS: usize = 50;
    let mut rows: Vec<Vec<f64>> = matrix.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
    let at = |rows: &[Vec<f64>], i: usize, j: usize| {
        rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0)
    };
    for _ in 0..SWEEPS {
        let pairs = || (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        if pairs().all(|(i, j)| at(&rows, i, j).abs() < 1e-14) {
            break;
        }
        for (i, j) in pairs() {
            let off = at(&rows, i, j);
            if off == 0.0 {
                continue;
            }
            let ratio = (at(&rows, i, i) - at(&rows, j, j)) / (2.0 * off);
            let tangent = 1.0f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = tangent * cosine;
            let turn = |x: f64, y: f64| (cosine * x + sine * y, cosine * y - sine * x);
            for row in &mut rows {
                let (x, y) = (row.get(i).copied().unwrap_or(0.0), row.get(j).copied().unwrap_or(0.0));
                let (x, y) = turn(x, y);
                for (place, value) in [(i, x), (j, y)] {
                    if let Some(element) = row.get_mut(place) {
                        *element = value;
                    }
                }
            }
            for k in 0..n {
                let (x, y) = turn(at(&rows, i, k), at(&rows, j, k));
                for (place, value) in [(i, x), (j, y)] {
                    if let Some(element) = rows.get_mut(place).and_then(|row| row.get_mut(k)) {
                        *element = value;
                    }
                }
            }
        }
    }
    (0..n).map(|i| at(&rows, i, i)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [f64; 9] = [1.0, 0.5, -0.2, 0.5, 1.0, 0.3, -0.2, 0.3, 1.0];

    #[test]
    fn factor_inverse_and_determinant_belong_to_the_matrix() -> Result<(), CorrelationError> {
        let made = Correlations::new(vec![4, 1, 7], MATRIX.to_vec())?;
        let (lower, excess) = (made.lower(), made.excess());
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| lower[3 * i + k] * lower[3 * j + k]).sum();
                assert!((product - MATRIX[3 * i + j]).abs() < 1e-15);
                let unit: f64 = (0..3)
                    .map(|k| MATRIX[3 * i + k] * (excess[3 * k + j] + f64::from(u8::from(k == j))))
                    .sum();
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        // det = 1 + 2 abc - a^2 - b^2 - c^2
        let det: f64 = 1.0 + 2.0 * 0.5 * -0.2 * 0.3 - 0.25 - 0.04 - 0.09;
        assert!((made.half_log_determinant() - 0.5 * det.ln()).abs() < 1e-14);
        assert_eq!(
            (made.between(1, 7), made.between(4, 7), made.between(1, 2)),
            (Some(0.3), Some(-0.2), None)
        );
        Ok(())
    }

    #[test]
    fn explained_variances_are_those_of_a_linear_quantity() -> Result<(), CorrelationError> {
        let made = Correlations::new(vec![4, 1, 7], MATRIX.to_vec())?;
        // The quantity is the sum of slopes times pulls. A datum that is moved by its width moves the others.
        let slopes = [2.0, -1.0, 0.5];
        let shift = |i: usize| (0..3).map(|j| MATRIX[3 * i + j] * slopes[j]).sum::<f64>();
        let shifts = [(4, shift(0)), (1, shift(1)), (7, shift(2))];
        let variance: f64 = (0..3).map(|i| slopes[i] * shift(i)).sum();
        assert!((made.explained(&shifts) - variance).abs() < 1e-13);
        assert!((made.explained(&shifts[..1]) - shift(0).powi(2)).abs() < 1e-14);
        assert_eq!(made.explained(&[]), 0.0);
        Ok(())
    }

    #[test]
    fn wrong_matrices_are_refused_with_a_remedy_that_works() -> Result<(), CorrelationError> {
        let refused = |matrix: &[f64]| Correlations::new(vec![0, 1, 2], matrix.to_vec()).err();
        let mut wrong = MATRIX;
        wrong[1] = 0.4;
        assert!(matches!(refused(&wrong), Some(CorrelationError::NotSymmetric { row: 1, column: 0, .. })));
        wrong[1] = f64::NAN;
        assert!(matches!(refused(&wrong), Some(CorrelationError::NotFinite { row: 0, column: 1, .. })));
        let wrong = MATRIX.map(|x| 4.0 * x);
        assert!(matches!(refused(&wrong), Some(CorrelationError::Diagonal { row: 0, .. })));
        assert!(matches!(refused(&MATRIX[..4]), Some(CorrelationError::Size { actual: 4, n: 3 })));
        // The eigenvalues of this matrix are 1.9, 1.9 and -0.8.
        let wrong = [1.0, 0.9, 0.9, 0.9, 1.0, -0.9, 0.9, -0.9, 1.0];
        let Some(CorrelationError::NotPositive { eigenvalue, factor }) = refused(&wrong) else {
            panic!("accepted");
        };
        assert!((eigenvalue + 0.8).abs() < 1e-12);
        let mut shrunk = wrong.map(|x| x * factor);
        shrunk.iter_mut().step_by(4).for_each(|x| *x = 1.0);
        Correlations::new(vec![0, 1, 2], shrunk.to_vec())?;
        Ok(())
    }
}
