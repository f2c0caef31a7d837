//! The work of a session: the number of fits of each kind, and the number of batches.

use std::fmt;

/// The work for which a session is opened. Only the choice of `auto` depends on it.
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
        /// Number of refits per parameter. Each definition of the impact that makes refits needs 2 for
        /// post-fit impacts, or 4 for post-fit and pre-fit impacts.
        per_parameter: u64,
    },
    /// An asymptotic test, a significance or a goodness of fit.
    Test,
    /// Asymptotic limits, for which several values are tested one after another.
    Limit,
    /// Toys, each of which is drawn and fitted.
    Toys {
        /// Number of toys of all hypotheses together.
        toys: u64,
        /// Number of fits per toy: 2 for a test (free and conditional), 1 for a study.
        fits: u64,
    },
    /// Fits of given data sets from the model's start values.
    Batch {
        /// Number of data sets.
        fits: u64,
    },
}

/// How many fits of each kind some work needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Number of fits of the kind `first` that the CPU makes before a GPU makes the other fits.
    pub(super) before: f64,
    /// Number of fits from the model's start values, with uncertainties.
    pub(super) first: f64,
    /// Number of fits that start from the minimum of a neighbouring fit.
    pub(super) near: f64,
    /// Number of fits of toys.
    pub(super) toys: f64,
    /// Number of batches that run one after another.
    pub(super) batches: f64,
}

impl Load {
    /// Returns the number of fits that a GPU would make.
    pub(super) fn fits(self) -> f64 {
        self.first + self.near + self.toys
    }
}

/// Number of fits of an asymptotic test: free and conditional fits to the observed data and to the Asimov
/// set. Limits and toys begin with these fits too.
const FITS_OF_A_TEST: f64 = 4.0;

/// Estimated number of further fits in the search for the observed and the expected limits.
const FITS_OF_A_LIMIT: f64 = 60.0;
/// Estimated number of batches in which these further fits of a limit run.
const ROUNDS_OF_A_LIMIT: f64 = 8.0;

/// Largest number of batches of a scan. The fits of a batch start from the minima of earlier batches.
const ROUNDS_OF_A_SCAN: f64 = 8.0;

/// Estimated number of POI values that a limit with toys tests.
const VALUES_OF_A_TOY_LIMIT: u64 = 10;

impl Work {
    /// Returns the work of a limit with `n_toys` toys of each hypothesis at every tested value.
    #[must_use]
    pub const fn toys_of_limit(n_toys: u64) -> Self {
        Self::Toys { toys: n_toys.saturating_mul(2 * VALUES_OF_A_TOY_LIMIT), fits: 2 }
    }

    /// Returns how many fits of each kind this work needs, for a model with `n_free` free parameters.
    pub(super) fn load(self, n_free: usize) -> Load {
        let load = |first, near, toys, batches| Load { before: 0.0, first, near, toys, batches };
        match self {
            Self::Fit => load(1.0, 0.0, 0.0, 1.0),
            Self::Scan { points } => {
                load(1.0, points as f64, 0.0, 1.0 + (points as f64).min(ROUNDS_OF_A_SCAN))
            }
            Self::Ranking { per_parameter } => load(1.0, per_parameter as f64 * n_free as f64, 0.0, 2.0),
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
