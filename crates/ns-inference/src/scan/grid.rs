//! The points of a scan: sorted, each once, in one or two parameters.

use super::order::Along;

/// One scanned parameter with its distinct points in ascending order.
pub(super) struct Line {
    pub(super) index: usize,
    pub(super) values: Vec<f64>,
}

impl Line {
    /// Sorts the points and drops repetitions.
    pub(super) fn new(index: usize, values: &[f64]) -> Self {
        let mut values = values.to_vec();
        // One zero only: -0 and 0 are the same point.
        values.iter_mut().for_each(|x| *x += 0.0);
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { index, values }
    }

    /// The position of a value among the points.
    pub(super) fn position(&self, value: f64) -> Option<usize> {
        self.values.binary_search_by(|x| x.total_cmp(&value)).ok()
    }
}

/// All points; point `k` has the first parameter's value `k % n1` and the second's value `k / n1`.
pub(super) struct Grid {
    pub(super) first: Line,
    pub(super) second: Option<Line>,
}

impl Grid {
    /// Numbers of points along both parameters; 1 where there is no second one.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.first.values.len(), self.second.as_ref().map_or(1, |line| line.values.len()))
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        let (n1, n2) = self.shape();
        n1 * n2
    }

    /// The parameters held at a point, with their values.
    pub(super) fn held(&self, k: usize) -> Vec<(usize, f64)> {
        let n1 = self.first.values.len().max(1);
        let at = |line: &Line, i: usize| line.values.get(i).map(|x| (line.index, *x));
        let first = at(&self.first, k % n1);
        let second = self.second.as_ref().and_then(|line| at(line, k / n1));
        first.into_iter().chain(second).collect()
    }

    /// The position of a point along a direction; NaN where there is none.
    pub(super) fn x(&self, k: usize, along: Along) -> f64 {
        let n1 = self.first.values.len().max(1);
        let (line, i) = match along {
            Along::Second => (self.second.as_ref(), k / n1),
            _ => (Some(&self.first), k % n1),
        };
        line.and_then(|line| line.values.get(i)).copied().unwrap_or(f64::NAN)
    }

    /// Place on a line, number of points on it, and the step from one to the next.
    fn place(&self, k: usize, along: Along) -> (usize, usize, usize) {
        let (n1, n2) = self.shape();
        match along {
            Along::Second => (k / n1.max(1), n2, n1),
            _ => (k % n1.max(1), n1, 1),
        }
    }

    /// The points on the line through `k`, in ascending order.
    pub(super) fn line(&self, k: usize, along: Along) -> impl Iterator<Item = usize> {
        let (i, n, step) = self.place(k, along);
        (0..n).map(move |j| k - i * step + j * step)
    }

    /// The points on either side of `k` on a line, nearest first.
    pub(super) fn sides(
        &self,
        k: usize,
        along: Along,
    ) -> (impl Iterator<Item = usize>, impl Iterator<Item = usize>) {
        let (i, n, step) = self.place(k, along);
        ((1..=i).map(move |j| k - j * step), (1..n - i).map(move |j| k + j * step))
    }
}
