//! Constants of the samplers, which GPUs need too in order to draw the same bits: the C++ header of the
//! kernels is made from them (`device/header.rs` of `ns-compute`). The functions that use the constants
//! explain them.

/// Factor by which a round of Philox multiplies counter word 0.
pub const PHILOX_MULTIPLIER_0: u32 = 0xD251_1F53;

/// Factor by which a round of Philox multiplies counter word 2.
pub const PHILOX_MULTIPLIER_2: u32 = 0xCD9E_8D57;

/// Number added to key word 0 after each round of Philox: the fractional part of the golden ratio, in 32
/// bits.
pub const PHILOX_WEYL_0: u32 = 0x9E37_79B9;

/// Number added to key word 1 after each round of Philox: the fractional part of the square root of 3, in 32
/// bits.
pub const PHILOX_WEYL_1: u32 = 0xBB67_AE85;

/// Number of rounds of Philox.
pub const PHILOX_ROUNDS: u32 = 10;

/// 2<sup>-53</sup>, the spacing of uniform numbers.
pub const UNIFORM_STEP: f64 = 1.0 / (1_u64 << 53) as f64;

/// ln 2 cut to 32 significant bits, so that its product with an exponent (11 bits) is exact.
pub const LN2_UPPER: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);

/// The difference ln 2 - [`LN2_UPPER`], 1.9e-10.
pub const LN2_REST: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);

/// The bits of 1/sqrt(2) as a double, with the lower 32 bits set to zero.
pub const HALF_ROOT_UPPER: u64 = 0x3FE6_A09E_0000_0000;

/// Mask of the 52 fraction bits of a double.
pub const FRACTION_BITS: u64 = (1 << 52) - 1;

/// Bias of the exponent of a double.
pub const EXPONENT_BIAS: i64 = 1023;

/// Coefficients 2/(2j+1) for j = 10 down to 1 of the series of (2 atanh s - 2 s) / s in powers of s^2.
pub const LN_TERMS: [f64; 10] = [
    2.0 / 21.0,
    2.0 / 19.0,
    2.0 / 17.0,
    2.0 / 15.0,
    2.0 / 13.0,
    2.0 / 11.0,
    2.0 / 9.0,
    2.0 / 7.0,
    2.0 / 5.0,
    2.0 / 3.0,
];

/// The number 2 pi.
pub const TWO_PI: f64 = std::f64::consts::TAU;

/// Errors of Stirling's formula, `ln k! - [(k + 1/2) ln k - k + ln(2 pi)/2]`, for k = 0 (unused) to 15.
pub const STIRLING_ERRORS: [f64; 16] = [
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
    0.01189670994589177,
    0.010411265261972096,
    0.009255462182712733,
    0.00833056343336287,
    0.007573675487951841,
    0.00694284010720953,
    0.006408994188004207,
    0.0059513701127588475,
    0.005554733551962801,
];

/// Coefficients of Stirling's series, which is 1/k times a polynomial in 1/k^2: `B_2j / (2j (2j-1))` for j = 5 to 1,
/// with the Bernoulli numbers `B_2j`.
pub const STIRLING_TERMS: [f64; 5] = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];

/// Coefficients 1/(2j+1), for j = 8 down to 1, of the series of (atanh w - w) / w in powers of w^2.
pub const POISSON_DEVIANCE_TERMS: [f64; 8] =
    [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0];

/// The Poisson deviance is computed by a series if the difference of count and mean is less than this
/// fraction of their sum.
pub const NEAR_THE_MEAN: f64 = 0.1;

/// Bound for the quick rejection in the Poisson rejection method PTRS. An attempt uses two uniform numbers, `u` in
/// (-1/2, 1/2) and `v` in (0, 1). If the distance of `u` from the nearer end of its interval is below this bound and
/// below `v`, the attempt is rejected at once.
pub const EDGE: f64 = 0.013;

/// Smallest distance of `u` from the nearer end of (-1/2, 1/2) at which the Poisson rejection method PTRS tries its quick
/// acceptance (the squeeze). The quick acceptance accepts a count without computing its probability.
pub const SQUEEZE_FROM: f64 = 0.07;

/// Number added to a proposed Poisson count before it is rounded down.
pub const CENTRE_OF_COUNTS: f64 = 0.43;

/// Largest `|p - 1/2|`, for a probability `p`, at which the normal quantile is computed with the ratio of polynomials
/// for the centre.
pub const CENTRAL: f64 = 0.425;

/// [`CENTRAL`] squared.
pub const CENTRAL_SQUARED: f64 = 0.180_625;

/// Largest `sqrt(-ln p)`, for a tail probability `p`, at which the normal quantile is computed with the ratio of
/// polynomials for the near tail.
pub const NEAR_TAIL: f64 = 5.0;

/// Number subtracted from `sqrt(-ln p)`, where `p` is a tail probability. The difference is the argument of the ratio
/// of polynomials that gives the normal quantile in the near tail.
pub const NEAR_TAIL_CENTRE: f64 = 1.6;

/// Normal quantile in the centre, divided by `p - 1/2`: numerator of a ratio of two polynomials in
/// `0.425^2 - (p - 1/2)^2`. The coefficient of the highest power comes first.
pub const NORMAL_CENTRE_NUMERATOR: [f64; 8] = [
    2.509_080_928_730_122_672_7e3,
    3.343_057_558_358_812_810_5e4,
    6.726_577_092_700_870_085_3e4,
    4.592_195_393_154_987_145_7e4,
    1.373_169_376_550_946_112_5e4,
    1.971_590_950_306_551_442_7e3,
    1.331_416_678_917_843_774_5e2,
    3.387_132_872_796_366_608_0e0,
];

/// Normal quantile in the centre, divided by `p - 1/2`: denominator of a ratio of two polynomials in
/// `0.425^2 - (p - 1/2)^2`. The coefficient of the highest power comes first.
pub const NORMAL_CENTRE_DENOMINATOR: [f64; 8] = [
    5.226_495_278_852_854_561_0e3,
    2.872_908_573_572_194_267_4e4,
    3.930_789_580_009_271_061_0e4,
    2.121_379_430_158_659_586_7e4,
    5.394_196_021_424_751_107_7e3,
    6.871_870_074_920_579_083_0e2,
    4.231_333_070_160_091_125_2e1,
    1.0,
];

/// Normal quantile in the near tail: numerator of a ratio of two polynomials in `sqrt(-ln p) - 1.6`. The coefficient
/// of the highest power comes first.
pub const NORMAL_NEAR_NUMERATOR: [f64; 8] = [
    7.745_450_142_783_414_076_40e-4,
    2.272_384_498_926_918_458_33e-2,
    2.417_807_251_774_506_117_70e-1,
    1.270_458_252_452_368_382_58e0,
    3.647_848_324_763_204_605_04e0,
    5.769_497_221_460_691_405_50e0,
    4.630_337_846_156_545_295_90e0,
    1.423_437_110_749_683_577_34e0,
];

/// Normal quantile in the near tail: denominator of a ratio of two polynomials in `sqrt(-ln p) - 1.6`. The
/// coefficient of the highest power comes first.
pub const NORMAL_NEAR_DENOMINATOR: [f64; 8] = [
    1.050_750_071_644_416_843_24e-9,
    5.475_938_084_995_344_946_00e-4,
    1.519_866_656_361_645_719_66e-2,
    1.481_039_764_274_800_745_90e-1,
    6.897_673_349_851_000_045_50e-1,
    1.676_384_830_183_803_849_40e0,
    2.053_191_626_637_758_821_87e0,
    1.0,
];

/// Normal quantile in the far tail: numerator of a ratio of two polynomials in `sqrt(-ln p) - 5`. The coefficient of
/// the highest power comes first.
pub const NORMAL_FAR_NUMERATOR: [f64; 8] = [
    2.010_334_399_292_288_132_65e-7,
    2.711_555_568_743_487_578_15e-5,
    1.242_660_947_388_078_438_60e-3,
    2.653_218_952_657_612_309_30e-2,
    2.965_605_718_285_048_912_30e-1,
    1.784_826_539_917_291_335_80e0,
    5.463_784_911_164_114_369_90e0,
    6.657_904_643_501_103_777_20e0,
];

/// Normal quantile in the far tail: denominator of a ratio of two polynomials in `sqrt(-ln p) - 5`. The coefficient
/// of the highest power comes first.
pub const NORMAL_FAR_DENOMINATOR: [f64; 8] = [
    2.044_263_103_389_939_785_64e-15,
    1.421_511_758_316_445_888_70e-7,
    1.846_318_317_510_054_681_80e-5,
    7.868_691_311_456_132_591_00e-4,
    1.487_536_129_085_061_485_25e-2,
    1.369_298_809_227_358_053_10e-1,
    5.998_322_065_558_879_376_90e-1,
    1.0,
];

/// A count is drawn by searching a table of thresholds for a random 63-bit integer. A second, smaller table (the guide)
/// says at which threshold the search starts. The integer, shifted right by this number of bits, is the index in the
/// guide.
pub const GUIDE_SHIFT: u32 = 55;

/// Coefficients 1/n! for n = 13 down to 2 of the series of the exponential. The vector exponential of `ns-compute`
/// uses them too.
pub const EXP_TERMS: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];
