//! Tests of `nextstat scan`.

use serde_json::Value;

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

fn scan(args: &[&str]) -> std::process::Output {
    run(&[&["scan", "-i", &fixture("simple_workspace.json")], args].concat())
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn table_and_json_of_the_parameter_of_interest() {
    let range = ["--start", "0", "--stop", "4", "--points", "9"];
    snapshot!(shown(&scan(&[&range[..], &["--format", "table"]].concat())));
    snapshot!(shown_json(&scan(&range)));
}

#[test]
fn table_and_json_in_two_parameters() {
    let plane =
        ["--param2", "jet_scale", "--start2", "-1", "--stop2", "1", "--points2", "3", "--points", "4"];
    snapshot!(shown(&scan(&[&plane[..], &["--format", "table"]].concat())));
    snapshot!(shown_json(&scan(&plane)));
}

#[test]
fn points_are_conditional_fits() {
    let result =
        json(&scan(&["--param", "background_norm", "--start", "0.9", "--stop", "1.1", "--points", "3"]));
    let fit = |args: &[&str]| {
        let output = run(&[&["fit", "-i", &fixture("simple_workspace.json")], args].concat());
        json(&output)["twice_nll"].as_f64().unwrap()
    };
    let free = fit(&[]);
    assert_eq!(numbers(&result["mu_values"]), [0.9, 1.0, 1.1]);
    for (value, delta) in ["0.9", "1", "1.1"].iter().zip(numbers(&result["twice_delta_nll"])) {
        let held = fit(&["--fix", &format!("background_norm={value}")]);
        assert!((held - free - delta).abs() < 1e-8, "{delta} at {value}");
    }
}

#[test]
fn the_default_range_is_three_uncertainties_inside_the_bounds() {
    let result = json(&scan(&[]));
    let values = numbers(&result["mu_values"]);
    let (best, sigma) = (result["mu_hat"].as_f64().unwrap(), result["uncertainty"].as_f64().unwrap());
    assert_eq!(values.len(), 21);
    assert_eq!(values[0], 0.0, "the lower bound");
    assert!((values[20] - best - 3.0 * sigma).abs() < 1e-12);
    let q = numbers(&result["q_mu_values"]);
    for ((x, q), delta) in values.iter().zip(q).zip(numbers(&result["twice_delta_nll"])) {
        assert_eq!(q, if *x < best { 0.0 } else { delta });
    }
}

#[test]
fn expected_data_and_fixed_parameters() {
    let result = json(&scan(&["--asimov", "1", "--fix", "jet_scale=0.5", "--points", "5"]));
    let free = json(&run(&[
        "fit",
        "-i",
        &fixture("simple_workspace.json"),
        "--asimov",
        "1",
        "--fix",
        "jet_scale=0.5",
    ]));
    assert_eq!(result["twice_nll"], free["twice_nll"]);
}

#[test]
fn threads_change_no_bit() {
    let of = |threads: &str| {
        let mut value = json(&scan(&["--interp-defaults", "piecewise", "--threads", threads]));
        value["wall_s"] = Value::Null;
        value["device_reason"] = Value::Null;
        value
    };
    assert_eq!(of("1"), of("2"));
}

#[test]
fn wrong_questions() {
    snapshot!(shown(&scan(&["--param", "nobody"])));
    snapshot!(shown(&scan(&["--start", "3", "--stop", "1"])));
    snapshot!(shown(&scan(&["--points", "0"])));
    snapshot!(shown(&scan(&["--start", "-1"])));
    snapshot!(shown(&scan(&["--param2", "mu"])));
    snapshot!(shown(&scan(&["--fix", "mu=1"])));
    snapshot!(shown(&scan(&["--start2", "0"])));
    snapshot!(shown(&run(&["scan", "-i", &fixture("empty_poi.json")])));
    for flags in [&["--points", "1000001"][..], &["--param2", "jet_scale", "--points2", "1000001"]] {
        let output = scan(flags);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    }
    // Each number of points alone is allowed, but their product is too large.
    let plane = ["--points", "1000000", "--param2", "jet_scale", "--points2", "1000000"];
    let output = scan(&plane);
    assert!(
        !output.status.success() && shown(&output).contains("ask for fewer points"),
        "{}",
        shown(&output)
    );
}

#[test]
fn points_without_a_finite_likelihood_are_null_with_a_reason() {
    // Only the signal contributes to the second bin, so its observed events exclude a signal strength of
    // zero.
    let text = r#"{"channels":[{"name":"SR","samples":[
        {"name":"signal","data":[1.0, 5.0],"modifiers":[{"name":"mu","type":"normfactor","data":null}]},
        {"name":"background","data":[5.0, 0.0],"modifiers":[{"name":"b","type":"normfactor","data":null}]}]}],
        "observations":[{"name":"SR","data":[6.0, 5.0]}],
        "measurements":[{"name":"m","config":{"poi":"mu","parameters":[]}}],"version":"1.0.0"}"#;
    let args = ["scan", "-i", "-", "--start", "0", "--stop", "2.4", "--points", "4"];
    snapshot!(shown_json(&run_with(&args, text)));
    snapshot!(shown(&run_with(&[&args[..], &["--format", "table"]].concat(), text)));
}

/// Starts a scan of `points` points, and interrupts it after `wait` ms. Returns the exit code and the JSON result, or
/// `None` if the scan ended before the interrupt.
#[cfg(unix)]
fn interrupted(points: usize, wait: u64, path: &std::path::Path) -> Option<(Option<i32>, Value)> {
    use std::process::{Command, Stdio};
    let many = points.to_string();
    let workspace = fixture("simple_workspace.json");
    let args = ["scan", "-i", &workspace, "--points", &many, "--threads", "1", "-o", path.to_str().unwrap()];
    let mut child = crate::command(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(wait));
    let running = child.try_wait().unwrap().is_none();
    assert!(
        !running || Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let code = child.wait().unwrap().code();
    let result: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    // The scan may have ended between `try_wait` and the signal.
    (running && code != Some(0)).then_some((code, result))
}

#[cfg(unix)]
#[test]
fn an_interrupted_scan_leaves_what_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    // Pairs of a number of points and the time until the interrupt in ms. They are tried in turn until an
    // interrupt comes during the fits of the points. Later pairs have more points for fast machines, then
    // shorter times for even faster machines, then longer times for busy machines.
    let tries = [
        (100_000, 700),
        (400_000, 700),
        (1_000_000, 700),
        (1_000_000, 300),
        (100_000, 1500),
        (400_000, 3000),
    ];
    let result = tries
        .into_iter()
        .find_map(|(points, wait)| {
            let (code, result) = interrupted(points, wait, &folder.path().join("scan.json"))?;
            assert_eq!(code, Some(130));
            let deltas = result["twice_delta_nll"].as_array().unwrap();
            let finished = deltas.iter().filter(|x| x.is_number()).count();
            assert_eq!(deltas.len(), points);
            (finished > 0 && finished < points).then_some(result)
        })
        .expect("no interrupt fell into the fits of a scan");
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w.as_str().unwrap().contains("interrupted")));
}
