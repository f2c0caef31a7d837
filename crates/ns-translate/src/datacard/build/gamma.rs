//! The parameter of a `gmN` line.

use super::parameters::{Entry, Written};

/// Returns the factor of a sideband with `count` events: the number of events divided by `count`, or the number itself
/// if `count` is 0. The bounds are Combine's, where the probability of the count is below 1e-12.
pub(super) fn gamma_entry(count: f64) -> Entry {
    let unit = count.max(1.0);
    let unlikely = |mean: f64| log_poisson(count, mean) <= (1e-12_f64).ln();
    let mut lo = if count > 0.0 { count + 1.0 } else { 0.0 };
    while lo > 0.0 && !unlikely(lo) {
        lo *= 0.8;
    }
    let mut hi = count + 1.0;
    while !unlikely(hi) {
        hi *= 1.2;
    }
    Entry {
        init: 1.0,
        bounds: (lo / unit, hi / unit),
        fixed: false,
        written: Written::Poisson { datum: count, tau: unit },
    }
}

/// Returns the logarithm of the probability of a count.
pub(super) fn log_poisson(count: f64, mean: f64) -> f64 {
    if count == 0.0 {
        return -mean;
    }
    // Stirling's series of ln(n!), relative to its leading terms; an error of a thousandth does not matter here.
    let correction = 0.5 * (2.0 * std::f64::consts::PI * count).ln() + 1.0 / (12.0 * count);
    count * (mean / count).ln() + count - mean - correction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_sideband_are_far_from_its_count() {
        for count in [0.0, 1.0, 4.0, 1000.0, 1e12] {
            let entry = gamma_entry(count);
            let unit = count.max(1.0);
            assert!(entry.bounds.0 < entry.init && entry.init < entry.bounds.1, "{count}");
            assert!(log_poisson(count, entry.bounds.1 * unit) < -27.0, "{count}");
        }
        assert_eq!(gamma_entry(0.0).bounds.0, 0.0);
        assert!((log_poisson(4.0, 5.0) - 0.175_467_4_f64.ln()).abs() < 1e-3);
    }
}
