//! Bounds of factors with a Poisson constraint.

use crate::datacard::build::gamma::log_poisson;

/// Probability above 7 standard deviations of a normal distribution.
const TAIL: f64 = 1.279_812_543_885_835e-12;
/// Number of halvings of an interval.
const HALVINGS: usize = 60;
/// Count above which the normal approximation gives the bounds.
const LARGE: f64 = 1e4;

/// Returns the means of Poisson distributions for which at least `count` events, or at most `count` events, have the
/// probability of 7 standard deviations: the central interval of Garwood, Biometrika 28 (1936) 437. `count` is a positive
/// whole number. Combine's bounds are the same.
pub(super) fn seven_sigma(count: f64) -> (f64, f64) {
    if count > LARGE {
        let width = 7.0 * count.sqrt();
        return (count - width, count + width);
    }
    let lower = crossing(0.0, count, |mean| tail(count, mean, |k| mean / (k + 1.0), 1.0) < TAIL);
    let upper = crossing(count, 10.0 * count + 60.0, |mean| tail(count, mean, |k| k / mean, -1.0) > TAIL);
    (lower, upper)
}

/// Returns the probability of `count` and all counts on one side of it. `ratio` is the ratio of the next probability to
/// that of a count, and `step` leads to the next count.
fn tail(count: f64, mean: f64, ratio: impl Fn(f64) -> f64, step: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, count);
    while term > 1e-9 * sum {
        term *= ratio(k);
        sum += term;
        k += step;
    }
    sum * log_poisson(count, mean).exp()
}

/// Returns the place between `lo` and `hi` up to which `before` is true.
fn crossing(mut lo: f64, mut hi: f64, before: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (lo + hi);
        if before(middle) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    lo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_quantiles_of_the_gamma_distribution() {
        // scipy.stats.gamma.ppf(TAIL, n) and isf(TAIL, n + 1). The factorial of 1 has an error of three thousandths.
        for (count, lower, upper) in
            [(1.0, 1.279_8e-12, 30.845_2), (9.0, 0.201_875, 49.980_7), (400.0, 275.568, 557.560)]
        {
            let (lo, hi) = seven_sigma(count);
            assert!((lo / lower - 1.0).abs() < 5e-3, "{count}: {lo}");
            assert!((hi / upper - 1.0).abs() < 5e-3, "{count}: {hi}");
        }
        let (below, above) = (seven_sigma(1e4), seven_sigma(10_001.0));
        assert!((below.0 / above.0 - 1.0).abs() < 0.01 && (below.1 / above.1 - 1.0).abs() < 0.01);
    }
}
