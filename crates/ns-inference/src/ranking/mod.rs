//! Nuisance parameters ranked by their impact on the parameter of interest, by up to three definitions,
//! with pulls, constraints, groups and the statistical and systematic parts of the uncertainty.
//!
//! One free fit with its covariance; every impact is an independent variation of it, started where the
//! covariance (and, for the second side, the first) predicts its minimum.

mod assemble;
mod auxiliary;
mod covariance;
mod group;
mod held;
mod kind;
mod options;
mod predict;
mod refit;
mod result;
mod study;

pub use options::{Group, Impact, RankingOptions};
pub use result::{Breakdown, GroupImpact, Impacts, RankedParameter, RankingResult, Shift, Side};

use ns_core::{Control, Model, Session};

use crate::analysis::Analysis;
use crate::lowest::Stop;
use crate::{InferenceError, parameter_index};
use group::Members;
use held::Held;
use study::Study;

/// Ranks the free parameters of `model` by their impact on one of them.
///
/// The best fit is found once; a variation that falls below it restarts the ranking there. A variation
/// without a result is a missing number with its reason and does not end the ranking. The same
/// holds for variations that an interruption leaves out.
///
/// # Errors
/// For options that do not fit the model (names, groups, a target that is held fixed, no parameter of
/// interest), a likelihood that is not finite at any start point, a device failure, or an interruption
/// before there was a best fit.
pub fn ranking(
    model: &Model,
    session: &dyn Session,
    options: &RankingOptions,
    control: Control<'_>,
) -> Result<RankingResult, InferenceError> {
    let mut analysis = Analysis::new(model, session, &options.fit, control)?;
    let target = match &options.parameter {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi("a ranking")?,
    };
    let free = |i: &usize| {
        !analysis.is_fixed(*i) && model.parameters.get(*i).is_some_and(|p| p.bounds.0 < p.bounds.1)
    };
    if !free(&target) {
        let name = model.parameters.get(target).map_or_else(String::new, |p| p.name.clone());
        return Err(InferenceError::PoiFixed { analysis: "a ranking", name });
    }
    let parameters: Vec<usize> = (0..model.parameters.len()).filter(|i| *i != target && free(i)).collect();
    let groups = group::resolve(model, &options.groups, &parameters)?;
    analysis.expect(1 + count(&parameters, &groups, options));
    let mut study = Study::open(analysis, target)?;
    loop {
        study.analysis.expect(count(&parameters, &groups, options));
        match vary(&mut study, &parameters, &groups, options) {
            Ok(variations) => {
                return Ok(assemble::assemble(&study, &parameters, &groups, options, variations));
            }
            Err(Stop::Lower(point, depth)) => study.restart(point, depth)?,
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// What the variations of one parent gave.
struct Variations {
    /// Parameters of the list, in its order.
    listed: Vec<usize>,
    /// For every definition asked for, the impacts of `listed`.
    impacts: Vec<(Impact, Vec<Impacts>)>,
    /// `global` impacts of members of groups.
    members: Vec<(usize, Impacts)>,
    /// With all constrained parameters held; with those of the simulation held; with each group held.
    held: Vec<Held>,
}

/// How many fits the variations will take, at most.
fn count(parameters: &[usize], groups: &[Members], options: &RankingOptions) -> usize {
    let listed = options.top.map_or(parameters.len(), |n| n.min(parameters.len()));
    let fits = |impact: &Impact| match (impact, options.impacts.first() == Some(impact)) {
        (Impact::Covariance, _) => 0,
        (_, true) => 2 * parameters.len(),
        (_, false) => 2 * listed,
    };
    let prefit = if options.prefit && options.impacts.contains(&Impact::Refit) { 2 * listed } else { 0 };
    let global = options.impacts.contains(&Impact::Global);
    let members = if groups.is_empty() || global { 0 } else { 2 * distinct(groups).len() };
    options.impacts.iter().map(fits).sum::<usize>() + prefit + members + 2 + groups.len()
}

/// All members of groups, each once.
fn distinct(groups: &[Members]) -> Vec<usize> {
    let mut members: Vec<usize> = groups.iter().flat_map(|group| group.free.iter().copied()).collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// Everything that depends on the parent fit.
fn vary(
    study: &mut Study<'_>,
    parameters: &[usize],
    groups: &[Members],
    options: &RankingOptions,
) -> Result<Variations, Stop> {
    if options.impacts.contains(&Impact::Refit) {
        study.find_crossings()?;
    }
    // Sorted by the impact from the covariance, so that an interrupted ranking has the largest ones.
    let expected: Vec<(usize, Impacts)> =
        parameters.iter().map(|i| (*i, covariance::impacts(study, *i, options.prefit))).collect();
    let (order, by_covariance): (Vec<usize>, Vec<Impacts>) = sorted(expected).into_iter().unzip();
    let first = options.impacts.first().copied().unwrap_or(Impact::Refit);
    let all_prefit = options.prefit && options.top.is_none();
    let found = one_definition(study, first, &order, by_covariance, options.prefit, all_prefit)?;
    let mut list = sorted(order.into_iter().zip(found).collect());
    list.truncate(options.top.unwrap_or(usize::MAX));
    let (listed, mut found): (Vec<usize>, Vec<Impacts>) = list.into_iter().unzip();
    if first == Impact::Refit && options.prefit && !all_prefit {
        refit::refits(study, &listed, &[&[Side::PrefitUp, Side::PrefitDown]], &mut found)?;
    }
    let mut impacts = vec![(first, found)];
    for definition in options.impacts.iter().skip(1) {
        let by_covariance = listed.iter().map(|i| covariance::impacts(study, *i, options.prefit)).collect();
        let found =
            one_definition(study, *definition, &listed, by_covariance, options.prefit, options.prefit)?;
        impacts.push((*definition, found));
    }

    let mut members: Vec<(usize, Impacts)> = Vec::new();
    if let Some((_, found)) = impacts.iter().find(|(impact, _)| *impact == Impact::Global) {
        members.extend(listed.iter().copied().zip(found.iter().cloned()));
    }
    let mut missing = distinct(groups);
    missing.retain(|i| !members.iter().any(|(j, _)| i == j));
    let mut further = vec![Impacts::pending(false); missing.len()];
    auxiliary::global(study, &missing, &mut further)?;
    members.extend(missing.into_iter().zip(further));

    let kinds = kind::kinds(study.analysis.model);
    let constrained =
        |i: &&usize| study.analysis.model.parameters.get(**i).is_some_and(|p| p.constraint.aux().is_some());
    let mc = |i: &&usize| constrained(i) && kinds.get(**i).is_some_and(|k| kind::is_mc_statistical(k));
    let mut sets: Vec<Vec<usize>> = vec![
        parameters.iter().filter(constrained).copied().collect(),
        parameters.iter().filter(mc).copied().collect(),
    ];
    sets.extend(groups.iter().map(|group| group.free.clone()));
    let held = held::hold(study, &sets)?;
    Ok(Variations { listed, impacts, members, held })
}

/// Impacts of `parameters` by one definition; `by_covariance` are those of the covariance, which is at
/// hand.
fn one_definition(
    study: &mut Study<'_>,
    impact: Impact,
    parameters: &[usize],
    by_covariance: Vec<Impacts>,
    prefit: bool,
    prefit_now: bool,
) -> Result<Vec<Impacts>, Stop> {
    let mut impacts = match impact {
        Impact::Covariance => return Ok(by_covariance),
        Impact::Refit | Impact::Global => vec![Impacts::pending(prefit); parameters.len()],
    };
    match impact {
        Impact::Global => auxiliary::global(study, parameters, &mut impacts)?,
        _ => {
            let rounds: [&[Side]; 3] = [&[Side::Up], &[Side::Down], &[Side::PrefitUp, Side::PrefitDown]];
            let n = if prefit_now { 3 } else { 2 };
            refit::refits(study, parameters, rounds.get(..n).unwrap_or(&rounds), &mut impacts)?;
        }
    }
    Ok(impacts)
}

/// Largest post-fit impact first, those without one last, ties in the given order.
fn sorted(mut list: Vec<(usize, Impacts)>) -> Vec<(usize, Impacts)> {
    let size = |impacts: &Impacts| impacts.largest().unwrap_or(-1.0);
    list.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
    list
}
