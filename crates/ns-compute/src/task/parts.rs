//! Chooses the parts of an outcome that a fit computes.

use ns_core::OutcomeParts;

use crate::optimise::DENSE_LIMIT;

/// Returns the parts to compute for a model of `n` parameters. In a small model the inverse Hessian is the
/// covariance matrix. In other models the inverse Hessian consists of factors, which are computed together
/// with the uncertainties.
pub(crate) fn parts_of(n: usize, wanted: OutcomeParts) -> OutcomeParts {
    let small = n <= DENSE_LIMIT;
    OutcomeParts {
        uncertainties: wanted.uncertainties || wanted.inverse,
        covariance: wanted.covariance || (wanted.inverse && small),
        inverse: wanted.inverse && !small,
    }
}
