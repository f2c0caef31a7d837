//! Maximum-likelihood fits of one or many data sets.

mod batch;
mod interest;
mod result;

pub use crate::options::{FitData, FitOptions, WeightedUncertainties};
pub use batch::{BatchFit, fit_batch, fit_batch_within};
pub use interest::PoiCorrelation;
pub use result::{FitResult, IntegralErrorOf, MOST_WITH_COVARIANCE};

use std::sync::Arc;

use ns_core::{Control, Data, FitOutcome, FitRequest, Inactive, Model, OutcomeParts, Search, Session, Start};

use crate::analysis::Analysis;
use crate::lowest::{Lowest, Stop};
use crate::minos::{self, Interval, Parent};
use crate::{
    InferenceError, bin_centres, context_gradient, derived, diagnosis, negative_density, parameter_index,
    rough_uncertainties, weighted,
};

/// Finds the best fit of `model` with its uncertainties.
///
/// After the free fit, MINOS intervals are computed for the parameters in `options.minos`. If `options.crossings` is
/// set, MINOS intervals are also computed for parameters at a bound or on a kink of an interpolation. The ends of a
/// MINOS interval are the values of the parameter at which `-2 ln L`, minimised over all other parameters, is 1 above
/// its minimum. If a conditional fit in the search for these values ends below the minimum, the free fit is repeated
/// from the end point of this conditional fit. The result is therefore the lowest minimum found.
///
/// If the fit does not converge, the result has `converged = false`, and `warnings` gives possible reasons.
///
/// # Errors
/// For options that do not match the model, a likelihood that is not finite at any starting point, a device failure,
/// or an interruption before the minimum was found.
pub fn fit(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    control: Control<'_>,
) -> Result<FitResult, InferenceError> {
    let mut analysis = Analysis::new(model, session, options, control)?;
    let request = analysis.base.clone();
    let minos = minos_parameters(&analysis, options)?;
    let derived = derived::functions(&analysis, options)?;
    let weighted = weighted::has_weights(model, &analysis.data, &options.data);
    let method = weighted.then(|| options.weighted_uncertainties.unwrap_or(WeightedUncertainties::Sandwich));
    let covariance = options.covariance
        || !derived.is_empty()
        || ((weighted || bin_centres::has_centres(model)) && options.uncertainties);
    // The correlations of the parameters of interest need a few rows of the covariance matrix.
    let inverse = options.uncertainties && !covariance && model.pois.len() > 1;
    let wanted = OutcomeParts { uncertainties: options.uncertainties, covariance, inverse };
    let data = analysis.data.clone();
    let first = analysis.fit(&data, request.clone(), wanted)?;
    let mut lowest = Lowest::new(analysis.settle_expected(first, &request, wanted)?);
    let mut notes = Vec::new();
    let intervals = loop {
        let parameters = interval_parameters(&lowest.fit, &minos, options);
        let tolerance = lowest.tolerance;
        let parent =
            Parent { analysis: &analysis, outcome: &lowest.fit, level: 1.0, tolerance, asked: &minos };
        let found = minos::crossings(&parent, &parameters);
        let data = analysis.data.clone();
        let (point, depth) = match found {
            Ok((intervals, points)) => {
                if !analysis.recheck_expected(points.iter().map(Vec::as_slice))? {
                    break intervals;
                }
                let data = analysis.data.clone();
                lowest = Lowest::new(analysis.fit(&data, request.clone(), wanted)?);
                continue;
            }
            Err(Stop::Lower(point, depth)) => (point, depth),
            Err(Stop::Error(error)) => return Err(error),
        };
        if !lowest.may_restart() {
            let why = "conditional fits keep falling below the minimum; it may not be the lowest";
            break parameters.iter().map(|i| (*i, Interval::without(model, *i, why))).collect();
        }
        let start = Start::At(point.into());
        let again = FitRequest { start, search: Search::Local, ..request.clone() };
        let next = analysis.fit(&data, again, wanted)?;
        let before = lowest.fit.clone();
        if let Some(gain) = lowest.restart(next, depth, false) {
            notes.push(format!(
                "the search for intervals met a minimum lower by {gain:.3e} in twice_nll; the fit was restarted there"
            ));
            // The first fit turned out to be a search for the minimum.
            lowest.fit.n_search_iterations += before.all_iterations();
            lowest.fit.n_evaluations += before.n_evaluations;
        }
    };
    let data = analysis.data.clone();
    let mut fit = lowest.fit;
    if fit.converged() {
        notes.extend(bin_centres::warning(model, &data, &fit));
        if let Some(method) = method {
            notes.extend(weighted::correct(session, &data, &mut fit, method)?);
        }
        notes.extend(negative_density::warnings(model, &mut fit));
    }
    let (quantities, problems) =
        derived::of_fit(&analysis, options, &derived, &fit, fit.covariance.as_deref())?;
    let correlation = PoiCorrelation::of(model, &fit).filter(|_| options.uncertainties);
    if !options.covariance {
        fit.covariance = None;
    }
    let mut result = name_result(&analysis, options, method, (fit, &minos, intervals), notes);
    result.derived = quantities;
    result.poi_correlation = correlation;
    result.warnings.extend(problems);
    Ok(result)
}

/// Returns the indices of the parameters whose names are in `options.minos`. MINOS intervals are computed for these
/// parameters.
///
/// # Errors
/// For an unknown parameter name, or a parameter that is fixed in the fit.
fn minos_parameters(analysis: &Analysis<'_>, options: &FitOptions) -> Result<Vec<usize>, InferenceError> {
    let mut indices: Vec<usize> = Vec::with_capacity(options.minos.len());
    for name in &options.minos {
        let index = parameter_index(analysis.model, name)?;
        if analysis.is_fixed(index) {
            return Err(InferenceError::FixedParameter { name: name.clone() });
        }
        if !indices.contains(&index) {
            indices.push(index);
        }
    }
    Ok(indices)
}

/// Returns the indices of the parameters for which a MINOS interval is computed: the parameters in `minos` and, if
/// `options.crossings` is set, the parameters at a bound or on a kink of an interpolation.
fn interval_parameters(outcome: &FitOutcome, minos: &[usize], options: &FitOptions) -> Vec<usize> {
    let mut parameters = minos.to_vec();
    if options.uncertainties && options.crossings && outcome.converged() {
        parameters.extend(outcome.inactive.iter().filter(|(_, why)| *why != Inactive::Flat).map(|(i, _)| *i));
    }
    parameters.sort_unstable();
    parameters.dedup();
    parameters
}

/// Builds the result of a fit from its outcome. Adds the names of the parameters, and warnings with the reasons why
/// numbers are missing.
fn name_result(
    analysis: &Analysis<'_>,
    options: &FitOptions,
    weighted: Option<WeightedUncertainties>,
    (mut outcome, minos, intervals): (FitOutcome, &[usize], Vec<(usize, Interval)>),
    notes: Vec<String>,
) -> FitResult {
    let Analysis { model, session, data, .. } = analysis;
    let n = model.parameters.len();
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let fixed: Vec<String> = (0..n).filter(|i| analysis.is_fixed(*i)).map(name).collect();
    let inactive = |kind: fn(Inactive) -> bool| -> Vec<String> {
        outcome.inactive.iter().filter(|(_, why)| kind(*why)).map(|(i, _)| name(*i)).collect()
    };
    let at_bound = inactive(|why| matches!(why, Inactive::LowerBound | Inactive::UpperBound));
    let at_kink = inactive(|why| matches!(why, Inactive::Kink | Inactive::TwoSided));
    let two_sided = inactive(|why| why == Inactive::TwoSided);
    let on_kink = inactive(|why| why == Inactive::Kink);
    let flat = inactive(|why| why == Inactive::Flat);
    let interrupted = analysis.is_cancelled();

    let mut warnings = model.warnings.clone();
    warnings.extend(notes);
    warnings.extend(about_weights(options, weighted, !intervals.is_empty()));
    if !outcome.converged() {
        warnings.extend(diagnosis::not_converged(model, &outcome));
    } else {
        warnings.extend(diagnosis::without_events(model, *session, data, &outcome));
    }
    warnings.extend(analysis.about_expected());
    let edm = outcome.certificate.edm;
    if !edm.is_finite() {
        warnings.push("edm is null: the curvature at the returned point allows no estimate".to_owned());
    }
    if options.uncertainties {
        warnings.extend(missing_uncertainties(&fixed, &at_bound, &on_kink, &two_sided));
        warnings.extend(diagnosis::flat_directions(model, *session, data, &outcome));
        warnings.extend(rough_uncertainties::hardly_determined(model, &outcome));
        warnings.extend(rough_uncertainties::one_sided(model, &outcome));
    }
    let (mut asked, mut crossings) = (Vec::new(), Vec::new());
    for (i, interval) in intervals {
        for (side, reason) in [("lower", &interval.lower_reason), ("upper", &interval.upper_reason)] {
            if let Some(reason) = reason {
                warnings.push(format!("the {side} crossing of {} is null: {reason}", interval.parameter));
            }
        }
        if outcome.inactive.iter().any(|(j, _)| *j == i) && options.crossings {
            crossings.push(interval.clone());
        }
        if minos.contains(&i) {
            asked.push(interval);
        }
    }
    // MINOS intervals are listed in the order of the request, not in the order of the parameters.
    asked.sort_by_key(|interval| options.minos.iter().position(|name| *name == interval.parameter));
    if interrupted {
        warnings.push("interrupted after the minimum was found: what is missing was not computed".to_owned());
    }

    let covariance =
        outcome.covariance.take().map(|matrix| mark_flat(Arc::unwrap_or_clone(matrix), &outcome));
    let uncertainties = if options.uncertainties { pad(&outcome.uncertainties, n) } else { vec![None; n] };
    FitResult {
        parameter_names: (0..n).map(name).collect(),
        pulls: pulls(model, data, &outcome.parameters, |i| analysis.is_fixed(i)),
        constraints: constraints(model, &uncertainties),
        uncertainties,
        covariance,
        weighted_uncertainties: weighted.filter(|_| options.uncertainties || options.covariance),
        context_gradients: context_gradient::of_model(model),
        nll: outcome.nll,
        twice_nll: 2.0 * outcome.nll,
        poi_index: model.poi(),
        poi_correlation: None,
        converged: outcome.converged() && !analysis.has_inexact_data(),
        asimov_error: analysis.asimov_error(),
        edm: edm.is_finite().then_some(edm),
        integral_error: outcome.certificate.integral_error.map(|error| {
            let (process, channel) = diagnosis::process_place(model, error.channel, error.process);
            IntegralErrorOf {
                relative: error.relative.is_finite().then_some(error.relative),
                channel: channel.to_owned(),
                process: process.to_owned(),
            }
        }),
        n_iter: outcome.n_iterations,
        n_search_iter: outcome.n_search_iterations,
        n_evaluations: outcome.n_evaluations,
        at_bound,
        at_kink,
        flat,
        fixed,
        termination_reason: diagnosis::termination(&outcome),
        minos: asked,
        crossings,
        derived: Vec::new(),
        warnings,
        interrupted,
        bestfit: outcome.parameters,
    }
}

/// Returns warnings about the uncertainties of fits of weighted events.
fn about_weights(
    options: &FitOptions,
    weighted: Option<WeightedUncertainties>,
    intervals: bool,
) -> Vec<String> {
    let mut warnings = Vec::new();
    match (weighted, options.weighted_uncertainties) {
        (None, Some(asked)) if asked != WeightedUncertainties::Hesse => warnings.push(format!(
            "no event has a weight other than 1: the uncertainties are those of the Hessian, and {asked} is not needed"
        )),
        (Some(WeightedUncertainties::Hesse), _) if options.uncertainties => warnings.push(
            "the events have weights: the inverse Hessian is not the covariance of the parameters; \"sandwich\" is right"
                .to_owned(),
        ),
        _ => {}
    }
    if weighted.is_some() && intervals {
        warnings.push(
            "the events have weights: intervals at a rise of twice_nll by 1 are not those of one standard deviation"
                .to_owned(),
        );
    }
    warnings
}

/// Returns a copy of `uncertainties` with the length `n`. Missing and infinite uncertainties become `None`.
fn pad(uncertainties: &[Option<f64>], n: usize) -> Vec<Option<f64>> {
    let mut padded: Vec<Option<f64>> = uncertainties.iter().map(|u| u.filter(|x| x.is_finite())).collect();
    padded.resize(n, None);
    padded
}

/// Sets the rows and columns of flat parameters, which the data do not determine, to NaN. Such parameters have no
/// variance. In JSON, NaN becomes null.
fn mark_flat(mut matrix: ns_core::Covariance, outcome: &FitOutcome) -> ns_core::Covariance {
    let n = matrix.n;
    let flat = |i: usize| outcome.inactive.iter().any(|(j, why)| *j == i && *why == Inactive::Flat);
    for (k, value) in matrix.values.iter_mut().enumerate() {
        if flat(k / n) || flat(k % n) {
            *value = f64::NAN;
        }
    }
    matrix
}

/// Computes the pull of every parameter: `(value - auxiliary datum) / pre-fit width`. The datum of a Poisson constraint
/// is divided by its `tau`, the ratio of the mean of the datum to the parameter. The pull of fixed and unconstrained
/// parameters is `None`.
pub(crate) fn pulls(
    model: &Model,
    data: &Data,
    values: &[f64],
    is_fixed: impl Fn(usize) -> bool,
) -> Vec<Option<f64>> {
    let aux = &data.counts(model).aux;
    let pull = |(i, (p, value)): (usize, (&ns_core::Parameter, &f64))| {
        let datum = aux.get(p.constraint.aux()?)?;
        let centre = match p.constraint {
            ns_core::Constraint::Poisson { tau, .. } => datum / tau,
            _ => *datum,
        };
        let pull = (value - centre) / p.constraint.prefit_sigma()?;
        (pull.is_finite() && !is_fixed(i)).then_some(pull)
    };
    model.parameters.iter().zip(values).enumerate().map(pull).collect()
}

/// Computes the ratio of the uncertainty of every parameter to the width of its constraint.
fn constraints(model: &Model, uncertainties: &[Option<f64>]) -> Vec<Option<f64>> {
    let ratio = |(p, sigma): (&ns_core::Parameter, &Option<f64>)| {
        let ratio = (*sigma)? / p.constraint.prefit_sigma()?;
        ratio.is_finite().then_some(ratio)
    };
    model.parameters.iter().zip(uncertainties).map(ratio).collect()
}

/// Returns one warning for each reason why uncertainties are missing.
fn missing_uncertainties(
    fixed: &[String],
    at_bound: &[String],
    at_kink: &[String],
    two_sided: &[String],
) -> Vec<String> {
    let line = |names: &[String], why: &str| {
        let names_text = diagnosis::list(names.iter().map(String::as_str));
        (!names.is_empty()).then(|| format!("no uncertainty for {names_text}: {why}"))
    };
    [
        line(fixed, "fixed"),
        line(at_bound, "at a bound; `crossings` has the points where twice_nll rises by 1, and the other uncertainties hold with this value"),
        line(two_sided, "on a kink where both slopes vanish, and the curvature differs between its sides; `crossings` has the points where twice_nll rises by 1; in the other uncertainties and the covariance the mean of both curvatures stands for it"),
        line(at_kink, "on the kink of a piecewise interpolation or of a function; `crossings` has the points where twice_nll rises by 1, and the other uncertainties hold with this value"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
