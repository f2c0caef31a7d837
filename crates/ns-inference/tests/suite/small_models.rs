//! Tests with small models for which a result was once wrong. The expected results come from closed forms, from
//! bisections and from exact minimisers with many starting points.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::path::PathBuf;

use ns_core::{Control, Execution, HistosysCode, Interpolation, Model, NormsysCode, Session};
use ns_inference::{
    FitOptions, FitResult, HypotestOptions, HypotestResult, LimitOptions, LimitResult, fit, hypotest,
    open_session, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Reads a model from the reference folder and opens a session. Returns `None` if the reference folder is not set.
fn read(name: &str, codes: Option<(NormsysCode, HistosysCode)>) -> Option<(Model, Box<dyn Session>)> {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return None;
    };
    let options = match codes {
        None => ModelOptions::default(),
        Some((normsys, histosys)) => {
            ModelOptions { interpolation: Interpolation { normsys, histosys }, ..ModelOptions::default() }
        }
    };
    let path = PathBuf::from(folder).join("repro").join(name);
    let model = Workspace::from_path(path).unwrap().model(&options).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    Some((model, session))
}

type Opened = (Model, Box<dyn Session>);

fn limit((model, session): &Opened) -> LimitResult {
    upper_limit(model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap()
}

fn test((model, session): &Opened, mu: f64) -> HypotestResult {
    hypotest(model, session.as_ref(), mu, &HypotestOptions::default(), Control::default()).unwrap()
}

fn best((model, session): &Opened, options: &FitOptions) -> FitResult {
    fit(model, session.as_ref(), options, Control::default()).unwrap()
}

fn close(found: f64, right: f64, tolerance: f64) {
    assert!((found - right).abs() <= tolerance, "{found}, not {right}");
}

#[test]
fn limits_of_an_empty_bin_are_those_of_its_closed_form() {
    let Some(opened) = read("repro_limit_empty_bin.json", None) else { return };
    let result = limit(&opened);
    // The number of standard deviations at `mu` is sqrt(6 mu).
    close(result.observed.unwrap(), 1.959_963_984_540_054_f64.powi(2) / 6.0, 1e-8);
    for (found, right) in result.expected.iter().zip([0.184, 0.332, 0.640, 1.24, 2.23]) {
        close(found.unwrap(), right, 0.005 * right);
    }
}

#[test]
fn a_limit_beyond_the_bound_is_no_jump() {
    let Some(opened) = read("repro_limit_jump.json", None) else { return };
    let result = limit(&opened);
    assert_eq!(result.observed, None);
    assert!(!result.warnings.iter().any(|w| w.contains("jumps")), "{:?}", result.warnings);
    close(test(&opened, 10.0).cls.unwrap(), 0.057, 5e-4);
}

#[test]
fn conditional_fits_of_tests_end_in_the_lowest_minimum() {
    if let Some(opened) = read("repro_hypotest_6149.json", None) {
        let result = test(&opened, 2.977);
        close(result.twice_nll_conditional.unwrap(), 219.456_909, 1e-5);
        // The free fit ends at a lower value than it once did. The value of `-2 ln L` at this minimum is from pyhf.
        close(result.twice_nll_free, 202.074_101, 1e-5);
        close(result.q_obs, 17.382_808, 1e-5);
    }
    let codes = (NormsysCode::Code1, HistosysCode::Code4p);
    if let Some(opened) = read("repro_hypotest_289.json", Some(codes)) {
        let result = test(&opened, 2.798);
        close(result.q_asimov, 13.37, 0.005);
        close(result.expected_set.cls[4].unwrap(), 0.050, 5e-5);
    }
    let codes = (NormsysCode::Code4, HistosysCode::Code0);
    if let Some(opened) = read("repro_hypotest_6.json", Some(codes)) {
        close(test(&opened, 3.874).twice_nll_conditional.unwrap(), 216.54, 0.005);
    }
}

#[test]
fn minos_leaves_a_branch_that_the_profile_has_left() {
    let Some(opened) = read("repro_minos_branch.json", None) else { return };
    let result = best(&opened, &FitOptions::default().minos("k_0"));
    // The expected value comes from a bisection with thorough conditional fits.
    close(result.minos[0].upper_crossing.unwrap(), 0.87840, 1e-5);
}

#[test]
fn a_flat_direction_through_the_poi_leaves_no_uncertainty() {
    let Some(opened) = read("repro_flat_uncertainty.json", None) else { return };
    let result = best(&opened, &FitOptions::default());
    assert_eq!(result.uncertainties[result.poi_index.unwrap()], None);
    let named = |w: &String| w.contains("mu") && w.contains("a flat direction, no uncertainty");
    assert!(result.warnings.iter().any(named), "{:?}", result.warnings);
}

#[test]
fn the_lower_of_two_minima_of_a_coupled_shape_is_kept() {
    let Some(opened) = read("coupledhisto_ws.json", None) else { return };
    let result = best(&opened, &FitOptions::default());
    assert!(result.converged && result.twice_nll < 29.331_131_6, "{}", result.twice_nll);
}
