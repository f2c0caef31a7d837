//! The value of a Poisson term whose expected yield equals the count, as in the saturated model.

/// Values of [`saturated`] for all integer counts below 1024. Most bins of toys have such counts.
static OF_COUNTS: std::sync::LazyLock<Vec<f64>> =
    std::sync::LazyLock::new(|| (0..1024).map(|n| stirling(f64::from(n))).collect());

/// Returns the Poisson term of the saturated model, `-ln Poisson(n; lambda = n)`, for real `n >= 0`. It is
/// `n - n ln n + ln Gamma(n+1)`. Stirling's series is used where these summands would cancel.
pub(crate) fn saturated(n: f64) -> f64 {
    let index = n as usize;
    match OF_COUNTS.get(index) {
        Some(known) if index as f64 == n => *known,
        _ => stirling(n),
    }
}

fn stirling(n: f64) -> f64 {
    if n <= 0.0 {
        0.0
    } else if n < 30.0 {
        n - n * n.ln() + libm::lgamma(n + 1.0)
    } else {
        let i = 1.0 / n;
        let i2 = i * i;
        let series =
            i * (1.0 / 12.0 - i2 * (1.0 / 360.0 - i2 * (1.0 / 1260.0 - i2 * (1.0 / 1680.0 - i2 / 1188.0))));
        0.5 * (2.0 * std::f64::consts::PI * n).ln() + series
    }
}

/// Returns the derivative of `ln Gamma(n+1)` for real `n >= 0`, which is the digamma function at `n + 1`. For
/// arguments above 12 the asymptotic series is used (Abramowitz and Stegun 6.3.18), and for smaller arguments the
/// recurrence `psi(x) = psi(x + 1) - 1/x`.
pub(crate) fn log_factorial_slope(n: f64) -> f64 {
    let (mut x, mut below) = (n + 1.0, 0.0);
    while x < 12.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    let series = i
        * (1.0 / 12.0
            - i * (1.0 / 120.0
                - i * (1.0 / 252.0 - i * (1.0 / 240.0 - i * (1.0 / 132.0 - i * 691.0 / 32760.0)))));
    x.ln() - 0.5 / x - series - below
}

#[cfg(test)]
mod tests {
    use super::{log_factorial_slope, saturated};

    #[test]
    fn the_slope_of_the_factorial_is_the_digamma_function() {
        // scipy.special.digamma(n + 1)
        for (n, want) in [
            (0.0, -0.577_215_664_901_532_9),
            (0.5, 0.036_489_973_978_576_52),
            (3.0, 1.256_117_668_431_800_5),
            (11.0, 2.442_661_679_975_812_3),
            (57.25, 4.056_135_842_265_425),
            (1e6, 13.815_511_057_964_19),
        ] {
            let got = log_factorial_slope(n);
            assert!((got - want).abs() < 1e-14 * (1.0 + want.abs()), "{n}: {got}");
        }
    }

    #[test]
    fn the_saturated_constant_joins_smoothly() {
        for n in [29.999_999_9, 30.0, 30.5, 57.25, 1000.0] {
            let direct = n - n * f64::ln(n) + libm::lgamma(n + 1.0);
            assert!((saturated(n) - direct).abs() < 1e-12 * (1.0 + n), "{n}");
        }
        assert_eq!(saturated(0.0), 0.0);
    }
}
