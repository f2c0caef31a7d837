//! A Gaussian constraint, `(theta - aux)^2 / (2 sigma^2)`, without its normalisation. Its weight is `1 / sigma`.

use crate::simd::Vector;

/// How far the parameter is from its auxiliary datum, in widths.
#[inline(always)]
pub(crate) fn pull<V: Vector>(theta: V, aux: V, weight: V) -> V {
    theta.sub(aux).mul(weight)
}

/// The term, from its pull.
#[inline(always)]
pub(crate) fn value<V: Vector>(pull: V) -> V {
    pull.mul(pull).mul(V::splat(0.5))
}

/// Adds the slope to `sum`.
#[inline(always)]
pub(crate) fn add_slope<V: Vector>(pull: V, weight: V, sum: V) -> V {
    pull.mul_add(weight, sum)
}

/// Second derivative.
#[inline(always)]
pub(crate) fn second<V: Vector>(weight: V) -> V {
    weight.mul(weight)
}
