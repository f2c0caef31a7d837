//! The grid of points of a scan in one or two parameters, sorted and without repetition.

use super::order::Along;

/// One scanned parameter, with its distinct values in ascending order.
pub(super) struct Line {
    pub(super) index: usize,
    pub(super) values: Vec<f64>,
}

impl Line {
    /// Creates the line of the parameter with the given index: sorts the values and drops repetitions.
    pub(super) fn new(index: usize, values: &[f64]) -> Self {
        let mut values = values.to_vec();
        // -0 becomes 0, so that both are the same point.
        values.iter_mut().for_each(|x| *x += 0.0);
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { index, values }
    }

    /// Returns the index of a value in `values`; `None` if `values` does not contain this value.
    pub(super) fn position(&self, value: f64) -> Option<usize> {
        self.values.binary_search_by(|x| x.total_cmp(&value)).ok()
    }
}

/// All points of a scan. Point `k` has value number `k % n1` of the first parameter and value number `k / n1`
/// of the second, where `n1` is the number of values of the first.
pub(super) struct Grid {
    pub(super) first: Line,
    pub(super) second: Option<Line>,
}

impl Grid {
    /// Returns the numbers of values of the first and the second parameter. The second number is 1 if there is no
    /// second parameter.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.first.values.len(), self.second.as_ref().map_or(1, |line| line.values.len()))
    }

    /// Returns the number of points.
    pub(super) fn len(&self) -> usize {
        let (n1, n2) = self.shape();
        n1 * n2
    }

    /// Returns the indices of the scanned parameters with their values at point `k`.
    pub(super) fn held(&self, k: usize) -> Vec<(usize, f64)> {
        let n1 = self.first.values.len().max(1);
        let at = |line: &Line, i: usize| line.values.get(i).map(|x| (line.index, *x));
        let first = at(&self.first, k % n1);
        let second = self.second.as_ref().and_then(|line| at(line, k / n1));
        first.into_iter().chain(second).collect()
    }

    /// Returns the value at point `k` of the parameter that varies along a direction; NaN if there is no such
    /// value.
    pub(super) fn x(&self, k: usize, along: Along) -> f64 {
        let n1 = self.first.values.len().max(1);
        let (line, i) = match along {
            Along::Second => (self.second.as_ref(), k / n1),
            _ => (Some(&self.first), k % n1),
        };
        line.and_then(|line| line.values.get(i)).copied().unwrap_or(f64::NAN)
    }

    /// Describes the line of points through point `k` along a direction. Returns the position of `k` on this
    /// line, the number of points on it, and the difference of the indices of neighbouring points.
    fn place(&self, k: usize, along: Along) -> (usize, usize, usize) {
        let (n1, n2) = self.shape();
        match along {
            Along::Second => (k / n1.max(1), n2, n1),
            _ => (k % n1.max(1), n1, 1),
        }
    }

    /// Returns the points on the line through `k` along a direction, in ascending order and including `k`.
    pub(super) fn line(&self, k: usize, along: Along) -> impl Iterator<Item = usize> {
        let (i, n, step) = self.place(k, along);
        (0..n).map(move |j| k - i * step + j * step)
    }

    /// Returns the points below `k` and the points above `k` on the line through `k` along a direction, nearest
    /// first.
    pub(super) fn sides(
        &self,
        k: usize,
        along: Along,
    ) -> (impl Iterator<Item = usize>, impl Iterator<Item = usize>) {
        let (i, n, step) = self.place(k, along);
        ((1..=i).map(move |j| k - j * step), (1..n - i).map(move |j| k + j * step))
    }
}
