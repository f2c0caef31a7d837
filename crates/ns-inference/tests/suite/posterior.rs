//! Tests of samples of posteriors against integrals and closed forms.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use ns_core::{Control, Execution, Model};
use ns_inference::{InferenceError, PosteriorOptions, PosteriorResult, open_session, sample};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::json;

/// A count of `n` with a signal `mu` and a background, with or without an uncertainty of `b`.
fn counting(n: f64, background: f64, uncertain: bool) -> Model {
    let norm = json!([{"name": "b", "type": "normsys", "data": {"lo": 0.7, "hi": 1.3}}]);
    let document = json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [1.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": [background], "modifiers": if uncertain { norm } else { json!([]) }}]}],
        "observations": [{"name": "SR", "data": [n]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [{"name": "mu", "bounds": [[0.0, 40.0]]}]}}],
        "version": "1.0.0",
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn sampled(model: &Model, options: &PosteriorOptions) -> PosteriorResult {
    let session = open_session(model, &Execution::default()).unwrap();
    sample(model, session.as_ref(), options, Control::default()).unwrap()
}

/// The mean, the standard deviation and the quantile at 95 % of the density `exp(ln)` on 0 to 40, by the trapezoidal rule.
fn integrated(ln: impl Fn(f64) -> f64) -> (f64, f64, f64) {
    let n = 8000;
    let x = |i: usize| 40.0 * i as f64 / n as f64;
    let top = (0..=n).map(|i| ln(x(i))).fold(f64::NEG_INFINITY, f64::max);
    let weight = |i: usize| (ln(x(i)) - top).exp() * if i == 0 || i == n { 0.5 } else { 1.0 };
    let sum: f64 = (0..=n).map(weight).sum();
    let moment = |k: i32| (0..=n).map(|i| weight(i) * x(i).powi(k)).sum::<f64>() / sum;
    let mut below = 0.0;
    let limit = (0..=n).find(|i| {
        below += weight(*i) / sum;
        below >= 0.95
    });
    (moment(1), (moment(2) - moment(1).powi(2)).sqrt(), x(limit.unwrap()))
}

fn agrees(result: &PosteriorResult, (mean, sd, limit): (f64, f64, f64)) {
    let mu = result.parameters.iter().find(|p| p.name == "mu").unwrap();
    assert!((mu.mean - mean).abs() < 4.0 * mu.mean_error.unwrap(), "{mu:?}, not {mean}");
    assert!((mu.sd / sd - 1.0).abs() < 0.08, "{mu:?}, not {sd}");
    assert!(
        (mu.upper_limit - limit).abs() < 4.0 * mu.upper_limit_error.unwrap() + 0.01,
        "{mu:?}, not {limit}"
    );
}

#[test]
fn a_count_has_the_posterior_of_the_integral() {
    // With no count the posterior is exponential, and the limit is -ln 0.05 whatever the background.
    for n in [0.0, 5.0] {
        let ln = |mu: f64| n * (mu + 3.0).ln() - mu;
        let result = sampled(&counting(n, 3.0, false), &PosteriorOptions::default().draws(3000));
        agrees(&result, integrated(ln));
        assert!(result.converged && result.n_divergent == 0, "{:?}", result.warnings);
    }
}

#[test]
fn a_given_prior_multiplies_the_likelihood() {
    let n = 5.0;
    let likelihood = |mu: f64| n * (mu + 3.0_f64).ln() - mu;
    let normal = |mu: f64| -0.5 * ((mu - 6.0) / 1.5_f64).powi(2);
    let gamma = |mu: f64| 2.0 * mu.ln() - mu / 0.8;
    let lognormal = |mu: f64| -mu.ln() - 0.5 * ((mu / 4.0).ln() / 0.5).powi(2);
    let exponential = |mu: f64| -mu / 2.0;
    let cases: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("normal(6, 1.5)", &normal),
        ("gamma(3, 0.8)", &gamma),
        ("lognormal(4, 0.5)", &lognormal),
        ("exponential(2)", &exponential),
    ];
    for (text, ln_prior) in cases {
        let priors = [("mu".to_owned(), text.parse().unwrap())].into();
        let options = PosteriorOptions::default().draws(3000).priors(priors);
        let result = sampled(&counting(n, 3.0, false), &options);
        // The density is not integrated at 0, where the logarithm of some priors is infinite.
        agrees(&result, integrated(|mu: f64| likelihood(mu) + ln_prior(mu.max(1e-9))));
        assert_eq!(result.priors["mu"], text);
        assert!(result.converged, "{text}: {:?}", result.warnings);
    }
}

#[test]
fn priors_that_make_no_sense_are_refused() {
    let model = counting(5.0, 3.0, true);
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |name: &str, text: &str, fixed: bool| {
        let mut options =
            PosteriorOptions::default().priors([(name.to_owned(), text.parse().unwrap())].into());
        if fixed {
            options.fit.fixed.push((name.to_owned(), 1.0));
        }
        sample(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    assert!(refused("b", "normal(0, 1)", false).contains("its prior is its constraint term"));
    assert!(refused("mu", "inverse", true).contains("the parameter is fixed"));
    assert!(refused("nu", "inverse", false).contains("'nu'"));
}

#[test]
fn an_uncertain_background_is_integrated() {
    let (n, b) = (9.0, 6.0);
    // Interpolation code 4 is smooth between -1 and 1, and exponential outside.
    let factor = |alpha: f64| -> f64 {
        let model = counting(n, b, true);
        let session = open_session(&model, &Execution::default()).unwrap();
        let names: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
        let point: Vec<f64> = names.iter().map(|name| if *name == "mu" { 0.0 } else { alpha }).collect();
        let request = ns_core::EvaluationRequest { expected: true, ..Default::default() };
        session.evaluate(&ns_core::Data::observed(), &point, request).unwrap().expected[0] / b
    };
    let nodes: Vec<(f64, f64)> = (-50..=50).map(|i| f64::from(i) * 0.1).map(|a| (a, factor(a))).collect();
    let ln = |mu: f64| {
        let term = |(alpha, f): &(f64, f64)| (n * (mu + b * f).ln() - mu - b * f - 0.5 * alpha * alpha).exp();
        nodes.iter().map(term).sum::<f64>().ln()
    };
    let result = sampled(&counting(n, b, true), &PosteriorOptions::default().draws(2000).seed(5));
    agrees(&result, integrated(ln));
    assert!(result.converged, "{:?}", result.warnings);
}

#[test]
fn samples_are_the_same_for_every_number_of_threads() {
    let model = counting(5.0, 3.0, true);
    let options = PosteriorOptions::default().draws(200).tune(100);
    let one = sampled(&model, &options.clone().threads(1));
    assert_eq!(one.draws, sampled(&model, &options.clone().threads(3)).draws);
    assert_ne!(one.draws, sampled(&model, &options.seed(1)).draws);
}

#[test]
fn short_chains_and_wrong_settings_are_noticed() {
    let model = counting(5.0, 3.0, true);
    let short = sampled(&model, &PosteriorOptions::default().draws(40).tune(50));
    assert!(!short.converged && short.warnings.iter().any(|w| w.contains("take more draws")));
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |options: PosteriorOptions| {
        sample(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    assert!(refused(PosteriorOptions::default().chains(0)).contains("0 chains"));
    assert!(refused(PosteriorOptions::default().draws(1)).contains("give 10 to"));
    assert!(refused(PosteriorOptions::default().cl(1.0)).contains("between 0 and 1"));
    let stop = AtomicBool::new(true);
    let control = Control { cancel: Some(&stop), ..Control::default() };
    let cancelled = sample(&model, session.as_ref(), &PosteriorOptions::default(), control);
    assert!(matches!(cancelled, Err(InferenceError::Cancelled)));
}

#[cfg(feature = "toy-files")]
#[test]
fn draws_are_columns_of_a_file() {
    let result = sampled(&counting(5.0, 3.0, true), &PosteriorOptions::default().draws(50).tune(50));
    let bytes = ns_inference::posterior::write_draws(&result, Vec::new()).unwrap();
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let mu = result.draws.of(result.draws.names.iter().position(|name| name == "mu").unwrap());
    assert_eq!((mu.len(), mu[0].len()), (4, 50));
}
