//! Tests of `nextstat devices`, and of runs on devices that are not available.

use serde_json::Value;

use crate::{fixture, has_cuda, run, shown, snapshot};

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_missing_has_a_reason_and_a_remedy() {
    let value = json(&["devices"]);
    assert_eq!(value["device"], "cpu");
    let devices = value["devices"].as_array().unwrap();
    assert!(devices.iter().any(|d| d["name"] == "cpu" && d["available"] == true));
    for device in devices {
        let missing = device["available"] == false;
        assert_eq!(device["reason"].is_string() && device["remedy"].is_string(), missing, "{device}");
        let gpu = device["name"].as_str().unwrap().starts_with("cuda:");
        for key in ["memory", "capability", "driver"] {
            assert_eq!(device[key].is_null(), !gpu, "{device}");
        }
    }
}

#[test]
fn table_and_wrong_usage() {
    let table = shown(&run(&["devices", "--format", "table"]));
    assert!(table.starts_with("exit 0") && table.contains("cpu      yes"), "{table}");
    snapshot!(shown(&run(&["devices", "--input", "x"])));
    snapshot!(shown(&run(&["devices", "--explain"])));
    snapshot!(shown(&run(&["devices", "--explain", "-i", "no/such/file.json"])));
}

#[test]
fn without_a_gpu_the_table_says_what_to_do() {
    if !has_cuda() {
        snapshot!(
            shown(&run(&["devices", "--format", "table"]))
                .lines()
                .filter(|line| !line.starts_with(" cpu"))
                .collect::<Vec<_>>()
                .join("\n")
        );
    }
}

#[test]
fn without_a_gpu_cuda_is_exit_three() {
    if has_cuda() {
        return;
    }
    let input = fixture("simple_workspace.json");
    let refused = shown(&run(&["fit", "-i", &input, "--device", "cuda"]));
    snapshot!(refused.clone());
    // Other spellings of the flag and other commands print the same message.
    for args in [
        &["fit", "-i", &input, "--gpu", "cuda"][..],
        &["scan", "-i", &input, "--device", "cuda"],
        &["ranking", "-i", &input, "--gpu", "cuda"],
        &["hypotest", "-i", &input, "--mu", "1", "--gpu", "cuda"],
        &["hypotest-toys", "-i", &input, "--mu", "1", "--n-toys", "10", "--device", "cuda:0"],
        &["toys", "-i", &input, "--n-toys", "10", "--device", "cuda"],
        &["upper-limit", "-i", &input, "--device", "cuda"],
        &["significance", "-i", &input, "--device", "cuda"],
        &["gof", "-i", &input, "--device", "cuda"],
    ] {
        assert_eq!(shown(&run(args)), refused, "{args:?}");
    }
    // `cuda:all` without any GPU is the same error.
    let all = shown(&run(&["fit", "-i", &input, "--device", "cuda:all"]));
    assert_eq!(all.replace("cuda:all", "cuda:0"), refused);
}

#[test]
fn a_memory_limit_changes_no_number_and_refuses_what_does_not_fit() {
    let input = fixture("simple_workspace.json");
    let fit = |more: &[&str]| {
        let fixed = ["toys", "-i", &input, "--n-toys", "300", "--device", "cpu", "--seed", "3"];
        run(&[&fixed, more].concat())
    };
    let numbers = |output: &std::process::Output| -> Value {
        let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["wall_s"].take();
        value["toys_per_s"].take();
        value
    };
    let (free, limited) = (fit(&["--threads", "2"]), fit(&["--threads", "2", "--memory", "1M"]));
    assert!(free.status.success() && limited.status.success(), "{}", shown(&limited));
    assert_eq!(numbers(&free), numbers(&limited));
    let refused = shown(&fit(&["--threads", "64", "--memory", "100K"]));
    assert!(refused.starts_with("exit 1") && refused.contains("memory limit is 102400"), "{refused}");
    let wrong = shown(&fit(&["--memory", "much"]));
    assert!(wrong.starts_with("exit 2") && wrong.contains("such as 2000000000, 500M or 1.5G"), "{wrong}");
}

#[test]
fn auto_runs_and_says_why_it_chose() {
    let input = fixture("simple_workspace.json");
    let fit = json(&["fit", "-i", &input]);
    assert_eq!(fit["device"], "cpu");
    assert!(
        fit["device_reason"].as_str().unwrap().starts_with("one fit: about "),
        "{}",
        fit["device_reason"]
    );
    assert_eq!(fit["gpu_check"], Value::Null);
    let toys = json(&["hypotest-toys", "-i", &input, "--mu", "1", "--n-toys", "50", "--shard", "1/5"]);
    assert!(
        toys["device_reason"].as_str().unwrap().starts_with("20 toys: about "),
        "{}",
        toys["device_reason"]
    );
    // With a named device `auto` makes no choice, so there is no reason to report.
    assert_eq!(json(&["fit", "-i", &input, "--device", "cpu"])["device_reason"], Value::Null);
}

#[test]
fn explain_predicts_a_time_for_each_kind_of_job() {
    let value = json(&["devices", "--explain", "-i", &fixture("all_modifiers.json"), "--threads", "4"]);
    assert_eq!(value["threads"], 4);
    assert_eq!(value["model"]["n_parameters"], 13);
    let choices = value["choices"].as_array().unwrap();
    let jobs: Vec<&str> = choices.iter().map(|c| c["job"].as_str().unwrap()).collect();
    assert_eq!(jobs, ["one fit", "a scan of 101 points", "a ranking", "1000 toys", "100000 toys"]);
    for choice in choices {
        assert!(choice["cpu_s"].as_f64().unwrap() > 0.0);
        let gpu = choice["gpu_s"].as_f64();
        let better = gpu.is_some_and(|gpu| gpu < choice["cpu_s"].as_f64().unwrap());
        assert_eq!(choice["device"].as_str().unwrap().starts_with("cuda"), better, "{choice}");
    }
    assert_eq!(choices[0]["device"], "cpu");
    assert!(choices[4]["cpu_s"].as_f64().unwrap() > 10.0 * choices[3]["cpu_s"].as_f64().unwrap());
    assert!(value["model"]["toy_s"].as_f64().unwrap() > 0.0, "the time of a toy is measured");
}

#[test]
fn explain_for_people() {
    if !has_cuda() {
        let input = fixture("all_modifiers.json");
        let explained = run(&["devices", "--explain", "-i", &input, "--threads", "4", "--format", "table"]);
        let text = shown(&explained);
        let at = text.find("predicted times").unwrap();
        // The times are measured, and differ from run to run.
        let constant = |line: &str| match line.find(" cpu ").or(line.find(": about ")) {
            Some(at) => format!("{} ...", line[..at].trim_end()),
            // The columns are as wide as the times.
            None if line.starts_with(['─', '═']) => line.chars().take(1).collect(),
            None => {
                let line = line.split(", and a fit of a toy").next().unwrap_or(line);
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        };
        let lines: Vec<String> = text[at..].lines().map(constant).collect();
        snapshot!(lines.join("\n"));
    }
}
