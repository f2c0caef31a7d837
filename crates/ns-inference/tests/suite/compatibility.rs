//! Tests of the compatibility of channels, and of injection tests, against closed forms and other analyses.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use ns_core::{Control, Execution, Model};
use ns_inference::{
    CompatibilityOptions, CompatibilityResult, FitOptions, InjectionOptions, compatibility, fit, injection,
    open_session,
};
use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

/// Channels with counts `n`, a signal of 10 `mu` and a background of 50 each. `uncertain` adds a common uncertainty.
fn model(n: &[f64], uncertain: bool) -> Model {
    let mu = json!({"name": "mu", "type": "normfactor", "data": null});
    let norm = json!([{"name": "b", "type": "normsys", "data": {"lo": 0.95, "hi": 1.05}}]);
    let channel = |i: usize| {
        json!({"name": format!("SR{i}"), "samples": [
            {"name": "signal", "data": [10.0], "modifiers": [mu]},
            {"name": "background", "data": [50.0], "modifiers": if uncertain { norm.clone() } else { json!([]) }}]})
    };
    let document = json!({
        "channels": (0..n.len()).map(channel).collect::<Vec<_>>(),
        "observations": n.iter().enumerate().map(|(i, n)| json!({"name": format!("SR{i}"), "data": [n]})).collect::<Vec<_>>(),
        "measurements": [{"name": "m", "config": {"poi": "mu",
            "parameters": [{"name": "mu", "bounds": [[-4.0, 20.0]]}]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn tested(model: &Model, options: &CompatibilityOptions) -> CompatibilityResult {
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = open_session(model, &execution).unwrap();
    compatibility(model, session.as_ref(), options, &execution, Control::default()).unwrap()
}

#[test]
fn counts_have_the_ratio_of_their_likelihoods() {
    let n = [52.0, 66.0, 71.0];
    let options = CompatibilityOptions::default().n_toys(Some(4000)).leave_out(true);
    let result = tested(&model(&n, false), &options);
    let mean = n.iter().sum::<f64>() / 3.0;
    let q = 2.0 * n.iter().map(|n| n * (n / mean).ln()).sum::<f64>();
    assert!((result.q - q).abs() < 1e-7, "{} {q}", result.q);
    assert!((result.common.value - (mean - 50.0) / 10.0).abs() < 1e-6);
    assert_eq!((result.n_dof, result.channels.len()), (2, 3));
    for (channel, n) in result.channels.iter().zip(n) {
        assert!((channel.own.value - (n - 50.0) / 10.0).abs() < 1e-6);
        assert!((channel.own.uncertainty.unwrap() - n.sqrt() / 10.0).abs() < 1e-6);
        let others = (3.0 * mean - n) / 2.0;
        assert!((channel.others.as_ref().unwrap().value - (others - 50.0) / 10.0).abs() < 1e-6);
    }
    let (p, error) = (result.p_value_toys.unwrap(), result.p_value_toys_error.unwrap());
    assert!((p - result.p_value.unwrap()).abs() < 4.0 * error + 0.01, "{p} {:?}", result.p_value);
    assert!(result.converged && result.toys.unwrap().n_left_out == 0);
}

#[test]
fn a_common_uncertainty_is_profiled_in_both_fits() {
    let split = model(&[52.0, 66.0], true);
    let result = tested(&split, &CompatibilityOptions::default());
    let session = open_session(&split, &Execution::default()).unwrap();
    let common = fit(&split, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    assert!((result.common.value - common.value("mu").unwrap()).abs() < 1e-6);
    assert!(result.q > 1.0 && result.q < 3.0 && result.converged, "{result:?}");
    assert!(result.channels[0].own.lower.unwrap() < result.channels[0].own.value);
}

#[test]
fn one_channel_or_a_constraint_is_refused() {
    let one = model(&[52.0], false);
    let execution = Execution::default();
    let session = open_session(&one, &execution).unwrap();
    let options = CompatibilityOptions::default();
    let error = compatibility(&one, session.as_ref(), &options, &execution, Control::default()).unwrap_err();
    assert!(error.to_string().contains("channel 'SR0' alone"), "{error}");
}

/// Two channels of events whose rates are products with the parameter.
fn events() -> Value {
    let entries = |n: usize, shift: f64| -> Vec<[f64; 1]> {
        (0..n).map(|i| [(0.618_034 * i as f64 + shift).fract()]).collect()
    };
    json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "s", "type": "gaussian_dist", "x": "x", "mean": 0.5, "sigma": 0.1},
            {"name": "u", "type": "uniform_dist", "x": "x"},
            {"name": "m1", "type": "mixture_dist", "summands": ["s", "u"], "coefficients": ["n1", "b1"], "extended": true},
            {"name": "m2", "type": "mixture_dist", "summands": ["s", "u"], "coefficients": ["n2", "b2"], "extended": true},
        ],
        "functions": [{"name": "n1", "type": "product", "factors": ["mu", 20.0]},
                      {"name": "n2", "type": "product", "factors": ["mu", 30.0]}],
        "data": [
            {"name": "d1", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": entries(150, 0.1)},
            {"name": "d2", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": entries(190, 0.3)}],
        "likelihoods": [{"name": "L", "distributions": ["m1", "m2"], "data": ["d1", "d2"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "mu", "min": -5, "max": 20}, {"name": "b1", "min": 1, "max": 1000}, {"name": "b2", "min": 1, "max": 1000}]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mu", "value": 1.0}, {"name": "b1", "value": 140.0}, {"name": "b2", "value": 170.0}]}],
        "analyses": [{"name": "a", "likelihood": "L", "parameters_of_interest": ["mu"], "domain": "default_domain",
                      "init": "default_values"}],
    })
}

#[test]
fn channels_of_events_are_split_through_their_functions() {
    let source = ModelSource::from_slice(events().to_string().as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let result = tested(&model, &CompatibilityOptions::default().n_toys(Some(60)));
    assert_eq!(result.channels.len(), 2);
    assert!(result.converged && result.q >= 0.0 && result.p_value_toys.is_some(), "{result:?}");
    // The channels share nothing but mu, so the common value lies between their values.
    let values: Vec<f64> = result.channels.iter().map(|channel| channel.own.value).collect();
    let (low, high) = (values[0].min(values[1]), values[0].max(values[1]));
    assert!((low..=high).contains(&result.common.value), "{result:?}");
}

#[test]
fn injected_values_are_found_again() {
    let model = model(&[52.0, 66.0], true);
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = InjectionOptions::default().values(vec![2.0, 0.0, 1.0]).n_toys(1500).seed(2);
    let result = injection(&model, session.as_ref(), &options, Control::default()).unwrap();
    let line = result.line.clone().unwrap();
    assert!((line.slope - 1.0).abs() < 4.0 * line.slope_error && line.slope_error < 0.05, "{line:?}");
    assert!(line.intercept.abs() < 4.0 * line.intercept_error + 0.02, "{line:?}");
    assert_eq!(result.points.iter().map(|p| p.value).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
    assert!(result.converged && result.points.iter().all(|p| p.n_toys == 1500 && p.study.name == "mu"));
    let refused = |options: InjectionOptions| {
        injection(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    assert!(refused(InjectionOptions::default()).contains("no value to inject"));
    assert!(refused(InjectionOptions::default().values(vec![1.0, 1.0])).contains("twice"));
}
