//! The order of parameters in which those with large correlations stand next to each other.

/// Returns the order of the rows of a correlation matrix: groups are merged by the largest mean size of the correlations between
/// their members (average linkage), and the closer ends of two groups that are merged come together. What is equal stays in its order. Missing coefficients
/// count as 0.
///
/// The time grows with the third power of the number of rows.
pub(super) fn order(matrix: &[Vec<Option<f64>>]) -> Vec<usize> {
    let size = |i: usize, j: usize| {
        matrix
            .get(i)
            .and_then(|row| row.get(j))
            .copied()
            .flatten()
            .filter(|rho| rho.is_finite())
            .map_or(0.0, f64::abs)
    };
    let mut groups: Vec<Vec<usize>> = (0..matrix.len()).map(|i| vec![i]).collect();
    let mean = |a: &[usize], b: &[usize]| {
        let sum: f64 = a.iter().flat_map(|i| b.iter().map(|j| size(*i, *j))).sum();
        sum / (a.len() * b.len()).max(1) as f64
    };
    let mut closeness: Vec<Vec<f64>> =
        (0..groups.len()).map(|i| (0..groups.len()).map(|j| size(i, j)).collect()).collect();
    while groups.len() > 1 {
        let mut best = (0, 1, -1.0);
        for (i, row) in closeness.iter().enumerate() {
            for (j, &close) in row.iter().enumerate().skip(i + 1) {
                if close > best.2 {
                    best = (i, j, close);
                }
            }
        }
        let (i, j, _) = best;
        let second = groups.remove(j);
        closeness.remove(j);
        for row in &mut closeness {
            row.remove(j);
        }
        let Some(first) = groups.get_mut(i) else { break };
        *first = joined(std::mem::take(first), second, &size);
        let merged = first.clone();
        for (k, group) in groups.iter().enumerate().filter(|(k, _)| *k != i) {
            let close = mean(&merged, group);
            for (a, b) in [(i, k), (k, i)] {
                if let Some(place) = closeness.get_mut(a).and_then(|row| row.get_mut(b)) {
                    *place = close;
                }
            }
        }
    }
    groups.into_iter().flatten().collect()
}

/// Puts two groups next to each other, with those ends together whose correlation is largest.
fn joined(first: Vec<usize>, second: Vec<usize>, size: &impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let turned = |group: &[usize], turn: bool| -> Vec<usize> {
        if turn { group.iter().rev().copied().collect() } else { group.to_vec() }
    };
    let mut best: Option<(f64, Vec<usize>)> = None;
    for turns in [(false, false), (false, true), (true, false), (true, true)] {
        let (left, right) = (turned(&first, turns.0), turned(&second, turns.1));
        let close = match (left.last(), right.first()) {
            (Some(a), Some(b)) => size(*a, *b),
            _ => 0.0,
        };
        if best.as_ref().is_none_or(|(known, _)| close > *known) {
            best = Some((close, [left, right].concat()));
        }
    }
    best.map_or_else(Vec::new, |(_, order)| order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_correlated_comes_together() {
        // Even and odd rows are two groups; in the second, the correlations fall with the distance.
        let rho = |i: usize, j: usize| match (i % 2, j % 2) {
            (0, 0) => -0.9,
            (1, 1) => 0.8 / (1.0 + i.abs_diff(j) as f64),
            _ => 0.01,
        };
        let matrix: Vec<Vec<Option<f64>>> =
            (0..8).map(|i| (0..8).map(|j| Some(if i == j { 1.0 } else { rho(i, j) })).collect()).collect();
        let order = order(&matrix);
        let even: Vec<usize> = order.iter().copied().filter(|i| i % 2 == 0).collect();
        let odd: Vec<usize> = order.iter().copied().filter(|i| i % 2 == 1).collect();
        assert!(order == [even.clone(), odd.clone()].concat() || order == [odd.clone(), even].concat());
        assert!(odd == [1, 3, 5, 7] || odd == [7, 5, 3, 1], "{odd:?}");
        let none = vec![vec![None; 3]; 3];
        assert_eq!(super::order(&none), [0, 1, 2]);
    }
}
