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

/// Number of crossings from which on those that are hidden between the places follow from counts.
const ENOUGH_CROSSINGS: u64 = 100;

/// Smallest number of second differences from which hidden crossings are estimated.
const ENOUGH_DIFFERENCES: u64 = 5;

/// Sums of the numbers of crossings of several sets of data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crossings {
    pub(super) n: u64,
    sum: u64,
    sum_of_squares: u64,
    /// Crossings that are seen at every second place, at the even and at the odd ones together.
    coarse: u64,
    roughness: Roughness,
}

/// Second differences of `sqrt(q0)`.
#[derive(Debug, Clone, Copy, Default)]
struct Roughness {
    n: u64,
    sum_of_squares: f64,
}

impl Roughness {
    /// Adds the second differences of one set of data.
    fn add(&mut self, values: &[Option<f64>]) {
        for three in values.windows(3) {
            // At a q0 of 0 there is a kink, whose difference says nothing about distances.
            let &[Some(a), Some(b), Some(c)] = three else { continue };
            if a > 0.0 && b > 0.0 && c > 0.0 {
                let (a, b, c) = (a.sqrt(), b.sqrt(), c.sqrt());
                // A signal bends in proportion to its height.
                let bend = (a - 2.0 * b + c) / b.max(1.0);
                self.n += 1;
                self.sum_of_squares += bend * bend;
            }
        }
    }

    /// Returns the estimated fraction of the crossings that the places hide, with its error. Both are 1 if there are too few
    /// differences.
    fn hidden(&self, level: f64) -> (f64, f64) {
        if self.n < ENOUGH_DIFFERENCES {
            return (1.0, 1.0);
        }
        // The fraction was fitted to simulated Gaussian processes whose correlation is a Gaussian function of the distance, as
        // for a peak of Gaussian shape. It is accurate to a tenth up to a fraction of 0.1.
        let fraction = |rms: f64| (0.065 * rms * (1.0 + 1.4 * rms * rms) * (0.85 + 0.3 * level)).min(1.0);
        let n = self.n as f64;
        let rms = (self.sum_of_squares / n).sqrt();
        // Neighbouring differences are correlated, so that half of them count.
        let at = fraction(rms);
        (at, fraction(rms + rms / n.sqrt()) - at)
    }
}

/// The mean number of crossings of one set of data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) error: f64,
    /// Estimated number of crossings between neighbouring places.
    pub(super) hidden: f64,
    pub(super) hidden_error: f64,
}

impl Mean {
    /// Returns whether the places may hide more than a fraction `most` of the crossings.
    pub(super) fn hides_more_than(&self, most: f64) -> bool {
        !(self.hidden + self.hidden_error <= most * self.value.max(self.error))
    }
}

impl Crossings {
    /// Adds the crossings of one set of data.
    pub(super) fn add(&mut self, values: &[Option<f64>], level: f64) {
        let n = count(values.iter().copied(), level);
        self.n += 1;
        self.sum += n;
        self.sum_of_squares += n * n;
        for first in 0..2 {
            self.coarse += count(values.iter().skip(first).step_by(2).copied(), level);
        }
        self.roughness.add(values);
    }

    /// Returns the mean number of crossings of `level`; `None` without data.
    pub(super) fn mean(&self, level: f64) -> Option<Mean> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let value = self.sum as f64 / n;
        // The variance of the count is at least that of a Poisson distribution of one crossing in all data, so that a few data
        // without any crossing have an error, too.
        let spread = self.sum_of_squares as f64 / n - value * value;
        let variance = spread.max(value).max(1.0 / n) / n;
        let error = variance.sqrt();
        let (hidden, hidden_error) = if self.sum >= ENOUGH_CROSSINGS {
            // The number of crossings that are not seen grows with the square of the distance.
            let lost = (self.sum as f64 - 0.5 * self.coarse as f64).max(0.0);
            (lost / n / 3.0, lost.max(1.0).sqrt() / n / 3.0)
        } else {
            let (fraction, error_of_fraction) = self.roughness.hidden(level);
            (fraction * value.max(error), error_of_fraction * value.max(error))
        };
        Some(Mean { value, error, hidden, hidden_error })
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
        assert!(crossings.mean(0.5).is_none());
        for _ in 0..50 {
            crossings.add(&[0.0, 1.0, 0.0, 1.0].map(Some), 0.5);
            crossings.add(&[0.0, 0.0, 1.0, 1.0].map(Some), 0.5);
        }
        let none = Mean { value: 0.0, error: 0.0, hidden: 0.0, hidden_error: 0.0 };
        let mean = crossings.mean(0.5).unwrap_or(none);
        assert!((mean.value - 1.5).abs() < 1e-12 && (mean.error - 0.122_47).abs() < 1e-4, "{mean:?}");
        // Of 150 crossings, the even places show 50, and the odd places 50.
        assert!((mean.hidden - 1.0 / 3.0).abs() < 1e-12, "{mean:?}");
        assert!((mean.hidden_error - 1.0 / 30.0).abs() < 1e-12, "{mean:?}");
        let found = global(9.0, 0.5, mean);
        assert!((found.p - (1.349_9e-3 + 1.5 * (-4.25_f64).exp())).abs() < 1e-5 && found.p_error > 0.0);
        assert!(found.trial_factor.is_some_and(|t| (t * 1.349_9e-3 / found.p - 1.0).abs() < 1e-4));
    }

    /// Values of `q0` that cross 0.5 seldom: a wave with `n` places per period.
    fn wave(n: usize) -> Vec<Option<f64>> {
        let at = |i: usize| 1.2 + (2.0 * std::f64::consts::PI * i as f64 / n as f64).sin();
        (0..61).map(|i| Some(at(i).powi(2))).collect()
    }

    #[test]
    fn few_crossings_are_judged_by_second_differences() {
        let of = |values: &[Option<f64>]| {
            let mut crossings = Crossings::default();
            crossings.add(values, 0.5);
            crossings.mean(0.5).is_some_and(|mean| !mean.hides_more_than(0.05))
        };
        assert!(of(&wave(30)));
        assert!(!of(&wave(3)));
        // Too few second differences to tell, also without any crossing.
        assert!(!of(&[0.0, 1.0, 0.0, 1.0, 0.0].map(Some)));
        assert!(!of(&[2.0, 2.0, 2.0, 2.0].map(Some)));
        assert!(of(&[2.0; 12].map(Some)));
    }

    #[test]
    fn second_differences_leave_out_kinks_and_missing_values() {
        let mut roughness = Roughness::default();
        roughness.add(&[Some(0.0), Some(1.0), Some(4.0), Some(4.0), None, Some(1.0), Some(1.0)]);
        assert_eq!((roughness.n, roughness.sum_of_squares), (1, 0.25));
        assert_eq!(roughness.hidden(0.5), (1.0, 1.0));
    }

    #[test]
    fn a_probability_of_one_has_no_significance() {
        let mean = Mean { value: 2.0, error: 1.4, hidden: 0.0, hidden_error: 0.0 };
        let found = global(1.5, 0.5, mean);
        assert_eq!((found.p, found.z), (1.0, None));
        assert!(found.trial_factor.is_some_and(|t| (t - 9.0).abs() < 0.1), "{found:?}");
    }

    #[test]
    fn huge_signals_have_a_significance_and_a_trial_factor() {
        let mean = Mean { value: 2.0, error: 0.1, hidden: 0.0, hidden_error: 0.0 };
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
