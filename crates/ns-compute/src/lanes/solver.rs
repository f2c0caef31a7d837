//! Factors the Gauss-Newton metrics of eight fits, one per SIMD lane, and multiplies vectors by their inverses (see
//! [`Metric`]).

use super::WIDTH;
use super::derivatives::Derivatives;
use super::evaluate::{add_product, at, put};
use super::group::Group;
use super::metric::Metric;
use super::own_metric;
use crate::shared_constants::FEWEST;
use crate::simd::{MulAdd, Vector, isa_fn};

/// Cholesky factors of the metric of every lane (one of eight fits), with working memory. The module `metric` defines
/// the matrices `M` (over the bins) and `K` (over the primal parameters), and the classes of parameters: local, dual
/// and primal.
#[derive(Debug)]
pub(super) struct Solver {
    pub(super) n_bins: usize,
    /// Square root of the weight of each bin in the metric.
    root: Vec<f64>,
    /// For each local parameter (a constrained parameter that acts on one bin) and lane (one of eight fits), 1 divided
    /// by the curvature of its constraint, or 0 if the lane holds the parameter at a bound.
    local: Vec<f64>,
    /// For each dual parameter (a constrained parameter that is eliminated from the metric) and lane (one of eight
    /// fits), 1 divided by the curvature of its constraint, or 0 if the lane holds the parameter at a bound.
    pub(super) dual: Vec<f64>,
    /// Working memory with one number per lane (one of eight fits) and dual parameter (a constrained parameter that is
    /// eliminated from the metric).
    pub(super) scaled: Vec<f64>,
    /// Working memory with [`own_metric::AT_ONCE`] numbers per bin and lane (one of eight fits).
    pub(super) scaled_rows: Vec<f64>,
    /// For each local parameter (a constrained parameter that acts on one bin) and lane (one of eight fits), the
    /// derivative of the bin's expected yield with respect to the parameter.
    reaction: Vec<f64>,
    /// Cholesky factor `L` of the matrix `M` over the bins (see the module `metric`), stored as a lower triangle, row
    /// by row. In place of each diagonal element its reciprocal is stored. If `M` is diagonal, only the diagonal is
    /// stored.
    pub(super) lower: Vec<f64>,
    /// Whether the matrix `M` over the bins is diagonal. This is the case if there are no dual parameters (constrained
    /// parameters that are eliminated from the metric).
    diagonal: bool,
    /// For each primal parameter (one that is not eliminated from the metric), the vector `L^-1 W^(1/2) J` with one
    /// element per bin. `L` is the factor in `lower`, the diagonal matrix `W` contains the weights of the bins, and `J`
    /// the derivatives of the expected yields with respect to the parameter.
    columns: Vec<f64>,
    /// Cholesky factor of the matrix `K` over the primal parameters (see the module `metric`), stored as a lower
    /// triangle, row by row. In place of each diagonal element its reciprocal is stored. For a parameter that a lane
    /// (one of eight fits) holds at a bound, the row is that of the unit matrix.
    inner: Vec<f64>,
    /// For each primal parameter (one that is not eliminated from the metric) and lane (one of eight fits), 1 if the
    /// lane moves the parameter, and 0 if the lane holds it at a bound.
    moves: Vec<f64>,
    /// Working memory with one number per bin and lane (one of eight fits).
    pub(super) bins: Vec<f64>,
    /// Working memory with one number per lane (one of eight fits) and primal parameter (one that is not eliminated
    /// from the metric).
    right: Vec<f64>,
}

/// Returns the index of the first element of row `i` in a lower triangle that is stored row by row.
#[inline(always)]
pub(super) fn row(i: usize) -> usize {
    i * (i + 1) / 2
}

impl Solver {
    /// Allocates the factors and working memory of eight lanes for `metric`.
    pub(super) fn new(metric: &Metric, n_bins: usize) -> Self {
        let primal = metric.primal.len();
        let diagonal = metric.dual.is_empty();
        let size = if diagonal { n_bins } else { row(n_bins) };
        Self {
            n_bins,
            root: vec![0.0; n_bins * WIDTH],
            local: vec![0.0; metric.locals.len() * WIDTH],
            dual: vec![0.0; metric.dual.len() * WIDTH],
            scaled: vec![0.0; metric.dual.len() * WIDTH],
            scaled_rows: vec![0.0; n_bins * own_metric::AT_ONCE * WIDTH],
            reaction: vec![0.0; metric.locals.len() * WIDTH],
            lower: vec![0.0; size * WIDTH],
            diagonal,
            columns: vec![0.0; primal * n_bins * WIDTH],
            inner: vec![0.0; row(primal) * WIDTH],
            moves: vec![0.0; primal * WIDTH],
            bins: vec![0.0; n_bins * WIDTH],
            right: vec![0.0; primal * WIDTH],
        }
    }
}

isa_fn! {
    /// Factors the metric of every lane (one of eight fits) at the lane's accepted point. The weights of the bins, the
    /// auxiliary data and the parameters that are held at bounds may differ between lanes.
    pub(super) fn factor(metric: &Metric, group: &Group, solver: &mut Solver) = factor_body
}

#[inline(always)]
fn factor_body<M: MulAdd>(metric: &Metric, group: &Group, solver: &mut Solver) {
    let (theta, weight, aux, held) = (&group.theta, &group.weight, &group.aux, &group.held);
    let splat = M::V8::splat;
    let (zero, one, half) = (splat(0.0), splat(1.0), splat(0.5));
    let n_bins = solver.n_bins;
    for b in 0..n_bins {
        put(&mut solver.root, b, at::<M::V8>(weight, b).sqrt());
        put(&mut solver.bins, b, zero);
    }
    for (i, local) in metric.locals.iter().enumerate() {
        let inverse = match local.count {
            None => splat(1.0 / local.stiffness),
            Some(a) => {
                let theta: M::V8 = at(theta, local.param);
                let count: M::V8 = at(aux, a);
                let few = splat(FEWEST);
                theta.mul(theta).div(count.below(few, few, count))
            }
        };
        let inverse = half.below(at(held, local.param), zero, inverse);
        put(&mut solver.local, i, inverse);
        let sum: M::V8 = at(&solver.bins, local.bin);
        let reaction: M::V8 =
            if local.factor { at(&group.reaction, local.param) } else { splat(local.reaction) };
        put(&mut solver.reaction, i, reaction);
        put(&mut solver.bins, local.bin, reaction.mul(reaction).mul_add(inverse, sum));
    }
    if solver.diagonal {
        for b in 0..n_bins {
            let root: M::V8 = at(&solver.root, b);
            let pivot = root.mul(root).mul_add(at(&solver.bins, b), one);
            put(&mut solver.lower, b, one.div(pivot.sqrt()));
        }
    } else {
        match &group.derivatives {
            Some(derivatives) => own_metric::fill::<M>(metric, held, derivatives, solver),
            None => fill::<M>(metric, held, solver),
        }
        scale_by_weights::<M>(solver);
        cholesky::<M>(n_bins, &mut solver.lower);
    }
    inner::<M>(metric, held, group.derivatives.as_ref(), solver);
}

/// Computes the matrix `J D^-1 J'` over the bins, as a lower triangle in `solver.lower`. `J` contains the derivatives
/// of the expected yields with respect to the dual parameters (constrained parameters that are eliminated from the
/// metric), and `D` the curvatures of their constraints. Parameters that a lane (one of eight fits) holds at a bound
/// are left out.
#[inline(always)]
fn fill<M: MulAdd>(metric: &Metric, held: &[f64], solver: &mut Solver) {
    let splat = M::V8::splat;
    let (zero, half) = (splat(0.0), splat(0.5));
    let n_bins = solver.n_bins;
    for (i, &kernel) in metric.kernel.iter().enumerate() {
        put(&mut solver.lower, i, splat(kernel));
    }
    for (i, (&p, &inverse)) in metric.dual.iter().zip(&metric.dual_inverse).enumerate() {
        let holds: M::V8 = at(held, p);
        put(&mut solver.dual, i, half.below(holds, zero, splat(inverse)));
        if held[p * WIDTH..][..WIDTH].iter().all(|&h| h == 0.0) {
            continue;
        }
        // A parameter that a lane holds is removed from the kernel of this lane.
        let taken = half.below(holds, splat(-inverse), zero);
        let reaction = &metric.dual_rows[i * n_bins..(i + 1) * n_bins];
        for j in 0..n_bins {
            for k in 0..=j {
                add_product(&mut solver.lower, row(j) + k, splat(reaction[j] * reaction[k]), taken);
            }
        }
    }
}

/// Replaces the matrix `J D^-1 J'` over the bins in `solver.lower` by `M = 1 + W^(1/2) (J D^-1 J' + B) W^(1/2)`. The
/// diagonal matrix `W` contains the weights of the bins. The diagonal matrix `B` contains the contributions of the
/// local parameters (constrained parameters that act on one bin); it is stored in `solver.bins`.
#[inline(always)]
fn scale_by_weights<M: MulAdd>(solver: &mut Solver) {
    let one = M::V8::splat(1.0);
    let n_bins = solver.n_bins;
    for i in 0..n_bins {
        let root: M::V8 = at(&solver.root, i);
        for j in 0..=i {
            let element: M::V8 = at(&solver.lower, row(i) + j);
            let scaled = element.mul(root.mul(at(&solver.root, j)));
            put(&mut solver.lower, row(i) + j, scaled);
        }
        let pivot: M::V8 = at(&solver.lower, row(i) + i);
        let pivot = root.mul(root).mul_add(at(&solver.bins, i), pivot);
        put(&mut solver.lower, row(i) + i, pivot.add(one));
    }
}

/// Replaces the symmetric `n x n` matrix `a` of every lane (one of eight fits) by its Cholesky factor. In place of each
/// diagonal element of the factor its reciprocal is stored. The elements of row `j` are read once for four rows at a
/// time.
#[inline(always)]
fn cholesky<M: MulAdd>(n: usize, a: &mut [f64]) {
    let one = M::V8::splat(1.0);
    for j in 0..n {
        let mut pivot: M::V8 = at(a, row(j) + j);
        for k in 0..j {
            let x: M::V8 = at(a, row(j) + k);
            pivot = pivot.sub(x.mul(x));
        }
        let inverse = one.div(pivot.sqrt());
        put(a, row(j) + j, inverse);
        let mut i = j + 1;
        while i < n {
            i += if n - i >= 4 { column::<M, 4>(i, j, inverse, a) } else { column::<M, 1>(i, j, inverse, a) };
        }
    }
}

/// Computes the elements `(i..i + N, j)` of the Cholesky factor in `a`. `inverse` is the reciprocal of the diagonal
/// element `(j, j)`. Returns `N`.
#[inline(always)]
fn column<M: MulAdd, const N: usize>(i: usize, j: usize, inverse: M::V8, a: &mut [f64]) -> usize {
    let mut sum = [M::V8::splat(0.0); N];
    for k in 0..j {
        let x: M::V8 = at(a, row(j) + k);
        for v in 0..N {
            sum[v] = x.mul_add(at(a, row(i + v) + k), sum[v]);
        }
    }
    for v in 0..N {
        let place = row(i + v) + j;
        let element: M::V8 = at(a, place);
        put(a, place, element.sub(sum[v]).mul(inverse));
    }
    N
}

/// Computes and factors the matrix `K` over the primal parameters (those that are not eliminated from the metric; see
/// the module `metric`).
#[inline(always)]
fn inner<M: MulAdd>(metric: &Metric, held: &[f64], derivatives: Option<&Derivatives>, solver: &mut Solver) {
    let splat = M::V8::splat;
    let (zero, one, half) = (splat(0.0), splat(1.0), splat(0.5));
    let n_bins = solver.n_bins;
    for (u, &p) in metric.primal.iter().enumerate() {
        let moves = half.below(at(held, p), zero, one);
        put(&mut solver.moves, u, moves);
        let reaction = &metric.primal_rows[u * n_bins..(u + 1) * n_bins];
        let column = &mut solver.columns[u * n_bins * WIDTH..(u + 1) * n_bins * WIDTH];
        for (b, &reaction) in reaction.iter().enumerate() {
            let reaction = derivatives.map_or(splat(reaction), |own| at(own.row(b), p));
            put(column, b, at::<M::V8>(&solver.root, b).mul(reaction).mul(moves));
        }
        forward_substitute::<M>(n_bins, solver.diagonal, &solver.lower, column);
        for v in 0..=u {
            let column = |u: usize| &solver.columns[u * n_bins * WIDTH..];
            let mut element = dot::<M::V8>(n_bins, column(u), column(v));
            if u == v {
                // A held parameter has 1 on the diagonal.
                let mut stiffness = splat(metric.primal_stiffness.get(u).copied().unwrap_or(0.0));
                if let Some(own) = derivatives.filter(|_| metric.primal_bends[u]) {
                    let bend: M::V8 = at(&own.second, p);
                    stiffness = stiffness.add(zero.below(bend, bend, zero));
                }
                element = half.below(moves, element.add(stiffness), one);
            }
            put(&mut solver.inner, row(u) + v, element);
        }
    }
    for &(u, v, coupling) in &metric.primal_couplings {
        // A held parameter is coupled to no other one.
        let moves = at::<M::V8>(&solver.moves, u).mul(at(&solver.moves, v));
        add_product(&mut solver.inner, row(u) + v, moves, splat(coupling));
    }
    cholesky::<M>(metric.primal.len(), &mut solver.inner);
}

/// Returns `sum_k a_k b_k` over the first `n` elements in every lane (one of eight fits). The sum is computed from two
/// partial sums.
#[inline(always)]
fn dot<V: Vector>(n: usize, a: &[f64], b: &[f64]) -> V {
    let (mut even, mut odd) = (V::splat(0.0), V::splat(0.0));
    let mut k = 0;
    while k + 1 < n {
        even = at::<V>(a, k).mul_add(at(b, k), even);
        odd = at::<V>(a, k + 1).mul_add(at(b, k + 1), odd);
        k += 2;
    }
    if k < n {
        even = at::<V>(a, k).mul_add(at(b, k), even);
    }
    even.add(odd)
}

/// Replaces `x` by `L^-1 x` in every lane (one of eight fits). `lower` contains the Cholesky factor `L`, or only its
/// diagonal if `diagonal` is true.
#[inline(always)]
fn forward_substitute<M: MulAdd>(n: usize, diagonal: bool, lower: &[f64], x: &mut [f64]) {
    if diagonal {
        for i in 0..n {
            put(x, i, at::<M::V8>(x, i).mul(at(lower, i)));
        }
        return;
    }
    for i in 0..n {
        let sum: M::V8 = dot(i, &lower[row(i) * WIDTH..], x);
        put(x, i, at::<M::V8>(x, i).sub(sum).mul(at(lower, row(i) + i)));
    }
}

/// Replaces `x` by `L^-T x` in every lane (one of eight fits). `lower` contains the Cholesky factor `L`, or only its
/// diagonal if `diagonal` is true.
#[inline(always)]
fn backward_substitute<M: MulAdd>(n: usize, diagonal: bool, lower: &[f64], x: &mut [f64]) {
    if diagonal {
        forward_substitute::<M>(n, true, lower, x);
        return;
    }
    for i in (0..n).rev() {
        let value = at::<M::V8>(x, i).mul(at(lower, row(i) + i));
        put(x, i, value);
        let minus = M::V8::splat(0.0).sub(value);
        for k in 0..i {
            add_product(x, k, minus, at(lower, row(i) + k));
        }
    }
}

isa_fn! {
    /// Computes `to = P^-1 from` in every lane (one of eight fits), where `P` is the factored metric. The elements of
    /// `to` for fixed parameters and for parameters that are held at bounds are 0.
    pub(super) fn solve(metric: &Metric, derivatives: Option<&Derivatives>, from: &[f64], solver: &mut Solver, to: &mut [f64]) = solve_body
}

#[inline(always)]
fn solve_body<M: MulAdd>(
    metric: &Metric,
    derivatives: Option<&Derivatives>,
    from: &[f64],
    solver: &mut Solver,
    to: &mut [f64],
) {
    let splat = M::V8::splat;
    let zero = splat(0.0);
    let n_bins = solver.n_bins;
    to.fill(0.0);
    for b in 0..n_bins {
        put(&mut solver.bins, b, zero);
    }
    // First, the displacements of the local and dual parameters due to their constraints alone, and the effects of
    // these displacements on the bins.
    for (i, local) in metric.locals.iter().enumerate() {
        let y = at::<M::V8>(from, local.param).mul(at(&solver.local, i));
        put(to, local.param, y);
        add_product(&mut solver.bins, local.bin, at(&solver.reaction, i), y);
    }
    for (i, &p) in metric.dual.iter().enumerate() {
        let y = at::<M::V8>(from, p).mul(at(&solver.dual, i));
        put(to, p, y);
        if derivatives.is_some() {
            continue;
        }
        let reaction = &metric.dual_rows[i * n_bins..(i + 1) * n_bins];
        for (b, &reaction) in reaction.iter().enumerate() {
            add_product(&mut solver.bins, b, splat(reaction), y);
        }
    }
    for b in 0..n_bins {
        if let Some(own) = derivatives {
            let sum = own_metric::over_dual::<M>(metric, own.row(b), to);
            let sum = sum.add(at(&solver.bins, b));
            put(&mut solver.bins, b, sum);
        }
        let scaled = at::<M::V8>(&solver.bins, b).mul(at(&solver.root, b));
        put(&mut solver.bins, b, scaled);
    }
    forward_substitute::<M>(n_bins, solver.diagonal, &solver.lower, &mut solver.bins);
    let n_primal = metric.primal.len();
    for (u, &p) in metric.primal.iter().enumerate() {
        let mut sum = zero;
        for b in 0..n_bins {
            sum = at::<M::V8>(&solver.columns, u * n_bins + b).mul_add(at(&solver.bins, b), sum);
        }
        let right = at::<M::V8>(from, p).sub(sum).mul(at(&solver.moves, u));
        put(&mut solver.right, u, right);
    }
    forward_substitute::<M>(n_primal, false, &solver.inner, &mut solver.right);
    backward_substitute::<M>(n_primal, false, &solver.inner, &mut solver.right);
    for (u, &p) in metric.primal.iter().enumerate() {
        let x: M::V8 = at(&solver.right, u);
        put(to, p, x);
        for b in 0..n_bins {
            add_product(&mut solver.bins, b, at(&solver.columns, u * n_bins + b), x);
        }
    }
    backward_substitute::<M>(n_bins, solver.diagonal, &solver.lower, &mut solver.bins);
    for b in 0..n_bins {
        let scaled = at::<M::V8>(&solver.bins, b).mul(at(&solver.root, b));
        put(&mut solver.bins, b, scaled);
    }
    for (i, local) in metric.locals.iter().enumerate() {
        let back = at::<M::V8>(&solver.bins, local.bin).mul(at(&solver.local, i));
        let y: M::V8 = at(to, local.param);
        put(to, local.param, y.sub(at::<M::V8>(&solver.reaction, i).mul(back)));
    }
    if let Some(own) = derivatives {
        own_metric::move_back::<M>(metric, own, solver, to);
        return;
    }
    for (i, &p) in metric.dual.iter().enumerate() {
        let (mut even, mut odd) = (zero, zero);
        let reaction = &metric.dual_rows[i * n_bins..(i + 1) * n_bins];
        let mut pairs = reaction.chunks_exact(2);
        for (half, pair) in pairs.by_ref().enumerate() {
            even = splat(pair[0]).mul_add(at(&solver.bins, 2 * half), even);
            odd = splat(pair[1]).mul_add(at(&solver.bins, 2 * half + 1), odd);
        }
        if let [last] = pairs.remainder() {
            even = splat(*last).mul_add(at(&solver.bins, n_bins - 1), even);
        }
        let y: M::V8 = at(to, p);
        put(to, p, y.sub(even.add(odd).mul(at(&solver.dual, i))));
    }
}
