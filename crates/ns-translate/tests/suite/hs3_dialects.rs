//! Files of older versions of ROOT, of pyhs3 and of other programs: what they leave out, and words that mean
//! different things in different dialects.
#![allow(clippy::unwrap_used, clippy::panic)]

use ns_core::{Constraint, Effect, Model, Parameter};
use ns_translate::ModelSource;
use ns_translate::hs3::Hs3;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Returns a file with one channel of two bins, with these modifiers on its sample of 50 and 52 events.
fn channel(modifiers: Value, axes: Value, points: Value) -> Value {
    json!({
        "metadata": {"hs3_version": "0.2"},
        "distributions": [{"name": "model_SR", "type": "histfactory_dist",
            "axes": [{"name": "x", "min": 0, "max": 2, "nbins": 2}],
            "samples": [{"name": "b", "data": {"contents": [50, 52], "errors": [2.5, 1]}, "modifiers": modifiers}]}],
        "data": [{"name": "d", "type": "binned", "axes": [{"name": "x", "min": 0, "max": 2, "nbins": 2}], "contents": [51, 48]}],
        "likelihoods": [{"name": "L", "distributions": ["model_SR"], "data": ["d"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "default_values", "parameters": points}],
    })
}

fn written_by(mut document: Value, name: &str, version: &str) -> Value {
    document["metadata"]["packages"] = json!([{"name": name, "version": version}]);
    document
}

fn read(document: &Value) -> Result<Model, String> {
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).map_err(|error| error.to_string())
}

fn model(document: &Value) -> Model {
    read(document).unwrap_or_else(|error| panic!("{error}"))
}

fn parameter<'a>(model: &'a Model, name: &str) -> &'a Parameter {
    &model.parameters[model.parameter_index(name).unwrap_or_else(|| panic!("there is no {name}"))]
}

/// Checks that the file has the same model after it was written in the words of the standard.
fn is_kept(document: &Value) {
    let restated = Hs3::from_slice(document.to_string().as_bytes()).unwrap().restated().unwrap();
    let (before, after) = (model(document), model(&restated));
    assert_eq!(before.parameters, after.parameters, "{restated}");
    assert_eq!(before.observed, after.observed, "{restated}");
    assert_eq!(before.channels, after.channels, "{restated}");
}

#[test]
fn a_modifier_without_a_parameter_has_the_name_that_root_gives() {
    let modifiers =
        json!([{"name": "xs", "type": "normsys", "data": {"hi": 1.5, "lo": 0.5}, "constraint": "Gauss"}]);
    let points =
        json!([{"name": "alpha_xs", "value": 0.5, "const": true}, {"name": "nom_alpha_xs", "value": 0.25}]);
    let document = channel(modifiers.clone(), json!([]), points);
    let old = model(&document);
    let alpha = parameter(&old, "alpha_xs");
    assert!(alpha.fixed && alpha.init == 0.5);
    assert_eq!(alpha.constraint, Constraint::Gaussian { sigma: 1.0, aux: 0 });
    assert_eq!(old.observed.aux, [0.25], "the global observable of the file is the datum");
    is_kept(&document);
    // So does one that names a parameter of which the file knows nothing.
    let mut named = document.clone();
    named["distributions"][0]["samples"][0]["modifiers"][0]["parameter"] = json!("xs");
    assert_eq!(model(&named).parameters, old.parameters);
    assert!(model(&named).warnings[0].contains("'alpha_xs', which is taken"), "{:?}", model(&named).warnings);
    // A file that declares the plain name uses it.
    let plain = channel(modifiers, json!([{"name": "xs", "min": -3, "max": 3}]), json!([]));
    assert_eq!(parameter(&model(&plain), "xs").bounds, (-3.0, 3.0));
}

#[test]
fn a_normsys_of_root_is_constrained_even_if_the_file_does_not_say_so() {
    let modifiers = |extra: Value| {
        let mut modifier = json!({"name": "xs", "type": "normsys", "data": {"hi": 1.5, "lo": 0.5}});
        modifier.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([modifier])
    };
    let unit = Constraint::Gaussian { sigma: 1.0, aux: 0 };
    let unnamed = channel(modifiers(json!({})), json!([]), json!([]));
    assert_eq!(parameter(&model(&unnamed), "alpha_xs").constraint, unit);
    is_kept(&unnamed);
    let named = channel(modifiers(json!({"parameter": "alpha_xs"})), json!([]), json!([]));
    let free = model(&named);
    assert_eq!(parameter(&free, "alpha_xs").constraint, Constraint::None);
    assert!(free.warnings[0].contains("has no constraint"), "{:?}", free.warnings);
    for (program, version) in [("ROOT", "6.28/04"), ("ROOT", "6.40.00"), ("pyhs3", "0.4.2")] {
        let document = written_by(named.clone(), program, version);
        assert_eq!(parameter(&model(&document), "alpha_xs").constraint, unit, "{program} {version}");
        is_kept(&document);
    }
}

#[test]
fn each_free_parameter_of_a_normsys_or_a_histosys_is_named_once() {
    let modifiers = json!([
        {"name": "xs", "type": "normsys", "parameter": "a_xs", "data": {"hi": 1.5, "lo": 0.5}},
        {"name": "shape", "type": "histosys", "parameter": "a_shape",
         "data": {"hi": {"contents": [51, 53]}, "lo": {"contents": [49, 51]}}},
        {"name": "again", "type": "normsys", "parameter": "a_xs", "data": {"hi": 1.1, "lo": 0.9}},
    ]);
    let named = |document: &Value, name: &str| {
        let warnings = model(document).warnings;
        warnings.iter().filter(|text| text.contains("has no constraint") && text.contains(name)).count()
    };
    let free = channel(modifiers, json!([]), json!([]));
    assert_eq!((named(&free, "'a_xs'"), named(&free, "'a_shape'")), (1, 1), "{:?}", model(&free).warnings);
    let remedy = |text: &String| text.contains("'a_xs'") && text.contains("\"constraint\": \"Gauss\"");
    assert!(model(&free).warnings.iter().any(remedy), "{:?}", model(&free).warnings);
    let problems = Hs3::from_slice(free.to_string().as_bytes()).unwrap().validate();
    assert_eq!(problems.iter().filter(|problem| problem.message.contains("has no constraint")).count(), 2);
    // A constraint term of the likelihood is a constraint, also with data of its own.
    let mut constrained = free.clone();
    constrained["distributions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "c", "type": "gaussian_dist", "x": "nom_xs", "mean": "a_xs", "sigma": 1}));
    constrained["likelihoods"][0]["aux_distributions"] = json!(["c"]);
    constrained["likelihoods"][0]["aux_data"] = json!(["g"]);
    constrained["data"].as_array_mut().unwrap().push(
        json!({"name": "g", "type": "unbinned", "axes": [{"name": "nom_xs", "min": -5, "max": 5}], "entries": [[0.25]]}),
    );
    let warnings = model(&constrained).warnings;
    assert_eq!((named(&constrained, "'a_xs'"), named(&constrained, "'a_shape'")), (0, 1), "{warnings:?}");
    // So is the constraint of another modifier of the parameter.
    let mut shared = free;
    shared["distributions"][0]["samples"][0]["modifiers"][2]["constraint"] = json!("Gauss");
    assert_eq!(named(&shared, "'a_xs'"), 0, "{:?}", model(&shared).warnings);
}

#[test]
fn factors_of_bins_without_a_constraint_are_constant_unless_they_are_declared() {
    let modifiers =
        json!([{"name": "shapefactor", "type": "shapesys", "constraint": "Const", "data": {"vals": [0, 0]}}]);
    let held = model(&channel(modifiers.clone(), json!([]), json!([])));
    assert!(held.parameters.iter().all(|p| p.fixed && p.init == 1.0 && p.constraint == Constraint::None));
    let range = json!([{"name": "gamma_shapefactor_bin_0", "min": 0, "max": 3}]);
    let points = json!([{"name": "gamma_shapefactor_bin_0", "value": 1.1}]);
    let document = channel(modifiers, range, points);
    let free = model(&document);
    assert!(!free.parameters[0].fixed && free.parameters[0].init == 1.1 && free.parameters[1].fixed);
    assert_eq!(free.parameters[0].bounds, (0.0, 3.0));
    is_kept(&document);
}

#[test]
fn edges_and_settings_of_statistical_uncertainties_have_older_names() {
    let modifiers = json!([{"name": "staterror", "type": "staterror"}]);
    let mut document = channel(modifiers, json!([]), json!([]));
    document["distributions"][0]["axes"] = json!([{"name": "x", "bounds": [0, 0.5, 2]}]);
    document["data"][0]["axes"] = json!([{"name": "x", "bounds": [0, 0.5, 2]}]);
    for (key, word) in [("staterror", "constraint"), ("statError", "constraint_type")] {
        let mut document = document.clone();
        document["distributions"][0][key] = json!({"relThreshold": 0.03, word: "Gauss"});
        let found = model(&document);
        // The second bin has an uncertainty of 1 / 52, below the threshold.
        assert_eq!(found.parameters[0].constraint, Constraint::Gaussian { sigma: 0.05, aux: 0 });
        assert!(found.parameters[1].fixed && found.parameters[1].constraint == Constraint::None);
        assert_eq!(found.parameters[1].name, "gamma_stat_SR_bin_1");
        is_kept(&document);
    }
}

#[test]
fn a_lognormal_constraint_is_read_as_root_reads_it() {
    let modifiers = json!([
        {"name": "xs", "type": "normsys", "parameter": "a", "data": {"hi": 1.5, "lo": 0.5}, "constraint": "Lognormal"},
        {"name": "u", "type": "shapesys", "parameters": ["u0", "u1"], "constraint_type": "LogNormal", "data": {"vals": [0.1, 0.2]},
         "nextstat.vals": "relative"}]);
    let found = model(&channel(modifiers, json!([]), json!([])));
    assert_eq!(parameter(&found, "a").constraint, Constraint::Gaussian { sigma: 1.0, aux: 0 });
    assert_eq!(parameter(&found, "u1").constraint, Constraint::Gaussian { sigma: 0.2, aux: 2 });
    assert_eq!(found.warnings.iter().filter(|text| text.contains("log-normal")).count(), 2);
}

/// Returns the relative uncertainties of the two factors of a shapesys with Poisson terms.
fn relative(model: &Model) -> [f64; 2] {
    ["u0", "u1"].map(|name| match parameter(model, name).constraint {
        Constraint::Poisson { tau, .. } => 1.0 / tau.sqrt(),
        other => panic!("{other:?}"),
    })
}

fn close(found: [f64; 2], right: [f64; 2]) -> bool {
    found.iter().zip(&right).all(|(a, b)| (a - b).abs() < 1e-12 * b)
}

#[test]
fn the_file_tells_what_the_values_of_a_shapesys_are() {
    let shapesys = |values: Value| json!([{"name": "u", "type": "shapesys", "constraint": "Poisson", "parameters": ["u0", "u1"], "data": {"vals": values}}]);
    let ranges = |up: [f64; 2]| json!([{"name": "u0", "min": 0, "max": up[0]}, {"name": "u1", "min": 0, "max": up[1]}]);
    let right = [3.0 / 50.0, 7.0 / 52.0];
    let told = |document: &Value| {
        is_kept(document);
        assert!(close(relative(&model(document)), right), "{document}: {:?}", relative(&model(document)));
        assert!(model(document).warnings.iter().all(|text| !text.contains("shapesys")), "{document}");
    };
    let ends = [1.0 + 5.0 * right[0], 1.0 + 5.0 * right[1]];
    // By the ranges of the factors, which ROOT ends at 1 + 5 sigma.
    told(&channel(shapesys(json!([3, 7])), ranges(ends), json!([])));
    told(&channel(shapesys(json!(right)), ranges(ends), json!([])));
    let counts = right.map(|sigma| 1.0 / (sigma * sigma));
    told(&channel(shapesys(json!(counts)), ranges(ends), json!([])));
    // By their errors, and by their global observables.
    let errors =
        json!([{"name": "u0", "value": 1, "error": right[0]}, {"name": "u1", "value": 1, "error": right[1]}]);
    told(&channel(shapesys(json!([3, 7])), json!([]), errors));
    let nominal = json!([{"name": "nom_u0", "value": counts[0]}, {"name": "nom_u1", "value": counts[1]}]);
    told(&channel(shapesys(json!([3, 7])), json!([]), nominal));
    // By the file itself.
    for (word, values) in [("absolute", json!([3, 7])), ("relative", json!(right)), ("counts", json!(counts))]
    {
        let mut modifiers = shapesys(values);
        modifiers[0]["nextstat.vals"] = json!(word);
        told(&channel(modifiers, json!([]), json!([])));
    }
    // By the program that wrote it.
    told(&written_by(channel(shapesys(json!([3, 7])), json!([]), json!([])), "pyhs3", "0.4.2"));
    told(&written_by(channel(shapesys(json!(right)), json!([]), json!([])), "ROOT", "6.32.06"));
    told(&written_by(channel(shapesys(json!(counts)), json!([]), json!([])), "ROOT", "6.28/04"));
    // Nothing tells it: values above 1 are an error, others get a warning with both readings.
    let error = read(&channel(shapesys(json!([3, 7])), json!([]), json!([]))).unwrap_err();
    assert!(error.contains("/distributions/0/samples/0/modifiers/0/data/vals"), "{error}");
    assert!(error.contains("6.000 % to 13.462 %") && error.contains("nextstat.vals"), "{error}");
    let small = model(&channel(shapesys(json!([0.03, 0.07])), json!([]), json!([])));
    assert!(close(relative(&small), [0.03, 0.07]) && small.warnings[0].contains("0.060 % to 0.135 %"));
}

#[test]
fn factors_of_gaussian_terms_were_relative_in_all_versions_of_root() {
    let modifiers =
        json!([{"name": "u", "type": "shapesys", "constraint": "Gauss", "data": {"vals": [0.1, 0.2]}}]);
    let document = written_by(channel(modifiers, json!([]), json!([])), "ROOT", "6.28/04");
    let found = model(&document);
    assert_eq!(parameter(&found, "gamma_u_bin_1").constraint, Constraint::Gaussian { sigma: 0.2, aux: 1 });
    assert_eq!(found.channels[0].samples[0].modifiers[0].effect, Effect::StatError);
}

/// Returns a file of events with a Gaussian term on `alpha` whose datum is `nom`.
fn events(aux: Value, data: Value, constant: bool) -> Value {
    let mut all = vec![
        json!({"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 10}], "entries": [[1], [2.5], [4]]}),
    ];
    all.extend(data.as_array().unwrap().clone());
    json!({
        "metadata": {"hs3_version": "0.2"},
        "distributions": [
            {"name": "p", "type": "exponential_dist", "x": "x", "c": "slope"},
            {"name": "term", "type": "gaussian_dist", "x": "nom", "mean": "alpha", "sigma": 0.5}],
        "functions": [{"name": "slope", "type": "generic_function", "expression": "0.3 * exp(0.1 * alpha)"}],
        "data": all,
        "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"], "aux_distributions": ["term"], "aux_data": aux}],
        "parameter_points": [{"name": "v", "parameters": [{"name": "alpha", "value": 0}, {"name": "nom", "value": 0.4, "const": constant}]}],
    })
}

#[test]
fn data_of_constraint_terms_are_read() {
    let set = |name: &str, entries: Value| json!([{"name": name, "type": "unbinned", "axes": [{"name": "nom", "min": -5, "max": 5}], "entries": entries}]);
    let point = json!([{"name": "g", "type": "point", "value": 0.9}]);
    for (aux, data, constant, datum) in [
        (json!([0.9]), json!([]), true, 0.9),
        (json!(["g"]), set("g", json!([[0.9]])), false, 0.9),
        (json!(["g"]), point, true, 0.9),
        // The name of a global observable.
        (json!(["nom"]), json!([]), false, 0.4),
        // A data set that is not in the file: the parameter has the same value.
        (json!(["global_obs_data"]), json!([]), true, 0.4),
    ] {
        let found = model(&events(aux.clone(), data.clone(), constant));
        assert_eq!(found.observed.aux, [datum], "{aux}");
        let alpha = parameter(&found, "alpha");
        assert_eq!(alpha.constraint, Constraint::Gaussian { sigma: 0.5, aux: 0 }, "{aux}");
        assert_eq!(found.parameters.len(), 1, "{aux}: the global observable is no parameter");
        let missing = found.warnings.iter().any(|text| text.contains("nom = 0.4"));
        assert_eq!(missing, aux == json!(["global_obs_data"]), "{:?}", found.warnings);
    }
    let error = read(&events(json!(["global_obs_data"]), json!([]), false)).unwrap_err();
    assert!(error.contains("/likelihoods/0/aux_data/0") && error.contains("constant"), "{error}");
    // Several measured values of one quantity are several terms.
    let several = model(&events(json!(["g"]), set("g", json!([[0.9], [1.1]])), true));
    assert_eq!((several.penalties.len(), several.observed.aux.as_slice()), (1, [0.9, 1.1].as_slice()));
}

#[test]
fn a_number_replaces_the_measured_side_of_a_gaussian_term() {
    let mut document = events(json!([0.9]), json!([]), true);
    document["distributions"][1] =
        json!({"name": "term", "type": "gaussian_dist", "x": "alpha", "mean": "nom", "sigma": 0.5});
    let found = model(&document);
    assert_eq!(found.observed.aux, [0.9]);
    assert_eq!(parameter(&found, "alpha").constraint, Constraint::Gaussian { sigma: 0.5, aux: 0 });
}

#[test]
fn several_analyses_are_listed_with_the_flag_that_chooses_one() {
    let mut document = channel(json!([{"name": "mu", "type": "normfactor"}]), json!([]), json!([]));
    document["analyses"] = json!([
        {"name": "one", "likelihood": "L", "parameters_of_interest": ["mu"]},
        {"name": "two", "likelihood": "L", "parameters_of_interest": []}]);
    let error = read(&document).unwrap_err();
    assert!(error.contains("2 analyses") && error.contains("--analysis 'one'"), "{error}");
    assert!(error.contains("'one' (parameter of interest 'mu'), 'two'"), "{error}");
    document["distributions"][0]["samples"] = json!([]);
    let error = read(&document).unwrap_err();
    assert!(error.starts_with("the HS3 model has 1 error"), "{error}");
}

#[test]
fn empty_lists_may_be_null() {
    let mut document = channel(Value::Null, json!([]), Value::Null);
    document["functions"] = Value::Null;
    document["likelihoods"][0]["aux_distributions"] = Value::Null;
    let found = model(&document);
    assert!(found.parameters.is_empty() && found.channels[0].samples[0].modifiers.is_empty());
}
