//! The minimum that an analysis varies. Where a variation meets a lower one, the free fit is made again from there, and
//! the analysis begins anew.

use ns_core::{FitOutcome, SessionError};

use crate::InferenceError;

/// How often a lower minimum met on the way may restart an analysis.
const MOST_RESTARTS: usize = 20;

/// How much lower than the minimum a conditional fit must be, in `twice_nll`, to restart the fit:
/// above what the EDM and rounding of `nll` leave open.
pub(crate) fn tolerance(nll: f64) -> f64 {
    1e-7 + 64.0 * f64::EPSILON * nll.abs()
}

/// Why work around a minimum ended early.
pub(crate) enum Stop {
    /// A point below the minimum, and how far below in `twice_nll`.
    Lower(Vec<f64>, f64),
    /// There is no result.
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

/// The lowest minimum known.
pub(crate) struct Lowest {
    /// The fit that found it.
    pub(crate) fit: FitOutcome,
    /// How far below it, in `twice_nll`, a variation may end because of rounding alone.
    pub(crate) tolerance: f64,
    restarts: usize,
}

impl Lowest {
    pub(crate) fn new(fit: FitOutcome) -> Self {
        Self { tolerance: tolerance(fit.nll), fit, restarts: 0 }
    }

    /// Whether a lower minimum may restart the analysis once more.
    pub(crate) fn may_restart(&self) -> bool {
        self.restarts < MOST_RESTARTS
    }

    /// Takes the free fit from a point that lay lower by `depth`, unless it ended elsewhere (`is_astray`) or not lower. Gives
    /// how much lower it is in `twice_nll`.
    pub(crate) fn restart(&mut self, fit: FitOutcome, depth: f64, is_astray: bool) -> Option<f64> {
        self.restarts += 1;
        if fit.nll < self.fit.nll && !is_astray {
            let gain = 2.0 * (self.fit.nll - fit.nll);
            self.fit = fit;
            return Some(gain);
        }
        // The free fit does not confirm it, so it was no other minimum: variations are less exact.
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
