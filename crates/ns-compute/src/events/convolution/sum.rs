//! A convolution at rows of equal distance, by sums over equally spaced places of one of both densities. The distance of the places
//! is halved until the sums are exact, and that of the rows until polynomials through neighbouring rows are.

use std::ops::Range;

use super::lattice::{Lattice, WINDOW, interpolation_error};
use super::places::{Factors, MARGIN, Places, reversed};
use super::samples::sums;
use super::support::hides_peaks;
use super::table::{LEAST, to_logarithm};
use crate::events::integral::Reaches;
use crate::events::program::{Components, components, pair};

/// Largest number of products in the sums of all rows.
const MOST_PRODUCTS: usize = 1 << 24;

/// Largest relative difference of the sums over the even and over the odd places.
const TOLERANCE: f64 = 2e-12;

/// Largest error of the interpolation, relative to 1 and to a hundredth of `ln h`.
const INTERPOLATION: f64 = 3e-12;

/// The largest sum is at least this number, so that no product of a sum that counts is too small for a double.
const SMALLEST: f64 = 1e-12;

/// Number of halvings after which sums show where `g` was cut too early, even if they are not exact.
const ENOUGH: usize = 1;

/// Why a lattice was not made.
pub(super) enum Refused {
    /// `g` was cut too early.
    Cut,
    Unsuitable,
}

/// A sum over equally spaced places of a density.
pub(super) struct Sum<'a> {
    pub(super) of: Factors<'a>,
    /// Bound of what is lost at the ends of the density.
    pub(super) lost: f64,
    /// Whether the density cannot be cut later.
    pub(super) is_last: bool,
}

/// Values of the convolution at all rows.
struct Values {
    sums: Vec<f64>,
    /// Largest relative difference of the sums over the even and over the odd places.
    difference: f64,
    largest: f64,
    /// The rows at which the convolution does not count as zero, and the smallest sum there.
    present: Range<usize>,
    least: f64,
}

impl Sum<'_> {
    /// Computes the convolution.
    pub(super) fn lattice(&self, (of_f, of_g): (&mut Reaches, &mut Reaches)) -> Result<Lattice, Refused> {
        let of = &self.of;
        let mut places = Places::new(of).ok_or(Refused::Unsuitable)?;
        let mut is_seen = false;
        for halvings in 0.. {
            let (count, length) = (places.count(), places.g.len());
            if places.are_many() || count * length > MOST_PRODUCTS {
                break;
            }
            let found = self.values(&places)?;
            let is_exact = found.difference <= TOLERANCE;
            if (is_exact || (halvings >= ENOUGH && !self.is_last)) && self.misses(&found, places.g.step) {
                return Err(Refused::Cut);
            }
            is_seen = is_seen
                || (is_exact && !hides_peaks(&places.f, of.f, of_f) && !hides_peaks(&places.g, of.g, of_g));
            if !is_exact || !is_seen {
                places.halve_places(of);
                continue;
            }
            let inside = inside(&found, count);
            let logs: Vec<f64> = found.sums[found.present.clone()].iter().map(|sum| sum.ln()).collect();
            let between = interpolation_error(&logs);
            if inside.is_empty() || between > INTERPOLATION {
                places.halve_rows(of);
                continue;
            }
            let mut made = self.rows(&places, &found, inside)?;
            made.error = found.difference + between + self.lost / (places.g.step * found.least);
            return Ok(made);
        }
        Err(Refused::Unsuitable)
    }

    /// Returns whether what was lost at the ends of `g` may be more than rounding errors, or hide that the convolution is not zero.
    fn misses(&self, found: &Values, step: f64) -> bool {
        let is_zero_somewhere = found.present.len() < found.sums.len();
        self.lost > TOLERANCE * step * found.least
            || (is_zero_somewhere && self.lost > LEAST * step * found.largest)
    }

    /// Computes the values at all rows.
    fn values(&self, places: &Places) -> Result<Values, Refused> {
        let count = places.count();
        let mut halves = [vec![0.0; count], vec![0.0; count]];
        let mut picked = Vec::new();
        let mut own = vec![0.0; count];
        for (parity, half) in halves.iter_mut().enumerate() {
            let part = reversed(places.g.column(0), parity);
            for group in places.groups(parity, 0..count) {
                group.pick(places.f.column(0), part.len(), &mut picked);
                let own = &mut own[..group.rows.len()];
                sums(self.of.level, &picked, group.stride, &part, own);
                group.rows.zip(own).for_each(|(row, sum)| half[row] = *sum);
            }
        }
        let [even, odd] = halves;
        let total: Vec<f64> = even.iter().zip(&odd).map(|(even, odd)| even + odd).collect();
        let largest = total.iter().copied().fold(0.0, f64::max);
        if total.iter().any(|sum| !(sum.is_finite() && *sum >= 0.0)) {
            return Err(Refused::Unsuitable);
        }
        let is_present = |sum: &f64| *sum > LEAST * largest;
        let (Some(first), Some(last)) =
            (total.iter().position(is_present), total.iter().rposition(is_present))
        else {
            return Ok(Values { difference: 1.0, largest, present: 0..0, least: 0.0, sums: total });
        };
        let present = first..last + 1;
        let (mut difference, mut least) = (0.0_f64, f64::INFINITY);
        for row in present.clone() {
            let apart = (even[row] - odd[row]).abs() / total[row];
            difference = difference.max(if apart <= 1.0 { apart } else { 1.0 });
            least = least.min(total[row]);
        }
        Ok(Values { sums: total, difference, largest, present, least })
    }

    /// Computes the logarithms of the sums with their derivatives at all rows that are present. The sums over the even and over the odd
    /// places agree with each other, so that one of them is enough.
    fn rows(&self, places: &Places, found: &Values, inside: Range<usize>) -> Result<Lattice, Refused> {
        let Factors { axis, f, g, .. } = self.of;
        let d = f.variables();
        let (size, present) = (components(d), found.present.clone());
        if !(found.largest > SMALLEST) {
            return Err(Refused::Unsuitable);
        }
        let mut rows = vec![0.0; present.len() * size];
        let products = products(d, f.result(), g.result());
        let mut own = vec![0.0; present.len()];
        let mut picked = Vec::new();
        let parts: Vec<Vec<f64>> = places.g.columns().iter().map(|column| reversed(column, 0)).collect();
        for (of_f, column) in places.f.columns().iter().enumerate().filter(|(_, f)| !f.is_empty()) {
            for group in places.groups(0, present.clone()) {
                group.pick(column, parts[0].len(), &mut picked);
                let own = &mut own[..group.rows.len()];
                for &(to, _, of_g) in products.iter().filter(|product| product.1 == of_f) {
                    sums(self.of.level, &picked, group.stride, &parts[of_g], own);
                    for (row, sum) in group.rows.clone().zip(&*own) {
                        rows[(row - present.start) * size + to] += sum;
                    }
                }
            }
        }
        for row in rows.chunks_exact_mut(size) {
            if !(row[0] > 0.0 && row.iter().all(|x| x.is_finite())) {
                return Err(Refused::Unsuitable);
            }
            to_logarithm(row, d);
        }
        let place = |row: usize| axis.min + (row as f64 - MARGIN as f64) * places.row();
        let (mut ends, mut most) = ((axis.min, axis.max), 0.0_f64);
        // The sums of the rows are at most these.
        let highest = |sums: &[f64]| sums.iter().copied().fold(0.0, f64::max);
        if present.start > 0 {
            ends.0 = place(inside.start);
            most = most.max(highest(&found.sums[..=inside.start]));
        }
        if present.end < found.sums.len() {
            ends.1 = place(inside.end);
            most = most.max(highest(&found.sums[inside.end..]));
        }
        Ok(Lattice {
            from: place(present.start),
            step: places.row(),
            rows,
            size,
            ends,
            beyond: most * (axis.max - axis.min),
            error: 0.0,
        })
    }
}

/// Returns the rows between which there are enough rows on either side for the interpolation. What is beyond counts as zero.
fn inside(found: &Values, count: usize) -> Range<usize> {
    let Range { start, end } = found.present;
    if end - start < WINDOW + 2 {
        return 0..0;
    }
    let low = if start == 0 { 0 } else { start + MARGIN };
    let high = if end == count { count - 1 } else { end - 1 - MARGIN };
    low..high
}

/// Returns the products of components of `f` and `g` that add up to each component of the convolution: its index, and those of
/// both factors.
fn products(d: usize, f: Option<&Components>, g: Option<&Components>) -> Vec<(usize, usize, usize)> {
    let first = |of: Option<&Components>, v: usize| of.is_some_and(|of| of.first.contains(&v));
    let second =
        |of: Option<&Components>, v: usize, w: usize| of.is_some_and(|of| of.second.contains(&(v, w)));
    let mut all = vec![(0, 0, 0)];
    for v in 0..d {
        all.extend(first(f, v).then_some((1 + v, 1 + v, 0)));
        all.extend(first(g, v).then_some((1 + v, 0, 1 + v)));
        for w in 0..=v {
            let at = pair(d, v, w);
            all.extend(second(f, v, w).then_some((at, at, 0)));
            all.extend(second(g, v, w).then_some((at, 0, at)));
            all.extend((first(f, v) && first(g, w)).then_some((at, 1 + v, 1 + w)));
            all.extend((first(f, w) && first(g, v)).then_some((at, 1 + w, 1 + v)));
        }
    }
    all
}
