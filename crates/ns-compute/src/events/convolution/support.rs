//! Where a density is, by bounds from interval arithmetic, and whether it may have a narrow peak between given places.

use super::samples::Samples;
use crate::events::integral::Reaches;
use crate::events::program::Program;

/// Steps of the search for each end of a density.
const BISECTIONS: usize = 10;

/// Number of places between which a peak is looked for: a quadrature rule has as many nodes.
const CELL: usize = 16;

/// Where a density is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Support {
    /// Beyond these ends it vanishes. They are infinite if it does not.
    pub(super) ends: (f64, f64),
    /// Bound of the integral beyond the ends.
    pub(super) outside: f64,
    /// Bound of the density.
    pub(super) highest: f64,
}

impl Support {
    /// Finds where a density is, by bounds within the intervals between `edges`. It vanishes where the bound of the integral over
    /// an interval is at most `cut` times the largest one. Returns `None` if there are no bounds.
    pub(super) fn of(program: &Program, reaches: &mut Reaches, edges: &[f64], cut: f64) -> Option<Self> {
        let mut bound = |lo: f64, hi: f64| reaches.of(program, &[(lo, hi)]).size;
        let sizes: Vec<f64> = edges.windows(2).map(|ends| bound(ends[0], ends[1])).collect();
        if sizes.iter().any(|size| size.is_nan()) {
            return None;
        }
        let heights = sizes.iter().zip(edges.windows(2)).map(|(size, ends)| size / (ends[1] - ends[0]));
        let highest = heights.fold(0.0, f64::max);
        let least = cut * sizes.iter().copied().fold(0.0, f64::max);
        let is_here = |size: &f64| !(*size <= least);
        let (first, last) = (sizes.iter().position(is_here)?, sizes.iter().rposition(is_here)?);
        let mut outside = least * sizes.len() as f64;
        let mut end = |(mut far, mut near): (f64, f64)| {
            for _ in 0..BISECTIONS {
                let middle = 0.5 * (far + near);
                if bound(far.min(middle), far.max(middle)) <= least {
                    far = middle
                } else {
                    near = middle
                }
                outside += least;
            }
            far
        };
        let low = if first == 0 { f64::NEG_INFINITY } else { end((edges[first], edges[first + 1])) };
        let high = if last + 1 == sizes.len() { f64::INFINITY } else { end((edges[last + 1], edges[last])) };
        Some(Self { ends: (low, high), outside, highest })
    }

    /// Returns the distance of the ends.
    pub(super) fn width(&self) -> f64 {
        self.ends.1 - self.ends.0
    }
}

/// Returns whether a density may have a peak between its places.
pub(super) fn hides_peaks(of: &Samples, program: &Program, reaches: &mut Reaches) -> bool {
    let last = of.len() - 1;
    let mut hides = |from: usize, length: usize| {
        let reach = reaches.of(program, &[(of.place(from), of.place((from + length).min(last)))]);
        reach.size.is_nan() || reach.singular || (reach.wide.is_some() && reach.size > 0.0)
    };
    let quarter = CELL / 4;
    (0..last).step_by(CELL).any(|cell| {
        hides(cell, CELL) && (cell..last.min(cell + CELL)).step_by(quarter).any(|at| hides(at, quarter))
    })
}
