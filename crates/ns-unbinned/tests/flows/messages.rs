//! Tests the messages about wrong manifests, graphs and libraries of ONNX Runtime.

use std::path::{Path, PathBuf};
use std::process::Command;

use ns_unbinned::flow::{FlowPdf, LogProb};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{flow, folder, oracle_integral};

/// Copies the fixtures to a temporary folder and changes the manifest of a flow there. Returns its path.
fn copied(name: &str, change: impl Fn(&mut Value)) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.path().join(file.file_name())).unwrap();
    }
    let path = place.path().join(format!("{name}.flow.json"));
    let mut tree: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut tree);
    std::fs::write(&path, tree.to_string()).unwrap();
    (place, path)
}

/// Changes the manifest of a flow, and loads the flow. Returns the message of the error.
fn changed(name: &str, change: impl Fn(&mut Value)) -> String {
    let (_place, path) = copied(name, change);
    FlowPdf::from_manifest(&path, &[]).unwrap_err().to_string()
}

/// Loads a flow with another support.
fn supported(name: &str, support: &Value) -> FlowPdf {
    let (_place, path) = copied(name, |manifest| manifest["support"] = support.clone());
    FlowPdf::load(&path).unwrap()
}

fn expect(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is missing in: {message}");
    }
}

#[test]
fn wrong_manifests_name_the_place_and_what_to_do() {
    let peak = |change: fn(&mut Value), parts: &[&str]| expect(&changed("peak", change), parts);
    peak(
        |m| m["log_prob"]["sha256"] = json!("ab"),
        &["log_prob.sha256", "SHA-256", "not ab", "export the flow again"],
    );
    peak(
        |m| m["log_prob"]["file"] = json!("../peak.onnx"),
        &["log_prob.file", "does not stay in the folder"],
    );
    peak(|m| m["sampler"]["file"] = json!("/etc/passwd"), &["sampler.file", "does not stay in the folder"]);
    peak(|m| m["log_prob"]["file"] = json!("gone.onnx"), &["gone.onnx", "cannot be read", "Check the path"]);
    peak(|m| m["features"] = json!([]), &["features", "no feature"]);
    peak(|m| m["features"] = json!(["m", "m"]), &["features[1]", "'m' is named twice"]);
    peak(|m| m["features"] = json!(["m", "t"]), &["support", "1 ranges for 2 features"]);
    peak(|m| m["support"] = json!([[3, 1]]), &["support[0]", "empty"]);
    peak(|m| m["format"] = json!("other/7"), &["format", "other/7", "nextstat-flow/1"]);
    peak(|m| m["sampler"]["base"] = json!("cauchy"), &["sampler.base", "unknown variant", "normal"]);
    peak(|m| m["sampler"]["numbers"] = json!(0), &["sampler.numbers", "no random number"]);
    peak(|m| m["smapler"] = json!(1), &["smapler", "unknown field"]);
    peak(|m| m["context"] = json!(["c"]), &["at context", "finite_differences"]);
    peak(|m| m["log_prob"] = Value::Null, &["log_prob", "flow-manifest.schema.json"]);
    let stepped = |change: fn(&mut Value), parts: &[&str]| expect(&changed("stepped", change), parts);
    stepped(|m| m["finite_differences"] = json!([0.1]), &["finite_differences", "1 steps for 2"]);
    stepped(|m| m["finite_differences"] = json!([0.1, -1]), &["finite_differences[1]", "not positive"]);
    stepped(|_| {}, &["the context [\"shift\", \"stretch\"]", "[] was given"]);
}

#[test]
fn wrong_graphs_are_refused_when_they_are_loaded() {
    let of = |name: &str| {
        FlowPdf::from_manifest(folder().join(format!("{name}.flow.json")), &[]).unwrap_err().to_string()
    };
    expect(
        &of("broken_shape"),
        &["'log_prob' of the graph", "broken_shape.onnx", "[2, 2] for 2 events, not [2]"],
    );
    expect(&of("broken_name"), &["no output 'log_prob'", "density", "docs/flows.md"]);
    // The manifest has two features, but the graph has one.
    let message = changed("peak", |m| {
        m["features"] = json!(["m", "t"]);
        m["support"] = json!([[null, null], [null, null]]);
    });
    expect(&message, &["peak.onnx", "Got: 2 Expected: 1"]);
    let message = changed("peak", |m| m["log_prob"]["file"] = json!("oracle.json"));
    expect(&message, &["log_prob.sha256", "oracle.json"]);
}

#[test]
fn a_support_that_cuts_the_density_is_refused_whatever_the_range() {
    let half = ["integral over its support is 0.50", "check the graph, and the support"];
    // The flow 'peak' has the mean 125 and the width 1.8.
    for (support, range) in [
        (json!([125, null]), (110.0, 140.0)),
        (json!([null, 125]), (124.0, 140.0)),
        (json!([125, 200]), (120.0, 126.0)),
        (json!([-1000, 125]), (120.0, 130.0)),
    ] {
        let cut = supported("peak", &json!([support]));
        expect(&cut.integral(&[range], &[]).unwrap_err().to_string(), &half);
    }
    let whole = [json!([null, null]), json!([100, null]), json!([-1000, 2000])];
    for support in whole {
        let flow = supported("peak", &json!([support]));
        for range in [(110.0, 126.0), (124.9, 125.0), (127.0, 900.0), (0.0, 125.0)] {
            assert!(flow.integral(&[range], &[]).is_ok(), "{support} {range:?}");
        }
    }
}

#[test]
fn a_support_that_cuts_a_density_of_two_features_is_refused() {
    let (sides, _) = oracle_integral("plane");
    assert!(flow("plane").integral(&sides, &[]).is_ok());
    let cut = supported("plane", &json!([[sides[0].0, null], [null, sides[1].1]]));
    let message = cut.integral(&[(sides[0].0, sides[0].1 - 1e-3), sides[1]], &[]).unwrap_err().to_string();
    expect(&message, &["integral over its support is 0.", "check the graph, and the support"]);
}

#[test]
fn the_support_of_a_flow_with_context_is_checked_at_its_first_context() {
    let cut = supported("shifted", &json!([[125, null]]));
    let message = cut.integral(&[(110.0, 140.0)], &[0.0, 0.0]).unwrap_err().to_string();
    expect(&message, &["integral over its support is 0."]);
}

#[test]
fn an_event_without_a_density_is_named() {
    let flow = flow("broken_nan");
    let mut out = [0.0; 3];
    let error = flow.log_prob(&[130.0, 119.0, 140.0], &[], &mut out).unwrap_err().to_string();
    expect(&error, &["'broken_nan' is NaN for event 1, at [119.0]", "train it again"]);
    let error = flow.log_prob(&[130.0], &[], &mut out).unwrap_err().to_string();
    expect(&error, &["the events of 'broken_nan' has 1 numbers where 3 are needed"]);
    let error = flow.sample(&[0.0], &[], &mut [0.0]).unwrap_err().to_string();
    expect(&error, &["no sampler"]);
}

#[test]
fn a_missing_library_is_explained() {
    const CHILD: &str = "NEXTSTAT_TEST_WITHOUT_LIBRARY";
    if std::env::var_os(CHILD).is_some() {
        let error = FlowPdf::from_manifest(folder().join("peak.flow.json"), &[]).unwrap_err().to_string();
        return expect(&error, &["/nowhere/libonnxruntime.so", "pip install onnxruntime", "ORT_DYLIB_PATH"]);
    }
    // The library is loaded once per process, so this test starts a new process.
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["messages::a_missing_library_is_explained", "--exact", "--quiet"])
        .env(CHILD, "1")
        .env("ORT_DYLIB_PATH", Path::new("/nowhere/libonnxruntime.so"))
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.status.success() && out.contains("1 passed"), "{out}");
}
