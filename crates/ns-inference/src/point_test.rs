//! Tests of a point in several parameters by the likelihood ratio.
//!
//! The statistic is `t = -2 ln L(point, other parameters fitted) / L(best fit)`. For large samples it follows a chi2
//! distribution with one degree of freedom per tested parameter if the point is true (S. S. Wilks, Ann. Math. Stat. 9
//! (1938) 60; equation 8 of arXiv:1007.1727). Toys at the point give the distribution without this approximation.

use std::sync::Arc;

use ns_core::{
    Control, FitFailure, FitOutcome, FitRequest, FitTask, Inactive, Model, OutcomeParts, Search, Session,
    Start,
};
use serde::Serialize;

use crate::analysis::{Analysis, Fitted, WITH_INVERSE};
use crate::diagnosis;
use crate::goodness::chi2_tail;
use crate::hypotest::tester::free_fit;
use crate::lowest::Lowest;
use crate::single_fits::of_single_fits;
use crate::toy_nuisance::{self, ToyNuisance};
use crate::toys::INTERRUPTED;
use crate::toys::goodness::{GoodnessToys, binomial_error, check_number};
use crate::toys::point::PointToys;
use crate::{FitOptions, InferenceError, Work, normal, options, parameter_index};

const WHAT: &str = "a test of a point";

/// Options of [`hypotest_point`], set by chained methods.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct PointOptions {
    /// Data, fixed parameters, starting point and search effort of all fits.
    pub fit: FitOptions,
    /// Number of toys that are drawn at the point; `None` for the chi2 law alone.
    pub n_toys: Option<u64>,
    /// The nuisance parameters at which toys are drawn.
    pub nuisance: ToyNuisance,
    /// Seed of the random numbers.
    pub seed: u64,
}

options::setters! { PointOptions {
    fit: FitOptions, n_toys: Option<u64>, nuisance: ToyNuisance, seed: u64
} }

impl PointOptions {
    /// Returns the work of the test. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        self.n_toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 2 })
    }
}

/// The result of a test of a point. Serialises to the JSON of `nextstat hypotest` with named values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PointResult {
    /// Names of the tested parameters.
    pub params: Vec<String>,
    /// Tested values, in the order of `params`.
    pub values: Vec<f64>,
    /// Best-fit values of the tested parameters.
    pub best_fit: Vec<f64>,
    /// Name of the statistic, `t`: the two-sided likelihood ratio.
    pub test_stat: &'static str,
    /// The statistic: `-2 ln L` of the conditional fit minus that of the free fit.
    pub t: f64,
    /// Degrees of freedom of the chi2 law: the number of tested parameters.
    pub n_dof: usize,
    /// Probability of a statistic of at least `t` if the point is true, by the chi2 law.
    pub p_value: Option<f64>,
    /// The same as standard deviations of a normal distribution, two-sided. With one parameter it is the root of `t`.
    /// `None` if `p_value` is too small for a floating-point number.
    pub z: Option<f64>,
    /// Fraction of the converged toys with a statistic of at least `t`; `None` without toys.
    pub p_value_toys: Option<f64>,
    /// Binomial error of `p_value_toys`. If no toy has a statistic of at least `t`, the error is the upper end of the
    /// Clopper-Pearson interval of one standard deviation.
    pub p_value_toys_error: Option<f64>,
    /// Number of toys that were run, and numbers of toys that were left out; `None` without toys.
    pub toys: Option<GoodnessToys>,
    /// `-2 ln L` of the free fit.
    pub twice_nll_free: f64,
    /// `-2 ln L` of the fit with the tested parameters held.
    pub twice_nll_conditional: f64,
    /// Estimated error of differences of `twice_nll` of Asimov data with events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Whether both fits have their certificate of a minimum. For Asimov data with events, their error is also small
    /// enough.
    pub converged: bool,
    /// Whether the caller stopped the work. Only finished toys are counted.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Tests the point at which parameters have the given `values`, by full name. All other parameters are fitted. With one
/// value, this is the two-sided test of one parameter.
///
/// # Errors
/// For an empty list, a name that is unknown or given twice, a value that is not finite, a parameter that is fixed, and for
/// the errors of [`crate::hypotest()`] and of toys.
pub fn hypotest_point(
    model: &Model,
    session: &dyn Session,
    values: &[(String, f64)],
    options: &PointOptions,
    control: Control<'_>,
) -> Result<PointResult, InferenceError> {
    if let Some(n_toys) = options.n_toys {
        check_number(n_toys)?;
    }
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let (single, own) =
        if options.n_toys.is_some() { (of_single_fits(session), silent) } else { (session, control) };
    let mut analysis = Analysis::new(model, single, &options.fit, own)?;
    let held = held(&analysis, values)?;
    let Fits { free, conditional, mut warnings } = fits(&mut analysis, &held)?;
    let t = (2.0 * (conditional.nll - free.nll)).max(0.0);
    warnings.extend(doubts(&analysis, &held, &free));
    let p_value = Some(chi2_tail(t, held.len() as f64)).filter(|p| p.is_finite());
    let best = |i: usize| free.parameters.get(i).copied().unwrap_or(f64::NAN);
    let mut result = PointResult {
        params: values.iter().map(|(name, _)| name.clone()).collect(),
        values: values.iter().map(|(_, value)| *value).collect(),
        best_fit: held.iter().map(|(i, _)| best(*i)).collect(),
        test_stat: "t",
        t,
        n_dof: held.len(),
        p_value,
        z: z(t, held.len(), p_value),
        p_value_toys: None,
        p_value_toys_error: None,
        toys: None,
        twice_nll_free: 2.0 * free.nll,
        twice_nll_conditional: 2.0 * conditional.nll,
        asimov_error: analysis.asimov_error(),
        converged: free.converged() && conditional.converged() && !analysis.has_inexact_data(),
        interrupted: false,
        warnings,
    };
    if let Some(n_toys) = options.n_toys {
        let fits = (free.parameters.as_slice(), conditional.parameters.as_slice());
        let settings = (held.as_slice(), options.seed);
        let mut origin =
            toy_nuisance::origin(options.nuisance, (model, session), &options.fit, fits, settings, control)?;
        if let Some(doubt) = origin.doubt.take() {
            result.converged = false;
            result.warnings.push(doubt);
        }
        let toys = PointToys::prepare(&mut analysis, session, origin, &held, options.seed)?;
        let (counts, above) = toys.count((model, session), 0..n_toys, t, control)?;
        add_toys(&mut result, counts, above);
    }
    Ok(result)
}

/// Returns the indices of the tested parameters, and their values.
fn held(analysis: &Analysis<'_>, values: &[(String, f64)]) -> Result<Vec<(usize, f64)>, InferenceError> {
    let model = analysis.model;
    let bad = |problem: String| InferenceError::BadPoint { problem };
    if values.is_empty() {
        return Err(bad("it has no parameter; give at least one name and value".to_owned()));
    }
    let mut held: Vec<(usize, f64)> = Vec::with_capacity(values.len());
    for (name, value) in values {
        let index = parameter_index(model, name)?;
        if !value.is_finite() {
            return Err(InferenceError::NotFinite {
                what: "the tested value",
                name: name.clone(),
                value: *value,
            });
        }
        if held.iter().any(|(i, _)| *i == index) {
            return Err(bad(format!("it has '{name}' twice; give every parameter one value")));
        }
        let open = model.parameters.get(index).is_some_and(|p| p.bounds.0 < p.bounds.1);
        if analysis.is_fixed(index) || !open {
            let (name, format) = (name.clone(), model.format);
            return Err(InferenceError::PoiFixed { analysis: WHAT, name, format });
        }
        held.push((index, *value));
    }
    Ok(held)
}

/// The two fits of the data, with warnings about them.
struct Fits {
    free: FitOutcome,
    conditional: FitOutcome,
    warnings: Vec<String>,
}

/// Makes the free and the conditional fit. If the conditional fit ends lower, the free fit is repeated from there.
fn fits(analysis: &mut Analysis<'_>, held: &[(usize, f64)]) -> Result<Fits, InferenceError> {
    let model = analysis.model;
    let mut warnings = model.warnings.clone();
    warnings.extend(analysis.about_weights());
    let first = held.first().map_or(0, |(i, _)| *i);
    analysis.expect(3);
    let free = free_fit(analysis, first)?;
    let base = analysis.base.clone();
    let mut lowest = Lowest::new(analysis.settle_expected(free, &base, WITH_INVERSE)?);
    let within = |&(i, value): &(usize, f64)| {
        model.parameters.get(i).is_some_and(|p| p.bounds.0 <= value && value <= p.bounds.1)
    };
    let inside = held.iter().all(within);
    let conditional = loop {
        let conditional = conditional_fit(analysis, &lowest.fit, held)?;
        let depth = 2.0 * (lowest.fit.nll - conditional.nll);
        // Outside the bounds a conditional fit may be lower than every point inside.
        if inside && depth > lowest.tolerance && lowest.may_restart() {
            let start = Start::At(Arc::from(conditional.parameters.as_slice()));
            let request = FitRequest { start, search: Search::Local, ..analysis.base.clone() };
            let data = analysis.data.clone();
            let next = analysis.fit(&data, request, WITH_INVERSE)?;
            if let Some(gain) = lowest.restart(next, depth, false) {
                warnings.push(format!(
                    "the conditional fit met a minimum lower by {gain:.3e} in twice_nll; the free fit was repeated there"
                ));
            }
            continue;
        }
        let points = [lowest.fit.parameters.as_slice(), conditional.parameters.as_slice()];
        if analysis.recheck_expected(points.into_iter())? {
            let (data, request) = (analysis.data.clone(), analysis.base.clone());
            lowest = Lowest::new(analysis.fit(&data, request, WITH_INVERSE)?);
            continue;
        }
        break conditional;
    };
    let free = lowest.fit;
    for (which, fit) in [("the free fit", &free), ("the fit at the point", &conditional)] {
        if fit.converged() {
            let Analysis { session, data, .. } = &*analysis;
            let note = diagnosis::without_events(model, *session, data, fit);
            warnings.extend(note.map(|note| format!("{which}: {note}")));
        } else {
            warnings.push(format!("{which}: {}", diagnosis::not_converged(model, fit).join("; ")));
        }
    }
    warnings.extend(analysis.about_expected());
    Ok(Fits { free, conditional, warnings })
}

/// Makes the conditional fit, with the search effort of a fit whose number is reported.
pub(crate) fn conditional_fit(
    analysis: &mut Analysis<'_>,
    free: &FitOutcome,
    held: &[(usize, f64)],
) -> Result<FitOutcome, InferenceError> {
    let start = analysis.predict(free, held);
    let search = analysis.variation_search();
    let request = FitRequest { search, ..analysis.conditional(held, start) };
    let mut requests = vec![request.clone()];
    if analysis.is_small() {
        // The search of a fit that knows no other fit.
        let start = analysis.base.start.clone();
        requests.push(FitRequest { start, search: Search::Thorough, metric: None, ..request });
    }
    let data = analysis.data.clone();
    let task = |request: FitRequest| FitTask { data: data.clone(), fits: vec![request], cancel: None };
    let tasks: Vec<FitTask> = requests.into_iter().map(task).collect();
    let mut fits = analysis.run(&tasks, OutcomeParts::default())?;
    let wanted = (tasks.as_slice(), OutcomeParts::default());
    let further = analysis.compare(free, wanted, &fits, true, |_| false)?;
    fits.extend(further.into_iter().map(|(_, fit)| fit));
    lowest_of(analysis, fits)
}

/// Returns the lowest of several results of one fit. A result that converged is preferred.
fn lowest_of(analysis: &Analysis<'_>, fits: Vec<Fitted>) -> Result<FitOutcome, InferenceError> {
    let mut best: Option<FitOutcome> = None;
    let mut failure = None;
    for fit in fits {
        match fit {
            Err(other) => failure = failure.or(Some(other)),
            Ok(fit) => {
                let is_better = best.as_ref().is_none_or(|best| match (fit.converged(), best.converged()) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => fit.nll < best.nll,
                });
                if is_better {
                    best = Some(fit);
                }
            }
        }
    }
    best.ok_or_else(|| match failure {
        Some(FitFailure::Cancelled) | None => InferenceError::Cancelled,
        Some(failure) => InferenceError::FitFailed { reason: diagnosis::failure(analysis.model, &failure) },
    })
}

/// Returns reasons why the chi2 law may not hold for a test.
fn doubts(analysis: &Analysis<'_>, held: &[(usize, f64)], free: &FitOutcome) -> Vec<String> {
    let parameters = &analysis.model.parameters;
    let names = |list: Vec<usize>| {
        let names = list.iter().filter_map(|i| parameters.get(*i)).map(|p| p.name.as_str());
        diagnosis::list(names.collect::<Vec<_>>().into_iter())
    };
    let which = |holds: &dyn Fn(usize, f64) -> bool| -> Vec<usize> {
        held.iter().filter(|(i, value)| holds(*i, *value)).map(|(i, _)| *i).collect()
    };
    let bounds = |i: usize| parameters.get(i).map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);
    let outside = which(&|i, value| value < bounds(i).0 || value > bounds(i).1);
    let at_bound = which(&|i, value| {
        let best = free.parameters.get(i).copied().unwrap_or(f64::NAN);
        [best, value].iter().any(|x| *x == bounds(i).0 || *x == bounds(i).1)
    });
    let flat = which(&|i, _| free.inactive.contains(&(i, Inactive::Flat)));
    let mut notes = Vec::new();
    if !outside.is_empty() {
        let names = names(outside);
        notes.push(format!(
            "the tested value of {names} lies outside its bounds, which hold in the free fit only"
        ));
    }
    if !at_bound.is_empty() {
        let names = names(at_bound);
        notes.push(format!(
            "{names}: the best fit or the tested value is at a bound, where the statistic does not follow the chi2 law; \
             take toys"
        ));
    }
    if !flat.is_empty() {
        let names = names(flat);
        notes.push(format!(
            "the data do not determine {names}: the likelihood is constant along a direction, and the statistic has fewer \
             degrees of freedom than tested parameters"
        ));
    }
    notes
}

/// Returns the standard deviations of a normal distribution, two-sided, that have the probability `p_value`.
fn z(t: f64, n_dof: usize, p_value: Option<f64>) -> Option<f64> {
    if n_dof == 1 {
        return Some(t.sqrt());
    }
    let p = p_value.filter(|p| *p > 0.0)?;
    Some(normal::quantile(0.5 * p).abs()).filter(|z| z.is_finite())
}

/// Adds the p-value by toys.
fn add_toys(result: &mut PointResult, counts: GoodnessToys, above: u64) {
    let good = counts.n_toys - counts.n_nonconverged - counts.n_error;
    if good > 0 {
        result.p_value_toys = Some(above as f64 / good as f64);
        result.p_value_toys_error = binomial_error(above, good);
    } else {
        result.warnings.push("p_value_toys is null: there is no toy to count".to_owned());
    }
    if good < counts.n_toys {
        result.warnings.push(format!(
            "{} of {} toys did not converge or failed and are left out",
            counts.n_toys - good,
            counts.n_toys
        ));
    }
    if counts.interrupted {
        result.warnings.push(INTERRUPTED.to_owned());
    }
    result.interrupted = counts.interrupted;
    result.toys = Some(counts);
}
