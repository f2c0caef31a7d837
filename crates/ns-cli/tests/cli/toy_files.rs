//! Tests that files of toys do not depend on what happens to the runs that write them: kills, interrupts,
//! shards, and numbers of threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use ns_inference::toys::ToyRow;
use ns_inference::toys::store::{StoreError, ToySet};
use serde_json::Value;

use crate::{command, fixture, run, shown, snapshot};

const N_TOYS: &str = "6000";

/// Returns the arguments of a run that takes some seconds and is saved in many pieces.
fn arguments(path: &Path, more: &[&str]) -> Vec<String> {
    let input = fixture("simple_workspace.json");
    let mut list =
        ["hypotest-toys", "-i", &input, "--mu", "1.5", "--n-toys", N_TOYS, "--seed", "11", "--quiet"]
            .map(str::to_owned)
            .to_vec();
    list.extend(["--batch", "100", "--save-every", "0", "--save"].map(str::to_owned));
    list.push(path.display().to_string());
    list.extend(more.iter().map(|text| (*text).to_owned()));
    list
}

fn started(path: &Path, more: &[&str]) -> Child {
    let args = arguments(path, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    command(&args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finished(path: &Path, more: &[&str]) -> Value {
    let output = started(path, more).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the JSON result `value` without the values that may differ from run to run.
fn answer(mut value: Value) -> Value {
    for key in ["wall_s", "toys_per_s", "shard", "warnings", "device_reason"] {
        value.as_object_mut().unwrap().remove(key);
    }
    value
}

fn pieces(path: &Path) -> usize {
    let parts = PathBuf::from(format!("{}.parts", path.display()));
    let Ok(entries) = fs::read_dir(parts) else { return 0 };
    entries.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with("piece-")).count()
}

/// Waits until a run has saved three pieces.
fn wait_for_pieces(path: &Path, child: &mut Child) {
    while pieces(path) < 3 {
        assert_eq!(child.try_wait().unwrap(), None, "the run ended before it was noticed");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns all rows of toys in the given files as texts. The texts contain the bits of the numbers.
fn rows(paths: &[PathBuf]) -> Vec<String> {
    let mut list = Vec::new();
    ToySet::<ToyRow>::open(paths)
        .unwrap()
        .rows(|some| {
            list.extend(some.iter().map(|r| {
                let bits = |x: Option<f64>| x.map(f64::to_bits);
                format!(
                    "{:?}",
                    (r.hypothesis, r.index, bits(r.statistic), bits(r.mu_hat), r.status, &r.reason)
                )
            }));
            Ok::<_, StoreError>(())
        })
        .unwrap();
    list
}

/// Random fractions between 0 and 1, from a linear congruential generator. They determine the times of kills.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

#[cfg(unix)]
#[test]
fn ten_kills_at_random_moments_change_no_bit() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.parquet");
    let clock = Instant::now();
    let expected = answer(finished(&whole, &[]));
    let takes = clock.elapsed().as_secs_f64();
    let expected_bytes = fs::read(&whole).unwrap();

    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = u64::from(since_epoch.subsec_nanos());
    println!("kills with seed {seed}; an uninterrupted run takes {takes:.2} s");
    let mut moments = Moments(seed);
    let (mut kills, mut in_the_middle, mut runs) = (0, 0, 0);
    while kills < 10 {
        let path = folder.path().join(format!("killed{runs}.parquet"));
        let before = pieces(&path);
        let mut child = started(&path, &["--resume"]);
        std::thread::sleep(Duration::from_secs_f64(takes * (0.05 + 0.5 * moments.next())));
        child.kill().unwrap();
        let status = child.wait_with_output().unwrap().status;
        if status.signal() == Some(9) {
            kills += 1;
            let there = pieces(&path);
            in_the_middle += usize::from(there > before && !path.exists());
            println!("kill {kills}: {before} pieces before, {there} after");
            // Existing pieces can be read, even if the kill came while another piece was being written.
            if there > 0 {
                let found = rows(std::slice::from_ref(&path));
                assert!(!found.is_empty());
            }
        } else {
            assert!(status.success(), "{status:?}");
            assert_eq!(fs::read(&path).unwrap(), expected_bytes, "seed {seed}");
            runs += 1;
        }
    }
    assert!(in_the_middle >= 3, "only {in_the_middle} of ten kills hit a run at work (seed {seed})");
    let path = folder.path().join(format!("killed{runs}.parquet"));
    assert_eq!(answer(finished(&path, &["--resume"])), expected, "seed {seed}");
    assert_eq!(fs::read(&path).unwrap(), expected_bytes, "seed {seed}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), runs + 2, "something was left over");
}

#[cfg(unix)]
#[test]
fn an_interrupt_writes_what_is_done_and_can_be_continued() {
    for signal in ["-INT", "-TERM"] {
        interrupted(signal);
    }
}

#[cfg(unix)]
fn interrupted(signal: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toys.parquet");
    let mut child = started(&path, &[]);
    wait_for_pieces(&path, &mut child);
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let done = value["n_toys"]["b"].as_u64().unwrap() + value["n_toys"]["sb"].as_u64().unwrap();
    assert!(done > 0 && done < 12_000, "{done}");
    // The hypotheses take turns, so what is done has CLs with its error.
    assert!(value["cls"].is_number() && value["cls_error"].is_number(), "{value}");
    assert!(value["warnings"].to_string().contains("continue with --resume"), "{}", value["warnings"]);
    assert!(!path.exists());
    let there = rows(std::slice::from_ref(&path));
    assert_eq!(there.len() as u64, done);
    let all = finished(&path, &["--resume"]);
    assert_eq!(all["n_toys"]["sb"].to_string(), N_TOYS);
    assert_eq!(rows(std::slice::from_ref(&path))[..1], there[..1]);
}

#[test]
fn two_runs_at_once_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toys.parquet");
    let mut first = started(&path, &[]);
    wait_for_pieces(&path, &mut first);
    for more in [&[][..], &["--resume"]] {
        let second = started(&path, more).wait_with_output().unwrap();
        assert_eq!(second.status.code(), Some(2), "{}", shown(&second));
        assert!(
            shown(&second).contains("toys.parquet: another run is writing this file"),
            "{}",
            shown(&second)
        );
    }
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", shown(&first));
    let again = started(&path, &[]).wait_with_output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(shown(&again).contains("toys.parquet: already there; continue that run with --resume"));
}

/// Runs a hypothesis test with few toys, for tests of shards, threads and batches. Returns the result.
fn short(path: &Path, more: &[&str]) -> Value {
    toys("250", path, more)
}

fn toys(number: &str, path: &Path, more: &[&str]) -> Value {
    let input = fixture("simple_workspace.json");
    let name = path.display().to_string();
    let args = ["hypotest-toys", "-i", &input, "--mu", "1.5", "--n-toys", number, "--quiet", "--save", &name];
    let output = run(&[&args[..], more].concat());
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn threads_and_batches_change_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let one = answer(short(&path("one"), &["--threads", "1"]));
    let bytes = fs::read(path("one")).unwrap();
    for (name, more) in [
        ("two", &["--threads", "2"][..]),
        ("seven", &["--threads", "7", "--batch", "13"]),
        ("single", &["--batch", "1", "--save-every", "0"]),
    ] {
        assert_eq!(answer(short(&path(name), more)), one, "{name}");
        assert_eq!(fs::read(path(name)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn merged_shards_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.parquet");
    let expected = answer(toys("20", &whole, &["--expected-set"]));
    // With 22 shards of 20 toys, two shards have no toy.
    for count in [1, 3, 10, 22] {
        let paths: Vec<PathBuf> =
            (1..=count).rev().map(|k| folder.path().join(format!("{k}of{count}.parquet"))).collect();
        for (path, k) in paths.iter().zip((1..=count).rev()) {
            toys("20", path, &["--shard", &format!("{k}/{count}")]);
        }
        let mut args = vec!["merge-toys".to_owned(), "--expected-set".to_owned()];
        args.extend(paths.iter().map(|path| path.display().to_string()));
        let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{}", shown(&output));
        let merged: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(merged["shard"], "1/1");
        assert_eq!(answer(merged), expected, "{count}");
        assert_eq!(rows(&paths), rows(std::slice::from_ref(&whole)), "{count}");
    }
}

/// Returns the output of a command without the path of the folder.
fn said(output: &std::process::Output, folder: &Path) -> String {
    shown(output).replace(&format!("{}/", folder.display()), "")
}

#[test]
fn merges_that_do_not_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for k in 1..=3 {
        short(&path(&format!("{k}.parquet")), &["--shard", &format!("{k}/3")]);
    }
    short(&path("seed.parquet"), &["--shard", "3/3", "--seed", "9"]);
    short(&path("fixed.parquet"), &["--shard", "3/3", "--fix", "jet_scale=0.5"]);
    fs::copy(path("2.parquet"), path("copy.parquet")).unwrap();
    let bytes = fs::read(path("2.parquet")).unwrap();
    fs::write(path("cut.parquet"), &bytes[..bytes.len() - 100]).unwrap();
    let merge = |names: &[&str], more: &[&str]| {
        let paths: Vec<String> = names.iter().map(|n| path(n).display().to_string()).collect();
        let mut args = vec!["merge-toys"];
        args.extend(paths.iter().map(String::as_str));
        args.extend(more);
        run(&args)
    };
    for names in [
        &["1.parquet", "3.parquet"][..],
        &["1.parquet", "2.parquet", "copy.parquet"],
        &["1.parquet", "2.parquet", "seed.parquet"],
        &["1.parquet", "2.parquet", "fixed.parquet"],
        &["1.parquet", "cut.parquet"],
        &["none.parquet"],
    ] {
        let output = merge(names, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        snapshot!(said(&output, folder.path()));
    }
    snapshot!(said(
        &merge(&["3.parquet", "1.parquet"], &["--allow-incomplete", "--format", "table"]),
        folder.path()
    ));
}

#[test]
fn a_saved_study_is_resumed_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let input = fixture("simple_workspace.json");
    let study = |name: &str, more: &[&str]| {
        let path = folder.path().join(name).display().to_string();
        let args = ["toys", "-i", &input, "--n-toys", "60", "--params", "mu", "--save", &path, "--quiet"];
        let output = run(&[&args[..], more].concat());
        assert!(output.status.success(), "{}", shown(&output));
        answer(serde_json::from_slice(&output.stdout).unwrap())
    };
    let whole = study("whole.parquet", &[]);
    assert_eq!(study("whole.parquet", &["--resume"]), whole);
    study("1.parquet", &["--shard", "1/2"]);
    study("2.parquet", &["--shard", "2/2"]);
    let name = |name: &str| folder.path().join(name).display().to_string();
    let output = run(&["merge-toys", &name("2.parquet"), &name("1.parquet")]);
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(answer(serde_json::from_slice(&output.stdout).unwrap()), whole);

    let other = run(&[
        "toys",
        "-i",
        &input,
        "--n-toys",
        "61",
        "--params",
        "mu",
        "--save",
        &name("1.parquet"),
        "--resume",
    ]);
    assert_eq!(other.status.code(), Some(2));
    snapshot!(said(&other, folder.path()));
    short(&folder.path().join("test.parquet"), &[]);
    let mixed = run(&["merge-toys", &name("test.parquet"), &name("1.parquet")]);
    assert_eq!(mixed.status.code(), Some(2));
    snapshot!(said(&mixed, folder.path()));
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("toys.parquet").display().to_string();
    let input = fixture("background_only.json");
    let output = run(&["hypotest-toys", "-i", &input, "--mu", "1", "--n-toys", "10", "--save", &name]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_finished_run_is_read_again_without_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toys.parquet");
    let first = short(&path, &[]);
    let again = short(&path, &["--resume"]);
    assert_eq!(again["toys_per_s"], Value::Null);
    assert_eq!(answer(again), answer(first));
    let input = fixture("simple_workspace.json");
    let name = path.display().to_string();
    let args = ["hypotest-toys", "-i", &input, "--mu", "1.6", "--n-toys", "250", "--save", &name, "--resume"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(2));
    snapshot!(said(&output, folder.path()));
}
