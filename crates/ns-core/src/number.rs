//! Numbers in messages.

/// Writes a number with all its digits, as short as possible. A very large or very small number is written with an
/// exponent, not with hundreds of digits.
#[must_use]
pub fn exact(value: f64) -> String {
    let size = value.abs();
    if value.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn exact_numbers_are_short() {
        for (value, wanted) in [
            (0.95, "0.95"),
            (-1.0, "-1"),
            (1e300, "1e300"),
            (-2.5e-7, "-2.5e-7"),
            (0.0, "0"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(exact(value), wanted);
        }
        assert_eq!((exact(f64::NAN), exact(f64::INFINITY)), ("NaN".to_owned(), "inf".to_owned()));
    }
}
