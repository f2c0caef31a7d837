//! Functions of observables that are given by tables: histograms and splines.

/// A function of observables without parameters, or several such functions.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::events) enum Table {
    /// Piecewise constant function of one or more observables; 0 outside of all bins.
    Histogram {
        /// Observable of each axis.
        observables: Vec<usize>,
        /// Bin edges of each axis.
        edges: Vec<Vec<f64>>,
        /// Value in each bin; the last axis varies fastest.
        heights: Vec<f64>,
    },
    /// Natural cubic splines that are 1 at one knot and 0 at the others, one per knot; 0 outside of the knots.
    Spline {
        observable: usize,
        knots: Vec<f64>,
        /// Second derivatives of spline `j` at knot `i`, at `i n + j`.
        bends: Vec<f64>,
    },
}

impl Table {
    /// Returns the splines through points at `knots`.
    ///
    /// The second derivatives solve the usual tridiagonal system with zeros at both ends, once for each point
    /// (Thomas algorithm).
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

    /// Replaces observables by their positions in `observables`.
    pub(super) fn renumber(&mut self, observables: &[usize]) {
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

    /// Returns function `row` for one event.
    pub(super) fn at(&self, row: usize, columns: &[&[f64]], event: usize) -> f64 {
        match self {
            Self::Histogram { observables, edges, heights } => {
                let mut index = 0;
                for (&x, edges) in observables.iter().zip(edges) {
                    let Some(bin) = interval(edges, columns[x][event]) else { return 0.0 };
                    index = index * (edges.len() - 1) + bin;
                }
                heights[index]
            }
            Self::Spline { observable, knots, bends } => {
                let (x, n) = (columns[*observable][event], knots.len());
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

    /// Returns the integral of spline `row` over `lo..hi`.
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
            // Antiderivatives by `b = (x - knot_i) / h`, with `a = 1 - b`.
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

/// Returns the index of the interval between edges that contains `x`. The last edge belongs to the last
/// interval.
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
