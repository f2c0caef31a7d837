//! The first boxes of a grid: cut at jumps and kinks of the density, and so small around every peak that no peak lies
//! between the nodes.

use super::Point;
use super::tree::most_boxes;
use crate::events::channel::ChannelPlan;
use crate::events::sample::{Scale, breaks, scales};

/// Largest length of a box near a cell of [`scales`], in lengths of the cell.
const LENGTH: f64 = 12.0;

/// A box is near a cell of [`scales`] if their distance is at most this number of lengths of the cell. With each further
/// such distance the largest length of a box doubles: a density in several observables may be small far from its peak
/// along one of them, and still as narrow along the others.
const REACH: f64 = 3.0;

/// A term is negligible in a box that may be longer by more than this factor.
const MOST_RELAXED: f64 = 1024.0;

/// Largest number of times that the way between two places of a moving peak is halved.
const MOST_STEPS: u32 = 7;

/// Number of bands with which a cell is compared. Cells of as many different lengths may be at the same place.
const LEVELS: usize = 24;

/// Number of equal parts into which the fit range of a channel with one observable is divided at first.
const BINS: usize = 40;

/// Largest number of boxes that are made by cuts at jumps and kinks.
const MOST_CUTS: usize = 2000;

/// A density, and where it varies quickly in one fit range.
struct Shape {
    observables: Vec<usize>,
    bands: Vec<Band>,
}

/// A region in which a density varies quickly, with the scale on which it varies. Regions and scales have one element
/// per observable of the density.
struct Band {
    region: Scale,
    lengths: Vec<f64>,
}

/// Returns the first boxes of a grid. `points` are the parameter points at which the density must be resolved.
pub(super) fn first_boxes(plan: &ChannelPlan, points: &[&Point]) -> Vec<Vec<(f64, f64)>> {
    let mut made = Vec::new();
    for region in &plan.boxes {
        let shapes: Vec<Shape> =
            (0..plan.leaves.len()).map(|leaf| shape(plan, leaf, points, region)).collect();
        let cuts = match points.first() {
            Some(here) if plan.has_formulas() => breaks(plan, (&here.locals, &here.amplitudes), region),
            _ => vec![Vec::new(); region.len()],
        };
        let mut cuts = cuts;
        // The bins of pictures then contain whole boxes.
        if let ([(lo, hi)], [cuts]) = (region.as_slice(), cuts.as_mut_slice()) {
            cuts.extend((1..BINS).map(|i| lo + (hi - lo) * i as f64 / BINS as f64));
            cuts.sort_by(f64::total_cmp);
        }
        let pieces: usize = cuts.iter().map(|cuts| cuts.len() + 1).product();
        let cuts = if pieces > MOST_CUTS { vec![Vec::new(); region.len()] } else { cuts };
        let most = most_boxes(region.len()).max(pieces.min(MOST_CUTS));
        let mut open = vec![region.clone()];
        while let Some(sides) = open.pop() {
            let cut = if made.len() + open.len() < most {
                cut(&cuts, &sides).or_else(|| halved(plan, &shapes, region, &sides))
            } else {
                None
            };
            let Some((axis, x)) = cut else {
                made.push(sides);
                continue;
            };
            let (lo, hi) = sides[axis];
            for half in [(x, hi), (lo, x)] {
                let mut sides = sides.clone();
                sides[axis] = half;
                open.push(sides);
            }
        }
    }
    made
}

/// Returns a position at which a box is cut because the density has a jump or a kink there.
fn cut(cuts: &[Vec<f64>], sides: &[(f64, f64)]) -> Option<(usize, f64)> {
    let inside = |(axis, (cuts, (lo, hi))): (usize, (&Vec<f64>, &(f64, f64)))| {
        let least = 1e-9 * (hi - lo);
        let inner: Vec<f64> = cuts.iter().copied().filter(|x| lo + least < *x && *x < hi - least).collect();
        inner.get(inner.len() / 2).map(|x| (axis, *x))
    };
    cuts.iter().zip(sides).enumerate().find_map(inside)
}

/// Returns where a box is halved because it is too long near a peak.
fn halved(
    plan: &ChannelPlan,
    shapes: &[Shape],
    region: &[(f64, f64)],
    sides: &[(f64, f64)],
) -> Option<(usize, f64)> {
    let mut worst: Option<(usize, f64)> = None;
    for (axis, (lo, hi)) in sides.iter().enumerate() {
        let least = 1e-12 * (region[axis].1 - region[axis].0);
        let mut most = f64::INFINITY;
        for term in &plan.terms {
            // Far from a peak along another observable, the whole term is negligible.
            let factor = |leaf: &usize| {
                let shape = &shapes[*leaf];
                let factors = shape.bands.iter().map(|band| shape.relaxed(band, sides, axis));
                factors.min_by(f64::total_cmp).unwrap_or(1.0)
            };
            let of_term = term.leaves.iter().map(factor).fold(1.0, f64::max);
            if of_term > MOST_RELAXED {
                continue;
            }
            for shape in term.leaves.iter().map(|leaf| &shapes[*leaf]) {
                let Some(own) = shape.observables.iter().position(|x| *x == axis) else { continue };
                for band in &shape.bands {
                    let (from, to) = band.region[own];
                    let gap = (lo - to).max(from - hi).max(0.0);
                    let factor = shape.relaxed(band, sides, axis).max(of_term);
                    most = most.min((LENGTH * factor * band.lengths[own]).max(gap));
                }
            }
        }
        let excess = (hi - lo) / most.max(least);
        if excess > 1.0 + 1e-9 && worst.is_none_or(|(_, before)| excess > before) {
            worst = Some((axis, excess));
        }
    }
    worst.map(|(axis, _)| (axis, 0.5 * sides[axis].0 + 0.5 * sides[axis].1))
}

impl Shape {
    /// Returns the factor by which a box may be longer than one at a band, because it is far from the band along an
    /// observable of the density other than `axis`. It is 1 for a box that is near the band.
    fn relaxed(&self, band: &Band, sides: &[(f64, f64)], axis: usize) -> f64 {
        let along = self.observables.iter().zip(&band.region).zip(&band.lengths);
        let lengths = along.filter(|((x, _), _)| **x != axis).map(|((x, (from, to)), length)| {
            let (lo, hi) = sides[*x];
            (lo - to).max(from - hi) / length
        });
        ((lengths.fold(0.0, f64::max) - REACH) / REACH).max(0.0).exp2()
    }
}

/// Joins cells of one observable that are close to each other and equally long. The lengths of cells are those of the
/// fit range divided by powers of two. Cells of several observables are not joined.
fn bands(mut scales: Vec<Scale>) -> Vec<Band> {
    scales.sort_by(|a, b| a[0].0.total_cmp(&b[0].0));
    let mut bands: Vec<Band> = Vec::with_capacity(scales.len());
    for region in scales {
        let lengths: Vec<f64> = region.iter().map(|(from, to)| to - from).collect();
        let own = lengths[0];
        let joined = bands.iter_mut().rev().take(LEVELS).find(|band| {
            let is_equal = (band.lengths[0] - own).abs() <= 1e-3 * own;
            region.len() == 1 && is_equal && region[0].0 - band.region[0].1 <= REACH * own
        });
        match joined {
            Some(band) => band.region[0].1 = band.region[0].1.max(region[0].1),
            None => bands.push(Band { region, lengths }),
        }
    }
    bands
}

/// Finds where a leaf varies quickly at any of the points, and on the way from the first point to the others.
fn shape(plan: &ChannelPlan, leaf: usize, points: &[&Point], region: &[(f64, f64)]) -> Shape {
    let own = &plan.leaves[leaf];
    let observables = own.observables();
    let mut shape = Shape { observables, bands: Vec::new() };
    let Some((here, others)) = points.split_first() else { return shape };
    if !own.has_formula() {
        return shape;
    }
    let values = |point: &Point| -> Vec<f64> { own.variables.iter().map(|&v| point.locals[v]).collect() };
    let find = |locals: &[f64]| scales(plan, leaf, &shape.observables, locals, region);
    let first = find(&here.locals);
    let mut found = first.clone();
    for (i, other) in others.iter().enumerate() {
        let is_known = points[..=i].iter().any(|known| values(known) == values(other));
        if !is_known {
            let there = find(&other.locals);
            between(&find, (&here.locals, &first), (&other.locals, &there), MOST_STEPS, &mut found);
            found.extend(there);
        }
    }
    shape.bands = bands(found);
    shape
}

/// Adds the cells of a peak that moves from one place to another, so that the whole way is covered. Each place is given
/// by the values that the channel uses, and the cells found there.
fn between(
    find: &dyn Fn(&[f64]) -> Vec<Scale>,
    (a, from): (&[f64], &[Scale]),
    (b, to): (&[f64], &[Scale]),
    steps: u32,
    found: &mut Vec<Scale>,
) {
    let (Some(first), Some(second)) = (from.first(), to.first()) else { return };
    let is_close = |((l, h), (low, high)): (&(f64, f64), &(f64, f64))| {
        (low - h).max(l - high) <= REACH * (h - l).min(high - low)
    };
    if steps == 0 || first.iter().zip(second).all(is_close) {
        return;
    }
    let middle: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect();
    let cells = find(&middle);
    between(find, (a, from), (&middle, &cells), steps - 1, found);
    between(find, (&middle, &cells), (b, to), steps - 1, found);
    found.extend(cells);
}
