//! Fits of models whose likelihood is flat along a direction, and fits with a parameter on a bound where the slope
//! vanishes.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use ns_core::{Control, Execution, Model, Session};
use ns_inference::{
    FitData, FitOptions, FitResult, HypotestOptions, Impact, LimitOptions, RankingOptions, fit, hypotest,
    open_session, ranking, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

fn open(workspace: &Value) -> (Model, Box<dyn Session>) {
    let text = serde_json::to_vec(workspace).unwrap();
    let model = Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    (model, session)
}

fn best(workspace: &Value, options: &FitOptions) -> FitResult {
    let (model, session) = open(workspace);
    fit(&model, session.as_ref(), options, Control::default()).unwrap()
}

fn factor(name: &str) -> Value {
    json!({"name": name, "type": "normfactor", "data": null})
}

fn normsys(name: &str, lo: f64, hi: f64) -> Value {
    json!({"name": name, "type": "normsys", "data": {"lo": lo, "hi": hi}})
}

fn sample(name: &str, data: &[f64], modifiers: &[Value]) -> Value {
    json!({"name": name, "data": data, "modifiers": modifiers})
}

fn workspace(samples: &[Value], observed: &[f64], poi: &str, parameters: &[Value]) -> Value {
    json!({
        "version": "1.0.0",
        "channels": [{"name": "SR", "samples": samples}],
        "observations": [{"name": "SR", "data": observed}],
        "measurements": [{"name": "m", "config": {"poi": poi, "parameters": parameters}}]
    })
}

fn bounds(name: &str, lower: f64, upper: f64, init: f64) -> Value {
    json!({"name": name, "bounds": [[lower, upper]], "inits": [init]})
}

/// Checks that exactly the parameters `flat` are flat and have no uncertainty, and that one warning names them all.
fn assert_flat(result: &FitResult, flat: &[&str]) {
    let mut found: Vec<&str> = result.flat.iter().map(String::as_str).collect();
    let mut right = flat.to_vec();
    found.sort_unstable();
    right.sort_unstable();
    assert!(result.converged, "{}", result.termination_reason);
    assert_eq!(found, right, "{result:?}");
    assert!(flat.iter().all(|name| result.uncertainty(name).is_none()));
    let named = |w: &&String| w.contains("only in combination") && flat.iter().all(|name| w.contains(name));
    assert_eq!(result.warnings.iter().filter(named).count(), 1, "{:?}", result.warnings);
}

fn close(found: f64, right: f64) {
    assert!((found - right).abs() <= 1e-6 * (1.0 + right.abs()), "{found}, not {right}");
}

#[test]
fn a_product_of_free_factors_has_no_uncertainties() {
    let signal = [sample("signal", &[2.0], &[factor("mu"), factor("scale")])];
    let result = best(&workspace(&signal, &[12.0], "mu", &[]), &FitOptions::default());
    assert_flat(&result, &["mu", "scale"]);
    // The parameter of interest keeps its start value.
    close(result.value("mu").unwrap(), 1.0);
    close(result.value("scale").unwrap(), 6.0);
    // Without a parameter of interest, the factors are those of the nearest point.
    let result = best(&workspace(&signal, &[12.0], "", &[]), &FitOptions::default());
    assert_flat(&result, &["mu", "scale"]);
    close(result.value("mu").unwrap(), 6.0_f64.sqrt());
    close(result.value("scale").unwrap(), 6.0_f64.sqrt());
    // The bound of the other factor keeps the parameter of interest from its start value.
    let bounded = [bounds("scale", 0.0, 4.0, 1.0)];
    let result = best(&workspace(&signal, &[12.0], "mu", &bounded), &FitOptions::default());
    assert_flat(&result, &["mu", "scale"]);
    close(result.value("mu").unwrap(), 1.5);
    close(result.value("scale").unwrap(), 4.0);
}

#[test]
fn two_factors_in_one_bin_keep_the_start_value_of_the_parameter_of_interest() {
    let samples = [
        sample("signal", &[3.0], &[factor("mu")]),
        sample("background", &[40.0], &[factor("norm"), normsys("theory", 0.9, 1.1)]),
    ];
    let parameters = [bounds("mu", 0.0, 10.0, 1.2)];
    let workspace = workspace(&samples, &[37.0], "mu", &parameters);
    let result = best(&workspace, &FitOptions::default());
    assert_flat(&result, &["mu", "norm"]);
    close(result.value("mu").unwrap(), 1.2);
    close(result.value("norm").unwrap(), (37.0 - 3.6) / 40.0);
    close(result.uncertainty("theory").unwrap(), 1.0);
    // A given start point takes the place of the start values.
    let values = [("mu", 2.5), ("norm", 1.0), ("theory", 0.0)];
    let at = |name: &String| values.iter().find(|(known, _)| known == name).unwrap().1;
    let start: Vec<f64> = result.parameter_names.iter().map(at).collect();
    let result = best(&workspace, &FitOptions::default().start(start));
    close(result.value("mu").unwrap(), 2.5);
}

#[test]
fn rankings_and_limits_of_a_flat_parameter_are_null() {
    let samples = [
        sample("signal", &[3.0], &[factor("mu")]),
        sample("background", &[40.0], &[factor("norm"), normsys("theory", 0.9, 1.1)]),
    ];
    let (model, session) = open(&workspace(&samples, &[37.0], "mu", &[]));
    let options = RankingOptions::default().impacts(vec![Impact::Refit, Impact::Covariance, Impact::Global]);
    let result = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    for entry in &result.ranking {
        for impacts in [&entry.refit, &entry.covariance, &entry.global].into_iter().flatten() {
            assert_eq!(impacts.largest(), None, "{}", entry.name);
        }
    }
    assert_eq!(result.mu_uncertainty, None);
    let limit = upper_limit(&model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap();
    assert_eq!(limit.observed, None);
    assert!(limit.warnings.iter().any(|w| w.contains("other parameters undo")), "{:?}", limit.warnings);
    assert!(limit.warnings.iter().any(|w| w.contains("do not determine mu")), "{:?}", limit.warnings);
}

/// A generator of numbers in [0, 1), so that the models of a test are always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.roll()
    }
}

/// Returns a random model in which the factors `names` act only as a product (or, if `sum` is true, only in a sum).
fn random(dice: &mut Dice, names: &[&str], sum: bool) -> Value {
    let n_bins = 1 + (3.0 * dice.roll()) as usize;
    let size = 10_f64.powf(dice.between(0.5, 3.5));
    let shape: Vec<f64> = (0..n_bins).map(|_| size * dice.between(0.2, 1.0)).collect();
    let mut samples = Vec::new();
    if sum {
        for (k, name) in names.iter().enumerate() {
            let part = 10_f64.powf(dice.between(-1.0, 0.0));
            let data: Vec<f64> = shape.iter().map(|x| part * x).collect();
            samples.push(sample(&format!("s{k}"), &data, &[factor(name)]));
        }
    } else {
        let factors: Vec<Value> = names.iter().map(|name| factor(name)).collect();
        samples.push(sample("s", &shape, &factors));
    }
    let excess = [0.9, 1.0, 1.5, 3.0][(4.0 * dice.roll()) as usize];
    let mut observed = vec![0.0; n_bins];
    for part in &samples {
        for (to, x) in observed.iter_mut().zip(part["data"].as_array().unwrap()) {
            *to += x.as_f64().unwrap();
        }
    }
    for to in &mut observed {
        *to = (*to * excess + to.sqrt() * dice.between(-1.0, 1.0)).round().max(1.0);
    }
    let background: Vec<f64> = (0..n_bins).map(|b| 0.3 * shape[b]).collect();
    samples.push(sample("b", &background, &[normsys("theory", 0.93, 1.08)]));
    for (to, x) in observed.iter_mut().zip(&background) {
        *to = (*to + x).round();
    }
    workspace(&samples, &observed, names[0], &[])
}

#[test]
fn every_flat_direction_is_seen_whatever_the_data() {
    let mut dice = Dice(7);
    for round in 0..200 {
        let names: &[&str] = if round % 3 == 0 { &["mu", "k", "l"] } else { &["mu", "k"] };
        let model = random(&mut dice, names, round % 2 == 0);
        let result = best(&model, &FitOptions::default());
        assert_flat(&result, names);
        // The names decide the order of the parameters. The result must not depend on it.
        let text = model.to_string().replace("\"mu\"", "\"z\"");
        let renamed = best(&serde_json::from_str(&text).unwrap(), &FitOptions::default());
        close(renamed.twice_nll, result.twice_nll);
        for name in names {
            let other = if *name == "mu" { "z" } else { name };
            close(renamed.value(other).unwrap(), result.value(name).unwrap());
        }
    }
}

/// A model with a signal over a background with an uncertainty of 10 % to one side and 12 % to the other.
fn with_background(signal: &[f64], background: &[f64]) -> Value {
    let shifted = |factor: f64| background.iter().map(|b| factor * b).collect::<Vec<f64>>();
    let data = json!({"lo_data": shifted(0.9), "hi_data": shifted(1.12)});
    let theory = json!({"name": "theory", "type": "histosys", "data": data});
    let samples = [sample("signal", signal, &[factor("mu")]), sample("background", background, &[theory])];
    let counts = vec![1.0; signal.len()];
    workspace(&samples, &counts, "mu", &[bounds("mu", 0.0, 10.0, 1.0)])
}

#[test]
fn a_slope_of_zero_at_a_bound_does_not_decide_by_its_sign() {
    let mut dice = Dice(11);
    for _ in 0..120 {
        let n_bins = 1 + (4.0 * dice.roll()) as usize;
        let signal: Vec<f64> = (0..n_bins).map(|_| dice.between(0.5, 9.0)).collect();
        let background: Vec<f64> = (0..n_bins).map(|_| dice.between(3.0, 400.0)).collect();
        let mut options = FitOptions::default();
        options.data = FitData::Asimov { poi: Some(0.0) };
        let result = best(&with_background(&signal, &background), &options);
        let sigma = result.uncertainty("mu");
        assert!(sigma.is_some() && result.at_bound.is_empty() && result.flat.is_empty(), "{result:?}");
        let said = |w: &String| w.contains("mu lies at its bound 0, where its slope vanishes");
        assert!(result.warnings.iter().any(said), "{:?}", result.warnings);
        // Fisher's information with all derivatives at the true point.
        let (mut mm, mut ma, mut aa) = (0.0, 0.0, 1.0);
        for (s, b) in signal.iter().zip(&background) {
            let theory = 0.5 * (1.12 - 0.9) * b;
            (mm, ma, aa) = (mm + s * s / b, ma + s * theory / b, aa + theory * theory / b);
        }
        let right = (aa / (mm * aa - ma * ma)).sqrt();
        assert!((sigma.unwrap() / right - 1.0).abs() < 1e-5, "{sigma:?}, not {right}");
    }
}

#[test]
fn a_real_slope_holds_a_parameter_on_its_bound() {
    let samples = [
        sample("signal", &[5.0], &[factor("mu")]),
        sample("background", &[50.0], &[normsys("theory", 0.9, 1.1)]),
    ];
    let result =
        best(&workspace(&samples, &[45.0], "mu", &[bounds("mu", 0.0, 10.0, 1.0)]), &FitOptions::default());
    assert_eq!((result.at_bound, result.uncertainties[0]), (vec!["mu".to_owned()], None));
}

#[test]
fn bounds_in_the_way_of_a_flat_direction_hold_its_parameters() {
    // Both signals are at their lower bounds with slope 0. They could change together only if one became negative.
    let samples = [
        sample("a", &[5.0], &[factor("mu")]),
        sample("b", &[8.0], &[factor("nu")]),
        sample("background", &[50.0], &[]),
    ];
    let parameters = [bounds("mu", 0.0, 10.0, 0.0), bounds("nu", 0.0, 10.0, 0.0)];
    let result = best(&workspace(&samples, &[50.0], "mu", &parameters), &FitOptions::default());
    assert!(result.flat.is_empty(), "{result:?}");
    close(result.value("mu").unwrap(), 0.0);
    assert_eq!(result.at_bound, ["mu", "nu"]);
}

#[test]
fn a_test_near_zero_and_bounds_without_zero_have_their_reasons() {
    let samples = [sample("signal", &[10.0], &[factor("mu")]), sample("background", &[50.0], &[])];
    let (model, session) = open(&workspace(&samples, &[65.0], "mu", &[]));
    let test =
        hypotest(&model, session.as_ref(), 1e-12, &HypotestOptions::default(), Control::default()).unwrap();
    assert!(!test.warnings.iter().any(|w| w.contains("no effect")), "{:?}", test.warnings);
    assert!(test.warnings.iter().any(|w| w.contains("so close to 0")), "{:?}", test.warnings);
    let (model, session) = open(&workspace(&samples, &[65.0], "mu", &[bounds("mu", -3.0, -1.0, -2.0)]));
    let limit = upper_limit(&model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap();
    assert_eq!(limit.observed, None);
    assert!(limit.warnings.iter().any(|w| w.contains("exclude 0")), "{:?}", limit.warnings);
    assert!(!limit.warnings.iter().any(|w| w.contains("no effect")), "{:?}", limit.warnings);
    // A signal without events still has no effect.
    let samples = [sample("signal", &[0.0], &[factor("mu")]), sample("background", &[50.0], &[])];
    let (model, session) = open(&workspace(&samples, &[65.0], "mu", &[]));
    let limit = upper_limit(&model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap();
    assert!(limit.warnings.iter().any(|w| w.contains("no effect")), "{:?}", limit.warnings);
}

#[test]
fn a_product_that_is_best_at_zero_has_the_same_faces_whatever_the_rounding() {
    let signal = sample("signal", &[6.0, 9.0, 3.0], &[factor("mu"), factor("scale")]);
    let background = sample("background", &[50.0, 42.0, 61.0], &[normsys("theory", 0.9, 1.1)]);
    for shift in [0.0, 3e-15, -3e-15, 1e-13, -1e-13] {
        let observed = [50.0, 42.0, 61.0].map(|x| x * (1.0 + shift));
        let model = workspace(&[signal.clone(), background.clone()], &observed, "mu", &[]);
        let result = best(&model, &FitOptions::default());
        // The parameter of interest keeps its start value, and the other factor is 0 with the uncertainty of the product.
        assert_eq!(result.flat, ["mu"], "{result:?}");
        close(result.value("mu").unwrap(), 1.0);
        assert!(result.value("scale").unwrap() < 1e-9 && result.uncertainty("scale").unwrap() > 0.1);
    }
}
