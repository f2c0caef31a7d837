//! Compares flows of known densities with an oracle and with the same models as formulae: log-densities, integrals,
//! samples, fits and toys. Also checks the messages about wrong manifests and graphs.
//!
//! Needs the library of ONNX Runtime in `ORT_DYLIB_PATH`; `scripts/test` sets it. `scripts/make_flow_fixtures.py`
//! writes the flows and the oracle's numbers.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "flows/conditional.rs"]
mod conditional;
#[path = "flows/context.rs"]
mod context;
#[path = "flows/densities.rs"]
mod densities;
#[path = "flows/fits.rs"]
mod fits;
#[path = "flows/messages.rs"]
mod messages;
#[cfg(feature = "neural-tensorrt")]
#[path = "flows/providers.rs"]
mod providers;

use std::path::PathBuf;

use ns_unbinned::flow::FlowPdf;
use serde_json::Value;

/// Folder of the flows.
fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/flows"))
}

/// Loads a flow without context.
fn flow(name: &str) -> FlowPdf {
    FlowPdf::from_manifest(folder().join(format!("{name}.flow.json")), &[]).unwrap()
}

/// Returns an array of the oracle's numbers for a flow.
fn oracle(flow: &str, key: &str) -> Vec<f64> {
    let text = std::fs::read(folder().join("oracle.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all[flow][key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Returns the oracle's integral of a flow, and the box over which the flow is integrated.
fn oracle_integral(flow: &str) -> (Vec<(f64, f64)>, f64) {
    let text = std::fs::read(folder().join("oracle.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    let sides = serde_json::from_value(all[flow]["box"].clone()).unwrap();
    (sides, all[flow]["integral"].as_f64().unwrap())
}
