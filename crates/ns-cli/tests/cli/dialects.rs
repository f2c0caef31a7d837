//! HS3 files with several analyses, conversion of workspaces with empty bins, and workspaces without modifiers.

use serde_json::{Value, json};

use crate::{run, shown};

fn written(folder: &tempfile::TempDir, name: &str, document: &Value) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, document.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns a workspace with one channel: a signal of 3 and 4 events, and a background with these modifiers.
fn workspace(background: Value, modifiers: Value) -> Value {
    json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [3.0, 4.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": background, "modifiers": modifiers}]}],
        "observations": [{"name": "SR", "data": [1.0, 12.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    })
}

fn result(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

#[test]
fn workspaces_with_empty_bins_are_converted_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("shapesys", json!([0.0, 10.0]), json!([{"name": "u", "type": "shapesys", "data": [0.0, 1.0]}])),
        (
            "shapesys_one_off",
            json!([5.0, 10.0]),
            json!([{"name": "u", "type": "shapesys", "data": [0.0, 1.0]}]),
        ),
        (
            "shapesys_of_nothing",
            json!([0.0, 10.0]),
            json!([{"name": "u", "type": "shapesys", "data": [2.0, 1.0]}]),
        ),
        ("staterror", json!([0.0, 10.0]), json!([{"name": "stat", "type": "staterror", "data": [0.0, 1.0]}])),
        (
            "staterror_all_off",
            json!([0.0, 10.0]),
            json!([{"name": "stat", "type": "staterror", "data": [0.0, 0.0]}]),
        ),
        ("shapefactor", json!([0.0, 10.0]), json!([{"name": "f", "type": "shapefactor", "data": null}])),
    ];
    for (name, background, modifiers) in cases {
        let first = written(&folder, &format!("{name}.json"), &workspace(background, modifiers));
        let hs3 = folder.path().join(format!("{name}.hs3.json"));
        let back = folder.path().join(format!("{name}.back.json"));
        let (hs3, back) = (hs3.to_str().unwrap(), back.to_str().unwrap());
        result(&["convert", "-i", &first, "-o", hs3]);
        result(&["convert", "-i", hs3, "--to", "pyhf", "-o", back]);
        let fits = [first.as_str(), hs3, back]
            .map(|path| result(&["fit", "-i", path])["twice_nll"].as_f64().unwrap());
        assert!((fits[0] - fits[1]).abs() < 1e-9 && (fits[0] - fits[2]).abs() < 1e-9, "{name}: {fits:?}");
    }
}

#[test]
fn several_analyses_of_one_likelihood_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let axes = json!([{"name": "x", "min": 0, "max": 2, "nbins": 2}]);
    let factor = |name: &str| json!([{"name": name, "type": "normfactor"}]);
    let path = written(
        &folder,
        "two.hs3.json",
        &json!({
            "metadata": {"hs3_version": "0.2.9"},
            "distributions": [{"name": "SR", "type": "histfactory_dist", "axes": axes, "samples": [
                {"name": "a", "data": {"contents": [10, 20]}, "modifiers": factor("mu_a")},
                {"name": "b", "data": {"contents": [20, 10]}, "modifiers": factor("mu_b")}]}],
            "data": [{"name": "d", "type": "binned", "axes": axes, "contents": [31, 29]}],
            "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["d"]}],
            "analyses": [{"name": "first", "likelihood": "L", "parameters_of_interest": ["mu_a"]},
                         {"name": "second", "likelihood": "L", "parameters_of_interest": ["mu_b"]}],
        }),
    );
    let text = shown(&run(&["fit", "-i", &path]));
    assert!(
        text.contains("--analysis 'first'") && text.contains("'second' (parameter of interest 'mu_b')"),
        "{text}"
    );
    assert_eq!(result(&["fit", "-i", &path, "--analysis", "second"])["poi_index"], 1);
}

#[test]
fn workspaces_without_modifiers_are_models() {
    let folder = tempfile::tempdir().unwrap();
    let full = json!({
        "channels": [{"name": "SR", "samples": [{"name": "b", "data": [5.0, 10.0], "modifiers": []}]}],
        "observations": [{"name": "SR", "data": [6.0, 12.0]}],
        "measurements": [{"name": "m", "config": {"poi": "", "parameters": []}}],
        "version": "1.0.0",
    });
    let mut short = full.clone();
    short["channels"][0]["samples"][0].as_object_mut().unwrap().remove("modifiers");
    short["measurements"][0]["config"].as_object_mut().unwrap().remove("parameters");
    let ln_poisson = |n: f64, nu: f64, ln_factorial: f64| n * f64::ln(nu) - nu - ln_factorial;
    let right =
        -2.0 * (ln_poisson(6.0, 5.0, f64::ln(720.0)) + ln_poisson(12.0, 10.0, f64::ln(479_001_600.0)));
    for (name, document) in [("full.json", &full), ("short.json", &short)] {
        let path = written(&folder, name, document);
        let fit = result(&["fit", "-i", &path]);
        assert!((fit["twice_nll"].as_f64().unwrap() - right).abs() < 1e-9, "{fit}");
        assert_eq!((&fit["converged"], &fit["parameter_names"]), (&json!(true), &json!([])));
        assert_eq!(result(&["validate", "-i", &path])["valid"], true);
        assert_eq!(result(&["inspect", "-i", &path])["poi"], Value::Null);
        let yields = result(&["yields", "-i", &path]);
        assert_eq!(yields["channels"][0]["total"][1], 10.0, "{yields}");
        result(&["gof", "-i", &path]);
        for command in ["upper-limit", "significance", "scan", "ranking"] {
            let output = run(&[command, "-i", &path]);
            let text = shown(&output);
            assert!(!output.status.success() && text.contains("parameter of interest"), "{command}: {text}");
        }
    }
}
