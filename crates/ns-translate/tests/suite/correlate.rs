//! Correlations of constraints in files, and their way through HS3.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use ns_core::{Constraint, Model};
use ns_translate::pyhf::{ModelOptions, Workspace, workspace_of};
use ns_translate::{CorrelationTables, CorrelationsError, ModelSource, hs3};

fn model() -> Model {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let workspace = Workspace::from_path(folder.join("simple_workspace.json")).unwrap();
    workspace.model(&ModelOptions::default()).unwrap()
}

const JSON: &str = r#"{"parameters": ["lumi", "jet_scale", "signal_theory"],
    "correlations": [[1, 0.5, -0.2], [0.5, 1, 0.3], [-0.2, 0.3, 1]]}"#;

const CSV: &str = "\u{feff},lumi,\"jet_scale\",signal_theory\nlumi,1,0.5,-0.2\n\njet_scale,0.5,1,0.3\nsignal_theory,-0.2,0.3,1\n";

fn correlated() -> Model {
    let mut model = model();
    CorrelationTables::from_slice(JSON.as_bytes()).unwrap().apply(&mut model).unwrap();
    model
}

/// Returns the correlation of two parameters.
fn between(model: &Model, a: &str, b: &str) -> Option<f64> {
    let place = |name| model.parameter_index(name).unwrap();
    model.correlations().find_map(|own| own.between(place(a), place(b)))
}

#[test]
fn json_and_comma_separated_values_say_the_same() {
    let read = |text: &str| CorrelationTables::from_slice(text.as_bytes()).unwrap();
    assert_eq!(read(JSON), read(CSV));
    assert_eq!(read(JSON), read(&format!("[{JSON}]")));
    let again = read(&read(JSON).to_json().unwrap());
    assert_eq!(again, read(JSON));
    let model = correlated();
    assert_eq!(between(&model, "jet_scale", "signal_theory"), Some(0.3));
    assert_ne!(model.digest(), self::model().digest());
    assert_eq!(model.check_events(), Ok(()));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let refused = |text: &str| -> CorrelationsError {
        let read = CorrelationTables::from_slice(text.as_bytes());
        read.and_then(|tables| tables.apply(&mut model())).unwrap_err()
    };
    let of =
        |names: &str, rows: &str| refused(&format!(r#"{{"parameters": {names}, "correlations": {rows}}}"#));
    let two = "[[1, 0.5], [0.5, 1]]";
    for (error, text) in [
        (of(r#"["lumi", "nothing"]"#, two), "no parameter 'nothing'"),
        (of(r#"["lumi", "lumi"]"#, two), "'lumi' is named twice"),
        (of(r#"["lumi", "mu"]"#, two), "'mu' has no constraint"),
        (of(r#"["lumi", "jet_scale"]"#, "[[1, 0.5], [0.4, 1]]"), "mirror image is 0.5"),
        (of(r#"["lumi", "jet_scale"]"#, "[[4, 0.5], [0.5, 1]]"), "the element of 'lumi' and 'lumi' is 4"),
        (of(r#"["lumi", "jet_scale"]"#, "[[1, 1.25], [1.25, 1]]"), "smallest eigenvalue is -2.500e-1"),
        (of(r#"["lumi", "jet_scale"]"#, "[[1, 0.5]]"), "1 rows"),
        (of(r#"["lumi"]"#, "[[1]]"), "parameters of a matrix is 1"),
        (refused("lumi;jet"), "parameters of a matrix is 0"),
        (refused(",lumi,jet_scale\njet_scale,1,0\n"), "begins with 'jet_scale'"),
        (refused(",lumi,jet_scale\nlumi,1,x\n"), "'x' is no number"),
        (refused("{\"a\": 1}"), "another form"),
        (refused(""), "the file is empty"),
    ] {
        assert!(error.to_string().contains(text), "{error}");
    }
    let twice = CorrelationTables::from_slice(JSON.as_bytes()).unwrap();
    assert!(matches!(twice.apply(&mut correlated()), Err(CorrelationsError::Twice { .. })));
}

#[test]
fn hs3_has_words_for_correlations_and_workspaces_have_none() {
    let model = correlated();
    let written = hs3::write(&model).unwrap();
    let kinds: Vec<&str> =
        written["distributions"].as_array().unwrap().iter().filter_map(|d| d["type"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "multivariate_normal_dist").count(), 1);
    let source = ModelSource::from_slice(written.to_string().as_bytes()).unwrap();
    let read = source.model(&ModelOptions::default()).unwrap();
    for (a, b) in [("lumi", "jet_scale"), ("lumi", "signal_theory"), ("jet_scale", "signal_theory")] {
        let (ours, theirs) = (between(&read, a, b).unwrap(), between(&model, a, b).unwrap());
        assert!((ours - theirs).abs() < 1e-14, "{a} {b}: {ours} {theirs}");
    }
    let own = |model: &Model, name: &str| {
        let constraint = model.parameters[model.parameter_index(name).unwrap()].constraint;
        let Constraint::Gaussian { sigma, aux } = constraint else { panic!("{name} is not Gaussian") };
        (sigma, model.observed.aux[aux])
    };
    for p in model.parameters.iter().filter(|p| p.constraint.aux().is_some()) {
        let ((a, x), (b, y)) = (own(&read, &p.name), own(&model, &p.name));
        assert!((a - b).abs() < 1e-14 && x == y, "{}: {a} {b} {x} {y}", p.name);
    }
    // The file can be restated, and read again.
    let ModelSource::Hs3(file) = &source else { panic!("no HS3 model") };
    let restated = ModelSource::from_slice(file.restated().unwrap().to_string().as_bytes()).unwrap();
    assert_eq!(restated.model(&ModelOptions::default()).unwrap().digest(), read.digest());
    let error = workspace_of(&model).unwrap_err().to_string();
    assert!(error.contains("correlates constraints"), "{error}");
}
