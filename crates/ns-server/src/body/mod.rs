//! The bodies of requests.

mod archive;
mod model;
mod names;
mod object;
mod received;
mod workspace;

pub(crate) use model::{ModelBody, ModelReference};
pub(crate) use names::{Names, Tested};
pub(crate) use received::Received;
pub(crate) use workspace::{ModelText, PatchBody, WorkspaceBody, read_workspace};

use ns_core::Device;
use ns_inference::present::exact;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_path_to_error::Segment;

use object::OnlyObjects;

use crate::problem::ServerError;

/// Reads the body of a request. A list is no structure, at any depth.
///
/// # Errors
/// [`ServerError::Syntax`] if the text is not JSON; [`ServerError::Body`] with a JSON pointer if a key is unknown
/// or a value is wrong.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, ServerError> {
    let mut from = serde_json::Deserializer::from_slice(text);
    let read = serde_path_to_error::deserialize(OnlyObjects(&mut from)).map_err(|error| {
        let pointer = pointer(error.path());
        let error = error.into_inner();
        match error.classify() {
            serde_json::error::Category::Data => ServerError::Body { pointer, reason: without_place(&error) },
            _ => ServerError::Syntax { reason: error.to_string() },
        }
    })?;
    from.end().map_err(|error| ServerError::Syntax { reason: error.to_string() })?;
    Ok(read)
}

/// Returns the message of a JSON error without line and column. A position in the text does not help, because a
/// program wrote the body.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}

/// Returns a path of keys and indices as a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("/{index}")),
            Segment::Map { key } => text.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { variant } => text.push_str(&format!("/{variant}")),
            Segment::Unknown => {}
        }
    }
    text
}

/// Deserialises the name of a device.
pub(crate) fn device<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Device>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    name.map(|name| name.parse().map_err(serde::de::Error::custom)).transpose()
}

/// Deserialises a time in seconds that is finite and not negative.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(from)?;
    match value {
        Some(value) if !(0.0..=86_400.0).contains(&value) => {
            Err(serde::de::Error::custom(format!("{} is no time between 0 and 86400 seconds", exact(value))))
        }
        other => Ok(other),
    }
}
