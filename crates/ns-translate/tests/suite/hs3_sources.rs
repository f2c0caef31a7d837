//! Tests data sets of HS3 models whose events are in a Parquet file or come from the caller.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ns_core::Model;
use ns_translate::ModelSource;
use ns_translate::hs3::{EventSources, GivenEvents, wanted_columns};
use ns_translate::pyhf::{DigestCheck, ModelOptions, WorkspaceError};
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

/// Writes columns of doubles to a Parquet file, as one row group.
fn write(path: &Path, columns: &[(&str, &[f64])]) {
    let fields: String = columns.iter().map(|(name, _)| format!("required double {name};")).collect();
    let schema = Arc::new(parse_message_type(&format!("message events {{ {fields} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, column) in columns {
        let mut out = group.next_column().unwrap().unwrap();
        out.typed::<DoubleType>().write_batch(column, None, None).unwrap();
        out.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Masses of events. Some are outside of the axis from 100 to 160, and one is NaN.
const M: [f64; 8] = [120.0, 99.0, 130.0, 161.0, f64::NAN, 100.0, 160.0, 125.5];
const W: [f64; 8] = [1.0, 2.0, 0.5, 1.0, 1.0, 1.5, 2.5, 1.0];

/// Returns a model with one density. `keys` are the keys of its data set besides `name`, `type` and `axes`.
fn document(keys: &Value) -> Value {
    let mut data =
        json!({"name": "obs", "type": "unbinned", "axes": [{"name": "m", "min": 100, "max": 160}]});
    for (key, value) in keys.as_object().unwrap() {
        data[key] = value.clone();
    }
    json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [{"name": "peak", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 10}],
        "data": [data],
        "likelihoods": [{"name": "L", "distributions": ["peak"], "data": ["obs"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mass", "value": 125.0, "min": 110, "max": 140}]}],
    })
}

fn model(keys: &Value, sources: &EventSources) -> Result<Model, WorkspaceError> {
    let text = document(keys).to_string();
    ModelSource::with_events(text.as_bytes(), &[], DigestCheck::Verify, sources)?
        .model(&ModelOptions::default())
}

fn error(keys: &Value, sources: &EventSources) -> String {
    model(keys, sources).unwrap_err().to_string()
}

/// Returns a temporary folder with a file of events, and sources that read from this folder.
fn folder() -> (tempfile::TempDir, EventSources) {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("events.parquet"), &[("m_yy", &M), ("w", &W)]);
    let sources = EventSources::beside(&folder.path().join("model.json"));
    (folder, sources)
}

fn good() -> Value {
    json!({"file": "events.parquet", "columns": {"m": "m_yy"}, "weight": "w",
           "where": [["m_yy", ">=", 100], ["m_yy", "<=", 160]]})
}

#[test]
fn a_file_gives_the_same_model_and_data_as_written_events() {
    let (_folder, sources) = folder();
    let by_reference = model(&json!({"nextstat.source": good()}), &sources).unwrap();
    let written = json!({"entries": [[120.0], [130.0], [100.0], [160.0], [125.5]], "weights": [1.0, 0.5, 1.5, 2.5, 1.0]});
    let written = model(&written, &EventSources::default()).unwrap();
    assert_eq!(by_reference.digest(), written.digest());
    assert_eq!(by_reference.observed.digest(), written.observed.digest());
    assert_eq!(by_reference.observed, written.observed);
}

#[test]
fn trees_give_what_columns_in_parquet_give() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(fixtures.join("root/tree_events.root"), folder.path().join("events.root")).unwrap();
    std::fs::copy(fixtures.join("build/background.parquet"), folder.path().join("b.parquet")).unwrap();
    let sources = EventSources::beside(&folder.path().join("model.json"));
    let keys = |file: &str, tree: Option<&str>| {
        let mut source = json!({"file": file, "columns": {"m": "pt"}, "weight": "weight",
            "where": [["pt", ">=", 100], ["pt", "<=", 160], ["charge", ">", 0]]});
        if let Some(tree) = tree {
            source["tree"] = json!(tree);
        }
        json!({"nextstat.source": source})
    };
    let tree = model(&keys("events.root", Some("background")), &sources).unwrap();
    let parquet = model(&keys("b.parquet", None), &sources).unwrap();
    assert_eq!(tree.observed, parquet.observed);
    let said = error(&keys("events.root", Some("backgrund")), &sources);
    assert!(said.contains("has no 'backgrund'; the closest that exists is 'background"), "{said}");
    let said = error(&keys("events.root", None), &sources);
    assert!(said.contains("'tree'"), "{said}");
}

#[test]
fn the_text_of_a_model_has_the_events_of_its_files() {
    let (_folder, sources) = folder();
    let text = document(&json!({"nextstat.source": good()})).to_string();
    let read = ModelSource::with_events(text.as_bytes(), &[], DigestCheck::Verify, &sources).unwrap();
    let again = ModelSource::from_slice(&read.to_json().unwrap()).unwrap();
    let observed = |source: &ModelSource| source.model(&ModelOptions::default()).unwrap().observed.digest();
    assert_eq!(observed(&read), observed(&again));
}

#[test]
fn events_of_the_caller_replace_those_of_the_file() {
    let given = |columns: Vec<(&str, Vec<f64>)>| {
        let columns = columns.into_iter().map(|(name, x)| (name.to_owned(), Arc::from(x))).collect();
        EventSources::default().with(BTreeMap::from([("obs".to_owned(), GivenEvents { columns })]))
    };
    let source = json!({"nextstat.source": good()});
    let expected = json!({"entries": [120.0, 130.0], "weights": [1.0, 0.5]});
    let expected = model(&expected, &EventSources::default()).unwrap().observed;
    // The columns either have their names in the file, and its conditions apply, or they have the names of
    // the axes.
    let columns = vec![("m_yy", vec![120.0, 130.0, 99.0]), ("w", vec![1.0, 0.5, 7.0])];
    assert_eq!(model(&source, &given(columns)).unwrap().observed, expected);
    let plain = vec![("m", vec![120.0, 130.0]), ("weights", vec![1.0, 0.5])];
    assert_eq!(model(&json!({}), &given(plain.clone())).unwrap().observed, expected);
    assert_eq!(model(&json!({"entries": [[111.0]]}), &given(plain.clone())).unwrap().observed, expected);

    let message = error(&json!({}), &given(vec![("mm", vec![120.0])]));
    assert!(
        message.contains("/data/0: The events given have no column 'm'. Did you mean 'mm'?"),
        "{message}"
    );
    let message = error(&json!({"entries": [[111.0]], "weights": [2.0]}), &given(vec![("m", vec![120.0])]));
    assert!(message.contains("no column 'weights', and the data set has weights"), "{message}");
    let message = error(&json!({}), &given(vec![("m", vec![120.0, 99.0])]));
    assert!(message.contains("outside of its axis"), "{message}");
    // NaN is no place outside of the axis.
    let message = error(&json!({}), &given(vec![("m", vec![120.0, f64::NAN])]));
    assert!(message.contains("Event 1 has no finite number") && !message.contains("outside"), "{message}");
    let none = model(&json!({}), &given(vec![("m", vec![])])).unwrap();
    assert_eq!(none.observed, model(&json!({"entries": []}), &EventSources::default()).unwrap().observed);
    let mut sources = given(plain);
    let events = sources.given.remove("obs").unwrap();
    sources.given.insert("obbs".to_owned(), events);
    let message = error(&json!({"entries": [[111.0]]}), &sources);
    assert!(message.contains("'obbs', which is no data set of events. Did you mean 'obs'?"), "{message}");
    let wanted = wanted_columns(document(&source).to_string().as_bytes());
    assert_eq!(wanted["obs"].axes, ["m"]);
    assert_eq!(wanted["obs"].others, ["m_yy", "w", "m_yy", "m_yy", "weights"]);
}

#[test]
fn mistakes_have_their_place_and_a_remedy() {
    let (folder, sources) = folder();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut source = good();
        change(&mut source);
        error(&json!({"nextstat.source": source}), &sources)
    };
    let expect = |message: String, parts: &[&str]| {
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    };
    expect(
        with(&|s| s["columns"]["m"] = json!("mass")),
        &["/data/0/nextstat.source", "no column 'mass'", "'m_yy', 'w'"],
    );
    expect(with(&|s| s["columns"]["x"] = json!("w")), &["/data/0/nextstat.source/columns/x", "no axis 'x'"]);
    expect(with(&|s| s["weight"] = json!("ww")), &["no column 'ww'. Did you mean 'w'?"]);
    expect(
        with(&|s| s["where"] = json!([["m_yy", "=", 1]])),
        &["/nextstat.source/where/0", "is no condition", "=="],
    );
    expect(with(&|s| s["where"] = json!([["m_yy", ">", 1e4]])), &["No event is left", "all 8 rows"]);
    // Rows outside the axis or without a number must be dropped explicitly.
    expect(
        with(&|s| s["where"] = json!([["m_yy", ">", 0]])),
        &["= 99, outside of its axis from 100 to 160; 2 of 7 events are", "conditions under 'where'"],
    );
    expect(
        with(&|s| s["where"] = json!([])),
        &["Event 4 has no finite number for the axis 'm'; 1 of 8 events has none"],
    );
    expect(with(&|s| s["sha256"] = json!("00")), &["/nextstat.source/sha256", "is another one"]);
    expect(with(&|s| s["format"] = json!("csv")), &["/nextstat.source/format", "Parquet file"]);
    expect(with(&|s| s["file"] = json!("a.root")), &["lacks the key 'tree'"]);
    expect(with(&|s| s["colums"] = json!({})), &["unknown key 'colums'"]);
    expect(with(&|s| s["file"] = json!("none.parquet")), &["/nextstat.source/file", "cannot be read"]);
    expect(with(&|s| s["file"] = json!("/etc/passwd")), &["does not stay in the folder"]);
    expect(with(&|s| s["file"] = json!("../events.parquet")), &["does not stay in the folder"]);
    expect(with(&|s| s["file"] = json!("sub/../../events.parquet")), &["does not stay in the folder"]);
    expect(with(&|s| s["file"] = json!("https://a.b/c.parquet")), &["is an address"]);
    expect(with(&|s| s["file"] = json!(".")), &["is no file"]);
    std::fs::write(folder.path().join("text.parquet"), "no Parquet").unwrap();
    expect(with(&|s| s["file"] = json!("text.parquet")), &["cannot be read as a Parquet file"]);
    let both = error(&json!({"nextstat.source": good(), "entries": [[1.0]]}), &sources);
    expect(both, &["both events and a file of events"]);
    let refused = error(&json!({"nextstat.source": good()}), &EventSources::default());
    expect(refused, &["/data/0/nextstat.source/file", "was not read from a file", "'entries'"]);
}

#[cfg(unix)]
#[test]
fn links_do_not_leave_the_folder() {
    let (folder, _) = folder();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(folder.path().join("events.parquet"), inner.join("events.parquet")).unwrap();
    std::os::unix::fs::symlink(folder.path(), inner.join("up")).unwrap();
    let sources = EventSources::beside(&inner.join("model.json"));
    let message = error(&json!({"nextstat.source": good()}), &sources);
    assert!(message.contains("link that leaves the folder"), "{message}");
    let mut up = good();
    up["file"] = json!("up/events.parquet");
    let message = error(&json!({"nextstat.source": up}), &sources);
    assert!(message.contains("link that leaves the folder"), "{message}");
    // A link to a file in the same folder is allowed.
    std::os::unix::fs::symlink(folder.path().join("events.parquet"), folder.path().join("link.parquet"))
        .unwrap();
    let mut within = good();
    within["file"] = json!("link.parquet");
    let sources = EventSources::beside(&folder.path().join("model.json"));
    assert!(model(&json!({"nextstat.source": within}), &sources).is_ok());
}

#[test]
fn workspaces_take_no_events() {
    let text =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json"))
            .unwrap();
    let sources = EventSources::default().with(BTreeMap::from([("obs".to_owned(), GivenEvents::default())]));
    let error = ModelSource::with_events(&text, &[], DigestCheck::Verify, &sources).unwrap_err();
    assert!(matches!(error, WorkspaceError::EventsForWorkspace));
}
