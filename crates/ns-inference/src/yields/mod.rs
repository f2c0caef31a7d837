//! Computes the expected yields of every sample in every channel, with uncertainties and the observed data. Pre-fit
//! and post-fit figures show these numbers. Yields can be computed before a fit, after a fit, or at given parameters.

mod events;
mod result;
mod uncertainty;
mod waves;

#[cfg(feature = "pictures")]
pub(crate) use events::projection_name;
pub use result::{ChannelYields, SampleYields, Stage, YieldsResult};

use std::collections::HashSet;

use ns_core::{Control, Covariance, Data, Effect, EvaluationRequest, Model, Sample, Session};

use crate::diagnosis;
use crate::weighted::has_weights;
use crate::{Extrapolated, FitData, FitOptions, FitResult, InferenceError, fit, parameter_index};
use uncertainty::{ConstraintCorrelations, Correlations, Spread, Uncertainty, uncertainty};

/// Largest number of parameters for which a fit made only for yields computes the covariance. In larger models the
/// covariance matrix would take more time and memory than all other work. [`postfit_yields`] then computes
/// correlations from the curvature of the likelihood.
pub const MOST_WITH_COVARIANCE: usize = 500;

/// Parameter values at which yields are computed, and the source of the uncertainties of the parameters.
#[derive(Debug, Clone, Copy)]
pub enum YieldsAt<'a> {
    /// At the initial parameters, as in [`prefit_yields`].
    Prefit,
    /// At a best fit with its covariance, as in [`postfit_yields`]. The fit may be one of another model: it is then
    /// carried over as in [`Extrapolated::of`].
    Postfit(&'a FitResult),
    /// At the best fit of another model, with the covariance of this fit.
    Extrapolated(&'a Extrapolated),
    /// At given parameters in the model's order, with their covariance matrix. If there is no matrix, the
    /// uncertainties are the widths of the constraints, as before a fit.
    Given(&'a [f64], Option<&'a Covariance>),
}

/// Computes yields with the uncertainties of every sample. `options` select the observed data and the fixed
/// parameters.
///
/// # Errors
/// If the options, the parameters or the covariance do not match the model, or the device fails.
pub fn expected_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    at: YieldsAt<'_>,
) -> Result<YieldsResult, InferenceError> {
    match at {
        YieldsAt::Prefit => prefit(model, session, options, true),
        YieldsAt::Postfit(result) if is_of_other_model(model, result) => {
            extrapolated(model, session, options, &Extrapolated::of(model, result)?)
        }
        YieldsAt::Postfit(result) => postfit(model, session, options, result, true),
        YieldsAt::Extrapolated(fit) => extrapolated(model, session, options, fit),
        YieldsAt::Given(point, covariance) => given(model, session, options, point, covariance, true),
    }
}

/// Returns whether the parameters of a fit are not those of the model.
fn is_of_other_model(model: &Model, result: &FitResult) -> bool {
    result.bestfit.len() == result.parameter_names.len()
        && !result.parameter_names.iter().eq(model.parameters.iter().map(|p| &p.name))
}

/// Computes the yields at the best fit of another model.
fn extrapolated(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    fit: &Extrapolated,
) -> Result<YieldsResult, InferenceError> {
    let mut yields = given(model, session, options, &fit.parameters, fit.covariance.as_ref(), true)?;
    yields.warnings.extend(fit.warnings(model));
    yields.not_in_fit.clone_from(&fit.not_in_fit);
    yields.not_in_model.clone_from(&fit.not_in_model);
    Ok(yields)
}

/// Fits the model and computes the yields at the best fit, with the uncertainties of every sample. The second part of
/// the result tells whether the caller interrupted the fit.
///
/// # Errors
/// The errors of [`fit`](fn@crate::fit) and [`expected_yields`].
pub fn fitted_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    control: Control<'_>,
) -> Result<(YieldsResult, bool), InferenceError> {
    let matrix = model.parameters.len() <= MOST_WITH_COVARIANCE;
    let result = fit(model, session, &options.clone().covariance(matrix), control)?;
    let yields = expected_yields(model, session, options, YieldsAt::Postfit(&result))?;
    Ok((yields, result.interrupted))
}

/// Computes the yields at the initial parameters. Parameters that are fixed in `options` have the values given there.
///
/// The uncertainties of the yields come from the widths and correlations of the constraints.
/// Fixed parameters and free parameters without a constraint contribute nothing. The uncertainties of single samples
/// are not computed; [`expected_yields`] computes them.
///
/// # Errors
/// If the options do not match the model or the device fails.
pub fn prefit_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
) -> Result<YieldsResult, InferenceError> {
    prefit(model, session, options, false)
}

fn prefit(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    samples: bool,
) -> Result<YieldsResult, InferenceError> {
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let yields = given(model, session, options, &point, None, samples)?;
    Ok(YieldsResult { stage: Stage::Prefit, ..yields })
}

/// Returns the width of each parameter's constraint; `None` for fixed and unconstrained parameters.
fn widths(model: &Model) -> Vec<Option<f64>> {
    let width =
        |p: &ns_core::Parameter| p.constraint.prefit_sigma().filter(|width| !p.fixed && width.is_finite());
    model.parameters.iter().map(width).collect()
}

/// Computes the yields at the given values `point` of all parameters.
fn given(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    point: &[f64],
    covariance: Option<&Covariance>,
    samples: bool,
) -> Result<YieldsResult, InferenceError> {
    let data = options.resolve_data(model, session)?;
    let request = options.request(model)?;
    let n = model.parameters.len();
    let wrong =
        |what, actual| InferenceError::from(ns_core::SessionError::WrongLength { what, actual, expected: n });
    if point.len() != n {
        return Err(wrong("the parameters of the yields", point.len()));
    }
    if let Some((p, value)) = model.parameters.iter().zip(point).find(|(_, value)| !value.is_finite()) {
        let (what, name) = ("the value at which yields are predicted", p.name.clone());
        return Err(InferenceError::NotFinite { what, name, value: *value });
    }
    let mut warnings = model.warnings.clone();
    let mut sigma = match covariance {
        None => widths(model),
        Some(matrix) if matrix.n != n || matrix.values.len() != n * n => {
            return Err(wrong("the covariance of the yields", matrix.n));
        }
        Some(matrix) => {
            let variance = |i: usize| matrix.values.get(i * n + i).copied().unwrap_or(0.0);
            let known = |v: f64| (v.is_finite() && v > 0.0).then(|| v.sqrt());
            let sigma: Vec<Option<f64>> = (0..n).map(|i| known(variance(i))).collect();
            let flat = (0..n).filter(|i| !variance(*i).is_finite()).filter_map(|i| model.parameters.get(i));
            let flat: Vec<&str> = flat.map(|p| p.name.as_str()).collect();
            if !flat.is_empty() {
                warnings.push(left_out(flat.into_iter()));
            }
            sigma
        }
    };
    let mut point = point.to_vec();
    for &(index, value) in &request.fixed {
        if let (Some(x), Some(s)) = (point.get_mut(index), sigma.get_mut(index)) {
            (*x, *s) = (value, None);
        }
    }
    let correlations = match covariance {
        Some(covariance) => Correlations::Matrix(&covariance.values),
        None => ConstraintCorrelations::new(model).map_or(Correlations::None, Correlations::Constraints),
    };
    let spread = Spread { sigma, correlations };
    let mut yields = predict(model, session, (&data, &options.data), &point, &spread, samples)?;
    yields.stage = Stage::Given;
    yields.warnings.splice(0..0, warnings);
    Ok(yields)
}

/// Returns a warning with the names of the parameters whose uncertainty is unknown.
fn left_out<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!(
        "the uncertainties of the yields leave out {}: no symmetric uncertainty after the fit",
        diagnosis::list(names)
    )
}

/// Computes the yields at the best fit in `result`, with the covariance of this fit. `options` must be the options of
/// the fit, because they select the data. The uncertainties of single samples are not computed; [`expected_yields`]
/// computes them.
///
/// A parameter without a symmetric uncertainty (at a bound, on a kink, along a flat direction) contributes nothing to
/// the uncertainties. A warning names such parameters. If `result` has no covariance, as for large models,
/// correlations come from the curvature of the likelihood at the best fit. If `result` has no uncertainties, the
/// uncertainties of the yields are `None`.
///
/// # Errors
/// If `result` or `options` do not match the model, or the device fails.
pub fn postfit_yields(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    result: &FitResult,
) -> Result<YieldsResult, InferenceError> {
    postfit(model, session, options, result, false)
}

fn postfit(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    result: &FitResult,
    samples: bool,
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
            warnings.push(left_out(without.iter().copied()));
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
    let mut yields = predict(model, session, (&data, &options.data), &result.bestfit, &spread, samples)?;
    (yields.stage, yields.converged) = (Stage::Postfit, result.converged);
    yields.warnings.splice(0..0, warnings);
    if !known {
        for channel in &mut yields.channels {
            channel.uncertainty.fill(None);
            channel.sum_uncertainty = None;
            for sample in &mut channel.samples {
                sample.uncertainty.fill(None);
                sample.sum_uncertainty = None;
            }
        }
    } else if yields.channels.iter().all(|channel| channel.sum_uncertainty.is_none()) {
        let why = "the uncertainties of the yields are null: the curvature at the best fit is not positive";
        yields.warnings.push(why.to_owned());
    }
    Ok(yields)
}

/// Returns whether the parameter of interest is a normfactor of the sample, or a function of it is a factor.
fn is_signal(model: &Model, sample: &Sample) -> bool {
    let scales = |m: &ns_core::Modifier| match &m.effect {
        Effect::NormFactor => model.pois.contains(&m.first),
        Effect::Function { values } => {
            values.iter().any(|&value| model.dependencies(value).iter().any(|p| model.pois.contains(p)))
        }
        _ => false,
    };
    sample.modifiers.iter().any(scales)
}

/// Returns a warning for each sample whose expected events are infinite or not a number. If there is no such sample but
/// the sum of all samples is not finite, the warning is about the sum.
fn without_number(channel: &ChannelYields) -> Vec<String> {
    let warning = |what: String, sum: f64| {
        format!(
            "the expected events of {what} in channel '{}' are {sum}, which JSON writes as null: numbers of 64 bits end at \
             1.8e308; check the values of the parameters that scale them",
            channel.name
        )
    };
    let infinite = channel.samples.iter().filter(|sample| !sample.sum.is_finite());
    let mut warnings: Vec<String> =
        infinite.map(|sample| warning(format!("sample '{}'", sample.name), sample.sum)).collect();
    if warnings.is_empty() && !channel.sum.is_finite() {
        warnings.push(warning("all samples".to_owned(), channel.sum));
    }
    warnings
}

/// Computes the yields and their uncertainties at the parameters `point`, and adds the names of channels and samples.
/// The caller must set `stage` and `converged`, and add its warnings.
fn predict(
    model: &Model,
    session: &dyn Session,
    (data, kind): (&Data, &FitData),
    point: &[f64],
    spread: &Spread<'_>,
    with_samples: bool,
) -> Result<YieldsResult, InferenceError> {
    let weighted = has_weights(model, data, kind);
    let request = EvaluationRequest { samples: true, ..EvaluationRequest::default() };
    let samples = session.evaluate(data, point, request)?.samples;
    let Uncertainty { bins, channels: sums, sample_bins, samples: sample_sums } =
        uncertainty(model, session, data, point, spread, with_samples)?;
    let (mut sample_bins, mut sample_sums) = (sample_bins.into_iter(), sample_sums.into_iter());
    let observed = &data.counts(model).main;
    let mut counts = samples.into_iter();
    let mut channels = Vec::with_capacity(model.channels.len());
    for (channel, sum_uncertainty) in model.channels.iter().zip(sums) {
        let mut total = vec![0.0; channel.n_bins];
        let mut named = Vec::with_capacity(channel.samples.len());
        for sample in &channel.samples {
            let counts: Vec<f64> = counts.by_ref().take(channel.n_bins).collect();
            total.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            named.push(SampleYields {
                name: sample.name.clone(),
                signal: is_signal(model, sample),
                uncertainty: sample_bins.by_ref().take(channel.n_bins).collect(),
                sum: counts.iter().sum(),
                sum_uncertainty: sample_sums.next().flatten(),
                counts,
                curve: Vec::new(),
            });
        }
        let here = |all: &[f64]| -> Vec<f64> {
            all.iter().skip(channel.first_bin).take(channel.n_bins).copied().collect()
        };
        let has_data = !matches!(kind, FitData::Observed) || !model.unobserved.contains(&channel.name);
        let data = if has_data { here(observed) } else { Vec::new() };
        channels.push(ChannelYields {
            name: channel.name.clone(),
            observable: None,
            axis_title: channel.axis.title.clone(),
            bin_edges: channel.axis.edges.clone(),
            samples: named,
            uncertainty: bins.iter().skip(channel.first_bin).take(channel.n_bins).copied().collect(),
            sum: total.iter().sum(),
            sum_uncertainty,
            data_sum: if has_data { data.iter().sum() } else { f64::NAN },
            total,
            data,
            blinded: matches!(kind, FitData::Blind(blind) if blind.channels.contains(&channel.name)),
            data_uncertainty: Vec::new(),
            curve_positions: Vec::new(),
            blind: Vec::new(),
        });
    }
    let (of_events, mut warnings) = events::event_channels(model, data, weighted, point, spread)?;
    channels.extend(of_events);
    warnings.extend(channels.iter().flat_map(without_number));
    Ok(YieldsResult {
        stage: Stage::Prefit,
        measurement: model.measurement.clone(),
        parameter_names: model.parameters.iter().map(|p| p.name.clone()).collect(),
        parameters: point.to_vec(),
        not_in_fit: Vec::new(),
        not_in_model: Vec::new(),
        channels,
        converged: true,
        warnings,
    })
}
