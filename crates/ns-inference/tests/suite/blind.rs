//! Blinded channels, and fits that are carried over to models with other channels.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

use ns_core::{Control, Execution, Model, Session};
use ns_inference::{
    Blind, FitData, FitOptions, InferenceError, YieldsAt, expected_yields, fit, fitted_yields,
    goodness_of_fit, open_session, prefit_yields,
};
use ns_translate::pyhf::{ChannelSelection, ModelOptions, Workspace};

fn workspace() -> Workspace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/simple_workspace.json");
    Workspace::from_path(path).unwrap()
}

fn model() -> Model {
    workspace().model(&ModelOptions::default()).unwrap()
}

/// Returns the model of one channel.
fn of_channel(name: &str) -> Model {
    let selection = ChannelSelection { keep: Some(vec![name.to_owned()]), mask: Vec::new() };
    workspace().select_channels(&selection).unwrap().model(&ModelOptions::default()).unwrap()
}

fn cpu(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

fn blind(channels: &[&str], poi: Option<f64>) -> FitOptions {
    let channels = channels.iter().map(|name| (*name).to_owned()).collect();
    FitOptions::default().data(FitData::Blind(Blind::new(channels, poi)))
}

#[test]
fn a_fit_of_other_channels_predicts_with_prefit_widths() {
    let (all, control) = (model(), of_channel("CR"));
    let session = cpu(&control);
    let fit_of_cr = fit(&control, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let session = cpu(&all);
    let options = FitOptions::default();
    let ours = expected_yields(&all, session.as_ref(), &options, YieldsAt::Postfit(&fit_of_cr)).unwrap();
    let before = prefit_yields(&all, session.as_ref(), &options).unwrap();
    let sample = |yields: &ns_inference::YieldsResult, channel: &str, sample: &str| {
        let channel = yields.channels.iter().find(|c| c.name == channel).unwrap().clone();
        channel.samples.into_iter().find(|s| s.name == sample).unwrap()
    };
    // The signal has parameters that the fit lacks, and one that the fit has measured a little better.
    let signal = sample(&ours, "SR", "signal").sum_uncertainty.unwrap();
    close(signal, 2.36, 0.01);
    let names = ["lumi", "mu", "signal_theory"].map(str::to_owned);
    assert!(names.iter().all(|name| ours.not_in_fit.contains(name)) && ours.not_in_model.is_empty());
    assert!(ours.warnings.iter().any(|warning| warning.contains("signal_theory")));
    assert!(before.not_in_fit.is_empty());
    // The control region is known as after its own fit.
    let session = cpu(&control);
    let own = expected_yields(&control, session.as_ref(), &options, YieldsAt::Postfit(&fit_of_cr)).unwrap();
    let error = |yields, channel| sample(yields, channel, "background").sum_uncertainty.unwrap();
    close(error(&ours, "CR"), error(&own, "CR"), 1e-9);
    // In the other direction, parameters of the fit are left out.
    let session = cpu(&all);
    let whole = fit(&all, session.as_ref(), &options, Control::default()).unwrap();
    let session = cpu(&control);
    let back = expected_yields(&control, session.as_ref(), &options, YieldsAt::Postfit(&whole)).unwrap();
    assert!(back.not_in_fit.is_empty() && back.not_in_model.contains(&"mu".to_owned()));
    let session = cpu(&all);
    let there = expected_yields(&all, session.as_ref(), &options, YieldsAt::Postfit(&whole)).unwrap();
    close(error(&back, "CR"), error(&there, "CR"), 1e-9);
}

#[test]
fn blinded_data_are_what_a_fit_of_the_other_channels_expects() {
    let (all, control) = (model(), of_channel("CR"));
    let session = cpu(&control);
    let fit_of_cr = fit(&control, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let session = cpu(&all);
    for poi in [None, Some(0.5)] {
        let mut wanted = FitOptions::default();
        if let Some(value) = poi {
            wanted = wanted.fix("mu", value);
        }
        let expected =
            expected_yields(&all, session.as_ref(), &wanted, YieldsAt::Postfit(&fit_of_cr)).unwrap();
        let options = blind(&["SR"], poi);
        let (yields, _) = fitted_yields(&all, session.as_ref(), &options, Control::default()).unwrap();
        for (channel, wanted) in yields.channels.iter().zip(&expected.channels) {
            assert_eq!(channel.blinded, channel.name == "SR");
            let data = if channel.blinded { &wanted.total } else { &wanted.data };
            for (a, b) in channel.data.iter().zip(data) {
                close(*a, *b, 1e-7);
            }
        }
        // The minimum is where the data were made, and the fit of the control region is unchanged there.
        let result = fit(&all, session.as_ref(), &options, Control::default()).unwrap();
        assert!(result.converged);
        close(result.value("mu").unwrap(), poi.unwrap_or(1.0), 1e-6);
        for (name, value) in fit_of_cr.parameter_names.iter().zip(&fit_of_cr.bestfit) {
            close(result.value(name).unwrap(), *value, 1e-6);
        }
    }
    // The observed data of a blinded channel have no influence, and need not exist.
    let mut other = all.clone();
    let region = other.channels.iter().find(|c| c.name == "SR").unwrap().clone();
    other.observed.main[region.first_bin..region.first_bin + region.n_bins].fill(0.0);
    other.unobserved = vec!["SR".to_owned()];
    let options = blind(&["SR"], None);
    let results = [&all, &other]
        .map(|model| fit(model, cpu(model).as_ref(), &options, Control::default()).unwrap().twice_nll);
    close(results[0], results[1], 1e-12);
}

#[test]
fn what_cannot_be_blinded_is_told() {
    let all = model();
    let session = cpu(&all);
    let problem = |options: &FitOptions| match fit(&all, session.as_ref(), options, Control::default()) {
        Err(InferenceError::CannotBlind { problem }) => problem,
        other => format!("{other:?}"),
    };
    assert!(problem(&blind(&["SS"], None)).contains("no channel 'SS'"));
    assert!(problem(&blind(&["SR", "CR"], None)).contains("all channels"));
    assert!(problem(&blind(&[], None)).contains("no channel is named"));
    let good = goodness_of_fit(&all, session.as_ref(), &blind(&["SR"], None), Control::default());
    assert!(matches!(good, Err(InferenceError::CannotBlind { .. })));
    let outside = fit(&all, session.as_ref(), &blind(&["SR"], Some(-50.0)), Control::default());
    assert!(matches!(outside, Err(InferenceError::OutOfBounds { .. })));
}
