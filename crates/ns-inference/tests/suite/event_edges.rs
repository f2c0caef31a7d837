//! Fits of events at the edges of what densities describe: bins without content, kinks of processes of which nothing is
//! expected, bins that a narrow peak fills alone, and a boundary where nothing is expected at all.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution};
use ns_inference::{FitOptions, FitResult, InferenceError, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Fits the mixture `m` of `distributions` to `data`. The last item of a parameter is (start, minimum, maximum).
fn fitted(
    distributions: &[Value],
    data: &Value,
    rule: &str,
    aux: &[&str],
    parameters: &[(&str, (f64, f64, f64))],
) -> Result<FitResult, InferenceError> {
    fitted_with(&json!([]), distributions, data, rule, aux, parameters)
}

fn fitted_with(
    functions: &Value,
    distributions: &[Value],
    data: &Value,
    rule: &str,
    aux: &[&str],
    parameters: &[(&str, (f64, f64, f64))],
) -> Result<FitResult, InferenceError> {
    let axis =
        |(name, (_, min, max)): &(&str, (f64, f64, f64))| json!({"name": name, "min": min, "max": max});
    let value = |(name, (start, ..)): &(&str, (f64, f64, f64))| json!({"name": name, "value": start});
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": distributions,
        "functions": functions,
        "data": [data],
        "likelihoods": [{"name": "L", "distributions": ["m"], "data": ["d"], "aux_distributions": aux, "nextstat.bins": rule}],
        "domains": [{"name": "default_domain", "type": "product_domain",
                     "axes": parameters.iter().map(axis).collect::<Vec<_>>()}],
        "parameter_points": [{"name": "default_values", "parameters": parameters.iter().map(value).collect::<Vec<_>>()}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(&model, session.as_ref(), &FitOptions::default(), Control::default())
}

fn mixture(summands: &[&str], coefficients: &[&str]) -> Value {
    json!({"name": "m", "type": "mixture_dist", "summands": summands, "coefficients": coefficients, "extended": true})
}

fn histogram((min, max): (f64, f64), contents: &[f64]) -> Value {
    let axis = json!({"name": "x", "min": min, "max": max, "nbins": contents.len()});
    json!({"name": "d", "type": "binned", "axes": [axis], "contents": contents})
}

#[test]
fn a_bin_without_content_asks_nothing_of_the_density() {
    let table = json!({"axes": [{"name": "x", "edges": [0, 1, 2, 3]}], "contents": [4, 0, 1]});
    let steps = json!({"name": "h", "type": "histogram_dist", "data": table});
    let narrow = json!({"name": "h", "type": "gaussian_dist", "x": "x", "mean": 0.5, "sigma": 0.004});
    let n = [("n", (3.0, 0.0, 50.0))];
    for rule in ["center", "integral"] {
        for (density, contents) in [(&steps, [8.0, 0.0, 2.0]), (&narrow, [10.0, 0.0, 0.0])] {
            let data = histogram((0.0, 3.0), &contents);
            let result = fitted(&[density.clone(), mixture(&["h"], &["n"])], &data, rule, &[], &n).unwrap();
            assert!(result.converged && (result.bestfit[0] - 10.0).abs() < 1e-6, "{rule}: {result:?}");
        }
        // A content where the density is 0 is impossible. The message names a bin.
        let data = histogram((0.0, 3.0), &[8.0, 3.0, 2.0]);
        let error = fitted(&[steps.clone(), mixture(&["h"], &["n"])], &data, rule, &[], &n).unwrap_err();
        assert!(error.to_string().contains("in bin 1 "), "{error}");
    }
}

#[test]
fn a_kink_without_height_leaves_the_uncertainty_of_the_constraint() {
    // Without events nothing is expected of the template, and -ln L depends on alpha by its constraint alone.
    let template = json!({
        "name": "t", "type": "nextstat.template_dist", "x": ["x"],
        "estimator": {"type": "histogram", "edges": [[0, 1, 2]]},
        "entries": [[0.5], [1.5]], "weights": [3.0, 5.0],
        "responses": [{"parameter": "alpha", "up": [3.9, 5.2], "down": [2.9, 3.7],
                       "interpolation": {"type": "add", "in": "poly1", "out": "poly1"}}],
    });
    let flat = json!({"name": "f", "type": "uniform_dist", "x": "x"});
    let constraint = json!({"name": "c", "type": "gaussian_dist", "x": "alpha", "mean": 0.0, "sigma": 0.7});
    let axes = json!([{"name": "x", "min": 0, "max": 2}]);
    let parameters = [("mu", (1.0, 0.0, 25.0)), ("alpha", (0.0, -5.0, 5.0)), ("nb", (7.0, 0.0, 100.0))];
    let events: [[f64; 1]; 0] = [];
    let data = json!({"name": "d", "type": "unbinned", "axes": axes, "entries": events});
    let densities = [template, flat, constraint, mixture(&["t", "f"], &["mu", "nb"])];
    let result = fitted(&densities, &data, "center", &["c"], &parameters).unwrap();
    assert!(result.converged && result.at_kink.is_empty(), "{result:?}");
    let alpha = result.parameter_names.iter().position(|name| name == "alpha").unwrap();
    assert_eq!(result.bestfit[alpha], 0.0);
    assert!((result.uncertainties[alpha].unwrap() - 0.7).abs() < 1e-9, "{result:?}");
}

#[test]
fn a_generalized_normal_density_is_integrated_over_bins_far_from_its_mean() {
    // The peak lies in one bin. Its integral over each other bin is far below the rounding errors of the whole.
    let contents = [1.0, 0.0, 0.0, 9.0, 0.0, 2.0];
    for (mean, share) in [(7.0, 1.0), (8.0, 0.5)] {
        let peak = json!({"name": "g", "type": "generalized_normal_dist", "x": "x", "mean": "mean", "alpha": 0.2,
                          "beta": 3.0});
        let held = json!({"name": "c", "type": "gaussian_dist", "x": "mean", "mean": mean, "sigma": 1e-3});
        let flat = json!({"name": "f", "type": "uniform_dist", "x": "x"});
        let parameters = [("ns", (1.0, 0.0, 50.0)), ("nb", (2.4, 0.0, 70.0)), ("mean", (mean, 6.0, 9.0))];
        let densities = [peak, flat, held, mixture(&["g", "f"], &["ns", "nb"])];
        let data = histogram((0.0, 12.0), &contents);
        let result = fitted(&densities, &data, "integral", &["c"], &parameters).unwrap();
        assert!(result.converged, "{result:?}");
        assert!(
            result.integral_error.as_ref().is_none_or(|error| error.relative.unwrap() < 1e-9),
            "{result:?}"
        );
        if share == 1.0 {
            // Two unknown yields: one bin with everything of the peak and a sixth of the rest.
            assert!(
                (result.bestfit[1] - 3.6).abs() < 1e-4 && (result.bestfit[0] - 8.4).abs() < 1e-4,
                "{result:?}"
            );
        }
    }
}

#[test]
fn a_curved_boundary_of_the_expected_number_of_events_is_followed_to_the_minimum() {
    // With one event far from the peak, -ln L is nb + s - ln nb + alpha^2 / 2, and falls until nb + s is 0, where
    // s = -6.6 * 20 * exp(0.14 alpha). There it is -ln(132) - 0.14 alpha + alpha^2 / 2.
    let peak = json!({"name": "g", "type": "gaussian_dist", "x": "x", "mean": 0.2, "sigma": 0.01});
    let flat = json!({"name": "f", "type": "uniform_dist", "x": "x"});
    let constraint = json!({"name": "c", "type": "gaussian_dist", "x": "alpha", "mean": 0.0, "sigma": 1.0});
    let densities = [peak, flat, constraint, mixture(&["g", "f"], &["s", "nb"])];
    let data = json!({"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": [[0.9]]});
    let s = json!([{"name": "s", "type": "generic_function", "expression": "20*mu*exp(0.14*alpha)"}]);
    let right = -132_f64.ln() - 0.5 * 0.14 * 0.14 + 0.5 * std::f64::consts::TAU.ln();
    for (mu, alpha, nb) in
        [(16.0, 0.0, 295.0), (16.0, 2.0, 100.0), (10.0, 1.0, 295.0), (1.0, 0.0, 33.0), (-6.0, 0.5, 300.0)]
    {
        let parameters = [("mu", (mu, -6.6, 22.0)), ("alpha", (alpha, -5.0, 5.0)), ("nb", (nb, 0.0, 400.0))];
        let result = fitted_with(&s, &densities, &data, "center", &["c"], &parameters).unwrap();
        assert!(
            result.converged && (result.nll - right).abs() < 1e-8,
            "{mu} {alpha} {nb}: {right} {result:?}"
        );
        assert!((result.bestfit[1] - 0.14).abs() < 1e-4, "{mu} {alpha} {nb}: {result:?}");
    }
}
