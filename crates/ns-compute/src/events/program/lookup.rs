//! Functions of observables that are given by tables of numbers: histograms and splines.

/// One or more functions of observables that do not depend on parameters. Each function is one row of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Table {
    /// Functions of one or more observables that are constant within each bin. All functions have the same bins.
    /// Outside the bins they are 0.
    Histogram {
        /// Indices of the observables, one for each axis of the bins.
        observables: Vec<usize>,
        /// Bin edges of each axis, in ascending order.
        edges: Vec<Vec<f64>>,
        /// Values of the functions in the bins, function after function. Within a function, the last axis varies
        /// fastest.
        heights: Vec<f64>,
    },
    /// Natural cubic splines, one per knot. Each spline is 1 at its own knot and 0 at all other knots. Outside the
    /// knots all splines are 0.
    Spline {
        observable: usize,
        knots: Vec<f64>,
        /// Second derivatives of the `n` splines at the `n` knots. The element with the index `i n + j` belongs to
        /// spline `j` and knot `i`.
        bends: Vec<f64>,
    },
}

impl Table {
    /// Creates the splines for the given knots.
    ///
    /// The second derivatives of each spline solve a tridiagonal system of equations with zeros at both ends. The
    /// system is solved by the Thomas algorithm.
    pub(in crate::events) fn spline(observable: usize, knots: &[f64]) -> Self {
        let n = knots.len();
        let mut bends = vec![0.0; n * n];
        for j in 0..n {
            let y = |i: usize| if i == j { 1.0 } else { 0.0 };
            let (mut upper, mut right) = (vec![0.0; n], vec![0.0; n]);
            for i in 1..n.saturating_sub(1) {
                let (before, after) = (knots[i] - knots[i - 1], knots[i + 1] - knots[i]);
                let force = 6.0 * ((y(i + 1) - y(i)) / after - (y(i) - y(i - 1)) / before);
                let pivot = 2.0 * (before + after) - before * upper[i - 1];
                upper[i] = after / pivot;
                right[i] = (force - before * right[i - 1]) / pivot;
            }
            for i in (1..n.saturating_sub(1)).rev() {
                bends[i * n + j] = right[i] - upper[i] * bends[(i + 1) * n + j];
            }
        }
        Self::Spline { observable, knots: knots.to_vec(), bends }
    }

    /// Replaces the index of each observable by the position of this index in `observables`.
    pub(in crate::events) fn renumber(&mut self, observables: &[usize]) {
        let place = |x: &mut usize| {
            if let Some(k) = observables.iter().position(|o| o == x) {
                *x = k;
            }
        };
        match self {
            Self::Histogram { observables, .. } => observables.iter_mut().for_each(place),
            Self::Spline { observable, .. } => place(observable),
        }
    }

    /// Returns the value of the function in row `row` of the table for one event.
    pub(in crate::events) fn at(&self, row: usize, columns: &[&[f64]], event: usize) -> f64 {
        self.value(row, |x| columns[x][event])
    }

    /// Returns the value of the function in row `row` of the table at a point.
    pub(in crate::events) fn at_point(&self, row: usize, point: &[f64]) -> f64 {
        self.value(row, |x| point[x])
    }

    #[inline(always)]
    fn value(&self, row: usize, observable_at: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Histogram { observables, edges, heights } => {
                let mut index = 0;
                for (&x, edges) in observables.iter().zip(edges) {
                    let Some(bin) = interval(edges, observable_at(x)) else { return 0.0 };
                    index = index * (edges.len() - 1) + bin;
                }
                heights[row * bins(edges) + index]
            }
            Self::Spline { observable, knots, bends } => {
                let (x, n) = (observable_at(*observable), knots.len());
                let Some(i) = interval(knots, x) else { return 0.0 };
                let h = knots[i + 1] - knots[i];
                let (a, b) = ((knots[i + 1] - x) / h, (x - knots[i]) / h);
                let value = if i == row { a } else { 0.0 } + if i + 1 == row { b } else { 0.0 };
                let curved =
                    (a * a * a - a) * bends[i * n + row] + (b * b * b - b) * bends[(i + 1) * n + row];
                value + curved * h * h / 6.0
            }
        }
    }

    /// Returns a lower and an upper bound of the function in row `row` of the table within a box. `side` returns the
    /// ends of the box along an observable. The upper end does not belong to the box.
    pub(in crate::events) fn bounds(&self, row: usize, side: &dyn Fn(usize) -> (f64, f64)) -> (f64, f64) {
        let mut all = (f64::INFINITY, f64::NEG_INFINITY);
        let mut join = |lo: f64, hi: f64| all = (all.0.min(lo), all.1.max(hi));
        match self {
            Self::Histogram { observables, edges, heights } => {
                let mut reached: Vec<(usize, usize)> = Vec::with_capacity(edges.len());
                for (&x, edges) in observables.iter().zip(edges) {
                    let (lo, hi) = side(x);
                    let last = edges.len() - 1;
                    if lo < edges[0] || hi > edges[last] {
                        join(0.0, 0.0);
                    }
                    let first = edges.partition_point(|&edge| edge <= lo).saturating_sub(1).min(last);
                    reached.push((first, edges.partition_point(|&edge| edge < hi).min(last)));
                }
                if reached.iter().all(|(from, to)| from < to) {
                    let mut at: Vec<usize> = reached.iter().map(|range| range.0).collect();
                    'bins: loop {
                        let place =
                            |index: usize, (bin, edges): (&usize, &Vec<f64>)| index * (edges.len() - 1) + bin;
                        let height = heights[row * bins(edges) + at.iter().zip(edges).fold(0, place)];
                        join(height, height);
                        for (bin, range) in at.iter_mut().zip(&reached).rev() {
                            *bin += 1;
                            if *bin < range.1 {
                                continue 'bins;
                            }
                            *bin = range.0;
                        }
                        break;
                    }
                }
            }
            Self::Spline { observable, knots, bends } => {
                let ((lo, hi), n) = (side(*observable), knots.len());
                if lo < knots[0] || hi > knots[n - 1] {
                    join(0.0, 0.0);
                }
                for i in 0..n - 1 {
                    let (from, to) = (lo.max(knots[i]), hi.min(knots[i + 1]));
                    if from > to {
                        continue;
                    }
                    let h = knots[i + 1] - knots[i];
                    let (b, a) = (
                        ((from - knots[i]) / h, (to - knots[i]) / h),
                        ((knots[i + 1] - to) / h, (knots[i + 1] - from) / h),
                    );
                    let (mut least, mut most) = (0.0, 0.0);
                    for (knot, (from, to)) in [(i, a), (i + 1, b)] {
                        if knot == row {
                            (least, most) = (least + from, most + to);
                        }
                        // The range of `t^3 - t`. Its minimum is at `1/sqrt(3)`.
                        let cubic = |t: f64| t * t * t - t;
                        let lowest = 3.0_f64.sqrt().recip().clamp(from, to);
                        let (down, up) = (cubic(lowest), cubic(from).max(cubic(to)));
                        let factor = bends[knot * n + row] * h * h / 6.0;
                        (least, most) = (
                            least + (factor * down).min(factor * up),
                            most + (factor * down).max(factor * up),
                        );
                    }
                    join(least - 1e-13, most + 1e-13);
                }
            }
        }
        if all.0 > all.1 { (0.0, 0.0) } else { all }
    }

    /// Returns the integral of the spline in row `row` of the table over `lo..hi`.
    pub(in crate::events) fn spline_integral(&self, row: usize, (lo, hi): (f64, f64)) -> f64 {
        let Self::Spline { knots, bends, .. } = self else { return f64::NAN };
        let n = knots.len();
        let mut total = 0.0;
        for i in 0..n - 1 {
            let h = knots[i + 1] - knots[i];
            let (from, to) = (lo.max(knots[i]), hi.min(knots[i + 1]));
            if from >= to {
                continue;
            }
            // Antiderivatives with respect to `b = (x - knot_i) / h`, where `a = 1 - b`.
            let whole = |b: f64| {
                let a = 1.0 - b;
                let value =
                    if i == row { -0.5 * a * a } else { 0.0 } + if i + 1 == row { 0.5 * b * b } else { 0.0 };
                let left = -0.25 * a.powi(4) + 0.5 * a * a;
                let right = 0.25 * b.powi(4) - 0.5 * b * b;
                value + (left * bends[i * n + row] + right * bends[(i + 1) * n + row]) * h * h / 6.0
            };
            total += h * (whole((to - knots[i]) / h) - whole((from - knots[i]) / h));
        }
        total
    }
}

/// Returns the number of bins of a histogram.
fn bins(edges: &[Vec<f64>]) -> usize {
    edges.iter().map(|axis| axis.len() - 1).product()
}

/// Returns the index of the interval between two edges that contains `x`. The last edge belongs to the last interval.
/// Returns `None` if `x` is outside the edges.
fn interval(edges: &[f64], x: f64) -> Option<usize> {
    let (first, last) = (*edges.first()?, *edges.last()?);
    if !(x >= first && x <= last) {
        return None;
    }
    Some((edges.partition_point(|&edge| edge <= x) - 1).min(edges.len() - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splines_interpolate_smoothly_and_their_integrals_are_right() {
        let knots = [0.0, 0.7, 1.5, 3.0, 3.4];
        let spline = Table::spline(0, &knots);
        for row in 0..knots.len() {
            let at = |x: f64| spline.at(row, &[&[x]], 0);
            for (i, &knot) in knots.iter().enumerate() {
                assert!((at(knot) - if i == row { 1.0 } else { 0.0 }).abs() < 1e-14);
            }
            for &knot in &knots[1..4] {
                let h = 1e-4;
                let bend = |x: f64| (at(x + h) - 2.0 * at(x) + at(x - h)) / (h * h);
                assert!((bend(knot - 2.0 * h) - bend(knot + 2.0 * h)).abs() < 1e-2, "{row} {knot}");
            }
            let n = 20_000;
            let (lo, hi) = (0.3, 3.3);
            let step = (hi - lo) / f64::from(n);
            let sum: f64 = (0..n).map(|i| at(lo + step * (f64::from(i) + 0.5))).sum();
            assert!((spline.spline_integral(row, (lo, hi)) - step * sum).abs() < 1e-8, "{row}");
        }
    }

    #[test]
    fn bins_contain_their_lower_edge_and_the_last_one_both() {
        let table = Table::Histogram {
            observables: vec![0, 1],
            edges: vec![vec![0.0, 1.0, 2.0], vec![0.0, 5.0, 6.0]],
            heights: vec![1.0, 2.0, 3.0, 4.0],
        };
        let at = |x: f64, y: f64| table.at(0, &[&[x], &[y]], 0);
        assert_eq!([at(0.0, 0.0), at(0.5, 5.0), at(1.0, 4.0), at(2.0, 6.0)], [1.0, 2.0, 3.0, 4.0]);
        assert_eq!([at(-0.1, 1.0), at(1.0, 6.1), at(f64::NAN, 1.0)], [0.0; 3]);
    }
}
