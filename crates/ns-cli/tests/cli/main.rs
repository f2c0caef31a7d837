//! Tests of the `nextstat` program as its users see it: output, messages and exit codes, many as snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod axes_kept;
mod cards;
mod converted;
mod correlations;
mod devices;
mod dialects;
mod documentation;
mod documents;
mod edit;
mod event_toys;
mod fit;
mod formats;
mod functions;
mod grid;
mod hostile;
mod hypotest;
mod inspect;
mod messages;
mod newcomer;
mod outputs;
mod plots;
mod pois;
mod ranking;
mod remedies;
mod report;
mod scan;
mod selftest;
mod settings;
mod signals;
mod spellings;
mod spurious;
mod statistics;
mod streams;
mod styles;
mod toy_files;
mod toys;
mod unfold;
mod validate;
mod written;
mod yields;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Returns the path of one of the repository's test workspaces, relative to the folder that commands run in.
pub(crate) fn fixture(name: &str) -> String {
    format!("tests/fixtures/{name}")
}

/// Returns a command that runs in the root of the repository. Messages then show short paths.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("nextstat"));
    command.args(args).current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

/// Runs the program to its end. Standard input is empty.
pub(crate) fn run(args: &[&str]) -> Output {
    command(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs the program to its end with a text as standard input.
pub(crate) fn run_with(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child =
        command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns exit code, standard output and standard error in one text.
pub(crate) fn shown(output: &Output) -> String {
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().map_or_else(|| "none".to_owned(), |code| code.to_string()),
        String::from_utf8(output.stdout.clone()).unwrap(),
        String::from_utf8(output.stderr.clone()).unwrap(),
    )
}

/// Returns the same text as [`shown`], but numbers of the JSON are rounded to digits that are the same on every CPU,
/// and values that differ from run to run are left out.
pub(crate) fn shown_json(output: &Output) -> String {
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (key, shape) in [
        ("wall_s", "[seconds]"),
        ("edm", "[edm]"),
        ("n_iter", "[iterations]"),
        ("n_search_iter", "[iterations]"),
    ] {
        if value.get(key).is_some_and(Value::is_number) {
            value[key] = shape.into();
        }
    }
    // Predicted times depend on the number of cores.
    if value.get("device_reason").is_some_and(Value::is_string) {
        value["device_reason"] = "[reason]".into();
    }
    round(&mut value);
    format!(
        "exit {}\n--- stdout\n{}\n--- stderr\n{}",
        output.status.code().unwrap(),
        serde_json::to_string_pretty(&value).unwrap(),
        String::from_utf8(output.stderr.clone()).unwrap(),
    )
}

/// Rounds all numbers to five significant digits, and numbers below 1e-7 in magnitude to zero. Replaces the
/// rate of toys, `toys_per_s`, by a fixed text.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let x = number.as_f64().unwrap();
            let x = if x.abs() < 1e-7 { 0.0 } else { format!("{x:.4e}").parse().unwrap() };
            *value = Value::from(x);
        }
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(map) => {
            if let Some(rate) = map.get_mut("toys_per_s").filter(|rate| rate.is_number()) {
                *rate = "[rate]".into();
            }
            map.values_mut().for_each(round);
        }
        _ => {}
    }
}

/// Returns whether this machine and this build can use a CUDA GPU. If so, the messages about a missing GPU
/// cannot be tested.
pub(crate) fn has_cuda() -> bool {
    let value: Value = serde_json::from_slice(&run(&["devices"]).stdout).unwrap();
    let there = value["devices"]
        .as_array()
        .unwrap()
        .iter()
        .any(|d| d["name"].as_str().unwrap().starts_with("cuda") && d["available"] == true);
    if there {
        eprintln!("SKIPPED: this machine has a CUDA GPU; what is said without one is not compared");
    }
    there
}

/// Compares a text with its snapshot, after replacing parts that differ between runs and machines.
macro_rules! snapshot {
    ($text:expr) => {{
        let text: String = $text.into();
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        // Builds with and without CUDA give different reasons why there is no GPU.
        if cfg!(feature = "cuda") && text.contains("CUDA") {
            settings.set_snapshot_suffix("cuda");
        }
        settings.add_filter(r"distance to the minimum \d\.\de-\d+", "distance to the minimum [edm]");
        settings.add_filter(
            r"\d+ iterations?( and \d+ in search of lower minima)?, \d+\.\d ms",
            "[iterations]$1, [time]",
        );
        settings.add_filter(r"and \d+ in search", "and [iterations] in search");
        settings.add_filter(r"\d+\.\d ms on ", "[time] on ");
        settings.add_filter(r"\d+ toys/s", "[rate] toys/s");
        settings.add_filter(r"\b[0-9a-f]{64}\b", "[digest]");
        settings.add_filter(r"\(os error \d+\)", "(os error)");
        settings.add_filter(r"\x1b\[[0-9;]*m", "");
        settings.bind(|| insta::assert_snapshot!(text));
    }};
}
pub(crate) use snapshot;
