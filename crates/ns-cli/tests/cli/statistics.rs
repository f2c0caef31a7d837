//! Tests of `interval`, `sample`, `compatibility` and `toys --inject`: results, files, pictures and exit codes.

use std::fs;

use serde_json::Value;

use crate::{fixture, run, shown};

fn json(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = run(&[arguments, &["--format", "json"]].concat());
    let result = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
    (result, output.status.code())
}

#[test]
fn an_interval_is_saved_continued_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, file, picture) = (fixture("counting.json"), at("toys.json"), at("interval.svg"));
    let arguments = ["interval", "-i", &input, "--cl", "0.9", "--toys", "10000", "--save", &file];
    let (first, code) = json(&[&arguments[..], &["--plot", &picture]].concat());
    assert_eq!((code, &first["method"], &first["lower"]), (Some(0), &"feldman-cousins".into(), &0.0.into()));
    let (upper, error) = (first["upper"].as_f64().unwrap(), first["upper_error"].as_f64().unwrap());
    assert!((upper - 6.985).abs() < 4.0 * error, "{first}");
    assert!(fs::read_to_string(&picture).unwrap().contains("90 % by toys"));
    let there = shown(&run(&arguments));
    assert!(there.contains("--resume"), "{there}");
    let (again, _) = json(&[&arguments[..], &["--resume"]].concat());
    assert_eq!((&again["points"], &again["toys_per_s"]), (&first["points"], &Value::Null));
    let other = shown(&run(&[&arguments[..], &["--resume", "--seed", "7"]].concat()));
    assert!(other.contains("seed"), "{other}");
}

#[test]
fn a_region_is_saved_continued_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (input, file) = (fixture("two_signals.json"), at("toys.json"));
    let poi = ["--poi", "mu_ggH,mu_qqH"];
    let arguments =
        [&["region", "-i", &input, "--toys", "60", "--directions", "8", "--save", &file], &poi[..]];
    let arguments = arguments.concat();
    run(&[&arguments[..], &["--plot", &at("region.svg"), "-o", &at("region.json")]].concat());
    let first: Value = serde_json::from_slice(&fs::read(at("region.json")).unwrap()).unwrap();
    assert_eq!((&first["method"], &first["params"][1]), (&"feldman-cousins".into(), &"mu_qqH".into()));
    assert!(first["border"].as_array().unwrap().len() >= 8, "{first}");
    let picture = fs::read_to_string(at("region.svg")).unwrap();
    assert!(picture.contains("95 % by toys") && picture.contains("95 % by the chi2 law"));
    let (again, _) = json(&[&arguments[..], &["--resume"]].concat());
    assert_eq!((&again["points"], &again["toys_per_s"]), (&first["points"], &Value::Null));
    let drawn = run(&["draw", &at("region.json"), "-o", &at("again.svg")]);
    assert_eq!(drawn.status.code(), Some(0), "{}", shown(&drawn));
    assert_eq!(fs::read_to_string(at("again.svg")).unwrap(), picture);
    let (law, code) = json(&[&["region", "-i", &input], &poi[..]].concat());
    assert_eq!((code, &law["converged"], &law["points"]), (Some(0), &true.into(), &Value::Array(Vec::new())));
}

#[test]
fn too_few_toys_or_draws_end_with_exit_code_one() {
    let input = fixture("counting.json");
    let (few, code) = json(&["interval", "-i", &input, "--toys", "100"]);
    assert_eq!((code, &few["converged"]), (Some(1), &false.into()));
    let (short, code) = json(&["sample", "-i", &input, "--draws", "20", "--tune", "50"]);
    assert_eq!((code, &short["converged"]), (Some(1), &false.into()));
}

#[test]
fn wrong_flags_are_told() {
    let input = fixture("counting.json");
    for (arguments, words) in [
        (vec!["interval", "-i", &input, "--plot", "a.svg"], "add --toys N"),
        (vec!["interval", "-i", &input, "--toys", "10", "--points", "1"], "2 to 10000"),
        (vec!["region", "-i", &input], "name the second one"),
        (vec!["sample", "-i", &input, "--chains", "2000"], "1 to 1000"),
        (vec!["sample", "-i", &input, "--plot", "a.svg", "--plot-params", "nu"], "no parameter 'nu'"),
        (
            vec!["sample", "-i", &input, "--plot", "a.svg", "--plot-params", "m*", "--fix", "mu=1"],
            "no sampled parameter matches 'm*'",
        ),
        (
            vec!["sample", "-i", &input, "--plot", "a.svg", "--plot-params", "mu", "--fix", "mu=1"],
            "'mu' is not sampled",
        ),
        (vec!["compatibility", "-i", &input], "compatibility needs two channels"),
        (
            vec!["toys", "-i", &input, "--n-toys", "10", "--inject", "1", "--at", "init"],
            "cannot be used with",
        ),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(words), "{words}: {}", shown(&output));
    }
}

#[test]
fn draws_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws.parquet");
    let (input, file) = (fixture("counting.json"), path.display().to_string());
    let picture = folder.path().join("corner.svg").display().to_string();
    let (result, code) = json(&["sample", "-i", &input, "--seed", "3", "--save", &file, "--plot", &picture]);
    assert!(fs::read_to_string(&picture).unwrap().contains("95 % interval"));
    assert_eq!((code, &result["parameters"][0]["name"]), (Some(0), &"mu".into()), "{result}");
    assert!(fs::read(path).unwrap().starts_with(b"PAR1"));
    let limit = result["parameters"][0]["upper_limit"].as_f64().unwrap();
    assert!((5.0..10.0).contains(&limit), "{limit}");
}

#[test]
fn channels_and_injected_values_have_rows_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (many, picture) = (fixture("many_bins.json"), at("channels.svg"));
    let (result, code) = json(&["compatibility", "-i", &many, "--leave-out", "--plot", &picture]);
    assert_eq!((code, result["channels"].as_array().unwrap().len()), (Some(0), 2));
    assert!(fs::read_to_string(&picture).unwrap().contains("without the channel"));
    let (simple, picture) = (fixture("simple_workspace.json"), at("linearity.svg"));
    let toys = ["toys", "-i", &simple, "--n-toys", "300", "--inject", "2,4", "--plot", &picture];
    let (result, code) = json(&toys);
    assert_eq!((code, result["points"].as_array().unwrap().len()), (Some(0), 2));
    let slope = result["line"]["slope"].as_f64().unwrap();
    assert!((slope - 1.0).abs() < 4.0 * result["line"]["slope_error"].as_f64().unwrap() + 0.02, "{slope}");
    assert!(fs::read_to_string(&picture).unwrap().contains("slope"));
}

#[test]
fn a_simplified_likelihood_has_nearly_the_limits_of_the_full_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (simple, fit, made) = (fixture("simple_workspace.json"), at("cr.json"), at("made.json"));
    assert!(run(&["fit", "-i", &simple, "--mask", "SR", "-o", &fit]).status.success());
    let arguments =
        ["simplify", "-i", &simple, "--regions", "SR", "--at", &fit, "--draws", "20000", "--save", &made];
    let (result, code) = json(&arguments);
    assert_eq!((code, result["bins"].as_array().unwrap().len()), (Some(0), 4), "{result}");
    let rows = result["validation"].as_array().unwrap();
    for row in rows.iter().filter(|row| row["quantity"].as_str().unwrap().contains("limit")) {
        let ratio = row["simplified"].as_f64().unwrap() / row["full"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{row}");
    }
    let (limit, code) = json(&["upper-limit", "-i", &made]);
    let observed = rows.iter().find(|row| row["quantity"] == "observed limit").unwrap();
    assert_eq!(code, Some(0));
    let written = limit["observed"].as_f64().unwrap() / observed["simplified"].as_f64().unwrap();
    assert!((written - 1.0).abs() < 1e-6, "{limit}");
    let (linear, code) = json(&[&arguments[..], &["--linear"]].concat());
    assert_eq!((code, &linear["bins"][0]["c"]), (Some(0), &0.0.into()));
    let text = fs::read_to_string(&made).unwrap();
    assert!(text.contains("histosys") && !text.contains("function"), "{text}");
}

#[test]
fn given_results_are_combined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.toml");
    fs::write(
        &path,
        "[correlations]\nstat = 0\njes = 1\n[[results]]\nname = \"A\"\nvalue = 172.5\n\
         uncertainties = { stat = 0.4, jes = 0.6 }\n[[results]]\nname = \"B\"\nvalue = 173.1\n\
         uncertainties = { stat = 0.3, jes = 0.7 }\n",
    )
    .unwrap();
    let file = path.display().to_string();
    let (result, code) = json(&["blue", &file]);
    // Covariance 0.52, 0.42, 0.58.
    let weight = (0.58 - 0.42) / (0.52 + 0.58 - 2.0 * 0.42);
    let own = &result["combined"][0];
    assert_eq!((code, &result["n_dof"]), (Some(0), &1.into()));
    assert!((own["weights"][0].as_f64().unwrap() - weight).abs() < 1e-12, "{result}");
    let value = weight * 172.5 + (1.0 - weight) * 173.1;
    assert!((own["value"].as_f64().unwrap() - value).abs() < 1e-9, "{result}");
    let table = shown(&run(&["blue", &file, "--format", "table"]));
    assert!(table.contains("1 degree of freedom") && table.contains("jes"), "{table}");
    fs::write(&path, "[[results]]\nname = \"A\"\n").unwrap();
    let output = run(&["blue", &file]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("missing field"), "{}", shown(&output));
    fs::write(&path, "[correlations]\njes = \"full\"\n").unwrap();
    let output = run(&["blue", &file]);
    assert!(shown(&output).contains("give a number from -1 to 1"), "{}", shown(&output));
}
