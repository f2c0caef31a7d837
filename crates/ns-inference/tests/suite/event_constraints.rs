//! Constraint terms that are log-normal or gamma distributions are measurements: Asimov data move what they measured.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution};
use ns_inference::{HypotestOptions, HypotestResult, hypotest, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Tests mu = 3 for 20 events, where 4 mu + 10 c are expected and `constraint` holds c.
fn tested(constraint: &Value, functions: &Value, constants: &[(&str, f64)]) -> HypotestResult {
    let events: Vec<[f64; 1]> = (0..20).map(|i| [f64::from(i) / 20.0]).collect();
    let mut point = json!([{"name": "mu", "value": 1.0}, {"name": "c", "value": 1.0}]);
    let fixed = constants.iter().map(|(name, value)| json!({"name": name, "value": value, "const": true}));
    point.as_array_mut().unwrap().extend(fixed);
    let mut all = vec![
        json!({"name": "ns", "type": "product", "factors": ["mu", 4.0]}),
        json!({"name": "nb", "type": "product", "factors": ["c", 10.0]}),
    ];
    all.extend(functions.as_array().unwrap().iter().cloned());
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "u", "type": "uniform_dist", "x": "x"}, {"name": "v", "type": "uniform_dist", "x": "x"},
            {"name": "m", "type": "mixture_dist", "summands": ["u", "v"], "coefficients": ["ns", "nb"], "extended": true},
            constraint,
        ],
        "functions": all,
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": events}],
        "likelihoods": [{"name": "L", "distributions": ["m"], "data": ["d"], "aux_distributions": ["t"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "mu", "min": 0, "max": 20}, {"name": "c", "min": 0.1, "max": 5}]}],
        "parameter_points": [{"name": "default_values", "parameters": point}],
        "analyses": [{"name": "a", "likelihood": "L", "parameters_of_interest": ["mu"], "domain": "default_domain",
                      "init": "default_values"}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    hypotest(&model, session.as_ref(), 3.0, &HypotestOptions::default(), Control::default()).unwrap()
}

fn same(a: &HypotestResult, b: &HypotestResult) {
    assert!(b.q_asimov > 0.1, "{b:?}");
    for (x, y) in [(a.q_obs, b.q_obs), (a.q_asimov, b.q_asimov), (a.cls.unwrap(), b.cls.unwrap())] {
        assert!((x - y).abs() < 1e-7, "{a:?} {b:?}");
    }
}

#[test]
fn asimov_data_move_the_median_of_a_log_normal_term() {
    // As functions of c, both are a normal density of ln c. The density of c itself has the factor 1/c.
    let log = json!([{"name": "log_c", "type": "generic_function", "expression": "log(c)"}]);
    let normal =
        json!({"name": "t", "type": "gaussian_dist", "x": "log_c", "mean": "measured", "sigma": 0.3});
    let right = tested(&normal, &log, &[("measured", -0.09)]);
    let of_parameter =
        json!({"name": "t", "type": "lognormal_dist", "x": "c", "mu": "measured", "sigma": 0.3});
    same(&tested(&of_parameter, &json!([]), &[("measured", 0.0)]), &right);
    // Here the datum is the variable of the density.
    let of_datum =
        json!({"name": "t", "type": "lognormal_dist", "x": "measured", "mu": "log_c", "sigma": 0.3});
    same(&tested(&of_datum, &log, &[("measured", f64::exp(-0.09))]), &right);
}

#[test]
fn asimov_data_move_the_shape_of_a_gamma_term() {
    // The density of c with the shape 9 and the scale 1/8 is, but for a constant, the probability of the count 8 where 8 c
    // are expected.
    let poisson = json!({"name": "t", "type": "poisson_dist", "x": "measured", "mean": "tau"});
    let tau = json!([{"name": "tau", "type": "product", "factors": ["c", 8.0]}]);
    let right = tested(&poisson, &tau, &[("measured", 8.0)]);
    let gamma =
        json!({"name": "t", "type": "gamma_dist", "x": "c", "gamma": "measured", "beta": 0.125, "mu": 0.0});
    same(&tested(&gamma, &json!([]), &[("measured", 9.0)]), &right);
}
