//! Computes the parts of the metric that depend on the derivatives at the point of each lane (one of eight fits that
//! are computed at once; see [`Derivatives`]).

use super::derivatives::Derivatives;
use super::evaluate::{add_product, at, put};
use super::metric::Metric;
use super::solver::{Solver, row};
use crate::shared_constants::LEAST_STIFFNESS;
use crate::simd::{MulAdd, Vector};

/// Number of parameters whose contributions to the metric are computed together, so that their derivatives stay in the
/// cache.
pub(super) const AT_ONCE: usize = 16;

/// Computes the matrix `J D^-1 J'` over the bins for each lane (one of eight fits), and writes it to `solver.lower`, as
/// a part of the solver's matrix `M`. `J` contains the derivatives of the expected yields at the lane's point with
/// respect to the dual parameters (constrained parameters that are eliminated from the metric). The diagonal matrix `D`
/// contains their curvatures: those of the constraints plus those from the second derivatives of the expected yields.
/// Each element of `D` is at least [`LEAST_STIFFNESS`] times the curvature of the constraint.
#[inline(always)]
pub(super) fn fill<M: MulAdd>(metric: &Metric, held: &[f64], derivatives: &Derivatives, solver: &mut Solver) {
    let splat = M::V8::splat;
    let (zero, one, half) = (splat(0.0), splat(1.0), splat(0.5));
    let n_bins = solver.n_bins;
    for i in 0..metric.dual.len() {
        let (p, inverse) = (metric.dual[i], metric.dual_inverse[i]);
        let stiffness = splat(1.0 / inverse);
        let least = splat(LEAST_STIFFNESS / inverse);
        let sum = stiffness.add(at(&derivatives.second, p));
        let inverse = one.div(sum.below(least, least, sum));
        let inverse = half.below(at(held, p), zero, inverse);
        put(&mut solver.dual, i, inverse);
    }
    solver.lower.fill(0.0);
    // A few parameters are handled together. Their derivatives in all bins stay in the cache.
    for (chunk, params) in metric.dual.chunks(AT_ONCE).enumerate() {
        for j in 0..n_bins {
            let own = derivatives.row(j);
            for (i, &p) in params.iter().enumerate() {
                let scaled = at::<M::V8>(own, p).mul(at(&solver.dual, chunk * AT_ONCE + i));
                put(&mut solver.scaled_rows, j * AT_ONCE + i, scaled);
            }
        }
        let mut j = 0;
        while j < n_bins {
            let four = n_bins - j >= 4;
            let end = if four { j + 4 } else { j + 1 };
            let mut k = 0;
            while k < end {
                k += match (four, end - k >= 4) {
                    (true, _) => products::<M, 4, 4>(params, derivatives, j, k, solver),
                    (false, true) => products::<M, 1, 4>(params, derivatives, j, k, solver),
                    (false, false) => products::<M, 1, 1>(params, derivatives, j, k, solver),
                };
            }
            j = end;
        }
    }
}

/// Adds the contributions of the parameters `params` to the elements `(j..j + N, k..k + K)` of the matrix `J D^-1 J'`
/// over the bins (see [`fill`]). Elements above the diagonal are left out. Returns `K`.
#[inline(always)]
fn products<M: MulAdd, const N: usize, const K: usize>(
    params: &[usize],
    derivatives: &Derivatives,
    j: usize,
    k: usize,
    solver: &mut Solver,
) -> usize {
    // Loops instead of `from_fn` and `zip`: closures have no instruction set, so their calls are not inlined.
    let mut rows: [&[f64]; K] = [&[]; K];
    for v in 0..K {
        rows[v] = derivatives.row(k + v);
    }
    let mut sums = [[M::V8::splat(0.0); K]; N];
    for (i, &p) in params.iter().enumerate() {
        let mut row = [M::V8::splat(0.0); K];
        for v in 0..K {
            row[v] = at(rows[v], p);
        }
        for u in 0..N {
            let scaled: M::V8 = at(&solver.scaled_rows, (j + u) * AT_ONCE + i);
            for v in 0..K {
                sums[u][v] = scaled.mul_add(row[v], sums[u][v]);
            }
        }
    }
    for u in 0..N {
        for v in 0..K {
            if k + v <= j + u {
                let place = row(j + u) + k + v;
                let before: M::V8 = at(&solver.lower, place);
                put(&mut solver.lower, place, before.add(sums[u][v]));
            }
        }
    }
    K
}

/// Returns `sum_p row_p x_p` over the dual parameters (those that are eliminated from the metric) in every lane (one of
/// eight fits). The summands are added to four partial sums in turn.
#[inline(always)]
pub(super) fn over_dual<M: MulAdd>(metric: &Metric, row: &[f64], x: &[f64]) -> M::V8 {
    let mut sums = [M::V8::splat(0.0); 4];
    let mut fours = metric.dual.chunks_exact(4);
    for four in fours.by_ref() {
        for k in 0..4 {
            sums[k] = at::<M::V8>(row, four[k]).mul_add(at(x, four[k]), sums[k]);
        }
    }
    for &p in fours.remainder() {
        sums[0] = at::<M::V8>(row, p).mul_add(at(x, p), sums[0]);
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

/// Subtracts `D^-1 J' x` from the elements of `to` that belong to dual parameters (those that are eliminated from the
/// metric). `D` contains their curvatures, `J` the derivatives of the expected yields, and `x` is the vector
/// `solver.bins`.
#[inline(always)]
pub(super) fn move_back<M: MulAdd>(
    metric: &Metric,
    derivatives: &Derivatives,
    solver: &mut Solver,
    to: &mut [f64],
) {
    for i in 0..metric.dual.len() {
        put(&mut solver.scaled, i, M::V8::splat(0.0));
    }
    for b in 0..solver.n_bins {
        let (row, back): (_, M::V8) = (derivatives.row(b), at(&solver.bins, b));
        for (i, &p) in metric.dual.iter().enumerate() {
            add_product(&mut solver.scaled, i, at(row, p), back);
        }
    }
    for (i, &p) in metric.dual.iter().enumerate() {
        let sum: M::V8 = at(&solver.scaled, i);
        let y: M::V8 = at(to, p);
        put(to, p, y.sub(sum.mul(at(&solver.dual, i))));
    }
}
