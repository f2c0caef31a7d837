//! Decays in time, smeared by a resolution.

use super::Value;

/// An exponential decay in time with the mean life `tau`, smeared by a resolution:
/// `exp(-|t|/tau) O(t)` on the given sides of 0, convolved with a sum of Gaussians. `O` is 1 without an oscillation.
#[derive(Debug, Clone, PartialEq)]
pub struct Decay {
    /// Index of the observable, the decay time.
    pub t: usize,
    /// Mean life; positive, in units of the observable.
    pub tau: Value,
    /// The sides of 0 on which there are decays.
    pub sides: DecaySides,
    /// Terms of mixing and CP violation.
    pub oscillation: Option<Oscillation>,
    /// Gaussians that the decay is convolved with. If there is none, the time is measured without an error.
    pub resolution: Vec<Smearing>,
    /// Fractions of the Gaussians: one per Gaussian, or one less. In the first case they are divided by their sum, in the
    /// second case the last one is 1 minus the sum of the others.
    pub fractions: Vec<Value>,
}

/// The sides of 0 on which there are decays, before their times are smeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecaySides {
    /// Times above 0.
    After,
    /// Times below 0.
    Before,
    /// Both: differences of two decay times.
    Both,
}

/// Terms of mixing and CP violation: `cosh cosh(delta_gamma t/2) + sinh sinh(delta_gamma t/2) + cos cos(delta_m t) +
/// sin sin(delta_m t)`. Reference: A. Höcker and Z. Ligeti, hep-ph/0605217.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Oscillation {
    /// Difference of the decay widths, in inverse units of the time; its absolute value is below `2/tau`.
    pub delta_gamma: Value,
    /// Difference of the masses, which is the frequency of the oscillation in radians per unit of time.
    pub delta_m: Value,
    /// Coefficient of the hyperbolic cosine.
    pub cosh: Value,
    /// Coefficient of the hyperbolic sine.
    pub sinh: Value,
    /// Coefficient of the cosine.
    pub cos: Value,
    /// Coefficient of the sine.
    pub sin: Value,
}

/// A Gaussian distribution of measured minus true times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smearing {
    /// Mean of the distribution (the bias), in units of the observable.
    pub mean: Value,
    /// Standard deviation; positive, in units of the observable.
    pub sigma: Value,
}

impl Decay {
    /// Returns the parameters of the decay in the order `tau`; the oscillation's `delta_gamma`, `delta_m`, `cosh`, `sinh`,
    /// `cos`, `sin`; the fractions; and mean and width of each Gaussian.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let mut all = vec![self.tau];
        if let Some(Oscillation { delta_gamma, delta_m, cosh, sinh, cos, sin }) = self.oscillation {
            all.extend([delta_gamma, delta_m, cosh, sinh, cos, sin]);
        }
        all.extend(&self.fractions);
        all.extend(self.resolution.iter().flat_map(|one| [one.mean, one.sigma]));
        all
    }
}
