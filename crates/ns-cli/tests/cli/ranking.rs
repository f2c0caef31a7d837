//! Tests of `nextstat ranking`.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

fn ranking(args: &[&str]) -> std::process::Output {
    run(&[&["ranking", "-i", &fixture("simple_workspace.json")], args].concat())
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn table_and_json() {
    snapshot!(shown(&ranking(&["--format", "table"])));
    snapshot!(shown_json(&ranking(&["--top", "2"])));
}

#[test]
fn all_definitions_side_by_side() {
    let all = ["--impact", "refit,covariance,global", "--prefit", "--top", "4"];
    snapshot!(shown(&ranking(&[&all[..], &["--format", "table"]].concat())));
    snapshot!(shown_json(&ranking(&all)));
}

#[test]
fn impacts_are_conditional_fits() {
    let result = json(&ranking(&["--prefit"]));
    let mu = |args: &[&str]| {
        let fit = json(&run(&[&["fit", "-i", &fixture("simple_workspace.json")], args].concat()));
        fit["bestfit"][fit["poi_index"].as_u64().unwrap() as usize].as_f64().unwrap()
    };
    let best = mu(&[]);
    assert!((result["mu_hat"].as_f64().unwrap() - best).abs() < 1e-7);
    for entry in result["ranking"].as_array().unwrap().iter().take(3) {
        for side in ["up", "down", "prefit_up", "prefit_down"] {
            let Some(delta) = entry[format!("delta_mu_{side}")].as_f64() else { continue };
            let held = entry[format!("value_{side}")].as_f64().unwrap();
            let fixed = format!("{}={held}", entry["name"].as_str().unwrap());
            assert!((mu(&["--fix", &fixed]) - best - delta).abs() < 1e-6, "{fixed}");
        }
    }
}

#[test]
fn groups_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groups.json");
    let name = path.to_str().unwrap();
    fs::write(
        &path,
        r#"{"simulation": ["stat_*"], "jets": ["jet_scale"], "signal": ["signal_theory", "mu"]}"#,
    )
    .unwrap();
    snapshot!(shown(&ranking(&["--group", name, "--top", "3", "--format", "table"])));
    let result = json(&ranking(&["--group", name]));
    let groups = result["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    for group in groups {
        for key in ["delta_mu_global", "delta_mu_fixed"] {
            assert!(group[key].as_f64().unwrap() > 0.0, "{group}");
        }
    }
    let hide = |output: &std::process::Output| shown(output).replace(name, "groups.json");
    fs::write(&path, r#"{"jets": ["jet_scael"]}"#).unwrap();
    snapshot!(hide(&ranking(&["--group", name])));
    fs::write(&path, r#"{"jets": ["JES_*"]}"#).unwrap();
    snapshot!(hide(&ranking(&["--group", name])));
    fs::write(&path, r#"["jets"]"#).unwrap();
    snapshot!(hide(&ranking(&["--group", name])));
    fs::remove_file(&path).unwrap();
    snapshot!(hide(&ranking(&["--group", name])));
}

#[test]
fn wrong_usage() {
    snapshot!(shown(&run(&["ranking", "-i", &fixture("empty_poi.json")])));
    snapshot!(shown(&ranking(&["--param", "jet_scael"])));
    snapshot!(shown(&ranking(&["--fix", "mu=1"])));
    snapshot!(shown(&ranking(&["--impact", "breakdown"])));
    let output = ranking(&["--top", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}

#[test]
fn another_parameter_than_the_parameter_of_interest() {
    let result = json(&ranking(&["--param", "background_norm", "--top", "1"]));
    assert_eq!(result["param"], "background_norm");
    let without =
        json(&run(&["ranking", "-i", &fixture("empty_poi.json"), "--param", "mu_top", "--top", "1"]));
    assert_eq!(without["param"], "mu_top");
}

#[test]
fn a_likelihood_that_is_not_finite_ends_in_one_with_the_place() {
    let text = r#"{"channels":[{"name":"SR","samples":[
        {"name":"background","data":[0.0, 5.0],"modifiers":[{"name":"mu","type":"normfactor","data":null}]}]}],
        "observations":[{"name":"SR","data":[3.0, 5.0]}],
        "measurements":[{"name":"m","config":{"poi":"mu","parameters":[]}}],"version":"1.0.0"}"#;
    snapshot!(shown(&run_with(&["ranking", "-i", "-"], text)));
}

/// Returns a workspace whose ranking takes seconds, because every bin has its own parameter.
#[cfg(unix)]
fn large(n_bins: usize) -> Value {
    let background: Vec<f64> = (0..n_bins).map(|b| 40.0 + (b % 17) as f64).collect();
    let observed: Vec<f64> = (0..n_bins).map(|b| 41.0 + ((7 * b) % 23) as f64).collect();
    serde_json::json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": vec![2.0; n_bins],
             "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": background, "modifiers": [
                {"name": "rate", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}},
                {"name": "gamma", "type": "shapesys", "data": vec![6.0; n_bins]}]}]}],
        "observations": [{"name": "SR", "data": observed}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0"
    })
}

#[cfg(unix)]
#[test]
fn an_interrupt_writes_what_is_done_and_ends_in_130() {
    use std::process::Stdio;
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("large.json"), folder.path().join("ranking.json"));
    let picture = folder.path().join("ranking.svg");
    fs::write(&input, large(1500).to_string()).unwrap();
    let args = [
        "ranking",
        "-i",
        input.to_str().unwrap(),
        "-o",
        output.to_str().unwrap(),
        "--threads",
        "1",
        "--prefit",
        "--plot",
        picture.to_str().unwrap(),
    ];
    // The right time for the interrupt depends on the machine and is found by trial. After an interrupt that is too
    // early there is no file. An interrupt that is too late has no effect on the result.
    let (mut early, mut late) = (0.0, f64::INFINITY);
    let mut wait: f64 = 0.5;
    for _ in 0..30 {
        let _ = fs::remove_file(&output);
        let mut child = crate::command(&args).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(wait));
        let _ = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let code = child.wait().unwrap().code();
        if output.exists() && code == Some(130) {
            let result: Value = serde_json::from_slice(&fs::read(&output).unwrap()).unwrap();
            let list = result["ranking"].as_array().unwrap();
            let done = list.iter().filter(|e| e["delta_mu_up"].is_f64()).count();
            let missing = list.iter().filter(|e| e["reasons"]["down"] == "interrupted").count();
            if done > 0 && missing > 0 {
                assert_eq!(list.len(), 1501);
                assert!(result["converged"].as_bool().unwrap() && result["interrupted"].as_bool().unwrap());
                assert!(result["warnings"].to_string().contains("interrupted"));
                let drawn = fs::read_to_string(&picture).unwrap();
                assert!(drawn.contains("interrupted") && drawn.contains("Impact on"));
                return;
            }
            if done == 0 { early = wait } else { late = wait }
        } else if code == Some(0) {
            late = wait;
        } else {
            assert!(!output.exists(), "a file without exit code 130: {code:?}");
            early = wait;
        }
        wait = if late.is_finite() { 0.5 * (early + late) } else { 1.6 * wait };
    }
    panic!("no interrupt fell into the variations: too early at {early} s, too late at {late} s");
}
