//! Formats numbers for tables, with as many digits as the uncertainty supports.

pub use ns_core::exact;

/// Formats a value with its uncertainty as `value ± sigma`, both rounded to the second significant digit of `sigma`.
#[must_use]
pub fn measurement(value: f64, sigma: f64) -> String {
    match decimals(value, sigma) {
        Some(n) => format!("{} ± {sigma:.n$}", fixed(value, n)),
        None => format!("{value:.4e} ± {sigma:.1e}"),
    }
}

/// Formats a value, rounded to the second significant digit of `scale`. If `scale` is `None`, the value has six
/// significant digits.
pub(crate) fn rounded(value: f64, scale: Option<f64>) -> String {
    match scale.and_then(|s| decimals(value, s)) {
        Some(n) => fixed(value, n),
        None => significant(value),
    }
}

/// Formats a number with six significant digits; `None` becomes the text `none`.
#[must_use]
pub fn or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), significant)
}

/// Formats a number, with its statistical error if `error` is not `None`. A missing number becomes the text `none`.
#[must_use]
pub fn with_error(value: Option<f64>, error: Option<f64>) -> String {
    match (value, error) {
        (Some(value), Some(error)) if error > 0.0 => measurement(value, error),
        (value, _) => or_none(value),
    }
}

/// Formats `name = value`, with the uncertainty of the value if there is one.
pub(crate) fn best_fit(name: &str, value: f64, sigma: Option<f64>) -> String {
    format!("{name} = {}", sigma.map_or_else(|| significant(value), |sigma| measurement(value, sigma)))
}

/// Formats a number with a noun in the singular or plural: `1 bin`, `2 bins`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats a number of degrees of freedom: `1 degree of freedom`, `2 degrees of freedom`.
pub(crate) fn freedom<T: std::fmt::Display + From<u8> + PartialEq>(n: T) -> String {
    format!("{n} degree{} of freedom", if n == T::from(1) { "" } else { "s" })
}

/// Formats a probability in per cent, without the sign `%`. A probability near 1 keeps all its nines, as in `99.99999`.
pub(crate) fn percent(probability: f64) -> String {
    let (value, rest) = (100.0 * probability, 100.0 * (1.0 - probability));
    if !(rest > 0.0 && rest < 100.0) {
        return significant(value);
    }
    // Thirteen decimals are what 64 bits have at 100.
    let n = (5.0 - rest.log10().floor()).clamp(0.0, 13.0) as usize;
    trim(&format!("{value:.n$}")).to_owned()
}

/// Formats `value` with `n` decimals. A value that rounds to zero has no minus sign.
fn fixed(value: f64, n: usize) -> String {
    let text = format!("{value:.n$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
        _ => text,
    }
}

/// Formats `value` with its sign (`+` or `-`) and `n` decimals. A value that rounds to zero has no sign.
pub(crate) fn sign(value: f64, n: usize) -> String {
    let text = fixed(value, n);
    let positive = !text.starts_with('-') && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if positive { format!("+{text}") } else { text }
}

/// Formats a difference with its sign, rounded to the second significant digit of `scale`. If `scale` is `None`, the
/// difference has three significant digits in exponent notation.
pub(crate) fn signed(value: f64, scale: Option<f64>) -> String {
    match scale.and_then(|s| decimals(value, s)) {
        Some(n) => sign(value, n),
        None => format!("{value:+.2e}"),
    }
}

/// Formats a time, given in seconds, in a suitable unit: `3.1 us`, `12 ms`, `260 ms`, `1.4 s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        t if t < 9.95e-4 => (1e6 * t, "us"),
        t if t < 0.995 => (1e3 * t, "ms"),
        t => (t, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Formats a number with six significant digits and no trailing zeros. Numbers below 1e-5 and from 1e6 on are
/// in exponent notation.
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

/// Removes the trailing zeros of a decimal number.
fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Returns the number of decimals that show two significant digits of `sigma`. Returns `None` if exponent notation is
/// more suitable: `value` is 1e7 or more, `sigma` needs more than eight decimals, or `sigma` is not positive and
/// finite.
fn decimals(value: f64, sigma: f64) -> Option<usize> {
    if !(sigma.is_finite() && sigma > 0.0) || value.abs() >= 1e7 {
        return None;
    }
    let n = 1.0 - sigma.log10().floor();
    // Rounding can add a digit: with three decimals, 0.0996 becomes 0.100, which has three significant digits.
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
    fn confidence_levels_keep_their_nines() {
        for (alpha, wanted) in [
            (0.05, "95"),
            (0.1, "90"),
            (0.025, "97.5"),
            (0.317, "68.3"),
            (1e-7, "99.99999"),
            (2.5e-9, "99.99999975"),
            (1e-15, "99.9999999999999"),
        ] {
            assert_eq!(percent(1.0 - alpha), wanted);
        }
        assert_eq!((percent(0.0), percent(1.0)), ("0".to_owned(), "100".to_owned()));
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
