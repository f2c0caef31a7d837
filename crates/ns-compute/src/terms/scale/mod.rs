//! Scale factors (normfactor and lumi): factors on a sample, each of which is a parameter.
//!
//! A product is linear in each of its factors. The derivative with respect to a factor is therefore the product of
//! all other factors, and no division is needed.

use crate::simd::Vector;

/// Returns `product` times the scale factors in `list`, except those at the positions `without` in the list. Without
/// positions the result is the value of the product, with one position it is a first derivative, and with two positions
/// it is a second derivative.
#[inline(always)]
pub(crate) fn product<V: Vector, const ORDER: usize>(
    mut product: V,
    list: &[u32],
    without: [usize; ORDER],
    factor: impl Fn(usize) -> V,
) -> V {
    for (place, &param) in list.iter().enumerate() {
        if !without.contains(&place) {
            product = product.mul(factor(param as usize));
        }
    }
    product
}
