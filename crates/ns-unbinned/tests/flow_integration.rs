//! Tests log-densities, integrals, samples, fits and toys of flows whose densities are known. The results are
//! compared with an oracle (numbers that were computed independently), and with those of models that have formulae
//! instead of flows. Also checks the messages about wrong manifests and graphs.
//!
//! The tests need the library of ONNX Runtime. `scripts/test` sets `ORT_DYLIB_PATH` to its path.
//! `scripts/make_flow_fixtures.py` writes the flows and the oracle's numbers.
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

/// Returns the folder that contains the flows and the oracle (results that were computed independently).
fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/flows"))
}

/// Loads a flow without context.
fn flow(name: &str) -> FlowPdf {
    FlowPdf::from_manifest(folder().join(format!("{name}.flow.json")), &[]).unwrap()
}

/// Returns independently computed results for a flow from `oracle.json`. `key` is the name of an array of results.
fn oracle(flow: &str, key: &str) -> Vec<f64> {
    let text = std::fs::read(folder().join("oracle.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all[flow][key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Returns the box over which a flow is integrated, as the lower and upper end of each feature, and the integral that
/// the oracle gives for this box.
fn oracle_integral(flow: &str) -> (Vec<(f64, f64)>, f64) {
    let text = std::fs::read(folder().join("oracle.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    let sides = serde_json::from_value(all[flow]["box"].clone()).unwrap();
    (sides, all[flow]["integral"].as_f64().unwrap())
}
