//! Fit ranges of several observables together, and the ranges to which rates and fractions refer.

use ns_core::EventChannel;
use ns_translate::hs3::Hs3;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Returns a file with 4 events of `x` and `y`, a density of them, and further keys of the likelihood.
fn document(distributions: Value, keys: Value) -> Value {
    let axis = |name: &str| json!({"name": name, "min": 0, "max": 10});
    let mut likelihood =
        json!({"name": "L", "distributions": [distributions[0]["name"]], "data": ["events"]});
    likelihood.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let domain = |name: &str, axes: Value| json!({"name": name, "type": "product_domain", "axes": axes});
    json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": distributions,
        "data": [{"name": "events", "type": "unbinned", "axes": [axis("x"), axis("y")],
                  "entries": [[0.5, 0.3], [2.0, 7.0], [8.0, 1.0], [9.0, 9.0]]}],
        "likelihoods": [likelihood],
        "domains": [domain("default_domain", json!([{"name": "n", "min": 0, "max": 100}])),
                    domain("window", json!([{"name": "x", "min": 1, "max": 4}]))],
        "parameter_points": [{"name": "default_values", "parameters": [{"name": "n", "value": 4}]}],
    })
}

fn channel(document: &Value) -> (EventChannel, usize) {
    let file = Hs3::from_slice(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let model = file.model(&ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // A file that is written again is the same model.
    let again = Hs3::from_slice(file.restated().unwrap().to_string().as_bytes()).unwrap();
    assert_eq!(again.model(&ModelOptions::default()).unwrap().digest(), model.digest());
    (model.event_channels[0].clone(), model.observed.events[0].len())
}

fn gauss(name: &str, x: &str) -> Value {
    json!({"name": name, "type": "gaussian_dist", "x": x, "mean": 3, "sigma": 2})
}

fn plane() -> Value {
    json!([{"name": "p", "type": "product_dist", "factors": ["a", "b"]}, gauss("a", "x"), gauss("b", "y")])
}

#[test]
fn boxes_are_fit_ranges_of_several_observables() {
    let ranges = json!({"nextstat.ranges": [{"x": [0, 10], "y": [0, 2]}, {"x": [1, 5], "y": [2, 10]}]});
    let (own, events) = channel(&document(plane(), ranges));
    assert_eq!(own.ranges, [vec![(0.0, 10.0), (0.0, 2.0)], vec![(1.0, 5.0), (2.0, 10.0)]]);
    assert!(own.reference.is_empty());
    assert_eq!(events, 3);
    // An observable without a range has its whole axis.
    let (own, events) = channel(&document(plane(), json!({"nextstat.ranges": [{"y": [5, 10]}]})));
    assert_eq!(own.ranges, [vec![(0.0, 10.0), (5.0, 10.0)]]);
    assert_eq!(events, 2);
}

#[test]
fn rates_refer_to_the_fit_ranges_or_the_axes() {
    let keys = |word: &str| json!({"nextstat.ranges": {"x": [[0, 4]]}, "nextstat.coefficients": word});
    let (own, _) = channel(&document(plane(), keys("axes")));
    assert_eq!(own.reference, [vec![(0.0, 10.0), (0.0, 10.0)]]);
    assert_eq!(own.boxes(), [vec![(0.0, 4.0), (0.0, 10.0)]]);
    let (own, _) = channel(&document(plane(), keys("ranges")));
    assert!(own.reference.is_empty());
}

#[test]
fn the_rate_of_an_extended_density_may_belong_to_a_range() {
    let density = json!([
        {"name": "e", "type": "extend_pdf", "norm": "n", "pdf": "p", "range": "window"},
        {"name": "p", "type": "product_dist", "factors": ["a", "b"]}, gauss("a", "x"), gauss("b", "y")]);
    let (own, events) = channel(&document(density.clone(), json!({})));
    assert!(own.extended && own.ranges.is_empty());
    assert_eq!(own.reference, [vec![(1.0, 4.0), (0.0, 10.0)]]);
    assert_eq!(events, 4);
    // ROOT writes an empty name for the range of the fit.
    let mut whole = density;
    whole[0]["range"] = json!("");
    assert!(channel(&document(whole, json!({}))).0.reference.is_empty());
}
