//! The uncertainty of the target with some parameters fixed at their best fit. The breakdown of the uncertainty into
//! statistical and systematic parts follows from such numbers.

use ns_core::{FitFailure, FitTask, OutcomeParts};

use super::result::{Breakdown, Sequence, SequencePart};
use super::study::Study;
use crate::analysis::Fitted;
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

/// Computes the uncertainties of all targets for each set of parameters in `sets`. The parameters of a set are fixed at
/// their best fit. The minimum is therefore the same as without fixing them, and the fits only compute the uncertainty.
/// Returns one entry per set, with one uncertainty per target. Equal sets share a fit.
///
/// # Errors
/// [`Stop::Lower`] if one of the fits ends below the minimum of the parent fit.
pub(super) fn hold(study: &mut Study<'_>, sets: &[Vec<usize>]) -> Result<Vec<Vec<Held>>, Stop> {
    let total = |study: &Study<'_>, target: usize| {
        let reason = || "the target has no uncertainty at the best fit".to_owned();
        Held(study.sigma(target).ok_or_else(reason))
    };
    // An empty set needs no fit: the uncertainties are those of the parent fit.
    let mut distinct: Vec<&Vec<usize>> = Vec::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        if !distinct.contains(&set) {
            distinct.push(set);
        }
    }
    if study.targets.iter().all(|target| study.sigma(*target).is_none()) {
        distinct.clear();
    }
    let task = |set: &&Vec<usize>| {
        let held: Vec<(usize, f64)> = set.iter().map(|i| (*i, study.best(*i))).collect();
        let request = study.analysis.conditional(&held, study.lowest.fit.parameters.clone());
        study.task(&study.analysis.data, request)
    };
    let tasks: Vec<FitTask> = distinct.iter().map(task).collect();
    let wanted = OutcomeParts { uncertainties: true, covariance: false, inverse: false };
    let fits = study.vary(&tasks, wanted, true)?;
    let read = |target: usize, fit: &Fitted| match fit {
        Ok(fit) => match fit.uncertainties.get(target).copied().flatten() {
            Some(sigma) if fit.converged() => Ok(sigma),
            _ => Err(format!("no uncertainty with these parameters held; {}", diagnosis::termination(fit))),
        },
        Err(FitFailure::Cancelled) => Err("interrupted".to_owned()),
        Err(failure) => Err(diagnosis::failure(study.analysis.model, failure)),
    };
    let of = |set: &Vec<usize>, target: usize| {
        let fit = distinct.iter().position(|known| *known == set).and_then(|k| fits.get(k));
        match fit {
            Some(fit) if study.sigma(target).is_some() => Held(read(target, fit)),
            _ => total(study, target),
        }
    };
    Ok(sets.iter().map(|set| study.targets.iter().map(|target| of(set, *target)).collect()).collect())
}

/// Returns the statistical and systematic parts of the uncertainty of a target, `total`, and the reason if a number is
/// missing. `constrained` is the uncertainty with all constrained parameters fixed. `mc` is the uncertainty with all
/// parameters of staterror and shapesys modifiers fixed, which describe the limited size of the simulation.
pub(super) fn breakdown(total: Option<f64>, constrained: &Held, mc: &Held) -> (Breakdown, Option<String>) {
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

/// Returns the parts of groups that are fixed one after another. `names` are those of the groups. `held` are the
/// uncertainties after each of them, and at the end the one with all constrained parameters fixed, too. The second value
/// is the reason if a number is missing.
pub(super) fn sequence<'a>(
    total: Option<f64>,
    names: impl Iterator<Item = &'a str>,
    held: &[&Held],
) -> (Sequence, Option<String>) {
    let left: Vec<Option<f64>> = held.iter().map(|held| held.0.as_ref().ok().copied()).collect();
    let before: Vec<Option<f64>> = std::iter::once(total).chain(left.iter().copied()).collect();
    let part = |k: usize| {
        let (before, after) = (before.get(k).copied().flatten()?, left.get(k).copied().flatten()?);
        Some(difference(before, after))
    };
    let groups: Vec<SequencePart> = names
        .enumerate()
        .map(|(k, name)| SequencePart {
            name: name.to_owned(),
            delta_mu: part(k),
            left: left.get(k).copied().flatten(),
        })
        .collect();
    let other = part(groups.len());
    let statistical = left.last().copied().flatten();
    let parts = groups.iter().map(|part| part.delta_mu).chain([other, statistical]);
    let sum = parts.map(|part| part.map(|x| x * x)).sum::<Option<f64>>().map(f64::sqrt);
    let reason = held.iter().find_map(|held| held.0.as_ref().err().cloned());
    (Sequence { total, groups, other, statistical, sum }, reason)
}
