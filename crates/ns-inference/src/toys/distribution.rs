//! The distribution of a statistic in toys, in memory that does not grow with the number of toys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SAME_STATISTIC;

/// Number of bits of a value that are left out. Sign, exponent and 12 bits of the mantissa remain.
const LEFT_OUT: u32 = 40;
/// Fewest and most bins of a picture.
const FEWEST: f64 = 16.0;
const MOST: f64 = 60.0;

/// Counts of a statistic that is not negative. Values are rounded down by at most 1/4096 of their size, so there are at
/// most 4096 different values between two powers of two. The counts do not depend on the order of the toys.
///
/// Values of at most [`SAME_STATISTIC`] are counted as 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatisticHistogram {
    /// Number of toys for each rounded value. A key is the leading bits of a positive number, so keys have the order
    /// of the values.
    counts: BTreeMap<u64, u64>,
    at_zero: u64,
}

/// A statistic of toys in bins of equal width, as results and pictures have it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct BinnedStatistic {
    /// Edges of the bins, multiples of a round width. There are at least two; none if there is no distribution.
    pub bin_edges: Vec<f64>,
    /// Number of toys in each bin. Values of 0 are not counted.
    pub counts: Vec<u64>,
    /// Number of toys whose statistic is 0.
    pub at_zero: u64,
    /// Number of toys beyond the last bin.
    pub beyond: u64,
}

impl StatisticHistogram {
    /// Adds the statistic of a toy. A value that is not finite is ignored.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if value <= SAME_STATISTIC {
            self.at_zero += 1;
        } else {
            *self.counts.entry(value.to_bits() >> LEFT_OUT).or_default() += 1;
        }
    }

    /// Returns the number of toys.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.at_zero + self.counts.values().sum::<u64>()
    }

    /// Returns the rounded values above 0 in ascending order, with the numbers of toys.
    fn values(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.counts.iter().map(|(key, n)| (f64::from_bits(key << LEFT_OUT), *n))
    }
}

/// Bins distributions of the same statistic, with common bins. The number of bins is at most three times the cube root of
/// the number of toys, and between 16 and 60. The bins start at 0 if `from_zero`, and at the lowest value otherwise. They
/// end at the highest value, or where a few values are far beyond all others.
pub(crate) fn binned<const N: usize>(of: [&StatisticHistogram; N], from_zero: bool) -> [BinnedStatistic; N] {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (key, n) in of.iter().flat_map(|one| &one.counts) {
        *all.entry(*key).or_default() += n;
    }
    let all = StatisticHistogram { counts: all, at_zero: 0 };
    let (Some((lowest, _)), Some((highest, _))) = (all.values().next(), all.values().last()) else {
        return of.map(|one| BinnedStatistic {
            bin_edges: vec![0.0, 1.0],
            counts: vec![0],
            at_zero: one.at_zero,
            beyond: 0,
        });
    };
    let first = if from_zero { 0.0 } else { lowest };
    let last = highest.min(first + 4.0 * (all.below_99_percent() - first)).max(first);
    let most = of.iter().map(|one| one.n()).max().unwrap_or(0) as f64;
    // A single value has a bin of a tenth of its size.
    let span = (last - first).max(0.1 * last);
    let width = round_up(span / (3.0 * most.cbrt()).clamp(FEWEST, MOST));
    let (low, high) = ((first / width).floor(), (last / width).floor() + 1.0);
    let n = (high - low) as usize;
    let bin_edges: Vec<f64> = (0..=n).map(|edge| (low + edge as f64) * width).collect();
    of.map(|one| {
        let mut binned = BinnedStatistic {
            bin_edges: bin_edges.clone(),
            counts: vec![0; n],
            at_zero: one.at_zero,
            beyond: 0,
        };
        for (value, toys) in one.values() {
            match binned.counts.get_mut(((value / width).floor() - low) as usize) {
                Some(count) => *count += toys,
                None => binned.beyond += toys,
            }
        }
        binned
    })
}

impl StatisticHistogram {
    /// Returns the smallest value that at least 99 % of the toys above 0 do not exceed; 0 if there are none.
    fn below_99_percent(&self) -> f64 {
        let all = self.n() - self.at_zero;
        let mut below = 0;
        let place = self.values().find(|(_, n)| {
            below += n;
            below as f64 >= 0.99 * all as f64
        });
        place.map_or(0.0, |(value, _)| value)
    }
}

/// Returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `width`.
fn round_up(width: f64) -> f64 {
    let power = 10_f64.powf(width.log10().floor());
    let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
    let fits = factors.into_iter().find(|factor| factor * power >= width * (1.0 - 1e-9));
    fits.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: impl IntoIterator<Item = f64>) -> StatisticHistogram {
        let mut histogram = StatisticHistogram::default();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }

    #[test]
    fn the_order_of_toys_does_not_matter() {
        let values = [3e-9, 0.02, 17.3, 0.4, 1e7, 5.0, 0.0, f64::NAN, 2e-7];
        let forwards = filled(values);
        assert_eq!(forwards, filled(values.into_iter().rev()));
        assert_eq!((forwards.n(), forwards.at_zero), (8, 2));
        let rounded: Vec<f64> = forwards.values().map(|(value, _)| value).collect();
        for (rounded, value) in rounded.iter().zip([2e-7, 0.02, 0.4, 5.0, 17.3, 1e7]) {
            assert!(*rounded <= value && *rounded > value * (1.0 - 1.0 / 4096.0), "{rounded} {value}");
        }
    }

    #[test]
    fn the_memory_is_that_of_the_different_values() {
        let many = filled((0..200_000).map(|i| 1.0 + f64::from(i) / 200_000.0));
        assert_eq!((many.counts.len(), many.n()), (4096, 200_000));
    }

    #[test]
    fn common_bins_hold_every_toy() {
        let b = filled((0..1000).map(|i| 0.013 * f64::from(i)));
        let sb = filled((0..1000).map(|i| 0.000_7 * f64::from(i)));
        let common = binned([&b, &sb], true);
        for one in &common {
            assert_eq!((one.bin_edges[0], one.bin_edges[1], one.bin_edges.len()), (0.0, 0.5, 27));
            assert_eq!(one.counts.iter().sum::<u64>() + one.at_zero, 1000);
            assert_eq!(one.beyond, 0);
        }
        assert_eq!(&common[1].counts[..3], [714, 285, 0]);
    }

    #[test]
    fn a_far_toy_leaves_the_others_readable() {
        let values = (0..999).map(|i| 100.0 + 0.1 * f64::from(i % 400));
        let [one] = binned([&filled(values.chain([9e4]))], false);
        assert_eq!(one.beyond, 1);
        assert!(one.bin_edges.last().is_some_and(|last| *last < 300.0), "{:?}", one.bin_edges);
        assert!(one.bin_edges.first().is_some_and(|first| *first > 90.0), "{:?}", one.bin_edges);
        assert!(one.counts.iter().filter(|n| **n > 0).count() >= 4, "{one:?}");
    }

    #[test]
    fn toys_with_one_value_have_bins() {
        let none = binned([&filled([0.0, 0.0]), &StatisticHistogram::default()], true);
        assert_eq!(none.each_ref().map(|one| one.at_zero), [2, 0]);
        assert!(none.iter().all(|one| (&one.bin_edges[..], &one.counts[..]) == (&[0.0, 1.0], &[0])));
        for value in [1e-7, 3.0, 1e300] {
            let [one] = binned([&filled([value; 5])], false);
            assert_eq!(one.counts.iter().sum::<u64>(), 5, "{one:?}");
            assert!(one.bin_edges.windows(2).all(|pair| pair[0] < pair[1]), "{one:?}");
        }
    }
}
