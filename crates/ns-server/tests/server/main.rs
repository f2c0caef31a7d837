//! Tests of the `nextstat-server` program over HTTP on this machine, as its users see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod archives;
mod command_line;
mod errors;
mod further_models;
mod hostile;
mod http;
mod jobs;
mod limits;
mod memory;
mod models;
mod pages;
mod pictures;
mod process;
mod schemas;
mod share;

use serde_json::{Value, json};

/// Returns the text of one of the repository's test workspaces.
pub(crate) fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/");
    std::fs::read_to_string(format!("{folder}{name}")).unwrap()
}

/// Returns the body of a request with a workspace and the additional keys in `further`.
pub(crate) fn body(workspace: &str, further: Value) -> String {
    let workspace = serde_json::value::RawValue::from_string(workspace.to_owned()).unwrap();
    let mut text = format!("{{\"model\": {{\"workspace\": {workspace}}}");
    for (key, value) in further.as_object().unwrap() {
        text.push_str(&format!(", {}: {value}", json!(key)));
    }
    text + "}"
}
