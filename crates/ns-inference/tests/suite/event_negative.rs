//! Asimov data of densities that are negative in a region. A fit with a large signal ends where the density touches 0.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{FitData, FitOptions, HypotestOptions, InferenceError, fit, hypotest, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::json;

/// Number of observed events.
const EVENTS: f64 = 300.0;

/// The negative part of the signal, in units of its positive part.
const TAKEN: f64 = -0.8;

fn gaussian(x: f64, mean: f64, sigma: f64) -> f64 {
    (-0.5 * ((x - mean) / sigma).powi(2)).exp() / (sigma * std::f64::consts::TAU.sqrt())
}

fn background(x: f64) -> f64 {
    1.5 * (-1.5 * x).exp() / -(-1.5_f64).exp_m1()
}

/// The signal in units of the background.
fn ratio(x: f64, y: f64) -> f64 {
    let y_peak = gaussian(y, 0.3, 0.3) / WITHIN;
    (gaussian(x, 0.3, 0.05) * y_peak + TAKEN * gaussian(x, 0.7, 0.05)) / (background(x) * background(y))
}

/// Integral of the normal density with mean 0.3 and standard deviation 0.3 from 0 to 1.
const WITHIN: f64 = 0.831_529_417_439_897_6;

fn model() -> Model {
    let normal = |name: &str, x: &str, mean: f64, sigma: f64| json!({"name": name, "type": "gaussian_dist", "x": x, "mean": mean, "sigma": sigma});
    let falling = |name: &str, x: &str| json!({"name": name, "type": "exponential_dist", "x": x, "c": 1.5});
    let product =
        |name: &str, factors: [&str; 2]| json!({"name": name, "type": "product_dist", "factors": factors});
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            normal("more_x", "x", 0.3, 0.05), normal("more_y", "y", 0.3, 0.3), product("more", ["more_x", "more_y"]),
            normal("less_x", "x", 0.7, 0.05), {"name": "less_y", "type": "uniform_dist", "x": ["y"]},
            product("less", ["less_x", "less_y"]),
            falling("falling_x", "x"), falling("falling_y", "y"), product("background", ["falling_x", "falling_y"]),
            {"name": "all", "type": "mixture_dist", "summands": ["more", "less", "background"],
             "coefficients": ["mu", "taken", "nb"], "extended": true}],
        "functions": [{"name": "taken", "type": "product", "factors": ["mu", "factor"]}],
        "data": [{"name": "d", "type": "unbinned",
            "axes": [{"name": "x", "min": 0.0, "max": 1.0}, {"name": "y", "min": 0.0, "max": 1.0}],
            "entries": (0..300).map(|i| [0.001 + 1e-4 * f64::from(i); 2]).collect::<Vec<_>>()}],
        "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mu", "value": 1.0, "min": 0.0, "max": 500.0},
            {"name": "nb", "value": EVENTS, "min": 1.0, "max": 3000.0},
            {"name": "factor", "value": TAKEN, "const": true}]}],
        "analyses": [{"name": "fit", "likelihood": "L", "parameters_of_interest": ["mu"]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns where a function with one minimum between `low` and `high` has this minimum.
fn minimum(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if of(a) < of(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

/// Returns the nodes and weights of a rule on [0, 1] whose intervals become shorter by `factor` towards `singular`.
fn rule(singular: f64, factor: f64) -> Vec<(f64, f64)> {
    let gauss = [
        (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
        (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    ];
    let mut nodes = Vec::new();
    for length in [-singular, 1.0 - singular].into_iter().filter(|length| *length != 0.0) {
        for k in 0..(-21.0 / factor.ln()) as i32 {
            let (far, near) = (factor.powi(k) * length, factor.powi(k + 1) * length);
            for (x, w) in gauss.iter().flat_map(|(x, w)| [(*x, *w), (-x, *w)]) {
                let x = singular + 0.5 * (far + near) + 0.5 * (far - near) * x;
                nodes.push((x, 0.5 * (far - near).abs() * w));
            }
        }
    }
    nodes
}

/// Returns the expected background events at the nodes of a rule, with the signal in units of the background.
fn nodes(lowest: f64) -> Vec<(f64, f64)> {
    let (along_x, along_y) = (rule(lowest, 0.87), rule(1.0, 0.7));
    let weight = |x: f64, y: f64| EVENTS * background(x) * background(y);
    let line = |(x, w): (f64, f64)| {
        let at = move |(y, v): &(f64, f64)| (weight(x, *y) * w * v, ratio(x, *y));
        along_y.iter().map(at).collect::<Vec<_>>()
    };
    along_x.into_iter().flat_map(line).collect()
}

/// `q_A` was too low by up to a quarter, because the fit ended where the density is negative at the end of the fit range,
/// beyond the last node.
#[test]
fn densities_that_turn_negative_beyond_the_nodes_give_the_right_statistic() {
    let model = model();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let lowest = minimum(0.65, 0.75, |x| ratio(x, 1.0));
    let nodes = nodes(lowest);
    for mu in [5.0, 20.0, 30.0] {
        let twice_nll = |mu: f64, nb: f64| {
            let log = |(w, r): &(f64, f64)| w * (nb + mu * r).ln();
            2.0 * (nb + (1.0 + TAKEN) * mu - nodes.iter().map(log).sum::<f64>())
        };
        let least = -mu * ratio(lowest, 1.0) * (1.0 + 1e-12);
        let nb = minimum(least, 1500.0, |nb| twice_nll(mu, nb));
        let right = twice_nll(mu, nb) - twice_nll(0.0, EVENTS);
        let found =
            hypotest(&model, session.as_ref(), mu, &HypotestOptions::default(), Control::default()).unwrap();
        assert!(found.converged, "{:?}", found.warnings);
        assert!(
            (found.q_asimov - right).abs() < 1e-4,
            "{mu}: {}, not {right} (nb {nb} {least})",
            found.q_asimov
        );
    }
}

/// The message names the event channel and the coordinates. The density is that of an event, so no bin is named.
#[test]
fn a_negative_density_is_that_of_an_event_and_of_no_bin() {
    let model = model();
    let session = open_session(&model, &Execution::default()).unwrap();
    let far = FitOptions::default().data(FitData::Asimov { poi: Some(500.0) });
    let refused = fit(&model, session.as_ref(), &far, Control::default()).unwrap_err();
    assert!(matches!(refused, InferenceError::Density { .. }), "{refused:?}");
    let message = refused.to_string();
    assert!(
        message.starts_with("the Asimov set cannot be made: the density of an event with x = 0."),
        "{message}"
    );
    assert!(message.contains(", y = ") && message.contains("in event channel 'all' is -"), "{message}");
    assert!(!message.contains("bin "), "{message}");
}
