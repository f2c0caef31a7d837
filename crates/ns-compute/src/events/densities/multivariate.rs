//! Multivariate normal density.

use crate::events::program::{Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density `exp(-d' C^-1 d / 2)` with `d = x - mean`. Returns the
/// slot (the index) of the result. `own` contains the slots of the means, and then of the covariance matrix `C`, row by
/// row.
///
/// With the Cholesky factorisation `C = L L'`, the exponent is `-|L^-1 d|^2 / 2`. `L` does not depend on the events,
/// so it is computed once per evaluation.
pub(super) fn value(b: &mut Builder, observables: &[usize], own: &[Slot]) -> Slot {
    let n = observables.len();
    let (mean, covariance) = own.split_at(n.min(own.len()));
    let mut factor = vec![0; n * n];
    let mut inverse = Vec::with_capacity(n);
    for i in 0..n {
        for j in 0..=i {
            let mut sum = covariance[i * n + j];
            for k in 0..j {
                let product = b.mul(factor[i * n + k], factor[j * n + k]);
                sum = b.sub(sum, product);
            }
            if i == j {
                inverse.push(b.unary(Unary::Power(-0.5), sum));
                factor[i * n + i] = b.unary(Unary::Sqrt, sum);
            } else {
                factor[i * n + j] = b.mul(sum, inverse[j]);
            }
        }
    }
    let mut total = b.number(0.0);
    let mut solved: Vec<Slot> = Vec::with_capacity(n);
    for (i, &x) in observables.iter().enumerate() {
        let x = b.push(Step::Observable(x));
        let mut sum = b.sub(x, mean[i]);
        for (k, &z) in solved.iter().enumerate() {
            let product = b.mul(factor[i * n + k], z);
            sum = b.sub(sum, product);
        }
        let z = b.mul(sum, inverse[i]);
        solved.push(z);
        let square = b.mul(z, z);
        total = b.add(total, square);
    }
    let exponent = b.scale(-0.5, total);
    b.unary(Unary::Exp, exponent)
}
