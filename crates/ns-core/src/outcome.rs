//! The outcome of a fit, with numbers that show whether the returned point is a minimum.

use std::sync::Arc;

use crate::{Covariance, FitFailure, InverseHessian};

/// Reason why a fit did not converge.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The limit on the number of iterations was reached before the fit converged.
    IterationLimit,
    /// No step lowers `-ln L`, although the gradient is not yet zero.
    NoProgress,
    /// `-ln L` falls without limit along a direction.
    Unbounded,
    /// The minimum was found, but an integral in `-ln L` is less exact than the fit demands
    /// ([`Certificate::integral_error`]).
    InexactIntegral,
    /// A density jumps at a place that depends on free parameters
    /// ([`Model::density_jumps`](crate::Model::density_jumps)), so the derivatives with respect to them are not those of
    /// `-ln L`. These parameters have neither an uncertainty nor an entry in [`FitOutcome::inactive`].
    Jump {
        /// Indices of the free parameters, in ascending order.
        parameters: Vec<usize>,
    },
}

/// Whether a fit converged.
#[derive(Debug, Clone, PartialEq)]
pub enum FitStatus {
    /// The estimated distance to the minimum ([`Certificate::edm`]) at the returned point is below the
    /// tolerance.
    Converged,
    /// The fit did not converge; the outcome describes the best point found.
    NotConverged(Reason),
}

/// Why a free parameter has no symmetric uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inactive {
    /// The parameter is at its lower bound, beyond which `-ln L` would be lower.
    LowerBound,
    /// The parameter is at its upper bound, beyond which `-ln L` would be lower.
    UpperBound,
    /// The parameter is on a kink: at 0 of a piecewise interpolation, or at a value where the slope of a function of parameters
    /// jumps (`abs`, `min`, `max`, `a ? b : c`).
    Kink,
    /// The parameter is at 0, where an interpolation has a kink. The slopes of `-ln L` on both sides of the kink are 0,
    /// as with Asimov data. The curvatures of the two sides differ. The covariance uses their mean.
    TwoSided,
    /// The likelihood does not depend on the parameter, or does not depend on some combination of the parameter with
    /// other parameters.
    Flat,
}

/// Largest relative error of the integrals in `-ln L` that a fit accepts, unless
/// [`FitRequest::integral_tolerance`](crate::FitRequest::integral_tolerance) gives another number.
pub const INTEGRAL_TOLERANCE: f64 = 1e-6;

/// The error of an integral over the density of a process, computed by numerical integration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntegralError {
    /// Estimated error, as a fraction of the integral. It may be infinite.
    pub relative: f64,
    /// Index of the event channel.
    pub channel: usize,
    /// Index of the process, in the event channel, whose density is integrated.
    pub process: usize,
}

/// The estimated distance to the minimum and related numbers, which show whether a point is a minimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Estimated distance to the minimum, `g' H^-1 g / 2`, with the gradient `g` and the Hessian `H` of `-ln L`. The
    /// unit is that of `-ln L`.
    pub edm: f64,
    /// Largest absolute value, over all parameters, of the product of the gradient element and the uncertainty of a
    /// parameter. If no uncertainties were requested, this is an estimate.
    pub projected_gradient: f64,
    /// Number of iterations in which the exact Hessian was not positive definite.
    pub indefinite_steps: usize,
    /// Number of descents from further starting points that ended in a lower minimum than all descents before. It is 0
    /// if the first descent gave the lowest minimum.
    pub restarts_improved: usize,
    /// The largest relative error of the integrals in `-ln L` at this point. `None` if all of them have closed forms.
    pub integral_error: Option<IntegralError>,
}

/// The result of one minimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOutcome {
    /// Whether the fit converged.
    pub status: FitStatus,
    /// Values of all parameters at the minimum (or the best point found), in the model's order.
    pub parameters: Vec<f64>,
    /// `-ln L` at the minimum, all constants included.
    pub nll: f64,
    /// Estimated distance to the minimum and related numbers, which show whether the returned point is a minimum.
    pub certificate: Certificate,
    /// Number of iterations of the first descent and of the checks at the minimum.
    pub n_iterations: usize,
    /// Number of iterations of all descents in search of lower minima.
    pub n_search_iterations: usize,
    /// Number of evaluations of `-ln L` in all descents together.
    pub n_evaluations: usize,
    /// Indices of the free parameters without a symmetric uncertainty, each with the reason.
    pub inactive: Vec<(usize, Inactive)>,
    /// Indices of the bins whose expected yield at the minimum is zero or negative.
    pub empty_bins: Vec<usize>,
    /// Indices of the extended event channels whose expected number of events at the minimum is 0.
    pub empty_channels: Vec<usize>,
    /// Uncertainties of all parameters from the exact Hessian; `None` for fixed and inactive parameters. The
    /// list is empty if no uncertainties were requested.
    pub uncertainties: Vec<Option<f64>>,
    /// Covariance matrix of all parameters, if it was requested.
    pub covariance: Option<Arc<Covariance>>,
    /// Inverse Hessian, stored as factors. It exists if the inverse was requested and the model is too large for a full
    /// matrix.
    pub factors: Option<InverseHessian>,
}

impl FitOutcome {
    /// Returns the number of iterations of all descents, those in search of lower minima included.
    #[must_use]
    pub fn all_iterations(&self) -> usize {
        self.n_iterations + self.n_search_iterations
    }

    /// Returns whether the fit converged.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.status == FitStatus::Converged
    }

    /// Returns the inverse Hessian at the minimum: the factors if there are any, otherwise the covariance
    /// matrix.
    #[must_use]
    pub fn inverse_hessian(&self) -> Option<InverseHessian> {
        match (&self.factors, &self.covariance) {
            (Some(factors), _) => Some(factors.clone()),
            (None, Some(matrix)) => Some(InverseHessian::Dense(Arc::clone(matrix))),
            (None, None) => None,
        }
    }
}

/// The results of all fits of one task for one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutcome {
    /// One result per request, in the order of the requests.
    pub fits: Vec<Result<FitOutcome, FitFailure>>,
}
