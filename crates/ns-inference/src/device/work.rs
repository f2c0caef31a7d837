//! The work of a session: the numbers of fits of different types, such as fits of toys, and the number of batches.

use std::fmt;

/// The work for which a session is opened. The device choice `auto` depends on the work. If the user names a device,
/// the work does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// A fit with its uncertainties.
    Fit,
    /// A profile likelihood scan with this number of points.
    Scan {
        /// Number of tested values.
        points: u64,
    },
    /// A ranking by refits.
    Ranking {
        /// Number of refits per parameter. Each definition of the impact that needs refits contributes 2 refits if only
        /// post-fit impacts are wanted, and 4 if pre-fit impacts are wanted too.
        per_parameter: u64,
    },
    /// An asymptotic hypothesis test, a significance or a goodness of fit.
    Test,
    /// Asymptotic upper limits, for which several values of the parameter of interest are tested one after another.
    Limit,
    /// Toys, each of which is drawn and fitted.
    Toys {
        /// Number of toys, summed over all hypotheses.
        toys: u64,
        /// Number of fits per toy. It is 2 for a hypothesis test (one free and one conditional fit) and 1 for a study
        /// of the fits to toys.
        fits: u64,
    },
    /// Fits of given data sets, each of which starts at the model's initial parameters.
    Batch {
        /// Number of data sets.
        fits: u64,
    },
}

/// The number of fits of each type, and the number of batches, that some work needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Number of fits that the CPU makes at the beginning, even if a GPU makes the remaining fits. They start at the
    /// model's initial parameters.
    pub(super) before: f64,
    /// Number of fits that start at the model's initial parameters, including the uncertainties.
    pub(super) first: f64,
    /// Number of fits that start at the minimum of a neighbouring fit.
    pub(super) near: f64,
    /// Number of fits of toys.
    pub(super) toys: f64,
    /// Number of batches. Batches run one after another.
    pub(super) batches: f64,
}

/// Number of fits of an asymptotic test: a free and a conditional fit to the observed data, a free and a conditional fit
/// to the Asimov data, and those with which conditional fits are compared. Limits and toys begin with these fits too.
const FITS_OF_A_TEST: f64 = 6.0;

/// Estimated number of fits that a search for the observed and the expected limits makes after the fits of its first
/// test ([`FITS_OF_A_TEST`]).
const FITS_OF_A_LIMIT: f64 = 60.0;
/// Estimated number of batches for the fits in [`FITS_OF_A_LIMIT`].
const ROUNDS_OF_A_LIMIT: f64 = 8.0;

/// Largest number of batches of a scan. The fits of each batch start from the minima of earlier batches.
const ROUNDS_OF_A_SCAN: f64 = 8.0;

/// Estimated number of values of the parameter of interest that a limit with toys tests.
const VALUES_OF_A_TOY_LIMIT: u64 = 10;

impl Work {
    /// Returns the work of an upper limit with toys. `n_toys` is the number of toys of each hypothesis at each tested
    /// value.
    #[must_use]
    pub const fn toys_of_limit(n_toys: u64) -> Self {
        Self::Toys { toys: n_toys.saturating_mul(2 * VALUES_OF_A_TOY_LIMIT), fits: 2 }
    }

    /// Returns the numbers of fits and batches that this work needs for a model with `n_free` free parameters.
    pub(super) fn load(self, n_free: usize) -> Load {
        let load = |first, near, toys, batches| Load { before: 0.0, first, near, toys, batches };
        match self {
            Self::Fit => load(1.0, 0.0, 0.0, 1.0),
            Self::Scan { points } => {
                load(1.0, points as f64, 0.0, 1.0 + (points as f64).min(ROUNDS_OF_A_SCAN))
            }
            // The best fit is made on the CPU, so that pulls do not depend on the device.
            Self::Ranking { per_parameter } => {
                Load { before: 1.0, ..load(0.0, per_parameter as f64 * n_free as f64, 0.0, 2.0) }
            }
            Self::Test => load(FITS_OF_A_TEST, 0.0, 0.0, 3.0),
            Self::Limit => load(FITS_OF_A_TEST, FITS_OF_A_LIMIT, 0.0, 3.0 + ROUNDS_OF_A_LIMIT),
            Self::Toys { toys, fits } => {
                Load { before: FITS_OF_A_TEST, ..load(0.0, 0.0, toys as f64 * fits as f64, 1.0) }
            }
            Self::Batch { fits } => load(fits as f64, 0.0, 0.0, 1.0),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        match *self {
            Self::Fit => f.write_str("one fit"),
            Self::Scan { points } => write!(f, "a scan of {points} point{}", plural(points)),
            Self::Ranking { .. } => f.write_str("a ranking"),
            Self::Test => f.write_str("an asymptotic test"),
            Self::Limit => f.write_str("an asymptotic limit"),
            Self::Toys { toys, .. } => write!(f, "{toys} toy{}", plural(toys)),
            Self::Batch { fits } => write!(f, "{fits} fit{}", plural(fits)),
        }
    }
}
