//! Reads the profile that ONNX Runtime writes, and finds the providers that evaluated the nodes of a graph.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An event of a profile, such as the evaluation of a node.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    args: Arguments,
}

#[derive(Deserialize, Default)]
struct Arguments {
    provider: Option<String>,
}

/// Returns the number of nodes of a graph that each provider evaluated, by the name of the provider. `text` is the
/// profile.
///
/// # Errors
/// If the text is not a profile in JSON.
pub(super) fn providers(text: &[u8]) -> Result<BTreeMap<String, usize>, serde_json::Error> {
    let events: Vec<Event> = serde_json::from_slice(text)?;
    let mut counts = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.cat == "Node") {
        if let Some(provider) = event.args.provider.filter(|provider| !provider.is_empty()) {
            *counts.entry(provider).or_insert(0) += 1;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_provider() {
        let text = br#"[
            {"cat": "Session", "name": "model_run", "args": {}},
            {"cat": "Node", "name": "a_fence_before", "args": {"op_name": "MatMul"}},
            {"cat": "Node", "name": "a_kernel_time", "args": {"provider": "CUDAExecutionProvider", "input": [1]}},
            {"cat": "Node", "name": "b_kernel_time", "args": {"provider": "CUDAExecutionProvider"}},
            {"cat": "Node", "name": "c_kernel_time", "args": {"provider": "CPUExecutionProvider"}},
            {"cat": "Kernel", "name": "d", "args": {"provider": "TensorrtExecutionProvider"}}
        ]"#;
        let counts = providers(text).unwrap();
        let expected = [("CPUExecutionProvider", 1), ("CUDAExecutionProvider", 2)];
        assert_eq!(counts, expected.map(|(name, n)| (name.to_owned(), n)).into());
        assert!(providers(b"{").is_err());
    }
}
