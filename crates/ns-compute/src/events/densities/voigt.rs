//! Voigt density: a Breit-Wigner density convolved with a Gaussian.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::events::program::{Binary, Builder, Slot, Step};

/// Appends to the program `b` the steps that compute the density `Re w(a + i b)`. Returns the slot (the index) of the
/// result. `w` is the Faddeeva function, `a = (x - mean) / (sqrt(2) sigma)` and `b = width / (2 sqrt(2) sigma)`.
pub(super) fn value(b: &mut Builder, x: Slot, mean: Slot, width: Slot, sigma: Slot) -> Slot {
    let scale = b.number(FRAC_1_SQRT_2);
    let inverse = b.div(scale, sigma);
    let distance = b.sub(x, mean);
    let real = b.mul(distance, inverse);
    let half = b.scale(0.5, width);
    let imaginary = b.mul(half, inverse);
    b.push(Step::Binary(Binary::Voigt, real, imaginary))
}
