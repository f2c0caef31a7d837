//! The shape of a narrow peak of a leaf (a basic density) along one observable, and how fast a variable of the leaf moves
//! it. Both follow from values and derivatives of the leaf, so that every density with a formula can have a peak.

use ns_core::Density;

use super::super::channel::ChannelPlan;
use super::super::leaf::LeafMemory;
use super::super::sample::scales;
use super::super::sums::BLOCK;
use crate::simd::Level;

/// Largest width of a peak, as a fraction of the range of the observable. Wider peaks have no minima apart.
const WIDEST: f64 = 0.1;

/// Half of the width of a peak at half of its height, in steps of its table.
const HALF: usize = 8;

/// Distance of a peak from the ends of the range, in units of half its width, at which all of it is in the range.
const ROOM: f64 = 4.0;

/// A variable moves a peak if its effects on the two sides of the peak, expressed as speeds, differ by at most this
/// factor.
const SAME_SPEED: f64 = 2.0;

/// A peak of a leaf, above what the leaf has on both sides of it.
#[derive(Debug, Clone)]
pub(super) struct Peak {
    /// Index of the observable.
    pub(super) axis: usize,
    /// A point of the observables of the channel at which the peak is highest.
    pub(super) top: Vec<f64>,
    /// Half of the width at half of the height.
    pub(super) half: f64,
    /// Height above `level`, at equal distances from `-BLOCK / 2` steps on.
    heights: Vec<f64>,
    step: f64,
    /// Value of the leaf beside the peak.
    pub(super) level: f64,
    /// Change of the place of the peak per change of the variable.
    pub(super) speed: f64,
    /// Value of the variable at which the peak is at `top`.
    pub(super) variable: f64,
}

impl Peak {
    /// Returns the height above the level at a distance from the top.
    pub(super) fn height(&self, distance: f64) -> f64 {
        let at = distance / self.step + (BLOCK / 2) as f64;
        if !(at >= 0.0 && at < (BLOCK - 1) as f64) {
            return 0.0;
        }
        let (below, part) = (at as usize, at.fract());
        self.heights[below] * (1.0 - part) + self.heights[below + 1] * part
    }

    /// Returns the largest distance at which the height may differ from 0.
    pub(super) fn reach(&self) -> f64 {
        self.step * (BLOCK / 2) as f64
    }

    /// Returns the speed in units of the width.
    fn pace(&self) -> f64 {
        (self.speed / self.half).abs()
    }

    /// Returns the integral over the height.
    pub(super) fn area(&self) -> f64 {
        self.heights.iter().sum::<f64>() * self.step
    }
}

/// Evaluates one leaf on lines that are parallel to an axis.
struct Line<'a> {
    level: Level,
    plan: &'a ChannelPlan,
    leaf: usize,
    memory: LeafMemory,
    columns: Vec<Vec<f64>>,
}

impl Line<'_> {
    /// Evaluates the leaf at the points whose coordinate along `axis` is in `places` and whose other coordinates are
    /// those of `point`. There are at most [`BLOCK`] places. Returns the values and derivatives, component by component.
    fn run(&mut self, axis: usize, point: &[f64], places: &[f64]) -> &[f64] {
        for (x, column) in self.columns.iter_mut().enumerate() {
            column.clear();
            match x == axis {
                true => column.extend_from_slice(places),
                false => column.resize(places.len(), point[x]),
            }
        }
        let views: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let leaf = &self.plan.leaves[self.leaf];
        leaf.run(self.level, &views, 0, places.len(), &mut self.memory);
        leaf.result(&self.memory)
    }
}

/// Finds the highest narrow peak of a leaf, and which of its variables `wanted` move it. `locals` contains the values that
/// the channel uses, and `hull` the range of each observable. Returns one element per variable that moves the peak: the
/// index of the variable among those of the leaf, and the peak.
pub(super) fn moving_peaks(
    level: Level,
    plan: &ChannelPlan,
    leaf: usize,
    wanted: &[usize],
    locals: &[f64],
    hull: &[(f64, f64)],
) -> Vec<(usize, Peak)> {
    let own = &plan.leaves[leaf];
    let mut locals = locals.to_vec();
    let columns = vec![Vec::with_capacity(BLOCK); plan.observables];
    let mut line = Line { level, plan, leaf, memory: own.memory(BLOCK), columns };
    for _ in 0..2 {
        own.prepare(level, &locals, &mut line.memory);
        let peaks = peaks(&mut line, &locals, hull);
        let mut found: Vec<(usize, Peak)> = Vec::new();
        for peak in peaks {
            let axis = peak.axis;
            for &variable in wanted {
                let Some(speed) = speed(&mut line, (axis, variable), &peak) else { continue };
                let peak = Peak { speed, variable: locals[own.variables[variable]], ..peak.clone() };
                // A variable that moves a peak along several axes belongs to the one along which it moves it most.
                match found.iter_mut().find(|(known, _)| *known == variable) {
                    Some((_, known)) if known.pace() >= peak.pace() => {}
                    Some((_, known)) => *known = peak,
                    None => found.push((variable, peak)),
                }
            }
        }
        // A peak beyond the range, or near its ends, is moved to the middle, where all of it is in the range.
        let is_outside = |(_, peak): &&(usize, Peak)| {
            let ((lo, hi), room) = (hull[peak.axis], ROOM * peak.half);
            !(lo + room < peak.top[peak.axis] && peak.top[peak.axis] < hi - room)
        };
        let Some((variable, peak)) = found.iter().find(is_outside) else { return found };
        let (lo, hi) = hull[peak.axis];
        locals[own.variables[*variable]] += (0.5 * (lo + hi) - peak.top[peak.axis]) / peak.speed;
    }
    Vec::new()
}

/// Finds the highest peak of a leaf along each of its observables.
fn peaks(line: &mut Line<'_>, locals: &[f64], hull: &[(f64, f64)]) -> Vec<Peak> {
    let own = &line.plan.leaves[line.leaf];
    let observables = own.observables();
    // A standard density of one observable has one peak, to which its values lead from everywhere.
    if let ([axis], false) = (observables.as_slice(), matches!(own.density, Density::Generic(_))) {
        let middle: Vec<f64> = hull.iter().map(|(lo, hi)| 0.5 * (lo + hi)).collect();
        match along(line, *axis, &middle, hull) {
            Along::Peak(peak) => return vec![peak],
            Along::Wide => return Vec::new(),
            Along::Nothing => {}
        }
    }
    // At given values of the other observables it has one peak too.
    if let Density::Given(given) = &own.density
        && let Some(axis) = given.own()
    {
        let middle: Vec<f64> = hull.iter().map(|(lo, hi)| 0.5 * (lo + hi)).collect();
        return match along(line, axis, &middle, hull) {
            Along::Peak(peak) => vec![peak],
            Along::Wide | Along::Nothing => Vec::new(),
        };
    }
    let Some(start) = highest(line, locals, hull) else { return Vec::new() };
    let of = |axis| match along(line, axis, &start, hull) {
        Along::Peak(peak) => Some(peak),
        Along::Wide | Along::Nothing => None,
    };
    observables.into_iter().filter_map(of).collect()
}

/// Returns the point at which a leaf is largest among the cells in which it varies quickly.
fn highest(line: &mut Line<'_>, locals: &[f64], hull: &[(f64, f64)]) -> Option<Vec<f64>> {
    let observables = line.plan.leaves[line.leaf].observables();
    let cells = scales(line.plan, line.leaf, &observables, locals, hull);
    let mut most: Option<(f64, Vec<f64>)> = None;
    let middle: Vec<f64> = hull.iter().map(|(lo, hi)| 0.5 * (lo + hi)).collect();
    for cell in cells.iter().take(BLOCK) {
        let mut point = middle.clone();
        for (x, (lo, hi)) in observables.iter().zip(cell) {
            point[*x] = 0.5 * (lo + hi);
        }
        let axis = observables[0];
        let value = line.run(axis, &point, &[point[axis]])[0];
        if value.is_finite() && most.as_ref().is_none_or(|(known, _)| value > *known) {
            most = Some((value, point));
        }
    }
    most.map(|(_, point)| point)
}

/// What a leaf has along an axis.
enum Along {
    /// A narrow peak. Its speed is not set.
    Peak(Peak),
    /// No narrow peak.
    Wide,
    /// The values do not lead to a peak.
    Nothing,
}

/// Tabulates the peak of a leaf along an axis through the point `start`.
fn along(line: &mut Line<'_>, axis: usize, start: &[f64], hull: &[(f64, f64)]) -> Along {
    let (lo, hi) = hull[axis];
    let mut top = start.to_vec();
    let mut step = (hi - lo) / BLOCK as f64;
    let mut values = vec![0.0; BLOCK];
    let mut found = None;
    // From steps of the whole range to those of the peak, or from too short ones back.
    for _ in 0..64 {
        let places: Vec<f64> =
            (0..BLOCK).map(|i| top[axis] + step * (i as f64 - (BLOCK / 2) as f64)).collect();
        values.copy_from_slice(&line.run(axis, &top, &places)[..BLOCK]);
        values.iter_mut().zip(&places).for_each(|(value, x)| {
            if !value.is_finite() || *x < lo || *x > hi {
                *value = f64::NAN;
            }
        });
        let known = || values.iter().copied().enumerate().filter(|(_, value)| !value.is_nan());
        let Some((highest, most)) = known().max_by(|a, b| a.1.total_cmp(&b.1)) else { return Along::Nothing };
        let least = known().map(|(_, value)| value).fold(f64::INFINITY, f64::min);
        if !(most > least) {
            return Along::Nothing;
        }
        let is_high = |i: &usize| values[*i] - least > 0.5 * (most - least);
        let below = (0..highest).rev().take_while(is_high).count();
        let above = (highest + 1..BLOCK).take_while(is_high).count();
        let half = below.max(above);
        let is_centred = highest.abs_diff(BLOCK / 2) <= 1;
        top[axis] = places[highest];
        if is_centred && (HALF / 2..=2 * HALF).contains(&half) {
            found = Some((half as f64 * step, least));
            break;
        }
        if half < HALF / 2 {
            step *= if half == 0 { 0.125 } else { 0.5 };
        } else if half > 2 * HALF {
            step *= 2.0;
        }
        if step > (hi - lo) / BLOCK as f64 {
            return Along::Wide;
        }
        if step < 1e-13 * (hi - lo) {
            return Along::Nothing;
        }
    }
    let Some((half, level)) = found else { return Along::Nothing };
    if half > WIDEST * (hi - lo) {
        return Along::Wide;
    }
    let heights = values.iter().map(|value| if value.is_nan() { 0.0 } else { value - level }).collect();
    Along::Peak(Peak { axis, top, half, heights, step, level, speed: 0.0, variable: 0.0 })
}

/// Returns the speed at which a variable moves a peak along an axis, from the derivatives on both sides of the peak.
/// Returns `None` if it does not move it.
fn speed(line: &mut Line<'_>, (axis, variable): (usize, usize), peak: &Peak) -> Option<f64> {
    let h = 1e-3 * peak.half;
    let centre = peak.top[axis];
    let sides = [centre - peak.half, centre + peak.half];
    let places: Vec<f64> = sides.iter().flat_map(|x| [x - h, *x, x + h]).collect();
    let result = line.run(axis, &peak.top, &places);
    let slope = |k: usize| (result[3 * k + 2] - result[3 * k]) / (2.0 * h);
    let by_variable = |k: usize| result[(1 + variable) * BLOCK + 3 * k + 1];
    let speeds = [0, 1].map(|k| -by_variable(k) / slope(k));
    let ratio = speeds[0] / speeds[1];
    let is_same = ratio.is_finite() && (1.0 / SAME_SPEED..=SAME_SPEED).contains(&ratio);
    is_same.then_some(0.5 * (speeds[0] + speeds[1]))
}
