//! Coordinates in which chains move.
//!
//! A parameter with bounds is a function of a coordinate without bounds: `x = a + (b - a) / (1 + exp(-u))` between two
//! bounds, `x = a + exp(u)` above one. The density in `u` has the factor `dx/du`, so that the prior in `x` stays flat
//! within the bounds. The coordinates are then rotated and scaled by the covariance of the fit, after which a posterior
//! that is nearly normal has unit variances and no correlations.

use ns_core::{FitOutcome, Model};

use crate::linear::cholesky;

/// Largest standard deviation of a coordinate at the start. Near a bound the covariance of the fit says nothing about `u`.
const WIDEST: f64 = 1.5;

/// Smallest distance of the start from a bound, in standard deviations of the parameter.
const ROOM: f64 = 0.5;

/// How a parameter follows from its coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Map {
    Same,
    Above(f64),
    Below(f64),
    Between(f64, f64),
}

/// A value at one coordinate: the parameter, its derivative, the logarithm of the derivative, and the derivative of that.
struct Mapped {
    x: f64,
    slope: f64,
    ln_slope: f64,
    ln_slope_slope: f64,
}

impl Map {
    fn of((lower, upper): (f64, f64)) -> Self {
        match (lower.is_finite(), upper.is_finite()) {
            (true, true) => Self::Between(lower, upper),
            (true, false) => Self::Above(lower),
            (false, true) => Self::Below(upper),
            (false, false) => Self::Same,
        }
    }

    fn at(self, u: f64) -> Mapped {
        match self {
            Self::Same => Mapped { x: u, slope: 1.0, ln_slope: 0.0, ln_slope_slope: 0.0 },
            Self::Above(lower) => {
                Mapped { x: lower + u.exp(), slope: u.exp(), ln_slope: u, ln_slope_slope: 1.0 }
            }
            Self::Below(upper) => {
                Mapped { x: upper - u.exp(), slope: -u.exp(), ln_slope: u, ln_slope_slope: 1.0 }
            }
            Self::Between(lower, upper) => {
                let (width, small) = (upper - lower, (-u.abs()).exp());
                // Both fractions are accurate where they are small.
                let (near, far) = (small / (1.0 + small), 1.0 / (1.0 + small));
                let (below, above) = if u < 0.0 { (near, far) } else { (far, near) };
                let x = if u < 0.0 { lower + width * below } else { upper - width * above };
                let slope = width * below * above;
                let ln_slope = width.ln() - u.abs() - 2.0 * small.ln_1p();
                Mapped { x, slope, ln_slope, ln_slope_slope: above - below }
            }
        }
    }

    fn coordinate(self, x: f64) -> f64 {
        match self {
            Self::Same => x,
            Self::Above(lower) => (x - lower).ln(),
            Self::Below(upper) => (upper - x).ln(),
            Self::Between(lower, upper) => ((x - lower) / (upper - x)).ln(),
        }
    }
}

/// The coordinates of the free parameters of an analysis.
#[derive(Debug, Clone)]
pub(super) struct Space {
    /// Index and map of each free parameter.
    free: Vec<(usize, Map)>,
    /// Values of all parameters; those of free parameters are overwritten.
    point: Vec<f64>,
    /// Coordinates of the centre.
    centre: Vec<f64>,
    /// Lower triangular factor of the covariance in coordinates, row by row.
    factor: Vec<f64>,
}

impl Space {
    /// Makes the coordinates around the minimum of `fit`. `is_fixed` says which parameters do not move.
    pub(super) fn new(model: &Model, fit: &FitOutcome, is_fixed: impl Fn(usize) -> bool) -> Self {
        let inverse = fit.inverse_hessian();
        let mut free = Vec::new();
        let mut centre = Vec::new();
        let mut scales = Vec::new();
        for (i, (parameter, best)) in model.parameters.iter().zip(&fit.parameters).enumerate() {
            let (lower, upper) = parameter.bounds;
            if is_fixed(i) || lower >= upper {
                continue;
            }
            let sigma = fit.uncertainties.get(i).copied().flatten().or(parameter.constraint.prefit_sigma());
            let sigma = sigma.filter(|sigma| sigma.is_finite() && *sigma > 0.0);
            let sigma = sigma.unwrap_or_else(|| 0.1 * best.abs().max(1.0));
            let room = (ROOM * sigma).min(0.25 * (upper - lower));
            let x = best.max(lower + room).min(upper - room);
            let map = Map::of(parameter.bounds);
            let u = map.coordinate(x);
            let slope = map.at(u).slope;
            // The part of the covariance that is kept, so that no coordinate is wider than `WIDEST`.
            let kept = (WIDEST * slope.abs() / sigma).min(1.0);
            free.push((i, map));
            centre.push(u);
            scales.push((kept / slope, sigma));
        }
        let n = free.len();
        let mut covariance = vec![0.0; n * n];
        for (a, ((i, _), (scale, sigma))) in free.iter().zip(&scales).enumerate() {
            let row = inverse.as_ref().and_then(|inverse| inverse.row(*i));
            let variance = row.as_ref().and_then(|row| row.get(*i)).copied();
            let known = variance.is_some_and(|v| v.is_finite() && v > 0.0);
            for (b, ((j, _), (other, _))) in free.iter().zip(&scales).enumerate() {
                let entry = match &row {
                    Some(row) if known => row.get(*j).copied().filter(|x| x.is_finite()).unwrap_or(0.0),
                    _ if a == b => sigma * sigma,
                    _ => 0.0,
                };
                if let Some(to) = covariance.get_mut(a * n + b) {
                    *to = entry * scale * other;
                }
            }
        }
        let factor = cholesky(&covariance, n).unwrap_or_else(|| diagonal(&covariance, n));
        Self { free, point: fit.parameters.clone(), centre, factor }
    }

    /// Number of free parameters.
    pub(super) fn len(&self) -> usize {
        self.free.len()
    }

    /// Indices of the free parameters.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.free.iter().map(|(i, _)| *i)
    }

    /// Writes all parameters at the position `y` to `point`, and the coordinates to `u`. Returns the logarithm of the
    /// volume factor.
    pub(super) fn place(&self, y: &[f64], u: &mut Vec<f64>, point: &mut Vec<f64>) -> f64 {
        let n = self.len();
        u.clear();
        for (row, centre) in self.factor.chunks(n.max(1)).zip(&self.centre) {
            u.push(centre + row.iter().zip(y).map(|(l, y)| l * y).sum::<f64>());
        }
        point.clone_from(&self.point);
        let mut ln_volume = 0.0;
        for ((i, map), u) in self.free.iter().zip(u.iter()) {
            let mapped = map.at(*u);
            if let Some(x) = point.get_mut(*i) {
                *x = mapped.x;
            }
            ln_volume += mapped.ln_slope;
        }
        ln_volume
    }

    /// Writes the gradient of the log posterior with respect to `y`. `gradient` is that of `-ln L` with respect to all
    /// parameters, at the coordinates `u`.
    pub(super) fn pull_back(&self, u: &[f64], gradient: &[f64], to: &mut [f64]) {
        let n = self.len();
        to.fill(0.0);
        for (a, ((i, map), u)) in self.free.iter().zip(u).enumerate() {
            let mapped = map.at(*u);
            let slope = mapped.ln_slope_slope - gradient.get(*i).copied().unwrap_or(0.0) * mapped.slope;
            let row = self.factor.get(a * n..(a + 1) * n).unwrap_or_default();
            for (to, l) in to.iter_mut().zip(row) {
                *to += l * slope;
            }
        }
    }
}

/// Returns the square roots of the diagonal as a diagonal matrix.
fn diagonal(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut factor = vec![0.0; n * n];
    for i in 0..n {
        let variance = matrix.get(i * n + i).copied().filter(|v| *v > 0.0).unwrap_or(1.0);
        if let Some(to) = factor.get_mut(i * n + i) {
            *to = variance.sqrt();
        }
    }
    factor
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn maps_invert_and_their_derivatives_are_those_of_differences() {
        for map in [Map::Same, Map::Above(-1.0), Map::Below(2.0), Map::Between(-1.0, 4.0)] {
            for u in [-3.0, -0.5, 0.0, 0.7, 4.0] {
                let (h, at) = (1e-5, map.at(u));
                let (low, high) = (map.at(u - h), map.at(u + h));
                assert!((map.coordinate(at.x) - u).abs() < 1e-9);
                assert!(((high.x - low.x) / (2.0 * h) - at.slope).abs() < 1e-8 * (1.0 + at.slope.abs()));
                assert!((at.slope.abs().ln() - at.ln_slope).abs() < 1e-12);
                let slope = (high.ln_slope - low.ln_slope) / (2.0 * h);
                assert!((slope - at.ln_slope_slope).abs() < 1e-8);
            }
        }
        // Far out, the parameter keeps its distance from the bound.
        assert!(Map::Between(0.0, 1.0).at(-40.0).x > 0.0);
    }

    #[test]
    fn a_diagonal_has_square_roots() {
        assert_eq!(diagonal(&[4.0, 2.0, 2.0, 9.0], 2), [2.0, 0.0, 0.0, 3.0]);
    }
}
