//! Tests of `spurious-signal`: results, pictures and messages.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, shown};

#[test]
fn spurious_signals_are_written_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, other) = (fixture("hs3/exponential.hs3.json"), fixture("hs3/power.hs3.json"));
    let arguments = ["spurious-signal", "-i", &input, "--param", "mass", "--points", "5"];
    let named = format!("power={other}");
    let files =
        ["--background", &named, "--background", &input, "-o", &at("r.json"), "--plot", &at("first.svg")];
    let output = run(&[&arguments[..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&fs::read(at("r.json")).unwrap()).unwrap();
    let backgrounds = result["backgrounds"].as_array().unwrap();
    assert_eq!((backgrounds.len(), &backgrounds[0]["name"]), (2, &"power".into()));
    assert!(result["largest_ratio"].as_f64().unwrap() > 0.1, "{result}");
    let output = run(&["draw", &at("r.json"), "-o", &at("again.svg")]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(fs::read_to_string(at("first.svg")).unwrap(), fs::read_to_string(at("again.svg")).unwrap());
    let output = run(&[&arguments[..], &["--background", "=x"]].concat());
    assert!(shown(&output).contains("give NAME=FILE, or FILE"), "{}", shown(&output));
}
