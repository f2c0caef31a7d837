//! Tests of `nextstat hypotest-toys`, `toys`, `merge-toys`, `gof --toys` and `upper-limit --toys`.

use serde_json::Value;

use crate::{fixture, run, shown, shown_json, snapshot};

fn simple(command: &str, args: &[&str]) -> std::process::Output {
    run(&[&[command, "-i", &fixture("simple_workspace.json")], args].concat())
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hypotest_toys_table_and_json() {
    let args = ["--mu", "2", "--n-toys", "500", "--seed", "3", "--expected-set"];
    snapshot!(shown(&simple("hypotest-toys", &[&args[..], &["--format", "table"]].concat())));
    snapshot!(shown_json(&simple("hypotest-toys", &args)));
}

#[test]
fn hypotest_toys_of_a_discovery() {
    snapshot!(shown(&simple(
        "hypotest-toys",
        &["--mu", "0", "--test-stat", "q0", "--n-toys", "300", "--format", "table"]
    )));
}

#[test]
fn a_study_of_toys_drawn_from_a_given_expectation() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let study = |from: &[&str]| json(&simple("toys", &[&["--n-toys", "400", "--seed", "2"], from].concat()));
    // The expected yields at a point give the same toys as the point itself. The generated values agree up to
    // rounding, because they come from a fit to these yields.
    let yields = json(&simple("yields", &["--prefit"]));
    std::fs::write(path("yields.json"), yields.to_string()).unwrap();
    let bins: Vec<Value> = yields["channels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|channel| channel["total"].as_array().unwrap().clone())
        .collect();
    std::fs::write(path("bins.json"), Value::from(bins.clone()).to_string()).unwrap();
    let (of_yields, of_bins) =
        (study(&["--expected", &path("yields.json")]), study(&["--expected", &path("bins.json")]));
    assert_eq!(of_yields["parameters"], of_bins["parameters"]);
    let of_point = study(&["--at", "init"]);
    let (some, others) =
        (of_yields["parameters"].as_array().unwrap(), of_point["parameters"].as_array().unwrap());
    assert_eq!(some.len(), others.len());
    for (one, other) in some.iter().zip(others) {
        for key in ["generated", "mean", "spread", "coverage"] {
            let (a, b) = (one[key].as_f64().unwrap(), other[key].as_f64().unwrap());
            assert!((a - b).abs() < 1e-3, "{key} of {}: {a} and {b}", one["name"]);
        }
    }
    // The doubled expected events in every bin differ from the expected yields at the initial parameters.
    let twice: Vec<f64> = bins.iter().map(|x| 2.0 * x.as_f64().unwrap()).collect();
    std::fs::write(path("twice.json"), Value::from(twice).to_string()).unwrap();
    let of_twice = study(&["--expected", &path("twice.json")]);
    let norm = |result: &Value| {
        let all = result["parameters"].as_array().unwrap();
        all.iter().find(|p| p["name"] == "background_norm").unwrap()["generated"].as_f64().unwrap()
    };
    assert!((norm(&of_twice) - 2.0).abs() < 0.01, "{}", norm(&of_twice));
    // Two saved shards, merged, give the same numbers.
    for shard in ["1/2", "2/2"] {
        let file = path(&format!("{}.parquet", &shard[..1]));
        study(&["--expected", &path("twice.json"), "--shard", shard, "--save", &file]);
    }
    let merged = json(&run(&["merge-toys", &path("1.parquet"), &path("2.parquet")]));
    assert_eq!(merged["parameters"], of_twice["parameters"]);
    // For a wrong file the message says what is wrong.
    std::fs::write(path("short.json"), "[1, 2]").unwrap();
    std::fs::write(path("negative.json"), "[-1, 1, 1, 1, 1, 1, 1]").unwrap();
    for (file, said) in [
        ("short.json", "it has 2 numbers, but the model has 7 bins (18 with auxiliary data)"),
        ("negative.json", "expected main data[0] expects -1 events"),
        ("none.json", "cannot be read"),
    ] {
        let output = simple("toys", &["--n-toys", "4", "--expected", &path(file)]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(said), "{said} in {}", shown(&output));
    }
    let both = simple("toys", &["--n-toys", "4", "--expected", &path("bins.json"), "--at", "init"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn toys_and_asymptotic_formulae_agree() {
    let toys = json(&simple("hypotest-toys", &["--mu", "2", "--n-toys", "2000", "--seed", "1"]));
    let formula = json(&simple("hypotest", &["--mu", "2"]));
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
    assert!((of(&toys, "cls") - of(&formula, "cls")).abs() < 5.0 * of(&toys, "cls_error"));
    assert!((of(&toys, "q_obs") - of(&formula, "q_obs")).abs() < 1e-8);
}

#[test]
fn a_shard_tells_its_own_counts() {
    let part = json(&simple("hypotest-toys", &["--mu", "2", "--n-toys", "100", "--shard", "2/3", "--quiet"]));
    assert_eq!((&part["n_toys"]["b"], &part["n_toys"]["sb"]), (&33.into(), &33.into()));
    assert_eq!(part["shard"], "2/3");
    assert!(part["warnings"].to_string().contains("of shard 2/3 alone"), "{}", part["warnings"]);
}

#[test]
fn a_study_of_parameters() {
    let args = ["--n-toys", "400", "--seed", "6"];
    snapshot!(shown(&simple("toys", &[&args[..], &["--format", "table"]].concat())));
    snapshot!(shown_json(&simple("toys", &[&args[..], &["--params", "mu", "--at", "init"]].concat())));
}

#[test]
fn a_study_at_a_point_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("point.json");
    std::fs::write(&path, r#"{"mu": 3.5}"#).unwrap();
    let study = json(&simple("toys", &["--n-toys", "50", "--at", path.to_str().unwrap(), "--params", "mu"]));
    assert_eq!(study["parameters"][0]["generated"], 3.5);
    assert!((study["parameters"][0]["mean"].as_f64().unwrap() - 3.5).abs() < 1.0);
}

#[test]
fn goodness_of_fit_with_toys() {
    snapshot!(shown(&simple("gof", &["--toys", "300", "--seed", "2", "--format", "table"])));
    let value = json(&simple("gof", &["--toys", "300", "--seed", "2"]));
    assert_eq!(value["toys"]["n_toys"], 300);
    assert!(value["p_value_toys"].as_f64().unwrap() > 0.0);
}

#[test]
fn upper_limit_with_toys() {
    snapshot!(shown(&simple(
        "upper-limit",
        &["--toys", "300", "--seed", "2", "--observed", "--format", "table"]
    )));
    let all = json(&simple("upper-limit", &["--toys", "100", "--quiet"]));
    assert_eq!(all["expected"].as_array().unwrap().len(), 5);
    assert!(all["observed_error"].as_f64().unwrap() > 0.0);
}

/// Numbers of toys may be written as 1e5. Regression test: a negative number was once reported as an unknown
/// flag.
#[test]
fn whole_numbers_may_have_powers_of_ten_and_no_sign() {
    let counts = |n: &str| {
        let value = json(&simple("hypotest-toys", &["--mu", "1", "--n-toys", n, "--seed", "1e1"]));
        (value["n_toys"].clone(), value["cls"].clone(), value["seed"].clone())
    };
    let written_out = counts("200");
    assert_eq!((&written_out.0["b"], &written_out.2), (&Value::from(200), &Value::from(10)));
    assert_eq!(counts("2e2"), written_out);
    for (command, flag, value) in [
        ("toys", "--n-toys", "1.5"),
        ("hypotest-toys", "--n-toys", "many"),
        ("gof", "--toys", "-1"),
        ("upper-limit", "--toys", "1e400"),
        ("fit", "--seed", "-1"),
    ] {
        let output = simple(command, &[flag, value]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let wrong = format!("invalid value '{value}' for '{flag} <N>': give a whole number from 0 on");
        assert!(said.contains(&wrong), "{said}");
    }
}

#[test]
fn wrong_questions() {
    let background = fixture("background_only.json");
    let file = fixture("simple_workspace.json");
    for args in [
        &["hypotest-toys", "-i", &file, "--mu", "1"][..],
        &["hypotest-toys", "-i", &file, "--mu", "1", "--n-toys", "0"],
        &["hypotest-toys", "-i", &file, "--mu", "nan", "--n-toys", "10"],
        &["hypotest-toys", "-i", &file, "--mu", "1", "--n-toys", "10", "--shard", "4/3"],
        &["hypotest-toys", "-i", &file, "--mu", "1", "--n-toys", "10", "--resume"],
        &["hypotest-toys", "-i", &file, "--mu", "1", "--n-toys", "10", "--save", "no/such/toys.parquet"],
        &["hypotest-toys", "-i", &background, "--mu", "1", "--n-toys", "10"],
        &["toys", "-i", &file, "--n-toys", "10", "--params", "muu"],
        &["toys", "-i", &file, "--n-toys", "10", "--at", "no/such/point.json"],
        &["toys", "-i", &file, "--n-toys", "10", "--save", "toys.parquet", "--save-every", "-1"],
        &["merge-toys"],
        &["merge-toys", "no/such/toys.parquet"],
        &["merge-toys", &file],
        &["gof", "-i", &file, "--toys", "0"],
        &["upper-limit", "-i", &file, "--toys", "10", "--test-stat", "q0"],
        &["upper-limit", "-i", &file, "--toys", "10", "--expected"],
    ] {
        let output = run(args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", shown(&output));
        snapshot!(String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn help_is_a_manual() {
    for command in ["hypotest-toys", "merge-toys", "toys"] {
        let help = shown(&run(&[command, "--help"]));
        let about = match command {
            "hypotest-toys" => "Toys are drawn at the conditional best fits",
            "toys" => "Bias is the mean of the fitted values",
            _ => "Files of `hypotest-toys --save` give CLs",
        };
        for words in [format!("Usage: nextstat {command}"), "-o, --output <FILE>".into(), about.into()] {
            assert!(help.contains(&words), "{command}: no '{words}' in\n{help}");
        }
    }
}
