//! Tests of several parameters of interest.

use std::path::Path;

use serde_json::Value;

use crate::{fixture, run, shown, snapshot};

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn near(a: &Value, b: &Value) {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{a} {b}");
}

const BOTH: [&str; 2] = ["--poi", "mu_ggH,mu_qqH"];

#[test]
fn each_analysis_has_one_result_per_parameter() {
    let file = fixture("two_signals.json");
    for (command, key) in [
        ("upper-limit", "observed"),
        ("significance", "z"),
        ("scan", "uncertainty"),
        ("ranking", "mu_uncertainty"),
    ] {
        let both = json(&[&[command, "-i", &file], &BOTH[..]].concat());
        assert_eq!(both["pois"], serde_json::json!(["mu_ggH", "mu_qqH"]), "{command}");
        for (k, name) in ["mu_ggH", "mu_qqH"].iter().enumerate() {
            let alone = json(&[command, "-i", &file, "--poi", name]);
            near(&both["results"][k][key], &alone[key]);
            assert_eq!(both["results"][k]["param"], *name);
        }
    }
    // Another parameter of interest is held on request.
    let held = json(&[&["upper-limit", "-i", &file, "--fix", "norm=1"], &BOTH[..]].concat());
    let alone = json(&["upper-limit", "-i", &file, "--poi", "mu_qqH", "--fix", "norm=1"]);
    near(&held["results"][1]["observed"], &alone["observed"]);
}

/// Patterns and `all` stand for the names that they match, in the order of the model.
#[test]
fn patterns_and_all_stand_for_names() {
    let file = fixture("two_signals.json");
    let all = serde_json::json!(["norm", "mu_ggH", "mu_qqH", "rate", "jets", "scale"]);
    for command in ["significance", "scan", "upper-limit", "ranking", "interval"] {
        let both = json(&[command, "-i", &file, "--poi", "mu_*"]);
        assert_eq!(both["pois"], serde_json::json!(["mu_ggH", "mu_qqH"]), "{command}");
    }
    assert_eq!(json(&["scan", "-i", &file, "--poi", "all", "--points", "3"])["pois"], all);
    let fit = json(&["fit", "-i", &file, "--poi", "mu_qqH,all"]);
    assert_eq!(fit["poi_correlation"]["parameters"][0], "mu_qqH", "{}", fit["poi_correlation"]);
    // One name is meant where one is needed.
    let one = json(&["hypotest-toys", "-i", &file, "--poi", "mu_g*", "--mu", "1", "--n-toys", "20"]);
    assert_eq!(one["param"], "mu_ggH", "{one}");
    for (pois, problem) in [
        ("nu_*", "no scalar parameter has a name of this pattern"),
        ("mu_*,mu_g*", "all parameters with names of this pattern are given before it"),
    ] {
        let none = run(&["significance", "-i", &file, "--poi", pois]);
        assert_eq!(none.status.code(), Some(2));
        assert!(shown(&none).contains(problem), "{}", shown(&none));
    }
}

#[test]
fn tables_of_several_parameters() {
    let file = fixture("two_signals.json");
    snapshot!(shown(&run(&[&["significance", "-i", &file, "--format", "table"], &BOTH[..]].concat())));
    snapshot!(shown(&run(&[&["fit", "-i", &file, "--format", "table"], &BOTH[..]].concat())));
    snapshot!(
        shown(&run(&[
            "hypotest",
            "-i",
            &file,
            "--mu",
            "mu_ggH=1,mu_qqH=2",
            "--toys",
            "100",
            "--format",
            "table"
        ]))
        .lines()
        .map(|line| line
            .split(" toys/s")
            .next()
            .unwrap_or_default()
            .trim_end_matches(|c: char| c.is_ascii_digit() || ",. ".contains(c)))
        .collect::<Vec<_>>()
        .join("\n")
    );
}

/// The joint table and picture of rankings, and the same from their JSON.
#[test]
fn rankings_have_one_table_and_one_picture() {
    let file = fixture("two_signals.json");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("groups.json"), r#"{"experiment": ["jets"]}"#).unwrap();
    let groups = path("groups.json");
    let command = [&["ranking", "-i", &file, "--prefit", "--group", &groups], &BOTH[..]].concat();
    for format in ["table", "latex", "markdown", "csv"] {
        let text = shown(&run(&[&command[..], &["--format", format]].concat()));
        let without_time =
            text.lines().filter(|line| !line.contains("1 thread") && !line.contains(" on cpu"));
        snapshot!(without_time.collect::<Vec<_>>().join("\n"));
    }
    let (result, picture, again) = (path("both.json"), path("both.svg"), path("again.svg"));
    assert!(run(&[&command[..], &["-o", &result, "--plot", &picture]].concat()).status.success());
    assert!(run(&["draw", &result, "-o", &again]).status.success());
    let drawn = std::fs::read_to_string(&picture).unwrap();
    assert!(drawn.contains("Impact on mu_ggH") && drawn.contains("Impact on mu_qqH"));
    assert_eq!(drawn, std::fs::read_to_string(&again).unwrap());
    let limits = path("limits.json");
    assert!(run(&[&["upper-limit", "-i", &file, "-o", &limits], &BOTH[..]].concat()).status.success());
    let told = shown(&run(&["draw", &limits, "-o", &again]));
    assert!(told.contains("one parameter of interest, and there are mu_ggH, mu_qqH"), "{told}");
}

#[test]
fn a_file_may_list_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(fixture("two_signals.json"))).unwrap();
    let write = |poi: &str| {
        let path = folder.path().join("list.json");
        let name = "\"poi\": \"mu_ggH\"";
        assert!(text.contains(name));
        std::fs::write(&path, text.replace(name, &format!("\"poi\": {poi}"))).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let file = write("[\"mu_qqH\", \"mu_ggH\"]");
    assert_eq!(json(&["significance", "-i", &file])["pois"], serde_json::json!(["mu_qqH", "mu_ggH"]));
    assert_eq!(json(&["inspect", "-i", &file])["pois"], serde_json::json!(["mu_qqH", "mu_ggH"]));
    let renamed = json(&["rename", "-i", &file, "--modifier", "mu_qqH=mu_vbf"]);
    assert_eq!(renamed["measurements"][0]["config"]["poi"], serde_json::json!(["mu_vbf", "mu_ggH"]));
    let pruned = json(&["prune", "-i", &file, "--modifier", "mu_qqH"]);
    assert_eq!(pruned["measurements"][0]["config"]["poi"], "mu_ggH");
    let hs3 = folder.path().join("list.hs3.json");
    let hs3 = hs3.to_str().unwrap();
    assert!(run(&["convert", "-i", &file, "--to", "hs3", "-o", hs3]).status.success());
    assert_eq!(json(&["inspect", "-i", hs3])["pois"], serde_json::json!(["mu_qqH", "mu_ggH"]));

    let told =
        |poi: &str| shown(&run(&["fit", "-i", &write(poi)])).replace(folder.path().to_str().unwrap(), "");
    snapshot!(told("[\"mu_ggH\", \"mu_ggH\"]"));
    snapshot!(told("[]"));
    snapshot!(told("[\"mu_ggH\", 3]"));
    snapshot!(told("[\"mu_ggH\", \"stat\"]"));
    let problems = &json(&["validate", "-i", &write("[\"mu_ggH\", \"mu_qqh\"]")])["problems"];
    assert_eq!(problems[0]["path"], "/measurements/0/config/poi/1");
    assert!(problems[0]["remedy"].as_str().unwrap().ends_with("Did you mean 'mu_qqH'?"));
}

#[test]
fn wrong_lists_and_questions() {
    let file = fixture("two_signals.json");
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("picture.svg");
    let picture = picture.to_str().unwrap();
    let told = |args: &[&str]| shown(&run(&[&[args[0], "-i", &file], &args[1..]].concat()));
    snapshot!(told(&["fit", "--poi", "mu_ggH,mu_ggH"]));
    snapshot!(told(&["fit", "--poi", "mu_ggH,mu_qq"]));
    snapshot!(told(&["fit", "--poi", ""]));
    snapshot!(told(&["fit", "--poi", "mu_ggH,stat"]));
    snapshot!(told(&["hypotest", "--poi", "mu_ggH,mu_qqH", "--mu", "1"]));
    snapshot!(told(&["hypotest", "--mu", "1,2"]));
    snapshot!(told(&["hypotest", "--mu", "mu_ggH=1,2"]));
    snapshot!(told(&["hypotest", "--mu", "mu_ggH=1,mu_qqH=1", "--test-stat", "qtilde"]));
    snapshot!(told(&["hypotest", "--mu", "mu_ggH=1", "--expected-set"]));
    snapshot!(told(&["hypotest", "--mu", "mu_ggH=1,mu_ggH=2"]));
    snapshot!(told(&["hypotest", "--mu", "1", "--toys", "10"]));
    snapshot!(told(&["hypotest-toys", "--mu", "mu_ggH=1,mu_qqH=1", "--n-toys", "10"]));
    snapshot!(told(&["upper-limit", "--poi", "mu_ggH,mu_qqH", "--plot", picture]));
    snapshot!(told(&["fit", "--plot-poi-correlation", picture]));
    snapshot!(told(&["scan", "--levels", "68"]));
}
