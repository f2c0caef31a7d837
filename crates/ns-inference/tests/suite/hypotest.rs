//! Tests of hypothesis tests, limits and significances for data for which some numbers of the result do not exist.
//! Such a number must be null, and the result must give the reason.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{
    FitOptions, HypotestOptions, InferenceError, LimitOptions, TestStatistic, hypotest, open_session,
    significance, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Builds a model with one channel, a signal and a background. The normalisation of the background has an uncertainty
/// of 10 %.
fn counting(signal: &[f64], background: &[f64], data: &[f64], bounds: (f64, f64)) -> Model {
    let document = serde_json::json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": signal, "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": background, "modifiers": [
                {"name": "norm", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}]}]}],
        "observations": [{"name": "SR", "data": data}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "mu", "bounds": [[bounds.0, bounds.1]], "inits": [bounds.0.max(bounds.1.min(1.0))]}]}}],
        "version": "1.0.0"
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
}

fn limit(model: &Model) -> Result<ns_inference::LimitResult, InferenceError> {
    let session = open_session(model, &Execution::default()).unwrap();
    upper_limit(model, session.as_ref(), &LimitOptions::default(), Control::default())
}

fn cls(model: &Model, mu: f64, statistic: TestStatistic) -> ns_inference::HypotestResult {
    let session = open_session(model, &Execution::default()).unwrap();
    let options = HypotestOptions::default().statistic(statistic);
    hypotest(model, session.as_ref(), mu, &options, Control::default()).unwrap()
}

fn says(warnings: &[String], what: &str) -> bool {
    warnings.iter().any(|w| w.contains(what))
}

/// If there are fewer events than expected, the best-fit `mu` is at its bound 0. The Asimov set is generated at the
/// same value. The starting points of the search for the limit once became NaN in this case.
#[test]
fn limits_of_deficits_are_found() {
    for deficit in 0..40 {
        let background = 20.0 + 3.0 * f64::from(deficit);
        let data = (background - 0.7 * f64::from(deficit)).round();
        let model = counting(&[5.0, 2.0], &[background, 30.0], &[data, 27.0], (0.0, 10.0));
        let result = limit(&model).unwrap();
        let observed = result.observed.unwrap_or_else(|| panic!("{deficit}: {:?}", result.warnings));
        let there = cls(&model, observed, TestStatistic::Qtilde).cls.unwrap();
        assert!((there - 0.05).abs() < 1e-6, "{deficit}: CLs {there} at {observed}");
        assert!(result.expected.iter().all(Option::is_some), "{deficit}: {:?}", result.warnings);
    }
}

/// If the data are far below the background and the signal may be negative, CLs with qtilde is below 0.05 at every
/// tested value.
#[test]
fn a_deficit_that_excludes_every_signal_says_so() {
    let model = counting(&[5.0], &[100.0], &[40.0], (-10.0, 10.0));
    let result = limit(&model).unwrap();
    assert_eq!(result.observed, None);
    assert!(says(&result.warnings, "CLs is below 0.05 at every value"), "{:?}", result.warnings);
    assert!(result.expected.iter().all(Option::is_some));
}

#[test]
fn a_signal_without_effect_is_named_once() {
    let model = counting(&[0.0], &[100.0], &[100.0], (0.0, 10.0));
    let result = limit(&model).unwrap();
    assert_eq!(result.observed, None);
    let about = result.warnings.iter().filter(|w| w.contains("has no effect")).count();
    assert_eq!(about, 1, "{:?}", result.warnings);
}

#[test]
fn a_parameter_between_equal_bounds_cannot_be_tested() {
    let model = counting(&[5.0], &[50.0], &[50.0], (1.0, 1.0));
    assert!(matches!(limit(&model), Err(InferenceError::PoiFixed { .. })));
}

/// If the best fit of `mu` is at its bound 0, the best fit and the conditional fit at `mu = 0` have the same
/// likelihood. The rounding error of their difference once removed CLs and set the other p-values to 0.
#[test]
fn background_alone_is_not_excluded_by_rounding() {
    for deficit in 0..60 {
        let background = [20.0 + 3.1 * f64::from(deficit), 30.7];
        let data = [0.3 * background[0], (27 - deficit % 20).into()];
        let model = counting(&[5.0, 2.0], &background, &data, (0.0, 10.0));
        for statistic in [TestStatistic::Qtilde, TestStatistic::Q] {
            let result = cls(&model, 0.0, statistic);
            assert_eq!((result.mu_hat, result.q_obs), (0.0, 0.0), "{deficit}");
            assert_eq!((result.cls, result.clsb, result.clb), (Some(1.0), Some(0.5), Some(0.5)), "{deficit}");
            assert_eq!(result.expected_set.cls, [Some(1.0); 5], "{deficit}");
        }
    }
}

/// For the test statistic q, CLs+b and CLb are equal at a tested value of 0, even if both are small.
#[test]
fn q_has_a_cls_of_background_alone_for_any_best_fit() {
    let model = counting(&[5.0], &[100.0], &[70.0], (-10.0, 10.0));
    let result = cls(&model, 0.0, TestStatistic::Q);
    assert!(result.mu_hat < 0.0 && result.q_obs > 1.0);
    assert_eq!(result.cls, Some(1.0), "{:?}", result.warnings);
    assert_eq!(result.clsb, result.clb);
    assert_eq!(result.expected_set.cls, [Some(1.0); 5]);
    assert_eq!(cls(&model, 0.0, TestStatistic::Qtilde).cls, None);
}

#[test]
fn q0_has_a_p_value_and_no_cls() {
    let model = counting(&[5.0], &[50.0], &[60.0], (0.0, 10.0));
    let result = cls(&model, 0.0, TestStatistic::Q0);
    assert!(result.clsb.unwrap() < 0.5);
    assert_eq!(result.cls, None);
    assert!(says(&result.warnings, "its p-value is clsb"));
}

/// The model has no background. The Asimov set for a signal has events and is therefore impossible for `mu` = 0, so
/// there is no expected p0. The observed p0 exists nevertheless.
#[test]
fn a_significance_survives_an_asimov_set_without_an_answer() {
    let model = counting(&[5.0], &[0.0], &[0.0], (0.0, 10.0));
    let session = open_session(&model, &Execution::default()).unwrap();
    let result = significance(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(result.p0, Some(0.5));
    assert_eq!(result.p0_expected, None);
    assert!(says(&result.warnings, "expected values are null"), "{:?}", result.warnings);
}

/// If the best fit was below 0, a missing Asimov statistic was once taken as 0. The expected p0 was then 0.5.
#[test]
fn a_significance_without_an_asimov_set_expects_nothing() {
    let model = counting(&[-200.0, 30.0], &[50.0, 20.0], &[60.0, 10.0], (-0.5, 10.0));
    let session = open_session(&model, &Execution::default()).unwrap();
    let result = significance(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    assert!(result.mu_hat < 0.0);
    assert_eq!((result.p0, result.z), (Some(0.5), Some(0.0)));
    assert_eq!((result.p0_expected, result.z_expected), (None, None), "{:?}", result.warnings);
    assert!(says(&result.warnings, "expected values are null"), "{:?}", result.warnings);
    assert!(!says(&result.warnings, "the fit of the Asimov set"), "{:?}", result.warnings);
}

#[test]
fn p_values_that_underflow_keep_their_ratio() {
    let model = counting(&[5.0], &[50.0], &[50.0], (0.0, 100.0));
    let result = cls(&model, 100.0, TestStatistic::Qtilde);
    let cls = result.cls.unwrap();
    assert!((0.0..1e-100).contains(&cls), "{cls}");
}
