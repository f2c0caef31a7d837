//! Directions from the best fit in the plane of two parameters.

use std::f64::consts::TAU;

use crate::InferenceError;
use crate::analysis::Analysis;
use crate::observed::Observed;

/// Distance of corners of the bounds up to which a direction leads to them, in units of the region of the covariance.
const NEAR_CORNER: f64 = 3.0;

/// Share of a distance that counts as a rounding error.
const ROUNDING: f64 = 1e-12;

/// Smallest share of the usual angle that two directions are apart.
const APART: f64 = 0.3;

/// Coordinates around the best fit in which the region of the covariance is the unit circle. A place in a direction is a
/// distance from the best fit in these coordinates.
pub(super) struct Axes {
    pub(super) best: [f64; 2],
    /// Lower triangular factor of the covariance, times the root of the rise of `-2 ln L` at the border.
    pub(super) factor: [[f64; 2]; 2],
    pub(super) bounds: [(f64, f64); 2],
}

impl Axes {
    /// Finds the coordinates. Where there is no covariance, such as at bounds, the rise of `-2 ln L` takes its place.
    pub(super) fn new(
        analysis: &mut Analysis<'_>,
        observed: &mut Observed,
        indices: [usize; 2],
        level: f64,
    ) -> Result<Self, InferenceError> {
        let [i, j] = indices;
        let inverse = observed.best().inverse_hessian();
        let covariance = |a: usize, b: usize| {
            let inverse = inverse.as_ref().filter(|inverse| inverse.has(a) && inverse.has(b))?;
            inverse.row(a)?.get(b).copied().filter(|c| c.is_finite())
        };
        let (found, joint) = ([covariance(i, i), covariance(j, j)], covariance(i, j));
        let mut widths = [0.0; 2];
        for ((width, variance), index) in widths.iter_mut().zip(found).zip(indices) {
            *width = match variance.filter(|v| *v > 0.0) {
                Some(variance) => (level * variance).sqrt(),
                None => reach(analysis, observed, index, level)?,
            };
        }
        let [a, b] = widths;
        let correlation = match (found, joint) {
            ([Some(ii), Some(jj)], Some(ij)) if ii > 0.0 && jj > 0.0 => {
                (ij / (ii * jj).sqrt()).clamp(-0.999, 0.999)
            }
            _ => 0.0,
        };
        let factor = [[a, 0.0], [b * correlation, b * (1.0 - correlation * correlation).sqrt()]];
        let bounds = indices.map(|index| {
            analysis.model.parameters.get(index).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds)
        });
        Ok(Self { best: indices.map(|index| observed.best_value(index)), factor, bounds })
    }

    /// Returns the change of the parameters per unit of distance. Rounding errors of directions along a bound are set to 0.
    pub(super) fn direction(&self, angle: f64) -> [f64; 2] {
        let (y, x) = angle.sin_cos();
        let [[a, _], [b, c]] = self.factor;
        let (along, up) = (a * x, b * x + c * y);
        let kept = |value: f64, scale: f64| if value.abs() < 1e-9 * scale { 0.0 } else { value };
        [kept(along, a), kept(up, b.hypot(c))]
    }

    /// Returns the point at a distance from the best fit, within the bounds. A bound is reached exactly.
    pub(super) fn point(&self, direction: [f64; 2], distance: f64) -> [f64; 2] {
        let one = |best: f64, d: f64, (lower, upper): (f64, f64)| {
            let value = best + d * distance;
            let reached = |bound: f64| (value - bound).abs() <= ROUNDING * (best - bound).abs();
            [lower, upper].into_iter().find(|bound| reached(*bound)).unwrap_or(value).clamp(lower, upper)
        };
        let ([x, y], [u, v], [across, up]) = (self.best, direction, self.bounds);
        [one(x, u, across), one(y, v, up)]
    }

    /// Returns the distance at which a direction leaves the bounds.
    pub(super) fn room(&self, direction: [f64; 2]) -> f64 {
        let parts = self.best.iter().zip(direction).zip(self.bounds);
        let room = parts.map(|((best, d), (lower, upper))| match d {
            d if d > 0.0 => (upper - best) / d,
            d if d < 0.0 => (lower - best) / d,
            _ => f64::INFINITY,
        });
        room.fold(f64::INFINITY, f64::min).max(0.0)
    }

    /// Returns the angle and the distance of a change of the parameters.
    fn polar(&self, [u, v]: [f64; 2]) -> (f64, f64) {
        let [[a, _], [b, c]] = self.factor;
        let x = u / a;
        let y = (v - b * x) / c;
        (y.atan2(x).rem_euclid(TAU), x.hypot(y))
    }

    /// Returns the angle and the distance of each corner of the bounds. The best fit is no corner.
    pub(super) fn corners(&self) -> Vec<(f64, f64)> {
        let [x, y] = self.best;
        let [(left, right), (bottom, top)] = self.bounds;
        let corners = [(left, bottom), (left, top), (right, bottom), (right, top)];
        let finite = corners.into_iter().filter(|(across, up)| across.is_finite() && up.is_finite());
        let polar = finite.map(|(across, up)| self.polar([across - x, up - y]));
        polar.filter(|(_, distance)| *distance > 0.0).collect()
    }

    /// Returns whether two points lie on the same bound of a parameter.
    pub(super) fn on_one_bound(&self, a: [f64; 2], b: [f64; 2]) -> bool {
        let mut parts = a.into_iter().zip(b).zip(self.bounds);
        parts.any(|((x, y), (lower, upper))| x == y && (x == lower || x == upper))
    }

    /// Returns the angles of the directions that are searched first: `n` of equal distance, to corners of the bounds that are
    /// near, and along the bounds at which the best fit is.
    pub(super) fn angles(&self, n: usize) -> Vec<f64> {
        let mut special: Vec<f64> = Vec::new();
        let [x, y] = self.best;
        let [(left, right), (bottom, top)] = self.bounds;
        special.extend(self.corners().into_iter().filter(|at| at.1 < NEAR_CORNER).map(|at| at.0));
        if x == left || x == right {
            special.extend([[0.0, 1.0], [0.0, -1.0]].map(|change| self.polar(change).0));
        }
        if y == bottom || y == top {
            special.extend([[1.0, 0.0], [-1.0, 0.0]].map(|change| self.polar(change).0));
        }
        let step = TAU / n as f64;
        let mut angles = special.clone();
        let apart = |angle: f64| {
            let near = |other: &f64| {
                let gap = (angle - other).rem_euclid(TAU);
                gap.min(TAU - gap) < APART * step
            };
            !special.iter().any(near)
        };
        angles.extend((0..n).map(|k| k as f64 * step).filter(|angle| apart(*angle)));
        angles.sort_by(f64::total_cmp);
        angles.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        angles
    }
}

/// Returns by how much a parameter moves until `-2 ln L` has risen by `level`.
fn reach(
    analysis: &mut Analysis<'_>,
    observed: &mut Observed,
    index: usize,
    level: f64,
) -> Result<f64, InferenceError> {
    let crossings = observed.crossings(analysis, index, level)?;
    let best = observed.best_value(index);
    let distances = [crossings.lower_crossing, crossings.upper_crossing];
    let found: Vec<f64> = distances.into_iter().flatten().map(|value| (value - best).abs()).collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let bounds = analysis.model.parameters.get(index).map_or((f64::NAN, f64::NAN), |p| p.bounds);
    let widest = (best - bounds.0).max(bounds.1 - best);
    let usable = |width: &f64| width.is_finite() && *width > 0.0;
    Ok([mean, widest].into_iter().find(usable).unwrap_or_else(|| best.abs().max(1.0)))
}
