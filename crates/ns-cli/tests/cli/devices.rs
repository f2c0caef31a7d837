//! `nextstat devices`.

use serde_json::Value;

use crate::{run, shown, snapshot};

#[test]
fn what_is_missing_has_a_reason_and_a_remedy() {
    let output = run(&["devices"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["device"], "cpu");
    let devices = value["devices"].as_array().unwrap();
    assert!(devices.iter().any(|d| d["name"] == "cpu" && d["available"] == true));
    for device in devices {
        let missing = device["available"] == false;
        assert_eq!(device["reason"].is_string() && device["remedy"].is_string(), missing, "{device}");
    }
}

#[test]
fn table_and_wrong_usage() {
    let table = shown(&run(&["devices", "--format", "table"]));
    assert!(table.starts_with("exit 0") && table.contains("cuda     no"), "{table}");
    snapshot!(shown(&run(&["devices", "--input", "x"])));
}
