//! Tests that messages name the true cause of an error and a remedy.

use std::fs;

use serde_json::{Value, json};

use crate::{fixture, run};

fn simple() -> Value {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(fixture("simple_workspace.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Runs a command on a workspace. Returns the text that the command writes to standard error, and its exit code.
fn told(workspace: &Value, command: &[&str]) -> (String, i32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workspace.json");
    fs::write(&path, workspace.to_string()).unwrap();
    let (name, flags) = command.split_first().unwrap();
    let output = run(&[&[*name, "-i", path.to_str().unwrap()], flags].concat());
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

#[test]
fn a_huge_observation_is_named_and_no_constraint() {
    for observed in [1e307, 1.7e308] {
        let mut workspace = simple();
        workspace["observations"][0]["data"][0] = json!(observed);
        let (text, code) = told(&workspace, &["fit"]);
        assert_eq!(code, 1, "{text}");
        assert!(
            text.contains("bin 0 of channel 'SR' expects") && text.contains("correct the observation"),
            "{text}"
        );
        assert!(!text.contains("constraint") && text.len() < 400, "{text}");
    }
}

#[test]
fn negative_expectations_are_not_called_counts() {
    let mut workspace = simple();
    for sample in workspace["channels"][0]["samples"].as_array_mut().unwrap() {
        sample["data"][0] = json!(-50.0);
    }
    workspace["observations"][0]["data"][0] = json!(0.0);
    for (command, purpose) in [
        (&["fit", "--asimov", "1"][..], "the Asimov set cannot be made"),
        (&["toys", "--n-toys", "5", "--at", "init"][..], "toys cannot be drawn"),
        (&["gof", "--toys", "5"][..], "toys cannot be drawn"),
    ] {
        let (text, code) = told(&workspace, command);
        assert_eq!(code, 2, "{command:?}: {text}");
        assert!(
            text.contains(purpose) && text.contains("bin 0 of channel 'SR' expects -"),
            "{command:?}: {text}"
        );
        assert!(
            text.contains("check for negative yields") && !text.contains("counts"),
            "{command:?}: {text}"
        );
    }
}

#[test]
fn packed_input_is_named_by_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workspace.json");
    for (magic, name) in [
        (&b"\xFD7zXZ\x00\x00\x04\xe6\xd6"[..], "xz"),
        (b"BZh91AY&SY\xff\xfe", "bzip2"),
        (b"\x28\xB5\x2F\xFD\x04\x58\xff", "Zstandard"),
        (b"\x04\x22\x4D\x18\x64\xff", "LZ4"),
        (b"7z\xBC\xAF\x27\x1C\x00\x04", "7-Zip"),
    ] {
        fs::write(&path, magic).unwrap();
        let output = run(&["fit", "-i", path.to_str().unwrap()]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(name) && text.contains("Unpack it") && !text.contains("Latin"), "{text}");
    }
}

#[test]
fn files_that_cannot_be_made_are_told_in_the_words_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    // The folder does not exist. Its name is nearly as long as the system allows.
    let path = folder.path().join("x".repeat(250)).join("result.json");
    let output = run(&["fit", "-i", &fixture("simple_workspace.json"), "-o", path.to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("cannot write") && text.contains("does not exist"), "{text}");
    #[cfg(target_os = "linux")]
    for path in ["/proc/nextstat/result.json", "/proc/result.json"] {
        for flags in [["-o", path].to_vec(), ["--plot", "/proc/picture.svg"].to_vec()] {
            let output = run(&[&["fit", "-i", "tests/fixtures/simple_workspace.json"], &flags[..]].concat());
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.contains("cannot write /proc/"), "{text}");
            assert!(!text.contains("uncategorized") && !text.contains("entity not found"), "{text}");
            assert!(text.contains("os error") || text.contains("does not exist"), "{text}");
        }
    }
}

#[test]
fn names_that_do_not_exist_come_with_those_that_do() {
    let (text, code) = told(&simple(), &["fit", "--fix", "jet_scael=1"]);
    assert_eq!(code, 2);
    assert!(text.contains("did you mean 'jet_scale'? `nextstat inspect` lists all"), "{text}");
    let (text, _) = told(&simple(), &["fit", "--fix", "nobody=1"]);
    assert!(
        text.contains("its parameters are 'jet_scale', 'lumi',") && text.contains("and 7 more"),
        "{text}"
    );
}
