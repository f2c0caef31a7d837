//! Tests files as they are published: compressed, in archives, or with contents that pyhf's schema does not
//! allow.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::{command, fixture, run, run_with, shown, snapshot};

fn bytes(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Creates an archive like those of HEPData, with a workspace and its patches. Returns the temporary folder and
/// the path of the archive.
fn archive() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for (name, member) in [
        ("./README.md", "broken/bare_word.json"),
        ("./RegionA/BkgOnly.json", "fixtures/background_only.json"),
        ("./RegionA/patchset.json", "fixtures/patchset.json"),
        ("./patch.json", "fixtures/signal_patch.json"),
    ] {
        let bytes = bytes(member);
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    let path = folder.path().join("HEPData_workspaces.tar.gz");
    fs::write(&path, gzip(&builder.into_inner().unwrap())).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// Returns the JSON result without the time, which differs from run to run.
fn record(output: &Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    value.as_object_mut().unwrap().remove("wall_s");
    value
}

/// Returns the output of a command. The path of the folder is replaced, because it differs from run to run.
fn said(output: &Output, folder: &TempDir) -> String {
    shown(output).replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn compressed_workspaces_are_read_like_plain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("workspace.json.gz");
    fs::write(&path, gzip(&bytes("fixtures/simple_workspace.json"))).unwrap();
    let plain = record(&run(&["fit", "-i", &fixture("simple_workspace.json")]));
    let packed = record(&run(&["fit", "-i", path.to_str().unwrap()]));
    assert_eq!(packed, plain);
    assert!(plain["model_digest"].is_string());
    let piped = command(&["fit", "-i", "-"]).stdin(Stdio::from(File::open(&path).unwrap())).output().unwrap();
    assert_eq!(record(&piped), plain);
}

#[test]
fn members_of_archives_are_named_behind_a_colon() {
    let (_folder, archive) = archive();
    let workspace = format!("{archive}:RegionA/BkgOnly.json");
    let of = |patch: &str| record(&run(&["inspect", "-i", &workspace, "--patch", patch]));
    let plain = |patch: &str| {
        record(&run(&["inspect", "-i", &fixture("background_only.json"), "--patch", &fixture(patch)]))
    };
    let name = "patchset.json:gluino_1600_400";
    assert_eq!(of(&format!("{archive}:RegionA/{name}")), plain(name));
    assert_eq!(of(&format!("{archive}:patch.json")), plain("signal_patch.json"));
    assert_eq!(of(&fixture("signal_patch.json")), plain("signal_patch.json"));
}

#[test]
fn an_archive_without_a_member_tells_what_is_in_it() {
    let (folder, archive) = archive();
    snapshot!(said(&run(&["inspect", "-i", &archive]), &folder));
    snapshot!(said(&run(&["inspect", "-i", &format!("{archive}:BkgOnly.json")]), &folder));
    let file = Stdio::from(File::open(&archive).unwrap());
    snapshot!(said(&command(&["validate", "-i", "-"]).stdin(file).output().unwrap(), &folder));
    snapshot!(said(
        &run(&["inspect", "-i", &format!("{}:a.json", fixture("simple_workspace.json"))]),
        &folder
    ));
    snapshot!(said(&run(&["inspect", "-i", &format!("{archive}:README.md")]), &folder));
}

/// The bytes of a pipe can be read once, so nothing may look at them before.
#[test]
#[cfg(unix)]
fn a_pipe_is_read_like_a_file() {
    let text = bytes("fixtures/simple_workspace.json");
    let mut command = command(&["inspect", "-i", "/dev/stdin"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let contents: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(contents["format"], "pyhf workspace");
}

#[test]
fn a_damaged_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("workspace.json.gz");
    let whole = gzip(&bytes("fixtures/simple_workspace.json"));
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    snapshot!(said(&run(&["fit", "-i", path.to_str().unwrap()]), &folder));
}

#[test]
fn an_archive_is_not_written_over() {
    let (_folder, archive) = archive();
    let before = fs::read(&archive).unwrap();
    let output = run(&["fit", "-i", &format!("{archive}:RegionA/BkgOnly.json"), "-o", &archive]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("--input and --output both name"), "{}", shown(&output));
    assert_eq!(fs::read(&archive).unwrap(), before);
}

#[test]
fn what_has_one_meaning_only_is_a_warning() {
    let text = |name: &str| String::from_utf8(bytes(&format!("broken/{name}.json"))).unwrap();
    for name in [
        "warning_observation_without_channel",
        "warning_descriptive_keys",
        "warning_version_missing",
        "warning_normfactor_without_data",
        "warning_number_for_a_list_of_one",
        "warning_same_modifier_twice",
    ] {
        let output = run_with(&["validate", "-i", "-", "--format", "table"], &text(name));
        assert_eq!(output.status.code(), Some(0), "{name}");
        snapshot!(shown(&output));
    }
}
