//! The lowest minimum found so far in an analysis. If a conditional fit ends below the minimum of the free fit, the
//! free fit is repeated from the end point of the conditional fit, and the analysis starts again.

use ns_core::{FitOutcome, SessionError};

use crate::InferenceError;

/// Largest number of times that an analysis is restarted from a lower minimum.
const MOST_RESTARTS: usize = 20;

/// Returns the smallest difference by which `-2 ln L` of a conditional fit must be below that of the free fit to count
/// as a lower minimum. `nll` is `-ln L` at the free fit. The difference is larger than the errors due to the estimated
/// distance to the minimum (EDM) and the rounding of `nll`.
pub(crate) fn tolerance(nll: f64) -> f64 {
    1e-7 + 64.0 * f64::EPSILON * nll.abs()
}

/// Reason why the conditional fits of an analysis ended early.
pub(crate) enum Stop {
    /// A conditional fit ended below the minimum of the free fit. Contains the values of all parameters at the end of
    /// this fit, and the difference by which its `-2 ln L` is below the minimum.
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

/// The lowest minimum found so far, and the number of restarts of the analysis.
pub(crate) struct Lowest {
    /// Free fit that found the lowest minimum.
    pub(crate) fit: FitOutcome,
    /// A conditional fit counts as a lower minimum if its `-2 ln L` is below that of the free fit by more than this
    /// number.
    pub(crate) tolerance: f64,
    restarts: usize,
}

impl Lowest {
    pub(crate) fn new(fit: FitOutcome) -> Self {
        Self { tolerance: tolerance(fit.nll), fit, restarts: 0 }
    }

    /// Returns whether the analysis may be restarted once more from a lower minimum.
    pub(crate) fn may_restart(&self) -> bool {
        self.restarts < MOST_RESTARTS
    }

    /// Takes `fit` as the new minimum if its `nll` (`-ln L`) is lower than that of the old minimum. Returns the
    /// decrease of `-2 ln L`. `fit` started from a conditional fit whose `-2 ln L` is lower than that of the old
    /// minimum by `depth`.
    ///
    /// If the `nll` of `fit` is not lower, or if `is_astray` is true (`fit` lies in an unrelated region of the
    /// parameters), the minimum stays, the tolerance becomes `2 depth`, and the result is `None`.
    pub(crate) fn restart(&mut self, fit: FitOutcome, depth: f64, is_astray: bool) -> Option<f64> {
        self.restarts += 1;
        if fit.nll < self.fit.nll && !is_astray {
            let gain = 2.0 * (self.fit.nll - fit.nll);
            self.fit = fit;
            return Some(gain);
        }
        // The free fit does not end lower. Conditional fits are therefore accurate only to `depth`.
        self.tolerance = 2.0 * depth;
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ns_core::{Certificate, FitStatus};

    use super::*;

    /// A converged fit of one parameter, 1.
    pub(crate) fn fit(nll: f64) -> FitOutcome {
        FitOutcome {
            status: FitStatus::Converged,
            parameters: vec![1.0],
            nll,
            certificate: Certificate {
                edm: 1e-13,
                projected_gradient: 0.0,
                indefinite_steps: 0,
                restarts_improved: 0,
                integral_error: None,
            },
            n_iterations: 1,
            n_search_iterations: 0,
            n_evaluations: 1,
            inactive: Vec::new(),
            empty_bins: Vec::new(),
            empty_channels: Vec::new(),
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
