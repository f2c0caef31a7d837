//! Tests of fits on a session whose minima are known exactly.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ns_core::{Control, Observations, Observer, SessionError};
use ns_inference::{FitData, FitOptions, InferenceError, fit, fit_batch};
use support::{Wells, gave_up, model, well};

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

#[test]
fn numbers_get_their_names() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let result = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(result.parameter_names, ["mu", "alpha"]);
    assert_eq!(result.value("mu"), Some(2.0));
    close(result.uncertainty("mu").unwrap(), 0.5 / 0.8, 1e-12);
    assert_eq!(result.twice_nll, 14.0);
    assert_eq!(result.poi_index, Some(0));
    close(result.pulls[1].unwrap(), 0.3, 1e-12);
    assert_eq!(result.pulls[0], None);
    assert!(result.converged && result.warnings.is_empty(), "{:?}", result.warnings);
}

#[test]
fn json_has_the_promised_keys_and_nulls() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let options = FitOptions::default().fix("alpha", 1.0);
    let result = fit(&model, &session, &options, Control::default()).unwrap();
    let json = serde_json::to_value(&result).unwrap();
    let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "at_bound",
            "at_kink",
            "bestfit",
            "constraints",
            "converged",
            "covariance",
            "crossings",
            "edm",
            "fixed",
            "flat",
            "minos",
            "n_iter",
            "n_search_iter",
            "nll",
            "parameter_names",
            "poi_index",
            "pulls",
            "termination_reason",
            "twice_nll",
            "uncertainties",
            "warnings"
        ]
    );
    assert_eq!(json["uncertainties"][1], serde_json::Value::Null);
    assert_eq!(json["fixed"], serde_json::json!(["alpha"]));
    assert_eq!(json["covariance"], serde_json::json!([[0.25, 0.0], [0.0, 0.0]]));
    assert!(
        result.warnings.iter().any(|w| w.contains("alpha") && w.contains("fixed")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn minos_of_a_parabola_is_its_hesse_error() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let options = FitOptions::default().minos("alpha").minos("mu");
    let result = fit(&model, &session, &options, Control::default()).unwrap();
    assert_eq!(result.minos.iter().map(|x| x.parameter.as_str()).collect::<Vec<_>>(), ["alpha", "mu"]);
    for interval in &result.minos {
        let sigma = result.uncertainty(&interval.parameter).unwrap();
        close(interval.lower.unwrap(), -sigma, 1e-7);
        close(interval.upper.unwrap(), sigma, 1e-7);
        close(interval.upper_crossing.unwrap(), result.value(&interval.parameter).unwrap() + sigma, 1e-7);
    }
    let json = serde_json::to_value(&result).unwrap();
    assert!(json["minos"]["mu"]["upper"].is_f64());
    assert_eq!(json["minos"]["mu"]["upper_reason"], serde_json::Value::Null);
}

#[test]
fn a_crossing_beyond_a_bound_is_null_with_its_reason() {
    // The profiled uncertainty of mu is 0.625. The lower bound of mu therefore limits the interval.
    let model = model((1.5, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let result = fit(&model, &session, &FitOptions::default().minos("mu"), Control::default()).unwrap();
    let interval = &result.minos[0];
    assert_eq!((interval.lower, interval.lower_crossing), (None, None));
    assert_eq!(
        interval.lower_reason.as_deref(),
        Some("twice_nll has risen by 0.640 only at the lower bound 1.5")
    );
    close(interval.upper.unwrap(), 0.625, 1e-7);
    assert!(
        result.warnings.iter().any(|w| w.contains("lower crossing of mu is null")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn a_parameter_at_its_bound_gets_crossings_and_the_others_are_conditional() {
    let model = model((2.5, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let result = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(result.at_bound, ["mu"]);
    assert_eq!(result.uncertainty("mu"), None);
    close(result.uncertainty("alpha").unwrap(), 1.0, 1e-12);
    let interval = &result.crossings[0];
    assert_eq!(interval.lower_reason.as_deref(), Some("the best fit is at the lower bound 2.5"));
    // The profile of mu is ((mu - 2) / 0.625)^2. At the crossing it is higher by 1 than at 2.5.
    let expected = 2.0 + 0.625 * (1.0 + (0.5_f64 / 0.625).powi(2)).sqrt();
    close(interval.upper_crossing.unwrap(), expected, 1e-7);
    assert!(
        result.warnings.iter().any(|w| w.contains("mu") && w.contains("at a bound")),
        "{:?}",
        result.warnings
    );
    let without = FitOptions::default().crossings(false);
    assert!(fit(&model, &session, &without, Control::default()).unwrap().crossings.is_empty());
}

#[test]
fn a_lower_minimum_on_the_way_restarts_the_fit() {
    // The starting point is nearest to the first well. The second well, at mu = 2, is lower by 0.2.
    let model = model((-10.0, 10.0));
    let session = Wells::new(&model, vec![well(1.0, 7.0), well(2.0, 6.8)]);
    let plain = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(plain.nll, 7.0);
    let result = fit(&model, &session, &FitOptions::default().minos("mu"), Control::default()).unwrap();
    assert_eq!(result.nll, 6.8);
    assert_eq!(result.value("mu"), Some(2.0));
    assert!(result.warnings.iter().any(|w| w.contains("restarted")), "{:?}", result.warnings);
    close(result.minos[0].upper.unwrap(), 0.625, 1e-7);
}

#[test]
fn inexact_conditional_fits_restart_nothing() {
    let model = model((-10.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.error = 0.6;
    let result = fit(&model, &session, &FitOptions::default().minos("mu"), Control::default()).unwrap();
    assert_eq!(result.nll, 7.0);
    // At the crossing the profile is 1 above the minimum. The profile that this session returns is too low by 1.2.
    close(result.minos[0].upper.unwrap(), 0.625 * 2.2_f64.sqrt(), 1e-7);
    assert!(!result.warnings.iter().any(|w| w.contains("restarted")), "{:?}", result.warnings);
}

#[test]
fn an_interrupt_keeps_the_minimum_and_says_what_is_missing() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let control = Control { observer: None, cancel: Some(&session.stop_after_first), task: None };
    let result = fit(&model, &session, &FitOptions::default().minos("mu"), control).unwrap();
    assert!(result.interrupted && result.converged);
    assert_eq!(result.value("mu"), Some(2.0));
    assert_eq!(result.minos[0].upper, None);
    assert_eq!(result.minos[0].upper_reason.as_deref(), Some("interrupted"));
}

#[test]
fn a_wall_is_told_from_a_crossing() {
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.fail_above = 2.2;
    let result = fit(&model, &session, &FitOptions::default().minos("mu"), Control::default()).unwrap();
    let reason = result.minos[0].upper_reason.clone().unwrap();
    assert!(reason.contains("stops being finite at 2.2"), "{reason}");
    close(result.minos[0].lower.unwrap(), -0.625, 1e-7);
}

#[test]
fn wrong_options_are_told_with_name_and_remedy() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let error = |options: FitOptions| fit(&model, &session, &options, Control::default()).unwrap_err();
    let text = error(FitOptions::default().fix("alpa", 0.0)).to_string();
    assert_eq!(text, "the model has no parameter 'alpa'; did you mean 'alpha'?");
    assert!(matches!(error(FitOptions::default().fix("mu", -1.0)), InferenceError::OutOfBounds { .. }));
    assert!(matches!(error(FitOptions::default().fix("mu", f64::NAN)), InferenceError::NotFinite { .. }));
    assert!(matches!(
        error(FitOptions::default().start(vec![1.0])),
        InferenceError::Session(SessionError::WrongLength { actual: 1, expected: 2, .. })
    ));
    let held = FitOptions::default().fix("mu", 1.0).minos("mu");
    assert_eq!(error(held), InferenceError::FixedParameter { name: "mu".to_owned() });
    let mut no_poi = model.clone();
    no_poi.pois.clear();
    let asimov = FitOptions::default().data(FitData::Asimov { poi: Some(1.0) });
    let refused = fit(&no_poi, &session, &asimov, Control::default()).unwrap_err();
    assert!(matches!(refused, InferenceError::NoPoi { .. }));
    let bare = FitOptions::default().data(FitData::Asimov { poi: None });
    assert!(fit(&no_poi, &session, &bare, Control::default()).unwrap().converged);
}

#[test]
fn asimov_data_are_those_of_the_initial_parameters_with_the_poi_moved() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(0.0, 7.0)]);
    let options = FitOptions::default().data(FitData::Asimov { poi: Some(3.0) });
    // In this session, Asimov data shift the centre of each well by the values of the parameters.
    let result = fit(&model, &session, &options, Control::default()).unwrap();
    assert_eq!(result.bestfit, [3.0, 0.3]);
}

#[test]
fn a_fit_without_certificate_is_a_result_with_a_diagnosis() {
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.status = gave_up();
    let result = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap();
    assert!(!result.converged);
    assert!(result.termination_reason.starts_with("not converged: the iteration limit"));
    assert!(result.warnings[0].contains("bin 1 of channel 'SR'"), "{:?}", result.warnings);
}

#[test]
fn a_likelihood_that_cannot_start_names_channel_and_sample() {
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.fail_above = 0.0;
    let error = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("bin 1 of channel 'SR'") && text.contains("signal"), "{text}");
}

#[test]
fn a_batch_keeps_order_and_good_rows() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<(usize, usize)>>);
    impl Observer for Heard {
        fn progress(&self, done: usize, total: usize) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.fail_above = 4.5;
    let data: Vec<Observations> =
        (0..4).map(|k| Observations::binned(vec![f64::from(k), 0.0], vec![0.0])).collect();
    let heard = Heard::default();
    let control = Control { observer: Some(&heard), cancel: None, task: None };
    let batch = fit_batch(&model, &session, data.clone(), &FitOptions::default(), control).unwrap();
    let mu: Vec<Option<f64>> = batch.fits.iter().map(|f| f.as_ref().ok().map(|f| f.parameters[0])).collect();
    assert_eq!(mu, [Some(2.0), Some(3.0), Some(4.0), None]);
    assert!(batch.failure(&model, 3).unwrap().contains("channel 'SR'"));
    assert_eq!(batch.failure(&model, 0), None);
    assert_eq!(batch.n_converged(), 3);
    assert_eq!(heard.0.lock().unwrap().last(), Some(&(4, 4)));

    let stop = AtomicBool::new(true);
    let control = Control { observer: None, cancel: Some(&stop), task: None };
    let stopped = fit_batch(&model, &session, data, &FitOptions::default(), control).unwrap();
    assert!(stopped.interrupted && stopped.fits.len() == 4);
    let alone = fit(&model, &session, &FitOptions::default(), control).unwrap_err();
    assert_eq!(alone, InferenceError::Cancelled);
}
