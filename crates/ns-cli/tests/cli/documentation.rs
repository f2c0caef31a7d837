//! Runs the commands of the documentation in their order. Their output must be as shown in the documentation.
//!
//! In a code block, a line `$ COMMAND` is a command. The lines below it are its output in a terminal. A line
//! `...` stands for any number of lines, and `...` at the end of a line for the rest of that line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command on a page, with the output that the page shows below it.
struct Example {
    page: String,
    command: String,
    shown: Vec<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// First words of a command that runs the program from a clone of the repository.
const FROM_CLONE: &str = "cargo run --release -p ns-cli -- ";
/// First words of all other commands that are allowed in examples.
const OTHERS: [&str; 3] = ["sed ", "gzip ", "tar "];
/// Pages with scripts for batch systems. This test does not run their commands.
const BATCH: [&str; 1] = ["toy-files.md"];

/// Returns all examples of a page.
fn examples(path: &Path) -> Vec<Example> {
    let text = fs::read_to_string(path).unwrap();
    let page = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut list: Vec<Example> = Vec::new();
    let (mut open, mut inside) = (false, false);
    for line in text.lines() {
        let line = line.strip_prefix(FROM_CLONE).map_or(line.to_owned(), |rest| format!("$ nextstat {rest}"));
        if line.starts_with("```") {
            (open, inside) = (false, !inside);
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let known =
                command.starts_with("nextstat ") || OTHERS.iter().any(|name| command.starts_with(name));
            assert!(known, "{page}: nothing runs `{command}`");
            list.push(Example { page: page.clone(), command: command.to_owned(), shown: Vec::new() });
            open = true;
        } else if open {
            list.last_mut().unwrap().shown.push(line.trim_end().to_owned());
        } else if inside && line.starts_with("nextstat ") {
            assert!(BATCH.contains(&page.as_str()), "{page}: write `$ {line}`, so that it is run");
        }
    }
    list
}

/// Returns a command that runs `text` as the shell of a reader would, but with the program of this build.
fn command(text: &str) -> Command {
    let program = assert_cmd::cargo::cargo_bin!("nextstat");
    let mut command = if text.contains(['|', '>', '"']) || !text.starts_with("nextstat ") {
        let mut shell = Command::new("sh");
        shell.args(["-c", text]);
        let mut path = program.parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        shell.env("PATH", path);
        shell
    } else {
        let mut direct = Command::new(program);
        direct.args(text.split_whitespace().skip(1));
        direct
    };
    command.stdin(Stdio::null());
    command
}

/// Returns whether a program is installed.
fn there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Returns whether the lines match the pattern. In the pattern, a line `...` stands for any number of lines,
/// and `...` at the end of a line for the rest of that line.
fn matches(pattern: &[String], lines: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return lines.is_empty() };
    if first.trim() == "..." {
        return (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..]));
    }
    let Some((line, others)) = lines.split_first() else { return false };
    let same = match first.strip_suffix("...") {
        Some(start) => line.starts_with(start.trim_end()),
        None => line == first,
    };
    same && matches(rest, others)
}

/// Copies a folder with its files and folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

#[test]
fn every_command_line_of_the_documents_runs_and_prints_what_is_shown() {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|e| e == "md"));
    pages.push(root().join("README.md"));
    if !cfg!(feature = "neural") {
        eprintln!("the commands of flows.md need the feature 'neural', which scripts/test has");
        pages.retain(|path| !path.ends_with("flows.md"));
    }
    pages.sort();
    let mut shown = 0;
    let mut run: Vec<String> = Vec::new();
    for page in pages {
        // A command may use files that earlier commands of the page wrote.
        let folder = tempfile::tempdir().unwrap();
        let from = root().join("tests/fixtures");
        let to = folder.path().join("tests/fixtures");
        copy(&from, &to);
        for mut example in examples(&page) {
            let mut text = example.command.clone();
            let piped = text.contains('|');
            if text.contains("| jq ") && !there("jq") {
                // Without `jq`, only the part of the command before the pipe is run.
                text.truncate(text.find('|').unwrap());
                example.shown.clear();
            }
            let formatted = [" -o ", " --format "].iter().any(|flag| text.contains(flag));
            if !example.shown.is_empty() && !piped && !formatted && text.starts_with("nextstat ") {
                text += " --format table";
                shown += 1;
            }
            run.push(example.page.clone());
            let output = command(&text).current_dir(folder.path()).output().unwrap();
            let what = format!("{}: {}", example.page, example.command);
            let (out, err) =
                (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
            let expected = if text.starts_with("nextstat validate -i broken.json") { 2 } else { 0 };
            assert_eq!(output.status.code(), Some(expected), "{what}\n{err}");
            let (warnings, pattern): (Vec<String>, Vec<String>) =
                example.shown.into_iter().partition(|line| line.starts_with("warning: "));
            for warning in warnings {
                assert!(err.lines().any(|line| line == warning), "{what} has no\n{warning}\nbut\n{err}");
            }
            if !pattern.is_empty() {
                let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
                assert!(matches(&pattern, &lines), "{what} shows\n{}\nbut prints\n{out}", pattern.join("\n"));
            }
        }
    }
    assert!(run.contains(&"tutorial.md".to_owned()) && run.contains(&"workspaces.md".to_owned()), "{run:?}");
    assert!(shown >= 10, "only {shown} commands show their output");
}
