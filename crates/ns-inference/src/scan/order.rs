//! The order in which the points of a scan are fitted: from coarse to fine.
//!
//! The ends come first. Then each round halves all intervals between fitted points. So every later fit starts
//! from an interpolation, which is far better than an extrapolation. The points of one wave are independent,
//! so threads share them. An interrupted scan has points over its whole range. The order depends only on the
//! numbers of points.

/// Direction on the grid in which a starting point is interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// No interpolation: there are no fitted points yet.
    Nothing,
    /// The first parameter varies; the second has the same value.
    First,
    /// The second parameter varies; the first has the same value.
    Second,
}

/// Returns, for each of the `n` points of a line, the round of bisection that reaches it; 0 for the ends.
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

/// Returns the waves of points `(index, along)` of a grid of `n1 x n2` points. In the index, the first
/// parameter runs fastest.
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
