//! Tests malicious or broken input: names with control characters, endless files, and numbers near the
//! largest f64.

use std::process::Command;

use serde_json::{Value, json};

use crate::{command, fixture, run, run_with, shown};

/// A name with a colour code, a bell, a switch of the writing direction, an invisible character, and a line
/// that looks like an error message.
const EVIL: &str = "a\u{1b}[31m\u{7}\u{202e}b\u{200b}\nerror: all is lost";

/// The escaped form of [`EVIL`], which is safe in a terminal.
const SAFE: &str = "a\\u{1b}[31m\\u{7}\\u{202e}b\\u{200b}\\u{a}error: all is lost";

fn workspace(systematic: &str, yields: f64, effect: f64) -> Value {
    json!({
        "version": "1.0.0",
        "channels": [{"name": systematic, "samples": [
            {"name": "s", "data": [5.0, yields],
             "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": systematic, "data": [50.0, yields], "modifiers": [
                {"name": systematic, "type": "normsys", "data": {"hi": effect, "lo": 1.0 / effect}},
                {"name": "h", "type": "histosys", "data": {"hi_data": [51.0, yields], "lo_data": [49.0, yields * 0.9]}},
                {"name": "stat", "type": "staterror", "data": [1.0, yields / 10.0]}]}]}],
        "observations": [{"name": systematic, "data": [52.0, yields]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}]})
}

#[test]
fn names_cannot_steer_a_terminal() {
    let text = workspace(EVIL, 30.0, 1.1).to_string();
    let acts = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{200b}".contains(c));
    for args in [
        &["fit", "-i", "-", "--format", "table"][..],
        &["inspect", "-i", "-", "--format", "table"],
        &["ranking", "-i", "-", "--format", "table"],
        &["prune", "-i", "-", "--channel", "no such", "--quiet"],
        &["fit", "-i", "-", "--fix", "no such=1"],
        &["prune", "-i", "-", "--modifier", "h"],
    ] {
        let output = run_with(args, &text);
        // A workspace, the output of `prune`, contains the name itself, as JSON escapes it.
        let streams =
            if args[0] == "prune" { vec![&output.stderr] } else { vec![&output.stdout, &output.stderr] };
        for stream in streams {
            let said = String::from_utf8_lossy(stream);
            assert!(!said.chars().any(acts), "{args:?}: {said:?}");
        }
        if args[0] != "prune" && args.contains(&"table") {
            assert!(shown(&output).contains(SAFE), "{args:?}: {}", shown(&output));
        }
    }
    // The message about an invalid file contains the name too.
    let twice =
        text.replacen("\"observations\":[", "\"observations\":[{\"name\":\"x\\u001b\",\"data\":[1.0]},", 1);
    for args in [["fit", "-i", "-", "--format", "table"], ["validate", "-i", "-", "--format", "table"]] {
        let output = run_with(&args, &twice.replace("\"type\":\"normsys\"", "\"type\":\"norm\\u001bsys\""));
        assert!(!shown(&output).chars().any(acts), "{:?}", shown(&output));
        assert!(shown(&output).contains("\\u{1b}"), "{}", shown(&output));
    }
    let json: Value = serde_json::from_slice(&run_with(&["fit", "-i", "-"], &text).stdout).unwrap();
    assert!(json["parameter_names"].as_array().unwrap().contains(&EVIL.into()));
    let letters = "Größe_信号_σ";
    let output =
        run_with(&["fit", "-i", "-", "--format", "table"], &workspace(letters, 30.0, 1.1).to_string());
    assert!(shown(&output).contains(letters), "{}", shown(&output));
}

#[cfg(unix)]
#[test]
fn endless_input_stops_at_a_limit() {
    let output = run(&["fit", "-i", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/dev/zero is longer than 1 GiB"), "{said}");
}

/// Regression test: yields and factors near the largest f64 once ended in a panic.
#[test]
fn numbers_beyond_all_bounds_are_no_panic() {
    for (yields, effect) in
        [(1e308, 1.1), (1e308, 1e200), (100.0, 1e200), (1e200, 1e200), (1e300, 1e10), (1e-308, 1e-200)]
    {
        let text = workspace("a", yields, effect).to_string();
        for command in [
            &["fit"][..],
            // The searches are those of the other commands, and take long here.
            &["scan", "--start", "0", "--stop", "2", "--points", "3", "--search", "local"],
            &["hypotest", "--mu", "1"],
            &["upper-limit", "--search", "local"],
            &["significance"],
            &["gof"],
            &["ranking"],
            &["toys", "--n-toys", "3"],
        ] {
            let output = run_with(&[command, &["-i", "-"]].concat(), &text);
            let code = output.status.code();
            assert!(matches!(code, Some(0..=2)), "{command:?} with {yields}, {effect}: {}", shown(&output));
            assert!(
                !shown(&output).contains("internal error"),
                "{command:?} with {yields}, {effect}: {}",
                shown(&output)
            );
        }
    }
}

#[test]
fn more_toys_than_there_are_random_numbers_is_an_error() {
    let file = fixture("simple_workspace.json");
    for n in ["18446744073709551615", "9223372036854775808", "1e15"] {
        for command in
            [&["hypotest-toys", "--mu", "1", "--n-toys"][..], &["toys", "--n-toys"], &["gof", "--toys"]]
        {
            let output = run(&[command, &[n, "-i", &file]].concat());
            assert_eq!(output.status.code(), Some(2), "{command:?} {n}: {}", shown(&output));
            assert!(shown(&output).contains("toys cannot be run"), "{command:?} {n}: {}", shown(&output));
        }
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_is_an_error_that_asks_for_a_report() {
    let mut command = command(&["fit", "-i", &fixture("simple_workspace.json")]);
    let output = command.env("NEXTSTAT_TEST_PANIC", "1").env_remove("RUST_BACKTRACE").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: internal error in nextstat"), "{said}");
    assert!(said.contains("a panic that a test asked for (") && said.contains("please report it"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// The program must run even if the shell's stack limit is small. It works on a thread whose stack size does
/// not depend on this limit.
#[cfg(target_os = "linux")]
#[test]
fn a_tiny_stack_is_enough() {
    let program = assert_cmd::cargo::cargo_bin!("nextstat");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let limited = |rest: &str| {
        let line = format!("ulimit -s 64; exec '{}' {rest}", program.display());
        Command::new("sh").args(["-c", &line]).env_clear().current_dir(root).output().unwrap()
    };
    let output = limited(&format!("fit -i {}", fixture("simple_workspace.json")));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.json");
    std::fs::write(&path, "[".repeat(1_000_000)).unwrap();
    let output = limited(&format!("fit -i {}", path.display()));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}

#[test]
fn a_parameter_has_one_value() {
    let file = fixture("simple_workspace.json");
    let output = run(&["fit", "-i", &file, "--fix", "mu=1", "--fix", "lumi=1", "--fix", "mu=2"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("--fix holds mu at 1 and at 2"), "{}", shown(&output));
    let output = run(&["fit", "-i", &file, "--fix", "mu=1", "--fix", "mu=1.0"]);
    assert!(output.status.success(), "{}", shown(&output));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("start.json");
    std::fs::write(&path, r#"{"mu": 1, "lumi": 1, "mu": 2}"#).unwrap();
    let start = path.to_str().unwrap();
    let output = run(&["fit", "-i", &file, "--init", start]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("mu has the values 1 and 2"), "{}", shown(&output));
    let output = run(&["fit", "-i", &file, "--init", start, "--init", start]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}
