//! Finds directions in parameter space along which normsys effects on one sample add up. Along such a direction there
//! may be a second minimum.
//!
//! Normsys factors multiply. For example, eight uncertainties of 25 % each on one sample act like an exponential of
//! their sum, although none of them is asymmetric by itself. A single uncertainty of +99 % and -99 % is also far from
//! linear. If the data have a deficit, data and constraints may agree at two points: one with the usual yield of the
//! sample, and one with almost no yield.
//!
//! Let `n` be the yield of the sample in bins with the expected yields `lambda`, and `kappa` the vector of the
//! logarithms of its factors. The second derivative of the yield is `n kappa kappa'`. With residuals of one standard
//! deviation, this adds a curvature of `y kappa kappa'` to `-ln L`, where `y^2 = sum n^2 / lambda`. This effect is
//! reduced by the curvature of the constraints, which is 1, and by that of the data, which is `y^2 |kappa|^2`. This
//! leads to the matrix
//!
//! `M = sum over samples of y / (1 + y^2 |kappa|^2) kappa kappa'`
//!
//! Descents start along the eigenvectors of `M` with eigenvalues above 1. One starting point is where the sample has
//! almost vanished, and one is where it is three times as large.

use crate::plan::Plan;
use crate::shared_constants::{MOST_DIRECTIONS, PLACES};

/// Descents start along an eigenvector of the curvature matrix `M` (see the module) only if its eigenvalue is larger
/// than this number.
const LEAST_CURVATURE: f64 = 1.0;

/// Logarithm of the sample's normsys factor at each of the starting points along a direction.
const LOGARITHMS: [f64; PLACES] = [-2.2, 1.1];

/// Number of rounds of the power iteration that computes an eigenvector. The number is fixed, because directions need
/// little precision but must always have the same bits.
const ROUNDS: usize = 60;

/// Components of a direction are left out if their absolute value is below this number.
const LEAST_WEIGHT: f64 = 1e-3;

/// A direction in the space of the constrained parameters. Lengths along the direction are measured in widths of the
/// constraints.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Direction {
    /// Indices of the parameters that the direction moves.
    pub(crate) params: Vec<usize>,
    /// Component of the direction's unit vector for each parameter in `params`, in units of the width of the
    /// parameter's constraint.
    pub(crate) parts: Vec<f64>,
    /// Width of the constraint of each parameter in `params`.
    pub(crate) widths: Vec<f64>,
    /// Coordinates of the points along the direction at which descents start.
    pub(crate) places: [f64; PLACES],
}

impl Direction {
    /// Moves `theta` along the direction until its coordinate along the direction is `place`. The parameters stay
    /// within the bounds `lower` and `upper`.
    pub(crate) fn go(&self, theta: &mut [f64], place: f64, lower: &[f64], upper: &[f64]) {
        let terms = || self.params.iter().zip(&self.parts).zip(&self.widths);
        let at: f64 = terms().map(|((&p, part), width)| part * theta[p] / width).sum();
        for ((&p, part), width) in terms() {
            theta[p] = (theta[p] + (place - at) * part * width).clamp(lower[p], upper[p]);
        }
    }
}

/// A sample in a channel. It has a weight in the curvature matrix `M` (see the module), and a list of constrained
/// parameters with the logarithm of the sample's normsys factor for each.
struct Sample {
    weight: f64,
    logarithms: Vec<(usize, f64)>,
}

impl Sample {
    /// Returns the logarithm of the product of the sample's normsys factors at the point `v`. The coordinates of `v`
    /// are in units of the widths of the constraints.
    fn along(&self, v: &[f64]) -> f64 {
        self.logarithms.iter().map(|&(p, x)| x * v[p]).sum()
    }
}

/// Returns the directions along which descents start in fits with the free parameters `free`. `lambda` contains the
/// expected yields at the point that all toys share, and `width` the width of each parameter's constraint.
pub(super) fn directions(
    plan: &Plan,
    lambda: &[f64],
    free: &[usize],
    width: &[Option<f64>],
) -> Vec<Direction> {
    of_samples(&samples(plan, lambda, free, width), width)
}

/// Returns the directions along which the yields of `samples` have the largest curvature.
fn of_samples(samples: &[Sample], width: &[Option<f64>]) -> Vec<Direction> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut all = Vec::new();
    while all.len() < MOST_DIRECTIONS {
        let (v, curvature) = leading(samples, &found, width.len());
        if !(curvature > LEAST_CURVATURE) {
            break;
        }
        // The sample with the largest contribution determines the sign and the scale of the direction.
        let (mut most, mut slope) = (0.0, 1.0);
        for sample in samples {
            let x = sample.along(&v);
            if sample.weight * x * x > most {
                (most, slope) = (sample.weight * x * x, x);
            }
        }
        let mut direction = Direction {
            params: Vec::new(),
            parts: Vec::new(),
            widths: Vec::new(),
            places: LOGARITHMS.map(|logarithm| logarithm / slope),
        };
        for (p, &part) in v.iter().enumerate().filter(|(_, part)| part.abs() > LEAST_WEIGHT) {
            direction.params.push(p);
            direction.parts.push(part);
            direction.widths.push(width[p].unwrap_or(1.0));
        }
        all.push(direction);
        found.push(v);
    }
    all
}

fn samples(plan: &Plan, lambda: &[f64], free: &[usize], width: &[Option<f64>]) -> Vec<Sample> {
    let mut moves = vec![false; plan.n_parameters()];
    for &p in free {
        moves[p] = width[p].is_some();
    }
    let mut samples: Vec<Sample> =
        plan.structure.blocks.iter().map(|_| Sample { weight: 0.0, logarithms: Vec::new() }).collect();
    for run in plan.structure.norm_runs.iter().filter(|run| moves[run.param]) {
        for i in run.start..run.end {
            // Padding terms have the index of a dummy block, which comes after the last block.
            if let Some(sample) = samples.get_mut(plan.structure.norm_block[i] as usize) {
                let logarithm = 0.5 * (plan.numbers.norm_rate_hi[i] - plan.numbers.norm_rate_lo[i]);
                if logarithm.is_finite() {
                    sample.logarithms.push((run.param, logarithm));
                }
            }
        }
    }
    for (sample, block) in samples.iter_mut().zip(&plan.structure.blocks) {
        let share = |b: usize| plan.numbers.nominal[block.cell + b].powi(2) / lambda[block.bin + b].max(1.0);
        let known: f64 = (0..block.n_bins).map(share).sum();
        let steepness: f64 = sample.logarithms.iter().map(|(_, x)| x * x).sum();
        sample.weight = known.sqrt() / (1.0 + steepness * known);
    }
    samples.retain(|sample| !sample.logarithms.is_empty() && sample.weight > 0.0);
    samples
}

/// Returns the eigenvector of the curvature matrix `M` (see the module) with the largest eigenvalue among the vectors
/// that are orthogonal to those in `found`, and this eigenvalue. `n` is the number of parameters.
fn leading(samples: &[Sample], found: &[Vec<f64>], n: usize) -> (Vec<f64>, f64) {
    // This start vector is unlikely to be orthogonal to an eigenvector.
    let mut v: Vec<f64> = (0..n).map(|p| 1.0 + 0.01 * (p % 7) as f64).collect();
    let mut size = 0.0;
    for _ in 0..ROUNDS {
        for other in found {
            let overlap: f64 = other.iter().zip(&v).map(|(a, b)| a * b).sum();
            for (x, y) in v.iter_mut().zip(other) {
                *x -= overlap * y;
            }
        }
        let mut next = vec![0.0; n];
        for sample in samples {
            let along = sample.weight * sample.along(&v);
            for &(p, x) in &sample.logarithms {
                next[p] += along * x;
            }
        }
        size = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !(size > 0.0 && size.is_finite()) {
            return (v, 0.0);
        }
        v = next.into_iter().map(|x| x / size).collect();
    }
    (v, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(weight: f64, logarithms: &[(usize, f64)]) -> Sample {
        Sample { weight, logarithms: logarithms.to_vec() }
    }

    const WIDTHS: [Option<f64>; 9] = [Some(1.0); 9];

    #[test]
    fn equal_effects_on_one_sample_add_up() {
        let logarithms: Vec<(usize, f64)> = (0..8).map(|p| (p, -0.5)).collect();
        // The eigenvalue of the first sample is 0.9 * 8 * 0.25. That of the second sample, which has a single
        // parameter, is 0.9 * 3^2.
        let found = of_samples(&[sample(0.9, &logarithms), sample(0.9, &[(8, 3.0)])], &WIDTHS);
        assert_eq!(found.len(), 2);
        assert_eq!((&found[0].params, found[0].parts[0].abs()), (&vec![8], 1.0));
        assert!((found[0].places[0] * found[0].parts[0] * 3.0 - -2.2).abs() < 1e-9, "{:?}", found[0]);
        assert_eq!(found[1].params, (0..8).collect::<Vec<_>>());
        for part in &found[1].parts {
            assert!((part.abs() - 0.125_f64.sqrt()).abs() < 1e-9, "{:?}", found[1]);
        }
        // At each starting point, the logarithm of the sample's factor has the intended value.
        for (place, logarithm) in found[1].places.into_iter().zip(LOGARITHMS) {
            let mut theta = vec![0.3; 9];
            found[1].go(&mut theta, place, &[-9.0; 9], &[9.0; 9]);
            let got: f64 = logarithms.iter().map(|&(p, x)| x * theta[p]).sum();
            assert!((got - logarithm).abs() < 1e-9, "{got} is not {logarithm}");
            assert_eq!(theta[8], 0.3);
        }
    }

    #[test]
    fn weak_effects_have_no_direction() {
        let logarithms: Vec<(usize, f64)> = (0..8).map(|p| (p, 0.3)).collect();
        assert_eq!(of_samples(&[sample(1.3, &logarithms)], &WIDTHS), Vec::new());
        assert_eq!(of_samples(&[], &WIDTHS), Vec::new());
    }

    #[test]
    fn starts_stay_within_bounds() {
        let found = of_samples(&[sample(1.0, &[(0, 2.0), (1, 0.5)])], &WIDTHS);
        let mut theta = vec![0.0; 9];
        found[0].go(&mut theta, found[0].places[0], &[-0.5; 9], &[0.5; 9]);
        assert_eq!(theta[0], -0.5);
        assert!(theta[1] < 0.0 && theta[1] > -0.5);
    }
}
