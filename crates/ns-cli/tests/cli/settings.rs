//! Tests the file `nextstat.toml`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::{command, fixture, shown};

/// Runs a command in a folder with a file of settings.
fn run_with_settings(settings: &str, args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nextstat.toml"), settings).unwrap();
    fs::copy(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(fixture("simple_workspace.json")),
        folder.path().join("ws.json"),
    )
    .unwrap();
    command(args).current_dir(folder.path()).env_remove("NEXTSTAT_CONFIG").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const LISTS: &str =
    "[all]\nsearch = \"local\"\nthreads = 1\n\n[fit]\ninput = \"ws.json\"\nminos = [\"mu\", \"lumi\"]\n";

#[test]
fn its_values_are_used_and_said() {
    let output = run_with_settings(LISTS, &["fit"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["minos"].as_object().unwrap().len(), 2);
    assert!(
        said(&output)
            .contains("settings: --search local --threads 1 --input ws.json --minos mu,lumi (nextstat.toml)"),
        "{}",
        said(&output)
    );
    let output = run_with_settings(LISTS, &["fit", "--quiet"]);
    assert_eq!(said(&output), "");
}

#[test]
fn flags_of_the_command_line_and_of_the_command_have_priority() {
    let output = run_with_settings(LISTS, &["fit", "ws.json", "--minos", "lumi"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["minos"]["lumi"].is_object());
    assert!(!said(&output).contains("--minos"), "{}", said(&output));
    let settings = "[all]\nsearch = \"local\"\n[fit]\nsearch = \"thorough\"\n";
    assert!(
        said(&run_with_settings(settings, &["fit", "ws.json"])).contains("settings: --search thorough (")
    );
    assert!(said(&run_with_settings(settings, &["gof", "ws.json"])).contains("settings: --search local ("));
}

#[test]
fn switches_are_true_or_false() {
    let settings = "[all]\nquiet = true\n[fit]\nderive = [\"x = 2*mu\"]\n";
    let output = run_with_settings(settings, &["fit", "ws.json"]);
    assert_eq!(said(&output), "");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["derived"][0]["name"], "x");
}

/// Settings that would be errors on the command line, with a command that they do not apply to.
#[test]
fn what_does_not_apply_to_a_run_is_ignored() {
    for (settings, args) in [
        ("[all]\nplot-log = true\nplot-ratio = \"0.5:1.5\"\n", &["fit", "ws.json"] as &[&str]),
        ("[fit]\nplot-components = \"lines\"\nplot-threshold = 0.5\n", &["fit", "ws.json"]),
        ("[fit]\nplot-style = \"nowhere.toml\"\nplot-include = [\"mu\"]\n", &["fit", "ws.json"]),
        ("[yields]\nplot-log = true\n", &["yields", "ws.json"]),
        ("[gof]\nplot = \"toys.svg\"\nplot-log = true\nbins = 5\n", &["gof", "ws.json"]),
        ("[interval]\nplot = \"p.svg\"\n", &["interval", "ws.json"]),
        ("[all]\nformat = \"hepdata\"\n", &["significance", "ws.json"]),
        ("[hypotest]\ntoys = 10\n", &["hypotest", "ws.json", "--mu", "1"]),
        ("[hypotest]\ntest-stat = \"q\"\nexpected-set = true\n", &["hypotest", "ws.json", "--mu", "mu=1"]),
        ("[upper-limit]\nexpected = true\n", &["upper-limit", "ws.json", "--observed"]),
        ("[all]\nverbose = true\n", &["fit", "ws.json", "--quiet"]),
    ] {
        let output = run_with_settings(settings, args);
        assert_eq!(output.status.code(), Some(0), "{settings}{args:?}: {}", shown(&output));
        assert!(!said(&output).contains("settings:"), "{settings}{args:?}: {}", said(&output));
    }
    let used = "[all]\nthreads = 1\nplot-log = true\n[gof]\ntoys = 20\n";
    let output = run_with_settings(used, &["gof", "ws.json", "--plot", "toys.svg"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(said(&output).contains("--plot-log"), "{}", said(&output));
    let output = run_with_settings(used, &["gof", "ws.json"]);
    let said = said(&output);
    assert!(said.contains("--threads 1") && said.contains("--toys 20"), "{said}");
    assert!(!said.contains("--plot-log"), "{said}");
}

#[test]
fn a_flag_of_the_command_line_that_does_not_apply_stays_an_error() {
    let output = run_with_settings("[fit]\nplot-ratio = \"0:2\"\n", &["fit", "ws.json", "--plot-log"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(said(&output).contains("--plot-log changes the picture of events: add"), "{}", said(&output));
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    for (settings, message) in [
        ("[fits]\nsearch = \"local\"\n", "nextstat.toml: [fits] is no command; known are all, fit, scan"),
        (
            "[fit]\nserach = \"local\"\n",
            "nextstat.toml: [fit] serach: `nextstat fit` has no such flag; its --help lists all",
        ),
        ("[all]\nserach = 1\n", "nextstat.toml: [all] serach: no command has this flag"),
        (
            "search = \"local\"\n",
            "nextstat.toml: 'search' stands outside of a table; write it below [all] or a command",
        ),
        (
            "[fit]\nsearch = 1979-05-27\n",
            "[fit] search: expected a text, a number, true, false, or a list of these",
        ),
        ("[fit]\nsearch = \"deep\"\n", "invalid value 'deep' for '--search <HOW>'"),
        ("[fit\n", "nextstat.toml: TOML parse error at line 1, column 5"),
    ] {
        let output = run_with_settings(settings, &["fit", "ws.json"]);
        assert_eq!(output.status.code(), Some(2), "{settings}: {}", shown(&output));
        assert!(said(&output).contains(message), "{settings}: {}", said(&output));
    }
}

#[test]
fn a_value_that_a_flag_does_not_take_is_shown_with_its_file() {
    let output = run_with_settings("[fit]\nquiet = \"yes\"\n", &["fit", "ws.json"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let said = said(&output);
    assert!(
        said.contains("settings: --quiet yes (nextstat.toml)\nerror: invalid value 'yes' for '--quiet'"),
        "{said}"
    );
}

#[test]
fn another_file_can_be_named_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "[fit]\nsearch = \"local\"\n").unwrap();
    let run = |name: &Path| {
        command(&["fit", &fixture("simple_workspace.json")]).env("NEXTSTAT_CONFIG", name).output().unwrap()
    };
    assert!(said(&run(&file)).contains("settings: --search local ("));
    assert!(!said(&run(Path::new(""))).contains("settings"));
    let missing = run(&folder.path().join("other.toml"));
    assert_eq!(missing.status.code(), Some(2), "{}", shown(&missing));
    assert!(said(&missing).contains("other.toml: cannot be read"), "{}", said(&missing));
}
