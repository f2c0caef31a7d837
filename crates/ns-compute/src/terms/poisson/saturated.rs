//! The value of a Poisson term whose expected yield equals the count.

/// Values of [`saturated`] for the counts below 1024, of which most toys consist.
static OF_COUNTS: std::sync::LazyLock<Vec<f64>> =
    std::sync::LazyLock::new(|| (0..1024).map(|n| stirling(f64::from(n))).collect());

/// Returns `-ln Poisson(n; lambda = n)` for real `n >= 0`, i.e. `n - n ln n + ln Gamma(n+1)`, with Stirling's
/// series where the terms would cancel.
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

#[cfg(test)]
mod tests {
    use super::saturated;

    #[test]
    fn the_saturated_constant_joins_smoothly() {
        for n in [29.999_999_9, 30.0, 30.5, 57.25, 1000.0] {
            let direct = n - n * f64::ln(n) + libm::lgamma(n + 1.0);
            assert!((saturated(n) - direct).abs() < 1e-12 * (1.0 + n), "{n}");
        }
        assert_eq!(saturated(0.0), 0.0);
    }
}
