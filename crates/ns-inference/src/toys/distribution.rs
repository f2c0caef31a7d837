//! The distribution of a statistic in toys, as a histogram whose memory does not grow with the number of toys.

use super::SAME_STATISTIC;

/// Number of bins of the histogram.
const BINS: usize = 8192;
/// Exponent of the width of the first bins.
const NARROWEST: i32 = -40;

/// The histogram of a statistic that is not negative. Its bins start at 0 and have a width that is a power of two.
///
/// When a value is beyond the last bin, neighbouring bins are merged until it has a bin. The histogram therefore does
/// not depend on the order of the toys. Values of at most [`SAME_STATISTIC`] are counted as 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatisticHistogram {
    /// Numbers of toys; empty if all values are 0.
    bins: Vec<u64>,
    /// The width of a bin is 2 to this power.
    exponent: i32,
    at_zero: u64,
}

/// Histograms of the same statistic with common bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommonBins {
    /// Edges of the bins. There are at least two.
    pub edges: Vec<f64>,
    /// Number of toys in each bin, for each histogram. Values of 0 are not counted.
    pub counts: Vec<Vec<u64>>,
    /// Number of toys beyond the last bin, for each histogram.
    pub beyond: Vec<u64>,
}

impl StatisticHistogram {
    /// Adds the statistic of a toy. A value that is not finite is ignored.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if value <= SAME_STATISTIC {
            self.at_zero += 1;
            return;
        }
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
            self.exponent = NARROWEST;
        }
        while value / width(self.exponent) >= BINS as f64 {
            self.merge_pairs();
        }
        // The quotient is below the number of bins.
        if let Some(count) = self.bins.get_mut((value / width(self.exponent)) as usize) {
            *count += 1;
        }
    }

    /// Returns the number of toys whose statistic is 0.
    #[must_use]
    pub fn at_zero(&self) -> u64 {
        self.at_zero
    }

    /// Returns the number of toys.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.at_zero + self.bins.iter().sum::<u64>()
    }

    /// Doubles the width of the bins.
    fn merge_pairs(&mut self) {
        for bin in 0..BINS {
            let pair = self.bins.get(2 * bin..2 * bin + 2);
            let sum = pair.map_or(0, |pair| pair.iter().sum());
            if let Some(count) = self.bins.get_mut(bin) {
                *count = sum;
            }
        }
        self.exponent += 1;
    }
}

impl CommonBins {
    /// Rebins histograms of the same statistic. The number of bins is three times the cube root of the number of toys,
    /// from 16 to 60. The bins start at 0 if `from_zero`, and at the lowest value otherwise. They end at
    /// the highest value, or where a few values are far beyond all others.
    #[must_use]
    pub fn new(histograms: &[&StatisticHistogram], from_zero: bool) -> Self {
        let filled = || histograms.iter().filter(|one| !one.bins.is_empty());
        let Some(exponent) = filled().map(|one| one.exponent).max() else {
            let n = histograms.len();
            return Self { edges: vec![0.0, 1.0], counts: vec![vec![0]; n], beyond: vec![0; n] };
        };
        let fine: Vec<StatisticHistogram> = histograms
            .iter()
            .map(|one| {
                let mut one = (*one).clone();
                while !one.bins.is_empty() && one.exponent < exponent {
                    one.merge_pairs();
                }
                one
            })
            .collect();
        let of_bin = |bin: usize| fine.iter().filter_map(move |one| one.bins.get(bin)).sum::<u64>();
        let sums: Vec<u64> = (0..BINS).map(of_bin).collect();
        let lowest = sums.iter().position(|n| *n > 0).unwrap_or(0);
        let highest = sums.iter().rposition(|n| *n > 0).unwrap_or(0);
        let first = if from_zero { 0 } else { lowest };
        let last = highest.min(most_of(&sums, first));
        let most = fine.iter().map(StatisticHistogram::n).max().unwrap_or(0) as f64;
        let wanted = (3.0 * most.cbrt()).clamp(16.0, 60.0) as usize;
        let size = (last + 1 - first).div_ceil(wanted).max(1);
        let n = (last + 1 - first).div_ceil(size);
        let edges = (0..=n).map(|edge| (first + edge * size) as f64 * width(exponent)).collect();
        let within = |one: &StatisticHistogram, bin: usize| {
            let bins = one.bins.get(first + bin * size..(first + (bin + 1) * size).min(BINS));
            bins.map_or(0, |bins| bins.iter().sum())
        };
        let counts: Vec<Vec<u64>> =
            fine.iter().map(|one| (0..n).map(|bin| within(one, bin)).collect()).collect();
        let beyond = fine
            .iter()
            .zip(&counts)
            .map(|(one, counts)| one.n() - one.at_zero - counts.iter().sum::<u64>())
            .collect();
        Self { edges, counts, beyond }
    }
}

fn width(exponent: i32) -> f64 {
    2_f64.powi(exponent)
}

/// Returns the bin beyond which values are left out. It is four times as far from the bin `first` as the bin below which
/// 99 % of the toys are.
fn most_of(sums: &[u64], first: usize) -> usize {
    let all: u64 = sums.iter().sum();
    let mut below = 0;
    let bin = sums.iter().position(|n| {
        below += n;
        below as f64 >= 0.99 * all as f64
    });
    first + 4 * (bin.unwrap_or(first).max(first) + 1 - first)
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
        assert_eq!((forwards.n(), forwards.at_zero()), (8, 2));
        assert!(
            width(forwards.exponent) * BINS as f64 > 1e7
                && width(forwards.exponent - 1) * (BINS as f64) <= 1e7
        );
    }

    #[test]
    fn common_bins_hold_every_toy() {
        let b = filled((0..1000).map(|i| 0.013 * f64::from(i)));
        let sb = filled((0..1000).map(|i| 0.000_7 * f64::from(i)));
        let common = CommonBins::new(&[&b, &sb], true);
        assert_eq!(common.edges[0], 0.0);
        assert!((24..=30).contains(&common.counts[0].len()), "{}", common.counts[0].len());
        for (counts, one) in common.counts.iter().zip([&b, &sb]) {
            assert_eq!(counts.iter().sum::<u64>() + one.at_zero(), 1000);
        }
        assert_eq!(common.beyond, [0, 0]);
        assert_eq!(common.edges.len(), common.counts[0].len() + 1);
        // A toy lies in the bin whose edges enclose it: the statistics of the second histogram end at 0.7.
        let last = common.counts[1].iter().rposition(|n| *n > 0).unwrap();
        assert!(common.edges[last] <= 0.7 && 0.7 <= common.edges[last + 1], "{common:?}");
    }

    #[test]
    fn a_far_toy_leaves_the_others_readable() {
        let values = (0..999).map(|i| 100.0 + 0.1 * f64::from(i % 400));
        let common = CommonBins::new(&[&filled(values.chain([9e4]))], false);
        assert_eq!(common.beyond, [1]);
        assert!(common.edges.last().is_some_and(|last| *last < 300.0), "{:?}", common.edges);
        assert!(common.edges.first().is_some_and(|first| *first > 80.0), "{:?}", common.edges);
    }

    #[test]
    fn toys_at_zero_alone_have_an_empty_bin() {
        let none = CommonBins::new(&[&filled([0.0, 0.0]), &StatisticHistogram::default()], true);
        assert_eq!((none.edges, none.counts), (vec![0.0, 1.0], vec![vec![0], vec![0]]));
    }
}
