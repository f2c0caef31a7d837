//! Property tests. The fast and the slow reader must agree. A workspace that is written and read again must
//! not change.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::Path;

use ns_translate::pyhf::{DigestCheck, ModelOptions, Patch, Problem, Severity, Workspace, validate_slice};
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixtures() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
        .iter()
        .map(|path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap())
        .filter(|value| value.get("channels").is_some())
        .collect()
}

/// Collects the JSON pointers of all values inside `value`.
fn places(value: &Value, prefix: &str, out: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, item) in below {
        let path = format!("{prefix}/{key}");
        places(item, &path, out);
        out.push(path);
    }
}

/// Makes one JSON Patch operation from random numbers. `place` selects the place in the document, `what` the kind of
/// the operation, and `source` a value of the document to copy. `x` is a new value.
fn operation(document: &Value, place: usize, what: u8, source: usize, x: f64) -> Value {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let path = &all[place % all.len()];
    let other = document.pointer(&all[source % all.len()]).unwrap().clone();
    match what % 8 {
        0 => json!({"op": "remove", "path": path}),
        1 => json!({"op": "replace", "path": path, "value": x}),
        2 => json!({"op": "replace", "path": path, "value": other}),
        3 => json!({"op": "add", "path": path, "value": other}),
        4 => json!({"op": "copy", "from": all[source % all.len()], "path": path}),
        5 => json!({"op": "replace", "path": path, "value": [x]}),
        6 => json!({"op": "replace", "path": path, "value": format!("n{}", what / 8)}),
        _ => json!({"op": "replace", "path": path, "value": null}),
    }
}

proptest! {
    // The environment variable PROPTEST_CASES can increase the number of cases.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1000)))]

    /// Changes a fixture at random. Its text and its JSON tree must give the same workspace or the same
    /// problems. Validation must report an error exactly if the models cannot be built or no parameters make their
    /// data possible. A workspace that is
    /// written and read again must not change.
    #[test]
    fn text_and_tree_agree(
        which in 0usize..100, changes in proptest::collection::vec((any::<usize>(), any::<u8>(), any::<usize>(), -5.0..50.0f64), 0..3),
    ) {
        let fixtures = fixtures();
        let mut document = fixtures[which % fixtures.len()].clone();
        for (place, what, source, x) in changes {
            let patch = json!([operation(&document, place, what, source, x)]).to_string();
            let patch = Patch::from_slice(patch.as_bytes(), "change").unwrap();
            let mut changed = document.clone();
            if patch.apply(&mut changed).is_ok() && changed.is_object() && !changed.as_object().unwrap().is_empty() {
                document = changed;
            }
        }
        let text = serde_json::to_vec(&document).unwrap();
        let report = validate_slice(&text);
        match (Workspace::from_slice(&text), Workspace::from_value(document)) {
            (Ok(from_text), Ok(from_value)) => {
                prop_assert_eq!(&from_text, &from_value);
                prop_assert_eq!(&Workspace::from_value(from_text.to_value()).unwrap(), &from_text);
                let mut usable = true;
                for name in from_text.measurement_names() {
                    let options = ModelOptions { measurement: Some(name.to_owned()), ..ModelOptions::default() };
                    usable &= from_text.model(&options).is_ok();
                }
                // Such observations are an error of the data, and the model is built for other data.
                let impossible = |p: &Problem| p.message.contains("no sample ever expects any events");
                let errors = || report.problems.iter().filter(|p| p.severity == Severity::Error);
                if errors().next().is_some() && errors().all(impossible) {
                    prop_assert!(usable, "{}", report);
                } else {
                    prop_assert_eq!(report.is_usable(), usable, "{}", report);
                }
                let summary = from_text.summary();
                prop_assert_eq!(summary.measurements.len(), from_text.measurement_names().len());
            }
            (Err(from_text), Err(from_value)) => {
                prop_assert_eq!(from_text.problems(), from_value.problems());
                prop_assert!(!report.is_usable());
                // If the fast reader fails, the slow reader always finds the reason.
                prop_assert!(!from_text.to_string().contains("Compare it with the format"), "{}", from_text);
            }
            (from_text, from_value) => prop_assert!(false, "{from_text:?} but {from_value:?}"),
        }
    }

    /// A patch followed by its reverse restores the workspace, and an empty patch changes nothing.
    #[test]
    fn a_patch_and_its_reverse_cancel(which in 0usize..100, x in 0.1..1000.0f64) {
        let fixtures = fixtures();
        let document = &fixtures[which % fixtures.len()];
        let path = "/channels/0/samples/0/data/0";
        let old = document.pointer(path).unwrap();
        let forth = json!([{"op": "replace", "path": path, "value": x}]).to_string();
        let back = json!([{"op": "test", "path": path, "value": x}, {"op": "replace", "path": path, "value": old}]).to_string();
        let text = serde_json::to_vec(document).unwrap();
        let read = |patches: &[&str]| {
            let patches: Vec<Patch> = patches.iter().map(|p| Patch::from_slice(p.as_bytes(), "p").unwrap()).collect();
            Workspace::from_slice_patched(&text, &patches, DigestCheck::Verify).unwrap()
        };
        let plain = Workspace::from_slice(&text).unwrap();
        prop_assert_eq!(&read(&[&forth, &back]), &plain);
        prop_assert_eq!(&read(&["[]"]), &plain);
        let changed = read(&[&forth]).model(&ModelOptions::default()).unwrap();
        let sample = changed.channels.iter().flat_map(|c| &c.samples).find(|s| s.nominal[0] == x);
        prop_assert!(sample.is_some());
    }
}
