//! Compatibility of channels: does each channel want the same value of the parameter of interest?
//!
//! The statistic is the likelihood ratio `q` of two fits: one with a common value, and one with a value per channel. If the
//! values are the same, `q` follows for large samples a chi2 distribution with as many degrees of freedom as there are
//! channels, minus 1 (S. S. Wilks, Ann. Math. Stat. 9 (1938) 60).

mod options;
mod result;
mod split;
mod toys;

use ns_core::{Control, Model, Session};

pub use options::CompatibilityOptions;
pub use result::{ChannelEstimate, CompatibilityResult, CompatibilityToys, Estimate};

use self::split::{Split, split};
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::goodness::chi2_tail;
use crate::observed::Observed;
use crate::single_fits::of_single_fits;
use crate::toys::INTERRUPTED;
use crate::toys::goodness::{binomial_error, check_number};
use crate::{InferenceError, SessionOpener};

/// Name of the analysis in messages.
const WHAT: &str = "a test of compatibility";

/// Tests whether all channels have the same value of the parameter of interest. `opener` opens the sessions of the models
/// with a value per channel.
///
/// # Errors
/// If the model has no parameter of interest, or it cannot be split; and for the errors of fits and toys.
pub fn compatibility(
    model: &Model,
    session: &dyn Session,
    options: &CompatibilityOptions,
    opener: &dyn SessionOpener,
    control: Control<'_>,
) -> Result<CompatibilityResult, InferenceError> {
    if let Some(n_toys) = options.n_toys {
        check_number(n_toys)?;
    }
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
    let poi = analysis.poi(WHAT)?;
    let name = model.parameters.get(poi).map_or_else(String::new, |p| p.name.clone());
    if analysis.is_fixed(poi) {
        return Err(InferenceError::PoiFixed { analysis: WHAT, name, format: model.format });
    }
    let Split { model: apart, channels } = split(model, poi, None)?;
    let mut warnings = model.warnings.clone();
    warnings.extend(analysis.about_weights());
    let mut common = Observed::begin(&mut analysis, poi)?;
    let common_value = estimate(&mut analysis, &mut common, poi)?;
    let mut converged = judge(&analysis, &mut common, "the fit with a common value", &mut warnings);

    let apart_session = opener.open(&apart, None)?;
    let mut own = Analysis::new(&apart, of_single_fits(apart_session.as_ref()), &options.fit, silent)?;
    own.data = analysis.data.clone();
    // The common minimum is a point of the larger model, so its fit begins there and never ends above it.
    let start = at_common(&common.best().parameters, &channels, poi, apart.parameters.len());
    own.base.start = ns_core::Start::At(start.as_slice().into());
    let mut separate = Observed::begin(&mut own, poi)?;
    let mut estimates = Vec::with_capacity(channels.len());
    for (channel, index) in &channels {
        let own_value = estimate(&mut own, &mut separate, *index)?;
        estimates.push(ChannelEstimate { channel: channel.clone(), own: own_value, others: None });
    }
    converged &= judge(&own, &mut separate, "the fit with a value per channel", &mut warnings);
    if options.leave_out {
        for estimate in &mut estimates {
            let found = others(&analysis, poi, (options, opener), &estimate.channel, &mut warnings)?;
            converged &= found.1;
            estimate.others = Some(found.0);
        }
    }
    let q = (2.0 * (common.best().nll - separate.best().nll)).max(0.0);
    let n_dof = channels.len() - 1;
    warnings.extend(doubts(&own, &separate, &channels));
    warnings.extend(analysis.about_expected());
    let mut result = CompatibilityResult {
        param: name,
        common: common_value,
        channels: estimates,
        q,
        n_dof,
        p_value: Some(chi2_tail(q, n_dof as f64)).filter(|p| p.is_finite()),
        p_value_toys: None,
        p_value_toys_error: None,
        toys: None,
        converged: converged && !analysis.has_inexact_data(),
        interrupted: false,
        warnings,
    };
    if let Some(n_toys) = options.n_toys {
        let models = [(model, session), (&apart, apart_session.as_ref())];
        let points = [common.best().parameters.clone(), start];
        let found = toys::count(models, points, &options.fit, (n_toys, options.seed), q, control)?;
        let good = found.run - found.left_out;
        result.p_value_toys = (good > 0).then(|| found.above as f64 / good as f64);
        result.p_value_toys_error = binomial_error(found.above, good);
        result.interrupted = found.interrupted;
        if found.left_out > 0 {
            let (left_out, run) = (found.left_out, found.run);
            result
                .warnings
                .push(format!("{left_out} of {run} toys did not converge or failed and are left out"));
        }
        if good == 0 {
            result.warnings.push("p_value_toys is null: there is no toy to count".to_owned());
        }
        if found.interrupted {
            result.warnings.push(INTERRUPTED.to_owned());
        }
        result.toys = Some(CompatibilityToys {
            n_toys: found.run,
            n_left_out: found.left_out,
            seed: options.seed,
            toys_per_s: (found.wall_s > 0.0).then(|| found.run as f64 / found.wall_s),
        });
    }
    Ok(result)
}

/// Returns the parameters of the model with a value per channel at which it equals the common model.
fn at_common(point: &[f64], channels: &[(String, usize)], poi: usize, n: usize) -> Vec<f64> {
    let value = point.get(poi).copied().unwrap_or(f64::NAN);
    let mut start = point.to_vec();
    start.resize(n, value);
    for (_, index) in channels {
        if let Some(x) = start.get_mut(*index) {
            *x = value;
        }
    }
    start
}

/// Returns the value of a parameter with its uncertainties.
fn estimate(
    analysis: &mut Analysis<'_>,
    observed: &mut Observed,
    index: usize,
) -> Result<Estimate, InferenceError> {
    let interval = observed.crossings(analysis, index, 1.0)?;
    Ok(Estimate {
        value: observed.best_value(index),
        uncertainty: observed.best().uncertainties.get(index).copied().flatten(),
        lower: interval.lower_crossing,
        upper: interval.upper_crossing,
    })
}

/// Finds the value of all channels but one. Also returns whether the fit converged.
fn others(
    analysis: &Analysis<'_>,
    poi: usize,
    (options, opener): (&CompatibilityOptions, &dyn SessionOpener),
    channel: &str,
    warnings: &mut Vec<String>,
) -> Result<(Estimate, bool), InferenceError> {
    let Split { model, .. } = split(analysis.model, poi, Some(channel))?;
    let session = opener.open(&model, None)?;
    let silent = analysis.silent();
    let mut without = Analysis::new(&model, of_single_fits(session.as_ref()), &options.fit, silent)?;
    without.data = analysis.data.clone();
    let mut observed = Observed::begin(&mut without, poi)?;
    let value = estimate(&mut without, &mut observed, poi)?;
    let which = format!("the fit without channel '{channel}'");
    Ok((value, judge(&without, &mut observed, &which, warnings)))
}

/// Adds warnings about a fit. Returns whether it converged.
fn judge(analysis: &Analysis<'_>, observed: &mut Observed, which: &str, warnings: &mut Vec<String>) -> bool {
    let fit = observed.best();
    let converged = fit.converged();
    if !converged {
        warnings.push(format!("{which}: {}", diagnosis::not_converged(analysis.model, fit).join("; ")));
    }
    warnings.append(&mut observed.notes);
    converged && observed.converged
}

/// Returns a warning if the best fit of a channel is at a bound, where the chi2 law does not hold.
fn doubts(analysis: &Analysis<'_>, observed: &Observed, channels: &[(String, usize)]) -> Option<String> {
    let at_bound = |(_, index): &&(String, usize)| {
        let (value, parameter) = (observed.best_value(*index), analysis.model.parameters.get(*index));
        parameter.is_some_and(|p| value <= p.bounds.0 || value >= p.bounds.1)
    };
    let names: Vec<&str> = channels.iter().filter(at_bound).map(|(name, _)| name.as_str()).collect();
    let list = diagnosis::list(names.iter().copied());
    let text = "the best fit is at a bound, where the statistic does not follow the chi2 law; take toys, or wider bounds";
    (!names.is_empty()).then(|| format!("{list}: {text}"))
}
