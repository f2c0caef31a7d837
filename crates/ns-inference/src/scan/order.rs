//! The order in which the points of a scan are fitted. The first fits are on a coarse grid, and later fits on finer
//! grids.
//!
//! The points at the ends of the range are fitted first. Then each round halves all intervals between fitted points.
//! Every later fit therefore starts from an interpolation, which is far better than an extrapolation. A wave is a set
//! of points that are fitted together. Their starting points depend only on earlier waves, so the fits of a wave are
//! independent, and several threads can make them. An interrupted scan has points over its whole range. The order
//! depends only on the number of values of each parameter.

/// Direction on the grid along which the starting point of a fit is interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// No interpolation, because no points have been fitted yet.
    Nothing,
    /// The first parameter varies, and the second parameter has the same value at all points.
    First,
    /// The second parameter varies, and the first parameter has the same value at all points.
    Second,
}

/// Returns one number for each of `n` consecutive values: the round of bisection in which the value is fitted. The
/// first and the last value are fitted in round 0.
fn levels(n: usize) -> Vec<usize> {
    let mut level = vec![0; n];
    let mut open = vec![(0, n.saturating_sub(1), 1)];
    while let Some((low, high, depth)) = open.pop() {
        if high - low < 2 {
            continue;
        }
        let middle = low.midpoint(high);
        if let Some(slot) = level.get_mut(middle) {
            *slot = depth;
        }
        open.push((low, middle, depth + 1));
        open.push((middle, high, depth + 1));
    }
    level
}

/// Returns the waves, i.e. the sets of points that are fitted together, for a grid of `n1 x n2` points. Each point is a
/// pair of its grid index and the direction along which its starting point is interpolated. In the grid index, the
/// first parameter varies fastest.
pub(super) fn waves(n1: usize, n2: usize) -> Vec<Vec<(usize, Along)>> {
    let (level1, level2) = (levels(n1), levels(n2));
    let deepest = level1.iter().chain(&level2).copied().max().unwrap_or(0);
    let pick = |along: Along, wanted: &dyn Fn(usize, usize) -> bool| -> Vec<(usize, Along)> {
        let mut wave = Vec::new();
        for (j, b) in level2.iter().enumerate() {
            for (i, a) in level1.iter().enumerate() {
                if wanted(*a, *b) {
                    wave.push((j * n1 + i, along));
                }
            }
        }
        wave
    };
    let mut waves = vec![pick(Along::Nothing, &|a, b| a == 0 && b == 0)];
    for depth in 1..=deepest {
        waves.push(pick(Along::Second, &|a, b| a < depth && b == depth));
        waves.push(pick(Along::First, &|a, b| a == depth && b <= depth));
    }
    waves.retain(|wave| !wave.is_empty());
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_comes_once_and_between_fitted_ones() {
        for (n1, n2) in [(1, 1), (2, 1), (21, 1), (5, 7), (21, 4), (1, 3)] {
            let mut done = vec![false; n1 * n2];
            for wave in waves(n1, n2) {
                for (k, along) in &wave {
                    let (i, j) = (k % n1, k / n1);
                    let row = |range: std::ops::Range<usize>| range.into_iter().any(|i| done[j * n1 + i]);
                    let column = |range: std::ops::Range<usize>| range.into_iter().any(|j| done[j * n1 + i]);
                    match along {
                        Along::Nothing => {}
                        Along::First => assert!(row(0..i) && row(i + 1..n1)),
                        Along::Second => assert!(column(0..j) && column(j + 1..n2)),
                    }
                }
                for (k, _) in wave {
                    assert!(!done[k]);
                    done[k] = true;
                }
            }
            assert!(done.iter().all(|d| *d), "{n1} x {n2}");
        }
    }
}
