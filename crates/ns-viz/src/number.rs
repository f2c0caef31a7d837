//! Numbers as text, and the range of numbers that can be drawn.

/// Returns the value if it can be drawn. NaN and values above 1e100 in magnitude cannot be drawn. The limit
/// ensures that differences do not overflow.
pub(crate) fn usable(value: f64) -> Option<f64> {
    (value.abs() <= 1e100).then_some(value)
}

/// Returns the value if it exists and is [`usable`].
pub(crate) fn present(value: Option<f64>) -> Option<f64> {
    value.and_then(usable)
}

/// Returns the smallest and the largest usable value; `None` if no value is usable.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter_map(usable).fold(None, |found, value| match found {
        None => Some((value, value)),
        Some((lo, hi)) => Some((f64::min(lo, value), f64::max(hi, value))),
    })
}

/// Returns a number with a fixed number of decimals and with a minus sign in place of a hyphen. If there are
/// five or more digits before the point, thin spaces separate groups of three digits.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs(), decimals = decimals.min(30));
    let zero = text.chars().all(|c| c == '0' || c == '.');
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let mut out = String::new();
    if value < 0.0 && !zero {
        out.push('\u{2212}');
    }
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if index > 0 && left.is_multiple_of(3) && whole.len() > 4 {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Returns a number with at least `digits` significant digits. Very large and very small numbers are written with a
/// power of ten.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !(value.abs() >= 1e-100) {
        return "0".into();
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-4..=6).contains(&exponent) {
        let mantissa = value / 10f64.powi(exponent);
        return format!("{} × {}", fixed(mantissa, digits.saturating_sub(1)), power_of_ten(exponent));
    }
    fixed(value, (digits as i32 - 1 - exponent).max(0) as usize)
}

/// Returns a number with at most `digits` significant digits, and no zeros at the end of the decimals.
pub(crate) fn trimmed(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    if text.contains('.') && !text.contains('×') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// Returns a number with as many decimals as show three significant digits of `span`, the length of an axis.
/// All values of an axis then have the same number of decimals.
pub(crate) fn resolved(value: f64, span: f64) -> String {
    let step = span.abs().log10().floor();
    if !(-4.0..=5.0).contains(&step) || value.abs() >= 1e7 {
        return significant(value, 4);
    }
    fixed(value, (2.0 - step).max(0.0) as usize)
}

/// Returns a power of ten with the exponent in superscript, such as 10⁻³.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let mut out = "10".to_owned();
    for character in exponent.to_string().chars() {
        let digit = character.to_digit(10).and_then(|digit| DIGITS.get(digit as usize));
        out.push(digit.copied().unwrap_or('⁻'));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(fixed(1234567.0, 0), "1\u{2009}234\u{2009}567");
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-1234.5, 1), "\u{2212}1234.5");
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(significant(0.04567, 3), "0.0457");
        assert_eq!((resolved(0.5, 3.0).as_str(), resolved(1.2345, 0.1).as_str()), ("0.50", "1.234"));
        assert_eq!(significant(3.2e9, 2), "3.2 × 10⁹");
    }

    #[test]
    fn unusable_values_are_left_out() {
        assert_eq!(extent([f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
        assert_eq!(extent([f64::NAN]), None);
    }
}
