//! Confidence intervals of one parameter and confidence regions of two (`region`) with toys, by the construction of
//! Feldman and Cousins.
//!
//! A value of the parameter is inside the interval if its p-value is above `1 - cl`. The p-value is the probability of a
//! likelihood ratio `t = -2 ln L(value, other parameters fitted) / L(best fit)` of at least the observed one. Toys at the
//! value give it. They are drawn with the other parameters at their conditional best fit (profile construction).
//! The best fits of data and toys respect the bounds of the parameters. For a count with known background this is the
//! construction of G. J. Feldman and R. D. Cousins, Phys. Rev. D 57 (1998) 3873, arXiv:physics/9711021.

mod blocks;
mod fill;
mod options;
mod region;
mod result;
#[cfg(feature = "toy-files")]
mod saved;
mod search;
mod tester;

use ns_core::{Control, Model, Session};

pub use blocks::Block;
pub use options::IntervalOptions;
pub use region::{BorderPoint, RegionOptions, RegionPoint, RegionResult, region};
pub use result::{IntervalPoint, IntervalResult, LikelihoodInterval};
#[cfg(feature = "toy-files")]
pub use saved::{SavedIntervalError, interval_saved, region_saved};

use self::blocks::{NoStore, Store};
use self::result::Border;
use self::search::{Search, Tested};
use self::tester::{Ended, Tester};
use crate::analysis::Analysis;
use crate::observed::{At, Observed};
use crate::present::exact;
use crate::single_fits::of_single_fits;
use crate::toys::SAME_STATISTIC;
use crate::toys::goodness::check_number;
use crate::{InferenceError, normal, parameter_index};

/// Name of the analysis in messages.
const WHAT: &str = "a confidence interval";

/// By how much the grid goes beyond the interval of the chi2 law, in units of half its width.
const MARGIN: f64 = 0.5;

/// Finds the confidence interval of a parameter: with toys by the construction of Feldman and Cousins, without toys by the
/// chi2 law.
///
/// # Errors
/// For a confidence level, a number of toys, of points or a precision that is not allowed; for a parameter that is unknown
/// or fixed; and for the errors of fits and toys. [`InferenceError::Cancelled`] if the caller stopped the work before the
/// first toy. If it is stopped later, the result has the values tested so far, and `interrupted` is true.
pub fn interval(
    model: &Model,
    session: &dyn Session,
    options: &IntervalOptions,
    control: Control<'_>,
) -> Result<IntervalResult, InferenceError> {
    search_interval((model, session), options, control, &mut NoStore)
}

/// Finds the interval. `store` keeps finished toys.
fn search_interval(
    (model, session): (&Model, &dyn Session),
    options: &IntervalOptions,
    control: Control<'_>,
    store: &mut dyn Store,
) -> Result<IntervalResult, InferenceError> {
    check(options)?;
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
    let index = match &options.param {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi(WHAT)?,
    };
    let Some(parameter) = model.parameters.get(index) else { return Err(InferenceError::Cancelled) };
    if analysis.is_fixed(index) || parameter.bounds.0 >= parameter.bounds.1 {
        let (name, format) = (parameter.name.clone(), model.format);
        return Err(InferenceError::PoiFixed { analysis: WHAT, name, format });
    }
    store.begin(&analysis, &[parameter.name.as_str()], (options.nuisance, options.seed))?;
    let mut observed = Observed::begin(&mut analysis, index)?;
    let level = normal::quantile(0.5 * (1.0 - options.cl)).powi(2);
    let crossings = observed.crossings(&mut analysis, index, level)?;
    let sides = [
        (crossings.lower_crossing, crossings.lower_reason, parameter.bounds.0),
        (crossings.upper_crossing, crossings.upper_reason, parameter.bounds.1),
    ];
    let mut borders = Vec::with_capacity(2);
    for (crossing, reason, bound) in sides {
        borders.push(likelihood_border(
            &mut analysis,
            &mut observed,
            index,
            (crossing, reason, bound),
            level,
        )?);
    }
    let upper = borders.pop().unwrap_or_default();
    let lower = borders.pop().unwrap_or_default();
    let mut result = IntervalResult {
        param: parameter.name.clone(),
        method: "likelihood".into(),
        cl: options.cl,
        best_fit: observed.best_value(index),
        lower: lower.value,
        lower_error: None,
        lower_reason: lower.reason.clone(),
        upper: upper.value,
        upper_error: None,
        upper_reason: upper.reason.clone(),
        connected: None,
        nuisance: None,
        asymptotic: LikelihoodInterval::new(level, lower, upper),
        points: Vec::new(),
        accepted_error: None,
        n_toys: 0,
        seed: options.seed,
        toys_per_s: None,
        converged: false,
        interrupted: false,
        warnings: model.warnings.clone(),
    };
    result.warnings.extend(analysis.about_weights());
    let mut is_known = true;
    if let Some(n_toys) = options.n_toys {
        let half = half_width(&result, &observed, index);
        let mut search = Search {
            alpha: 1.0 - options.cl,
            n_toys,
            bounds: parameter.bounds,
            grid: grid(&result, half, parameter.bounds, options.points),
            step: (1.0 + MARGIN) * 2.0 * half / (options.points.max(2) - 1) as f64,
            resolution: 0.25 * options.precision * half,
            tested: Vec::new(),
        };
        let settings = (&options.fit, options.nuisance);
        let mut tester = Tester::new((model, session), vec![index], settings, options.seed, control);
        let place = |value: f64| vec![value];
        let ended = loop {
            search.tested.clear();
            search.learn(Tested { value: observed.best_value(index), t: 0.0, counts: None });
            let ended =
                follow(&mut analysis, &mut observed, &mut search, (&mut tester, &mut *store), &place)?;
            if ended != Ended::Moved {
                break ended;
            }
            tester.forget();
        };
        is_known = fill::with_toys(&mut result, &search, options.precision * half, ended);
        result.nuisance = Some(options.nuisance);
        is_known &= tester.doubts.is_empty();
        result.warnings.append(&mut tester.doubts);
        result.n_toys = tester.n_toys;
        result.toys_per_s = tester.toys_per_s();
        result.best_fit = observed.best_value(index);
    }
    if !observed.best().converged() {
        let problems = crate::diagnosis::not_converged(model, observed.best());
        result.warnings.push(format!("the free fit: {}", problems.join("; ")));
    }
    result.warnings.append(&mut observed.notes);
    result.warnings.extend(analysis.about_expected());
    result.converged = is_known
        && observed.best().converged()
        && observed.converged
        && !analysis.has_inexact_data()
        && !result.interrupted;
    Ok(result)
}

fn check(options: &IntervalOptions) -> Result<(), InferenceError> {
    if let Some(n_toys) = options.n_toys {
        check_number(n_toys)?;
    }
    if !(options.cl > 0.0 && options.cl < 1.0) {
        return Err(InferenceError::ContourLevel { value: options.cl });
    }
    let bad = |problem: String| Err(InferenceError::BadInterval { problem });
    if !(2..=10_000).contains(&options.points) {
        return bad(format!("it has {} points; give 2 to 10000", options.points));
    }
    if !(options.precision > 0.0 && options.precision <= 1.0) {
        let given = exact(options.precision);
        return bad(format!(
            "the precision is {given}; give a number above 0 and at most 1, for example 0.03"
        ));
    }
    Ok(())
}

/// Makes a border of the chi2 law. If `-2 ln L` does not rise by `level` before the bound, the bound is the border.
fn likelihood_border(
    analysis: &mut Analysis<'_>,
    observed: &mut Observed,
    index: usize,
    (crossing, reason, bound): (Option<f64>, Option<String>, f64),
    level: f64,
) -> Result<Border, InferenceError> {
    if crossing.is_some() || !bound.is_finite() {
        return Ok(Border { value: crossing, error: None, reason });
    }
    let rise = observed.at(analysis, &[(index, bound)])?.t;
    let name = analysis.model.parameters.get(index).map_or("", |p| p.name.as_str());
    if rise <= level {
        let reason = Some(format!("the bound {} of {name} is inside the interval", exact(bound)));
        return Ok(Border { value: Some(bound), error: None, reason });
    }
    Ok(Border { value: None, error: None, reason })
}

/// Returns half the width of the interval of the chi2 law. If a border is missing, the uncertainty of the parameter takes
/// its place.
fn half_width(result: &IntervalResult, observed: &Observed, index: usize) -> f64 {
    let best = result.best_fit;
    let sigma = observed.best().uncertainties.get(index).copied().flatten();
    let reach = |border: Option<f64>| border.map(|value| (value - best).abs());
    let (below, above) = (reach(result.asymptotic.lower), reach(result.asymptotic.upper));
    let half = match (below, above) {
        (Some(below), Some(above)) => 0.5 * (below + above),
        (Some(one), None) | (None, Some(one)) if one > 0.0 => one,
        _ => sigma.unwrap_or(f64::NAN) * result.asymptotic.level.sqrt(),
    };
    if half.is_finite() && half > 0.0 { half } else { 0.5 * best.abs().max(1.0) }
}

/// Returns the values that are tested first: equally spaced around the interval of the chi2 law, within the bounds.
fn grid(result: &IntervalResult, half: f64, (lower, upper): (f64, f64), points: usize) -> Vec<f64> {
    let best = result.best_fit;
    let low = result.asymptotic.lower.unwrap_or(best - half) - MARGIN * half;
    let high = result.asymptotic.upper.unwrap_or(best + half) + MARGIN * half;
    let (low, high) = (low.max(lower), high.min(upper));
    let last = points - 1;
    let at = |i: usize| if i == last { high } else { low + (high - low) * i as f64 / last as f64 };
    let mut values: Vec<f64> = (0..points).map(at).collect();
    values.dedup();
    values
}

/// Follows a search along a line to its end. `place` returns the values of the tested parameters at a place of the line.
fn follow(
    analysis: &mut Analysis<'_>,
    observed: &mut Observed,
    search: &mut Search,
    (tester, store): (&mut Tester<'_>, &mut dyn Store),
    place: &dyn Fn(f64) -> Vec<f64>,
) -> Result<Ended, InferenceError> {
    let generation = observed.generation;
    // A value gets its toys in several steps. Its fit is made once.
    let mut fitted: Vec<(f64, At)> = Vec::new();
    while let Some((value, n_toys)) = search.next() {
        let values = place(value);
        let at = match fitted.iter().find(|(known, _)| *known == value) {
            Some((_, at)) => at.clone(),
            None => match observed.at(analysis, &tester.held(&values)) {
                Err(InferenceError::Cancelled) if tester.n_toys > 0 => return Ok(Ended::Interrupted),
                at => at?,
            },
        };
        if generation != observed.generation {
            return Ok(Ended::Moved);
        }
        if at.t <= SAME_STATISTIC {
            search.learn(Tested { value, t: at.t, counts: None });
            continue;
        }
        if fitted.iter().all(|(known, _)| *known != value) {
            fitted.push((value, at.clone()));
        }
        let best = &observed.best().parameters;
        let (counts, ended) = tester.toys(analysis, store, best, (&values, &at), n_toys)?;
        if counts.good() > 0 || ended == Ended::Done {
            search.learn(Tested { value, t: at.t, counts: Some(counts) });
        }
        if ended == Ended::Interrupted {
            return if tester.n_toys == 0 { Err(InferenceError::Cancelled) } else { Ok(ended) };
        }
    }
    Ok(Ended::Done)
}
