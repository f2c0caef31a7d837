//! Tests of what shortens a command line: the model as first argument, patterns of parameters, `-q` and `-v`,
//! completions and manual pages.

use serde_json::Value;

use crate::{fixture, run, shown};

fn result(args: &[&str]) -> Value {
    let output = run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
}

#[test]
fn the_model_may_be_the_first_argument() {
    let file = fixture("simple_workspace.json");
    let of = |args: &[&str]| result(args)["observed"].clone();
    let wanted = of(&["upper-limit", "-i", &file]);
    assert!(wanted.is_number());
    assert_eq!(of(&["upper-limit", &file]), wanted);
    assert_eq!(of(&["limit", &file, "--cl", "0.95"]), wanted);
    assert!(result(&["cls", &file, "--mu", "1"])["cls"].is_number());
    let twice = run(&["fit", &file, "-i", &file]);
    assert_eq!(twice.status.code(), Some(2), "{}", shown(&twice));
    let absent = run(&["fit", "nowhere.json"]);
    assert!(absent.status.code() == Some(2) && shown(&absent).contains("nowhere.json"), "{}", shown(&absent));
}

#[test]
fn patterns_and_all_choose_parameters() {
    let file = fixture("simple_workspace.json");
    let names = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let all = result(&["fit", &file, "--minos", "all", "--fix", "lumi=1"]);
    let (parameters, fixed) = (all["parameter_names"].as_array().unwrap(), all["fixed"].as_array().unwrap());
    let minos = names(&all["minos"]);
    assert_eq!(minos.len() + fixed.len(), parameters.len(), "{minos:?}");
    assert!(!minos.contains(&"lumi".to_owned()));
    assert_eq!(names(&result(&["fit", &file, "--minos", "jet*,mu"])["minos"]), ["jet_scale", "mu"]);
    let held = result(&["fit", &file, "--fix", "jet_*=0"]);
    assert_eq!(held["fixed"], serde_json::json!(["jet_scale"]));
    for flags in [["--minos", "nu*"], ["--fix", "nu*=1"], ["--minos", "nu"], ["--minos", "lumi"]] {
        let more: &[&str] = if flags[1] == "lumi" { &["--fix", "lumi=1"] } else { &[] };
        let output = run(&[&["fit", &file, flags[0], flags[1]], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    }
}

#[test]
fn quiet_and_verbose_have_short_names() {
    let file = fixture("simple_workspace.json");
    let said = |flag: &str| String::from_utf8(run(&["scan", &file, "--points", "3", flag]).stderr).unwrap();
    let verbose = said("-v");
    assert!(
        verbose.contains("model: ") && verbose.contains("parameters (") && verbose.contains("device: cpu"),
        "{verbose}"
    );
    assert_eq!(said("-q"), "");
    assert!(!verbose.contains("wrote"), "files are named on a terminal only");
    let both = run(&["scan", &file, "-q", "-v"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    for (shell, word) in
        [("bash", "complete"), ("zsh", "#compdef nextstat"), ("fish", "complete -c nextstat")]
    {
        let output = run(&["completions", shell]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(word) && text.contains("upper-limit"), "{shell}");
    }
    assert_eq!(run(&["completions", "dash"]).status.code(), Some(2));
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["man", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", shown(&output));
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("nextstat.1").contains("upper\\-limit"));
    assert!(page("nextstat-fit.1").contains("nextstat fit ws.json"), "the examples are there");
    let nowhere = run(&["man", "no/such/folder"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", shown(&nowhere));
}
