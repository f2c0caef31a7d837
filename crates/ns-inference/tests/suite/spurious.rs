//! Tests of spurious signals: none with the true background, and one with another.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{SpuriousOptions, SpuriousResult, open_session, spurious_signal};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

fn model_of(document: &Value) -> Model {
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

/// A narrow signal on a falling spectrum with 400 regularly spaced events. `background` is the density.
fn events(background: Value, parameters: Value) -> Value {
    let slope = 0.03;
    let all = 1.0 - (-slope * 50.0_f64).exp();
    let entries: Vec<[f64; 1]> =
        (0..400).map(|i| [100.0 - (1.0 - all * (f64::from(i) + 0.5) / 400.0).ln() / slope]).collect();
    let mut values = vec![
        json!({"name": "n_signal", "value": 5.0, "min": -200.0, "max": 500.0}),
        json!({"name": "mass", "value": 120.0, "min": 105.0, "max": 145.0}),
        json!({"name": "n_background", "value": 400.0, "min": 1.0, "max": 5000.0}),
    ];
    values.extend(parameters.as_array().unwrap().iter().cloned());
    json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "signal", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 1.5},
            background,
            {"name": "all", "type": "mixture_dist", "summands": ["signal", "background"],
             "coefficients": ["n_signal", "n_background"], "extended": true}],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "m", "min": 100.0, "max": 150.0}],
                  "entries": entries}],
        "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
        "parameter_points": [{"name": "default_values", "parameters": values}],
        "analyses": [{"name": "search", "likelihood": "L", "parameters_of_interest": ["n_signal"]}],
    })
}

fn exponential() -> Value {
    events(
        json!({"name": "background", "type": "exponential_dist", "x": "m", "c": "slope"}),
        json!([{"name": "slope", "value": 0.03, "min": 0.0, "max": 0.3}]),
    )
}

fn power_law() -> Value {
    events(
        json!({"name": "background", "type": "generic_dist", "expression": "(m / 100)^(-power)"}),
        json!([{"name": "power", "value": 3.0, "min": 0.0, "max": 20.0}]),
    )
}

fn attempt(
    model: &Model,
    backgrounds: &[(&str, &Model)],
    options: &SpuriousOptions,
) -> Result<SpuriousResult, String> {
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = open_session(model, &execution).unwrap();
    let named: Vec<(String, &Model)> =
        backgrounds.iter().map(|(name, own)| ((*name).to_owned(), *own)).collect();
    spurious_signal(model, session.as_ref(), &named, options, &execution, Control::default())
        .map_err(|error| error.to_string())
}

#[test]
fn the_true_background_has_no_spurious_signal() {
    let (model, other) = (model_of(&exponential()), model_of(&power_law()));
    let options = SpuriousOptions::along("mass").points(9);
    let result = attempt(&model, &[("same", &model), ("power law", &other)], &options).unwrap();
    assert!(result.converged && result.warnings.is_empty(), "{:?}", result.warnings);
    let [same, power] = result.backgrounds.as_slice() else { panic!("{result:?}") };
    assert!((same.n_events - 400.0).abs() < 1e-3 && (power.n_events - 400.0).abs() < 1e-3, "{result:?}");
    assert!(same.largest_ratio.as_ref().unwrap().ratio.abs() < 1e-3, "{same:?}");
    // An exponential between two places is above a power law of the same mean at the ends, and below in the middle.
    let ratio: Vec<f64> =
        power.strength.iter().zip(&power.uncertainty).map(|(s, u)| s.unwrap() / u.unwrap()).collect();
    assert!(ratio.iter().any(|r| *r > 0.02) && ratio.iter().any(|r| *r < -0.02), "{ratio:?}");
    assert_eq!(result.largest_ratio, Some(power.largest_ratio.as_ref().unwrap().ratio.abs()));
    assert_eq!(result.passed, Some(result.largest_ratio.unwrap() <= 0.2));
}

#[test]
fn binned_backgrounds_are_their_expectation() {
    let binned = |background: [f64; 4]| {
        model_of(&json!({
            "channels": [{"name": "SR", "samples": [
                {"name": "signal", "data": [1.0, 8.0, 1.0, 0.0], "modifiers": [
                    {"name": "mu", "type": "normfactor", "data": null},
                    {"name": "scale", "type": "normfactor", "data": null}]},
                {"name": "background", "data": background,
                 "modifiers": [{"name": "norm", "type": "normfactor", "data": null}]}]}],
            "observations": [{"name": "SR", "data": [100.0, 90.0, 80.0, 70.0]}],
            "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
                {"name": "mu", "inits": [1.0], "bounds": [[-10.0, 10.0]]},
                {"name": "scale", "inits": [1.0], "bounds": [[0.5, 2.0]]}]}}],
            "version": "1.0.0",
        }))
    };
    let (model, other) = (binned([100.0, 90.0, 80.0, 70.0]), binned([100.0, 94.0, 80.0, 66.0]));
    let options = SpuriousOptions::along("scale").points(3).limit(0.5);
    let result = attempt(&model, &[("same", &model), ("other", &other)], &options).unwrap();
    let [same, other] = result.backgrounds.as_slice() else { panic!("{result:?}") };
    assert!(same.strength.iter().all(|strength| strength.unwrap().abs() < 1e-6), "{same:?}");
    // At a scale of 1 the strength is about 4 events above the template of 8, and it is inversely proportional to the scale.
    let strength: Vec<f64> = other.strength.iter().map(|strength| strength.unwrap()).collect();
    assert!(strength[0] > 0.3 && (strength[0] * 0.5 - strength[2] * 2.0).abs() < 1e-6, "{strength:?}");
}

#[test]
fn messages_name_the_remedy() {
    let model = model_of(&exponential());
    let mut positive = exponential();
    positive["parameter_points"][0]["parameters"][0]["min"] = json!(0.0);
    let positive = model_of(&positive);
    let mut narrow = exponential();
    narrow["data"][0]["axes"][0]["max"] = json!(149.0);
    narrow["data"][0]["entries"] = json!([[110.0], [120.0]]);
    let narrow = model_of(&narrow);
    let options = || SpuriousOptions::along("mass").points(3);
    for (tested, backgrounds, options, text) in [
        (&model, vec![], options(), "there are no backgrounds"),
        (&model, vec![("same", &model)], options().limit(0.0), "the limit is 0"),
        (&positive, vec![("same", &model)], options(), "give it a lower bound below 0"),
        (&model, vec![("narrow", &narrow)], options(), "with the same observables and ranges"),
        (
            &model,
            vec![("same", &model)],
            SpuriousOptions::along("slope").points(3),
            "acts on more than the signal",
        ),
    ] {
        let message = attempt(tested, &backgrounds, &options).unwrap_err();
        assert!(message.contains(text), "{text}: {message}");
    }
}
