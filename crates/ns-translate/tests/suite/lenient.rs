//! Tests deviations from pyhf's format that have only one possible meaning. The model must be that of the
//! workspace without deviations. A warning must give the JSON pointer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use ns_core::Model;
use ns_translate::pyhf::{
    Combine, DigestCheck, Join, ModelOptions, Patch, Prune, Rename, Workspace, WorkspaceError, validate_slice,
};
use serde_json::{Value, json};

fn text(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/broken/{name}.json"));
    std::fs::read(path).unwrap()
}

fn read(name: &str) -> Workspace {
    Workspace::from_slice(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn model(workspace: &Workspace) -> Model {
    workspace.model(&ModelOptions::default()).unwrap()
}

/// Returns a workspace that follows the format. The files of the tests contain this workspace in forms that deviate
/// from the format.
fn plain() -> Workspace {
    let plain = Workspace::from_value(read("warning_version_missing").to_value()).unwrap();
    assert!(plain.validate().is_empty() && model(&plain).warnings.is_empty());
    plain
}

/// Checks that reading each of the files gives the workspace of [`plain`], with warnings.
fn the_same_as_plain(names: &[&str]) {
    let plain = plain();
    for name in names {
        let workspace = read(name);
        let model = model(&workspace);
        assert_eq!(model.digest(), self::model(&plain).digest(), "{name}");
        assert!(!model.warnings.is_empty(), "{name}");
        assert_eq!(workspace, plain, "{name}");
        let again = Workspace::from_value(workspace.to_value()).unwrap();
        assert!(again.validate().is_empty(), "{name} is not written in form: {:?}", again.validate());
    }
}

#[test]
fn a_byte_order_mark_is_a_warning() {
    let bare = Workspace::from_slice(&text("warning_byte_order_mark")[3..]).unwrap();
    let marked = read("warning_byte_order_mark");
    assert_eq!(marked, bare);
    let (marked, bare) = (model(&marked), model(&bare));
    assert_eq!((marked.digest(), bare.warnings.len()), (bare.digest(), 0));
    assert_eq!(marked.warnings.len(), 1);
    assert!(
        marked.warnings[0].starts_with("top level: The text starts with a byte order mark"),
        "{marked:?}"
    );
    // Two byte order marks, or one before text that is not JSON, are still errors.
    let twice = [b"\xef\xbb\xbf", text("warning_byte_order_mark").as_slice()].concat();
    assert!(Workspace::from_slice(&twice).unwrap_err().to_string().contains("second byte order mark"));
    assert!(Workspace::from_slice(b"\xef\xbb\xbf").unwrap_err().to_string().contains("input is empty"));
}

#[test]
fn files_that_are_no_json_are_told_by_their_beginning() {
    let cases: [(&[u8], &str); 5] = [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n", "pointer of Git LFS"),
        (b"\x80\x04\x95\x10\x00", "Python pickle"),
        (b"\x93NUMPY\x01\x00", "NumPy array"),
        (b"\xff\xfe\x00\x00{\x00\x00\x00", "UTF-32"),
        (b"\xff\xfe{\x00", "UTF-16"),
    ];
    for (bytes, said) in cases {
        let message = Workspace::from_slice(bytes).unwrap_err().to_string();
        assert!(message.contains(said), "{said} in {message}");
    }
}

#[test]
fn modifier_types_of_other_programs_are_translated_in_the_remedy() {
    for (name, meant) in [("OverallSys", "normsys"), ("lnN", "normsys"), ("HistoSys", "histosys")] {
        let mut document = plain().to_value();
        document["channels"][0]["samples"][0]["modifiers"][0]["type"] = json!(name);
        let message = Workspace::from_value(document).unwrap_err().to_string();
        assert!(message.contains(&format!("unknown type '{name}'. Did you mean '{meant}'?")), "{message}");
    }
}

#[test]
fn observations_of_channels_that_do_not_exist_are_a_warning() {
    let workspace = read("warning_observation_without_channel");
    let model = model(&workspace);
    assert_eq!(model.digest(), self::model(&plain()).digest());
    assert_eq!(model.warnings.len(), 1);
    assert!(
        model.warnings[0].starts_with("/observations/2/name: There is no channel 'VR'"),
        "{:?}",
        model.warnings
    );
    // The observation stays in the document, since a patch or another workspace may add the channel.
    assert_eq!(workspace.to_value()["observations"].as_array().unwrap().len(), 3);
}

/// A patch is accepted if it removes a channel but not its observation, as some published patches do.
#[test]
fn a_patch_may_leave_an_observation_behind() {
    let patch = Patch::from_slice(br#"[{"op": "remove", "path": "/channels/1"}]"#, "patch").unwrap();
    let text = serde_json::to_vec(&plain()).unwrap();
    let patched = Workspace::from_slice_patched(&text, &[patch], DigestCheck::Verify).unwrap();
    let model = model(&patched);
    assert_eq!(model.channels.len(), 1);
    assert!(
        model.warnings.iter().any(|w| w.contains("no channel 'CR' for this observation")),
        "{:?}",
        model.warnings
    );
}

#[test]
fn descriptive_keys_are_a_warning_and_others_an_error() {
    the_same_as_plain(&["warning_descriptive_keys"]);
    for key in ["descriptions", "_comment", "schema", "Metadata", "author"] {
        let mut document = plain().to_value();
        document["channels"][0][key] = "x".into();
        let Err(WorkspaceError::Invalid { report }) = Workspace::from_value(document) else {
            panic!("{key}")
        };
        assert!(report.to_string().contains(&format!("unknown key '{key}'")), "{report}");
    }
}

#[test]
fn what_can_only_be_one_thing_may_be_left_out() {
    the_same_as_plain(&[
        "warning_version_missing",
        "warning_normfactor_without_data",
        "warning_lumi_and_shapefactor_without_data",
        "warning_bounds_of_one_pair",
    ]);
}

#[test]
fn a_number_for_a_list_of_one_is_a_warning() {
    let workspace = read("warning_number_for_a_list_of_one");
    let mut document = plain().to_value();
    let modifiers = document["channels"][1]["samples"][0]["modifiers"].as_array_mut().unwrap();
    modifiers.push(json!({"name": "stat_CR", "type": "staterror", "data": [3.0]}));
    assert_eq!(workspace, Workspace::from_value(document).unwrap());
    let warnings = model(&workspace).warnings;
    assert!(warnings[0].contains("The same holds at 7 other places"), "{warnings:?}");
}

#[test]
fn identical_duplicates_are_a_warning() {
    the_same_as_plain(&[
        "warning_same_modifier_twice",
        "warning_same_shapesys_twice",
        "warning_same_sample_twice",
        "warning_same_channel_twice",
        "warning_same_observation_twice",
        "warning_same_measurement_twice",
        "warning_same_setting_twice",
        "warning_duplicate_key_same_value",
    ]);
}

#[test]
fn different_duplicates_stay_errors() {
    let names = ["sample_name_twice", "channel_name_twice", "observation_twice", "measurement_name_twice"];
    for name in names.into_iter().chain(["modifier_twice_on_a_sample", "setting_twice", "duplicate_key"]) {
        assert!(!validate_slice(&text(name)).is_usable(), "{name}");
    }
}

/// The values of a repeated key count as equal if they differ only in the form of a number, for example 204
/// and 204.0.
#[test]
fn keys_are_the_same_if_their_values_are() {
    let plain = serde_json::to_string(&plain()).unwrap();
    let twice =
        |value: &str| plain.replace(r#""data":[204.0]"#, &format!(r#""data":[204.0],"data":{value}"#));
    assert!(Workspace::from_slice(twice("[204]").as_bytes()).is_ok());
    for other in ["[204.5]", "[204, 204]", "204", "null"] {
        let report = validate_slice(twice(other).as_bytes());
        assert!(report.to_string().contains("with different values"), "{other}: {report}");
    }
}

/// Digests and patches refer to the document in its original form, including its descriptive keys.
#[test]
fn patches_and_digests_see_the_document_as_written() {
    let text = text("warning_descriptive_keys");
    let patch = br#"[{"op": "test", "path": "/channels/0/metadata/name", "value": "SR"},
                     {"op": "replace", "path": "/channels/0/samples/0/data/0", "value": 6.0}]"#;
    let patch = Patch::from_slice(patch, "patch").unwrap();
    let patched = Workspace::from_slice_patched(&text, &[patch], DigestCheck::Verify).unwrap();
    let model = model(&patched);
    assert_eq!(model.channels[1].samples[0].nominal[0], 6.0);
    assert!(model.warnings.iter().any(|w| w.contains("/channels/0/metadata")), "{:?}", model.warnings);
    // There is a warning about repeated keys of a patched document too.
    let patched = Workspace::from_slice_patched(
        &self::text("warning_duplicate_key_same_value"),
        &[Patch::from_slice(b"[]", "patch").unwrap()],
        DigestCheck::Verify,
    );
    assert!(self::model(&patched.unwrap()).warnings[0].contains("written twice"));
}

/// The result of an operation on a workspace with descriptive keys does not contain these keys. The warnings
/// of the operation list them.
#[test]
fn edited_workspaces_tell_what_is_not_in_them() {
    let described = read("warning_descriptive_keys");
    let told = |warnings: &[ns_translate::pyhf::Problem]| {
        assert!(warnings.iter().any(|w| w.message.contains("The key 'description'")), "{warnings:?}");
    };
    let pruned = described.prune(&Prune { channels: vec!["CR".to_owned()], ..Prune::default() }).unwrap();
    told(&pruned.warnings);
    assert!(pruned.workspace.validate().iter().all(|w| !w.message.contains("The key")));
    let renamed = described.rename(&Rename {
        channels: [("SR".to_owned(), "A".to_owned()), ("CR".to_owned(), "B".to_owned())].into(),
        ..Rename::default()
    });
    let renamed = renamed.unwrap();
    told(&renamed.warnings);
    let options = Combine { join: Join::Outer, merge_channels: true };
    told(&described.combine(&described, options).unwrap().warnings);
}

/// Two equal modifiers that get the same name by renaming are an error. Two equal modifiers with the same
/// name in the file are not.
#[test]
fn renaming_two_modifiers_to_one_name_stays_an_error() {
    let mut document = plain().to_value();
    let modifiers = document["channels"][0]["samples"][0]["modifiers"].as_array_mut().unwrap();
    modifiers.push(json!({"name": "other", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}));
    let workspace = Workspace::from_value(document).unwrap();
    let rename =
        Rename { modifiers: [("other".to_owned(), "theory".to_owned())].into(), ..Rename::default() };
    assert!(matches!(workspace.rename(&rename), Err(WorkspaceError::InvalidAfterEdit { .. })));
}

/// Deviations of one kind at thousands of places give a single warning, so that a user does not overlook the warnings
/// about other deviations.
#[test]
fn what_is_the_same_everywhere_is_one_warning() {
    let sample = |i: usize| {
        json!({"name": format!("s{i}"), "data": [1.0], "comment": i,
               "modifiers": [{"name": "mu", "type": "normfactor"}]})
    };
    let samples: Vec<Value> = (0..3000).map(sample).collect();
    let document = json!({
        "channels": [{"name": "SR", "samples": samples}], "observations": [{"name": "SR", "data": [3000]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}], "version": "1.0.0"});
    let workspace = Workspace::from_value(document).unwrap();
    let warnings = model(&workspace).warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings.iter().all(|w| w.contains("2999 other places") && w.contains(" and more.")),
        "{warnings:?}"
    );
}
