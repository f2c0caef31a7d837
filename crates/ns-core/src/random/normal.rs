//! Draws normal random numbers by inversion: each is the quantile of one uniform number.
//!
//! M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988)
//! 477, [doi:10.2307/2347330](https://doi.org/10.2307/2347330), the double-precision variant PPND16. It consists of
//! three ratios of polynomials of degree 7, with a relative error of about 1e-16 before rounding.
//!
//! Inversion takes exactly one random block for each number, needs no rejection, cosine or table, and is
//! monotonic in the uniform number. The uniform number is centred at 0, so that the tails are symmetric and
//! the distance to the nearer end of the interval is exact. The largest values are +-8.29 (probability
//! 2<sup>-54</sup>).

use super::constants::{
    CENTRAL, CENTRAL_SQUARED, NEAR_TAIL, NEAR_TAIL_CENTRE, NORMAL_CENTRE_DENOMINATOR,
    NORMAL_CENTRE_NUMERATOR, NORMAL_FAR_DENOMINATOR, NORMAL_FAR_NUMERATOR, NORMAL_NEAR_DENOMINATOR,
    NORMAL_NEAR_NUMERATOR,
};
use super::{RandomError, Stream, centred_uniform, ln};

/// A ratio of two polynomials of degree 7. The coefficient of the highest power comes first.
struct Ratio {
    numerator: [f64; 8],
    denominator: [f64; 8],
}

impl Ratio {
    /// Returns the value of the ratio at `r`.
    #[inline]
    fn at(&self, r: f64) -> f64 {
        polynomial(&self.numerator, r) / polynomial(&self.denominator, r)
    }
}

/// Evaluates a polynomial of degree 7 by Estrin's scheme. The coefficient of the highest power comes first. The scheme
/// sums pairs of terms, then pairs of pairs, so that a CPU can compute four products at once.
#[inline]
fn polynomial(c: &[f64; 8], r: f64) -> f64 {
    let [c7, c6, c5, c4, c3, c2, c1, c0] = *c;
    let r2 = r * r;
    let r4 = r2 * r2;
    let high = (c7 * r + c6) * r2 + (c5 * r + c4);
    let low = (c3 * r + c2) * r2 + (c1 * r + c0);
    high * r4 + low
}

/// The ratio of polynomials for probabilities `p` near 1/2. It gives the quantile divided by `p - 1/2`, as a
/// function of `0.425^2 - (p - 1/2)^2`.
const CENTRE: Ratio = Ratio { numerator: NORMAL_CENTRE_NUMERATOR, denominator: NORMAL_CENTRE_DENOMINATOR };

/// The ratio of polynomials for the near tail, i.e. for tail probabilities `p` down to 1.4e-11. It gives the quantile
/// as a function of `sqrt(-ln p) - 1.6`.
const NEAR: Ratio = Ratio { numerator: NORMAL_NEAR_NUMERATOR, denominator: NORMAL_NEAR_DENOMINATOR };

/// The ratio of polynomials for the far tail, i.e. for tail probabilities `p` below 1.4e-11. It gives the quantile as a
/// function of `sqrt(-ln p) - 5`.
const FAR: Ratio = Ratio { numerator: NORMAL_FAR_NUMERATOR, denominator: NORMAL_FAR_DENOMINATOR };

/// Returns the standard normal quantile of the probability `1/2 + centred`.
///
/// `centred` must be between -1/2 and 1/2, ends excluded; otherwise the result is NaN. The probability is
/// given by its distance from 1/2 so that no digits are lost in either tail. The relative error is below
/// 1e-15.
#[must_use]
#[inline]
pub fn normal_quantile(centred: f64) -> f64 {
    let distance = centred.abs();
    if distance <= CENTRAL {
        return centred * CENTRE.at(CENTRAL_SQUARED - centred * centred);
    }
    let r = (-ln(0.5 - distance)).sqrt();
    let magnitude = if r <= NEAR_TAIL { NEAR.at(r - NEAR_TAIL_CENTRE) } else { FAR.at(r - NEAR_TAIL) };
    if centred < 0.0 { -magnitude } else { magnitude }
}

/// A normal distribution from which random numbers are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    mean: f64,
    sigma: f64,
}

impl Normal {
    /// Returns the distribution with this mean and width (standard deviation). With a width of 0 every draw
    /// gives the mean.
    ///
    /// # Errors
    ///
    /// [`RandomError::NormalShape`] if the mean or the width is not finite, or the width is negative.
    pub fn new(mean: f64, sigma: f64) -> Result<Self, RandomError> {
        if mean.is_finite() && sigma.is_finite() && sigma >= 0.0 {
            Ok(Self { mean, sigma })
        } else {
            Err(RandomError::NormalShape { mean, sigma })
        }
    }

    /// Returns the mean.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the width (standard deviation).
    #[must_use]
    pub const fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Draws the number that belongs to this slot (index of a random draw within its toy) of this stream. It depends
    /// on words 0 and 1 of attempt 0 of the slot.
    #[must_use]
    #[inline]
    pub fn draw(&self, stream: &Stream, slot: u32) -> f64 {
        let [low, high, _, _] = stream.block(slot, 0);
        self.mean + self.sigma * normal_quantile(centred_uniform(low, high))
    }
}
