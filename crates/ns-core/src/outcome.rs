//! The outcome of a fit, with its certificate.

use std::sync::Arc;

use crate::FitFailure;

/// Why a fit stopped short of its certificate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The iteration limit came first.
    IterationLimit,
    /// No step lowers the function although the gradient is not zero.
    NoProgress,
    /// The function falls without end along a direction.
    Unbounded,
}

/// Whether the certificate holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FitStatus {
    /// EDM at the returned point is below the tolerance over all free, inactive directions.
    Converged,
    /// The certificate does not hold; the numbers are those of the best point met.
    NotConverged(Reason),
}

/// Why a free parameter has no symmetric uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inactive {
    /// Held by its lower bound.
    LowerBound,
    /// Held by its upper bound.
    UpperBound,
    /// Sits on the kink of a piecewise interpolation at 0.
    Kink,
    /// Sits on a kink at which both one-sided slopes vanish, as with Asimov data. The curvature differs between the sides, and the
    /// covariance uses the mean of both.
    TwoSided,
    /// The likelihood does not depend on it (or only together with others).
    Flat,
}

/// The evidence that a point is a minimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Estimated distance to the minimum, `g' H^-1 g / 2`, in NLL units.
    pub edm: f64,
    /// Largest gradient element over free, inactive parameters, times its estimated uncertainty.
    pub projected_gradient: f64,
    /// Number of iterations in which the exact curvature was not positive definite.
    pub indefinite_steps: usize,
    /// Distinct lower minima found by further starts (0: the first start was best).
    pub restarts_improved: usize,
}

/// A full covariance matrix, row-major, `n x n`; rows and columns of fixed and
/// inactive parameters are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariance {
    /// Number of parameters.
    pub n: usize,
    /// Elements.
    pub values: Vec<f64>,
}

impl Covariance {
    /// Element (i, j).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.n + j]
    }
}

/// The result of one minimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOutcome {
    /// Whether the certificate holds.
    pub status: FitStatus,
    /// Parameters at the minimum, all of them, in the model's order.
    pub parameters: Vec<f64>,
    /// `-ln L` there, all constants included.
    pub nll: f64,
    /// The evidence.
    pub certificate: Certificate,
    /// Iterations over all starts.
    pub n_iterations: usize,
    /// Evaluations of the function over all starts.
    pub n_evaluations: usize,
    /// Free parameters without a symmetric uncertainty, and why.
    pub inactive: Vec<(usize, Inactive)>,
    /// Bins with no expected yield left (`lambda <= 0`) at the minimum.
    pub empty_bins: Vec<usize>,
    /// Uncertainties from the exact Hessian; `None` for fixed and inactive ones.
    /// Empty unless asked for.
    pub uncertainties: Vec<Option<f64>>,
    /// Covariance, if asked for.
    pub covariance: Option<Arc<Covariance>>,
}

impl FitOutcome {
    /// True if the certificate holds.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.status == FitStatus::Converged
    }
}

/// All fits of one task, in the order in which it asked for them.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutcome {
    /// One entry per request.
    pub fits: Vec<Result<FitOutcome, FitFailure>>,
}
