//! Impacts of the auxiliary data. The auxiliary datum of a parameter is moved by the width of its constraint, and all
//! parameters are fitted again. The impact is the resulting shift of the best fit of the target parameter.
//!
//! For a nearly parabolic likelihood, the square of such a shift is the part of the target's variance that is due to
//! this auxiliary measurement (Pinto et al., arXiv:2307.04007, "uncertainty components").
//!
//! If constraints are correlated, the other data move by what is expected of them given the one that is moved: datum `j`
//! moves by `rho_ij sigma_j`. The derivatives of `-ln L` with respect to the other parameters then do not change.

use std::sync::Arc;

use ns_core::{Constraint, FitRequest, FitTask, Model, Observations, OutcomeParts, Start};

use super::result::{Impacts, Shift, Side, set_all, set_each};
use super::study::Study;
use crate::lowest::Stop;

/// Computes the impacts of the auxiliary data of `parameters` on all targets. Writes them to `impacts`, in the same order.
///
/// # Errors
/// [`Stop::Lower`] if a refit finds a lower minimum than the parent fit.
pub(super) fn global(
    study: &mut Study<'_>,
    parameters: &[usize],
    impacts: &mut [Vec<Impacts>],
) -> Result<(), Stop> {
    let observed = study.analysis.data.counts(study.analysis.model).clone();
    let at_once = study.at_once();
    for (parameters, impacts) in parameters.chunks(at_once).zip(impacts.chunks_mut(at_once)) {
        chunk(study, &observed, parameters, impacts)?;
    }
    Ok(())
}

fn chunk(
    study: &mut Study<'_>,
    observed: &Observations,
    parameters: &[usize],
    impacts: &mut [Vec<Impacts>],
) -> Result<(), Stop> {
    let mut jobs: Vec<(usize, Side, f64, bool)> = Vec::with_capacity(2 * parameters.len());
    let mut tasks: Vec<FitTask> = Vec::with_capacity(jobs.capacity());
    let rows = study.rows(parameters);
    for (k, (&parameter, impacts)) in parameters.iter().zip(impacts.iter_mut()).enumerate() {
        let row = rows.get(k).and_then(Option::as_deref);
        for side in [Side::PrefitUp, Side::PrefitDown] {
            let shift = Shift::usual("the shift of a datum has one size, before and after the fit");
            set_all(impacts, side, &shift);
        }
        for side in [Side::Up, Side::Down] {
            let Some(moved) = moved(study, observed, parameter, side) else {
                set_all(impacts, side, &Shift::usual("unconstrained: there is no auxiliary datum"));
                continue;
            };
            if moved.force == 0.0 {
                let shift = Shift { value: Some(moved.datum), clipped: moved.clipped, ..Shift::known(0.0) };
                set_all(impacts, side, &shift);
                continue;
            }
            let mut data = observed.clone();
            if let Some(datum) = data.aux.get_mut(moved.index) {
                *datum = moved.datum;
            }
            follow_correlated(study.analysis.model, parameter, side, &mut data.aux);
            let request = FitRequest {
                start: Start::At(Arc::from(follow(study, row, moved.force))),
                search: study.analysis.variation_search(),
                metric: study.inverse(),
                ..study.analysis.base.clone()
            };
            tasks.push(FitTask { data: study.analysis.data.with(data), fits: vec![request], cancel: None });
            jobs.push((k, side, moved.datum, moved.clipped));
        }
    }
    let fits = study.vary(&tasks, OutcomeParts::default(), false)?;
    for ((k, side, value, clipped), fit) in jobs.into_iter().zip(fits) {
        if let Some(impacts) = impacts.get_mut(k) {
            set_each(impacts, side, study.read(&fit, value, clipped));
        }
    }
    Ok(())
}

/// An auxiliary datum moved by its width. The width is sigma for a Gaussian constraint, and the square root of the
/// count for a Poisson constraint.
struct Moved {
    index: usize,
    datum: f64,
    clipped: bool,
    /// Decrease of the derivative of `-ln L` with respect to the parameter, caused by moving the datum.
    force: f64,
}

/// Returns the auxiliary datum of a parameter, moved up or down by its width; `None` if the parameter has no
/// constraint.
fn moved(study: &Study<'_>, observed: &Observations, parameter: usize, side: Side) -> Option<Moved> {
    match study.analysis.model.parameters.get(parameter)?.constraint {
        Constraint::None => None,
        Constraint::Gaussian { sigma, aux } => {
            let shift = side.direction() * sigma;
            let datum = observed.aux.get(aux)? + shift;
            Some(Moved { index: aux, datum, clipped: false, force: shift / (sigma * sigma) })
        }
        Constraint::Poisson { aux, .. } => {
            let count = *observed.aux.get(aux)?;
            let wished = count + side.direction() * count.sqrt();
            // A count cannot be negative. A count below 1 is moved down to 0.
            let datum = wished.max(0.0);
            let force = (datum - count) / study.best(parameter);
            Some(Moved { index: aux, datum, clipped: datum != wished, force })
        }
    }
}

/// Moves the auxiliary data that are correlated with that of a parameter by what is expected of them.
fn follow_correlated(model: &Model, parameter: usize, side: Side, aux: &mut [f64]) {
    for own in model.correlations() {
        for &other in own.parameters().iter().filter(|other| **other != parameter) {
            let constraint = model.parameters.get(other).map(|p| p.constraint);
            if let (Some(rho), Some(Constraint::Gaussian { sigma, aux: index })) =
                (own.between(parameter, other), constraint)
                && let Some(datum) = aux.get_mut(index)
            {
                *datum += side.direction() * rho * sigma;
            }
        }
    }
}

/// Predicts the values of all parameters at the minimum after the derivative of `-ln L` with respect to one parameter has
/// decreased by `force`. `row` is the row of this parameter in the covariance matrix of the best fit.
fn follow(study: &Study<'_>, row: Option<&[f64]>, force: f64) -> Vec<f64> {
    let mut point = study.lowest.fit.parameters.clone();
    if let Some(row) = row {
        for (x, c) in point.iter_mut().zip(row.iter()) {
            let step = c * force;
            if step.is_finite() {
                *x += step;
            }
        }
    }
    study.analysis.admit(&study.lowest.fit, &[], point)
}
