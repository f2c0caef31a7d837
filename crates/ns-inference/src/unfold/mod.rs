//! Unfolding: the distribution of the truth from the data, by a fit of one factor per truth bin.
//!
//! The response is in the model: each truth bin is a sample (or several ones) whose template is its column of the response
//! times the predicted truth, and whose factor is the ratio of the truth to the prediction. Without regularisation, unfolding
//! is a plain fit of these factors. A penalty `tau/2 |L (mu - 1)|^2` added to `-ln L` makes the factors smoother and biases them
//! towards the prediction (A. N. Tikhonov, Sov. Math. Dokl. 4 (1963) 1035; A. Höcker, V. Kartvelishvili, Nucl. Instrum. Meth. A
//! 372 (1996) 469).
//!
//! The penalty is a sum of the Gaussian terms that functions of parameters can have in any model. So the fits are ordinary
//! fits.

mod matrix;
mod options;
mod result;
mod roughness;
mod solve;
mod spread;
mod strength;
mod truth;

use ns_core::{Control, Device, FitOutcome, Inactive, Model, Session};

pub use crate::toys::unfold::UnfoldedBinToys;
pub use options::{Prediction, Regularisation, Strength, ToysAt, UnfoldOptions};
pub use result::{BottomLine, PredictionTest, TauPoint, UnfoldResult, UnfoldToys, UnfoldedBin};

use self::roughness::Roughness;
use self::solve::{Penalised, Problem, Solution};
use self::spread::Spread;
use self::strength::Chosen;
use crate::analysis::Analysis;
use crate::goodness::unconstrained;
use crate::present::significant;
use crate::single_fits::of_single_fits;
use crate::toys::INTERRUPTED;
use crate::toys::goodness::check_number;
use crate::toys::unfold::{FactorToys, ToyFactor};
use crate::{InferenceError, SessionOpener, diagnosis};

/// Relative difference by which the bottom-line test may fail because of rounding and of fits that end close to their minimum.
const SAME_CHI2: f64 = 1e-6;

/// Unfolds the data: finds the factors of the truth bins, with their covariance, their bias and a test of the prediction.
/// `opener` opens the sessions of the models with a penalty, which are on the CPU.
///
/// # Errors
/// For factors that are unknown, fixed, constrained or too few, a prediction or a strength that does not fit, a penalty on a GPU,
/// and for the errors of fits and toys. [`InferenceError::Cancelled`] if the caller stopped the work before the data were
/// unfolded.
pub fn unfold(
    model: &Model,
    session: &dyn Session,
    options: &UnfoldOptions,
    opener: &dyn SessionOpener,
    control: Control<'_>,
) -> Result<UnfoldResult, InferenceError> {
    if let Some(n_toys) = options.n_toys {
        check_number(n_toys)?;
    }
    strength::check(options)?;
    let is_penalised = options.regularisation != Regularisation::None;
    if is_penalised && session.device() != Device::Cpu {
        return Err(InferenceError::CannotUnfold {
            problem: format!(
                "fits with a penalty are for the CPU, and the device is {}; take --device cpu, or no regularisation",
                session.device()
            ),
        });
    }
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut plain = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
    let truth = truth::factors(&plain, options)?;
    let problem = Problem {
        roughness: Roughness::new(options.regularisation, truth.len()),
        truth,
        opener,
        control: if options.n_toys.is_some() { silent } else { control },
    };
    let Chosen { solution, scan, from, warnings } = loop {
        let chosen = strength::choose(&problem, &plain, options)?;
        let end = chosen.solution.fit.parameters.clone();
        if !plain.recheck_expected(std::iter::once(end.as_slice()))? {
            break chosen;
        }
    };
    let mut told: Vec<String> = model.warnings.clone();
    told.extend(plain.about_weights());
    told.extend(warnings);
    let mut converged = judge(&plain, &solution.fit, "", &mut told);
    told.extend(at_bounds(model, &problem, &solution.fit));
    let n_unconstrained = unconstrained(&plain);
    let (predicted, folded) = solve::prediction(&mut plain, &problem.truth, n_unconstrained)?;
    converged &= judge(&plain, &predicted, "the fit with all factors at 1: ", &mut told);
    if problem.control.is_cancelled() {
        return Err(InferenceError::Cancelled);
    }

    let own = problem.open(model, solution.tau)?;
    let bias = bias(&problem, &plain, &own, &solution)?;
    let bottom_line = bottom_line(folded, &solution, &mut told);
    told.extend(plain.about_expected());
    let mut result = UnfoldResult {
        truth: bins(model, &problem, options, &solution, bias.as_deref()),
        title: options.prediction.title.clone(),
        edges: options.prediction.edges.clone(),
        regularisation: options.regularisation,
        tau: solution.tau,
        tau_from: from.into(),
        scan,
        covariance: matrix(&solution, Spread::covariance),
        correlation: matrix(&solution, Spread::correlation),
        covariance_penalised: matrix(&solution, Spread::penalised),
        mean_global_correlation: solution.mean_correlation(),
        twice_nll: 2.0 * solution.nll,
        chi2: solution.chi2,
        roughness: solution.roughness,
        bottom_line,
        toys: None,
        converged: converged && !plain.has_inexact_data(),
        interrupted: false,
        warnings: told,
    };
    if bias.is_none() {
        result.warnings.push(
            "the bias is null: the data expected at the unfolded factors cannot be unfolded".to_owned(),
        );
    }
    if let Some(n_toys) = options.n_toys {
        let point = match options.toys_at {
            ToysAt::BestFit => &solution.fit.parameters,
            ToysAt::Prediction => &predicted.parameters,
        };
        // Without a penalty, toys may be fitted by a GPU.
        let job = if is_penalised { (&own.model, own.session.as_ref()) } else { (model, session) };
        let sigma = |all: &ns_core::Covariance| {
            let spread = Spread::new(all, &problem.truth, &problem.roughness, solution.tau);
            (spread.uncertainties(), spread.uncertainties_penalised())
        };
        let toys =
            FactorToys::new(&plain, job, (point, &solution.fit), &problem.truth, &sigma, options.seed)?;
        add_toys(&mut result, options, toys.run(job, n_toys, control)?);
    }
    Ok(result)
}

/// Returns the matrix of a solution; empty if the fit has no covariance.
fn matrix(solution: &Solution, of: impl Fn(&Spread) -> matrix::Square) -> Vec<Vec<f64>> {
    solution.spread.as_ref().map(|spread| of(spread).rows()).unwrap_or_default()
}

/// Adds a warning if a fit did not converge. Returns whether it converged.
fn judge(analysis: &Analysis<'_>, fit: &FitOutcome, which: &str, warnings: &mut Vec<String>) -> bool {
    if !fit.converged() {
        let problems = diagnosis::not_converged(analysis.model, fit);
        warnings.push(format!("{which}{}", problems.join("; ")));
    }
    fit.converged()
}

/// Returns a warning about factors without an uncertainty.
fn at_bounds(model: &Model, problem: &Problem<'_>, fit: &FitOutcome) -> Vec<String> {
    let with = |wanted: &[Inactive]| {
        let is_wanted =
            |(index, why): &&(usize, Inactive)| problem.truth.contains(index) && wanted.contains(why);
        let names: Vec<&str> =
            fit.inactive.iter().filter(is_wanted).map(|(index, _)| diagnosis::name(model, *index)).collect();
        (!names.is_empty()).then(|| diagnosis::list(names.into_iter()))
    };
    let bound = with(&[Inactive::LowerBound, Inactive::UpperBound]).map(|names| {
        format!("{names}: at a bound, without an uncertainty; give wider bounds, fewer bins or a penalty")
    });
    let flat = with(&[Inactive::Flat]).map(|names| {
        format!("{names}: the data do not determine the factors; give a penalty, or fewer truth bins")
    });
    bound.into_iter().chain(flat).collect()
}

/// Returns the bias of each factor: the factors that are unfolded from the data expected at the solution, minus those of the
/// solution. `None` if this fit did not converge.
fn bias(
    problem: &Problem<'_>,
    plain: &Analysis<'_>,
    own: &Penalised,
    solution: &Solution,
) -> Result<Option<Vec<f64>>, InferenceError> {
    let point = &solution.fit.parameters;
    let expected = match plain.session.asimov(point, &plain.data) {
        Ok(expected) => expected,
        Err(_) => return Ok(None),
    };
    let job = (&own.model, own.session.as_ref());
    let again = problem.fit(job, &expected, solve::from(plain, &solution.fit))?;
    let differences = problem.differences(&again.parameters);
    let shift = differences.iter().zip(&solution.differences).map(|(a, b)| a - b).collect();
    Ok(again.converged().then_some(shift))
}

/// Compares the data and the unfolded factors with the prediction.
fn bottom_line(
    folded: Option<PredictionTest>,
    solution: &Solution,
    warnings: &mut Vec<String>,
) -> BottomLine {
    // Without all factors there is no covariance of the measured distribution.
    let spread = solution.spread.as_ref().filter(|spread| spread.is_complete());
    let chi2 = spread.and_then(|spread| spread.chi2(&solution.differences));
    let n_dof = spread.map_or(0, |spread| i64::try_from(spread.n_active()).unwrap_or(i64::MAX));
    let unfolded = chi2.map(|chi2| solve::test(chi2, n_dof));
    let passed = folded
        .as_ref()
        .zip(unfolded.as_ref())
        .map(|(folded, unfolded)| unfolded.chi2 <= folded.chi2 + SAME_CHI2 * folded.chi2.max(1.0));
    match (&folded, &unfolded) {
        (None, _) => warnings.push(
            "there is no bottom-line test: single events have no saturated model to compare with".to_owned(),
        ),
        (_, None) => warnings.push(
            "there is no bottom-line test: the data do not determine all factors within their bounds, so that their covariance has no inverse"
                .to_owned(),
        ),
        (Some(folded), Some(unfolded)) if passed == Some(false) => warnings.push(format!(
            "the bottom-line test fails: the prediction has chi2 {} for the unfolded factors and {} for the data; compare \
             predictions with the data",
            significant(unfolded.chi2),
            significant(folded.chi2)
        )),
        _ => {}
    }
    BottomLine { folded, unfolded, passed }
}

/// Returns the truth bins.
fn bins(
    model: &Model,
    problem: &Problem<'_>,
    options: &UnfoldOptions,
    solution: &Solution,
    bias: Option<&[f64]>,
) -> Vec<UnfoldedBin> {
    let spread = solution.spread.as_ref();
    let none = vec![None; problem.truth.len()];
    let list = |of: fn(&Spread) -> Vec<Option<f64>>| spread.map_or_else(|| none.clone(), of);
    let sigma = list(Spread::uncertainties);
    let penalised = list(Spread::uncertainties_penalised);
    let global = list(Spread::global_correlations);
    let at = |values: &[Option<f64>], k: usize| values.get(k).copied().flatten();
    let bin = |(k, index): (usize, &usize)| {
        let value = solution.fit.parameters.get(*index).copied().unwrap_or(f64::NAN);
        let prediction = options.prediction.yields.get(k).copied();
        let uncertainty = at(&sigma, k);
        UnfoldedBin {
            name: diagnosis::name(model, *index).to_owned(),
            value,
            uncertainty,
            uncertainty_penalised: at(&penalised, k),
            global_correlation: at(&global, k),
            bias: bias.and_then(|bias| bias.get(k).copied()),
            prediction,
            unfolded: prediction.map(|prediction| prediction * value),
            unfolded_uncertainty: prediction.zip(uncertainty).map(|(prediction, sigma)| prediction * sigma),
            toys: None,
        }
    };
    problem.truth.iter().enumerate().map(bin).collect()
}

/// Adds what the toys have shown.
fn add_toys(result: &mut UnfoldResult, options: &UnfoldOptions, found: crate::toys::unfold::Found) {
    for (bin, toy) in result.truth.iter_mut().zip(&found.factors) {
        bin.toys = Some(ToyFactor::summary(toy));
    }
    if found.n_left_out > 0 {
        result.warnings.push(format!(
            "{} of {} toys did not converge or failed and are left out",
            found.n_left_out, found.n_toys
        ));
    }
    if found.interrupted {
        result.warnings.push(INTERRUPTED.to_owned());
    }
    result.interrupted = found.interrupted;
    result.toys = Some(UnfoldToys {
        n_toys: found.n_toys,
        n_left_out: found.n_left_out,
        at: options.toys_at,
        seed: options.seed,
        toys_per_s: (found.wall_s > 0.0).then(|| found.n_toys as f64 / found.wall_s),
    });
}
