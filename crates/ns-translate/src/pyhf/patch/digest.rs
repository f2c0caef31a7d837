//! pyhf's digest of a workspace (`pyhf.utils.digest`). It is a hash of JSON text as Python's `json` module
//! writes it, with sorted keys and with non-ASCII characters that are not escaped.

use std::io::{self, Write};

use std::fmt;
use std::str::FromStr;

use md5::Md5;
use serde_json::{Number, Value};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The hash algorithm of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DigestAlgorithm {
    /// MD5, with 128 bits. It is not secure, but sufficient to distinguish files.
    Md5,
    /// SHA-224.
    Sha224,
    /// SHA-256, the default of pyhf.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl DigestAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 5] = [Self::Md5, Self::Sha224, Self::Sha256, Self::Sha384, Self::Sha512];

    /// Returns the name of the algorithm, as in Python's `hashlib`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

impl fmt::Display for DigestAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DigestAlgorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|algorithm| text.eq_ignore_ascii_case(algorithm.name()));
        found.ok_or_else(|| {
            format!("unknown digest algorithm '{text}'; use {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// Returns the hexadecimal digest of a JSON value; `None` for an unknown algorithm.
pub(crate) fn digest(value: &Value, algorithm: &str) -> Option<String> {
    algorithm.parse().ok().map(|algorithm| digest_of(value, algorithm))
}

/// Returns the hexadecimal digest of a JSON value.
pub(crate) fn digest_of(value: &Value, algorithm: DigestAlgorithm) -> String {
    let hex = match algorithm {
        DigestAlgorithm::Md5 => hash::<Md5>(value),
        DigestAlgorithm::Sha224 => hash::<Sha224>(value),
        DigestAlgorithm::Sha256 => hash::<Sha256>(value),
        DigestAlgorithm::Sha384 => hash::<Sha384>(value),
        DigestAlgorithm::Sha512 => hash::<Sha512>(value),
    };
    // Writing to a hash cannot fail.
    hex.unwrap_or_default()
}

fn hash<D: sha2::Digest + Write>(value: &Value) -> Option<String> {
    let mut writer = io::BufWriter::new(D::new());
    write_value(value, &mut writer).ok()?;
    let digest = writer.into_inner().ok()?.finalize();
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write_value(value: &Value, out: &mut impl Write) -> io::Result<()> {
    match value {
        Value::Null => out.write_all(b"null"),
        Value::Bool(true) => out.write_all(b"true"),
        Value::Bool(false) => out.write_all(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.write_all(b"[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_all(b", ")?;
                }
                write_value(item, out)?;
            }
            out.write_all(b"]")
        }
        Value::Object(map) => {
            // The keys are already sorted, unless another crate has enabled the feature of serde_json that
            // preserves their order.
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.write_all(b"{")?;
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.write_all(b", ")?;
                }
                write_string(key, out)?;
                out.write_all(b": ")?;
                write_value(item, out)?;
            }
            out.write_all(b"}")
        }
    }
}

fn write_string(text: &str, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    for c in text.chars() {
        match c {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\n' => out.write_all(b"\\n")?,
            '\r' => out.write_all(b"\\r")?,
            '\t' => out.write_all(b"\\t")?,
            '\u{8}' => out.write_all(b"\\b")?,
            '\u{c}' => out.write_all(b"\\f")?,
            '\0'..='\u{1f}' => write!(out, "\\u{:04x}", u32::from(c))?,
            _ => out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?,
        }
    }
    out.write_all(b"\"")
}

/// Writes an integer as it is. Writes a float like Python's `repr`, with the fewest digits that read back as the same
/// number. The float is written without an exponent if its decimal exponent is from -4 to 15.
fn write_number(number: &Number, out: &mut impl Write) -> io::Result<()> {
    let Some(x) = number.as_f64().filter(|_| number.is_f64()) else {
        return write!(out, "{number}");
    };
    let shortest = shortest(x);
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    // Number of digits before the point, which may be zero or negative.
    let before = exponent + 1;
    match usize::try_from(before) {
        Ok(before) if before > 0 => {
            let padded = format!("{digits:0<before$}");
            let (whole, rest) = padded.split_at_checked(before).unwrap_or((&padded, ""));
            write!(out, "{sign}{whole}.{}", if rest.is_empty() { "0" } else { rest })
        }
        _ => {
            let zeros = usize::try_from(before.unsigned_abs()).unwrap_or(0);
            write!(out, "{sign}0.{:0<zeros$}{digits}", "")
        }
    }
}

/// Returns a number in scientific notation, with the fewest digits that read back as the same number. If two numbers
/// with so few digits are equally near, Python takes the one with the even last digit, and Rust may take the other.
fn shortest(x: f64) -> String {
    let text = format!("{x:e}");
    let digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    // With a given number of digits, Rust rounds to even as well.
    let even = format!("{x:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(x) { even } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        let mut out = Vec::new();
        write_value(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn matches_the_values_in_pyhfs_documentation() {
        let value = json!({"a": 2.0, "b": 3.0, "c": 1.0});
        assert_eq!(
            digest(&value, "sha256").unwrap(),
            "a38f6093800189b79bc22ef677baf90c75705af2cfc7ff594159eca54eaa7928"
        );
        assert_eq!(digest(&value, "md5").unwrap(), "2c0633f242928eb55c3672fed5ba8612");
        assert_eq!(digest(&value, "crc32"), None);
    }

    #[test]
    fn writes_numbers_as_python_does() {
        // Pairs of a JSON number and the result of Python's json.dumps(json.loads(number)).
        for (json, python) in [
            ("1", "1"),
            ("-3", "-3"),
            ("18446744073709551615", "18446744073709551615"),
            ("1.0", "1.0"),
            ("-0.0", "-0.0"),
            ("0.1", "0.1"),
            ("1e2", "100.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("1e15", "1000000000000000.0"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e16", "1e+16"),
            ("1.25e22", "1.25e+22"),
            ("1e-300", "1e-300"),
            ("5.000000074505806", "5.000000074505806"),
            ("0.0", "0.0"),
            ("123.456", "123.456"),
            ("0.00012345", "0.00012345"),
            // Single-precision numbers end in 5, halfway between two numbers with a digit less.
            ("585.19635009765625", "585.1963500976562"),
            ("-585.19635009765625", "-585.1963500976562"),
            ("559.8899536132812", "559.8899536132812"),
            ("9007199254740993.0", "9007199254740992.0"),
            ("5e-324", "5e-324"),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(text(&value), python, "{json}");
        }
    }

    #[test]
    fn writes_strings_and_containers_as_python_does() {
        let value = json!({"b": [true, false, null, []], "a": {"é\u{7f}\u{1}\n\"\\": {}}});
        assert_eq!(
            text(&value),
            "{\"a\": {\"é\u{7f}\\u0001\\n\\\"\\\\\": {}}, \"b\": [true, false, null, []]}"
        );
    }
}
