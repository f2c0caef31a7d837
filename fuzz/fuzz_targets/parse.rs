//! Reads any bytes as a compressed file, an archive, a workspace, a patch and a patchset. Nothing may panic
//! or use unbounded memory, and the readers must agree with each other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ns_translate::pyhf::{DigestCheck, ModelOptions, Patch, Patchset, Workspace, read_from, validate_slice};
use serde_json::Value;

const BASE: &str = include_str!("../../tests/fixtures/background_only.json");

fuzz_target!(|data: &[u8]| {
    let _ = read_from(data, "fuzz").inspect_err(|e| drop(e.to_string()));
    let report = validate_slice(data);
    let _ = report.to_string();
    match Workspace::from_slice(data) {
        Ok(workspace) => {
            let models = workspace.measurement_names().into_iter().map(|name| {
                let options = ModelOptions { measurement: Some(name.to_owned()), ..ModelOptions::default() };
                workspace.model(&options)
            });
            let all = models.fold(true, |all, model| all & model.inspect_err(|e| drop(e.to_string())).is_ok());
            assert_eq!(all, report.is_usable(), "{report}");
            let _ = workspace.summary();
            assert_eq!(Workspace::from_value(workspace.to_value()).expect("reads back"), workspace);
        }
        Err(error) => {
            let _ = error.to_string();
            assert!(!report.is_usable());
        }
    }
    if let Ok(patch) = Patch::from_slice(data, "fuzz") {
        let mut base: Value = serde_json::from_str(BASE).expect("a fixture is JSON");
        if patch.apply(&mut base).is_ok() {
            let _ = Workspace::from_value(base).map(|w| w.validate());
        }
        let _ = Workspace::from_slice_patched(BASE.as_bytes(), &[patch], DigestCheck::Verify);
    }
    if let Ok(set) = Patchset::from_slice(data, "fuzz") {
        for name in set.names() {
            let _ = set.patch(name);
        }
        let _ = set.patch("1,2");
    }
});
