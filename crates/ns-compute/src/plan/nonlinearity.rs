//! Measures how nonlinear the effect of each parameter on the expected yields is.
//!
//! The asymmetric part of an effect is `(hi + lo)/2 - nominal`, where `lo`, `nominal` and `hi` are the yields at the
//! parameter values -1, 0 and 1. It can cause second minima. Without it, `-ln L` along a parameter is nearly a
//! parabola.

use std::collections::BTreeMap;

use super::{Block, LANES, Numbers, Structure};

/// A second minimum along a parameter is possible only if the asymmetric part of its effect exceeds this number. The
/// asymmetric part is summed over the bins, in units of the statistical error. For a second minimum, the data must
/// contribute a negative curvature that exceeds the curvature of the constraint. The residuals, from which this
/// curvature comes, are a few standard deviations at most.
const LEAST_NONLINEARITY: f64 = 0.05;

/// Second minima are common in a model if the sum of the asymmetric parts of the effects of all parameters exceeds this
/// number. Tens of parameters can then act together. The sum is in units of the statistical error.
const STRONG_NONLINEARITY: f64 = 8.0;

/// The asymmetric parts of the effects of all parameters on the expected yields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nonlinearity {
    /// Asymmetric part of each parameter's effect, summed over the bins in units of the statistical error.
    pub(crate) amount: Vec<f64>,
    /// For each parameter, the range of its elements in `shifts`. The range is empty if the parameter's `amount` does
    /// not exceed [`LEAST_NONLINEARITY`].
    ranges: Vec<(usize, usize)>,
    /// For each bin on which a parameter acts, the index of the bin, and the asymmetric part of the parameter's effect
    /// in this bin, in events. This part is summed over the samples, with all other factors at 1.
    shifts: Vec<(u32, f64)>,
}

impl Nonlinearity {
    pub(super) fn new(structure: &Structure, numbers: &Numbers) -> Self {
        let n = structure.table.init.len();
        let mut amount = vec![0.0; n];
        let mut shifts: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        // For each parameter, the asymmetric part of its effect in each bin of the channel.
        let mut by_parameter: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for channel in structure.blocks.chunk_by(|a, b| a.bin == b.bin) {
            let Some(Block { bin: first_bin, n_bins, .. }) = channel.first() else { continue };
            by_parameter.clear();
            let mut total = vec![0.0; *n_bins];
            for block in channel {
                let nominal = &numbers.nominal[block.cell..block.cell + n_bins];
                for (t, x) in total.iter_mut().zip(nominal) {
                    *t += x.abs();
                }
                let mut add = |p: u32, parts: &mut dyn Iterator<Item = f64>| {
                    let by_bin = by_parameter.entry(p as usize).or_insert_with(|| vec![0.0; *n_bins]);
                    for (to, part) in by_bin.iter_mut().zip(parts) {
                        *to += part;
                    }
                };
                let stride = block.n_lanes * LANES;
                for (i, &p) in structure.hist_param[block.hist.0..block.hist_curved].iter().enumerate() {
                    let curve = &numbers.hist_curve[block.curve + i * stride..][..*n_bins];
                    add(p, &mut curve.iter().copied());
                }
                for i in block.norm.0..block.norm.1 {
                    let (term, slot) = (structure.norm_of_block[i] as usize, structure.norm_slot[i] as usize);
                    let bend = 0.5 * (numbers.norm_hi[term] + numbers.norm_lo[term]) - 1.0;
                    let p = structure.block_params[block.params.0 + slot];
                    add(p, &mut nominal.iter().map(|x| bend * x));
                }
            }
            for (&p, by_bin) in &by_parameter {
                amount[p] += by_bin.iter().zip(&total).map(|(s, t)| s.abs() / t.max(1.0).sqrt()).sum::<f64>();
                let bins = by_bin.iter().enumerate().filter(|(_, s)| **s != 0.0);
                shifts[p].extend(bins.map(|(b, s)| ((first_bin + b) as u32, *s)));
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

    /// Returns whether the effect of parameter `p` is nonlinear enough for a second minimum in a model with smooth
    /// interpolation codes.
    pub(crate) fn is_nonlinear(&self, p: usize) -> bool {
        self.amount[p] > LEAST_NONLINEARITY
    }

    /// Returns whether the asymmetric parts of the effects of all parameters together exceed [`STRONG_NONLINEARITY`].
    pub(super) fn is_strong(&self) -> bool {
        self.amount.iter().sum::<f64>() > STRONG_NONLINEARITY
    }

    /// Returns the slope of `-ln L` along the asymmetric part of the effect of parameter `p`: `sum_b r_b A_b`.
    /// `slopes` contains the derivative `r_b` of `-ln L` with respect to the expected yield of each bin `b`, and `A_b`
    /// is the asymmetric part in this bin.
    ///
    /// The product of this sum with the second derivative of the interpolation function is a curvature of `-ln L`. A
    /// second minimum is possible only if this curvature is below -1, because the constraint has the curvature 1.
    pub(crate) fn pull(&self, p: usize, slopes: &[f64]) -> f64 {
        let (from, to) = self.ranges[p];
        self.shifts[from..to].iter().map(|&(bin, shift)| slopes[bin as usize] * shift).sum()
    }
}
