//! Impacts from the covariance matrix `C` of the best fit. If the parameter `theta` is moved by a distance, the impact
//! on the target `mu` is this distance times `C_mu,theta / C_theta,theta`. For a parabolic likelihood the impacts equal
//! those from refits.

use super::result::{Impacts, Shift, Side, UNCONSTRAINED};
use super::study::Study;

/// Computes the impacts of `parameters` on all targets from the covariance matrix of the best fit. If `prefit` is true,
/// the result includes pre-fit impacts. Each parameter has one entry per target.
///
/// Only the targets' rows of the covariance matrix are needed.
pub(super) fn impacts(study: &Study<'_>, parameters: &[usize], prefit: bool) -> Vec<Vec<Impacts>> {
    let inverse = study.inverse();
    let row = |target: &usize| (*target, inverse.as_ref().and_then(|inverse| inverse.row(*target)));
    let rows: Vec<_> = study.targets.iter().map(row).collect();
    let impacts = |parameter: usize| {
        rows.iter().map(|(target, row)| of(study, parameter, prefit, (*target, row.as_deref()))).collect()
    };
    parameters.iter().map(|&parameter| impacts(parameter)).collect()
}

fn of(study: &Study<'_>, parameter: usize, prefit: bool, target: (usize, Option<&[f64]>)) -> Impacts {
    let mut impacts = Impacts::pending(prefit);
    for side in Side::ALL {
        if side.is_prefit() && !prefit {
            continue;
        }
        impacts.set(side, shift(study, parameter, side, target).unwrap_or_else(|absent| absent));
    }
    impacts
}

/// Returns the shift of `target` if `parameter` is moved to the side `side`. `row` is the target's row of the covariance
/// matrix. If the shift does not exist, the error is a [`Shift`] without a value, which contains the reason.
fn shift(
    study: &Study<'_>,
    parameter: usize,
    side: Side,
    (target, row): (usize, Option<&[f64]>),
) -> Result<Shift, Shift> {
    let width = study.analysis.model.parameters.get(parameter).and_then(|p| p.constraint.prefit_sigma());
    if side.is_prefit() && width.is_none() {
        return Err(Shift::usual(UNCONSTRAINED));
    }
    let absent = |reason: &str| Shift::missing(reason);
    let sigma =
        study.sigma(parameter).ok_or_else(|| absent("no uncertainty at the best fit, so no covariance"))?;
    study
        .sigma(target)
        .ok_or_else(|| absent("the target has no uncertainty at the best fit, so no covariance"))?;
    let covariance = row.and_then(|row| row.get(parameter)).copied().filter(|c| c.is_finite());
    let covariance = covariance.ok_or_else(|| absent("no covariance"))?;
    let width = width.filter(|_| side.is_prefit()).unwrap_or(sigma);
    let distance = side.direction() * width;
    Ok(Shift {
        value: Some(study.best(parameter) + distance),
        ..Shift::known(covariance / (sigma * sigma) * distance)
    })
}
