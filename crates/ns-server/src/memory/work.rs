//! How much memory an analysis needs besides its model: the requests of its fits, their outcomes, and the result.

use ns_inference::Work;

/// Memory of a fit in progress with all that is made from it, in bytes, and what each parameter adds.
const FIT: u64 = 1536;
const PARAMETER: u64 = 16;

/// Memory that each parameter adds to a fit whose outcome is a part of the result: its value and its uncertainty, as numbers and
/// as text in a list that grows by doubling, in bytes.
const PARAMETER_IN_RESULT: u64 = 128;

/// Memory of each element of a covariance matrix in a result, in bytes.
const COVARIANCE: u64 = 80;

/// Memory of each toy whose test statistics are kept, in bytes.
const KEPT_TOY: u64 = 48;

/// Number of simultaneous fits for which memory is reserved at least.
const FITS: u64 = 64;

/// Returns an upper estimate of the memory that the fits of some work and its result need at the same time, in bytes.
/// The model has `parameters` parameters.
pub(crate) fn of_work(work: Work, parameters: u64) -> u64 {
    let (fits, parameter) = match work {
        // A point is fitted from both sides.
        Work::Scan { points } => (points.saturating_mul(2), PARAMETER),
        Work::Ranking { per_parameter } => (parameters.saturating_mul(per_parameter), PARAMETER),
        Work::Batch { fits } => (fits, PARAMETER_IN_RESULT),
        // Toys are made in pieces, and other analyses make few fits at a time.
        _ => (0, PARAMETER),
    };
    let fits = fits.max(FITS);
    fits.saturating_mul(parameter.saturating_mul(parameters).saturating_add(FIT))
}

/// Returns an upper estimate of the memory of the covariance matrices of `fits` fits in a result, in bytes.
pub(crate) fn of_covariances(fits: u64, parameters: u64) -> u64 {
    parameters.saturating_mul(parameters).saturating_mul(COVARIANCE).saturating_mul(fits)
}

/// Returns an upper estimate of the memory of `toys` toys whose test statistics are kept, in bytes.
pub(crate) fn of_kept_toys(toys: u64) -> u64 {
    toys.saturating_mul(KEPT_TOY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_a_scan_and_the_data_sets_of_a_batch_are_counted() {
        // Measured with the release build: 290 MB, 142 MB and 930 MB.
        assert!(of_work(Work::Scan { points: 100_000 }, 3) > 290_000_000);
        assert!(of_work(Work::Batch { fits: 4000 }, 300) > 142_000_000);
        assert!(of_work(Work::Batch { fits: 40_000 }, 16) + of_covariances(40_000, 16) > 930_000_000);
        assert_eq!(of_work(Work::Scan { points: u64::MAX }, 3), u64::MAX);
    }
}
