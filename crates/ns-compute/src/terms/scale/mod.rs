//! normfactor and lumi: factors on a sample, each of which is a parameter.
//!
//! A product is linear in its factors. So the derivative with respect to a factor is the product of all other
//! factors, and no division is needed.

use crate::simd::Vector;

/// Returns `product` times the factors in `list`, except those at the positions `without` in the list: no
/// position for the value, one for a first derivative, two for a second derivative.
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
