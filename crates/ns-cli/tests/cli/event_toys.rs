//! Tests toys of a model with events and bins that share a nuisance parameter. Every command that draws toys
//! is tested. Files of toys are interrupted, continued, divided and merged.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::{command, fixture, run, shown};

/// Returns the arguments of a command on the model with events and bins.
fn arguments<'a>(command: &'a str, input: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "-i", input, "--seed", "5", "--quiet"], more].concat()
}

fn json(command: &str, more: &[&str]) -> Value {
    let output = run(&arguments(command, &fixture("hs3/mixed.hs3.json"), more));
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns a result without the parts that can differ from run to run.
fn answer(mut value: Value) -> Value {
    for key in ["wall_s", "toys_per_s", "shard", "warnings", "device_reason"] {
        value.as_object_mut().unwrap().remove(key);
    }
    value
}

#[test]
fn a_study_of_a_mixed_model() {
    let result = json("toys", &["--n-toys", "200", "--at", "init"]);
    assert_eq!(result["n_toys"], 200);
    let parameters = result["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|p| p["name"] == "mu"));
    for parameter in parameters {
        let of = |key: &str| parameter[key].as_f64().unwrap();
        let name = &parameter["name"];
        assert!(of("pull_mean").abs() < 0.35, "{name}: {}", of("pull_mean"));
        assert!((0.75..1.25).contains(&of("pull_width")), "{name}: {}", of("pull_width"));
    }
}

#[test]
fn a_test_with_toys_agrees_with_the_formulae() {
    let toys = json("hypotest-toys", &["--mu", "1.5", "--n-toys", "200"]);
    let input = fixture("hs3/mixed.hs3.json");
    let formula = run(&["hypotest", "-i", &input, "--mu", "1.5"]);
    let formula: Value = serde_json::from_slice(&formula.stdout).unwrap();
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
    let off = (of(&toys, "cls") - of(&formula, "cls")).abs();
    assert!(off < 5.0 * of(&toys, "cls_error") + 0.02, "{toys}\n{formula}");
    assert!((of(&toys, "q_obs") - of(&formula, "q_obs")).abs() < 1e-8);
}

#[test]
fn a_limit_with_toys() {
    let input = fixture("hs3/mixed.hs3.json");
    let limit = json("upper-limit", &["--toys", "100", "--search", "local"]);
    let formula = run(&["upper-limit", "-i", &input]);
    let formula: Value = serde_json::from_slice(&formula.stdout).unwrap();
    let (by_toys, by_formula) = (limit["observed"].as_f64().unwrap(), formula["observed"].as_f64().unwrap());
    assert!((by_toys / by_formula - 1.0).abs() < 0.15, "{by_toys} {by_formula}");
}

/// Divided, interrupted and continued runs with different numbers of threads must write the same file.
#[test]
fn files_of_toys_are_the_same_however_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (whole, killed, first, second) =
        (path("whole.parquet"), path("killed.parquet"), path("1.parquet"), path("2.parquet"));
    let input = fixture("hs3/mixed.hs3.json");
    let common = ["--mu", "1.2", "--n-toys", "300", "--batch", "10", "--save-every", "0", "--save"];
    let saved = |to: &str, more: &[&str]| {
        let options = [&common[..], &[to], more].concat();
        answer(json("hypotest-toys", &options))
    };
    let expected = saved(&whole, &["--threads", "1"]);

    let options = [&common[..], &[&killed, "--threads", "2"]].concat();
    let mut child = command(&arguments("hypotest-toys", &input, &options))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pieces = Path::new(&format!("{killed}.parts")).to_owned();
    while std::fs::read_dir(&pieces).map_or(0, Iterator::count) < 4 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().unwrap();
    if Path::new(&killed).exists() {
        std::fs::remove_file(&killed).unwrap();
    }
    assert_eq!(saved(&killed, &["--resume", "--threads", "1"]), expected);
    let bytes = |of: &str| std::fs::read(of).unwrap();
    assert!(bytes(&killed) == bytes(&whole), "the continued run has another file");

    saved(&first, &["--shard", "1/2", "--threads", "2"]);
    saved(&second, &["--shard", "2/2"]);
    let output = run(&["merge-toys", &first, &second]);
    assert!(output.status.success(), "{}", shown(&output));
    let result = answer(serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(result["cls"], expected["cls"]);
    assert_eq!(result["q_obs"], expected["q_obs"]);
}

#[test]
fn a_density_that_cannot_be_drawn_from_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let text = include_str!("../../../../tests/fixtures/hs3/mixed.hs3.json");
    let mut model: Value = serde_json::from_str(text).unwrap();
    let pole = serde_json::json!({"name": "falling", "type": "generic_dist", "expression": "(m - 100)^(-0.5) + 0*slope"});
    model["distributions"][1] = pole;
    std::fs::write(&path, model.to_string()).unwrap();
    let output = run(&["toys", "-i", path.to_str().unwrap(), "--n-toys", "4", "--at", "init"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("event channel 'events' has no finite bound"), "{}", shown(&output));
}
