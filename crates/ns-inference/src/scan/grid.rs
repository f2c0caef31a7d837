//! The grid of points of a scan in one or two parameters. The values of each parameter are sorted and without
//! repetition.

use super::order::Along;

/// One scanned parameter, with its distinct values in ascending order.
pub(super) struct Line {
    pub(super) index: usize,
    pub(super) values: Vec<f64>,
}

impl Line {
    /// Creates the list of values of the scanned parameter with index `index`. Sorts the values and removes
    /// repetitions.
    pub(super) fn new(index: usize, values: &[f64]) -> Self {
        let mut values = values.to_vec();
        // -0 becomes 0. The two are the same point.
        values.iter_mut().for_each(|x| *x += 0.0);
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { index, values }
    }

    /// Returns the position of `value` in `values`; `None` if `values` does not contain it.
    pub(super) fn position(&self, value: f64) -> Option<usize> {
        self.values.binary_search_by(|x| x.total_cmp(&value)).ok()
    }
}

/// All points of a scan. If the first parameter has `n1` values, point `k` is at value `k % n1` of the first
/// parameter and at value `k / n1` of the second parameter.
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

    /// Returns one pair per scanned parameter: the index of the parameter, and its value at point `k`.
    pub(super) fn held(&self, k: usize) -> Vec<(usize, f64)> {
        let n1 = self.first.values.len().max(1);
        let at = |line: &Line, i: usize| line.values.get(i).map(|x| (line.index, *x));
        let first = at(&self.first, k % n1);
        let second = self.second.as_ref().and_then(|line| at(line, k / n1));
        first.into_iter().chain(second).collect()
    }

    /// Returns the value at point `k` of the parameter that varies in the direction `along`; NaN if there is no such
    /// value.
    pub(super) fn x(&self, k: usize, along: Along) -> f64 {
        let n1 = self.first.values.len().max(1);
        let (line, i) = match along {
            Along::Second => (self.second.as_ref(), k / n1),
            _ => (Some(&self.first), k % n1),
        };
        line.and_then(|line| line.values.get(i)).copied().unwrap_or(f64::NAN)
    }

    /// Describes the row or column of the grid through point `k` in the direction `along`. Returns the position of `k`
    /// in this row or column, its number of points, and the difference between the indices of neighbouring points.
    fn place(&self, k: usize, along: Along) -> (usize, usize, usize) {
        let (n1, n2) = self.shape();
        match along {
            Along::Second => (k / n1.max(1), n2, n1),
            _ => (k % n1.max(1), n1, 1),
        }
    }

    /// Returns the indices of all points in the row or column through point `k` in the direction `along`, in ascending
    /// order. `k` itself is included.
    pub(super) fn line(&self, k: usize, along: Along) -> impl Iterator<Item = usize> {
        let (i, n, step) = self.place(k, along);
        (0..n).map(move |j| k - i * step + j * step)
    }

    /// Returns the indices of the points before `k` and of the points after `k` in the row or column through `k` in the
    /// direction `along`. The nearest points come first.
    pub(super) fn sides(
        &self,
        k: usize,
        along: Along,
    ) -> (impl Iterator<Item = usize>, impl Iterator<Item = usize>) {
        let (i, n, step) = self.place(k, along);
        ((1..=i).map(move |j| k - j * step), (1..n - i).map(move |j| k + j * step))
    }
}
