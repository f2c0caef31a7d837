//! Tests of unfolding: the factors against the inverse of the response, penalties, the choice of their strength, and messages.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Device, Execution, Model};
use ns_inference::unfold::{Prediction, Regularisation, Strength, ToysAt};
use ns_inference::{FitData, FitOptions, UnfoldOptions, UnfoldResult, open_session, unfold};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

fn model_of(document: &Value) -> Model {
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

/// Three truth bins in as many measured bins.
fn square(data: [f64; 3]) -> Value {
    let columns = [[60.0, 20.0, 2.0], [15.0, 50.0, 12.0], [1.0, 9.0, 40.0]];
    let sample = |(i, column): (usize, &[f64; 3])| {
        json!({"name": format!("t{i}"), "data": column,
               "modifiers": [{"name": format!("truth_{i}"), "type": "normfactor", "data": null}]})
    };
    let samples: Vec<Value> = columns.iter().enumerate().map(sample).collect();
    let bounds = |i: usize| json!({"name": format!("truth_{i}"), "inits": [1.0], "bounds": [[-5.0, 10.0]]});
    json!({
        "channels": [{"name": "SR", "samples": samples}],
        "observations": [{"name": "SR", "data": data}],
        "measurements": [{"name": "m", "config": {"poi": "truth_0", "parameters": [bounds(0), bounds(1), bounds(2)]}}],
        "version": "1.0.0",
    })
}

fn fixture() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/unfolding.json");
    model_of(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn attempt(model: &Model, options: &UnfoldOptions) -> Result<UnfoldResult, String> {
    let execution = Execution { device: Device::Cpu, threads: 1, ..Execution::default() };
    let session = open_session(model, &execution).unwrap();
    unfold(model, session.as_ref(), options, &execution, Control::default())
        .map_err(|error| error.to_string())
}

fn unfolded(model: &Model, options: &UnfoldOptions) -> UnfoldResult {
    attempt(model, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn without_a_penalty_the_response_is_inverted() {
    // The data are the response times these factors.
    let factors = [1.3, 0.7, 1.9];
    let rows = [[60.0, 15.0, 1.0], [20.0, 50.0, 9.0], [2.0, 12.0, 40.0]];
    let data = rows.map(|row| row.iter().zip(factors).map(|(r, f)| r * f).sum());
    let result = unfolded(&model_of(&square(data)), &UnfoldOptions::of(["truth_*"]));
    assert!(result.converged && result.warnings.is_empty(), "{:?}", result.warnings);
    for (bin, factor) in result.truth.iter().zip(factors) {
        assert!((bin.value - factor).abs() < 1e-9, "{bin:?}");
        assert!(bin.bias.unwrap().abs() < 1e-9);
        assert_eq!(bin.uncertainty, bin.uncertainty_penalised);
    }
    // The covariance is the inverse of R' diag(1/n) R.
    let information = |i: usize, j: usize| (0..3).map(|b| rows[b][i] * rows[b][j] / data[b]).sum::<f64>();
    for i in 0..3 {
        for j in 0..3 {
            let unit: f64 = (0..3).map(|k| information(i, k) * result.covariance[k][j]).sum();
            assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-9);
        }
    }
    assert!(result.chi2.unwrap().abs() < 1e-9);
    let line = &result.bottom_line;
    let (folded, unfolded) = (line.folded.as_ref().unwrap(), line.unfolded.as_ref().unwrap());
    assert_eq!((folded.n_dof, unfolded.n_dof), (3, 3));
    assert!(folded.chi2 > 10.0 && unfolded.chi2 > 10.0);
}

#[test]
fn expected_data_are_the_prediction() {
    let model = fixture();
    for regularisation in Regularisation::ALL {
        let options = UnfoldOptions::of(["truth_*"])
            .fit(FitOptions::default().data(FitData::Asimov { poi: None }))
            .regularisation(regularisation)
            .tau(Strength::Given(3.0));
        let result = unfolded(&model, &options);
        assert!(result.converged, "{:?}", result.warnings);
        let names: Vec<&str> = result.truth.iter().map(|bin| bin.name.as_str()).collect();
        assert_eq!(names, (0..10).map(|i| format!("truth_{i}")).collect::<Vec<_>>());
        assert!(result.truth.iter().all(|bin| (bin.value - 1.0).abs() < 1e-7));
        assert!(result.truth.iter().all(|bin| bin.bias.unwrap().abs() < 1e-7));
        assert!(result.roughness < 1e-12 && result.chi2.unwrap().abs() < 1e-9);
        assert_eq!(result.bottom_line.passed, Some(true));
    }
}

#[test]
fn a_strong_penalty_gives_the_prediction_or_a_line() {
    let model = fixture();
    let strong = |regularisation| {
        let options = UnfoldOptions::of(["truth_*"]).regularisation(regularisation).tau(Strength::Given(1e9));
        unfolded(&model, &options)
    };
    let close = strong(Regularisation::Tikhonov);
    assert!(close.truth.iter().all(|bin| (bin.value - 1.0).abs() < 1e-5), "{:?}", close.truth);
    let line = strong(Regularisation::Curvature);
    let value = |i: usize| line.truth[i].value;
    for i in 2..10 {
        assert!((value(i) - 2.0 * value(i - 1) + value(i - 2)).abs() < 1e-5);
    }
    assert!((value(9) - value(0)).abs() > 1e-3);
    // In repeated measurements, a factor varies less than the penalised likelihood says.
    for bin in &close.truth {
        assert!(bin.uncertainty.is_none_or(|sigma| sigma < bin.uncertainty_penalised.unwrap()));
    }
}

#[test]
fn the_strength_is_the_best_of_the_scan() {
    let model = fixture();
    let options = UnfoldOptions::of(["truth_*"]).regularisation(Regularisation::Curvature).points(25);
    let curve = unfolded(&model, &options.clone());
    assert!(curve.converged, "{:?}", curve.warnings);
    assert_eq!((curve.tau_from.as_ref(), curve.scan.len()), ("l-curve", 25));
    let most = curve.scan.iter().filter_map(|point| point.curvature).fold(0.0, f64::max);
    let again = unfolded(&model, &options.clone().tau(Strength::Given(curve.tau)));
    assert!(again.scan.is_empty() && again.tau_from == "given");
    for (first, second) in curve.truth.iter().zip(&again.truth) {
        assert!((first.value - second.value).abs() < 1e-6, "{first:?} {second:?}");
    }
    let nearest = |tau: f64| {
        let distance = |p: &&ns_inference::unfold::TauPoint| (p.tau / tau).ln().abs();
        curve.scan.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
    };
    assert!(nearest(curve.tau).curvature.unwrap() > 0.5 * most);
    // chi2 rises and the roughness falls along the scan.
    for pair in curve.scan.windows(2) {
        assert!(pair[1].tau > pair[0].tau && pair[1].chi2 > pair[0].chi2);
        assert!(pair[1].roughness < pair[0].roughness);
    }
    let mean = unfolded(&model, &options.tau(Strength::Correlation));
    let least = mean.scan.iter().filter_map(|point| point.mean_correlation).fold(1.0, f64::min);
    assert!(mean.mean_global_correlation.unwrap() <= least + 1e-9, "{mean:?}");
    assert!(mean.truth.iter().any(|bin| bin.bias.unwrap().abs() > 1e-3));
}

#[test]
fn toys_show_the_bias_and_the_coverage() {
    let model = fixture();
    let options = UnfoldOptions::of(["truth_*"]).n_toys(Some(400)).toys_at(ToysAt::Prediction).seed(3);
    let plain = unfolded(&model, &options);
    let toys = plain.toys.as_ref().unwrap();
    assert_eq!((toys.n_toys, toys.n_left_out, toys.at), (400, 0, ToysAt::Prediction));
    for bin in &plain.truth {
        let toys = bin.toys.as_ref().unwrap();
        assert!(toys.bias.unwrap().abs() < 5.0 * toys.bias_error.unwrap(), "{bin:?}");
        let coverage = (toys.coverage.unwrap() - 0.6827) / toys.coverage_error.unwrap();
        assert!(coverage.abs() < 5.0, "{bin:?}");
    }
    // Toys of the prediction have no bias either with a penalty towards the prediction, and the spread is the uncertainty.
    let penalised =
        unfolded(&model, &options.regularisation(Regularisation::Curvature).tau(Strength::Given(10.0)));
    for (bin, without) in penalised.truth.iter().zip(&plain.truth) {
        let (toys, other) = (bin.toys.as_ref().unwrap(), without.toys.as_ref().unwrap());
        assert!(toys.bias.unwrap().abs() < 5.0 * toys.bias_error.unwrap(), "{bin:?}");
        let ratio = toys.spread.unwrap() / toys.mean_uncertainty.unwrap();
        assert!((ratio - 1.0).abs() < 0.2, "{bin:?}");
        assert!(toys.spread < other.spread);
    }
}

#[test]
fn messages_name_the_remedy() {
    let model = model_of(&square([70.0, 80.0, 55.0]));
    let refused = |options: &UnfoldOptions| attempt(&model, options).unwrap_err();
    let all = || UnfoldOptions::of(["truth_*"]);
    for (options, text) in [
        (UnfoldOptions::default(), "name those of the truth bins"),
        (UnfoldOptions::of(["other_*"]), "no parameter matches 'other_*'"),
        (UnfoldOptions::of(["truth_0", "truth_*"]), "truth_0 is named twice"),
        (UnfoldOptions::of(["truth_0"]), "there are 1 truth bins (truth_0)"),
        (UnfoldOptions::of(["truth_7", "truth_0"]), "did you mean"),
        (all().fit(FitOptions::default().fix("truth_1", 1.0)), "the factor truth_1 is fixed"),
        (all().prediction(Prediction::default().yields(vec![1.0])), "1 yields for 3 truth bins"),
        (all().regularisation(Regularisation::Tikhonov).tau(Strength::Given(-1.0)), "tau is -1"),
        (all().regularisation(Regularisation::Tikhonov).tau_range(Some((2.0, 1.0))), "from 2 to 1"),
        (all().points(2), "2 strengths are scanned"),
    ] {
        let message = refused(&options);
        assert!(message.contains(text), "{text}: {message}");
    }
    let mut narrow = square([70.0, 80.0, 55.0]);
    narrow["measurements"][0]["config"]["parameters"][2]["bounds"] = json!([[1.0, 3.0]]);
    let message = attempt(&model_of(&narrow), &all()).unwrap_err();
    assert!(message.contains("they must contain 1"), "{message}");
}

#[test]
fn factors_at_a_bound_are_named() {
    let mut document = square([10.0, 80.0, 55.0]);
    document["measurements"][0]["config"]["parameters"][0]["bounds"] = json!([[0.0, 10.0]]);
    let result = unfolded(&model_of(&document), &UnfoldOptions::of(["truth_*"]));
    assert_eq!((result.truth[0].value, result.truth[0].uncertainty), (0.0, None));
    assert!(
        result.warnings.iter().any(|text| text.starts_with("truth_0: at a bound")),
        "{:?}",
        result.warnings
    );
    assert_eq!(result.covariance[0], [0.0; 3]);
    assert_eq!((result.bottom_line.unfolded, result.bottom_line.passed), (None, None));
}
