//! Expected yields of every sample in every channel, before and after a fit, with the uncertainty of
//! their sum and the data beside them: the numbers behind a pre-fit or post-fit figure.

mod result;
mod uncertainty;
mod waves;

pub use result::{ChannelYields, SampleYields, Stage, YieldsResult};

use std::collections::HashSet;

use ns_core::{Data, Effect, EvaluationRequest, Model, Sample, Session};

use crate::fit::diagnosis;
use crate::{FitOptions, FitResult, InferenceError, parameter_index};
use uncertainty::{Correlations, Spread, Uncertainty, uncertainty};

/// Yields at the initial parameters, which the fit of `options` holds at their values.
///
/// Their uncertainty comes from the widths of the constraints, which are independent before the fit:
/// free parameters without a constraint, and fixed ones, contribute nothing.
///
/// # Errors
/// If the options do not fit the model or the device fails.
pub fn prefit_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
) -> Result<YieldsResult, InferenceError> {
    let data = options.resolve_data(model, session)?;
    let request = options.request(model)?;
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let mut sigma: Vec<Option<f64>> =
        model.parameters.iter().map(|p| p.constraint.prefit_sigma().filter(|_| !p.fixed)).collect();
    for &(index, value) in &request.fixed {
        if let (Some(x), Some(s)) = (point.get_mut(index), sigma.get_mut(index)) {
            (*x, *s) = (value, None);
        }
    }
    for s in &mut sigma {
        *s = s.filter(|width| width.is_finite());
    }
    let spread = Spread { sigma, correlations: Correlations::None };
    predict(model, session, &data, point, &spread, Stage::Prefit, true, model.warnings.clone())
}

/// Yields at the best fit that `result` is, with its covariance; `options` are those of that fit and say
/// which data it used.
///
/// Parameters without a symmetric uncertainty (at a bound, on a kink, along a flat direction) contribute
/// nothing, and a warning names them. Without a covariance in the result, as of large models, correlations
/// come from the curvature at the best fit; without uncertainties, none is known.
///
/// # Errors
/// If result or options do not fit the model, or the device fails.
pub fn postfit_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    result: &FitResult,
) -> Result<YieldsResult, InferenceError> {
    let data = options.resolve_data(model, session)?;
    let n = model.parameters.len();
    if result.parameter_names.len() != n || result.bestfit.len() != n {
        let (what, actual) = ("the fit result", result.bestfit.len());
        return Err(ns_core::SessionError::WrongLength { what, actual, expected: n }.into());
    }
    for (name, parameter) in result.parameter_names.iter().zip(&model.parameters) {
        if *name != parameter.name {
            parameter_index(model, name)?;
        }
    }
    let mut warnings = model.warnings.clone();
    if !result.converged {
        warnings.push("the fit did not converge: these are the yields at the best point that it met".into());
    }
    let covariance = result.covariance.as_ref().filter(|c| c.n == n);
    let known = result.uncertainties.iter().any(Option::is_some);
    let mut sigma = vec![None; n];
    if known {
        sigma.clone_from(&result.uncertainties);
        sigma.resize(n, None);
        let without = result.parameter_names.iter().zip(&sigma);
        let without: Vec<&str> = without
            .filter(|(name, sigma)| sigma.is_none() && !result.fixed.contains(name))
            .map(|(name, _)| name.as_str())
            .collect();
        if !without.is_empty() {
            warnings.push(format!(
                "the uncertainties of the yields leave out {}: no symmetric uncertainty after the fit",
                diagnosis::list(without.iter().copied())
            ));
        }
    } else {
        warnings
            .push("the uncertainties of the yields are null: the fit was made without uncertainties".into());
    }
    let correlations = match covariance {
        Some(covariance) => Correlations::Matrix(&covariance.values),
        None => {
            let held: HashSet<&String> =
                result.fixed.iter().chain(&result.at_bound).chain(&result.at_kink).collect();
            let free = result.parameter_names.iter().map(|name| !held.contains(name)).collect();
            Correlations::Curvature(&data, free)
        }
    };
    let spread = Spread { sigma, correlations };
    let stage = Stage::Postfit;
    let mut yields =
        predict(model, session, &data, result.bestfit.clone(), &spread, stage, result.converged, warnings)?;
    if !known {
        for channel in &mut yields.channels {
            channel.uncertainty.fill(None);
            channel.sum_uncertainty = None;
        }
    } else if yields.channels.iter().all(|channel| channel.sum_uncertainty.is_none()) {
        let why = "the uncertainties of the yields are null: the curvature at the best fit is not positive";
        yields.warnings.push(why.to_owned());
    }
    Ok(yields)
}

/// Whether the parameter of interest scales a sample.
fn is_signal(model: &Model, sample: &Sample) -> bool {
    let scales = |m: &ns_core::Modifier| matches!(m.effect, Effect::NormFactor) && model.poi == Some(m.first);
    sample.modifiers.iter().any(scales)
}

/// Evaluates at a point and puts names on the numbers.
fn predict(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    point: Vec<f64>,
    spread: &Spread<'_>,
    stage: Stage,
    converged: bool,
    warnings: Vec<String>,
) -> Result<YieldsResult, InferenceError> {
    let request = EvaluationRequest { samples: true, ..EvaluationRequest::default() };
    let samples = session.evaluate(&Data::Observed, &point, request)?.samples;
    let Uncertainty { bins, channels: sums } = uncertainty(model, session, &point, spread)?;
    let observed = match data {
        Data::Binned(data) => &data.main,
        _ => &model.observed.main,
    };
    let mut counts = samples.into_iter();
    let mut channels = Vec::with_capacity(model.channels.len());
    for (channel, sum_uncertainty) in model.channels.iter().zip(sums) {
        let mut total = vec![0.0; channel.n_bins];
        let mut named = Vec::with_capacity(channel.samples.len());
        for sample in &channel.samples {
            let counts: Vec<f64> = counts.by_ref().take(channel.n_bins).collect();
            total.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            named.push(SampleYields { name: sample.name.clone(), signal: is_signal(model, sample), counts });
        }
        let here = |all: &[f64]| -> Vec<f64> {
            all.iter().skip(channel.first_bin).take(channel.n_bins).copied().collect()
        };
        let data = here(observed);
        channels.push(ChannelYields {
            name: channel.name.clone(),
            samples: named,
            uncertainty: bins.iter().skip(channel.first_bin).take(channel.n_bins).copied().collect(),
            sum: total.iter().sum(),
            sum_uncertainty,
            data_sum: data.iter().sum(),
            total,
            data,
        });
    }
    Ok(YieldsResult {
        stage,
        measurement: model.measurement.clone(),
        parameter_names: model.parameters.iter().map(|p| p.name.clone()).collect(),
        parameters: point,
        channels,
        converged,
        warnings,
    })
}
