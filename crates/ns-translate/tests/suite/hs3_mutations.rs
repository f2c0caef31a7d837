//! Changes valid HS3 models at random places and reads them. The result must be a model or a list of
//! problems, never a panic.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use ns_translate::ModelSource;
use ns_translate::hs3::Hs3;
use ns_translate::pyhf::{ModelOptions, workspace_of};
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixtures() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hs3");
    let read = |name: &str| serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    let names = ["mixed.hs3.json", "mixed_root.hs3.json", "template.hs3.json", "lifetime.hs3.json"];
    let mut models: Vec<Value> = names.into_iter().map(read).collect();
    for model in &mut models {
        // With more events, most changes would change an event.
        model["data"][0]["entries"].as_array_mut().unwrap().truncate(4);
        for template in model["distributions"].as_array_mut().unwrap() {
            shorten(template);
        }
    }
    models
}

/// Removes all simulated events of a template except the first four, and the weights of the removed events.
fn shorten(distribution: &mut Value) {
    let responses = distribution.get("responses").and_then(Value::as_array).map_or(0, Vec::len);
    let of_responses = (0..responses).flat_map(|i| ["up", "down"].map(|key| format!("/responses/{i}/{key}")));
    for list in ["/entries".to_owned(), "/weights".to_owned()].into_iter().chain(of_responses) {
        if let Some(Value::Array(items)) = distribution.pointer_mut(&list) {
            items.truncate(4);
        }
    }
}

/// Returns the number of values in a tree.
fn size(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// Replaces the value with the index `at` in depth-first order. The root has the index 0.
fn replace(tree: &mut Value, at: &mut usize, new: &Value) {
    if *at == 0 {
        *tree = new.clone();
        *at = usize::MAX;
        return;
    }
    *at = at.wrapping_sub(1);
    let inner: Vec<&mut Value> = match tree {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    };
    for item in inner {
        if *at >= usize::MAX / 2 {
            return;
        }
        replace(item, at, new);
    }
}

fn values() -> impl Strategy<Value = Value> {
    let plain = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(1e-308),
        json!(7),
        json!(""),
        json!("mu"),
        json!("m"),
        json!("peak"),
        json!("events"),
        json!("n_sig"),
        json!("eff_term"),
        json!("seen_counts"),
        json!("mixture_dist"),
        json!("product_dist"),
        json!("poisson_dist"),
        json!("histosys"),
        json!("unbinned"),
        json!("binned"),
        json!("generic_dist"),
        json!("1/0"),
        json!([]),
        json!({}),
        json!([1, 2]),
        json!([[1], [2]]),
        json!(["events", "events"]),
        json!({"contents": [1, 2]}),
        json!({"hi": 1, "lo": 2}),
        json!("uniform_dist"),
        json!("integral"),
        json!({"type": "kde"}),
        json!({"m": [[1, 2]]}),
        json!("nextstat.template_dist"),
        json!("crystalball_dist"),
        json!("multivariate_normal_dist"),
        json!("decay_dist"),
        json!("fft_conv_pdf"),
        json!("landau_dist"),
        json!("power_sum_dist"),
        json!("extend_pdf"),
        json!("axes"),
        json!([{"m": [1, 2]}]),
        json!([[1e308, 1e308], [1e308, 1e308]]),
    ];
    prop::sample::select(plain)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn changed_models_never_panic(
        which in 0..3_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), values()), 1..4),
    ) {
        let mut tree = fixtures().swap_remove(which);
        for (place, new) in changes {
            let mut at = place.index(size(&tree));
            replace(&mut tree, &mut at, &new);
        }
        let text = tree.to_string();
        if let Ok(hs3) = Hs3::from_slice(text.as_bytes()) {
            let _ = hs3.validate();
            for name in hs3.analysis_names() {
                let options = ModelOptions { measurement: Some(name), ..ModelOptions::default() };
                let Ok(model) = hs3.model(&options).inspect_err(|error| drop(error.to_string())) else { continue };
                let _ = workspace_of(&model).inspect_err(|error| drop(error.to_string()));
                // The model does not change if it is written again in the words of the HS3 standard.
                let restated = hs3.restated().unwrap().to_string();
                let again = Hs3::from_slice(restated.as_bytes()).and_then(|again| again.model(&options));
                let again = again.map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert_eq!(again.digest(), model.digest());
                prop_assert_eq!(again.observed, model.observed);
            }
        }
        let _ = ModelSource::from_slice(text.as_bytes()).and_then(|source| source.model(&ModelOptions::default()));
    }
}
