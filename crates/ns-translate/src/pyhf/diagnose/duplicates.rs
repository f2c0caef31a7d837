//! Finds keys that occur twice in one object. A JSON tree would silently keep only the last value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::pyhf::names::{pointer_token, quoted};
use crate::pyhf::problem::Report;
use crate::pyhf::tolerate::Gathered;

/// Reports every key that an object in `text` repeats. `text` must be valid JSON. If both values of the key are the
/// same, this is a warning, otherwise an error.
pub(crate) fn report_duplicate_keys(text: &[u8], report: &mut Report) {
    let mut path = String::new();
    let mut gathered = Gathered::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // This cannot fail, since the text has been read before.
    let _ = KeyVisitor { path: &mut path, report, gathered: &mut gathered }.deserialize(&mut deserializer);
    gathered.tell(report);
}

/// A visitor that builds the JSON tree of the text and reports repeated keys.
struct KeyVisitor<'a> {
    path: &'a mut String,
    report: &'a mut Report,
    gathered: &'a mut Gathered,
}

impl KeyVisitor<'_> {
    /// Calls `inner` with a visitor for a part of the current value. `token` is the last part of the JSON pointer
    /// to it.
    fn below<T>(&mut self, token: &str, inner: impl FnOnce(KeyVisitor<'_>) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        let result = inner(KeyVisitor { path: self.path, report: self.report, gathered: self.gathered });
        self.path.truncate(length);
        result
    }

    /// Reports a repeated key. `same` says whether both values are the same.
    fn repeated(&mut self, key: &str, token: &str, same: bool) {
        let path = format!("{}/{token}", self.path);
        if same {
            self.gathered.note("key", path, || {
                (
                    format!("The key {} is written twice in one object, with the same value.", quoted(key)),
                    "Remove one of the two.".to_owned(),
                )
            });
        } else {
            self.report.error(
                path,
                format!("The key {} is written twice in one object, with different values.", quoted(key)),
                "Remove one of the two; which one counts would depend on the reader.",
            );
        }
    }
}

impl<'de> DeserializeSeed<'de> for KeyVisitor<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeyVisitor<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) =
            self.below(&items.len().to_string(), |visitor| seq.next_element_seed(visitor))?
        {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut seen = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let token = pointer_token(&key);
            let value = self.below(&token, |visitor| map.next_value_seed(visitor))?;
            if let Some(first) = seen.get(&key) {
                self.repeated(&key, &token, same(first, &value));
            }
            seen.insert(key, value);
        }
        Ok(Value::Object(seen))
    }
}

/// Returns whether two values are equal. The numbers 1 and 1.0 are equal.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}
