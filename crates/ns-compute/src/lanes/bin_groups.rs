//! Groups of bins in large models, for fits on a GPU.
//!
//! The matrix over the bins in the Gauss-Newton metric (see `metric`) grows with the square of the number of bins, and
//! the time for its inversion with the cube. In many large models most constrained parameters act on a few channels
//! only, as in a combination of measurements with nuisance parameters of their own. If the few constrained parameters
//! that act on most channels are not eliminated, the matrix consists of blocks: one for each group of bins. Each block
//! is inverted alone.

use std::ops::Range;

use super::jacobian::Jacobian;
use crate::shared_constants::MOST_TILED;

/// Largest number of bins in a group.
const MOST_BINS: usize = MOST_TILED;

/// Largest number of constrained parameters that may act on bins of several groups. These parameters are not
/// eliminated from the metric.
const MOST_KEPT: usize = 16;

/// A division of the bins into groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BinGroups {
    /// The bins of each group. The groups follow each other, and contain all bins.
    pub(super) groups: Vec<Range<usize>>,
    /// Constrained parameters that act on bins of several groups. They are not eliminated from the metric.
    pub(super) kept: Vec<usize>,
}

impl BinGroups {
    /// Divides `n_bins` bins into groups of at most [`MOST_BINS`] bins, so that each of the constrained parameters
    /// `constrained` acts on one group only, except for at most [`MOST_KEPT`] of them. These are the parameters that act
    /// on the widest ranges of bins. Returns `None` if the bins cannot be divided so.
    pub(super) fn new(jacobian: &Jacobian, constrained: &[usize], n_bins: usize) -> Option<Self> {
        let reach = |&p: &usize| (p, jacobian.reach(p));
        let mut reaches: Vec<(usize, Range<usize>)> = constrained.iter().map(reach).collect();
        // The parameters that act on the widest ranges of bins are kept first.
        reaches.sort_by_key(|(p, bins)| (std::cmp::Reverse(bins.len()), *p));
        (0..=MOST_KEPT.min(reaches.len())).find_map(|n_kept| {
            let (kept, rest) = reaches.split_at(n_kept);
            let groups = divide(rest.iter().map(|(_, bins)| bins), n_bins)?;
            Some(Self { groups, kept: kept.iter().map(|(p, _)| *p).collect() })
        })
    }
}

/// Divides `n_bins` bins into groups of at most [`MOST_BINS`] bins, of which none divides a range in `together`. Makes
/// few groups. Returns `None` if a group would be too large.
fn divide<'a>(together: impl Iterator<Item = &'a Range<usize>>, n_bins: usize) -> Option<Vec<Range<usize>>> {
    let mut divisible = vec![true; n_bins + 1];
    for bins in together {
        if let Some(inside) = divisible.get_mut(bins.start + 1..bins.end) {
            inside.fill(false);
        }
    }
    let mut groups = Vec::new();
    let (mut start, mut end) = (0, 0);
    for next in (1..=n_bins).filter(|&b| divisible[b]) {
        if next - start > MOST_BINS {
            groups.push(start..end);
            start = end;
            if next - start > MOST_BINS {
                return None;
            }
        }
        end = next;
    }
    groups.push(start..end);
    Some(groups)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_large_and_divide_no_range() {
        let divided = |ranges: &[Range<usize>], n_bins| divide(ranges.iter(), n_bins);
        assert_eq!(divided(&[], 10), Some(vec![0..10]));
        assert_eq!(divided(&[], 100), Some(vec![0..48, 48..96, 96..100]));
        assert_eq!(divided(&[0..30, 25..41, 41..72], 72), Some(vec![0..41, 41..72]));
        assert_eq!(divided(&[0..41, 41..82, 88..95], 95), Some(vec![0..41, 41..88, 88..95]));
        assert_eq!(divided(&[0..49], 60), None);
        assert_eq!(divided(&[10..59], 60), None);
        assert_eq!(divided(&[0..20, 19..40, 39..60], 60), None);
    }
}
