//! Fits of narrow peaks whose place is free. The minimum must not depend on the start.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model, Search};
use ns_inference::{FitOptions, FitResult, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// A channel `f` of a peak and a background on the observables `x` in 100..180 and `y` in 0..1. `means` names the
/// parameters that are free besides the numbers of events and the slope, with start and bounds.
fn model(
    distributions: Value,
    summands: &[&str],
    events: &[[f64; 2]],
    means: &[(&str, f64, f64, f64)],
) -> Model {
    constrained_model(distributions, summands, events, means, &[])
}

/// The same with the constraint terms `constraints`, which are among the distributions.
fn constrained_model(
    distributions: Value,
    summands: &[&str],
    events: &[[f64; 2]],
    means: &[(&str, f64, f64, f64)],
    constraints: &[&str],
) -> Model {
    let mut all = distributions.as_array().unwrap().clone();
    let yields: Vec<String> = summands.iter().map(|name| format!("n_{name}")).collect();
    all.push(json!({"name": "f", "type": "mixture_dist", "summands": summands, "coefficients": yields,
                    "extended": true}));
    let mut parameters: Vec<(String, f64, f64, f64)> = vec![("slope".into(), 0.03, 0.001, 0.2)];
    parameters.extend(yields.into_iter().map(|name| (name, 20.0, 0.0, 1e5)));
    parameters.extend(means.iter().map(|(name, x, lo, hi)| ((*name).to_owned(), *x, *lo, *hi)));
    let domain: Vec<Value> =
        parameters.iter().map(|(name, _, lo, hi)| json!({"name": name, "min": lo, "max": hi})).collect();
    let start: Vec<Value> =
        parameters.iter().map(|(name, x, ..)| json!({"name": name, "value": x})).collect();
    let shift = json!({"name": "shifted", "type": "generic_function", "expression": "140*(1+0.01*shift)"});
    let functions: Vec<Value> =
        means.iter().filter(|mean| mean.0 == "shift").map(|_| shift.clone()).collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": all,
        "functions": functions,
        "data": [{"name": "d", "type": "unbinned", "entries": events,
                  "axes": [{"name": "x", "min": 100, "max": 180}, {"name": "y", "min": 0, "max": 1}]}],
        "likelihoods": [{"name": "L", "distributions": ["f"], "data": ["d"], "aux_distributions": constraints}],
        "domains": [{"name": "domain", "type": "product_domain", "axes": domain}],
        "parameter_points": [{"name": "start", "parameters": start}],
        "analyses": [{"name": "fit", "likelihood": "L", "domain": "domain", "init": "start",
                      "parameters_of_interest": [means[0].0]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

fn fitted(model: &Model, options: &FitOptions) -> FitResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let result = fit(model, session.as_ref(), options, Control::default()).unwrap();
    assert!(result.converged, "{} {:?}", result.termination_reason, result.warnings);
    result
}

/// Numbers that fill the interval (0, 1) evenly, in no order.
fn uniform(i: usize, k: usize) -> f64 {
    let step = [0.618_033_988_75, 0.754_877_666_25, 0.569_840_290_998][k];
    (0.5 + step * (i as f64 + 1.0)).fract()
}

/// Background events that fall with `x` and are uniform in `y`, and `signal` events of a peak at `mean`, at small `y`.
fn events(background: usize, signal: usize, mean: f64, width: f64) -> Vec<[f64; 2]> {
    let falling = |u: f64| 100.0 - 40.0 * (1.0 - u * (1.0 - (-2.0_f64).exp())).ln();
    let mut all: Vec<[f64; 2]> = (0..background).map(|i| [falling(uniform(i, 0)), uniform(i, 1)]).collect();
    let peaked = |i: usize| {
        let u = (i as f64 + 0.5) / signal as f64;
        [mean + width * (u / (1.0 - u)).ln() * 0.6, 0.3 * uniform(i, 2)]
    };
    all.extend((0..signal).map(peaked));
    all
}

fn background() -> [Value; 3] {
    [
        json!({"name": "falling", "type": "exponential_dist", "x": "x", "c": "slope"}),
        json!({"name": "flat", "type": "uniform_dist", "x": "y"}),
        json!({"name": "b", "type": "product_dist", "factors": ["falling", "flat"]}),
    ]
}

fn with_background(more: &[Value]) -> Value {
    background().iter().chain(more).cloned().collect()
}

/// Fits from several values of the first parameter and compares it with `want` and with the other fits.
fn check_starts(
    what: &str,
    make: &dyn Fn(f64) -> Model,
    starts: &[f64],
    (want, tolerance): (f64, f64),
    index: usize,
) {
    let results: Vec<FitResult> =
        starts.iter().map(|start| fitted(&make(*start), &FitOptions::default())).collect();
    for (start, result) in starts.iter().zip(&results) {
        let found = result.bestfit[index];
        assert!((found - want).abs() < tolerance, "{what} from {start}: {found}, not {want}");
        let difference = result.twice_nll - results[0].twice_nll;
        assert!(difference.abs() < 1e-7, "{what} from {start}: {difference:e} above");
    }
}

/// Returns the index of a parameter.
fn place(model: &Model, name: &str) -> usize {
    model.parameters.iter().position(|parameter| parameter.name == name).unwrap()
}

#[test]
fn a_peak_whose_place_has_a_constraint_term_is_found() {
    // The constraint of the place is wide, so the best place is at the events of the peak.
    let constraint = json!({"name": "c", "type": "gaussian_dist", "x": "mean", "mean": 136.0, "sigma": 20.0});
    let narrow = json!({"name": "narrow", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": 0.5});
    let signal = json!({"name": "s", "type": "product_dist", "factors": ["narrow", "flat"]});
    let all = events(300, 40, 151.0, 0.5);
    let distributions = with_background(&[narrow, signal, constraint]);
    let make = |start: f64| {
        let means = [("mean", start, 100.0, 180.0)];
        constrained_model(distributions.clone(), &["s", "b"], &all, &means, &["c"])
    };
    check_starts(
        "constrained",
        &make,
        &[110.0, 136.0, 150.0, 175.0],
        (151.0, 0.3),
        place(&make(110.0), "mean"),
    );
}

#[test]
fn a_peak_is_found_from_every_start() {
    let starts = [110.0, 101.0, 125.0, 139.0, 155.0, 179.0];
    for width in [2.0, 0.2, 0.001] {
        let data = events(300, 50, 140.0, width);
        let across = json!({"name": "across", "type": "exponential_dist", "x": "y", "c": 3.0});
        let kinds = [
            json!({"name": "along", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": width}),
            json!({"name": "along", "type": "nextstat.breit_wigner_dist", "x": "x", "mean": "mean", "width": width}),
            json!({"name": "along", "type": "generic_dist", "expression": format!("exp(-((x-mean)/{width})^2/2)")}),
        ];
        for kind in kinds {
            let signal = json!({"name": "s", "type": "product_dist", "factors": ["along", "across"]});
            let parts = with_background(&[kind.clone(), across.clone(), signal]);
            let make =
                |start: f64| model(parts.clone(), &["s", "b"], &data, &[("mean", start, 100.0, 180.0)]);
            let index = place(&make(110.0), "mean");
            check_starts(&format!("{width} {kind}"), &make, &starts, (140.0, 0.5 * width), index);
        }
    }
}

#[test]
fn a_peak_far_outside_of_the_range_is_found() {
    let data = events(300, 50, 140.0, 0.3);
    let along = json!({"name": "along", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": 0.3});
    let across = json!({"name": "across", "type": "uniform_dist", "x": "y"});
    let signal = json!({"name": "s", "type": "product_dist", "factors": ["along", "across"]});
    let parts = with_background(&[along, across, signal]);
    let make = |start: f64| model(parts.clone(), &["s", "b"], &data, &[("mean", start, 0.0, 400.0)]);
    let index = place(&make(20.0), "mean");
    check_starts("outside", &make, &[20.0, 95.0, 350.0], (140.0, 0.2), index);
}

#[test]
fn a_peak_whose_place_is_a_function_is_found() {
    let data = events(300, 50, 147.0, 0.3);
    let across = json!({"name": "across", "type": "uniform_dist", "x": "y"});
    let along = json!({"name": "along", "type": "gaussian_dist", "x": "x", "mean": "shifted", "sigma": 0.3});
    let signal = json!({"name": "s", "type": "product_dist", "factors": ["along", "across"]});
    let parts = with_background(&[along, across, signal]);
    let make = |start: f64| model(parts.clone(), &["s", "b"], &data, &[("shift", start, -20.0, 20.0)]);
    let index = place(&make(0.0), "shift");
    check_starts("function", &make, &[-15.0, 0.0, 12.0], (5.0, 0.2), index);
}

#[test]
fn a_peak_in_two_observables_is_found() {
    // A density of two observables that is no product, and one on a pedestal with a height of its own.
    let data: Vec<[f64; 2]> = events(300, 50, 140.0, 0.4)
        .into_iter()
        .enumerate()
        .map(|(i, event)| if i < 300 { event } else { [event[0], 0.1 + 0.02 * uniform(i, 1)] })
        .collect();
    let normal = json!({"name": "s", "type": "multivariate_normal_dist", "x": ["x", "y"], "mean": ["mean", 0.11],
                        "covariances": [[0.16, 0.001], [0.001, 0.0001]]});
    let pedestal = json!({"name": "s", "type": "generic_dist",
                          "expression": "exp(-((x-mean)/0.4)^2/2-((y-0.11)/0.01)^2/2)+0.01"});
    for signal in [normal, pedestal] {
        let parts = with_background(std::slice::from_ref(&signal));
        let make = |start: f64| model(parts.clone(), &["s", "b"], &data, &[("mean", start, 100.0, 180.0)]);
        let index = place(&make(110.0), "mean");
        check_starts(&signal.to_string(), &make, &[105.0, 130.0, 170.0], (140.0, 0.3), index);
    }
}

#[test]
fn two_peaks_are_found() {
    let mut data = events(300, 50, 140.0, 0.5);
    data.extend(events(0, 25, 118.0, 0.5));
    let across = json!({"name": "across", "type": "uniform_dist", "x": "y"});
    let peaks: Vec<Value> = ["one", "two"]
        .iter()
        .flat_map(|name| {
            [
                json!({"name": format!("along_{name}"), "type": "gaussian_dist", "x": "x", "mean": format!("mean_{name}"),
                       "sigma": 0.5}),
                json!({"name": name, "type": "product_dist", "factors": [format!("along_{name}"), "across"]}),
            ]
        })
        .chain([across])
        .collect();
    let parts = with_background(&peaks);
    let make = |start: f64| {
        let means = [("mean_one", start, 100.0, 180.0), ("mean_two", start + 3.0, 100.0, 180.0)];
        model(parts.clone(), &["one", "two", "b"], &data, &means)
    };
    for start in [105.0, 150.0, 170.0] {
        let model = make(start);
        let result = fitted(&model, &FitOptions::default());
        let mut found = ["mean_one", "mean_two"].map(|name| result.bestfit[place(&model, name)]);
        found.sort_by(f64::total_cmp);
        assert!((found[0] - 118.0).abs() < 0.3 && (found[1] - 140.0).abs() < 0.3, "{start}: {found:?}");
    }
}

#[test]
fn conditional_fits_and_thorough_fits_find_the_peak_and_local_fits_do_not() {
    let data = events(300, 50, 140.0, 0.5);
    let across = json!({"name": "across", "type": "uniform_dist", "x": "y"});
    let along = json!({"name": "along", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": 0.5});
    let signal = json!({"name": "s", "type": "product_dist", "factors": ["along", "across"]});
    let parts = with_background(&[along, across, signal]);
    let model = model(parts, &["s", "b"], &data, &[("mean", 110.0, 100.0, 180.0)]);
    let index = place(&model, "mean");
    let held = FitOptions::default().fix("n_s", 30.0);
    assert!((fitted(&model, &held).bestfit[index] - 140.0).abs() < 0.2);
    let thorough = FitOptions::default().search(Search::Thorough);
    assert!((fitted(&model, &thorough).bestfit[index] - 140.0).abs() < 0.2);
    let local = FitOptions::default().search(Search::Local);
    assert!((fitted(&model, &local).bestfit[index] - 140.0).abs() > 5.0);
}

#[test]
fn a_search_that_finds_no_better_peak_costs_little() {
    let data = events(300, 50, 140.0, 2.0);
    let across = json!({"name": "across", "type": "uniform_dist", "x": "y"});
    let along = json!({"name": "along", "type": "gaussian_dist", "x": "x", "mean": "mean", "sigma": 2.0});
    let signal = json!({"name": "s", "type": "product_dist", "factors": ["along", "across"]});
    let parts = with_background(&[along, across, signal]);
    let model = model(parts, &["s", "b"], &data, &[("mean", 141.0, 100.0, 180.0)]);
    let local = fitted(&model, &FitOptions::default().search(Search::Local));
    let standard = fitted(&model, &FitOptions::default());
    assert!((standard.bestfit[place(&model, "mean")] - 140.0).abs() < 1.0);
    assert!(standard.n_evaluations <= 4 * local.n_evaluations + 60, "{}", standard.n_evaluations);
}
