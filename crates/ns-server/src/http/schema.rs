//! Finds the JSON schema of a type by deserialising the type with a special deserialiser, the probe. The options of
//! the analyses therefore need no separate description.
//!
//! A probe follows a path of keys into the type. At the end of the path it records what kind of value the type asks
//! its deserialiser for: a number, a text, or an object with known keys. Each of these keys is then probed in the
//! same way.

use std::cell::RefCell;

use serde::de::value::Error;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
};
use serde::de::{VariantAccess, Visitor};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};

/// One step of a path into a type, for example from a structure to the value of one of its keys.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The value of a key.
    Key(&'static str),
    /// An element of a list, or a value of a map.
    Item,
    /// The content of a variant of an enum.
    Variant(&'static str),
}

/// The kind of value that a type asks its deserialiser for, for example a number or an object.
#[derive(Clone)]
enum Found {
    Plain(Type),
    Any,
    Struct(&'static [&'static str]),
    List,
    Map,
    Choice(&'static [&'static str]),
    Unit,
}

/// A deserialiser that follows a path into a type. At the end of the path it records which kind of value the type
/// asks for. It has no value to deliver, so it always returns an error.
#[derive(Clone, Copy)]
struct Probe<'p> {
    path: &'p [Step],
    found: &'p RefCell<Option<Found>>,
}

/// Largest length of a path. The limit ends the search in recursive types.
const DEEPEST: usize = 12;

/// Returns the JSON schema of the values from which `T` can be deserialised.
pub(super) fn schema_of<T: DeserializeOwned>() -> Schema {
    schema_at::<T>(&mut Vec::new())
}

/// Follows `path` into `T`, and returns the kind of value that `T` asks its deserialiser for at the end of the path.
fn probe<T: DeserializeOwned>(path: &[Step]) -> Option<Found> {
    let found = RefCell::new(None);
    // The probe always fails. Its result is the kind of value that it has recorded.
    let _ = T::deserialize(Probe { path, found: &found });
    found.into_inner().filter(|_| path.len() < DEEPEST)
}

fn schema_at<T: DeserializeOwned>(path: &mut Vec<Step>) -> Schema {
    let found = probe::<T>(path);
    let mut below = |step| {
        path.push(step);
        let schema = schema_at::<T>(path);
        path.pop();
        schema
    };
    match found {
        Some(Found::Plain(kind)) => ObjectBuilder::new().schema_type(kind).into(),
        Some(Found::Struct(keys)) => {
            let mut object = ObjectBuilder::new();
            for key in keys {
                object = object.property(*key, below(Step::Key(key)));
            }
            object.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false))).into()
        }
        Some(Found::List) => ArrayBuilder::new().items(RefOr::T(below(Step::Item))).into(),
        Some(Found::Map) => ObjectBuilder::new().additional_properties(Some(below(Step::Item))).into(),
        Some(Found::Choice(names)) => choice::<T>(names, path),
        Some(Found::Any | Found::Unit) | None => {
            ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
        }
    }
}

/// Returns the schema of an enum with the variants `names`. Variants without content are strings. Other
/// variants are objects with one key.
fn choice<T: DeserializeOwned>(names: &[&'static str], path: &mut Vec<Step>) -> Schema {
    let mut words = Vec::new();
    let mut others = OneOfBuilder::new();
    for name in names {
        path.push(Step::Variant(name));
        if matches!(probe::<T>(path), Some(Found::Unit) | None) {
            words.push(*name);
        } else {
            let content = ObjectBuilder::new().property(*name, schema_at::<T>(path)).required(*name);
            others = others.item(content);
        }
        path.pop();
    }
    let text = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.clone()));
    match words.len() {
        0 => others.into(),
        n if n == names.len() => text.into(),
        _ => others.item(text).into(),
    }
}

impl<'p> Probe<'p> {
    fn note(self, found: Found) -> Error {
        if self.path.is_empty() {
            *self.found.borrow_mut() = Some(found);
        }
        de::Error::custom("probed")
    }

    /// Returns the first step of the remaining path, and a probe for the rest of the path; `None` at the end of the
    /// path.
    fn step(self) -> Option<(Step, Self)> {
        let (first, path) = self.path.split_first()?;
        Some((*first, Self { path, ..self }))
    }
}

macro_rules! plain {
    ($($method:ident: $kind:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(self.note($kind))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Probe<'_> {
    type Error = Error;

    plain! {
        deserialize_any: Found::Any;
        deserialize_ignored_any: Found::Any;
        deserialize_bool: Found::Plain(Type::Boolean);
        deserialize_i8: Found::Plain(Type::Integer);
        deserialize_i16: Found::Plain(Type::Integer);
        deserialize_i32: Found::Plain(Type::Integer);
        deserialize_i64: Found::Plain(Type::Integer);
        deserialize_u8: Found::Plain(Type::Integer);
        deserialize_u16: Found::Plain(Type::Integer);
        deserialize_u32: Found::Plain(Type::Integer);
        deserialize_u64: Found::Plain(Type::Integer);
        deserialize_f32: Found::Plain(Type::Number);
        deserialize_f64: Found::Plain(Type::Number);
        deserialize_char: Found::Plain(Type::String);
        deserialize_str: Found::Plain(Type::String);
        deserialize_string: Found::Plain(Type::String);
        deserialize_identifier: Found::Plain(Type::String);
        deserialize_bytes: Found::Any;
        deserialize_byte_buf: Found::Any;
        deserialize_unit: Found::Unit;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, _: V) -> Result<V::Value, Error> {
        Err(self.note(Found::Unit))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Item, next)) => visitor.visit_seq(next),
            _ => Err(self.note(Found::List)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Item, next)) => visitor.visit_map(Entry { key: Some("name"), next }),
            _ => Err(self.note(Found::Map)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Key(key), next)) => visitor.visit_map(Entry { key: Some(key), next }),
            _ => Err(self.note(Found::Struct(fields))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Variant(name), next)) => visitor.visit_enum(Variant { name, next }),
            _ => Err(self.note(Found::Choice(variants))),
        }
    }
}

impl<'de> SeqAccess<'de> for Probe<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        seed.deserialize(*self).map(Some)
    }
}

/// An object with a single key, which a [`Probe`] passes to the type that is deserialised. The type deserialises the
/// value of this key with the probe `next`.
struct Entry<'p> {
    key: Option<&'static str>,
    next: Probe<'p>,
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.key.take().map(|key| seed.deserialize(key.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.next)
    }
}

/// A variant of an enum, which a [`Probe`] passes to the type that is deserialised. The type deserialises the content
/// of this variant with the probe `next`.
struct Variant<'p> {
    name: &'static str,
    next: Probe<'p>,
}

impl<'de, 'p> EnumAccess<'de> for Variant<'p> {
    type Error = Error;
    type Variant = Probe<'p>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Probe<'p>), Error> {
        Ok((seed.deserialize(self.name.into_deserializer())?, self.next))
    }
}

impl<'de> VariantAccess<'de> for Probe<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(self.note(Found::Unit))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_seq(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_struct(self, "", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analyses::{FitBody, RankingBody};

    #[test]
    fn options_are_described_from_their_types() -> serde_json::Result<()> {
        let fit = serde_json::to_value(schema_of::<FitBody>())?;
        let options = &fit["properties"]["options"];
        assert_eq!(options["properties"]["search"], json!({"type": "string"}));
        assert_eq!(options["properties"]["fixed"]["additionalProperties"], json!({"type": "number"}));
        assert_eq!(options["additionalProperties"], json!(false));
        let data = options["properties"]["data"]["oneOf"].to_string();
        assert!(data.contains("observed") && data.contains("asimov") && data.contains("main"), "{data}");
        let ranking = serde_json::to_value(schema_of::<RankingBody>())?;
        let impacts = &ranking["properties"]["options"]["properties"]["impacts"]["items"]["enum"];
        assert_eq!(*impacts, json!(["refit", "covariance", "global"]));
        Ok(())
    }
}
