//! Tests of `nextstat patch`, `sort` and `digest`, and of the flag `--patch`.

use std::fs;

use serde_json::{Value, json};

use crate::{fixture, run, run_with, shown, snapshot};

fn parsed(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(name: &str) -> Value {
    let path = format!("{}/../../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Returns the name of the first patch in the patchset of the test files.
fn first_patch() -> String {
    read("patchset.json")["patches"][0]["metadata"]["name"].as_str().unwrap().to_owned()
}

#[test]
fn patch_writes_the_patched_workspace() {
    let (background, name) = (fixture("background_only.json"), first_patch());
    let which = format!("{}:{name}", fixture("patchset.json"));
    let output = run(&["patch", "-i", &background, "--patch", &which]);
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(told.starts_with(&format!("patched: {which} (")), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    // The workspace that `patch` writes has the same model digest and best fit as `fit` with `--patch`.
    let written = parsed(&run_with(&["fit", "-i", "-"], &text));
    let patched = parsed(&run(&["fit", "-i", &background, "--patch", &which]));
    assert_eq!(written["model_digest"], patched["model_digest"]);
    assert_eq!(written["bestfit"], patched["bestfit"]);
    // Numbers stay as they are written in the file. An empty patch changes only the layout.
    let nothing = run_with(&["patch", "-i", &background, "--patch", "-", "--quiet"], "[]");
    assert!(nothing.stderr.is_empty(), "{}", shown(&nothing));
    assert_eq!(parsed(&nothing), read("background_only.json"));
    assert_eq!(run(&["patch", "-i", &background]).status.code(), Some(2));
}

#[test]
fn a_patch_comes_from_standard_input() {
    let background = fixture("background_only.json");
    let patch = read("signal_patch.json").to_string();
    let file = parsed(&run(&["fit", "-i", &background, "--patch", &fixture("signal_patch.json")]));
    let piped = parsed(&run_with(&["fit", "-i", &background, "--patch", "-"], &patch));
    assert_eq!(piped["model_digest"], file["model_digest"]);
    let member = format!("-:{}", first_patch());
    let set = read("patchset.json").to_string();
    parsed(&run_with(&["inspect", "-i", &background, "--patch", &member], &set));
    // Standard input can be read only once.
    for command in ["fit", "inspect", "validate", "patch", "digest"] {
        let both = run(&[command, "-i", "-", "--patch", "-"]);
        let message = String::from_utf8(both.stderr.clone()).unwrap();
        assert_eq!(both.status.code(), Some(2), "{}", shown(&both));
        assert!(message.contains("--input and --patch both read standard input"), "{command}: {message}");
    }
    let twice = run(&["patch", "-i", &background, "--patch", "-", "--patch", "-"]);
    assert_eq!(twice.status.code(), Some(2), "{}", shown(&twice));
}

#[test]
fn patch_names_and_paths_may_have_colons() {
    let folder = tempfile::tempdir().unwrap();
    let mut set = read("patchset.json");
    set["patches"][0]["metadata"]["name"] = json!("a:b");
    set["patches"][1]["metadata"]["name"] = json!("m/500:x");
    let background = fixture("background_only.json");
    for file in ["set.json", "v1:set.json", "v1:2:set"] {
        let path = folder.path().join(file);
        fs::write(&path, set.to_string()).unwrap();
        for name in ["a:b", "m/500:x"] {
            let which = format!("{}:{name}", path.display());
            parsed(&run(&["inspect", "-i", &background, "--patch", &which]));
        }
    }
    let missing = run(&["inspect", "-i", &background, "--patch", "missing.json:a:b"]);
    let message = String::from_utf8(missing.stderr).unwrap();
    assert!(
        message.contains("cannot read missing.json:") || message.contains("cannot read missing.json "),
        "{message}"
    );
}

#[test]
fn problems_after_a_patch_name_the_patch() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &Value| {
        let path = folder.path().join(name);
        fs::write(&path, text.to_string()).unwrap();
        path.display().to_string()
    };
    let broken = json!([{"op": "replace", "path": "/channels/0/samples/0/data", "value": [1.0]}]);
    let mut set = read("patchset.json");
    set["patches"][0]["metadata"]["name"] = json!("too_short");
    set["patches"][0]["patch"] = broken.clone();
    let structure = json!([{"op": "remove", "path": "/channels/0/name"}]);
    let gone = json!([{"op": "replace", "path": "/measurements/0/name", "value": "renamed"}]);
    let member = format!("{}:too_short", path("set.json", &set));
    let input = fixture("background_only.json");
    for which in [path("short.json", &broken), member, path("structure.json", &structure)] {
        for command in ["fit", "inspect", "patch", "yields"] {
            let output = run(&[command, "-i", &input, "--patch", &which]);
            let message = String::from_utf8(output.stderr.clone()).unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
            let expected = format!("error: {input}: with patch {which} applied, ");
            assert!(message.starts_with(&expected), "{command}: {message}");
        }
        let valid = run(&["validate", "-i", &input, "--patch", &which, "--format", "table"]);
        let text = String::from_utf8(valid.stdout.clone()).unwrap();
        assert!(text.contains(&format!("{input} with patch {which}: not valid")), "{}", shown(&valid));
    }
    let which = path("gone.json", &gone);
    let name = read("background_only.json")["measurements"][0]["name"].as_str().unwrap().to_owned();
    let output = run(&["fit", "-i", &input, "--patch", &which, "--measurement", &name]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains(&format!("with patch {which} applied, no measurement is called")), "{message}");
}

#[test]
fn sort_orders_everything_by_name() {
    let whole = parsed(&run(&["sort", "-i", &fixture("simple_workspace.json")]));
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|x| x["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut lists = vec![&whole["channels"], &whole["observations"], &whole["measurements"]];
    for channel in whole["channels"].as_array().unwrap() {
        lists.push(&channel["samples"]);
        lists.extend(channel["samples"].as_array().unwrap().iter().map(|sample| &sample["modifiers"]));
    }
    lists.extend(whole["measurements"].as_array().unwrap().iter().map(|m| &m["config"]["parameters"]));
    for list in lists {
        let mut sorted = names(list);
        sorted.sort();
        assert_eq!(names(list), sorted);
    }
    // Sorting keeps the minimum of the fit, and sorting a sorted workspace changes nothing.
    let digest = |value: &Value| {
        parsed(&run_with(&["fit", "-i", "-"], &value.to_string()))["twice_nll"].as_f64().unwrap()
    };
    assert!((digest(&whole) - digest(&read("simple_workspace.json"))).abs() < 1e-9);
    let again = parsed(&run_with(&["sort", "-i", "-"], &whole.to_string()));
    assert_eq!(again, whole);
}

#[test]
fn digest_is_that_of_pyhf() {
    let file = fixture("background_only.json");
    let known = read("patchset.json")["metadata"]["digests"].clone();
    let args = ["digest", "-i", &file, "-a", "sha256", "-a", "md5"];
    let found = parsed(&run(&args));
    for (algorithm, hex) in known.as_object().unwrap() {
        assert_eq!(found[algorithm], *hex, "{algorithm}");
    }
    let table = run(&["digest", "-i", &file, "--format", "table"]);
    let text = String::from_utf8(table.stdout).unwrap();
    assert_eq!(text.trim(), format!("sha256:{}", found["sha256"].as_str().unwrap()));
    // The digest depends on how numbers are written, but not on the layout.
    let piped = run_with(
        &["digest", "-i", "-"],
        &serde_json::to_string_pretty(&read("background_only.json")).unwrap(),
    );
    assert_eq!(parsed(&piped)["sha256"], found["sha256"]);
    snapshot!(shown(&run(&["digest", "-i", &file, "-a", "crc32"])));
}

#[test]
fn alpha_is_one_minus_the_confidence_level() {
    let limit = |flags: [&str; 2]| {
        parsed(&run(&["upper-limit", "-i", &fixture("simple_workspace.json"), flags[0], flags[1]]))
    };
    let (alpha, cl) = (limit(["--alpha", "0.1"]), limit(["--cl", "0.9"]));
    assert_eq!(alpha["observed"], cl["observed"]);
    assert_eq!(alpha["cl"], json!(0.9));
    let file = fixture("simple_workspace.json");
    snapshot!(shown(&run(&["upper-limit", "-i", &file, "--alpha", "0.05", "--cl", "0.95"])));
    snapshot!(shown(&run(&["upper-limit", "-i", &file, "--alpha", "95"])));
}

#[test]
fn the_order_of_a_band_stands_beside_it() {
    let order = json!([-2, -1, 0, 1, 2]);
    let file = fixture("simple_workspace.json");
    let limit = parsed(&run(&[
        "upper-limit",
        "-i",
        &file,
        "--scan-start",
        "0",
        "--scan-stop",
        "2",
        "--scan-points",
        "3",
    ]));
    assert_eq!((&limit["nsigma_order"], &limit["scan"]["nsigma_order"]), (&order, &order));
    let values: Vec<f64> =
        limit["expected"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!(values.is_sorted());
    let test = parsed(&run(&["hypotest", "-i", &file, "--mu", "1"]));
    assert_eq!(test["expected_set"]["nsigma_order"], order);
    let toys =
        ["hypotest-toys", "-i", &file, "--mu", "1", "--n-toys", "50", "--expected-set", "--device", "cpu"];
    assert_eq!(parsed(&run(&toys))["expected_set"]["nsigma_order"], order);
    let toys = parsed(&run(&["upper-limit", "-i", &file, "--toys", "20", "--device", "cpu"]));
    assert_eq!(toys["nsigma_order"], order);
}

#[test]
fn a_ranking_names_the_index_of_each_parameter() {
    let file = fixture("simple_workspace.json");
    let names = parsed(&run(&["fit", "-i", &file]))["parameter_names"].clone();
    let ranking = parsed(&run(&["ranking", "-i", &file]));
    for row in ranking["ranking"].as_array().unwrap() {
        let index = usize::try_from(row["param_idx"].as_u64().unwrap()).unwrap();
        assert_eq!(names[index], row["name"]);
    }
}
