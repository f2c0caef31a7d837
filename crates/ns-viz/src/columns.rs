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

/// Returns the bins that are drawn on the axis `x`, from left to right, with gaps only at bins that are not `shown`.
/// `edges` are the edges of all bins.
///
/// Bins are grouped with their neighbours until the group is a pixel wide. In a group of several bins, only
/// the bins with the lowest and the highest `height` are drawn, in their order. Each of them gets half of the
/// group's width. If no bin of the group has a height, the first bin is drawn.
pub(crate) fn cells(
    edges: &[f64],
    x: &Axis,
    shown: impl Fn(usize) -> bool,
    height: impl Fn(usize) -> Option<f64>,
) -> Vec<Cell> {
    let bins = edges.len().saturating_sub(1);
    let at = |edge: usize| edges.get(edge).map_or(0.0, |value| x.at(*value));
    let mut cells = Vec::with_capacity(bins.min(4096));
    let mut first = 0;
    for bin in 0..bins {
        if !shown(bin) {
            first = bin + 1;
            continue;
        }
        let (left, right) = (at(first), at(bin + 1));
        if right - left < NARROW && bin + 1 < bins && shown(bin + 1) {
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

/// Returns the cells in runs without gaps.
pub(crate) fn runs(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|one, next| one.right == next.left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_bins_are_drawn_one_by_one() {
        let axis = Axis::linear(0.0, 3.0).between(0.0, 30.0);
        let found = cells(&[0.0, 1.0, 2.0, 3.0], &axis, |_| true, |_| None);
        let expected = [(0.0, 10.0, 0), (10.0, 20.0, 1), (20.0, 30.0, 2)];
        assert_eq!(found.len(), 3);
        for (cell, (left, right, bin)) in found.iter().zip(expected) {
            assert_eq!((cell.left.round(), cell.right.round(), cell.bin), (left, right, bin));
        }
    }

    #[test]
    fn hidden_bins_are_gaps() {
        let axis = Axis::linear(0.0, 4.0).between(0.0, 40.0);
        let edges = [0.0, 1.0, 2.0, 3.0, 4.0];
        let found = cells(&edges, &axis, |bin| bin != 1, |_| None);
        let bins: Vec<Vec<usize>> =
            runs(&found).map(|run| run.iter().map(|cell| cell.bin).collect()).collect();
        assert_eq!(bins, [vec![0], vec![2, 3]]);
        // Narrow bins are not grouped with hidden ones, whatever these hold.
        let edges: Vec<f64> = (0..=1000).map(f64::from).collect();
        let axis = Axis::linear(0.0, 1000.0).between(0.0, 100.0);
        let drawn = |hidden: f64| {
            let inside = |bin: usize| (333..337).contains(&bin);
            let height = |bin: usize| Some(if inside(bin) { hidden } else { (bin % 7) as f64 });
            cells(&edges, &axis, |bin| !inside(bin), height)
        };
        assert_eq!(drawn(0.0), drawn(1e6));
        assert!(drawn(1e6).iter().all(|cell| !(333..337).contains(&cell.bin)));
        assert_eq!(runs(&drawn(0.0)).count(), 2);
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
        let found = cells(&edges, &axis, |_| true, height);
        assert!(found.len() <= 1202, "{}", found.len());
        for spike in [777, 15_000] {
            assert!(found.iter().any(|cell| cell.bin == spike), "{spike} is seen");
        }
        assert!(found.windows(2).all(|pair| pair[0].right == pair[1].left && pair[0].bin < pair[1].bin));
        assert_eq!((found[0].left.round(), found.last().unwrap().right.round()), (50.0, 650.0));
    }
}
