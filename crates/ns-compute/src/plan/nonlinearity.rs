//! Measures how nonlinear the effect of each parameter on the expected yields is.
//!
//! The asymmetric part of an effect, `(hi + lo)/2 - nominal`, can cause second minima. Without it, the
//! likelihood along a parameter is nearly a parabola.

use std::collections::HashMap;

use ns_core::{Effect, Model};

/// Smallest asymmetric part of a parameter's effect, summed over bins in units of the statistical error, with
/// which a second minimum along the parameter is possible. A second minimum needs negative curvature from the
/// data that exceeds the curvature of the constraint, and residuals are a few standard deviations at most.
const LEAST_NONLINEARITY: f64 = 0.05;

/// Sum of the asymmetric parts over all parameters, in the same units, above which second minima are common
/// because tens of parameters can act together.
const STRONG_NONLINEARITY: f64 = 8.0;

/// The asymmetric parts of the effects of all parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nonlinearity {
    /// Asymmetric part of each parameter's effect, summed over bins in units of the statistical error.
    pub(crate) amount: Vec<f64>,
    /// Range of each parameter in `shifts`; empty if `amount` does not exceed [`LEAST_NONLINEARITY`].
    ranges: Vec<(usize, usize)>,
    /// Bin index and asymmetric part in events, summed over samples with all other factors at 1.
    shifts: Vec<(u32, f64)>,
}

impl Nonlinearity {
    pub(super) fn new(model: &Model) -> Self {
        let n = model.parameters.len();
        let mut amount = vec![0.0; n];
        let mut shifts: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        let mut by_parameter: HashMap<usize, Vec<f64>> = HashMap::new();
        for channel in &model.channels {
            by_parameter.clear();
            let mut total = vec![0.0; channel.n_bins];
            for sample in &channel.samples {
                for (t, x) in total.iter_mut().zip(&sample.nominal) {
                    *t += x.abs();
                }
                for modifier in &sample.modifiers {
                    let nominal = &sample.nominal;
                    let by_bin =
                        by_parameter.entry(modifier.first).or_insert_with(|| vec![0.0; channel.n_bins]);
                    for b in 0..channel.n_bins {
                        by_bin[b] += match &modifier.effect {
                            Effect::HistoSys { lo, hi } => 0.5 * (hi[b] + lo[b]) - nominal[b],
                            Effect::NormSys { lo, hi } => (0.5 * (hi + lo) - 1.0) * nominal[b],
                            _ => 0.0,
                        };
                    }
                }
            }
            // Each parameter and each bin has its own sum, so the sums do not depend on the order of the map.
            for (&p, by_bin) in &by_parameter {
                amount[p] += by_bin.iter().zip(&total).map(|(s, t)| s.abs() / t.max(1.0).sqrt()).sum::<f64>();
                let bins = by_bin.iter().enumerate().filter(|(_, s)| **s != 0.0);
                shifts[p].extend(bins.map(|(b, s)| ((channel.first_bin + b) as u32, *s)));
            }
        }
        let mut nonlinearity = Self { amount, ..Self::default() };
        for (shifts, amount) in shifts.into_iter().zip(&nonlinearity.amount) {
            let from = nonlinearity.shifts.len();
            if *amount > LEAST_NONLINEARITY {
                nonlinearity.shifts.extend(shifts);
            }
            nonlinearity.ranges.push((from, nonlinearity.shifts.len()));
        }
        nonlinearity
    }

    /// Returns whether a parameter is nonlinear enough for a second minimum under smooth interpolation codes.
    pub(super) fn is_nonlinear(&self, p: usize) -> bool {
        self.amount[p] > LEAST_NONLINEARITY
    }

    /// Returns whether the asymmetric parts of all parameters together exceed [`STRONG_NONLINEARITY`].
    pub(super) fn is_strong(&self) -> bool {
        self.amount.iter().sum::<f64>() > STRONG_NONLINEARITY
    }

    /// Returns the slope of `-ln L` along the asymmetric part of a parameter's effect: `sum_b r_b A_b`, with
    /// the derivatives `r_b` of `-ln L` by the expected yields (`slopes`) and the asymmetric part `A_b`. This
    /// sum times the second derivative of the interpolation function is a curvature of `-ln L`, which may
    /// exceed that of the constraint, 1.
    pub(crate) fn pull(&self, p: usize, slopes: &[f64]) -> f64 {
        let (from, to) = self.ranges[p];
        self.shifts[from..to].iter().map(|&(bin, shift)| slopes[bin as usize] * shift).sum()
    }
}
