//! Tests of `nextstat inspect`.

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

#[test]
fn table_and_json() {
    let all = fixture("all_modifiers.json");
    snapshot!(shown(&run(&["inspect", "-i", &all, "--format", "table"])));
    snapshot!(shown_json(&run(&["inspect", "-i", &fixture("simple_workspace.json")])));
}

#[test]
fn one_of_several_measurements() {
    let file = fixture("several_measurements.json");
    snapshot!(shown(&run(&["inspect", "-i", &file, "--measurement", "nobody"])));
    let first = shown(&run(&["inspect", "-i", &file, "--format", "table"]));
    assert!(first.contains("more), parameter of interest"), "{first}");
}

#[test]
fn a_broken_workspace_ends_in_two() {
    let output = run_with(&["inspect", "-i", "-"], "{\"channels\": 3}");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(shown(&output).contains("error: standard input: "), "{}", shown(&output));
}
