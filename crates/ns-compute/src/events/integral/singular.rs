//! Decides whether an integral exists near a place where the integrand is not bounded.
//!
//! A region with an infinite bound is halved again and again. The part that contains the singularity stays; the other
//! part is a *shell*. The contributions of the shells fall geometrically if the integral exists (near a pole
//! `|x|^-p` by the factor `2^(p-1)`), and do not fall if it does not.

/// Number of shells that are compared with as many shells before them. It is a multiple of 2, 3 and 4, because in several
/// observables the sides of a region are halved in turn.
const GROUP: usize = 12;

/// Number of shells before an integral can be called infinite.
const FEWEST: usize = 36;

/// Number of shells, the last ones, from which it follows whether an integral is infinite.
const WINDOW: usize = 48;

/// An integral is infinite if the logarithms of the contributions fall by at most this number per shell. For a pole
/// `|x|^-p` they fall by `(1 - p) ln 2`, so it is reached at `p = 0.97`. If the pole is not a dyadic fraction of the box,
/// its place within the regions varies, and so do the contributions. The mean fall is then known within 0.01.
const LEAST_FALL: f64 = 0.02;

/// Largest number of shells.
const MOST: usize = 900;

/// Shells that contribute less than this fraction of the whole integral do not matter.
const LEAST_SHARE: f64 = 1e-14;

/// What follows from the shells of a singularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The integral is infinite.
    Infinite,
    /// A contribution is out of the range of doubles.
    Overflow,
    /// Further shells do not matter, or there are too many.
    Ended,
    Open,
}

/// The contributions of the shells around one singularity, the outermost first.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    pub(super) shells: Vec<f64>,
    /// Whether the last contribution has a large error, because its region is too long along an axis.
    pub(super) is_rough: bool,
}

/// Largest error of a contribution, as a fraction of it.
const ROUGH: f64 = 0.1;

impl Chain {
    /// Adds the contribution of the next shell. If its error is large, the shells so far do not count.
    pub(super) fn push(&mut self, shell: f64, error: f64) {
        self.is_rough = shell.is_finite() && !(error <= ROUGH * shell);
        if self.is_rough {
            self.shells.clear();
        } else {
            self.shells.push(shell);
        }
    }

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

    /// Returns the fall of the logarithms of the last contributions per shell, by least squares.
    fn fall(&self) -> f64 {
        let first = self.shells.len().saturating_sub(WINDOW);
        let known = self.shells[first..].iter().enumerate().filter(|(_, shell)| **shell > 0.0);
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (k, shell) in known {
            let (k, log) = (k as f64, shell.ln());
            (n, x, y, xx, xy) = (n + 1.0, x + k, y + log, xx + k * k, xy + k * log);
        }
        -(n * xy - x * y) / (n * xx - x * x)
    }

    /// `size` is the integral over all regions so far.
    pub(super) fn outlook(&self, size: f64) -> Outlook {
        let n = self.shells.len();
        if self.shells.last().is_some_and(|shell| !shell.is_finite()) {
            return Outlook::Overflow;
        }
        if n < FEWEST {
            return Outlook::Open;
        }
        if n >= MOST || self.remainder() <= LEAST_SHARE * size {
            Outlook::Ended
        } else if self.fall() <= LEAST_FALL {
            Outlook::Infinite
        } else {
            Outlook::Open
        }
    }
}
