//! normfactor and lumi: factors on a sample, each of them a parameter.
//!
//! A product is linear in its factors. So a derivative is the product without a factor, and nothing is divided by one.

use crate::simd::Vector;

/// `product` times the factors in `list`, but for those at the places `without`: none for the value, one for a slope, two for a
/// second derivative.
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
