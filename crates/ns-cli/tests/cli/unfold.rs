//! Tests of `unfold`: results, pictures, tables and messages.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, shown};

#[test]
fn unfolded_data_are_written_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, truth) = (fixture("unfolding.json"), fixture("unfolding_truth.json"));
    let arguments = ["unfold", "-i", &input, "--truth", "truth_*", "--prediction", &truth];
    let penalty = ["--regularisation", "curvature", "--points", "15", "--toys", "50"];
    let files = ["-o", &at("r.json"), "--plot", &at("first.svg"), "--plot-strengths", &at("curve.svg")];
    let output = run(&[&arguments[..], &penalty, &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&fs::read(at("r.json")).unwrap()).unwrap();
    assert_eq!((&result["tau_from"], &result["converged"]), (&"l-curve".into(), &true.into()));
    let bins = result["truth"].as_array().unwrap();
    assert_eq!((bins.len(), bins[9]["name"].as_str()), (10, Some("truth_9")));
    assert!(bins.iter().all(|bin| bin["unfolded"].is_f64() && bin["toys"]["coverage"].is_f64()), "{result}");
    assert_eq!(result["scan"].as_array().unwrap().len(), 15);
    for (kind, name) in [("unfolded", "first.svg"), ("strengths", "curve.svg")] {
        let output = run(&["draw", &at("r.json"), "--kind", kind, "-o", &at("again.svg")]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert_eq!(fs::read_to_string(at(name)).unwrap(), fs::read_to_string(at("again.svg")).unwrap());
    }
    let output = run(&[&arguments[..], &["--format", "latex"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\\toprule") && text.contains("truth\\_9"), "{text}");
}

#[test]
fn wrong_flags_name_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.json");
    fs::write(&path, "{\"bins\": [1, 2]}").unwrap();
    let (input, file) = (fixture("unfolding.json"), path.display().to_string());
    for (flags, message) in [
        (&["--truth", "nothing_*"][..], "no parameter matches 'nothing_*'"),
        (&["--truth", "truth_*", "--tau", "3"], "add --regularisation tikhonov or curvature"),
        (&["--truth", "truth_*", "--regularisation", "tikhonov", "--tau", "best"], "\"l-curve\""),
        (&["--truth", "truth_*", "--prediction", &file], "title (a text), edges and yields"),
        (&["--truth", "truth_1", "--regularisation", "tikhonov"], "name 2 to 500 factors"),
        (&[], "--truth"),
    ] {
        let output = run(&[&["unfold", "-i", &input], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(message), "{message}: {}", shown(&output));
    }
}
