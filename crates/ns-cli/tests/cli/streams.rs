//! Tests input and output of commands through files and pipes, and the interrupt of a command that waits for
//! input.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::{command, fixture, run, run_with, shown};

#[test]
fn standard_input_is_a_file_like_any_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json");
    let text = fs::read_to_string(path).unwrap();
    let piped = run_with(&["inspect", "-i", "-", "--format", "table"], &text);
    let named = run(&["inspect", "-i", &fixture("simple_workspace.json"), "--format", "table"]);
    assert_eq!(shown(&piped), shown(&named));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = command(&["inspect", "-i", &fixture("many_bins.json")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn an_output_file_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let name = path.to_str().unwrap();
    fs::write(&path, "old").unwrap();
    let failed = run_with(&["fit", "-i", "-", "-o", name], "{}");
    assert_eq!(failed.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    let done = run(&["inspect", "-i", &fixture("simple_workspace.json"), "-o", name]);
    assert!(done.status.success() && done.stdout.is_empty());
    assert!(fs::read_to_string(&path).unwrap().starts_with('{'));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file was left");
}

/// Regression test: an output once overwrote the workspace, saved toys, or another output with the same path.
#[test]
fn no_output_takes_the_place_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (workspace, toys, same) = (place("workspace.json"), place("toys.parquet"), place("same.svg"));
    let also = place("./same.svg");
    let original = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json");
    fs::copy(original, &workspace).unwrap();
    let input = ["-i", &workspace];
    let drawn = ["hypotest-toys", "-i", &workspace, "--mu", "1", "--n-toys", "4"];
    let saved = run(&[&drawn[..], &["--save", &toys]].concat());
    assert!(saved.status.success(), "{}", shown(&saved));
    let before = fs::read(&toys).unwrap();
    let cases: [(&[&str], &[&str], &str); 9] = [
        (&["fit"], &["-o", &same, "--covariance", &also], "--output and --covariance both name"),
        (&["fit"], &["--plot", &same, "--covariance", &also], "--covariance and --plot both name"),
        (&["scan"], &["-o", &same, "--plot", &also], "--output and --plot both name"),
        (&["fit"], &["-o", &workspace], "--input and --output both name"),
        (&["fit"], &["--covariance", &workspace], "--input and --covariance both name"),
        (&["ranking"], &["-o", &workspace], "--input and --output both name"),
        (&["toys", "--n-toys", "4"], &["-o", &same, "--save", &also], "--output and --save both name"),
        (&drawn[..1], &["--mu", "1", "--n-toys", "4", "-o", &same, "--save", &also], "--output and --save"),
        (&["merge-toys", &toys], &["-o", &toys], "FILE and --output both name"),
    ];
    for (command, flags, said) in cases {
        let input: &[&str] = if command[0] == "merge-toys" { &[] } else { &input };
        let output = run(&[command, input, flags].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?} {flags:?}: {}", shown(&output));
        assert!(shown(&output).contains(said), "{command:?} {flags:?}: {}", shown(&output));
    }
    assert_eq!(fs::read(&toys).unwrap(), before);
    assert_eq!(fs::read(&workspace).unwrap(), fs::read(original).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else was written");
}

#[test]
fn a_parameter_with_commas_in_its_name_can_be_asked_for() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json");
    let text = fs::read_to_string(path).unwrap().replace("jet_scale", "jet, scale");
    let fit = run_with(&["fit", "-i", "-", "--minos", "jet, scale", "--minos", "mu,lumi"], &text);
    assert!(fit.status.success(), "{}", shown(&fit));
    let fit: serde_json::Value = serde_json::from_slice(&fit.stdout).unwrap();
    let mut asked: Vec<&String> = fit["minos"].as_object().unwrap().keys().collect();
    asked.sort();
    assert_eq!(asked, ["jet, scale", "lumi", "mu"]);
    let study = run_with(&["toys", "-i", "-", "--n-toys", "3", "--params", "jet, scale"], &text);
    assert!(study.status.success(), "{}", shown(&study));
    let study: serde_json::Value = serde_json::from_slice(&study.stdout).unwrap();
    let studied = study["parameters"].as_array().unwrap();
    assert_eq!((studied.len(), &studied[0]["name"]), (1, &"jet, scale".into()));
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_work() {
    let output = run(&["fit", "-i", "no/such/file.json", "-o", "no/such/folder/result.json"]);
    assert_eq!(output.status.code(), Some(2));
    let said = "cannot write no/such/folder/result.json: the folder no/such/folder does not exist; check";
    assert!(shown(&output).contains(said), "{}", shown(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_without_a_wrong_remedy() {
    let output = run(&["inspect", "-i", &fixture("simple_workspace.json"), "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    let said = shown(&output);
    assert!(said.contains("cannot write /dev/full: No space left"), "{said}");
    assert!(!said.contains("check the path"), "{said}");
}

#[test]
fn quiet_keeps_warnings_to_the_result() {
    let file = fixture("empty_poi.json");
    let loud = run(&["fit", "-i", &file]);
    let quiet = run(&["fit", "-i", &file, "--quiet"]);
    assert!(String::from_utf8_lossy(&loud.stderr).starts_with("warning: "), "{}", shown(&loud));
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", shown(&quiet));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_in_130() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let mut command = command(&["fit", "-i", "-"]);
    // If a shell starts these tests in the background with interrupts ignored, child processes ignore them too.
    // SAFETY: between fork and exec only `signal` is called, which is safe there.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    // The command waits for standard input. Nothing is finished and nothing is written.
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    // `wait` closes standard input, and the command must not see the end of its input before the signal.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let status = child.wait().unwrap();
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status:?}");
}
