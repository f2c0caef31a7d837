//! Checks that HS3 files give the same models after they are rewritten in the notation of the HS3 standard, and
//! that HistFactory models in HS3 files can be written as workspaces.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use ns_core::{Constraint, Effect, Interpolation, Model};
use ns_translate::hs3::{self, Hs3};
use ns_translate::pyhf::{ModelOptions, Workspace, workspace_of};
use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn options(measurement: &str) -> ModelOptions {
    ModelOptions { measurement: Some(measurement.to_owned()), ..ModelOptions::default() }
}

/// Checks that a file has the same analyses, models and data after it is rewritten in the notation of the HS3
/// standard.
fn same_after_restating(path: &Path) {
    let name = path.display();
    let file = Hs3::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let restated = file.restated().unwrap().to_string();
    let again = Hs3::from_slice(restated.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(again.analysis_names(), file.analysis_names(), "{name}");
    for analysis in file.analysis_names() {
        let (was, is) = (file.model(&options(&analysis)).unwrap(), again.model(&options(&analysis)));
        let is = is.unwrap_or_else(|error| panic!("{name}, {analysis}: {error}"));
        assert_eq!(is.digest(), was.digest(), "{name}, {analysis}");
        assert_eq!(is.observed, was.observed, "{name}, {analysis}");
        assert_eq!(is.penalties, was.penalties, "{name}, {analysis}");
    }
    // A second restatement changes nothing.
    assert_eq!(again.restated().unwrap().to_string(), restated, "{name}");
    for word in
        ["ROOT_internal", "ARGUS_dist", "extend_pdf", "constraint_name", "constraint_type", "\"vals\":[0.0,"]
    {
        assert!(!restated.contains(word), "{name} still has {word}");
    }
}

#[test]
fn restated_files_have_the_same_models() {
    for name in ["mixed", "mixed_root", "template"] {
        same_after_restating(&fixtures().join(format!("hs3/{name}.hs3.json")));
    }
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("NEXTSTAT_REFERENCE_DIR is not set: only our own files are tried");
        return;
    };
    let mut tried = 0;
    for entry in std::fs::read_dir(Path::new(&folder).join("hs3/models")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".hs3.json") {
            same_after_restating(&path);
            tried += 1;
        }
    }
    assert!(tried >= 19, "only {tried} models");
}

#[test]
fn every_word_survives() {
    let axes = json!([{"name": "x", "min": 1.0, "max": 9.0}]);
    let bins = json!([{"name": "x", "edges": [1.0, 4.0, 9.0]}]);
    let shapes = [
        json!({"type": "normal_dist", "x": "x", "mean": "m", "sigma": "1.0"}),
        json!({"type": "bifurcated_gaussian_dist", "x": "x", "mean": "m", "sigmaL": 1, "sigmaR": "s"}),
        json!({"type": "exponential_dist", "x": "x", "c": "f"}),
        json!({"type": "ARGUS_dist", "mass": "x", "resonance": 9.5, "slope": "m"}),
        json!({"type": "crystalball_dist", "m": "x", "m0": "m", "sigma": "s", "alpha": 1.0, "n": 2.0}),
        json!({"type": "crystalball_doublesided_dist", "m": "x", "m0": "m", "sigma_L": 1, "sigma_R": "s",
               "alpha_L": 1, "n_L": 2, "alpha_R": 1.5, "n_R": "s"}),
        json!({"type": "chebychev_dist", "x": "x", "coefficients": [0.1, "s"]}),
        json!({"type": "polynomial_dist", "x": "x", "coefficients": ["1.0", "s"]}),
        json!({"type": "bernstein_poly_dist", "x": "x", "coefficients": [1, "s", 2]}),
        json!({"type": "uniform_dist", "x": ["x"]}),
        json!({"type": "nextstat.template_dist", "x": "x", "estimator": {"type": "histogram", "edges": [1, 4, 9]},
               "entries": [2, [5], 8], "weights": [1, 0.5, 2], "responses": [
                   {"parameter": "m", "up": [1, 1, 2], "down": [1, 0.5, 1.5], "acts_on": ["shape"]},
                   {"parameter": "s", "up": [2, 1, 2], "down": [1, 0.5, 1], "interpolation": "lin", "acts_on": ["yield"]}]}),
        json!({"type": "lognormal_dist", "x": "x", "mu": "m", "sigma": "s"}),
        json!({"type": "gamma_dist", "x": "x", "gamma": 2, "beta": "s", "mu": 0}),
        json!({"type": "generalized_normal_dist", "x": "x", "mean": "m", "alpha": "s", "beta": 2}),
        json!({"type": "nextstat.breit_wigner_dist", "x": "x", "mean": "m", "width": "s"}),
        json!({"type": "nextstat.voigt_dist", "x": "x", "mean": "m", "width": "s", "sigma": 1}),
        json!({"type": "nextstat.johnson_su_dist", "x": "x", "mu": "m", "lambda": "s", "gamma": 1, "delta": 2}),
        json!({"type": "nextstat.spline_dist", "x": "x", "knots": [1, 5, 9], "values": [1, 2, 1], "kind": "natural_cubic"}),
        json!({"type": "histogram_dist", "data": {"axes": bins, "contents": [0.1, 0.7]}}),
        json!({"type": "generic_dist", "expression": "exp(-x/s) + m*0.1"}),
        json!({"type": "density_function_dist", "function": "g"}),
        json!({"type": "log_density_function_dist", "function": "k"}),
        json!({"type": "efficiency_product_pdf_dist", "pdf": "other", "eff": "g"}),
        json!({"type": "mixture_dist", "summands": ["other", "flat"], "coefficients": ["s"], "extended": false}),
        json!({"type": "mixture_dist", "summands": ["other", "flat"], "coefficients": ["s", "m"]}),
        json!({"type": "extend_pdf", "n": "s", "pdf": "other"}),
        json!({"type": "product_dist", "factors": ["other"]}),
    ];
    for mut shape in shapes {
        shape["name"] = json!("shape");
        let text = json!({
            "metadata": {"hs3_version": "0.2.9", "packages": [{"name": "ROOT", "version": "6.40.00"}]},
            "distributions": [shape,
                {"name": "other", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": 1},
                {"name": "flat", "type": "uniform_dist", "x": "x"},
                {"name": "term", "type": "multivariate_normal_dist", "x": ["m", "s"], "mean": ["m0", 0.5],
                 "covariances": [[1.0, 0.1], [0.1, 2.0]]}],
            "functions": [{"name": "f", "type": "sum", "summands": ["s", 0.1]},
                          {"name": "g", "type": "generic_function", "expression": "0.5 + 0.01*x*s"},
                          {"name": "k", "type": "generic_function", "expression": "-0.1*x*s"},
                          {"name": "h", "type": "polynomial", "x": "m", "coefficients": [1, 2]}],
            "data": [{"name": "d", "type": "unbinned", "axes": axes, "entries": [[2.0], [3.5]], "weights": [1, 2]}],
            "likelihoods": [{"name": "L", "distributions": ["shape"], "data": ["d"], "aux_distributions": ["term"],
                             "nextstat.ranges": {"x": [[1, 3], [3.2, 9]]}}],
            "parameter_points": [{"name": "default_values", "parameters": [
                {"name": "m", "value": 4.0, "min": 2, "max": 8}, {"name": "s", "value": 0.5, "min": 0.1, "max": 0.9},
                {"name": "m0", "value": 4.0}]}],
            "misc": {"ROOT_internal": {"attributes": {"m0": {"tags": ["Constant"]}}}},
        });
        let path = std::env::temp_dir().join(format!("restated_{}.json", std::process::id()));
        std::fs::write(&path, text.to_string()).unwrap();
        same_after_restating(&path);
        std::fs::remove_file(&path).unwrap();
    }
}

/// Returns a text with the content of a model. The names of per-bin parameters are left out, because
/// workspaces number these parameters.
fn essence(model: &Model) -> Vec<String> {
    let constraint = |i: usize| {
        let p = &model.parameters[i];
        let datum = p.constraint.aux().map(|aux| model.observed.aux[aux]);
        let width = match p.constraint {
            Constraint::Gaussian { sigma, .. } => sigma,
            Constraint::Poisson { tau, .. } => tau,
            Constraint::None => 0.0,
        };
        let kind = std::mem::discriminant(&p.constraint);
        format!("{} {:?} {} {kind:?} {width:.9e} {datum:.9?}", p.init, p.bounds, p.fixed)
    };
    let mut lines = Vec::new();
    for channel in &model.channels {
        for sample in &channel.samples {
            for modifier in &sample.modifiers {
                let n = if modifier.effect.per_bin() { channel.n_bins } else { 1 };
                let parameters: Vec<String> = (modifier.first..modifier.first + n).map(constraint).collect();
                let effect = match &modifier.effect {
                    Effect::NormSys { .. } | Effect::HistoSys { .. } => format!("{:?}", modifier.effect),
                    _ => "factor".to_owned(),
                };
                lines.push(format!(
                    "{} {} {:?} {effect} {parameters:?}",
                    channel.name, sample.name, sample.nominal
                ));
            }
        }
    }
    lines.sort();
    lines.push(format!("{:?}", model.observed.main));
    lines
}

#[test]
fn workspaces_survive_the_way_through_hs3() {
    for name in
        ["simple_workspace", "all_modifiers", "several_measurements", "many_bins", "asymmetric", "overrides"]
    {
        let workspace = Workspace::from_path(fixtures().join(format!("{name}.json"))).unwrap();
        let model = workspace.model(&ModelOptions::default()).unwrap();
        let text = hs3::write(&model).unwrap().to_string();
        let read = Hs3::from_slice(text.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap();
        let back = workspace_of(&read).unwrap_or_else(|error| panic!("{name}: {error}")).to_string();
        let again =
            Workspace::from_slice(back.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}\n{back}"));
        let again = again.model(&ModelOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(essence(&again), essence(&model), "{name}");
    }
}

#[test]
fn what_workspaces_cannot_express_is_named() {
    let file = Hs3::from_slice(&std::fs::read(fixtures().join("hs3/mixed.hs3.json")).unwrap()).unwrap();
    let error = workspace_of(&file.model(&ModelOptions::default()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("is a channel of events"), "{error}");
    let wide: Value = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "SR", "type": "histfactory_dist", "axes": [{"name": "b", "min": 0, "max": 1, "nbins": 1}],
             "samples": [{"name": "s", "data": {"contents": [10]}, "modifiers": [
                {"name": "a", "type": "normsys", "parameter": "a", "data": {"hi": 1.1, "lo": 0.9}, "constraint": "term"}]}]},
            {"name": "term", "type": "gaussian_dist", "x": "a", "mean": 0, "sigma": 2}],
        "data": [{"name": "d", "type": "binned", "axes": [{"name": "b", "min": 0, "max": 1, "nbins": 1}], "contents": [9]}],
        "likelihoods": [{"name": "L", "distributions": ["SR"], "data": ["d"]}],
    });
    let model =
        Hs3::from_slice(wide.to_string().as_bytes()).unwrap().model(&ModelOptions::default()).unwrap();
    assert_eq!(model.interpolation, Interpolation::default());
    let error = workspace_of(&model).unwrap_err();
    assert!(error.to_string().contains("the constraint of 'a' is not the Gaussian of width 1"), "{error}");
}
