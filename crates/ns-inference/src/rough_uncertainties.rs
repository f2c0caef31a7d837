//! Warnings about uncertainties that rest on a parabola which does not go far enough.

use std::collections::BTreeSet;

use ns_core::{Effect, FitOutcome, Interpolation, Model};

use crate::diagnosis::{list, name};
use crate::present::significant;

/// Warns of parameters whose uncertainty is larger than the distance between their bounds. The uncertainty assumes a
/// parabolic likelihood. Over such a distance this assumption is not valid.
pub(crate) fn hardly_determined(model: &Model, outcome: &FitOutcome) -> Option<String> {
    let wide = |(p, sigma): &(&ns_core::Parameter, &Option<f64>)| {
        sigma.is_some_and(|sigma| sigma > p.bounds.1 - p.bounds.0)
    };
    let mut names = model
        .parameters
        .iter()
        .zip(&outcome.uncertainties)
        .filter(wide)
        .map(|(p, _)| p.name.as_str())
        .peekable();
    names.peek()?;
    Some(format!(
        "the data hardly determine {}: the uncertainty exceeds the width of the bounds. It and those of correlated \
         parameters assume a parabola that does not go so far; ask for MINOS intervals, or fix one of them",
        list(names)
    ))
}

/// A best-fit value counts as lying on a bound, or close to a kink, if its distance is at most this number, in units of
/// the uncertainty.
const TOUCHING: f64 = 0.01;

/// Two parameters count as strongly correlated if their squared correlation is above this number. The likelihood
/// profile of one of them then rises at least twice as fast if the other one is fixed.
const THROUGH: f64 = 0.5;

/// Returns the indices of the parameters whose interpolation may have a kink at 0, in ascending order.
fn kinked_parameters(model: &Model) -> BTreeSet<usize> {
    let Interpolation { normsys, histosys } = model.interpolation;
    let modifiers = model.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers);
    let kinked = modifiers.filter(|modifier| match modifier.effect {
        Effect::NormSys { .. } => normsys.has_kink(),
        Effect::HistoSys { .. } => histosys.has_kink(),
        _ => false,
    });
    kinked.map(|modifier| modifier.first).collect()
}

/// Warns of parameters whose uncertainty is valid on one side only. The best fit of such a parameter lies on one of its
/// bounds, where the slope of `-ln L` is 0. The parameter counts as free, but it cannot move beyond this bound. If other
/// parameters are strongly correlated with it, their likelihood profiles rise faster on one side than their
/// uncertainties imply. The same holds for a parameter that is close to the kink at 0 of a piecewise interpolation.
pub(crate) fn one_sided(model: &Model, outcome: &FitOutcome) -> Vec<String> {
    let sigma = |i: usize| outcome.uncertainties.get(i).copied().flatten().filter(|s| *s > 0.0);
    let touching = |i: usize| -> Option<f64> {
        let (p, x) = (model.parameters.get(i)?, outcome.parameters.get(i)?);
        // An uncertainty may be much larger than the width of the bounds.
        let room = TOUCHING * sigma(i)?.min(p.bounds.1 - p.bounds.0);
        [p.bounds.0, p.bounds.1].into_iter().find(|bound| (x - bound).abs() <= room)
    };
    let kinked = kinked_parameters(model);
    let mut notes = Vec::new();
    for i in 0..outcome.parameters.len() {
        let Some(own) = sigma(i) else { continue };
        let is_near_kink = || {
            kinked.contains(&i)
                && outcome.parameters.get(i).is_some_and(|x| *x != 0.0 && x.abs() <= TOUCHING * own)
        };
        let bound = touching(i);
        let is_kink = bound.is_none();
        let (place, remedy) = match bound {
            Some(bound) => (
                format!("at its bound {}, where its slope vanishes", significant(bound)),
                ", or widen the bound",
            ),
            None if is_near_kink() => {
                ("close to 0, where its piecewise interpolation has a kink".to_owned(), "")
            }
            None => continue,
        };
        let follows = |j: usize| {
            let covariance = outcome.covariance.as_ref().map_or(0.0, |covariance| covariance.get(i, j));
            let correlation = sigma(j).map_or(0.0, |other| covariance / (own * other));
            j != i && correlation * correlation > THROUGH
        };
        let mut others = (0..outcome.parameters.len()).filter(|j| follows(*j)).peekable();
        // Its own uncertainty is nearly that of both sides, or it would be on the kink.
        if is_kink && others.peek().is_none() {
            continue;
        }
        notes.push(format!(
            "{} lies {place}: the uncertainty of {} holds on one side only; ask for MINOS intervals{remedy}",
            name(model, i),
            list(std::iter::once(i).chain(others).map(|j| name(model, j)))
        ));
    }
    notes
}
