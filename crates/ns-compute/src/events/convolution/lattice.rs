//! A convolution of two smooth densities at equally spaced places, by sums over equally spaced places.
//!
//! For functions without kinks that vanish at both ends such a sum (the trapezoidal rule) is as exact as a Gauss rule
//! (Trefethen and Weideman, SIAM Review 56 (2014) 385). Each density is evaluated once per place, and not once per place and
//! node. The distance of the places is halved until the sums over the even and over the odd places agree, and until interval
//! arithmetic finds no peak between them that a quadrature rule might miss. Between the places of the result `ln h` is
//! interpolated by polynomials through its neighbours.

use ns_core::Observable;

use super::nodes::line;
use super::samples::{Samples, sums};
use super::table::{LEAST, to_logarithm};
use crate::events::integral::Reaches;
use crate::events::program::{Components, Memory, Program, Sources, components, pair};
use crate::simd::Level;

/// The summed density is cut where bounds of its integrals are below this fraction of the largest one. The second number is
/// for axes that end far away from the peaks.
const CUTS: [f64; 2] = [1e-40, 1e-300];

/// Steps of the search for the ends of the summed density.
const BISECTIONS: usize = 10;

/// Largest distance of the places at the beginning, as a fraction of the axis and of the support of the summed density.
const FIRST: (f64, f64) = (1.0 / 64.0, 1.0 / 32.0);

/// The distance of the places is halved at most so often.
const HALVINGS: usize = 6;

/// Largest number of places of a density, and of products in a sum for all places.
const MOST_PLACES: usize = 1 << 15;
const MOST_PRODUCTS: usize = 1 << 24;

/// Largest relative difference of the sums over the even and over the odd places.
const TOLERANCE: f64 = 2e-12;

/// Number of places between which interval arithmetic looks for peaks: a quadrature rule has as many nodes.
const CELL: usize = 16;

/// Number of places through which `ln h` is interpolated, and of those left out in the estimate of the error.
const WINDOW: usize = 20;

/// Largest error of the interpolation, relative to 1 and to a hundredth of `ln h`.
const INTERPOLATION: f64 = 3e-12;

/// How many places of the result there are for a place of the sum.
const FINER: [usize; 3] = [1, 2, 4];

/// Logarithms of a convolution at equally spaced places.
pub(super) struct Lattice {
    /// Place of the first row, and the distance of the rows.
    from: f64,
    step: f64,
    /// Value and derivatives of `ln h`, row after row.
    rows: Vec<f64>,
    size: usize,
    weights: [f64; WINDOW],
    /// Estimate of the relative error of `h`.
    pub(super) error: f64,
}

/// Where a density is.
#[derive(Debug, Clone, Copy)]
struct Support {
    /// Beyond these ends it vanishes. They are infinite if it does not.
    ends: (f64, f64),
    /// Bound of the integral beyond the ends.
    outside: f64,
    /// Bound of the density.
    highest: f64,
}

/// Why a lattice was not made.
enum Refused {
    /// The summed density was cut too early.
    Cut,
    Unsuitable,
}

impl Lattice {
    /// Computes the convolution of two densities, each a function of its own argument. Returns `None` if another method has
    /// to do it.
    pub(super) fn new(
        level: Level,
        factors: &[Program; 2],
        context: &[f64],
        axis: &Observable,
    ) -> Option<Self> {
        let [one, other] = factors.each_ref().map(|factor| {
            let mut memory = Memory::new(factor, 1);
            factor.prepare(level, Sources::of(context), &mut memory);
            let mut reaches = Reaches::default();
            reaches.prepare(factor, &memory);
            (factor, reaches)
        });
        let mut pair = [one, other];
        let edges = line(axis);
        for cut in CUTS {
            let supports = [0, 1].map(|i: usize| {
                let (program, reaches) = &mut pair[i];
                support(program, reaches, &edges, cut)
            });
            let [Some(first), Some(second)] = supports else { return None };
            let width = |of: &Support| of.ends.1 - of.ends.0;
            let summed = usize::from(width(&second) < width(&first));
            let (g, f) = ([first, second][summed], [first, second][1 - summed]);
            if !(width(&g).is_finite() && width(&g) > 0.0 && f.highest.is_finite()) {
                return None;
            }
            let [a, b] = &mut pair;
            let (of_g, of_f) = if summed == 0 { (a, b) } else { (b, a) };
            let sum = Sum { level, context, axis, f: of_f.0, g: of_g.0, ends: g.ends };
            let lost = g.outside * f.highest;
            match sum.lattice(lost, (&mut of_f.1, &mut of_g.1)) {
                Ok(made) => return Some(made),
                Err(Refused::Cut) => {}
                Err(Refused::Unsuitable) => return None,
            }
        }
        None
    }

    /// Writes `ln h(x)` and its derivatives to `out`.
    pub(super) fn at(&self, x: f64, out: &mut [f64]) {
        let count = self.rows.len() / self.size;
        let t = (x - self.from) / self.step;
        let first = (t.floor() as usize).saturating_sub(WINDOW / 2 - 1).min(count - WINDOW);
        let rows = &self.rows[first * self.size..(first + WINDOW) * self.size];
        let local = t - first as f64;
        let nearest = local.round();
        if nearest == local {
            let row = (nearest as usize).min(WINDOW - 1);
            out.copy_from_slice(&rows[row * self.size..][..self.size]);
            return;
        }
        out.fill(0.0);
        let mut total = 0.0;
        for (k, (row, weight)) in rows.chunks_exact(self.size).zip(&self.weights).enumerate() {
            let share = weight / (local - k as f64);
            total += share;
            out.iter_mut().zip(row).for_each(|(to, value)| *to += share * value);
        }
        out.iter_mut().for_each(|to| *to /= total);
    }

    /// Returns the largest error of the interpolation of `ln h` between two rows, relative to 1 and to a hundredth of `ln h`.
    fn interpolation_error(&self) -> f64 {
        let middle = |weights: &[f64]| -> Vec<f64> {
            let place = 0.5 * (weights.len() - 1) as f64;
            let shares: Vec<f64> = weights.iter().enumerate().map(|(k, w)| w / (place - k as f64)).collect();
            let total: f64 = shares.iter().sum();
            shares.iter().map(|share| share / total).collect()
        };
        let mut difference = middle(&self.weights);
        difference[1..WINDOW - 1]
            .iter_mut()
            .zip(middle(&weights::<{ WINDOW - 2 }>()))
            .for_each(|(to, w)| *to -= w);
        let values: Vec<f64> = self.rows.iter().step_by(self.size).copied().collect();
        let error = |window: &[f64]| {
            let sum: f64 = window.iter().zip(&difference).map(|(y, w)| y * w).sum();
            sum.abs() / (1.0 + 0.01 * window[WINDOW / 2].abs())
        };
        values.windows(WINDOW).map(error).fold(0.0, f64::max)
    }
}

/// Returns the weights of the barycentric formula for equally spaced places: binomial coefficients of alternating sign.
fn weights<const N: usize>() -> [f64; N] {
    let mut weight = 1.0;
    std::array::from_fn(|k| {
        let own = weight;
        weight *= -((N - 1 - k) as f64) / (k + 1) as f64;
        own
    })
}

/// Returns where a density is, by bounds within the intervals between `edges`. Returns `None` if there are no bounds.
fn support(program: &Program, reaches: &mut Reaches, edges: &[f64], cut: f64) -> Option<Support> {
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
    Some(Support { ends: (low, high), outside, highest })
}

/// A sum over equally spaced places of `g`.
struct Sum<'a> {
    level: Level,
    context: &'a [f64],
    axis: &'a Observable,
    f: &'a Program,
    g: &'a Program,
    ends: (f64, f64),
}

impl Sum<'_> {
    /// Computes the convolution. `lost` is a bound of what is lost by the ends of `g`.
    fn lattice(&self, lost: f64, reaches: (&mut Reaches, &mut Reaches)) -> Result<Lattice, Refused> {
        let length = self.axis.max - self.axis.min;
        let step = (FIRST.0 * length).min(FIRST.1 * (self.ends.1 - self.ends.0));
        let (low, high) = ((self.ends.0 / step).floor(), (self.ends.1 / step).ceil());
        let count = (length / step).ceil();
        if !(high - low + count < MOST_PLACES as f64 && low.abs().max(high.abs()) < 1e9) {
            return Err(Refused::Unsuitable);
        }
        let (low, high, count) = (low as i64, high as i64, count as i64);
        let margin = WINDOW as i64 / 2;
        let (level, context) = (self.level, self.context);
        let mut g = Samples::new(level, (self.g, context), (0.0, step), (low, high));
        let ends = (-margin - high, count + margin - low);
        let mut f = Samples::new(level, (self.f, context), (self.axis.min, step), ends);
        let (mut difference, mut zeros) = (f64::INFINITY, 0);
        for halvings in 0..=HALVINGS {
            if halvings > 0 {
                g.refine(level, self.g);
                f.refine(level, self.f);
            }
            if f.len() > MOST_PLACES || f.len() * g.len() > MOST_PRODUCTS {
                return Err(Refused::Unsuitable);
            }
            let (found, least) = self.difference(&f, &g)?;
            difference = found;
            zeros += u32::from(least == 0.0);
            // Places close enough for the cut density may be too far from each other for the other one.
            let is_cut = zeros > 1 || (difference <= TOLERANCE && lost > TOLERANCE * g.step * least);
            if is_cut {
                return Err(Refused::Cut);
            }
            if difference <= TOLERANCE {
                break;
            }
        }
        let (of_f, of_g) = reaches;
        if difference > TOLERANCE || hides_peaks(&f, self.f, of_f) || hides_peaks(&g, self.g, of_g) {
            return Err(Refused::Unsuitable);
        }
        // The sums over every second place agree with each other, so that one of them is enough.
        let (g, every) = g.coarser().map_or((g, 1), |coarser| (coarser, 2));
        for (index, &finer) in FINER.iter().enumerate() {
            let finer = every * finer;
            if index > 0 {
                f.refine(level, self.f);
            }
            if f.len() > MOST_PLACES {
                break;
            }
            let mut made = self.rows(&f, &g, finer, lost)?;
            let error = made.interpolation_error();
            if error <= INTERPOLATION {
                made.error += difference + error;
                return Ok(made);
            }
        }
        Err(Refused::Unsuitable)
    }

    /// Returns the number of places of the result after the first one, whose distance is that of the places of `f`.
    fn last(&self, f: &Samples) -> i64 {
        ((self.axis.max - self.axis.min) / f.step).ceil() as i64
    }

    /// Returns the largest relative difference of the sums over the even and over the odd places of `g`, and the smallest sum
    /// over all. Both densities have places of the same distance.
    fn difference(&self, f: &Samples, g: &Samples) -> Result<(f64, f64), Refused> {
        let count = self.last(f) as usize + 1;
        let values = g.column(0);
        let part = |odd: usize| -> Vec<f64> {
            let pick = |(j, y): (usize, &f64)| if j % 2 == odd { *y } else { 0.0 };
            values.iter().rev().enumerate().map(pick).collect()
        };
        let first = (-g.last() - f.first) as usize;
        let f = f.column(0).get(first..first + count + values.len() - 1).ok_or(Refused::Unsuitable)?;
        let (mut even, mut odd) = (vec![0.0; count], vec![0.0; count]);
        sums(self.level, f, &part(0), &mut even);
        sums(self.level, f, &part(1), &mut odd);
        let (mut most, mut least) = (0.0_f64, f64::INFINITY);
        for (even, odd) in even.iter().zip(&odd) {
            let total = even + odd;
            if !(total.is_finite() && total >= 0.0) {
                return Err(Refused::Unsuitable);
            }
            least = least.min(total);
            most = most.max(if total > 0.0 { ((even - odd) / total).abs() } else { 1.0 });
        }
        Ok((most, least))
    }

    /// Computes the logarithms of the sums. The places of `f` are `finer` times closer than those of `g`.
    fn rows(&self, f: &Samples, g: &Samples, finer: usize, lost: f64) -> Result<Lattice, Refused> {
        let d = self.f.variables();
        let size = components(d);
        let margin = WINDOW as i64 / 2;
        let count = (self.last(f) + 2 * margin + 1) as usize;
        let mut rows = vec![0.0; count * size];
        let products = products(d, self.f.result(), self.g.result());
        let mut sum = vec![0.0; count];
        let reversed: Vec<Vec<f64>> =
            g.columns().iter().map(|column| column.iter().rev().copied().collect()).collect();
        for phase in 0..finer.min(count) {
            let own = (count - phase).div_ceil(finer);
            // The place of `f` for the first row of this phase and the last place of `g`.
            let first = (phase as i64 - margin - finer as i64 * g.last() - f.first) as usize;
            let need = own + g.len() - 1;
            let picked: Vec<Vec<f64>> = f
                .columns()
                .iter()
                .map(|column| column.iter().skip(first).step_by(finer).take(need).copied().collect())
                .collect();
            for &(to, of_f, of_g) in &products {
                sums(self.level, &picked[of_f], &reversed[of_g], &mut sum[..own]);
                let places = rows.chunks_exact_mut(size).skip(phase).step_by(finer);
                places.zip(&sum[..own]).for_each(|(row, part)| row[to] += part);
            }
        }
        let largest = rows.iter().step_by(size).copied().fold(0.0, f64::max);
        let mut least = f64::INFINITY;
        for row in rows.chunks_exact_mut(size) {
            if !(row[0] > LEAST * largest && row.iter().all(|x| x.is_finite())) {
                return Err(Refused::Unsuitable);
            }
            least = least.min(row[0]);
            to_logarithm(row, d);
        }
        let from = self.axis.min - margin as f64 * f.step;
        let error = lost / (g.step * least);
        Ok(Lattice { from, step: f.step, rows, size, weights: weights(), error })
    }
}

/// Returns whether a density may have a peak between its places, as bounds by interval arithmetic say.
fn hides_peaks(of: &Samples, program: &Program, reaches: &mut Reaches) -> bool {
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
