//! Decays of HS3 files, with the parts that ROOT writes beside them, and densities at given observables.

use ns_core::{DecaySides, Density, Model, Value as ModelValue};
use ns_translate::hs3::Hs3;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Returns a file with these distributions and functions. The first distribution is the density of `t`, `dt` and `m`.
fn document(distributions: Value, functions: Value) -> Value {
    let axis = |name: &str, min: f64, max: f64| json!({"name": name, "min": min, "max": max});
    json!({
        "metadata": {"hs3_version": "0.2.9", "packages": [{"name": "ROOT", "version": "6.40.00"}]},
        "distributions": distributions,
        "functions": functions,
        "data": [{"name": "events", "type": "unbinned", "axes": [axis("t", -5.0, 9.0), axis("dt", 0.1, 2.0)],
                  "entries": [[0.5, 0.3], [2.0, 0.7], [-0.1, 0.2]]}],
        "likelihoods": [{"name": "L", "distributions": [distributions[0]["name"]], "data": ["events"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "tau", "value": 1.5, "min": 0.1, "max": 9}, {"name": "bias", "value": 0.1, "min": -1, "max": 1},
            {"name": "width", "value": 0.4, "min": 0.1, "max": 3}, {"name": "share", "value": 0.7, "min": 0, "max": 1}]}],
    })
}

fn model(document: &Value) -> Model {
    let file = Hs3::from_slice(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let model = file.model(&ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // A file that is written again is the same model.
    let again = Hs3::from_slice(file.restated().unwrap().to_string().as_bytes()).unwrap();
    assert_eq!(again.model(&ModelOptions::default()).unwrap().digest(), model.digest());
    model
}

/// Returns the density of the only process, without uniform densities of other observables.
fn density(model: &Model) -> &Density {
    match &model.event_channels[0].processes[0].density {
        Density::Product(parts) => &parts[0],
        other => other,
    }
}

fn gauss(name: &str, mean: &str, sigma: &str) -> Value {
    json!({"name": name, "type": "gauss_model_function", "x": "t", "mean": mean, "sigma": sigma})
}

fn decay(kind: u8, resolution: &str) -> Value {
    json!({"name": "decay", "type": "decay_dist", "t": "t", "tau": "tau", "decayType": kind, "resolutionModel": resolution})
}

#[test]
fn decays_of_root_are_read_with_what_it_writes_beside_them() {
    let sides = [DecaySides::After, DecaySides::Both, DecaySides::Before];
    for (kind, sides) in (0..).zip(sides) {
        let cached = "gm_conv_exp(-abs(@0)/@1)_t_tau_[decay]";
        let parts = json!([decay(kind, "gm"), gauss("gm", "bias", "width"), gauss(cached, "bias", "width")]);
        let model = model(&document(parts, json!([])));
        let Density::Decay(own) = density(&model) else { panic!("a decay") };
        assert_eq!((own.sides, own.resolution.len(), own.fractions.len()), (sides, 1, 0));
        assert!(own.oscillation.is_none());
    }
}

#[test]
fn resolutions_are_sums_of_gaussians_or_none() {
    let sum = json!({"name": "sum", "type": "mixture_model", "extended": false, "summands": ["a", "b"], "coefficients": ["share"]});
    let parts = json!([decay(0, "sum"), sum, gauss("a", "bias", "width"), gauss("b", "0.2", "width")]);
    let found = model(&document(parts, json!([])));
    let Density::Decay(own) = density(&found) else { panic!("a decay") };
    assert_eq!((own.resolution.len(), own.fractions.len()), (2, 1));
    // ROOT writes some numbers as strings.
    assert_eq!(own.resolution[1].mean, ModelValue::Number(0.2));
    let truth = json!([decay(1, "tm"), {"name": "tm", "type": "truth_model_function", "x": "t"}]);
    let found = model(&document(truth, json!([])));
    let Density::Decay(own) = density(&found) else { panic!("a decay") };
    assert!(own.resolution.is_empty());
}

#[test]
fn an_error_of_each_event_makes_a_density_at_given_errors() {
    let width = json!([{"name": "w", "type": "product", "factors": ["width", "dt"]}]);
    let alone = json!([decay(0, "gm"), gauss("gm", "bias", "w")]);
    let found = model(&document(alone, width.clone()));
    let Density::Given(given) = density(&found) else { panic!("a density at given observables") };
    assert_eq!(given.own(), Some(0));
    let replaced: Vec<bool> = given.arguments.iter().map(Option::is_some).collect();
    assert_eq!(replaced, [false, false, true]);
    // With a density of the errors, and in a mixture that is multiplied by one.
    let errors = json!({"name": "errors", "type": "exponential_dist", "x": "dt", "c": 2.0});
    let product = json!([{"name": "p", "type": "product_dist", "factors": ["decay", "errors"]},
                         decay(0, "gm"), gauss("gm", "bias", "w"), errors]);
    let found = model(&document(product, width.clone()));
    let Density::Product(parts) = &found.event_channels[0].processes[0].density else { panic!("a product") };
    assert!(matches!(parts.as_slice(), [Density::Given(_), Density::Exponential { .. }]));
    let mixture = json!([
        {"name": "p", "type": "product_dist", "factors": ["mix", "errors"]},
        {"name": "mix", "type": "mixture_dist", "summands": ["decay", "flat"], "coefficients": ["share"], "extended": false},
        {"name": "flat", "type": "uniform_dist", "x": "t"}, decay(0, "gm"), gauss("gm", "bias", "w"), errors]);
    assert_eq!(model(&document(mixture, width)).event_channels[0].processes.len(), 2);
}

#[test]
fn any_density_with_a_closed_integral_can_be_taken_at_given_observables() {
    let functions = json!([{"name": "w", "type": "generic_function", "expression": "@0*@1", "arguments": ["width", "dt"]}]);
    let read = |kind: Value| {
        let mut own = kind;
        own["name"] = json!("d");
        own["x"] = json!("t");
        own["nextstat.given"] = json!(["dt"]);
        model(&document(json!([own]), functions.clone()))
    };
    let found = read(json!({"type": "gaussian_dist", "mean": "bias", "sigma": "w"}));
    let Density::Given(given) = density(&found) else { panic!("a density at given observables") };
    assert!(matches!(given.density, Density::Gaussian { x: 0, .. }));
    let found = read(json!({"type": "exponential_dist", "c": "w"}));
    assert!(matches!(density(&found), Density::Given(_)));
    // Nothing depends on the given observable.
    let found = read(json!({"type": "gaussian_dist", "mean": "bias", "sigma": "width"}));
    assert!(matches!(density(&found), Density::Gaussian { .. }));
}

#[test]
fn a_parameter_must_not_depend_on_the_observable_of_its_density() {
    let width = json!([{"name": "w", "type": "product", "factors": ["width", "t"]}]);
    let text = document(json!([decay(0, "gm"), gauss("gm", "bias", "w")]), width).to_string();
    let error = Hs3::from_slice(text.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap_err();
    assert!(error.to_string().contains("depends on the observable of the density itself"), "{error}");
}

#[test]
fn a_weighted_sum_is_one_expression() {
    let parts = json!([
        {"name": "s", "type": "weighted_sum_dist", "samples": ["g", "shape"], "coefficients": ["share"], "extended": false},
        {"name": "g", "type": "gaussian_dist", "x": "t", "mean": "bias", "sigma": "width"}]);
    let functions = json!([{"name": "shape", "type": "generic_function", "expression": "1 + 0.1*sinh(t/9)"}]);
    let found = model(&document(parts, functions));
    assert!(matches!(density(&found), Density::Generic(_)));
}

#[test]
fn convolutions_with_a_gaussian_are_gaussians_or_voigt_densities() {
    let read = |first: Value| {
        let whole = json!({"name": "c", "type": "fft_conv_pdf", "conv_var": "t", "ipOrder": 2, "pdf1": "a", "pdf2": "b"});
        let gauss = json!({"name": "b", "type": "gaussian_dist", "x": "t", "mean": 0, "sigma": "width"});
        document(json!([whole, first, gauss]), json!([]))
    };
    let gauss = read(json!({"name": "a", "type": "gaussian_dist", "x": "t", "mean": "bias", "sigma": "tau"}));
    let found = model(&gauss);
    let Density::Gaussian { mean: ModelValue::Parameter(_), sigma: ModelValue::Function(0), .. } =
        density(&found)
    else {
        panic!("a Gaussian")
    };
    let wide = read(
        json!({"name": "a", "type": "nextstat.breit_wigner_dist", "x": "t", "mean": "bias", "width": "tau"}),
    );
    assert!(matches!(density(&model(&wide)), Density::Voigt { .. }));
    for other in [
        json!({"name": "a", "type": "landau_dist", "x": "t", "mean": "bias", "sigma": "tau"}),
        json!({"name": "a", "type": "power_sum_dist", "x": "t", "coefficients": ["share", 1], "exponents": [2, 4]}),
    ] {
        let Density::Convolution(own) = density(&model(&read(other))).clone() else {
            panic!("a convolution")
        };
        assert!(matches!(own.first, Density::Generic(_)) && matches!(own.second, Density::Gaussian { .. }));
    }
}
