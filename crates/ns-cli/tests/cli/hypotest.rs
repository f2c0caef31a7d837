//! Tests of `nextstat hypotest`, `upper-limit`, `significance` and `gof`.

use serde_json::Value;

use crate::{fixture, run, shown, shown_json, snapshot};

fn simple(command: &str, args: &[&str]) -> std::process::Output {
    run(&[&[command, "-i", &fixture("simple_workspace.json")], args].concat())
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hypotest_table() {
    snapshot!(shown(&simple("hypotest", &["--mu", "1.5", "--expected-set", "--format", "table"])));
}

#[test]
fn hypotest_json() {
    snapshot!(shown_json(&simple("hypotest", &["--mu", "1.5"])));
}

#[test]
fn hypotest_with_the_other_statistics() {
    let q = json(&simple("hypotest", &["--mu", "1.5", "--test-stat", "q", "--quiet"]));
    let q0 = json(&simple("hypotest", &["--mu", "0", "--test-stat", "q0", "--quiet"]));
    let significance = json(&simple("significance", &["--quiet"]));
    assert_eq!(q["test_stat"], "q");
    assert_eq!(q0["clsb"], significance["p0"]);
    assert_eq!(q0["mu_hat"], significance["mu_hat"]);
}

#[test]
fn hypotest_outside_the_bounds_says_so() {
    snapshot!(shown(&simple("hypotest", &["--mu", "-1", "--format", "table"])));
}

#[test]
fn upper_limit_table() {
    snapshot!(shown(&simple("upper-limit", &["--format", "table"])));
}

#[test]
fn upper_limit_along_a_grid() {
    let grid = ["--scan-start", "0", "--scan-stop", "3", "--scan-points", "4", "--format", "table"];
    snapshot!(shown(&simple("upper-limit", &grid)));
}

#[test]
fn upper_limit_json() {
    snapshot!(shown_json(&simple(
        "upper-limit",
        &["--scan-start", "0", "--scan-stop", "4", "--scan-points", "5"]
    )));
}

#[test]
fn upper_limit_expected_or_observed_only() {
    let expected = json(&simple("upper-limit", &["--expected"]));
    let observed = json(&simple("upper-limit", &["--observed"]));
    let both = json(&simple("upper-limit", &[]));
    assert_eq!(expected["observed"], Value::Null);
    assert_eq!(observed["expected"], Value::Array(Vec::new()));
    assert!((expected["expected"][2].as_f64().unwrap() - both["expected"][2].as_f64().unwrap()).abs() < 1e-6);
    assert!((observed["observed"].as_f64().unwrap() - both["observed"].as_f64().unwrap()).abs() < 1e-6);
}

#[test]
fn upper_limit_not_crossed() {
    let low = std::fs::read_to_string(
        std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(fixture("simple_workspace.json")),
    )
    .unwrap();
    let mut workspace: Value = serde_json::from_str(&low).unwrap();
    let parameters = &mut workspace["measurements"][0]["config"]["parameters"];
    parameters.as_array_mut().unwrap().retain(|p| p["name"] != "mu");
    parameters.as_array_mut().unwrap().push(serde_json::json!({"name": "mu", "bounds": [[0.0, 1.0]]}));
    let output = crate::run_with(
        &["upper-limit", "-i", "-", "--observed", "--format", "table"],
        &workspace.to_string(),
    );
    snapshot!(shown(&output));
}

#[test]
fn a_wrong_confidence_level() {
    snapshot!(shown(&simple("upper-limit", &["--cl", "95"])));
}

#[test]
fn a_grid_upside_down() {
    snapshot!(shown(&simple("upper-limit", &["--scan-start", "3", "--scan-stop", "1"])));
}

#[test]
fn no_parameter_of_interest() {
    let background = fixture("background_only.json");
    for command in [
        &["hypotest", "-i", &background, "--mu", "1"][..],
        &["upper-limit", "-i", &background],
        &["significance", "-i", &background],
    ] {
        let output = run(command);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(String::from_utf8(output.stderr).unwrap().contains("needs a parameter of interest"));
    }
    snapshot!(shown(&run(&["upper-limit", "-i", &background])));
}

#[test]
fn significance_table() {
    snapshot!(shown(&simple("significance", &["--format", "table"])));
}

#[test]
fn significance_json() {
    snapshot!(shown_json(&simple("significance", &[])));
}

#[test]
fn gof_table() {
    snapshot!(shown(&simple("gof", &["--format", "table"])));
}

#[test]
fn gof_json_of_a_model_without_degrees_of_freedom() {
    snapshot!(shown_json(&run(&["gof", "-i", &fixture("all_modifiers.json")])));
}
