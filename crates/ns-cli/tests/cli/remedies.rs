//! Tests that messages and tables say what is right for the file and the numbers at hand: Asimov data without
//! observations, HS3 models in the words of HS3, confidence levels with all their nines, infinite yields.

use std::path::Path;

use serde_json::{Value, json};

use crate::{command, fixture, run, shown};

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture(name));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Writes a workspace into a folder, and returns its path.
fn written(folder: &tempfile::TempDir, content: &Value) -> String {
    let path = folder.path().join("model.json");
    std::fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs a command on a model. Returns its exit code, its JSON if there is any, and standard error.
fn told(model: &str, command: &str, flags: &[&str]) -> (Option<i32>, Value, String) {
    let output = run(&[&[command, "-i", model], flags].concat());
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), result, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn asimov_data_and_yields_before_a_fit_need_no_observations() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fixture("simple_workspace.json");
    let mut workspace = read("simple_workspace.json");
    for observations in [json!([]), Value::Null, json!([{"name": "CR", "data": [318.0, 199.0, 127.0]}])] {
        match observations.is_null() {
            true => _ = workspace.as_object_mut().unwrap().remove("observations"),
            false => workspace["observations"] = observations.clone(),
        }
        let file = written(&folder, &workspace);
        for (name, flags, key) in [
            ("fit", &["--asimov", "1"][..], "bestfit"),
            ("fit", &["--asimov"], "twice_nll"),
            ("upper-limit", &["--asimov", "0"], "expected"),
            ("significance", &["--asimov", "1"], "z"),
        ] {
            let (code, result, text) = told(&file, name, flags);
            assert_eq!(code, Some(0), "{name} {flags:?}: {text}");
            assert_eq!(result[key], told(&whole, name, flags).1[key], "{name} {flags:?}");
        }
        for flags in [&["--prefit"][..], &["--at", "mu=2"], &["--at", "init"]] {
            let (code, result, text) = told(&file, "yields", flags);
            assert_eq!(code, Some(0), "{flags:?}: {text}");
            let channel = &result["channels"][1];
            let wanted = &told(&whole, "yields", flags).1["channels"][1];
            assert_eq!((&channel["name"], &channel["total"]), (&json!("SR"), &wanted["total"]), "{flags:?}");
            assert_eq!((&channel["data"], &channel["data_sum"]), (&json!([]), &Value::Null));
            let table = run(&[&["yields", "-i", &file, "--format", "table"], flags].concat());
            assert!(table.status.success() && !shown(&table).contains("NaN"), "{}", shown(&table));
        }
        let picture = folder.path().join("yields.svg");
        let flags = ["--prefit", "--plot", picture.to_str().unwrap()];
        assert_eq!(told(&file, "yields", &flags).0, Some(0));
        for (name, flags) in [("fit", &[][..]), ("yields", &[]), ("upper-limit", &[]), ("validate", &[])] {
            let (code, result, text) = told(&file, name, flags);
            let all = format!("{text}{result}");
            assert_eq!(code, Some(2), "{name}: {all}");
            if name != "validate" {
                assert!(all.contains("no observation") && all.contains("Add "), "{name}: {all}");
            }
        }
    }
}

#[test]
fn hs3_models_get_remedies_in_the_words_of_hs3() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = read("hs3/mixed.hs3.json");
    let file = fixture("hs3/mixed.hs3.json");
    let (code, _, text) = told(&file, "fit", &["--fix", "mass=999"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("\"domains\"") && !text.contains("measurement"), "{text}");
    let (_, _, text) = told(&file, "significance", &["--fix", "mu=1"]);
    assert!(text.contains("without \"const\" in the \"parameter_points\""), "{text}");
    assert!(!text.contains("measurement"), "{text}");
    model["analyses"][0].as_object_mut().unwrap().remove("parameters_of_interest");
    let (code, _, text) = told(&written(&folder, &model), "upper-limit", &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("name one in its \"parameters_of_interest\""), "{text}");
    assert!(!text.contains("measurement") && !text.contains("modifier"), "{text}");
    let (_, _, text) = told(&fixture("simple_workspace.json"), "fit", &["--fix", "mu=-1"]);
    assert!(text.contains("in the measurement's \"parameters\"") && !text.contains("domain"), "{text}");
}

#[test]
fn a_small_alpha_is_not_100_percent() {
    let file = fixture("simple_workspace.json");
    let output = run(&["upper-limit", "-i", &file, "--alpha", "1e-7", "--format", "table"]);
    let text = shown(&output);
    assert!(text.contains("at 99.99999 % confidence") && !text.contains("100 %"), "{text}");
}

#[test]
fn infinite_yields_have_a_warning() {
    let file = fixture("simple_workspace.json");
    let (code, result, text) = told(&file, "yields", &["--at", "mu=1e308"]);
    assert_eq!(code, Some(0), "{text}");
    let warnings = result["warnings"].to_string();
    assert!(
        warnings.contains("sample 'signal' in channel 'SR' are inf, which JSON writes as null"),
        "{warnings}"
    );
    assert!(text.contains("sample 'signal'"), "{text}");
    let (_, result, _) = told(&file, "yields", &["--at", "mu=2"]);
    assert_eq!(result["warnings"], json!([]));
}

#[test]
fn an_integral_tolerance_above_one_is_refused() {
    let file = fixture("simple_workspace.json");
    for (name, flags) in [("fit", &[][..]), ("hypotest", &["--mu", "1"]), ("yields", &["--prefit"])] {
        let flags = [flags, &["--integral-tolerance", "2"]].concat();
        let (code, _, text) = told(&file, name, &flags);
        assert_eq!(code, Some(2), "{name}: {text}");
        assert!(text.contains("is 2; give a number between 0 and 1, for example 1e-6"), "{name}: {text}");
    }
}

#[test]
fn numbers_of_301_digits_have_an_exponent() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixture("simple_workspace.json");
    let mut wide = read("simple_workspace.json");
    let parameters = wide["measurements"][0]["config"]["parameters"].as_array_mut().unwrap();
    parameters.retain(|setting| setting["name"] != "mu");
    parameters.push(json!({"name": "mu", "bounds": [[0.0, 1e300]], "inits": [1e299]}));
    let wide = written(&folder, &wide);
    for (model, name, flags) in [
        (&file, "hypotest", &["--mu", "1e300"][..]),
        (&file, "fit", &["--fix", "mu=1e300"]),
        (&file, "scan", &["--start", "1e300"]),
        (&file, "upper-limit", &["--cl", "1e300"]),
        (&wide, "fit", &[]),
        (&wide, "fit", &["--asimov"]),
        (&wide, "toys", &["--n-toys", "3", "--at", "init"]),
    ] {
        let output = run(&[&[name, "-i", model.as_str()], flags].concat());
        let text = shown(&output);
        assert!(!text.contains(&"0".repeat(40)), "{name} {flags:?}: {text}");
    }
}

#[test]
fn root_files_need_uproot_and_not_an_extra_of_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.root");
    std::fs::write(&path, b"root").unwrap();
    let output = command(&["convert", "-i", path.to_str().unwrap()]).output().unwrap();
    let text = shown(&output);
    assert!(text.contains("pip install uproot awkward"), "{text}");
}
