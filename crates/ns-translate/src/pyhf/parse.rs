//! The fast reader, which turns text into a [`Document`] in one pass, without an intermediate JSON tree.
//!
//! It accepts exactly the documents that follow pyhf's schema 1.0.0, and those that lack only observations. For any other document it fails without an
//! explanation. The slower reader in `diagnose` then finds all errors.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};

use super::document::{
    Channel, Document, Effect, Formulas, Measurement, Modifier, ModifierType, Observation,
};

/// The only version of the workspace format.
pub(crate) const VERSION: &str = "1.0.0";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "non_empty_objects")]
    channels: Vec<Channel>,
    #[serde(default, deserialize_with = "objects")]
    observations: Vec<Observation>,
    #[serde(deserialize_with = "non_empty_objects")]
    measurements: Vec<Measurement>,
    version: Version,
}

#[derive(Deserialize)]
enum Version {
    #[serde(rename = "1.0.0")]
    One,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { channels, observations, measurements, version: Version::One } = object(deserializer)?;
        let mut document =
            Self { channels, observations, measurements, known: super::document::ReadParts::default() };
        document.number();
        Ok(document)
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Workspace", 4)?;
        object.serialize_field("channels", &self.channels)?;
        object.serialize_field("observations", &self.observations)?;
        object.serialize_field("measurements", &self.measurements)?;
        object.serialize_field("version", VERSION)?;
        object.end()
    }
}

/// Reads a JSON object as `T`. The readers that serde derives would also accept an array of the fields'
/// values, which the format does not allow.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(deserializer).map(|Object(inner)| inner)
}

/// Reads an array of JSON objects.
pub(crate) fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let items: Vec<Object<T>> = Vec::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Object(inner)| inner).collect())
}

/// Reads an array of at least one JSON object.
pub(crate) fn non_empty_objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let items = objects(deserializer)?;
    if items.is_empty() {
        return Err(D::Error::custom("an empty array"));
    }
    Ok(items)
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// Reads an array with at least one element, and frees its spare capacity.
pub(crate) fn non_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut items = Vec::deserialize(deserializer)?;
    if items.is_empty() {
        return Err(D::Error::custom("an empty array"));
    }
    items.shrink_to_fit();
    Ok(items)
}

/// Reads an array with at least one element. The key of the array may be absent, but its value must not be `null`.
pub(crate) fn some_non_empty<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    non_empty(deserializer).map(Some)
}

/// Reads the value of a key that may be absent. If the key is present, its value must not be `null`.
pub(crate) fn some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenModifier {
    name: String,
    #[serde(rename = "type")]
    kind: ModifierType,
    data: Payload,
}

/// The `data` of a modifier. It can come before the `type` and is therefore read before the type is known.
enum Payload {
    Null,
    Numbers(Vec<f64>),
    Factors { lo: f64, hi: f64 },
    Templates { lo: Vec<f64>, hi: Vec<f64> },
    Formulas(Formulas),
}

impl<'de> Deserialize<'de> for Modifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenModifier { name, kind, data } = WrittenModifier::deserialize(deserializer)?;
        let effect = match (kind, data) {
            (ModifierType::HistoSys, Payload::Templates { lo, hi }) => Effect::HistoSys { lo, hi },
            // The schema fixes the name of the luminosity parameter.
            (ModifierType::Lumi, Payload::Null) if name == "lumi" => Effect::Lumi,
            (ModifierType::NormFactor, Payload::Null) => Effect::NormFactor,
            (ModifierType::NormSys, Payload::Factors { lo, hi }) => Effect::NormSys { lo, hi },
            (ModifierType::ShapeFactor, Payload::Null) => Effect::ShapeFactor,
            (ModifierType::ShapeSys, Payload::Numbers(data)) => Effect::ShapeSys(data),
            (ModifierType::StatError, Payload::Numbers(data)) => Effect::StatError(data),
            (ModifierType::Function, Payload::Formulas(formulas)) => Effect::Function(formulas),
            _ => return Err(D::Error::custom("data do not fit the modifier type")),
        };
        Ok(Self { at: 0, name, effect })
    }
}

impl Serialize for Modifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Templates<'a> {
            lo_data: &'a [f64],
            hi_data: &'a [f64],
        }
        #[derive(Serialize)]
        struct Factors {
            lo: f64,
            hi: f64,
        }
        let mut object = serializer.serialize_struct("Modifier", 3)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("type", self.effect.kind().name())?;
        match &self.effect {
            Effect::HistoSys { lo, hi } => {
                object.serialize_field("data", &Templates { lo_data: lo, hi_data: hi })?;
            }
            Effect::NormSys { lo, hi } => object.serialize_field("data", &Factors { lo: *lo, hi: *hi })?,
            Effect::ShapeSys(data) | Effect::StatError(data) => object.serialize_field("data", data)?,
            Effect::Function(formulas) => object.serialize_field("data", formulas)?,
            Effect::Lumi | Effect::NormFactor | Effect::ShapeFactor => {
                object.serialize_field("data", &())?;
            }
        }
        object.end()
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum PayloadKey {
    Lo,
    Hi,
    LoData,
    HiData,
    Expression,
    Expressions,
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PayloadVisitor)
    }
}

struct PayloadVisitor;

impl<'de> Visitor<'de> for PayloadVisitor {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data of a modifier")
    }

    fn visit_unit<E>(self) -> Result<Payload, E> {
        Ok(Payload::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Payload, A::Error> {
        let mut numbers = Vec::new();
        while let Some(x) = seq.next_element::<f64>()? {
            numbers.push(x);
        }
        if numbers.is_empty() {
            return Err(A::Error::custom("an empty array"));
        }
        numbers.shrink_to_fit();
        Ok(Payload::Numbers(numbers))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Payload, A::Error> {
        let (mut lo, mut hi) = (None, None);
        let (mut lo_data, mut hi_data) = (None, None);
        let (mut whole, mut bins) = (None, None);
        while let Some(key) = map.next_key::<PayloadKey>()? {
            let repeated = match key {
                PayloadKey::Lo => lo.replace(map.next_value::<f64>()?).is_some(),
                PayloadKey::Hi => hi.replace(map.next_value::<f64>()?).is_some(),
                PayloadKey::LoData => lo_data.replace(map.next_value::<Vec<f64>>()?).is_some(),
                PayloadKey::HiData => hi_data.replace(map.next_value::<Vec<f64>>()?).is_some(),
                PayloadKey::Expression => whole.replace(map.next_value::<String>()?).is_some(),
                PayloadKey::Expressions => bins.replace(map.next_value::<Vec<String>>()?).is_some(),
            };
            if repeated {
                return Err(A::Error::custom("a key is written twice"));
            }
        }
        let formulas = match (whole, bins) {
            (None, None) => None,
            (Some(text), None) => Some(Formulas::Whole(text)),
            (None, Some(texts)) if !texts.is_empty() => Some(Formulas::Bins(texts)),
            _ => return Err(A::Error::custom("neither an expression nor expressions")),
        };
        if let Some(formulas) = formulas {
            return match (lo, hi, lo_data, hi_data) {
                (None, None, None, None) => Ok(Payload::Formulas(formulas)),
                _ => Err(A::Error::custom("other keys beside expressions")),
            };
        }
        match (lo, hi, lo_data, hi_data) {
            (Some(lo), Some(hi), None, None) => Ok(Payload::Factors { lo, hi }),
            (None, None, Some(mut lo), Some(mut hi)) if !lo.is_empty() && !hi.is_empty() => {
                lo.shrink_to_fit();
                hi.shrink_to_fit();
                Ok(Payload::Templates { lo, hi })
            }
            _ => Err(A::Error::custom("neither lo and hi nor lo_data and hi_data")),
        }
    }
}
