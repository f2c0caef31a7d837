//! Values of requests that have several forms: a name or a list of names, and the point that a test tests.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// A name, or a list of names.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Names {
    /// One name.
    One(String),
    /// Names, in their order.
    Several(Vec<String>),
}

impl Names {
    /// Returns the names.
    pub(crate) fn list(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of names")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Names, E> {
                Ok(Names::One(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                if names.is_empty() {
                    return Err(A::Error::custom("the list of names is empty; name at least one"));
                }
                Ok(Names::Several(names))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// What a test tests: a value of the parameter of interest, values of all parameters of interest in their order, or values by
/// name.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Tested {
    /// A value of the parameter of interest.
    Value(f64),
    /// A value for each parameter of interest.
    InOrder(Vec<f64>),
    /// Values by the names of parameters.
    #[schema(value_type = Object)]
    Named(Vec<(String, f64)>),
}

impl<'de> Deserialize<'de> for Tested {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Tested;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a list of numbers, or an object with names and numbers")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Tested, E> {
                Ok(Tested::Value(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Tested, E> {
                Ok(Tested::Value(value as f64))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Tested, E> {
                Ok(Tested::Value(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tested, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Tested::InOrder(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tested, A::Error> {
                let mut values = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    values.push(entry);
                }
                Ok(Tested::Named(values))
            }
        }
        from.deserialize_any(Reader)
    }
}
