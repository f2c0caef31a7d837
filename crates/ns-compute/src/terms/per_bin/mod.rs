//! Per-bin factors (shapesys, staterror and shapefactor): factors on the bins of a sample, with a separate parameter
//! for each bin.

use super::scale;
use crate::simd::Vector;

/// Returns `product` times the per-bin factors of a sample in bin `b`. For each factor, `list` contains the index of
/// the parameter in the channel's first bin. The factors at the positions `without` in the list are left out (see
/// [`scale::product`]).
#[inline(always)]
pub(crate) fn product<V: Vector, const ORDER: usize>(
    product: V,
    list: &[u32],
    b: usize,
    without: [usize; ORDER],
    factor: impl Fn(usize) -> V,
) -> V {
    scale::product(product, list, without, |first| factor(first + b))
}
