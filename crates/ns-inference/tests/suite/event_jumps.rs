//! Densities that jump at a place that depends on parameters: no certificate if the parameter is free, and nothing changes
//! if both sides meet there.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{FitOptions, FitResult, ScanAxis, ScanOptions, fit, open_session, scan};
use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, Severity};
use serde_json::{Value, json};

const EVENTS: [f64; 12] = [0.5, 1.5, 2.2, 3.3, 4.4, 5.1, 5.9, 6.3, 7.7, 8.8, 9.1, 9.9];

/// Parameters as (name, (start, minimum, maximum)).
type Parameters<'a> = &'a [(&'a str, (f64, f64, f64))];

fn source(expression: &str, parameters: Parameters<'_>) -> ModelSource {
    let axes: Vec<Value> = parameters
        .iter()
        .map(|(name, (_, min, max))| json!({"name": name, "min": min, "max": max}))
        .collect();
    let values: Vec<Value> =
        parameters.iter().map(|(name, (start, ..))| json!({"name": name, "value": start})).collect();
    let entries: Vec<[f64; 1]> = EVENTS.iter().map(|x| [*x]).collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [{"name": "A", "type": "generic_dist", "expression": expression}],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 10}], "entries": entries}],
        "likelihoods": [{"name": "L", "distributions": ["A"], "data": ["d"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "default_values", "parameters": values}],
    });
    ModelSource::from_slice(document.to_string().as_bytes()).unwrap()
}

fn model(expression: &str, parameters: Parameters<'_>) -> Model {
    source(expression, parameters).model(&ModelOptions::default()).unwrap()
}

fn fitted(model: &Model, options: &FitOptions) -> FitResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(model, session.as_ref(), options, Control::default()).unwrap()
}

fn says(result: &FitResult, words: &str) -> bool {
    result.warnings.iter().any(|text| text.contains(words))
}

const THR: (&str, (f64, f64, f64)) = ("thr", (5.0, 1.0, 9.0));

#[test]
fn a_free_threshold_at_which_the_density_jumps_has_no_certificate() {
    let model = model("x < thr ? 1 : 2", &[THR]);
    let result = fitted(&model, &FitOptions::default());
    assert!(!result.converged);
    assert!(result.termination_reason.contains("jumps"), "{}", result.termination_reason);
    for words in ["'A'", "thr", "scan", "fix thr", "smooth turn-on"] {
        assert!(says(&result, words), "{words}: {:?}", result.warnings);
    }
    assert!(!says(&result, "does not depend"), "{:?}", result.warnings);
    assert_eq!((result.flat.len(), result.uncertainty("thr"), result.edm), (0, None, None));
}

#[test]
fn a_held_threshold_keeps_the_certificate() {
    let model = model("x < thr ? exp(-s*x) : 2*exp(-s*x)", &[THR, ("s", (0.1, -2.0, 2.0))]);
    assert!(!fitted(&model, &FitOptions::default()).converged);
    let result = fitted(&model, &FitOptions::default().fix("thr", 4.0));
    assert!(result.converged && !says(&result, "jumps"), "{:?}", result.warnings);
}

#[test]
fn a_scan_of_the_threshold_has_a_value_at_every_point() {
    let model = model("x < thr ? 1 : 2", &[THR]);
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let values = vec![2.0, 4.0, 6.0, 8.0];
    let options = ScanOptions::new(ScanAxis::param("thr").values(values.clone()));
    let result = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(!result.bestfit_converged && result.converged.iter().all(|converged| *converged));
    let exact = |thr: f64| {
        let above = EVENTS.iter().filter(|x| **x >= thr).count() as f64;
        24.0 * (20.0 - thr).ln() - 2.0 * above * 2.0_f64.ln()
    };
    for (thr, rise) in values.iter().zip(&result.twice_delta_nll) {
        let expected = exact(*thr) - exact(2.0);
        let found = rise.unwrap() - result.twice_delta_nll[0].unwrap();
        assert!((found - expected).abs() < 1e-9, "{thr}: {found} {expected}");
    }
}

#[test]
fn every_way_to_write_a_step_is_found() {
    let slope = ("s", (0.1, -2.0, 2.0));
    for expression in [
        "1 + (x > thr)",
        "1 + (x > thr && x < thr + 1)",
        "(x >= thr || x < 0.5) ? 2 : 1",
        "!(x < thr) + 1",
        "ifelse(abs(x - thr) < 0.5, 3, 1)",
        "2 + abs(x - thr)/(x - thr)",
        "x < 10 - thr ? exp(-s*x) : 0",
        "1 + s*s*(x < thr)",
    ] {
        let own: &[_] = if expression.contains("s*") { &[THR, slope] } else { &[THR] };
        let model = model(expression, own);
        let jumps = model.density_jumps();
        let thr = model.parameters.iter().position(|p| p.name == "thr").unwrap();
        assert!(jumps.len() == 1 && jumps[0].parameters.contains(&thr), "{expression}: {jumps:?}");
    }
}

#[test]
fn a_density_that_is_continuous_at_its_threshold_stays_as_it_was() {
    let crystal_ball = "(x - m)/w > -a ? exp(-0.5*pow((x - m)/w, 2)) \
        : pow(n/a, n)*exp(-0.5*a*a)*pow(n/a - a - (x - m)/w, -n)";
    let peak: Parameters<'_> =
        &[("m", (6.0, 3.0, 9.0)), ("w", (2.0, 0.5, 6.0)), ("a", (1.0, 0.3, 3.0)), ("n", (3.0, 1.1, 9.0))];
    for (expression, parameters) in [
        (crystal_ball, peak),
        ("x < thr ? 1 : exp(-(x - thr))", &[THR] as Parameters<'_>),
        ("x < thr ? sqrt(thr - x) + 1e-3 : 1e-3", &[THR]),
        ("x < thr ? pow(x - thr, 2) : 0.0", &[("thr", (9.95, 9.93, 9.99))]),
        ("1 + max(x - thr, 0)", &[THR]),
        ("1 + (x > thr)*(x - thr)", &[THR]),
        ("x < 3 ? 1 : 1 + thr", &[THR]),
    ] {
        let model = model(expression, parameters);
        assert_eq!(model.density_jumps(), [], "{expression}");
    }
    let result = fitted(&model("1 + max(x - thr, 0)", &[THR]), &FitOptions::default());
    assert!(result.converged, "{:?}", result.warnings);
}

#[test]
fn a_comparison_of_parameters_alone_is_not_said_to_have_no_effect() {
    let model = model("k < 1 ? 1 + x : 12 - x", &[("k", (0.5, 0.0, 2.0))]);
    let result = fitted(&model, &FitOptions::default());
    assert!(!says(&result, "does not depend"), "{:?}", result.warnings);
    assert!(says(&result, "a comparison uses k"), "{:?}", result.warnings);
}

#[test]
fn validation_warns_of_a_jump_with_its_place() {
    let problems = source("x < thr ? 1 : 2", &[THR]).validate(Default::default());
    let found: Vec<_> = problems.iter().filter(|problem| problem.message.contains("jumps")).collect();
    assert_eq!(found.len(), 1, "{problems:?}");
    assert_eq!((found[0].severity, found[0].path.as_str()), (Severity::Warning, "/distributions/0"));
    assert!(found[0].message.contains("'thr'") && found[0].remedy.contains("scan"));
    let smooth = source("1 + max(x - thr, 0)", &[THR]).validate(Default::default());
    assert!(smooth.iter().all(|problem| !problem.message.contains("jumps")));
}
