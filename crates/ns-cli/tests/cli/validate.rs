//! Tests of `nextstat validate`.

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

/// A workspace with errors in three places.
const BROKEN: &str = r#"{"channels":[{"name":"SR","samples":[
    {"name":"signal","data":[5.0],"modifiers":[{"name":"mu","type":"normfactor","data":null}]},
    {"name":"background","data":[50.0, 60.0],"modifiers":[{"name":"x","type":"normsysx","data":null}]}]}],
    "observations":[{"name":"CR","data":[53.0]}],
    "measurements":[{"name":"m","config":{"poi":"mu","parameters":[]}}],"version":"1.0.0"}"#;

#[test]
fn a_valid_workspace() {
    let file = fixture("simple_workspace.json");
    snapshot!(shown(&run(&["validate", "-i", &file, "--format", "table"])));
    snapshot!(shown_json(&run(&["validate", "-i", &file])));
}

#[test]
fn every_problem_of_a_broken_one() {
    snapshot!(shown(&run_with(&["validate", "-i", "-", "--format", "table"], BROKEN)));
    snapshot!(shown_json(&run_with(&["validate", "-i", "-"], BROKEN)));
}

#[test]
fn what_is_not_json() {
    snapshot!(shown(&run_with(&["validate", "-i", "-", "--format", "table"], "{\"channels\": [")));
}

#[test]
fn warnings_leave_it_valid() {
    let output = run(&["validate", "-i", &fixture("empty_poi.json"), "--format", "table"]);
    assert_eq!(output.status.code(), Some(0));
    snapshot!(shown(&output));
}

#[test]
fn a_file_that_is_not_there() {
    snapshot!(shown(&run(&["validate", "-i", "no/such/file.json"])));
}
