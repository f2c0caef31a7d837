//! Tests typical mistakes in the input of new users. Input with only one possible meaning must be accepted.
//! Otherwise the message must say where the error is and how to correct it.

use std::fs;

use serde_json::{Value, json};

use crate::{command, fixture, run, shown};

/// Runs a command that must end with exit code 2. Returns the text that the command writes to standard error.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", shown(&output));
    assert!(output.stdout.is_empty(), "{args:?}: {}", shown(&output));
    String::from_utf8(output.stderr).unwrap()
}

fn simple() -> Value {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture("simple_workspace.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_nothing_but_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let plain = serde_json::to_string_pretty(&simple()).unwrap();
    let digest = |text: &str, warns: bool| {
        let path = folder.path().join("workspace.json");
        fs::write(&path, text).unwrap();
        let output = run(&["fit", "-i", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.contains("byte order mark"), warns, "{said}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["model_digest"].as_str().unwrap().to_owned()
    };
    let same = digest(&plain, false);
    assert_eq!(digest(&format!("\u{feff}{plain}"), true), same);
    assert_eq!(digest(&plain.replace('\n', "\r\n"), false), same);
}

#[test]
fn negative_values_of_flags_are_told_as_such() {
    let file = fixture("simple_workspace.json");
    for (name, flag) in [
        ("fit", "--threads"),
        ("fit", "--seed"),
        ("ranking", "--top"),
        ("scan", "--points"),
        ("toys", "--n-toys"),
        ("toys", "--batch"),
    ] {
        let said = refused(&[name, "-i", &file, flag, "-1"]);
        assert!(said.starts_with(&format!("error: invalid value '-1' for '{flag} <")), "{said}");
    }
}

#[test]
fn numbers_that_are_none_are_told_in_words() {
    let file = fixture("simple_workspace.json");
    for args in [["hypotest", "--mu", "1,5"], ["scan", "--start", "abc"], ["upper-limit", "--cl", "95%"]] {
        let [name, flag, value] = args;
        let said = refused(&[name, "-i", &file, flag, value]);
        assert!(said.contains("give a number, such as 1.5") && !said.contains("float"), "{said}");
    }
}

#[test]
fn both_spellings_of_the_number_of_toys_are_known() {
    let file = fixture("simple_workspace.json");
    for (name, more) in
        [("toys", &[][..]), ("hypotest-toys", &["--mu", "1"]), ("gof", &[]), ("upper-limit", &[])]
    {
        for flag in ["--toys", "--n-toys"] {
            let output = run(&[&[name, "-i", &file, flag, "0"], more].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("unexpected argument"), "{name} {flag}: {said}");
        }
    }
}

#[test]
fn a_start_value_in_place_of_a_file_says_what_to_give() {
    let said = refused(&["fit", "-i", &fixture("simple_workspace.json"), "--init", "mu=1.5"]);
    assert_eq!(
        said,
        "error: start values mu=1.5: there is no such file; give a JSON file, such as one with {\"mu\": 1.0}\n"
    );
}

#[test]
fn a_misspelt_parameter_of_interest_is_named_with_the_one_that_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workspace.json");
    let mut workspace = simple();
    workspace["measurements"][0]["config"]["poi"] = json!("Mu");
    fs::write(&path, workspace.to_string()).unwrap();
    for name in ["upper-limit", "significance", "ranking"] {
        let said = refused(&[name, "-i", path.to_str().unwrap()]);
        assert!(
            said.contains(
                "/measurements/0/config/poi: The parameter of interest 'Mu' of measurement 'bump' is used by"
            ) && said.contains("Did you mean 'mu'?"),
            "{name}: {said}"
        );
    }
}

#[test]
fn names_that_are_nearly_right_get_a_question() {
    let file = fixture("simple_workspace.json");
    let said = refused(&["fit", "-i", &file, "--measurement", "bumb"]);
    assert!(
        said.contains("no measurement is called 'bumb'. Did you mean 'bump'? The measurements are"),
        "{said}"
    );
    let set = format!("{}:gluino_1400_20", fixture("patchset.json"));
    let said = refused(&["patch", "-i", &fixture("background_only.json"), "--patch", &set]);
    assert!(said.contains("has no patch 'gluino_1400_20'. Did you mean 'gluino_1400_200'?"), "{said}");
}

#[test]
fn warnings_of_a_patchset_name_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.json");
    let original =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture("patchset.json"));
    let mut set: Value = serde_json::from_slice(&fs::read(original).unwrap()).unwrap();
    set.as_object_mut().unwrap().remove("version");
    fs::write(&path, set.to_string()).unwrap();
    let patch = format!("{}:gluino_1400_200", path.display());
    let output = run(&["fit", "-i", &fixture("background_only.json"), "--patch", &patch]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let said = String::from_utf8(output.stderr).unwrap();
    let start = format!("warning: {}#/version: The patchset names no version", path.display());
    assert!(said.contains(&start), "{said}");
}

#[test]
fn yields_of_a_parameter_per_bin_take_no_matrix() {
    let n = 700;
    let workspace = json!({
        "version": "1.0.0",
        "channels": [{"name": "c", "samples": [
            {"name": "s", "data": vec![1.0; n], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "b", "data": vec![50.0; n], "modifiers": [
                {"name": "stat", "type": "staterror", "data": vec![2.0; n]},
                {"name": "a", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}]}]}],
        "observations": [{"name": "c", "data": (0..n).map(|i| (45 + i % 13) as f64).collect::<Vec<_>>()}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}]});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.json");
    let result = folder.path().join("fit.json");
    let matrix = folder.path().join("covariance.json");
    fs::write(&path, workspace.to_string()).unwrap();
    let file = path.to_str().unwrap();
    let json = |output: std::process::Output| -> Value {
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let own = json(run(&["yields", "-i", file]));
    // The same yields are computed from the full covariance matrix, which `fit` writes to a separate file.
    let mut fit = json(run(&["fit", "-i", file, "--covariance", matrix.to_str().unwrap()]));
    let whole: Value = serde_json::from_slice(&fs::read(&matrix).unwrap()).unwrap();
    fit["covariance"] = whole["covariance"].clone();
    fs::write(&result, fit.to_string()).unwrap();
    let given = json(run(&["yields", "-i", file, "--at", result.to_str().unwrap()]));
    let close = |a: &Value, b: &Value, what: &str| {
        let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        assert!((a - b).abs() < 1e-6 * b.abs(), "{what}: {a} and {b}");
    };
    let (own, given) = (&own["channels"][0], &given["channels"][0]);
    close(&own["sum_uncertainty"], &given["sum_uncertainty"], "sum");
    for bin in [0, 13, n - 1] {
        close(&own["uncertainty"][bin], &given["uncertainty"][bin], "bin");
        close(&own["samples"][1]["uncertainty"][bin], &given["samples"][1]["uncertainty"][bin], "sample");
    }
}

#[test]
fn colours_and_locales_leave_the_output_alone() {
    let file = fixture("simple_workspace.json");
    let args = ["hypotest", "-i", &file, "--mu", "1", "--format", "table"];
    let plain = command(&args).output().unwrap();
    let odd = command(&args)
        .envs([("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("LC_ALL", "de_DE.UTF-8"), ("COLUMNS", "10")])
        .output()
        .unwrap();
    let table = |output: &std::process::Output| {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        text.lines().filter(|line| !line.contains(" ms on ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(table(&plain), table(&odd));
    assert!(!table(&odd).concat().contains('\u{1b}'));
}

#[test]
fn names_in_pictures_cannot_turn_them_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = simple()
        .to_string()
        .replace("jet_scale", "jet\\u202e\\u001bscale")
        .replace("\"SR\"", "\"S<\\u2066&R\"");
    fs::write(path("workspace.json"), text).unwrap();
    let workspace = path("workspace.json");
    for (name, flags) in [
        (
            "fit",
            vec![
                ("--plot", "pulls.svg"),
                ("--plot-correlation", "matrix.svg"),
                ("--plot-postfit", "post.svg"),
            ],
        ),
        ("ranking", vec![("--plot", "ranking.svg")]),
    ] {
        let files: Vec<(&str, String)> = flags.iter().map(|(flag, file)| (*flag, path(file))).collect();
        let mut args = vec![name, "-i", &workspace, "--quiet"];
        args.extend(files.iter().flat_map(|(flag, file)| [*flag, file.as_str()]));
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        for (_, file) in &files {
            let svg = fs::read_to_string(file).unwrap();
            assert!(!svg.chars().any(|c| matches!(c, '\u{202e}' | '\u{2066}' | '\u{1b}')), "{file}");
            let named =
                if file.ends_with("post.svg") { "S&lt;\\u{2066}&amp;R" } else { "jet\\u{202e}\\u{1b}scale" };
            assert!(svg.contains(named), "{named} in {file}: {svg}");
        }
    }
}
