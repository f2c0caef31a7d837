//! Counts of crossings, and the global p-value that follows from their mean number.

use crate::normal::upper_tail;

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

/// Returns the probability of a `q0` of at least `q` anywhere, with its error. The mean number of crossings falls with the
/// level like the density of a chi2 distribution with one degree of freedom (E. Gross, O. Vitells, Eur. Phys. J. C 70 (2010)
/// 525, arXiv:1005.1891, equation 11).
pub(super) fn global_p(q: f64, level: f64, mean: Mean) -> (f64, f64) {
    let fall = (-0.5 * (q - level)).exp();
    let p = upper_tail(q.max(0.0).sqrt()) + mean.value * fall;
    (p.min(1.0), mean.error.hypot(mean.hidden) * fall)
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
        let (p, error) = global_p(9.0, 0.5, mean);
        assert!((p - (1.349_9e-3 + 1.5 * (-4.25_f64).exp())).abs() < 1e-5 && error > 0.0);
    }
}
