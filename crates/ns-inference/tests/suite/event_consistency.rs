//! Checks that the analyses of random models with events agree with each other and with single fits. The test
//! `consistency` does the same for binned models. The environment variable `NEXTSTAT_EVENT_MODELS` sets the number of
//! models, for example 600.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use crate::property;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{Control, Execution, Model, Session};
use ns_inference::toys::{FitToysOptions, fit_toys};
use ns_inference::{
    FitData, FitOptions, HypotestOptions, LimitOptions, ScanAxis, ScanOptions, fit, hypotest, open_session,
    scan, significance, upper_limit,
};
use property::checks::{Depth, check_model};
use property::events::draw;

/// Default number of models to check.
const MODELS: u64 = 4;

/// Returns the number of models to check.
fn models() -> u64 {
    std::env::var("NEXTSTAT_EVENT_MODELS").ok().and_then(|n| n.parse().ok()).unwrap_or(MODELS)
}

/// Calls `each` with the index of each model, on all CPUs. A call returns one line per error. If there are any lines,
/// prints them and fails.
fn for_all(each: &(dyn Fn(u64) -> Vec<String> + Sync)) {
    let (next, found, count) = (AtomicU64::new(0), Mutex::new(Vec::new()), models());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    found.lock().unwrap().extend(each(index).into_iter().map(|line| (index, line)));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|f| f.0);
    let lines: Vec<String> = found.iter().map(|(index, line)| format!("model {index}: {line}")).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}

/// Returns the lowest `-ln L` with the parameter of interest fixed at `mu`, or free if `mu` is `None`.
fn lowest(model: &Model, session: &dyn Session, mu: Option<f64>) -> Result<f64, String> {
    let options =
        mu.into_iter().fold(FitOptions::default().uncertainties(false), |options, mu| options.fix("mu", mu));
    let result = fit(model, session, &options, Control::default()).map_err(|error| error.to_string())?;
    if result.converged { Ok(result.nll) } else { Err(format!("mu {mu:?}: {}", result.termination_reason)) }
}

/// Compares the analyses of a model with single fits. Returns a line for each disagreement.
fn compare(index: u64, model: &Model, session: &dyn Session) -> Result<Vec<String>, String> {
    let said = |error: ns_inference::InferenceError| error.to_string();
    let mut found = Vec::new();
    let mut agree = |what: &str, one: f64, other: f64, tolerance: f64| {
        if !((one - other).abs() <= tolerance) {
            found.push(format!("{what}: {one} and {other}"));
        }
    };
    let silent = Control::default();
    let best = fit(model, session, &FitOptions::default().minos("mu"), silent).map_err(said)?;
    let free = lowest(model, session, None)?;
    agree("two fits", best.nll, free, 1e-7);
    for interval in &best.minos {
        for end in [interval.lower_crossing, interval.upper_crossing].into_iter().flatten() {
            agree("MINOS", lowest(model, session, Some(end))? - free, 0.5, 1e-5);
        }
    }
    let discovery = significance(model, session, &FitOptions::default(), silent).map_err(said)?;
    let rise = 2.0 * (lowest(model, session, Some(0.0))? - free);
    agree("q0", discovery.q0, rise.max(0.0), 1e-5);
    let sigma = best.uncertainties[0].unwrap_or(0.5);
    for mu in [1.0, (best.bestfit[0] + sigma).min(9.0)] {
        let test = hypotest(model, session, mu, &HypotestOptions::default(), silent).map_err(said)?;
        agree("the free fit of a test", 0.5 * test.twice_nll_free, free, 1e-7);
        let rise = 2.0 * (lowest(model, session, Some(mu))? - free);
        agree("q of a test", test.q_obs, if best.bestfit[0] > mu { 0.0 } else { rise }, 1e-5);
    }
    let options = ScanOptions::new(ScanAxis::default().range(0.1, 3.0).points(3));
    let scanned = scan(model, session, &options, silent).map_err(said)?;
    for (mu, rise) in scanned.mu_values.iter().zip(&scanned.twice_delta_nll) {
        let other = 2.0 * (lowest(model, session, Some(*mu))? - free);
        if !rise.is_some_and(|rise| (rise - other).abs() < 1e-5) {
            found.push(format!("scan at {mu}: {rise:?} and {other}"));
        }
    }
    // A limit makes hundreds of fits of Asimov data. With two observables these data have at least 44 100 nodes.
    if index % 8 != 2 || model.event_channels.iter().any(|channel| channel.observables.len() > 1) {
        return Ok(found);
    }
    let limit = upper_limit(model, session, &LimitOptions::default(), silent).map_err(said)?;
    // The observed limit and the median expected limit.
    let limits = [(0, limit.observed), (3, limit.expected.get(2).copied().flatten())];
    for (i, mu) in limits {
        let Some(mu) = mu else {
            found.push(format!("no limit: {:?}", limit.warnings));
            break;
        };
        let test = hypotest(model, session, mu, &HypotestOptions::default(), silent).map_err(said)?;
        let cls = if i == 0 { test.cls } else { test.expected_set.cls[i - 1] };
        if !(cls.unwrap_or(f64::NAN) - 0.05).abs().le(&1e-6) {
            found.push(format!("CLs at limit {i} {mu}: {cls:?}"));
        }
    }
    Ok(found)
}

/// If `NEXTSTAT_EVENT_DEEP` is set, all analyses are also compared with thorough searches. This takes seconds per
/// model.
#[test]
fn analyses_of_random_models_with_events_are_consistent() {
    let deep = std::env::var_os("NEXTSTAT_EVENT_DEEP").is_some();
    for_all(&|index| {
        let model = draw(index);
        if deep {
            let report = check_model(index, &model, Depth::Part);
            let all = report.violations.iter().chain(&report.refused);
            return all.map(|f| format!("{}: {}", f.property, f.numbers)).collect();
        }
        let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        compare(index, &model, session.as_ref()).unwrap_or_else(|error| vec![error])
    });
}

/// Fits Asimov data of a model. Returns a line for each parameter whose best fit differs from the value that
/// generated the data, and for each analysis that rejects the data.
fn asimov(index: u64) -> Vec<String> {
    let model = draw(index);
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = FitOptions::default().data(FitData::Asimov { poi: Some(1.0) });
    let silent = Control::default();
    let mut found = Vec::new();
    match fit(&model, session.as_ref(), &options, silent) {
        Ok(result) => {
            for (i, parameter) in model.parameters.iter().enumerate() {
                let wanted = if parameter.name == "mu" { 1.0 } else { parameter.init };
                let sigma = result.uncertainties[i].unwrap_or(f64::INFINITY);
                // The auxiliary data of Asimov data belong to the same point. No constraint therefore pulls a
                // parameter away from it.
                if !result.converged || !((result.bestfit[i] - wanted).abs() < 1e-3 * sigma) {
                    found.push(format!("{}: {} and {wanted}", parameter.name, result.bestfit[i]));
                }
            }
        }
        Err(error) => found.push(error.to_string()),
    }
    match significance(&model, session.as_ref(), &options, silent) {
        Ok(result) if result.q0.is_finite() && result.q0 > 0.0 => {}
        other => found.push(format!("significance: {other:?}")),
    }
    let test = HypotestOptions::default().fit(options);
    match hypotest(&model, session.as_ref(), 1.0, &test, silent) {
        Ok(result) if result.q_obs.abs() < 1e-6 => {}
        other => found.push(format!("test: {other:?}")),
    }
    found
}

/// A fit of Asimov data ends at the point at which the data were generated. All analyses accept the data.
#[test]
fn asimov_data_of_random_models_with_events_are_fitted() {
    for_all(&asimov);
}

/// These models have two observables and densities whose second derivative jumps. Such jumps once moved the best fit
/// by more than 0.001 of a parameter's uncertainty.
#[test]
fn asimov_data_of_two_observables_are_fitted_although_densities_bend_suddenly() {
    let found: Vec<String> = [133, 297].into_iter().flat_map(asimov).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Toys can be drawn from every model, and the fits of the toys converge.
#[test]
fn toys_of_random_models_with_events_are_fitted() {
    for_all(&|index| {
        let model = draw(index);
        let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
        let options = FitToysOptions::default().n_toys(10);
        match fit_toys(&model, session.as_ref(), &options, Control::default()) {
            Ok(result) if result.n_nonconverged + result.n_error == 0 => Vec::new(),
            Ok(result) => vec![format!("{} not converged, {} failed", result.n_nonconverged, result.n_error)],
            Err(error) => vec![error.to_string()],
        }
    });
}
