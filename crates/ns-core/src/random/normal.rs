//! Normal numbers by inversion: one uniform number, one quantile.
//!
//! M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
//! 37 (1988) 477, [doi:10.2307/2347330](https://doi.org/10.2307/2347330), the double-precision variant
//! PPND16: three ratios of polynomials of degree 7, with a relative error of about 1e-16 before rounding.
//!
//! Inversion takes exactly one block for each number, whatever the number is: no attempts, no cosine, no
//! table, and the result is monotonic in the uniform number. The uniform number is the one centred at 0,
//! so that the tails are symmetric and the distance to the nearer end is exact. The farthest values are
//! +-8.29 (probability 2<sup>-54</sup>).

use super::{RandomError, Stream, centred_uniform, ln};

/// Up to this distance from the median the central ratio is used.
const CENTRAL: f64 = 0.425;
/// [`CENTRAL`] squared.
const CENTRAL_SQUARED: f64 = 0.180_625;
/// Up to this value of sqrt(-ln p) the ratio of the near tail is used.
const NEAR_TAIL: f64 = 5.0;
/// Where the ratio of the near tail is centred.
const NEAR_CENTRE: f64 = 1.6;

/// A ratio of two polynomials of degree 7, highest power first.
struct Ratio {
    numerator: [f64; 8],
    denominator: [f64; 8],
}

impl Ratio {
    /// Value at `r`.
    #[inline]
    fn at(&self, r: f64) -> f64 {
        polynomial(&self.numerator, r) / polynomial(&self.denominator, r)
    }
}

/// A polynomial of degree 7 by Estrin's scheme: pairs, then pairs of pairs, so that a processor can work on
/// four products at once.
#[inline]
fn polynomial(c: &[f64; 8], r: f64) -> f64 {
    let [c7, c6, c5, c4, c3, c2, c1, c0] = *c;
    let r2 = r * r;
    let r4 = r2 * r2;
    let high = (c7 * r + c6) * r2 + (c5 * r + c4);
    let low = (c3 * r + c2) * r2 + (c1 * r + c0);
    high * r4 + low
}

/// The centre: the quantile over its distance from the median.
const CENTRE: Ratio = Ratio {
    numerator: [
        2.509_080_928_730_122_672_7e3,
        3.343_057_558_358_812_810_5e4,
        6.726_577_092_700_870_085_3e4,
        4.592_195_393_154_987_145_7e4,
        1.373_169_376_550_946_112_5e4,
        1.971_590_950_306_551_442_7e3,
        1.331_416_678_917_843_774_5e2,
        3.387_132_872_796_366_608_0e0,
    ],
    denominator: [
        5.226_495_278_852_854_561_0e3,
        2.872_908_573_572_194_267_4e4,
        3.930_789_580_009_271_061_0e4,
        2.121_379_430_158_659_586_7e4,
        5.394_196_021_424_751_107_7e3,
        6.871_870_074_920_579_083_0e2,
        4.231_333_070_160_091_125_2e1,
        1.0,
    ],
};

/// The near tail, in sqrt(-ln p) - 1.6.
const NEAR: Ratio = Ratio {
    numerator: [
        7.745_450_142_783_414_076_40e-4,
        2.272_384_498_926_918_458_33e-2,
        2.417_807_251_774_506_117_70e-1,
        1.270_458_252_452_368_382_58e0,
        3.647_848_324_763_204_605_04e0,
        5.769_497_221_460_691_405_50e0,
        4.630_337_846_156_545_295_90e0,
        1.423_437_110_749_683_577_34e0,
    ],
    denominator: [
        1.050_750_071_644_416_843_24e-9,
        5.475_938_084_995_344_946_00e-4,
        1.519_866_656_361_645_719_66e-2,
        1.481_039_764_274_800_745_90e-1,
        6.897_673_349_851_000_045_50e-1,
        1.676_384_830_183_803_849_40e0,
        2.053_191_626_637_758_821_87e0,
        1.0,
    ],
};

/// The far tail, in sqrt(-ln p) - 5: p below 1.4e-11.
const FAR: Ratio = Ratio {
    numerator: [
        2.010_334_399_292_288_132_65e-7,
        2.711_555_568_743_487_578_15e-5,
        1.242_660_947_388_078_438_60e-3,
        2.653_218_952_657_612_309_30e-2,
        2.965_605_718_285_048_912_30e-1,
        1.784_826_539_917_291_335_80e0,
        5.463_784_911_164_114_369_90e0,
        6.657_904_643_501_103_777_20e0,
    ],
    denominator: [
        2.044_263_103_389_939_785_64e-15,
        1.421_511_758_316_445_888_70e-7,
        1.846_318_317_510_054_681_80e-5,
        7.868_691_311_456_132_591_00e-4,
        1.487_536_129_085_061_485_25e-2,
        1.369_298_809_227_358_053_10e-1,
        5.998_322_065_558_879_376_90e-1,
        1.0,
    ],
};

/// The standard normal number below which a probability of `1/2 + centred` lies.
///
/// `centred` is between -1/2 and 1/2, ends excluded; NaN otherwise. The probability is given by its distance from
/// the median so that both tails keep all their digits. The relative error is below 1e-15.
#[must_use]
#[inline]
pub fn normal_quantile(centred: f64) -> f64 {
    let distance = centred.abs();
    if distance <= CENTRAL {
        return centred * CENTRE.at(CENTRAL_SQUARED - centred * centred);
    }
    let r = (-ln(0.5 - distance)).sqrt();
    let magnitude = if r <= NEAR_TAIL { NEAR.at(r - NEAR_CENTRE) } else { FAR.at(r - NEAR_TAIL) };
    if centred < 0.0 { -magnitude } else { magnitude }
}

/// A normal distribution to draw from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    mean: f64,
    sigma: f64,
}

impl Normal {
    /// The distribution with this mean and width; a width of 0 always gives the mean.
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

    /// The mean.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The width.
    #[must_use]
    pub const fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The number that belongs to this slot of this stream. It uses words 0 and 1 of attempt 0.
    #[must_use]
    #[inline]
    pub fn draw(&self, stream: &Stream, slot: u32) -> f64 {
        let [low, high, _, _] = stream.block(slot, 0);
        self.mean + self.sigma * normal_quantile(centred_uniform(low, high))
    }
}
