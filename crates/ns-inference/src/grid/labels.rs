//! The values that identify a point of a grid, such as masses.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The labels of a point with their values, in the order of the patchset. A value is a number or a text. Serialises to
/// an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels(pub Vec<(String, Value)>);

impl Labels {
    /// Returns the value of a label as a number; `None` if there is no such label, or its value is no number. A text
    /// that is a number counts as this number.
    #[must_use]
    pub fn number(&self, label: &str) -> Option<f64> {
        let (_, value) = self.0.iter().find(|(name, _)| name == label)?;
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        number.filter(|x: &f64| x.is_finite())
    }

    /// Returns the value of a label as text; empty if there is no such label.
    #[must_use]
    pub fn text(&self, label: &str) -> String {
        match self.0.iter().find(|(name, _)| name == label) {
            Some((_, Value::String(text))) => text.clone(),
            Some((_, other)) => other.to_string(),
            None => String::new(),
        }
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Labels;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of labels and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    labels.push(entry);
                }
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_are_numbers_where_they_can_be() {
        let text = r#"{"z": 700, "a": "12.5", "name": "x"}"#;
        let labels: Labels = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&labels).unwrap(), text.replace(": ", ":").replace(", ", ","));
        assert_eq!((labels.number("z"), labels.number("a")), (Some(700.0), Some(12.5)));
        assert_eq!((labels.number("name"), labels.number("b")), (None, None));
        assert_eq!(
            (labels.text("z"), labels.text("a"), labels.text("b")),
            ("700".into(), "12.5".into(), "".into())
        );
    }
}
