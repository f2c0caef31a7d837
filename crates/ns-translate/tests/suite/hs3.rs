//! Tests the meaning of keys and names in the three dialects of HS3. The subjects are constraints,
//! interpolation, parameters and analyses.
#![allow(clippy::unwrap_used, clippy::panic)]

use ns_core::{Constraint, Density, Effect, HistosysCode, Model, NormsysCode, Value as ModelValue};
use ns_translate::ModelSource;
use ns_translate::hs3::{Hs3, is_hs3};
use ns_translate::pyhf::{ChannelSelection, ModelOptions, WorkspaceError};
use ns_unbinned::kernels::{KernelOptions, kernel_density};
use serde_json::{Value, json};

fn read(document: &Value) -> Result<Model, WorkspaceError> {
    ModelSource::from_slice(document.to_string().as_bytes())?.model(&ModelOptions::default())
}

fn model(document: &Value) -> Model {
    read(document).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a channel with two bins and one sample with these modifiers.
fn channel(modifiers: Value) -> Value {
    let axes = json!([{"name": "bin", "min": 0, "max": 2, "nbins": 2}]);
    json!({
        "metadata": {"hs3_version": "0.2.9", "packages": [{"name": "ROOT", "version": "6.40.00"}]},
        "distributions": [
            {"name": "model_SR", "type": "histfactory_dist", "axes": axes,
             "samples": [{"name": "s", "data": {"contents": [10, 20], "errors": [1, 1]}, "modifiers": modifiers}]},
            {"name": "term", "type": "gaussian_dist", "x": "a", "mean": "nominal", "sigma": 1},
        ],
        "data": [{"name": "d", "type": "binned", "axes": axes, "contents": [11, 19]}],
        "likelihoods": [{"name": "L", "distributions": ["model_SR"], "data": ["d"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "a", "value": 0.0, "min": -5, "max": 5}, {"name": "nominal", "value": 0.25, "const": true}]}],
    })
}

/// Adds a second channel: a copy of the first channel with another name.
fn doubled(mut document: Value) -> Value {
    let mut second = document["distributions"][0].clone();
    second["name"] = json!("model_CR");
    document["distributions"].as_array_mut().unwrap().push(second);
    document["likelihoods"][0]["distributions"] = json!(["model_SR", "model_CR"]);
    document["likelihoods"][0]["data"] = json!(["d", "d"]);
    document
}

#[test]
fn constraints_of_all_dialects_are_the_same() {
    let normsys = |key: &str, value: Value| {
        let mut modifier =
            json!({"name": "m", "type": "normsys", "parameter": "a", "data": {"hi": 1.1, "lo": 0.9}});
        modifier[key] = value;
        json!([modifier])
    };
    for modifiers in [
        normsys("constraint_name", json!("term")),
        normsys("constraint", json!("term")),
        normsys("constraints", json!(["term"])),
    ] {
        // Two channels have the same term, which counts once.
        let model = model(&doubled(channel(modifiers)));
        assert_eq!(model.parameters[0].constraint, Constraint::Gaussian { sigma: 1.0, aux: 0 });
        assert_eq!(model.observed.aux, [0.25]);
        assert!(model.penalties.is_empty());
        assert_eq!(model.parameters.len(), 1, "the nominal value is a datum, not a parameter");
    }
    let by_kind = model(&doubled(channel(normsys("constraint", json!("Gauss")))));
    assert_eq!(by_kind.parameters[0].constraint, Constraint::Gaussian { sigma: 1.0, aux: 0 });
    assert_eq!(by_kind.observed.aux, [0.0]);
    // ROOT reads its own files so; for others there is no constraint.
    let mut document = channel(normsys("name", json!("m")));
    assert_eq!(model(&document).parameters[0].constraint, Constraint::Gaussian { sigma: 1.0, aux: 0 });
    document["metadata"] = json!({"hs3_version": "0.2.9"});
    assert_eq!(model(&document).parameters[0].constraint, Constraint::None);
}

#[test]
fn a_term_counts_once_in_products_and_auxiliary_distributions() {
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "A", "type": "product_dist", "factors": ["p", "term"]},
            {"name": "B", "type": "product_dist", "factors": ["term", "p"]},
            {"name": "p", "type": "exponential_dist", "x": "x", "c": "a"},
            {"name": "term", "type": "gaussian_dist", "x": "nominal", "mean": "a", "sigma": 0.5},
        ],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": [[0.5]]}],
        "likelihoods": [{"name": "L", "distributions": ["A", "B"], "data": ["d", "d"], "aux_distributions": ["term"]}],
        "parameter_points": [{"name": "p0", "parameters": [
            {"name": "a", "value": 1}, {"name": "nominal", "value": 2, "const": true}]}],
    });
    let model = model(&document);
    assert_eq!(model.event_channels.len(), 2);
    assert_eq!(model.parameters[0].constraint, Constraint::Gaussian { sigma: 0.5, aux: 0 });
    assert_eq!(model.observed.aux, [2.0]);
    assert!(model.penalties.is_empty());
    assert_eq!(model.parameters[0].bounds, (f64::NEG_INFINITY, f64::INFINITY));
}

#[test]
fn per_bin_factors_have_the_constraint_that_is_written() {
    let stat = |kind: &str| json!([{"name": "stat", "type": "staterror", "parameters": ["g0", "g1"], "constraint_type": kind}]);
    let gauss = model(&channel(stat("Gauss")));
    assert_eq!(gauss.parameters[1].constraint, Constraint::Gaussian { sigma: 0.05, aux: 1 });
    assert_eq!(gauss.observed.aux, [1.0, 1.0]);
    assert_eq!(gauss.channels[0].samples[0].modifiers[0].effect, Effect::StatError);
    let poisson = model(&channel(stat("Poisson")));
    assert_eq!(poisson.parameters[0].constraint, Constraint::Poisson { tau: 1.0 / (0.1 * 0.1), aux: 0 });
    assert_eq!(poisson.observed.aux[0], 1.0 / (0.1 * 0.1));

    // Older versions of ROOT do not write the names.
    let unnamed = model(&channel(json!([{"name": "stat", "type": "staterror", "constraint": "Poisson"}])));
    assert_eq!(unnamed.parameters[1].name, "gamma_stat_SR_bin_1");

    let shape = |values: Value, kind: &str| json!([{"name": "u", "type": "shapesys", "parameters": ["u0", "u1"], "data": {"vals": values}, "constraint_type": kind}]);
    let partly = model(&channel(shape(json!([0.2, 0]), "Poisson")));
    assert!(matches!(partly.parameters[0].constraint, Constraint::Poisson { .. }));
    assert!(partly.parameters[1].fixed);
    // ROOT writes a shapefactor as a shapesys without uncertainties.
    let free = model(&channel(shape(json!([0, 0]), "Gauss")));
    assert!(free.parameters.iter().all(|p| p.constraint == Constraint::None && !p.fixed));
    assert_eq!(free.channels[0].samples[0].modifiers[0].effect, Effect::ShapeFactor);
}

#[test]
fn interpolation_is_read_in_all_words() {
    let normsys = |interpolation: Value| {
        let modifier = json!({"name": "m", "type": "normsys", "parameter": "a", "data": {"hi": 1.2, "lo": 0.9},
                              "interpolation": interpolation});
        read(&channel(json!([modifier]))).map(|model| model.interpolation.normsys)
    };
    let histosys = |interpolation: Value| {
        let data = json!({"hi": {"contents": [11, 22]}, "lo": {"contents": [9, 19]}});
        let modifier = json!({"name": "m", "type": "histosys", "parameter": "a", "data": data, "interpolation": interpolation});
        read(&channel(json!([modifier]))).map(|model| model.interpolation.histosys)
    };
    let structure =
        |kind: &str, inside: &str, outside: Value| json!({"type": kind, "in": inside, "out": outside});
    for (written, code) in [
        (json!(null), NormsysCode::Code4),
        (json!(0), NormsysCode::Code0),
        (json!(1), NormsysCode::Code1),
        (json!(4), NormsysCode::Code6),
        (json!(5), NormsysCode::Code4),
        (json!(6), NormsysCode::Code6),
        (json!("lin"), NormsysCode::Code0),
        (json!("log"), NormsysCode::Code1),
        (json!("poly6"), NormsysCode::Code6),
        (structure("mult", "exp", json!(null)), NormsysCode::Code1),
        (structure("mult", "poly6", json!("exp")), NormsysCode::Code4),
        (structure("mult", "poly6", json!("poly1")), NormsysCode::Code6),
    ] {
        assert_eq!(normsys(written.clone()).unwrap(), code, "{written}");
    }
    for (written, code) in [
        (json!(null), HistosysCode::Code4p),
        (json!("lin"), HistosysCode::Code0),
        (json!("parabolic"), HistosysCode::Code2),
        (json!("poly6"), HistosysCode::Code4p),
        (structure("add", "poly1", json!(null)), HistosysCode::Code0),
        (structure("add", "poly2", json!("poly1")), HistosysCode::Code2),
        (structure("add", "poly6", json!("poly1")), HistosysCode::Code4p),
    ] {
        assert_eq!(histosys(written.clone()).unwrap(), code, "{written}");
    }
    for written in [json!(2), json!(3), json!("parabolic"), structure("mult", "poly2", json!("exp"))] {
        assert!(normsys(written.clone()).is_err(), "{written}");
    }
    for written in [json!(1), json!("log"), structure("mult", "poly6", json!("exp"))] {
        assert!(histosys(written.clone()).is_err(), "{written}");
    }
}

#[test]
fn a_crystal_ball_has_the_tails_of_its_dialect() {
    let of = |kind: &str, package: Value, tails: Value| {
        let mut ball = json!({"name": "p", "type": kind, "m": "x", "m0": 0.5, "sigma": 0.1});
        ball.as_object_mut().unwrap().extend(tails.as_object().unwrap().clone());
        model(&json!({
            "metadata": {"hs3_version": "0.2.9", "packages": package},
            "distributions": [ball],
            "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": [[0.5]]}],
            "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"]}],
        }))
    };
    let sides = |model: &Model| match &model.event_channels[0].processes[0].density {
        Density::CrystalBall { left, right, .. } => (left.is_some(), right.is_some()),
        other => panic!("{other:?}"),
    };
    let one = json!({"alpha": 1.5, "n": 3});
    let root = json!([{"name": "ROOT", "version": "6.40.00"}]);
    let text = of("crystalball_dist", json!([]), one.clone());
    assert_eq!((sides(&text), text.warnings.len()), ((true, true), 1));
    let from_root = of("crystalball_dist", root.clone(), one);
    assert_eq!((sides(&from_root), from_root.warnings.len()), ((true, false), 1));
    let two = json!({"alpha_L": 1.5, "alpha_R": 2, "n_L": 3, "n_R": 4});
    let double = of("crystalball_doublesided_dist", root, two);
    assert_eq!((sides(&double), double.warnings.len()), ((true, true), 0));
}

#[test]
fn the_last_fraction_is_the_rest() {
    let model = model(&json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "p", "type": "mixture_dist", "summands": ["e", "f"], "coefficients": ["a"], "extended": false},
            {"name": "e", "type": "exponential_dist", "x": "x", "c": 1},
            {"name": "f", "type": "uniform_dist", "x": "x"},
        ],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": [[0.5]]}],
        "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"]}],
        "parameter_points": [{"name": "p0", "parameters": [{"name": "a", "value": 0.3, "min": 0, "max": 1}]}],
    }));
    let channel = &model.event_channels[0];
    assert!(!channel.extended);
    assert_eq!(channel.processes[0].rate, ModelValue::Parameter(0));
    assert_eq!(channel.processes[1].rate, ModelValue::Function(0));
    assert_eq!(model.parameters[0].bounds, (0.0, 1.0));
}

#[test]
fn analyses_of_asimov_data_are_chosen_by_name_only() {
    let mut document = channel(json!([{"name": "a", "type": "normfactor", "parameter": "a"}]));
    document["data"].as_array_mut().unwrap().push(json!({
        "name": "asimovData", "type": "binned", "axes": [{"name": "bin", "min": 0, "max": 2, "nbins": 2}], "contents": [10, 20]}));
    document["likelihoods"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"name": "first", "distributions": ["model_SR"], "data": ["asimovData"]}));
    let text = document.to_string();
    assert!(is_hs3(text.as_bytes()));
    let hs3 = Hs3::from_slice(text.as_bytes()).unwrap();
    assert_eq!(hs3.analysis_names(), ["first", "L"]);
    assert_eq!(hs3.model(&ModelOptions::default()).unwrap().observed.main, [11.0, 19.0]);
    let named = ModelOptions { measurement: Some("first".to_owned()), ..ModelOptions::default() };
    assert_eq!(hs3.model(&named).unwrap().observed.main, [10.0, 20.0]);
}

#[test]
fn channels_can_be_left_out() {
    let document = doubled(channel(json!([{"name": "a", "type": "normfactor", "parameter": "a"}])));
    let selection = ChannelSelection { keep: None, mask: vec!["model_SR".to_owned()] };
    let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    let selected = source.clone().select_channels(&selection).unwrap();
    let model = selected.model(&ModelOptions::default()).unwrap();
    assert_eq!(model.channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["model_CR"]);
    // The written text has no other channels either.
    let again = ModelSource::from_slice(&selected.to_json().unwrap()).unwrap();
    assert_eq!(again.channel_names(), ["model_CR"]);
    let unknown = ChannelSelection { keep: Some(vec!["SR".to_owned()]), mask: Vec::new() };
    assert!(matches!(source.select_channels(&unknown), Err(WorkspaceError::NoSuchChannel { .. })));
}

#[test]
fn workspaces_are_no_hs3_files() {
    let workspace = json!({"channels": [], "observations": [], "measurements": [], "version": "1.0.0"});
    assert!(!is_hs3(workspace.to_string().as_bytes()));
    assert!(matches!(ModelSource::from_slice(b"{}"), Err(WorkspaceError::Invalid { .. })));
}

/// Reads a model with two densities: the distribution `signal`, given as JSON, and a flat background.
fn with_template(signal: Value) -> Result<Model, String> {
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "p", "type": "mixture_dist", "summands": ["s", "f"], "coefficients": [3, 2], "extended": true},
            signal,
            {"name": "f", "type": "uniform_dist", "x": ["x"]},
        ],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 4}], "entries": [[1], [2]]}],
        "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).map_err(|error| error.to_string())
}

#[test]
fn kernels_around_simulated_events_are_a_density() {
    let sample: Vec<f64> = (0..200).map(|i| 0.5 + 0.015 * (f64::from(i) + 0.5)).collect();
    let entries: Vec<Value> = sample.iter().map(|x| json!([x])).collect();
    // Some weights are negative, but not the density.
    let weights: Vec<f64> = (0..200).map(|i| if i % 7 == 3 { -0.5 } else { 1.0 }).collect();
    let estimator = json!({"type": "kde", "bandwidth": 1.5, "boundary": "none"});
    let mut template = json!({"name": "s", "type": "nextstat.template_dist", "x": "x", "estimator": estimator,
                              "entries": entries, "weights": weights});
    let model = with_template(template.clone()).unwrap();
    let options = KernelOptions { bandwidth: 1.5, reflect: false, ..KernelOptions::new(0.0, 4.0) };
    let right = kernel_density(&sample, Some(&weights), &options).unwrap();
    let Density::Spline { knots, values, .. } = &model.event_channels[0].processes[0].density else {
        panic!("kernels are a spline")
    };
    assert_eq!(*knots, right.knots);
    assert_eq!(*values, right.values.iter().map(|y| ModelValue::Number(*y)).collect::<Vec<_>>());

    template["weights"] = (0..200).map(|i| if i < 110 { 1.0 } else { -0.9 }).collect();
    let error = with_template(template).unwrap_err();
    assert!(
        error.contains("The template 's' is no density") && error.contains("larger bandwidths"),
        "{error}"
    );
}

#[test]
fn a_width_that_depends_on_another_observable_gets_a_warning() {
    let read = |sigma: &str, mean: &str| {
        model(&json!({
            "metadata": {"hs3_version": "0.2.9"},
            "distributions": [
                {"name": "peak", "type": "gaussian_dist", "x": "t", "mean": mean, "sigma": sigma},
                {"name": "errors", "type": "exponential_dist", "x": "dt", "c": 3.0},
                {"name": "both", "type": "product_dist", "factors": ["peak", "errors"]},
            ],
            "functions": [{"name": "scaled", "type": "generic_function", "expression": "s * dt"}],
            "data": [{"name": "d", "type": "unbinned", "entries": [[0.1, 0.3]],
                      "axes": [{"name": "t", "min": -5, "max": 5}, {"name": "dt", "min": 0.1, "max": 1}]}],
            "likelihoods": [{"name": "L", "distributions": ["both"], "data": ["d"]}],
            "parameter_points": [{"name": "default_values", "parameters": [
                {"name": "m", "value": 0.0}, {"name": "s", "value": 1.0}]}],
        }))
    };
    let conditional = read("scaled", "m").warnings;
    let text =
        conditional.iter().find(|w| w.contains("width or slope of 'peak' depends on the observable 'dt'"));
    assert!(text.is_some_and(|w| w.starts_with("/distributions/0/sigma")), "{conditional:?}");
    assert_eq!(conditional.len(), 1);
    // A mean that depends on an observable hardly changes the integral.
    assert!(read("s", "scaled").warnings.is_empty());
    assert!(read("s", "m").warnings.is_empty());
}
