//! Warnings of fits of events: wide bins that are compared with a density at their centres, weights, and densities that
//! are negative in a region without events.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::goodness::{EventStatistic, event_goodness_of_fit};
use ns_inference::{FitOptions, FitResult, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

fn fitted(data: Value, bins: Option<&str>) -> FitResult {
    let mut likelihood = json!({"name": "L", "distributions": ["p"], "data": ["d"]});
    if let Some(rule) = bins {
        likelihood["nextstat.bins"] = json!(rule);
    }
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [{"name": "p", "type": "exponential_dist", "x": "x", "c": "slope"}],
        "data": [data],
        "likelihoods": [likelihood],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [{"name": "slope", "min": -5, "max": 5}]}],
        "parameter_points": [{"name": "default_values", "parameters": [{"name": "slope", "value": 1}]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap()
}

/// Returns contents of equal bins of [0, 5]: 10 000 events with the slope 1.8.
fn histogram(bins: usize) -> Value {
    let width = 5.0 / bins as f64;
    let total = 1.0 - f64::exp(-9.0);
    let below = |x: f64| (1.0 - f64::exp(-1.8 * x)) / total;
    let contents: Vec<f64> =
        (0..bins).map(|i| 1e4 * (below(width * (i + 1) as f64) - below(width * i as f64))).collect();
    json!({"name": "d", "type": "binned", "axes": [{"name": "x", "min": 0, "max": 5, "nbins": bins}], "contents": contents})
}

fn warns(result: &FitResult, words: &str) -> bool {
    result.warnings.iter().any(|text| text.contains(words))
}

#[test]
fn bins_that_are_too_wide_for_their_centres_are_named() {
    let wide = fitted(histogram(10), Some("center"));
    assert!((wide.bestfit[0] - 1.8).abs() > 5.0 * wide.uncertainties[0].unwrap(), "{wide:?}");
    assert!(warns(&wide, "slope would move by about"), "{:?}", wide.warnings);
    let right = fitted(histogram(10), Some("integral"));
    assert!((right.bestfit[0] - 1.8).abs() < 1e-6 && right.warnings.is_empty(), "{right:?}");
    let narrow = fitted(histogram(1000), Some("center"));
    assert!(narrow.warnings.is_empty(), "{:?}", narrow.warnings);
}

#[test]
fn a_fit_of_weighted_events_says_how_much_the_uncertainties_change() {
    let events: Vec<[f64; 1]> =
        (0..100).map(|i| [-(1.0 - (f64::from(i) + 0.5) / 100.0).ln() / 1.8]).collect();
    let weighted = |weight: f64| {
        json!({"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 5}], "entries": events,
               "weights": vec![weight; events.len()]})
    };
    // Each event counts 25 times: the inverse Hessian is 25 times too small.
    let result = fitted(weighted(25.0), None);
    assert!(
        warns(&result, "(sandwich) are 4.9") || warns(&result, "(sandwich) are 5.0"),
        "{:?}",
        result.warnings
    );
    assert!(fitted(weighted(1.0), None).warnings.is_empty());
}

/// Returns a model with a Chebyshev polynomial of the second order, and events near both ends of the axis. The density is
/// `1 + a T_1 + b T_2` with `a` and `b` between `-bound` and `bound`.
fn polynomial(bound: f64) -> Model {
    let ends = (0..50).map(|i| 0.8 + 0.2 * (f64::from(i) + 0.5) / 50.0);
    let entries: Vec<[f64; 1]> = ends.flat_map(|x| [[x], [-x]]).collect();
    let axes: Vec<Value> =
        ["a", "b"].iter().map(|name| json!({"name": name, "min": -bound, "max": bound})).collect();
    let values: Vec<Value> = ["a", "b"].iter().map(|name| json!({"name": name, "value": 0.1})).collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [{"name": "p", "type": "chebychev_dist", "x": "x", "coefficients": ["a", "b"]}],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": -1, "max": 1}], "entries": entries}],
        "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": axes}],
        "parameter_points": [{"name": "default_values", "parameters": values}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    source.model(&ModelOptions::default()).unwrap()
}

fn fitted_to(model: &Model) -> FitResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap()
}

#[test]
fn a_density_that_is_negative_without_events_gets_a_warning() {
    let positive = fitted_to(&polynomial(0.9));
    assert!(positive.converged && !warns(&positive, "negative"), "{positive:?}");
    // 1 - b is negative near 0 for b = 2.
    let model = polynomial(2.0);
    let negative = fitted_to(&model);
    assert!((negative.bestfit[1] - 2.0).abs() < 1e-9, "{negative:?}");
    assert!(warns(&negative, "event channel 'p' at the best fit is negative in about 50"), "{negative:?}");
    // Bins with negative expected events have no chi2.
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = FitOptions::default();
    let how = (EventStatistic::Chi2, 10);
    let gof =
        event_goodness_of_fit(&model, session.as_ref(), &options, how, None, Control::default()).unwrap();
    assert_eq!((gof.value, gof.p_value), (None, None));
    assert!(gof.warnings.iter().any(|w| w.contains("value is null: the density")), "{:?}", gof.warnings);
}

#[test]
fn a_density_whose_integral_can_vanish_has_no_maximum_of_the_likelihood() {
    // The integral is 2 - 2 b / 3. Near b = 3 the likelihood grows without end.
    let result = fitted_to(&polynomial(5.0));
    assert!(!result.converged, "{result:?}");
    assert!(warns(&result, "its integral tends to 0"), "{:?}", result.warnings);
}

#[test]
fn a_root_without_a_slope_at_its_bound_is_named() {
    // Interference with an amplitude sqrt(mu). Events of the background alone have their minimum at mu = 0.
    let fitted = |expression: &str| {
        let events: Vec<[f64; 1]> =
            (0..400).map(|i| [-(1.0 - 0.99 * (f64::from(i) + 0.5) / 400.0).ln()]).collect();
        let document = json!({
            "metadata": {"hs3_version": "0.2.9"},
            "distributions": [{"name": "p", "type": "generic_dist", "expression": expression}],
            "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 5}], "entries": events}],
            "likelihoods": [{"name": "L", "distributions": ["p"], "data": ["d"]}],
            "domains": [{"name": "default_domain", "type": "product_domain", "axes": [{"name": "mu", "min": 0, "max": 2}]}],
            "parameter_points": [{"name": "default_values", "parameters": [{"name": "mu", "value": 0.5}]}],
        });
        let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
        fitted_to(&source.model(&ModelOptions::default()).unwrap())
    };
    let root = fitted("exp(-x) + mu*exp(-10*(x-2)^2) - sqrt(mu)*(x-2)*exp(-10*(x-2)^2)");
    assert!(root.bestfit[0] < 1e-3, "{root:?}");
    let named = "the derivative of -ln L does not exist with mu at its bound";
    assert!(root.converged || warns(&root, named), "{root:?}");
    // With the root as the parameter there is a minimum.
    let amplitude = fitted("exp(-x) + mu^2*exp(-10*(x-2)^2) - mu*(x-2)*exp(-10*(x-2)^2)");
    assert!(amplitude.converged && !warns(&amplitude, named), "{amplitude:?}");
}
