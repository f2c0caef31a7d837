//! Multivariate normal density.

use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density `exp(-d' C^-1 d / 2)` with `d = x - mean`. Returns the
/// slot (the index) of the result. `own` contains the slots of the means, and then of the covariance matrix `C`, row by
/// row.
///
/// With the Cholesky factorisation `C = L L'`, the exponent is `-|L^-1 d|^2 / 2`. `L` does not depend on the events,
/// so it is computed once per evaluation.
pub(super) fn value(b: &mut Builder, observables: &[usize], own: &[Slot]) -> Slot {
    let n = observables.len();
    let (mean, covariance) = own.split_at(n.min(own.len()));
    let (factor, inverse) = factorise(b, covariance, n);
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

/// Appends to the program `b` the steps of the Cholesky factorisation `C = L L'` of an `n x n` matrix, of which only the
/// lower triangle is read. Returns the slots of `L`, row by row, and of the inverse of its diagonal.
fn factorise(b: &mut Builder, covariance: &[Slot], n: usize) -> (Vec<Slot>, Vec<Slot>) {
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
    (factor, inverse)
}

/// Appends to the program `b` the steps that compute the integrand of the integral of the density over a box. Returns
/// the slot (the index) of the result. `sides` contains the ends of the box. Only the first `cut` observables of `order`
/// have ends; the box contains all of the others.
///
/// The integral over the observables without ends, and over the last one with ends, is closed. With the Cholesky
/// factorisation `C = L L'` in this order and `z = L^-1 (x - mean)`, it leaves the integrand
/// `(2 pi)^((n - k) / 2) L_kk ... L_nn exp(-(z_1^2 + ... + z_(k-1)^2) / 2) Phi(a, b)` of the first `k - 1` observables,
/// which are the observables 0 to `k - 2` of the program. `k` is `cut`, and `Phi(a, b)` the integral of `exp(-t^2 / 2)`
/// between the two ends of observable `k`, given the others. Without ends the integral is
/// `(2 pi)^(n / 2) L_11 ... L_nn`.
pub(in crate::events) fn integrand(
    b: &mut Builder,
    own: &[Slot],
    (order, cut): (&[usize], usize),
    sides: &[(f64, f64)],
) -> Slot {
    let n = order.len();
    let (mean, covariance) = own.split_at(n.min(own.len()));
    let ordered: Vec<Slot> = order
        .iter()
        // Only the lower triangle of the matrix is read.
        .flat_map(|&i| order.iter().map(move |&j| (i.max(j), i.min(j))))
        .map(|(i, j)| covariance[i * n + j])
        .collect();
    let (factor, inverse) = factorise(b, &ordered, n);
    let free = n - cut;
    let mut total = b.number((std::f64::consts::TAU).powf(0.5 * free as f64));
    for i in cut.saturating_sub(1)..n {
        total = b.mul(total, factor[i * n + i]);
    }
    let mut squares = b.number(0.0);
    let mut solved: Vec<Slot> = Vec::with_capacity(cut);
    for (i, &axis) in order.iter().enumerate().take(cut) {
        let standard = |b: &mut Builder, x: Slot, solved: &[Slot]| {
            let mut sum = b.sub(x, mean[axis]);
            for (k, &z) in solved.iter().enumerate() {
                let product = b.mul(factor[i * n + k], z);
                sum = b.sub(sum, product);
            }
            b.mul(sum, inverse[i])
        };
        if i + 1 == cut {
            let (lo, hi) = sides.get(axis).copied().unwrap_or((f64::NAN, f64::NAN));
            let (lo, hi) = (b.number(lo), b.number(hi));
            let (lo, hi) = (standard(b, lo, &solved), standard(b, hi, &solved));
            let inner = b.push(Step::Binary(Binary::NormalIntegral, lo, hi));
            total = b.mul(total, inner);
        } else {
            let x = b.push(Step::Observable(i));
            let z = standard(b, x, &solved);
            solved.push(z);
            let square = b.mul(z, z);
            squares = b.add(squares, square);
        }
    }
    if solved.is_empty() {
        return total;
    }
    let exponent = b.scale(-0.5, squares);
    let outer = b.unary(Unary::Exp, exponent);
    b.mul(total, outer)
}
