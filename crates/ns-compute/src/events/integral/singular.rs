//! Decides whether an integral exists near a place where the integrand is not bounded.
//!
//! A region with an infinite bound is halved again and again. The part that contains the singularity stays; the other
//! part is a *shell*. The contributions of the shells fall geometrically if the integral exists (near a pole
//! `|x|^-p` by the factor `2^(p-1)`), and do not fall if it does not.

/// Number of shells that are compared with as many shells before them. It is a multiple of 2, 3 and 4, because in several
/// observables the sides of a region are halved in turn.
const GROUP: usize = 12;

/// Number of shells before an integral can be called infinite.
const FEWEST: usize = 3 * GROUP;

/// An integral is infinite if the last shells contribute at least this fraction of the shells before them. For a pole
/// `|x|^-p` it is reached at `p = 0.996`.
const LEAST_RATIO: f64 = 0.97;

/// Largest number of shells.
const MOST: usize = 900;

/// Shells that contribute less than this fraction of the whole integral do not matter.
const LEAST_SHARE: f64 = 1e-14;

/// What follows from the shells of a singularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The integral is infinite.
    Infinite,
    /// Further shells do not matter, or there are too many.
    Ended,
    Open,
}

/// The contributions of the shells around one singularity, the outermost first.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    pub(super) shells: Vec<f64>,
}

impl Chain {
    /// Returns the sums over the last group of shells, and over the group before it.
    fn groups(&self) -> (f64, f64) {
        let n = self.shells.len();
        let group = GROUP.min(n / 2);
        let sum = |to: usize| self.shells[to - group..to].iter().sum::<f64>();
        (sum(n), sum(n - group))
    }

    /// Estimates the integral within the last shell, as the sum of a geometric series.
    pub(super) fn remainder(&self) -> f64 {
        if self.shells.len() < 4 {
            return f64::INFINITY;
        }
        let (last, before) = self.groups();
        if last == 0.0 {
            0.0
        } else if last < before {
            last * last / (before - last)
        } else {
            f64::INFINITY
        }
    }

    /// `size` is the integral over all regions so far.
    pub(super) fn outlook(&self, size: f64) -> Outlook {
        let n = self.shells.len();
        if self.shells.last().is_some_and(|shell| !shell.is_finite()) {
            return Outlook::Infinite;
        }
        if n < FEWEST {
            return Outlook::Open;
        }
        let (last, before) = self.groups();
        if n >= MOST || self.remainder() <= LEAST_SHARE * size {
            Outlook::Ended
        } else if last >= LEAST_RATIO * before {
            Outlook::Infinite
        } else {
            Outlook::Open
        }
    }
}
