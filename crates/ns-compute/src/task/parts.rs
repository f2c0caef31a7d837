//! Chooses the parts of a fit's outcome that have to be computed.

use ns_core::OutcomeParts;

use crate::optimise::DENSE_LIMIT;

/// Returns the parts of an outcome that have to be computed for a model of `n` parameters. If the inverse Hessian is
/// `wanted` in a small model, the covariance matrix is computed instead. In a larger model the inverse Hessian consists
/// of factors, which are computed together with the uncertainties.
pub(crate) fn parts_of(n: usize, wanted: OutcomeParts) -> OutcomeParts {
    let small = n <= DENSE_LIMIT;
    OutcomeParts {
        uncertainties: wanted.uncertainties || wanted.inverse,
        covariance: wanted.covariance || (wanted.inverse && small),
        inverse: wanted.inverse && !small,
    }
}
