//! Tests fits and toys of models with flows.

use std::sync::Arc;

use ns_core::{Control, Data, Execution, Model, Observations};
use ns_inference::toys::GeneratingPoint;
use ns_inference::{
    FitOptions, FitResult, FitToysOptions, LimitOptions, fit, fit_toys, open_session, upper_limit,
};
use ns_translate::ModelSource;
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{DigestCheck, ModelOptions};
use serde_json::{Value, json};

use crate::{folder, oracle};

/// Returns the model of the fixture `name` after `change` has changed its JSON.
pub(crate) fn try_model(name: &str, change: impl Fn(&mut Value)) -> Result<Model, String> {
    let file = folder().join(format!("{name}.hs3.json"));
    let mut tree: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut tree);
    let sources = EventSources::beside(&file);
    let text = tree.to_string();
    ModelSource::with_events(text.as_bytes(), &[], DigestCheck::Verify, &sources)
        .and_then(|source| source.model(&ModelOptions::default()))
        .map_err(|error| error.to_string())
}

fn model(name: &str) -> Model {
    try_model(name, |_| {}).unwrap()
}

pub(crate) fn best(model: &Model) -> FitResult {
    let session = open_session(model, &Execution::default()).unwrap();
    fit(model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap()
}

/// Checks that the results of two fits agree. Values and uncertainties may differ by at most `fraction` times the
/// uncertainty.
fn assert_same(a: &FitResult, b: &FitResult, fraction: f64) {
    assert!(a.converged && b.converged);
    for name in ["mu", "n_background", "slope", "efficiency"] {
        let sigma = b.uncertainty(name).unwrap();
        let distance = (a.value(name).unwrap() - b.value(name).unwrap()).abs() / sigma;
        let other = (a.uncertainty(name).unwrap() / sigma - 1.0).abs();
        assert!(distance < fraction && other < fraction, "{name}: {distance:e} {other:e}");
    }
}

#[test]
fn a_flow_beside_an_exponential_recovers_the_yields() {
    let found = best(&model("search"));
    assert!(found.converged);
    for (name, truth) in [("mu", 1.0), ("n_background", 1500.0), ("slope", 0.03), ("efficiency", 0.0)] {
        let pull = (found.value(name).unwrap() - truth) / found.uncertainty(name).unwrap();
        assert!(pull.abs() < 4.0, "{name}: {pull}");
    }
    // The uncertainty of the efficiency is the width of its constraint.
    assert!((found.uncertainty("efficiency").unwrap() - 1.0).abs() < 0.01);
}

#[test]
fn a_flow_and_the_formula_of_its_density_give_one_result() {
    let (flow, formula) = (model("search"), model("search_gaussian"));
    assert_same(&best(&flow), &best(&formula), 1e-4);
    let limit = |model: &Model| {
        let session = open_session(model, &Execution::default()).unwrap();
        upper_limit(model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap()
    };
    // Asimov data evaluate the flow at other events.
    let (a, b) = (limit(&flow), limit(&formula));
    assert!((a.observed.unwrap() / b.observed.unwrap() - 1.0).abs() < 1e-4);
    for (a, b) in a.expected.iter().zip(&b.expected) {
        assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-4);
    }
}

#[test]
fn fit_ranges_that_cut_a_flow_are_normalised() {
    // The second range begins at the peak.
    let cut = |tree: &mut Value| {
        tree["likelihoods"][0]["nextstat.ranges"] = json!({"m": [[100, 122], [125, 160]]});
    };
    let (flow, formula) = (try_model("search", cut).unwrap(), try_model("search_gaussian", cut).unwrap());
    assert!(flow.observed.events[0].len() < model("search").observed.events[0].len());
    assert_same(&best(&flow), &best(&formula), 1e-4);
}

#[test]
fn several_flows_mix_and_each_has_one_column() {
    let with = |tree: &mut Value| {
        tree["distributions"][1] = json!({"name": "background", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "falling.flow.json"});
        let again =
            json!({"name": "again", "type": "nextstat.flow_dist", "x": ["m"], "manifest": "peak.flow.json"});
        tree["distributions"].as_array_mut().unwrap().push(again);
        tree["distributions"][2]["summands"] = json!(["signal", "background", "again"]);
        tree["distributions"][2]["coefficients"] = json!(["n_signal", "n_background", 10]);
    };
    let model = try_model("search", with).unwrap();
    assert_eq!(model.event_channels[0].log_densities().len(), 2);
    assert_eq!(model.observed.events[0].columns.len(), 3);
    let session = open_session(&model, &Execution::default()).unwrap();
    // `-ln L` computed in this test, with the columns of the table.
    let table = &model.observed.events[0];
    let rates = [210.0, 1500.0];
    let sum: f64 = (0..table.len())
        .map(|i| (rates[0] * table.columns[1][i].exp() + rates[1] * table.columns[2][i].exp()).ln())
        .sum();
    let penalty = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let expected = 2.0 * (210.0 + 1500.0 - sum + penalty);
    let options = model.parameters.iter().fold(FitOptions::default(), |o, p| o.fix(&p.name, p.init));
    let found = fit(&model, session.as_ref(), &options, Control::default());
    let found = found.unwrap().twice_nll;
    assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}");
}

/// Fits 500 toys that are generated at the start values of the parameters, and checks the pulls of the parameters.
pub(crate) fn assert_pulls(model: &Model) {
    let session = open_session(model, &Execution::default()).unwrap();
    let options = FitToysOptions::default().point(GeneratingPoint::Init).n_toys(500).seed(4);
    let study = fit_toys(model, session.as_ref(), &options, Control::default()).unwrap();
    assert_eq!((study.n_toys, study.n_failed), (500, 0));
    for parameter in study.parameters {
        let (mean, width) = (parameter.pull_mean.unwrap(), parameter.pull_width.unwrap());
        let (mean_error, width_error) = (1.0 / 500.0_f64.sqrt(), 1.0 / 1000.0_f64.sqrt());
        assert!(mean.abs() < 4.0 * mean_error, "{}: mean {mean}", parameter.name);
        assert!((width - 1.0).abs() < 4.0 * width_error, "{}: width {width}", parameter.name);
    }
}

#[test]
fn toys_by_a_sampler_have_pulls_of_mean_0_and_width_1() {
    assert_pulls(&model("search"));
}

#[test]
fn toys_by_rejection_and_in_cut_ranges_too() {
    for manifest in ["tabled.flow.json", "falling.flow.json"] {
        // A falling signal above a flat background, so that both shapes affect the fit.
        let with = |tree: &mut Value| {
            tree["distributions"][0]["manifest"] = json!(manifest);
            tree["distributions"][1] = json!({"name": "background", "type": "uniform_dist", "x": ["m"]});
            tree["distributions"][2]["coefficients"] = json!(["n_signal", "n_background"]);
            tree["functions"][0]["expression"] = json!("800*mu*(1 + 0.05*efficiency)");
            tree["likelihoods"][0]["nextstat.ranges"] = json!({"m": [[104, 118], [121, 155]]});
        };
        assert_pulls(&try_model("search", with).unwrap());
    }
}

/// Returns a model of a signal in two observables above a background that falls in the first observable. The axes cut
/// off a part of the signal.
fn in_the_plane(signal: Value) -> Model {
    let with = |tree: &mut Value| {
        tree["distributions"][0] = signal.clone();
        tree["distributions"][1] =
            json!({"name": "falling", "type": "exponential_dist", "x": "m", "c": "slope"});
        let flat = json!({"name": "flat", "type": "uniform_dist", "x": ["t"]});
        let both = json!({"name": "background", "type": "product_dist", "factors": ["falling", "flat"]});
        tree["distributions"].as_array_mut().unwrap().extend([flat, both]);
        tree["functions"][0]["expression"] = json!("400*mu*(1 + 0.05*efficiency)");
        tree["parameter_points"][0]["parameters"][1]["value"] = json!(600);
        tree["data"][0]["axes"] =
            json!([{"name": "m", "min": 120, "max": 133}, {"name": "t", "min": 1, "max": 4}]);
        // Weighted events of a peak, as a histogram on a grid.
        let peak = oracle("plane", "events");
        let inside = |row: &&[f64]| (120.0..=133.0).contains(&row[0]) && (1.0..=4.0).contains(&row[1]);
        let mut events: Vec<[f64; 2]> = peak.chunks(2).filter(inside).map(|row| [row[0], row[1]]).collect();
        let mut weights: Vec<f64> = events
            .iter()
            .map(|[m, t]| 30.0 * (-0.2 * (m - 125.0).powi(2) - 2.0 * (t - 1.5).powi(2)).exp())
            .collect();
        for i in 0..400 {
            events.push([
                120.0 + 13.0 * (f64::from(i) + 0.5) / 400.0,
                1.0 + 3.0 * (f64::from(i * 7 % 400) + 0.5) / 400.0,
            ]);
            weights.push(1.0);
        }
        tree["data"][0]["entries"] = json!(events);
        tree["data"][0]["weights"] = json!(weights);
    };
    try_model("search", with).unwrap()
}

fn plane(manifest: &str) -> Value {
    json!({"name": "signal", "type": "nextstat.flow_dist", "x": ["m", "t"], "manifest": manifest})
}

#[test]
fn two_features_and_weights_give_the_result_of_the_formula() {
    let formula = json!({
        "name": "signal", "type": "multivariate_normal_dist", "x": ["m", "t"], "mean": [125, 1.5],
        "covariances": [[4.0, 1.2], [1.2, 0.61]],
    });
    assert_same(&best(&in_the_plane(plane("plane.flow.json"))), &best(&in_the_plane(formula)), 1e-5);
}

#[test]
fn toys_of_two_features_by_a_sampler_and_by_rejection() {
    for manifest in ["plane.flow.json", "plane_tabled.flow.json"] {
        assert_pulls(&in_the_plane(plane(manifest)));
    }
}

#[test]
fn a_flow_times_a_density_of_another_observable() {
    let product = |first: Value| {
        let with = |tree: &mut Value| {
            tree["distributions"][0] = first.clone();
            tree["distributions"][0]["name"] = json!("peak");
            let beside =
                json!({"name": "beside", "type": "gaussian_dist", "x": "t", "mean": 0.4, "sigma": 0.2});
            let both = json!({"name": "signal", "type": "product_dist", "factors": ["peak", "beside"]});
            tree["distributions"].as_array_mut().unwrap().extend([beside, both]);
            tree["data"][0]["axes"].as_array_mut().unwrap().push(json!({"name": "t", "min": 0, "max": 1}));
            for (i, event) in tree["data"][0]["entries"].as_array_mut().unwrap().iter_mut().enumerate() {
                event.as_array_mut().unwrap().push(json!((i * 13 % 100) as f64 / 100.0));
            }
        };
        try_model("search", with).unwrap()
    };
    let flow = product(json!({"type": "nextstat.flow_dist", "x": ["m"], "manifest": "peak.flow.json"}));
    let formula = product(json!({"type": "gaussian_dist", "x": "m", "mean": 125, "sigma": 2}));
    assert_same(&best(&flow), &best(&formula), 1e-4);
    assert_pulls(&flow);
}

#[test]
fn toys_do_not_depend_on_threads() {
    let model = model("search");
    let run = |threads: usize| {
        let execution = Execution { threads, ..Execution::default() };
        let session = open_session(&model, &execution).unwrap();
        let options = FitToysOptions::default().point(GeneratingPoint::Init).n_toys(40).seed(9);
        fit_toys(&model, session.as_ref(), &options, Control::default()).unwrap().parameters
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn other_data_are_completed_with_their_columns() {
    let model = model("search");
    let channel = &model.event_channels[0];
    let mut table = model.observed.events[0].as_ref().clone();
    let whole = table.clone();
    table.columns.truncate(1);
    let refused = Observations { events: vec![Arc::new(table.clone())], ..model.observed.clone() };
    assert!(model.check_tables(&refused).unwrap_err().to_string().contains("needed"));
    assert_eq!(channel.complete(table).unwrap(), whole);
    assert!(model.check_tables(&model.observed).is_ok());
    let _ = Data::from(refused);
}

#[test]
fn wrong_models_are_explained() {
    let expect = |change: &dyn Fn(&mut Value), parts: &[&str]| {
        let error = try_model("search", change).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing in: {error}");
        }
    };
    let first = "/distributions/0";
    expect(
        &|t| t["distributions"][0]["manifest"] = json!("../peak.flow.json"),
        &[first, "does not stay in the folder"],
    );
    expect(
        &|t| t["distributions"][0]["manifest"] = json!("none.flow.json"),
        &[first, "none.flow.json", "cannot be read"],
    );
    expect(&|t| t["distributions"][0]["x"] = json!(["m", "m"]), &[first, "named twice"]);
    expect(&|t| t["distributions"][0]["x"] = json!(["slope"]), &[first, "is no axis of its data"]);
    expect(
        &|t| t["distributions"][0]["manifest"] = json!("plane.flow.json"),
        &["/distributions/0/x", "2 features", "1 observables"],
    );
    expect(
        &|t| t["distributions"][0]["sha256"] = json!("00"),
        &["/distributions/0/sha256", "is another one"],
    );
    expect(
        &|t| t["distributions"][0]["manifest"] = json!("broken_nan.flow.json"),
        &["NaN", "event", "broken_nan"],
    );
    expect(&|t| t["distributions"][0]["manifest"] = json!("shifted.flow.json"), &["context", "stretch"]);
    expect(&|t| t["distributions"][0]["manifesto"] = json!(1), &["unknown key 'manifesto'"]);
    expect(
        &|t| {
            t["distributions"][2] =
                json!({"name": "SR", "type": "product_dist", "factors": ["signal", "background"]});
        },
        &["'signal'", "multiplied with a density or a function of the same observable"],
    );
    expect(
        &|t| t["likelihoods"][0]["nextstat.ranges"] = json!({"m": [[150, 160]]}),
        &["'SR'", "holds nothing of it"],
    );
}
