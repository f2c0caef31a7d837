//! Tests of `--correlations`, `--blind`, `nextstat decorrelate`, and of stored fits of other channels.

use serde_json::Value;

use crate::{fixture, run, run_with, shown, snapshot};

fn simple() -> String {
    fixture("simple_workspace.json")
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command with a file that has this text. Messages show its folder as `DIR`.
fn with_file(name: &str, text: &str, args: &dyn Fn(&str) -> Vec<String>) -> (std::process::Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let args = args(&path.display().to_string());
    let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let told = shown(&output).replace(&folder.path().display().to_string(), "DIR");
    (output, told)
}

fn of(words: &str) -> impl Fn(&str) -> Vec<String> {
    let words = words.to_owned();
    move |file: &str| {
        words.split(' ').map(|word| word.replace("WS", &simple()).replace("FILE", file)).collect()
    }
}

#[test]
fn wrong_correlations_are_told() {
    let two = |rows: &str| format!(r#"{{"parameters": ["lumi", "jet_scale"], "correlations": {rows}}}"#);
    for text in [
        two("[[1, 1.5], [1.5, 1]]"),
        two("[[1, 0.5], [0.4, 1]]"),
        two("[[0.04, 0.1], [0.1, 1]]"),
        two("[[1, 0.5]]"),
        two("[[1, 0.5], [0.5, 1]]").replace("jet_scale", "jet_scael"),
        two("[[1, 0.5], [0.5, 1]]").replace("jet_scale", "mu"),
        two("[[1, 0.5], [0.5, 1]]").replace("jet_scale", "lumi"),
        "lumi;jet_scale\n".to_owned(),
    ] {
        let (output, told) = with_file("rho.json", &text, &of("fit -i WS --correlations FILE"));
        assert_eq!(output.status.code(), Some(2), "{told}");
        snapshot!(told);
    }
}

#[test]
fn correlations_change_a_fit_and_are_shown() {
    let text = ",jet_scale,signal_theory\njet_scale,1,0.9\nsignal_theory,0.9,1\n";
    let (output, _) = with_file("rho.csv", text, &of("fit -i WS --correlations FILE"));
    let (ours, plain) = (json(&output), json(&run(&["fit", "-i", &simple()])));
    assert_ne!(ours["model_digest"], plain["model_digest"]);
    assert_ne!(ours["twice_nll"], plain["twice_nll"]);
    let (output, told) = with_file("rho.csv", text, &of("inspect -i WS --correlations FILE --format table"));
    assert!(output.status.success() && told.contains("correlation"), "{told}");
    // HS3 keeps them, and a workspace cannot.
    let (written, _) = with_file("rho.csv", text, &of("convert -i WS --correlations FILE"));
    let again = json(&run_with(&["fit", "-i", "-"], std::str::from_utf8(&written.stdout).unwrap()));
    let (a, b) = (again["twice_nll"].as_f64().unwrap(), ours["twice_nll"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-9, "{a} {b}");
    let (output, told) = with_file("rho.csv", text, &of("convert -i WS --correlations FILE --to pyhf"));
    assert!(!output.status.success(), "{told}");
    snapshot!(told);
}

#[test]
fn blinded_results_say_so() {
    let blind = ["--blind", "SR"];
    let fit = json(&run(&[&["fit", "-i", &simple()][..], &blind].concat()));
    assert_eq!(fit["blind"]["channels"][0], "SR");
    assert!((fit["bestfit"][0].as_f64().unwrap() - 1.0).abs() < 1.0);
    let output =
        run(&["yields", "-i", &simple(), "--asimov-channels", "SR", "--asimov", "0", "--format", "table"]);
    let told = shown(&output);
    assert!(told.contains("data (blinded)") && told.contains("blinded: the data of SR"), "{told}");
    assert!(told.contains("with the parameter of interest at 0"), "{told}");
    let plain = json(&run(&["fit", "-i", &simple()]));
    assert!(plain.get("blind").is_none());
    for args in [&["significance"][..], &["hypotest", "--mu", "1"], &["upper-limit"]] {
        let (command, more) = args.split_first().unwrap();
        let result = json(&run(&[&[*command, "-i", &simple()], more, &blind].concat()));
        assert_eq!(result["blind"]["channels"][0], "SR", "{command}");
    }
    for args in [&["fit", "--blind", "SS"][..], &["fit", "--blind", "SR,CR"], &["gof", "--blind", "SR"]] {
        let (command, more) = args.split_first().unwrap();
        let output = run(&[&[*command, "-i", &simple()], more].concat());
        assert!(!output.status.success());
        snapshot!(shown(&output));
    }
}

#[test]
fn a_fit_of_the_control_region_predicts_the_signal_region() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cr.json").display().to_string();
    assert!(run(&["fit", "-i", &simple(), "--channels", "CR", "-o", &path]).status.success());
    let yields = json(&run(&["yields", "-i", &simple(), "--at", &path]));
    let names = yields["not_in_fit"].as_array().unwrap();
    assert!(names.iter().any(|name| name == "signal_theory"), "{names:?}");
    let output = run(&["yields", "-i", &simple(), "--at", &path, "--format", "table"]);
    snapshot!(shown(&output).split("measurement").next().unwrap().to_owned());
    snapshot!(String::from_utf8(output.stderr).unwrap());
}

#[test]
fn decorrelated_parameters_have_the_names_of_their_places() {
    let output = run(&["decorrelate", "-i", &simple(), "--modifier", "jet_scale", "--by", "channel"]);
    snapshot!(String::from_utf8(output.stderr.clone()).unwrap());
    let fit = json(&run_with(&["fit", "-i", "-"], std::str::from_utf8(&output.stdout).unwrap()));
    let names = fit["parameter_names"].to_string();
    assert!(names.contains("\"jet_scale_CR\"") && names.contains("\"jet_scale_SR\""), "{names}");
    let regions = r#"{"jet_low": ["CR"], "jet_signal": {"samples": ["signal"]}}"#;
    let (output, told) =
        with_file("by.json", regions, &of("decorrelate -i WS --modifier jet_scale --by FILE"));
    assert!(output.status.success() && told.contains("jet_signal"), "{told}");
    for (modifier, by) in [("jet_scael", "channel"), ("lumi", "channel"), ("jet_scale", "chanel")] {
        snapshot!(shown(&run(&["decorrelate", "-i", &simple(), "--modifier", modifier, "--by", by])));
    }
}
