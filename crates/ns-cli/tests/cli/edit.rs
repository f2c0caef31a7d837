//! Tests of `nextstat prune`, `rename` and `combine`, and of the flags `--channels` and `--mask`.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

fn simple() -> String {
    fixture("simple_workspace.json")
}

fn text(output: &std::process::Output) -> String {
    assert!(output.status.success(), "{}", shown(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

#[test]
fn prune_prints_the_document_and_tells_what_it_did() {
    snapshot!(shown(&run(&["prune", "-i", &simple(), "--channel", "SR", "--modifier", "extrapolation"])));
    let quiet = run(&["prune", "-i", &simple(), "--channel", "SR", "--quiet"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", shown(&quiet));
}

#[test]
fn small_systematics_are_listed_as_they_go() {
    let file = fixture("simple_workspace.json");
    let output = run(&["prune", "-i", &file, "--norm-threshold", "0.05", "--shape-threshold", "0.05"]);
    snapshot!(String::from_utf8(output.stderr).unwrap());
}

#[test]
fn a_pruned_workspace_can_be_piped_into_a_fit() {
    let pruned = text(&run(&["prune", "-i", &simple(), "--modifier-type", "staterror"]));
    let fit = json(&run_with(&["fit", "-i", "-"], &pruned));
    assert_eq!(fit["converged"], true);
    assert!(!fit["parameter_names"].to_string().contains("stat_"));
}

#[test]
fn rename_follows_everywhere() {
    let args =
        ["rename", "-i", &simple(), "--modifier", "mu=mu_ttH", "--channel", "SR=CR", "--channel", "CR=SR"];
    let output = run(&args);
    snapshot!(String::from_utf8(output.stderr.clone()).unwrap());
    let fit = json(&run_with(&["fit", "-i", "-"], &text(&output)));
    assert!(fit["parameter_names"].to_string().contains("\"mu_ttH\""));
    // Renaming everything back gives the original workspace.
    let back = ["rename", "-i", "-", "--modifier", "mu_ttH=mu", "--channel", "SR=CR", "--channel", "CR=SR"];
    let original: Value = serde_json::from_slice(&fs::read(root("simple_workspace.json")).unwrap()).unwrap();
    let again = json(&run_with(&back, &text(&output)));
    assert_eq!(numbers_as_floats(again), numbers_as_floats(original));
}

fn root(name: &str) -> String {
    format!("{}/../../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn numbers_as_floats(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Number(n) => *value = Value::from(n.as_f64().unwrap()),
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(map) => map.values_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}

#[test]
fn combine_joins_what_prune_parted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (sr, cr, both) = (path("sr.json"), path("cr.json"), path("both.json"));
    for (file, other) in [(&sr, "CR"), (&cr, "SR")] {
        let output = run(&["prune", "-i", &simple(), "--channel", other, "-o", file, "--quiet"]);
        assert!(output.status.success() && output.stdout.is_empty());
    }
    let output = run(&["combine", &sr, &cr, "--join", "outer", "-o", &both]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", shown(&output));
    snapshot!(String::from_utf8(output.stderr).unwrap());
    let digest = |file: &str| json(&run(&["inspect", "-i", file]))["model_digest"].clone();
    assert_eq!(digest(&both), digest(&simple()));
    // Three workspaces are combined from left to right. The third equals the first, so it changes nothing.
    let three = run(&["combine", &sr, &cr, &sr, "--join", "outer"]);
    assert_eq!(text(&three), fs::read_to_string(&both).unwrap());
}

#[test]
fn conflicts_are_listed_all_at_once() {
    snapshot!(shown(&run(&["combine", &simple(), &simple()])));
}

#[test]
fn what_cannot_be_done_ends_in_two() {
    let file = simple();
    for args in [
        &["prune", "-i", &file, "--channel", "SRR", "--modifier", "alpha_jet_scale"][..],
        &["prune", "-i", &file, "--shape-threshold", "0.1"],
        &["prune", "-i", &file, "--norm-threshold", "-1"],
        &["rename", "-i", &file, "--sample", "signal"],
        &["rename", "-i", &file, "--sample", "signal=a", "--sample", "signal=b"],
        &["rename", "-i", &file, "--modifier", "stat_SR=jet_scale"],
        &["combine", &file],
        &["combine", &file, &file, "--join", "inner"],
        &["combine", "-", "-"],
        &["combine", &file, &file, "--merge-channels"],
        &["fit", "-i", &file, "--channels", "sr,CR"],
        &["fit", "-i", &file, "--mask", "SR,CR"],
    ] {
        let output = run(args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", shown(&output));
        snapshot!(String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn a_mask_fits_what_pruning_leaves() {
    let result = |output: &std::process::Output| {
        let value = json(output);
        (value["model_digest"].clone(), value["twice_nll"].clone(), value["parameter_names"].clone())
    };
    let whole = result(&run(&["fit", "-i", &simple()]));
    let pruned = text(&run(&["prune", "-i", &simple(), "--channel", "CR"]));
    let pruned = result(&run_with(&["fit", "-i", "-"], &pruned));
    for flags in [["--channels", "SR"], ["--mask", "CR"]] {
        let masked = result(&run(&["fit", "-i", &simple(), flags[0], flags[1]]));
        assert_eq!(masked, pruned);
        assert_ne!(masked.0, whole.0);
    }
    assert_eq!(result(&run(&["fit", "-i", &simple(), "--channels", "CR,SR"])), whole);
}

#[test]
fn a_masked_signal_leaves_a_fit_with_a_warning() {
    snapshot!(shown_json(&run(&["inspect", "-i", &simple(), "--channels", "CR"])));
}

#[test]
fn a_comma_may_be_part_of_a_channel_name() {
    let renamed = text(&run(&["rename", "-i", &simple(), "--channel", "SR=SR, high", "--quiet"]));
    let inspect = |flag: &str, names: &str| {
        let value = json(&run_with(&["inspect", "-i", "-", flag, names], &renamed));
        value["channels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(inspect("--channels", "SR, high"), ["SR, high"]);
    assert_eq!(inspect("--mask", "SR, high"), ["CR"]);
}
