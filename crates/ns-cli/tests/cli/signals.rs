//! Tests that signals stop the program within a second at every stage of a run. Signals that were ignored
//! when the program started must stay ignored.
#![cfg(unix)]

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{command, fixture, shown};

/// Returns a command that starts with the handling `how` (default or ignore) of SIGINT, SIGTERM and SIGHUP. The signal
/// handling of the process that runs the tests has no influence on the command.
fn hearing(args: &[&str], how: libc::sighandler_t) -> Command {
    let mut command = command(args);
    // SAFETY: between fork and exec only `signal` is called, which is safe there.
    unsafe {
        command.pre_exec(move || {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, how);
            }
            Ok(())
        });
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts a command, and interrupts this command after the time `after`. Returns its output and the time from the
/// interrupt to the end of the command.
fn interrupted(args: &[&str], after: Duration) -> (Output, Duration) {
    let child = hearing(args, libc::SIG_DFL).spawn().unwrap();
    std::thread::sleep(after);
    send(&child, "-INT");
    let sent = Instant::now();
    let output = child.wait_with_output().unwrap();
    (output, sent.elapsed())
}

/// Longest time from an interrupt to the end of the program. The program needs at most one second on an idle
/// machine. These tests run in parallel on busy machines.
const AT_MOST: Duration = Duration::from_secs(5);

#[test]
fn ignored_signals_stay_ignored() {
    for signal in ["-HUP", "-TERM", "-INT"] {
        let file = fixture("simple_workspace.json");
        let args = ["toys", "-i", &file, "--n-toys", "3000", "--threads", "1"];
        let child = hearing(&args, libc::SIG_IGN).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(150));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.status.signal()),
            (Some(0), None),
            "{signal}: {}",
            shown(&output)
        );
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["n_toys"], 3000, "{signal}");
    }
}

#[test]
fn an_interrupt_of_toys_is_obeyed_soon_and_writes_what_is_finished() {
    let file = fixture("simple_workspace.json");
    let args = ["toys", "-i", &file, "--n-toys", "100000000", "--threads", "1", "--batch", "100000000"];
    let (output, took) = interrupted(&args, Duration::from_secs(2));
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert!(took < AT_MOST, "{took:?}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["n_toys"].as_u64().unwrap() > 0, "{}", result["n_toys"]);
}

/// Returns a workspace with many parameters that have nonlinear effects on few bins. Its ranking takes
/// minutes.
fn endless_model() -> Value {
    let names: Vec<String> = (0..400).map(|i| format!("bent_{i}")).collect();
    let modifiers: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let (hi, lo) = (1.0 + 0.002 * (i % 7) as f64, 1.0 + 0.001 * (i % 5) as f64);
            serde_json::json!({"name": name, "type": "normsys", "data": {"hi": hi, "lo": lo}})
        })
        .collect();
    let mut background = modifiers.clone();
    background.push(serde_json::json!({"name": "stat", "type": "staterror", "data": vec![3.0; 60]}));
    serde_json::json!({
        "version": "1.0.0",
        "channels": [{"name": "c", "samples": [
            {"name": "s", "data": vec![5.0; 60], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "b", "data": vec![50.0; 60], "modifiers": background}]}],
        "observations": [{"name": "c", "data": (0..60).map(|i| f64::from(40 + 7 * (i % 5))).collect::<Vec<_>>()}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}]})
}

#[test]
fn a_second_interrupt_leaves_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bent.json");
    std::fs::write(&path, endless_model().to_string()).unwrap();
    let file = path.to_str().unwrap();
    let result = folder.path().join("result.json");
    let picture = folder.path().join("pulls.svg");
    let (result, picture) = (result.to_str().unwrap(), picture.to_str().unwrap());
    let args = [
        "ranking",
        "-i",
        file,
        "-o",
        result,
        "--plot",
        picture,
        "--threads",
        "1",
        "--interp-defaults",
        "piecewise",
    ];
    // The first signal may end the program before the second signal arrives. In this case both files exist.
    // No temporary file remains in either case.
    let child = hearing(&args, libc::SIG_DFL).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(20));
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
    // Before the analysis starts, the first signal ends the process. Here the process still waits for a workspace.
    let mut waiting = hearing(&["fit", "-i", "-", "-o", result], libc::SIG_DFL);
    let mut child = waiting.stdin(Stdio::piped()).spawn().unwrap();
    // Standard input stays open until the end. Otherwise the end of the input would cause another error.
    let input = child.stdin.take();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(leftovers(folder.path()).len(), 1);
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Returns the names of the temporary files in a folder.
fn leftovers(folder: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".nextstat-"))
        .collect()
}

#[test]
fn an_interrupt_of_long_fits_is_obeyed_soon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bent.json");
    std::fs::write(&path, endless_model().to_string()).unwrap();
    let file = path.to_str().unwrap();
    let cases: [&[&str]; 2] = [
        &["ranking", "-i", file, "--threads", "1", "--interp-defaults", "piecewise"],
        &["toys", "-i", file, "--n-toys", "100000", "--threads", "1", "--interp-defaults", "piecewise"],
    ];
    for args in cases {
        let (output, took) = interrupted(args, Duration::from_millis(1500));
        assert_eq!(output.status.code(), Some(130), "{args:?}: {}", shown(&output));
        assert!(took < AT_MOST, "{args:?}: {took:?}");
    }
}
