//! Compares the constraints of per-bin parameters with values calculated by hand.
#![allow(missing_docs, clippy::unwrap_used)]

use ns_core::{Constraint, Model};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Returns a model of two samples with a common staterror. One of the samples has a shapesys. Some bins have
/// no yield or no uncertainty.
fn model() -> Model {
    let text = r#"{"channels": [{"name": "SR", "samples": [
      {"name": "first", "data": [30.0, 20.0, 0.0, 8.0], "modifiers": [
        {"name": "mu", "type": "normfactor", "data": null},
        {"name": "stat", "type": "staterror", "data": [3.0, 1.0, 0.0, 0.0]},
        {"name": "gamma", "type": "shapesys", "data": [6.0, 5.0, 1.0, 0.0]}]},
      {"name": "second", "data": [20.0, 5.0, 0.0, 2.0], "modifiers": [
        {"name": "stat", "type": "staterror", "data": [4.0, 0.5, 0.2, 0.0]}]}]}],
     "observations": [{"name": "SR", "data": [50.0, 25.0, 1.0, 10.0]}],
     "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}], "version": "1.0.0"}"#;
    Workspace::from_slice(text.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap()
}

#[test]
fn staterrors_add_in_quadrature_over_the_summed_yield() {
    let model = model();
    // The widths are sqrt(3^2 + 4^2) / 50 and sqrt(1 + 0.25) / 25. Without a yield or uncertainty the width
    // is 1 and the parameter is fixed.
    let expected = [(0.1, false), (1.25_f64.sqrt() / 25.0, false), (1.0, true), (1.0, true)];
    for (bin, (width, fixed)) in expected.into_iter().enumerate() {
        let parameter = &model.parameters[model.parameter_index(&format!("stat[{bin}]")).unwrap()];
        let Constraint::Gaussian { sigma, aux } = parameter.constraint else { panic!("{parameter:?}") };
        assert!((sigma - width).abs() < 1e-15, "bin {bin}: {sigma}, not {width}");
        assert_eq!((parameter.fixed, parameter.init, parameter.bounds), (fixed, 1.0, (1e-10, 10.0)));
        assert_eq!(model.observed.aux[aux], 1.0);
    }
}

#[test]
fn a_shapesys_counts_the_squared_ratio() {
    let model = model();
    // The rates are (30 / 6)^2 and (20 / 5)^2. Without a yield or uncertainty the rate is 1 and the parameter
    // is fixed.
    let expected = [(25.0, false), (16.0, false), (1.0, true), (1.0, true)];
    for (bin, (rate, fixed)) in expected.into_iter().enumerate() {
        let parameter = &model.parameters[model.parameter_index(&format!("gamma[{bin}]")).unwrap()];
        let Constraint::Poisson { tau, aux } = parameter.constraint else { panic!("{parameter:?}") };
        assert_eq!((tau, model.observed.aux[aux]), (rate, rate), "bin {bin}");
        assert_eq!((parameter.fixed, parameter.init, parameter.bounds), (fixed, 1.0, (1e-10, 10.0)));
    }
}
