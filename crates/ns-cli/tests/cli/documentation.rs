//! The commands of the documents run as they stand and print what stands below them.
//!
//! In a block, a line `$ nextstat ...` is a command, and the lines below it are its output as a terminal
//! shows it. `...` stands for any lines, and at the end of a line for its rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A command of a document and the output that it shows.
struct Example {
    page: String,
    command: String,
    shown: Vec<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All examples of a page. Pipes into other programs are left out.
fn examples(path: &Path) -> Vec<Example> {
    let text = fs::read_to_string(path).unwrap();
    let page = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut list: Vec<Example> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if line.starts_with("```") {
            open = false;
        } else if let Some(command) = line.strip_prefix("$ ") {
            open = command.starts_with("nextstat ") && !command.contains('|');
            if open {
                list.push(Example { page: page.clone(), command: command.to_owned(), shown: Vec::new() });
            }
        } else if open {
            list.last_mut().unwrap().shown.push(line.trim_end().to_owned());
        }
    }
    list
}

/// Whether the lines are what the pattern says.
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

/// The workspace of the tutorial's last section, with two mistakes.
fn broken() -> Value {
    let path = root().join("tests/fixtures/simple_workspace.json");
    let mut workspace: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    workspace["channels"][1]["samples"][0]["modifiers"][1]["type"] = json!("normsis");
    workspace["channels"][0]["samples"][1]["data"].as_array_mut().unwrap().pop();
    workspace
}

#[test]
fn documents_show_what_the_commands_print() {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|e| e == "md"));
    pages.push(root().join("README.md"));
    pages.sort();
    let mut shown = 0;
    for page in pages {
        // Commands of one page may use the files that earlier ones have written.
        let folder = tempfile::tempdir().unwrap();
        let from = root().join("tests/fixtures");
        let to = folder.path().join("tests/fixtures");
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        fs::write(folder.path().join("broken.json"), broken().to_string()).unwrap();
        for example in examples(&page) {
            let mut args: Vec<&str> = example.command.split_whitespace().skip(1).collect();
            if !example.shown.is_empty() && !args.contains(&"-o") {
                args.extend(["--format", "table"]);
                shown += 1;
            }
            let output = Command::new(assert_cmd::cargo::cargo_bin!("nextstat"))
                .args(&args)
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let what = format!("{}: {}", example.page, example.command);
            let (out, err) =
                (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
            let expected = if example.command.contains("broken.json") { 2 } else { 0 };
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
    assert!(shown >= 10, "only {shown} commands show their output");
}
