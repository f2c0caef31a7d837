//! Runs one fit, from its starting point to a certified outcome.

mod kinks;

use std::sync::Arc;

use ns_core::{
    Certificate, Covariance, FitFailure, FitOutcome, FitStatus, Inactive, IntegralError, InverseHessian,
    OutcomeParts, Reason, Search,
};

use super::active::{classify, inactive, on_bound, release_without_slope};
use super::descend::{Descent, Mode, descend};
use super::escape::spectrum;
use super::flat::{FLAT_FLOOR, LARGEST_WHOLE, Settled, is_clear, may_be_flat, settle};
use super::null_space::members;
use super::search::{BestSoFar, search};
use super::wall::hold_at_walls;
use super::{Problem, Worker};
use crate::curvature::{
    Curvature, Factored, FactoredInverse, Point, assemble_until, covariance, factor_until, solve, variances,
};
use crate::events::{Wall, integral_error};
use crate::plan::{EDM_TOLERANCE, EDM_WITHOUT_PROGRESS};
use kinks::{join_sides, mark_two_sided, onto_kinks, put_on_kinks};

/// Largest number of parameters for which uncertainties are computed from the full covariance matrix. Up to this
/// number, the full matrix takes no longer than the variances alone.
pub(crate) const DENSE_LIMIT: usize = 400;

/// An eigenvalue of the Hessian, after it was scaled to a unit diagonal, counts as zero if it is at most this number.
const SPECTRUM_FLOOR: f64 = 1e-11;

/// An eigenvalue of the scaled Hessian below this number is not due to rounding errors.
pub(super) const NEGATIVE: f64 = -1e-6;

/// If the distance of a parameter from its kink at 0 is smaller than this number, the optimiser tries to put the
/// parameter exactly on the kink. An EDM (estimated distance to the minimum) of 1e-12 does not decide whether the
/// minimum is on the kink, and the curvatures on the two sides of the kink differ.
pub(crate) const NEAR_KINK: f64 = 1e-6;

/// Largest number of lower minima that are followed on the way to the nearest point of a valley.
const MOST_LOWER: usize = 4;

/// Minimises `-ln L`, certifies the minimum, and computes the wanted uncertainties.
///
/// # Errors
/// If no starting point has a finite likelihood, or the caller asked to stop.
pub(crate) fn fit(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    further: &[Vec<f64>],
    effort: Search,
    cold: bool,
    metric: Option<&InverseHessian>,
    wanted: OutcomeParts,
) -> Result<FitOutcome, FitFailure> {
    worker.n_evaluations = 0;
    let found = search(worker, problem, start, further, effort, cold, metric);
    let outcome = found.and_then(|found| finish(worker, problem, found, wanted));
    worker.scratch.events.set_walls(None);
    outcome
}

/// Certifies the best minimum of a search, and computes the wanted uncertainties.
///
/// # Errors
/// If the caller asked to stop.
fn finish(
    worker: &mut Worker,
    problem: &Problem<'_>,
    mut found: BestSoFar,
    wanted: OutcomeParts,
) -> Result<FitOutcome, FitFailure> {
    // If the search was interrupted, a lower minimum may have been missed.
    if problem.is_cancelled() {
        return Err(FitFailure::Cancelled);
    }
    let mut best = found.best.clone();
    // Parameters on kinks of functions are held there.
    let mut held = problem.clone();
    for &p in &best.kinks {
        held.fixed[p] = true;
    }
    let kinks = best.kinks.clone();
    let (whole, problem) = (problem, if kinks.is_empty() { problem } else { &held });
    let (mut iterations, searching) = (found.first_iterations, found.iterations - found.first_iterations);
    if let Some(on_kink) = onto_kinks(problem, &best.theta)
        && let Ok(other) = descend(worker, problem, &on_kink, Mode::from(false))
    {
        iterations += other.iterations;
        let is_same = other.kinks.is_empty() && other.value() <= best.value() + EDM_TOLERANCE;
        if other.status == FitStatus::Converged && is_same {
            best = other;
        }
    }
    put_on_kinks(worker, problem, &mut best);
    let mut outcome = describe(worker, problem, &best, found.improved);
    let with_uncertainties = wanted.uncertainties || wanted.covariance;
    // The computation of uncertainties finds a valley by itself. Without uncertainties, the eigenvectors of a large model
    // would take much longer than a fit near another fit.
    let stuck = best.status == FitStatus::NotConverged(Reason::NoProgress);
    let mut examined = if with_uncertainties { stuck } else { best.theta.len() <= DENSE_LIMIT };
    examined = examined && may_be_flat(worker, problem, &best);
    let mut flat = examined && to_nearest(worker, problem, &mut best);
    if examined {
        outcome = describe(worker, problem, &best, found.improved);
    }
    if with_uncertainties && !flat {
        // The last steps may have used the factor from an earlier point. If the Hessian at the final point does not
        // confirm the minimum, the descent continues from there.
        for round in 0..3 {
            let (confirmed, is_clear) =
                uncertainties(worker, problem, wanted, best.walls.as_deref(), &mut outcome);
            if problem.is_cancelled() {
                return Err(FitFailure::Cancelled);
            }
            let falls = best.status == FitStatus::NotConverged(Reason::Unbounded);
            if !is_clear && !examined && !falls && best.theta.len() <= LARGEST_WHOLE {
                examined = true;
                flat = to_nearest(worker, problem, &mut best);
                outcome = describe(worker, problem, &best, found.improved);
                if flat {
                    break;
                }
                continue;
            }
            if confirmed || falls || round == 2 {
                break;
            }
            let mut again =
                descend(worker, problem, &best.theta, Mode { verify: true, ..Mode::from(false) })?;
            iterations += again.iterations;
            if !again.kinks.is_empty() {
                again.kinks.extend(kinks);
                (found.best, found.first_iterations) = (again, iterations);
                found.iterations = iterations + searching;
                return finish(worker, whole, found, wanted);
            }
            again.kinks.clone_from(&kinks);
            best = again;
            outcome = describe(worker, problem, &best, found.improved);
        }
        // There are uncertainties if the exact Hessian is positive definite.
        if outcome.status == FitStatus::NotConverged(Reason::NoProgress)
            && outcome.uncertainties.iter().any(Option::is_some)
            && outcome.certificate.edm <= EDM_WITHOUT_PROGRESS
        {
            outcome.status = FitStatus::Converged;
        }
        let without = best.walls.is_none() && outcome.uncertainties.iter().all(Option::is_none);
        if !examined && without && best.theta.len() <= LARGEST_WHOLE {
            flat = to_nearest(worker, problem, &mut best);
            outcome = describe(worker, problem, &best, found.improved);
        }
    }
    // A descent from the end of a valley may have ended on another kink.
    if !best.kinks.is_empty() && best.kinks != kinks && !problem.is_cancelled() {
        best.kinks.extend(kinks);
        (found.best, found.first_iterations, found.iterations) = (best, iterations, iterations + searching);
        return finish(worker, whole, found, wanted);
    }
    // A fit that was interrupted on its way along a valley has no result.
    if problem.is_cancelled() {
        return Err(FitFailure::Cancelled);
    }
    if flat {
        spectral_uncertainties(worker, problem, wanted, FLAT_FLOOR, &mut outcome);
        if !with_uncertainties {
            outcome.uncertainties.clear();
        }
    } else if with_uncertainties {
        if outcome.uncertainties.iter().all(Option::is_none) {
            spectral_uncertainties(worker, problem, wanted, SPECTRUM_FLOOR, &mut outcome);
        }
    } else {
        outcome.certificate.projected_gradient =
            worker.slope.iter().zip(&worker.newton).map(|(g, d)| (g * d).abs()).fold(0.0, f64::max).sqrt();
        if outcome.status == FitStatus::NotConverged(Reason::NoProgress) {
            // This is the same final check as with uncertainties. The status must not depend on what the caller
            // wants.
            spectral_uncertainties(worker, problem, wanted, SPECTRUM_FLOOR, &mut outcome);
            outcome.uncertainties.clear();
        }
    }
    let is_inexact = |error: IntegralError| !(error.relative <= problem.integral_tolerance);
    if outcome.status == FitStatus::Converged && outcome.certificate.integral_error.is_some_and(is_inexact) {
        outcome.status = FitStatus::NotConverged(Reason::InexactIntegral);
    }
    // Directions that count as flat may have a slope that leads to a lower point.
    let inside = best.walls.is_none() && outcome.status == FitStatus::Converged;
    if inside && outcome.certificate.edm > EDM_WITHOUT_PROGRESS {
        outcome.status = FitStatus::NotConverged(Reason::NoProgress);
    }
    withdraw_at_jumps(problem, &mut outcome);
    outcome.inactive.extend(kinks.into_iter().map(|p| (p, Inactive::Kink)));
    outcome.n_iterations = iterations;
    outcome.n_search_iterations = searching;
    outcome.n_evaluations = worker.n_evaluations;
    Ok(outcome)
}

/// If free parameters move a jump of a density, takes back the certificate, and what was said of these parameters from
/// derivatives.
fn withdraw_at_jumps(problem: &Problem<'_>, outcome: &mut FitOutcome) {
    let jumps = problem.plan.events.jumps().iter().copied();
    let parameters: Vec<usize> = jumps.filter(|&p| !problem.fixed[p]).collect();
    if parameters.is_empty() {
        return;
    }
    outcome.certificate.edm = f64::NAN;
    outcome.inactive.retain(|(p, why)| *why != Inactive::Flat || !parameters.contains(p));
    for &p in &parameters {
        if let Some(uncertainty) = outcome.uncertainties.get_mut(p) {
            *uncertainty = None;
        }
        if let Some(matrix) = &mut outcome.covariance {
            let Covariance { n, values } = Arc::make_mut(matrix);
            for q in 0..*n {
                values[p * *n + q] = 0.0;
                values[q * *n + p] = 0.0;
            }
        }
    }
    if outcome.status != FitStatus::NotConverged(Reason::Unbounded) {
        outcome.status = FitStatus::NotConverged(Reason::Jump { parameters });
    }
}

/// Does the same as [`settle`], again after each lower minimum that it finds, and then moves parameters close to their kink
/// onto it. Returns whether the minimum is a valley. A minimum that is held at a wall stays where it is, and so does the
/// last point of a descent without a minimum.
fn to_nearest(worker: &mut Worker, problem: &Problem<'_>, best: &mut Descent) -> bool {
    for _ in 0..MOST_LOWER {
        if best.walls.is_some() || best.status == FitStatus::NotConverged(Reason::Unbounded) {
            return false;
        }
        match settle(worker, problem, best) {
            Settled::Sharp => return false,
            Settled::Lower => {}
            Settled::Flat => {
                put_on_kinks(worker, problem, best);
                return true;
            }
        }
    }
    false
}

/// Returns the outcome of a fit whose best descent is `best`, without uncertainties. After the call, the worker's
/// gradient and active parameters are those of the final point.
fn describe(worker: &mut Worker, problem: &Problem<'_>, best: &Descent, improved: usize) -> FitOutcome {
    let theta = &best.theta;
    worker.scratch.events.set_walls(best.walls.clone());
    worker.evaluate(problem, theta, 0.0);
    worker.gradient(problem, theta);
    classify(worker, problem, theta);
    if best.walls.is_none() {
        release_without_slope(worker, problem, theta);
    }
    let mut inactive = inactive(worker, problem, theta);
    inactive.extend(best.flat.iter().map(|&p| (p, Inactive::Flat)));
    FitOutcome {
        status: best.status.clone(),
        nll: best.value() + problem.data.saturated_main + problem.data.saturated_constraint,
        parameters: theta.clone(),
        certificate: Certificate {
            edm: best.edm,
            projected_gradient: 0.0,
            indefinite_steps: best.indefinite,
            restarts_improved: improved,
            integral_error: integral_error(&problem.plan.events, &worker.scratch.events),
        },
        n_iterations: best.iterations,
        n_search_iterations: 0,
        n_evaluations: 0,
        inactive,
        empty_bins: worker.scratch.lambda[..problem.plan.n_bins()]
            .iter()
            .enumerate()
            .filter(|&(_, &l)| l <= 0.0)
            .map(|(b, _)| b)
            .collect(),
        empty_channels: worker.scratch.events.empty(&problem.plan.events),
        uncertainties: Vec::new(),
        covariance: None,
        factors: None,
    }
}

/// Computes the uncertainties from the exact Hessian at the minimum, the covariance matrix if it is wanted, and the EDM
/// (estimated distance to the minimum). Returns two answers: whether the Hessian is positive definite and the EDM is small
/// enough, and whether all pivots are clearly positive.
fn uncertainties(
    worker: &mut Worker,
    problem: &Problem<'_>,
    wanted: OutcomeParts,
    walls: Option<&[Wall]>,
    outcome: &mut FitOutcome,
) -> (bool, bool) {
    let (plan, level, n) = (problem.plan, problem.level, outcome.parameters.len());
    outcome.uncertainties = vec![None; n];
    let two_sides = join_sides(worker, plan, &outcome.parameters);
    let dense = wanted.covariance || n <= DENSE_LIMIT;
    let mut wide = dense.then(|| worker.wide.take().unwrap_or_else(|| Curvature::new(&plan.structure.wide)));
    let (layout, curvature) = match &mut wide {
        Some(wide) => (&plan.structure.wide, wide),
        None => (&plan.structure.layout, &mut worker.curvature),
    };
    let point = Point {
        theta: &outcome.parameters,
        data: problem.data,
        active: &worker.active,
        side: &worker.side,
        exactness: 1.0,
        damping: 0.0,
        tether: problem.tether(),
    };
    let stop = problem.stop;
    assemble_until(level, plan, layout, point, &mut worker.scratch, curvature, stop);
    let factored = factor_until(level, layout, curvature, stop);
    let Factored::Positive { flat, least } = factored else {
        worker.wide = wide.or_else(|| worker.wide.take());
        return (false, true);
    };
    solve(level, layout, curvature, &worker.slope, &mut worker.newton);
    let edm: f64 = 0.5 * worker.slope.iter().zip(&worker.newton).map(|(g, d)| g * d).sum::<f64>();
    outcome.certificate.edm = edm.max(0.0);
    let is_clear = flat.is_empty() && is_clear(least, edm);
    let confirmed = edm <= EDM_TOLERANCE || outcome.status != FitStatus::Converged;
    if !confirmed {
        outcome.status = FitStatus::NotConverged(Reason::NoProgress);
    }
    let mut variance = vec![0.0; n];
    let (mut values, mut held) = (Vec::new(), Vec::new());
    if dense {
        covariance(level, layout, curvature, &mut values, stop);
        held = hold_at_walls(worker, problem, walls, &mut values);
        for p in 0..n {
            variance[p] = values[p * n + p];
        }
    } else {
        variances(level, layout, curvature, &mut variance, stop);
    }
    worker.wide = wide.or_else(|| worker.wide.take());
    for (p, is_below) in held {
        worker.active[p] = false;
        outcome.inactive.push((p, if is_below { Inactive::LowerBound } else { Inactive::UpperBound }));
    }

    let matrix = wanted.covariance.then_some(values);
    let without = report(worker, &flat, &variance, matrix, outcome);
    if wanted.inverse && !dense {
        let moves = without.into_iter().map(|without| !without).collect();
        let (structure, curvature) = (&plan.structure, &worker.curvature);
        let factors = FactoredInverse::new(level, structure, &structure.layout, curvature, moves);
        outcome.factors = Some(InverseHessian::Factored(Arc::new(factors)));
    }
    mark_two_sided(worker, plan, &two_sides, &variance, outcome);
    (confirmed, is_clear)
}

/// Writes the uncertainties, and the covariance `matrix` if it is given, to the outcome. Inactive parameters and flat
/// parameters (without curvature) are left out. Returns for each parameter whether it was left out.
fn report(
    worker: &Worker,
    flat: &[usize],
    variance: &[f64],
    matrix: Option<Vec<f64>>,
    outcome: &mut FitOutcome,
) -> Vec<bool> {
    let n = variance.len();
    outcome.inactive.retain(|&(_, why)| why != Inactive::Flat);
    let mut without: Vec<bool> = (0..n).map(|p| !worker.active[p]).collect();
    for &p in flat {
        if !without[p] {
            without[p] = true;
            outcome.inactive.push((p, Inactive::Flat));
        }
    }
    for p in 0..n {
        if !without[p] && variance[p] > 0.0 && variance[p].is_finite() {
            outcome.uncertainties[p] = Some(variance[p].sqrt());
        }
    }
    outcome.certificate.projected_gradient = (0..n)
        .filter_map(|p| outcome.uncertainties[p].map(|s| (worker.slope[p] * s).abs()))
        .fold(0.0, f64::max);
    if let Some(mut values) = matrix {
        for p in (0..n).filter(|&p| without[p]) {
            for q in 0..n {
                values[p * n + q] = 0.0;
                values[q * n + p] = 0.0;
            }
        }
        outcome.covariance = Some(Arc::new(Covariance { n, values }));
    }
    without
}

/// Computes uncertainties from the eigenvectors of the exact Hessian. Directions with an eigenvalue of at most `floor`
/// count as flat, also if their curvature is negative by rounding or if a bound is in the way of a lower point. The
/// uncertainties along all other directions come from the pseudo-inverse.
fn spectral_uncertainties(
    worker: &mut Worker,
    problem: &Problem<'_>,
    wanted: OutcomeParts,
    floor: f64,
    outcome: &mut FitOutcome,
) {
    let n = outcome.parameters.len();
    outcome.uncertainties = vec![None; n];
    if n > LARGEST_WHOLE {
        return;
    }
    let two_sides = join_sides(worker, problem.plan, &outcome.parameters);
    let (spectrum, flat) = loop {
        let Some(spectrum) = spectrum(worker, problem, &outcome.parameters) else { return };
        let found = members(worker, problem, &outcome.parameters, &spectrum, floor);
        if found.blocked.is_empty() {
            break (spectrum, found.flat);
        }
        // Bounds are in the way of the flat direction, so the likelihood does determine these parameters.
        for p in found.blocked {
            let inwards = on_bound(problem, p, outcome.parameters[p]);
            let why = if inwards == Some(1.0) { Inactive::LowerBound } else { Inactive::UpperBound };
            outcome.inactive.push((p, why));
            (worker.active[p], worker.slope[p]) = (false, 0.0);
        }
    };
    let (mut edm, mut slope_left) = (0.0, 0.0);
    let mut variance = vec![0.0; n];
    let mut values = vec![0.0; n * n];
    for (k, &value) in spectrum.values.iter().enumerate() {
        let vector = &spectrum.vectors[k * n..(k + 1) * n];
        let slope: f64 = vector.iter().zip(&worker.slope).map(|(v, g)| v * g).sum();
        if value <= floor {
            let length = vector.iter().fold(0.0, |m, v| f64::max(m, v.abs()));
            // Along a direction of clearly negative curvature, a slope leads to lower points.
            let length = if value < NEGATIVE { length.max(1.0) } else { length };
            slope_left = f64::max(slope_left, slope.abs() * length);
            continue;
        }
        edm += 0.5 * slope * slope / value;
        for p in 0..n {
            for q in 0..n {
                values[p * n + q] += vector[p] * vector[q] / value;
            }
        }
    }
    for p in 0..n {
        variance[p] = values[p * n + p];
    }
    outcome.certificate.edm = edm;
    let falls = outcome.status == FitStatus::NotConverged(Reason::Unbounded);
    let stuck = outcome.status == FitStatus::NotConverged(Reason::NoProgress);
    let enough = if stuck { EDM_WITHOUT_PROGRESS } else { EDM_TOLERANCE };
    if edm <= enough && slope_left <= 1e-6 && !falls {
        outcome.status = FitStatus::Converged;
    }
    let matrix = (wanted.covariance || wanted.inverse).then_some(values);
    report(worker, &flat, &variance, matrix, outcome);
    mark_two_sided(worker, problem.plan, &two_sides, &variance, outcome);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
