//! Builds the result of a ranking, with the names of parameters and with warnings about missing impacts.

use std::borrow::Cow;

use ns_core::Inactive;

use super::kind::kinds;
use super::result::{RankedParameter, RankingResult, Side};
use super::study::Study;
use super::{Held, Impact, Impacts, Members, RankingOptions, Variations, group, held, refit};
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::fit::pulls;

/// Builds the results of a ranking, one per target, from the best fit and the results of its variations, i.e. of the fits
/// in which one parameter or its auxiliary datum is moved.
pub(super) fn assemble(
    study: &Study<'_>,
    parameters: &[usize],
    groups: &[Members],
    options: &RankingOptions,
    variations: &Variations,
) -> Vec<RankingResult> {
    let of =
        |(at, target): (usize, &usize)| one(study, (at, *target), parameters, groups, options, variations);
    study.targets.iter().enumerate().map(of).collect()
}

/// Builds the result for the parameter `target`, which is the target at the position `at`.
fn one(
    study: &Study<'_>,
    (at, target): (usize, usize),
    parameters: &[usize],
    groups: &[Members],
    options: &RankingOptions,
    variations: &Variations,
) -> RankingResult {
    let model = study.analysis.model;
    let Variations { listed, varied, impacts, members, held } = variations;
    let listed = listed.get(at).map(Vec::as_slice).unwrap_or_default();
    let mut places = vec![None; model.parameters.len()];
    for (k, i) in varied.iter().enumerate() {
        if let Some(place) = places.get_mut(*i) {
            *place = Some(k);
        }
    }
    let place = |i: usize| places.get(i).copied().flatten();
    let read = |(_, list): &(Impact, Vec<Vec<Impacts>>), i: usize| {
        place(i).and_then(|k| list.get(k)).and_then(|by_target| by_target.get(at)).cloned()
    };
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let kinds = kinds(model);
    let terms = model.penalties_of_parameters();
    let term = |index: &usize| model.penalties.get(*index).map(|penalty| penalty.name.clone());
    let pulls =
        pulls(model, &study.analysis.data, &study.lowest.fit.parameters, |i| study.analysis.is_fixed(i));
    let by = |impact: Impact, i: usize| {
        impacts.iter().find(|(found, _)| *found == impact).and_then(|found| read(found, i))
    };
    let entry = |&i: &usize| {
        let side = |side| refit::distance(study, i, side).ok();
        let width =
            model.parameters.get(i).and_then(|p| p.constraint.prefit_sigma()).filter(|s| s.is_finite());
        let uncertainty = study.sigma(i);
        RankedParameter {
            name: name(i),
            param_idx: i,
            kinds: kinds.get(i).into_iter().flatten().map(|kind| Cow::Borrowed(*kind)).collect(),
            value: study.best(i),
            uncertainty,
            lower: side(Side::Down),
            upper: side(Side::Up),
            constraint_terms: terms.get(i).into_iter().flatten().filter_map(term).collect(),
            prefit_uncertainty: width,
            pull: pulls.get(i).copied().flatten(),
            constraint: uncertainty.zip(width).map(|(sigma, width)| sigma / width).filter(|c| c.is_finite()),
            at_bound: matches!(study.inactive(i), Some(Inactive::LowerBound | Inactive::UpperBound)),
            at_kink: matches!(study.inactive(i), Some(Inactive::Kink | Inactive::TwoSided)),
            impacts: impacts.first().and_then(|found| read(found, i)).unwrap_or_default(),
            refit: by(Impact::Refit, i),
            covariance: by(Impact::Covariance, i),
            global: by(Impact::Global, i),
        }
    };
    let ranking: Vec<RankedParameter> = listed.iter().map(entry).collect();

    let total = study.sigma(target);
    let (breakdown, gap) = match (held.constrained.get(at), held.mc.get(at)) {
        (Some(constrained), Some(mc)) => held::breakdown(total, constrained, mc),
        _ => Default::default(),
    };
    let mut group_impacts: Vec<_> = groups
        .iter()
        .zip(&held.groups)
        .filter_map(|(group, held)| Some(group::impact(study, group, members, held.get(at)?, at)))
        .collect();
    let in_turn: Vec<&Held> = held.in_turn.iter().filter_map(|held| held.get(at)).collect();
    let (sequential, sequence_gap) = if groups.is_empty() {
        (None, None)
    } else {
        let names = groups.iter().map(|group| group.name.as_str());
        let (sequence, gap) = held::sequence(total, names, &in_turn);
        (Some(sequence), gap)
    };
    let size = |g: &super::GroupImpact| g.delta_mu_fixed.or(g.delta_mu_global).unwrap_or(-1.0);
    group_impacts.sort_by(|a, b| size(b).total_cmp(&size(a)));

    let mut warnings = model.warnings.clone();
    warnings.extend(study.analysis.about_weights());
    warnings.extend(study.notes.iter().cloned());
    if study.lowest.fit.converged() {
        let Analysis { session, data, .. } = &study.analysis;
        warnings.extend(diagnosis::without_events(model, *session, data, &study.lowest.fit));
    } else {
        warnings.push(format!("the best fit is {}", diagnosis::termination(&study.lowest.fit)));
        warnings.extend(diagnosis::not_converged(model, &study.lowest.fit));
    }
    warnings.extend(study.analysis.about_expected());
    let interrupted = study.analysis.is_cancelled();
    if interrupted {
        warnings.push("interrupted: what is missing was not computed".to_owned());
    }
    warnings.extend(unconstrained(&ranking));
    warnings.extend(gaps(&ranking));
    warnings.extend(clipped(&ranking));
    for group in groups.iter().filter(|group| !group.left_out.is_empty()) {
        let names = diagnosis::list(group.left_out.iter().map(String::as_str));
        warnings.push(format!(
            "group '{}' leaves out {names}: fixed in this fit, or a parameter that impacts are on",
            group.name
        ));
    }
    for group in &group_impacts {
        if let Some(reason) = &group.reason {
            warnings.push(format!("group '{}': {reason}", group.name));
        }
    }
    if let Some(reason) = gap.filter(|_| !interrupted) {
        warnings.push(format!("the breakdown has gaps: {reason}"));
    }
    if let Some(reason) = sequence_gap.filter(|_| !interrupted) {
        warnings.push(format!("the parts of groups held in turn have gaps: {reason}"));
    }
    let n_failed = definitions(&ranking)
        .flat_map(|(_, _, impacts)| Side::ALL.map(|side| impacts.get(side).converged == Some(false)))
        .filter(|failed| *failed)
        .count();

    RankingResult {
        param: name(target),
        mu_hat: study.best(target),
        mu_uncertainty: study.sigma(target),
        impacts: options.impacts.iter().map(|impact| impact.name()).collect(),
        prefit: options.prefit,
        ranking,
        n_ranked: parameters.len(),
        group_sums: (!groups.is_empty()).then(|| group::sums(&group_impacts)),
        groups: group_impacts,
        sequential,
        breakdown,
        twice_nll: 2.0 * study.lowest.fit.nll,
        converged: study.lowest.fit.converged() && !study.analysis.has_inexact_data(),
        asimov_error: study.analysis.asimov_error(),
        n_fits: study.n_fits,
        n_failed,
        interrupted,
        warnings,
    }
}

/// Returns all impacts of all parameters. Each item contains a parameter, the name of a definition of impact, and the
/// impacts of the parameter by this definition.
fn definitions(
    ranking: &[RankedParameter],
) -> impl Iterator<Item = (&RankedParameter, &'static str, &super::Impacts)> {
    ranking.iter().flat_map(|entry| {
        [("refit", &entry.refit), ("covariance", &entry.covariance), ("global", &entry.global)]
            .into_iter()
            .filter_map(move |(name, impacts)| impacts.as_ref().map(|impacts| (entry, name, impacts)))
    })
}

/// Returns one warning with the names of the parameters without any constraint, and one with those that only constraint
/// terms act on. Neither have pre-fit impacts.
fn unconstrained(ranking: &[RankedParameter]) -> Vec<String> {
    let without = ranking.iter().filter(|entry| entry.prefit_uncertainty.is_none());
    let (free, by_terms): (Vec<_>, Vec<_>) = without.partition(|entry| entry.constraint_terms.is_empty());
    let line = |entries: &[&RankedParameter], why: &str| {
        let names = diagnosis::list(entries.iter().map(|entry| entry.name.as_str()));
        (!entries.is_empty())
            .then(|| format!("pull, constraint, pre-fit and global impacts of {names} are null: {why}"))
    };
    [
        line(&free, "unconstrained"),
        line(
            &by_terms,
            "constrained by terms that are not a normal or Poisson distribution of one parameter alone",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns warnings about missing impacts: one warning for each definition of impact and each reason. There is no
/// warning for the expected reasons, which `Shift::usual` marks.
fn gaps(ranking: &[RankedParameter]) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (entry, definition, impacts) in definitions(ranking) {
        for side in Side::ALL {
            let shift = impacts.get(side);
            let Some(reason) = shift.reason.as_deref().filter(|_| !shift.usual) else { continue };
            match reasons.iter_mut().find(|(d, r, _)| *d == definition && *r == reason) {
                Some((_, _, names)) if names.last() == Some(&entry.name.as_str()) => {}
                Some((_, _, names)) => names.push(&entry.name),
                None => reasons.push((definition, reason, vec![&entry.name])),
            }
        }
    }
    reasons
        .into_iter()
        .map(|(definition, reason, names)| {
            format!("{definition} impacts of {} have gaps: {reason}", diagnosis::list(names.into_iter()))
        })
        .collect()
}

/// Returns one warning with the names of the parameters that could not be moved by their full uncertainty because of a
/// bound. Returns `None` if there are no such parameters.
fn clipped(ranking: &[RankedParameter]) -> Option<String> {
    let cut = |entry: &&RankedParameter| {
        let all = [&entry.refit, &entry.global];
        all.into_iter().flatten().any(|impacts| Side::ALL.iter().any(|side| impacts.get(*side).clipped))
    };
    let mut names = ranking.iter().filter(cut).map(|e| e.name.as_str()).peekable();
    names.peek()?;
    Some(format!("a bound stops variations of {} short: see clipped_*", diagnosis::list(names)))
}
