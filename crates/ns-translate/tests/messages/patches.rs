//! Tests of patches and patchsets, which are applied to the fixtures.

use std::path::{Path, PathBuf};

use ns_translate::pyhf::{
    DigestCheck, ModelOptions, Patch, PatchArgument, Patchset, Workspace, WorkspaceError, WrittenWorkspace,
};
use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

fn argument(text: &str) -> PatchArgument {
    format!("{}/{text}", fixtures().display()).parse().unwrap()
}

fn patched(text: &str) -> Result<Workspace, WorkspaceError> {
    let patch = argument(text).load()?;
    Workspace::from_path_patched(fixtures().join("background_only.json"), &[patch], DigestCheck::Verify)
}

#[test]
fn a_patchset_member_is_found_by_name_and_by_values() {
    let by_name = patched("patchset.json:gluino_1600_400").unwrap();
    assert_eq!(by_name, patched("patchset.json:1600,400").unwrap());
    assert_eq!(by_name, patched("patchset.json:(1600, 400.0)").unwrap());
    assert_ne!(by_name, patched("patchset.json:gluino_1400_200").unwrap());
    let model = by_name.model(&ModelOptions::default()).unwrap();
    assert_eq!(model.parameters[model.poi().unwrap()].name, "mu_sig");
    // Without a patch no modifier uses the parameter of interest.
    let background = Workspace::from_path(fixtures().join("background_only.json")).unwrap();
    let model = background.model(&ModelOptions::default()).unwrap();
    assert_eq!(model.poi(), None);
    assert!(model.warnings.iter().any(|w| w.contains("'mu_sig'")), "{:?}", model.warnings);
}

#[test]
fn a_json_patch_file_does_what_the_patchset_member_does() {
    assert_eq!(patched("signal_patch.json").unwrap(), patched("patchset.json:gluino_1400_200").unwrap());
}

#[test]
fn an_unknown_member_lists_those_that_exist() {
    let error = patched("patchset.json:1500,300").unwrap_err();
    let WorkspaceError::NoSuchPatch { available, .. } = &error else { panic!("{error}") };
    assert_eq!(available, &["gluino_1400_200", "gluino_1600_400", "gluino_1800_600"]);
    let message = error.to_string();
    assert!(message.contains("'1500,300'") && message.contains("'gluino_1800_600'"), "{message}");
    let message = patched("patchset.json:gluino_1400_20").unwrap_err().to_string();
    assert!(
        message.contains("has no patch 'gluino_1400_20'. Did you mean 'gluino_1400_200'? Its"),
        "{message}"
    );
    let message = patched("patchset.json:").unwrap_err().to_string();
    assert!(message.contains("has no patch ''. Its patches are: 'gluino_1400_200'"), "{message}");
    let message = patched("patchset.json").unwrap_err().to_string();
    assert!(message.contains("patchset.json:NAME") && message.contains("'gluino_1400_200'"), "{message}");
    let message = patched("signal_patch.json:x").unwrap_err().to_string();
    assert!(message.contains("single JSON Patch"), "{message}");
}

#[test]
fn a_patchset_for_another_workspace_is_refused_unless_the_check_is_off() {
    let patch = argument("patchset.json:gluino_1400_200").load().unwrap();
    let mut other: Value = serde_json::from_slice(&bytes("background_only.json")).unwrap();
    other["observations"][0]["data"][0] = json!(10.0);
    let text = serde_json::to_vec(&other).unwrap();
    let patches = [patch];
    let error = Workspace::from_slice_patched(&text, &patches, DigestCheck::Verify).unwrap_err();
    assert!(matches!(error, WorkspaceError::DigestMismatch { .. }), "{error}");
    assert!(Workspace::from_slice_patched(&text, &patches, DigestCheck::Skip).is_ok());
    // The digest does not depend on white space or on the order of keys.
    let text = serde_json::to_vec(&serde_json::from_slice::<Value>(&bytes("background_only.json")).unwrap());
    assert!(Workspace::from_slice_patched(&text.unwrap(), &patches, DigestCheck::Verify).is_ok());
}

#[test]
fn an_operation_that_does_not_fit_is_named() {
    let text = bytes("background_only.json");
    for (operations, part) in [
        (json!([{"op": "remove", "path": "/channels/7"}]), "remove at '/channels/7'"),
        (
            json!([{"op": "test", "path": "/version", "value": "2"}, {"op": "remove", "path": "/version"}]),
            "Operation 0",
        ),
        (json!([{"op": "increase", "path": "/version"}]), "Operation 0"),
        (json!({"op": "remove", "path": "/version"}), "array of operations"),
    ] {
        let error = Patch::from_slice(operations.to_string().as_bytes(), "p.json")
            .and_then(|patch| Workspace::from_slice_patched(&text, &[patch], DigestCheck::Verify))
            .unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("patch p.json: ") && message.contains(part), "{message}");
    }
}

#[test]
fn a_patch_that_breaks_the_workspace_is_reported_like_any_broken_workspace() {
    let patch =
        Patch::from_slice(br#"[{"op": "add", "path": "/channels/0/bins", "value": 3}]"#, "p").unwrap();
    let error = Workspace::from_slice_patched(&bytes("background_only.json"), &[patch], DigestCheck::Verify)
        .unwrap_err();
    assert_eq!(error.problems()[0].path, "/channels/0/bins");
    assert!(error.to_string().starts_with("with patch p applied, the workspace has 1 error"), "{error}");
}

#[test]
fn what_is_wrong_after_patches_names_them() {
    let read = |text: &[u8], origin: &str| Patch::from_slice(text, origin).unwrap();
    let short = br#"[{"op": "replace", "path": "/channels/0/samples/0/data", "value": [1.0]}]"#;
    let patches = [read(b"[]", "a.json"), read(short, "set.json:a:b")];
    let text = bytes("background_only.json");
    let workspace = Workspace::from_slice_patched(&text, &patches, DigestCheck::Verify).unwrap();
    assert!(
        workspace.sorted().model(&ModelOptions::default()).unwrap_err().to_string().contains("set.json:a:b")
    );
    let error = workspace.model(&ModelOptions::default()).unwrap_err();
    assert!(!error.problems().is_empty());
    let message = error.to_string();
    assert!(message.starts_with("with patches a.json, set.json:a:b applied, the workspace has"), "{message}");
    let written = WrittenWorkspace::from_slice_patched(&text, &patches, DigestCheck::Verify).unwrap();
    assert_eq!(written.check().unwrap_err().to_string(), message);
    assert!(
        WrittenWorkspace::from_slice_patched(&text, &patches[..1], DigestCheck::Verify)
            .unwrap()
            .check()
            .is_ok()
    );
}

#[test]
fn copies_cannot_grow_without_bound() {
    // Each operation doubles the array: 60 of them would make more than 2^60 values.
    let mut operations = vec![json!({"op": "add", "path": "/x", "value": [[1, 2, 3, 4]]})];
    operations.extend((0..60).map(|_| json!({"op": "copy", "from": "/x", "path": "/x/-"})));
    let patch = Patch::from_slice(json!(operations).to_string().as_bytes(), "bomb").unwrap();
    let message = patch.apply(&mut json!({})).unwrap_err().to_string();
    assert!(message.contains("127 levels deep") || message.contains("bytes of memory"), "{message}");
    // Each array has eight copies of the array before it.
    let mut operations = vec![json!({"op": "add", "path": "/x0", "value": [1, 2, 3, 4, 5, 6, 7, 8]})];
    for i in 1..40 {
        operations.push(json!({"op": "add", "path": format!("/x{i}"), "value": []}));
        for _ in 0..8 {
            operations
                .push(json!({"op": "copy", "from": format!("/x{}", i - 1), "path": format!("/x{i}/-")}));
        }
    }
    let patch = Patch::from_slice(json!(operations).to_string().as_bytes(), "bomb").unwrap();
    let message = patch.apply(&mut json!({})).unwrap_err().to_string();
    assert!(message.contains("bytes of memory, more than the 500000000 allowed"), "{message}");
}

#[test]
fn copies_of_all_patches_together_keep_the_limit_of_the_caller() {
    let text = bytes("simple_workspace.json");
    let copy = json!([{"op": "copy", "from": "/channels/0", "path": "/channels/-"}]).to_string();
    let read = |limit| Patch::from_slice(copy.as_bytes(), "copy").unwrap().copying_at_most(limit);
    let failed = |patches: &[Patch]| {
        let made = WrittenWorkspace::from_slice_patched(&text, patches, DigestCheck::Skip);
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let refused = |message: &str| message.contains("bytes of memory, more than the 20000 allowed");
    assert!(!refused(&failed(&[read(20_000)])));
    let message = failed(&vec![read(20_000); 10]);
    assert!(
        refused(&message) && message.contains("Operation 0") && message.contains("Copy less"),
        "{message}"
    );
}

#[test]
fn broken_patchsets_are_described() {
    let good: Value = serde_json::from_slice(&bytes("patchset.json")).unwrap();
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut set = good.clone();
        change(&mut set);
        let text = set.to_string();
        Patchset::from_slice(text.as_bytes(), "set.json").map(|_| ()).unwrap_err().to_string()
    };
    let mut messages = vec![
        broken(&|s| s["version"] = json!("1.1")),
        broken(&|s| s["patches"] = json!([])),
        broken(&|s| s["patches"][1]["metadata"]["name"] = json!("gluino_1400_200")),
        broken(&|s| s["patches"][1]["metadata"]["values"] = json!([1400, 200])),
        broken(&|s| s["patches"][1]["metadata"]["values"] = json!([1600])),
        broken(&|s| s["patches"][1]["metadata"]["values"] = json!([1600, null])),
        broken(&|s| s["patches"][1] = json!({"patch": []})),
        broken(&|s| s["patches"][1]["patch"] = json!({})),
        broken(&|s| s["metadata"]["digests"] = json!({"sha256": "abc", "sha1": "abc"})),
        broken(&|s| s["metadata"] = json!({"labels": "m"})),
        broken(&|s| *s = json!(3)),
    ];
    messages.push(
        Patchset::from_slice(&bytes("background_only.json"), "ws.json").map(|_| ()).unwrap_err().to_string(),
    );
    messages.push(Patchset::from_slice(b"{\"patches\": [", "set.json").map(|_| ()).unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n\n"));
}

/// Changes the patchset and applies one of its patches. Returns the workspace and the warnings of its model.
fn with_changed_patchset(change: &dyn Fn(&mut Value)) -> (Workspace, Vec<String>) {
    let mut set: Value = serde_json::from_slice(&bytes("patchset.json")).unwrap();
    change(&mut set);
    let text = set.to_string();
    let patch = Patchset::from_slice(text.as_bytes(), "set.json").unwrap();
    let patch = patch.patch("gluino_1600_400").unwrap();
    let text = bytes("background_only.json");
    let workspace = Workspace::from_slice_patched(&text, &[patch], DigestCheck::Verify).unwrap();
    let warnings = workspace.model(&ModelOptions::default()).unwrap().warnings;
    (workspace, warnings)
}

#[test]
fn what_has_one_meaning_only_in_a_patchset_is_a_warning() {
    let plain = patched("patchset.json:gluino_1600_400").unwrap();
    let (same, none) = with_changed_patchset(&|_| ());
    assert!(same == plain && none.is_empty(), "{none:?}");
    type Case<'a> = (&'a dyn Fn(&mut Value), &'a str);
    let cases: [Case<'_>; 5] = [
        (
            &|s| (s["description"], s["patches"][1]["comment"]) = (json!("of a person"), json!(["x"])),
            "set.json#/patches/1/comment: The key 'comment' is no part of the format and is ignored.",
        ),
        (
            &|s| _ = s.as_object_mut().unwrap().remove("version"),
            "set.json#/version: The patchset names no version of its format and is read as version \"1.0.0\".",
        ),
        (
            &|s| _ = s["metadata"].as_object_mut().unwrap().remove("references"),
            "set.json#/metadata: The metadata of the patchset lacks the key 'references'. Add it",
        ),
        (
            &|s| s["metadata"]["digests"] = json!({}),
            "set.json#/metadata/digests: The patchset gives no digest, so it fits any workspace.",
        ),
        (
            &|s| {
                let copy = s["patches"][1].clone();
                s["patches"].as_array_mut().unwrap().push(copy);
            },
            "set.json#/patches/3: Patch 'gluino_1600_400' is the same as /patches/1, which is used.",
        ),
    ];
    for (change, said) in cases {
        let (workspace, warnings) = with_changed_patchset(change);
        assert_eq!(workspace, plain, "{said}");
        assert!(warnings.iter().any(|w| w.starts_with(said)), "{said} in {warnings:?}");
    }
}

#[test]
fn a_misspelt_key_of_a_patchset_stays_an_error() {
    for key in ["digest", "Labels", "reference"] {
        let mut set: Value = serde_json::from_slice(&bytes("patchset.json")).unwrap();
        let metadata = set["metadata"].as_object_mut().unwrap();
        let right = ["digests", "labels", "references"]
            .into_iter()
            .find(|right| right.starts_with(&key.to_lowercase()));
        let value = metadata.remove(right.unwrap()).unwrap();
        metadata.insert(key.to_owned(), value);
        let error = Patchset::from_slice(set.to_string().as_bytes(), "set.json").unwrap_err().to_string();
        assert!(
            error.contains(&format!("unknown key '{key}'. Did you mean '{}'?", right.unwrap())),
            "{error}"
        );
    }
}

#[test]
fn a_byte_order_mark_before_a_patch_or_patchset_is_a_warning() {
    let marked = |name: &str| [b"\xef\xbb\xbf".as_slice(), &bytes(name)].concat();
    let set = marked("patchset.json");
    let patches = [
        Patchset::from_slice(&set, "set.json").unwrap().patch("gluino_1400_200").unwrap(),
        Patch::from_slice(&marked("signal_patch.json"), "patch.json").unwrap(),
    ];
    for (patch, file) in patches.into_iter().zip(["set.json", "patch.json"]) {
        let text = marked("background_only.json");
        let workspace = Workspace::from_slice_patched(&text, &[patch], DigestCheck::Verify).unwrap();
        let warnings = workspace.model(&ModelOptions::default()).unwrap().warnings;
        let said = |place: &str| {
            let said = format!("{place}: The text starts with a byte order mark, which is ignored.");
            warnings.iter().any(|warning| warning.starts_with(&said))
        };
        assert!(said(file) && said("top level"), "{warnings:?}");
    }
}

#[test]
fn a_compressed_patchset_is_read_like_any_other() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.json.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(std::fs::File::create(&file).unwrap(), flate2::Compression::default());
    encoder.write_all(&bytes("patchset.json")).unwrap();
    encoder.finish().unwrap();
    let argument: PatchArgument = format!("{}:1600,400", file.display()).parse().unwrap();
    let text = bytes("background_only.json");
    let patched = Workspace::from_slice_patched(&text, &[argument.load().unwrap()], DigestCheck::Verify);
    assert_eq!(patched.unwrap(), self::patched("patchset.json:gluino_1600_400").unwrap());
}

#[test]
fn a_patch_argument_is_a_file_and_perhaps_a_name() {
    let parse = |text: &str| {
        let argument: PatchArgument = text.parse().unwrap();
        (argument.file.display().to_string(), argument.name)
    };
    assert_eq!(parse("p.json"), ("p.json".to_owned(), None));
    assert_eq!(parse("p.json:a_b"), ("p.json".to_owned(), Some("a_b".to_owned())));
    assert_eq!(parse("dir:x/p.json:700,400"), ("dir:x/p.json".to_owned(), Some("700,400".to_owned())));
    assert_eq!(parse("C:\\p.json"), ("C:\\p.json".to_owned(), None));
    assert_eq!(parse("p.json:"), ("p.json:".to_owned(), None));
    // If no such file exists, the text is split at its first colon, so that names may contain colons.
    assert_eq!(parse("p.json:a:b"), ("p.json".to_owned(), Some("a:b".to_owned())));
    assert_eq!(parse("-"), ("-".to_owned(), None));
    assert_eq!(parse("-:a:b"), ("-".to_owned(), Some("a:b".to_owned())));
    // The file is the longest part that is an existing file. Any name may follow it.
    let there = format!("{}/patchset.json", fixtures().display());
    for name in ["a:b", "m/500:x", "C:\\x"] {
        assert_eq!(parse(&format!("{there}:{name}")), (there.clone(), Some(name.to_owned())));
    }
    assert_eq!(parse(&format!("{there}:")), (there.clone(), Some(String::new())));
    assert_eq!(parse(&there), (there, None));
}

/// RFC 6902, section 4.6: numbers are equal if their values are.
#[test]
fn a_patch_test_compares_the_values_of_numbers() {
    let text = br#"{"channels": [{"name": "c", "samples": [{"name": "s", "data": [5.0], "modifiers": []}]}],
        "observations": [{"name": "c", "data": [5]}],
        "measurements": [{"name": "m", "config": {"poi": "", "parameters": []}}], "version": "1.0.0"}"#;
    let tested = |path: &str, value: Value| {
        let patch = serde_json::to_vec(&json!([{"op": "test", "path": path, "value": value}])).unwrap();
        let patch = Patch::from_slice(&patch, "p.json").unwrap();
        WrittenWorkspace::from_slice_patched(text, &[patch], DigestCheck::Verify)
    };
    let datum = "/channels/0/samples/0/data/0";
    assert!(tested(datum, json!(5)).is_ok());
    assert!(tested("/observations/0/data/0", json!(5.0)).is_ok());
    assert!(tested("/observations/0", json!({"data": [5e0], "name": "c"})).is_ok());
    let message = |path, value| tested(path, value).unwrap_err().to_string();
    let other = message(datum, json!(6));
    assert!(other.contains("test at '/channels/0/samples/0/data/0'"), "{other}");
    assert!(other.contains("the value there is 5.0, not 6"), "{other}");
    assert!(message(datum, json!("5")).contains("the value there is 5.0, not \"5\""));
    assert!(message("/observations/0", json!({"data": [6], "name": "c"})).contains("is another one"));
    assert!(message("/nowhere", json!(1)).contains("nothing is there"));
}
