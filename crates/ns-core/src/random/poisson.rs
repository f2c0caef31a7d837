//! Poisson counts for any mean from 0 to 1e15.
//!
//! **Mean below 10: inversion.** One uniform number is looked for in the distribution function, summed up
//! from 0. The probabilities carry the rounding of that sum and the spacing 2<sup>-53</sup> of the uniform
//! number: about 1e-16 each, absolute.
//!
//! **Mean from 10: transformed rejection**, algorithm PTRS of W. Hörmann, "The transformed rejection method
//! for generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993) 39,
//! [doi:10.1016/0167-6687(93)90997-4](https://doi.org/10.1016/0167-6687(93)90997-4). A uniform number `u`
//! in (-1/2, 1/2) is stretched to `x = (2a/(1/2 - |u|) + b) u + mean + 0.43`, and the count `floor(x)` is
//! accepted with a probability of its Poisson probability times `dx/du`, over a constant that keeps the
//! product below 1. A second uniform number decides; for most it is below a bound that needs no probability
//! (the *squeeze*). It takes 1.13 attempts for a large mean, 1.34 at a mean of 10.
//!
//! Two things differ from the method as it is usually implemented. Its constants let the product exceed 1 by up to
//! 0.6 % (near a mean of 14) and the squeeze accepts up to 0.4 % too much (near 31), which distorts
//! the distribution by about 1e-6; here the constants are widened until both hold strictly. And the
//! probability is not `exp(k ln(mean) - mean - ln k!)`, which rounding leaves with five digits at a mean of
//! 1e9, but the saddle-point form of C. Loader, "Fast and accurate computation of binomial probabilities" (2000):
//! `exp(-D - s) / sqrt(2 pi k)` with the deviance `D = k ln(k/mean) + mean - k` and the error `s` of
//! Stirling's formula, both computed without cancellation: 2e-13 of the probability at any mean.

use std::array::from_fn;

use super::{RandomError, Stream, centred_uniform, exp, ln, open_uniform};

/// From this mean on counts are drawn by rejection.
const REJECTION_FROM: f64 = 10.0;
/// Inversion gives up beyond this count, which has a probability of 1e-30 at a mean of 10: the uniform
/// number lies above the sum because the sum is rounded, and another one is drawn.
const LARGEST_INVERTED: f64 = 64.0;

/// 2 pi.
const TWO_PI: f64 = std::f64::consts::TAU;

/// `ln k! - [(k + 1/2) ln k - k + ln(2 pi)/2]` for k = 0 to 15; nothing uses the entry of 0.
const STIRLING_ERROR: [f64; 16] = [
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

/// Coefficients of Stirling's series in 1/k^2, after the factor 1/k: `B_2j / (2j (2j-1))` for j = 5 to 1.
const STIRLING_SERIES: [f64; 5] = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];

/// 1/(2j+1) for j = 8 down to 1.
const ATANH: [f64; 8] =
    [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0];

/// A Poisson distribution to draw from; what depends on the mean alone is computed once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    mean: f64,
    method: Method,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    /// A mean of 0.
    Zero,
    /// Inversion, from the probability of no count.
    Inversion { none: f64 },
    /// PTRS.
    Rejection(Rejection),
}

impl Poisson {
    /// The largest mean: 1e15, so that every count is an integer that a double holds exactly.
    pub const MAX_MEAN: f64 = 1e15;

    /// The distribution with this mean; a mean of 0 always gives 0.
    ///
    /// # Errors
    ///
    /// [`RandomError::PoissonMean`] if the mean is negative, NaN, infinite or above [`Self::MAX_MEAN`].
    pub fn new(mean: f64) -> Result<Self, RandomError> {
        if !(0.0..=Self::MAX_MEAN).contains(&mean) {
            return Err(RandomError::PoissonMean { mean, limit: Self::MAX_MEAN });
        }
        let method = if mean == 0.0 {
            Method::Zero
        } else if mean < REJECTION_FROM {
            Method::Inversion { none: exp(-mean) }
        } else {
            Method::Rejection(Rejection::new(mean))
        };
        Ok(Self { mean, method })
    }

    /// The mean.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The count, an integer, that belongs to this slot of this stream.
    ///
    /// Attempt 0, 1, ... are tried in turn until one gives a count. Inversion uses words 0 and 1 of a
    /// block and practically always attempt 0; rejection uses words 0 and 1 for `u`, 2 and 3 to decide.
    #[must_use]
    #[inline]
    pub fn draw(&self, stream: &Stream, slot: u32) -> f64 {
        let mut attempt = 0;
        loop {
            let block = || stream.block(slot, attempt);
            let count = match &self.method {
                Method::Zero => Some(0.0),
                Method::Inversion { none } => {
                    let [low, high, _, _] = block();
                    invert(self.mean, *none, open_uniform(low, high))
                }
                Method::Rejection(rejection) => {
                    let [low, high, low_2, high_2] = block();
                    rejection.attempt(centred_uniform(low, high), open_uniform(low_2, high_2))
                }
            };
            if let Some(count) = count {
                return count;
            }
            attempt += 1;
        }
    }
}

impl Poisson {
    /// The counts of eight toys at one slot: the same bits as [`Self::draw`] gives one by one.
    ///
    /// Attempts are made side by side. Whether one is accepted is decided with approximate probabilities where
    /// their error cannot change the decision, which is almost always; the rest goes through [`Self::draw`].
    #[inline(always)]
    pub(crate) fn draw_eight(&self, streams: &[Stream; 8], slot: u32) -> [f64; 8] {
        let Method::Rejection(rejection) = &self.method else {
            return streams.map(|stream| self.draw(&stream, slot));
        };
        let mut counts = [0.0; 8];
        // 1 where a count has been found, 2 where only the exact test can tell.
        let mut known = [0_u8; 8];
        for attempt in 0..SIDE_BY_SIDE {
            let words = Stream::blocks(streams, slot, attempt);
            let (found, verdict) = rejection.attempt_eight(&words);
            for l in 0..8 {
                if known[l] == 0 {
                    counts[l] = found[l];
                    known[l] = verdict[l];
                }
            }
            if known.iter().all(|&known| known != 0) {
                break;
            }
        }
        for l in 0..8 {
            if known[l] != 1 {
                counts[l] = self.draw(&streams[l], slot);
            }
        }
        counts
    }
}

impl Rejection {
    /// One attempt for eight toys: the counts, and 0 where one is rejected, 1 where it is accepted, 2 where
    /// that takes the exact test.
    #[inline(always)]
    fn attempt_eight(&self, words: &[[u32; 8]; 4]) -> ([f64; 8], [u8; 8]) {
        // One operation at a time on all eight: that is how a compiler finds the vectors.
        let ln_mean = quick_ln([self.mean; 8])[0];
        let u: [f64; 8] = from_fn(|l| centred_uniform(words[0][l], words[1][l]));
        let v: [f64; 8] = from_fn(|l| open_uniform(words[2][l], words[3][l]));
        let edge: [f64; 8] = from_fn(|l| 0.5 - u[l].abs());
        let x: [f64; 8] = from_fn(|l| self.place(u[l], edge[l]));
        // Rounds to an integer, as `floor` does, as long as |x| is below 2^51.
        let near: [f64; 8] = from_fn(|l| (x[l] + ROUND) - ROUND);
        let k: [f64; 8] = from_fn(|l| self.whole + if near[l] > x[l] { near[l] - 1.0 } else { near[l] });
        // ln of the acceptance test, with Stirling's formula: its series is cut at 3e-10 for k >= 8.
        let safe: [f64; 8] = from_fn(|l| if k[l] >= LEAST_SERIES { k[l] } else { LEAST_SERIES });
        let scaled: [f64; 8] = from_fn(|l| v[l] * self.attempts / self.slope(edge[l]));
        let (ln_k, ln_scaled) = (quick_ln(safe), quick_ln(scaled));
        let inverse: [f64; 8] = from_fn(|l| 1.0 / safe[l]);
        let stirling: [f64; 8] = from_fn(|l| {
            let z = inverse[l] * inverse[l];
            inverse[l] * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0)))
        });
        let excess: [f64; 8] = from_fn(|l| {
            let probability = safe[l] * (ln_mean - ln_k[l]) - self.mean + safe[l]
                - 0.5 * ln_k[l]
                - HALF_LN_TWO_PI
                - stirling[l];
            ln_scaled[l] - probability
        });
        let doubt: [f64; 8] = from_fn(|l| 1e-9 + 1e-14 * (safe[l] + self.mean) * ln_k[l]);
        let verdict = from_fn(|l| {
            let sure = edge[l] >= EDGE && k[l] >= LEAST_SERIES && excess[l].abs() > doubt[l];
            let tested = if sure { u8::from(excess[l] < 0.0) } else { 2 };
            if edge[l] >= SQUEEZE_FROM && v[l] <= self.squeeze { 1 } else { tested }
        });
        (k, verdict)
    }
}

/// Attempts made for eight toys at a time before those that are left are drawn one by one.
const SIDE_BY_SIDE: u32 = 3;

/// Counts below this are left to the exact test.
const LEAST_SERIES: f64 = 8.0;

/// Closer to the ends than this, where the paper has a test of its own, the exact test decides.
const EDGE: f64 = 0.013;

/// ln(2 pi)/2.
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// ln of positive normal numbers to 1e-15 or so, without a branch.
#[inline(always)]
fn quick_ln(x: [f64; 8]) -> [f64; 8] {
    const HALF_ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    const FRACTION: u64 = (1 << 52) - 1;
    let shifted: [u64; 8] = from_fn(|l| x[l].to_bits().wrapping_add(1.0_f64.to_bits() - HALF_ROOT));
    // The exponent as a float by its place in the mantissa of 2^52.
    let k: [f64; 8] = from_fn(|l| {
        f64::from_bits(0x4330_0000_0000_0000 | (shifted[l] >> 52)) - (4_503_599_627_370_496.0 + 1023.0)
    });
    let f: [f64; 8] = from_fn(|l| f64::from_bits((shifted[l] & FRACTION) + HALF_ROOT) - 1.0);
    let s: [f64; 8] = from_fn(|l| f[l] / (2.0 + f[l]));
    let z: [f64; 8] = from_fn(|l| s[l] * s[l]);
    let mut series = [0.0; 8];
    for power in [23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = from_fn(|l| (series[l] + 1.0 / power) * z[l]);
    }
    from_fn(|l| k[l] * std::f64::consts::LN_2 + 2.0 * s[l] * (1.0 + series[l]))
}

/// Adding and subtracting this rounds to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Distance of `u` from the nearer end from which on the squeeze may accept.
const SQUEEZE_FROM: f64 = 0.07;

/// `x.floor()` for |x| below 2^62 by conversions, which every processor has an instruction for.
#[inline]
fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}

/// The least count whose distribution function exceeds `uniform`.
#[inline]
fn invert(mean: f64, none: f64, uniform: f64) -> Option<f64> {
    let mut count = 0.0;
    let mut probability = none;
    let mut sum = none;
    while uniform >= sum {
        count += 1.0;
        if count > LARGEST_INVERTED {
            return None;
        }
        probability = probability * mean / count;
        sum += probability;
    }
    Some(count)
}

/// What PTRS needs of the mean, named as in the paper where it has a name.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rejection {
    /// The mean is `whole + part`, an integer and the rest: counts are found relative to `whole`.
    whole: f64,
    part: f64,
    mean: f64,
    a: f64,
    b: f64,
    /// 1/alpha: attempts per count.
    attempts: f64,
    /// v_r: the squeeze accepts up to here.
    squeeze: f64,
}

impl Rejection {
    fn new(mean: f64) -> Self {
        let b = 0.931 + 2.53 * mean.sqrt();
        let whole = mean.floor();
        Self {
            whole,
            part: mean - whole,
            mean,
            a: -0.059 + 0.02483 * b,
            b,
            // 1.008 times the usual 1.1239 + 1.1328 / (b - 3.4).
            attempts: 1.133 + 1.142 / (b - 3.4),
            // 0.012 less than the usual 0.9277 - 3.6224 / (b - 2).
            squeeze: 0.9157 - 3.6224 / (b - 2.0),
        }
    }

    /// One attempt, with `u` in (-1/2, 1/2) and `v` in (0, 1).
    #[inline]
    fn attempt(&self, u: f64, v: f64) -> Option<f64> {
        let edge = 0.5 - u.abs();
        let offset = self.offset(u, edge);
        let count = self.whole + offset;
        if edge >= SQUEEZE_FROM && v <= self.squeeze {
            return Some(count);
        }
        if count < 0.0 || (edge < EDGE && v > edge) {
            return None;
        }
        let scaled = v * self.attempts / self.slope(edge);
        let accepted = if count == 0.0 {
            ln(scaled) <= -self.mean
        } else {
            let exponent = -deviance(count, offset - self.part, self.mean) - stirling_error(count);
            ln(scaled * (TWO_PI * count).sqrt()) <= exponent
        };
        accepted.then_some(count)
    }

    /// The count less `whole`.
    #[inline]
    fn offset(&self, u: f64, edge: f64) -> f64 {
        floor(self.place(u, edge))
    }

    /// The same before it is rounded down.
    #[inline(always)]
    fn place(&self, u: f64, edge: f64) -> f64 {
        (2.0 * self.a / edge + self.b) * u + (self.part + 0.43)
    }

    /// dx/du.
    #[inline]
    fn slope(&self, edge: f64) -> f64 {
        self.a / (edge * edge) + self.b
    }
}

/// `k ln(k/mean) + mean - k` for k > 0, where `difference` is `k - mean`.
///
/// Near the mean from `k ln(k/mean) = 2 k atanh(w)`, `w = (k - mean)/(k + mean)`, without the terms that
/// cancel; the series is cut at 1e-17 of the result. Farther away the absolute error is 1e-16 of k, and the
/// probability that it enters is negligible unless k is below a few thousand.
#[inline]
fn deviance(k: f64, difference: f64, mean: f64) -> f64 {
    let w = difference / (k + mean);
    if w.abs() < 0.1 {
        let z = w * w;
        let mut series = 0.0;
        for c in ATANH {
            series = (series + c) * z;
        }
        difference * w + 2.0 * k * w * series
    } else {
        k * ln(k / mean) - difference
    }
}

/// `ln k! - [(k + 1/2) ln k - k + ln(2 pi)/2]` for an integer k > 0.
///
/// A table below 16, Stirling's series to 1/k^9 from there, cut at 1.1e-16 (absolute, at 16).
#[inline]
fn stirling_error(k: f64) -> f64 {
    if let Some(error) = STIRLING_ERROR.get(k as usize) {
        return *error;
    }
    let inverse = 1.0 / k;
    let z = inverse * inverse;
    let mut series = 0.0;
    for c in STIRLING_SERIES {
        series = series * z + c;
    }
    series * inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln of the Poisson probability, as `attempt` has it.
    fn ln_probability(k: f64, difference: f64, mean: f64) -> f64 {
        if k == 0.0 {
            return -mean;
        }
        -deviance(k, difference, mean) - stirling_error(k) - 0.5 * ln(TWO_PI * k)
    }

    #[test]
    fn probabilities_agree_with_log_gamma() {
        for mean in [10.0, 12.5, 50.0, 333.25, 1000.0] {
            for k in 0..2000 {
                let k = f64::from(k);
                let expected = k * f64::ln(mean) - mean - libm::lgamma(k + 1.0);
                let got = ln_probability(k, k - mean, mean);
                let scale = 1.0 + k * f64::ln(mean) + mean + libm::lgamma(k + 1.0);
                assert!((got - expected).abs() <= 1e-15 * scale, "k = {k}, mean {mean}: {got} != {expected}");
            }
        }
    }

    #[test]
    fn stirling_table_and_series_meet() {
        for k in 1..40 {
            let k = f64::from(k);
            // ln k! as a sum: exact enough without any gamma function.
            let factorial: f64 = (1..=k as u32).map(|i| f64::from(i).ln()).sum();
            let formula = (k + 0.5) * k.ln() - k + 0.5 * TWO_PI.ln();
            let tolerance = 1e-15 * (1.0 + factorial);
            assert!((stirling_error(k) - (factorial - formula)).abs() < tolerance, "k = {k}");
        }
    }

    /// The count that is proposed is accepted with a probability between the squeeze and 1: the method is
    /// exact only then. The usual constants fail here.
    #[test]
    fn rejection_constants_hold() {
        let mut means: Vec<f64> = (0..1500).map(|i| 10.0 + 0.07 * f64::from(i)).collect();
        means.extend((0..60).map(|i| 100.0 * f64::from(i).exp2().sqrt()));
        means.extend([14.04, 30.86, 1e9, 1e12, Poisson::MAX_MEAN]);
        for mean in means {
            let rejection = Rejection::new(mean);
            for i in 1..4000 {
                let u = f64::from(i - 2000) / 4000.0;
                let edge = 0.5 - u.abs();
                let offset = rejection.offset(u, edge);
                let count = rejection.whole + offset;
                if count < 0.0 {
                    assert!(edge < 0.07, "a negative count passes the squeeze at mean {mean}");
                    continue;
                }
                let probability = exp(ln_probability(count, offset - rejection.part, mean));
                let accept = probability * rejection.slope(edge) / rejection.attempts;
                assert!(accept < 1.0, "accepted with probability {accept} at mean {mean}, u = {u}");
                if edge >= 0.07 {
                    assert!(rejection.squeeze < accept, "squeeze above {accept} at mean {mean}, u = {u}");
                }
                if edge < 0.013 {
                    assert!(accept < edge, "quick rejection below {accept} at mean {mean}, u = {u}");
                }
            }
        }
    }

    #[test]
    fn small_means_keep_their_probability_of_a_count() {
        for mean in [1e-8, 3e-7, 1e-5, 1e-3, 0.1] {
            let none = exp(-mean);
            // The number of values of the uniform number that give a count, over all of them.
            let some = 1.0 - none;
            assert!((some - -f64::exp_m1(-mean)).abs() <= f64::EPSILON, "mean {mean}: {some}");
            assert_eq!(invert(mean, none, none.next_down()), Some(0.0));
            assert_eq!(invert(mean, none, none), Some(1.0));
        }
    }

    #[test]
    fn inversion_ends_at_the_last_uniform_number() {
        let last = open_uniform(u32::MAX, u32::MAX);
        assert!(last < 1.0);
        for i in 1..=10_000 {
            let mean = 1e-3 * f64::from(i).min(9999.0);
            let count = invert(mean, exp(-mean), last);
            assert!(count.is_none_or(|count| count <= LARGEST_INVERTED), "mean {mean}: {count:?}");
        }
    }
}
