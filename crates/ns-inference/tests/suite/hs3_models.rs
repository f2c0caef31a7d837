//! Compares `-ln L` of small HS3 models with formulae. This file contains the formulae and normalises them by
//! numerical integration.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use ns_core::{Control, Data, EvaluationRequest, Execution, Model};
use ns_inference::{FitOptions, FitResult, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Builds a model from distributions and functions. `parameters` has a name and a value for each parameter. The range
/// of each parameter is from -50 to 50.
fn model(
    distributions: Value,
    functions: Value,
    data: Value,
    likelihood: Value,
    parameters: &[(&str, f64)],
) -> Model {
    let axes: Vec<Value> =
        parameters.iter().map(|(name, _)| json!({"name": name, "min": -50, "max": 50})).collect();
    let values: Vec<Value> =
        parameters.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": distributions,
        "functions": functions,
        "data": data,
        "likelihoods": [likelihood],
        "domains": [{"name": "domain", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "start", "parameters": values}],
        "analyses": [{"name": "fit", "likelihood": "L", "domain": "domain", "init": "start"}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns `-ln L` if the parameters in `names` have the values in `values`.
fn nll(model: &Model, names: &[&str], values: &[f64]) -> f64 {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    for (name, value) in names.iter().zip(values) {
        point[model.parameter_index(name).unwrap()] = *value;
    }
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    session.evaluate(&Data::observed(), &point, request).unwrap().nll[0]
}

/// Checks that `-ln L` of a model and `formula` differ only by a constant: compares their differences between the
/// points.
fn same(model: &Model, names: &[&str], points: &[&[f64]], formula: impl Fn(&[f64]) -> f64) {
    let (first, right) = (nll(model, names, points[0]), formula(points[0]));
    for point in &points[1..] {
        let (found, right) = (nll(model, names, point) - first, formula(point) - right);
        assert!((found - right).abs() < 1e-8 * (1.0 + right.abs()), "at {point:?}: {found}, not {right}");
    }
}

/// Returns the integral of `f` by Simpson's rule.
fn integral(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let n = 20_000;
    let h = (to - from) / f64::from(n);
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
    (0..=n).map(|i| weight(i) * f(from + h * f64::from(i))).sum::<f64>() * h / 3.0
}

const EVENTS: [f64; 6] = [0.4, 1.3, 2.2, 2.4, 3.1, 3.9];

fn events(name: &str) -> Value {
    let entries: Vec<Value> = EVENTS.iter().map(|x| json!([x])).collect();
    json!([{"name": name, "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 4}], "entries": entries}])
}

/// Returns `-ln L` of the events for a density that need not be normalised. The function normalises it numerically.
fn shape_nll(density: impl Fn(f64) -> f64) -> f64 {
    let norm = integral(&density, 0.0, 4.0);
    -EVENTS.iter().map(|x| (density(*x) / norm).ln()).sum::<f64>()
}

fn likelihood(distribution: &str) -> Value {
    json!({"name": "L", "distributions": [distribution], "data": ["d"]})
}

#[test]
fn functions_and_expressions_are_densities() {
    let formula = |p: &[f64]| shape_nll(|x| (1.0 + p[0] * x) * (-0.5 * ((x - 2.0) / 1.5_f64).powi(2)).exp());
    let points: [&[f64]; 3] = [&[0.2], &[0.7], &[3.0]];
    let gauss = json!({"name": "g", "type": "gaussian_dist", "x": "x", "mean": 2, "sigma": 1.5});
    let line = json!([{"name": "line", "type": "polynomial", "x": "x", "coefficients": [1, "a"]}]);
    let cases = [
        json!([{"name": "p", "type": "generic_dist", "expression": "(1 + a*x)*exp(-0.5*((x-2)/1.5)^2)"}]),
        json!([{"name": "p", "type": "efficiency_product_pdf_dist", "pdf": "g", "eff": "line"}, gauss]),
        json!([{"name": "p", "type": "product_dist", "factors": ["g", "q"]}, gauss,
               {"name": "q", "type": "polynomial_dist", "x": "x", "coefficients": [1, "a"]}]),
        json!([{"name": "p", "type": "product_dist", "factors": ["g", "q"]}, gauss,
               {"name": "q", "type": "density_function_dist", "function": "line"}]),
        json!([{"name": "p", "type": "log_density_function_dist", "function": "log"}]),
    ];
    for distributions in cases {
        let mut functions = line.as_array().unwrap().clone();
        functions.push(
            json!({"name": "log", "type": "generic_function", "expression": "log(line) - 0.5*((x-2)/1.5)^2"}),
        );
        let model = model(distributions, functions.into(), events("d"), likelihood("p"), &[("a", 0.2)]);
        same(&model, &["a"], &points, formula);
    }
}

#[test]
fn a_mean_may_depend_on_another_observable() {
    // The model is g(x; mean = a + y / 2) times an exponential in y. The product is normalised over both observables.
    let entries = [[0.4, 0.2], [1.3, 0.8], [2.2, 0.1], [3.1, 1.7]];
    let axes = json!([{"name": "x", "min": 0, "max": 4}, {"name": "y", "min": 0, "max": 2}]);
    let data = json!([{"name": "d", "type": "unbinned", "axes": axes, "entries": entries}]);
    let distributions = json!([
        {"name": "p", "type": "product_dist", "factors": ["g", "e"]},
        {"name": "g", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": 0.8},
        {"name": "e", "type": "exponential_dist", "x": "y", "c": "c"},
    ]);
    let functions = json!([{"name": "mean", "type": "generic_function", "expression": "a + y/2"}]);
    let model = model(distributions, functions, data, likelihood("p"), &[("a", 1.0), ("c", 0.5)]);
    let formula = |p: &[f64]| {
        let density =
            |x: f64, y: f64| (-0.5 * ((x - p[0] - 0.5 * y) / 0.8).powi(2)).exp() * (-p[1] * y).exp();
        let inner = |y: f64| {
            let n = 400;
            let h = 4.0 / f64::from(n);
            let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
            (0..=n).map(|i| weight(i) * density(h * f64::from(i), y)).sum::<f64>() * h / 3.0
        };
        let n = 400;
        let h = 2.0 / f64::from(n);
        let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
        let norm = (0..=n).map(|i| weight(i) * inner(h * f64::from(i))).sum::<f64>() * h / 3.0;
        -entries.iter().map(|[x, y]| (density(*x, *y) / norm).ln()).sum::<f64>()
    };
    same(&model, &["a", "c"], &[&[1.0, 0.5], &[1.4, 0.1], &[0.3, 1.5]], formula);
}

#[test]
fn the_normalisation_of_a_process_is_that_of_combine() {
    let model = model(
        json!([{"name": "p", "type": "mixture_dist", "summands": ["flat"], "coefficients": ["norm"], "extended": true},
               {"name": "flat", "type": "uniform_dist", "x": "x"}]),
        json!([{"name": "norm", "type": "CMS::process_normalization", "expression": "norm", "nominalValue": 7.5,
                "thetaList": ["a"], "logKappa": [0.1], "asymmThetaList": ["b"], "logAsymmKappa": [[-0.3, 0.2]],
                "otherFactorList": ["f"]}]),
        events("d"),
        likelihood("p"),
        &[("a", 0.0), ("b", 0.0), ("f", 1.0)],
    );
    let n = model.observed.events[0].columns[0].len() as f64;
    let formula = |values: &[f64]| {
        let [a, b, f] = *values else { panic!() };
        let slope = if b >= 0.5 {
            0.2
        } else if b <= -0.5 {
            0.3
        } else {
            let x = 2.0 * b;
            0.25 - 0.05 * (3.0 * x.powi(5) - 10.0 * x.powi(3) + 15.0 * x) / 8.0
        };
        let rate = 7.5 * (0.1 * a + slope * b).exp() * f;
        rate - n * rate.ln()
    };
    let points: [&[f64]; 6] = [
        &[0.0, 0.0, 1.0],
        &[1.5, 0.0, 1.0],
        &[0.3, 0.2, 1.1],
        &[-0.7, -0.35, 0.9],
        &[0.0, 1.7, 1.0],
        &[2.0, -1.2, 2.0],
    ];
    same(&model, &["a", "b", "f"], &points, formula);
}

#[test]
fn rates_are_written_in_two_ways() {
    let gauss = json!({"name": "g", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": 0.7});
    let flat = json!({"name": "f", "type": "uniform_dist", "x": "x"});
    let mixture = json!([{"name": "p", "type": "mixture_dist", "summands": ["g", "f"], "coefficients": ["n1", "n2"]}, gauss, flat]);
    let rate = json!([
        {"name": "p", "type": "rate_extended_dist", "rate": "n", "dist": "mix"},
        {"name": "mix", "type": "mixture_dist", "summands": ["g", "f"], "coefficients": ["fraction"], "extended": false}, gauss, flat
    ]);
    let functions = json!([
        {"name": "n", "type": "sum", "summands": ["n1", "n2"]},
        {"name": "fraction", "type": "generic_function", "expression": "n1/(n1+n2)"}
    ]);
    let formula = |p: &[f64]| {
        let norm = integral(|x| (-0.5 * ((x - p[2]) / 0.7_f64).powi(2)).exp(), 0.0, 4.0);
        let density = |x: f64| p[0] * (-0.5 * ((x - p[2]) / 0.7_f64).powi(2)).exp() / norm + p[1] / 4.0;
        p[0] + p[1] - EVENTS.iter().map(|x| density(*x).ln()).sum::<f64>()
    };
    for distributions in [mixture, rate] {
        let model = model(
            distributions,
            functions.clone(),
            events("d"),
            likelihood("p"),
            &[("n1", 4.0), ("n2", 2.0), ("m", 2.0)],
        );
        assert!(model.event_channels[0].extended);
        assert_eq!(model.event_channels[0].processes.len(), 2);
        same(&model, &["n1", "n2", "m"], &[&[4.0, 2.0, 2.0], &[3.0, 5.0, 2.5], &[1.0, 1.0, 0.5]], formula);
    }
}

#[test]
fn fit_ranges_select_events_and_normalise() {
    let distributions = json!([{"name": "p", "type": "exponential_dist", "x": "x", "c": "c"}]);
    let mut likelihood = likelihood("p");
    likelihood["nextstat.ranges"] = json!({"x": [[0, 1.5], [3, 4]]});
    let model = model(distributions, json!([]), events("d"), likelihood, &[("c", 0.3)]);
    assert_eq!(model.observed.events[0].len(), 4);
    let formula = |p: &[f64]| {
        let density = |x: f64| (-p[0] * x).exp();
        let norm = integral(density, 0.0, 1.5) + integral(density, 3.0, 4.0);
        let inside = EVENTS.iter().filter(|x| **x <= 1.5 || **x >= 3.0);
        -inside.map(|x| (density(*x) / norm).ln()).sum::<f64>()
    };
    same(&model, &["c"], &[&[0.3], &[1.1], &[-0.4]], formula);
}

#[test]
fn histograms_are_divided_by_bin_widths() {
    let axes = json!([{"name": "x", "edges": [0, 1, 1.5, 4]}]);
    let distributions = json!([
        {"name": "p", "type": "mixture_dist", "summands": ["h", "f"], "coefficients": ["a"], "extended": false},
        {"name": "h", "type": "histogram_dist", "data": {"axes": axes, "contents": [2, 5, 3]}},
        {"name": "f", "type": "uniform_dist", "x": ["x"]},
    ]);
    let model = model(distributions, json!([]), events("d"), likelihood("p"), &[("a", 0.5)]);
    let formula = |p: &[f64]| {
        let height = |x: f64| {
            if x < 1.0 {
                2.0
            } else if x < 1.5 {
                10.0
            } else {
                1.2
            }
        };
        let density = |x: f64| p[0] * height(x) / 10.0 + (1.0 - p[0]) / 4.0;
        -EVENTS.iter().map(|x| density(*x).ln()).sum::<f64>()
    };
    same(&model, &["a"], &[&[0.5], &[0.1], &[0.9]], formula);
}

#[test]
fn constraint_terms_have_their_densities() {
    let distributions = json!([
        {"name": "p", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": "s"},
        {"name": "both", "type": "multivariate_normal_dist", "x": ["m", "s"], "mean": [2, 1.2], "covariances": [[0.25, 0.1], [0.1, 0.16]]},
        {"name": "gamma", "type": "gamma_dist", "x": "s", "gamma": 3, "beta": 0.5, "mu": 0.1},
        {"name": "log", "type": "lognormal_dist", "x": "t", "mu": 0.1, "sigma": 0.3},
        {"name": "mt", "type": "gaussian_dist", "x": 4.1, "mean": "product", "sigma": 0.4},
    ]);
    let functions = json!([{"name": "product", "type": "product", "factors": ["m", "t"]}]);
    let likelihood = json!({
        "name": "L", "distributions": ["p"], "data": ["d"], "aux_distributions": ["both", "gamma", "log", "mt"]
    });
    let model =
        model(distributions, functions, events("d"), likelihood, &[("m", 2.0), ("s", 1.2), ("t", 1.0)]);
    let formula = |p: &[f64]| {
        let (m, s, t) = (p[0], p[1], p[2]);
        let events = shape_nll(|x| (-0.5 * ((x - m) / s).powi(2)).exp());
        let determinant = 0.25 * 0.16 - 0.1 * 0.1;
        let (a, b) = (m - 2.0, s - 1.2);
        let both = 0.5 * (0.16 * a * a - 0.2 * a * b + 0.25 * b * b) / determinant;
        let gamma = -2.0 * (s - 0.1).ln() + (s - 0.1) / 0.5;
        let log = 0.5 * ((t.ln() - 0.1) / 0.3).powi(2) + t.ln();
        events + both + gamma + log + 0.5 * ((m * t - 4.1) / 0.4).powi(2)
    };
    same(&model, &["m", "s", "t"], &[&[2.0, 1.2, 1.0], &[1.5, 0.9, 1.3], &[2.6, 1.9, 0.6]], formula);
}

#[test]
fn counts_and_numbers_are_data_too() {
    let distributions = json!([
        {"name": "count", "type": "poisson_dist", "x": "n", "mean": "yields"},
        {"name": "second", "type": "poisson_dist", "x": "k", "mean": "b"},
        {"name": "term", "type": "gaussian_dist", "x": "measured", "mean": "b", "sigma": 2},
    ]);
    let functions = json!([{"name": "yields", "type": "generic_function", "expression": "mu*5 + b"}]);
    let data = json!([
        {"name": "d", "type": "unbinned", "axes": [{"name": "n", "min": 0, "max": 100}], "entries": [[11], [9]]},
        {"name": "e", "type": "point", "value": 4, "axes": [{"name": "k"}]},
    ]);
    let likelihood =
        json!({"name": "L", "distributions": ["count", "second", "term"], "data": ["d", "e", 3.5]});
    let parameters = [("mu", 1.0), ("b", 4.0), ("measured", 0.0)];
    let model = model(distributions, functions, data, likelihood, &parameters);
    let formula = |p: &[f64]| {
        let nu = 5.0 * p[0] + p[1];
        2.0 * nu - 20.0 * nu.ln() + p[1] - 4.0 * p[1].ln() + 0.5 * ((p[1] - 3.5) / 2.0).powi(2)
    };
    same(&model, &["mu", "b"], &[&[1.0, 4.0], &[0.4, 6.0], &[2.0, 2.5]], formula);
}

#[test]
fn both_dialects_give_the_same_fit() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hs3");
    let result = |name: &str| -> FitResult {
        let text = std::fs::read(folder.join(name)).unwrap();
        let model = ModelSource::from_slice(&text).and_then(|source| source.model(&ModelOptions::default()));
        let model = model.unwrap();
        let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap()
    };
    let (text, root) = (result("mixed.hs3.json"), result("mixed_root.hs3.json"));
    assert!(text.converged && root.converged);
    assert!((text.twice_nll - root.twice_nll).abs() < 1e-8);
    for name in ["mu", "eff", "n_bkg", "mass", "k_top", "g_0", "g_1"] {
        let (a, b) = (text.uncertainty(name).unwrap(), root.uncertainty(name).unwrap());
        assert!((a / b - 1.0).abs() < 1e-7, "{name}: {a} and {b}");
        assert!((text.value(name).unwrap() - root.value(name).unwrap()).abs() < 1e-6 * a, "{name}");
    }
    // The slope in ROOT has the opposite sign.
    assert!((text.value("slope").unwrap() + root.value("minus_slope").unwrap()).abs() < 1e-8);
}

/// Returns a histogram over `axes` with one content per bin.
fn histogram(axes: Value, contents: &[f64]) -> Value {
    json!([{"name": "d", "type": "binned", "axes": axes, "contents": contents}])
}

#[test]
fn contents_of_bins_are_compared_with_integrals() {
    // The bins are wider than the peak. The density at the centre of a bin is therefore far from its mean.
    let edges = [0.0, 0.5, 1.5, 1.7, 3.0, 4.0];
    let contents = [12.0, 31.0, 9.0, 40.0, 3.0];
    let distributions = json!([
        {"name": "p", "type": "mixture_dist", "summands": ["g", "e", "q"], "coefficients": ["n1", "n2", 5],
         "extended": true},
        {"name": "g", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": "s"},
        {"name": "e", "type": "exponential_dist", "x": "x", "c": "c"},
        {"name": "q", "type": "generic_dist", "expression": "1 + c*sqrt(x)"},
    ]);
    let mut likelihood = likelihood("p");
    likelihood["nextstat.bins"] = json!("integral");
    let data = histogram(json!([{"name": "x", "edges": edges}]), &contents);
    let start = [("n1", 45.0), ("n2", 35.0), ("m", 1.9), ("s", 0.2), ("c", 0.4)];
    let model = model(distributions, json!([]), data, likelihood, &start);
    let formula = |p: &[f64]| {
        let gauss = |x: f64| (-0.5 * ((x - p[2]) / p[3]).powi(2)).exp();
        let exponential = |x: f64| (-p[4] * x).exp();
        let root = |x: f64| 1.0 + p[4] * x.sqrt();
        let (a, b) = (integral(gauss, 0.0, 4.0), integral(exponential, 0.0, 4.0));
        // In the variable sqrt(x), Simpson's rule is also accurate at 0.
        let roots = |from: f64, to: f64| integral(|u: f64| 2.0 * u * root(u * u), from.sqrt(), to.sqrt());
        let c = roots(0.0, 4.0);
        let mean = |ends: &[f64]| {
            let (from, to) = (ends[0], ends[1]);
            let sum = p[0] * integral(gauss, from, to) / a
                + p[1] * integral(exponential, from, to) / b
                + 5.0 * roots(from, to) / c;
            sum / (to - from)
        };
        let logs = edges.windows(2).zip(contents).map(|(ends, n)| n * mean(ends).ln());
        p[0] + p[1] + 5.0 - logs.sum::<f64>()
    };
    let names = ["n1", "n2", "m", "s", "c"];
    let points: [&[f64]; 4] = [
        &[60.0, 35.0, 1.9, 0.2, 0.4],
        &[30.0, 70.0, 2.3, 0.05, 0.1],
        &[80.0, 20.0, 1.2, 0.6, -0.2],
        &[55.0, 45.0, 2.0, 0.3, 1.0],
    ];
    same(&model, &names, &points, formula);
    derivatives_are_differences(&model, &names, points[0]);
    // A fit of the contents that the model expects ends at the parameters of the model.
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let asimov = FitOptions::default().data(ns_inference::FitData::Asimov { poi: None });
    let result = fit(&model, session.as_ref(), &asimov, Control::default()).unwrap();
    assert!(result.converged, "{result:?}");
    for (name, value) in start {
        let found = result.bestfit[model.parameter_index(name).unwrap()];
        assert!((found - value).abs() < 1e-5 * value, "{name}: {found}");
    }
    // The contents of toys are whole numbers. They are placed at the centres of bins.
    let source = session.toy_source(&result.bestfit, &Data::observed(), 3, 1).unwrap();
    let toy = source.draw_whole(0).unwrap();
    let table = &toy.events[0];
    assert!(
        table.columns[0].iter().all(|x| edges.windows(2).any(|e| (x - 0.5 * (e[0] + e[1])).abs() < 1e-12))
    );
    assert!(table.weights.as_ref().unwrap().iter().all(|n| *n > 0.0 && n.fract() == 0.0));
}

#[test]
fn integrals_over_bins_of_two_observables_respect_fit_ranges() {
    let axes = json!([{"name": "x", "min": 0, "max": 4, "nbins": 4}, {"name": "y", "edges": [0, 1, 3]}]);
    let contents = [5.0, 9.0, 14.0, 7.0, 3.0, 8.0, 6.0, 11.0];
    let distributions = json!([
        {"name": "p", "type": "mixture_dist", "summands": ["g", "f"], "coefficients": ["a"], "extended": false},
        {"name": "g", "type": "product_dist", "factors": ["gx", "gy"]},
        {"name": "gx", "type": "gaussian_dist", "x": "x", "mean": "m", "sigma": 0.7},
        {"name": "gy", "type": "exponential_dist", "x": "y", "c": "c"},
        {"name": "f", "type": "generic_dist", "expression": "1 + c*x*y"},
    ]);
    let mut likelihood = likelihood("p");
    likelihood["nextstat.bins"] = json!("integral");
    likelihood["nextstat.ranges"] = json!({"x": [[0, 1], [2, 4]]});
    let data = histogram(axes, &contents);
    let model = model(distributions, json!([]), data, likelihood, &[("a", 0.4), ("m", 1.8), ("c", 0.3)]);
    let formula = |p: &[f64]| {
        let gauss = |x: f64| (-0.5 * ((x - p[1]) / 0.7_f64).powi(2)).exp();
        let exponential = |y: f64| (-p[2] * y).exp();
        let box_of = |x: (f64, f64), y: (f64, f64)| {
            let product = integral(gauss, x.0, x.1) * integral(exponential, y.0, y.1);
            let area = (x.1 - x.0) * (y.1 - y.0);
            let flat = area + p[2] * (x.1 * x.1 - x.0 * x.0) * (y.1 * y.1 - y.0 * y.0) / 4.0;
            (product, flat, area)
        };
        let mut used = Vec::new();
        for (i, x) in [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0)].into_iter().enumerate() {
            for (j, y) in [(0.0, 1.0), (1.0, 3.0)].into_iter().enumerate() {
                if i != 1 {
                    used.push((contents[2 * i + j], box_of(x, y)));
                }
            }
        }
        let (a, b) = used.iter().fold((0.0, 0.0), |(a, b), (_, (p, f, _))| (a + p, b + f));
        -used
            .iter()
            .map(|(n, (g, f, area))| n * ((p[0] * g / a + (1.0 - p[0]) * f / b) / area).ln())
            .sum::<f64>()
    };
    let names = ["a", "m", "c"];
    let points: [&[f64]; 3] = [&[0.4, 1.8, 0.3], &[0.1, 2.6, 0.05], &[0.9, 0.4, 0.8]];
    same(&model, &names, &points, formula);
    derivatives_are_differences(&model, &names, points[0]);
}

/// Compares the gradient with finite differences of values, and the Hessian with finite differences of gradients.
fn derivatives_are_differences(model: &Model, names: &[&str], values: &[f64]) {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let at = |shift: Option<(usize, f64)>| {
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        for (name, value) in names.iter().zip(values) {
            point[model.parameter_index(name).unwrap()] = *value;
        }
        if let Some((i, h)) = shift {
            point[i] += h;
        }
        let request =
            EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
        session.evaluate(&Data::observed(), &point, request).unwrap()
    };
    let (middle, n, h) = (at(None), model.parameters.len(), 1e-5);
    for i in 0..n {
        let (up, down) = (at(Some((i, h))), at(Some((i, -h))));
        let slope = (up.nll[0] - down.nll[0]) / (2.0 * h);
        assert!((slope - middle.gradient[i]).abs() < 1e-5 * (1.0 + slope.abs()), "{i}: {slope}");
        for j in 0..n {
            let bend = (up.gradient[j] - down.gradient[j]) / (2.0 * h);
            let found = middle.hessian[i * n + j];
            assert!((bend - found).abs() < 1e-5 * (1.0 + bend.abs()), "{i} {j}: {found}, not {bend}");
        }
    }
}

/// Returns a model with the process `signal`, which is a template of simulated events, and a flat background.
fn with_template(signal: Value) -> Result<Model, String> {
    let distributions = json!([
        {"name": "p", "type": "mixture_dist", "summands": ["s", "f"], "coefficients": ["n1", "n2"], "extended": true},
        signal,
        {"name": "f", "type": "uniform_dist", "x": ["x"]},
    ]);
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"}, "distributions": distributions, "data": events("d"),
        "likelihoods": [likelihood("p")],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "n1", "value": 3.0, "min": 0, "max": 20}, {"name": "n2", "value": 3.0, "min": 0, "max": 20}]}],
        "analyses": [{"name": "fit", "likelihood": "L", "parameters_of_interest": ["n1"]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).map_err(|error| error.to_string())
}

#[test]
fn templates_may_have_negative_weights() {
    let template = json!({"name": "s", "type": "nextstat.template_dist", "x": ["x"],
        "estimator": {"type": "histogram", "edges": [0, 1, 2, 4]},
        "entries": [[0.3], [0.4], [1.2], [1.8], [2.5], [3.0]], "weights": [1.0, -1.2, 2.0, 1.5, 1.0, -0.3]});
    let model = with_template(template).unwrap();
    let warned = model.warnings.iter().any(|w| w.contains("1 of 3 bins of the template 's' are negative"));
    assert!(warned, "{:?}", model.warnings);
    let formula = |p: &[f64]| {
        let height = |x: f64| {
            if x < 1.0 {
                -0.2 / 4.0
            } else if x < 2.0 {
                3.5 / 4.0
            } else {
                0.7 / 4.0 / 2.0
            }
        };
        p[0] + p[1] - EVENTS.iter().map(|x| (p[0] * height(*x) + p[1] / 4.0).ln()).sum::<f64>()
    };
    same(&model, &["n1", "n2"], &[&[3.0, 3.0], &[1.0, 5.0], &[4.0, 2.0]], formula);
    // The process is negative in a part of the range. Yields, pictures, Asimov data and toys are computed for it.
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let asimov = FitOptions::default().data(ns_inference::FitData::Asimov { poi: None });
    let result = fit(&model, session.as_ref(), &asimov, Control::default()).unwrap();
    assert!(result.converged && (result.bestfit[0] - 3.0).abs() < 1e-4, "{:?}", result.bestfit);
    let yields = ns_inference::postfit_yields(&model, session.as_ref(), &asimov, &result).unwrap();
    let signal = &yields.channels[0].samples[0];
    assert!(signal.counts[0] < 0.0, "{:?}", signal.counts);
    assert!((signal.sum - result.bestfit[0]).abs() < 1e-9, "{}, not {}", signal.sum, result.bestfit[0]);
    #[cfg(feature = "pictures")]
    ns_inference::picture::yields(&yields).draw().unwrap();
    let source = session.toy_source(&result.bestfit, &Data::observed(), 3, 1).unwrap();
    assert!(source.draw_whole(0).is_ok());
    // If the whole density is negative at an event, the evaluation must fail or return a number that is not finite.
    let point = [10.0, 0.1];
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let outcome = session.evaluate(&Data::observed(), &point, request);
    assert!(outcome.is_err() || !outcome.unwrap().nll[0].is_finite());
}
