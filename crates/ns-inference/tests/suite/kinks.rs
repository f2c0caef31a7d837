//! Tests of scans and rankings of models with kinks. The `-ln L` of a fit in a scan or a ranking must not be above
//! that of an independent full fit.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ns_core::{Control, Execution, Interpolation, Model, Session};
use ns_inference::ranking::Side;
use ns_inference::{
    FitOptions, Impact, RankingOptions, ScanAxis, ScanOptions, fit, open_session, ranking, scan,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn cpu(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap()
}

/// Builds a model with many weak modifiers whose up and down variations have similar effects. With piecewise
/// interpolation codes, many regions between kinks then have their own minimum. Each region is a combination of signs
/// of the parameters.
fn many_kinks() -> Model {
    let wave = |i: usize, j: usize| (1.7 * i as f64 + 2.3 * j as f64 + 0.4 * (i * j) as f64).sin();
    let nominal = [60.0, 45.0, 30.0, 20.0];
    let modifiers: Vec<serde_json::Value> = (0..14)
        .map(|i| {
            let side = |offset: usize| -> Vec<f64> {
                (0..4)
                    .map(|b| nominal[b] * (1.0 + 0.06 * wave(i + offset, b) + 0.04 * wave(i, b + 7)))
                    .collect()
            };
            let (lo, hi) = (1.0 + 0.05 * wave(i, 11), 1.0 + 0.05 * wave(i, 12));
            match i % 2 {
                0 => serde_json::json!({"name": format!("shape_{i}"), "type": "histosys",
                    "data": {"lo_data": side(3), "hi_data": side(5)}}),
                _ => serde_json::json!({"name": format!("norm_{i}"), "type": "normsys",
                    "data": {"lo": lo, "hi": hi}}),
            }
        })
        .collect();
    let workspace = serde_json::json!({
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": [2.0, 5.0, 9.0, 14.0],
             "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": nominal, "modifiers": modifiers}]}],
        "observations": [{"name": "SR", "data": [66.0, 47.0, 42.0, 33.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0"});
    let options = ModelOptions { interpolation: Interpolation::PIECEWISE, ..ModelOptions::default() };
    Workspace::from_slice(workspace.to_string().as_bytes()).unwrap().model(&options).unwrap()
}

#[test]
fn impacts_between_kinks_are_no_higher_than_full_fits() {
    let model = many_kinks();
    let session = cpu(&model);
    let options = RankingOptions::default().prefit(true).impacts([Impact::Refit, Impact::Global]);
    let result = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    let quick = FitOptions::default().uncertainties(false);
    let lowest =
        |options: &FitOptions| fit(&model, session.as_ref(), options, Control::default()).unwrap().twice_nll;
    let mut n = 0;
    for entry in &result.ranking {
        for (definition, impacts) in [("refit", &entry.refit), ("global", &entry.global)] {
            for side in Side::ALL {
                let shift = impacts.as_ref().unwrap().get(side);
                let (Some(delta), Some(value)) = (shift.delta, shift.value) else { continue };
                let held = if definition == "refit" {
                    quick.clone().fix(&entry.name, value)
                } else {
                    let i = model.parameter_index(&entry.name).unwrap();
                    let mut data = model.observed.clone();
                    data.aux[model.parameters[i].constraint.aux().unwrap()] = value;
                    quick.clone().data(ns_inference::FitData::Given(data.into()))
                };
                // A refit that ended in a higher local minimum has another value of the POI. Fixing the POI at this
                // value then raises `-ln L`.
                let there = lowest(&held.clone().fix("mu", result.mu_hat + delta));
                let rise = there - lowest(&held);
                assert!(rise < 1e-6, "{definition} {} {side:?}: {rise} too high", entry.name);
                n += 1;
            }
        }
    }
    assert!(n >= 6 * 12, "{n}");
}

#[test]
fn points_between_kinks_are_no_higher_than_full_fits() {
    let model = many_kinks();
    let session = cpu(&model);
    let options = ScanOptions::new(ScanAxis::default().range(0.0, 3.0).points(25));
    let result = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert_eq!((result.mu_values.len(), result.twice_delta_nll.len()), (25, 25));
    for (x, delta) in result.mu_values.iter().zip(&result.twice_delta_nll) {
        let held = FitOptions::default().uncertainties(false).fix("mu", *x);
        let alone = fit(&model, session.as_ref(), &held, Control::default()).unwrap();
        let above = delta.unwrap() - (alone.twice_nll - result.twice_nll);
        assert!(above < 1e-6, "{above} too high at {x}");
    }
}
