//! Factors of small symmetric matrices, which are stored row by row.

/// Returns the lower Cholesky factor of a symmetric matrix, or `None` if the matrix is not positive.
pub(crate) fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let row = |k: usize| factor.get(k * n..k * n + j).unwrap_or_default();
            let sum: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
            let rest = matrix.get(i * n + j)? - sum;
            let entry = if i == j {
                if !(rest > 1e-12 * matrix.get(i * n + i)?) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / factor.get(j * n + j)?
            };
            *factor.get_mut(i * n + j)? = entry;
        }
    }
    Some(factor)
}

/// Eigenvalues and eigenvectors (in columns) of a symmetric matrix by Jacobi rotations (G. H. Golub, C. F. Van Loan, Matrix
/// Computations, algorithm 8.5.2).
pub(crate) fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v = vec![0.0; n * n];
    v.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    let get = |m: &[f64], i: usize, j: usize| m.get(i * n + j).copied().unwrap_or(0.0);
    let rotate = |m: &mut [f64], x: usize, y: usize, (c, s): (f64, f64)| {
        let (p, q) = (m.get(x).copied().unwrap_or(0.0), m.get(y).copied().unwrap_or(0.0));
        if let Some(to) = m.get_mut(x) {
            *to = c * p - s * q;
        }
        if let Some(to) = m.get_mut(y) {
            *to = s * p + c * q;
        }
    };
    for _ in 0..60 {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| get(&a, i, j).powi(2)).sum();
        if off < 1e-26 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let apq = get(&a, p, q);
                if apq == 0.0 {
                    continue;
                }
                let tau = (get(&a, q, q) - get(&a, p, p)) / (2.0 * apq);
                let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let turn = (c, t * c);
                for k in 0..n {
                    rotate(&mut a, k * n + p, k * n + q, turn);
                }
                for k in 0..n {
                    rotate(&mut a, p * n + k, q * n + k, turn);
                    rotate(&mut v, k * n + p, k * n + q, turn);
                }
            }
        }
    }
    ((0..n).map(|i| get(&a, i, i)).collect(), v)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_matrix() {
        let matrix = [4.0, 2.0, 2.0, 3.0];
        let l = cholesky(&matrix, 2).unwrap();
        assert!((l[0] * l[0] - 4.0).abs() < 1e-14 && (l[2] * l[0] - 2.0).abs() < 1e-14);
        assert!((l[2] * l[2] + l[3] * l[3] - 3.0).abs() < 1e-14);
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn eigenvectors_are_stretched_by_their_eigenvalues() {
        let matrix = [2.0, 1.0, 0.5, 1.0, 3.0, -0.4, 0.5, -0.4, 1.0];
        let (values, vectors) = eigen(&matrix, 3);
        for k in 0..3 {
            for i in 0..3 {
                let product: f64 = (0..3).map(|j| matrix[i * 3 + j] * vectors[j * 3 + k]).sum();
                assert!((product - values[k] * vectors[i * 3 + k]).abs() < 1e-12);
            }
        }
    }
}
