//! Tests of scans on a session whose minima are known exactly.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use std::sync::Mutex;

use ns_core::{Control, Observer};
use ns_inference::{FitOptions, InferenceError, ScanAxis, ScanOptions, ScanResult, scan};
use support::{Wells, gave_up, model, well};

/// Uncertainty of `mu` if `alpha` is profiled and `-ln L` is a [`well`], i.e. a quadratic function of both
/// parameters.
const SIGMA: f64 = 0.5 / 0.8;

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

fn of(session: &Wells, options: &ScanOptions) -> ScanResult {
    scan(&model((0.0, 10.0)), session, options, Control::default()).unwrap()
}

fn over(start: f64, stop: f64, points: usize) -> ScanOptions {
    ScanOptions::new(ScanAxis::default().range(start, stop).points(points))
}

#[test]
fn a_parabola_comes_back_with_its_intervals() {
    let session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    let result = of(&session, &ScanOptions::default());
    assert_eq!((result.param.as_str(), result.mu_values.len()), ("mu", 21));
    assert_eq!((result.mu_hat, result.twice_nll), (2.0, 14.0));
    close(result.mu_values[0], 2.0 - 3.0 * SIGMA, 1e-12);
    for (x, (delta, q)) in result.mu_values.iter().zip(result.twice_delta_nll.iter().zip(&result.q_mu_values))
    {
        close(delta.unwrap(), ((x - 2.0) / SIGMA).powi(2), 1e-9);
        assert_eq!(*q, if *x < 2.0 { Some(0.0) } else { *delta });
    }
    for (interval, reach) in result.intervals.iter().zip([1.0, 2.0]) {
        close(interval.lower.unwrap(), 2.0 - reach * SIGMA, 1e-7);
        close(interval.upper.unwrap(), 2.0 + reach * SIGMA, 1e-7);
    }
    assert!(result.usable() && result.warnings.is_empty(), "{:?}", result.warnings);
}

#[test]
fn in_two_parameters_nothing_is_left_to_minimise() {
    let session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    let second = ScanAxis::param("alpha").values(vec![0.8, -0.2]);
    let result = of(&session, &over(1.0, 3.0, 3).second(second));
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["mu2_values"], serde_json::json!([0.8, -0.2]));
    for (row, y) in [0.8, -0.2].into_iter().enumerate() {
        for (column, x) in [1.0, 2.0, 3.0].into_iter().enumerate() {
            let (dx, dy): (f64, f64) = (x - 2.0, y - 0.3);
            let expected = 4.0 * dx * dx + 2.4 * dx * dy + dy * dy;
            close(json["twice_delta_nll"][row][column].as_f64().unwrap(), expected, 1e-9);
        }
    }
    assert!(json.get("q_mu_values").is_none());
    close(json["levels"][0]["twice_delta_nll"].as_f64().unwrap(), 2.2957, 1e-4);
}

#[test]
fn contours_that_are_cut_are_named_with_the_end() {
    let session = Wells::new(&model((1.2, 10.0)), vec![well(2.0, 7.0)]);
    let plane = |axis: ScanAxis| {
        let options = ScanOptions::new(axis.points(11)).second(ScanAxis::param("alpha").points(11));
        scan(&model((1.2, 10.0)), &session, &options, Control::default()).unwrap().warnings
    };
    let bound = "the contours of twice_delta_nll = 2.29575, 5.99146 end at mu = 1.2, the lower bound of mu";
    assert_eq!(plane(ScanAxis::default()), [bound]);
    let end = "the contour of twice_delta_nll = 5.99146 ends at mu = 3, where the scan ends; \
               scan larger values to see the rest";
    assert_eq!(plane(ScanAxis::default().range(1.2, 3.0)), [bound, end]);
}

#[test]
fn a_lower_minimum_on_the_way_restarts_the_scan() {
    // The free fit starts in the well at 2. The well at 6 is lower.
    let session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0), well(6.0, 5.0)]);
    let result = of(&session, &over(0.0, 8.0, 17));
    assert_eq!((result.mu_hat, result.twice_nll), (6.0, 10.0));
    assert!(result.twice_delta_nll.iter().all(|x| x.unwrap() >= 0.0));
    close(result.twice_delta_nll[12].unwrap(), 0.0, 1e-12);
    assert!(result.warnings.iter().any(|w| w.contains("restarted")), "{:?}", result.warnings);
}

#[test]
fn inexact_conditional_fits_are_no_minimum() {
    let mut session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    session.error = 1e-5;
    let result = of(&session, &over(1.0, 3.0, 5));
    assert_eq!(result.mu_hat, 2.0);
    assert_eq!(result.twice_delta_nll[2], Some(0.0));
}

#[test]
fn a_point_without_a_likelihood_is_null_with_its_reason() {
    let mut session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    session.fail_above = 2.9;
    let result = of(&session, &over(1.0, 3.0, 5));
    assert_eq!(result.twice_delta_nll[4], None);
    assert!(!result.converged[4] && result.converged[3]);
    assert!(result.reasons[4].as_ref().unwrap().contains("bin 1 of channel 'SR'"));
    assert!(
        result.warnings.iter().any(|w| w.contains("1 of 5 points are null (mu = 3)")),
        "{:?}",
        result.warnings
    );
    // The upper end of the interval at a rise of 4 would be at 3.25. The last point with a finite value is below this
    // value.
    assert!(result.intervals[1].upper_reason.as_ref().unwrap().contains("2.5"), "{:?}", result.intervals);
}

#[test]
fn points_without_a_certificate_say_so() {
    let mut session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    session.status = gave_up();
    let result = of(&session, &over(1.0, 3.0, 3));
    assert!(!result.usable() && !result.bestfit_converged);
    assert_eq!(result.converged, [false; 3]);
    assert!(result.reasons.iter().all(|r| r.as_ref().is_some_and(|r| r.contains("not converged"))));
}

#[test]
fn an_interrupted_scan_keeps_what_is_finished() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let control = Control { observer: None, cancel: Some(&session.stop_after_first), task: None };
    let result = scan(&model, &session, &over(1.0, 3.0, 5), control).unwrap();
    assert!(result.interrupted);
    assert_eq!(result.mu_hat, 2.0);
    assert_eq!(result.twice_delta_nll, [None; 5]);
    assert!(
        result.warnings.iter().any(|w| w.contains("5 of 5 points were not reached")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn progress_ends_at_the_number_of_fits() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<(usize, usize)>>);
    impl Observer for Heard {
        fn progress(&self, done: usize, total: usize) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let (model, heard) = (model((0.0, 10.0)), Heard::default());
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let control = Control { observer: Some(&heard), cancel: None, task: None };
    let result = scan(&model, &session, &over(1.0, 3.0, 9).intervals(false), control).unwrap();
    let heard = heard.0.into_inner().unwrap();
    assert!(heard.iter().all(|(_, total)| *total == 10), "{heard:?}");
    assert_eq!(heard.last(), Some(&(10, 10)));
    assert_eq!(result.n_fits, 10);
}

#[test]
fn wrong_questions_are_refused_before_any_fit() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let refused = |options: &ScanOptions| scan(&model, &session, options, Control::default()).unwrap_err();
    assert!(matches!(refused(&over(3.0, 1.0, 5)), InferenceError::BadScan { .. }));
    assert!(matches!(refused(&over(1.0, 1.0, 5)), InferenceError::BadScan { .. }));
    assert!(matches!(refused(&over(1.0, 2.0, 0)), InferenceError::BadScan { .. }));
    assert!(matches!(refused(&over(1.0, 2.0, usize::MAX)), InferenceError::BadScan { .. }));
    let plane = |n1, n2| over(1.0, 2.0, n1).second(ScanAxis::param("alpha").range(0.0, 1.0).points(n2));
    assert!(matches!(refused(&plane(10_000, 1_001)), InferenceError::BadScan { .. }));
    assert!(matches!(refused(&plane(usize::MAX, usize::MAX)), InferenceError::BadScan { .. }));
    assert!(matches!(refused(&over(-1.0, 2.0, 3)), InferenceError::OutOfBounds { .. }));
    assert!(matches!(refused(&over(f64::NAN, 2.0, 3)), InferenceError::NotFinite { .. }));
    assert!(matches!(
        refused(&over(1.0, 2.0, 3).second(ScanAxis::param("mu"))),
        InferenceError::BadScan { .. }
    ));
    assert!(matches!(
        refused(&over(1.0, 2.0, 3).fit(FitOptions::default().fix("mu", 1.0))),
        InferenceError::BadScan { .. }
    ));
    assert!(matches!(
        refused(&ScanOptions::new(ScanAxis::param("nobody"))),
        InferenceError::UnknownParameter { .. }
    ));
}

#[test]
fn a_start_above_the_default_end_says_whose_end_it_is() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let refused = |start: Option<f64>, stop: Option<f64>| {
        let options = ScanOptions::new(ScanAxis::default().range(start, stop));
        scan(&model, &session, &options, Control::default()).unwrap_err().to_string()
    };
    let message = refused(Some(5.0), None);
    assert!(message.contains("the default end") && message.contains("give the end as well"), "{message}");
    let message = refused(None, Some(0.01));
    assert!(message.contains("the default start") && message.contains("give the start as well"), "{message}");
}

#[test]
fn one_point_has_no_intervals() {
    let session = Wells::new(&model((0.0, 10.0)), vec![well(2.0, 7.0)]);
    let result = of(&session, &over(1.0, 3.0, 1));
    assert!(result.intervals.is_empty() && result.warnings.is_empty(), "{:?}", result.warnings);
    close(result.twice_delta_nll[0].unwrap(), (1.0 / SIGMA).powi(2), 1e-9);
    assert_eq!(result.n_fits, 2);
}
