//! Formats numbers for tables, with as many digits as the uncertainty supports.

/// `value ± sigma`, both to the second significant digit of `sigma`.
#[must_use]
pub fn measurement(value: f64, sigma: f64) -> String {
    match decimals(value, sigma) {
        Some(n) => format!("{} ± {sigma:.n$}", fixed(value, n)),
        None => format!("{value:.4e} ± {sigma:.1e}"),
    }
}

/// A value to the precision of `scale`, or to six significant digits without one.
pub(crate) fn rounded(value: f64, scale: Option<f64>) -> String {
    match scale.and_then(|s| decimals(value, s)) {
        Some(n) => fixed(value, n),
        None => significant(value),
    }
}

/// A number that may not exist.
#[must_use]
pub fn or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), significant)
}

/// A number that may not exist, with its statistical error if there is one.
#[must_use]
pub fn with_error(value: Option<f64>, error: Option<f64>) -> String {
    match (value, error) {
        (Some(value), Some(error)) if error > 0.0 => measurement(value, error),
        (value, _) => or_none(value),
    }
}

/// `name = value`, with its uncertainty if there is one.
pub(crate) fn best_fit(name: &str, value: f64, sigma: Option<f64>) -> String {
    format!("{name} = {}", sigma.map_or_else(|| significant(value), |sigma| measurement(value, sigma)))
}

/// A number of things: `1 bin`, `2 bins`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
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
