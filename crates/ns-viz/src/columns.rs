//! Selects the bins that are drawn. Bins narrower than a pixel are grouped, and only the lowest and the
//! highest bin of each group are drawn.

use crate::axis::Axis;

/// Width, in pixels, below which a bin is grouped with its neighbours.
const NARROW: f64 = 1.0;

/// A bin that is drawn, with the positions of its edges on the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) bin: usize,
    /// For the first of the two bins that are drawn for a group of bins, the index of the second; otherwise `None`.
    pub(crate) other: Option<usize>,
}

/// Returns the bins that are drawn on the axis `x`, from left to right and without gaps. `edges` are the
/// edges of all bins.
///
/// Bins are grouped with their neighbours until the group is a pixel wide. In a group of several bins, only
/// the bins with the lowest and the highest `height` are drawn, in their order. Each of them gets half of the
/// group's width. If no bin of the group has a height, the first bin is drawn.
pub(crate) fn cells(edges: &[f64], x: &Axis, height: impl Fn(usize) -> Option<f64>) -> Vec<Cell> {
    let bins = edges.len().saturating_sub(1);
    let at = |edge: usize| edges.get(edge).map_or(0.0, |value| x.at(*value));
    let mut cells = Vec::with_capacity(bins.min(4096));
    let mut first = 0;
    for bin in 0..bins {
        let (left, right) = (at(first), at(bin + 1));
        if right - left < NARROW && bin + 1 < bins {
            continue;
        }
        let known =
            (first..=bin).filter_map(|bin| Some((bin, height(bin).filter(|height| !height.is_nan())?)));
        let extreme = known.fold(None, |found: Option<[(usize, f64); 2]>, here| {
            let [low, high] = found.unwrap_or([here, here]);
            Some([if here.1 < low.1 { here } else { low }, if here.1 > high.1 { here } else { high }])
        });
        let (one, other) =
            extreme.map_or((first, first), |[(low, _), (high, _)]| (low.min(high), low.max(high)));
        if one == other {
            cells.push(Cell { left, right, bin: one, other: None });
        } else {
            let middle = 0.5 * (left + right);
            cells.push(Cell { left, right: middle, bin: one, other: Some(other) });
            cells.push(Cell { left: middle, right, bin: other, other: None });
        }
        first = bin + 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_bins_are_drawn_one_by_one() {
        let axis = Axis::linear(0.0, 3.0).between(0.0, 30.0);
        let found = cells(&[0.0, 1.0, 2.0, 3.0], &axis, |_| None);
        let expected = [(0.0, 10.0, 0), (10.0, 20.0, 1), (20.0, 30.0, 2)];
        assert_eq!(found.len(), 3);
        for (cell, (left, right, bin)) in found.iter().zip(expected) {
            assert_eq!((cell.left.round(), cell.right.round(), cell.bin), (left, right, bin));
        }
    }

    #[test]
    fn of_narrow_bins_the_lowest_and_the_highest_remain() {
        let edges: Vec<f64> = (0..=20_000).map(f64::from).collect();
        let axis = Axis::linear(0.0, 20_000.0).between(50.0, 650.0);
        let height = |bin: usize| match bin {
            777 => Some(9.0),
            15_000 => Some(-9.0),
            bin => Some((bin % 7) as f64),
        };
        let found = cells(&edges, &axis, height);
        assert!(found.len() <= 1202, "{}", found.len());
        for spike in [777, 15_000] {
            assert!(found.iter().any(|cell| cell.bin == spike), "{spike} is seen");
        }
        assert!(found.windows(2).all(|pair| pair[0].right == pair[1].left && pair[0].bin < pair[1].bin));
        assert_eq!((found[0].left.round(), found.last().unwrap().right.round()), (50.0, 650.0));
    }
}
