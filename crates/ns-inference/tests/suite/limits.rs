//! Tests of hypothesis tests and limits for models with empty bins, with several minima, or with parameters that have
//! no effect.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ns_core::{Control, Execution, Interpolation, Model, NormsysCode, Session};
use ns_inference::toys::{ToyLimitOptions, upper_limit_toys};
use ns_inference::{
    FitOptions, HypotestOptions, HypotestResult, LimitOptions, LimitResult, TestStatistic, hypotest,
    open_session, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

/// Builds a model from channels, observations and parameters. The POI is `mu`.
fn model(channels: &Value, observations: &Value, parameters: &Value) -> Model {
    model_of(channels, observations, parameters, &ModelOptions::default())
}

fn model_of(channels: &Value, observations: &Value, parameters: &Value, options: &ModelOptions) -> Model {
    let document = json!({
        "channels": channels, "observations": observations, "version": "1.0.0",
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}]
    });
    let text = serde_json::to_vec(&document).unwrap();
    Workspace::from_slice(&text).unwrap().model(options).unwrap()
}

fn open(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution::default()).unwrap()
}

fn mu() -> Value {
    json!({"name": "mu", "type": "normfactor", "data": null})
}

fn norm(name: &str, lo: f64, hi: f64) -> Value {
    json!({"name": name, "type": "normsys", "data": {"lo": lo, "hi": hi}})
}

fn limit(model: &Model, options: &LimitOptions) -> LimitResult {
    upper_limit(model, open(model).as_ref(), options, Control::default()).unwrap()
}

fn test(model: &Model, mu: f64, statistic: TestStatistic) -> HypotestResult {
    let options = HypotestOptions::default().statistic(statistic);
    hypotest(model, open(model).as_ref(), mu, &options, Control::default()).unwrap()
}

fn close(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.expect("a number");
    assert!((found - expected).abs() < tolerance, "{found}, not {expected}");
}

/// Builds a model of one bin with a signal of 3, no background and no observed events.
fn without_background(bounds: [f64; 2]) -> Model {
    model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [3.0], "modifiers": [mu()]},
            {"name": "background", "data": [0.0], "modifiers": [norm("b", 0.9, 1.1)]}]}]),
        &json!([{"name": "SR", "data": [0]}]),
        &json!([{"name": "mu", "bounds": [bounds]}]),
    )
}

/// The bin has no background, so its Asimov set is empty. The test statistics of the data, `q`, and of the Asimov
/// set, `q_A`, are both `6 mu`. Every limit therefore has a closed form. The fit to the Asimov set once left the
/// bounds.
#[test]
fn limits_of_a_bin_without_background_respect_the_bounds() {
    let sigmas = [1.0518, 1.4120, 1.959_964, 2.7272, 3.6560];
    for statistic in [TestStatistic::Qtilde, TestStatistic::Q] {
        let model = without_background([0.0, 10.0]);
        let options = LimitOptions::default().statistic(statistic).scan(vec![0.0, 0.5, 1.0]);
        let result = limit(&model, &options);
        close(result.observed, 1.959_963_984_540_054_f64.powi(2) / 6.0, 1e-8);
        for (found, sigma) in result.expected.iter().zip(sigmas) {
            close(*found, sigma * sigma / 6.0, 1e-4 * sigma);
        }
        let limits = result.expected.iter().chain([&result.observed]).flatten();
        for (i, &value) in limits.enumerate() {
            let there = test(&model, value, statistic);
            let cls = if i < 5 { there.expected_set.cls[i] } else { there.cls };
            close(cls, 0.05, 1e-8);
        }
        let scan = result.scan.unwrap();
        for (value, cls) in scan.mu_values.iter().zip(&scan.observed) {
            close(test(&model, *value, statistic).cls, cls.unwrap(), 1e-9);
        }
    }
}

/// The measurement allows negative `mu`, and a bin has no background. The fit to the Asimov set then ends at negative
/// `mu`, as in pyhf. `-ln L` is `3 mu + (4 + mu) - 4 ln(4 + mu)`, and its minimum is at -3.
#[test]
fn an_asimov_fit_below_zero_follows_the_definition_of_the_statistic() {
    let model = model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [3.0, 1.0], "modifiers": [mu()]},
            {"name": "background", "data": [0.0, 4.0], "modifiers": []}]}]),
        &json!([{"name": "SR", "data": [0, 4]}]),
        &json!([{"name": "mu", "bounds": [[-5.0, 10.0]]}]),
    );
    for value in [0.0, 1.0, 2.5] {
        let expected = 2.0 * (4.0 * value - 4.0 * (4.0_f64 + value).ln() + 12.0);
        let result = test(&model, value, TestStatistic::Q);
        close(Some(result.mu_hat), -3.0, 1e-6);
        close(Some(result.q_asimov), expected, 1e-7);
        close(Some(result.q_obs), expected, 1e-7);
        let negative = "the minimum expects a negative number of events in bin 0 of channel 'SR' (-9)";
        assert!(result.warnings.iter().any(|w| w.contains(negative)), "{:?}", result.warnings);
    }
}

/// A sample has a free factor and a shape variation that can remove the sample. There is a local minimum near each
/// bound of the factor. A search that started near one minimum once did not find the other minimum.
#[test]
fn a_conditional_fit_is_searched_from_the_other_bound_of_a_free_factor() {
    let model = model(
        &json!([{"name": "SR", "samples": [
            {"name": "w", "data": [0.8, 0.8], "modifiers": [
                {"name": "shape", "type": "histosys",
                 "data": {"hi_data": [2.04, 2.6], "lo_data": [0.143, 1.274]}},
                norm("shape", 0.823, 1.9),
                {"name": "free", "type": "shapefactor", "data": null}]},
            {"name": "signal", "data": [0.6, 0.9], "modifiers": [mu()]},
            {"name": "background", "data": [0.9, 0.6], "modifiers": []}]}]),
        &json!([{"name": "SR", "data": [0, 0]}]),
        &json!([]),
    );
    let result = test(&model, 2.977, TestStatistic::Qtilde);
    // The reference value is from fits on a grid of starting points. The other local minimum is at 13.769.
    let conditional = result.twice_nll_conditional.unwrap();
    assert!(conditional < 9.545_932_406_5 + 1e-6, "{conditional}");
}

/// Builds a model with two local minima. The parameters `shape` and `rate` can each compensate much of the effect of
/// `mu`.
fn two_valleys() -> Model {
    model(
        &json!([
            {"name": "CR", "samples": [
                {"name": "w", "data": [430.0], "modifiers": [norm("rate", 0.7, 1.3), norm("shape", 0.89, 1.3)]}]},
            {"name": "SR", "samples": [
                {"name": "w", "data": [130.0], "modifiers": [norm("rate", 0.7, 1.3)]},
                {"name": "signal", "data": [45.0], "modifiers": [
                    norm("shape", 1.03, 0.97), {"name": "nu", "type": "normfactor", "data": null}]},
                {"name": "background", "data": [2250.0], "modifiers": [
                    mu(), norm("shape", 0.23, 1.9), norm("rate", 1.3, 0.7),
                    {"name": "staterror_SR", "type": "staterror", "data": [240.0]}]},
                {"name": "top", "data": [250.0], "modifiers": [
                    norm("shape", 0.9, 1.1), {"name": "staterror_SR", "type": "staterror", "data": [95.0]}]}]}]),
        &json!([{"name": "CR", "data": [510]}, {"name": "SR", "data": [3100]}]),
        &json!([]),
    )
}

/// CLs decreases smoothly up to the bound. The search once ended at a value where its fits changed between local
/// minima, and reported a jump.
#[test]
fn a_limit_does_not_end_where_the_fits_change_valleys() {
    let model = two_valleys();
    let grid: Vec<f64> = (0..=40).map(|i| 0.25 * f64::from(i)).collect();
    let result = limit(&model, &LimitOptions::default().scan(grid));
    assert!(!result.warnings.iter().any(|w| w.contains("jumps")), "{:?}", result.warnings);
    assert_eq!(result.observed, None, "{:?}", result.cls_at_limit);
    assert!(result.warnings.iter().any(|w| w.contains("raise that bound")), "{:?}", result.warnings);
    assert!(result.expected.iter().all(Option::is_some) && result.expected.is_sorted());
    let scan = result.scan.unwrap();
    for (value, cls) in scan.mu_values.iter().zip(&scan.observed) {
        close(*cls, test(&model, *value, TestStatistic::Qtilde).cls.unwrap(), 1e-7);
        assert!(cls.unwrap() > 0.05, "{value}");
    }
    // Above the best fit, CLs decreases in small steps.
    let beyond = scan.mu_values.iter().position(|value| *value > result.mu_hat).unwrap();
    for pair in scan.observed[beyond..].windows(2) {
        let (a, b) = (pair[0].unwrap(), pair[1].unwrap());
        assert!(b <= a + 1e-9 && a - b < 0.3, "{pair:?}");
    }
}

/// The free and the conditional fit of a hypothesis test reach minima as low as those of single fits from other
/// starting points.
#[test]
fn a_test_does_not_keep_a_minimum_above_that_of_a_fit() {
    for model in [two_valleys()] {
        let session = open(&model);
        for value in [0.2, 1.0, 2.0, 2.977, 3.5, 4.241, 7.0] {
            let result = test(&model, value, TestStatistic::Qtilde);
            for search in [ns_core::Search::Standard, ns_core::Search::Thorough] {
                let options = FitOptions::default().search(search).uncertainties(false);
                let free = ns_inference::fit(&model, session.as_ref(), &options, Control::default()).unwrap();
                let held = options.fix("mu", value);
                let held = ns_inference::fit(&model, session.as_ref(), &held, Control::default()).unwrap();
                assert!(result.twice_nll_free < free.twice_nll + 1e-6, "{value}");
                let conditional = result.twice_nll_conditional.unwrap();
                assert!(conditional < held.twice_nll + 1e-6, "{value}: {conditional}, {}", held.twice_nll);
            }
        }
    }
}

/// A template has a negative down variation in one bin, and a normsys has a kink. The Asimov fit at the tested value
/// has several minima. The minimum nearest to the generating point is higher by 3 than the lowest minimum.
#[test]
fn the_asimov_statistic_is_not_that_of_a_higher_minimum() {
    let interpolation = Interpolation { normsys: NormsysCode::Code1, ..Interpolation::SMOOTH };
    let template = |lo: [f64; 3], hi: [f64; 3]| json!({"name": "shape", "type": "histosys", "data": {"lo_data": lo, "hi_data": hi}});
    let staterror = |of: [f64; 3]| json!({"name": "staterror_SR", "type": "staterror", "data": of});
    let model = model_of(
        &json!([
            {"name": "CR", "samples": [
                {"name": "signal", "data": [0.26, 0.0, 0.71], "modifiers": [mu()]},
                {"name": "background", "data": [7.2, 6.4, 3.8], "modifiers": []}]},
            {"name": "SR", "samples": [
                {"name": "signal", "data": [3.1, 2.9, 0.93], "modifiers": [
                    staterror([0.23, 0.24, 0.089]), norm("shape", 1.3, 0.7), mu(),
                    template([2.9, -3.3, 0.95], [2.4, 3.4, 1.4])]},
                {"name": "background", "data": [2.4, 0.92, 0.42], "modifiers": [
                    template([2.4, 0.93, 0.4], [2.6, 0.94, 0.43]), staterror([0.95, 0.0, 0.14])]}]}]),
        &json!([{"name": "CR", "data": [8, 5, 2]}, {"name": "SR", "data": [1.2, 4.2, 3.8]}]),
        &json!([]),
        &ModelOptions { interpolation, ..ModelOptions::default() },
    );
    let session = open(&model);
    let fitted = |options: FitOptions| {
        let options = options.search(ns_core::Search::Thorough).uncertainties(false);
        ns_inference::fit(&model, session.as_ref(), &options, Control::default()).unwrap()
    };
    let at_zero = fitted(FitOptions::default().fix("mu", 0.0));
    let ns_core::Seen::Given(asimov) =
        session.asimov(&at_zero.bestfit, &ns_core::Data::observed()).unwrap().seen
    else {
        panic!("counts are expected")
    };
    let of_asimov = FitOptions::default().data(ns_inference::FitData::Given(asimov));
    for value in [1.0, 2.8, 4.0] {
        let result = test(&model, value, TestStatistic::Qtilde);
        let free = fitted(of_asimov.clone()).twice_nll;
        let held = fitted(of_asimov.clone().fix("mu", value)).twice_nll;
        assert!(result.q_asimov < held - free + 1e-5, "{value}: {}, {}", result.q_asimov, held - free);
    }
    close(Some(test(&model, 2.8, TestStatistic::Qtilde).q_asimov), 13.876, 0.02);
}

/// At the lowest minimum for mu = 0, a bin without observed events has a negative expected yield, because a template
/// is negative far from its nominal shape. The Asimov set is then generated at another minimum.
#[test]
fn an_asimov_set_is_made_where_the_lowest_minimum_expects_less_than_nothing() {
    let model = model(
        &json!([{"name": "SR", "samples": [
            {"name": "w", "data": [0.8, 0.1, 0.8], "modifiers": [
                {"name": "shape", "type": "histosys",
                 "data": {"lo_data": [0.14, 0.1, 1.3], "hi_data": [2.0, 0.1, 2.6]}},
                {"name": "free", "type": "shapefactor", "data": null}]},
            {"name": "signal", "data": [0.6, 0.5, 0.9], "modifiers": [mu(), norm("shape", 0.9, 1.1)]},
            {"name": "background", "data": [0.63, 0.23, 0.36], "modifiers": []}]}]),
        &json!([{"name": "SR", "data": [0, 3, 0]}]),
        &json!([]),
    );
    for value in [0.5, 1.5, 3.0] {
        let result = test(&model, value, TestStatistic::Qtilde);
        assert!(result.cls.is_some() && result.q_asimov > 0.0, "{:?}", result.warnings);
    }
    assert!(limit(&model, &LimitOptions::default()).expected.iter().all(Option::is_some));
}

/// For data expected without a signal, `mu` is at its bound, and the slope of `-ln L` is 0 there. The uncertainty of
/// a background that is correlated with `mu` is then valid on one side only.
#[test]
fn an_uncertainty_through_a_parameter_at_its_bound_is_said_to_hold_on_one_side() {
    let bounded = |lower: f64| {
        model(
            &json!([{"name": "SR", "samples": [
                {"name": "signal", "data": [30.0, 21.0], "modifiers": [mu()]},
                {"name": "background", "data": [100.0, 50.0], "modifiers": [
                    {"name": "size", "type": "normfactor", "data": null}]}]}]),
            &json!([{"name": "SR", "data": [100, 50]}]),
            &json!([{"name": "mu", "bounds": [[lower, 10.0]]}]),
        )
    };
    let fit = |model: &Model| {
        ns_inference::fit(model, open(model).as_ref(), &FitOptions::default(), Control::default()).unwrap()
    };
    let one_sided = |warning: &&String| warning.contains("size holds on one side only");
    let touching = fit(&bounded(0.0));
    assert_eq!(touching.warnings.iter().filter(one_sided).count(), 1, "{:?}", touching.warnings);
    assert!(touching.uncertainties.iter().all(Option::is_some), "{:?}", touching.uncertainties);
    let inside = fit(&bounded(-5.0));
    assert_eq!(inside.warnings.iter().filter(one_sided).count(), 0, "{:?}", inside.warnings);
}

/// If the tested value is the value at which the Asimov set is generated, the warning says why CLs does not exist and
/// what to do.
#[test]
fn a_test_of_the_asimov_value_with_a_best_fit_below_says_why_there_is_no_cls() {
    let model = model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [10.0], "modifiers": [mu()]},
            {"name": "background", "data": [50.0], "modifiers": []}]}]),
        &json!([{"name": "SR", "data": [40]}]),
        &json!([{"name": "mu", "bounds": [[-5.0, 10.0]]}]),
    );
    let result = test(&model, 0.0, TestStatistic::Qtilde);
    assert_eq!((result.cls, result.q_asimov), (None, 0.0));
    let said = |w: &String| w.contains("the best fit -1 lies below it") && w.contains("use the statistic q");
    assert!(result.warnings.iter().any(said), "{:?}", result.warnings);
    assert!(test(&model, 0.0, TestStatistic::Q).cls.is_some());
}

/// Builds a model in which the signal has no effect on the expected yields.
fn without_effect(data: f64) -> Model {
    model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [0.0], "modifiers": [mu()]},
            {"name": "background", "data": [100.0], "modifiers": [norm("b", 0.9, 1.13)]}]}]),
        &json!([{"name": "SR", "data": [data]}]),
        &json!([{"name": "mu", "bounds": [[0.0, 5.0]], "inits": [1.0]}]),
    )
}

/// Rounding of two equal likelihoods once gave CLs+b = 0, and CLs was null.
#[test]
fn a_test_without_power_has_a_cls_of_1_and_says_why() {
    for data in [71.0, 93.0, 100.0, 107.0, 131.0] {
        let model = without_effect(data);
        for statistic in [TestStatistic::Qtilde, TestStatistic::Q] {
            for value in [0.3, 1.7, 5.0] {
                let result = test(&model, value, statistic);
                assert_eq!((result.q_obs, result.q_asimov), (0.0, 0.0), "{data} {value}");
                assert_eq!((result.cls, result.clsb, result.clb), (Some(1.0), Some(0.5), Some(0.5)));
                assert_eq!(result.expected_set.cls, [Some(1.0); 5]);
                let says = result.warnings.iter().any(|w| w.contains("has no effect on what is expected"));
                assert!(says, "{:?}", result.warnings);
            }
        }
    }
}

/// The background has a free normalisation, which can compensate the signal up to `mu` = 2, but not up to `mu` = 20.
#[test]
fn a_limit_beyond_the_bound_says_to_raise_it_where_others_undo_the_signal() {
    let bounded = |upper: f64| {
        model(
            &json!([{"name": "SR", "samples": [
                {"name": "signal", "data": [10.0], "modifiers": [mu()]},
                {"name": "background", "data": [50.0], "modifiers": [
                    {"name": "size", "type": "normfactor", "data": null}]}]}]),
            &json!([{"name": "SR", "data": [50]}]),
            &json!([{"name": "mu", "bounds": [[0.0, upper]]}]),
        )
    };
    let result = limit(&bounded(2.0), &LimitOptions::default());
    assert_eq!(result.observed, None);
    assert!(result.warnings.iter().any(|w| w.contains("raise that bound")), "{:?}", result.warnings);
    assert!(!result.warnings.iter().any(|w| w.contains("no effect")), "{:?}", result.warnings);
    let there = test(&bounded(2.0), 1.5, TestStatistic::Qtilde);
    assert_eq!((there.cls, there.clsb, there.clb), (Some(1.0), Some(0.5), Some(0.5)));
    assert!(there.warnings.iter().any(|w| w.contains("other parameters undo")), "{:?}", there.warnings);
    let result = limit(&bounded(20.0), &LimitOptions::default());
    let observed = result.observed.unwrap_or_else(|| panic!("{:?}", result.warnings));
    close(test(&bounded(20.0), observed, TestStatistic::Qtilde).cls, 0.05, 1e-6);
}

/// In the second model of this test, the samples `left` and `right` contribute to one bin each. No events are
/// observed in these bins. The likelihood depends only on the sum of the two normalisations, but the expected data
/// depend on each normalisation.
#[test]
fn an_asimov_set_that_the_data_leave_open_is_named() {
    let open_background = |in_first: [f64; 2]| {
        model(
            &json!([{"name": "SR", "samples": [
                {"name": "signal", "data": [2.0, 0.0], "modifiers": [mu()]},
                {"name": "background", "data": in_first, "modifiers": [norm("slope", 0.9, 1.1)]},
                {"name": "left", "data": [4.0, 4.0], "modifiers": [
                    {"name": "one", "type": "normfactor", "data": null}]},
                {"name": "right", "data": [4.0, 4.0], "modifiers": [
                    {"name": "two", "type": "normfactor", "data": null}]}]}]),
            &json!([{"name": "SR", "data": [9, 8]}]),
            &json!([]),
        )
    };
    // In the first model, `left` and `right` have the same shape. The expected data therefore do not change along the
    // flat direction.
    let result = test(&open_background([1.0, 1.0]), 1.0, TestStatistic::Qtilde);
    assert!(!result.warnings.iter().any(|w| w.contains("is not unique")), "{:?}", result.warnings);

    let free = model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [2.0, 0.0, 1.0], "modifiers": [mu()]},
            {"name": "fixed", "data": [0.0, 0.0, 5.0], "modifiers": []},
            {"name": "left", "data": [4.0, 0.0, 4.0], "modifiers": [
                {"name": "one", "type": "normfactor", "data": null}]},
            {"name": "right", "data": [0.0, 4.0, 4.0], "modifiers": [
                {"name": "two", "type": "normfactor", "data": null}]}]}]),
        &json!([{"name": "SR", "data": [0, 0, 30]}]),
        &json!([]),
    );
    let result = test(&free, 1.0, TestStatistic::Qtilde);
    assert!(result.warnings.iter().any(|w| w.contains("is not unique")), "{:?}", result.warnings);
}

/// With few toys, it is possible that no toy of the tested hypothesis has a test statistic of at least the observed
/// one if the tested value is the asymptotic limit. The search must then continue at smaller values, not towards the
/// upper bound.
#[test]
fn a_toy_limit_is_looked_for_below_values_where_no_toy_counts() {
    let model = model(
        &json!([{"name": "SR", "samples": [
            {"name": "signal", "data": [30.0, 60.0], "modifiers": [mu()]},
            {"name": "background", "data": [500.0, 400.0], "modifiers": [norm("b", 0.97, 1.03)]}]}]),
        &json!([{"name": "SR", "data": [510, 430]}]),
        &json!([{"name": "mu", "bounds": [[-10.0, 100.0]]}]),
    );
    let options = ToyLimitOptions::default().n_toys(60).seed(0).expected(true);
    let result = upper_limit_toys(&model, open(&model).as_ref(), &options, Control::default()).unwrap();
    let formula = limit(&model, &LimitOptions::default());
    assert!(!result.warnings.iter().any(|w| w.contains("up to the upper bound")), "{:?}", result.warnings);
    let highest = result.points.iter().map(|p| p.mu).fold(0.0, f64::max);
    assert!(highest < 2.0 * formula.expected[4].unwrap(), "{highest}");
    for (found, reason) in result.expected.iter().zip(["-2", "-1", "+0", "+1", "+2"]) {
        let said = result.warnings.iter().any(|w| w.contains(reason) && w.contains("few toys"));
        assert!(found.is_some() || said, "{reason}: {:?}", result.warnings);
    }
}

/// Every repetition of the searches found lower minima, up to 1 000 tests, although the free fit itself had none.
#[test]
fn a_search_that_is_given_up_is_not_converged() {
    let y = 1e300;
    let histosys =
        json!({"name": "h", "type": "histosys", "data": {"hi_data": [51.0, y], "lo_data": [49.0, y * 0.9]}});
    let staterror = json!({"name": "stat", "type": "staterror", "data": [1.0, y / 10.0]});
    let channels = json!([{"name": "SR", "samples": [
        {"name": "signal", "data": [5.0, y], "modifiers": [mu()]},
        {"name": "background", "data": [50.0, y], "modifiers": [norm("size", 1e-10, 1e10), histosys, staterror]}]}]);
    let model = model(&channels, &json!([{"name": "SR", "data": [52.0, y]}]), &json!([]));
    let result = limit(&model, &LimitOptions::default());
    assert!(!result.converged && result.observed.is_none(), "{result:?}");
    assert!(
        result.warnings.iter().any(|warning| warning.contains("given up after")),
        "{:?}",
        result.warnings
    );
    assert!(result.n_evaluations < 700, "{}", result.n_evaluations);
}
