//! Draws Poisson counts by inversion. A uniform integer of 63 bits is looked up in a table of the distribution
//! function.
//!
//! Threshold `i` of the table is `2^63 P(n <= first + i)`, rounded. The count that belongs to an integer `u`
//! is `first` plus the number of thresholds that are at most `u`. Only integers are compared, so the same
//! table gives the same count on any device. A second table, the guide, has one cell for each value of the
//! upper eight bits of `u`. The cell holds the number of thresholds that are at most the smallest integer
//! with these bits. The search starts from this number and, for most integers, ends after one or two
//! comparisons.
//!
//! The distribution function is exact to about 1e-16, and more exact where it is near 0 or near 1. The probabilities
//! are rounded to multiples of 2<sup>-63</sup> and summed as integers from both ends towards the most probable count.
//! The rest is the probability of this count. Counts at the ends whose probability rounds to 0 are not drawn; their
//! total probability is below 1e-17.

use super::constants::GUIDE_SHIFT;
use super::probability::probability;

/// The integer 2<sup>63</sup>, which stands for a probability of 1.
const ONE: u64 = 1 << 63;

/// A threshold above every integer that is looked up. The list of thresholds ends with [`AHEAD`] copies of this
/// threshold.
const NEVER: u64 = u64::MAX;

/// Number of [`NEVER`] thresholds at the end of the list, so that a search may read beyond the last true threshold.
const AHEAD: usize = 3;

/// Number of cells of the guide. The guide is a table that says at which threshold a search starts.
const CELLS: usize = 1 << CountTable::GUIDE_BITS;

/// Number of consecutive counts in a group. The probability of the first count in a group is computed directly. Each
/// later probability is computed from the probability before it, which adds a rounding error of about 2e-16 per step.
const ROW: u32 = 16;

/// A table of the Poisson distribution with one mean, in which counts are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountTable {
    first: u64,
    thresholds: Vec<u64>,
    guide: Vec<u16>,
}

impl CountTable {
    /// Number of upper bits of a 63-bit integer that give the index of its cell in the guide. The guide is a table that
    /// says at which threshold a search starts.
    pub const GUIDE_BITS: u32 = 63 - GUIDE_SHIFT;

    /// Makes the table for a mean between 0 and [`super::Poisson::MAX_TABLE_MEAN`].
    pub(super) fn new(mean: f64) -> Self {
        // The probability of any count but 0 is below half of 2^-63.
        if mean < 0.5 / ONE as f64 {
            return Self::index(0, Vec::with_capacity(AHEAD));
        }
        let mode = mean.floor();
        let below = terms(mean, mode, |k| k - 1.0, |k| (k + 1.0) / mean);
        let above = terms(mean, mode, |k| k + 1.0, |k| mean / k);
        let mut thresholds = Vec::with_capacity(below.len() + above.len() + AHEAD);
        let mut sum = 0;
        for term in below.iter().rev() {
            sum += term;
            thresholds.push(sum);
        }
        let from = thresholds.len();
        let mut rest = 0;
        for term in above.iter().rev() {
            rest += term;
            thresholds.push(ONE - rest);
        }
        if let Some(upper) = thresholds.get_mut(from..) {
            upper.reverse();
        }
        Self::index(mode as u64 - below.len() as u64, thresholds)
    }

    /// Makes a table from its smallest count `first` and its thresholds, and computes the guide, a table that says at
    /// which threshold a search starts.
    fn index(first: u64, mut thresholds: Vec<u64>) -> Self {
        let mut guide = Vec::with_capacity(CELLS + 1);
        let mut passed = 0;
        for cell in 0..=CELLS as u64 {
            let begin = cell << SHIFT;
            while thresholds.get(passed).is_some_and(|&threshold| threshold <= begin) {
                passed += 1;
            }
            guide.push(passed as u16);
        }
        thresholds.extend([NEVER; AHEAD]);
        Self { first, thresholds, guide }
    }

    /// Returns the smallest count of the table.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the thresholds in ascending order, one for each count except the last. Element `i` is
    /// `2^63 P(n <= first + i)`, rounded. `P` is the probability of a count `n`. Three elements `u64::MAX` follow.
    #[must_use]
    pub fn thresholds(&self) -> &[u64] {
        &self.thresholds
    }

    /// Returns the guide, a table that says at which threshold a search starts. Element `c` (from 0 to
    /// `1 << GUIDE_BITS` inclusive) is the number of thresholds that are at most `c << (63 - GUIDE_BITS)`.
    #[must_use]
    pub fn guide(&self) -> &[u16] {
        &self.guide
    }

    /// Returns the count that belongs to two random words. It is found by looking up the upper 63 bits of the 64-bit
    /// integer with the halves `high` and `low`.
    #[inline]
    pub(super) fn count(&self, low: u32, high: u32) -> f64 {
        let u = bits63(low, high);
        self.at(self.search(u, usize::from(self.guide[cell(u)])))
    }

    /// Returns the results of [`Self::count`] for eight toys, computed side by side. `low` and `high` have one random
    /// word per toy.
    #[inline(always)]
    pub(super) fn count_eight(&self, low: &[u32; 8], high: &[u32; 8]) -> [f64; 8] {
        // Each operation is a loop over all eight toys: closures would not be inlined with the caller's
        // vector instructions.
        let (mut u, mut place, mut counts) = ([0; 8], [0; 8], [0.0; 8]);
        for l in 0..8 {
            u[l] = bits63(low[l], high[l]);
        }
        for l in 0..8 {
            place[l] = usize::from(self.guide[cell(u[l])]);
        }
        for l in 0..8 {
            counts[l] = self.at(self.search(u[l], place[l]));
        }
        counts
    }

    /// Returns the number of thresholds that are at most `u`. The result must be at least `place`, where the search
    /// starts.
    #[inline(always)]
    fn search(&self, u: u64, place: usize) -> usize {
        let place = place + usize::from(self.thresholds[place] <= u);
        let place = place + usize::from(self.thresholds[place] <= u);
        if self.thresholds[place] <= u { self.search_on(u, place + 1) } else { place }
    }

    /// Returns the same number as [`Self::search`], but finds it by bisection. It is used if many thresholds lie in the
    /// cell of `u`, i.e. have the same upper bits as `u`.
    #[cold]
    #[inline(never)]
    fn search_on(&self, u: u64, place: usize) -> usize {
        let end = usize::from(self.guide[cell(u) + 1]);
        let left = self.thresholds.get(place..end).unwrap_or_default();
        place + left.partition_point(|&threshold| threshold <= u)
    }

    #[inline(always)]
    fn at(&self, place: usize) -> f64 {
        (self.first + place as u64) as f64
    }
}

/// Number of bits by which a 63-bit integer is shifted right to give the index of its cell in the guide. The guide is a
/// table that says at which threshold a search starts.
const SHIFT: u32 = GUIDE_SHIFT;

#[inline(always)]
const fn cell(u: u64) -> usize {
    (u >> SHIFT) as usize
}

/// Returns the upper 63 bits of the 64-bit integer with the halves `high` and `low`.
#[inline(always)]
const fn bits63(low: u32, high: u32) -> u64 {
    (((high as u64) << 32) | low as u64) >> 1
}

/// Computes the Poisson probabilities `2^63 P(n = k)`, rounded, of the counts `k` on one side of the most probable
/// count `mode`. The list begins with the count next to `mode` and ends before the first result that is 0. `next`
/// returns the next count in this order. `ratio` returns the probability of a count divided by the probability of the
/// count before it.
fn terms(mean: f64, mode: f64, next: impl Fn(f64) -> f64, ratio: impl Fn(f64) -> f64) -> Vec<u64> {
    let mut terms = Vec::with_capacity((10.0 * mean.sqrt()) as usize + 16);
    let mut k = next(mode);
    let mut p = 0.0;
    let mut follows = 0;
    while k >= 0.0 {
        if follows == 0 {
            p = probability(k, mean) * ONE as f64;
            follows = ROW;
        } else {
            p *= ratio(k);
        }
        follows -= 1;
        let term = (p + 0.5) as u64;
        if term == 0 {
            break;
        }
        terms.push(term);
        k = next(k);
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the Poisson distribution function for the mean `numerator / 2^exponent` at the counts 0 to `last`.
    /// The computation uses only integers. In these integers, the largest probability is `2^100`.
    fn reference(numerator: u128, exponent: u32, last: u128) -> Vec<f64> {
        let mode = numerator >> exponent;
        let mut terms = vec![0; last as usize + 1];
        terms[mode as usize] = 1_u128 << 100;
        for k in mode as usize + 1..terms.len() {
            terms[k] = ((terms[k - 1] * numerator) >> exponent) / k as u128;
        }
        for k in (0..mode as usize).rev() {
            terms[k] = (terms[k + 1] << exponent) / numerator * (k as u128 + 1);
        }
        let total: u128 = terms.iter().sum();
        let mut sum = 0;
        let mut cumulate = |term: &u128| {
            sum += term;
            sum
        };
        terms.iter().map(|term| cumulate(term) as f64 / total as f64).collect()
    }

    #[test]
    fn thresholds_are_the_distribution_function() {
        for (numerator, exponent) in
            [(1, 14), (1, 4), (3, 2), (3, 0), (39, 2), (10, 0), (50, 0), (801, 3), (1000, 0), (10_000, 0)]
        {
            let mean = numerator as f64 / f64::from(1_u32 << exponent);
            let table = CountTable::new(mean);
            let counts = table.thresholds.len() - AHEAD;
            let exact = reference(numerator, exponent, u128::from(table.first) + counts as u128 + 40);
            for (i, &threshold) in table.thresholds.iter().take(counts).enumerate() {
                let got = threshold as f64 / ONE as f64;
                let expected = exact[table.first as usize + i];
                assert!((got - expected).abs() <= 4e-16, "mean {mean}, {i}: {got} is not {expected}");
                // In the lower tail the relative error is small too, apart from the spacing of the integers.
                let tolerance = 1e-13 * expected + 20.0 / ONE as f64;
                assert!((got - expected).abs() <= tolerance, "mean {mean}, {i}: {got} is not {expected}");
            }
            // The counts below the table have a negligible probability.
            assert!(table.first == 0 || exact[table.first as usize - 1] < 1e-17, "mean {mean}");
        }
    }

    #[test]
    fn the_upper_tail_is_as_exact_as_the_lower() {
        for mean in [0.01, 0.7, 5.0, 60.0, 2500.0] {
            let table = CountTable::new(mean);
            let counts = table.thresholds.len() - AHEAD;
            for i in (0..counts).rev().take_while(|&i| table.first as f64 + i as f64 > mean) {
                let got = (ONE - table.thresholds[i]) as f64;
                let k = (table.first + i as u64) as f64;
                let expected: f64 =
                    (1..400).map(|j| probability(k + f64::from(j), mean)).sum::<f64>() * ONE as f64;
                assert!(
                    (got - expected).abs() <= 1e-12 * expected + 20.0,
                    "mean {mean}, {k}: {got}, {expected}"
                );
            }
        }
    }

    #[test]
    fn tables_are_small_and_ascend() {
        let means =
            (0..600).map(|i| 1e-20 * 10.0_f64.powf(0.04 * f64::from(i))).chain([0.0, 1e-300, 9999.99]);
        for mean in means {
            let table = CountTable::new(mean);
            assert!(table.thresholds.len() <= 2000, "mean {mean}: {}", table.thresholds.len());
            let (counts, ahead) = table.thresholds.split_at(table.thresholds.len() - AHEAD);
            assert!(counts.is_sorted() && counts.iter().all(|&t| t <= ONE), "mean {mean}");
            assert_eq!(ahead, [NEVER; AHEAD]);
            assert_eq!(table.guide.len(), CELLS + 1);
            assert_eq!(usize::from(table.guide[CELLS]), counts.len(), "mean {mean}");
        }
    }

    #[test]
    fn the_guide_leads_to_the_count_that_a_plain_search_finds() {
        for mean in [0.0, 1e-19, 1e-8, 0.02, 0.7, 4.0, 33.3, 120.0, 2000.0, 10_000.0] {
            let table = CountTable::new(mean);
            let mut tried = vec![0, 1, ONE - 1, ONE - 2];
            tried.extend((0..5000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1));
            tried.extend((0..CELLS as u64).flat_map(|c| [c << SHIFT, ((c + 1) << SHIFT) - 1]));
            let around = |&t: &u64| [t.saturating_sub(1), t.min(ONE - 1), (t + 1).min(ONE - 1)];
            tried.extend(table.thresholds.iter().filter(|&&t| t <= ONE).flat_map(around));
            for eight in tried.chunks(8) {
                let words =
                    |shift: u32| std::array::from_fn(|l| (eight[l % eight.len()] << 1 >> shift) as u32);
                let (low, high) = (words(0), words(32));
                let counts = table.count_eight(&low, &high);
                for l in 0..8 {
                    let u = eight[l % eight.len()];
                    let plain = table.first + table.thresholds.iter().filter(|&&t| t <= u).count() as u64;
                    assert_eq!(counts[l], plain as f64, "mean {mean}, {u}");
                    assert_eq!(table.count(low[l], high[l]), plain as f64, "mean {mean}, {u}");
                }
            }
        }
    }

    #[test]
    fn small_means_keep_their_probability_of_a_count() {
        for mean in [1e-17, 1e-12, 1e-8, 3e-7, 1e-5, 1e-3, 0.1] {
            let table = CountTable::new(mean);
            let some = (ONE - table.thresholds[0]) as f64;
            let expected = -f64::exp_m1(-mean) * ONE as f64;
            assert!((some - expected).abs() <= 1e-15 * expected + 1.0, "mean {mean}: {some}");
        }
    }
}
