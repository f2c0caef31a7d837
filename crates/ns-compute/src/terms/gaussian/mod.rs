//! A Gaussian constraint term, `(theta - aux)^2 / (2 sigma^2)`, without its normalisation. The functions take
//! `weight`, which is `1 / sigma`.

use crate::simd::Vector;

/// Returns the pull: the distance of the parameter from its auxiliary datum in units of `sigma`.
#[inline(always)]
pub(crate) fn pull<V: Vector>(theta: V, aux: V, weight: V) -> V {
    theta.sub(aux).mul(weight)
}

/// Returns the constraint term for the given pull.
#[inline(always)]
pub(crate) fn value<V: Vector>(pull: V) -> V {
    pull.mul(pull).mul(V::splat(0.5))
}

/// Returns `sum` plus the derivative of the constraint term with respect to the parameter.
#[inline(always)]
pub(crate) fn add_slope<V: Vector>(pull: V, weight: V, sum: V) -> V {
    pull.mul_add(weight, sum)
}

/// Returns the second derivative of the constraint term with respect to the parameter.
#[inline(always)]
pub(crate) fn second<V: Vector>(weight: V) -> V {
    weight.mul(weight)
}
