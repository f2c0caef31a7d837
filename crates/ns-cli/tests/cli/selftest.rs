//! Tests of `nextstat selftest`.

use serde_json::Value;

use crate::{has_cuda, run, shown};

/// Runs `nextstat selftest` for a device. Returns the exit code and the result.
fn json(device: &str) -> (i32, Value) {
    let output = run(&["selftest", "--device", device, "--format", "json"]);
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

/// Returns the checks whose names begin with `name`.
fn named<'a>(result: &'a Value, name: &str) -> Vec<&'a Value> {
    let of = |check: &&Value| check["name"].as_str().unwrap().starts_with(name);
    result["checks"].as_array().unwrap().iter().filter(of).collect()
}

#[test]
fn the_cpu_passes() {
    let (code, result) = json("cpu");
    assert_eq!((code, &result["passed"], &result["device"]), (0, &Value::Bool(true), &"cpu".into()));
    for name in ["binned fit on the CPU", "event sums on the CPU"] {
        let check = named(&result, name)[0];
        assert_eq!(check["status"], "passed", "{check}");
        assert!(check["value"].as_f64().unwrap() <= check["bound"].as_f64().unwrap());
    }
    let table = shown(&run(&["selftest", "--device", "cpu", "--format", "table"]));
    assert!(table.starts_with("exit 0") && table.contains("cpu: every check passed"), "{table}");
}

#[test]
fn flows_are_tested_where_they_are_built_in() {
    let (_, result) = json("cpu");
    let check = named(&result, "flow")[0];
    let possible = cfg!(feature = "neural") && std::env::var_os("ORT_DYLIB_PATH").is_some();
    assert_eq!(check["status"], if possible { "passed" } else { "skipped" }, "{check}");
}

#[test]
fn auto_leaves_out_what_is_not_there() {
    if has_cuda() {
        return;
    }
    let (code, result) = json("auto");
    assert_eq!((code, &result["passed"]), (0, &Value::Bool(true)));
    assert_eq!(named(&result, "GPU")[0]["status"], "skipped");
}

#[test]
fn what_is_missing_is_exit_three_with_a_remedy() {
    if has_cuda() {
        return;
    }
    for device in ["cuda", "tensorrt", "metal"] {
        let (code, result) = json(device);
        assert_eq!((code, &result["passed"]), (3, &Value::Bool(false)), "{device}");
        let missing = named(&result, "device")[0];
        assert_eq!((&missing["status"], &missing["value"]), (&"missing".into(), &Value::Null));
        assert!(missing["remedy"].as_str().unwrap().contains("nextstat devices"), "{missing}");
    }
    let (_, result) = json("tensorrt");
    let flow = named(&result, "flow");
    assert_eq!(flow.last().unwrap()["status"], "missing", "{flow:?}");
}

#[test]
fn wrong_usage() {
    let text = shown(&run(&["selftest", "--device", "gpu"]));
    assert!(text.starts_with("exit 2") && text.contains("unknown device 'gpu'; use auto"), "{text}");
}
