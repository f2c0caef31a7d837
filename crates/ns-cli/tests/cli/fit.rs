//! Tests of `nextstat fit`.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, run_with, shown, shown_json, snapshot};

fn fit(args: &[&str]) -> std::process::Output {
    run(&[&["fit", "-i", &fixture("simple_workspace.json")], args].concat())
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn table() {
    snapshot!(shown(&fit(&["--format", "table"])));
}

#[test]
fn json_in_a_pipe() {
    snapshot!(shown_json(&fit(&[])));
}

#[test]
fn a_search_looks_further_than_a_lesser_one_and_never_ends_above_it() {
    let nonlinear = fixture("strongly_bent.json");
    let of = |search: &str| {
        let found = json(&run(&["fit", "-i", &nonlinear, "--search", search]));
        (found["n_search_iter"].as_u64().unwrap(), found["twice_nll"].as_f64().unwrap())
    };
    let (local, standard, thorough) = (of("local"), of("standard"), of("thorough"));
    assert!(local.0 < standard.0 && standard.0 < thorough.0, "{local:?} {standard:?} {thorough:?}");
    assert!(standard.1 <= local.1 && thorough.1 <= standard.1, "{local:?} {standard:?} {thorough:?}");
    let wrong = shown(&fit(&["--search", "harder"]));
    assert!(
        wrong.starts_with("exit 2") && wrong.contains("use \"local\", \"standard\" or \"thorough\""),
        "{wrong}"
    );
}

#[test]
fn a_file_without_its_flag_gets_a_remedy() {
    let refused = shown(&run(&["fit", "--threads", "1", &fixture("simple_workspace.json")]));
    assert!(
        refused.starts_with("exit 2") && refused.contains("'--input' or '-i' before the file"),
        "{refused}"
    );
}

#[test]
fn fixed_parameters_and_minos() {
    let all = fixture("all_modifiers.json");
    let first = json(&run(&["fit", "-i", &all]));
    let free: Vec<&str> = first["parameter_names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .filter(|n| !first["fixed"].as_array().unwrap().iter().any(|f| f == n))
        .collect();
    let fix = format!(
        "{}=0.9",
        first["parameter_names"][first["poi_index"].as_u64().unwrap() as usize].as_str().unwrap()
    );
    let other = free.iter().find(|n| !fix.starts_with(*n)).unwrap();
    let second = json(&run(&["fit", "-i", &all, "--fix", &fix, "--minos", other]));
    let poi = second["poi_index"].as_u64().unwrap() as usize;
    assert_eq!(second["bestfit"][poi], 0.9);
    assert_eq!(second["uncertainties"][poi], Value::Null);
    assert!(second["twice_nll"].as_f64().unwrap() > first["twice_nll"].as_f64().unwrap());
    assert!(second["minos"][other]["upper"].as_f64().unwrap() > 0.0);
    assert!(second["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("fixed")));
}

#[test]
fn asimov_data_give_back_the_value_they_were_made_with() {
    for (args, mu) in [(&["--asimov", "1.7"][..], 1.7), (&["--asimov", "0"], 0.0), (&["--asimov"], 1.0)] {
        let result = json(&fit(args));
        let poi = result["poi_index"].as_u64().unwrap() as usize;
        let found = result["bestfit"][poi].as_f64().unwrap();
        assert!((found - mu).abs() < 1e-5, "{found} is not {mu}");
    }
}

#[test]
fn start_values_in_three_forms() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (result, list, named) = (path("result.json"), path("list.json"), path("named.json"));
    let first = fit(&["-o", &result]);
    assert!(first.status.success() && first.stdout.is_empty());
    let value: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    fs::write(&list, value["bestfit"].to_string()).unwrap();
    let name = value["parameter_names"][0].as_str().unwrap();
    fs::write(&named, format!("{{\"{name}\": {}}}", value["bestfit"][0])).unwrap();
    for init in [&result, &list, &named] {
        let again = json(&fit(&["--init", init]));
        let shift = again["twice_nll"].as_f64().unwrap() - value["twice_nll"].as_f64().unwrap();
        assert!(shift.abs() < 1e-9, "{shift}");
    }
    fs::write(&named, "{\"nobody\": 1}").unwrap();
    let wrong = fit(&["--init", &named]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(shown(&wrong).contains("no parameter 'nobody'"), "{}", shown(&wrong));
}

#[test]
fn the_covariance_file_is_the_matrix_of_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("covariance.json");
    let result = json(&fit(&["--covariance", path.to_str().unwrap()]));
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(file["covariance"], result["covariance"]);
    assert_eq!(file["parameter_names"], result["parameter_names"]);
    for (i, sigma) in result["uncertainties"].as_array().unwrap().iter().enumerate() {
        if let Some(sigma) = sigma.as_f64() {
            let variance = file["covariance"][i][i].as_f64().unwrap();
            assert!((variance.sqrt() / sigma - 1.0).abs() < 1e-12);
        }
    }
}

/// Returns a workspace with 501 free parameters, too many for the covariance to be in the result.
fn wide() -> String {
    let n = 501;
    let counts = vec!["10.0"; n].join(",");
    format!(
        r#"{{"channels":[{{"name":"SR","samples":[{{"name":"b","data":[{counts}],"modifiers":[
           {{"name":"free","type":"shapefactor","data":null}}]}}]}}],
           "observations":[{{"name":"SR","data":[{counts}]}}],
           "measurements":[{{"name":"m","config":{{"poi":"","parameters":[]}}}}],"version":"1.0.0"}}"#
    )
}

#[test]
fn a_large_covariance_is_only_written_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("covariance.json");
    let plain = json(&run_with(&["fit", "-i", "-"], &wide()));
    assert_eq!(plain["covariance"], Value::Null);
    let said = |v: &Value, text: &str| v["warnings"].to_string().contains(text);
    assert!(said(&plain, "--covariance FILE"), "{}", plain["warnings"]);
    let asked = json(&run_with(&["fit", "-i", "-", "--covariance", path.to_str().unwrap()], &wide()));
    assert!(asked["covariance"].is_null() && said(&asked, "covariance.json"));
    let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let variance = file["covariance"][500][500].as_f64().unwrap();
    assert!((variance - 0.1).abs() < 1e-9, "{variance}");
}

#[test]
fn interpolation_codes_and_their_older_spellings() {
    let codes = |args: &[&str]| json(&fit(args))["interpolation"].clone();
    assert_eq!(codes(&["--interp-defaults", "root"]), "smooth (normsys code4, histosys code4p)");
    assert_eq!(codes(&["--interp-defaults", "pyhf"]), "piecewise (normsys code1, histosys code0)");
    assert_eq!(codes(&["--histosys-code", "2"]), "mixed (normsys code4, histosys code2)");
    assert_eq!(codes(&["--normsys-code", "code1"]), "mixed (normsys code1, histosys code4p)");
    assert_eq!(codes(&["--normsys-code", "code0"]), "mixed (normsys code0, histosys code4p)");
    assert_eq!(codes(&["--normsys-code", "6"]), "mixed (normsys code6, histosys code4p)");
}

#[test]
fn a_bound_is_told_with_its_crossings() {
    // There are fewer events than expected background, so the best fit of the signal strength is at its lower
    // bound.
    let text = r#"{"channels":[{"name":"SR","samples":[
        {"name":"signal","data":[10.0],"modifiers":[{"name":"mu","type":"normfactor","data":null}]},
        {"name":"background","data":[50.0],"modifiers":[{"name":"bkg","type":"normsys","data":{"lo":0.9,"hi":1.1}}]}]}],
        "observations":[{"name":"SR","data":[30.0]}],
        "measurements":[{"name":"m","config":{"poi":"mu","parameters":[]}}],"version":"1.0.0"}"#;
    snapshot!(shown_json(&run_with(&["fit", "-i", "-"], text)));
    snapshot!(shown(&run_with(&["fit", "-i", "-", "--format", "table"], text)));
}

#[test]
fn patches_and_patchsets() {
    let base = fixture("background_only.json");
    let set = fixture("patchset.json");
    let text: Value = serde_json::from_slice(
        &fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/patchset.json")).unwrap(),
    )
    .unwrap();
    let name = text["patches"][0]["metadata"]["name"].as_str().unwrap();
    let patched = run(&["fit", "-i", &base, "--patch", &format!("{set}:{name}")]);
    assert!(json(&patched)["poi_index"].is_u64());
    let missing = run(&["fit", "-i", &base, "--patch", &format!("{set}:nobody")]);
    snapshot!(shown(&missing));
}

#[test]
fn wrong_usage_and_missing_devices() {
    snapshot!(shown(&fit(&["--gpu", "metal"])));
    snapshot!(shown(&fit(&["--device", "abacus"])));
    snapshot!(shown(&fit(&["--fix", "mu"])));
    snapshot!(shown(&fit(&["--fix", "nu=1"])));
    snapshot!(shown(&fit(&["--minos", "nobody"])));
    snapshot!(shown(&fit(&["--measurement", "nobody"])));
    snapshot!(shown(&run(&["fit", "-i", "no/such/file.json"])));
    snapshot!(shown(&run_with(&["fit", "-i", "-"], "{\"channels\": [}")));
}

#[test]
fn a_likelihood_that_is_not_finite_ends_in_one_with_the_place() {
    // The first bin has observed events, but its expected yield is zero for all parameter values.
    let text = r#"{"channels":[{"name":"SR","samples":[
        {"name":"background","data":[0.0, 5.0],"modifiers":[{"name":"mu","type":"normfactor","data":null}]}]}],
        "observations":[{"name":"SR","data":[3.0, 5.0]}],
        "measurements":[{"name":"m","config":{"poi":"mu","parameters":[]}}],"version":"1.0.0"}"#;
    snapshot!(shown(&run_with(&["fit", "-i", "-"], text)));
}

#[test]
fn functions_of_parameters_are_derived_with_their_uncertainties() {
    let abcd = fixture("abcd.json");
    let quantity = ["--derive", "background = n_B*n_C/n_D", "--derive", "half = background/2"];
    let output = run(&[&["fit", "-i", &abcd, "--derive-profile"], &quantity[..]].concat());
    assert!(output.status.success(), "{}", shown(&output));
    let fit: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [background, half] = &fit["derived"].as_array().unwrap()[..] else { panic!("{}", fit["derived"]) };
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
    assert_eq!((&background["name"], &half["expression"]), (&"background".into(), &"background/2".into()));
    assert!((number(background, "value") - 2.0 * number(half, "value")).abs() < 1e-9);
    assert!((number(background, "uncertainty") - 2.0 * number(half, "uncertainty")).abs() < 1e-9);
    assert!(number(&background["interval"], "upper") > -number(&background["interval"], "lower"));

    for (wrong, said) in [
        ("background", "expected NAME = EXPRESSION"),
        ("r = n_B/", "the derived quantity 'r': the expression 'n_B/' is wrong at character 5"),
        ("mu = n_B", "a parameter has its name"),
        ("r = n_E", "the model has no parameter 'n_E'"),
    ] {
        let output = run(&["fit", "-i", &abcd, "--derive", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", shown(&output));
        assert!(shown(&output).contains(said), "{wrong}: {}", shown(&output));
    }
}

#[test]
fn the_parameter_of_interest_is_chosen_by_name() {
    let eft = fixture("eft.json");
    let output = run(&["upper-limit", "-i", &eft, "--poi", "cW", "--format", "json"]);
    assert!(output.status.success(), "{}", shown(&output));
    let output = run(&["fit", "-i", &eft, "--poi", "cX"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("Did you mean 'c"), "{}", shown(&output));
}
