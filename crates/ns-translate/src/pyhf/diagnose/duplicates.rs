//! Keys written twice in one object. A JSON tree silently keeps the last one.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::pyhf::names::{pointer_token, quoted};
use crate::pyhf::problem::Report;

/// Notes every repeated key of `text`, which must be valid JSON.
pub(crate) fn report_duplicate_keys(text: &[u8], report: &mut Report) {
    let mut path = String::new();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // A failure cannot happen on text that was read before; if it did, nothing is lost.
    let _ = Walk { path: &mut path, report }.deserialize(&mut deserializer);
}

struct Walk<'a> {
    path: &'a mut String,
    report: &'a mut Report,
}

impl Walk<'_> {
    /// Runs `inner` with one more token on the path.
    fn below<T>(&mut self, token: &str, inner: impl FnOnce(Walk<'_>) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        let result = inner(Walk { path: self.path, report: self.report });
        self.path.truncate(length);
        result
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let mut at = 0usize;
        while self.below(&at.to_string(), |walk| seq.next_element_seed(walk))?.is_some() {
            at += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let token = pointer_token(&key);
            if seen.contains(&key) {
                self.report.error(
                    format!("{}/{token}", self.path),
                    format!("The key {} is written twice in one object.", quoted(&key)),
                    "Remove one of the two; which one counts would depend on the reader.",
                );
            }
            self.below(&token, |walk| map.next_value_seed(walk))?;
            seen.insert(key);
        }
        Ok(())
    }
}
