//! The uncertainty of the target with some parameters fixed at their best fit. The breakdown of the uncertainty into
//! statistical and systematic parts follows from such numbers.

use ns_core::{FitFailure, FitTask, OutcomeParts};

use super::result::Breakdown;
use super::study::Study;
use crate::diagnosis;
use crate::lowest::Stop;

/// Uncertainty of the target with some parameters fixed at their best fit, or the reason why this uncertainty does not
/// exist.
#[derive(Debug, Clone)]
pub(super) struct Held(Result<f64, String>);

impl Held {
    /// Returns the part of the target's uncertainty that is due to the fixed parameters. It is
    /// `sqrt(total^2 - held^2)`, where `total` is the uncertainty with all parameters free, and `held` is the
    /// uncertainty in this struct. If the part does not exist, the error is the reason.
    pub(super) fn part(&self, total: Option<f64>) -> Result<f64, String> {
        let total = total.ok_or("the target has no uncertainty at the best fit")?;
        let held = self.0.as_ref().map_err(Clone::clone)?;
        Ok(difference(total, *held))
    }
}

/// Returns `sqrt(a^2 - b^2)`, or 0 if rounding makes the difference negative.
fn difference(a: f64, b: f64) -> f64 {
    ((a - b).max(0.0) * (a + b)).sqrt()
}

/// Computes one uncertainty of the target for each set of parameters in `sets`. The parameters of a set are fixed at
/// their best fit. The minimum is therefore the same as without fixing them, and the fits only compute the uncertainty.
///
/// # Errors
/// [`Stop::Lower`] if one of the fits ends below the minimum of the parent fit.
pub(super) fn hold(study: &mut Study<'_>, sets: &[Vec<usize>]) -> Result<Vec<Held>, Stop> {
    let Some(total) = study.sigma(study.target) else {
        let reason = "the target has no uncertainty at the best fit";
        return Ok(vec![Held(Err(reason.to_owned())); sets.len()]);
    };
    let task = |set: &Vec<usize>| {
        let held: Vec<(usize, f64)> = set.iter().map(|i| (*i, study.best(*i))).collect();
        let request = study.analysis.conditional(&held, study.lowest.fit.parameters.clone());
        study.task(&study.analysis.data, request)
    };
    // An empty set needs no fit: the uncertainty is that of the parent fit.
    let tasks: Vec<FitTask> = sets.iter().filter(|set| !set.is_empty()).map(task).collect();
    let wanted = OutcomeParts { uncertainties: true, covariance: false, inverse: false };
    let mut fits = study.vary(&tasks, wanted, true)?.into_iter();
    let mut read = |set: &Vec<usize>| {
        if set.is_empty() {
            return Held(Ok(total));
        }
        Held(match fits.next() {
            Some(Ok(fit)) => match fit.uncertainties.get(study.target).copied().flatten() {
                Some(sigma) if fit.converged() => Ok(sigma),
                _ => Err(format!(
                    "no uncertainty with these parameters held; {}",
                    diagnosis::termination(&fit)
                )),
            },
            None | Some(Err(FitFailure::Cancelled)) => Err("interrupted".to_owned()),
            Some(Err(failure)) => Err(diagnosis::failure(study.analysis.model, &failure)),
        })
    };
    Ok(sets.iter().map(&mut read).collect())
}

/// Returns the statistical and systematic parts of the target's uncertainty, and the reason if a number is missing.
/// `constrained` is the uncertainty with all constrained parameters fixed. `mc` is the uncertainty with all parameters
/// of staterror and shapesys modifiers fixed, which describe the limited size of the simulation.
pub(super) fn breakdown(study: &Study<'_>, constrained: &Held, mc: &Held) -> (Breakdown, Option<String>) {
    let total = study.sigma(study.target);
    let systematic = constrained.part(total);
    let mc_statistical = mc.part(total);
    let reason = [&systematic, &mc_statistical].into_iter().find_map(|part| part.as_ref().err().cloned());
    let (systematic, mc_statistical) = (systematic.ok(), mc_statistical.ok());
    let breakdown = Breakdown {
        total,
        statistical: constrained.0.as_ref().ok().copied(),
        systematic,
        mc_statistical,
        systematic_without_mc: systematic.zip(mc_statistical).map(|(all, mc)| difference(all, mc)),
    };
    (breakdown, reason)
}
