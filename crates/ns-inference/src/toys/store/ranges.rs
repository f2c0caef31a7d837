//! Sets of toys. A set is stored as ranges of consecutive indices of toys.

use std::ops::Range;

/// A set of integers, stored as disjoint ranges in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds a number that is larger than all numbers in the set.
    pub(super) fn push(&mut self, number: u64) {
        match self.0.last_mut() {
            Some(last) if last.end == number => last.end = number + 1,
            _ => self.0.push(number..number + 1),
        }
    }

    /// Adds all numbers of another set.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut all: Vec<Range<u64>> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.0 = merged;
    }

    /// Returns the first range of consecutive numbers that are in both sets; `None` if the sets have no number in
    /// common.
    pub(super) fn common(&self, other: &Self) -> Option<Range<u64>> {
        let overlap = |a: &Range<u64>, b: &Range<u64>| a.start.max(b.start)..a.end.min(b.end);
        let all = self.0.iter().flat_map(|a| other.0.iter().map(move |b| overlap(a, b)));
        all.filter(|range| range.start < range.end).min_by_key(|range| range.start)
    }

    /// Returns the integers in the range `whole` that are not in this set, as ranges in ascending order.
    #[must_use]
    pub fn missing(&self, whole: Range<u64>) -> Vec<Range<u64>> {
        let mut next = whole.start;
        let mut gaps = Vec::new();
        for range in &self.0 {
            let start = range.start.min(whole.end);
            if start > next {
                gaps.push(next..start);
            }
            next = next.max(range.end);
        }
        if next < whole.end {
            gaps.push(next..whole.end);
        }
        gaps
    }

    /// Returns the number of integers in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the ranges of the set, in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[Range<u64>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    fn of(numbers: &[u64]) -> Ranges {
        let mut ranges = Ranges::default();
        numbers.iter().for_each(|number| ranges.push(*number));
        ranges
    }

    #[test]
    fn gaps_and_overlaps() {
        let mut a = of(&[0, 1, 2, 7, 8]);
        assert_eq!((a.as_slice(), a.count()), (&[0..3, 7..9][..], 5));
        assert_eq!(a.missing(0..12), [3..7, 9..12]);
        assert_eq!(a.missing(0..3), []);
        assert_eq!(of(&[]).missing(4..6), vec![4..6]);
        assert_eq!(a.common(&of(&[3, 4, 5, 6])), None);
        assert_eq!(a.common(&of(&[1, 2, 3, 4, 8])), Some(1..3));
        a.merge(&of(&[3, 4, 5, 6]));
        assert_eq!(a, of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]));
        a.merge(&of(&[5, 6, 9]));
        assert_eq!((a.count(), a.as_slice().len()), (10, 1));
    }
}
