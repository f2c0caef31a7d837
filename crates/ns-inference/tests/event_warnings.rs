//! Warnings of fits of events: wide bins that are compared with a density at their centres, and weights.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution};
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
