//! Finds where a density varies quickly, and on which scale. Interval arithmetic gives bounds of the density in a cell.
//! Cells are halved until the density varies by no more than a factor in each of them, or until a cell contains only a
//! negligible part of the density. No peak is missed, however narrow it is.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::formula::{Formula, FormulaMemory};
use super::product;
use crate::events::channel::ChannelPlan;
use crate::events::program::Interval;

/// A cell is halved if the upper bound of the density in it is more than this factor above the lower bound.
const RATIO: f64 = 8.0;

/// A cell that contains less than this fraction of the density is not halved.
const NEGLIGIBLE: f64 = 1e-3;

/// Cuts are about equally good if the possible integrals that they leave differ by at most this factor.
const SIMILAR: f64 = 1.1;

/// Largest number of halvings.
const MOST: usize = 1500;

/// A density varies quickly if one side of a cell is shorter than this fraction of the range.
const SHORT: f64 = 0.25;

/// A cell in which a density varies by a factor of about [`RATIO`], with one side per observable of the density.
pub(in crate::events) type Scale = Vec<(f64, f64)>;

/// Returns the cells that contain a part of the density of the leaf with this index that is not negligible. Returns none if
/// the density does not vary quickly anywhere. The sides belong to `observables`, the observables of the leaf in ascending order. `locals`
/// contains the values that the channel uses, and `region` is a fit range.
pub(in crate::events) fn scales(
    plan: &ChannelPlan,
    leaf: usize,
    observables: &[usize],
    locals: &[f64],
    region: &[(f64, f64)],
) -> Vec<Scale> {
    let mut formula = product(plan, &[leaf], locals);
    formula.renumber(observables);
    let sides: Vec<Interval> = observables.iter().map(|&x| Interval::new(region[x].0, region[x].1)).collect();
    let mut memory = FormulaMemory::default();
    let mut open = BinaryHeap::new();
    let mut done: Vec<Cell> = Vec::new();
    let first = Cell::new(sides.clone(), &formula, &mut memory);
    let mut all = first.most;
    open.push(first);
    for _ in 0..MOST {
        let Some(cell) = open.pop() else { break };
        if !(cell.most > NEGLIGIBLE * all) {
            open.push(cell);
            break;
        }
        let halves = if cell.is_even { None } else { cell.halves(&sides, &formula, &mut memory) };
        let Some(halves) = halves else {
            done.push(cell);
            continue;
        };
        all = open.iter().chain(&done).chain(&halves).map(|cell| cell.most).sum();
        open.extend(halves);
    }
    let short = |(own, all): (&Interval, &Interval)| own.hi - own.lo < SHORT * (all.hi - all.lo);
    let mut found: Vec<Cell> =
        done.into_iter().chain(open).filter(|cell| cell.most > NEGLIGIBLE * all).collect();
    let is_short = |cell: &Cell| cell.sides.iter().zip(&sides).any(short);
    // Beside a peak, the density may be large in a long cell, too. With several observables, every cell of a peak is short
    // along one of them.
    let varies = found.iter().any(is_short);
    found.retain(|cell| varies && (sides.len() == 1 || is_short(cell)));
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|cell| cell.sides.iter().map(|side| (side.lo, side.hi)).collect()).collect()
}

/// A cell of the search. Cells are ordered by the largest possible integral of the density.
struct Cell {
    sides: Vec<Interval>,
    /// Volume of the cell times the upper bound of the absolute value of the density in it.
    most: f64,
    /// Whether the density varies by a factor of at most [`RATIO`] in the cell.
    is_even: bool,
}

impl Cell {
    fn new(sides: Vec<Interval>, formula: &Formula, memory: &mut FormulaMemory) -> Self {
        let bounds = formula.bounds(&sides, memory);
        let size = if bounds.is_empty() { Interval::new(0.0, 0.0) } else { bounds.abs() };
        let volume: f64 = sides.iter().map(|side| side.hi - side.lo).product();
        // An infinite bound is replaced by a large one, so that sums stay finite.
        let most = (volume * size.hi).min(1e300);
        Self { sides, most, is_even: size.hi <= RATIO * size.lo }
    }

    /// Cuts the cell in two along the side for which the possible integral becomes smallest. If cuts are about equally
    /// good, the side that is longest in units of the range is cut. Returns `None` if no side can be cut.
    fn halves(&self, range: &[Interval], formula: &Formula, memory: &mut FormulaMemory) -> Option<[Self; 2]> {
        let mut cuts = Vec::with_capacity(self.sides.len());
        for (axis, side) in self.sides.iter().enumerate() {
            let middle = 0.5 * side.lo + 0.5 * side.hi;
            if !(side.lo < middle && middle < side.hi) {
                continue;
            }
            let mut half = |lo: f64, hi: f64| {
                let mut sides = self.sides.clone();
                sides[axis] = Interval::new(lo, hi);
                Self::new(sides, formula, memory)
            };
            let pair = [half(side.lo, middle), half(middle, side.hi)];
            let most = pair[0].most + pair[1].most;
            let length = (side.hi - side.lo) / (range[axis].hi - range[axis].lo);
            cuts.push((pair, most, length));
        }
        let least = cuts.iter().map(|(_, most, _)| *most).fold(f64::INFINITY, f64::min);
        let good = cuts.into_iter().filter(|(_, most, _)| *most <= SIMILAR * least);
        good.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(pair, ..)| pair)
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.most.total_cmp(&other.most)
    }
}
