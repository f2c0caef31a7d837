//! Counts of crossings, and the global p-value that follows from their mean number.

use crate::normal::{ln_upper_tail, quantile_of_ln};

/// Returns the number of times that values rise through `level` from one to the next. Values that are missing are passed
/// over.
pub(super) fn count(values: impl IntoIterator<Item = Option<f64>>, level: f64) -> u64 {
    let mut below = None;
    let mut n = 0;
    for value in values.into_iter().flatten() {
        n += u64::from(below == Some(true) && value > level);
        below = Some(value <= level);
    }
    n
}

/// Sums of the numbers of crossings of several sets of data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crossings {
    pub(super) n: u64,
    sum: u64,
    sum_of_squares: u64,
    /// Crossings that are seen at every second place.
    coarse: u64,
}

/// The mean number of crossings of one set of data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) error: f64,
    /// Estimated number of crossings between neighbouring places.
    pub(super) hidden: f64,
}

impl Crossings {
    /// Adds the crossings of one set of data.
    pub(super) fn add(&mut self, values: &[Option<f64>], level: f64) {
        let n = count(values.iter().copied(), level);
        self.n += 1;
        self.sum += n;
        self.sum_of_squares += n * n;
        self.coarse += count(values.iter().step_by(2).copied(), level);
    }

    /// Returns the mean; `None` without data.
    pub(super) fn mean(&self) -> Option<Mean> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let value = self.sum as f64 / n;
        // The variance of the count is at least that of a Poisson distribution of one crossing in all data, so that a few data
        // without any crossing have an error, too.
        let spread = self.sum_of_squares as f64 / n - value * value;
        let variance = spread.max(value).max(1.0 / n) / n;
        // The number of crossings that are not seen grows with the square of the distance.
        let hidden = (self.sum.saturating_sub(self.coarse)) as f64 / n / 3.0;
        Some(Mean { value, error: variance.sqrt(), hidden })
    }
}

/// The probability of an excess anywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Global {
    pub(super) p: f64,
    pub(super) p_error: f64,
    /// `p` as standard deviations of a normal distribution; `None` if `p` is 1.
    pub(super) z: Option<f64>,
    /// `p` divided by the probability at one place; `None` if it is not finite.
    pub(super) trial_factor: Option<f64>,
    pub(super) trial_factor_error: Option<f64>,
}

/// Returns the probability of a `q0` of at least `q` anywhere. The mean number of crossings falls with the level like the
/// density of a chi2 distribution with one degree of freedom (E. Gross, O. Vitells, Eur. Phys. J. C 70 (2010) 525,
/// arXiv:1005.1891, equation 11).
pub(super) fn global(q: f64, level: f64, mean: Mean) -> Global {
    // Both probabilities underflow for large signals, but their ratio and Z exist.
    let local = ln_upper_tail(q.max(0.0).sqrt());
    let fall = -0.5 * (q - level);
    let more = mean.value.ln() + fall;
    let larger = local.max(more);
    let p = (larger + ((local - larger).exp() + (more - larger).exp()).ln()).min(0.0);
    let error = mean.error.hypot(mean.hidden);
    let finite = |x: f64| Some(x).filter(|x| x.is_finite());
    Global {
        p: p.exp(),
        p_error: error * fall.exp(),
        z: finite(quantile_of_ln(p)),
        trial_factor: finite((p - local).exp()),
        trial_factor_error: finite(error * (fall - local).exp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_are_counted_once() {
        let values = [0.0, 1.0, 0.2, 0.8, 0.9, 0.1].map(Some);
        assert_eq!(count(values, 0.5), 2);
        assert_eq!(count([Some(1.0), Some(2.0)], 0.5), 0);
        assert_eq!(count([Some(0.0), None, Some(2.0)], 0.5), 1);
    }

    #[test]
    fn means_have_errors_of_toys_and_of_places() {
        let mut crossings = Crossings::default();
        assert!(crossings.mean().is_none());
        for _ in 0..50 {
            crossings.add(&[0.0, 1.0, 0.0, 1.0].map(Some), 0.5);
            crossings.add(&[0.0, 0.0, 1.0, 1.0].map(Some), 0.5);
        }
        let mean = crossings.mean().unwrap_or(Mean { value: 0.0, error: 0.0, hidden: 0.0 });
        assert!((mean.value - 1.5).abs() < 1e-12 && (mean.error - 0.122_47).abs() < 1e-4, "{mean:?}");
        assert!((mean.hidden - 1.0 / 3.0).abs() < 1e-12, "{mean:?}");
        let found = global(9.0, 0.5, mean);
        assert!((found.p - (1.349_9e-3 + 1.5 * (-4.25_f64).exp())).abs() < 1e-5 && found.p_error > 0.0);
        assert!(found.trial_factor.is_some_and(|t| (t * 1.349_9e-3 / found.p - 1.0).abs() < 1e-4));
    }

    #[test]
    fn a_probability_of_one_has_no_significance() {
        let mean = Mean { value: 2.0, error: 1.4, hidden: 0.0 };
        let found = global(1.5, 0.5, mean);
        assert_eq!((found.p, found.z), (1.0, None));
        assert!(found.trial_factor.is_some_and(|t| (t - 9.0).abs() < 0.1), "{found:?}");
    }

    #[test]
    fn huge_signals_have_a_significance_and_a_trial_factor() {
        let mean = Mean { value: 2.0, error: 0.1, hidden: 0.0 };
        let found = global(2500.0, 0.5, mean);
        assert_eq!(found.p, 0.0);
        assert!(found.z.is_some_and(|z| z > 49.8 && z < 50.0), "{found:?}");
        // Z sqrt(2 pi) <N> exp(c / 2), and 1 for the place itself.
        let factor = 1.0 + 50.0 * (2.0 * std::f64::consts::PI).sqrt() * 2.0 * 0.25_f64.exp();
        assert!(found.trial_factor.is_some_and(|t| (t / factor - 1.0).abs() < 1e-2), "{found:?}");
        assert!(found.trial_factor_error.is_some_and(|e| e > 0.0));
        let alone = global(2500.0, 0.5, Mean { value: 0.0, ..mean });
        assert!(alone.trial_factor.is_some_and(|t| (t - 1.0).abs() < 1e-9), "{alone:?}");
    }
}
