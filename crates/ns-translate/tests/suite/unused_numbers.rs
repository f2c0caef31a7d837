//! Numbers of a workspace that the likelihood does not use, and observations that no model can produce.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Interpolation, NormsysCode};
use ns_translate::pyhf::{ModelOptions, Problem, Severity, Workspace};
use serde_json::{Value, json};

fn read(channel: Value, observed: &[f64], parameters: &[Value]) -> Workspace {
    let workspace = json!({
        "version": "1.0.0",
        "channels": [{"name": "SR", "samples": channel}],
        "observations": [{"name": "SR", "data": observed}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}]
    });
    Workspace::from_slice(workspace.to_string().as_bytes()).unwrap()
}

fn signal(data: &[f64]) -> Value {
    json!({"name": "signal", "data": data, "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]})
}

fn found(problems: &[Problem], severity: Severity, words: &[&str]) -> usize {
    let says = |p: &&Problem| p.severity == severity && words.iter().all(|word| p.message.contains(word));
    problems.iter().filter(says).count()
}

#[test]
fn an_uncertainty_of_a_negative_yield_is_not_dropped_silently() {
    for kind in ["staterror", "shapesys"] {
        let modifiers = json!([{"name": "stat", "type": kind, "data": [4.0, 0.0, 7.0]}]);
        let background = json!({"name": "background", "data": [-20.0, 0.0, 30.0], "modifiers": modifiers});
        let workspace = read(json!([signal(&[50.0, 5.0, 5.0]), background]), &[30.0, 5.0, 35.0], &[]);
        let problems = workspace.validate();
        let words = [kind, "'stat'", "not used", "bin 0 (uncertainty 4, yield -20)"];
        assert_eq!(found(&problems, Severity::Warning, &words), 1, "{problems:?}");
        assert_eq!(found(&problems, Severity::Warning, &["bin 2"]), 0, "{problems:?}");
        assert!(workspace.model(&ModelOptions::default()).is_ok());
    }
}

#[test]
fn an_event_where_nothing_is_ever_expected_is_an_error() {
    let problems_of = |background: &[f64], templates: &[f64], observed: f64, parameters: &[Value]| {
        let shape = json!({"lo_data": templates, "hi_data": templates});
        let modifiers = json!([
            {"name": "shape", "type": "histosys", "data": shape},
            {"name": "theory", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}
        ]);
        let background = json!({"name": "background", "data": background, "modifiers": modifiers});
        read(json!([signal(&[2.0, 0.0]), background]), &[6.0, observed], parameters).validate()
    };
    let words = ["SR", "bin 1", "no sample ever expects"];
    let empty = problems_of(&[4.0, 0.0], &[5.0, 0.0], 1.0, &[]);
    assert_eq!(found(&empty, Severity::Error, &words), 1, "{empty:?}");
    for (background, templates, observed) in
        [([4.0, 0.1], [5.0, 0.0], 1.0), ([4.0, 0.0], [5.0, 0.2], 1.0), ([4.0, 0.0], [5.0, 0.0], 0.0)]
    {
        let problems = problems_of(&background, &templates, observed, &[]);
        assert_eq!(found(&problems, Severity::Error, &words), 0, "{problems:?}");
    }
    // The model is built all the same, for data that replace these.
    let impossible = read(json!([signal(&[2.0, 0.0])]), &[6.0, 1.0], &[]);
    assert_eq!(found(&impossible.validate(), Severity::Error, &words), 1);
    assert!(impossible.model(&ModelOptions::default()).is_ok());
    // A factor that is fixed at 0 expects nothing either.
    let held = json!({"name": "mu", "inits": [0.0], "fixed": true});
    let only_signal = read(json!([signal(&[2.0, 1.0])]), &[1.0, 0.0], &[held]).validate();
    assert_eq!(
        found(&only_signal, Severity::Error, &["bin 0", "no sample ever expects"]),
        1,
        "{only_signal:?}"
    );
}

#[test]
fn codes_without_a_logarithm_take_a_normsys_factor_of_zero() {
    for (lo, hi) in [(0.0, 2.0), (-0.5, 1.5), (0.5, 0.0)] {
        let modifiers = json!([{"name": "theory", "type": "normsys", "data": {"lo": lo, "hi": hi}}]);
        let background = json!({"name": "background", "data": [10.0], "modifiers": modifiers});
        let workspace = read(json!([signal(&[5.0]), background]), &[14.0], &[]);
        for &code in NormsysCode::ALL {
            let interpolation = Interpolation { normsys: code, ..Interpolation::default() };
            let options = ModelOptions { interpolation, ..ModelOptions::default() };
            let problems = workspace.validate_with(interpolation);
            let errors = problems.iter().filter(|p| p.severity == Severity::Error).count();
            let refused = code.has_logarithm();
            assert_eq!(errors, usize::from(refused), "{code}: {problems:?}");
            assert_eq!(workspace.model(&options).is_err(), refused, "{code}");
        }
    }
}
