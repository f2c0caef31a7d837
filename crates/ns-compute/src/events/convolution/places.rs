//! The places of both densities and the rows of a convolution. The ratios of their distances are powers of 2.

use std::ops::Range;

use ns_core::Observable;

use super::lattice::WINDOW;
use super::samples::{GROUP, Samples};
use crate::events::program::Program;
use crate::simd::Level;

/// Number of rows beyond each end of the axis.
pub(super) const MARGIN: usize = WINDOW / 2;

/// First distance of the rows, as a fraction of the axis, and largest first distance of the places, as a fraction of the support of `g`.
const FIRST: (f64, f64) = (1.0 / 128.0, 1.0 / 32.0);

/// Largest number of places of a density.
const MOST_PLACES: usize = 1 << 16;

/// Both densities of a convolution. `g` is summed.
pub(super) struct Factors<'a> {
    pub(super) level: Level,
    pub(super) context: &'a [f64],
    pub(super) axis: &'a Observable,
    pub(super) f: &'a Program,
    pub(super) g: &'a Program,
    /// The ends of `g`.
    pub(super) ends: (f64, f64),
}

/// The places of both densities.
pub(super) struct Places {
    pub(super) f: Samples,
    pub(super) g: Samples,
    /// Distance of the rows in places of `f`.
    of_rows: usize,
    /// Distance of the places of `g` in places of `f`.
    of_sum: usize,
    /// Length of the axis.
    length: f64,
}

/// Rows whose sums read every so many-th place of `f`, beginning with the same one.
pub(super) struct Group {
    pub(super) rows: std::iter::StepBy<Range<usize>>,
    /// The first place, and the distance of those that are read.
    first: usize,
    every: usize,
    /// Distance of the first places of two sums, in places that are read.
    pub(super) stride: usize,
}

impl Places {
    /// Evaluates both densities at the first places. Returns `None` if these are too many.
    pub(super) fn new(of: &Factors<'_>) -> Option<Self> {
        let length = of.axis.max - of.axis.min;
        let row = FIRST.0 * length;
        let (mut step, mut of_rows) = (row, 1);
        while step > FIRST.1 * (of.ends.1 - of.ends.0) && of_rows < MOST_PLACES {
            step *= 0.5;
            of_rows *= 2;
        }
        let (low, high) = ((of.ends.0 / step).floor(), (of.ends.1 / step).ceil());
        let last = (length / row).ceil() + (MARGIN + 1) as f64;
        let (first, last) = (-((MARGIN * of_rows) as f64), last * of_rows as f64);
        if !(high - low + last - first < MOST_PLACES as f64 && low.abs().max(high.abs()) < 1e9) {
            return None;
        }
        let (low, high) = (low as i64, high as i64);
        let g = Samples::new(of.level, (of.g, of.context), (0.0, step), (low, high));
        let ends = (first as i64 - high, last as i64 - low);
        let f = Samples::new(of.level, (of.f, of.context), (of.axis.min, step), ends);
        Some(Self { f, g, of_rows, of_sum: 1, length })
    }

    /// Returns whether there are more places than wanted.
    pub(super) fn are_many(&self) -> bool {
        self.f.len().max(self.g.len()) > MOST_PLACES
    }

    /// Halves the distance of the places of `g`.
    pub(super) fn halve_places(&mut self, of: &Factors<'_>) {
        self.g.refine(of.level, of.g);
        if self.of_sum > 1 {
            self.of_sum /= 2;
        } else {
            self.f.refine(of.level, of.f);
            self.of_rows *= 2;
        }
    }

    /// Halves the distance of the rows.
    pub(super) fn halve_rows(&mut self, of: &Factors<'_>) {
        if self.of_rows > 1 {
            self.of_rows /= 2;
        } else {
            self.f.refine(of.level, of.f);
            self.of_sum *= 2;
        }
    }

    /// Returns the distance of the rows.
    pub(super) fn row(&self) -> f64 {
        self.f.step * self.of_rows as f64
    }

    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        (self.length / self.row()).ceil() as usize + 2 * MARGIN + 1
    }

    /// Divides rows into groups for sums over the even or the odd places of `g`.
    pub(super) fn groups(&self, parity: usize, rows: Range<usize>) -> impl Iterator<Item = Group> {
        let (of_rows, phases) = (self.of_rows, 2 * self.of_sum);
        let last = self.g.len() - 1;
        let last = if last % 2 == parity { last } else { last - 1 };
        // The place of `f` for the first row and the last place of `g`.
        let first =
            -((MARGIN * of_rows) as i64) - self.of_sum as i64 * (self.g.first + last as i64) - self.f.first;
        let together = (phases / of_rows).max(1);
        (0..together.min(rows.len())).map(move |number| {
            let rows = rows.start + number..rows.end;
            let index = first as usize + of_rows * rows.start;
            Group {
                first: index,
                every: phases,
                stride: (of_rows / phases).max(1),
                rows: rows.step_by(together),
            }
        })
    }
}

impl Group {
    /// Copies the places of `f` that the sums read, `length` in each of them.
    pub(super) fn pick(&self, f: &[f64], length: usize, to: &mut Vec<f64>) {
        to.clear();
        to.resize(self.stride * (self.rows.len() - 1) + length, 0.0);
        let read = f.get(self.first..).unwrap_or_default().chunks(self.every);
        to.iter_mut().zip(read).for_each(|(to, from)| *to = from[0]);
    }
}

/// Returns every second number in reverse order, followed by zeros up to whole groups.
pub(super) fn reversed(column: &[f64], parity: usize) -> Vec<f64> {
    let mut part: Vec<f64> = column.iter().skip(parity).step_by(2).rev().copied().collect();
    part.resize(part.len().next_multiple_of(GROUP), 0.0);
    part
}
