//! Densities that are sums of powers of `x`, of Chebyshev polynomials, or of Bernstein polynomials.

use ns_core::Observable;

use crate::events::program::{Builder, Slot};

/// Appends to the program `b` the steps that compute `sum_i c_i x^i`. Returns the slot (the index) of the result.
/// `own` contains the slots of the coefficients `c_i`.
pub(super) fn powers(b: &mut Builder, x: Slot, own: &[Slot]) -> Slot {
    let mut sum = b.number(0.0);
    for &c in own.iter().rev() {
        let product = b.mul(sum, x);
        sum = b.add(product, c);
    }
    sum
}

/// Appends to the program `b` the steps that compute the integral of `sum_i c_i x^i` over `lo..hi`. Returns the slot
/// (the index) of the result. `own` contains the slots of the coefficients `c_i`.
pub(super) fn powers_integral(b: &mut Builder, own: &[Slot], (lo, hi): (f64, f64)) -> Slot {
    let moment = |i: usize| {
        let n = i as i32 + 1;
        (hi.powi(n) - lo.powi(n)) / f64::from(n)
    };
    weighted(b, own, 0.0, moment)
}

/// Appends to the program `b` the steps that compute `1 + sum_i c_i T_(i+1)(z)`. Returns the slot (the index) of the
/// result. `own` contains the slots of the coefficients `c_i`. `T_n` are Chebyshev polynomials, and `z` is the
/// observable mapped from its axis to `-1..1`.
pub(super) fn chebyshev(b: &mut Builder, x: Slot, own: &[Slot], axis: &Observable) -> Slot {
    let z = mapped(b, x, axis, -1.0);
    let one = b.number(1.0);
    let twice = b.scale(2.0, z);
    let (mut before, mut current, mut sum) = (one, z, one);
    for &c in own {
        let term = b.mul(c, current);
        sum = b.add(sum, term);
        let product = b.mul(twice, current);
        let next = b.sub(product, before);
        (before, current) = (current, next);
    }
    sum
}

/// Appends to the program `b` the steps that compute the integral of the density of [`chebyshev`] over `lo..hi`.
/// Returns the slot (the index) of the result.
///
/// An antiderivative of the Chebyshev polynomial `T_n(z)` is `(T_(n+1)(z) / (n+1) - T_(n-1)(z) / (n-1)) / 2` for `n >
/// 1`, and `z^2 / 2` for `n = 1`.
pub(super) fn chebyshev_integral(
    b: &mut Builder,
    own: &[Slot],
    axis: &Observable,
    (lo, hi): (f64, f64),
) -> Slot {
    let half = 0.5 * (axis.max - axis.min);
    let z = |x: f64| (x - axis.min) / half - 1.0;
    // `T_n(z)` for z within [-1, 1] is cos(n arccos z).
    let t = |n: f64, z: f64| (n * z.clamp(-1.0, 1.0).acos()).cos();
    let antiderivative = |n: f64, z: f64| {
        if n == 1.0 { 0.5 * z * z } else { 0.5 * (t(n + 1.0, z) / (n + 1.0) - t(n - 1.0, z) / (n - 1.0)) }
    };
    let moment = |i: usize| {
        let n = i as f64 + 1.0;
        half * (antiderivative(n, z(hi)) - antiderivative(n, z(lo)))
    };
    weighted(b, own, hi - lo, moment)
}

/// Appends to the program `b` the steps that compute `sum_i c_i B_(i,n)(u)`. Returns the slot (the index) of the
/// result. `own` contains the slots of the `n + 1` coefficients `c_i`. `B_(i,n)` are Bernstein polynomials of degree
/// `n`, and `u` is the observable mapped from its axis to `0..1`.
pub(super) fn bernstein(b: &mut Builder, x: Slot, own: &[Slot], axis: &Observable) -> Slot {
    let u = mapped(b, x, axis, 0.0);
    let one = b.number(1.0);
    let rest = b.sub(one, u);
    let n = own.len().saturating_sub(1);
    let mut powers = vec![one];
    let mut rests = vec![one];
    for i in 0..n {
        let (next, next_rest) = (b.mul(powers[i], u), b.mul(rests[i], rest));
        powers.push(next);
        rests.push(next_rest);
    }
    let mut sum = b.number(0.0);
    for (i, &c) in own.iter().enumerate() {
        let basis = b.mul(powers[i], rests[n - i]);
        let basis = b.scale(binomial(n, i), basis);
        let term = b.mul(c, basis);
        sum = b.add(sum, term);
    }
    sum
}

/// Appends to the program `b` the steps that compute the integral of the density of [`bernstein`] over `lo..hi`.
/// Returns the slot (the index) of the result.
///
/// The integral of the Bernstein polynomial `B_(i,n)` from 0 to `u` is the sum of `B_(j,n+1)(u)` over `j > i`, divided
/// by `n + 1`.
pub(super) fn bernstein_integral(
    b: &mut Builder,
    own: &[Slot],
    axis: &Observable,
    (lo, hi): (f64, f64),
) -> Slot {
    let (length, n) = (axis.max - axis.min, own.len().saturating_sub(1));
    let basis = |j: usize, u: f64| {
        let m = n + 1;
        binomial(m, j) * u.powi(j as i32) * (1.0 - u).powi((m - j) as i32)
    };
    let cumulative = |i: usize, x: f64| {
        let u = (x - axis.min) / length;
        (i + 1..=n + 1).map(|j| basis(j, u)).sum::<f64>() / (n as f64 + 1.0)
    };
    weighted(b, own, 0.0, |i| length * (cumulative(i, hi) - cumulative(i, lo)))
}

/// Appends to the program `b` the steps that compute `constant + sum_i c_i weight(i)`. Returns the slot (the index) of
/// the result. `own` contains the slots of the coefficients `c_i`.
fn weighted(b: &mut Builder, own: &[Slot], constant: f64, weight: impl Fn(usize) -> f64) -> Slot {
    let mut sum = b.number(constant);
    for (i, &c) in own.iter().enumerate() {
        let term = b.scale(weight(i), c);
        sum = b.add(sum, term);
    }
    sum
}

/// Appends to the program `b` the steps that map the observable linearly from its axis to `least..1`. Returns the slot
/// (the index) of the result.
fn mapped(b: &mut Builder, x: Slot, axis: &Observable, least: f64) -> Slot {
    let origin = b.number(axis.min);
    let distance = b.sub(x, origin);
    let unit = b.scale((1.0 - least) / (axis.max - axis.min), distance);
    let least = b.number(least);
    b.add(unit, least)
}

/// Returns the binomial coefficient `n` over `k`.
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i as f64 + 1.0))
}
