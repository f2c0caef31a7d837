//! Changes to a workspace. The result is always JSON, and often still a workspace.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

/// The workspaces that are changed.
const FIXTURES: [&str; 8] = [
    include_str!("../../tests/fixtures/simple_workspace.json"),
    include_str!("../../tests/fixtures/all_modifiers.json"),
    include_str!("../../tests/fixtures/several_measurements.json"),
    include_str!("../../tests/fixtures/background_only.json"),
    include_str!("../../tests/fixtures/asymmetric.json"),
    include_str!("../../tests/fixtures/shared_names.json"),
    include_str!("../../tests/fixtures/edge_yields.json"),
    include_str!("../../tests/fixtures/overrides.json"),
];

/// The HS3 models that are changed.
const HS3: [&str; 4] = [
    include_str!("../../tests/fixtures/hs3/mixed.hs3.json"),
    include_str!("../../tests/fixtures/hs3/mixed_root.hs3.json"),
    include_str!("../../tests/fixtures/hs3/lifetime.hs3.json"),
    include_str!("../../tests/fixtures/hs3/straggling.hs3.json"),
];

/// Numbers near limits of arithmetic, such as rounding, underflow and overflow, and some usual numbers.
const NUMBERS: [f64; 20] = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1e-10, 1e-300, 5e-324, -1e-300, 1e15, 9e15, 1e18, 1e150, 1e300, 1.7e308, -1e300, 10.0,
    1e-5, 3.0, 100.0,
];

/// Returns a fixture with up to eight changes, which the bytes of `u` choose.
pub fn mutated(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut document: Value = serde_json::from_str(u.choose(&FIXTURES)?).expect("a fixture is JSON");
    for _ in 0..u.int_in_range(0..=8)? {
        change(&mut document, u)?;
    }
    Ok(document)
}

/// Returns an HS3 fixture with few events and up to eight changes, which the bytes of `u` choose.
pub fn mutated_hs3(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut document: Value = serde_json::from_str(u.choose(&HS3)?).expect("a fixture is JSON");
    // With all events, most changes would change an event.
    for data in document["data"].as_array_mut().into_iter().flatten() {
        if let Some(entries) = data.get_mut("entries").and_then(Value::as_array_mut) {
            entries.truncate(4);
        }
    }
    for _ in 0..u.int_in_range(0..=8)? {
        change(&mut document, u)?;
    }
    Ok(document)
}

fn number(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=2)? {
        0 => json!(*u.choose(&NUMBERS)?),
        1 => json!(u.arbitrary::<i16>()?),
        _ => json!(f64::from(u.arbitrary::<i32>()?) * 1e-3),
    })
}

fn change(document: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    let mut paths = Vec::new();
    collect(document, String::new(), &mut paths);
    if paths.is_empty() {
        return Ok(());
    }
    let path = u.choose(&paths)?.clone();
    let other = document.pointer(u.choose(&paths)?).cloned().unwrap_or(Value::Null);
    let fresh = number(u)?;
    let Some((parent, key)) = path.rsplit_once('/') else { return Ok(()) };
    // Most values in a workspace are numbers. If a number is changed, the workspace usually stays valid.
    match u.int_in_range(0..=9)? {
        0 => match document.pointer_mut(parent) {
            Some(Value::Array(items)) => {
                if let Ok(i) = key.parse::<usize>() {
                    items.remove(i);
                }
            }
            Some(Value::Object(map)) => {
                map.remove(key);
            }
            _ => {}
        },
        1 => {
            if let Some(Value::Array(items)) = document.pointer_mut(parent) {
                items.push(other);
            }
        }
        2 => {
            if let Some(value) = document.pointer_mut(&path) {
                *value = other;
            }
        }
        3 => {
            if let Some(value) = document.pointer_mut(&path) {
                *value = u.choose(&[Value::Null, json!(true), json!([]), json!({}), json!("mu"), json!("lumi")])?.clone();
            }
        }
        4 => {
            // Replaces all numbers of one array.
            if let Some(Value::Array(items)) = document.pointer_mut(parent) {
                for item in items.iter_mut().filter(|i| i.is_number()) {
                    *item = fresh.clone();
                }
            }
        }
        5 => {
            let kinds = ["histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror"];
            if let Some(Value::Object(map)) = document.pointer_mut(parent) {
                if map.contains_key("type") {
                    map.insert("type".to_owned(), json!(u.choose(&kinds)?));
                }
            }
        }
        _ => {
            let numbers: Vec<&String> =
                paths.iter().filter(|p| document.pointer(p).is_some_and(Value::is_number)).collect();
            if !numbers.is_empty() {
                let path = (*u.choose(&numbers)?).clone();
                if let Some(value) = document.pointer_mut(&path) {
                    *value = fresh;
                }
            }
        }
    }
    Ok(())
}

fn collect(value: &Value, prefix: String, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(item, format!("{prefix}/{i}"), out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                collect(item, format!("{prefix}/{}", key.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        _ => {}
    }
    if !prefix.is_empty() {
        out.push(prefix);
    }
}
