//! Poisson counts for any mean from 0 to 1e15.
//!
//! **Means up to 1e4: inversion** by a table of the distribution function ([`CountTable`]).
//!
//! **Larger means: transformed rejection**, algorithm PTRS of W. Hörmann, "The transformed rejection method for
//! generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993) 39,
//! [doi:10.1016/0167-6687(93)90997-4](https://doi.org/10.1016/0167-6687(93)90997-4). An attempt uses two uniform
//! numbers. The first, `u` in (-1/2, 1/2), gives `x = (2a/(1/2 - |u|) + b) u + mean + 0.43`, where `a` and `b`
//! depend on the mean. The proposed count is `floor(x)`. It is accepted with a certain probability: the Poisson
//! probability of the count times `dx/du`, divided by a constant that keeps the result below 1. The second number,
//! `v` in (0, 1), decides whether the count is accepted. In most attempts `v` is below a bound (the *squeeze*) under
//! which the count is accepted without computing the probability. A draw takes 1.13 attempts on average.
//!
//! Two things differ from the usual implementation of the method. First, the usual constants let the acceptance
//! probability exceed 1 by up to 0.6 % (near a mean of 14), and the squeeze accepts up to 0.4 % too much (near a
//! mean of 31), which distorts the distribution by about 1e-6. With the constants used here, the acceptance
//! probability is below 1 and above the squeeze at every mean from 10 on. Second, the Poisson probability is
//! computed in the saddle-point form (see `probability`).

use super::lanes::per_lane;
use std::sync::Arc;

use super::constants::{CENTRE_OF_COUNTS, EDGE, SQUEEZE_FROM, TWO_PI};
use super::count_table::CountTable;
use super::probability::{deviance, stirling_error};
use super::{RandomError, Stream, centred_uniform, ln, open_uniform};

/// A Poisson distribution from which counts are drawn. Everything that depends on the mean alone is computed once.
/// Copies of a distribution share its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Poisson {
    mean: f64,
    method: Method,
}

#[derive(Debug, Clone, PartialEq)]
enum Method {
    /// Counts are drawn by inversion, i.e. a random integer is looked up in a table.
    Table(Arc<CountTable>),
    /// Counts are drawn by transformed rejection (PTRS).
    Rejection(Rejection),
}

impl Poisson {
    /// The largest mean that is allowed. Counts around this mean are still integers that a double represents exactly.
    pub const MAX_MEAN: f64 = 1e15;

    /// The largest mean for which counts are looked up in a table. A table has up to 2000 numbers. Computing them takes
    /// some microseconds.
    pub const MAX_TABLE_MEAN: f64 = 1e4;

    /// Returns the distribution with this mean. With a mean of 0 every count is 0.
    ///
    /// # Errors
    ///
    /// [`RandomError::PoissonMean`] if the mean is negative, NaN, infinite or above [`Self::MAX_MEAN`].
    pub fn new(mean: f64) -> Result<Self, RandomError> {
        if !(0.0..=Self::MAX_MEAN).contains(&mean) {
            return Err(RandomError::PoissonMean { mean, limit: Self::MAX_MEAN });
        }
        let method = if mean <= Self::MAX_TABLE_MEAN {
            Method::Table(Arc::new(CountTable::new(mean)))
        } else {
            Method::Rejection(Rejection::new(mean))
        };
        Ok(Self { mean, method })
    }

    /// Returns the mean.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the table in which counts are looked up; `None` if the mean is above [`Self::MAX_TABLE_MEAN`]
    /// and counts are drawn by rejection.
    #[must_use]
    pub fn table(&self) -> Option<&CountTable> {
        match &self.method {
            Method::Table(table) => Some(table),
            Method::Rejection(_) => None,
        }
    }

    /// Returns the constants of the rejection method; `None` if counts are looked up in a table. With these constants,
    /// a GPU makes the same attempts as the CPU.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.method {
            Method::Table(_) => None,
            Method::Rejection(rejection) => Some(rejection),
        }
    }

    /// Draws the count, an integer, that belongs to this slot (index of a random draw within its toy) of this
    /// stream.
    ///
    /// Inversion uses words 0 and 1 of attempt 0. Rejection tries attempts 0, 1, ... in turn until one is accepted;
    /// words 0 and 1 give `u`, words 2 and 3 give `v`.
    #[must_use]
    #[inline]
    pub fn draw(&self, stream: &Stream, slot: u32) -> f64 {
        match &self.method {
            Method::Table(table) => {
                let [low, high, _, _] = stream.block(slot, 0);
                table.count(low, high)
            }
            Method::Rejection(rejection) => {
                let mut attempt = 0;
                loop {
                    let [low, high, low_2, high_2] = stream.block(slot, attempt);
                    let (u, v) = (centred_uniform(low, high), open_uniform(low_2, high_2));
                    if let Some(count) = rejection.attempt(u, v) {
                        return count;
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Draws the counts of eight toys at one slot (index of a random draw within its toy). The results have the same
    /// bits as those of eight calls of [`Self::draw`].
    ///
    /// Eight attempts of the rejection method are made at once. An approximate probability decides whether an
    /// attempt is accepted. If the error of this probability could change the decision, which is rare,
    /// [`Self::draw`] decides.
    #[inline(always)]
    pub(crate) fn draw_eight(&self, streams: &[Stream; 8], slot: u32) -> [f64; 8] {
        let rejection = match &self.method {
            Method::Table(table) => {
                let [low, high, _, _] = Stream::blocks(streams, slot, 0);
                return table.count_eight(&low, &high);
            }
            Method::Rejection(rejection) => rejection,
        };
        let mut counts = [0.0; 8];
        // For each toy: 0 while no attempt is accepted, 1 if a count has been found, 2 if the exact test must
        // decide.
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
    /// Makes one attempt of the rejection method for each of eight toys. Element `[w][l]` of `words` is random word `w`
    /// of toy `l`. Returns the proposed count and the verdict for each toy. A verdict is 0 if the count is rejected, 1
    /// if it is accepted, and 2 if the exact test must decide.
    #[inline(always)]
    fn attempt_eight(&self, words: &[[u32; 8]; 4]) -> ([f64; 8], [u8; 8]) {
        // Each operation is done for all eight toys before the next operation, so that the compiler uses
        // vector instructions.
        let ln_mean = quick_ln([self.mean; 8])[0];
        let u: [f64; 8] = per_lane(|l| centred_uniform(words[0][l], words[1][l]));
        let v: [f64; 8] = per_lane(|l| open_uniform(words[2][l], words[3][l]));
        let edge: [f64; 8] = per_lane(|l| 0.5 - u[l].abs());
        let x: [f64; 8] = per_lane(|l| self.place(u[l], edge[l]));
        // Rounds to the nearest integer as long as |x| is below 2^51; the next line corrects the result to
        // the floor.
        let near: [f64; 8] = per_lane(|l| (x[l] + ROUND) - ROUND);
        let k: [f64; 8] = per_lane(|l| self.whole + if near[l] > x[l] { near[l] - 1.0 } else { near[l] });
        // The logarithm of the acceptance test, with Stirling's series, whose truncation error is 3e-10 for
        // `k >= 8`.
        let safe: [f64; 8] = per_lane(|l| if k[l] >= LEAST_SERIES { k[l] } else { LEAST_SERIES });
        let scaled: [f64; 8] = per_lane(|l| v[l] * self.attempts / self.slope(edge[l]));
        let (ln_k, ln_scaled) = (quick_ln(safe), quick_ln(scaled));
        let inverse: [f64; 8] = per_lane(|l| 1.0 / safe[l]);
        let stirling: [f64; 8] = per_lane(|l| {
            let z = inverse[l] * inverse[l];
            inverse[l] * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0)))
        });
        let excess: [f64; 8] = per_lane(|l| {
            let probability = safe[l] * (ln_mean - ln_k[l]) - self.mean + safe[l]
                - 0.5 * ln_k[l]
                - HALF_LN_TWO_PI
                - stirling[l];
            ln_scaled[l] - probability
        });
        let doubt: [f64; 8] = per_lane(|l| 1e-9 + 1e-14 * (safe[l] + self.mean) * ln_k[l]);
        let verdict = per_lane(|l| {
            let sure = edge[l] >= EDGE && k[l] >= LEAST_SERIES && excess[l].abs() > doubt[l];
            let tested = if sure { u8::from(excess[l] < 0.0) } else { 2 };
            if edge[l] >= SQUEEZE_FROM && v[l] <= self.squeeze { 1 } else { tested }
        });
        (k, verdict)
    }
}

/// Largest number of attempts of the rejection method that are made for eight toys at once. Toys without a count after
/// these attempts are drawn one by one.
const SIDE_BY_SIDE: u32 = 3;

/// Smallest proposed count whose acceptance may be decided with the approximate probability. For smaller counts the
/// exact probability decides.
const LEAST_SERIES: f64 = 8.0;

/// The number ln(2 pi)/2.
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Computes the natural logarithms of eight positive normal numbers, without branches. The error is about 1e-15.
#[inline(always)]
fn quick_ln(x: [f64; 8]) -> [f64; 8] {
    const HALF_ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    const FRACTION: u64 = (1 << 52) - 1;
    let shifted: [u64; 8] = per_lane(|l| x[l].to_bits().wrapping_add(1.0_f64.to_bits() - HALF_ROOT));
    // Converts the exponent to a double by putting it into the mantissa of 2^52.
    let k: [f64; 8] = per_lane(|l| {
        f64::from_bits(0x4330_0000_0000_0000 | (shifted[l] >> 52)) - (4_503_599_627_370_496.0 + 1023.0)
    });
    let f: [f64; 8] = per_lane(|l| f64::from_bits((shifted[l] & FRACTION) + HALF_ROOT) - 1.0);
    let s: [f64; 8] = per_lane(|l| f[l] / (2.0 + f[l]));
    let z: [f64; 8] = per_lane(|l| s[l] * s[l]);
    let mut series = [0.0; 8];
    for power in [23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = per_lane(|l| (series[l] + 1.0 / power) * z[l]);
    }
    per_lane(|l| k[l] * std::f64::consts::LN_2 + 2.0 * s[l] * (1.0 + series[l]))
}

/// The number 1.5 times 2^52. If it is added to a double and subtracted again, the double is rounded to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Computes `x.floor()` for |x| below 2^62. It converts `x` to an integer and back, because every CPU has instructions
/// for these conversions.
#[inline]
fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}

/// The constants of Hörmann's rejection method PTRS for one mean. The comments give the name of a constant in his
/// paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rejection {
    /// The largest integer that is not above the mean. Proposed counts are computed relative to this integer.
    pub whole: f64,
    /// The mean minus `whole`.
    pub part: f64,
    /// The mean.
    pub mean: f64,
    /// The constant `a` of Hörmann's paper on PTRS.
    pub a: f64,
    /// The constant `b` of Hörmann's paper on PTRS.
    pub b: f64,
    /// The average number of attempts per count (1/alpha in Hörmann's paper on PTRS).
    pub attempts: f64,
    /// The largest uniform number `v` for which a count is accepted without computing its probability (v_r in Hörmann's
    /// paper on PTRS).
    pub squeeze: f64,
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
            // 1.008 times the usual value, 1.1239 + 1.1328 / (b - 3.4).
            attempts: 1.133 + 1.142 / (b - 3.4),
            // 0.012 less than the usual value, 0.9277 - 3.6224 / (b - 2).
            squeeze: 0.9157 - 3.6224 / (b - 2.0),
        }
    }

    /// Makes one attempt with the uniform numbers `u` in (-1/2, 1/2) and `v` in (0, 1). Returns the proposed count if
    /// it is accepted, otherwise `None`.
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

    /// Returns the proposed count minus `whole`. `u` is a uniform number in (-1/2, 1/2), and `edge` is `1/2 - |u|`.
    #[inline]
    fn offset(&self, u: f64, edge: f64) -> f64 {
        floor(self.place(u, edge))
    }

    /// Returns the proposed count minus `whole`, before the count is rounded down. `u` is a uniform number in (-1/2,
    /// 1/2), and `edge` is `1/2 - |u|`.
    #[inline(always)]
    fn place(&self, u: f64, edge: f64) -> f64 {
        (2.0 * self.a / edge + self.b) * u + (self.part + CENTRE_OF_COUNTS)
    }

    /// Returns the derivative of the proposed count, before it is rounded down, with respect to the uniform number `u`.
    /// `edge` is `1/2 - |u|`.
    #[inline]
    fn slope(&self, edge: f64) -> f64 {
        self.a / (edge * edge) + self.b
    }
}

#[cfg(test)]
mod tests {
    use super::super::exp;
    use super::super::probability::ln_probability;
    use super::*;

    /// Checks the conditions under which the method is exact. The acceptance probability of a proposed count must be
    /// below 1. The bounds of quick acceptance and quick rejection, which are used without computing this
    /// probability, must be consistent with it. The usual constants fail this test.
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
}
