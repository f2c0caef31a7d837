//! Compares rankings of published workspaces (in `NEXTSTAT_REFERENCE_DIR`) with a simple loop of full fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::PathBuf;

use ns_core::{Control, Execution, Model};
use ns_inference::ranking::Side;
use ns_inference::{FitOptions, Impact, RankingOptions, fit, open_session, ranking};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Returns the folder with the workspaces. If the reference folder is not set, prints a notice and returns `None`.
fn workspaces() -> Option<PathBuf> {
    match std::env::var_os("NEXTSTAT_REFERENCE_DIR") {
        Some(folder) => Some(PathBuf::from(folder).join("workspaces")),
        None => {
            eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
            None
        }
    }
}

fn model(path: PathBuf) -> Model {
    Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap()
}

/// Asserts that every post-fit impact equals the impact from an independent fit. In this fit, the parameter is fixed
/// at the value that the definition of the impact gives.
fn agrees_with_full_fits(name: &str) {
    let Some(folder) = workspaces() else { return };
    let model = model(folder.join(name));
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let plain = FitOptions::default().crossings(false);
    let best = fit(&model, session.as_ref(), &plain, Control::default()).unwrap();
    let poi = best.poi_index.unwrap();
    let result =
        ranking(&model, session.as_ref(), &RankingOptions::default().prefit(true), Control::default())
            .unwrap();
    assert!((result.twice_nll - best.twice_nll).abs() < 1e-8);
    assert_eq!(result.ranking.len(), best.parameter_names.len() - best.fixed.len() - 1);
    assert_eq!((result.n_failed, result.interrupted), (0, false), "{:?}", result.warnings);
    let covariance = best.covariance.as_ref().unwrap();

    let quick = FitOptions::default().uncertainties(false);
    let mut n = 0;
    for entry in &result.ranking {
        let i = best.index(&entry.name).unwrap();
        let sigma = best.uncertainties[i].unwrap();
        assert!((entry.uncertainty.unwrap() / sigma - 1.0).abs() < 1e-8, "{}", entry.name);
        let pull = best.pulls[i];
        assert_eq!(entry.pull.is_some(), pull.is_some());
        assert!((entry.pull.unwrap_or(0.0) - pull.unwrap_or(0.0)).abs() < 1e-6, "{}", entry.name);
        if let (Some(constraint), Some(width)) =
            (entry.constraint, model.parameters[i].constraint.prefit_sigma())
        {
            let expected = covariance.get(i, i).sqrt() / width;
            assert!((constraint / expected - 1.0).abs() < 1e-8, "{}", entry.name);
        }
        for side in Side::ALL {
            let shift = entry.impacts.get(side);
            let Some(delta) = shift.delta else {
                let width = model.parameters[i].constraint.prefit_sigma();
                assert!(width.is_none() && matches!(side, Side::PrefitUp | Side::PrefitDown), "{shift:?}");
                continue;
            };
            let width = match side {
                Side::Up | Side::Down => sigma,
                _ => model.parameters[i].constraint.prefit_sigma().unwrap(),
            };
            let direction = if matches!(side, Side::Up | Side::PrefitUp) { 1.0 } else { -1.0 };
            let (lower, upper) = model.parameters[i].bounds;
            let wished = best.bestfit[i] + direction * width;
            let value = shift.value.unwrap();
            assert!((value - wished.clamp(lower, upper)).abs() < 1e-7 * width.max(1.0), "{}", entry.name);
            assert_eq!(shift.clipped, wished < lower || wished > upper, "{}", entry.name);
            let alone =
                fit(&model, session.as_ref(), &quick.clone().fix(&entry.name, value), Control::default())
                    .unwrap();
            assert!(alone.converged);
            let expected = alone.bestfit[poi] - best.bestfit[poi];
            assert!(
                (delta - expected).abs() < 1e-6,
                "{name} {} {side:?}: {delta} is not {expected}, twice_nll {}",
                entry.name,
                alone.twice_nll
            );
            n += 1;
        }
    }
    eprintln!("{name}: {n} impacts agree with full fits");
    assert!(n >= 4 * (result.ranking.len() - 10));
}

#[test]
fn thu_agrees_with_full_fits() {
    agrees_with_full_fits("tHu.json");
}

#[test]
fn tttt_agrees_with_full_fits() {
    agrees_with_full_fits("tttt_prod.json");
}

#[test]
fn definitions_agree_where_the_likelihood_is_nearly_a_parabola() {
    let Some(folder) = workspaces() else { return };
    let model = model(folder.join("tHu.json"));
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = RankingOptions::default().impacts(Impact::ALL);
    let result = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    let total = result.mu_uncertainty.unwrap();
    for entry in &result.ranking {
        let (refit, covariance) = (entry.refit.as_ref().unwrap(), entry.covariance.as_ref().unwrap());
        let difference = refit.symmetric().unwrap() - covariance.symmetric().unwrap();
        assert!(difference.abs() < 0.03 * total, "{}: {difference}", entry.name);
        // A constrained parameter moves less than its auxiliary datum. The global impact is therefore the covariance
        // impact times sigma / sigma_pre.
        if let (Some(global), Some(constraint)) =
            (entry.global.as_ref().unwrap().symmetric(), entry.constraint)
        {
            let difference = global - constraint * covariance.symmetric().unwrap();
            assert!(difference.abs() < 0.03 * total, "{}: {difference}", entry.name);
        }
    }
}
