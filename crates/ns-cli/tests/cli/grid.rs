//! Tests of `upper-limit --patchset`: rows, files that continue a run, failures, and pictures.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{fixture, run, shown, snapshot};

/// Runs `upper-limit` on the background and the patchset of the fixtures.
fn grid(more: &[&str]) -> std::process::Output {
    let (background, patchset) = (fixture("background_only.json"), fixture("patchset.json"));
    run(&[&["upper-limit", "-i", &background, "--patchset", &patchset], more].concat())
}

fn rows(output: &std::process::Output) -> Vec<Value> {
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(output)));
    result["rows"].as_array().unwrap().clone()
}

/// Returns rows without the times they took.
fn timeless(mut rows: Vec<Value>) -> Vec<Value> {
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("wall_s");
        row.as_object_mut().unwrap().remove("patch_digest");
    }
    rows
}

#[test]
fn rows_are_the_limits_of_the_single_patches() {
    let output = grid(&["--threads", "2"]);
    assert!(output.status.success(), "{}", shown(&output));
    let all = rows(&output);
    assert_eq!(all.len(), 3);
    for row in &all {
        let patch = format!("{}:{}", fixture("patchset.json"), row["name"].as_str().unwrap());
        let background = fixture("background_only.json");
        let single = run(&["upper-limit", "-i", &background, "--patch", &patch, "--threads", "1"]);
        let single: Value = serde_json::from_slice(&single.stdout).unwrap();
        for key in ["param", "observed", "expected", "mu_hat", "cls_at_limit", "n_evaluations", "warnings"] {
            assert_eq!(row["result"][key], single[key], "{key}");
        }
    }
    assert_eq!(timeless(rows(&grid(&["--threads", "1"]))), timeless(all));
}

#[test]
fn one_row_per_signal_in_every_format() {
    snapshot!(shown(&grid(&["--format", "csv"])));
    snapshot!(shown(&grid(&["--format", "latex", "--observed", "--names", "gluino_1?00_*", "--cl", "0.9"])));
    let table = String::from_utf8(grid(&["--format", "table"]).stdout).unwrap();
    assert!(table.contains("3 of 3 points done") && table.contains("gluino_1800_600"), "{table}");
}

#[test]
fn signals_are_chosen_by_name_or_by_values() {
    let names = |more: &[&str]| -> Vec<String> {
        rows(&grid(more)).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--names", "*_400"]), ["gluino_1600_400"]);
    assert_eq!(
        names(&["--names", "1800,*", "--names", "gluino_1400_200"]),
        ["gluino_1400_200", "gluino_1800_600"]
    );
    snapshot!(shown(&grid(&["--names", "squark*"])));
}

#[test]
fn a_saved_grid_continues_with_the_signals_that_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.json");
    let file = path.to_str().unwrap();
    let first = grid(&["--names", "*_400", "--save", file]);
    assert!(first.status.success(), "{}", shown(&first));
    let saved = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    // A number that the second run would not find, to see that it does not look for it.
    let text = fs::read_to_string(&path).unwrap();
    let observed = rows(&first)[0]["result"]["observed"].to_string();
    fs::write(&path, text.replace(&observed, "1234.5")).unwrap();

    let all = grid(&["--save", file, "--resume"]);
    assert!(all.status.success(), "{}", shown(&all));
    let limits: Vec<Value> = rows(&all).iter().map(|row| row["result"]["observed"].clone()).collect();
    assert_eq!(limits[1], json!(1234.5));
    assert!(limits[0].is_number() && limits[2].is_number());
    assert_eq!(saved(&path)["rows"].as_array().unwrap().len(), 3);
    let table = grid(&["--save", file, "--resume", "--format", "table"]);
    assert!(
        String::from_utf8_lossy(&table.stdout).contains("3 points from an earlier run"),
        "{}",
        shown(&table)
    );
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["grid.json"], "nothing else is left");
}

#[test]
fn a_saved_grid_of_another_run_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.json");
    let file = path.to_str().unwrap();
    assert!(grid(&["--names", "*_400", "--save", file]).status.success());
    let kept = fs::read(&path).unwrap();
    for (flags, word) in [
        (&["--save", file][..], "--resume"),
        (&["--save", file, "--resume", "--cl", "0.9"], "cl is 0.95 there and 0.9 here"),
        (&["--save", file, "--resume", "--fix", "lumi=1"], "fit is "),
        (&["--resume"], "--save"),
    ] {
        let output = grid(flags);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{word}: {}", shown(&output));
    }
    assert_eq!(fs::read(&path).unwrap(), kept, "the file stays as it is");
    for other in ["{}", "not JSON", r#"{"kind": "upper-limit grid", "format": 2}"#] {
        fs::write(&path, other).unwrap();
        let output = grid(&["--save", file, "--resume"]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains("grid"), "{}", shown(&output));
    }
}

#[test]
fn a_signal_that_fails_is_a_row_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("patchset.json");
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture("patchset.json")),
    );
    let mut set: Value = serde_json::from_str(&text.unwrap()).unwrap();
    set["patches"][1]["patch"][0]["path"] = json!("/channels/7/samples/0");
    set["patches"][2]["patch"][0]["value"]["data"] = json!([1.0, 2.0, 3.0]);
    fs::write(&path, set.to_string()).unwrap();
    let background = fixture("background_only.json");
    let output = run(&["upper-limit", "-i", &background, "--patchset", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let all = rows(&output);
    let statuses: Vec<&str> = all.iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["done", "failed", "failed"]);
    assert!(all[1]["reason"].as_str().unwrap().contains("/channels/7/samples/0"), "{}", all[1]["reason"]);
    assert!(all[1]["result"].is_null());
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warnings.contains("2 of 3 points failed"), "{warnings}");
    let table =
        run(&["upper-limit", "-i", &background, "--patchset", path.to_str().unwrap(), "--format", "table"]);
    assert!(
        String::from_utf8_lossy(&table.stdout).contains("1 of 3 points done, 2 failed"),
        "{}",
        shown(&table)
    );
}

#[test]
fn limits_are_drawn_against_a_label_or_in_the_plane_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grid.svg");
    let file = path.to_str().unwrap();
    for (labels, words) in [
        (&[][..], ["95 % upper limit on mu_sig", "observed, excludes up to"]),
        (&["--plot-labels", "m_lsp"], ["m_lsp", "observed, excludes up to"]),
        (&["--plot-labels", "m_gluino,m_lsp"], ["m_lsp", "observed 95 %: no line"]),
    ] {
        let output = grid(&[&["--plot", file], labels].concat());
        assert!(output.status.success(), "{}", shown(&output));
        let svg = fs::read_to_string(&path).unwrap();
        for word in words {
            assert!(svg.contains(word), "{word}");
        }
        fs::remove_file(&path).unwrap();
    }
    for (labels, word) in [("m_squark", "m_gluino, m_lsp"), ("m_lsp,m_gluino,m_lsp", "3 labels")] {
        let output = grid(&["--plot", file, "--plot-labels", labels]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{}", shown(&output));
        assert!(output.stdout.is_empty() && !path.exists(), "found before the analysis");
    }
}

#[test]
fn wrong_inputs_of_a_grid_are_named() {
    let simple = fixture("simple_workspace.json");
    let patchset = fixture("patchset.json");
    let card = fixture("cards/counting.txt");
    for arguments in [
        &["upper-limit", "-i", &simple, "--patchset", &patchset][..],
        &["upper-limit", "-i", &simple, "--patchset", &simple],
        &["upper-limit", "-i", "-", "--patchset", "-"],
        &["upper-limit", "-i", &simple, "--patchset", &patchset, "--toys", "10"],
        &["upper-limit", "-i", &simple, "--names", "a"],
        &["upper-limit", "-i", &simple, "--patchset", &patchset, "--mass", "125"],
        &["upper-limit", "-i", &card, "--patchset", &patchset],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        snapshot!(String::from_utf8_lossy(&output.stderr));
    }
}
