//! Tests of searches at many places: the global p-value by crossings against toys.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{
    FitData, FitOptions, LookElsewhereOptions, LookElsewhereResult, look_elsewhere, open_session,
};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::json;

/// A signal whose parameter `scale` is searched, in 3 bins with a background. If `is_shared`, `scale` acts on the background
/// too.
fn binned(is_shared: bool) -> Model {
    let mut on_background = vec![json!({"name": "norm", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}})];
    if is_shared {
        on_background.push(json!({"name": "scale", "type": "normfactor", "data": null}));
    }
    let document = json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [5.0, 5.0, 5.0], "modifiers": [
                {"name": "mu", "type": "normfactor", "data": null},
                {"name": "scale", "type": "normfactor", "data": null}]},
            {"name": "background", "data": [50.0, 40.0, 30.0], "modifiers": on_background}]}],
        "observations": [{"name": "SR", "data": [55.0, 42.0, 29.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "mu", "inits": [1.0], "bounds": [[0.0, 10.0]]},
            {"name": "scale", "inits": [1.0], "bounds": [[0.5, 2.0]]}]}}],
        "version": "1.0.0",
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn parameters_that_act_on_more_than_the_signal_are_refused() {
    let refused = |model: &Model, name: &str| {
        let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        let options = LookElsewhereOptions::along(name).points(5);
        look_elsewhere(model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    let both = binned(true);
    assert!(refused(&both, "scale").contains("acts on more than the signal"), "{}", refused(&both, "scale"));
    let other = binned(false);
    assert!(refused(&other, "norm").contains("has a constraint"), "{}", refused(&other, "norm"));
    let alone = found(&other, &LookElsewhereOptions::along("scale").points(5));
    assert!(alone.q0.iter().all(Option::is_some), "{alone:?}");
}

/// A falling spectrum with `n` regularly spaced events, and a peak of `extra` events at 131, where `mass` is searched.
fn model(n: usize, extra: usize) -> Model {
    let slope = 0.03;
    let all = 1.0 - (-slope * 50.0_f64).exp();
    let quantile = |i: usize| 100.0 - (1.0 - all * (i as f64 + 0.5) / n as f64).ln() / slope;
    let entries: Vec<[f64; 1]> = (0..n)
        .map(|i| [quantile(i)])
        .chain((0..extra).map(|i| [131.0 + 3.0 * ((i as f64 + 0.5) / extra as f64 - 0.5)]))
        .collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "signal", "type": "gaussian_dist", "x": "m", "mean": "mass", "sigma": 1.5},
            {"name": "background", "type": "exponential_dist", "x": "m", "c": "slope"},
            {"name": "all", "type": "mixture_dist", "summands": ["signal", "background"],
             "coefficients": ["n_signal", "n_background"], "extended": true}],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "m", "min": 100.0, "max": 150.0}],
                  "entries": entries}],
        "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "n_signal", "value": 5.0, "min": 0.0, "max": 500.0},
            {"name": "mass", "value": 120.0, "min": 100.0, "max": 150.0},
            {"name": "slope", "value": 0.03, "min": 0.0, "max": 0.3},
            {"name": "n_background", "value": n as f64, "min": 1.0, "max": 5000.0}]}],
        "analyses": [{"name": "search", "likelihood": "L", "parameters_of_interest": ["n_signal"]}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

fn found(model: &Model, options: &LookElsewhereOptions) -> LookElsewhereResult {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    look_elsewhere(model, session.as_ref(), options, Control::default()).unwrap()
}

fn along_mass() -> LookElsewhereOptions {
    LookElsewhereOptions::along("mass").start(Some(105.0)).stop(Some(145.0)).points(61)
}

#[test]
fn crossings_give_the_global_p_value_of_toys() {
    let model = model(200, 12);
    let result = found(&model, &along_mass().n_toys(Some(400)).seed(1));
    assert!(result.converged, "{:?}", result.warnings);
    assert!((result.best_place - 131.0).abs() < 0.5 && result.q0_max > 3.0, "{result:?}");
    assert_eq!((result.poi.as_str(), result.param.as_str()), ("n_signal", "mass"));
    let (toys, error) = (result.p_global_toys.unwrap(), result.p_global_toys_error.unwrap());
    // The formula is an upper bound that is close where crossings are rare.
    let apart = (result.p_global - toys).abs();
    assert!(apart < 4.0 * error.hypot(result.p_global_error), "{} +- {error}: {result:?}", toys);
    assert!(
        result.trial_factor.is_some_and(|t| t > 3.0) && result.trial_factor_error.is_some_and(|e| e > 0.0)
    );
    assert!(result.z_global.is_some_and(|z| z < result.z_local) && result.p_local < result.p_global);
    let again = found(&model, &along_mass().n_toys(Some(400)).seed(1));
    assert_eq!((again.n_crossings, again.p_global_toys), (result.n_crossings, result.p_global_toys));
}

#[test]
fn the_data_have_crossings_too() {
    let result = found(&model(200, 12), &along_mass());
    assert_eq!((&*result.counted_in, result.n_toys, result.p_global_toys), ("data", 0, None));
    assert!(result.n_crossings >= 1.0 && result.n_crossings_error >= 1.0, "{result:?}");
    // The local p-value is that of a fit with the place held.
    assert!((result.z_local - result.q0_max.sqrt()).abs() < 1e-12);
    let largest = result.q0.iter().flatten().copied().fold(0.0, f64::max);
    assert!(result.q0_max >= largest && result.q0_max < 1.1 * largest + 0.1);
}

#[test]
fn asimov_data_have_an_estimated_error() {
    let fit = FitOptions::default().data(FitData::Asimov { poi: Some(20.0) });
    let result = found(&model(200, 0), &along_mass().points(41).fit(fit));
    assert!(result.asimov_error.is_some_and(|error| error < 1e-4), "{result:?}");
    // The data are those expected from a signal at the initial mass.
    assert!((result.best_place - 120.0).abs() < 0.1, "{result:?}");
    assert_eq!(found(&model(200, 12), &along_mass().points(5)).asimov_error, None);
}

#[test]
fn few_places_in_the_data_do_not_tell_what_they_hide() {
    let result = found(&model(200, 12), &along_mass().points(5));
    assert!(!result.converged && result.warnings.iter().any(|w| w.contains("may be hidden")), "{result:?}");
}

#[test]
fn few_places_hide_crossings() {
    let result = found(&model(200, 12), &along_mass().points(9).n_toys(Some(60)));
    assert!(
        !result.converged && result.warnings.iter().any(|w| w.ends_with("take more points")),
        "{result:?}"
    );
}

#[test]
fn wrong_settings_are_refused() {
    let model = model(50, 5);
    let session = open_session(&model, &Execution::default()).unwrap();
    let refused = |options: LookElsewhereOptions| {
        look_elsewhere(&model, session.as_ref(), &options, Control::default()).unwrap_err().to_string()
    };
    assert!(refused(LookElsewhereOptions::along("n_signal")).contains("name another parameter"));
    assert!(refused(LookElsewhereOptions::along("width")).contains("no parameter 'width'"));
    assert!(refused(along_mass().start(Some(150.0))).contains("rising range"));
    assert!(refused(along_mass().stop(Some(151.0))).contains("within its bounds 100 to 150"));
    assert!(refused(along_mass().points(2)).contains("3 to 100000"));
    assert!(refused(along_mass().level(0.0)).contains("above 0"));
    assert!(refused(along_mass().n_toys(Some(0))).contains("ask for 1 to"));
}
