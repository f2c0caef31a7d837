//! Tests of datacards as input.

use serde_json::Value;

use crate::{fixture, run, shown};

fn json(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn card(name: &str) -> String {
    fixture(&format!("cards/{name}"))
}

#[test]
fn cards_are_fitted_with_the_flags_of_combine() {
    let counting = card("counting.txt");
    let fit = json(&["fit", "-i", &counting, "--minos", "r"]);
    assert_eq!(fit["parameter_names"][0], "r");
    assert_eq!(fit["converged"], true);

    let maps = [".*/ggH:r_ggH[1,0,20]", ".*/qqH:r_qqH[1,0,20]"];
    let fit = json(&["fit", "-i", &counting, "--map", maps[0], "--map", maps[1]]);
    assert_eq!((&fit["parameter_names"][0], &fit["parameter_names"][1]), (&"r_ggH".into(), &"r_qqH".into()));

    let masked = json(&["inspect", "-i", &counting, "--mask", "dijet"]);
    let kept = json(&["inspect", "-i", &counting, "--channels", "incl"]);
    assert_eq!(masked["channels"].as_array().unwrap().len(), 1);
    assert_eq!(masked["parameters"], kept["parameters"]);

    let limit = json(&["upper-limit", "-i", &card("shapes.txt")]);
    assert!(limit["observed"].as_f64().unwrap() > 0.0);
}

#[test]
fn cards_are_combined() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("card.txt").display().to_string();
    let (shapes, counting) =
        (format!("sr={}", card("shapes.txt")), format!("others={}", card("counting.txt")));
    let output = run(&["combine", &shapes, &counting, "--output", &whole]);
    assert!(output.status.success(), "{}", shown(&output));
    let found = json(&["inspect", "-i", &whole]);
    let names: Vec<&str> =
        found["channels"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["others_dijet", "others_incl", "sr"]);
    let fit = json(&["fit", "-i", &whole]);
    assert_eq!(fit["converged"], true);
    // Without --output, files are named as seen from the current folder.
    let printed = run(&["combine", &shapes, &counting]);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("shapes * sr "), "{}", shown(&printed));
}

#[test]
fn wrong_uses_of_cards_say_what_to_do() {
    let counting = card("counting.txt");
    let workspace = fixture("simple_workspace.json");
    for (args, said) in [
        (vec!["fit", "-i", &workspace, "--mass", "125"], "--mass was given, but the input is no datacard."),
        (
            vec!["fit", "-i", &counting, "--patch", &workspace],
            "A patch was given, but the input is a datacard.",
        ),
        (vec!["fit", "-i", &counting, "--measurement", "m"], "a datacard has no measurements."),
        (vec!["fit", "-i", &counting, "--normsys-code", "code4"], "whose codes are those of Combine."),
        (vec!["fit", "-i", &counting, "--interp-defaults", "piecewise"], "whose codes are those of Combine."),
        (vec!["fit", "-i", &counting, "--mask", "dijets"], "Did you mean 'dijet'?"),
        (
            vec!["fit", "-i", &counting, "--map", "ggH:r"],
            "a pattern has no slash between channel and process.",
        ),
        (vec!["combine", &counting, &workspace], "is a datacard, and others of the files are not"),
        (vec!["combine", &counting, &counting, "--join", "outer"], "are for workspaces; leave them out"),
        (
            vec!["combine", &format!("a={counting}"), &format!("a={counting}")],
            "Two channels would have the name",
        ),
    ] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(shown(&output).contains(said), "{args:?}: {}", shown(&output));
    }
}

#[test]
fn commands_that_work_on_workspaces_send_cards_to_convert() {
    let counting = card("counting.txt");
    for command in [["prune", "-i"], ["digest", "-i"], ["sort", "-i"]] {
        let flags: &[&str] = if command[0] == "prune" { &["--channel", "dijet"] } else { &[] };
        let output = run(&[&command[..], &[&counting], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains("nextstat convert -i card.txt --to pyhf"), "{}", shown(&output));
    }
}
