//! Weights of simulated events that depend on nuisance parameters.

use super::{Density, Value};
use crate::HistosysCode;

/// Dependence of the weights of a template's simulated events on one nuisance parameter `alpha`.
///
/// An event with the weight `w` has the weights `lo` at `alpha = -1` and `hi` at `alpha = +1`; in between and beyond
/// its weight is `w + alpha (hi - lo)/2 + f(alpha) ((hi + lo)/2 - w)`, as a yield under histosys
/// (HistFactory, CERN-OPEN-2012-016, section 4.1). This is linear in the three weights, so that the sums over the
/// events of each bin follow the same formula.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightSys {
    /// The nuisance parameter.
    pub alpha: Value,
    /// Height of each bin at `alpha = -1`.
    pub lo: Vec<f64>,
    /// Height of each bin at `alpha = +1`.
    pub hi: Vec<f64>,
    /// Interpolation code, which determines the function `f`.
    pub code: HistosysCode,
    /// Whether the shape of the template follows the weights.
    pub shape: bool,
    /// Whether the rate of the process follows the weights. The density is normalised, so this effect is a separate
    /// factor of the rate ([`crate::Process::rate`]).
    pub rate: bool,
}

impl WeightSys {
    /// Returns whether the effect has a kink at 0.
    fn has_kink(&self, nominal: &[f64]) -> bool {
        let bins = self.lo.iter().zip(&self.hi).zip(nominal);
        self.code.has_kink() && bins.into_iter().any(|((lo, hi), n)| hi - n != n - lo)
    }
}

impl Density {
    /// Adds the parameters at whose value 0 the density has a kink.
    pub(crate) fn kinks(&self, to: &mut Vec<usize>) {
        if let Self::Template { heights, variations, .. } = self {
            to.extend(variations.iter().filter(|v| v.shape && v.has_kink(heights)).filter_map(parameter));
        }
        self.parts().iter().for_each(|part| part.kinks(to));
    }

    /// Replaces interpolation codes by the closest smooth ones.
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
