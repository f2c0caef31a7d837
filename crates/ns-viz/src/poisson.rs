//! Error bars of observed numbers of events.

/// Probability of the standard normal distribution above one standard deviation.
const TAIL: f64 = 0.158_655_253_931_457;

/// Returns the central 68.27 % confidence interval for the mean of a Poisson distribution if `count` was
/// observed (Garwood 1936). Whole counts up to 100 use exact sums of Poisson probabilities. Other counts, such
/// as those of Asimov data, use the approximation of Wilson and Hilferty. Its error is less than 1 % for counts
/// above 1, and less than 0.02 events for smaller counts.
pub(crate) fn interval(count: f64) -> (f64, f64) {
    let count = count.max(0.0);
    if count.fract() == 0.0 && count <= 100.0 {
        let n = count as u32;
        // P(at least n | low) = TAIL and P(at most n | up) = TAIL.
        let low = if n == 0 { 0.0 } else { mean_where(|mean| 1.0 - at_most(n - 1, mean), true, count) };
        return (low, mean_where(|mean| at_most(n, mean), false, count));
    }
    let cube = |n: f64, sign: f64| {
        let root = 1.0 - 1.0 / (9.0 * n) + sign / (3.0 * n.sqrt());
        n * root.max(0.0).powi(3)
    };
    (if count > 0.0 { cube(count, -1.0) } else { 0.0 }, cube(count + 1.0, 1.0))
}

/// Returns the probability of at most `n` events if `mean` events are expected.
fn at_most(n: u32, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = term;
    for k in 1..=n {
        term *= mean / f64::from(k);
        sum += term;
    }
    sum
}

/// Finds the mean at which a monotone probability equals [`TAIL`], by bisection. `rising` says whether the
/// probability rises with the mean. The search covers means up to about twice the `count`.
fn mean_where(probability: impl Fn(f64) -> f64, rising: bool, count: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0 * count + 5.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if (probability(middle) < TAIL) == rising {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_tables() {
        // Quantiles of the chi-squared distribution, as in the tables of Gehrels (1986).
        for (n, low, up) in
            [(0.0, 0.0, 1.841), (1.0, 0.1728, 3.300), (5.0, 2.840, 8.382), (10.0, 6.891, 14.27)]
        {
            let found = interval(n);
            assert!((found.0 - low).abs() < 6e-3 && (found.1 - up).abs() < 6e-3, "{n}: {found:?}");
        }
    }

    #[test]
    fn the_two_formulae_meet() {
        let (sums, smooth) = (interval(100.0), interval(100.0 + 1e-9));
        assert!((sums.0 - smooth.0).abs() < 2e-3 && (sums.1 - smooth.1).abs() < 2e-3, "{sums:?} {smooth:?}");
        let (low, up) = interval(0.3);
        assert!(low < 0.3 && up > 0.3);
    }
}
