//! Samples of the posterior of all free parameters, and what follows from them: credible intervals and limits.
//!
//! The posterior is proportional to the likelihood with its constraint terms. So the prior of a constrained parameter is
//! its constraint term, and that of a free parameter is flat within its bounds unless one is given. Chains move by the No-U-Turn sampler with
//! exact gradients, in coordinates in which the covariance of the fit is the unit matrix.

mod chains;
mod diagnostics;
#[cfg(feature = "toy-files")]
mod file;
mod options;
mod prior;
mod result;
mod space;

use ns_core::{Control, Model, Session};

#[cfg(feature = "pictures")]
pub(crate) use diagnostics::quantile_of_sorted;
#[cfg(feature = "toy-files")]
pub use file::write_draws;
pub use options::PosteriorOptions;
pub use prior::Prior;
pub use result::{Draws, Marginal, PosteriorResult};

use self::chains::Chain;
use self::space::Space;
use crate::analysis::{Analysis, WITH_INVERSE};
use crate::diagnosis;
use crate::present::significant;
use crate::single_fits::of_single_fits;
use crate::{InferenceError, normal};

/// Largest R-hat, and smallest effective number of draws per chain, of a converged result (Vehtari et al. 2021).
const MOST_R_HAT: f64 = 1.01;
const LEAST_ESS: f64 = 100.0;

/// Largest fraction of paths that may diverge in a converged result.
const MOST_DIVERGENT: f64 = 0.01;

/// Largest number of chains, and of draws of all chains times free parameters.
const MOST_CHAINS: usize = 1000;
const MOST_NUMBERS: usize = 1 << 29;

/// Samples the posterior of the free parameters.
///
/// # Errors
/// For numbers of chains or draws that are not allowed, a probability that is not between 0 and 1, a model without free
/// parameters, and the errors of the fit at which the chains begin. [`InferenceError::Cancelled`] if the caller stopped the
/// work before every chain had four draws. If it is stopped later, the result has the draws made so far.
pub fn sample(
    model: &Model,
    session: &dyn Session,
    options: &PosteriorOptions,
    control: Control<'_>,
) -> Result<PosteriorResult, InferenceError> {
    check(options)?;
    let session = of_single_fits(session);
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, session, &options.fit, silent)?;
    let (data, base) = (analysis.data.clone(), analysis.base.clone());
    let fit = analysis.fit(&data, base.clone(), WITH_INVERSE)?;
    let fit = analysis.settle_expected(fit, &base, WITH_INVERSE)?;
    let space = Space::new(model, &fit, |i| analysis.is_fixed(i));
    let priors = prior::of_options(model, options, |i| analysis.is_fixed(i))?;
    if space.len() == 0 {
        return Err(bad("the model has no free parameter; release one".to_owned()));
    }
    if options.chains.saturating_mul(options.draws).saturating_mul(space.len()) > MOST_NUMBERS {
        return Err(bad(format!(
            "draws of {} parameters do not fit into memory; take fewer draws",
            space.len()
        )));
    }
    let mut warnings = model.warnings.clone();
    warnings.extend(analysis.about_weights());
    if !fit.converged() {
        let problems = diagnosis::not_converged(model, &fit).join("; ");
        warnings.push(format!("the fit at which the chains begin: {problems}"));
    }
    let chains = chains::run(session, (&analysis.data, &priors), &space, options, control)?;
    let made = chains.iter().map(|chain| chain.ln_likelihood.len()).min().unwrap_or(0);
    let interrupted = made < options.draws;
    if made < 4 {
        return Err(InferenceError::Cancelled);
    }
    if interrupted {
        warnings.push("interrupted: only the draws made by then are counted".to_owned());
    }
    warnings.extend(analysis.about_expected());
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let draws = draws(chains.as_slice(), space.indices().map(name).collect(), made);
    let marginals = space.indices().enumerate().map(|(k, i)| {
        let best = fit.parameters.get(i).copied().unwrap_or(f64::NAN);
        marginal(draws.names.get(k).cloned().unwrap_or_default(), best, &draws.of(k), options.cl)
    });
    let parameters: Vec<Marginal> = marginals.collect::<Option<_>>().ok_or(InferenceError::Cancelled)?;
    let least_ess = LEAST_ESS * options.chains as f64;
    let n_divergent: u64 = chains.iter().map(|chain| chain.n_divergent).sum();
    let agrees = notes(&parameters, (n_divergent, options.chains * made), least_ess, &mut warnings);
    Ok(PosteriorResult {
        pois: model.poi_names().map(str::to_owned).collect(),
        priors: options.priors.iter().map(|(name, prior)| (name.clone(), prior.to_string())).collect(),
        cl: options.cl,
        parameters,
        n_chains: options.chains,
        n_draws: made,
        n_tune: options.tune,
        n_divergent,
        n_gradients: chains.iter().map(|chain| chain.n_gradients).sum(),
        most_r_hat: MOST_R_HAT,
        least_ess,
        seed: options.seed,
        converged: agrees && !interrupted && !analysis.has_inexact_data(),
        interrupted,
        warnings,
        draws,
    })
}

/// Returns the names of the parameters that are sampled: those that are not fixed and have a range.
#[must_use]
pub fn sampled<'a>(model: &'a Model, options: &PosteriorOptions) -> Vec<&'a str> {
    let free = model.parameters.iter().filter(|parameter| {
        let is_held = options.fit.fixed.iter().any(|(name, _)| *name == parameter.name);
        !parameter.fixed && !is_held && parameter.bounds.0 < parameter.bounds.1
    });
    free.map(|parameter| parameter.name.as_str()).collect()
}

fn bad(problem: String) -> InferenceError {
    InferenceError::BadPosterior { problem }
}

fn check(options: &PosteriorOptions) -> Result<(), InferenceError> {
    if !(options.cl > 0.0 && options.cl < 1.0) {
        return Err(InferenceError::ContourLevel { value: options.cl });
    }
    if !(1..=MOST_CHAINS).contains(&options.chains) {
        return Err(bad(format!("give 1 to {MOST_CHAINS} chains, not {}", options.chains)));
    }
    if !(10..=10_000_000).contains(&options.draws) {
        return Err(bad(format!("give 10 to 10000000 draws per chain, not {}", options.draws)));
    }
    if !(50..=10_000_000).contains(&options.tune) {
        return Err(bad(format!("{} draws are for adaptation; give 50 to 10000000", options.tune)));
    }
    Ok(())
}

/// Keeps the first `made` draws of every chain.
fn draws(chains: &[Chain], names: Vec<String>, made: usize) -> Draws {
    let n = names.len();
    let first = |values: &[f64], count: usize| values.get(..count).unwrap_or_default().to_vec();
    Draws {
        values: chains.iter().map(|chain| first(&chain.draws, made * n)).collect(),
        ln_likelihood: chains.iter().map(|chain| first(&chain.ln_likelihood, made)).collect(),
        names,
    }
}

/// Summarises the draws of one parameter.
fn marginal(name: String, best_fit: f64, chains: &[Vec<f64>], cl: f64) -> Option<Marginal> {
    let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
    let mut all: Vec<f64> = chains.concat();
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    all.sort_by(f64::total_cmp);
    let at = |p: f64| diagnostics::quantile_of_sorted(&all, p);
    let upper_limit = at(cl)?;
    // The error of a quantile is half the distance of the quantiles at the ends of the interval of its probability.
    let error = |ess: f64| {
        let width = (cl * (1.0 - cl) / ess).sqrt();
        Some(0.5 * (at(cl + width)? - at(cl - width)?))
    };
    let sigmas = [-2.0, -1.0, 1.0, 2.0].map(|z: f64| at(normal::upper_tail(-z)));
    let [Some(a), Some(b), Some(c), Some(d)] = sigmas else { return None };
    Some(Marginal {
        name,
        best_fit,
        mean,
        mean_error: diagnostics::ess_mean(&chains).map(|ess| sd / ess.sqrt()),
        sd,
        median: at(0.5)?,
        quantiles: [a, b, c, d],
        lower: at(0.5 * (1.0 - cl))?,
        upper: at(0.5 * (1.0 + cl))?,
        upper_limit,
        upper_limit_error: diagnostics::ess_quantile(&chains, upper_limit).and_then(error),
        r_hat: diagnostics::r_hat(&chains),
        ess_bulk: diagnostics::ess_bulk(&chains),
        ess_tail: diagnostics::ess_tail(&chains),
    })
}

/// Adds warnings about parameters beyond the limits. Returns whether there are none.
fn notes(
    parameters: &[Marginal],
    (n_divergent, n_draws): (u64, usize),
    least_ess: f64,
    warnings: &mut Vec<String>,
) -> bool {
    let before = warnings.len();
    let names = |bad: &dyn Fn(&&Marginal) -> bool| {
        let names: Vec<&str> = parameters.iter().filter(bad).map(|p| p.name.as_str()).collect();
        (!names.is_empty()).then(|| diagnosis::list(names.into_iter()))
    };
    if let Some(names) = names(&|p| !p.r_hat.is_some_and(|r| r <= MOST_R_HAT)) {
        warnings.push(format!(
            "R-hat is above {MOST_R_HAT} for {names}: the chains do not agree; take more draws"
        ));
    }
    let few = |ess: Option<f64>| !ess.is_some_and(|ess| ess >= least_ess);
    if let Some(names) = names(&|p| few(p.ess_bulk) || few(p.ess_tail)) {
        let least = significant(least_ess);
        warnings.push(format!("fewer than {least} effective draws for {names}; take more draws"));
    }
    let agrees = warnings.len() == before;
    if n_divergent > 0 {
        let what = format!("{n_divergent} of {n_draws} draws come from paths that diverged");
        warnings.push(format!(
            "{what}: parts of the posterior with strong curvature may be missing; take a longer adaptation"
        ));
    }
    agrees && n_divergent as f64 <= MOST_DIVERGENT * n_draws as f64
}
