//! Tests output files if their folder disappears, if the disk is full, if they replace existing files and links, or if
//! standard output is closed.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::Value;

use crate::{command, fixture, run, shown};

fn simple() -> String {
    fixture("simple_workspace.json")
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_finds_no_room_goes_to_standard_output() {
    let output = run(&["fit", "-i", &simple(), "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["converged"], true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write /dev/full: No space left"), "{said}");
    assert!(said.contains("the result is on standard output instead"), "{said}");
}

#[test]
fn a_result_whose_folder_vanished_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later").join("result.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    // While the command waits for its input, the folder is removed.
    let mut child = command(&["fit", "-i", "-", "-o", path.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while fs::read_dir(path.parent().unwrap()).unwrap().next().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let text =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json")).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["converged"], true);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("on standard output instead"),
        "{}",
        shown(&output)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_covariance_that_finds_no_room_does_not_take_the_result_with_it() {
    let output = run(&["fit", "-i", &simple(), "--covariance", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["converged"], true);
}

#[test]
fn an_existing_file_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    for mode in [0o600, 0o640, 0o664] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = run(&["inspect", "-i", &simple(), "-o", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", shown(&output));
        assert!(fs::read_to_string(&path).unwrap().starts_with('{'));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn links_stay_links() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    symlink("real.json", &link).unwrap();
    // In the first pass the target does not exist yet, in the second it does.
    for _ in 0..2 {
        let output = run(&["inspect", "-i", &simple(), "-o", link.to_str().unwrap()]);
        assert!(output.status.success(), "{}", shown(&output));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().starts_with('{'));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_a_failure() {
    let program = assert_cmd::cargo::cargo_bin!("nextstat");
    let closed = |rest: &str| {
        let line = format!("'{}' {rest} >&-", program.display());
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        Command::new("sh").args(["-c", &line]).current_dir(root).output().unwrap()
    };
    let output = closed(&format!("fit -i {}", simple()));
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: cannot write standard output: it is closed"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    // If the result goes to a file, standard output is not needed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = closed(&format!("fit -i {} -o {}", simple(), path.display()));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(path.exists());
}
