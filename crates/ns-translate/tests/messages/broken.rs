//! Tests that every broken workspace in `tests/broken` gets exactly the messages in the snapshot.

use std::path::PathBuf;
use std::process::Command;

use ns_translate::pyhf::{ModelOptions, Workspace, validate_slice};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_broken_workspace_gets_its_message() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(repository().join("tests/broken"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 70, "only {} broken workspaces", files.len());
    let mut messages = String::new();
    for path in &files {
        let text = std::fs::read(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let model = Workspace::from_slice(&text).and_then(|w| w.model(&ModelOptions::default()));
        let report = validate_slice(&text);
        assert!(!report.problems.is_empty(), "{name}: nothing was found");
        let message = if name.starts_with("warning_") {
            // The workspace can be used in spite of the problem, and the model has the warning.
            let warnings = model.unwrap_or_else(|e| panic!("{name} is refused: {e}")).warnings;
            assert!(report.is_usable(), "{name}: {report}");
            assert_eq!(warnings.len(), report.problems.len(), "{name}");
            report.to_string()
        } else {
            assert!(!report.is_usable(), "{name} is accepted");
            model.expect_err(name).to_string()
        };
        assert!(!message.contains("  "), "{name}: two spaces in {message:?}");
        messages.push_str(&format!("== {name}\n{message}\n\n"));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn fixtures_and_broken_workspaces_are_what_their_scripts_write() {
    for script in [
        "make_fixtures.py",
        "make_lifetime_fixture.py",
        "make_straggling_fixture.py",
        "make_broken_workspaces.py",
    ] {
        let status = Command::new("python3")
            .arg(repository().join("scripts").join(script))
            .arg("--check")
            .status()
            .expect("python3 is needed to check the fixtures");
        assert!(status.success(), "run scripts/{script} and commit what it writes");
    }
}
