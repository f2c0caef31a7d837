//! The lowest minimum that is known to an analysis. If a conditional fit ends below it, the free fit is
//! repeated from that point, and the analysis starts again.

use ns_core::{FitOutcome, SessionError};

use crate::InferenceError;

/// Largest number of times that a lower minimum restarts an analysis.
const MOST_RESTARTS: usize = 20;

/// Returns the depth below the minimum, in `twice_nll`, from which a conditional fit counts as a lower
/// minimum. It exceeds the uncertainty due to the EDM and the rounding of `nll`.
pub(crate) fn tolerance(nll: f64) -> f64 {
    1e-7 + 64.0 * f64::EPSILON * nll.abs()
}

/// Reason why the conditional fits around a minimum ended early.
pub(crate) enum Stop {
    /// A conditional fit ended below the minimum: its point, and how far below in `twice_nll`.
    Lower(Vec<f64>, f64),
    /// An error that leaves the analysis without a result.
    Error(InferenceError),
}

impl From<InferenceError> for Stop {
    fn from(error: InferenceError) -> Self {
        Self::Error(error)
    }
}

impl From<SessionError> for Stop {
    fn from(error: SessionError) -> Self {
        Self::Error(error.into())
    }
}

/// The lowest minimum known so far, and how often it was replaced.
pub(crate) struct Lowest {
    /// The free fit that found the minimum.
    pub(crate) fit: FitOutcome,
    /// Depth below the minimum, in `twice_nll`, that a conditional fit may reach because of limited precision
    /// alone.
    pub(crate) tolerance: f64,
    restarts: usize,
}

impl Lowest {
    pub(crate) fn new(fit: FitOutcome) -> Self {
        Self { tolerance: tolerance(fit.nll), fit, restarts: 0 }
    }

    /// Returns whether a lower minimum may restart the analysis once more.
    pub(crate) fn may_restart(&self) -> bool {
        self.restarts < MOST_RESTARTS
    }

    /// Replaces the minimum by `fit`, which started from a point lower by `depth` in `twice_nll`, and returns
    /// how much lower it is. Returns `None` if `fit` is not lower or `is_astray` (in an unrelated region).
    pub(crate) fn restart(&mut self, fit: FitOutcome, depth: f64, is_astray: bool) -> Option<f64> {
        self.restarts += 1;
        if fit.nll < self.fit.nll && !is_astray {
            let gain = 2.0 * (self.fit.nll - fit.nll);
            self.fit = fit;
            return Some(gain);
        }
        // The free fit found no lower minimum, so the depth shows how imprecise conditional fits are.
        self.tolerance = 2.0 * depth;
        None
    }
}

#[cfg(test)]
mod tests {
    use ns_core::{Certificate, FitStatus};

    use super::*;

    fn fit(nll: f64) -> FitOutcome {
        FitOutcome {
            status: FitStatus::Converged,
            parameters: vec![1.0],
            nll,
            certificate: Certificate {
                edm: 1e-13,
                projected_gradient: 0.0,
                indefinite_steps: 0,
                restarts_improved: 0,
            },
            n_iterations: 1,
            n_evaluations: 1,
            inactive: Vec::new(),
            empty_bins: Vec::new(),
            uncertainties: Vec::new(),
            covariance: None,
            factors: None,
        }
    }

    #[test]
    fn a_lower_fit_is_taken_and_one_that_is_not_makes_variations_less_exact() {
        let mut lowest = Lowest::new(fit(5.0));
        assert_eq!(lowest.restart(fit(4.0), 2.0, false), Some(2.0));
        assert_eq!((lowest.fit.nll, lowest.tolerance), (4.0, tolerance(5.0)));
        assert_eq!(lowest.restart(fit(4.5), 1e-3, false), None);
        assert_eq!((lowest.fit.nll, lowest.tolerance), (4.0, 2e-3));
        assert_eq!(lowest.restart(fit(3.0), 1.0, true), None);
        assert!(lowest.may_restart());
        let more: Vec<_> = (3..MOST_RESTARTS).map(|_| lowest.restart(fit(3.5), 1.0, false)).collect();
        assert_eq!((more.first(), lowest.may_restart()), (Some(&Some(1.0)), false));
    }
}
