//! One fit from start to certified outcome.

use ns_core::{Certificate, Covariance, FitFailure, FitOutcome, FitStatus, Inactive, Reason, Search, Wanted};

use super::active::{classify, inactive};
use super::descend::{Descent, EDM_TOLERANCE};
use super::search::search;
use super::{Problem, Worker};
use crate::curvature::{Curvature, Factored, Point, assemble, covariance, factor, solve, variances};

/// Models up to this size get their uncertainties from the full covariance: as fast, and it
/// tells which parameters share a flat direction.
const DENSE_LIMIT: usize = 400;

/// Minimises and certifies.
///
/// # Errors
/// If no start point has a finite likelihood.
pub(crate) fn fit(
    worker: &mut Worker,
    problem: &Problem<'_>,
    start: &[f64],
    further: &[Vec<f64>],
    effort: Search,
    cold: bool,
    wanted: Wanted,
) -> Result<FitOutcome, FitFailure> {
    worker.n_evaluations = 0;
    let found = search(worker, problem, start, further, effort, cold)?;
    let Descent { theta, likelihood, edm, status, indefinite, flat, .. } = found.best;
    let mut outcome = FitOutcome {
        status,
        nll: likelihood.value() + problem.data.saturated_main + problem.data.saturated_constraint,
        parameters: theta,
        certificate: Certificate {
            edm,
            projected_gradient: 0.0,
            indefinite_steps: indefinite,
            restarts_improved: found.improved,
        },
        n_iterations: found.iterations,
        n_evaluations: 0,
        inactive: Vec::new(),
        empty_bins: Vec::new(),
        uncertainties: Vec::new(),
        covariance: None,
    };
    let theta = &outcome.parameters;
    worker.evaluate(problem, theta, 0.0);
    worker.gradient(problem, theta);
    classify(worker, problem, theta);
    outcome.inactive = inactive(worker, problem, theta);
    outcome.inactive.extend(flat.iter().map(|&p| (p, Inactive::Flat)));
    outcome.empty_bins = worker.scratch.lambda[..problem.plan.n_bins]
        .iter()
        .enumerate()
        .filter(|&(_, &l)| l <= 0.0)
        .map(|(b, _)| b)
        .collect();
    if wanted.uncertainties || wanted.covariance {
        uncertainties(worker, problem, wanted, &mut outcome);
    } else {
        outcome.certificate.projected_gradient =
            worker.slope.iter().zip(&worker.newton).map(|(g, d)| (g * d).abs()).fold(0.0, f64::max).sqrt();
    }
    outcome.n_evaluations = worker.n_evaluations;
    Ok(outcome)
}

/// Uncertainties (and covariance) from the exact Hessian at the minimum, and the certificate
/// once more with it.
fn uncertainties(worker: &mut Worker, problem: &Problem<'_>, wanted: Wanted, outcome: &mut FitOutcome) {
    let (plan, level, n) = (problem.plan, problem.level, outcome.parameters.len());
    let dense = wanted.covariance || n <= DENSE_LIMIT;
    let mut flat_storage = dense.then(|| worker.flat.take().unwrap_or_else(|| Curvature::new(&plan.flat)));
    let (layout, curvature) = match &mut flat_storage {
        Some(flat) => (&plan.flat, flat),
        None => (&plan.layout, &mut worker.curvature),
    };
    let point = Point {
        theta: &outcome.parameters,
        data: problem.data,
        active: &worker.active,
        side: &worker.side,
        exactness: 1.0,
        damping: 0.0,
    };
    assemble(level, plan, layout, point, &mut worker.scratch, curvature);
    outcome.uncertainties = vec![None; n];
    match factor(level, layout, curvature) {
        Factored::Indefinite => {
            if outcome.status == FitStatus::Converged {
                outcome.status = FitStatus::NotConverged(Reason::NoProgress);
            }
        }
        Factored::Positive { flat } => {
            solve(level, layout, curvature, &worker.slope, &mut worker.newton);
            let edm: f64 = 0.5 * worker.slope.iter().zip(&worker.newton).map(|(g, d)| g * d).sum::<f64>();
            outcome.certificate.edm = edm.max(0.0);
            if outcome.status == FitStatus::Converged && edm > EDM_TOLERANCE {
                outcome.status = FitStatus::NotConverged(Reason::NoProgress);
            }
            outcome.inactive.retain(|&(_, why)| why != Inactive::Flat);
            let mut without: Vec<bool> = (0..n).map(|p| !worker.active[p]).collect();
            for &p in &flat {
                for q in companions(dense, curvature, p, n, &worker.active) {
                    if !without[q] {
                        without[q] = true;
                        outcome.inactive.push((q, Inactive::Flat));
                    }
                }
            }
            let mut variance = vec![0.0; n];
            if dense {
                let mut values = Vec::new();
                covariance(level, layout, curvature, &mut values);
                for p in 0..n {
                    variance[p] = values[p * n + p];
                    if without[p] {
                        for q in 0..n {
                            values[p * n + q] = 0.0;
                            values[q * n + p] = 0.0;
                        }
                    }
                }
                if wanted.covariance {
                    outcome.covariance = Some(Covariance { n, values });
                }
            } else {
                variances(level, layout, curvature, &mut variance);
            }
            for p in 0..n {
                if !without[p] && variance[p] > 0.0 && variance[p].is_finite() {
                    outcome.uncertainties[p] = Some(variance[p].sqrt());
                }
            }
            outcome.certificate.projected_gradient = (0..n)
                .filter_map(|p| outcome.uncertainties[p].map(|s| (worker.slope[p] * s).abs()))
                .fold(0.0, f64::max);
        }
    }
    if let Some(flat) = flat_storage {
        worker.flat = Some(flat);
    }
}

/// Parameters that move along the flat direction found at pivot `p`.
fn companions(dense: bool, curvature: &Curvature, p: usize, n: usize, active: &[bool]) -> Vec<usize> {
    let Some(m) = curvature.matrices.first().filter(|_| dense) else { return vec![p] };
    let width = n.div_ceil(16).max(1) * 16;
    // U[..p][..p] x = -U[..p][p]: the null vector with x_p = 1.
    let mut x = vec![0.0; p + 1];
    x[p] = 1.0;
    for k in (0..p).rev() {
        let sum: f64 = (k + 1..=p).map(|j| m.h[k * width + j] * x[j]).sum();
        x[k] = -sum / m.h[k * width + k];
    }
    // Weigh by the remaining curvature of each direction: which parts matter is scale-free.
    let weight: Vec<f64> = (0..p).map(|k| (x[k] * m.h[k * width + k]).abs()).collect();
    let largest = weight.iter().copied().fold(0.0, f64::max);
    (0..p)
        .filter(|&k| active[k] && largest > 0.0 && weight[k] > 1e-6 * largest && weight[k] > 1e-9)
        .chain([p])
        .collect()
}
