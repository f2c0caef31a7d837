//! Polynomials on the panels of a table: from values at Chebyshev nodes to coefficients, and back at any place.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::table::Table;
use crate::events::program::pair;
use crate::events::sums::BLOCK;
use crate::simd::{MulAdd, Vector, exp, isa_fn};

/// Number of nodes and of coefficients of a panel.
pub(super) const NODES: usize = 16;

/// Number of components whose coefficients stand together.
const LANES: usize = 8;

/// Number of events whose polynomials are computed together, so that no sum waits for another one.
const TOGETHER: usize = 4;

/// The coefficients of [`LANES`] components on one panel, in ascending order of powers of `z`, which is -1 and 1 at the ends.
pub(super) type Polynomials = [f64; NODES * LANES];

/// Numbers that all panels share.
struct Basis {
    nodes: [f64; NODES],
    /// Factor of the value at node `j` in the coefficient of the Chebyshev polynomial `k`.
    weights: [[f64; NODES]; NODES],
    /// Coefficient of `z^p` in the Chebyshev polynomial `k`.
    powers: [[f64; NODES]; NODES],
}

fn basis() -> &'static Basis {
    static BASIS: OnceLock<Basis> = OnceLock::new();
    BASIS.get_or_init(|| {
        let angle = |j: usize| PI * (j as f64 + 0.5) / NODES as f64;
        let nodes = std::array::from_fn(|j| angle(j).cos());
        let weight =
            |k: usize, j: usize| (k as f64 * angle(j)).cos() * if k == 0 { 1.0 } else { 2.0 } / NODES as f64;
        let weights = std::array::from_fn(|k| std::array::from_fn(|j| weight(k, j)));
        let mut powers = [[0.0; NODES]; NODES];
        (powers[0][0], powers[1][1]) = (1.0, 1.0);
        for k in 2..NODES {
            for p in 0..NODES {
                let shifted = if p == 0 { 0.0 } else { 2.0 * powers[k - 1][p - 1] };
                powers[k][p] = shifted - powers[k - 2][p];
            }
        }
        Basis { nodes, weights, powers }
    })
}

/// Returns a node of a panel, on [-1, 1].
pub(super) fn node(j: usize) -> f64 {
    basis().nodes.get(j).copied().unwrap_or(0.0)
}

/// Returns the number of [`Polynomials`] for `size` components.
pub(super) fn groups(size: usize) -> usize {
    size.div_ceil(LANES)
}

/// Returns the larger one of the last two Chebyshev coefficients of the first component, and the first one. `values` has all
/// `size` components of one node after those of another.
pub(super) fn tail(values: &[f64], size: usize) -> (f64, f64) {
    let Basis { weights, .. } = basis();
    let coefficient = |k: usize| -> f64 {
        values.iter().step_by(size).zip(&weights[k]).map(|(value, weight)| value * weight).sum()
    };
    (coefficient(NODES - 1).abs().max(coefficient(NODES - 2).abs()), coefficient(0))
}

/// Appends the polynomials through the values at the nodes to `to`. `values` has all `size` components of one node after those
/// of another.
pub(super) fn transform(values: &[f64], size: usize, to: &mut Vec<Polynomials>) {
    let Basis { weights, powers, .. } = basis();
    for group in 0..groups(size) {
        let own = group * LANES..size.min((group + 1) * LANES);
        let mut chebyshev = [[0.0; LANES]; NODES];
        for (sums, weights) in chebyshev.iter_mut().zip(weights) {
            for (row, weight) in values.chunks_exact(size).zip(weights) {
                for (sum, value) in sums.iter_mut().zip(&row[own.clone()]) {
                    *sum += weight * value;
                }
            }
        }
        // The terms of a panel fall fast enough for powers: each is far below 2^-k.
        let mut polynomials = [0.0; NODES * LANES];
        for (sums, powers) in chebyshev.iter().zip(powers) {
            for (to, power) in polynomials.chunks_exact_mut(LANES).zip(powers) {
                if *power != 0.0 {
                    to.iter_mut().zip(sums).for_each(|(to, sum)| *to += power * sum);
                }
            }
        }
        to.push(polynomials);
    }
}

/// Writes the first components at `z`, as many as `out` has.
pub(super) fn at(polynomials: &[Polynomials], z: f64, out: &mut [f64]) {
    if let ([value], Some(first)) = (&mut *out, polynomials.first()) {
        *value = first.iter().step_by(LANES).rev().fold(0.0, |sum, a| sum * z + a);
        return;
    }
    for (to, polynomials) in out.chunks_mut(LANES).zip(polynomials) {
        let mut sums = [0.0; LANES];
        for row in polynomials.chunks_exact(LANES).rev() {
            for (sum, a) in sums.iter_mut().zip(row) {
                *sum = *sum * z + a;
            }
        }
        to.copy_from_slice(&sums[..to.len()]);
    }
}

isa_fn! {
    /// Writes the density at the events `x`, at most a block of them, with its derivatives: for each component a column of
    /// [`BLOCK`] numbers.
    pub(super) fn densities(table: &Table, x: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(table: &Table, x: &[f64], out: &mut [f64]) {
    let n = x.len().min(BLOCK);
    let (mut places, mut z) = ([0_usize; BLOCK], [0.0; BLOCK]);
    for (i, &x) in x[..n].iter().enumerate() {
        (places[i], z[i]) = table.find(x);
    }
    let groups = groups(table.size());
    let mut rows = [[0.0; LANES]; BLOCK];
    for (group, columns) in out.chunks_mut(LANES * BLOCK).enumerate() {
        for from in (0..n).step_by(TOGETHER) {
            let own: [&Polynomials; TOGETHER] =
                std::array::from_fn(|i| &table.polynomials[places[from + i] * groups + group]);
            let own_z: [M::V8; TOGETHER] = std::array::from_fn(|i| M::V8::splat(z[from + i]));
            let mut sums = [M::V8::splat(0.0); TOGETHER];
            for k in (0..NODES).rev() {
                for i in 0..TOGETHER {
                    sums[i] = sums[i].mul_add(own_z[i], M::V8::load(&own[i][LANES * k..]));
                }
            }
            for i in 0..TOGETHER {
                sums[i].store(&mut rows[from + i]);
            }
        }
        for (component, column) in columns.chunks_exact_mut(BLOCK).enumerate() {
            for (to, row) in column[..n].iter_mut().zip(&rows) {
                *to = row[component];
            }
        }
    }
    from_logarithms::<M>(table.variables, n, out);
}

/// Replaces a logarithm and its derivatives by the number and its derivatives, in columns.
#[inline(always)]
fn from_logarithms<M: MulAdd>(d: usize, n: usize, out: &mut [f64]) {
    let (value, rest) = out.split_at_mut(BLOCK);
    let value = &mut value[..n];
    for x in value.iter_mut() {
        *x = exp::<M>(*x);
    }
    let (first, second) = rest.split_at_mut(d * BLOCK);
    for i in 0..d {
        for j in 0..=i {
            let (a, b) = (&first[i * BLOCK..][..n], &first[j * BLOCK..][..n]);
            let to = &mut second[(pair(d, i, j) - 1 - d) * BLOCK..][..n];
            for k in 0..n {
                to[k] = value[k] * M::mul_add(a[k], b[k], to[k]);
            }
        }
    }
    for column in first.chunks_exact_mut(BLOCK) {
        for (to, p) in column[..n].iter_mut().zip(value.iter()) {
            *to *= p;
        }
    }
}
