//! Hats: piecewise constant functions above a density. Events are drawn by the rejection method: points are proposed
//! below the hat, and those below the density are accepted.
//!
//! The range is divided into cells. Interval arithmetic gives a lower and an upper bound of the density in each cell.
//! The hat is the upper bound, so it is nowhere below the density. The cell with the largest area between its bounds is
//! halved, again and again. This ends when the total area between the bounds is at most 2 % of the area below the hat,
//! or when the number of cells reaches its limit. Most events are then accepted without an evaluation of the density
//! (J. H. Ahrens, "A one-table method for sampling from continuous and discrete distributions", Computing 54 (1995)
//! 127, with bounds from interval arithmetic in place of monotonic pieces).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::formula::{Formula, FormulaMemory};
use crate::events::program::Interval;

/// Cells are halved until the area between the lower and the upper bound of the density is at most this fraction of
/// the area below the hat.
const LOOSE: f64 = 0.02;

/// Largest number of cells (pieces of constant height) of a hat with one observable, with two, and with three or
/// more. A hat whose refinement begins with `n` cells may always have `4 n` cells.
const MOST_CELLS: [usize; 3] = [2048, 8192, 32_768];

/// Largest accepted area between the lower and the upper bound of the density, as a fraction of the area below the
/// finished hat. With a larger fraction, drawing one event could take very many attempts, so the density is refused.
const TOO_LOOSE: f64 = 0.9999;

/// Number of elements per cell (piece of constant height) in the table `guide` of a [`Hat`]. The more elements there
/// are, the fewer steps the search for a cell takes.
const FINE: usize = 4;

/// Error text for a density without a usable upper bound.
pub(super) const UNBOUNDED: &str = "has no finite bound, or a far too loose one; shorten the fit range so that it leaves out the place where it diverges";

/// Error text for a density that is nowhere positive.
pub(super) const VANISHES: &str =
    "is zero everywhere; check the rates and coefficients at the point where toys are drawn";

/// Error text for a density that is negative somewhere.
pub(super) const NEGATIVE: &str = "is negative somewhere in the fit range; draw toys at a point where rates, coefficients and densities are positive";

/// A cell (piece of constant height) of a hat, described along the first observable. The array `others` of [`Hat`]
/// describes it along all other observables. The upper end does not belong to the cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// Fraction of the area below the hat that belongs to all earlier cells (pieces of constant height).
    pub(super) begin: f64,
    pub(super) low: f64,
    /// Largest coordinate of the first observable in the cell (piece of constant height).
    pub(super) last: f64,
    /// Length of the cell (piece of constant height) along the first observable, divided by the cell's fraction of the
    /// area below the hat.
    pub(super) slope: f64,
    /// Lower bound of the density in the cell (piece of constant height), divided by its upper bound.
    pub(super) sure: f64,
}

/// The hat of a density: a piecewise constant function above it.
#[derive(Debug, Clone)]
pub(super) struct Hat {
    /// The cells (pieces of constant height), followed by one cell that marks the end.
    pub(super) cells: Vec<Cell>,
    /// Upper bound of the density in each cell (piece of constant height), which is the height of the hat there.
    pub(super) heights: Vec<f64>,
    /// Extent of each cell (piece of constant height) along each observable after the first: its lower end, its length,
    /// and the largest coordinate in the cell. The index order is cell, observable.
    pub(super) others: Vec<(f64, f64, f64)>,
    /// Table that speeds up the search for the cell (piece of constant height) at a given fraction of the area below
    /// the hat. The fractions from 0 to 1 are divided into equal parts. Each element of the table is the index of the
    /// cell that contains the beginning of one part.
    guide: Vec<u32>,
    /// Area below the hat.
    pub(super) area: f64,
    /// Whether the density is negative in at least one whole cell (piece of constant height), by more than rounding
    /// errors.
    pub(super) negative: bool,
}

/// A cell (piece of constant height) that may still be halved.
struct Open {
    sides: Vec<Interval>,
    bounds: Interval,
    /// Volume of the cell (piece of constant height) times the difference between the upper and the lower bound of the
    /// density in the cell.
    excess: f64,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.excess.total_cmp(&other.excess)
    }
}

impl Open {
    fn new(sides: Vec<Interval>, formula: &Formula, memory: &mut FormulaMemory) -> Self {
        let bounds = formula.bounds(&sides, memory);
        // Where the density is NaN, there are no events.
        let bounds = if bounds.is_empty() { Interval::new(0.0, 0.0) } else { bounds };
        let volume: f64 = sides.iter().map(|side| side.hi - side.lo).product();
        let excess = volume * (bounds.hi.max(0.0) - bounds.lo.max(0.0));
        Self { sides, bounds, excess: if excess.is_nan() { f64::INFINITY } else { excess } }
    }

    fn volume(&self) -> f64 {
        self.sides.iter().map(|side| side.hi - side.lo).product()
    }

    /// Returns the volume of the cell (piece of constant height) times the upper bound of the density in the cell.
    fn area(&self) -> f64 {
        self.volume() * self.bounds.hi.max(0.0)
    }

    /// Cuts the cell (piece of constant height) into two halves. It is cut along the observable for which the area
    /// between the bounds of the density becomes smallest. Returns `None` if all sides are too short.
    fn halves(&self, formula: &Formula, memory: &mut FormulaMemory) -> Option<[Self; 2]> {
        let mut best: Option<[Self; 2]> = None;
        for (axis, side) in self.sides.iter().enumerate() {
            let middle = 0.5 * side.lo + 0.5 * side.hi;
            if !(side.lo < middle && middle < side.hi) {
                continue;
            }
            let half = |lo: f64, hi: f64, memory: &mut FormulaMemory| {
                let mut sides = self.sides.clone();
                sides[axis] = Interval::new(lo, hi);
                Self::new(sides, formula, memory)
            };
            let pair = [half(side.lo, middle, memory), half(middle, side.hi, memory)];
            let loose = |pair: &[Self; 2]| pair[0].excess + pair[1].excess;
            let longer = |best: &[Self; 2]| {
                // Several cuts may give the same area, for example if there is no finite bound yet. Then the longest
                // side is cut.
                let length = |s: &[Interval]| s.iter().map(|side| side.hi - side.lo).fold(0.0, f64::max);
                loose(&pair) == loose(best) && length(&pair[0].sides) < length(&best[0].sides)
            };
            if best.as_ref().is_none_or(|best| loose(&pair) < loose(best) || longer(best)) {
                best = Some(pair);
            }
        }
        best
    }
}

impl Hat {
    /// Creates the hat of a density over a union of boxes.
    ///
    /// # Errors
    /// If the density has no usable upper bound, or is zero everywhere.
    pub(super) fn new(formula: &Formula, boxes: &[Vec<(f64, f64)>]) -> Result<Self, &'static str> {
        let mut memory = FormulaMemory::default();
        let mut open = BinaryHeap::new();
        for sides in boxes {
            for sides in pieces(formula, sides) {
                open.push(Open::new(sides, formula, &mut memory));
            }
        }
        let dimensions = boxes.first().map_or(1, Vec::len);
        let most = MOST_CELLS[dimensions.clamp(1, MOST_CELLS.len()) - 1].max(4 * open.len());
        let mut done: Vec<Open> = Vec::new();
        let sums = |open: &BinaryHeap<Open>, done: &[Open]| {
            let all = || open.iter().chain(done);
            (all().map(Open::area).sum::<f64>(), all().map(|cell| cell.excess).sum::<f64>())
        };
        let (mut area, mut excess) = sums(&open, &done);
        let close = |area: f64, excess: f64| area.is_finite() && excess <= LOOSE * area;
        while open.len() + done.len() < most && !close(area, excess) {
            let Some(cell) = open.pop() else { break };
            match cell.halves(formula, &mut memory) {
                Some(halves) => {
                    area += halves[0].area() + halves[1].area() - cell.area();
                    excess += halves[0].excess + halves[1].excess - cell.excess;
                    open.extend(halves);
                    // The sums accumulate rounding errors, and an infinite sum stays infinite. Both sums are
                    // therefore recomputed from time to time.
                    if open.len() % 64 == 0 {
                        (area, excess) = sums(&open, &done);
                    }
                }
                None => done.push(cell),
            }
        }
        done.extend(open);
        Self::of(done)
    }

    /// Creates a hat from its cells (pieces of constant height). Sorts the cells, and computes the numbers that are
    /// needed to find a cell.
    fn of(mut cells: Vec<Open>) -> Result<Self, &'static str> {
        // The area must be finite, and the part between the bounds must not be too large.
        let area: f64 = cells.iter().map(Open::area).sum();
        let excess: f64 = cells.iter().map(|cell| cell.excess).sum();
        if !area.is_finite() || excess > TOO_LOOSE * area {
            return Err(UNBOUNDED);
        }
        if !(area > 0.0) {
            return Err(VANISHES);
        }
        let highest = cells.iter().map(|cell| cell.bounds.hi).fold(0.0, f64::max);
        let negative = cells.iter().any(|cell| cell.bounds.hi < -1e-12 * highest);
        cells.retain(|cell| cell.area() > 0.0);
        cells.sort_by(|a, b| {
            let order = |(x, y): (&Interval, &Interval)| x.lo.total_cmp(&y.lo);
            a.sides.iter().zip(&b.sides).map(order).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        });
        let (cells_of, heights, others, guide) = Default::default();
        let mut hat = Self { cells: cells_of, heights, others, guide, area, negative };
        let (mut sum, mut begin) = (0.0, 0.0);
        for cell in &cells {
            sum += cell.area();
            let end = (sum / area).clamp(begin, 1.0);
            let Some((first, rest)) = cell.sides.split_first() else { continue };
            if end > begin {
                let height = cell.bounds.hi;
                hat.heights.push(height);
                hat.cells.push(Cell {
                    begin,
                    low: first.lo,
                    last: first.hi.next_down(),
                    slope: (first.hi - first.lo) / (end - begin),
                    sure: (cell.bounds.lo / height).clamp(0.0, 1.0),
                });
                hat.others.extend(rest.iter().map(|side| (side.lo, side.hi - side.lo, side.hi.next_down())));
            }
            begin = end;
        }
        hat.close();
        Ok(hat)
    }

    /// Appends the cell (piece of constant height) that marks the end, and computes the table `guide`.
    fn close(&mut self) {
        let size = FINE * self.cells.len().next_power_of_two();
        let mut at = 0;
        for part in 0..size {
            let from = part as f64 / size as f64;
            while self.cells.get(at + 1).is_some_and(|next| next.begin <= from) {
                at += 1;
            }
            self.guide.push(at as u32);
        }
        let end = Cell { begin: f64::INFINITY, low: 0.0, last: 0.0, slope: 0.0, sure: 0.0 };
        self.cells.push(end);
    }

    /// Returns the table that speeds up the search for the cell (piece of constant height) at a given fraction of the
    /// area below the hat. The fractions from 0 to 1 are divided into equal parts. Each element of the table is the
    /// index of the cell that contains the beginning of one part.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn guide(&self) -> &[u32] {
        &self.guide
    }

    /// Returns the index of the cell (piece of constant height) at the fraction `u` of the area below the hat, with
    /// `u` between 0 and 1. All earlier cells together contain at most this fraction of the area.
    #[inline(always)]
    pub(super) fn find(&self, u: f64) -> usize {
        let mut at = self.guide[(u * self.guide.len() as f64) as usize] as usize;
        while self.cells[at + 1].begin <= u {
            at += 1;
        }
        at
    }
}

/// Cuts a box with one observable at the points at which the density may have a jump or a kink. A box with several
/// observables is not cut. Returns the pieces, each with one interval per observable.
fn pieces(formula: &Formula, sides: &[(f64, f64)]) -> Vec<Vec<Interval>> {
    let [(lo, hi)] = sides else {
        return vec![sides.iter().map(|&(lo, hi)| Interval::new(lo, hi)).collect()];
    };
    let mut edges = vec![*lo];
    edges.extend(formula.breaks(0).into_iter().filter(|x| lo < x && x < hi));
    edges.push(*hi);
    edges.windows(2).map(|pair| vec![Interval::new(pair[0], pair[1])]).collect()
}
