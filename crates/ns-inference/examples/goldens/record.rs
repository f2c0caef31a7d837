//! Collects the lines that the example `goldens` prints.

use std::fmt::Write;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

/// The output lines of one workspace in one interpolation setting.
pub(crate) struct Record {
    pub(crate) name: String,
    text: String,
    times: String,
    since: Instant,
}

impl Record {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), text: String::new(), times: String::new(), since: Instant::now() }
    }

    /// Returns all lines.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of the finished parts of the computation, each with its duration in seconds.
    pub(crate) fn times(&self) -> &str {
        self.times.trim_end()
    }

    /// Records the duration of the part of the computation that has just ended. `part` is its name.
    pub(crate) fn done(&mut self, part: &str) {
        let _ = write!(self.times, "{part} {:.1} ", self.since.elapsed().as_secs_f64());
        self.since = Instant::now();
    }

    /// Adds a line for numbers. It contains the bits of a single number, or a hash of several numbers.
    pub(crate) fn numbers(&mut self, name: &str, numbers: &[f64]) {
        let bits = match numbers {
            [one] => format!("{:016x} {one:e}", one.to_bits()),
            all => format!("{:016x}", digest(all)),
        };
        let _ = writeln!(self.text, "{}/{name} {} {bits}", self.name, numbers.len());
    }

    /// Adds a line with a text, such as the reason why there is no result.
    pub(crate) fn word(&mut self, name: &str, word: &str) {
        let _ = writeln!(self.text, "{}/{name} {word}", self.name);
    }

    /// Adds all numbers of a result, with one line per top-level key. Texts in the result are left out.
    pub(crate) fn result<T: Serialize, E>(&mut self, name: &str, result: &Result<T, E>) {
        match result.as_ref().map(serde_json::to_value) {
            Ok(Ok(Value::Object(map))) => {
                for (key, value) in map {
                    let mut numbers = Vec::new();
                    collect(&value, &mut numbers);
                    if !numbers.is_empty() {
                        self.numbers(&format!("{name}.{key}"), &numbers);
                    }
                }
            }
            _ => self.word(name, "refused"),
        }
    }
}

/// Collects the numbers of a JSON value, in the order of its keys. `false` becomes 0, `true` becomes 1, and null
/// becomes NaN. JSON stores numbers without loss of bits.
fn collect(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Null => numbers.push(f64::NAN),
        Value::Bool(one) => numbers.push(f64::from(u8::from(*one))),
        Value::Number(number) => numbers.push(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(_) => {}
        Value::Array(all) => all.iter().for_each(|one| collect(one, numbers)),
        Value::Object(map) => map.values().for_each(|one| collect(one, numbers)),
    }
}

/// Returns the FNV-1a hash of the bits of all numbers.
fn digest(numbers: &[f64]) -> u64 {
    let bytes = numbers.iter().flat_map(|number| number.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
