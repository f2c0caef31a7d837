//! Tests of `nextstat yields`.

use serde_json::Value;

use crate::{fixture, run, shown, snapshot};

fn yields(flags: &[&str]) -> Value {
    let file = fixture("simple_workspace.json");
    let output = run(&[&["yields", "-i", &file], flags].concat());
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn tables_before_and_after_the_fit_and_per_bin() {
    let file = fixture("simple_workspace.json");
    snapshot!(shown(&run(&["yields", "-i", &file, "--format", "table"])));
    snapshot!(shown(&run(&["yields", "-i", &file, "--prefit", "--per-bin", "--format", "table"])));
}

#[test]
fn json_has_uncertainties_of_samples_and_the_data() {
    for (flags, stage) in [(&[][..], "postfit"), (&["--prefit"], "prefit"), (&["--at", "mu=2"], "given")] {
        let result = yields(flags);
        assert_eq!(result["stage"], stage);
        for channel in result["channels"].as_array().unwrap() {
            let n = channel["data"].as_array().unwrap().len();
            assert_eq!(channel["total"].as_array().unwrap().len(), n);
            let mut sum = 0.0;
            for sample in channel["samples"].as_array().unwrap() {
                assert_eq!(sample["uncertainty"].as_array().unwrap().len(), n, "{sample}");
                assert!(sample["uncertainty"].as_array().unwrap().iter().all(Value::is_number));
                assert!(sample["sum_uncertainty"].is_number());
                sum += sample["sum"].as_f64().unwrap();
            }
            assert!((sum - channel["sum"].as_f64().unwrap()).abs() < 1e-9 * sum);
        }
    }
}

#[test]
fn at_given_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let fit = path("fit.json");
    assert!(run(&["fit", "-i", &fixture("simple_workspace.json"), "-o", &fit]).status.success());
    // The result of a fit contains the covariance. The uncertainties are therefore those after the fit.
    let (after, from_file) = (yields(&[]), yields(&["--at", &fit]));
    for (a, b) in after["channels"].as_array().unwrap().iter().zip(from_file["channels"].as_array().unwrap())
    {
        for key in ["sum", "sum_uncertainty"] {
            let (x, y) = (a[key].as_f64().unwrap(), b[key].as_f64().unwrap());
            assert!((x - y).abs() < 1e-9 * x.abs(), "{key}: {x} {y}");
        }
    }
    assert_eq!(yields(&["--at", "bestfit"])["channels"], after["channels"]);
    assert_eq!(yields(&["--at", "init"])["channels"], yields(&["--prefit"])["channels"]);
    // Values by name from a file, from one flag and from several flags give the same result.
    let values = path("values.json");
    std::fs::write(&values, r#"{"mu": 2.0, "jet_scale": 0.5}"#).unwrap();
    let file = yields(&["--at", &values]);
    assert_eq!(yields(&["--at", "mu=2,jet_scale=0.5"])["channels"], file["channels"]);
    assert_eq!(yields(&["--at", "mu=2", "--at", "jet_scale=0.5"])["channels"], file["channels"]);
    let signal = |result: &Value| {
        let channels = result["channels"].as_array().unwrap();
        let mut samples = channels.iter().flat_map(|c| c["samples"].as_array().unwrap());
        samples.find(|s| s["signal"] == true).unwrap()["sum"].as_f64().unwrap()
    };
    assert!((signal(&yields(&["--at", "mu=2"])) - 2.0 * signal(&yields(&["--at", "mu=1"]))).abs() < 1e-9);
}

#[test]
fn wrong_points_are_told() {
    let file = fixture("simple_workspace.json");
    for at in [
        &["--at", "mu=x"][..],
        &["--at", "nothing=1"],
        &["--at", "mu=1,jet_scale"],
        &["--at", "no.json"],
        &["--at", "init", "--at", "mu=1"],
        &["--prefit", "--at", "mu=1"],
        &["--at", "mu=1,mu=2"],
    ] {
        let output = run(&[&["yields", "-i", &file], at].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", shown(&output));
        snapshot!(String::from_utf8(output.stderr).unwrap());
    }
}
