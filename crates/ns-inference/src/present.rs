//! Formats numbers for tables, with as many digits as the uncertainty supports.

use crate::FitResult;

/// One line of a fit table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitRow {
    /// Parameter name, with a mark for the parameter of interest.
    pub name: String,
    /// Best-fit value, with its uncertainty if there is one.
    pub value: String,
    /// Asymmetric interval, if it was computed.
    pub interval: String,
    /// Pull, for a constrained parameter.
    pub pull: String,
    /// `fixed`, `at bound`, `at kink` or nothing.
    pub note: String,
}

/// The rows of a fit table, in the order of the parameters.
#[must_use]
pub fn fit_rows(result: &FitResult) -> Vec<FitRow> {
    let row = |(i, name): (usize, &String)| {
        let best = result.bestfit.get(i).copied().unwrap_or(f64::NAN);
        let sigma = result.uncertainties.get(i).copied().flatten();
        let interval = result.minos.iter().chain(&result.crossings).find(|x| x.parameter == *name);
        let scale = sigma.or_else(|| {
            interval.and_then(|x| [x.lower, x.upper].into_iter().flatten().map(f64::abs).reduce(f64::min))
        });
        let note = if result.fixed.contains(name) {
            "fixed"
        } else if result.at_bound.contains(name) {
            "at bound"
        } else if result.at_kink.contains(name) {
            "at kink"
        } else {
            ""
        };
        FitRow {
            name: if result.poi_index == Some(i) { format!("{name} (POI)") } else { name.clone() },
            value: match sigma {
                Some(sigma) => measurement(best, sigma),
                None => rounded(best, scale),
            },
            interval: interval.map_or_else(String::new, |x| {
                let side = |d: Option<f64>| d.map_or_else(|| "none".to_owned(), |d| signed(d, scale));
                format!("{} {}", side(x.lower), side(x.upper))
            }),
            pull: result.pulls.get(i).copied().flatten().map_or_else(String::new, |pull| sign(pull, 2)),
            note: note.to_owned(),
        }
    };
    result.parameter_names.iter().enumerate().map(row).collect()
}

/// `value ± sigma`, both to the second significant digit of `sigma`.
#[must_use]
pub fn measurement(value: f64, sigma: f64) -> String {
    match decimals(value, sigma) {
        Some(n) => format!("{} ± {sigma:.n$}", fixed(value, n)),
        None => format!("{value:.4e} ± {sigma:.1e}"),
    }
}

/// A value to the precision of `scale`, or to six significant digits without one.
fn rounded(value: f64, scale: Option<f64>) -> String {
    match scale.and_then(|s| decimals(value, s)) {
        Some(n) => fixed(value, n),
        None => significant(value),
    }
}

/// `n` digits after the point, and no minus before a zero.
fn fixed(value: f64, n: usize) -> String {
    let text = format!("{value:.n$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
        _ => text,
    }
}

/// `n` digits after the point with a sign, but none before a zero.
pub(crate) fn sign(value: f64, n: usize) -> String {
    let text = fixed(value, n);
    let positive = !text.starts_with('-') && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if positive { format!("+{text}") } else { text }
}

/// A signed distance to the precision of `scale`.
pub(crate) fn signed(value: f64, scale: Option<f64>) -> String {
    match scale.and_then(|s| decimals(value, s)) {
        Some(n) => sign(value, n),
        None => format!("{value:+.2e}"),
    }
}

/// A time of two digits: `3.1 us`, `12 ms`, `260 ms`, `1.4 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        t if t < 9.95e-4 => (1e6 * t, "us"),
        t if t < 0.995 => (1e3 * t, "ms"),
        t => (t, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Six significant digits, without trailing zeros; powers of ten only where they save space.
#[must_use]
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = value.abs().log10().floor();
    if !(-5.0..6.0).contains(&exponent) {
        let text = format!("{value:.5e}");
        return match text.split_once('e') {
            Some((mantissa, power)) => format!("{}e{power}", trim(mantissa)),
            None => text,
        };
    }
    let n = (5.0 - exponent).max(0.0) as usize;
    trim(&format!("{value:.n$}")).to_owned()
}

/// A decimal number without trailing zeros.
fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Digits after the point that show two significant digits of `sigma`; `None` where powers of ten
/// are shorter.
fn decimals(value: f64, sigma: f64) -> Option<usize> {
    if !(sigma.is_finite() && sigma > 0.0) || value.abs() >= 1e7 {
        return None;
    }
    let n = 1.0 - sigma.log10().floor();
    // 0.0996 rounds up to 0.10, which has three significant digits already.
    let carried = if (sigma * 10_f64.powf(n)).round() >= 100.0 { n - 1.0 } else { n };
    (carried <= 8.0).then_some(carried.max(0.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_uncertainty() {
        assert_eq!(measurement(1.234567, 0.0567), "1.235 ± 0.057");
        assert_eq!(measurement(-0.030269, 0.998), "0.0 ± 1.0");
        assert_eq!(measurement(0.5, 0.0996), "0.50 ± 0.10");
        assert_eq!(measurement(1234.5, 321.0), "1234 ± 321");
        assert_eq!(
            (sign(-1e-9, 2), sign(0.5, 2), sign(-0.5, 1)),
            ("0.00".into(), "+0.50".into(), "-0.5".into())
        );
        assert_eq!(measurement(1.0, 1e-9), "1.0000e0 ± 1.0e-9");
        assert_eq!(measurement(3.2e9, 1.1e8), "3.2000e9 ± 1.1e8");
    }

    #[test]
    fn plain_numbers_have_six_digits() {
        assert_eq!(significant(358.970635), "358.971");
        assert_eq!(significant(1.0), "1");
        assert_eq!(significant(0.0), "0");
        assert_eq!(significant(-0.000123456789), "-0.000123457");
        assert_eq!(significant(1.0e30), "1e30");
        assert_eq!(significant(100000.0), "100000");
    }
}
