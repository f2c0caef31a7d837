//! Effects of nuisance parameters on the weights of simulated events.

use super::{Density, Value};
use crate::HistosysCode;

/// Dependence of the weights of a template's simulated events on one nuisance parameter `alpha`.
///
/// An event with the weight `w` has the weights `lo` at `alpha = -1` and `hi` at `alpha = +1`. For any other `alpha`
/// its weight is `w + alpha (hi - lo)/2 + f(alpha) ((hi + lo)/2 - w)`, like a yield that a histosys modifier changes
/// (HistFactory, CERN-OPEN-2012-016, section 4.1). The formula is linear in the three weights, so it also holds for the
/// sum of the weights in a bin.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightSys {
    /// The nuisance parameter.
    pub alpha: Value,
    /// Sum of the weights at `alpha = -1` divided by the bin volume, for each bin.
    pub lo: Vec<f64>,
    /// Sum of the weights at `alpha = +1` divided by the bin volume, for each bin.
    pub hi: Vec<f64>,
    /// Interpolation code. It determines the function `f` in the formula of [`WeightSys`].
    pub code: HistosysCode,
    /// Whether the nuisance parameter changes the shape of the template.
    pub shape: bool,
    /// Whether the nuisance parameter changes the rate of the process. Densities are normalised, so the
    /// change of the rate is a separate factor in [`crate::Process::rate`].
    pub rate: bool,
}

impl WeightSys {
    /// Returns whether the effect has a kink where the nuisance parameter `alpha` is 0. `nominal` has, for each bin,
    /// the sum of the weights at `alpha = 0` divided by the bin volume.
    fn has_kink(&self, nominal: &[f64]) -> bool {
        let bins = self.lo.iter().zip(&self.hi).zip(nominal);
        self.code.has_kink() && bins.into_iter().any(|((lo, hi), n)| hi - n != n - lo)
    }
}

impl Density {
    /// Appends to `to` the indices of the parameters for which the density has a kink at the value 0.
    pub(crate) fn kinks(&self, to: &mut Vec<usize>) {
        if let Self::Template { heights, variations, .. } = self {
            to.extend(variations.iter().filter(|v| v.shape && v.has_kink(heights)).filter_map(parameter));
        }
        self.parts().iter().for_each(|part| part.kinks(to));
    }

    /// Replaces each interpolation code by the closest smooth code.
    pub(crate) fn smooth_codes(&mut self) {
        match self {
            Self::Template { variations, .. } => {
                variations.iter_mut().for_each(|v| v.code = v.code.smooth());
            }
            Self::Product(parts) | Self::Mixture { summands: parts, .. } => {
                parts.iter_mut().for_each(Self::smooth_codes);
            }
            _ => {}
        }
    }
}

fn parameter(of: &WeightSys) -> Option<usize> {
    match of.alpha {
        Value::Parameter(p) => Some(p),
        _ => None,
    }
}
