//! A Gaussian constraint term, `(theta - aux)^2 / (2 sigma^2)`, without its normalisation. `theta` is the parameter,
//! `aux` its auxiliary datum and `sigma` the width. The functions take the argument `weight`, which is `1 / sigma`.

use crate::simd::Vector;

/// Returns the pull, which is the distance of the parameter `theta` from its auxiliary datum `aux` in units of the
/// width. `weight` is 1 divided by the width.
#[inline(always)]
pub(crate) fn pull<V: Vector>(theta: V, aux: V, weight: V) -> V {
    theta.sub(aux).mul(weight)
}

/// Returns the value of the constraint term for the given pull.
#[inline(always)]
pub(crate) fn value<V: Vector>(pull: V) -> V {
    pull.mul(pull).mul(V::splat(0.5))
}

/// Returns `sum` plus the derivative of the constraint term with respect to the parameter. `weight` is 1 divided by
/// the width.
#[inline(always)]
pub(crate) fn add_slope<V: Vector>(pull: V, weight: V, sum: V) -> V {
    pull.mul_add(weight, sum)
}

/// Returns the second derivative of the constraint term with respect to the parameter. `weight` is 1 divided by the
/// width.
#[inline(always)]
pub(crate) fn second<V: Vector>(weight: V) -> V {
    weight.mul(weight)
}
