//! Tests that every broken HS3 model in `tests/broken_hs3` gets exactly the messages in the snapshot.

use std::path::PathBuf;
use std::process::Command;

use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, Severity};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_broken_model_gets_its_message() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(repository().join("tests/broken_hs3"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 60, "only {} broken models", files.len());
    let mut messages = String::new();
    for path in &files {
        let text = std::fs::read(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let model = ModelSource::from_slice(&text).and_then(|source| source.model(&ModelOptions::default()));
        let message = if name.starts_with("warning_") {
            // The model can be used in spite of the problem, and has the warning.
            let warnings = model.unwrap_or_else(|e| panic!("{name} is refused: {e}")).warnings;
            assert!(!warnings.is_empty(), "{name}: nothing was found");
            warnings.join("\n")
        } else {
            let error = model.expect_err(name);
            for problem in error.problems().iter().filter(|p| p.severity == Severity::Error) {
                assert!(
                    problem.message.ends_with('.') && problem.remedy.ends_with(['.', '?']),
                    "{name}: {problem}"
                );
            }
            error.to_string()
        };
        assert!(!message.contains("  "), "{name}: two spaces in {message:?}");
        messages.push_str(&format!("== {name}\n{message}\n\n"));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn broken_models_are_what_their_script_writes() {
    let script = repository().join("scripts/make_broken_hs3.py");
    let status = Command::new("python3").arg(script).arg("--check").status().expect("python3 is needed");
    assert!(status.success(), "run scripts/make_broken_hs3.py and commit what it writes");
}
